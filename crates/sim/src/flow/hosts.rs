//! Both ends of a connection, as the scenario sets them up.

use super::{Connection, ConnectionState, Flow};
use crate::scenario::{self, EcnMode, Hides, Scenario};
use crate::tcp::profile::{Reads, Switches};
use crate::tcp::{FlowLimits, Handshake, Receiver, Sender};
use ackclock_host::{Configured, CongestionControl, HostConfig, TCP_INFINITE_SSTHRESH};
use ackclock_net::buffer::Buffer;
use ackclock_net::queue::Ecn;
use ackclock_net::schedule::NEVER;

/// `SO_RCVLOWAT` of an application that reads in bulk.
const BULK_READ_BYTES: u64 = 262_144;

/// What a scenario switches on the hosts of a flow.
fn switches(scenario: &Scenario, of: &Flow<'_>) -> Switches {
    let (flow, long_way) = (of.scenario, of.long_way);
    Switches {
        tso: flow.tso.unwrap_or(scenario.tso),
        pacing: scenario.pacing || flow.max_pacing_rate_bps.is_some(),
        max_pacing_rate: flow.max_pacing_rate_bps.map_or(u64::MAX, |bps| bps / 8),
        initcwnd: flow.initcwnd,
        sack: flow.sack,
        rack: flow.rack,
        tlp: flow.tlp,
        timestamps: flow.timestamps,
        slow_start_after_idle: flow.slow_start_after_idle,
        rto_min_us: (flow.rto_min_ns).map(|ns| {
            let (tick_ns, tick_us) = (1_000_000_000 / scenario.hz, 1_000_000 / scenario.hz);
            ns.div_ceil(tick_ns.into()) as u32 * tick_us
        }),
        receive_buffer: flow.receive_buffer(scenario.mss_of(flow).into()),
        segments_per_ack: (flow.delayed_ack_segments).unwrap_or(scenario.delayed_ack_segments),
        reads: match flow.reads.unwrap_or(scenario.reads) {
            scenario::Reads::AtOnce => Reads::AtOnce,
            scenario::Reads::Bulk => Reads::Bulk {
                segments: BULK_READ_BYTES.div_ceil(scenario.mss_of(flow).into()),
            },
        },
        long_way,
        another_algorithm: of.session.is_none() && scenario.changes_algorithm(of.number),
        small_queue: scenario.is_at_sender(flow).then_some(Buffer::ENDLESS),
    }
}

impl<'a> Flow<'a> {
    /// When a SYN that leaves now is sent again, unless it is answered. The wait doubles each time, in
    /// Linux 6 from the sixth SYN on (`tcp_syn_linear_timeouts`), where it also counts jiffies.
    pub(crate) fn syn_again_ns(&self, hz: u32, now_ns: u64) -> u64 {
        let ConnectionState::Connecting(connecting) = &self.state else {
            return NEVER;
        };
        let doublings = connecting
            .syns
            .saturating_sub(self.kernel.linear_syns)
            .min(6);
        let wait_us = self.kernel.initial_rto_us << doublings;
        if self.kernel.linear_syns == 0 {
            return now_ns + wait_us * 1_000;
        }
        let mut clock = self.kernel.clock(hz, self.tick_phase_ns.into());
        clock.advance(now_ns);
        clock.fires_ns(clock.jiffies_of_us(wait_us))
    }

    /// The receiver of a connection that is established now.
    pub(super) fn accept(&mut self, scenario: &Scenario, ecn: EcnMode) -> Receiver {
        let clock = self.kernel.clock(scenario.hz, self.tick_phase_ns.into());
        let mut receiver =
            Receiver::new(self.kernel, &switches(scenario, self), clock, self.rtt_ns);
        if self.scenario.hides == Hides::Losses {
            receiver.hide_losses();
        }
        let another = self.session.is_none() && scenario.changes_algorithm(self.number);
        if another || self.configured.algorithm().reads_timestamps() {
            receiver.tell_departures();
        }
        let mss = scenario.mss_of(self.scenario);
        receiver.has_segments_of(mss);
        if let Some(buffer) = self.scenario.receive_buffer(mss.into()) {
            receiver.hold_within(buffer, mss);
        } else if let Some(bytes) = self.scenario.receive_window_bytes {
            receiver.offer_at_most(bytes / u64::from(mss), mss);
        }
        if let Some(rate_bps) = self.scenario.read_rate_bps {
            let changes = self.scenario.read_rate_at.iter();
            let changes = changes.map(|step| (step.time_ns, step.rate_bps));
            receiver.read_slowly([(0, rate_bps)].into_iter().chain(changes));
        } else if let Some(quiet_ns) = self.scenario.gro_ns {
            receiver.merge_packets(quiet_ns, mss, scenario.header_of(self.scenario));
        } else if self.in_batches {
            receiver.read_after_batches();
        }
        match ecn {
            _ if self.scenario.hides == Hides::Marks => (),
            EcnMode::Off => (),
            EcnMode::Classic => {
                let needed = self.needs_ecn();
                receiver.use_ecn(needed.then(|| self.congestion_control(scenario)));
            }
            EcnMode::Accurate => receiver.use_accurate_ecn(),
        }
        receiver
    }

    /// Whether the algorithm asks for ECN, and runs at both ends.
    pub(crate) fn needs_ecn(&self) -> bool {
        self.configured.algorithm().needs_ecn()
    }

    /// The ECN field of the packets without new data that the hosts send now. Linux allows marks on
    /// them only if the algorithm needs ECN, or after a handshake for accurate ECN (`tcp_ecn_send`).
    pub(crate) fn control_field(&self) -> Ecn {
        let allowed = match &self.state {
            ConnectionState::Connecting(connecting) => {
                let algorithm = self.configured.algorithm();
                let needs = algorithm.needs_ecn() || algorithm.needs_accurate_ecn();
                connecting.ecn != EcnMode::Off && needs
            }
            ConnectionState::Guest(_) => false, // each datagram has its own
            ConnectionState::Open(Connection { receiver, .. }) => {
                receiver.uses_accurate_ecn() || (receiver.uses_ecn() && self.needs_ecn())
            }
        };
        match allowed {
            false => Ecn::NotEct,
            true if self.configured.algorithm().sends_ect_1() => Ecn::Ect1,
            true => Ecn::Ect0,
        }
    }

    pub(super) fn initial_cwnd(&self, scenario: &Scenario) -> u32 {
        let usual = self.kernel.initial_cwnd(scenario.mss_of(self.scenario));
        self.scenario.initcwnd.unwrap_or(usual)
    }

    pub(super) fn congestion_control(&mut self, scenario: &Scenario) -> CongestionControl {
        let ssthresh = match &self.session {
            Some(session) => session.ssthresh(),
            None => (self.scenario.initial_ssthresh_packets).unwrap_or(TCP_INFINITE_SSTHRESH),
        };
        CongestionControl::new(
            self.configured,
            HostConfig {
                hz: scenario.hz,
                era: self.kernel.era,
                random_seed: self.draws.as_mut().map_or(0, |draws| draws.cc.bits()),
                mss_bytes: scenario.mss_of(self.scenario),
                initial_cwnd: self.initial_cwnd(scenario),
                initial_ssthresh: ssthresh,
                flow: self.number,
            },
        )
    }

    /// The flow has this algorithm from now on, its connection too.
    pub(crate) fn change_algorithm(
        &mut self,
        scenario: &Scenario,
        configured: &'a Configured,
        now_ns: u64,
    ) {
        self.configured = configured;
        let switches = switches(scenario, self);
        if let ConnectionState::Open(connection) = &mut self.state {
            let sender = &mut connection.sender;
            sender.change_algorithm(configured, self.kernel, &switches, now_ns);
        }
    }

    pub(super) fn establish(
        &mut self,
        scenario: &Scenario,
        handshake: Handshake,
        room: Buffer,
    ) -> Sender {
        let cc = self.congestion_control(scenario);
        let switches = switches(scenario, self);
        let mss = u64::from(scenario.mss_of(self.scenario));
        let in_segments = |bytes: Option<u64>| bytes.map_or(u64::MAX, |bytes| bytes / mss);
        let limits = FlowLimits {
            segments: self.segments,
            receive_window: in_segments(self.scenario.receive_window_bytes),
            send_buffer: in_segments(self.scenario.send_buffer_bytes),
        };
        Sender::new(
            cc,
            self.kernel,
            &Switches {
                small_queue: switches.small_queue.map(|_| room),
                ..switches
            },
            limits,
            handshake,
            self.tick_phase_ns.into(),
        )
    }
}
