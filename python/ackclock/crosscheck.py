"""A figure's experiment on this machine's own TCP stack, beside its simulation.

A figure that one machine can carry in real time, as it is or smaller, has a module-level `KERNEL`,
a `Check`. Its kernel runs are kept beside the simulated ones, as `.ackclock/kernel/KEY`.
"""

import platform
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ackclock import kept, plot, report, snapshot, stats, style, testbed, units
from ackclock.compare import like_linux
from ackclock.executors import LOCAL, Executor
from ackclock.kernel_part import is_built
from ackclock.many import CACHE, run_all, whole
from ackclock.output import collect
from ackclock.runs import Result
from ackclock.scenario import Scenario
from ackclock.stats import Estimate

#: Kernel runs of each point, unless told otherwise.
SEEDS = 5
#: Simulated runs of each point: they cost little, so that only the kernel's mean is uncertain.
SIMULATED = 20
#: The two sides, and the marker of each.
SIDES = {"simulator": "o", "kernel": "s"}


@dataclass(frozen=True)
class Check:
    """What of a figure runs on the kernel."""

    #: How it differs from the figure's own setup.
    setup: str
    #: Label → the scenario of a seed.
    points: Mapping[str, Callable[[int], Scenario]]
    #: A run in numbers, a row of a table.
    reduce: Callable[[Result], dict[str, Any]]
    #: What is put side by side → its estimate from the rows of a point.
    quantities: Mapping[str, Callable[[pl.DataFrame], Estimate]]


def mean(column: str) -> Callable[[pl.DataFrame], Estimate]:
    """The mean of a column over the runs, for `Check.quantities`."""
    return lambda rows: stats.mean_ci(rows[column].to_list())


@dataclass(frozen=True)
class Checked:
    """A check that ran: its `rows` are those of `Check.reduce`, with `point` and `side`."""

    check: Check
    rows: pl.DataFrame
    #: Label → the first run of the simulator and of the kernel.
    first: Mapping[str, tuple[Result, Result]]
    #: What each kernel run says of how it kept time.
    certificates: Sequence[Mapping[str, Any]]

    def estimate(self, quantity: str, point: str, side: str) -> Estimate:
        """A quantity over the runs of a side at a point."""
        return self.check.quantities[quantity](self.rows.filter(point=point, side=side))

    def table(self) -> report.Table:
        """A row per quantity and point: both sides, and whether their intervals overlap."""
        rows = []
        for quantity in self.check.quantities:
            for point in self.check.points:
                both = [self.estimate(quantity, point, side) for side in SIDES]
                values = [f"{report.number(each)}, n = {each.n}" for each in both]
                rows.append([quantity, point, *values, _overlap(*both)])
        return report.Table(["quantity", "point", *SIDES, "intervals overlap"], rows)

    @property
    def caption(self) -> str:
        """How many runs, and how well the kernel's kept time."""
        late_us = max(each["lateness_p99_us"] for each in self.certificates)
        return (
            "Picture: the first run of each point, the simulator on the left, the kernel on the "
            "right. Table: means and 95 % intervals. "
            f"{len(self.certificates)} valid runs on Linux {platform.release().split('-')[0]}; "
            f"p99 of lateness at most {late_us:.0f} µs."
        )

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
                for axes, side, result in zip(row, SIDES, self.first[point], strict=True):
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
        for number, (side, marker) in enumerate(SIDES.items()):
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


def _overlap(a: Estimate, b: Estimate) -> str:
    """Whether their intervals do, or are within 0.1 % where they are narrower than that."""
    if 1 in (a.n, b.n):
        return "—"  # one run has no interval
    apart = max(a.low, b.low) - min(a.high, b.high)
    return "yes" if apart <= 0.001 * abs(b.mean) else "no"


def path_of(scenario: Scenario, cache: Path = CACHE) -> Path:
    """Where the kernel run of a scenario is kept: one for each testbed and kernel."""
    return cache / "kernel" / scenario.key(testbed.version())


def _keep(result: Result, cache: Path) -> None:
    """Keeps a kernel run under the key of the code that ran."""
    resolved = result.scenario.resolve()
    key = snapshot.key_of(resolved, result.manifest["algorithms"], testbed.version())
    kept.keep(cache / "kernel" / key, result.write, Result.load)


def _missing(
    checks: Sequence[Check], seeds: int, cache: Path, damaged: list[Path] | None = None
) -> dict[Path, Scenario]:
    """Where each kernel run that is not kept will be → its scenario; as `kept.find`."""
    scenarios = [
        of(seed) for check in checks for of in check.points.values() for seed in range(1, seeds + 1)
    ]
    with snapshot.held():
        paths = {path_of(each, cache): each for each in scenarios}
    return {
        path: each for path, each in paths.items() if kept.find(path, Result.load, damaged) is None
    }


def to_run(checks: Sequence[Check], *, seeds: int, cache: Path = CACHE) -> tuple[int, float]:
    """How many kernel runs are not kept, and their seconds in real time."""
    todo = _missing(checks, seeds, cache)
    return len(todo), sum(_duration_s(each) for each in todo.values())


def fill(
    checks: Sequence[Check],
    *,
    seeds: int = SEEDS,
    cache: Path = CACHE,
    jobs: int = 1,
    progress: Callable[[float], None] | None = None,
    on_invalid: Callable[[Result], None] | None = None,
) -> None:
    """Runs on the kernel, in real time and `jobs` at a time, what of the checks is not kept.

    Each run is kept as it ends. `progress` is called with the fraction that is done.
    Raises `AckclockError` where the machine cannot, or keeps time too badly for a valid run.
    """
    collect(cache / "kernel")
    damaged: list[Path] = []
    todo = _missing(checks, seeds, cache, damaged)
    kept.say_damaged(damaged, "kernel runs")
    testbed.Testbed(jobs, on_invalid).run(
        list(todo.values()), whole, lambda _, result: _keep(result, cache), progress
    )


def load(
    check: Check,
    *,
    cache: Path = CACHE,
    executor: Executor = LOCAL,
    progress: Callable[[float], None] | None = None,
) -> Checked | None:
    """The check with its kept kernel runs, seeds 1 to n; None where a point has none.

    A damaged run is a missing one; a line on stderr says so.
    `progress` is called with the fraction of the simulated runs that is done.
    """
    if not is_built():
        return None
    first, rows, certificates = {}, [], []
    for number, (point, of) in enumerate(check.points.items()):

        def part(fraction: float, number: int = number) -> None:
            if progress is not None:
                progress((number + fraction) / len(check.points))

        measured: list[Result] = []
        damaged: list[Path] = []
        while result := kept.find(path_of(of(len(measured) + 1), cache), Result.load, damaged):
            measured.append(result)
        kept.say_damaged(damaged, "kernel runs", "`--on kernel` makes them anew")
        if not measured:
            return None
        scenarios = [like_linux(of(seed)) for seed in range(1, SIMULATED + 1)]
        simulated = run_all(
            scenarios, lambda result: result, cache=cache, executor=executor, progress=part
        )
        first[point] = (simulated[0], measured[0])
        for side, results in zip(SIDES, (simulated, measured), strict=True):
            rows += [{"point": point, "side": side} | check.reduce(each) for each in results]
        certificates += [each.manifest["certificate"] for each in measured]
    return Checked(check, pl.DataFrame(rows, infer_schema_length=None), first, certificates)


def _duration_s(scenario: Scenario) -> float:
    return units.duration_ns(scenario.duration) / 1e9
