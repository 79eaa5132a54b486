"""One scenario over a grid or a Latin hypercube of its fields, with several seeds, as one table."""

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, overload

import polars as pl

from ackclock import axes, scenario_file, snapshot, stats
from ackclock.axes import Axis, Point
from ackclock.errors import AckclockError
from ackclock.executors import LOCAL, Executor
from ackclock.kept_rows import KeptRows, Row
from ackclock.many import CACHE, check_writable
from ackclock.model import nearest, toml
from ackclock.reducers import CUT_OFF, OWN, Function, Reducers
from ackclock.scenario import Scenario, check_is_scenario
from ackclock.snapshot import key_of
from ackclock.stats import Estimate

#: What a sweep file has.
KEYS = ("scenario", "metrics", "seeds", "samples", "samples_seed", "axes")
#: Most seeds of a point.
MOST_SEEDS = 1000


def sweep(
    scenario: Scenario,
    axes: Mapping[str, Any],
    *,
    metrics: Sequence[str | Function],
    seeds: int | Sequence[int] = 1,
    samples: int | None = None,
    samples_seed: int = 1,
    cache: str | os.PathLike[str] | None = CACHE,
    executor: Executor = LOCAL,
    progress: Callable[[float], None] | None = None,
) -> pl.DataFrame:
    """Runs a scenario over a grid of its fields; returns a table with one row per run.

    `axes` has keys as in `Scenario.assign` ("rtt", "bottleneck.buffer", "flow.2.algorithm",
    "cubic:beta") and lists of values, or ranges {"from": "10ms", "to": "1s", "points": 5}, which
    "scale": "log" spaces evenly in the logarithm. With `samples` the points are that many of a
    Latin hypercube, repeated by `samples_seed`, and ranges have no "points". Each point runs with
    `seeds` (10: 1 to 10). `metrics` has names (docs/sweep.md), "FILE.py:FUNCTION",
    "MODULE:FUNCTION" and functions of a `Result` that return a number, or a dict of them.

    Columns: the axes, seed, packets, trace_hash and the metrics; units are at the end of the names.
    The rows are kept in `cache` (None: nowhere), so the same sweep resumes.
    Raises `AckclockError`, before the first run, if any of the scenarios cannot be run.
    """
    check_is_scenario(scenario)
    plan = Sweep(
        scenario,
        axes,
        metrics=Reducers.of(metrics),
        seeds=seeds,
        samples=samples,
        samples_seed=samples_seed,
    )
    with snapshot.held():
        return plan.run(plan.check(), cache=cache, executor=executor, progress=progress)


class Sweep:
    """What to run; `run` runs it. Raises `AckclockError` that names field, value and fix."""

    def __init__(
        self,
        scenario: Scenario,
        of: Mapping[str, Any],
        *,
        metrics: Reducers,
        seeds: int | Sequence[int] = 1,
        samples: int | None = None,
        samples_seed: int = 1,
        source: str = "",
    ) -> None:
        self.scenario, self.metrics = scenario, metrics
        #: What precedes its errors: the file that it is from.
        self.source = source
        self.seeds = _seeds(seeds)
        self.samples = samples
        self.axes: list[Axis] = axes.read(of, sampled=samples is not None)
        if samples is None:
            self.points = axes.grid(self.axes)
        else:
            _check_whole("samples", samples, 1, axes.MOST_POINTS)
            _check_whole("samples_seed", samples_seed, 0, 2**32)
            self.points = axes.hypercube(self.axes, samples, samples_seed)
        columns = [axis.column for axis in self.axes]
        for column in columns:
            if column in metrics.functions or column in OWN:
                raise AckclockError(f"metrics: {column} is an axis, too; rename the function")
        self.runs = Runs(scenario, self.axes, self.points, self.seeds)

    @classmethod
    def from_toml(cls, path: str | os.PathLike[str]) -> "Sweep":
        """Reads a sweep file; its scenario and functions are in files beside it.

        Raises `AckclockError`, one line that names file, field, value and fix.
        """
        path = Path(path)
        try:
            fields = scenario_file.read(path.read_bytes(), str(path))
        except OSError as error:
            raise AckclockError(f"{path}: {scenario_file.why_unreadable(path, error)}") from None
        try:
            _check_keys(fields)
            scenario = Scenario.from_toml(path.parent / fields.pop("scenario"))
            metrics = Reducers.of(fields.pop("metrics"), path.parent)
            of = fields.pop("axes")
            return cls(scenario, of, metrics=metrics, source=f"{path}: ", **fields)
        except AckclockError as error:
            raise AckclockError(f"{path}: {error}") from None

    def check(self, progress: Callable[[float], None] | None = None) -> list[str]:
        """The key of each run; raises `AckclockError` for the first that cannot be run."""
        try:
            return self._keys(progress)
        except AckclockError as error:
            raise AckclockError(f"{self.source}{error}") from None

    def _keys(self, progress: Callable[[float], None] | None) -> list[str]:
        keys = []
        for number, scenario in enumerate(self.runs):
            try:
                prepared = scenario.prepare()
                if number % len(self.seeds) == 0:
                    self.metrics.check(scenario)
            except AckclockError as error:
                raise AckclockError(f"{self.runs.place(number)}: {error}") from None
            keys.append(key_of(prepared.json, prepared.algorithms))
            if progress is not None and number % 100 == 0:
                progress(number / len(self.runs))
        return keys

    def run(
        self,
        keys: Sequence[str],
        *,
        cache: str | os.PathLike[str] | None = CACHE,
        executor: Executor = LOCAL,
        progress: Callable[[float], None] | None = None,
        on_runs: Callable[[int, int], None] | None = None,
    ) -> pl.DataFrame:
        """Runs what is not kept of the `keys` that `check` returned, and returns the table.

        `on_runs` is called with how many there are to run and how many are kept, and `progress`
        with the fraction done. Both calls stand in one `snapshot.held`.
        """
        with snapshot.held():
            first = {key: number for number, key in reversed(list(enumerate(keys)))}
            rows: dict[str, Row] = {}
            kept_rows = None
            if cache is not None:
                directory = Path(cache) / "rows" / f"sweep-{self.metrics.key()}"
                check_writable(Path(cache))
                kept_rows = KeptRows(directory)
                rows = kept_rows.read(first.keys())
            missing = [key for key in first if key not in rows]
            if on_runs is not None:
                on_runs(len(missing), len(first) - len(missing))

            def done(index: int, row: Row) -> None:
                rows[missing[index]] = row
                if kept_rows is not None:
                    kept_rows.add(missing[index], row)

            try:
                executor.run(
                    self.runs.chosen([first[key] for key in missing]), self.metrics, done, progress
                )
            finally:
                if kept_rows is not None:
                    kept_rows.flush()
        return self._table([rows[key] for key in keys])

    def _table(self, rows: Sequence[Row]) -> pl.DataFrame:
        """One row per run: the axes, the seed, what the metrics made."""
        of_axes: dict[str, list[Any]] = {
            axis.column: [axis.in_table(point[at]) for point in self.points for _ in self.seeds]
            for at, axis in enumerate(self.axes)
        }
        seeds = [seed for _ in self.points for seed in self.seeds]
        measured = pl.DataFrame(rows, infer_schema_length=None)
        unknown = pl.col(pl.Null).cast(pl.Float64)
        return pl.DataFrame(of_axes | {"seed": seeds}, strict=False).hstack(
            measured.with_columns(unknown)
        )

    def cells(self, table: pl.DataFrame) -> list[dict[str, Any]]:
        """Of each point the values of its axes, and an `Estimate` over seeds of each metric."""
        names = [axis.column for axis in self.axes]
        metrics = measured(table)
        cells = []
        for _, rows in table.group_by(names, maintain_order=True):
            cell = {name: rows[name][0] for name in names}
            cells.append(cell | {metric: estimate(rows, metric) for metric in metrics})
        return cells


def measured(table: pl.DataFrame) -> list[str]:
    """The columns of a sweep's table with numbers that have a mean."""
    after = table.columns[table.columns.index("seed") + 1 :]
    numbers = [name for name in after if table[name].dtype.is_numeric()]
    return [name for name in numbers if name not in (*OWN, *CUT_OFF.values())]


def estimate(rows: pl.DataFrame, metric: str) -> Estimate | None:
    """Mean over runs with its 95 % interval; None if no run has a value.

    A run that ended too early counts with the time that it had, and leaves the interval open.
    """
    values = rows[metric].to_list()
    if metric in CUT_OFF:
        return stats.mean_ci_censored(values, rows[CUT_OFF[metric]].to_list())
    known = [value for value in values if value is not None]
    return stats.mean_ci(known) if known else None


@dataclass(frozen=True)
class Runs(Sequence[Scenario]):
    """The scenarios of a sweep, each made when it is asked for; the seed varies fastest."""

    scenario: Scenario
    axes: Sequence[Axis]
    points: Sequence[Point]
    seeds: Sequence[int]
    #: The numbers of the runs that it has; None: all.
    numbers: Sequence[int] | None = None

    def __len__(self) -> int:
        return len(self.points) * len(self.seeds) if self.numbers is None else len(self.numbers)

    @overload
    def __getitem__(self, at: int) -> Scenario: ...
    @overload
    def __getitem__(self, at: slice) -> list[Scenario]: ...
    def __getitem__(self, at: int | slice) -> Scenario | list[Scenario]:
        if isinstance(at, slice):
            return [self[index] for index in range(*at.indices(len(self)))]
        number = range(len(self))[at] if self.numbers is None else self.numbers[at]
        point, seed = divmod(number, len(self.seeds))
        return self._at(self.points[point]).replace(seed=self.seeds[seed])

    def __iter__(self) -> Iterator[Scenario]:
        if self.numbers is not None:
            yield from (self[index] for index in range(len(self)))
            return
        for number, point in enumerate(self.points):
            try:
                scenario = self._at(point)
            except AckclockError as error:
                place = self.place(number * len(self.seeds))
                raise AckclockError(f"{place}: {error}") from None
            for seed in self.seeds:
                yield scenario.replace(seed=seed)

    def chosen(self, numbers: Sequence[int]) -> "Runs":
        """Only the runs of these numbers."""
        return Runs(self.scenario, self.axes, self.points, self.seeds, numbers)

    def place(self, number: int) -> str:
        """The point of a run, for an error."""
        point = self.points[number // len(self.seeds)]
        return "at " + ", ".join(
            f"{axis.key} = {toml(value)}" for axis, value in zip(self.axes, point, strict=True)
        )

    def _at(self, point: Point) -> Scenario:
        settings = [
            f"{axis.key}={value if ':' in axis.key else toml(value)}"
            for axis, value in zip(self.axes, point, strict=True)
        ]
        return self.scenario.assign(*settings)


def _check_keys(fields: Mapping[str, Any]) -> None:
    for field in fields:
        if field not in KEYS:
            near = nearest(field, KEYS)
            fix = f'did you mean "{near[0]}"?' if near else f"a sweep has {', '.join(KEYS)}"
            if "flow" in fields or "bottleneck" in fields:
                fix = 'this is a scenario; write its name: scenario = "FILE.toml"'
            raise AckclockError(f"{field}: unknown key; {fix}")
    if not isinstance(fields.get("scenario"), str):
        raise AckclockError('scenario: write the name of its file, scenario = "two_cubic.toml"')
    if "metrics" not in fields:
        raise AckclockError('metrics is missing; write for example metrics = ["utilisation"]')
    if "axes" not in fields:
        raise AckclockError('axes is missing; write a table [axes], with rtt = ["20ms", "80ms"]')


def _check_whole(field: str, value: Any, low: int, high: int) -> None:
    if not isinstance(value, int) or isinstance(value, bool) or not low <= value <= high:
        raise AckclockError(f"{field} = {toml(value)}: write a whole number from {low} to {high}")


def _seeds(seeds: Any) -> list[int]:
    """The seeds of each point: a number of them from 1 on, or a list."""
    if isinstance(seeds, int):
        _check_whole("seeds", seeds, 1, MOST_SEEDS)
        return list(range(1, seeds + 1))
    listed = list(seeds) if isinstance(seeds, Sequence) and not isinstance(seeds, str) else []
    if not 0 < len(listed) <= MOST_SEEDS or len(set(map(str, listed))) < len(listed):
        raise AckclockError(
            f"seeds = {toml(seeds)}: write how many (10: 1 to 10), or a list of different seeds; "
            f"at most {MOST_SEEDS}"
        )
    for seed in listed:
        _check_whole("seeds", seed, 0, 2**63)
    return listed
