"""Whether figures 2 and 5 hang on the hosts' jitter.

A drop-tail bottleneck without noise keeps phase effects (Floyd and Jacobson, "On Traffic Phase
Effects in Packet-Switched Gateways", 1992) that no testbed has, so the simulated hosts handle each
ACK after a small random delay. The paper states none; its testbed has whatever its hosts had.
This runs the experiment without jitter, with the default and with ten packet times of it.
"""

from itertools import product

import polars as pl
from matplotlib.figure import Figure

from ackclock import Result, Scenario, style
from ackclock.claims import Claim, Measure
from ackclock.papers.cubicfc import _two_flows as two_flows

TITLE = "Convergence of CUBIC and Cubic-FC at several host jitters"
SEEDS, QUICK_SEEDS = two_flows.SEEDS, 1

ALGORITHMS = (two_flows.CUBIC, two_flows.CUBIC_FC)
DEFAULT = Scenario.model_fields["jitter"].default
#: None, the default, ten packet times (1500 bytes at 800 Mb/s: 15 us).
JITTERS = ("0s", DEFAULT, "150us")
#: Repeats at a jitter other than the default, whose runs figures 2 and 5 share.
OTHER_SEEDS = 3


def grid(seeds: two_flows.Seeds) -> list[Scenario]:
    return [
        two_flows.scenario(algorithm, seed, jitter=jitter)
        for jitter, algorithm in product(JITTERS, ALGORITHMS)
        for seed in (seeds if jitter == DEFAULT else seeds[:OTHER_SEEDS])
    ]


def reduce(result: Result) -> dict[str, object]:
    return two_flows.reduce(result)


def plot(rows: pl.DataFrame, load: two_flows.Load) -> Figure:  # noqa: ARG001
    """One mark per run; a bar is the mean; a run that never converged is an open mark on top."""
    with style.applied():
        figure = Figure(figsize=(8, 2.8))
        axes = figure.subplots()
        for (row, jitter), (column, algorithm) in product(
            enumerate(JITTERS), enumerate(ALGORITHMS)
        ):
            runs = _runs(rows, jitter, algorithm)
            look = style.of(algorithm)
            y = row + 0.2 * (2 * column - 1)
            for run in runs.iter_rows(named=True):
                converged = run["convergence_s"] is not None
                axes.plot(
                    run["convergence_s"] if converged else run["cut_off_s"],
                    y,
                    look.marker,
                    color=look.colour,
                    fillstyle="full" if converged else "none",
                    markersize=5,
                    alpha=0.7,
                    label=look.label if row == 0 else None,
                )
            mean = two_flows.convergence(runs).mean
            axes.plot([mean, mean], [y - 0.17, y + 0.17], color=look.colour, linewidth=2)
        axes.set_yticks(range(len(JITTERS)), [f"jitter {jitter}" for jitter in JITTERS])
        axes.invert_yaxis()
        axes.set_xlim(left=0)
        axes.set_xlabel("convergence time (s): one mark per run, bars are means")
        handles = dict(zip(*reversed(axes.get_legend_handles_labels()), strict=True))
        axes.legend(
            handles.values(), handles.keys(), loc="lower right", bbox_to_anchor=(1, 1), ncols=2
        )
    return figure


def measures(rows: pl.DataFrame) -> list[Measure]:
    return [
        Measure(
            f"convergence time, {style.of(algorithm).label}, jitter {jitter}",
            "s",
            two_flows.convergence(_runs(rows, jitter, algorithm)),
            {two_flows.CUBIC: "≈ 400 s", two_flows.CUBIC_FC: "< 200 s"}[algorithm],
        )
        for jitter, algorithm in product(JITTERS, ALGORITHMS)
    ]


def claims(rows: pl.DataFrame) -> list[Claim]:  # noqa: ARG001
    return []


def _runs(rows: pl.DataFrame, jitter: str, algorithm: str) -> pl.DataFrame:
    return rows.filter(pl.col("jitter") == jitter, pl.col("algorithm") == algorithm)
