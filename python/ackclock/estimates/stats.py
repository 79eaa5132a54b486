"""Bootstrap intervals and verdicts over repeated runs.

A repeat may be cut off, such as a flow that had not converged when the run ended. Then only a bound
is known (`repeats`), and `Estimate.censored` counts it. The open end of the interval is then
infinite, so verdicts are right without special treatment.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import lru_cache
from statistics import NormalDist
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from ackclock.estimates.estimate import Estimate

__all__ = [
    "LEAST_REPEATS",
    "RESAMPLES",
    "Estimate",
    "Verdict",
    "exact",
    "exponential",
    "f_quantile",
    "mean_ci",
    "student_t",
    "systematic_ci",
    "variance_ratio",
    "verdict",
]

Verdict = Literal["holds", "fails", "open"]

#: With fewer repeats the verdict is "open".
LEAST_REPEATS = 5
#: Resamples per interval. Their random stream is fixed: equal repeats give equal intervals.
RESAMPLES = 10_000
_SEED = 1979


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
    resamples = x[_resampled(n)]
    tail = NormalDist().cdf(-math.sqrt(n / (n - 1)) * student_t((1 + level) / 2, n - 1))
    low, high = np.quantile(statistic(resamples, axis=1), [tail, 1 - tail])
    return Estimate(middle, float(low), float(high), n, repeats=repeats)


def systematic_ci(values: Sequence[float], level: float = 0.95) -> Estimate:
    """Mean of repeats at even steps over a range, in their order, and its interval.

    What changes slowly over the range is no error of the mean, so that the variance is that of
    second differences (Wolter, "Introduction to Variance Estimation", 2007, section 8.2, v3), whose
    degrees of freedom are Satterthwaite's: neighbours share values. Fewer than 4 repeats have the
    interval of `mean_ci`. Raises `ValueError` without repeats.
    """
    if len(values) < 4:
        return mean_ci(values, level)
    x = np.asarray(values, dtype=float)
    n = len(x)
    spread = math.sqrt(float((np.diff(x, 2) ** 2).sum()) / (6 * n * (n - 2)))
    # The covariances of neighbouring second differences are 6, -4 and 1.
    freedom = (6 * (n - 2)) ** 2 / (36 * (n - 2) + 32 * (n - 3) + 2 * (n - 4))
    half = student_t((1 + level) / 2, freedom) * spread
    middle = float(x.mean())
    return Estimate(middle, middle - half, middle + half, n, repeats=tuple(x.tolist()))


@lru_cache(maxsize=1)
def _resampled(n: int) -> NDArray[np.int64]:
    """Which of `n` repeats each resample has. Drawing takes longer than the rest of an interval."""
    return np.random.default_rng(_SEED).integers(0, n, (RESAMPLES, n))


def exponential(of: Estimate) -> Estimate:
    """An estimate of a logarithm as one of the number itself: a geometric mean."""
    mean, low, high = np.exp([of.mean, of.low, of.high]).tolist()
    return replace(of, mean=mean, low=low, high=high, repeats=tuple(np.exp(of.repeats).tolist()))


def verdict(estimate: Estimate, low: float = -np.inf, high: float = np.inf) -> Verdict:
    """Whether the mean lies in [low, high].

    Open if the interval includes a bound, or if there are fewer than `LEAST_REPEATS`
    repeats. A single bound is strict ("> 0"): equal repeats are not "better".
    """
    if 0 < estimate.n < LEAST_REPEATS:
        return "open"
    if estimate.low > high or estimate.high < low:
        return "fails"
    if math.isinf(low) != math.isinf(high):
        holds = estimate.low > low if math.isinf(high) else estimate.high < high
    else:
        holds = low <= estimate.low and estimate.high <= high
    return "holds" if holds else "open"


def variance_ratio(groups: Sequence[Sequence[float]]) -> Estimate | None:
    """Mean square between groups over that within them (one-way analysis of variance).

    Its interval excludes 1 from above exactly if the F test says, at 5 %, that groups differ: of
    normal repeats it has the ratio of the expected mean squares in 90 of 100 cases, with 5 on each
    side. None if nothing varies within the groups, or with a single group.
    """
    sizes = [len(group) for group in groups]
    between, within = len(groups) - 1, sum(sizes) - len(groups)
    means = [float(np.mean(group)) for group in groups]
    overall = float(np.average(means, weights=sizes))
    among = sum(n * (mean - overall) ** 2 for n, mean in zip(sizes, means, strict=True))
    inside = sum(
        float(((np.asarray(x) - m) ** 2).sum()) for x, m in zip(groups, means, strict=True)
    )
    if not (between and within and inside):
        return None
    f = among / between / (inside / within)
    low, high = (f / f_quantile(p, between, within) for p in (0.95, 0.05))
    return Estimate(f, low, high, sum(sizes))


def f_quantile(probability: float, between: int, within: int) -> float:
    """Quantile of the F distribution with these degrees of freedom."""
    low, high = 0.0, 1.0
    for _ in range(60):
        x = (low + high) / 2
        low, high = (x, high) if _beta(x, between / 2, within / 2) < probability else (low, x)
    return within * x / (between * (1 - x))


def _beta(x: float, a: float, b: float) -> float:
    """Regularised incomplete beta function, by its continued fraction (DLMF 8.17.22)."""
    if x > (a + 1) / (a + b + 2):
        return 1 - _beta(1 - x, b, a)
    # The fraction, from its end: 1 / (1 + d1 / (1 + d2 / (1 + ...))).
    fraction = 1.0
    for m in range(200, 0, -1):
        even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m))
        odd = -(a + m - 1) * (a + b + m - 1) * x / ((a + 2 * m - 2) * (a + 2 * m - 1))
        fraction = 1 + odd / (1 + even / fraction)
    logs = math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b)
    return math.exp(logs + a * math.log(x) + b * math.log1p(-x)) / (a * fraction) if x else 0.0


def student_t(probability: float, freedom: float) -> float:
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
