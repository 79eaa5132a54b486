//! Values that change at given times.

use crate::schedule::NEVER;

/// The changes of a value that are still to come, in order of time.
#[derive(Clone, Debug)]
pub struct Changes {
    /// When the next one comes …
    next_ns: u64,
    /// … and the others with their values: the last is the next.
    later: Vec<(u64, u64)>,
}

impl Changes {
    /// Times, which never go back, and the value from then on.
    pub fn new(changes: impl DoubleEndedIterator<Item = (u64, u64)>) -> Self {
        let later: Vec<_> = changes.rev().collect();
        Self {
            next_ns: later.last().map_or(NEVER, |next| next.0),
            later,
        }
    }

    /// Whether a change has come that nobody has taken.
    #[inline]
    pub fn is_due(&self, now_ns: u64) -> bool {
        self.next_ns <= now_ns
    }

    /// Whether no change comes any more.
    #[inline]
    pub fn are_over(&self) -> bool {
        self.next_ns == NEVER
    }

    /// The next change that has come by now, time and value. Call until it returns `None`.
    #[inline]
    pub fn due(&mut self, now_ns: u64) -> Option<(u64, u64)> {
        if self.next_ns > now_ns {
            return None;
        }
        let due = self.later.pop();
        self.next_ns = self.later.last().map_or(NEVER, |next| next.0);
        due
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_change_comes_once_and_in_order() {
        let mut changes = Changes::new([(5, 1), (5, 2), (9, 3)].into_iter());
        assert_eq!(changes.due(4), None);
        assert_eq!(changes.due(5), Some((5, 1)));
        assert_eq!(changes.due(5), Some((5, 2)));
        assert_eq!(changes.due(8), None);
        assert_eq!(changes.due(20), Some((9, 3)));
        assert_eq!(changes.due(NEVER - 1), None);
    }
}
