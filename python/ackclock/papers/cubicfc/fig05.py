"""Figure 5: congestion windows of two Cubic-FC flows.

"Compare to original Cubic which needs about 400s to achieve to the convergence state as shown in
Fig. 2, Cubic-FC flows just need less than 200s" (section IV.B), "in the same scene as the
experiment in section II", with a linear f(Δ), f_max = 0.6, Δ_i = Δ_max / 2 and σ = 0.05 (section
IV.A), which are the defaults of tcp_cubic_fc.c.
"""

from typing import NamedTuple

from ackclock import Bottleneck, Flow, Result, Scenario
from ackclock.figures import Check, Claim, Experiment, Figure, grid, plots
from ackclock.papers import _converged as converged
from ackclock.papers.cubicfc._experiments import CUBIC, CUBIC_FC, JOINING, NAMES, row, scenario
from ackclock.papers.cubicfc.fig02 import convergence, others, throughputs

_TIMES_FASTER = "convergence, CUBIC / Cubic-FC"


def _scaled(algorithm: str) -> Scenario:
    return scenario(algorithm).replace(
        duration="240s",
        profile="linux-6",
        bottleneck=Bottleneck(rate="100mbit", buffer="1bdp"),
        flows=(
            Flow(algorithm=algorithm),
            Flow(algorithm=algorithm, start="60s", start_spread="1s"),
        ),
    )


def _at_full_rate(algorithm: str) -> Scenario:
    """Until the flows have converged: CUBIC needs up to 400 s after flow 2's start."""
    joins = Flow(algorithm=algorithm, start="100s", start_spread="1s")
    return scenario(algorithm).replace(
        duration="550s",
        profile="linux-6",
        jitter="0s",
        flows=(Flow(algorithm=algorithm), joins),
    )


class Beside(NamedTuple):
    """What the simulator and Linux are compared by."""

    fair_80_s: float
    fair_95_s: float
    throughput_2_mbps: float
    utilisation: float


def beside(result: Result) -> Beside:
    """From flow 2's start on."""
    of = row(result)
    fair = (converged.fair_from_s(result, share) for share in (0.8, 0.95))
    at_80_s, at_95_s = fair
    return Beside(at_80_s, at_95_s, of.throughput_2_mbps, of.utilisation)


_FASTER = (convergence(CUBIC) / convergence(CUBIC_FC)).named(_TIMES_FASTER)
_BOTH = grid(algorithm=[CUBIC, CUBIC_FC])

FIGURE = Figure(
    plot=plots.windows(
        {"Cubic-FC": (JOINING, {"algorithm": CUBIC_FC})},
        converged={"Cubic-FC": convergence(CUBIC_FC)},
        paper=(200, "< 200 s"),
    ),
    quantities=[
        convergence(CUBIC_FC).beside("< 200 s"),
        *others(CUBIC_FC).values(),
        _FASTER.beside("≈ 2"),
        *throughputs(CUBIC_FC),
    ],
    claims=[
        Claim(
            "cubicfc.fig5.fc-200s",
            "Cubic-FC needs less than 200 s to converge at 200 ms; CUBIC needs twice that",
            [
                convergence(CUBIC_FC).beside(200).below(200),
                _FASTER.beside(2).above(1.5).ours,
            ],
            paper="< 200 s; ≈ 2",
            quote="“Compare to original Cubic which needs about 400s …, Cubic-FC flows just need "
            "less than 200s” (IV.B)",
            readings={
                name: [
                    of.below(200),
                    (others(CUBIC)[name] / of).named(_TIMES_FASTER).above(1.5).ours,
                ]
                for name, of in others(CUBIC_FC).items()
            },
        )
    ],
    kernel=Check(
        setup="Figures 2 and 5 at 100 Mb/s instead of 800. Runs of 240 s; flow 2 starts at 60 s. "
        "The TCP around the algorithms is of today.",
        experiment=Experiment("at 100 Mb/s", _BOTH, _scaled, beside, says={"algorithm": NAMES}),
        quantities={
            "convergence time (s)": "fair_80_s",
            "throughput of flow 2 (Mb/s)": "throughput_2_mbps",
            "utilisation": "utilisation",
        },
    ),
    vlinux=Check(
        setup="Figures 2 and 5 at 800 Mb/s. Runs of 550 s instead of 800, without jitter. "
        "The TCP around the algorithms is of today.",
        experiment=Experiment("550 s", _BOTH, _at_full_rate, beside, says={"algorithm": NAMES}),
        quantities={
            "convergence time (s)": "fair_95_s",
            "convergence time, 80 % (s)": "fair_80_s",
            "throughput of flow 2 (Mb/s)": "throughput_2_mbps",
            "utilisation": "utilisation",
        },
    ),
)
