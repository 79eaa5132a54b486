"""How figures 2 and 5 depend on our assumptions.

Each variant repeats the experiment with one assumption changed:

* The jitter. Without noise a drop-tail bottleneck has phase effects (Floyd and Jacobson, "On
  Traffic Phase Effects in Packet-Switched Gateways", 1992) that no testbed has. Simulated hosts
  therefore handle each ACK after a small random delay, the jitter. The paper does not state the
  jitter of its hosts. Variants: no jitter, and ten packet times of jitter.
* The version of CUBIC. The paper names a kernel, but not a version. Variant: the CUBIC of Ha et al.
  2008, which gives up 0.2 of its window at a loss, not 0.3.
* The hosts. Variant: today's Linux (profile `linux-6`).

The table also shows how much faster Cubic-FC converges than CUBIC with the same seed. Figure 6
shows this at several RTTs.
"""

from collections.abc import Iterator
from itertools import product
from typing import Any, NamedTuple

import polars as pl
from matplotlib.figure import Figure

from ackclock import Result, Scenario, stats, style
from ackclock.claims import Claim, Measure
from ackclock.papers.cubicfc import _two_flows as two_flows

SEEDS, QUICK_SEEDS = two_flows.SEEDS, 1
#: Runs of a variant. "As assumed" shares the runs of figures 2 and 5.
VARIANT_SEEDS = 5


class Variant(NamedTuple):
    """One assumption changed."""

    label: str
    preset: str
    #: The fields to replace in the scenario. Ten packet times are 15000 bytes at 800 Mb/s.
    fields: dict[str, Any]


VARIANTS = (
    Variant("as assumed", two_flows.PRESET, {}),
    Variant("no jitter", two_flows.PRESET, {"jitter": "0s"}),
    Variant("jitter of ten packets", two_flows.PRESET, {"jitter": "150us"}),
    Variant("CUBIC of Ha et al. 2008", "ha2008", {}),
    Variant("hosts linux-6", two_flows.PRESET, {"profile": "linux-6"}),
)
PAPER = {"cubic": "≈ 400 s", "cubic_fc": "< 200 s"}


def grid(seeds: two_flows.Seeds) -> list[Scenario]:
    return [
        two_flows.scenario(f"{algorithm}@{variant.preset}", seed, **variant.fields)
        for variant, algorithm in product(VARIANTS, PAPER)
        for seed in (seeds if variant is VARIANTS[0] else seeds[:VARIANT_SEEDS])
    ]


def reduce(result: Result) -> dict[str, Any]:
    return two_flows.reduce(result)


def plot(rows: pl.DataFrame, load: two_flows.Load) -> Figure:  # noqa: ARG001
    """A mark is a run, a bar is a mean, an open mark is a run that did not converge."""
    with style.applied():
        figure = Figure(figsize=(8, 3.4))
        axes = figure.subplots()
        for y, (_, algorithm, runs) in enumerate(_points(rows)):
            look = style.of(algorithm)
            height = y // 2 + 0.2 * (2 * (y % 2) - 1)
            for converged in (True, False):
                some = runs.filter(pl.col("convergence_s").is_not_null() == converged)
                axes.plot(
                    some["convergence_s" if converged else "cut_off_s"],
                    [height] * len(some),
                    look.marker,
                    color=look.colour,
                    fillstyle="full" if converged else "none",
                    markersize=5,
                    alpha=0.7,
                    label=look.label if y < 2 and converged else None,
                )
            mean_s = two_flows.convergence(runs).mean
            axes.plot([mean_s] * 2, [height - 0.17, height + 0.17], color=look.colour, linewidth=2)
        axes.set_yticks(range(len(VARIANTS)), [variant.label for variant in VARIANTS])
        axes.invert_yaxis()
        axes.set_xlim(left=0)
        axes.set_xlabel("convergence time (s): one mark per run, bars are means")
        axes.legend(loc="lower right", bbox_to_anchor=(1, 1), ncols=2)
    return figure


def measures(rows: pl.DataFrame) -> list[Measure]:
    of_each = [
        Measure(
            f"{variant.label}: {style.of(algorithm).label}",
            "s",
            two_flows.convergence(runs),
            PAPER[algorithm],
        )
        for variant, algorithm, runs in _points(rows)
    ]
    faster = [
        Measure(f"{variant.label}: CUBIC − Cubic-FC, same seed", "s", difference, "> 0 s")
        for variant, difference in _faster_by(rows)
    ]
    return of_each + faster


def claims(rows: pl.DataFrame) -> list[Claim]:  # noqa: ARG001
    """None: figures 2, 5 and 6 judge the paper's claims, as assumed."""
    return []


def _faster_by(rows: pl.DataFrame) -> list[tuple[Variant, stats.Estimate]]:
    """The paired difference of each variant."""
    runs = {(variant.label, algorithm): some for variant, algorithm, some in _points(rows)}
    return [
        (variant, two_flows.faster_by(*(runs[variant.label, algorithm] for algorithm in PAPER)))
        for variant in VARIANTS
    ]


def _points(rows: pl.DataFrame) -> Iterator[tuple[Variant, str, pl.DataFrame]]:
    """The runs of each variant and algorithm."""
    for variant, algorithm in product(VARIANTS, PAPER):
        name = f"{algorithm}@{variant.preset}"
        like = two_flows.scenario(name, 1, **variant.fields)
        yield (
            variant,
            algorithm,
            rows.filter(algorithm=name, jitter=like.jitter, profile=like.profile),
        )
