"""When enough seeds have run: a group-sequential test of a mean against its bounds.

A mean that is looked at after every few seeds, until its interval excludes a bound, is wrong far
more often than the interval says. Here each look spends a part of the error rate, such that all
looks together decide wrongly in at most `ERROR` of the cases. The parts are those of O'Brien and
Fleming, spent as of Lan and DeMets ("Discrete sequential boundaries for clinical trials",
Biometrika 1983) and computed by the recursion of Armitage, McPherson and Rowe (J. R. Stat. Soc. A
1969). For the unknown variance the level of each look is that of a t test (Jennison and Turnbull,
"Group Sequential Methods", 2000, section 4.4). Skewed repeats must also pass the test with Hall's
transformation ("On the removal of skewness by transformation", J. R. Stat. Soc. B 1992).

docs/sweep.md says how often it was wrong in trials whose true mean was the bound.
"""

import functools
import math
from collections.abc import Sequence
from dataclasses import replace
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from ackclock.estimates.stats import Estimate, Verdict

#: Most cases that are decided wrongly.
ERROR = 0.05
#: Seeds at the first look, unless told otherwise.
FIRST = 10
#: Most seeds, unless told otherwise.
MOST = 100
#: A look has half as many repeats again as the one before it, and this many at least.
STEP = 5
#: No look can decide at a smaller level: it is beyond what floating point tells of a tail.
LEAST_LEVEL = 1e-13
#: Points of the grid in the recursion, odd for Simpson's rule.
_POINTS = 801

Array = NDArray[np.float64]
_erfc = np.vectorize(math.erfc, otypes=[float])


@functools.cache
def looks(most: int = MOST, first: int = FIRST) -> tuple[int, ...]:
    """Numbers of repeats at which to look, the last of them `most`."""
    found = [min(first, most)]
    while found[-1] < most:
        found.append(min(most, max(found[-1] + STEP, math.ceil(1.5 * found[-1]))))
    return tuple(found)


def verdict(
    estimate: Estimate,
    low: float = -math.inf,
    high: float = math.inf,
    *,
    most: int = MOST,
    first: int = FIRST,
) -> Verdict:
    """Whether the mean of the estimate's repeats is in [low, high], by the first look that decides.

    Open if none of the looks up to now does. An estimate without randomness is decided. An
    estimate that is not a mean of repeats (a median) has no verdict here: open.
    """
    if estimate.n == 0:
        return "holds" if low <= estimate.mean <= high else "fails"
    for number, level in zip(looks(most, first), levels(most, first), strict=True):
        if number > len(estimate.repeats):
            break
        until_then = replace(estimate, repeats=estimate.repeats[:number])
        found = at_look(until_then, low, high, level)
        if found != "open":
            return found
    return "open"


def at_look(estimate: Estimate, low: float, high: float, level: float) -> Verdict:
    """What one look with this level says of all the repeats of an estimate."""
    for found, chance in _sides(estimate, low, high):
        if chance <= level:
            return found
    return "open"


def chance(estimate: Estimate, low: float, high: float) -> float:
    """The least level at which a look decides; 0 without randomness, 1 where no level does.

    A median has no level, and resamples have none below 2 / (their number + 1).
    """
    if estimate.n == 0 or estimate.low == estimate.high:
        return 0.0
    if not estimate.can_look:
        return 1.0
    return min(level for _, level in _sides(estimate, low, high))


def _sides(estimate: Estimate, low: float, high: float) -> list[tuple[Verdict, float]]:
    """The level at which it fails, and that at which it holds."""
    # A repeat that was cut off may be larger, or smaller, than its number.
    may_rise, may_fall = math.isinf(estimate.high), math.isinf(estimate.low)
    side = _side_of_resamples if estimate.resamples else _side
    values = estimate.resamples or estimate.repeats
    (at_low, low_level), (at_high, high_level) = (side(values, bound) for bound in (low, high))
    below = low_level if at_low < 0 and not may_rise else 1.0
    above = high_level if at_high > 0 and not may_fall else 1.0
    over = 0.0 if math.isinf(low) else low_level if at_low > 0 and not may_fall else 1.0
    under = 0.0 if math.isinf(high) else high_level if at_high < 0 and not may_rise else 1.0
    return [("fails", min(below, above)), ("holds", max(over, under))]


def repeats_needed(estimate: Estimate, low: float, high: float, error: float = ERROR) -> int | None:
    """About how many repeats decide it, if mean and spread stay as they are; None if none would."""
    if estimate.resamples:
        spread = float(np.std(estimate.resamples)) * math.sqrt(estimate.n)
    else:
        spread = float(np.std(estimate.repeats, ddof=1))
    nearest = min(abs(estimate.mean - bound) for bound in (low, high))
    critical = NormalDist().inv_cdf(1 - error / 2)
    return math.ceil((critical * spread / nearest) ** 2) + 2 if nearest > 0 else None


def _side(repeats: Sequence[float], bound: float) -> tuple[int, float]:
    """1 if the mean is above the bound, -1 below, and at which level (of both tails)."""
    if math.isinf(bound):
        return 0, 1.0
    values = np.asarray(repeats) - bound
    n, mean, spread = len(values), float(values.mean()), float(values.std())
    if mean == 0:
        return 0, 1.0
    side = 1 if mean > 0 else -1
    if spread <= 1e-12 * abs(mean):
        return side, LEAST_LEVEL
    w = mean / spread
    skewness = float(((values - mean) ** 3).mean()) / spread**3
    hall = w + skewness * w**2 / 3 + skewness**2 * w**3 / 27 + skewness / (6 * n)
    both = [t * math.sqrt(n - 1) for t in (w, hall)]
    if any(t * mean <= 0 for t in both):
        return 0, 1.0
    return side, max(LEAST_LEVEL, *(two_tails(t, n - 1) for t in both))


def _side_of_resamples(resamples: Sequence[float], bound: float) -> tuple[int, float]:
    """As `_side`, by how many of the resamples are on the other side of the bound.

    The one that was not drawn counts as there.
    """
    if math.isinf(bound):
        return 0, 1.0
    values = np.asarray(resamples)
    others = {1: int((values <= bound).sum()), -1: int((values >= bound).sum())}
    side = min(others, key=lambda each: others[each])
    return side, min(1.0, 2 * (others[side] + 1) / (len(values) + 1))


def two_tails(t: float, freedom: int) -> float:
    """P(|T| > |t|) of Student's t: the finite sums of Abramowitz and Stegun 26.7.3 and 26.7.4."""
    angle = math.atan(abs(t) / math.sqrt(freedom))
    cosine, sine = math.cos(angle), math.sin(angle)
    odd = freedom % 2
    term, total = (cosine if odd else 1.0), 0.0
    for k in range(odd, freedom - 1, 2):
        total += term
        term *= cosine**2 * (k + 1) / (k + 2)
    return 1 - (2 / math.pi * (angle + sine * total) if odd else sine * total)


@functools.cache
def levels(most: int = MOST, first: int = FIRST) -> tuple[float, ...]:
    """Level of each look (of both tails), if all looks together have `ERROR`."""
    found: list[float] = []
    spent = before = 0.0
    grid, weights = np.zeros(1), np.ones(1)  # density of the sum of all repeats, not yet decided
    for number in looks(most, first):
        part = number / most
        deviation = math.sqrt(part - before)
        spend = _spent(part) - spent
        bound = _bound(grid, weights, deviation, spend)
        found.append(math.erfc(bound / math.sqrt(2 * part)))
        points = np.linspace(-bound, bound, _POINTS)
        apart = (points[:, None] - grid[None, :]) / deviation
        density = (weights * np.exp(-(apart**2) / 2)).sum(axis=1)
        density /= deviation * math.sqrt(2 * math.pi)
        simpson = np.where(np.arange(_POINTS) % 2, 4.0, 2.0)
        simpson[[0, -1]] = 1
        grid, weights = points, density * simpson * (points[1] - points[0]) / 3
        spent, before = spent + spend, part
    return tuple(found)


def _spent(part: float) -> float:
    """Error that may be spent when this part of the repeats is there: half of it on each side."""
    normal = NormalDist()
    return 4 * normal.cdf(normal.inv_cdf(ERROR / 4) / math.sqrt(part))


def _bound(grid: Array, weights: Array, deviation: float, spend: float) -> float:
    """The bound that the sum crosses for the first time now with probability `spend`."""

    def crosses(bound: float) -> float:
        tails = _erfc((bound - grid) / (deviation * math.sqrt(2)))
        tails += _erfc((bound + grid) / (deviation * math.sqrt(2)))
        return float((weights * tails).sum()) / 2

    low, high = 0.0, 20.0
    for _ in range(50):
        middle = (low + high) / 2
        low, high = (middle, high) if crosses(middle) > spend else (low, middle)
    return high
