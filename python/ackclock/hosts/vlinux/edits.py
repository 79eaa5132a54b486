"""What is changed in the kernel's source for the virtual Linux, and why."""

#: One sequence for each seed (SplitMix64).
RANDOM = """\
	static unsigned long long state;
	const char *seed = getenv("ACKCLOCK_SEED");
	unsigned char *byte = buf;
	size_t i;

	if (!state)
		state = seed ? strtoull(seed, NULL, 10) : 0;
	for (i = 0; i < len; i++) {
		unsigned long long z = state += 0x9e3779b97f4a7c15ULL;

		z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
		z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
		byte[i] = z ^ (z >> 31);
	}
	return len;
"""
#: The streams of the recorder (streams.h): of a flow, and of a link for what its letter says.
STREAMS = """\
struct sock;
struct net_device;
extern u64 (*random_of_flow)(const struct sock *sk);
extern u64 (*random_of_link)(const struct net_device *dev, char draw);
#define RANDOM_STREAMS
"""
STREAMS_HERE = """\
u64 (*random_of_flow)(const struct sock *sk);
u64 (*random_of_link)(const struct net_device *dev, char draw);
EXPORT_SYMBOL(random_of_flow);
EXPORT_SYMBOL(random_of_link);
"""
BELOW = "#define get_random_u32_below(n) ((u32)((random_of_flow(sk) >> 32) * (n) >> 32))\n"
RED_DRAWS = """\
static const struct net_device *red_device;
#define get_random_u32() ((u32)(random_of_link(red_device, 'q') >> 32))
"""
DUALPI2_DRAWS = """\
static const struct net_device *dualpi2_device;
#define get_random_u32() ((u32)(random_of_link(dualpi2_device, 'q') >> 32))
"""
DUALPI2_PROBABILITY = "\tlocal_l_prob = (u64)prob * q->coupling_factor;\n"
LOST = """\
	if (q->loss_model == CLG_RANDOM ?
\t    q->loss && q->loss >= (u32)(random_of_link(qdisc_dev(sch), 'l') >> 32) :
\t    loss_event(q)) {
"""
DELAYED = """\
\t\tdelay = q->jitter && !q->delay_dist ? q->latency - q->jitter +
\t\t\t(s64)mul_u64_u64_shr(random_of_link(qdisc_dev(sch), 'p'), 2 * q->jitter, 64) :
\t\t\ttabledist(q->latency, q->jitter,
"""
ORDER = """\
struct Qdisc *(*queues_in_order)(struct Qdisc *head);
EXPORT_SYMBOL(queues_in_order);

"""
ORDERED = """\
		local_irq_enable();

		if (queues_in_order)
			head = queues_in_order(head);
		rcu_read_lock();

		while (head) {
"""
HEAD = """\
struct sk_buff *netem_head(struct Qdisc *sch);
struct sk_buff *netem_head(struct Qdisc *sch)
{
	return netem_peek(qdisc_priv(sch));
}
EXPORT_SYMBOL(netem_head);

"""
#: Why they are changed.
TURNS = (
    "Of delays that end in one nanosecond the first armed ends first. Now links come first, then "
    "flows by their numbers, as in the simulator."
)
DRAWS = "What Linux draws is what the simulator draws, so that chance does not part them."
#: How often the clock was read in this instant.
COUNTED = """\
{
	if (time_travel_mode != TT_MODE_OFF) {
		static unsigned long long last;
		static unsigned int again;

		again = last == time_travel_time ? again + 1 : 0;
		last = time_travel_time;
"""
#: How often a call has failed in this instant.
FAILED = """\
			static u64 last;
			static unsigned int again;
			u64 now = ktime_get_ns();

			again = last == now ? again + 1 : 0;
			last = now;
			if (again > 10000)
				um_udelay(1);
"""
#: (file, its text, what stands there instead, why)
EDITS = (
    (
        "arch/um/Kconfig",
        "config HZ\n\tint\n\tdefault 100\n",
        "config HZ\n\tint\n\tdefault 1000\n",
        "Algorithms count in ticks; User-Mode Linux fixes 100 per second.",
    ),
    (
        "arch/um/include/linux/time-internal.h",
        "#define TIMER_MULTIPLIER 256\n#define TIMER_MIN_DELTA  500\n",
        "#define TIMER_MULTIPLIER 1\n#define TIMER_MIN_DELTA  1\n",
        "Its clock counts 256 ns at a time, and a timer that is due in less than 500 ns is late.",
    ),
    (
        "arch/um/kernel/time.c",
        "\tdelta += 1;\n\n",
        "",
        "With such a clock each timer is 1 ns late, so that it is never early.",
    ),
    (
        "arch/um/kernel/time.c",
        "{\n\tif (time_travel_mode != TT_MODE_OFF) {\n\t\t/*\n\t\t * We make reading",
        COUNTED + "\t\t/*\n\t\t * We make reading",
        (
            "Each reading of the clock costs a process 1 ns, which decides between equal times. "
            "Now only one that reads it without end pays."
        ),
    ),
    (
        "arch/um/kernel/time.c",
        "\t\t    !time_travel_ext_waiting)\n\t\t\ttime_travel_update_time_rel(",
        "\t\t    !time_travel_ext_waiting && again > 10000)\n\t\t\ttime_travel_update_time_rel(",
        "See above.",
    ),
    (
        "kernel/time/hrtimer.c",
        "\t\t\tif (basenow < hrtimer_get_softexpires_tv64(timer))\n",
        "\t\t\tif (basenow < hrtimer_get_expires_tv64(timer))\n",
        (
            "All hosts share a processor, so a timer with slack fires with any host's timer before "
            "it. Now each host has a processor of its own."
        ),
    ),
    (
        "arch/um/kernel/skas/syscall.c",
        "\t\t\tum_udelay(1);\n",
        FAILED,
        (
            "A call that fails, such as a read without data, takes 1 us in which no timer fires. "
            "Now only one that fails without end does."
        ),
    ),
    (
        "include/net/pkt_sched.h",
        "\treturn READ_ONCE(dev->mtu) + dev->hard_header_len;\n",
        "\treturn READ_ONCE(dev->mtu);\n",
        (
            "Queues count IP bytes here, so the largest packet, which PIE compares its queue with, "
            "has no Ethernet header."
        ),
    ),
    (
        "arch/x86/um/user-offsets.c",
        "DEFINE_LONGS(HOST_FP_SIZE, 2696);",
        "DEFINE_LONGS(HOST_FP_SIZE, 12288);",
        "Room for the registers of processors with AMX.",
    ),
    (
        "arch/um/os-Linux/util.c",
        "\treturn getrandom(buf, len, flags);\n",
        RANDOM,
        "The host's random numbers would differ from run to run.",
    ),
    (
        "include/linux/random.h",
        "u32 get_random_u32(void);\n",
        "u32 get_random_u32(void);\n" + STREAMS,
        DRAWS,
    ),
    (
        "drivers/char/random.c",
        "EXPORT_SYMBOL(get_random_bytes);\n",
        "EXPORT_SYMBOL(get_random_bytes);\n" + STREAMS_HERE,
        DRAWS,
    ),
    (
        "net/ipv4/tcp_bbr.c",
        "#include <linux/random.h>\n",
        "#include <linux/random.h>\n" + BELOW,
        DRAWS,
    ),
    (
        "net/sched/sch_red.c",
        "#include <net/red.h>\n",
        RED_DRAWS + "#include <net/red.h>\n",
        DRAWS,
    ),
    (
        "net/sched/sch_red.c",
        "\tq->vars.qavg = red_calc_qavg(&q->parms,\n",
        "\tred_device = qdisc_dev(sch);\n\tq->vars.qavg = red_calc_qavg(&q->parms,\n",
        DRAWS,
    ),
    (
        "net/sched/sch_pie.c",
        "\tget_random_bytes(&rnd, 8);\n",
        "\trnd = random_of_link(qdisc_dev(sch), 'q');\n",
        DRAWS,
    ),
    ("net/sched/sch_netem.c", "\tif (loss_event(q)) {\n", LOST, DRAWS),
    (
        "net/sched/sch_netem.c",
        "q->duplicate >= get_crandom(&q->dup_cor, &q->prng))\n",
        "q->duplicate >= (u32)(random_of_link(qdisc_dev(sch), 'd') >> 32))\n",
        DRAWS,
    ),
    (
        "net/sched/sch_netem.c",
        "\t\tdelay = tabledist(q->latency, q->jitter,\n",
        DELAYED,
        DRAWS,
    ),
    (
        "net/sched/sch_netem.c",
        "q->reorder < get_crandom(&q->reorder_cor, &q->prng)) {\n",
        "q->reorder < (u32)~(random_of_link(qdisc_dev(sch), 'r') >> 32)) {\n",
        DRAWS,
    ),
    (
        "net/core/dev.c",
        "static __latent_entropy void net_tx_action(void)\n",
        ORDER + "static __latent_entropy void net_tx_action(void)\n",
        TURNS,
    ),
    (
        "net/core/dev.c",
        "\t\tlocal_irq_enable();\n\n\t\trcu_read_lock();\n\n\t\twhile (head) {\n",
        ORDERED,
        TURNS,
    ),
    (
        "net/sched/sch_netem.c",
        "static struct sk_buff *netem_dequeue(struct Qdisc *sch)\n{",
        HEAD + "static struct sk_buff *netem_dequeue(struct Qdisc *sch)\n{",
        TURNS,
    ),
)

#: Files that newer kernels have otherwise: what stands there for the text of the edit, and instead;
#: None: they need no edit.
NEWER = {
    "kernel/time/hrtimer.c": (
        "\t\t\tif (basenow < hrtimer_get_softexpires(timer))\n",
        "\t\t\tif (basenow < hrtimer_get_expires(timer))\n",
    ),
    # Since 6.14 it has as much room as the processor asks for.
    "arch/x86/um/user-offsets.c": None,
}

ECT = "\t\t    !tcp_accecn_ace_fail_send(tp))\n\t\t\t"
#: As `EDITS`, of files or texts that only newer kernels have.
NEW_EDITS = (
    (
        "net/sched/sch_dualpi2.c",
        "#include <net/pkt_sched.h>\n",
        "#include <net/pkt_sched.h>\n" + DUALPI2_DRAWS,
        DRAWS,
    ),
    (
        "net/sched/sch_dualpi2.c",
        DUALPI2_PROBABILITY,
        "\tdualpi2_device = qdisc_dev(sch);\n" + DUALPI2_PROBABILITY,
        DRAWS,
    ),
    (
        "net/ipv4/tcp_output.c",
        ECT + "INET_ECN_xmit(sk);\n",
        ECT + "__INET_ECN_xmit(sk, tp->ecn_flags & BIT(5));\n",
        "An algorithm may ask for ECT(1), as in the Linux L4S tree. Linux itself only has ECT(0).",
    ),
)
