//! An ideal sender: what each operation of a vector means, as vectors/README.md says it.

use std::collections::VecDeque;
use std::fmt;

use ackclock_host::{
    AckSample, CaEvent, CaState, Configured, CongestionControl, Era, HostConfig, RateSample,
    TCP_ECN_MODE_ACCECN, TCP_ECN_OK,
};

const CA_ACK_SLOWPATH: u32 = 1;
const CA_ACK_WIN_UPDATE: u32 = 2;
const CA_ACK_ECE: u32 = 4;

#[derive(Clone, Copy)]
pub enum Operation {
    Start,
    /// `count` ACKs, `gap_us` apart, for `packets` each.
    Ack {
        packets: u32,
        rtt_us: u32,
        count: u32,
        gap_us: u32,
    },
    /// An ACK with ECE.
    Echo {
        packets: u32,
        rtt_us: u32,
    },
    /// `count` duplicate ACKs.
    Dupack {
        rtt_us: u32,
        count: u32,
        gap_us: u32,
    },
    Loss,
    Recovered,
    Timeout,
    Undo,
    /// The application keeps so many packets out; 0: as many as cwnd allows.
    Limit {
        packets: u32,
    },
}

pub struct Sender {
    pub cc: CongestionControl,
    era: Era,
    hz: u64,
    limit_packets: u32,
    /// Losses that no ACK has told of yet.
    losses: u32,
    /// After each ACK: the time, µs, and `delivered`.
    delivered: VecDeque<(u64, u32)>,
}

impl Sender {
    pub fn new(configured: &Configured, host: HostConfig, at_us: u64) -> Self {
        let mut sender = Self {
            cc: CongestionControl::new(configured, host),
            era: host.era,
            hz: host.hz.into(),
            limit_packets: 0,
            losses: 0,
            delivered: VecDeque::new(),
        };
        sender.set_clock(at_us);
        let tp = sender.cc.tp_mut();
        tp.is_cwnd_limited = 1;
        // What an algorithm does without its ECN is Reno's.
        tp.ecn_flags = match configured.algorithm() {
            dctcp if dctcp.needs_ecn() => TCP_ECN_OK,
            prague if prague.name() == "prague" => TCP_ECN_MODE_ACCECN,
            _ => 0,
        };
        sender.cc.init();
        sender
    }

    fn set_clock(&mut self, at_us: u64) {
        let tp = self.cc.tp_mut();
        tp.tcp_mstamp = at_us;
        tp.tcp_clock_cache = at_us * 1000;
        tp.inet_conn.sk.sk_host.jiffies = (at_us * self.hz / 1_000_000) as u32;
    }

    pub fn apply(&mut self, at_us: u64, operation: Operation) {
        self.set_clock(at_us);
        match operation {
            Operation::Start => {
                self.cc.cwnd_event(CaEvent::TxStart);
                self.send();
            }
            Operation::Ack {
                packets,
                rtt_us,
                count,
                gap_us,
            } => {
                for index in 0..count {
                    self.set_clock(at_us + u64::from(index) * u64::from(gap_us));
                    self.ack(packets, rtt_us);
                }
            }
            Operation::Echo { packets, rtt_us } => {
                self.clean(
                    packets,
                    rtt_us,
                    CA_ACK_SLOWPATH | CA_ACK_WIN_UPDATE | CA_ACK_ECE,
                );
                if self.cc.tp().inet_conn.icsk_ca_state == CaState::Open as u8 {
                    self.reduce();
                    self.cc.set_state(CaState::Cwr);
                }
                self.send();
            }
            Operation::Dupack {
                rtt_us,
                count,
                gap_us,
            } => {
                for index in 0..count {
                    self.set_clock(at_us + u64::from(index) * u64::from(gap_us));
                    self.clean(0, rtt_us, CA_ACK_SLOWPATH);
                }
            }
            Operation::Loss => {
                self.cc.set_state(CaState::Disorder);
                self.lose(1);
                self.reduce();
                self.cc.set_state(CaState::Recovery);
            }
            Operation::Recovered => {
                let tp = self.cc.tp_mut();
                tp.snd_una = tp.snd_nxt;
                let state = tp.inet_conn.icsk_ca_state;
                let reduced = state == CaState::Recovery as u8 || state == CaState::Cwr as u8;
                if reduced && !self.cc.has_cong_control() {
                    let tp = self.cc.tp_mut();
                    tp.snd_cwnd = tp.snd_ssthresh;
                    self.cc.cwnd_event(CaEvent::CompleteCwr);
                }
                self.cc.set_state(CaState::Open);
                self.send();
            }
            Operation::Timeout => {
                self.lose(self.in_flight());
                self.reduce();
                self.cc.cwnd_event(CaEvent::Loss);
                self.cc.tp_mut().snd_cwnd = 1;
                self.cc.set_state(CaState::Loss);
            }
            Operation::Undo => {
                let cwnd = self.cc.undo_cwnd();
                let tp = self.cc.tp_mut();
                tp.snd_cwnd = cwnd;
                tp.snd_ssthresh = tp.snd_ssthresh.max(tp.prior_ssthresh);
                self.cc.set_state(CaState::Open);
            }
            Operation::Limit { packets } => {
                self.limit_packets = packets;
                let tp = self.cc.tp_mut();
                tp.is_cwnd_limited = u8::from(packets == 0);
                tp.max_packets_out = packets;
            }
        }
    }

    /// Packets in flight, for algorithms with `cong_control`.
    fn in_flight(&self) -> u32 {
        let tp = self.cc.tp();
        (tp.snd_nxt.wrapping_sub(tp.snd_una) as i32).max(0) as u32 / tp.mss_cache
    }

    fn lose(&mut self, packets: u32) {
        if self.cc.has_cong_control() {
            self.losses += packets;
            let tp = self.cc.tp_mut();
            tp.lost = tp.lost.wrapping_add(packets);
        }
    }

    /// The rate sample: a packet was sent an RTT ago, just after the last ACK of that time.
    fn cong_control(&mut self, packets: u32, rtt_us: u32, prior_in_flight: u32) {
        let tp = self.cc.tp();
        let (now_us, una) = (tp.tcp_mstamp, tp.snd_una);
        let sent_us = now_us.saturating_sub(rtt_us.into());
        while self.delivered.get(1).is_some_and(|(at, _)| *at <= sent_us) {
            self.delivered.pop_front();
        }
        let prior = self.delivered.front().copied().unwrap_or((sent_us, 1));
        let mut rs = RateSample {
            delivered: -1,
            interval_us: -1,
            rtt_us: rtt_us.into(),
            losses: std::mem::take(&mut self.losses) as i32,
            acked_sacked: packets,
            prior_in_flight,
            ..RateSample::default()
        };
        if packets > 0 {
            (rs.prior_mstamp, rs.prior_delivered) = prior;
            rs.delivered = tp.delivered.wrapping_sub(prior.1) as i32;
            rs.interval_us = (now_us - prior.0).max(1) as i64;
            rs.is_app_limited = self.limit_packets > 0;
            self.delivered.push_back((now_us, tp.delivered));
        }
        self.cc.cong_control(una, 0, &rs);
    }

    fn reduce(&mut self) {
        let tp = self.cc.tp_mut();
        tp.prior_ssthresh = tp.snd_ssthresh.max((tp.snd_cwnd >> 1) + (tp.snd_cwnd >> 2));
        tp.prior_cwnd = tp.snd_cwnd;
        tp.snd_cwnd_cnt = 0;
        let ssthresh = self.cc.ssthresh();
        self.cc.tp_mut().snd_ssthresh = ssthresh;
    }

    fn ack(&mut self, packets: u32, rtt_us: u32) {
        self.clean(packets, rtt_us, CA_ACK_WIN_UPDATE);
        let state = self.cc.tp().inet_conn.icsk_ca_state;
        let open = state != CaState::Recovery as u8 && state != CaState::Cwr as u8;
        if open && !self.cc.has_cong_control() {
            let una = self.cc.tp().snd_una;
            let acked = if self.era == Era::Linux6 { packets } else { 1 };
            self.cc.cong_avoid(una, acked);
        }
        self.send();
    }

    /// What every ACK does before the window is looked at.
    fn clean(&mut self, packets: u32, rtt_us: u32, flags: u32) {
        let prior_in_flight = self.in_flight();
        let tp = self.cc.tp_mut();
        tp.delivered += packets;
        tp.delivered_ce += if flags & CA_ACK_ECE > 0 { packets } else { 0 };
        let in_flight = tp.snd_nxt.wrapping_sub(tp.snd_una) / tp.mss_cache;
        tp.snd_una = tp.snd_una.wrapping_add(packets.wrapping_mul(tp.mss_cache));
        self.cc.in_ack_event(flags);
        self.cc.tp_mut().srtt_us = rtt_us << 3;
        self.cc.pkts_acked(&AckSample {
            pkts_acked: packets,
            rtt_us: rtt_us as i32,
            in_flight,
        });
        if self.cc.has_cong_control() {
            let (out, tp) = (self.in_flight(), self.cc.tp_mut());
            tp.packets_out = out;
            if packets > 0 {
                tp.delivered_mstamp = tp.tcp_mstamp;
            }
            self.cong_control(packets, rtt_us, prior_in_flight);
        }
    }

    /// Fills the window.
    fn send(&mut self) {
        let tp = self.cc.tp_mut();
        let window = match self.limit_packets {
            0 => tp.snd_cwnd,
            limit => limit.min(tp.snd_cwnd),
        };
        let end = tp.snd_una.wrapping_add(window.wrapping_mul(tp.mss_cache));
        if (end.wrapping_sub(tp.snd_nxt) as i32) > 0 {
            tp.snd_nxt = end;
            tp.lsndtime = tp.inet_conn.sk.sk_host.jiffies;
        }
    }
}

/// As it stands in a vector, after its name the time: `"ack",1000040000,2,40000,5,480`.
pub struct At(pub u64, pub Operation);

impl fmt::Display for At {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        let at_us = self.0;
        match self.1 {
            Operation::Start => write!(to, "\"start\",{at_us}"),
            Operation::Ack {
                packets,
                rtt_us,
                count,
                gap_us,
            } => {
                write!(to, "\"ack\",{at_us},{packets},{rtt_us},{count},{gap_us}")
            }
            Operation::Echo { packets, rtt_us } => {
                write!(to, "\"echo\",{at_us},{packets},{rtt_us}")
            }
            Operation::Dupack {
                rtt_us,
                count,
                gap_us,
            } => {
                write!(to, "\"dupack\",{at_us},{rtt_us},{count},{gap_us}")
            }
            Operation::Loss => write!(to, "\"loss\",{at_us}"),
            Operation::Recovered => write!(to, "\"recovered\",{at_us}"),
            Operation::Timeout => write!(to, "\"timeout\",{at_us}"),
            Operation::Undo => write!(to, "\"undo\",{at_us}"),
            Operation::Limit { packets } => write!(to, "\"limit\",{at_us},{packets}"),
        }
    }
}
