//! What a sender gives to the path.

use super::ecn::Marks;

/// Data packets that leave together: consecutive segments, as in one GSO packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Transmit {
    /// First segment.
    pub first: u64,
    /// Number of segments.
    pub segments: u32,
    /// Whether the last of them has the PSH flag.
    pub pushed: bool,
    /// The marks of the first of them. The others have the same ECN field, without CWR.
    pub marks: Marks,
}

impl Transmit {
    /// Its segments.
    #[inline]
    pub fn range(&self) -> std::ops::Range<u64> {
        self.first..self.first + u64::from(self.segments)
    }

    /// Whether the packet with this segment has the PSH flag.
    #[inline]
    pub fn pushes(&self, segment: u64) -> bool {
        self.pushed && segment + 1 == self.range().end
    }

    /// The marks of the packet with this segment.
    #[inline]
    pub fn marks_of(&self, segment: u64) -> Marks {
        Marks {
            cwr: self.marks.cwr && segment == self.first,
            ..self.marks
        }
    }
}
