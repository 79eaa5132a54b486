"""An experiment: runs that differ in few things, and the numbers that we keep of each."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from typing import Any, get_type_hints

import polars as pl

from ackclock.estimates.repeats import AtLeast, AtMost, Repeats
from ackclock.results import metrics
from ackclock.results.result import Result
from ackclock.scenario.scenario import Scenario, name_in
from ackclock.scenario.settings import algorithm_of

#: A point of an experiment: column → value.
Point = Mapping[str, Any]

#: What ends the name of the column that says how a number is bounded.
#: A column has its kind of bound beside it in a column whose name ends so.
BOUND = "__bound"
#: Its multiples spread evenly over 1.
_GOLDEN = (5**0.5 - 1) / 2
#: Columns of every row, which no point may have, nor what is kept of a run.
_OWN = {"seed", "scenario", "packets", "cpu_time_s", "testbed_s"}
_BOUNDS = {AtLeast: "at least", AtMost: "at most"}


def grid(**columns: Sequence[Any]) -> list[dict[str, Any]]:
    """All combinations of the values of columns, as points."""
    names = list(columns)
    return [dict(zip(names, values, strict=True)) for values in product(*columns.values())]


@dataclass(frozen=True)
class Variant:
    """One thing changed that the paper leaves open."""

    #: What is left open: "buffer".
    of: str
    #: What it is here: "0.5 BDP".
    value: str
    #: Settings as of `ackclock run --set`. One of an algorithm that a run has not leaves it as is.
    settings: Sequence[str] = ()
    #: What the experiment's `scenario` is called with, over the point's own.
    arguments: Mapping[str, Any] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """As in a table: "buffer: 0.5 BDP"."""
        return f"{self.of}: {self.value}"


def set_where_it_fits(scenario: Scenario, settings: Sequence[str]) -> Scenario:
    """The scenario with these settings, without those of algorithms that it does not have."""
    names = {
        name_in(str(each.algorithm))  # type: ignore[attr-defined]
        for each in (*scenario.flows, *scenario.sessions)
    }
    fitting = [each for each in settings if algorithm_of(each) in (None, *names)]
    return scenario.assign(*fitting) if fitting else scenario


@dataclass(frozen=True, eq=False)
class Experiment:
    """Runs at points, repeated with seeds from the first on.

    `row` returns a NamedTuple: the numbers that we keep of a run. A number may be `AtLeast`, if the
    end of the run cut it off, or None. `scenario` has the columns of a point as arguments; the
    seed is set afterwards.
    """

    name: str
    points: Sequence[Point]
    scenario: Callable[..., Scenario]
    row: Callable[[Result], Any]
    first_seed: int = 1
    #: Repeats of each point at full length, and with `--quick`. Nothing is random: 1.
    seeds: int = 10
    quick_seeds: int = 1
    #: First start of flow 2, and how long its starts go on, s: each of the `seeds` repeats
    #: has its part of that time, and starts in the middle of it.
    cycle: tuple[float, float] | None = None
    #: Settings of a quick run, such as a shorter duration.
    quick: Sequence[str] = ()
    #: Points of a quick run (default: all).
    quick_points: Sequence[Point] | None = None
    variants: Sequence[Variant] = ()
    #: Key of the scenario → why it has its value, where the paper does not say ("": it does).
    #: "*" is every other key.
    assumed: Mapping[str, str] = field(default_factory=dict)
    #: Column of a point → how a value is said, as a format or by value.
    says: Mapping[str, str | Mapping[Any, str]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        columns = [set(point) for point in self.points]
        if any(each != columns[0] for each in columns):
            raise TypeError(f"{self.name}: all points have the same columns")
        twice = _OWN & {*columns[0], *self.columns} or columns[0] & set(self.columns)
        if twice:
            raise TypeError(f"{self.name}: a row has these columns twice: {', '.join(twice)}")
        if not self.columns:
            raise TypeError(f"{self.name}: `row` returns a NamedTuple, and says so")

    @property
    def is_quick(self) -> bool:
        """Whether a quick run of it is the whole: nothing is repeated, shortened or left out."""
        return self.seeds == 1 and not self.quick and self.quick_points is None

    @property
    def columns(self) -> tuple[str, ...]:
        """The numbers of a row, in their order."""
        return getattr(get_type_hints(self.row).get("return"), "_fields", ())

    def where(self, **some: Any) -> list[Point]:
        """The points with these values; raises `KeyError` if there are none."""
        found = [point for point in self.points if some.items() <= point.items()]
        if not found:
            raise KeyError(f"{self.name}: no point has {some}")
        return found

    def needs(self, **some: Any) -> "tuple[tuple[Experiment, Point], ...]":
        """The points with these values, as a quantity's needs."""
        return tuple((self, point) for point in self.where(**some))

    def the(self, **some: Any) -> Point:
        """The one point with these values; raises `KeyError` if there is not exactly one."""
        found = self.where(**some)
        if len(found) > 1:
            raise KeyError(f"{self.name}: {len(found)} points have {some}; the first: {found[0]}")
        return found[0]

    def say(self, point: Point, without: Sequence[str] = (), between: str = ", ") -> str:
        """A point in words: "50 ms, CUBIC". A column with one value in all points is not said."""
        words = []
        for column, value in point.items():
            says = self.says.get(column, "{}")
            if column in without or all(each[column] == value for each in self.points):
                continue
            words.append(says.format(value) if isinstance(says, str) else says[value])
        return between.join(word for word in words if word)

    def run(self, point: Point, seed: int) -> Scenario:
        """The scenario of a repeat."""
        return self.repeat(self.scenario(**point), seed)

    def repeat(self, like: Scenario, seed: int) -> Scenario:
        """A scenario as the repeat with this seed; more seeds start within the parts of others."""
        scenario = like if like.seed == seed else like.replace(seed=seed)
        if self.cycle is None:
            return scenario
        first_s, length_s = self.cycle
        again, part = divmod(seed - 1, self.seeds)
        within = (0.5 + again * _GOLDEN) % 1
        start_s = first_s + length_s * (part + within) / self.seeds
        return scenario.assign(f"flow.2.start={start_s:.3f}s")


def as_row(row_of: Callable[[Result], Any], result: Result) -> dict[str, Any]:
    """What `Experiment.row` keeps of a run, and what it cost here and would on a testbed."""
    completed_us = result.flows["completed_us"].to_numpy()
    finite = completed_us.size and completed_us.all() and not result.scenario.sessions
    row: dict[str, Any] = {}
    for name, value in row_of(result)._asdict().items():
        row[name] = float(value) if isinstance(value, float) else value
        row[name + BOUND] = _BOUNDS.get(type(value))
    return row | {
        "packets": result.manifest["packets"],
        "cpu_time_s": result.manifest.get("cpu_time_s"),
        "testbed_s": float(completed_us.max() / 1e6) if finite else metrics.duration_s(result),
    }


@dataclass(frozen=True, eq=False)
class Runs:
    """The rows of an experiment: the columns of the points, `seed`, and those of `row`."""

    experiment: Experiment
    table: pl.DataFrame
    #: What quantities have asked for: a figure's page asks for each up to ten times.
    _repeats: dict[tuple[Any, ...], Repeats] = field(default_factory=dict, repr=False)

    def only(self, points: Sequence[Point]) -> "Runs":
        """The runs at these points."""
        tables = [self._matching(point) for point in points]
        return Runs(self.experiment, pl.concat(tables) if tables else self.table.clear())

    def at(self, point: Point) -> pl.DataFrame:
        """The runs at a point, in the order of the seeds."""
        return self._matching(point).sort("seed")

    def _matching(self, point: Point) -> pl.DataFrame:
        matches = [pl.col(column).eq_missing(pl.lit(value)) for column, value in point.items()]
        return self.table.filter(*matches)

    def repeats(self, column: str, point: Point) -> Repeats:
        """A column at a point."""
        key = (column, *point.items())
        if key not in self._repeats:
            self._repeats[key] = self._repeats_of(column, point)
        return self._repeats[key]

    def _repeats_of(self, column: str, point: Point) -> Repeats:
        rows = self.at(point)
        bounds = rows.get_column(column + BOUND, default=None)
        kinds = {name: kind for kind, name in _BOUNDS.items()}
        by_seed = {}
        for number, (seed, value) in enumerate(rows.select("seed", column).iter_rows()):
            bound = None if bounds is None or value is None else bounds[number]
            by_seed[seed] = kinds[bound](value) if bound else value
        return Repeats.by_seed(by_seed)


def repeats_of(
    experiment: Experiment,
    points: Sequence[Point],
    seeds: Sequence[int],
    arguments: Mapping[str, Any] = {},
) -> Iterator[tuple[Point, int, Scenario]]:
    """Each repeat of the points: point, seed and scenario."""
    for point in points:
        like = experiment.scenario(**{**point, **arguments})
        for seed in seeds:
            yield point, seed, experiment.repeat(like, seed)
