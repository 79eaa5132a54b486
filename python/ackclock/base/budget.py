"""A budget in seconds: work that tells its progress ends when it is used up."""

import time
from collections.abc import Callable

from ackclock.base.errors import AckclockError


class LateError(AckclockError):
    """The budget is used up."""


def within(budget_s: float | None, progress: Callable[[float], None]) -> Callable[[float], None]:
    """`progress`, which raises `LateError` when `budget_s` is over, None: never.

    Raises `AckclockError` if it is no number of seconds.
    """
    if budget_s is None:
        return progress
    if not (isinstance(budget_s, (int, float)) and budget_s >= 0):
        raise AckclockError(f"budget_s = {budget_s!r}: write seconds from 0, like 60")
    until_s = time.monotonic() + budget_s

    def tell(fraction: float) -> None:
        if time.monotonic() > until_s:
            raise LateError(f"the budget of {budget_s:g} s ended")
        progress(fraction)

    return tell
