//! Files in the style of out-of-tree modules: what they allocate, ask of the version, compute and
//! export. And what such files use that no host has.

use crate::common;

use ackclock_host::{Algorithm, CongestionControl, HostConfig, RateSample};
use common::UserFile;

fn path(name: &str) -> String {
    format!("{}/tests/modules/{name}", env!("CARGO_MANIFEST_DIR"))
}

fn flow(spec: &str, hz: u32) -> CongestionControl {
    let configured = Algorithm::configure(&path(spec)).unwrap_or_else(|error| panic!("{error}"));
    configured
        .load(hz)
        .unwrap_or_else(|error| panic!("{error}"));
    let host = HostConfig {
        hz,
        ..HostConfig::default()
    };
    let mut flow = CongestionControl::new(&configured, host);
    flow.init();
    flow
}

/// The module keeps it in memory of `kzalloc`, our dialect in `CC_STORAGE`.
#[test]
fn a_history_of_400_bytes_is_the_sockets() {
    for spec in ["history.c", "../history.c"] {
        let mut flows = [flow(spec, 250), flow(spec, 250)];
        for (flow, first) in flows.iter_mut().zip([40, 80]) {
            for step in 0..150 {
                flow.tp_mut().snd_cwnd = first + step;
                flow.tp_mut().is_cwnd_limited = 0;
                flow.cong_avoid(step, 1);
            }
        }
        // The smallest of the last 100 is that of step 50.
        assert_eq!(flows.map(|mut flow| flow.ssthresh()), [67, 97], "{spec}");
    }
}

#[test]
fn a_file_for_many_kernels_takes_the_branch_of_this_one() {
    let mut flow = flow("versions.c", 250);
    let sample = RateSample {
        delivered: 5,
        interval_us: 1000,
        ..RateSample::default()
    };
    flow.cong_control(1, 0, &sample);
    assert_eq!(flow.tp().snd_cwnd, 12);
    assert_eq!(flow.tp().inet_conn.sk.sk_pacing_rate, 1_250_000);
    assert_eq!(flow.tp().inet_conn.sk.sk_pacing_status, 1);
}

#[test]
fn a_fixed_rate_makes_up_for_losses() {
    let window = |settings: &str| {
        let mut flow = flow(&format!("old.c{settings}"), 250);
        flow.tp_mut().tcp_mstamp = 5_000_000;
        flow.tp_mut().srtt_us = 40_000 << 3;
        let sample = RateSample {
            delivered: 9,
            interval_us: 1000,
            acked_sacked: 90,
            losses: 10,
            ..RateSample::default()
        };
        flow.cong_control(1, 0, &sample);
        let rate = flow.tp().inet_conn.sk.sk_pacing_rate;
        (flow.tp().snd_cwnd, rate)
    };
    // 10 Mb/s, 90 % of which arrives: 11.1 Mb/s for 40 ms, one and a half times.
    assert_eq!(window(""), (57, 1_388_888));
    assert_eq!(window(":offset_packets=-7").0, 50);
    assert_eq!(window(":offset_packets=-70").0, 4);
}

#[test]
fn tables_are_computed_for_hz_and_parameters() {
    let ssthresh = |spec: &str, hz| {
        let mut flow = flow(spec, hz);
        flow.tp_mut().snd_cwnd = 100;
        flow.ssthresh()
    };
    // The third share, 70 %, and the root of 36 * 16 for each of TICKS.
    assert_eq!(ssthresh("tables.c", 250), 70 + 24);
    assert_eq!(ssthresh("tables.c", 1000), 70 + 4 * 24);
    assert_eq!(ssthresh("tables.c", 100), 70);
    assert_eq!(ssthresh("tables.c:shares[2]=-1", 100), 60);
    assert_eq!(ssthresh("tables.c@tables_soft:shift=-9", 100), 79);
    for (settings, error) in [
        ("shift=9", "module_init returns -33 (EDOM)"),
        ("shares[1]=101", "module_init returns -95 (EOPNOTSUPP)"),
    ] {
        let configured = Algorithm::configure(&path(&format!("tables.c:{settings}"))).unwrap();
        let said = configured.load(100).unwrap_err().to_string();
        assert!(said.contains(error), "{said}");
    }
}

/// Delivery that doubles goes on; one that stays ends slow start.
#[test]
fn search_ends_slow_start_where_delivery_stays() {
    let ends = |doubles: bool| {
        let mut flow = flow("search.c", 250);
        let mut bytes = 1_u64;
        for ms in 1..400_u64 {
            let rtts = if doubles { ms / 50 } else { 0 };
            bytes += 1500 << rtts.min(16);
            let tp = flow.tp_mut();
            tp.tcp_mstamp = ms * 1000;
            tp.bytes_acked = bytes;
            tp.snd_cwnd = 1 << 20;
            flow.pkts_acked(&ackclock_host::AckSample {
                pkts_acked: 1,
                rtt_us: 50_000,
                in_flight: 0,
            });
        }
        flow.tp().snd_ssthresh < 0x7fff_ffff
    };
    assert_eq!([true, false].map(ends), [false, true]);
}

const WALK: &str = "
#include <linux/module.h>
#include <net/tcp.h>

static u32 mine_in_flight(struct sock *sk)
{
	struct sk_buff *skb;
	u32 bytes = 0;

	skb_rbtree_walk(skb, &sk->tcp_rtx_queue)
		bytes += TCP_SKB_CB(skb)->end_seq - TCP_SKB_CB(skb)->seq;
	if (tcp_send_head(sk))
		bytes += tcp_wnd_end(tcp_sk(sk)) - tcp_sk(sk)->write_seq;
	return bytes;
}

static void mine_init(struct sock *sk)
{
	tcp_sk(sk)->snd_cwnd = mine_in_flight(sk);
}
";

const OPS: &str = "
static struct tcp_congestion_ops mine = {
	.init = mine_init, .ssthresh = tcp_reno_ssthresh, .cong_avoid = tcp_reno_cong_avoid,
	.undo_cwnd = tcp_reno_undo_cwnd, .owner = THIS_MODULE, .name = \"mine\",
};
static int __init mine_register(void) { return tcp_register_congestion_control(&mine); }
module_init(mine_register);
MODULE_LICENSE(\"GPL\");
";

/// A file is refused in one line, with all that it wants.
#[test]
fn what_reaches_into_the_kernel_is_refused_by_name() {
    let names = "skb_rbtree_walk (FILE:10), tcp_rtx_queue of struct sock (FILE:10)";
    let file = UserFile::new(&format!("{WALK}{OPS}"));
    let error = file.compile().unwrap_err().to_string();
    let error = error.replace(&file.path.display().to_string(), "FILE");
    let missing: Vec<_> = names
        .split(", ")
        .filter(|name| !error.contains(name))
        .collect();
    assert!(missing.is_empty(), "{missing:?} in {error}");
    assert_eq!(error.lines().count(), 1, "{error}");
}
