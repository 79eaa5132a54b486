//! CoDel (RFC 8289): drops at the head when packets have waited too long for too long.
//!
//! Decisions are those of Linux 6.12 (`codel_impl.h`). It differs from the RFC in four ways, and each
//! can change which packet is dropped:
//!
//! - Its clock counts units of 1024 ns.
//! - 1/√count is one Newton step from the value before, kept in 16 bits.
//! - A sojourn time above the target leads to a drop *after* an interval, not at its end.
//! - The backlog without the judged packet must exceed one full packet.

use super::discipline::mark;
use super::parameters::parameters;
use super::{Cause, Discipline, Fifo, Ledger, Packet};
use crate::buffer::{Buffer, Load};
use crate::rng::Stream;

parameters! {
    /// Parameters of CoDel.
    CodelParameters {
        /// Sojourn time that a standing queue may have (RFC 8289, section 4.3).
        target_ns: u64 = 5_000_000 in 1_000..=10_000_000_000,
        /// Time for which the sojourn time must stay above the target before the first drop:
        /// about the largest usual round-trip time (RFC 8289, section 4.2).
        interval_ns: u64 = 100_000_000 in 10_000..=100_000_000_000,
        /// IP bytes of a full packet (default: of the scenario, at least 1500). CoDel never drops
        /// while no more than this waits behind a packet (RFC 8289, section 5.5).
        mtu_bytes: u64 = 1500 in 64..=65_535,
        /// Mark ECN-capable packets instead of dropping them. Linux's default.
        ecn: bool = false,
    }
}

/// Linux's unit of time, as a power of two of nanoseconds.
const TICK_LOG2: u32 = 10;

/// How long after the end of a dropping state its rate of drops is used again, in intervals
/// (RFC 8289, section 5.4).
const MEMORY_INTERVALS: u64 = 16;

/// CoDel's parameters in Linux's units of time.
#[derive(Clone, Copy, Debug)]
pub(super) struct Targets {
    target: u64,
    interval: u64,
    mtu_bytes: u64,
    ecn: bool,
}

impl Targets {
    pub(super) fn new(parameters: &CodelParameters) -> Self {
        Self {
            target: parameters.target_ns >> TICK_LOG2,
            interval: parameters.interval_ns >> TICK_LOG2,
            mtu_bytes: parameters.mtu_bytes,
            ecn: parameters.ecn,
        }
    }
}

/// The control law of one FIFO. Times are in Linux's units.
#[derive(Clone, Debug, Default)]
pub(super) struct ControlLaw {
    dropping: bool,
    /// Drops since this dropping state began, and those it took over from the state before.
    count: u32,
    /// `count` when this dropping state began.
    first_count: u32,
    /// 1/√count in units of 2⁻¹⁶.
    inverse_root: u16,
    /// When drops may begin, if the sojourn time stays above the target.
    first_above: Option<u64>,
    drop_next: u64,
}

impl ControlLaw {
    /// Takes the next packet that is to be sent, and drops those before it that the law drops.
    /// `others_bytes` is what waits elsewhere, but counts in the backlog.
    #[inline]
    pub(super) fn dequeue<P>(
        &mut self,
        targets: &Targets,
        now_ns: u64,
        fifo: &mut Fifo<P>,
        others_bytes: u64,
        ledger: &mut impl Ledger<P>,
    ) -> Option<Packet<P>> {
        let now = now_ns >> TICK_LOG2;
        // Most packets leave the queue as they are: none is copied before that is known.
        if !self.is_late(targets, now, fifo, others_bytes) {
            self.dropping = false;
            return fifo.pop();
        }
        let mut packet = fifo.pop()?;
        if !self.dropping {
            let next = if targets.ecn && mark(&mut packet, ledger) {
                Some(packet)
            } else {
                ledger.dropped(packet, Cause::Early);
                self.next(targets, now, fifo, others_bytes)
                    .map(|(packet, _)| packet)
            };
            self.begin(targets, now);
            return next;
        }
        while self.dropping && now >= self.drop_next {
            self.count = self.count.wrapping_add(1);
            self.newton_step();
            if targets.ecn && mark(&mut packet, ledger) {
                self.drop_next += self.spacing(targets);
                break;
            }
            ledger.dropped(packet, Cause::Early);
            let Some((next, late)) = self.next(targets, now, fifo, others_bytes) else {
                self.dropping = false;
                return None;
            };
            packet = next;
            if late {
                self.drop_next += self.spacing(targets);
            } else {
                self.dropping = false;
            }
        }
        Some(packet)
    }

    /// Tells the law of drops that others did: FQ-CoDel at a full queue.
    pub(super) fn add_drops(&mut self, drops: u32) {
        self.count = self.count.wrapping_add(drops);
    }

    /// The packet at the head, and whether it may be dropped.
    #[inline]
    fn next<P>(
        &mut self,
        targets: &Targets,
        now: u64,
        fifo: &mut Fifo<P>,
        others_bytes: u64,
    ) -> Option<(Packet<P>, bool)> {
        let late = self.is_late(targets, now, fifo, others_bytes);
        Some((fifo.pop()?, late))
    }

    /// Whether the packet at the head may be dropped.
    #[inline]
    fn is_late<P>(
        &mut self,
        targets: &Targets,
        now: u64,
        fifo: &Fifo<P>,
        others_bytes: u64,
    ) -> bool {
        let Some(packet) = fifo.head() else {
            self.first_above = None;
            return false;
        };
        let sojourn = now - (packet.arrived_ns >> TICK_LOG2);
        let backlog_bytes = fifo.load().bytes - u64::from(packet.bytes) + others_bytes;
        if sojourn < targets.target || backlog_bytes <= targets.mtu_bytes {
            self.first_above = None;
            return false;
        }
        now > *self.first_above.get_or_insert(now + targets.interval)
    }

    /// Enters the dropping state after its first drop or mark.
    fn begin(&mut self, targets: &Targets, now: u64) {
        self.dropping = true;
        let drops = self.count.wrapping_sub(self.first_count);
        // A next drop that is still to come counts as recent.
        let recent =
            self.first_count > 0 && now < self.drop_next + MEMORY_INTERVALS * targets.interval;
        if drops > 1 && recent {
            self.count = drops;
            self.newton_step();
        } else {
            self.count = 1;
            self.inverse_root = u16::MAX;
        }
        self.first_count = self.count;
        self.drop_next = now + self.spacing(targets);
    }

    /// interval/√count.
    fn spacing(&self, targets: &Targets) -> u64 {
        (targets.interval * u64::from(self.inverse_root)) >> 16
    }

    /// One step x(3 − count x²)/2 towards x = 1/√count. Far from the root, where FQ-CoDel's drops
    /// of a batch leave it, the result is what the kernel's unsigned numbers make of it.
    fn newton_step(&mut self) {
        let x = u64::from(self.inverse_root) << 16;
        let square = (x * x) >> 32;
        let rest = (3_u64 << 32).wrapping_sub(u64::from(self.count) * square);
        let half = (rest >> 2).wrapping_mul(x) >> 31;
        self.inverse_root = (half >> 16) as u16;
    }
}

/// A FIFO under CoDel.
#[derive(Clone, Debug)]
pub struct Codel<P> {
    targets: Targets,
    buffer: Buffer,
    fifo: Fifo<P>,
    law: ControlLaw,
}

impl<P> Codel<P> {
    /// An empty queue.
    pub fn new(parameters: &CodelParameters, buffer: Buffer, _random: Stream) -> Self {
        Self {
            targets: Targets::new(parameters),
            buffer,
            fifo: Fifo::default(),
            law: ControlLaw::default(),
        }
    }
}

impl<P> Discipline<P> for Codel<P> {
    #[inline]
    fn enqueue(
        &mut self,
        _now_ns: u64,
        packet: Packet<P>,
        wire: Load,
        ledger: &mut impl Ledger<P>,
    ) {
        if self.buffer.fits(self.fifo.load() + wire, packet.bytes) {
            self.fifo.push(packet);
        } else {
            ledger.dropped(packet, Cause::Full);
        }
    }

    #[inline]
    fn dequeue(&mut self, now_ns: u64, ledger: &mut impl Ledger<P>) -> Option<Packet<P>> {
        self.law
            .dequeue(&self.targets, now_ns, &mut self.fifo, 0, ledger)
    }

    #[inline]
    fn load(&self) -> Load {
        self.fifo.load()
    }
}

#[cfg(test)]
mod tests {
    use super::super::script::{random, Script, MS};
    use super::super::Ecn;
    use super::*;

    fn codel(parameters: &CodelParameters, packets: u64) -> Script<Codel<u32>> {
        Script::new(Codel::new(parameters, Buffer::Packets(packets), random()))
    }

    /// 500 packets arrive at once, and the link sends one each ms, until none is left; then again.
    ///
    /// The sojourn time reaches the target, 4882 units of 1024 ns, at 5 ms. So the first packet is
    /// dropped after 105 ms − 1 unit = 102 538 units: at 105 ms (102 539 units). The RFC's next
    /// drops are interval/√count later, 100/√1, 100/√2, 100/√3 … ms: at 205, 275.7, 333.4, 383.4,
    /// 428.2, 469.0 ms. Linux's Newton steps start at 1/√1 and need some drops to follow:
    ///
    /// | count | x − step | 1/√count | next drop, ms | served at |
    /// |---|---|---|---|---|
    /// | 1 | 1 | 1 | 105 + 100.0 | 205 |
    /// | 2 | 1 (3 − 2)/2 = 0.5 | 0.707 | 205 + 50.0 | 255 |
    /// | 3 | 0.5 (3 − 3/4)/2 = 0.5625 | 0.577 | 255 + 56.25 | 312 |
    /// | 4 | 0.5625 (3 − 4 0.3164)/2 = 0.4878 | 0.5 | 311.25 + 48.78 | 361 |
    /// | 5 | 0.4878 (3 − 5 0.2379)/2 = 0.4415 | 0.447 | 360.03 + 44.15 | 405 |
    /// | 6 | 0.4041 | 0.408 | 404.18 + 40.41 | 445 |
    /// | 7 | 0.3752 | 0.378 | 444.59 + 37.52 | 483 |
    /// | 8 | 0.3515 | 0.354 | 482.11 + 35.15 | queue empty |
    ///
    /// 8 drops, so the queue is empty at 492 ms. The second time begins at 600 ms. The first drop is
    /// at 705 ms + 1 unit, so at 706 ms, and within 16 intervals of the last. The law has counted
    /// 8 − 1 = 7 drops and goes on from there: 0.3515 (3 − 7 0.1236)/2 = 0.3752, next drop at
    /// 706 + 37.52, then with count 8 after 35.15, 9: 33.18, 10: 31.50, 11: 30.06, 12: 28.79 ms.
    const FIRST: [u64; 8] = [105, 205, 255, 312, 361, 405, 445, 483];
    const AGAIN: [u64; 6] = [706, 744, 779, 812, 844, 874];

    #[test]
    fn drops_come_interval_over_root_count_apart() {
        let mut script = codel(&CodelParameters::default(), 1000);
        for _ in 0..500 {
            script.arrive(1, 1500, Ecn::Ect0);
        }
        assert_eq!(script.drain(0, MS), FIRST);
        script.at(600 * MS);
        for _ in 0..300 {
            script.arrive(1, 1500, Ecn::Ect0);
        }
        assert_eq!(script.drain(600 * MS, MS), AGAIN);
        let notes = script.notes();
        assert!(notes.marks.is_empty());
        assert!(notes.drops.iter().all(|drop| drop.1 == Cause::Early));
        // The packet at the head at 105 ms is the 106th. One drop later the head is one further.
        assert_eq!(notes.drops[0].0, 105);
        assert_eq!(notes.drops[1].0, 206);
    }

    #[test]
    fn a_packet_without_ecn_is_dropped_and_the_others_marked() {
        let ecn = true;
        let mut script = codel(
            &CodelParameters {
                ecn,
                ..CodelParameters::default()
            },
            1000,
        );
        for number in 0..500 {
            let ecn = if number == 205 {
                Ecn::NotEct
            } else {
                Ecn::Ect0
            };
            script.arrive(1, 1500, ecn);
        }
        assert_eq!(script.drain(0, MS), FIRST);
        let notes = script.notes();
        assert_eq!(notes.drops, [(205, Cause::Early)]);
        assert_eq!(notes.marks, [(1, Cause::Early); 7]);
    }

    /// More than 16 intervals after the last drop the law begins at count 1 again.
    #[test]
    fn an_old_rate_of_drops_is_forgotten() {
        let mut script = codel(&CodelParameters::default(), 1000);
        for from_ms in [0, 2500] {
            script.at(from_ms * MS);
            for _ in 0..500 {
                script.arrive(1, 1500, Ecn::NotEct);
            }
            let drops = script.drain(from_ms * MS, MS);
            // 2605 ms are 2 543 945.3 units: late by one unit at 2605 or at 2606 ms.
            assert_eq!(drops[1] - drops[0], 100);
            assert_eq!(drops[2] - drops[1], 50);
        }
    }

    /// One packet each 10 ms waits for 10 ms, but nothing more than one packet waits behind it.
    #[test]
    fn one_packet_behind_the_head_is_no_standing_queue() {
        let mut script = codel(&CodelParameters::default(), 1000);
        script.arrive(1, 1500, Ecn::NotEct);
        for number in 1..1000 {
            script.at(number * 10 * MS).arrive(1, 1500, Ecn::NotEct);
            assert!(script.serve().is_some());
        }
        assert_eq!(script.notes().drops, []);
        // With two packets behind it there is one.
        script.arrive(1, 1500, Ecn::NotEct);
        for number in 1000..1012 {
            script.at(number * 10 * MS).arrive(1, 1500, Ecn::NotEct);
            assert!(script.serve().is_some());
        }
        assert_eq!(script.notes().drops.len(), 1);
    }

    /// Below the target for one packet, the sojourn time must stay above it for a whole interval
    /// again.
    #[test]
    fn one_short_sojourn_ends_the_dropping_state() {
        let mut script = codel(&CodelParameters::default(), 1000);
        for _ in 0..110 {
            script.arrive(1, 1500, Ecn::NotEct);
        }
        assert_eq!(script.drain(0, MS), [105]);
        script.at(150 * MS);
        for _ in 0..60 {
            script.arrive(1, 1500, Ecn::NotEct);
        }
        // 205 ms would be the time of the next drop, and the queue is above its target from 155 ms.
        assert_eq!(script.drain(150 * MS, MS), [0_u64; 0]);
    }
}
