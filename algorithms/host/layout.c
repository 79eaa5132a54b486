/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* Where the C compiler puts what Rust mirrors, for the test in crates/host/src/layout.rs. */
#include "tcp_cc.h"

#define STRUCT(type) { #type, 0, sizeof(struct type) }
#define FIELD(type, member)                                                                \
	{ #type "." #member, __builtin_offsetof(struct type, member),                      \
	  sizeof(((struct type *)0)->member) }
#define CONSTANT(name) { #name, name, 0 }

const struct cc_layout {
	const char *name;
	u32 offset, size;
} cc_layout[] = {
	STRUCT(cc_host),
	FIELD(cc_host, params), FIELD(cc_host, random), FIELD(cc_host, jiffies),
	FIELD(cc_host, hz), FIELD(cc_host, era), FIELD(cc_host, reserved),
	STRUCT(sock),
	FIELD(sock, sk_host), FIELD(sock, sk_pacing_rate), FIELD(sock, sk_pacing_status),
	FIELD(sock, sk_gso_max_size),
	STRUCT(inet_connection_sock),
	FIELD(inet_connection_sock, icsk_inet.sk), FIELD(inet_connection_sock, icsk_rto),
	FIELD(inet_connection_sock, icsk_ca_state), FIELD(inet_connection_sock, icsk_ca_priv),
	FIELD(inet_connection_sock, icsk_guard),
	STRUCT(minmax_sample), FIELD(minmax_sample, v),
	STRUCT(minmax), FIELD(minmax, s),
	STRUCT(tcp_sock),
	FIELD(tcp_sock, inet_conn), FIELD(tcp_sock, tcp_mstamp),
	FIELD(tcp_sock, delivered_mstamp), FIELD(tcp_sock, snd_una),
	FIELD(tcp_sock, snd_nxt), FIELD(tcp_sock, snd_cwnd), FIELD(tcp_sock, snd_cwnd_cnt),
	FIELD(tcp_sock, snd_cwnd_stamp), FIELD(tcp_sock, snd_ssthresh),
	FIELD(tcp_sock, snd_cwnd_clamp), FIELD(tcp_sock, snd_cwnd_used),
	FIELD(tcp_sock, prior_cwnd), FIELD(tcp_sock, prior_ssthresh),
	FIELD(tcp_sock, packets_out), FIELD(tcp_sock, retrans_out), FIELD(tcp_sock, sacked_out),
	FIELD(tcp_sock, lost_out), FIELD(tcp_sock, max_packets_out), FIELD(tcp_sock, delivered),
	FIELD(tcp_sock, lost), FIELD(tcp_sock, total_retrans), FIELD(tcp_sock, srtt_us),
	FIELD(tcp_sock, mdev_us), FIELD(tcp_sock, rtt_min), FIELD(tcp_sock, lsndtime),
	FIELD(tcp_sock, mss_cache),
	FIELD(tcp_sock, app_limited), FIELD(tcp_sock, ecn_flags),
	FIELD(tcp_sock, is_cwnd_limited),
	STRUCT(ack_sample),
	FIELD(ack_sample, pkts_acked), FIELD(ack_sample, rtt_us), FIELD(ack_sample, in_flight),
	STRUCT(rate_sample),
	FIELD(rate_sample, prior_mstamp), FIELD(rate_sample, prior_delivered),
	FIELD(rate_sample, delivered), FIELD(rate_sample, interval_us),
	FIELD(rate_sample, rtt_us), FIELD(rate_sample, losses),
	FIELD(rate_sample, acked_sacked), FIELD(rate_sample, prior_in_flight),
	FIELD(rate_sample, is_app_limited), FIELD(rate_sample, is_retrans),
	STRUCT(tcp_congestion_ops),
	FIELD(tcp_congestion_ops, ssthresh), FIELD(tcp_congestion_ops, cong_avoid),
	FIELD(tcp_congestion_ops, set_state), FIELD(tcp_congestion_ops, cwnd_event),
	FIELD(tcp_congestion_ops, in_ack_event), FIELD(tcp_congestion_ops, pkts_acked),
	FIELD(tcp_congestion_ops, min_tso_segs), FIELD(tcp_congestion_ops, cong_control),
	FIELD(tcp_congestion_ops, undo_cwnd), FIELD(tcp_congestion_ops, sndbuf_expand),
	FIELD(tcp_congestion_ops, init), FIELD(tcp_congestion_ops, release),
	FIELD(tcp_congestion_ops, flags), FIELD(tcp_congestion_ops, name),
	STRUCT(cc_param_desc),
	FIELD(cc_param_desc, name), FIELD(cc_param_desc, doc), FIELD(cc_param_desc, value),
	FIELD(cc_param_desc, least), FIELD(cc_param_desc, most), FIELD(cc_param_desc, scale),
	STRUCT(cc_preset_desc),
	FIELD(cc_preset_desc, name), FIELD(cc_preset_desc, settings),
	FIELD(cc_preset_desc, doc),
	STRUCT(cc_module),
	FIELD(cc_module, name), FIELD(cc_module, summary), FIELD(cc_module, params),
	FIELD(cc_module, presets), FIELD(cc_module, params_len), FIELD(cc_module, presets_len),
	FIELD(cc_module, ops),
	CONSTANT(TCP_CA_Open), CONSTANT(TCP_CA_Disorder), CONSTANT(TCP_CA_CWR),
	CONSTANT(TCP_CA_Recovery), CONSTANT(TCP_CA_Loss),
	CONSTANT(CA_EVENT_TX_START), CONSTANT(CA_EVENT_CWND_RESTART),
	CONSTANT(CA_EVENT_COMPLETE_CWR), CONSTANT(CA_EVENT_LOSS),
	CONSTANT(CA_EVENT_ECN_NO_CE), CONSTANT(CA_EVENT_ECN_IS_CE),
	CONSTANT(CC_ERA_LINUX_2_6), CONSTANT(CC_ERA_LINUX_6),
	CONSTANT(TCP_INFINITE_SSTHRESH), CONSTANT(ICSK_CA_PRIV_WORDS),
	{ 0 },
};
