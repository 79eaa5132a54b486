"""The points of a sweep: a grid of the values of its axes, or a Latin hypercube."""

import functools
import itertools
import math
import random
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Context, Decimal
from itertools import pairwise
from typing import Any

from ackclock.base import units
from ackclock.base.errors import AckclockError
from ackclock.scenario.table import kinds_of, toml

#: Digits of a value between the ends of a range: in a grid, in a hypercube.
DIGITS, SAMPLE_DIGITS = 4, 6
#: Decimals of a parameter of an algorithm; and of a number, if its key does not allow fewer.
PARAMETER_DECIMALS, DECIMALS = 3, 9
#: Decimals of the kinds of fractions.
FRACTIONS = {"Thousandths": 3, "Millionths": 6, "Billionths": 9}
#: Most values of an axis, and most points of a sweep.
MOST_VALUES, MOST_POINTS = 10_000, 1_000_000
#: The ends of a range are below this, and a logarithmic one begins at `LEAST_END` or above.
MOST_END, LEAST_END = 1e15, 1e-15
#: The keys of a range.
_RANGE = ("from", "to", "points", "scale")

#: One value for each axis, as in a scenario file.
Point = tuple[Any, ...]


@dataclass(frozen=True)
class Axis:
    """A key of the scenario, or a parameter of an algorithm, with the values that it takes."""

    #: As in `Scenario.assign`: "bottleneck.buffer", "cubic:beta".
    key: str
    #: As in a scenario file. None: all from `low` to `high`.
    values: tuple[Any, ...] | None
    #: The ends of a range; None of a list.
    low: Any = None
    high: Any = None
    log: bool = False

    def at(self, fraction: float, digits: int = DIGITS) -> Any:
        """The value at a fraction from 0 (`low`, or the first value) up to 1."""
        if self.values is not None:
            return self.values[min(int(fraction * len(self.values)), len(self.values) - 1)]
        if fraction in (0, 1):
            return self.high if fraction else self.low
        low, high = (float(_number(end)[1]) for end in (self.low, self.high))
        number = low * (high / low) ** fraction if self.log else low + (high - low) * fraction
        return self._written(Context(prec=digits).create_decimal(number))

    def _written(self, number: Decimal) -> Any:
        """A number in the axis's base unit as in a scenario file."""
        base, _ = _number(self.low)
        if not base:
            if isinstance(self.low, int) and isinstance(self.high, int):
                return round(number)
            return round(float(number), _decimals(self.key))
        if base != "bdp":
            number = number.quantize(Decimal("1e-9") if base == "s" else Decimal(1))
        unit, size = _unit(self.high)
        if number < size:
            unit, size = _unit(self.low)
        return f"{(number / size).normalize():f}{unit}"

    @functools.cached_property  # a table asks it for each row
    def numeric(self) -> bool:
        """Whether its values are numbers, or quantities of one kind."""
        if self.values is None:
            return True
        bases = {_base(value) for value in self.values}
        return len(bases) == 1 and None not in bases

    @property
    def column(self) -> str:
        """Its column in the table: the key, with the unit of quantities as the last."""
        base = _base(self.low if self.values is None else self.values[0]) if self.numeric else ""
        return f"{self.key}_{base}" if base else self.key

    def in_table(self, value: Any) -> Any:
        """A value as in the table: a number in the column's unit, or text."""
        if not self.numeric:
            return value if isinstance(value, str) else toml(value)
        return float(_number(value)[1]) if isinstance(value, str) else value


def read(axes: Mapping[str, Any], *, sampled: bool) -> list[Axis]:
    """The axes of a sweep: lists of values, and ranges.

    A range has `points` in a grid; it has none where it is `sampled`.
    Raises `AckclockError` that names axis, value and fix.
    """
    flat = list(_flat(axes)) if isinstance(axes, Mapping) else []
    if not flat:
        raise AckclockError('axes is missing; write a table [axes], with rtt = ["20ms", "80ms"]')
    found = [_axis(key, value, sampled) for key, value in flat]
    for key in (axis.key for axis in found):
        if key == "seed":
            raise AckclockError("axes.seed: is no axis; write seeds = 10 beside [axes]")
    return found


def grid_size(axes: Sequence[Axis]) -> int:
    """How many points `grid` makes; raises `AckclockError` if they are too many."""
    points = math.prod(len(axis.values or ()) for axis in axes)
    if points > MOST_POINTS:
        raise AckclockError(
            f"axes: {points} points are more than {MOST_POINTS}; write fewer values"
        )
    return points


def grid(axes: Sequence[Axis]) -> list[Point]:
    """Each value of each axis with each of the others; the last axis varies fastest."""
    return list(itertools.product(*(axis.values or () for axis in axes)))


def hypercube(axes: Sequence[Axis], samples: int, seed: int) -> list[Point]:
    """A Latin hypercube (McKay, Beckman, Conover 1979), which `seed` repeats.

    Each axis is cut into as many equal parts as there are samples, and each part has one sample. An
    axis with a list has each value equally often.
    """
    draw = random.Random(seed)  # noqa: S311 (its `random()` is the same in every Python)
    columns = []
    for axis in axes:
        parts = sorted(range(samples), key=lambda _: draw.random())
        columns.append([axis.at((part + draw.random()) / samples, SAMPLE_DIGITS) for part in parts])
    return list(zip(*columns, strict=True))


def _flat(table: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Keys with dots: TOML reads them as tables in tables."""
    for name, value in table.items():
        key = f"{prefix}{name}"
        if isinstance(value, Mapping) and not value.keys() & set(_RANGE):
            yield from _flat(value, f"{key}.")
        else:
            yield key, value


def _axis(key: str, value: Any, sampled: bool) -> Axis:
    place = f"axes.{key} = {toml(value)}"
    if isinstance(value, Mapping):
        return _range(key, value, place, sampled)
    if not isinstance(value, list | tuple) or not value:
        like = toml([value, "…"]) if isinstance(value, str) else "[…]"
        raise AckclockError(
            f"{place}: write a list of values, like {key} = {like}, or "
            '{from = "10ms", to = "100ms", points = 5}'
        )
    if len(value) > MOST_VALUES:
        raise AckclockError(f"axes.{key}: {len(value)} values; write at most {MOST_VALUES}")
    axis = Axis(key, tuple(value))
    seen: dict[Any, Any] = {}
    for each in value:
        number = axis.in_table(each)
        if number in seen:
            raise AckclockError(
                f"axes.{key}: {toml(seen[number])} and {toml(each)} are the same; "
                "keep one of the two"
            )
        seen[number] = each
    return axis


def _range(key: str, table: Mapping[str, Any], place: str, sampled: bool) -> Axis:
    """A table with `from`, `to`, `scale` and, in a grid, `points`."""

    def refuse(fix: str) -> AckclockError:
        return AckclockError(f"{place}: {fix}")

    if unknown := [name for name in table if name not in _RANGE]:
        raise refuse(f"unknown key {unknown[0]}; a range has {', '.join(_RANGE)}")
    if missing := [name for name in ("from", "to") if name not in table]:
        raise refuse(f"{missing[0]} is missing")
    low, high, scale = table["from"], table["to"], table.get("scale", "linear")
    if scale not in ("linear", "log"):
        raise refuse('scale: choose "linear" or "log"')
    (unit, least), (other, most) = (_end(place, name, table[name]) for name in ("from", "to"))
    points: Any = table.get("points")
    mistakes = {
        "from and to: give both in units of one kind": unit != other,
        "to must be more than from": not least < most,
        f'from must be more than 0 ({LEAST_END:.0e} at least) with scale = "log"': scale == "log"
        and least < LEAST_END,
        "remove points: with samples the whole range is sampled": sampled and points is not None,
        f"write points = 2 to {MOST_VALUES}, how many values there are": not sampled
        and not (type(points) is int and 2 <= points <= MOST_VALUES),
    }
    for fix in (fix for fix, made in mistakes.items() if made):
        raise refuse(fix)
    axis = Axis(key, None, low, high, scale == "log")
    if sampled:
        return axis
    values = [axis.at(number / (points - 1)) for number in range(points)]
    numbers = [axis.in_table(value) for value in values]
    if any(number >= after for number, after in pairwise(numbers)):
        raise AckclockError(
            f"axes.{key}: points = {points} are too many from {toml(low)} to {toml(high)}: "
            f"values between them are rounded to {DIGITS} digits or fewer; write fewer points"
        )
    return replace(axis, values=tuple(values))


def _end(place: str, name: str, value: Any) -> tuple[str, Decimal]:
    """The base unit and the number of `from` or `to`."""
    try:
        base, number = _number(value)
    except ValueError as error:
        raise AckclockError(f"{place}: {name}: {error}") from None
    if not abs(float(number)) < MOST_END:  # nor is NaN
        ends = f"{-MOST_END:.0e} and {MOST_END:.0e} {base}".strip()
        raise AckclockError(f"{place}: {name} = {toml(value)}: write a number between {ends}")
    return base, number


def _number(value: Any) -> tuple[str, Decimal]:
    """The base unit (empty: a plain number) and the number; raises `ValueError`."""
    if isinstance(value, str):
        return units.quantity(value)
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ValueError(f"{toml(value)} is not a number, nor a quantity with a unit")  # noqa: TRY004
    return "", Decimal(str(value))


def _base(value: Any) -> str | None:
    """The base unit of a value (empty: a plain number); None if it is no number."""
    try:
        return _number(value)[0]
    except ValueError:
        return None


def _unit(text: str) -> tuple[str, Decimal]:
    """The unit of a quantity, and its size in the base unit."""
    unit = re.sub(r"^\s*[-+]?[\d.]+([eE][+-]?\d+)?\s*", "", text).strip()
    return unit, units.quantity(f"1{unit}")[1]


def _decimals(key: str) -> int:
    """How many decimals a number may have."""
    if ":" in key:
        return PARAMETER_DECIMALS
    kinds = kinds_of(key.rpartition(".")[2])
    return min((FRACTIONS[kind] for kind in kinds if kind in FRACTIONS), default=DECIMALS)
