//! Do C and Rust agree where every field lies? `algorithms/host/layout.c` has the C compiler's view,
//! this file the Rust compiler's. Pointers have another width on another target, so each asks.

use std::ffi::{c_char, CStr};
use std::mem::{offset_of, size_of};

use crate::module::{Module, ParamDesc, PresetDesc};
use crate::sock::*;

#[repr(C)]
struct Layout {
    name: *const c_char,
    offset: u32,
    size: u32,
}

unsafe extern "C" {
    #[link_name = "cc_layout"]
    static CC_LAYOUT: [Layout; 0];
}

type Place = (String, usize, usize);

fn c_places() -> Vec<Place> {
    let mut places = Vec::new();
    // SAFETY: the table ends with a null name, and its names are string literals.
    unsafe {
        let mut place = (&raw const CC_LAYOUT).cast::<Layout>();
        while !(*place).name.is_null() {
            let name = CStr::from_ptr((*place).name).to_str().unwrap().to_string();
            places.push((name, (*place).offset as usize, (*place).size as usize));
            place = place.add(1);
        }
    }
    places
}

fn size_of_field<T, F>(_: fn(&T) -> &F) -> usize {
    size_of::<F>()
}

/// Places of all the fields: the pattern does not compile if one is left out.
macro_rules! structure {
    ($type:ident, $c:literal: $($field:ident),*) => {{
        let _ = |$type { $($field: _),* }: &$type| ();
        let mut places: Vec<Place> = vec![($c.into(), 0, size_of::<$type>())];
        $(places.push((
            format!("{}.{}", $c, stringify!($field)),
            offset_of!($type, $field),
            size_of_field(|value: &$type| &value.$field),
        ));)*
        places
    }};
}

fn rust_places() -> Vec<Place> {
    [
        structure!(CcHost, "cc_host": params, random, jiffies, hz, era, is_reno, acks, ack_ecn_flags, ack_rcv_nxt, blocks, enters_cwr),
        structure!(Sock, "sock": sk_host, sk_pacing_rate, sk_pacing_status, sk_gso_max_size, sk_max_pacing_rate, sk_pacing_shift, sk_state, sk_family, sk_prot),
        structure!(InetConnectionSock, "inet_connection_sock": sk, icsk_rto, icsk_ca_state, icsk_ack, icsk_ca_priv, icsk_guard),
        structure!(TcpOptionsReceived, "tcp_options_received": rcv_tsval, rcv_tsecr),
        structure!(MinmaxSample, "minmax_sample": v),
        structure!(Minmax, "minmax": s),
        structure!(TcpSock, "tcp_sock": inet_conn, tcp_mstamp, delivered_mstamp, tcp_clock_cache, tcp_wstamp_ns, bytes_acked, snd_una, snd_nxt, snd_cwnd, snd_cwnd_cnt, snd_cwnd_stamp, snd_ssthresh, snd_cwnd_clamp, snd_cwnd_used, prior_cwnd, prior_ssthresh, packets_out, retrans_out, sacked_out, lost_out, max_packets_out, delivered, lost, total_retrans, srtt_us, mdev_us, rtt_min, lsndtime, mss_cache, delivered_ce, rcv_nxt, app_limited, ecn_flags, is_cwnd_limited, rx_opt, bytes_sent, data_segs_out, write_seq, snd_wnd, tlp_orig_data_app_limited, fast_ack_mode),
        structure!(AckSample, "ack_sample": pkts_acked, rtt_us, in_flight),
        structure!(RateSample, "rate_sample": prior_mstamp, prior_delivered, prior_delivered_ce, delivered, delivered_ce, interval_us, snd_interval_us, rcv_interval_us, rtt_us, losses, acked_sacked, prior_in_flight, last_end_seq, is_app_limited, is_retrans, is_ack_delayed, is_ece, is_acking_tlp_retrans_seq, prior_lost, tx_in_flight, lost),
        structure!(TcpCongestionOps, "tcp_congestion_ops": ssthresh, cong_avoid, set_state, cwnd_event, in_ack_event, pkts_acked, min_tso_segs, cong_control, undo_cwnd, min_cwnd, sndbuf_expand, init, release, flags, name),
        structure!(ParamDesc, "cc_param_desc": name, doc, value, least, most, scale),
        structure!(PresetDesc, "cc_preset_desc": name, settings, doc),
        structure!(Module, "cc_module": name, summary, params, presets, params_len, presets_len, storage_bytes, ops),
    ]
    .concat()
}

fn rust_constants() -> Vec<Place> {
    [
        ("TCP_CA_Open", CaState::Open as usize),
        ("TCP_CA_Disorder", CaState::Disorder as usize),
        ("TCP_CA_CWR", CaState::Cwr as usize),
        ("TCP_CA_Recovery", CaState::Recovery as usize),
        ("TCP_CA_Loss", CaState::Loss as usize),
        ("CA_EVENT_TX_START", CaEvent::TxStart as usize),
        ("CA_EVENT_CWND_RESTART", CaEvent::CwndRestart as usize),
        ("CA_EVENT_COMPLETE_CWR", CaEvent::CompleteCwr as usize),
        ("CA_EVENT_LOSS", CaEvent::Loss as usize),
        ("CA_EVENT_ECN_NO_CE", CaEvent::EcnNoCe as usize),
        ("CA_EVENT_ECN_IS_CE", CaEvent::EcnIsCe as usize),
        ("TCP_CONG_NON_RESTRICTED", TCP_CONG_NON_RESTRICTED as usize),
        ("TCP_CONG_NEEDS_ECN", TCP_CONG_NEEDS_ECN as usize),
        ("TCP_CONG_NEEDS_ACCECN", TCP_CONG_NEEDS_ACCECN as usize),
        (
            "TCP_CONG_ECT_1_NEGOTIATION",
            TCP_CONG_ECT_1_NEGOTIATION as usize,
        ),
        ("TCP_ECN_OK", TCP_ECN_OK.into()),
        ("TCP_ECN_QUEUE_CWR", TCP_ECN_QUEUE_CWR.into()),
        ("TCP_ECN_DEMAND_CWR", TCP_ECN_DEMAND_CWR.into()),
        ("TCP_ECN_SEEN", TCP_ECN_SEEN.into()),
        ("TCP_ECN_MODE_ACCECN", TCP_ECN_MODE_ACCECN.into()),
        ("TCP_ECN_ECT_1", TCP_ECN_ECT_1.into()),
        ("ICSK_ACK_SCHED", ICSK_ACK_SCHED.into()),
        ("ICSK_ACK_TIMER", ICSK_ACK_TIMER.into()),
        ("ICSK_ACK_PUSHED", ICSK_ACK_PUSHED.into()),
        ("ICSK_ACK_NOW", ICSK_ACK_NOW.into()),
        ("CC_ERA_LINUX_2_6", Era::Linux2_6 as usize),
        ("CC_ERA_LINUX_6", Era::Linux6 as usize),
        ("TCP_INFINITE_SSTHRESH", TCP_INFINITE_SSTHRESH as usize),
        ("ICSK_CA_PRIV_WORDS", ICSK_CA_PRIV_WORDS),
    ]
    .map(|(name, value)| (name.to_string(), value, 0))
    .to_vec()
}

/// The first field that lies elsewhere in C than in Rust, in words.
pub fn difference() -> Option<String> {
    let mut rust = rust_places();
    rust.extend(rust_constants());
    // Rust has no struct inet_sock, which holds nothing but the sock.
    let c: Vec<Place> = c_places()
        .into_iter()
        .map(|(name, offset, size)| (name.replace("icsk_inet.sk", "sk"), offset, size))
        .collect();
    let mut pairs = c.iter().zip(&rust);
    let pair = pairs.find(|(c, rust)| c != rust);
    pair.map(|(c, rust)| format!("{c:?} in C, {rust:?} in Rust"))
        .or_else(|| (c.len() != rust.len()).then(|| format!("{} and {}", c.len(), rust.len())))
}

#[test]
fn c_and_rust_agree() {
    assert_eq!(difference(), None);
}
