"""Bootstrap intervals, paired differences, trends and verdicts over repeated runs.

A repeat may be cut off, such as a flow that had not converged when the run ended. Then only a lower
bound is known. Such a repeat is None, with its `cut_off`, and `Estimate.censored` counts it. The
open end of the interval is then infinite, so verdicts are right without special treatment.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from statistics import NormalDist
from typing import Literal

import numpy as np
from numpy.typing import NDArray

Verdict = Literal["holds", "fails", "inconclusive"]

#: With fewer repeats the verdict is "inconclusive".
LEAST_REPEATS = 5
#: Resamples per interval. Their random stream is fixed: equal repeats give equal intervals.
RESAMPLES = 10_000
_SEED = 1979


@dataclass(frozen=True)
class Estimate:
    """A mean (or median, or slope) over `n` repeats with its confidence interval.

    `n` is 0 for a number without randomness, such as the result of a formula (`exact`). For
    `censored` of the repeats only a bound is known; `mean` then uses the bounds.
    """

    mean: float
    low: float
    high: float
    n: int
    censored: int = 0
    #: The repeats in their order, of a mean: what `sequential.verdict` looks at.
    repeats: tuple[float, ...] = field(default=(), compare=False, repr=False)


def exact(value: float) -> Estimate:
    """A number without randomness, whose verdict needs no repeats."""
    return Estimate(value, value, value, 0)


def mean_ci(
    values: Sequence[float],
    level: float = 0.95,
    statistic: Callable[..., NDArray[np.float64]] = np.mean,
) -> Estimate:
    """Mean and bootstrap interval of independent repeats; `statistic` may be `np.median`.

    The interval is the expanded percentile interval (Hesterberg, "What Teachers Should Know about
    the Bootstrap", 2015), which is wider for few repeats. In 1500 trials with 10 repeats it covered
    the mean 95 times in 100 for normal values, and 93 times for exponential values. One repeat has
    an infinite interval. Raises `ValueError` without repeats.
    """
    if not values:
        raise ValueError("a mean needs at least one repeat")
    x = np.asarray(values, dtype=float)
    middle, n = float(statistic(x)), len(x)
    repeats = tuple(x.tolist()) if statistic is np.mean else ()
    if n == 1:
        return Estimate(middle, -np.inf, np.inf, n, repeats=repeats)
    resamples = np.random.default_rng(_SEED).choice(x, (RESAMPLES, n))
    tail = NormalDist().cdf(-math.sqrt(n / (n - 1)) * _student_t((1 + level) / 2, n - 1))
    low, high = np.quantile(statistic(resamples, axis=1), [tail, 1 - tail])
    return Estimate(middle, float(low), float(high), n, repeats=repeats)


def mean_ci_censored(
    values: Sequence[float | None], cut_off: Sequence[float], level: float = 0.95
) -> Estimate:
    """As `mean_ci`, with None for a repeat that had not ended at its `cut_off`."""
    mean = mean_ci(_known(values, cut_off), level)
    return _open(mean, above=sum(value is None for value in values))


def paired_difference(a: Sequence[float], b: Sequence[float], level: float = 0.95) -> Estimate:
    """Mean of a − b over pairs of repeats with the same seed."""
    return mean_ci([x - y for x, y in zip(a, b, strict=True)], level)


def paired_difference_censored(
    a: Sequence[float | None], b: Sequence[float | None], cut_off: Sequence[float]
) -> Estimate:
    """As `paired_difference`, with None for a repeat that had not ended at its `cut_off`."""
    difference = _open(
        paired_difference(_known(a, cut_off), _known(b, cut_off)),
        above=sum(value is None for value in a),
        below=sum(value is None for value in b),
    )
    return replace(difference, censored=sum(None in pair for pair in zip(a, b, strict=True)))


def slope(
    x: Sequence[float],
    repeats: Sequence[Sequence[float]],
    at_least: Sequence[Sequence[bool]] | None = None,
) -> Estimate:
    """Trend: the mean over repeats of the least-squares slope of each repeat's values over x.

    `repeats` has the shape (repeats, len(x)). The points of a repeat share a seed, so the slope is
    paired. `at_least`, of the same shape, marks values of which only a lower bound is known. For
    the exponent of a power law, pass logarithms of both.
    """
    centred = np.asarray(x, dtype=float) - np.mean(x)
    slopes = np.asarray(repeats, dtype=float) @ centred / (centred @ centred)
    cut_off = np.zeros((len(slopes), len(x)), bool) if at_least is None else np.asarray(at_least)
    return _open(
        mean_ci(slopes.tolist()),
        above=int((cut_off & (centred > 0)).any(axis=1).sum()),
        below=int((cut_off & (centred < 0)).any(axis=1).sum()),
    )


def verdict(estimate: Estimate, low: float = -np.inf, high: float = np.inf) -> Verdict:
    """Whether the mean lies in [low, high].

    Inconclusive if the interval includes a bound, or if there are fewer than `LEAST_REPEATS`
    repeats. A single bound is strict ("> 0"): equal repeats are not "better".
    """
    if 0 < estimate.n < LEAST_REPEATS:
        return "inconclusive"
    if estimate.low > high or estimate.high < low:
        return "fails"
    if math.isinf(low) != math.isinf(high):
        holds = estimate.low > low if math.isinf(high) else estimate.high < high
    else:
        holds = low <= estimate.low and estimate.high <= high
    return "holds" if holds else "inconclusive"


def _known(values: Sequence[float | None], cut_off: Sequence[float]) -> list[float]:
    """The values, with the cut-off in place of each unknown value."""
    return [end if value is None else value for value, end in zip(values, cut_off, strict=True)]


def _student_t(probability: float, freedom: int) -> float:
    """Quantile of Student's t; its error is below 0.001 from 4 degrees of freedom on.

    Fisher's expansion (Abramowitz and Stegun 26.7.5); scipy would cost 24 MB of memory.
    """
    z = NormalDist().inv_cdf(probability)
    terms = (
        z,
        (z**3 + z) / 4,
        (5 * z**5 + 16 * z**3 + 3 * z) / 96,
        (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / 384,
        (79 * z**9 + 776 * z**7 + 1482 * z**5 - 1920 * z**3 - 945 * z) / 92160,
    )
    return float(sum(term / freedom**power for power, term in enumerate(terms)))


def _open(estimate: Estimate, above: int = 0, below: int = 0) -> Estimate:
    """The estimate when the true value of some repeats may be larger (`above`) or smaller."""
    return replace(
        estimate,
        low=-np.inf if below else estimate.low,
        high=np.inf if above else estimate.high,
        censored=above + below,
    )
