//! Calls as no network would make them, and runs of them as one might.

use ackclock_host::{
    AckSample, Algorithm, CaState, CongestionControl, Era, HostConfig, RateSample, TcpSock,
    TCP_ECN_MODE_ACCECN,
};

use crate::call::{make, Call, Hook, Outcome};

/// A flow that gets random calls, the same ones whenever its answers are the same.
pub struct RandomCalls {
    cc: CongestionControl,
    random: u64,
    now_us: u64,
    step_us: u64,
    hz: u64,
    begun: bool,
    /// The host also does what only algorithms that need ECN see.
    ecn: bool,
    /// The algorithm has `cong_control`.
    controls: bool,
}

impl RandomCalls {
    pub fn new(spec: &str, era: Era) -> Self {
        let configured = Algorithm::configure(spec).unwrap();
        let hz = if era == Era::Linux6 { 1000 } else { 250 };
        let host = HostConfig {
            hz,
            era,
            ..HostConfig::default()
        };
        let mut cc = CongestionControl::new(&configured, host);
        cc.tp_mut().is_cwnd_limited = 1;
        let ecn = configured.algorithm().needs_ecn();
        // What an algorithm does without its ECN is Reno's.
        cc.tp_mut().ecn_flags = match configured.algorithm().name() {
            "prague" => TCP_ECN_MODE_ACCECN,
            _ => u8::from(ecn),
        };
        Self {
            cc,
            random: 88_172_645_463_325_252,
            // Every clock of 32 bits wraps on the way.
            now_us: (1 << 32) * (1_000_000 / u64::from(hz)) - 1_070_000_000,
            step_us: 100,
            hz: hz.into(),
            begun: false,
            ecn,
            controls: configured.algorithm().has_cong_control(),
        }
    }

    fn pick(&mut self, n: u32) -> u32 {
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        ((self.random >> 33) % u64::from(n)) as u32
    }

    /// A number of up to so many bits, each number of bits as likely.
    fn any(&mut self, bits: u32) -> u32 {
        let bits = self.pick(bits + 1);
        (u64::from(self.pick(u32::MAX)) & ((1 << bits) - 1)) as u32
    }

    fn advance_clock(&mut self) {
        if self.pick(50) == 0 {
            self.step_us = 1 << self.pick(34);
        }
        self.now_us += self.step_us;
        let jiffies = (self.now_us * self.hz / 1_000_000) as u32;
        let tp = self.cc.tp_mut();
        tp.tcp_mstamp = self.now_us;
        tp.tcp_clock_cache = self.now_us * 1000;
        tp.inet_conn.sk.sk_host.jiffies = jiffies;
    }

    /// What the host may have done since the last call.
    fn change_socket(&mut self) {
        let (what, any, window) = (self.pick(64), self.any(32), self.any(20) + 1);
        let jiffies = self.cc.tp().inet_conn.sk.sk_host.jiffies;
        let tp = self.cc.tp_mut();
        match what {
            0 => tp.snd_cwnd = window,
            1 => tp.snd_cwnd_cnt = any >> 8,
            2 => tp.snd_ssthresh = [2, window, 0x7fff_ffff][any as usize % 3],
            3 => tp.srtt_us = any,
            4 => tp.is_cwnd_limited ^= 1,
            5 => tp.lsndtime = jiffies.wrapping_sub(any >> 16),
            6 => tp.max_packets_out = window,
            7 => tp.inet_conn.icsk_ca_state = (any % 5) as u8,
            8 => tp.prior_cwnd = window,
            9 => tp.inet_conn.sk.sk_pacing_rate = u64::from(any) << (window % 33),
            10 => tp.inet_conn.sk.sk_pacing_status = any % 3,
            11 => tp.mss_cache = 1 + any % 65_536,
            12 => tp.snd_cwnd_clamp = [window, u32::MAX][any as usize % 2],
            13 => tp.lost = tp.lost.wrapping_add(any >> 16),
            14 => tp.packets_out = window,
            _ => {}
        }
        if self.ecn {
            self.change_marks();
        }
        if self.controls {
            self.change_rates();
        }
        let tp = self.cc.tp_mut();
        // A host never has these.
        tp.snd_cwnd = tp.snd_cwnd.clamp(1, tp.snd_cwnd_clamp.min(1 << 21));
    }

    /// What only algorithms with `cong_control` read.
    fn change_rates(&mut self) {
        let (what, any, shift) = (self.pick(64), self.any(32), self.pick(33));
        let tp = self.cc.tp_mut();
        match what {
            0 => tp.tcp_wstamp_ns = tp.tcp_clock_cache + u64::from(any),
            1 => tp.rtt_min.s[0].v = any,
            2 => tp.app_limited = any >> shift.min(31),
            3 => tp.inet_conn.sk.sk_max_pacing_rate = u64::from(any) << shift,
            4 => tp.inet_conn.sk.sk_pacing_shift = shift as u8,
            _ => {}
        }
    }

    /// What has been marked, or has arrived.
    fn change_marks(&mut self) {
        let (what, any, packets) = (self.pick(32), self.any(32), self.pick(4));
        let tp = self.cc.tp_mut();
        tp.delivered_ce = tp.delivered_ce.wrapping_add(packets);
        match what {
            0 => tp.ecn_flags = (any % 16) as u8,
            1 => tp.inet_conn.icsk_ack.pending = (any % 32) as u8,
            2 => tp.inet_conn.sk.sk_host.acks = 0,
            3..=7 => tp.rcv_nxt = tp.rcv_nxt.wrapping_add(packets * tp.mss_cache),
            9 => tp.delivered_ce = any,
            _ => {}
        }
    }

    fn rtt_us(&mut self) -> i32 {
        match self.pick(8) {
            0 => -1,
            1 => self.any(31) as i32,
            _ => 40_000 + self.pick(10_000) as i32,
        }
    }

    fn ack(&mut self) -> Call {
        let packets = if self.pick(8) == 0 {
            self.any(20)
        } else {
            1 + self.pick(4)
        };
        let sample = AckSample {
            pkts_acked: packets,
            rtt_us: self.rtt_us(),
            in_flight: self.any(20),
        };
        let rate = RateSample {
            prior_mstamp: self.now_us,
            prior_delivered: self.any(32),
            delivered: self.any(16) as i32,
            interval_us: self.any(31).into(),
            rtt_us: sample.rtt_us.into(),
            losses: self.pick(4) as i32,
            acked_sacked: packets,
            prior_in_flight: self.any(20),
            is_app_limited: self.pick(2) == 0,
            is_retrans: self.pick(2) == 0,
            ..RateSample::default()
        };
        let tp = self.cc.tp_mut();
        tp.snd_una = tp.snd_una.wrapping_add(packets.wrapping_mul(tp.mss_cache));
        tp.delivered = tp.delivered.wrapping_add(packets);
        tp.delivered_mstamp = tp.tcp_mstamp;
        let window = tp.snd_cwnd.wrapping_mul(tp.mss_cache);
        if (tp.snd_una.wrapping_add(window).wrapping_sub(tp.snd_nxt) as i32) > 0 {
            tp.snd_nxt = tp.snd_una.wrapping_add(window);
        }
        let (hook, arguments) = match self.pick(8) {
            0 => (Hook::InAckEvent, [self.pick(8), 0]),
            1..=3 => (Hook::PktsAcked, [0, 0]),
            4 => (Hook::CongControl, [self.cc.tp().snd_una, 0]),
            _ => (Hook::CongAvoid, [self.cc.tp().snd_una, packets]),
        };
        self.call(hook, arguments, sample, rate)
    }

    fn call(&self, hook: Hook, arguments: [u32; 2], sample: AckSample, rate: RateSample) -> Call {
        Call {
            hook,
            arguments,
            result: 0,
            sample,
            rate,
            tp: self.cc.tp().clone(),
        }
    }

    fn plain(&self, hook: Hook, argument: u32) -> Call {
        let (sample, rate) = (AckSample::default(), RateSample::default());
        self.call(hook, [argument, 0], sample, rate)
    }

    /// What the sender does with what a hook returned.
    fn obey(&mut self, call: &Call, outcome: &Outcome) {
        let tp: &mut TcpSock = self.cc.tp_mut();
        match call.hook {
            Hook::Ssthresh => {
                tp.prior_cwnd = tp.snd_cwnd;
                tp.snd_ssthresh = outcome.result;
                tp.snd_cwnd = outcome.result.max(1);
            }
            Hook::UndoCwnd => tp.snd_cwnd = outcome.result.max(1),
            Hook::SetState if call.arguments[0] == CaState::Loss as u32 => tp.snd_cwnd = 1,
            _ => {}
        }
    }
}

impl Iterator for RandomCalls {
    type Item = (Call, Outcome);

    fn next(&mut self) -> Option<Self::Item> {
        self.advance_clock();
        let call = if !self.begun {
            self.begun = true;
            self.plain(Hook::Init, 0)
        } else {
            self.change_socket();
            match self.pick(40) {
                0 => self.plain(Hook::Ssthresh, 0),
                1 => {
                    let state = self.pick(5);
                    self.plain(Hook::SetState, state)
                }
                2 => {
                    let event = self.pick(6);
                    self.plain(Hook::CwndEvent, event)
                }
                3 => self.plain(Hook::UndoCwnd, 0),
                _ => self.ack(),
            }
        };
        let outcome = make(&mut self.cc, &call);
        self.obey(&call, &outcome);
        Some((call, outcome))
    }
}
