//! The kernel's own CUBIC, replayed in tcp_cubic.c.

use ackclock_host::{AckSample, Algorithm, CongestionControl, Era, HostConfig, RateSample};

use crate::call::{make, Call, Hook};
use crate::recorder::Replayed;
use crate::trace::{record, Row as _};

record!(
    8;
    sk,
    hook,
    argument0,
    argument1,
    pkts_acked,
    rtt_us,
    in_flight,
    jiffies,
    hz,
    tcp_mstamp,
    sk_pacing_rate,
    sk_pacing_status,
    sk_gso_max_size,
    icsk_ca_state,
    snd_una,
    snd_nxt,
    snd_cwnd,
    snd_cwnd_cnt,
    snd_ssthresh,
    snd_cwnd_clamp,
    prior_cwnd,
    packets_out,
    max_packets_out,
    is_cwnd_limited,
    lsndtime,
    mss_cache,
    srtt_us,
    jiffies_after,
    result,
    snd_cwnd_after,
    snd_cwnd_cnt_after,
    snd_ssthresh_after,
);

/// Makes the recorded calls again, with that algorithm. The sender's part of the socket is
/// the record's before each call, the private state is what our own calls made of it.
pub fn replay(spec: &str, records: &[Record]) -> Replayed {
    let configured = Algorithm::configure(spec).unwrap();
    let mut found = Replayed::default();
    let mut flow = None;
    for record in records {
        let hook = record.hook();
        if hook == Hook::Init {
            let host = HostConfig {
                hz: record.hz as u32,
                era: Era::Linux6,
                ..HostConfig::default()
            };
            flow = Some(CongestionControl::new(&configured, host));
            found.flows += 1;
        }
        let cc = flow.as_mut().expect("a flow begins with init");
        found.calls += 1;
        match hook {
            Hook::Ssthresh => found.reductions += 1,
            Hook::UndoCwnd => found.undos += 1,
            Hook::SetState if record.argument0 == 4 => found.timeouts += 1,
            Hook::CwndEvent if record.argument0 == 0 => found.pauses += 1,
            _ => {}
        }
        // The clock may have ticked between the record of it and CUBIC's own look at it.
        let before = cc.tp().clone();
        let mut ours = answer(cc, record, record.jiffies);
        if ours != theirs(record) && record.jiffies_after != record.jiffies {
            *cc.tp_mut() = before;
            ours = answer(cc, record, record.jiffies_after);
        }
        if ours != theirs(record) {
            let theirs = theirs(record);
            found.differences.push(format!(
                "{hook:?}\nours:   {ours:?}\nkernel: {theirs:?}\n{record:?}"
            ));
        }
    }
    found
}

/// Result, cwnd, its credit, ssthresh, and the private state as `struct bictcp` has it.
type Answer = ([u64; 4], [u32; 15]);

fn theirs(record: &Record) -> Answer {
    let mut private = [0; 15];
    for (index, word) in private.iter_mut().enumerate() {
        *word = (record.private[index / 2] >> (32 * (index % 2))) as u32;
    }
    // u16 unused, u8 sample_cnt, u8 found
    private[10] >>= 16;
    let cwnd = record.snd_cwnd_after;
    (
        [
            record.result,
            cwnd,
            record.snd_cwnd_cnt_after,
            record.snd_ssthresh_after,
        ],
        private,
    )
}

fn answer(cc: &mut CongestionControl, record: &Record, jiffies: u64) -> Answer {
    let tp = cc.tp_mut();
    let csk = &mut tp.inet_conn;
    csk.sk.sk_host.jiffies = jiffies as u32;
    csk.sk.sk_pacing_rate = record.sk_pacing_rate;
    csk.sk.sk_pacing_status = record.sk_pacing_status as u32;
    csk.sk.sk_gso_max_size = record.sk_gso_max_size as u32;
    csk.icsk_ca_state = record.icsk_ca_state as u8;
    tp.tcp_mstamp = record.tcp_mstamp;
    tp.snd_una = record.snd_una as u32;
    tp.snd_nxt = record.snd_nxt as u32;
    tp.snd_cwnd = record.snd_cwnd as u32;
    tp.snd_cwnd_cnt = record.snd_cwnd_cnt as u32;
    tp.snd_ssthresh = record.snd_ssthresh as u32;
    tp.snd_cwnd_clamp = record.snd_cwnd_clamp as u32;
    tp.prior_cwnd = record.prior_cwnd as u32;
    tp.packets_out = record.packets_out as u32;
    tp.max_packets_out = record.max_packets_out as u32;
    tp.is_cwnd_limited = record.is_cwnd_limited as u8;
    tp.lsndtime = record.lsndtime as u32;
    tp.mss_cache = record.mss_cache as u32;
    tp.srtt_us = record.srtt_us as u32;
    let call = Call {
        hook: record.hook(),
        arguments: [record.argument0 as u32, record.argument1 as u32],
        result: 0,
        sample: AckSample {
            pkts_acked: record.pkts_acked as u32,
            rtt_us: record.rtt_us as i32,
            in_flight: record.in_flight as u32,
        },
        rate: RateSample::default(),
        tp: tp.clone(),
    };
    let outcome = make(cc, &call);
    // The members of struct cubic, in their order but for ack_ratio, which Linux has no more.
    let ours = |index: usize| (outcome.private[index / 2] >> (32 * (index % 2))) as u32;
    let mut private = std::array::from_fn(ours);
    private[10] = ours(15) & 0xffff;
    let window = [
        outcome.result,
        outcome.snd_cwnd,
        outcome.snd_cwnd_cnt,
        outcome.snd_ssthresh,
    ];
    (window.map(u64::from), private)
}
