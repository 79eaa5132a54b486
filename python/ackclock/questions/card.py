"""A scorecard: questions about an algorithm, and the answers beside those of others."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import polars as pl

from ackclock import _core
from ackclock.draw import html
from ackclock.estimates.repeats import Repeats
from ackclock.estimates.stats import Estimate
from ackclock.figures.experiment import Experiment, Point, grid
from ackclock.figures.quantity import Column, Quantity, Rows
from ackclock.questions.measure import Numbers, numbers
from ackclock.scenario.scenario import Scenario

#: How an algorithm does against another. Mixed: some numbers are better, and others worse.
#: Unclear: the interval reaches beyond the margin and into it, or there is no number.
Mark = Literal["better", "worse", "mixed", "same", "unclear"]
#: In the place of the algorithm: the other flows run without it.
ALONE = "alone"
#: The column that `with_harm` fills in.
HARM = "harm_percent"
#: Repeats of a quick run.
QUICK_SEEDS = 3
#: Columns of which more is better.
_MORE = {"backoff", "jain", "mine_mbps", "others_mbps", "slowest_over_fastest", "utilisation"}
_UNITS = {"percent": "%", "ms": "ms", "s": "s", "mbps": "Mb/s"}
_UNITS |= dict.fromkeys(("backoff", "median", "p99"), "×")


@dataclass(frozen=True)
class Number:
    """A number of a question: a column of `Numbers`, as the mean over some of its points."""

    name: str
    column: str
    #: A difference below this is none.
    margin: float = 0.0
    #: Which points.
    at: Mapping[str, Any] = field(default_factory=dict)
    #: From here on it is unsafe: above it or, if more is better, below it.
    unsafe: float | None = None
    #: Why.
    because: str = ""

    def __post_init__(self) -> None:
        if self.column not in Numbers._fields:
            raise KeyError(f"{self.name}: no column {self.column}")

    def unsafe_from(self, bound: float, because: str) -> "Number":
        """The same, with where it is unsafe, and why."""
        return replace(self, unsafe=bound, because=because)

    @property
    def more(self) -> bool:
        """Whether more of it is better."""
        return self.column in _MORE

    @property
    def unit(self) -> str:
        """Of its column, whose name ends with it; a slowdown's ends with which one it is."""
        return _UNITS.get(self.column.rpartition("_")[2], "")

    @property
    def needs_alone(self) -> bool:
        """Whether it compares with the others alone."""
        return self.column == HARM


def measured(name: str, column: str, margin: float, **at: Any) -> Number:
    """A number at these points."""
    return Number(name, column, margin, at)


def used(name: str, **at: Any) -> Number:
    """The utilisation at a point."""
    return measured(name, "utilisation", 0.02, **at)


@dataclass(frozen=True, eq=False)
class Question:
    """A row of the scorecard."""

    #: "R3".
    row: str
    #: In plain words.
    words: str
    #: Section of RFC 9743, and its word: "5.1.2 should".
    criterion: str
    #: The scenario of a point; its first argument is the algorithm.
    scenario: Callable[..., Scenario]
    #: Columns of the points → values, and those of a quick run.
    points: Mapping[str, Sequence[Any]]
    numbers: Sequence[Number]
    quick: Mapping[str, Sequence[Any]] = field(default_factory=dict)
    seeds: int = 10
    #: The columns of the figure, which shows means over the other columns; all by default.
    shown: Sequence[str] = ()
    #: Draws another link and host for each repeat of a point (`held_out`), if it is not None.
    drawn_by: tuple[int, ...] | None = None
    #: How many times as long the runs are.
    times: int = 1

    @property
    def alone(self) -> bool:
        """Whether the others also run alone."""
        return any(number.needs_alone for number in self.numbers)

    def experiment(
        self, algorithms: Sequence[str], *, quick: bool, nonce: int | None = 0
    ) -> Experiment:
        """Its runs with each algorithm; their seeds follow the nonce."""
        points = {**self.points, **(self.quick if quick else {})}
        return Experiment(
            self.row,
            grid(algorithm=[*algorithms, *([ALONE] if self.alone else [])], **points),
            self.scenario,
            numbers,
            first_seed=(nonce or 0) + 1,
            seeds=self.seeds,
            quick_seeds=min(self.seeds, QUICK_SEEDS),
        )


@dataclass(frozen=True)
class Answer:
    """A number of a question, of the algorithm and of each other."""

    number: Number
    #: Algorithm → its estimate.
    found: Mapping[str, Estimate | None]
    #: Other algorithm → the paired difference to it.
    differences: Mapping[str, Estimate | None]

    def mark(self, other: str) -> Mark:
        """How the algorithm does against another: by the interval of the paired difference."""
        return _mark([self], other)

    def equal(self, algorithm: str, other: str) -> bool:
        """Whether both have the same number in each run, or the same bound."""
        return _core.is_equal(self.found[algorithm], self.found[other], self.differences[other])

    def unsafe(self, algorithm: str) -> bool:
        """Whether all of an algorithm's interval is where it is unsafe; of one run, its number."""
        return _core.is_unsafe(self.number, self.found[algorithm])

    def beyond(self, algorithm: str) -> str:
        """A number with its interval, and from where on it is unsafe."""
        found, number = self.found[algorithm], self.number
        measured = "—" if found is None else html.number(found, number.unit)
        bound = f"{number.unsafe:g} {number.unit}".strip()
        return f"{measured}, unsafe {'below' if number.more else 'above'} {bound}"


@dataclass(frozen=True)
class Answers:
    """A question with its answers."""

    question: Question
    answers: Sequence[Answer]

    def mark(self, other: str) -> Mark:
        """How the algorithm does against another in all numbers."""
        return _mark(self.answers, other)

    def unsafe(self, algorithm: str) -> list[str]:
        """Why an algorithm is unsafe here; empty if it is not."""
        return [
            f"{answer.number.name}: {answer.beyond(algorithm)} ({answer.number.because})"
            for answer in self.answers
            if answer.unsafe(algorithm)
        ]


def _mark(answers: Sequence[Answer], other: str) -> Mark:
    of = [(answer.number, answer.differences[other]) for answer in answers]
    return _core.mark(of)  # type: ignore[return-value]


def answers(question: Question, experiment: Experiment, rows: Rows) -> Answers:
    """The answers that runs give: of the first algorithm of the points against the others."""
    algorithms = list(dict.fromkeys(point["algorithm"] for point in experiment.points))
    algorithms = [each for each in algorithms if each != ALONE]
    mine, *others = algorithms
    found = []
    for number in question.numbers:
        of = {algorithm: quantity(experiment, number, algorithm) for algorithm in algorithms}
        differences = {other: (of[mine] - of[other]).estimate(rows) for other in others}
        found.append(
            Answer(number, {name: each.estimate(rows) for name, each in of.items()}, differences)
        )
    return Answers(question, found)


def quantity(experiment: Experiment, number: Number, algorithm: str) -> Quantity:
    """A number of an algorithm: the mean over its points, seed by seed."""
    some = points_of(experiment, number, algorithm)
    if len(some) == 1:
        return Column(experiment, number.column, number.name, number.unit).at(**some[0])
    every = experiment.where(algorithm=algorithm)
    at = number.at if len(some) < len(every) else {}
    chosen = [pl.col(key).is_in(_values(value)) for key, value in at.items()]

    def mean(rows: Rows) -> Repeats:
        table = rows[experiment].table.filter(pl.col("algorithm") == algorithm, *chosen)
        by_seed = table.group_by("seed").agg(pl.col(number.column).mean()).sort("seed")
        return Repeats.by_seed(dict(by_seed.iter_rows()))

    return Quantity(number.name, number.unit, tuple((experiment, each) for each in some), mean)


def points_of(experiment: Experiment, number: Number, algorithm: str) -> list[Point]:
    """The points of a number, or all where a quick run has none of these."""
    every = experiment.where(algorithm=algorithm)
    return [point for point in every if _is_at(point, number.at)] or every


def with_harm(rows: pl.DataFrame, columns: Sequence[str]) -> pl.DataFrame:
    """The rows with the part of their throughput alone that flows lose beside an algorithm.

    `columns` are those of the points. Each run is compared with the run alone of its seed.
    Ware et al., "Beyond Jain's Fairness Index: Setting the Bar For The Deployment of Congestion
    Control Algorithms" (HotNets 2019).
    """
    same = [*(column for column in columns if column != "algorithm"), "seed"]
    alone = rows.filter(algorithm=ALONE).select(*same, alone_mbps="mine_mbps")
    harm = 100 * (1 - pl.col("others_mbps") / pl.col("alone_mbps"))
    joined = rows.join(alone, on=same, how="left")
    return joined.with_columns(harm.alias(HARM)).drop("alone_mbps")


def _values(value: Any) -> tuple[Any, ...]:
    return value if isinstance(value, tuple) else (value,)


def _is_at(point: Point, at: Mapping[str, Any]) -> bool:
    return all(point[key] in _values(value) for key, value in at.items())
