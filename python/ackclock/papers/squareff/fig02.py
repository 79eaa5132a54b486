"""Figure 2: throughput of two flows with different RTTs.

"The network delay time of one connection was always 2ms. The delay time of the other connection
ranged from 2ms to 128ms. The horizontal axes of these graphs represent RTTs of the two
connections" (section III.A). "In the case of RTT 2ms and RTT 128ms, one connection obtained more
than twice performance."

The algorithms are CUBIC, K with the third root of the RTT (equation 3) and SQUARE:FF (equation 4).
The paper gives no unit of RTT; here it is 1 ms, that of the kernel's RTTs.
"""

from matplotlib.axes import Axes

from ackclock.draw import style
from ackclock.figures import Claim, Column, Experiment, Figure, grid, mean_of, plots
from ackclock.papers.squareff._experiments import (
    ASSUMED,
    CUBIC,
    JAIN,
    LATE_RATIO,
    LOOKS,
    NAMES,
    RATIO,
    RTTS_MS,
    TWO_PATHS,
    ratio,
    row,
    scenario,
)

FLOW_1 = Column(TWO_PATHS, "throughput_1_mbps", "throughput of flow 1", "Mb/s")
FLOW_2 = Column(TWO_PATHS, "throughput_2_mbps", "throughput of flow 2", "Mb/s")


def _paper(axes: Axes) -> None:
    """What the text says of CUBIC at 128 ms."""
    if axes.get_title(loc="left") == NAMES[CUBIC]:
        axes.annotate(
            "the paper: at 128 ms\nmore than 2 : 1",
            (0.03, 0.04),
            xycoords="axes fraction",
            ha="left",
            va="bottom",
            fontsize="small",
        )


#: The runs of CUBIC, with BIC instead; beta and presets are CUBIC's.
WITH_BIC = Experiment(
    "two paths, BIC",
    grid(algorithm=["bic"], rtt_ms=RTTS_MS[1:]),
    scenario,
    row,
    seeds=TWO_PATHS.seeds,
    quick=TWO_PATHS.quick,
    variants=[
        each for each in TWO_PATHS.variants if each.of not in ("unit of RTT", "beta", "CUBIC")
    ],
    assumed=ASSUMED,
    says={"rtt_ms": "2 v {} ms", "algorithm": {"bic": "BIC"}},
)
FAIRER_THAN_BIC = mean_of(
    "fairness index, CUBIC − BIC, mean over the RTTs",
    [
        JAIN.at(algorithm=CUBIC, rtt_ms=rtt) - Column(WITH_BIC, "jain", "").at(rtt_ms=rtt)
        for rtt in RTTS_MS[1:]
    ],
)

FIGURE = Figure(
    plot=plots.curves(
        {
            name: {
                label: (look, plots.over(flow, "rtt_ms", algorithm=algorithm))
                for label, flow, look in (
                    ("flow 1: 2 ms", FLOW_1, {"color": style.INK, "linestyle": "--"}),
                    ("flow 2: the RTT below", FLOW_2, LOOKS[CUBIC]),
                )
            }
            for algorithm, name in NAMES.items()
        },
        xlabel="RTT of flow 2 (ms)",
        ylabel="throughput (Mb/s)",
        log_x=True,
        ylim=(0, None),
        after=_paper,
    ),
    quantities=[
        FAIRER_THAN_BIC,
        ratio(RATIO, CUBIC, 128).beside("> 2"),
        *FLOW_1.everywhere(),
        *FLOW_2.everywhere(),
    ],
    claims=[
        Claim(
            "squareff.fig2.smaller-rtt",
            "The CUBIC flow with 2 ms gets more than the other at every larger RTT",
            [ratio(RATIO, CUBIC, rtt).above(1) for rtt in RTTS_MS[1:]],
            paper="higher",
            most_seeds=100,
            quote="“the throughput obtained by the connection with the smaller RTT is higher” "
            "(III.A)",
            readings={
                "without the first 20 s": [
                    ratio(LATE_RATIO, CUBIC, rtt).above(1) for rtt in RTTS_MS[1:]
                ]
            },
        ),
        Claim(
            "squareff.s2.fairer-than-bic",
            "Two CUBIC flows with different RTTs share more fairly than two BIC flows",
            [FAIRER_THAN_BIC.above(0)],
            paper="better",
            quote="“it has better TCP fairness and RTT fairness than BIC TCP” (II.A)",
        ),
        Claim(
            "squareff.fig2.cubic-unfair",
            "CUBIC at 2 v 128 ms: one flow gets more than twice the throughput of the other",
            [ratio(RATIO, CUBIC, 128).beside(2).above(2)],
            paper="> 2",
            quote="“In the case of RTT 2ms and RTT 128ms, one connection obtained more than twice "
            "performance” (III.A)",
            readings={"without the first 20 s": [ratio(LATE_RATIO, CUBIC, 128).above(2)]},
        ),
    ],
)
