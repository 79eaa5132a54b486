"""What is changed in the kernel's source for the virtual Linux, and why.

A change is found by its tokens, so white space and comments do not count. It names as few of them
as are unique in the file: the code around it may change.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from ackclock.base.errors import AckclockError

#: Timer ticks per second, unless another kernel is asked for.
HZ = 1000
#: White space and comments, or a token of C.
_TOKEN = re.compile(
    r"""\s+|\\\n|/\*.*?\*/|//[^\n]*|("(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'|\w+|.)""", re.DOTALL
)


class EditError(AckclockError):
    """A change does not fit: which, of which kernel."""


@dataclass(frozen=True)
class Edit:
    """A change of one place in a file."""

    file: str
    #: What stands there, and what instead.
    find: str
    instead: str
    why: str
    #: A file that does not have this word needs no change.
    of: str = ""

    def made(self, text: str) -> str:
        """The file with the change. Raises `ValueError` that says what does not stand there."""
        code = list(_code(text))
        seen = [word for word, *_ in code]
        if self.of and self.of not in seen:
            return text
        find = [word for word, *_ in _code(self.find)]
        places = [at for at in range(len(seen)) if seen[at : at + len(find)] == find]
        if len(places) != 1:
            raise ValueError(f"{' '.join(find)} stands there {len(places)} times, not once")
        start, end = code[places[0]][1], code[places[0] + len(find) - 1][2]
        return text[:start] + self.instead + text[end:]


def _code(text: str) -> Iterator[tuple[str, int, int]]:
    """What a compiler sees: each token, where it begins and where it ends."""
    for found in _TOKEN.finditer(text):
        if found[1]:
            yield found[1], found.start(), found.end()


def edit(tree: Path, hz: int = HZ) -> None:
    """Makes our changes in a tree of Linux, whose timer ticks `hz` times a second.

    Raises `EditError`.
    """
    for each in (*EDITS, Edit("arch/um/Kconfig", TICKS, TICKS.replace(str(HZ), str(hz)), "hz")):
        file = tree / each.file
        if each.of and not file.exists():
            continue
        try:
            file.write_text(each.made(file.read_text(encoding="utf-8")), encoding="utf-8")
        except (ValueError, OSError) as error:
            said = error.strerror if isinstance(error, OSError) else error
            raise EditError(
                f"Linux {release(tree)} cannot be changed in {each.file}: {said} ({each.why})"
            ) from None


def release(tree: Path) -> str:
    """The version of a tree of Linux: 6.12.117."""
    lines = (tree / "Makefile").read_text(encoding="utf-8").splitlines()
    said = dict(line.split(" = ", 1) for line in lines[:8] if " = " in line)
    return ".".join(said[name] for name in ("VERSION", "PATCHLEVEL", "SUBLEVEL") if name in said)


#: One sequence for each seed (SplitMix64).
RANDOM = """\
{
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
	}"""
#: The streams of the recorder (streams.h): of a flow, and of a link for what its letter says.
STREAMS = """\
struct sock;
struct net_device;
extern u64 (*random_of_flow)(const struct sock *sk);
extern u64 (*random_of_link)(const struct net_device *dev, char draw);
#define RANDOM_STREAMS"""
STREAMS_HERE = """\
u64 (*random_of_flow)(const struct sock *sk);
u64 (*random_of_link)(const struct net_device *dev, char draw);
EXPORT_SYMBOL(random_of_flow);
EXPORT_SYMBOL(random_of_link);"""
BELOW = "#define get_random_u32_below(n) ((u32)((random_of_flow(sk) >> 32) * (n) >> 32))"
RED_DRAWS = """\
static const struct net_device *red_device;
#define get_random_u32() ((u32)(random_of_link(red_device, 'q') >> 32))
"""
DUALPI2_DRAWS = RED_DRAWS.replace("red_", "dualpi2_")
LOST = """\
(q->loss_model == CLG_RANDOM ?
\t     q->loss && q->loss >= (u32)(random_of_link(qdisc_dev(sch), 'l') >> 32) :
\t     loss_event(q))"""
#: Gilbert's and Elliott's: the simulator draws whether a packet passes.
LOST_IN = (("", "< clg->a1"), ("~", "< clg->a4"), ("", "< clg->a2"), ("", "> clg->a3"))
DRAWN = "(random_of_link(qdisc_dev(q->watchdog.qdisc), 'l') >> 32)"
DELAYED = """\
q->jitter && !q->delay_dist ? q->latency - q->jitter +
\t\t\t(s64)mul_u64_u64_shr(random_of_link(qdisc_dev(sch), 'p'), 2 * q->jitter, 64) :
\t\t\ttabledist(q->latency,"""
#: Of a table of delays.
FROM_TABLE = """\
dist ? (u32)(random_of_link(qdisc_dev(container_of(prng,
\t\t\tstruct netem_sched_data, prng)->watchdog.qdisc), 'p') >> 32) :
\t\tget_crandom(state, prng)"""
ORDER = """
struct Qdisc *(*queues_in_order)(struct Qdisc *head);
EXPORT_SYMBOL(queues_in_order);"""
ORDERED = """\
if (queues_in_order)
			head = queues_in_order(head);
		while (head)"""
HEAD = """
struct sk_buff *netem_head(struct Qdisc *sch);
struct sk_buff *netem_head(struct Qdisc *sch)
{
	return netem_peek(qdisc_priv(sch));
}
EXPORT_SYMBOL(netem_head);"""
#: Why they are changed.
TURNS = (
    "Of delays that end in one nanosecond the first armed ends first. Now links come first, then "
    "flows by their numbers, as in the simulator."
)
DRAWS = "What Linux draws is what the simulator draws, so that chance does not part them."
CLOCK = "The processor's own clock (rdtsc) would tell a program the host's time."
#: How often the clock was read in this instant.
COUNTED = """\
{
				static unsigned long long last;
				static unsigned int again;

				again = last == time_travel_time ? again + 1 : 0;
				last = time_travel_time;
				if (again > 10000)
					time_travel_update_time_rel(TIMER_MULTIPLIER);
			}"""
#: How often a call has failed in this instant.
FAILED = """\
{
				static u64 last;
				static unsigned int again;
				u64 now = ktime_get_ns();

				again = last == now ? again + 1 : 0;
				last = now;
				if (again > 10000)
					um_udelay(1);
			}"""
#: A call of a program, whose RLIMIT_RTTIME says what it costs, ns; those of ours cost nothing.
CALLS = """\
#include <linux/sched/signal.h>

void pay_for_call(int syscall);
void pay_for_call(int syscall)
{
	unsigned long cost_ns = rlimit(RLIMIT_RTTIME);
	static unsigned int calls;
	static u64 since;
	u64 now;

	if (cost_ns == RLIM_INFINITY)
		return;
	now = ktime_get_ns();
	if (now - since > NSEC_PER_MSEC) {
		since = now;
		calls = 0;
	}
	if (++calls == 1000000)
		pr_emerg("%s spins: system call %d\\n", current->comm, syscall);
	if (cost_ns)
		um_ndelay(cost_ns);
}

void handle_syscall("""
#: What the processor's own clock would tell is the machine's time: 1 GHz.
TICKING = """\
void pay_for_call(int syscall);

static bool reads_clock(struct uml_pt_regs *regs)
{
	unsigned char code[3];
	int size = 0;
	u64 now;

	if (copy_from_user(code, (void __user *)UPT_IP(regs), sizeof(code)))
		return false;
	if (code[0] == 0x0f && code[1] == 0x31) /* rdtsc */
		size = 2;
	else if (code[0] == 0x0f && code[1] == 0x01 && code[2] == 0xf9) /* rdtscp */
		size = 3;
	if (!size)
		return false;
	pay_for_call(-1);
	now = ktime_get_ns();
	REGS_AX(regs->gp) = (u32)now;
	REGS_DX(regs->gp) = now >> 32;
	if (size == 3)
		REGS_CX(regs->gp) = 0;
	REGS_IP(regs->gp) += size;
	return true;
}

void segv_handler("""
#: A process of a program begins without that clock.
TRAMP = """\
#include <sys/prctl.h>

static int without_clock(void *data)
{
	prctl(PR_SET_TSC, PR_TSC_SIGSEGV, 0, 0, 0);
	return userspace_tramp(data);
}

int start_userspace("""
TICKS = f"config HZ\n\tint\n\tdefault {HZ}"
#: Every change.
EDITS = (
    Edit(
        "arch/um/Kconfig",
        "config HZ int default 100",
        TICKS,
        "Algorithms count in ticks; User-Mode Linux fixes 100 per second.",
    ),
    Edit(
        "arch/um/include/linux/time-internal.h",
        "#define TIMER_MULTIPLIER 256",
        "#define TIMER_MULTIPLIER 1",
        "Its clock counts 256 ns at a time.",
    ),
    Edit(
        "arch/um/include/linux/time-internal.h",
        "#define TIMER_MIN_DELTA 500",
        "#define TIMER_MIN_DELTA 1",
        "A timer that is due in less than 500 ns is late.",
    ),
    Edit(
        "arch/um/kernel/time.c",
        "delta += 1;",
        "",
        "With such a clock each timer is 1 ns late, so that it is never early.",
    ),
    Edit(
        "arch/um/kernel/time.c",
        "time_travel_update_time_rel(TIMER_MULTIPLIER);",
        COUNTED,
        (
            "Each reading of the clock costs a process 1 ns, which decides between equal times. "
            "Now only one that reads it without end pays."
        ),
    ),
    Edit(
        "kernel/time/hrtimer.c",
        "basenow <",
        "basenow < hrtimer_get_expires(timer) || basenow <",
        (
            "All hosts share a processor, so a timer with slack fires with any host's timer before "
            "it. Now each host has a processor of its own."
        ),
    ),
    Edit(
        "arch/um/kernel/skas/syscall.c",
        "um_udelay(1);",
        FAILED,
        (
            "A call that fails, such as a read without data, takes 1 us in which no timer fires. "
            "Now only one that fails without end does."
        ),
    ),
    Edit(
        "arch/um/kernel/skas/syscall.c",
        "void handle_syscall(",
        CALLS,
        "A program that polls would stand still, as computing takes no time: its calls take some.",
    ),
    Edit(
        "arch/um/kernel/skas/syscall.c",
        "syscall = UPT_SYSCALL_NR(r);",
        "syscall = UPT_SYSCALL_NR(r);\n\tpay_for_call(syscall);",
        "The same.",
    ),
    Edit("arch/um/os-Linux/skas/process.c", "int start_userspace(", TRAMP, CLOCK),
    Edit(
        "arch/um/os-Linux/skas/process.c",
        "clone(userspace_tramp,",
        "clone(without_clock,",
        CLOCK,
    ),
    Edit("arch/um/kernel/trap.c", "void segv_handler(", TICKING, CLOCK),
    Edit(
        "arch/um/kernel/trap.c",
        "show_segv_info(regs); bad_segv(",
        "if (reads_clock(regs))\n\t\t\treturn;\n\t\tshow_segv_info(regs);\n\t\tbad_segv(",
        CLOCK,
    ),
    Edit(
        "include/net/pkt_sched.h",
        "READ_ONCE(dev->mtu) + dev->hard_header_len",
        "READ_ONCE(dev->mtu)",
        (
            "Queues count IP bytes here, so the largest packet, which PIE compares its queue with, "
            "has no Ethernet header."
        ),
    ),
    Edit(
        "arch/x86/um/user-offsets.c",
        "DEFINE_LONGS(HOST_FP_SIZE, 2696);",
        "DEFINE_LONGS(HOST_FP_SIZE, 12288);",
        "Room for the registers of processors with AMX; since 6.14 as much as they ask for.",
        of="HOST_FP_SIZE",
    ),
    Edit(
        "arch/um/os-Linux/util.c",
        "return getrandom(buf, len, flags);",
        RANDOM,
        "The host's random numbers would differ from run to run.",
    ),
    Edit(
        "include/linux/random.h",
        "u32 get_random_u32(void);",
        "u32 get_random_u32(void);\n" + STREAMS,
        DRAWS,
    ),
    Edit(
        "drivers/char/random.c",
        "EXPORT_SYMBOL(get_random_bytes);",
        "EXPORT_SYMBOL(get_random_bytes);\n" + STREAMS_HERE,
        DRAWS,
    ),
    Edit(
        "net/ipv4/tcp_bbr.c",
        "#include <linux/random.h>",
        "#include <linux/random.h>\n" + BELOW,
        DRAWS,
    ),
    Edit("net/sched/sch_red.c", "#include <net/red.h>", RED_DRAWS + "#include <net/red.h>", DRAWS),
    Edit(
        "net/sched/sch_red.c",
        "q->vars.qavg = red_calc_qavg(",
        "red_device = qdisc_dev(sch);\n\tq->vars.qavg = red_calc_qavg(",
        DRAWS,
    ),
    Edit(
        "net/sched/sch_pie.c",
        "get_random_bytes(&rnd, 8)",
        "rnd = random_of_link(qdisc_dev(sch), 'q')",
        DRAWS,
    ),
    Edit(
        "net/sched/sch_dualpi2.c",
        "#include <net/pkt_sched.h>",
        "#include <net/pkt_sched.h>\n" + DUALPI2_DRAWS,
        DRAWS,
        of="dualpi2_sched_data",
    ),
    Edit(
        "net/sched/sch_dualpi2.c",
        "local_l_prob = (u64)prob * q->coupling_factor",
        "dualpi2_device = qdisc_dev(sch);\n\tlocal_l_prob = (u64)prob * q->coupling_factor",
        DRAWS,
        of="dualpi2_sched_data",
    ),
    Edit("net/sched/sch_netem.c", "loss_event(q)", LOST, DRAWS),
    *(
        Edit("net/sched/sch_netem.c", f"prandom_u32_state(s) {of}", f"(u32){no}{DRAWN} {of}", DRAWS)
        for no, of in LOST_IN
    ),
    Edit(
        "net/sched/sch_netem.c",
        "get_crandom(&q->dup_cor, &q->prng)",
        "(u32)(random_of_link(qdisc_dev(sch), 'd') >> 32)",
        DRAWS,
    ),
    Edit("net/sched/sch_netem.c", "get_crandom(state, prng)", FROM_TABLE, DRAWS),
    Edit("net/sched/sch_netem.c", "tabledist(q->latency,", DELAYED, DRAWS),
    Edit(
        "net/sched/sch_netem.c",
        "get_crandom(&q->reorder_cor, &q->prng)",
        "(u32)~(random_of_link(qdisc_dev(sch), 'r') >> 32)",
        DRAWS,
    ),
    Edit(
        "net/sched/sch_netem.c",
        'MODULE_ALIAS_NET_SCH("netem");',
        'MODULE_ALIAS_NET_SCH("netem");\n' + HEAD,
        TURNS,
    ),
    Edit(
        "net/core/dev.c",
        "EXPORT_SYMBOL(__netif_schedule);",
        "EXPORT_SYMBOL(__netif_schedule);\n" + ORDER,
        TURNS,
    ),
    Edit("net/core/dev.c", "while (head)", ORDERED, TURNS),
    Edit(
        "net/ipv4/tcp_output.c",
        "INET_ECN_xmit(sk); else INET_ECN_dontxmit(sk);",
        "__INET_ECN_xmit(sk, tp->ecn_flags & BIT(5));\n\t\telse\n\t\t\tINET_ECN_dontxmit(sk);",
        "An algorithm may ask for ECT(1), as in the Linux L4S tree. Linux itself only has ECT(0).",
        of="tcp_accecn_ace_fail_send",
    ),
)
