"""A number over repeats with its interval; `stats` makes them."""

from dataclasses import dataclass, field


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
    #: In place of `repeats` where all repeats together give one number: it, of resampled repeats.
    resamples: tuple[float, ...] = field(default=(), compare=False, repr=False)

    @property
    def can_look(self) -> bool:
        """Whether `sequential` can judge it at a look, so that more repeats may decide it."""
        return bool(self.repeats or self.resamples)
