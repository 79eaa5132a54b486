"""Python's values as the engine reads them, in JSON."""

import json
import math
import sys
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

import numpy as np

from ackclock.base.errors import AckclockError

#: Attributes of what a card is judged by, and of an estimate.
_JUDGED = ("more", "margin", "unsafe", "mean", "low", "high", "n", "censored")


def plain(value: Any) -> Any:  # noqa: PLR0911 (one for each kind)
    """What a user gives, for JSON. What is no value of a scenario is its text, which is refused."""
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, int) and not -(1 << 63) <= value < 1 << 64:
        with suppress(OverflowError):
            return float(value)
        return "∞"
    if isinstance(value, int) or (isinstance(value, float) and math.isfinite(value)):
        return value
    if isinstance(value, list | tuple):
        return [plain(each) for each in value]
    if hasattr(value, "given"):  # a `Table`
        return plain(value.given)
    if isinstance(value, Mapping):
        return {text_of(key): plain(each) for key, each in value.items()}
    if hasattr(value, "item"):  # of NumPy
        return plain(value.item())
    return text_of(value)


def text_of(value: object) -> str:
    text = str(value)
    try:
        text.encode()
    except UnicodeEncodeError:
        raise AckclockError(f"{text!r} is not text in UTF-8: rename the file") from None
    return text


def number(value: Any) -> Any:
    """An argument of a measure, for JSON, which has no infinite numbers."""
    if isinstance(value, float) and not math.isfinite(value):
        return math.copysign(sys.float_info.max, value)
    if isinstance(value, list | tuple):
        return [number(each) for each in value]
    if isinstance(value, Mapping):
        return {key: number(each) for key, each in value.items()}
    if found := {key: number(getattr(value, key)) for key in _JUDGED if hasattr(value, key)}:
        return found
    return value.item() if isinstance(value, np.generic) else value


def columns(rows: Any) -> bytes:
    """The columns of a table that have whole numbers or names, as the engine reads them."""
    if not isinstance(rows, Mapping):
        series = ((each.name, each) for each in rows.rechunk().get_columns())
        rows = {
            name: each.to_physical().to_numpy()
            for name, each in series
            if not each.dtype.is_nested() and each.to_physical().dtype.is_unsigned_integer()
        }
    head = [[name, f"u{each.dtype.itemsize}", len(each)] for name, each in rows.items()]
    return b"\n".join([json.dumps(head).encode(), b"".join(map(_raw, rows.values()))])


def _raw(column: Any) -> bytes:
    made: bytes = column.tobytes()
    return made
