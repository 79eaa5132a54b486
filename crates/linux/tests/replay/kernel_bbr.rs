//! The kernel's own BBR, replayed in tcp_bbr.c.

use ackclock_host::{AckSample, Algorithm, CongestionControl, Era, HostConfig, RateSample};

use crate::call::{make, Call, Hook};
use crate::recorder::Replayed;
use crate::trace::{record, Row as _};

record!(
    13;
    sk,
    hook,
    argument0,
    argument1,
    jiffies,
    hz,
    tcp_mstamp,
    tcp_clock_cache,
    tcp_wstamp_ns,
    delivered_mstamp,
    sk_pacing_rate,
    sk_pacing_status,
    sk_max_pacing_rate,
    sk_pacing_shift,
    icsk_ca_state,
    snd_cwnd,
    snd_ssthresh,
    snd_cwnd_clamp,
    packets_out,
    retrans_out,
    sacked_out,
    lost_out,
    delivered,
    lost,
    app_limited,
    mss_cache,
    srtt_us,
    min_rtt_us,
    rs_prior_delivered,
    rs_delivered,
    rs_interval_us,
    rs_rtt_us,
    rs_losses,
    rs_acked_sacked,
    rs_prior_in_flight,
    rs_is_app_limited,
    rs_is_ack_delayed,
    jiffies_after,
    result,
    snd_cwnd_after,
    snd_ssthresh_after,
    sk_pacing_rate_after,
    sk_pacing_status_after,
    app_limited_after,
);

/// What differs from call to call only by chance: the first phase of PROBE_BW, one of seven.
const DRAWS: u64 = 60;

/// Makes the recorded calls again, with that algorithm. The sender's part of the socket is the
/// record's before each call; the private state is what our own calls made of it.
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
            let mut cc = CongestionControl::new(&configured, host);
            // The gains, which Linux's init leaves as the ACK of the handshake has set them. The
            // next ACK sets them anew before anyone reads them.
            cc.tp_mut().inet_conn.icsk_ca_priv[9] = record.private[9] & (0xf_ffff << 32);
            flow = Some(cc);
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
        let theirs = theirs(record);
        let before = cc.tp().clone();
        let first = answer(cc, record, record.jiffies, 0);
        if first == theirs {
            continue;
        }
        // Another draw; or the clock has ticked between the record of it and BBR's look at it.
        let times = [record.jiffies, record.jiffies_after];
        let matches = |cc: &mut CongestionControl| {
            times.into_iter().any(|jiffies| {
                (0..DRAWS).any(|draw| {
                    *cc.tp_mut() = before.clone();
                    answer(cc, record, jiffies, draw) == theirs
                })
            })
        };
        if matches(cc) {
            found.draws += usize::from(record.jiffies == record.jiffies_after);
        } else {
            *cc.tp_mut() = before.clone();
            answer(cc, record, record.jiffies, 0);
            found.differences.push(format!(
                "{hook:?}\nours:   {first:x?}\nkernel: {theirs:x?}\n{record:?}"
            ));
        }
    }
    found
}

/// Result, cwnd, ssthresh, pacing rate and status, app_limited; and the private state, whose layout
/// is that of Linux's `struct bbr`.
type Answer = ([u64; 6], [u64; 13]);

fn theirs(record: &Record) -> Answer {
    let visible = [
        record.result,
        record.snd_cwnd_after,
        record.snd_ssthresh_after,
        record.sk_pacing_rate_after,
        record.sk_pacing_status_after,
        record.app_limited_after,
    ];
    (visible, record.private)
}

fn answer(cc: &mut CongestionControl, record: &Record, jiffies: u64, draw: u64) -> Answer {
    let tp = cc.tp_mut();
    let csk = &mut tp.inet_conn;
    csk.sk.sk_host.random = (draw + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    csk.sk.sk_host.jiffies = jiffies as u32;
    csk.sk.sk_pacing_rate = record.sk_pacing_rate;
    csk.sk.sk_pacing_status = record.sk_pacing_status as u32;
    csk.sk.sk_max_pacing_rate = record.sk_max_pacing_rate;
    csk.sk.sk_pacing_shift = record.sk_pacing_shift as u8;
    csk.icsk_ca_state = record.icsk_ca_state as u8;
    tp.tcp_mstamp = record.tcp_mstamp;
    tp.tcp_clock_cache = record.tcp_clock_cache;
    tp.tcp_wstamp_ns = record.tcp_wstamp_ns;
    tp.delivered_mstamp = record.delivered_mstamp;
    tp.snd_cwnd = record.snd_cwnd as u32;
    tp.snd_ssthresh = record.snd_ssthresh as u32;
    tp.snd_cwnd_clamp = record.snd_cwnd_clamp as u32;
    tp.packets_out = record.packets_out as u32;
    tp.retrans_out = record.retrans_out as u32;
    tp.sacked_out = record.sacked_out as u32;
    tp.lost_out = record.lost_out as u32;
    tp.delivered = record.delivered as u32;
    tp.lost = record.lost as u32;
    tp.app_limited = record.app_limited as u32;
    tp.mss_cache = record.mss_cache as u32;
    tp.srtt_us = record.srtt_us as u32;
    tp.rtt_min.s[0].v = record.min_rtt_us as u32;
    let call = Call {
        hook: record.hook(),
        arguments: [record.argument0 as u32, record.argument1 as u32],
        result: 0,
        sample: AckSample::default(),
        rate: RateSample {
            prior_delivered: record.rs_prior_delivered as u32,
            delivered: record.rs_delivered as i32,
            interval_us: record.rs_interval_us as i64,
            rtt_us: record.rs_rtt_us as i64,
            losses: record.rs_losses as i32,
            acked_sacked: record.rs_acked_sacked as u32,
            prior_in_flight: record.rs_prior_in_flight as u32,
            is_app_limited: record.rs_is_app_limited != 0,
            is_ack_delayed: record.rs_is_ack_delayed != 0,
            ..RateSample::default()
        },
        tp: tp.clone(),
    };
    let outcome = make(cc, &call);
    let visible = [
        outcome.result.into(),
        outcome.snd_cwnd.into(),
        outcome.snd_ssthresh.into(),
        outcome.sk_pacing_rate,
        outcome.sk_pacing_status.into(),
        outcome.app_limited.into(),
    ];
    (visible, outcome.private)
}
