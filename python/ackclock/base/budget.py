"""A budget in seconds: work ends when it is used up, whether it tells its progress or not."""

import os
import signal
import time
from collections.abc import Callable, Generator, Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Self, TypeVar

from ackclock.base import chosen
from ackclock.base.errors import AckclockError, AlgorithmError

T = TypeVar("T")

#: No process of a call has more open files when it begins.
MOST_FILES = 64


class LateError(AckclockError):
    """The budget is used up."""


@dataclass(frozen=True)
class Budget:
    """Of some work; None: it has all time."""

    seconds: float | None
    until_s: float

    @classmethod
    def of(cls, seconds: float | None) -> Self:
        """From now on. Raises `AckclockError` if it is no number of seconds."""
        if seconds is not None and not (isinstance(seconds, (int, float)) and seconds >= 0):
            raise AckclockError(f"budget_s = {seconds!r}: write seconds from 0, like 60")
        return cls(seconds, time.monotonic() + (seconds or 0))

    def check(self) -> None:
        """Raises `LateError` when it is over."""
        if self.seconds is not None and time.monotonic() > self.until_s:
            raise LateError(f"the budget of {self.seconds:g} s ended")

    def within(self, progress: Callable[[float], None]) -> Callable[[float], None]:
        """`progress`, which raises `LateError` when it is over."""

        def tell(fraction: float) -> None:
            self.check()
            progress(fraction)

        return tell

    def ending(self, make: Callable[..., Iterator[T]]) -> Callable[..., Iterator[T]]:
        """`make` for a process of its own (`contained`), which ends with the budget.

        Nothing needs to tell its progress: a compiler does not.
        """
        if self.seconds is None or chosen.NAME == "portable":  # which has no such process
            return make
        return partial(_ending, make, self.until_s)

    def told(self, found: Iterator[T]) -> Generator[T, None, None]:
        """What `found` yields; raises `LateError` where its process ended with the budget."""
        try:
            yield from found
        except AlgorithmError:
            self.check()
            raise


def _ending(
    make: Callable[..., Iterator[T]], until_s: float, *given: object
) -> Generator[T, None, None]:
    if signal.getitimer(signal.ITIMER_REAL)[0] > 0:  # within another it ends with that
        yield from make(*given)
        return
    for pipe in range(3, MOST_FILES):  # a compiler that outlives it keeps none open
        with suppress(OSError):
            os.set_inheritable(pipe, False)
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    signal.setitimer(signal.ITIMER_REAL, max(until_s - time.monotonic(), 1e-6))
    try:
        yield from make(*given)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
