"""Figure 5: congestion windows of two Cubic-FC flows.

"Compare to original Cubic which needs about 400s to achieve to the convergence state as shown in
Fig. 2, Cubic-FC flows just need less than 200s" (section IV.B), "in the same scene as the
experiment in section II", with a linear f(Δ), f_max = 0.6, Δ_i = Δ_max / 2 and σ = 0.05 (section
IV.A), which are the defaults of tcp_cubic_fc.c.
"""

from typing import Any

import polars as pl
from matplotlib.figure import Figure

from ackclock import Bottleneck, Flow, Result, Scenario
from ackclock.claims import Claim, Measure
from ackclock.crosscheck import Check, mean
from ackclock.papers.cubicfc import _two_flows as two_flows

SEEDS, QUICK_SEEDS = two_flows.SEEDS, two_flows.QUICK_SEEDS


def grid(seeds: two_flows.Seeds) -> list[Scenario]:
    return [two_flows.scenario(f"cubic_fc@{two_flows.PRESET}", seed) for seed in seeds]


def reduce(result: Result) -> dict[str, Any]:
    return two_flows.reduce(result)


def plot(rows: pl.DataFrame, load: two_flows.Load) -> Figure:
    seed = rows["seed"][0]
    return two_flows.plot_cwnd(load(*grid([seed])), f"Cubic-FC, run {seed} of {len(rows)}")


def measures(rows: pl.DataFrame) -> list[Measure]:
    return two_flows.measures(rows, "< 200 s")


def claims(rows: pl.DataFrame) -> list[Claim]:
    return [
        Claim(
            "cubicfc.fig5.fc-200s",
            "Cubic-FC needs less than 200 s to converge at 200 ms",
            two_flows.convergence(rows),
            "s",
            high=200,
        )
    ]


def _scaled(algorithm: str, seed: int) -> Scenario:
    return two_flows.scenario(
        algorithm,
        seed,
        duration="240s",
        profile="linux-6",
        bottleneck=Bottleneck(rate="100mbit", buffer="1bdp"),
        flows=(
            Flow(algorithm=algorithm),
            Flow(algorithm=algorithm, start="60s", start_spread="1s"),
        ),
    )


KERNEL = Check(
    setup="Figures 2 and 5 at 100 Mb/s instead of 800. Runs of 240 s; flow 2 starts at 60 s. "
    "The TCP around the algorithms is of today.",
    points={
        "CUBIC": lambda seed: _scaled(f"cubic@{two_flows.PRESET}", seed),
        "Cubic-FC": lambda seed: _scaled(f"cubic_fc@{two_flows.PRESET}", seed),
    },
    reduce=reduce,
    quantities={
        "convergence time (s)": two_flows.convergence,
        "throughput of flow 2 (Mb/s)": mean("throughput_2_mbps"),
        "utilisation": mean("utilisation"),
    },
)
