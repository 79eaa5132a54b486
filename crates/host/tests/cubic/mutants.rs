//! Every test of CUBIC again, on CUBICs that have a mistake in them: one test at least must
//! notice. The mistakes are the five that implementations of CUBIC are known for.

use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::{env, fs, thread};

use crate::common::ALGORITHMS_FROM;

/// (what is wrong, the text of tcp_cubic.c's cubic.h, what stands in its place).
const MUTANTS: [(&str, &str, &str); 39] = [
    (
        "decreases twice: fast convergence on the window as well",
        "return max((u32)((u64)cwnd * beta / 1024), 2U)",
        "return max(ca->last_max_cwnd * beta / 1024, 2U)",
    ),
    (
        "decreases twice: beta squared",
        "return max((u32)((u64)cwnd * beta / 1024), 2U)",
        "return max(cwnd * beta / 1024 * beta / 1024, 2U)",
    ),
    (
        "decreases twice: cwnd here, to ssthresh in the host",
        "\tca->epoch_start = 0;\n\tif (cwnd <",
        "\tca->epoch_start = 0;\n\ttcp_sk(sk)->snd_cwnd = cwnd * beta / 1024;\n\tif (cwnd <",
    ),
    (
        "decreases twice: fast convergence whether windows shrink or not",
        "if (cwnd < ca->last_max_cwnd && cc_param(sk, fast_convergence))",
        "if (cc_param(sk, fast_convergence))",
    ),
    (
        "K of the whole decrease, W_max (1 - beta)",
        "min_t(u64, ca->last_max_cwnd - cwnd, U64_MAX / factor)",
        "min_t(u64, ca->last_max_cwnd * (1024 - cc_param(sk, beta)) / 1024, U64_MAX / factor)",
    ),
    (
        "K in s",
        "u64 factor = (1ULL << 4 * CUBIC_SCALE)",
        "u64 factor = (1ULL << CUBIC_SCALE)",
    ),
    (
        "looks back by dMin",
        "(u64)(now - ca->epoch_start) + cc_usecs_to_jiffies(sk, ca->delay_min)",
        "max((s64)(now - ca->epoch_start) - cc_usecs_to_jiffies(sk, ca->delay_min), 0LL)",
    ),
    (
        "does not look ahead",
        "(u64)(now - ca->epoch_start) + cc_usecs_to_jiffies(sk, ca->delay_min)",
        "(u64)(now - ca->epoch_start)",
    ),
    (
        "the curve upside down",
        "if (t < ca->K)\n\t\ttarget",
        "if (t >= ca->K)\n\t\ttarget",
    ),
    (
        "a plateau at the reduced window",
        "ca->origin_point = ca->last_max_cwnd",
        "ca->origin_point = cwnd",
    ),
    (
        "an epoch that a loss does not end",
        "\tca->epoch_start = 0;\n\tif (cwnd <",
        "\tif (cwnd <",
    ),
    (
        "no Reno-friendly region",
        "if (cc_param(sk, tcp_friendliness))",
        "if (0)",
    ),
    (
        "Reno-friendly with Reno's alpha of 1",
        "(u64)cwnd * (8 * (1024 + beta) / 3 / (1024 - beta)) >> 3",
        "(u64)cwnd * (beta > 0)",
    ),
    (
        "alpha of the paper's beta, which is the complement",
        "(u64)cwnd * (8 * (1024 + beta) / 3 / (1024 - beta)) >> 3",
        "(u64)cwnd * (8 * (2048 - beta) / 3 / beta) >> 3",
    ),
    (
        "alpha without the factor 3",
        "(8 * (1024 + beta) / 3 / (1024 - beta))",
        "(8 * (1024 + beta) / (1024 - beta))",
    ),
    (
        "the exact alpha of the paper's beta, which is the complement",
        "(3ULL * (1024 - beta) << 32) / (1024 + beta)",
        "(3ULL * beta << 32) / (2048 - beta)",
    ),
    (
        "W_tcp that forgets its fraction",
        "\tca->tcp_fraction = growth;\n",
        "",
    ),
    (
        "W_tcp whose fraction does not count",
        "excess = ((u64)(ca->tcp_cwnd - cwnd) << 32) + ca->tcp_fraction;",
        "excess = (u64)(ca->tcp_cwnd - cwnd) << 32;",
    ),
    (
        "counts to cnt where Algorithm 1 counts beyond it",
        "if (tp->snd_cwnd_cnt <= cnt)",
        "if (tp->snd_cwnd_cnt < cnt)",
    ),
    (
        "an eighth in the HyStart of Linux 2.6",
        "clamp(delay_min >> 4, in_jiffies",
        "clamp(delay_min >> 3, in_jiffies",
    ),
    (
        "a HyStart of jiffies with the least rise of that of ms",
        "in_jiffies ? 2U << 3 : 4U << 3",
        "4U << 3",
    ),
    (
        "a round of Linux 2.6's HyStart that never ends",
        "if (cc_param(sk, hystart_clock) && after(tp->snd_una, ca->end_seq))",
        "if (0)",
    ),
    (
        "W_tcp from the window before the loss",
        "ca->tcp_cwnd = cwnd;",
        "ca->tcp_cwnd = ca->last_max_cwnd;",
    ),
    (
        "W_tcp with the ACKs of the last epoch",
        "\t\tca->ack_cnt = acked;\n",
        "",
    ),
    (
        "grows while the application is the limit",
        "if (!tcp_is_cwnd_limited(sk))\n\t\treturn;",
        "",
    ),
    ("idle time counts", "ca->epoch_start += idle;", ""),
    (
        "an epoch that begins in the future",
        "\tif (after(ca->epoch_start, now))\n\t\tca->epoch_start = now;\n",
        "",
    ),
    (
        "idle time ends with another event",
        "event != CA_EVENT_TX_START",
        "event != CA_EVENT_CWND_RESTART",
    ),
    (
        "curve time in ms",
        "t = (t << CUBIC_SCALE) / cc_hz(sk)",
        "t = t * 1000 / cc_hz(sk)",
    ),
    (
        "dMin in ms where ticks are meant",
        "cc_usecs_to_jiffies(sk, ca->delay_min)",
        "ca->delay_min / USEC_PER_MSEC",
    ),
    (
        "beta in 1/1000",
        "return max((u32)((u64)cwnd * beta / 1024), 2U)",
        "return max(cwnd * beta / 1000, 2U)",
    ),
    (
        "a window times beta in 32 bits",
        "return max((u32)((u64)cwnd * beta / 1024), 2U)",
        "return max(cwnd * beta / 1024, 2U)",
    ),
    (
        "the curve in 64 bits",
        "\tif (high >> 8)\n\t\treturn U32_MAX;",
        "\treturn a * b >> 4 * CUBIC_SCALE;",
    ),
    (
        "windows in bytes",
        "ca->cnt = target > cwnd ? cwnd / (target - cwnd)",
        "ca->cnt = target > cwnd ? cwnd * tcp_sk(sk)->mss_cache / (target - cwnd)",
    ),
    (
        "growth per ACK, not per packet",
        "tcp_cong_avoid_ai(tp, ca->cnt, acked)",
        "tcp_cong_avoid_ai(tp, ca->cnt, 1)",
    ),
    (
        "W_tcp per ACK, not per packet",
        "ca->ack_cnt += acked;",
        "ca->ack_cnt++;",
    ),
    (
        "the delayed-ACK factor the wrong way round",
        "((u64)cnt << CUBIC_ACK_RATIO_SHIFT) / ca->ack_ratio",
        "(u64)cnt * ca->ack_ratio >> CUBIC_ACK_RATIO_SHIFT",
    ),
    (
        "the gate of 1/32 s in ms",
        "now - ca->last_time <= cc_hz(sk) / 32",
        "now - ca->last_time <= 1000 / 32",
    ),
    (
        "the second after a loss in ms",
        "tcp_jiffies32(sk) - ca->epoch_start < cc_hz(sk)",
        "tcp_jiffies32(sk) - ca->epoch_start < 1000",
    ),
];

const ALGORITHMS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../algorithms");

/// The other tests of this program, with the files of `directory` for the algorithm:
/// how many failed, or did the program itself?
fn failures(directory: &Path) -> Option<usize> {
    let child = Command::new(env::current_exe().unwrap())
        .args(["cubic::", "--skip", "mutants::", "--skip", "root::"])
        .args(["--test-threads", "1"])
        .env(ALGORITHMS_FROM, directory)
        .env("ACKCLOCK_TRUST", "1")
        .stderr(Stdio::null())
        .output()
        .unwrap();
    let report = String::from_utf8_lossy(&child.stdout);
    assert!(
        report.contains("running ") && !report.contains("does not compile"),
        "{report}"
    );
    let failed = report.matches("... FAILED").count();
    (child.status.success() || failed > 0).then_some(failed)
}

/// Those files, `old` being `new` in cubic.h.
fn with(old: &str, new: &str) -> tempfile::TempDir {
    let header = fs::read_to_string(Path::new(ALGORITHMS).join("include/cubic.h")).unwrap();
    assert_eq!(
        header.matches(old).count(),
        1,
        "cubic.h has changed: write the mutation of {old:?} anew"
    );
    let directory = tempfile::tempdir().unwrap();
    fs::write(directory.path().join("cubic.h"), header.replace(old, new)).unwrap();
    fs::copy(
        Path::new(ALGORITHMS).join("tcp_cubic.c"),
        directory.path().join("tcp_cubic.c"),
    )
    .unwrap();
    directory
}

#[test]
fn every_mistake_is_noticed() {
    let same = "struct cubic {";
    assert_eq!(failures(with(same, same).path()), Some(0), "no mistake");

    let todo = Mutex::new(MUTANTS.iter());
    let survivors = Mutex::new(Vec::new());
    let work = || {
        while let Some((mistake, old, new)) = { todo.lock().unwrap().next() } {
            let failed = failures(with(old, new).path());
            let killed = failed.map_or("the program".into(), |failed| failed.to_string());
            println!("{killed:>11} failed: {mistake}");
            if failed == Some(0) {
                survivors.lock().unwrap().push(*mistake);
            }
        }
    };
    thread::scope(|scope| (0..4).for_each(|_| drop(scope.spawn(work))));
    let survivors = survivors.into_inner().unwrap();
    assert!(survivors.is_empty(), "not noticed: {survivors:#?}");
}
