"""Quantities of a figure: what is measured, said once for its table, its plot and its claims."""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from ackclock.estimates import stats
from ackclock.estimates.repeats import Repeats
from ackclock.estimates.repeats import slope as slope_of
from ackclock.estimates.stats import Estimate
from ackclock.figures.experiment import Experiment, Point, Runs

#: The runs of each experiment.
Rows = Mapping[Experiment, Runs]
#: The points whose runs a quantity needs.
Needs = tuple[tuple[Experiment, Point], ...]
#: Whose a bound is.
Owner = Literal["the paper's", "ours"]


@dataclass(frozen=True, eq=False)
class Quantity:
    """A number with an interval, over the repeats of one point or of several.

    Differences, ratios and slopes of quantities are quantities: they are taken seed by seed.
    """

    name: str
    unit: str
    needs: Needs
    #: The number of each repeat; an `Estimate` where it is none of repeats.
    of: Callable[[Rows], Repeats | Estimate | None]
    #: The repeats are logarithms: the mean is a geometric one.
    logarithmic: bool = False
    median: bool = False
    #: What the paper has: a number, which a plot can show, or words.
    paper: float | str = ""

    def __sub__(self, other: "Quantity") -> "Quantity":
        """The difference, seed by seed."""
        return combined(f"{self.name} − {other.name}", self.unit, [self, other], lambda a, b: a - b)

    def __truediv__(self, other: "Quantity") -> "Quantity":
        """The ratio, seed by seed; the mean is that of the logarithms, whichever is above."""
        logs = [self.geometric(), other.geometric()]
        both = combined(f"{self.name} / {other.name}", "", logs, lambda a, b: a - b)
        return replace(both, logarithmic=True)

    def named(self, name: str, unit: str | None = None) -> "Quantity":
        """The same under another name, and in another unit."""
        return replace(self, name=name, unit=self.unit if unit is None else unit)

    def beside(self, paper: float | str) -> "Quantity":
        """The same with what the paper has."""
        return replace(self, paper=paper)

    def above(self, low: float) -> "Part":
        """A claim's part: it is larger."""
        return Part(self, low=low)

    def below(self, high: float) -> "Part":
        """A claim's part: it is smaller."""
        return Part(self, high=high)

    def within(self, low: float, high: float) -> "Part":
        """A claim's part: it is in [low, high]."""
        return Part(self, low, high)

    def geometric(self) -> "Quantity":
        """The same quantity, a ratio, with the mean of its logarithms."""
        if self.logarithmic:
            return self

        def logs(rows: Rows) -> Repeats:
            found = self.of(rows)
            assert isinstance(found, Repeats), self.name
            return found.log()

        return replace(self, of=logs, logarithmic=True)

    def as_median(self) -> "Quantity":
        """The median over the repeats."""
        return replace(self, median=True)

    def average(self, rows: Rows) -> str:
        """What `estimate` is of the repeats: "mean"; nothing if there is one, or none."""
        found = self.of(rows)
        if not isinstance(found, Repeats) or len(found.value) < 2:
            return ""
        return "median" if self.median else "geometric mean" if self.logarithmic else "mean"

    def estimate(self, rows: Rows) -> Estimate | None:
        """The number and its interval; None if no run tells. Logarithms are taken back."""
        found = self.raw(rows)
        if found is None or not self.logarithmic:
            return found
        return stats.exponential(found)

    def raw(self, rows: Rows) -> Estimate | None:
        """As `estimate`, but a logarithm stays one."""
        found = self.of(rows)
        if isinstance(found, Repeats):
            exact = all(experiment.seeds == 1 for experiment, _ in self.needs)
            if exact and len(found.value) == 1 and found.value[0] == found.value[0]:
                return stats.exact(float(found.value[0]))
            if self.median:
                return found.median()
            return found.mean(in_order=all(each.cycle is not None for each, _ in self.needs))
        return found


@dataclass(frozen=True, eq=False)
class Part:
    """A quantity and where it must lie: in [low, high], ends included where both are given."""

    quantity: Quantity
    low: float = -math.inf
    high: float = math.inf
    owner: Owner = "the paper's"

    @property
    def bound(self) -> str:
        """Where it must lie: "250 … 600 s", "< 200 s" or "> 0 s"; empty: anywhere."""
        if math.isinf(self.low) and math.isinf(self.high):
            return ""
        if math.isinf(self.low):
            text = f"< {self.high:g}"
        elif math.isinf(self.high):
            text = f"> {self.low:g}"
        else:
            text = f"{self.low:g} … {self.high:g}"
        return f"{text} {self.quantity.unit}".strip()

    @property
    def ours(self) -> "Part":
        """The part with a bound of ours: the paper gives no number there."""
        return replace(self, owner="ours")


@dataclass(frozen=True, eq=False)
class Column:
    """A column of an experiment's rows: a quantity at each point."""

    experiment: Experiment
    column: str
    name: str
    unit: str = ""
    #: What the paper has: a number or words, of all points or of each.
    paper: float | str | Callable[[Point], float | str] = ""

    def __post_init__(self) -> None:
        if self.column not in self.experiment.columns:
            raise KeyError(f"{self.experiment.name}: a row has no {self.column}")

    def at(self, **point: Any) -> Quantity:
        """The quantity at the one point with these values; raises `KeyError` if there is none."""
        the = self.experiment.the(**point)
        said = self.experiment.say(the)
        return Quantity(
            f"{self.name}, {said}" if said else self.name,
            self.unit,
            ((self.experiment, the),),
            lambda rows: rows[self.experiment].repeats(self.column, the),
            paper=self.paper(the) if callable(self.paper) else self.paper,
        )

    def pair(self, **point: Any) -> tuple[Quantity, Quantity]:
        """The quantities at two points: one of the values is a tuple of two."""
        ((key, both),) = (each for each in point.items() if isinstance(each[1], tuple))
        first, second = (self.at(**point | {key: value}) for value in both)
        return first, second

    def difference(self, name: str, **point: Any) -> Quantity:
        """The first of a `pair` minus the second, seed by seed."""
        first, second = self.pair(**point)
        return (first - second).named(name)

    def ratio(self, name: str, **point: Any) -> Quantity:
        """The first of a `pair` over the second, seed by seed."""
        first, second = self.pair(**point)
        return (first / second).named(name)

    def everywhere(self, **some: Any) -> list[Quantity]:
        """The quantity at every point with these values."""
        return [self.at(**point) for point in self.experiment.where(**some)]


def combined(name: str, unit: str, of: Sequence[Quantity], how: Callable[..., Repeats]) -> Quantity:
    """A quantity of others, from their repeats."""

    def repeats(rows: Rows) -> Repeats:
        parts = [each.of(rows) for each in of]
        assert all(isinstance(each, Repeats) for each in parts), name
        return how(*parts)

    return Quantity(name, unit, needs_of(of), repeats)


def needs_of(of: Iterable[Quantity]) -> Needs:
    """The points whose runs quantities need, each once."""
    found: dict[object, tuple[Experiment, Point]] = {}
    for experiment, point in (need for each in of for need in each.needs):
        found.setdefault((experiment, frozenset(point.items())), (experiment, point))
    return tuple(found.values())


def mean_of(name: str, of: Sequence[Quantity]) -> Quantity:
    """The mean of quantities, seed by seed; of `geometric` ones the geometric mean."""
    mean = combined(name, of[0].unit, of, lambda *each: sum(each[1:], each[0]) * (1 / len(each)))
    return replace(mean, logarithmic=all(each.logarithmic for each in of))


def slope(name: str, unit: str, by_x: Mapping[float, Quantity]) -> Quantity:
    """The slope over x of the numbers of each seed. Of a `geometric` quantity: of its logarithm."""
    xs = list(by_x)
    return combined(
        name,
        unit,
        list(by_x.values()),
        lambda *each: slope_of(dict(zip(xs, each, strict=True))),
    )


def computed(
    name: str, unit: str, needs: Needs, of: Callable[[Rows], Repeats | Estimate | float | None]
) -> Quantity:
    """A quantity that needs more than one number of each run, or no runs at all."""

    def found(rows: Rows) -> Repeats | Estimate | None:
        number = of(rows)
        return stats.exact(float(number)) if isinstance(number, int | float) else number

    return Quantity(name, unit, needs, found)
