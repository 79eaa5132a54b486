"""Numbers of repeated runs, one for each seed, and arithmetic with them."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Self

import numpy as np
from numpy.typing import NDArray

from ackclock.estimates import stats
from ackclock.estimates.stats import Estimate

Array = NDArray[np.float64]


class AtLeast(float):
    """A number of a run that the end of the run cut off: the true one is at least this."""


class AtMost(float):
    """A number of which a run shows only that it is at most this."""


@dataclass(frozen=True, eq=False)
class Repeats:
    """A number of each repeat, by its seed. Of some repeats only a bound is known.

    `value` has the numbers, and the bound where no more is known; the true numbers are between
    `low` and `high`. All arrays have the shape (n,). A repeat without a number is NaN. Sums and
    differences are of the same seeds, and follow the bounds through (interval arithmetic).
    """

    seeds: tuple[int, ...]
    value: Array
    low: Array
    high: Array

    @classmethod
    def by_seed(cls, by_seed: Mapping[int, float | None]) -> Self:
        """Of numbers, some of which may be `AtLeast`, `AtMost` or None."""
        numbers = [np.nan if each is None else each for each in by_seed.values()]
        return cls(
            tuple(by_seed),
            np.array(numbers, float),
            np.array([-np.inf if isinstance(each, AtMost) else each for each in numbers], float),
            np.array([np.inf if isinstance(each, AtLeast) else each for each in numbers], float),
        )

    def __add__(self, other: "Repeats | float") -> "Repeats":
        a, b = _aligned(self, other)
        return replace(a, value=a.value + b.value, low=a.low + b.low, high=a.high + b.high)

    def __neg__(self) -> "Repeats":
        return replace(self, value=-self.value, low=-self.high, high=-self.low)

    def __sub__(self, other: "Repeats | float") -> "Repeats":
        return self + -other

    def __mul__(self, factor: float) -> "Repeats":
        if factor < 0:
            return -(self * -factor)
        if factor == 0:
            return replace(self, value=0 * self.value, low=0 * self.value, high=0 * self.value)
        return self._rising(lambda x: x * factor)

    def log(self) -> "Repeats":
        """Natural logarithms; that of a number below 0 is NaN."""
        with np.errstate(divide="ignore", invalid="ignore"):
            logs = self._rising(lambda x: np.log(np.where(x < 0, np.nan, x)))
            return replace(logs, low=np.where(np.isneginf(self.low), -np.inf, logs.low))

    def exp(self) -> "Repeats":
        """What these are the natural logarithms of."""
        return self._rising(np.exp)

    def _rising(self, function: Callable[[Array], Array]) -> "Repeats":
        value, low, high = map(function, (self.value, self.low, self.high))
        return replace(self, value=value, low=low, high=high)

    def mean(self, *, in_order: bool = False) -> Estimate | None:
        """Mean and interval, open where a repeat may be larger or smaller.

        The interval is a bootstrap or, of repeats `in_order`, that of a systematic sample
        (`stats.systematic_ci`). None without a repeat that has a number.
        """
        known = self._known()
        if known is None:
            return None
        value, falls, rises = known
        found = (stats.systematic_ci if in_order else stats.mean_ci)(value.tolist())
        censored = int((falls | rises).sum())
        if found.n == 1 and censored:  # all that it says is the bound
            found = replace(found, low=found.mean, high=found.mean)
        return replace(
            found,
            low=-np.inf if falls.any() else found.low,
            high=np.inf if rises.any() else found.high,
            censored=censored,
        )

    def median(self) -> Estimate | None:
        """As `mean`, of the median: an end is open only if it reaches a repeat's bound.

        `censored` is 0 if neither end is open.
        """
        known = self._known()
        if known is None:
            return None
        value, falls, rises = known
        far = 1e9 * (1 + np.abs(value).max())
        found, lower, upper = (
            stats.mean_ci(values.tolist(), statistic=np.median)
            for values in (value, np.where(falls, -far, value), np.where(rises, far, value))
        )
        low = lower.low if lower.low >= value.min() else -np.inf
        high = upper.high if upper.high <= value.max() else np.inf
        open_ended = np.isinf([low, high]).any()
        bounded = int((falls | rises).sum())
        return replace(found, low=low, high=high, censored=bounded if open_ended else 0)

    def _known(self) -> tuple[Array, NDArray[np.bool_], NDArray[np.bool_]] | None:
        """The numbers, and which may be smaller, and larger; None without a number."""
        known = np.isfinite(self.value)
        value, low, high = self.value[known], self.low[known], self.high[known]
        return (value, low < value, high > value) if known.any() else None


def slope(by_x: Mapping[float, Repeats]) -> Repeats:
    """Slope of the least-squares line through the numbers of each seed, over x.

    For the exponent of a power law, pass logarithms of both.
    """
    x = np.array(list(by_x), float)
    centred = x - x.mean()
    weights = (centred / (centred @ centred)).tolist()
    terms = [each * weight for each, weight in zip(by_x.values(), weights, strict=True)]
    total: Repeats = terms[0]
    for term in terms[1:]:
        total += term
    return total


def _aligned(a: Repeats, b: Repeats | float) -> tuple[Repeats, Repeats]:
    """Both, for the seeds that both have."""
    if isinstance(b, int | float):
        same = np.full(len(a.seeds), float(b))
        return a, Repeats(a.seeds, same, same, same)
    if a.seeds == b.seeds:
        return a, b
    seeds = tuple(seed for seed in a.seeds if seed in set(b.seeds))
    return _chosen(a, seeds), _chosen(b, seeds)


def _chosen(of: Repeats, seeds: Sequence[int]) -> Repeats:
    at = [of.seeds.index(seed) for seed in seeds]
    return Repeats(tuple(seeds), of.value[at], of.low[at], of.high[at])
