//! Calls a file's hooks as a kernel may, in orders and with numbers that no scenario has.
//!
//! What hooks get is what TCP of Linux can give them: its states in their order, counters that agree, an
//! RTT of 0 or of hours, a clock that wraps, connections that rest for years. So who is blamed is wrong.

use std::fmt::Arguments;
use std::fs::File;
use std::io::{self, Read as _, Write as _};
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

use crate::compile::compile;
use crate::native::apart::Apart;
use crate::sock::{
    AckSample, CaEvent, CaState, RateSample, TCP_ECN_OK, TCP_INFINITE_SSTHRESH as INFINITE,
};
use crate::thread_clock::ThreadClock;
use crate::{crash, AlgorithmError, Configured, CongestionControl, HostConfig};

/// A hook may take so long, and all of them.
const HOOK_LIMIT: Duration = Duration::from_secs(1);
const LIMIT: Duration = Duration::from_secs(3);
const STEPS: u32 = 1000;
/// Each is another compile of a file in the kernel's form.
const HZ: [u32; 2] = [250, 1000];
/// Packets of the largest send buffer, which Linux counts in 31 bits.
const MOST_PACKETS: u32 = 1 << 20;
/// Linux's `FLAG_DATA_ACKED`, `FLAG_ECE`, and the longest timeout in seconds.
const DATA_ACKED: i32 = 4;
const ECE: i32 = 0x40;
const MOST_RTO_S: u32 = 120;
/// A connection may rest for 2^so many microseconds, with and without packets under way.
const AWAITED: u64 = 27;
const AT_REST: u64 = 43;
/// The last line of a process that has found nothing.
const CLEAN: &str = "clean";
/// How a line begins that tells a call.
const CALL: &str = "calls ";

/// Lets so many drawn connections call the hooks of an algorithm, for 3 s at most. What is wrong with it,
/// in one line; `None`: nothing. With `undefined` what C leaves so is found, too, which is another compile.
///
/// # Errors
/// As [`crate::Algorithm::configure`]; the system gives no process.
pub fn fuzz(
    spec: &str,
    connections: u64,
    undefined: bool,
) -> Result<Option<String>, AlgorithmError> {
    let configured = Configured::parse(spec, |path| compile(path, path, undefined))?;
    for hz in HZ {
        configured.load(hz)?;
    }
    let watched = |connections, each| {
        let told = apart(configured.clone(), connections, each);
        told.map_err(|error| AlgorithmError::cannot_load(spec, &error))
    };
    let (told, words) = watched(0..connections, false)?;
    let last = told.lines().last().unwrap_or("0");
    if last == CLEAN {
        return Ok(None);
    }
    let found = told.lines().rev().find_map(|line| line.parse().ok());
    let found: u64 = found.unwrap_or(0);
    let (told, _) = watched(found..found + 1, true)?;
    let call = told.lines().rev().find_map(|line| line.strip_prefix(CALL));
    let path = configured.algorithm().source_path();
    let says = match (last.parse::<u64>(), words.is_empty()) {
        (Err(_), _) => format!("{path}: {last}"),
        (_, false) => words,
        _ => format!("{path}: its process was killed"),
    };
    Ok(Some(format!(
        "{says}; called as {}",
        call.unwrap_or_default()
    )))
}

/// Runs these connections in a process of their own. What it tells: the number of each before it begins, with
/// `each` every call, and at the end what was found. Also its last words.
fn apart(of: Configured, seeds: Range<u64>, each: bool) -> io::Result<(String, String)> {
    let (process, mut from) = Apart::start(&[], move |to, _| {
        // A reader that is gone ends this process.
        let tell = |text: &str| drop(writeln!(&to, "{text}"));
        let calls = AtomicU64::new(0);
        thread::scope(|scope| {
            let ((begun, beginning), (done, result)) = (mpsc::channel(), mpsc::channel());
            let (of, calls, to, tell) = (&of, &calls, &to, &tell);
            scope.spawn(move || {
                crash::prepare_thread();
                let _ = begun.send(ThreadClock::current());
                let started = Instant::now();
                let run = || {
                    for seed in seeds.take_while(|_| started.elapsed() < LIMIT) {
                        tell(&seed.to_string());
                        let told = each.then_some(to);
                        Connection::new(of, seed, calls, told)?.live()?;
                    }
                    Ok::<_, String>(())
                };
                let _ = done.send(run());
            });
            let clock = beginning.recv().ok().flatten();
            let used = || clock.and_then(ThreadClock::elapsed).unwrap_or_default();
            let mut seen = (u64::MAX, used());
            while let Err(why) = result.recv_timeout(HOOK_LIMIT / 50).map(|found| {
                tell(found.err().as_deref().unwrap_or(CLEAN));
            }) {
                let now = (calls.load(Relaxed), used());
                if now.0 != seen.0 {
                    seen = now;
                } else if why == RecvTimeoutError::Disconnected
                    || now.1.saturating_sub(seen.1) > HOOK_LIMIT
                {
                    tell("a hook does not return (after 1 s): is a loop endless?");
                    // The thread goes with the process.
                    // SAFETY: nothing of it is wanted any more.
                    unsafe { libc::_exit(0) }
                }
            }
        });
    })?;
    let mut told = String::new();
    from.read_to_string(&mut told)?;
    Ok((told, process.end()))
}

struct Random(u64);

impl Random {
    /// Less than `n`, which is not 0.
    fn below(&mut self, n: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) % n
    }

    fn one_in(&mut self, n: u64) -> bool {
        self.below(n) == 0
    }

    /// Of each size below 2^bits as often.
    fn any(&mut self, bits: u64) -> u64 {
        let bits = self.below(bits);
        (1 << bits) + self.below(1 << bits)
    }

    fn of<T: Copy>(&mut self, all: &[T]) -> T {
        all[self.below(all.len() as u64) as usize]
    }
}

/// The sender's side of TCP, as far as hooks see it.
struct Connection<'a> {
    cc: CongestionControl,
    random: Random,
    hz: u32,
    began_us: u64,
    now_us: u64,
    /// What tcp_jiffies32 was at 0.
    first_jiffies: u64,
    rtt_us: u64,
    state: CaState,
    /// One step in so many brings a timeout, marks or a pause.
    calm: u64,
    /// Packets until the reduction has ended.
    to_repair: u32,
    calls: &'a AtomicU64,
    tell: Option<&'a File>,
}

type Found<T = ()> = Result<T, String>;

impl<'a> Connection<'a> {
    /// A connection of an age, or one that changes to the algorithm.
    fn new(
        of: &Configured,
        seed: u64,
        calls: &'a AtomicU64,
        tell: Option<&'a File>,
    ) -> Found<Self> {
        let mut random = Random((seed + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15));
        random.below(1);
        let hz = random.of(&HZ);
        let host = HostConfig {
            hz,
            random_seed: seed,
            mss_bytes: random.of(&[48, 536, 1448, 8948, 65_483]),
            initial_cwnd: [10, random.any(20) as u32][random.below(2) as usize],
            initial_ssthresh: [INFINITE, 1 + random.any(20) as u32][random.below(2) as usize],
            flow: 1,
            ..HostConfig::default()
        };
        let (rtt_us, age_us) = (random.any(24), random.any(40));
        let mut new = Self {
            cc: CongestionControl::new(of, host),
            hz,
            began_us: age_us,
            now_us: age_us + rtt_us,
            // Linux begins 5 minutes before it wraps.
            first_jiffies: [(1 << 32) - 300 * u64::from(hz), random.any(32)]
                [random.below(2) as usize],
            rtt_us,
            state: CaState::Open,
            calm: 8 << random.below(8),
            to_repair: 0,
            calls,
            tell,
            random,
        };
        let random = &mut new.random;
        let tp = new.cc.tp_mut();
        (tp.snd_una, tp.rcv_nxt) = (random.any(32) as u32, random.any(32) as u32);
        (tp.snd_nxt, tp.rtt_min.s[0].v) = (tp.snd_una, rtt_us as u32);
        tp.srtt_us = rtt_us as u32 * 8 * u32::from(!random.one_in(8));
        tp.mdev_us = tp.srtt_us / 4;
        if random.one_in(2) {
            tp.ecn_flags = TCP_ECN_OK;
        }
        if random.one_in(8) {
            tp.snd_cwnd_clamp = 1 + random.any(16) as u32;
        }
        if random.one_in(4) {
            tp.delivered = random.any(32) as u32;
            (tp.delivered_ce, tp.lost) = (tp.delivered / 9, tp.delivered / 5);
            tp.prior_cwnd = random.any(20) as u32;
            new.state = random.of(&[CaState::Open, CaState::Recovery, CaState::Loss]);
            tp.inet_conn.icsk_ca_state = new.state as u8;
        }
        new.at(0);
        let tp = new.cc.tp_mut();
        tp.lsndtime = tp.inet_conn.sk.sk_host.jiffies;
        new.stamp();
        new.call(format_args!("init()"), CongestionControl::init)?;
        Ok(new)
    }

    fn live(mut self) -> Found {
        for _ in 0..STEPS {
            let packets_out = self.cc.tp().packets_out;
            let step_us = match self.random.below(64) {
                0 if packets_out == 0 => self.random.any(AT_REST),
                0 => self.random.any(AWAITED),
                1..8 => self.rtt_us * self.random.below(4),
                _ => self.rtt_us / (1 + self.random.below(64)) + self.random.below(3),
            };
            self.at(step_us);
            if self.random.one_in(self.calm) {
                self.disturb()?;
            } else if packets_out == 0 || self.random.one_in(3) {
                self.send()?;
            } else {
                self.ack()?;
            }
        }
        self.call(format_args!("release()"), CongestionControl::release)
    }

    fn disturb(&mut self) -> Found {
        match self.random.below(5) {
            0 => self.timeout(),
            1 => self.enter_cwr(),
            2 => self.marked_data(),
            3 => {
                self.application_limited();
                Ok(())
            }
            _ => {
                self.asked("min_tso_segs()", CongestionControl::min_tso_segs)?;
                let asked = self.asked("sndbuf_expand()", CongestionControl::sndbuf_expand);
                asked.map(drop)
            }
        }
    }

    /// Calls a hook, and looks at what no hook may leave.
    fn call<T>(
        &mut self,
        how: Arguments<'_>,
        hook: impl FnOnce(&mut CongestionControl) -> T,
    ) -> Found<T> {
        self.calls.fetch_add(1, Relaxed);
        if let Some(mut file) = self.tell {
            let _ = writeln!(file, "{CALL}{how}");
        }
        let answer = hook(&mut self.cc);
        let tp = self.cc.tp();
        check_cwnd("leaves snd_cwnd at", tp.snd_cwnd)?;
        check_ssthresh("leaves snd_ssthresh at", tp.snd_ssthresh)?;
        Ok(answer)
    }

    fn asked(&mut self, how: &str, hook: impl FnOnce(&mut CongestionControl) -> u32) -> Found<u32> {
        self.call(format_args!("{how}"), hook)
    }

    /// The clocks, this much later.
    fn at(&mut self, step_us: u64) {
        self.now_us += step_us;
        let ticks = self.now_us * u64::from(self.hz) / 1_000_000;
        let tp = self.cc.tp_mut();
        tp.tcp_mstamp = self.now_us;
        tp.tcp_clock_cache = self.now_us * 1000;
        tp.tcp_wstamp_ns = tp.tcp_clock_cache;
        tp.inet_conn.sk.sk_host.jiffies = (self.first_jiffies + ticks) as u32;
    }

    fn set_state(&mut self, state: CaState) -> Found {
        self.state = state;
        let how = format_args!("set_state({state:?})");
        self.call(how, |cc| cc.set_state(state))
    }

    fn event(&mut self, event: CaEvent) -> Found {
        let how = format_args!("cwnd_event({event:?})");
        self.call(how, |cc| cc.cwnd_event(event))
    }

    fn stamp(&mut self) {
        let tp = self.cc.tp_mut();
        tp.snd_cwnd_stamp = tp.inet_conn.sk.sk_host.jiffies;
    }

    fn in_flight(&self) -> u32 {
        let tp = self.cc.tp();
        tp.packets_out - tp.sacked_out - tp.lost_out + tp.retrans_out
    }

    /// `tcp_current_ssthresh`.
    fn current_ssthresh(&self) -> u32 {
        let tp = self.cc.tp();
        let kept = (u64::from(tp.snd_cwnd) * 3 / 4) as u32;
        match self.state {
            CaState::Cwr | CaState::Recovery => tp.snd_ssthresh,
            _ => tp.snd_ssthresh.max(kept),
        }
    }

    fn send(&mut self) -> Found {
        let in_flight = self.in_flight();
        let tp = self.cc.tp();
        let jiffies = tp.inet_conn.sk.sk_host.jiffies;
        let rests = jiffies.wrapping_sub(tp.lsndtime) > tp.inet_conn.icsk_rto;
        if tp.packets_out == 0 && rests && !self.cc.has_cong_control() {
            self.event(CaEvent::CwndRestart)?;
            let ssthresh = self.current_ssthresh();
            let halves = self.random.below(20);
            let tp = self.cc.tp_mut();
            let least = tp.snd_cwnd.min(10);
            tp.snd_ssthresh = ssthresh;
            tp.snd_cwnd = (tp.snd_cwnd >> halves).max(least);
            (tp.snd_cwnd_stamp, tp.snd_cwnd_used) = (jiffies, 0);
        }
        if in_flight == 0 {
            self.event(CaEvent::TxStart)?;
        }
        let is_full = self.random.one_in(2);
        let tp = self.cc.tp_mut();
        let room = tp.snd_cwnd.saturating_sub(in_flight);
        let room = room.min(MOST_PACKETS - tp.packets_out.min(MOST_PACKETS));
        let sent = match (room, is_full) {
            (0, _) => return Ok(()),
            (_, true) => room,
            (_, false) => 1 + self.random.below(room.into()) as u32,
        };
        tp.packets_out += sent;
        tp.max_packets_out = tp.max_packets_out.max(tp.packets_out);
        tp.snd_nxt = (tp.snd_nxt).wrapping_add(sent.wrapping_mul(tp.mss_cache));
        tp.lsndtime = jiffies;
        tp.is_cwnd_limited = (sent == room).into();
        tp.snd_cwnd_used = tp.snd_cwnd_used.max(tp.packets_out);
        let limited = tp.delivered.wrapping_add(in_flight + sent).max(1);
        tp.app_limited = u32::from(sent < room) * limited;
        Ok(())
    }

    /// After a flight that the application limited (`tcp_cwnd_application_limited`).
    fn application_limited(&mut self) {
        if self.state != CaState::Open || self.cc.has_cong_control() {
            return;
        }
        let ssthresh = self.current_ssthresh();
        let tp = self.cc.tp_mut();
        let used = tp.snd_cwnd_used.max(10);
        if used < tp.snd_cwnd {
            tp.snd_ssthresh = ssthresh;
            tp.snd_cwnd = (tp.snd_cwnd + used) >> 1;
        }
        tp.snd_cwnd_used = 0;
        tp.snd_cwnd_stamp = tp.inet_conn.sk.sk_host.jiffies;
    }

    /// Data with or without a mark arrives at this end.
    fn marked_data(&mut self) -> Found {
        let event = self.random.of(&[CaEvent::EcnIsCe, CaEvent::EcnNoCe]);
        let tp = self.cc.tp_mut();
        if tp.ecn_flags & TCP_ECN_OK == 0 {
            return Ok(());
        }
        tp.rcv_nxt = tp.rcv_nxt.wrapping_add(tp.mss_cache);
        tp.inet_conn.icsk_ack.pending = self.random.below(8) as u8;
        self.event(event)
    }

    /// A reduction begins: its threshold.
    fn reduce(&mut self, prior_ssthresh: u32) -> Found {
        let ssthresh = self.asked("ssthresh()", CongestionControl::ssthresh)?;
        check_ssthresh("ssthresh returns", ssthresh)?;
        let tp = self.cc.tp_mut();
        (tp.prior_cwnd, tp.prior_ssthresh) = (tp.snd_cwnd, prior_ssthresh);
        (tp.snd_ssthresh, tp.snd_cwnd_cnt) = (ssthresh, 0);
        self.to_repair = tp.packets_out;
        Ok(())
    }

    fn enter_cwr(&mut self) -> Found {
        if self.state >= CaState::Cwr {
            return Ok(());
        }
        self.reduce(0)?;
        self.set_state(CaState::Cwr)
    }

    fn timeout(&mut self) -> Found {
        if self.cc.tp().packets_out == 0 {
            return Ok(());
        }
        if self.state <= CaState::Disorder || self.to_repair == 0 {
            self.reduce(self.current_ssthresh())?;
            self.event(CaEvent::Loss)?;
        }
        let tp = self.cc.tp_mut();
        let lost = tp.packets_out - tp.sacked_out - tp.lost_out;
        tp.lost = tp.lost.wrapping_add(lost);
        (tp.lost_out, tp.retrans_out) = (tp.lost_out + lost, 0);
        (tp.snd_cwnd, tp.snd_cwnd_cnt) = (1, 0);
        tp.snd_cwnd_stamp = tp.inet_conn.sk.sk_host.jiffies;
        let most = MOST_RTO_S * self.hz;
        tp.inet_conn.icsk_rto = (tp.inet_conn.icsk_rto * 2).min(most);
        self.set_state(CaState::Loss)
    }

    /// What an ACK tells of the RTT; -1: nothing.
    fn sampled_rtt(&mut self) -> i32 {
        let most = self.now_us - self.began_us;
        let rtt_us = match self.random.below(32) {
            0 => return -1,
            1 => 0,
            2 => self.random.any(AWAITED),
            _ => self.rtt_us + self.random.below(self.rtt_us * 2),
        };
        rtt_us.min(most).min(1 << AWAITED) as i32
    }

    fn ack(&mut self) -> Found {
        let prior_in_flight = self.in_flight();
        let rtt_us = self.sampled_rtt();
        let random = &mut self.random;
        let tp = self.cc.tp_mut();
        let unknown = tp.packets_out - tp.sacked_out - tp.lost_out;
        // SACKed, or all up to a place; then a part of it was SACKed before.
        let is_gap = unknown > 1 && random.one_in(self.calm);
        let (acked, sacked) = match random.below(8) {
            _ if is_gap => (0, 1 + random.below(u64::from(unknown) / 2) as u32),
            0 => (tp.packets_out, 0),
            _ => (1 + random.below(tp.packets_out.min(44).into()) as u32, 0),
        };
        let is_marked = tp.ecn_flags & TCP_ECN_OK != 0 && random.one_in(8);
        tp.packets_out -= acked;
        let before = tp.sacked_out;
        tp.sacked_out = (tp.sacked_out + sacked).min(tp.packets_out);
        let delivered = acked + sacked - (before + sacked - tp.sacked_out).min(acked);
        tp.lost_out = tp.lost_out.min(tp.packets_out - tp.sacked_out);
        tp.retrans_out = tp.retrans_out.min(tp.lost_out);
        tp.snd_una = (tp.snd_una).wrapping_add(acked.wrapping_mul(tp.mss_cache));
        tp.bytes_acked += u64::from(acked) * u64::from(tp.mss_cache);
        tp.delivered = tp.delivered.wrapping_add(delivered);
        if is_marked {
            tp.delivered_ce = tp.delivered_ce.wrapping_add(delivered);
        }
        if delivered > 0 {
            tp.delivered_mstamp = tp.tcp_mstamp;
        }
        if acked > 0 {
            let ms = |us| (us / 1000) as u32;
            tp.rx_opt.rcv_tsval = ms(self.now_us);
            tp.rx_opt.rcv_tsecr = ms(self.now_us.saturating_sub(self.rtt_us));
        }
        self.to_repair = self.to_repair.saturating_sub(acked);
        if rtt_us >= 0 {
            let sample = rtt_us.max(1) as u32;
            let srtt = i64::from(tp.srtt_us);
            let next = srtt + i64::from(sample) - (srtt >> 3);
            tp.srtt_us = if srtt == 0 { sample * 8 } else { next as u32 };
            tp.mdev_us = (tp.srtt_us / 8).abs_diff(sample);
            tp.rtt_min.s[0].v = tp.rtt_min.s[0].v.min(sample);
            let rto = (u64::from(tp.srtt_us / 8) * u64::from(self.hz) / 1_000_000) as u32;
            tp.inet_conn.icsk_rto = (rto + self.hz / 5).min(MOST_RTO_S * self.hz);
        }
        if self.cc.has_in_ack_event() {
            let flags = self.random.below(4) as u32 + u32::from(is_marked) * 4;
            let how = format_args!("in_ack_event({flags})");
            self.call(how, |cc| cc.in_ack_event(flags))?;
        }
        let mss = self.cc.tp().mss_cache;
        let sample = AckSample {
            pkts_acked: acked,
            rtt_us,
            in_flight: prior_in_flight.min(MOST_PACKETS / 32).saturating_mul(mss),
        };
        let how = format_args!("pkts_acked(pkts_acked {acked}, rtt_us {rtt_us})");
        self.call(how, |cc| cc.pkts_acked(&sample))?;
        let mut rs = self.rate_sample(delivered, rtt_us, prior_in_flight, is_marked);
        rs.losses = self.next_state(acked > 0, is_marked)? as i32;
        rs.lost = rs.losses;
        self.control(acked > 0, &rs)
    }

    /// Losses, and the end of a reduction (`tcp_fastretrans_alert`): packets that were deemed lost.
    fn next_state(&mut self, is_new: bool, is_marked: bool) -> Found<u32> {
        let tp = self.cc.tp();
        let unknown = tp.packets_out - tp.sacked_out - tp.lost_out;
        match self.state {
            CaState::Open | CaState::Disorder if is_marked => self.enter_cwr()?,
            CaState::Open if tp.sacked_out > 0 => self.set_state(CaState::Disorder)?,
            CaState::Disorder if tp.sacked_out == 0 => self.set_state(CaState::Open)?,
            CaState::Disorder | CaState::Cwr if unknown > 0 && tp.sacked_out > 0 => {
                if self.random.one_in(2) {
                    return Ok(0);
                }
                if self.state == CaState::Disorder {
                    self.reduce(self.current_ssthresh())?;
                }
                let lost = 1 + self.random.below(unknown.into()) as u32;
                let tp = self.cc.tp_mut();
                (tp.lost_out, tp.retrans_out) = (tp.lost_out + lost, tp.retrans_out + 1);
                tp.lost = tp.lost.wrapping_add(lost);
                tp.total_retrans += 1;
                self.set_state(CaState::Recovery)?;
                return Ok(lost);
            }
            CaState::Recovery | CaState::Loss if is_new && self.random.one_in(16) => {
                if tp.prior_ssthresh > 0 {
                    let cwnd = self.asked("undo_cwnd()", CongestionControl::undo_cwnd)?;
                    check_cwnd("undo_cwnd returns", cwnd)?;
                    let tp = self.cc.tp_mut();
                    tp.snd_cwnd = cwnd;
                    tp.snd_ssthresh = tp.snd_ssthresh.max(tp.prior_ssthresh);
                }
                self.repaired()?;
            }
            CaState::Cwr | CaState::Recovery if self.to_repair == 0 => {
                let with_own = self.cc.has_cong_control();
                let tp = self.cc.tp_mut();
                if !with_own && tp.snd_ssthresh < INFINITE {
                    tp.snd_cwnd = tp.snd_ssthresh;
                    tp.snd_cwnd_stamp = tp.inet_conn.sk.sk_host.jiffies;
                }
                if !with_own {
                    self.event(CaEvent::CompleteCwr)?;
                }
                self.repaired()?;
            }
            CaState::Loss if self.to_repair == 0 => self.repaired()?,
            _ => {}
        }
        Ok(0)
    }

    fn repaired(&mut self) -> Found {
        self.to_repair = 0;
        let tp = self.cc.tp_mut();
        (tp.lost_out, tp.retrans_out) = (0, 0);
        self.set_state(CaState::Open)
    }

    /// `tcp_cong_control`.
    fn control(&mut self, is_new: bool, rs: &RateSample) -> Found {
        let in_flight = self.in_flight();
        let una = self.cc.tp().snd_una;
        let RateSample {
            delivered,
            interval_us,
            rtt_us,
            losses,
            acked_sacked,
            ..
        } = *rs;
        if self.cc.has_cong_control() {
            let flag = i32::from(is_new) * DATA_ACKED + i32::from(rs.is_ece) * ECE;
            let how = format_args!("cong_control(delivered {delivered}, interval_us {interval_us}, rtt_us {rtt_us}, losses {losses})");
            return self.call(how, |cc| cc.cong_control(una, flag, rs));
        }
        if [CaState::Cwr, CaState::Recovery].contains(&self.state) {
            let tp = self.cc.tp_mut();
            tp.snd_cwnd = tp.snd_cwnd.min(in_flight.saturating_add(1));
        } else if is_new && acked_sacked > 0 {
            let how = format_args!("cong_avoid(acked {acked_sacked})");
            self.call(how, |cc| cc.cong_avoid(una, acked_sacked))?;
            self.stamp();
        }
        Ok(())
    }

    /// `tcp_rate_gen`, without losses.
    fn rate_sample(
        &mut self,
        delivered: u32,
        rtt_us: i32,
        in_flight: u32,
        is_ece: bool,
    ) -> RateSample {
        let random = &mut self.random;
        let tp = self.cc.tp();
        let least = u64::from(tp.rtt_min.s[0].v);
        let age_us = (self.now_us - self.began_us).min(1 << AWAITED);
        let interval_us = random.below(1 + 2 * self.rtt_us).max(least).min(age_us);
        let none = delivered == 0 || random.one_in(32);
        let since = delivered + random.below(1 + u64::from(in_flight)) as u32;
        let is_short = none || interval_us < least || interval_us == 0;
        let ce = u32::from(is_ece) * delivered;
        RateSample {
            prior_mstamp: if none { 0 } else { self.now_us - interval_us },
            prior_delivered: tp.delivered.wrapping_sub(since),
            prior_delivered_ce: tp.delivered_ce.wrapping_sub(ce),
            delivered: if none { -1 } else { since as i32 },
            delivered_ce: ce as i32,
            interval_us: if is_short { -1 } else { interval_us as i64 },
            snd_interval_us: (interval_us - random.below(interval_us + 1)) as u32,
            rcv_interval_us: interval_us as u32,
            rtt_us: rtt_us.into(),
            acked_sacked: delivered,
            prior_in_flight: in_flight,
            last_end_seq: tp.snd_una,
            is_app_limited: random.one_in(4),
            is_retrans: random.one_in(16),
            is_ack_delayed: random.one_in(4),
            is_ece,
            is_acking_tlp_retrans_seq: random.one_in(64),
            prior_lost: tp.lost,
            tx_in_flight: in_flight.max(1),
            ..RateSample::default()
        }
    }
}

fn check_cwnd(what: &str, cwnd: u32) -> Found {
    let is_good = cwnd > 0 && cwnd <= i32::MAX as u32;
    let why = "of which Linux warns (tcp_snd_cwnd_set); keep it from 1 to 2^31 - 1";
    is_good
        .then_some(())
        .ok_or_else(|| format!("{what} {cwnd}, {why}"))
}

fn check_ssthresh(what: &str, ssthresh: u32) -> Found {
    let why = "at least 2 packets (RFC 5681, 3.1): max(…, 2U)";
    (ssthresh >= 2)
        .then_some(())
        .ok_or_else(|| format!("{what} {ssthresh}; {why}"))
}
