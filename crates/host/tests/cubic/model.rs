//! Preset `linux` against a second writing of Linux 6.12's CUBIC, literal and slow, over
//! random lives of a connection: window, threshold and every variable, step by step.

use crate::common::{Cubic, Flow};
use ackclock_host::{AckSample, CaEvent, CaState};

const BETA: i64 = 717;

#[derive(Default)]
struct Model {
    hz: i64,
    // The socket.
    jiffies: i64,
    mstamp: i64,
    cwnd: i64,
    credit: i64,
    ssthresh: i64,
    una: i64,
    nxt: i64,
    // The algorithm.
    cnt: i64,
    last_max: i64,
    last_cwnd: i64,
    last_time: i64,
    origin: i64,
    k: i64,
    delay_min: i64,
    epoch_start: i64,
    ack_cnt: i64,
    tcp_cwnd: i64,
    found: bool,
    round_start: i64,
    end_seq: i64,
    last_ack: i64,
    curr_rtt: i64,
    sample_cnt: i64,
}

impl Model {
    fn cube_root(a: i128) -> i64 {
        const V: [i128; 64] = [
            0, 54, 54, 54, 118, 118, 118, 118, 123, 129, 134, 138, 143, 147, 151, 156, 157, 161,
            164, 168, 170, 173, 176, 179, 181, 185, 187, 190, 192, 194, 197, 199, 200, 202, 204,
            206, 209, 211, 213, 215, 217, 219, 221, 222, 224, 225, 227, 229, 231, 232, 234, 236,
            237, 239, 240, 242, 244, 245, 246, 248, 250, 251, 252, 254,
        ];
        let fls = (0..128).take_while(|bit| a >> bit > 0).count() as i128;
        if fls < 7 {
            return ((V[a as usize] + 35) / 64) as i64;
        }
        let b = fls * 84 / 256 - 1;
        let x = (V[(a >> (3 * b)) as usize] + 10) * (1 << b) / 64;
        ((2 * x + a / (x * (x - 1))) * 341 / 1024) as i64
    }

    fn hystart_reset(&mut self) {
        (self.round_start, self.last_ack, self.end_seq) = (self.mstamp, self.mstamp, self.nxt);
        (self.curr_rtt, self.sample_cnt) = (i64::MAX, 0);
    }

    fn reset(&mut self) {
        (
            self.cnt,
            self.last_max,
            self.last_cwnd,
            self.last_time,
            self.origin,
        ) = (0, 0, 0, 0, 0);
        (
            self.k,
            self.delay_min,
            self.epoch_start,
            self.ack_cnt,
            self.tcp_cwnd,
        ) = (0, 0, 0, 0, 0);
        self.found = false;
        self.hystart_reset();
    }

    fn update(&mut self, acked: i64) {
        let (w, now) = (self.cwnd, self.jiffies);
        self.ack_cnt += acked;
        if self.last_cwnd == w && now - self.last_time <= self.hz / 32 {
            return;
        }
        if self.epoch_start == 0 || now != self.last_time {
            (self.last_cwnd, self.last_time) = (w, now);
            if self.epoch_start == 0 {
                (self.epoch_start, self.ack_cnt, self.tcp_cwnd) = (now, acked, w);
                (self.k, self.origin) = if self.last_max <= w {
                    (0, w)
                } else {
                    (
                        Self::cube_root((1 << 40) / 410 * i128::from(self.last_max - w)),
                        self.last_max,
                    )
                };
            }
            let jiffies_min = (self.delay_min * self.hz + 999_999) / 1_000_000;
            let t = (now - self.epoch_start + jiffies_min) * 1024 / self.hz;
            let offset = i128::from((t - self.k).abs());
            let delta = ((410 * offset.pow(3)) >> 40) as i64;
            let target = if t < self.k {
                (self.origin - delta).max(0)
            } else {
                (self.origin + delta).min(u32::MAX.into())
            };
            self.cnt = if target > w {
                w / (target - w)
            } else {
                (100 * w).min(u32::MAX.into())
            };
            if self.last_max == 0 {
                self.cnt = self.cnt.min(20);
            }
        }
        let d = (w * 15 / 8).min(u32::MAX.into());
        while self.ack_cnt > d {
            self.ack_cnt -= d;
            self.tcp_cwnd += 1;
        }
        if self.tcp_cwnd > w {
            self.cnt = self.cnt.min(w / (self.tcp_cwnd - w));
        }
        self.cnt = self.cnt.max(2);
    }

    fn cong_avoid(&mut self, mut acked: i64) {
        if self.cwnd < self.ssthresh {
            let new = (self.cwnd + acked).min(self.ssthresh);
            acked -= new - self.cwnd;
            self.cwnd = new;
            if acked == 0 {
                return;
            }
        }
        self.update(acked);
        if self.credit >= self.cnt {
            (self.credit, self.cwnd) = (0, self.cwnd + 1);
        }
        self.credit += acked;
        if self.credit >= self.cnt {
            self.cwnd += self.credit / self.cnt;
            self.credit %= self.cnt;
        }
    }

    fn loss(&mut self) {
        self.epoch_start = 0;
        self.last_max = if self.cwnd < self.last_max {
            self.cwnd * (1024 + BETA) / 2048
        } else {
            self.cwnd
        };
        self.ssthresh = (self.cwnd * BETA / 1024).max(2);
    }

    fn pkts_acked(&mut self, rtt_us: i64) {
        if rtt_us < 0 || self.epoch_start != 0 && self.jiffies - self.epoch_start < self.hz {
            return;
        }
        let rtt = rtt_us.max(1);
        if self.delay_min == 0 || rtt < self.delay_min {
            self.delay_min = rtt;
        }
        if self.found || self.cwnd >= self.ssthresh {
            return;
        }
        if self.una > self.end_seq {
            self.hystart_reset();
        }
        if self.cwnd < 16 {
            return;
        }
        if self.mstamp - self.last_ack <= 2000 {
            self.last_ack = self.mstamp;
            self.found |= self.mstamp - self.round_start > self.delay_min / 2;
        }
        self.curr_rtt = self.curr_rtt.min(rtt);
        if self.sample_cnt < 8 {
            self.sample_cnt += 1;
        } else {
            self.found |= self.curr_rtt > self.delay_min + (self.delay_min / 8).clamp(4000, 16000);
        }
        if self.found {
            self.ssthresh = self.cwnd;
        }
    }

    fn tx_start(&mut self, lsndtime: i64) {
        if self.epoch_start != 0 && self.jiffies > lsndtime {
            self.epoch_start = (self.epoch_start + self.jiffies - lsndtime).min(self.jiffies);
        }
    }
}

/// xorshift64: the same lives on every machine.
struct Dice(u64);

impl Dice {
    fn below(&mut self, n: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % n
    }
}

#[test]
fn equals_the_model_through_random_lives() {
    for life in 1..=60 {
        let hz = [100, 250, 1000][life as usize % 3];
        let mut dice = Dice(0x9e37_79b9_7f4a_7c15 ^ life << 20);
        let mut flow = Flow::with_hz("cubic@linux", hz);
        let mut model = Model {
            hz: hz.into(),
            cwnd: 10,
            ssthresh: 0x7fff_ffff,
            ..Model::default()
        };
        let tp = flow.tp();
        (model.jiffies, model.mstamp) =
            (tp.inet_conn.sk.sk_host.jiffies.into(), tp.tcp_mstamp as i64);
        model.reset();
        let (mut us, mut rtt_us) = (0, 1000 + dice.below(300_000));
        for step in 0..20_000 {
            // Mostly an ACK clock, now and then a pause.
            us += match dice.below(1000) {
                0 => dice.below(10_000_000),
                1..=30 => dice.below(50_000),
                _ => 2 * rtt_us / u64::from(flow.cwnd()) + dice.below(20),
            };
            flow.at(us);
            let tp = flow.tp();
            (model.jiffies, model.mstamp) =
                (tp.inet_conn.sk.sk_host.jiffies.into(), tp.tcp_mstamp as i64);
            match dice.below(5000) {
                0..=2 => {
                    flow.loss_at(model.cwnd as u32);
                    model.loss();
                    (model.cwnd, model.credit) = (model.ssthresh, 0);
                }
                3 => {
                    flow.timeout();
                    model.loss();
                    model.reset();
                    (model.cwnd, model.credit) = (1, 0);
                }
                4..=6 => {
                    let lsndtime = model.jiffies - dice.below(u64::from(hz) * 2) as i64;
                    flow.tp().lsndtime = lsndtime as u32;
                    flow.cc.cwnd_event(CaEvent::TxStart);
                    model.tx_start(lsndtime);
                }
                7 => flow.cc.set_state(CaState::Disorder),
                8 => rtt_us = 1000 + dice.below(300_000),
                _ => {
                    let acked = 1 + dice.below(3);
                    let sample = match dice.below(50) {
                        0 => -1,
                        _ => (rtt_us + dice.below(1 + rtt_us / 5)) as i32,
                    };
                    model.una += 1448 * acked as i64;
                    model.nxt = model.una + 1448 * model.cwnd;
                    (flow.tp().snd_una, flow.tp().snd_nxt) = (model.una as u32, model.nxt as u32);
                    flow.cc.pkts_acked(&AckSample {
                        pkts_acked: 1,
                        rtt_us: sample,
                        in_flight: 0,
                    });
                    model.pkts_acked(sample.into());
                    flow.cc.cong_avoid(0, acked as u32);
                    model.cong_avoid(acked as i64);
                }
            }
            assert_same(&flow, &model, &format!("life {life}, step {step}"));
        }
    }
}

fn assert_same(flow: &Flow, model: &Model, when: &str) {
    let tp = flow.cc.tp();
    let ours = [
        tp.snd_cwnd,
        tp.snd_cwnd_cnt,
        tp.snd_ssthresh,
        flow.cubic(Cubic::Cnt),
        flow.cubic(Cubic::LastMaxCwnd),
        flow.cubic(Cubic::LastCwnd),
        flow.cubic(Cubic::LastTime),
        flow.cubic(Cubic::OriginPoint),
        flow.cubic(Cubic::K),
        flow.cubic(Cubic::DelayMin),
        flow.cubic(Cubic::EpochStart),
        flow.cubic(Cubic::AckCnt),
        flow.cubic(Cubic::TcpCwnd),
    ];
    let theirs = [
        model.cwnd,
        model.credit,
        model.ssthresh,
        model.cnt,
        model.last_max,
        model.last_cwnd,
        model.last_time,
        model.origin,
        model.k,
        model.delay_min,
        model.epoch_start,
        model.ack_cnt,
        model.tcp_cwnd,
    ];
    assert_eq!(ours.map(i64::from), theirs, "{when}");
}

/// Products of such windows need more than 32 bits, the curve's more than 64.
#[test]
fn equals_the_model_at_the_largest_windows() {
    let windows = (22..32).flat_map(|bits| [1i64 << bits, (1 << bits) + (1 << bits) / 3]);
    for window in windows {
        let mut dice = Dice(window as u64);
        let mut flow = Flow::with_hz("cubic@linux", 250);
        let mut model = Model {
            hz: 250,
            cwnd: window,
            credit: 0,
            ..Model::default()
        };
        model.reset();
        let mut us = 0;
        let at = |flow: &mut Flow, model: &mut Model, us: u64| {
            flow.at(us);
            let tp = flow.tp();
            (model.jiffies, model.mstamp) =
                (tp.inet_conn.sk.sk_host.jiffies.into(), tp.tcp_mstamp as i64);
        };
        at(&mut flow, &mut model, us);
        model.hystart_reset();
        // The second loss at a smaller window, the third at a larger one.
        for share in [100, 80, 95] {
            model.cwnd = window / 100 * share;
            assert_eq!(i64::from(flow.loss_at(model.cwnd as u32)), {
                model.loss();
                model.ssthresh
            });
            (model.cwnd, model.credit) = (model.ssthresh, 0);
            for step in 0..300 {
                // To the plateau, which is minutes away, and beyond.
                us += dice.below(if step % 20 == 0 { 60_000_000 } else { 300_000 });
                at(&mut flow, &mut model, us);
                flow.rtt(200_000);
                model.pkts_acked(200_000);
                let acked = 1 + dice.below(1 << 16);
                flow.cc.cong_avoid(0, acked as u32);
                model.cong_avoid(acked as i64);
                assert_same(&flow, &model, &format!("{window}, {share} %, step {step}"));
            }
        }
    }
}
