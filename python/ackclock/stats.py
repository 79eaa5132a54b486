"""From repeats to statements: means with confidence intervals, paired differences, verdicts."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

Verdict = Literal["holds", "fails", "inconclusive"]

#: Fewer repeats than this give no verdict.
LEAST_REPEATS = 5


@dataclass(frozen=True)
class Estimate:
    """A mean over repeats with its confidence interval.

    A repeat that was cut off (a flow that had not converged when the run ended) is known
    only from below: `censored` counts such repeats, and `mean` is then a lower bound.
    """

    mean: float
    low: float
    high: float
    n: int
    censored: int = 0


def mean_ci(values: Sequence[float], level: float = 0.95, censored: int = 0) -> Estimate:
    """Mean and two-sided Student-t interval of independent repeats.

    One repeat has an infinite interval. Raises `ValueError` without any.
    """
    from scipy.special import stdtrit  # noqa: PLC0415 (0.15 s that only statistics need)

    if not values:
        raise ValueError("a mean needs at least one repeat")
    x = np.asarray(values, dtype=float)
    mean, n = float(x.mean()), len(x)
    if n == 1:
        return Estimate(mean, -np.inf, np.inf, n, censored)
    half = float(stdtrit(n - 1, (1 + level) / 2) * x.std(ddof=1) / np.sqrt(n))
    return Estimate(mean, mean - half, mean + half, n, censored)


def mean_ci_censored(
    values: Sequence[float | None], cut_off: Sequence[float], level: float = 0.95
) -> Estimate:
    """As `mean_ci`, with None for a repeat that was still going at its `cut_off`."""
    known = [end if value is None else value for value, end in zip(values, cut_off, strict=True)]
    return mean_ci(known, level, censored=sum(value is None for value in values))


def paired_difference(a: Sequence[float], b: Sequence[float], level: float = 0.95) -> Estimate:
    """Mean of a − b over repeats that share their seed."""
    return mean_ci([x - y for x, y in zip(a, b, strict=True)], level)


def paired_difference_censored(
    a: Sequence[float | None], b: Sequence[float | None], cut_off: Sequence[float]
) -> Estimate:
    """As `paired_difference`, with None for a repeat that was still going at its `cut_off`.

    Where a was cut off the difference is known from below; where b was, nothing bounds it.
    """
    known_a, known_b = (
        [end if value is None else value for value, end in zip(values, cut_off, strict=True)]
        for values in (a, b)
    )
    difference = paired_difference(known_a, known_b)
    if None in b:
        return replace(difference, low=-np.inf, high=np.inf)
    return replace(difference, censored=sum(value is None for value in a))


def verdict(estimate: Estimate, low: float = -np.inf, high: float = np.inf) -> Verdict:
    """Does the mean lie in [low, high]? Inconclusive where the interval straddles a bound.

    So are fewer than `LEAST_REPEATS` repeats.
    A mean with censored repeats is a lower bound: it can only show that `high` is exceeded.
    """
    if estimate.n < LEAST_REPEATS:
        return "inconclusive"
    if estimate.low > high:
        return "fails"
    if estimate.censored:
        return "inconclusive"
    if estimate.high < low:
        return "fails"
    return "holds" if low <= estimate.low and estimate.high <= high else "inconclusive"
