"""Figure 2: congestion windows of two CUBIC flows.

"Cubic needs about 400s to get to the convergence status" (section II). "Bandwidth of bottleneck
link is 800Mbps, RTT is 200ms, and queue size is 100% BDP, no web traffic. Flow 1 starts at 0(s) and
ends at 800(s), flow 2 start at 100+x(s) (0<x<1) and ends at 800(s)" (caption).

"The convergence status" is measured by the rule for all papers: the time from flow 2's start to the
start of the last window in which the slower flow gets less than 0.8 times the faster. A window has
10 s or one mean epoch, whichever is longer. The starts of flow 2 cover one cycle of flow 1.
"""

from ackclock.figures import Claim, Column, Figure, Quantity, plots
from ackclock.papers import _converged as converged
from ackclock.papers.cubicfc._experiments import CUBIC, JOINING


def convergence(algorithm: str, share: float = converged.SHARE) -> Quantity:
    """The time at which the last unfair window begins."""
    column = converged.columns()[share]
    return Column(JOINING, column, converged.words(share), "s").at(algorithm=algorithm)


def others(algorithm: str) -> dict[str, Quantity]:
    """The same with other thresholds."""
    return {f"x = {share:g}": convergence(algorithm, share) for share in converged.OTHERS}


def throughputs(algorithm: str) -> list[Quantity]:
    """What else a run tells, from flow 2's start on."""
    columns = {
        "throughput_1_mbps": ("throughput of flow 1", "Mb/s"),
        "throughput_2_mbps": ("throughput of flow 2", "Mb/s"),
        "utilisation": ("utilisation", ""),
    }
    return [
        Column(JOINING, column, name, unit).at(algorithm=algorithm)
        for column, (name, unit) in columns.items()
    ]


FIGURE = Figure(
    plot=plots.windows(
        {"CUBIC": (JOINING, {"algorithm": CUBIC})},
        converged={"CUBIC": convergence(CUBIC)},
        paper=(400, "≈ 400 s"),
    ),
    quantities=[
        convergence(CUBIC).beside("≈ 400 s"),
        *others(CUBIC).values(),
        *throughputs(CUBIC),
    ],
    claims=[
        Claim(
            "cubicfc.fig2.cubic-400s",
            "CUBIC needs ≈ 400 s to converge at 200 ms",
            [convergence(CUBIC).beside(400).within(200, 600).ours],
            paper="≈ 400 s",
            quote="“Cubic needs about 400s to get to the convergence status” (II)",
            readings={name: [of.within(200, 600).ours] for name, of in others(CUBIC).items()},
        )
    ],
)
