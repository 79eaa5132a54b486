"""How figure 3 depends on the unit of RTT and on the buffer, which the paper does not state.

"K = (W_max β / C)^⅓ / RTT^½" (equation 4) needs a unit of RTT: half the unit makes every K 0.7
times as long. The unit is the parameter `reference_rtt_ms`, the RTT at which K is CUBIC's. Here it
goes from 1 ms to 1 s, and the claims of figure 3 are evaluated at each value. They are also
evaluated with the default unit and other buffers.
"""

from collections.abc import Iterator, Sequence
from itertools import product
from typing import Any, NamedTuple

import polars as pl
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ackclock import Result, Scenario, stats, style
from ackclock.claims import Claim, Measure
from ackclock.papers.squareff import _two_paths as two_paths
from ackclock.papers.squareff import fig03
from ackclock.plot import estimates

SEEDS, QUICK_SEEDS = 5, 1

#: None is the default, which shares the runs of figures 2 and 3.
REFERENCES_MS = (1, 4, None, 16, 128, 1000)
DEFAULT_MS = 8
BUFFERS = ("100packets", "5000packets")
#: The RTTs in figure 3's claims.
RTTS_MS = (4, 8, 32, 64, 128)


class Reading(NamedTuple):
    """A choice where the paper leaves something open."""

    label: str
    cbrt: str
    square: str
    buffer: str = two_paths.BUFFER


def readings() -> Iterator[Reading]:
    """Every reference RTT, then every other buffer."""
    for reference_ms in REFERENCES_MS:
        with_it = f":reference_rtt_ms={reference_ms}" if reference_ms else ""
        cbrt, square = (each.algorithm + with_it for each in (two_paths.CBRT, two_paths.SQUARE))
        yield Reading(f"reference {reference_ms or DEFAULT_MS} ms", cbrt, square)
    for buffer in BUFFERS:
        label = buffer.replace("packets", " packets")
        yield Reading(
            f"buffer {label}", two_paths.CBRT.algorithm, two_paths.SQUARE.algorithm, buffer
        )


def grid(seeds: Sequence[int]) -> list[Scenario]:
    points = {
        (algorithm, reading.buffer): None
        for reading in readings()
        for algorithm in (two_paths.CUBIC.algorithm, reading.cbrt, reading.square)
    }
    return [
        two_paths.scenario(algorithm, rtt_ms, seed, buffer)
        for (algorithm, buffer), rtt_ms, seed in product(points, RTTS_MS, seeds)
    ]


def quick_grid(seeds: Sequence[int]) -> list[Scenario]:
    return two_paths.shortened(grid(seeds))


def reduce(result: Result) -> dict[str, Any]:
    return two_paths.reduce(result)


def plot(rows: pl.DataFrame, load: two_paths.Load) -> Figure:  # noqa: ARG001
    """Figure 3's claims over the reference RTT; bands are 95 % intervals."""
    with style.applied():
        figure = Figure(figsize=(8, 3.4))
        left, right = figure.subplots(1, 2)
        _over_reference(left, rows, 128, "jain")
        left.set_ylabel("Jain's fairness index, 2 v 128 ms")
        left.legend(loc="lower left")
        _over_reference(right, rows, 8, "ratio")
        right.set_yscale("log", base=2)
        right.set_ylabel("throughput of flow 1 / flow 2, 2 v 8 ms")
        right.axhline(1, color=style.INK, linewidth=0.6)
    return figure


def measures(rows: pl.DataFrame) -> list[Measure]:
    return [
        Measure(f"{reading.label}: {claim.says}", claim.unit, claim.estimate, claim.bound)
        for reading in readings()
        for claim in fig03.of_feedback(rows, reading.cbrt, reading.square, buffer=reading.buffer)
    ]


def claims(rows: pl.DataFrame) -> list[Claim]:  # noqa: ARG001
    """None: figure 3 judges the paper's claims, as assumed."""
    return []


def _over_reference(axes: Axes, rows: pl.DataFrame, rtt_ms: int, name: str) -> None:
    references = [reference_ms or DEFAULT_MS for reference_ms in REFERENCES_MS]
    swept = list(readings())[: len(references)]
    for method, algorithms in (
        (two_paths.CUBIC, [two_paths.CUBIC.algorithm] * len(swept)),
        (two_paths.CBRT, [reading.cbrt for reading in swept]),
        (two_paths.SQUARE, [reading.square for reading in swept]),
    ):
        points = [
            stats.mean_ci(two_paths.values(rows, algorithm, rtt_ms, name))
            for algorithm in algorithms
        ]
        marker = "" if method is two_paths.CUBIC else method.marker
        estimates(axes, references, points, color=method.colour, marker=marker, label=method.label)
    axes.set_xscale("log")
    axes.set_xticks(references, [str(each) for each in references])
    axes.minorticks_off()
    axes.set_xlabel("reference RTT (ms)")
