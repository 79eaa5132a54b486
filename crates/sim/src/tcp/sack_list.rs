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

    /// Grows the first block that touches the range. Returns its place, or that of a new block.
    pub(super) fn extend(&mut self, range: Range) -> usize {
        let Some(place) = self.0.iter().position(|&block| touches(block, range)) else {
            return self.known().count();
        };
        self.0[place] = hull(self.0[place], range);
        place
    }

    /// Whether a range at this place may push out a block that no ACK has reported yet. Then a compressed
    /// ACK must leave first.
    pub(super) fn overflows(place: usize) -> bool {
        place >= SACK_BLOCKS_EXPECTED
    }

    /// Puts a range first: the block at `place`, which it has extended, with all that they touch then, or a
    /// block of its own.
    pub(super) fn put_first(&mut self, mut range: Range, place: usize) {
        let grown = self.0.get(place).filter(|&&block| touches(block, range));
        let extended = grown.is_some();
        if let Some(&block) = grown {
            range = block;
            let joined = self.0.iter().filter(|&&block| touches(block, range));
            if place == 0 && joined.count() == 1 {
                return;
            }
        }
        let old = std::mem::take(&mut self.0);
        let mut used = 1;
        for (index, &block) in old.iter().enumerate() {
            if block.1 == 0 || (extended && place == index) {
                continue;
            }
            if extended && touches(range, block) {
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

fn hull(a: Range, b: Range) -> Range {
    (a.0.min(b.0), a.1.max(b.1))
}

/// `tcp_sack_extend`: whether two blocks overlap or adjoin. An empty block touches nothing.
fn touches(block: Range, other: Range) -> bool {
    block.1 > 0 && other.1 > 0 && block.0 <= other.1 && other.0 <= block.1
}
