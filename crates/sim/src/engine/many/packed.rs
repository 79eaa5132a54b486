//! ACKs on their way, as words that rest in memory: two words for most of them. An ACK that does not fit
//! takes fourteen.

use crate::tcp::{Ack, Extras, Flags, Full, MOST_SACKS};
use ackclock_host::PooledBox;
use std::num::NonZeroU64;

/// In the last bits of the second word: how many SACK blocks follow, what else the ACK tells, and whether
/// it tells nothing, or takes fourteen words.
const SACKS: u64 = 7;
const DUPLICATE: u64 = 1 << 3;
const NEW_WINDOW: u64 = 1 << 4;
const TELLS: u64 = 1 << 5;
const WIDE: u64 = 1 << 6;
/// A wide ACK has a window, in the upper half of the word.
const WINDOW: u64 = 1 << 7;
/// The last bits of what it acknowledges are above the flags.
const FLAGS: u32 = 8;
const ACK_BITS: u32 = 24;
/// What an ACK takes at most.
pub(super) const MOST_WORDS: usize = 14;

/// The number with these last 24 bits that is nearest to `other`.
#[inline(always)]
fn near_24(other: u64, bits: u32) -> u64 {
    let unused = u32::BITS - ACK_BITS;
    let beyond = (bits.wrapping_sub(other as u32) << unused) as i32 >> unused;
    other.wrapping_add_signed(beyond.into())
}

#[inline(always)]
fn block_bits((above, segments): (i16, u16)) -> u64 {
    (u64::from(above as u16) << 16) | u64::from(segments)
}

#[inline(always)]
fn block((bits, place): (u64, u32)) -> (i16, u16) {
    let bits = bits >> (32 * place);
    ((bits >> 16) as i16, bits as u16)
}

/// Writes an ACK that arrives at `at_ns`: after `past_ns`, and not before it is read. Until then the sender's
/// `snd_una`, now `una`, stays near to it. Returns how many words it takes; the ACK then is plain.
#[inline(always)]
pub(super) fn write(
    words: &mut [u64; MOST_WORDS],
    at_ns: u64,
    ack: &mut Ack,
    past_ns: u64,
    una: u64,
) -> usize {
    let (ahead_ns, age_ns) = (at_ns.wrapping_sub(past_ns), at_ns.wrapping_sub(ack.echo_ns));
    let bits = ack.ack as u32 & (u32::MAX >> (u32::BITS - ACK_BITS));
    if ahead_ns | age_ns > u32::MAX.into() || near_24(una, bits) != ack.ack {
        return write_wide(words, at_ns, ack);
    }
    words[0] = at_ns << 32 | age_ns;
    words[1] = u64::from(bits) << FLAGS;
    let Some(told) = ack.extras.0.take() else {
        return 2;
    };
    let Extras::Compact(blocks, flags) = &*told else {
        ack.extras.0 = Some(told);
        return write_wide(words, at_ns, ack);
    };
    let blocks = blocks.map(block_bits);
    words[1] |= blocks[0] << 32 | told_bits(*flags);
    words[2] = blocks[2] << 32 | blocks[1];
    2 + usize::from(flags.sacks > 1)
}

#[inline(always)]
fn told_bits(flags: Flags) -> u64 {
    TELLS
        | u64::from(flags.sacks)
        | (u64::from(flags.duplicate) * DUPLICATE)
        | (u64::from(flags.new_window) * NEW_WINDOW)
}

#[cold]
#[inline(never)]
fn write_wide(words: &mut [u64; MOST_WORDS], at_ns: u64, ack: &mut Ack) -> usize {
    let told = if ack.is_plain() {
        0
    } else {
        told_bits(ack.flags())
    };
    // No count is −1.
    let ce_packets = ack.ece().map_or(u64::MAX, u64::from);
    let window = ack.window_bytes().map_or(0, |bytes| bytes << 32 | WINDOW);
    let [a, b, c, d] = ack.sacks().blocks;
    *words = [
        at_ns,
        told | window | WIDE,
        ack.ack,
        ack.echo_ns,
        ce_packets,
        a.0,
        a.1,
        b.0,
        b.1,
        c.0,
        c.1,
        d.0,
        d.1,
        ack.left_ns().unwrap_or_default(),
    ];
    ack.extras.0 = None;
    MOST_WORDS
}

/// When the first ACK of `words` arrives; it had not arrived at `past_ns`.
#[inline(always)]
pub(super) fn first_at_ns(words: &[u64], past_ns: u64) -> Option<u64> {
    let (&times, &ack) = (words.first()?, words.get(1)?);
    if ack & WIDE != 0 {
        return Some(times);
    }
    let ahead_ns = ((times >> 32) as u32).wrapping_sub(past_ns as u32);
    Some(past_ns + u64::from(ahead_ns))
}

/// Reads the first ACK, which arrives at `at_ns`, and says how many words it has taken.
#[inline(always)]
pub(super) fn read(words: &[u64], at_ns: u64, una: u64) -> (Ack, usize) {
    let (times, told) = (words[0], words[1]);
    if told & WIDE != 0 {
        return read_wide(words);
    }
    let echo_ns = at_ns.wrapping_sub(times & u64::from(u32::MAX));
    let mut ack = Ack::new(near_24(una, (told as u32) >> FLAGS), echo_ns);
    if told & TELLS == 0 {
        return (ack, 2);
    }
    let flags = flags(told);
    let mut blocks = [block((told, 1)), (0, 0), (0, 0)];
    let mut taken = 2;
    if flags.sacks > 1 {
        let more = words[2];
        (blocks[1], blocks[2], taken) = (block((more, 0)), block((more, 1)), 3);
    }
    ack.extras.0 = Some(PooledBox::new(Extras::Compact(blocks, flags)));
    (ack, taken)
}

#[inline(always)]
fn flags(told: u64) -> Flags {
    Flags {
        sacks: (told & SACKS) as u8,
        duplicate: told & DUPLICATE != 0,
        new_window: told & NEW_WINDOW != 0,
    }
}

#[cold]
#[inline(never)]
fn read_wide(words: &[u64]) -> (Ack, usize) {
    let mut ack = Ack::new(words[2], words[3]);
    if words[1] & TELLS != 0 {
        let block = |place: usize| (words[5 + 2 * place], words[6 + 2 * place]);
        ack.extras.0 = Some(PooledBox::new(Extras::Full(PooledBox::new(Full {
            sacks: [0, 1, 2, 3].map(block),
            flags: flags(words[1]),
            ce_packets: u32::try_from(words[4]).ok(),
            left_ns: NonZeroU64::new(words[13]),
            window_bytes: (words[1] & WINDOW != 0).then_some((words[1] >> 32) as u32),
        }))));
    }
    (ack, MOST_WORDS)
}

const _: () = assert!(MOST_WORDS == 6 + 2 * MOST_SACKS);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tcp::Range;
    use proptest::prelude::*;

    proptest! {
        /// What is read is what was written, and when it arrives, compact or full.
        #[test]
        fn an_ack_rests(
            blocks in proptest::collection::vec((-70_000_i64..70_000, 1_u64..70_000), 0..=MOST_SACKS),
            far in any::<[bool; 4]>(),
            flags in any::<[bool; 5]>(),
        ) {
            let (past_ns, una) = (77_000_000_000, 5_u64 << 40);
            let at_ns = past_ns + if far[0] { 5 << 32 } else { 9_999 };
            let echo_ns = if far[1] { 5 } else { past_ns - 300_000_000 };
            let number = if far[2] { una + (1 << 25) } else { una + 5 };
            let at = |&(above, segments): &(i64, u64)| -> Range {
                let (above, segments) = if far[3] { (above, segments) } else { (above / 4, segments / 4 + 1) };
                let start = number.wrapping_add_signed(above);
                (start, start + segments)
            };
            let mut ack = Ack::new(number, echo_ns).with_sacks(blocks.iter().map(at), flags[0]);
            if flags[1] {
                ack = ack.with_new_window();
            }
            if flags[2] {
                ack = ack.with_ece(7);
            }
            if flags[3] {
                ack = ack.with_departure(at_ns - 30_000_000);
            }
            if flags[4] {
                ack = ack.with_window(3_758_720);
            }
            let (mut words, mut written) = ([0; MOST_WORDS], ack.clone());
            let length = write(&mut words, at_ns, &mut written, past_ns, una);
            prop_assert!(written.is_plain());
            prop_assert!(length <= MOST_WORDS);
            let wide = blocks.len() == MOST_SACKS || far.iter().chain(&flags).any(|&each| each);
            prop_assert!(wide || length <= 3);
            // Until then more is acknowledged, and time passes.
            let (past_ns, una) = (at_ns - 1, una + 4);
            prop_assert_eq!(first_at_ns(&words[..length], past_ns), Some(at_ns));
            let (same, taken) = read(&words[..length], at_ns, una);
            prop_assert_eq!(taken, length);
            prop_assert_eq!((same.ack, same.echo_ns, same.ece()), (ack.ack, ack.echo_ns, ack.ece()));
            prop_assert_eq!((same.left_ns(), same.is_slow()), (ack.left_ns(), ack.is_slow()));
            prop_assert_eq!(same.window_bytes(), ack.window_bytes());
            prop_assert_eq!(&*same.sacks(), &*ack.sacks());
            prop_assert_eq!(same.flags(), ack.flags());
            prop_assert_eq!(same.is_plain(), ack.is_plain());
        }
    }
}
