"""Figure 2: congestion windows of two CUBIC flows.

"Cubic needs about 400s to get to the convergence status" (section II). "Bandwidth of bottleneck
link is 800Mbps, RTT is 200ms, and queue size is 100% BDP, no web traffic. Flow 1 starts at 0(s) and
ends at 800(s), flow 2 start at 100+x(s) (0<x<1) and ends at 800(s)" (caption).

"The convergence status" is measured as the time from flow 2's start from which on both flows have
95 % of their fair share in every window of 10 s: the curves of the figure meet.
"""

from ackclock.figures import Claim, Column, Figure, Quantity, plots, within
from ackclock.papers.cubicfc._experiments import CUBIC, JOINING


def convergence(algorithm: str) -> Quantity:
    """The time from which on the curves meet."""
    return Column(JOINING, "convergence_s", "convergence time, 95 % of the fair share", "s").at(
        algorithm=algorithm
    )


def others(algorithm: str) -> dict[str, Quantity]:
    """The same by other measures."""
    names = {
        "90 % of the fair share": "convergence_90_s",
        "80 % of the fair share": "convergence_80_s",
        "first window with 95 %": "first_95_s",
        "first window with 80 %": "first_80_s",
    }
    return {
        name: Column(JOINING, column, f"convergence time, {name}", "s").at(algorithm=algorithm)
        for name, column in names.items()
    }


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
            [within(convergence(CUBIC), 250, 600)],
            readings={name: [within(of, 250, 600)] for name, of in others(CUBIC).items()},
        )
    ],
)
