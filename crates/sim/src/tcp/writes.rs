//! An application that writes now and then (`tcp_sendmsg_locked`): each write fills packets one by one,
//! and what can leave leaves between two of them.
//!
//! How to drive it: [`nothing`](WriteQueue::write_nothing) is written at first. After
//! [`begin_write`](WriteQueue::begin_write) call [`write_packet`](WriteQueue::write_packet) until it
//! returns `None`, and let leave each time what it says.

use super::write_queue::WriteQueue;
use super::written::{Writes, ENDLESS};

/// What may leave now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Push {
    /// One burst of the head (`tcp_push_one`).
    One,
    /// All (`__tcp_push_pending_frames`).
    All,
}

impl WriteQueue {
    /// The application has nothing yet. Returns whether its packets are known: those of Linux 2.6 are not.
    pub(super) fn write_nothing(&mut self) -> bool {
        if !self.knows_packets() {
            return false;
        }
        self.begin_with(Box::default());
        true
    }

    /// Writes so many segments.
    pub(super) fn begin_write(&mut self, segments: u64) {
        if let Some(writes) = &mut self.writes {
            (writes.left, writes.began, writes.begins) = (segments, writes.end, true);
        }
    }

    /// Fills the last packet, or a new one, of a window that begins with the segments from `next` on.
    /// `has_ack`: an ACK has come, so the window is known. Returns how many segments it takes, and what
    /// may leave then; `None`: all is written.
    pub(super) fn write_packet(&mut self, next: u64, has_ack: bool) -> Option<(u64, Option<Push>)> {
        while self.end <= next
            && self
                .writes
                .as_ref()
                .is_some_and(|of| !of.packets.is_empty())
        {
            self.next_packet();
        }
        let [most, half] = self.goal(has_ack);
        let writes = self.writes.as_mut()?;
        if writes.left == 0 {
            return None;
        }
        // The last packet: the head, or one behind it.
        let begin = match writes.packets.len() {
            0 => next,
            1 => self.end,
            packets => writes.packets[packets - 2].0,
        };
        let begin = match writes.end - begin {
            full if full >= most => writes.end,
            _ => begin,
        };
        let is_new = begin == writes.end;
        let takes = (most - (writes.end - begin)).min(writes.left);
        writes.end += takes;
        writes.left -= takes;
        let begins = std::mem::take(&mut writes.begins);
        let is_head = begin == next;
        let full = writes.end - begin == most;
        let ends = writes.left == 0;
        let forced = writes.end > self.pushed_end + half;
        let pushed = (ends && !writes.more) || ((full || ends) && forced);
        match writes.packets.back_mut() {
            _ if is_head => {
                self.pushed = pushed || (self.pushed && !is_new && !begins);
                self.end = writes.end;
            }
            Some(last) if !is_new => {
                *last = (writes.end, pushed || (last.1 && !begins));
            }
            _ => writes.packets.push_back((writes.end, pushed)),
        }
        if pushed {
            self.pushed_end = writes.end;
        }
        let push = match () {
            () if pushed => Some(Push::All),
            () if is_head => Some(Push::One),
            () => None,
        };
        Some((takes, push))
    }

    /// The application fills a send buffer of its own size again: what it had written, with a large window,
    /// ends with segment `written`, what it writes now with `end`. Returns whether it fills the head up and goes on:
    /// first a burst of the head leaves (`tcp_push_one`).
    #[cold]
    pub(super) fn refill(&mut self, next: u64, [written, end]: [u64; 2]) -> bool {
        if self.writes.is_none() {
            self.keep_packets(next, written);
        }
        let left = self.writes.as_ref().map_or(0, |writes| writes.left);
        self.begin_write(left + end - written);
        self.refill_on(next)
    }

    /// The same after that burst.
    pub(super) fn refill_on(&mut self, next: u64) -> bool {
        while let Some((_, push)) = self.write_packet(next, true) {
            let goes_on = self.writes.as_ref().is_some_and(|writes| writes.left > 0);
            if goes_on && push == Some(Push::One) {
                return true;
            }
        }
        false
    }

    /// The packets from segment `next` on, of which the last ends with `written`.
    fn keep_packets(&mut self, next: u64, written: u64) {
        while self.end <= next && next < written {
            self.next_packet();
        }
        let mut rest = self.clone();
        self.rest = None;
        if self.end > written {
            (self.end, self.pushed) = (written, false);
        }
        let mut writes = Writes {
            end: written,
            single: self.single,
            more: true,
            ..Writes::default()
        };
        while rest.end < written {
            self.pushed_end = rest.pushed_end;
            rest.next_packet();
            let pushed = rest.pushed && rest.end <= written;
            writes.packets.push_back((rest.end.min(written), pushed));
        }
        self.writes = Some(Box::new(writes));
    }

    /// Nothing of the head can leave now: a write without end goes on whenever there is room.
    pub(super) fn write_on(&mut self) -> bool {
        let endless = (self.writes.as_mut()).filter(|writes| writes.left > ENDLESS / 2);
        let Some(writes) = endless else {
            return false;
        };
        writes.left = 0;
        let (end, began) = (writes.end, writes.began);
        self.go_on_from(end, began);
        true
    }
}
