"""A figure's experiment on Linux's own TCP stack, beside its simulation.

A `Figure` has a `Check` for the kernel, of what one machine can carry in real time, and one for
Linux in virtual time. Their runs are kept beside the simulated ones, as `.ackclock/SIDE/KEY`.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ackclock.base import units
from ackclock.base.errors import AckclockError
from ackclock.draw import html, plot, style
from ackclock.estimates import stats
from ackclock.estimates.stats import Estimate
from ackclock.hosts import linux, work
from ackclock.hosts.linux import Linux
from ackclock.hosts.threads import LOCAL, Executor
from ackclock.hosts.work import CACHE, run_all
from ackclock.results.result import Result
from ackclock.scenario import snapshot
from ackclock.scenario.scenario import Scenario
from ackclock.store import entries

SIMULATOR = "simulator"


@dataclass(frozen=True)
class Check:
    """What of a figure runs on Linux."""

    #: How it differs from the figure's own setup.
    setup: str
    #: Label → the scenario of a seed.
    points: Mapping[str, Callable[[int], Scenario]]
    #: A run in numbers, a row of a table: a dict, or a NamedTuple as of an `Experiment`.
    reduce: Callable[[Result], Any]
    #: What is put side by side → its estimate from the rows of a point.
    quantities: Mapping[str, Callable[[pl.DataFrame], Estimate]]

    def row(self, result: Result) -> dict[str, Any]:
        """A run in numbers. A bound (`AtLeast`) is a number like any other."""
        found = self.reduce(result)
        numbers = getattr(found, "_asdict", lambda: found)()
        return {
            name: float(value) if isinstance(value, float) else value
            for name, value in numbers.items()
        }


def mean(column: str) -> Callable[[pl.DataFrame], Estimate]:
    """The mean of a column over the runs, for `Check.quantities`."""
    return lambda rows: stats.mean_ci(rows[column].to_list())


@dataclass(frozen=True)
class Checked:
    """A check that ran: its `rows` are those of `Check.reduce`, with `point` and `side`."""

    check: Check
    rows: pl.DataFrame
    #: Label → the first run of the simulator and of Linux.
    first: Mapping[str, tuple[Result, Result]]
    #: Of each run on Linux.
    manifests: Sequence[Mapping[str, Any]]
    #: Of each row.
    scenarios: Sequence[Scenario] = ()
    #: Of `linux.KINDS`.
    side: str = "kernel"

    @property
    def sides(self) -> tuple[str, str]:
        """What the two are called."""
        return SIMULATOR, linux.KINDS[self.side].title

    @property
    def certificates(self) -> list[Mapping[str, Any]]:
        """What each run in real time says of how it kept time."""
        return [each["certificate"] for each in self.manifests if "certificate" in each]

    def estimate(self, quantity: str, point: str, side: str) -> Estimate:
        """A quantity over the runs of a side at a point."""
        return self.check.quantities[quantity](self.rows.filter(point=point, side=side))

    def table(self) -> html.Table:
        """A row per quantity and point: both sides, and whether their intervals overlap."""
        rows = []
        for quantity in self.check.quantities:
            for point in self.check.points:
                both = [self.estimate(quantity, point, side) for side in self.sides]
                values = [f"{html.number(each)}, n = {each.n}" for each in both]
                rows.append([quantity, point, *values, _overlap(*both)])
        return html.Table(["quantity", "point", *self.sides, "intervals overlap"], rows)

    @property
    def caption(self) -> str:
        """How many runs, and how well those in real time kept it."""
        left, right = self.sides
        linux = self.manifests[0]["kernel"].partition(" (")[0].partition("-")[0]
        caption = (
            f"Picture: the first run of each point, the {left} on the left, the {right} on the "
            f"right. Table: means and 95 % intervals. {_runs(len(self.manifests))} on Linux {linux}"
        )
        if late_us := [each["lateness_p99_us"] for each in self.certificates]:
            caption += f", all valid; p99 of lateness at most {max(late_us):.0f} µs"
        return f"{caption}."

    def figure(self) -> Figure:
        """Congestion windows of both sides at each point, and under them the quantities."""
        points = self.check.points
        heights = (1.6 * len(points), 0.9 + 0.45 * len(points))
        with style.applied():
            figure = Figure(figsize=(8, sum(heights)))
            halves: Any = figure.subfigures(2, 1, height_ratios=heights)
            above, below = halves
            panels = above.subplots(len(points), 2, sharex=True, sharey="row", squeeze=False)
            for point, row in zip(points, panels, strict=True):
                for axes, side, result in zip(row, self.sides, self.first[point], strict=True):
                    plot.cwnd(axes, result)
                    title = point.replace("\n", ", ")
                    axes.set_title(f"{title}: {side}", fontsize="small")
                row[0].autoscale(axis="y")  # of both
                row[0].set_ylim(0, 1.25 * row[0].get_ylim()[1])  # room for the legend
                row[0].legend(fontsize="x-small", loc="upper right", ncols=2)
                row[1].set_ylabel("")
            for axes in panels[-1]:
                axes.set_xlabel("time (s)")
            under = below.subplots(1, len(self.check.quantities), sharey=True, squeeze=False)[0]
            for axes, quantity in zip(under, self.check.quantities, strict=True):
                self._draw(axes, quantity)
            below.legend(*under[0].get_legend_handles_labels(), loc="outside lower left", ncols=2)
        return figure

    def _draw(self, axes: Axes, quantity: str) -> None:
        points = list(self.check.points)
        for number, (side, marker) in enumerate(zip(self.sides, "os", strict=True)):
            plot.error_bars(
                axes,
                [place + 0.3 * number - 0.15 for place in range(len(points))],
                [self.estimate(quantity, point, side) for point in points],
                across=True,
                color=style.FLOWS[number],
                marker=marker,
                linestyle="",
                label=side,
            )
        axes.set_yticks(range(len(points)), points, fontsize="small")
        axes.set_ylim(len(points) - 0.5, -0.5)
        axes.set_xlim(0, 1.05 * axes.get_xlim()[1])
        axes.set_title(quantity, fontsize="small")


def _runs(number: int) -> str:
    return f"{number} run{'' if number == 1 else 's'}"


def _overlap(a: Estimate, b: Estimate) -> str:
    """Whether their intervals do, or are within 0.1 % where they are narrower than that."""
    if 1 in (a.n, b.n):
        return "—"  # one run has no interval
    apart = max(a.low, b.low) - min(a.high, b.high)
    return "yes" if apart <= 0.001 * abs(b.mean) else "no"


def path_of(scenario: Scenario, on: Linux, cache: Path = CACHE) -> Path:
    """Where the run of a scenario on Linux is kept: one for each version of it.

    Raises `AckclockError` if that Linux is not built.
    """
    return cache / on.name / scenario.key(on.version)


def _runs_of(checks: Sequence[Check], seeds: int) -> list[Scenario]:
    return [
        of(seed) for check in checks for of in check.points.values() for seed in range(1, seeds + 1)
    ]


def to_run(
    checks: Sequence[Check], on: Linux, *, seeds: int, cache: Path = CACHE
) -> tuple[int, float]:
    """How many runs are not kept, and their seconds of the scenarios' time."""
    with snapshot.held():
        paths = {path_of(each, on, cache): each for each in _runs_of(checks, seeds)}
    todo = [each for path, each in paths.items() if entries.find(path, Result.load) is None]
    return len(todo), sum(units.duration_ns(each.duration) for each in todo) / 1e9


def fill(
    checks: Sequence[Check],
    on: Linux,
    *,
    seeds: int,
    cache: Path = CACHE,
    progress: Callable[[float], None] | None = None,
) -> None:
    """Runs on Linux what of the checks is not kept, as `hosts.work.fill` does.

    Raises `AckclockError` where the machine cannot, or keeps time too badly for a valid run.
    """
    work.fill(_runs_of(checks, seeds), cache=cache / on.name, executor=on, progress=progress)


def load(
    check: Check,
    on: Linux,
    *,
    cache: Path = CACHE,
    executor: Executor = LOCAL,
    progress: Callable[[float], None] | None = None,
) -> Checked | None:
    """The check with its kept runs on Linux, seeds 1 to n; None where a point has none.

    A damaged run is a missing one; a line on stderr says so.
    `progress` is called with the fraction of the simulated runs that is done.
    """
    try:
        on.version  # noqa: B018
    except AckclockError:  # not built
        return None
    first, rows, manifests, ran = {}, [], [], []
    for number, (point, of) in enumerate(check.points.items()):

        def part(fraction: float, number: int = number) -> None:
            if progress is not None:
                progress((number + fraction) / len(check.points))

        measured: list[Result] = []
        damaged: list[Path] = []
        while result := entries.find(
            path_of(of(len(measured) + 1), on, cache), Result.load, damaged
        ):
            measured.append(result)
        entries.say_damaged(damaged, f"{on.name} runs", f"`--on {on.name}` makes them anew")
        if not measured:
            return None
        scenarios = [linux.like(of(seed), on.name) for seed in range(1, on.simulated + 1)]
        simulated = run_all(
            scenarios, lambda result: result, cache=cache, executor=executor, progress=part
        )
        first[point] = (simulated[0], measured[0])
        for side, results in ((SIMULATOR, simulated), (on.title, measured)):
            rows += [{"point": point, "side": side} | check.row(each) for each in results]
            ran += [each.scenario for each in results]
        manifests += [each.manifest for each in measured]
    table = pl.DataFrame(rows, infer_schema_length=None)
    return Checked(check, table, first, manifests, ran, on.name)
