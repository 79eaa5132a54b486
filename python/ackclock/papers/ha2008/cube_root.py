"""Table 1: what CUBIC's cube root costs.

"The cubic root calculation in CUBIC, originally implemented in the bisection method, is now
replaced by a Newton-Raphson method with table lookups for small values. This results in more than
10 times performance improvement in the cubic root calculation. On average, the bisection method
costs 1032 clocks while the improved version costs only 79 clocks" (table 1, 2.6.21).

Not simulated: `make bench` runs both on this machine's processor. The figure shows kept
measurements (cube_root.json, written by `make docs`), so that the figure is the same on every
machine.
"""

import json
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from matplotlib.figure import Figure

from ackclock import Result, Scenario, stats, style
from ackclock.claims import Claim, Measure
from ackclock.papers.ha2008 import _testbed as testbed

SEEDS, QUICK_SEEDS = 1, 1
MEASURED = json.loads(Path(__file__).with_suffix(".json").read_text(encoding="utf-8"))
#: The paper's clocks of bisection over those of the table and Newton-Raphson.
PAPER_RATIO = 1032 / 79


def grid(seeds: testbed.Seeds) -> list[Scenario]:  # noqa: ARG001
    """Nothing to simulate."""
    return []


def reduce(result: Result) -> dict[str, Any]:  # noqa: ARG001
    return {}


def _ns(method: str) -> list[float]:
    return [run[f"{method}_ns"] for run in MEASURED["runs"]]


def _ratio() -> stats.Estimate:
    return stats.mean_ci([a / b for a, b in zip(_ns("bisection"), _ns("newton"), strict=True)])


def plot(rows: pl.DataFrame, load: testbed.Load) -> Figure:  # noqa: ARG001
    with style.applied():
        figure = Figure(figsize=(6, 1.8))
        axes = figure.subplots()
        means = [float(np.mean(_ns(method))) for method in ("bisection", "newton")]
        axes.barh([0, 1], means, color=style.of("cubic").colour, height=0.6)
        axes.set_yticks([0, 1], ["bisection", "table and Newton–Raphson"])
        axes.invert_yaxis()
        axes.set_xlabel(f"ns per root ({MEASURED['processor']})")
    return figure


def measures(rows: pl.DataFrame) -> list[Measure]:  # noqa: ARG001
    return [
        Measure("bisection", "ns", stats.mean_ci(_ns("bisection")), "1032 clocks"),
        Measure("table and Newton–Raphson", "ns", stats.mean_ci(_ns("newton")), "79 clocks"),
        Measure("ratio", "", _ratio(), f"{PAPER_RATIO:.1f}"),
    ]


def claims(rows: pl.DataFrame) -> list[Claim]:  # noqa: ARG001
    return [
        Claim(
            "ha2008.table1.cube-root",
            "A cube root by table and Newton–Raphson is more than 10 × faster than by bisection",
            _ratio(),
            "",
            low=10,
        )
    ]
