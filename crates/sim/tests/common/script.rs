//! A sender driven by scripted ACKs. RTT 100 ms; segments are numbered from 0.

use super::MS;
use ackclock_host::{Algorithm, CaState, Configured, CongestionControl, HostConfig};
use ackclock_sim::scenario::Profile;
use ackclock_sim::tcp::profile::{Kernel, Switches};
use ackclock_sim::tcp::{Ack, FlowLimits, Handshake, Range, Sender, SenderEvent};

pub const RTT: u64 = 100 * MS;
pub const UNLIMITED: FlowLimits = FlowLimits {
    segments: u64::MAX,
    receive_window: u64::MAX,
    send_buffer: u64::MAX,
};

pub struct Script {
    pub sender: Sender,
    pub now_ns: u64,
    /// Ranges sent by the last call, in order, bursts that touch joined.
    pub sent: Vec<Range>,
    /// One past the highest segment sent.
    pub nxt: u64,
}

impl Script {
    pub fn with(profile: Profile, algorithm: &Configured, limits: FlowLimits) -> Self {
        Self::open(profile, algorithm, limits, false)
    }

    /// `one_packet`: as [`Handshake::one_packet`].
    pub fn open(
        profile: Profile,
        algorithm: &Configured,
        limits: FlowLimits,
        one_packet: bool,
    ) -> Self {
        let kernel = Kernel::for_profile(profile);
        let cc = CongestionControl::new(
            algorithm,
            HostConfig {
                hz: 1000,
                era: kernel.era,
                random_seed: 1,
                mss_bytes: 1448,
                initial_cwnd: kernel.initial_cwnd(1448),
                initial_ssthresh: 0x7fff_ffff,
                flow: 1,
            },
        );
        let sender = Sender::new(
            cc,
            &kernel,
            &Switches::usual(profile),
            limits,
            Handshake {
                now_ns: RTT,
                rtt_ns: RTT,
                ecn: false.into(),
                one_packet,
            },
            0,
        );
        let mut script = Self {
            sender,
            now_ns: RTT,
            sent: Vec::new(),
            nxt: 0,
        };
        script.transmit();
        script
    }

    pub fn new(profile: Profile) -> Self {
        Self::with(profile, &Algorithm::configure("reno").unwrap(), UNLIMITED)
    }

    pub fn transmit(&mut self) {
        self.sent.clear();
        loop {
            while let Some(burst) = self.sender.poll_transmit(self.now_ns) {
                let range = (burst.first, burst.first + u64::from(burst.segments));
                self.nxt = self.nxt.max(range.1);
                match self.sent.last_mut() {
                    Some(last) if last.1 == range.0 => last.1 = range.1,
                    _ => self.sent.push(range),
                }
            }
            if !self.sender.end_softirq(self.now_ns) {
                return;
            }
        }
    }

    /// An ACK for everything below `ack`, with SACK blocks, after `wait_ms`.
    pub fn ack_with(
        &mut self,
        wait_ms: u64,
        ack: u64,
        blocks: &[Range],
        duplicate: bool,
        echo_ns: u64,
    ) -> &mut Self {
        self.now_ns += wait_ms * MS;
        self.sender.handle_ack(
            self.now_ns,
            &Ack::new(ack, echo_ns).with_sacks(blocks.iter().copied(), duplicate),
        );
        self.transmit();
        self
    }

    pub fn ack(&mut self, wait_ms: u64, ack: u64, blocks: &[Range]) -> &mut Self {
        let echo_ns = self.now_ns + wait_ms * MS - RTT;
        self.ack_with(wait_ms, ack, blocks, false, echo_ns)
    }

    /// Lets time pass to the next timer and a bit.
    pub fn timeout(&mut self) -> &mut Self {
        self.now_ns = self.sender.poll_timeout();
        self.sender.handle_timeout(self.now_ns);
        self.transmit();
        self
    }

    pub fn cwnd(&self) -> u32 {
        self.sender.tp().snd_cwnd
    }

    pub fn ssthresh(&self) -> u32 {
        self.sender.tp().snd_ssthresh
    }

    /// Slow start in whole windows until cwnd is `cwnd`.
    pub fn grow_to(&mut self, cwnd: u32) {
        while self.cwnd() < cwnd {
            let (una, room) = (self.sender.una(), u64::from(cwnd - self.cwnd()));
            self.ack(100, self.nxt.min(una + room), &[]);
        }
        assert_eq!(self.cwnd(), cwnd);
    }
}

pub const OLD: Profile = Profile::Linux2_6_25;
pub const NEW: Profile = Profile::Linux6;

/// Reno within these limits.
pub fn limited(profile: Profile, limits: FlowLimits) -> Script {
    Script::with(profile, &Algorithm::configure("reno").unwrap(), limits)
}

/// Reno that slow start has brought to this window, and what is acknowledged.
pub fn at(profile: Profile, cwnd: u32) -> (Script, u64) {
    let mut script = Script::new(profile);
    script.grow_to(cwnd);
    let una = script.sender.una();
    (script, una)
}

/// Segments that the last call sent.
pub fn sent(script: &Script) -> u64 {
    script.sent.iter().map(|range| range.1 - range.0).sum()
}

/// Until the retransmission timer fires.
pub fn until_loss(script: &mut Script) {
    while script.sender.state() != CaState::Loss {
        script.timeout();
    }
}

/// Was a reduction undone since the last look?
pub fn undone(script: &mut Script) -> bool {
    script
        .sender
        .take_events()
        .iter()
        .any(|(event, ..)| *event == SenderEvent::Undo)
}

/// ms from now to the timer.
pub fn timer_ms(script: &Script) -> u64 {
    (script.sender.poll_timeout() - script.now_ns) / MS
}
