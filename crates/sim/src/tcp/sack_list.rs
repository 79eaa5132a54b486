//! The SACK list of a receiver: the blocks that its ACKs report, the most recent first
//! (`tcp_sack_new_ofo_skb`, `tcp_sack_maybe_coalesce`, `tcp_sack_remove`).

use super::ranges::Range;

/// `TCP_SACK_BLOCKS_EXPECTED`: SACK blocks that an ACK always has room for, even beside a D-SACK.
const SACK_BLOCKS_EXPECTED: usize = 2;
/// `TCP_NUM_SACKS`: how many blocks the receiver remembers.
const SACK_BLOCKS: usize = 4;

/// The most recent block first; empty blocks follow.
#[derive(Debug, Default)]
pub(super) struct SackList([Range; SACK_BLOCKS]);

impl SackList {
    /// Whether there is nothing to report.
    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.0[0].1 == 0
    }

    /// The blocks, the most recent first.
    pub(super) fn known(&self) -> impl Iterator<Item = Range> + '_ {
        self.0.iter().copied().filter(|block| block.1 > 0)
    }

    /// The first block that touches the range.
    fn touched(&self, range: Range) -> Option<usize> {
        self.0.iter().position(|&block| touches(block, range))
    }

    /// Whether a segment that touches neither of the two most recent blocks may push out a block that
    /// no ACK has reported yet. Then a compressed ACK must leave first.
    pub(super) fn overflows(&self, segment: u64) -> bool {
        let place = || {
            let known = self.known().count();
            self.touched((segment, segment + 1)).unwrap_or(known)
        };
        place() >= SACK_BLOCKS_EXPECTED
    }

    /// Puts a range first: with the block that it extends and all that they touch then, or as a block
    /// of its own.
    pub(super) fn add(&mut self, mut range: Range) {
        let hull = |a: Range, b: Range| (a.0.min(b.0), a.1.max(b.1));
        let extended = self.touched(range);
        if let Some(index) = extended {
            range = hull(range, self.0[index]);
            let joined = self.0.iter().filter(|&&block| touches(block, range));
            if index == 0 && joined.count() == 1 {
                self.0[0] = range;
                return;
            }
        }
        let old = std::mem::take(&mut self.0);
        let mut used = 1;
        for (index, &block) in old.iter().enumerate() {
            if block.1 == 0 || extended == Some(index) {
                continue;
            }
            if extended.is_some() && touches(range, block) {
                range = hull(range, block);
            } else if let Some(slot) = self.0.get_mut(used) {
                *slot = block;
                used += 1;
            }
        }
        self.0[0] = range;
    }

    /// Forgets blocks below the next expected segment; all of them, if no gap is left.
    pub(super) fn remove_below(&mut self, next: u64, no_gap: bool) {
        let old = std::mem::take(&mut self.0);
        let kept = old.iter().filter(|block| block.0 > next && !no_gap);
        for (slot, block) in self.0.iter_mut().zip(kept) {
            *slot = *block;
        }
    }
}

/// `tcp_sack_extend`: whether two blocks overlap or adjoin. An empty block touches nothing.
fn touches(block: Range, other: Range) -> bool {
    block.1 > 0 && other.1 > 0 && block.0 <= other.1 && other.0 <= block.1
}
