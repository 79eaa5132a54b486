//! Every algorithm, with every preset, passes the verifier of the kernel here.

mod common;

use ackclock_host::Algorithm;
use ackclock_linux::bpf::Registered;
use std::collections::BTreeSet;
use std::fs::File;
use std::io::{Read as _, Seek as _, SeekFrom};
use std::net::{TcpListener, TcpStream};
use std::os::fd::AsRawFd as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::sync::{Mutex, PoisonError};

/// A compiler that another test starts has this one's file descriptors for a moment. The kernel keeps
/// an algorithm until all are closed, so the tests take turns.
static ALONE: Mutex<()> = Mutex::new(());

#[test]
fn every_algorithm_and_preset_loads() {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    if common::skipped("loading algorithms") {
        return;
    }
    for algorithm in Algorithm::all() {
        let name = algorithm.name();
        let presets = algorithm
            .presets()
            .iter()
            .map(|preset| format!("{name}@{}", preset.name));
        for spec in std::iter::once(name.to_string()).chain(presets) {
            let registered = Registered::load(&spec).unwrap_or_else(|error| panic!("{error}"));
            assert!(
                available().contains(&registered.name().to_string()),
                "{spec}"
            );
            let name = registered.name().to_string();
            drop(registered);
            assert!(!available().contains(&name), "{spec}");
        }
    }
}

/// `cong_control` has had these arguments since Linux 6.10.
const CONG_CONTROL: &str = r#"
#include "tcp_cc.h"
CC_HOOK(u32, whole_ssthresh, struct sock *sk) { return tcp_reno_ssthresh(sk); }
CC_HOOK(void, whole_cong_control, struct sock *sk, u32 ack, int flag,
	const struct rate_sample *rs)
{
	struct tcp_sock *tp = tcp_sk(sk);

	if (rs->delivered > 0 && rs->interval_us >= tcp_min_rtt(tp) && !rs->is_app_limited)
		tp->snd_cwnd = max(4U, rs->acked_sacked + rs->prior_in_flight);
	if (tp->tcp_mstamp - tp->delivered_mstamp > inet_csk(sk)->icsk_rto || tp->app_limited)
		tp->snd_cwnd = max(4U, rs->prior_delivered - rs->is_retrans);
	sk->sk_pacing_rate = 1000000;
	sk->sk_pacing_status = SK_PACING_NEEDED;
}
CC_HOOK(u32, whole_sndbuf_expand, struct sock *sk) { return 3; }
CC_HOOK(u32, whole_min_cwnd, const struct sock *sk) { return 2; }
CC_HOOK(void, whole_release, struct sock *sk) { tcp_sk(sk)->snd_cwnd_cnt = 0; }
CC_ALGORITHM(whole, "all by itself", .ssthresh = whole_ssthresh,
	     .sndbuf_expand = whole_sndbuf_expand, .min_cwnd = whole_min_cwnd, .release = whole_release,
	     .cong_control = whole_cong_control);
"#;

#[test]
fn cong_control_loads() {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    if common::skipped("loading algorithms") {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("whole.c");
    std::fs::write(&file, CONG_CONTROL).unwrap();
    Registered::load(file.to_str().unwrap()).unwrap();
}

/// Reno's functions are hooks by their names, and may be called.
#[test]
fn renos_functions_are_hooks() {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    if common::skipped("loading algorithms") {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("bare.c");
    let text = r#"
#include "tcp_cc.h"
CC_HOOK(void, bare_set_state, struct sock *sk, u8 new_state)
{
	tcp_sk(sk)->snd_cwnd_cnt = tcp_reno_ssthresh(sk) + tcp_reno_undo_cwnd(sk);
	tcp_reno_cong_avoid(sk, 1, 1);
}
CC_ALGORITHM(bare, "", .ssthresh = tcp_reno_ssthresh, .cong_avoid = tcp_reno_cong_avoid,
	     .undo_cwnd = tcp_reno_undo_cwnd, .set_state = bare_set_state);
"#;
    std::fs::write(&file, text).unwrap();
    Registered::load(file.to_str().unwrap()).unwrap_or_else(|error| panic!("{error}"));
}

/// `CC_STORAGE` of 400 bytes is the socket's `sk_storage`.
#[test]
fn a_history_loads() {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    if common::skipped("loading algorithms") {
        return;
    }
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../host/tests/history.c");
    Registered::load(file).unwrap_or_else(|error| panic!("{error}"));
}

/// What module_init has computed, with the kernel's HZ and the parameters, is in the programs; `init`
/// tells it by the window, where it does not choose the ops that are Reno's.
const KERNEL_FORM: &str = r#"
#include <linux/module.h>
#include <net/tcp.h>
static int packets = 3;
module_param(packets, int, 0644);
static u32 steps[2] = { 1, 2 };
static int steps_given;
module_param_array(steps, uint, &steps_given, 0644);
static u32 window __ro_after_init, ticks = 5;
static const u8 table[] = { 1, 2, 4, 8 };
static struct tcp_congestion_ops mine_reno;

static void mine_init(struct sock *sk)
{
	struct tcp_sock *tp = tcp_sk(sk);

	if (packets == 99)
		inet_csk(sk)->icsk_ca_ops = &mine_reno;
	tp->snd_cwnd_clamp = 60000;
	tcp_snd_cwnd_set(tp, window + ticks + table[steps[1] + tp->snd_cwnd_cnt]);
}
static u32 mine_ssthresh(struct sock *sk) { return window; }
static struct tcp_congestion_ops mine = {
	.init = mine_init, .ssthresh = mine_ssthresh, .cong_avoid = tcp_reno_cong_avoid,
	.undo_cwnd = tcp_reno_undo_cwnd, .name = "mine", .owner = THIS_MODULE,
};
static struct tcp_congestion_ops mine_reno = {
	.ssthresh = tcp_reno_ssthresh, .cong_avoid = tcp_reno_cong_avoid,
	.undo_cwnd = tcp_reno_undo_cwnd, .name = "mine-reno", .owner = THIS_MODULE,
};
static int __init mine_register(void)
{
	window = packets * 100;
	ticks = HZ == 100 ? 0 : 30;
	return tcp_register_congestion_control(&mine);
}
module_init(mine_register);
MODULE_LICENSE("GPL");
"#;

#[test]
fn a_kernels_file_is_what_module_init_has_made_of_it() {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    if common::skipped("loading algorithms") {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("mine.c");
    std::fs::write(&file, KERNEL_FORM).unwrap();
    let file = file.to_str().unwrap();
    let start = |settings: &str| {
        let registered = Registered::load(&format!("{file}{settings}")).unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        choose(&client, registered.name());
        let is_own = chosen(&client) == registered.name();
        (window(&client), is_own)
    };
    let ticks = if start("").0 == 304 { 0 } else { 30 };
    assert_eq!(start(""), (304 + ticks, true));
    assert_eq!(start(":packets=5,steps[1]=3"), (508 + ticks, true));
    assert!(!start(":packets=99").1);

    let text = KERNEL_FORM.replace("return window;", "return window++;");
    std::fs::write(file, text).unwrap();
    let error = Registered::load(file).unwrap_err().to_string();
    assert_eq!(error.lines().count(), 1);
    let said = [
        "mine.c:22): ",
        "write into map",
        "a file's variables are read only",
    ];
    assert!(said.iter().all(|said| error.contains(said)), "{error}");
}

/// Another name than the first one's is chosen, not found by a refusal: the kernel logs each.
#[test]
fn sets_of_parameters_have_names_of_their_own() {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    if common::skipped("loading algorithms") {
        return;
    }
    let mut log = File::options()
        .read(true)
        .custom_flags(libc::O_NONBLOCK)
        .open("/dev/kmsg")
        .ok();
    if let Some(log) = &mut log {
        log.seek(SeekFrom::End(0)).unwrap();
    }
    let sets =
        ["cubic", "cubic:beta=0.8", "cubic:beta=0.9"].map(|spec| Registered::load(spec).unwrap());
    let names: BTreeSet<_> = sets.iter().map(|each| each.name().to_string()).collect();
    assert_eq!(names.len(), sets.len());
    assert!(names.iter().all(|name| available().contains(name)));

    let mut record = [0; 8192];
    while let Some(length) = log.as_mut().and_then(|log| log.read(&mut record).ok()) {
        let line = String::from_utf8_lossy(&record[..length]);
        let ours = names.iter().any(|name| line.contains(name.as_str()));
        assert!(!ours || !line.contains("already registered"), "{line}");
    }
}

fn available() -> Vec<String> {
    let names = std::fs::read_to_string("/proc/sys/net/ipv4/tcp_available_congestion_control");
    names
        .unwrap()
        .split_whitespace()
        .map(String::from)
        .collect()
}

/// No connection here has accurate ECN.
#[test]
fn prague_without_its_ecn_is_the_kernels_reno() {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    if common::skipped("loading algorithms") {
        return;
    }
    for (spec, becomes_reno) in [("prague", true), ("cubic", false)] {
        let registered = Registered::load(spec).unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        choose(&client, registered.name());
        let name = if becomes_reno {
            "reno"
        } else {
            registered.name()
        };
        assert_eq!(chosen(&client), name);
    }
}

fn choose(socket: &TcpStream, name: &str) {
    // SAFETY: it reads the name's bytes.
    let done = unsafe {
        let value = name.as_ptr().cast();
        let length = name.len() as libc::socklen_t;
        libc::setsockopt(
            socket.as_raw_fd(),
            libc::IPPROTO_TCP,
            libc::TCP_CONGESTION,
            value,
            length,
        )
    };
    assert_eq!(done, 0, "{name}");
}

/// `tcpi_snd_cwnd`.
fn window(socket: &TcpStream) -> u32 {
    const AT: usize = 80;
    let mut info = [0_u8; 104];
    let mut length = info.len() as libc::socklen_t;
    // SAFETY: it writes at most so many bytes.
    let done = unsafe {
        let value = info.as_mut_ptr().cast();
        let (level, option) = (libc::IPPROTO_TCP, libc::TCP_INFO);
        libc::getsockopt(socket.as_raw_fd(), level, option, value, &raw mut length)
    };
    assert_eq!(done, 0);
    u32::from_le_bytes(info[AT..AT + 4].try_into().unwrap())
}

fn chosen(socket: &TcpStream) -> String {
    let mut name = [0_u8; 16];
    let mut length = name.len() as libc::socklen_t;
    // SAFETY: it writes at most so many bytes.
    let done = unsafe {
        let value = name.as_mut_ptr().cast();
        libc::getsockopt(
            socket.as_raw_fd(),
            libc::IPPROTO_TCP,
            libc::TCP_CONGESTION,
            value,
            &raw mut length,
        )
    };
    assert_eq!(done, 0);
    let end = name.iter().position(|byte| *byte == 0).unwrap();
    String::from_utf8_lossy(&name[..end]).into_owned()
}
