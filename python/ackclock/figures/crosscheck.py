"""An experiment of a figure on Linux's own TCP stack, beside its simulation.

A `Figure` has a `Check` for the kernel, of what one machine can carry in real time, and one for
Linux in virtual time. Their runs are kept beside the simulated ones, as `.ackclock/SIDE/KEY`.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import count
from typing import TYPE_CHECKING, Any

import polars as pl
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ackclock.base import units
from ackclock.base.errors import AckclockError
from ackclock.draw import html, plot, style
from ackclock.estimates.stats import Estimate
from ackclock.figures import figure_rows
from ackclock.figures.batches import Batch
from ackclock.figures.experiment import Point, Runs, as_row
from ackclock.figures.figure import Check
from ackclock.figures.quantity import Column
from ackclock.hosts import linux
from ackclock.hosts.linux import Linux
from ackclock.hosts.work import WORK, Work, quiet, whole
from ackclock.results.result import Result
from ackclock.scenario import snapshot
from ackclock.scenario.scenario import Scenario
from ackclock.store import entries

if TYPE_CHECKING:
    from pathlib import Path

SIMULATOR = "simulator"


@dataclass(frozen=True, eq=False)
class Checked:
    """A check that ran."""

    check: Check
    on: Linux
    #: In the simulator and on Linux.
    batches: tuple[Batch, Batch]
    runs: tuple[Runs, Runs]
    #: Of each point the first run of either.
    first: Sequence[tuple[Result, Result]]
    #: Of each run on Linux.
    manifests: Sequence[Mapping[str, Any]]

    @property
    def sides(self) -> tuple[str, str]:
        """What the two are called."""
        return SIMULATOR, self.on.title

    @property
    def certificates(self) -> list[Mapping[str, Any]]:
        """What each run in real time says of how it kept time."""
        return [each["certificate"] for each in self.manifests if "certificate" in each]

    @property
    def rows(self) -> pl.DataFrame:
        """Those of both, with the `side` of each."""
        named = zip(self.sides, self.runs, strict=True)
        tables = [runs.table.select(pl.lit(side).alias("side"), "*") for side, runs in named]
        return pl.concat(tables, how="diagonal_relaxed")

    def estimates(self, column: Column, point: Point) -> tuple[Estimate, Estimate]:
        """A quantity over the runs of either side at a point."""
        simulated, measured = (
            column.at(**point).estimate({self.check.experiment: runs}) for runs in self.runs
        )
        assert simulated is not None
        assert measured is not None
        return simulated, measured

    def table(self) -> html.Table:
        """A row per quantity and point: both sides, and whether their intervals overlap."""
        rows = []
        for column in self.check.columns:
            for point in self.check.experiment.points:
                both = self.estimates(column, point)
                values = [f"{html.number(each)}, n = {each.n}" for each in both]
                rows.append([column.name, self.check.say(point), *values, _overlap(*both)])
        return html.Table(["quantity", "point", *self.sides, "intervals overlap"], rows)

    @property
    def caption(self) -> str:
        """How many runs, and how well those in real time kept it."""
        left, right = self.sides
        linux = self.manifests[0]["kernel"].partition(" (")[0].partition("-")[0]
        runs = units.counted(len(self.manifests), "run")
        caption = (
            f"Picture: the first run of each point, the {left} on the left, the {right} on the "
            f"right. Table: means and 95 % intervals. {runs} on Linux {linux}"
        )
        if late_us := [each["lateness_p99_us"] for each in self.certificates]:
            caption += f", all valid; p99 of lateness at most {max(late_us):.0f} µs"
        return f"{caption}."

    def figure(self) -> Figure:
        """Congestion windows of both sides at each point, and under them the quantities."""
        points = self.check.experiment.points
        heights = (1.6 * len(points), 0.9 + 0.45 * len(points))
        with style.applied():
            figure = Figure(figsize=(8, sum(heights)))
            halves: Any = figure.subfigures(2, 1, height_ratios=heights)
            above, below = halves
            panels = above.subplots(len(points), 2, sharex=True, sharey="row", squeeze=False)
            for point, row, first in zip(points, panels, self.first, strict=True):
                for axes, side, result in zip(row, self.sides, first, strict=True):
                    plot.cwnd(axes, result)
                    axes.set_title(f"{self.check.say(point)}: {side}", fontsize="small")
                row[0].autoscale(axis="y")  # of both
                row[0].set_ylim(0, 1.25 * row[0].get_ylim()[1])  # room for the legend
                row[0].legend(fontsize="x-small", loc="upper right", ncols=2)
                row[1].set_ylabel("")
            for axes in panels[-1]:
                axes.set_xlabel("time (s)")
            columns = self.check.columns
            under = below.subplots(1, len(columns), sharey=True, squeeze=False)[0]
            for axes, column in zip(under, columns, strict=True):
                self._draw(axes, column)
            below.legend(*under[0].get_legend_handles_labels(), loc="outside lower left", ncols=2)
        return figure

    def _draw(self, axes: Axes, column: Column) -> None:
        points = self.check.experiment.points
        estimates = zip(*(self.estimates(column, point) for point in points), strict=True)
        for number, (side, of, marker) in enumerate(zip(self.sides, estimates, "os", strict=True)):
            plot.error_bars(
                axes,
                [place + 0.3 * number - 0.15 for place in range(len(points))],
                of,
                across=True,
                color=style.FLOWS[number],
                marker=marker,
                linestyle="",
                label=side,
            )
        labels = [self.check.say(point, "\n") for point in points]
        axes.set_yticks(range(len(points)), labels, fontsize="small")
        axes.set_ylim(len(points) - 0.5, -0.5)
        axes.set_xlim(0, 1.05 * axes.get_xlim()[1])
        axes.set_title(column.name, fontsize="small")


def _overlap(a: Estimate, b: Estimate) -> str:
    """Whether their intervals do, or are within 0.1 % where they are narrower than that."""
    if 1 in (a.n, b.n):
        return "—"  # one run has no interval
    apart = max(a.low, b.low) - min(a.high, b.high)
    return "yes" if apart <= 0.001 * abs(b.mean) else "no"


def fill(
    checks: Sequence[Check],
    on: Linux,
    *,
    seeds: int,
    work: Work = WORK,
    on_missing: Callable[[Sequence[Scenario]], None] | None = None,
) -> None:
    """Runs on Linux what of the checks is not kept, as `Work.fill` does.

    Raises `AckclockError` where the machine cannot, or keeps time too badly for a valid run.
    """
    runs = [scenario for check in checks for _, _, scenario in check.repeats(seeds)]
    replace(work, cache=work.cache / on.name, executor=on).fill(runs, on_missing)


def load(check: Check, on: Linux, work: Work = WORK) -> Checked | None:
    """The check with its kept runs on Linux, seeds 1 to n; None where a point has none.

    A damaged run is a missing one; a line on stderr says so. `work` is of the simulated runs.
    """
    experiment, place = check.experiment, work.cache / on.name
    repeats, numbers, manifests, first = [], [], [], []
    damaged: list[Path] = []
    with snapshot.held():
        try:
            version = on.version
        except AckclockError:  # not built
            return None
        for point in experiment.points:
            for seed in count(1):
                scenario = experiment.run(point, seed)
                result = entries.find(place / scenario.key(version), Result.load, damaged)
                if result is None:
                    break
                if seed == 1:
                    first.append(result)
                repeats.append((point, seed, scenario))
                numbers.append(as_row(experiment.row, result))
                manifests.append(result.manifest)
        entries.say_damaged(damaged, f"{on.name} runs", f"`--on {on.name}` makes them anew")
        if len(first) < len(experiment.points):
            return None
        measured = Batch(experiment, None, repeats, version)
        beside = [
            (point, seed, linux.like(scenario, on.name))
            for point, seed, scenario in check.repeats(on.simulated)
        ]
        simulated = Batch(experiment, None, beside, work.executor.version)
        (rows,) = figure_rows.rows_of([simulated], work).values()
        ones = [scenario for _, seed, scenario in beside if seed == 1]
        drawn = replace(work, progress=quiet).reduced(ones, whole)
    return Checked(
        check,
        on,
        (simulated, measured),
        (rows, Runs(experiment, figure_rows.table_of(measured, numbers))),
        list(zip(drawn, first, strict=True)),
        manifests,
    )
