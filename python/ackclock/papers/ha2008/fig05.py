"""Figure 5: one CUBIC flow and one TCP-SACK flow.

"One CUBIC flow with one TCP-SACK flow over a short-RTT network path (8ms) and a long-RTT network
path (82ms)": at 8 ms "CUBIC operates in the TCP-friendly mode" and "shares the bandwidth fair with
the other TCP-SACK flow"; at 82 ms "the CUBIC flow runs a cubic window growth function" (section
5.2). "Bandwidth is set to 400Mbps" (caption).
"""

from functools import partial
from typing import Any

import polars as pl
from matplotlib.figure import Figure

from ackclock import Result, Scenario, style
from ackclock import plot as drawing
from ackclock.claims import Claim, Every, Measure
from ackclock.crosscheck import Check, mean
from ackclock.papers.ha2008 import _testbed as testbed

SEEDS, QUICK_SEEDS = testbed.SEEDS, testbed.QUICK_SEEDS
RTTS_MS = (8, 82)


def grid(seeds: testbed.Seeds) -> list[Scenario]:
    flows = [testbed.flow(testbed.CUBIC), testbed.flow(testbed.SACK)]
    return [testbed.scenario(flows, seed, rtt_ms=rtt) for rtt in RTTS_MS for seed in seeds]


def reduce(result: Result) -> dict[str, Any]:
    cubic, sack = testbed.throughputs_mbps(result)
    return testbed.describe(result) | {
        "cubic_mbps": float(cubic),
        "sack_mbps": float(sack),
        "ratio": float(cubic / sack),
        "utilisation": testbed.utilisation(result),
    }


def plot(rows: pl.DataFrame, load: testbed.Load) -> Figure:
    seed = rows["seed"][0]
    with style.applied():
        figure = Figure(figsize=(8, 5))
        panels = figure.subplots(2, 1)
        for axes, scenario, rtt in zip(panels, grid([seed]), RTTS_MS, strict=True):
            drawing.cwnd(axes, load(scenario))
            axes.set_title(f"RTT {rtt} ms, run {seed}")
            axes.set_xlabel("time (s)")
        panels[0].legend(ncols=2, loc="upper right")
    return figure


def measures(rows: pl.DataFrame) -> list[Measure]:
    return [
        Measure(f"{name}, {rtt} ms", unit, testbed.estimate(rows, column, rtt_ms=rtt), paper)
        for rtt, paper_ratio in zip(RTTS_MS, ("fair", "> 1"), strict=True)
        for name, unit, column, paper in (
            ("CUBIC / SACK", "", "ratio", paper_ratio),
            ("throughput of CUBIC", "Mb/s", "cubic_mbps", ""),
            ("throughput of SACK", "Mb/s", "sack_mbps", ""),
            ("utilisation", "", "utilisation", ""),
        )
    ]


def claims(rows: pl.DataFrame) -> list[Claim | Every]:
    ratio = {rtt: testbed.estimate(rows, "ratio", rtt_ms=rtt) for rtt in RTTS_MS}
    utilisation = testbed.estimate(rows, "utilisation", rtt_ms=82)
    return [
        Claim(
            "ha2008.fig5a.friendly-8ms",
            "At 8 ms CUBIC and SACK get fair shares",
            ratio[8],
            "",
            low=0.7,
            high=1.4,
        ),
        Every(
            "ha2008.fig5b.scalable-82ms",
            "At 82 ms CUBIC takes more than SACK and the link is full",
            [
                Claim("CUBIC / SACK", "", ratio[82], "", low=1.5),
                Claim("utilisation", "", utilisation, "", low=0.95),
            ],
        ),
    ]


def _scaled(rtt_ms: int, seed: int) -> Scenario:
    flows = [testbed.flow(testbed.CUBIC), testbed.flow(testbed.SACK)]
    return testbed.scenario(
        flows, seed, rtt_ms=rtt_ms, rate_mbps=100, sessions=(), profile="linux-6"
    )


KERNEL = Check(
    setup="100 Mb/s instead of 400, without background traffic. "
    "The TCP around the algorithms is of today.",
    points={f"{rtt_ms} ms": partial(_scaled, rtt_ms) for rtt_ms in RTTS_MS},
    reduce=reduce,
    quantities={
        "CUBIC / SACK": mean("ratio"),
        "throughput of SACK (Mb/s)": mean("sack_mbps"),
        "utilisation": mean("utilisation"),
    },
)
