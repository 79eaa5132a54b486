/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* In the kernel's form: shows what a socket and a rate sample have besides what our dialect uses. */
#include <linux/module.h>
#include <net/tcp.h>

struct seen {
	u64 bytes_acked;
	u32 last_end_seq, snd_interval_us, rcv_interval_us;
	u32 prior_lost, lost, prior_delivered_ce, delivered_ce, tx_in_flight;
	u32 is_ece, may_answer_probe, probes_app_limited, ecn_flags;
};

/* The way back of an ACK, ms, is ssthresh: the samples table shows it. */
static void show_control(struct sock *sk, u32 ack, int flag, const struct rate_sample *rs)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct seen *seen = inet_csk_ca(sk);

	*seen = (struct seen){
		tp->bytes_acked, rs->last_end_seq, rs->snd_interval_us, rs->rcv_interval_us,
		rs->prior_lost, rs->lost, rs->prior_delivered_ce, rs->delivered_ce,
		rs->tx_in_flight, rs->is_ece, rs->is_acking_tlp_retrans_seq,
		tp->tlp_orig_data_app_limited, tp->ecn_flags,
	};
	tp->fast_ack_mode = 1;
	tcp_snd_cwnd_set(tp, 10);
	tp->snd_ssthresh = 1 + tp->tcp_mstamp / 1000 - tp->rx_opt.rcv_tsval +
			   1000 * (tp->rx_opt.rcv_tsval - tp->rx_opt.rcv_tsecr);
}

static u32 show_ssthresh(struct sock *sk)
{
	return tcp_sk(sk)->snd_ssthresh;
}

static struct tcp_congestion_ops show = {
	.cong_control = show_control,
	.ssthresh = show_ssthresh,
	.undo_cwnd = tcp_reno_undo_cwnd,
	.flags = TCP_CONG_NEEDS_ACCECN | TCP_CONG_ECT_1_NEGOTIATION,
	.name = "show",
};

/* Reno, which also reduces its window at 14 packets, as CDG does. */
static void back_off(struct sock *sk, u32 ack, u32 acked)
{
	if (tcp_snd_cwnd(tcp_sk(sk)) < 14)
		tcp_reno_cong_avoid(sk, ack, acked);
	else
		tcp_enter_cwr(sk);
}

static struct tcp_congestion_ops early = {
	.cong_avoid = back_off,
	.ssthresh = tcp_reno_ssthresh,
	.undo_cwnd = tcp_reno_undo_cwnd,
	.name = "early",
};

/* What was sent, what waits, and the receiver's window, as PCC and BBRplus ask. */
static void show_queue(struct sock *sk, u32 ack, int flag, const struct rate_sample *rs)
{
	struct tcp_sock *tp = tcp_sk(sk);
	u64 *seen = inet_csk_ca(sk);

	seen[0] = tp->bytes_sent;
	seen[1] = tp->data_segs_out;
	seen[2] = tcp_send_head(sk) ? tp->write_seq - tp->snd_nxt : 0;
	seen[3] = tcp_wnd_end(tp) - tp->snd_una;
}

static struct tcp_congestion_ops queue = {
	.cong_control = show_queue,
	.ssthresh = show_ssthresh,
	.undo_cwnd = tcp_reno_undo_cwnd,
	.name = "queue",
};

static int __init contract_init(void)
{
	int error = tcp_register_congestion_control(&show) ?: tcp_register_congestion_control(&queue);

	return error ?: tcp_register_congestion_control(&early);
}
module_init(contract_init);
