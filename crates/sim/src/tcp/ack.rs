//! What a receiver gives to the path.

use super::ranges::Range;
use ackclock_host::{prefetch, PooledBox};
use std::num::NonZeroU64;

/// An ACK: what a receiver tells a sender.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ack {
    /// The next segment that the receiver expects: all segments below have arrived.
    pub ack: u64,
    /// Timestamp echo (RFC 7323): when the acknowledged segment was sent, nanoseconds.
    pub echo_ns: u64,
    pub(crate) extras: AckExtras,
}

// Millions of them are on their way; with its time of arrival one takes half a cache line.
const _: () = assert!(size_of::<Ack>() == 24);

/// SACK blocks that fit into an ACK, and beside timestamps.
pub(crate) const MOST_SACKS: usize = 4;
pub(crate) const SACKS_BESIDE_STAMPS: usize = 3;

/// The SACK blocks of an ACK.
#[derive(Clone, Copy, Debug, Default)]
pub struct Sacks {
    pub(crate) blocks: [Range; MOST_SACKS],
    len: u8,
}

impl std::ops::Deref for Sacks {
    type Target = [Range];

    #[inline]
    fn deref(&self) -> &[Range] {
        &self.blocks[..self.len.into()]
    }
}

/// What most ACKs do not tell; `None`: nothing. Header prediction then may succeed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct AckExtras(pub(crate) Option<PooledBox<Extras>>);

/// What ACKs of a gap tell takes 16 bytes: millions of them are on their way at once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Extras {
    /// SACK blocks that begin so far above the ACK and have so many segments; no marks.
    Compact([(i16, u16); SACKS_BESIDE_STAMPS], Flags),
    Full(PooledBox<Full>),
}

const _: () = assert!(size_of::<Extras>() == 16);

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Full {
    /// SACK blocks.
    pub(crate) sacks: [Range; MOST_SACKS],
    pub(crate) flags: Flags,
    /// The count of marked packets, if the ACK tells of marks.
    pub(crate) ce_packets: Option<u32>,
    /// When the ACK left, if the sender's algorithm reads it.
    pub(crate) left_ns: Option<NonZeroU64>,
    /// The receive window, if it changes, bytes.
    pub(crate) window_bytes: Option<u32>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Flags {
    /// So many SACK blocks (RFC 2018), the most recent first.
    pub(crate) sacks: u8,
    pub(crate) duplicate: bool,
    pub(crate) new_window: bool,
}

impl Extras {
    fn flags(&self) -> Flags {
        match self {
            Self::Compact(_, flags) => *flags,
            Self::Full(far) => far.flags,
        }
    }

    fn flags_mut(&mut self) -> &mut Flags {
        match self {
            Self::Compact(_, flags) => flags,
            Self::Full(far) => &mut far.flags,
        }
    }
}

/// A block as an ACK of `ack` tells it, if it is near.
fn near_ack(ack: u64, (start, end): Range) -> Option<(i16, u16)> {
    let above = i16::try_from(start.wrapping_sub(ack) as i64).ok()?;
    Some((above, u16::try_from(end - start).ok()?))
}

impl Ack {
    /// An ACK that tells nothing more.
    #[inline]
    pub fn new(ack: u64, echo_ns: u64) -> Self {
        Self {
            ack,
            echo_ns,
            extras: AckExtras(None),
        }
    }

    fn told(&mut self) -> &mut Extras {
        let nothing = || PooledBox::new(Extras::Compact(Default::default(), Flags::default()));
        (self.extras.0).get_or_insert_with(nothing)
    }

    fn far(&mut self) -> &mut Full {
        let sacks = self.sacks().blocks;
        let told = self.told();
        if let Extras::Compact(_, flags) = *told {
            *told = Extras::Full(PooledBox::new(Full {
                sacks,
                flags,
                ce_packets: None,
                left_ns: None,
                window_bytes: None,
            }));
        }
        match told {
            Extras::Full(far) => far,
            Extras::Compact(..) => unreachable!("it is far now"),
        }
    }

    /// The same with the SACK blocks that there is room for, if there are any. `duplicate`: the first
    /// reports a duplicate (RFC 2883).
    #[must_use]
    pub fn with_sacks(mut self, blocks: impl IntoIterator<Item = Range>, duplicate: bool) -> Self {
        let mut sacks = Sacks::default();
        let (mut near, mut all_near) = ([(0, 0); SACKS_BESIDE_STAMPS], true);
        for (place, block) in blocks.into_iter().take(MOST_SACKS).enumerate() {
            sacks.blocks[place] = block;
            sacks.len += 1;
            match (near.get_mut(place), near_ack(self.ack, block)) {
                (Some(near), Some(block)) => *near = block,
                _ => all_near = false,
            }
        }
        if sacks.len == 0 {
            return self;
        }
        match self.told() {
            Extras::Compact(blocks, _) if all_near => *blocks = near,
            _ => self.far().sacks = sacks.blocks,
        }
        let flags = self.told().flags_mut();
        (flags.sacks, flags.duplicate) = (sacks.len, duplicate);
        self
    }

    /// The same with another window field than the ACK before.
    #[must_use]
    pub fn with_new_window(mut self) -> Self {
        self.told().flags_mut().new_window = true;
        self
    }

    /// The same, telling of marks. With the flag ECE (RFC 3168): the receiver has seen congestion, and
    /// no answer with CWR yet. With accurate ECN (RFC 9768): it has a count, in an option, of the marked
    /// packets that have arrived (r.cep, from 0).
    #[must_use]
    pub fn with_ece(mut self, ce_packets: u32) -> Self {
        self.far().ce_packets = Some(ce_packets);
        self
    }

    /// The same, telling when it leaves (TSval of RFC 7323), for a sender whose algorithm reads that.
    #[must_use]
    pub(crate) fn with_departure(mut self, left_ns: u64) -> Self {
        self.far().left_ns = NonZeroU64::new(left_ns);
        self
    }

    /// The same with a receive window of so many bytes, which changes.
    #[must_use]
    pub(crate) fn with_window(mut self, bytes: u64) -> Self {
        self.far().window_bytes = u32::try_from(bytes).ok();
        self
    }

    /// SACK blocks (RFC 2018), the most recent first.
    #[inline]
    pub fn sacks(&self) -> Sacks {
        let (blocks, len) = match self.extras.0.as_deref() {
            None => return Sacks::default(),
            Some(Extras::Full(far)) => (far.sacks, far.flags.sacks),
            Some(Extras::Compact(sacks, flags)) => {
                let range = |(above, segments): (i16, u16)| {
                    let start = self.ack.wrapping_add_signed(above.into());
                    (start, start + u64::from(segments))
                };
                let [first, second, third] = sacks.map(range);
                ([first, second, third, (0, 0)], flags.sacks)
            }
        };
        Sacks { blocks, len }
    }

    pub(crate) fn flags(&self) -> Flags {
        (self.extras.0.as_ref()).map_or_else(Flags::default, |told| told.flags())
    }

    /// Whether it has SACK blocks.
    #[inline]
    pub fn has_sacks(&self) -> bool {
        self.flags().sacks > 0
    }

    /// Asks for what it tells beside the acknowledgement.
    #[inline(always)]
    pub(crate) fn prefetch(&self) {
        if let Some(told) = &self.extras.0 {
            prefetch(&**told);
        }
    }

    /// Whether the first block reports a duplicate (RFC 2883).
    #[inline]
    pub fn has_duplicate(&self) -> bool {
        self.flags().duplicate
    }

    /// Whether the window field differs from that of the ACK before.
    pub fn new_window(&self) -> bool {
        self.flags().new_window
    }

    /// The count of marked packets, if the ACK tells of marks; 0 without accurate ECN.
    #[inline]
    pub fn ece(&self) -> Option<u32> {
        match self.extras.0.as_deref()? {
            Extras::Full(far) => far.ce_packets,
            Extras::Compact(..) => None,
        }
    }

    /// When it left, if it tells.
    pub(crate) fn left_ns(&self) -> Option<u64> {
        match self.extras.0.as_deref()? {
            Extras::Full(far) => far.left_ns.map(NonZeroU64::get),
            Extras::Compact(..) => None,
        }
    }

    /// The receive window in bytes, if it changes.
    #[inline]
    pub(crate) fn window_bytes(&self) -> Option<u64> {
        match self.extras.0.as_deref()? {
            Extras::Full(far) => far.window_bytes.map(u64::from),
            Extras::Compact(..) => None,
        }
    }

    /// Whether it has nothing but the acknowledgement.
    #[inline]
    pub(crate) fn is_plain(&self) -> bool {
        self.extras.0.is_none()
    }

    /// Whether Linux's header prediction fails because of what it has (`FLAG_SLOWPATH`), beside
    /// timestamps.
    pub(crate) fn is_slow(&self) -> bool {
        match self.extras.0.as_deref() {
            None => false,
            Some(Extras::Compact(..)) => true,
            Some(Extras::Full(far)) => far.flags != Flags::default() || far.ce_packets.is_some(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Whatever is told, compact or full, with marks or without, is heard.
        #[test]
        fn an_ack_tells_what_it_was_given(
            blocks in proptest::collection::vec((-70_000_i64..70_000, 1_u64..70_000), 0..=MOST_SACKS),
            near in any::<bool>(),
            duplicate in any::<bool>(),
            new_window in any::<bool>(),
            ce_packets in proptest::option::of(any::<u32>()),
        ) {
            let at = |&(above, segments): &(i64, u64)| {
                let (above, segments) = if near { (above / 4, segments / 4 + 1) } else { (above, segments) };
                let start = 1_000_000_u64.wrapping_add_signed(above);
                (start, start + segments)
            };
            let blocks: Vec<Range> = blocks.iter().map(at).collect();
            let mut ack = Ack::new(1_000_000, 5).with_sacks(blocks.iter().copied(), duplicate);
            if new_window {
                ack = ack.with_new_window();
            }
            if let Some(ce_packets) = ce_packets {
                ack = ack.with_ece(ce_packets);
            }
            prop_assert_eq!(&*ack.sacks(), &*blocks);
            prop_assert_eq!(ack.has_sacks(), !blocks.is_empty());
            prop_assert_eq!(ack.has_duplicate(), duplicate && !blocks.is_empty());
            prop_assert_eq!((ack.new_window(), ack.ece()), (new_window, ce_packets));
            let plain = blocks.is_empty() && !new_window && ce_packets.is_none();
            prop_assert_eq!(ack.is_plain(), plain);
        }
    }
}
