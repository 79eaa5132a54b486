"""One scenario over a grid or a Latin hypercube of its fields, with several seeds, as one table."""

import math
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import pairwise
from pathlib import Path
from typing import Any, overload

import polars as pl

from ackclock.base.errors import AckclockError
from ackclock.estimates import sequential, stats
from ackclock.estimates.repeats import AtLeast, Repeats
from ackclock.estimates.stats import Estimate
from ackclock.hosts.linux import Linux
from ackclock.hosts.threads import LOCAL, Executor
from ackclock.hosts.work import CACHE, WORK, Rows, Work, check_writable, quiet
from ackclock.scenario import snapshot, toml_file
from ackclock.scenario.scenario import Scenario, check_is_scenario
from ackclock.scenario.snapshot import PREPARED
from ackclock.scenario.table import nearest, toml
from ackclock.store.rows import KeptRows, Row
from ackclock.sweeps import axes
from ackclock.sweeps.axes import Axis
from ackclock.sweeps.metrics import CUT_OFF, OWN, Function, Reducers

#: What a sweep file has.
KEYS = ("scenario", "metrics", "seeds", "samples", "samples_seed", "decide", "axes")
#: What its `decide` has.
_DECIDE = ("metric", "above", "below")
#: Column with the number of the point, while the table grows.
_POINT = "point"
#: Most seeds of a point, and most runs of a sweep: each takes some 2 kB of memory.
MOST_SEEDS, MOST_RUNS = 1000, 3_000_000


def sweep(
    scenario: Scenario,
    axes: Mapping[str, Any],
    *,
    metrics: Sequence[str | Function],
    seeds: int | Sequence[int] = 1,
    samples: int | None = None,
    samples_seed: int = 1,
    decide: Mapping[str, Any] | None = None,
    most: int | None = None,
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

    With `decide`, {"metric": "jain_index", "above": 0.9} or "below", each point has a verdict; and
    with `most` it gets more seeds, at most that many, until the verdict is not "open" any
    more (`sequential`).

    Columns: the axes, seed, packets, trace_hash, the metrics and the verdict; names end in units.
    The rows are kept in `cache` (None: nowhere), so the same sweep resumes.
    Raises `AckclockError`, before the first run, if any of the scenarios cannot be run.
    """
    check_is_scenario(scenario)
    plan = Sweep(
        scenario,
        axes,
        metrics=Reducers.parse(metrics),
        seeds=seeds,
        samples=samples,
        samples_seed=samples_seed,
        decide=decide,
        most=most,
    )
    with snapshot.held():
        work = Work(Path(CACHE if cache is None else cache), executor)
        runs = plan.check(work)
        return plan.run(runs, replace(work, progress=progress or quiet), keep=cache is not None)


class Sweep:
    """What to run. `check` comes first, then `run`, both in one `snapshot.held`.

    Raises `AckclockError` that names field, value and fix.
    """

    def __init__(
        self,
        scenario: Scenario,
        of: Mapping[str, Any],
        *,
        metrics: Reducers,
        seeds: int | Sequence[int] = 1,
        samples: int | None = None,
        samples_seed: int = 1,
        decide: Mapping[str, Any] | None = None,
        most: int | None = None,
        source: str = "",
    ) -> None:
        self.scenario, self.metrics = scenario, metrics
        #: What precedes its errors: the file that it is from.
        self.source = source
        self.samples = samples
        self.axes: list[Axis] = axes.read(of, sampled=samples is not None)
        if samples is None:
            points = axes.grid_size(self.axes)
        else:
            _check_whole("samples", samples, 1, axes.MOST_POINTS)
            _check_whole("samples_seed", samples_seed, 0, 2**32)
            points = samples
        for column in (axis.column for axis in self.axes):
            if column in metrics.functions or column in OWN:
                raise AckclockError(f"metrics: {column} is an axis, too; rename the function")
        self.decision = None if decide is None else Decision.parse(decide, seeds, most)
        named = all(isinstance(each, str) for each in metrics.functions.values())
        if self.decision and named:  # a function may make columns of other names
            self.decision.check(list(metrics.functions))
        if most is not None and self.decision is None:
            raise AckclockError(
                'decide is missing; write for example decide = {metric = "jain_index", above = 0.9}'
            )
        first = self.decision.looks[0] if self.decision and most is not None else seeds
        self.seeds = _seeds(first)
        _check_runs(points, len(self.seeds), most)
        self.points = (
            axes.grid(self.axes)
            if samples is None
            else axes.hypercube(self.axes, samples, samples_seed)
        )
        at = lru_cache(1)(self._at)
        # The first seed is in each point; one that was resolved for its key runs as it is.
        self.scenario = scenario.replace(seed=self.seeds[0])
        self._scenario_of = lru_cache(PREPARED)(lambda pair: with_seed(at(pair[0]), pair[1]))

    @classmethod
    def from_toml(cls, path: str | os.PathLike[str], *, most: int | None = None) -> "Sweep":
        """Reads a sweep file; its scenario and functions are in files beside it.

        With `most` seeds are added to each point until it is decided. Raises `AckclockError`, one
        line that names file, field, value and fix.
        """
        path = Path(path)
        fields = toml_file.read(toml_file.content(path, "a sweep file"), str(path))
        try:
            _check_keys(fields)
            scenario = Scenario.from_toml(path.parent / fields.pop("scenario"))
            metrics = Reducers.parse(fields.pop("metrics"), path.parent)
            of = fields.pop("axes")
            return cls(scenario, of, metrics=metrics, most=most, source=f"{path}: ", **fields)
        except AckclockError as error:
            raise AckclockError(f"{path}: {error}") from None

    def check(self, work: Work = WORK) -> "Runs":
        """The runs to begin with, of a shard; raises `AckclockError` for one that cannot run."""
        every = [(point, seed) for point in range(len(self.points)) for seed in self.seeds]
        pairs = work.shard.part(every)
        try:
            return self._check(pairs, work)
        except AckclockError as error:
            raise AckclockError(f"{self.source}{error}") from None

    def _check(self, pairs: Sequence[tuple[int, int]], work: Work) -> "Runs":
        runs = Runs(pairs, self._scenario_of)
        linux = work.executor if isinstance(work.executor, Linux) else None
        checked = -1
        for number, (point, _) in enumerate(pairs):
            try:
                scenario = runs[number]
                if linux:
                    linux.check(scenario)
                key = scenario.key(linux.version if linux else None)
                if point != checked:
                    self.metrics.check(scenario)
            except AckclockError as error:
                raise AckclockError(f"{self._place(point)}: {error}") from None
            checked = point
            runs.keys.append(key)
            if number % 100 == 0:
                work.progress(number / len(pairs))
        return runs

    def _at(self, point: int) -> Scenario:
        settings = [
            f"{axis.key}={value if ':' in axis.key else toml(value)}"
            for axis, value in zip(self.axes, self.points[point], strict=True)
        ]
        return self.scenario.assign(*settings)

    def _place(self, point: int) -> str:
        """A point, for an error."""
        return "at " + ", ".join(
            f"{axis.key} = {toml(value)}"
            for axis, value in zip(self.axes, self.points[point], strict=True)
        )

    def run(self, runs: "Runs", work: Work = WORK, *, keep: bool = True) -> pl.DataFrame:
        """Runs what is not kept of the `runs` that `check` returned, and returns the table.

        Adds seeds to the points that are not decided, if the sweep has `most`. Who is told of
        `work` hears of it at first, and for each addition of seeds.
        """
        with snapshot.held():
            pairs: list[tuple[int, int]] = []
            rows: list[Row] = []
            fill = self._filler(work, keep)

            def table_with(runs: Runs) -> pl.DataFrame:
                pairs.extend(runs.pairs)
                by_key = fill(runs)
                rows.extend(by_key[key] for key in runs.keys)
                return self._table(pairs, rows)

            table = table_with(runs)
            if self.decision is None:
                return table.drop(_POINT)
            self.decision.check(measured(table))
            verdicts = self._verdicts(table)
            for last, seeds in pairwise(self.decision.looks):
                more = [
                    (point, seed)
                    for point in sorted(verdicts)
                    if verdicts[point] == "open"
                    for seed in range(last + 1, seeds + 1)
                ]
                if not more:
                    break
                table = table_with(self._check(more, replace(work, progress=quiet)))
                verdicts = self._verdicts(table)
            named = pl.col(_POINT).replace_strict(verdicts, return_dtype=pl.String)
            ordered = table.sort(_POINT, maintain_order=True)
            return ordered.with_columns(named.alias("verdict")).drop(_POINT)

    def fill(self, runs: "Runs", work: Work) -> None:
        """Runs what is not kept of the runs of a shard, and keeps their rows for `run`."""
        with snapshot.held():
            self._filler(work, keep=True)(runs)

    def _filler(self, work: Work, keep: bool) -> Callable[["Runs"], dict[str, Row]]:
        """Makes the rows of runs, by their keys."""
        store = None
        if keep:
            check_writable(work.cache)
            store = KeptRows(work.cache / "rows" / f"sweep-{self.metrics.key()}")
        columns = _Columns(self.axes, self.metrics)

        def fill(runs: Runs) -> dict[str, Row]:
            first = {key: number for number, key in reversed(list(enumerate(runs.keys)))}
            wanted = Rows(self.metrics, runs.keys, store, columns.check)
            work.fill_rows([wanted], lambda keys: runs.chosen([first[key] for key in keys]))
            return wanted.found

        return fill

    def _verdicts(self, table: pl.DataFrame) -> dict[int, str]:
        """The verdict on each point, by its number."""
        assert self.decision is not None
        groups = table.group_by(_POINT, maintain_order=True)
        return {int(str(point)): self.decision.verdict(rows) for (point,), rows in groups}

    def _table(self, pairs: Sequence[tuple[int, int]], rows: Sequence[Row]) -> pl.DataFrame:
        """One row per run: the number of its point, the axes, the seed, what the metrics made."""
        of_axes: dict[str, list[Any]] = {
            axis.column: [axis.in_table(self.points[point][at]) for point, _ in pairs]
            for at, axis in enumerate(self.axes)
        }
        seeds = [seed for _, seed in pairs]
        measured = pl.DataFrame(rows, infer_schema_length=None)
        unknown = pl.col(pl.Null).cast(pl.Float64)
        truths = pl.col(pl.Boolean).cast(pl.Int64)  # their mean is a share
        points = {_POINT: [point for point, _ in pairs]}
        return pl.DataFrame(points | of_axes | {"seed": seeds}, strict=False).hstack(
            measured.with_columns(unknown, truths)
        )

    def cells(self, table: pl.DataFrame) -> Iterator[dict[str, Any]]:
        """Of each point the axes, an `Estimate` of each metric, and the seeds and the verdict."""
        names = [axis.column for axis in self.axes]
        metrics = measured(table)
        for _, runs in table.group_by(names, maintain_order=True):
            rows = runs.unique("seed", maintain_order=True)  # points of a hypercube may be equal
            cell: dict[str, Any] = {name: rows[name][0] for name in names}
            cell |= {metric: estimate(rows, metric) for metric in metrics}
            if self.decision is not None:
                cell |= {"seeds": len(rows), "verdict": rows["verdict"][0]}
            yield cell


class _Columns:
    """What the functions of a sweep may call their columns, and what each column holds."""

    def __init__(self, axes: Sequence[Axis], metrics: Reducers) -> None:
        self.metrics = metrics
        self._axes = {axis.column for axis in axes}
        #: "a number" or "text", by the first row that has a value.
        self._kinds: dict[str, str] = {}

    def check(self, row: Row) -> None:
        """Raises `AckclockError` for a column of an axis, and for a number where text was."""
        for column, value in row.items():
            if column in self._axes:
                raise AckclockError(f"metrics: column {column} is an axis, too; rename it")
            kind = "text" if isinstance(value, str) else "a number"
            if value is not None and kind != self._kinds.setdefault(column, kind):
                functions = self.metrics.functions
                own = [name for name, each in functions.items() if not isinstance(each, str)]
                raise AckclockError(
                    f"metrics: {column if column in own else ', '.join(own)}: column {column} is "
                    "a number in one run and text in another; return numbers only, or text only, "
                    "and None for no value"
                )


@dataclass(frozen=True)
class Decision:
    """A bound on the mean of a metric, and when to look whether it holds."""

    metric: str
    low: float
    high: float
    #: Numbers of seeds at which to look; empty: once, when all have run.
    looks: tuple[int, ...] = ()

    @classmethod
    def parse(cls, table: Mapping[str, Any], seeds: Any, most: int | None) -> "Decision":
        """The `decide` of a sweep file; raises `AckclockError` that names key, value and fix."""
        like = 'decide = {metric = "jain_index", above = 0.9}'
        if not isinstance(table, Mapping) or not {"metric"} < table.keys() <= set(_DECIDE):
            raise AckclockError(
                f"decide = {toml(table)}: give a metric, and above or below or both, like {like}"
            )
        low, high = table.get("above", -math.inf), table.get("below", math.inf)
        if any(isinstance(end, bool) or not isinstance(end, int | float) for end in (low, high)):
            raise AckclockError(f"decide = {toml(table)}: above and below are numbers, like {like}")
        if not low < high:
            raise AckclockError(f"decide = {toml(table)}: above must be less than below")
        if most is None:
            return cls(str(table["metric"]), low, high)
        _check_whole("most", most, sequential.FIRST, MOST_SEEDS)
        if not isinstance(seeds, int):
            raise AckclockError(
                f"seeds = {toml(seeds)}: with --until-decided write how many to begin with"
            )
        _check_whole("seeds", seeds, 1, MOST_SEEDS)
        if seeds > most:
            raise AckclockError(
                f"seeds = {seeds}: more than most = {most} (--most); write at most {most} seeds, "
                f"or --most {seeds}"
            )
        looks = sequential.looks(most, max(seeds, sequential.FIRST))
        return cls(str(table["metric"]), low, high, looks)

    def __str__(self) -> str:
        """The bound: "jain_index > 0.9"."""
        below = f" < {self.high:g}" if math.isfinite(self.high) else ""
        if math.isinf(self.low):
            return f"{self.metric}{below}"
        return f"{self.low:g} < {self.metric}{below}" if below else f"{self.metric} > {self.low:g}"

    def check(self, known: Sequence[str]) -> None:
        """Raises `AckclockError` if its metric is not among these."""
        if self.metric not in known:
            raise AckclockError(
                f'decide: metric = "{self.metric}": is not among the metrics; choose from '
                f"{', '.join(known)}"
            )

    def verdict(self, rows: pl.DataFrame) -> stats.Verdict:
        """Whether the mean over these runs keeps the bound."""
        mean = estimate(rows, self.metric)
        if mean is None or mean.n < len(rows):  # a run without a value
            return "open"
        if not self.looks:
            return stats.verdict(mean, self.low, self.high)
        first, *_, most = self.looks if len(self.looks) > 1 else self.looks * 2
        return sequential.verdict(mean, self.low, self.high, most=most, first=first)


def with_seed(scenario: Scenario, seed: int) -> Scenario:
    """The scenario with this seed."""
    return scenario if scenario.seed == seed else scenario.replace(seed=seed)


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
        pairs = zip(values, rows[CUT_OFF[metric]].to_list(), strict=True)
        repeats = [AtLeast(end) if value is None else value for value, end in pairs]
        return Repeats.by_seed(dict(enumerate(repeats))).mean()
    known = [value for value in values if value is not None]
    return stats.mean_ci(known) if known else None


class Runs(Sequence[Scenario]):
    """The scenarios of a sweep, each made when it is asked for."""

    def __init__(
        self, pairs: Sequence[tuple[int, int]], make: Callable[[tuple[int, int]], Scenario]
    ) -> None:
        #: Number of the point, and seed, of each run.
        self.pairs = pairs
        self._make = make
        #: The key of each run.
        self.keys: list[str] = []

    def __len__(self) -> int:
        return len(self.pairs)

    @overload
    def __getitem__(self, at: int) -> Scenario: ...
    @overload
    def __getitem__(self, at: slice) -> list[Scenario]: ...
    def __getitem__(self, at: int | slice) -> Scenario | list[Scenario]:
        if isinstance(at, slice):
            return [self[index] for index in range(*at.indices(len(self)))]
        return self._make(self.pairs[at])

    def chosen(self, numbers: Sequence[int]) -> "Runs":
        """Only the runs of these numbers."""
        some = Runs([self.pairs[number] for number in numbers], self._make)
        some.keys = [self.keys[number] for number in numbers]
        return some


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


def _check_runs(points: int, seeds: int, most: int | None) -> None:
    """Raises `AckclockError` for too many runs. With `most` each point may get all those seeds."""
    runs = points * (most or seeds)
    if runs > MOST_RUNS:
        fewer = "a smaller --most" if most else "fewer seeds"
        raise AckclockError(
            f"{points} points x {most or seeds} seeds = {runs} runs are more than {MOST_RUNS}; "
            f"write {fewer}, or fewer points"
        )


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
        _check_whole("seeds", seed, 0, 2**63 - 1)
    return listed
