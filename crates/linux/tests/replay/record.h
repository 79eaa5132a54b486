/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* What the recorders share: where the records go. */
#ifndef RECORD_H
#define RECORD_H

enum { BPF_MAP_TYPE_RINGBUF = 27 };

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 1 << 23);
} records SEC(".maps");

u64 lost_records;	/* calls for which the ring had no room */

/* As in call.rs. */
enum hook { SSTHRESH, CONG_AVOID, SET_STATE, CWND_EVENT, IN_ACK_EVENT, PKTS_ACKED,
	    CONG_CONTROL, UNDO_CWND, INIT };

#endif
