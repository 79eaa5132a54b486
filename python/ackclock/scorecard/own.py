"""Calls a user's own function, whose answer is a number."""

import math
import traceback
from collections.abc import Callable
from numbers import Real
from typing import TypeVar

from ackclock.base.errors import AckclockError

T = TypeVar("T")


def number(function: Callable[[T], float], of: T, called: str) -> float:
    """What `function(of)` returns.

    Raises `AckclockError` that begins with `called` if it raises, or returns no finite number.
    """
    try:
        found = function(of)
    except AckclockError:
        raise
    except Exception as error:
        said = " ".join(f"{called}: {type(error).__name__}: {error}".split())
        # The first frame is this one.
        frames = traceback.extract_tb(error.__traceback__)[1:]
        where = [each.lineno for each in frames if each.filename == frames[0].filename]
        place = f" ({frames[0].filename}:{where[-1]})" if frames else ""
        raise AckclockError(said + place) from error
    if not isinstance(found, Real) or not math.isfinite(found):
        raise AckclockError(f"{called} returned {found!r}: return a finite number")
    return float(found)
