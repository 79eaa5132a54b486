"""Figure 14: two CUBIC flows at 1 Mb/s, one of them starved.

"Two Cubic TCP flows. 1Mbps link, flow 1 RTT 160ms, flow 2 RTT 16ms" (caption). "At low cwnds Cubic
TCP is observed exhibit gross unfairness ... one flow is essentially starved of bandwidth. This
effect appears to be associated with quantisation of the Cubic TCP increase function and cwnd
backoff" (section VI).
"""

from functools import partial
from typing import Any

import polars as pl
from matplotlib.figure import Figure

from ackclock import Result, Scenario
from ackclock.claims import Claim, Every, Measure
from ackclock.crosscheck import Check, mean
from ackclock.papers.leith2007 import _starved as starved
from ackclock.papers.leith2007 import _testbed as testbed

SEEDS, QUICK_SEEDS = testbed.SEEDS, testbed.QUICK_SEEDS
PAIRS = ((testbed.CUBIC,) * 2, (testbed.CUBIC_SOURCE,) * 2)


def grid(seeds: testbed.Seeds) -> list[Scenario]:
    return starved.grid(PAIRS, seeds)


def reduce(result: Result) -> dict[str, Any]:
    return starved.reduce(result)


def plot(rows: pl.DataFrame, load: testbed.Load) -> Figure:
    return starved.plot(PAIRS, rows["seed"][0], load)


def measures(rows: pl.DataFrame) -> list[Measure]:
    return starved.measures(rows, PAIRS)


def claims(rows: pl.DataFrame) -> list[Claim | Every]:
    return starved.claims(
        rows, PAIRS, "leith2007.fig14.starvation-1M", "Of two CUBIC flows at 1 Mb/s one is starved"
    )


def _today(buffer: str, seed: int) -> Scenario:
    return starved.scenario(PAIRS[0], buffer, seed).replace(profile="linux-6")


KERNEL = Check(
    setup="The figure itself, with Algorithm 1 as printed. "
    "The TCP around the algorithm is of today.",
    points={name: partial(_today, buffer) for buffer, name in starved.BUFFERS.items()},
    reduce=reduce,
    quantities={
        "share of the smaller flow": mean("smaller_share"),
        "timeouts": mean("timeouts"),
    },
)
