//! Plays the TCP sender towards an algorithm's hooks.
#![allow(dead_code, reason = "each test file uses its part")]

use std::path::{Path, PathBuf};

use ackclock_host::{
    AckSample, Algorithm, AlgorithmError, CaEvent, CaState, Configured, CongestionControl, Era,
    HostConfig, TcpSock,
};

/// Every flow's clock begins here: an arbitrary time, but not 0.
const EPOCH_US: u64 = 1_000_000_000;

/// The environment variable that names a directory whose tcp_NAME.c, if there is one, stands
/// for the built-in algorithm NAME: the same tests on other files, or built otherwise.
pub const ALGORITHMS_FROM: &str = "ACKCLOCK_TEST_ALGORITHMS";

fn configure(spec: &str) -> Configured {
    let name = spec.split(['@', ':']).next().unwrap_or_default();
    let file = std::env::var(ALGORITHMS_FROM)
        .map(|directory| Path::new(&directory).join(format!("tcp_{name}.c")));
    let spec = match file {
        Ok(file) if file.exists() => format!("{}{}", file.display(), &spec[name.len()..]),
        _ => spec.into(),
    };
    Algorithm::configure(&spec).unwrap_or_else(|error| panic!("{error}"))
}

/// Every algorithm and every preset of it.
pub fn specs() -> Vec<String> {
    let mut specs = Vec::new();
    let all = Algorithm::all().iter();
    for algorithm in all.filter(|algorithm| !algorithm.has_cong_control()) {
        specs.push(algorithm.name().to_string());
        let presets = algorithm.presets().iter();
        specs.extend(presets.map(|preset| format!("{}@{}", algorithm.name(), preset.name)));
    }
    specs
}

/// A flow whose window always limits it, driven hook by hook.
pub struct Flow {
    pub cc: CongestionControl,
    hz: u64,
    era: Era,
    now_us: u64,
}

impl Flow {
    pub fn new(spec: &str, host: HostConfig) -> Self {
        let mut flow = Self {
            cc: CongestionControl::new(&configure(spec), host),
            hz: host.hz.into(),
            era: host.era,
            now_us: 0,
        };
        flow.at(0);
        flow.cc.tp_mut().is_cwnd_limited = 1;
        flow.cc.init();
        flow
    }

    pub fn with_hz(spec: &str, hz: u32) -> Self {
        Self::new(
            spec,
            HostConfig {
                hz,
                ..HostConfig::default()
            },
        )
    }

    pub fn tp(&mut self) -> &mut TcpSock {
        self.cc.tp_mut()
    }

    pub fn cwnd(&self) -> u32 {
        self.cc.tp().snd_cwnd
    }

    /// Sets the clock, microseconds since the flow began.
    pub fn at(&mut self, us: u64) {
        self.now_us = us;
        let now = EPOCH_US + us;
        let tp = self.cc.tp_mut();
        tp.tcp_mstamp = now;
        tp.inet_conn.sk.sk_host.jiffies = (now * self.hz / 1_000_000) as u32;
    }

    /// A loss at this window, and the recovery from it in no time. Returns ssthresh.
    pub fn loss_at(&mut self, cwnd: u32) -> u32 {
        self.tp().snd_cwnd = cwnd;
        self.tp().prior_cwnd = cwnd;
        let ssthresh = self.cc.ssthresh();
        assert_eq!(self.cwnd(), cwnd, "ssthresh() is not to reduce cwnd itself");
        self.cc.set_state(CaState::Recovery);
        self.tp().snd_ssthresh = ssthresh;
        self.tp().snd_cwnd = ssthresh;
        self.tp().snd_cwnd_cnt = 0;
        self.cc.cwnd_event(CaEvent::CompleteCwr);
        self.cc.set_state(CaState::Open);
        ssthresh
    }

    /// Losses at these windows, one after the other.
    pub fn losses(&mut self, windows: &[u32]) {
        for cwnd in windows {
            self.loss_at(*cwnd);
        }
    }

    /// A retransmission timeout.
    pub fn timeout(&mut self) {
        let ssthresh = self.cc.ssthresh();
        self.tp().snd_ssthresh = ssthresh;
        self.tp().snd_cwnd = 1;
        self.tp().snd_cwnd_cnt = 0;
        self.cc.cwnd_event(CaEvent::Loss);
        self.cc.set_state(CaState::Loss);
        self.cc.set_state(CaState::Open);
    }

    /// An RTT sample, of an ACK for one packet.
    pub fn rtt(&mut self, rtt_us: i32) {
        self.cc.pkts_acked(&AckSample {
            pkts_acked: 1,
            rtt_us,
            in_flight: 0,
        });
    }

    /// A flow in congestion avoidance at this window, in Linux 6 with HZ = 1000.
    pub fn avoiding(spec: &str, cwnd: u32) -> Self {
        Self::avoiding_in(Era::Linux6, spec, cwnd)
    }

    pub fn avoiding_in(era: Era, spec: &str, cwnd: u32) -> Self {
        let mut flow = Self::new(
            spec,
            HostConfig {
                hz: 1000,
                era,
                ..HostConfig::default()
            },
        );
        flow.tp().snd_ssthresh = 2;
        flow.tp().snd_cwnd = cwnd;
        flow
    }

    /// An ACK for `acked` packets, a window being in flight. Linux 2.6 counts it once.
    pub fn ack(&mut self, rtt_us: i32, acked: u32) {
        let counted = if self.era == Era::Linux6 { acked } else { 1 };
        let tp = self.tp();
        tp.snd_una = tp.snd_una.wrapping_add(acked * tp.mss_cache);
        tp.snd_nxt = tp
            .snd_una
            .wrapping_add(tp.snd_cwnd.wrapping_mul(tp.mss_cache));
        if self.cc.has_in_ack_event() {
            self.cc.in_ack_event(2);
        }
        self.cc.pkts_acked(&AckSample {
            pkts_acked: acked,
            rtt_us,
            in_flight: 0,
        });
        let una = self.tp().snd_una;
        self.cc.cong_avoid(una, counted);
    }

    /// An RTT: ACKs of `acked` packets each for the whole window. Returns by how much
    /// it grew.
    pub fn round(&mut self, rtt_us: i32, acked: u32) -> i32 {
        let (begin_us, window) = (self.now_us, self.cwnd());
        for done in 1..=window / acked {
            self.at(begin_us + rtt_us as u64 * u64::from(done * acked) / u64::from(window));
            self.ack(rtt_us, acked);
        }
        self.at(begin_us + rtt_us as u64);
        self.cwnd() as i32 - window as i32
    }

    /// Ends an RTT of which three samples are known with a single ACK. Returns by how
    /// much the window grew.
    pub fn end_round(&mut self, rtt_us: i32) -> i32 {
        let window = self.cwnd();
        (0..3).for_each(|_| self.rtt(rtt_us));
        let tp = self.tp();
        let (mss, nxt) = (tp.mss_cache, tp.snd_nxt);
        tp.snd_una = nxt.wrapping_add(mss);
        tp.snd_nxt = tp.snd_una.wrapping_add(window * mss);
        let una = self.tp().snd_una;
        self.cc.cong_avoid(una, 1);
        self.cwnd() as i32 - window as i32
    }

    /// The `n`th u32 of the private state.
    pub fn state(&self, n: usize) -> u32 {
        (self.cc.tp().inet_conn.icsk_ca_priv[n / 2] >> (32 * (n % 2))) as u32
    }

    /// A flow after one loss at `w_max` in congestion avoidance, dMin known.
    pub fn after_loss(spec: &str, hz: u32, w_max: u32, rtt_us: i32) -> Self {
        let mut flow = Self::with_hz(spec, hz);
        flow.rtt(rtt_us);
        flow.loss_at(w_max);
        flow
    }

    /// Clocks ACKs of `acked` packets at cwnd per RTT and calls `each(t_s, cwnd)`
    /// after every one, from `from_us` for `duration_us`.
    pub fn clock_acks(
        &mut self,
        from_us: u64,
        duration_us: u64,
        rtt_us: u64,
        acked: u32,
        mut each: impl FnMut(f64, u32),
    ) {
        let mut now_ns = from_us * 1000;
        while now_ns < (from_us + duration_us) * 1000 {
            self.at(now_ns / 1000);
            self.cc.pkts_acked(&AckSample {
                pkts_acked: acked,
                rtt_us: rtt_us as i32,
                in_flight: 0,
            });
            self.cc.cong_avoid(0, acked);
            each((now_ns - from_us * 1000) as f64 / 1e9, self.cwnd());
            now_ns += rtt_us * 1000 * u64::from(acked) / u64::from(self.cwnd());
        }
    }

    /// A member of `struct cubic` by its position among the u32.
    pub fn cubic(&self, member: Cubic) -> u32 {
        self.state(member as usize)
    }
}

/// The first members of `struct cubic` (algorithms/include/cubic.h).
#[derive(Clone, Copy)]
pub enum Cubic {
    Cnt,
    LastMaxCwnd,
    LastCwnd,
    LastTime,
    OriginPoint,
    K,
    DelayMin,
    EpochStart,
    AckCnt,
    TcpCwnd,
    AckRatio,
}

/// A C file of its own in a directory of its own.
pub struct UserFile {
    pub directory: tempfile::TempDir,
    pub path: PathBuf,
}

impl UserFile {
    pub fn new(text: &str) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("my_cc.c");
        std::fs::write(&path, text).unwrap();
        Self { directory, path }
    }

    pub fn compile(&self) -> Result<Algorithm, AlgorithmError> {
        Algorithm::compile(&self.path)
    }
}

/// Runs an ignored test of this binary in a process of its own, with these variables set.
pub fn in_a_process(test: &str, variables: &[(&str, &str)]) -> std::process::Output {
    let output = std::process::Command::new(std::env::current_exe().unwrap())
        .args([
            "--exact",
            test,
            "--ignored",
            "-q",
            "--nocapture",
            "--test-threads=1",
        ])
        .envs(variables.iter().copied())
        .output()
        .unwrap();
    assert!(
        output.stdout.starts_with(b"\nrunning 1 test\n"),
        "{output:?}"
    );
    output
}
