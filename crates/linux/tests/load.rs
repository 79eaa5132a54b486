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
