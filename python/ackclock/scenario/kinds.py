"""The kinds of values that a key of a scenario has: what people write, and the canonical form.

A key's name is that of its canonical field without the unit: the field `start_ns` is the key
`start`, and "200ms" is 200000000 there.
"""

from collections.abc import Callable
from dataclasses import dataclass
from decimal import ROUND_HALF_UP, Decimal
from numbers import Real
from typing import Any, ClassVar

from pydantic import GetCoreSchemaHandler
from pydantic_core import core_schema

from ackclock.base import units

#: From which number on a quantity without a unit is in bytes or bits, rather than in MB or mbit.
_SMALL_UNITS = {"MB": ("B", 1000), "mbit": ("bit", 10**6)}


def _example(value: Any, like: str) -> str:
    """A number that lacks its unit, with the unit of `like` or a smaller one; or else `like`."""
    if not isinstance(value, int | float) or isinstance(value, bool) or not 0 < value < 10**18:
        return like
    unit = like.lstrip("0123456789.")
    small, least = _SMALL_UNITS.get(unit, (unit, 0))
    return f"{Decimal(str(value)).normalize():f}{small if value >= least else unit}"


def _plain(value: Any) -> Any:
    """A number of NumPy as Python's own."""
    return value.item() if isinstance(value, Real) and hasattr(value, "item") else value


@dataclass(frozen=True, repr=False)
class Kind:
    """What a key may be, from `low` to `high` in the canonical unit. help() shows its repr."""

    low: int
    high: int
    #: An example in an error, or the kind's own.
    like: str = ""
    #: What ends the name of the canonical field, and not that of the key.
    suffix: ClassVar[str] = ""

    def check(self, value: Any) -> Any:
        """The value, if it is allowed; raises `ValueError` that says what to write."""
        raise NotImplementedError

    def canonical(self, value: Any, mss: int) -> Any:  # noqa: ARG002 (of `Payload`)
        """The value in the canonical form; raises `ValueError`."""
        return value

    def written(self, number: int) -> Any:
        """What people write for a canonical value."""
        return number

    def __repr__(self) -> str:
        return f"{self.written(self.low)} to {self.written(self.high)}"

    def __get_pydantic_core_schema__(
        self, source: Any, handler: GetCoreSchemaHandler
    ) -> core_schema.CoreSchema:
        def check(value: Any) -> Any:
            return self.check(_plain(value))

        return core_schema.no_info_before_validator_function(check, handler(source))


class Integer(Kind):
    """A whole number."""

    def check(self, value: Any) -> int:
        if not isinstance(value, int) or isinstance(value, bool) or not self._allows(value):
            raise ValueError(f"write a whole number from {self!r}")
        return value

    def _allows(self, value: int) -> bool:
        return self.low <= value <= self.high


class Bytes(Integer):
    """A number of bytes without its unit, of things that have few."""

    suffix = "_bytes"


class Fraction(Kind):
    """A number with few decimals: the canonical form has it in a small unit, as an integer."""

    parts: ClassVar[int]

    @property
    def decimals(self) -> int:
        """How many it may have."""
        return len(str(self.parts)) - 1

    def check(self, value: Any) -> float:
        number = isinstance(value, int | float) and not isinstance(value, bool)
        if not number or not self.written(self.low) <= value <= self.written(self.high):
            raise ValueError(f"write a number from {self!r}")
        if value != round(value, self.decimals):
            words = {3: "three", 6: "six", 9: "nine"}
            raise ValueError(f"write at most {words[self.decimals]} decimals")
        return value  # type: ignore[no-any-return]

    def canonical(self, value: float, mss: int) -> int:  # noqa: ARG002
        return round(value * self.parts)

    def written(self, number: int) -> int | float:
        whole, rest = divmod(number, self.parts)
        return number / self.parts if rest else whole


class Thousandths(Fraction):
    """A number with at most three decimals."""

    suffix, parts = "_thousandths", 1_000


class Millionths(Fraction):
    """A number with at most six decimals, as of a probability."""

    suffix, parts = "_ppm", 1_000_000


class Billionths(Fraction):
    """A number with at most nine decimals, as of a small probability."""

    suffix, parts = "_ppb", 1_000_000_000


class File(Kind):
    """The path of a file, which `Scenario.resolve` reads."""

    def __repr__(self) -> str:
        return "the path of a file"

    def check(self, value: Any) -> str:
        if not isinstance(value, str) or not value:
            raise ValueError('write the path of a file in quotes, like "cellular.trace"')
        return value


class Trace(File):
    """The path of the file of a trace."""

    suffix = "_ms"


class _Text(Kind):
    """Text with a unit."""

    usual: ClassVar[str]
    sizes: ClassVar[dict[str, int]]
    parse: ClassVar[Callable[[str], int]]

    def check(self, value: Any) -> str:
        if not isinstance(value, str):
            example = _example(value, self.like or self.usual)
            raise ValueError(f'write text with a unit, like "{example}"')  # noqa: TRY004
        if not self.low <= type(self).parse(value) <= self.high:
            raise ValueError(f"choose from {self!r}")
        return value

    def canonical(self, value: str, mss: int) -> int:  # noqa: ARG002
        return type(self).parse(value)

    def written(self, number: int) -> str:
        if not number:
            return "0B" if isinstance(self, Size) else f"0{self.usual.lstrip('0123456789')}"
        size, unit = max((size, unit) for unit, size in self.sizes.items() if number % size == 0)
        return f"{number // size}{unit}"


class Time(_Text):
    """A time: "200ms"."""

    suffix, usual, parse = "_ns", "10s", units.duration_ns
    sizes: ClassVar = {unit: size for unit, size in units.TIME_UNITS.items() if unit != "min"}


class Rate(_Text):
    """A rate: "250mbit"."""

    suffix, usual, parse = "_bps", "250mbit", units.rate_bps
    sizes = units.RATE_UNITS

    def __repr__(self) -> str:
        # Of what may stand still, and else is as fast as a link.
        return super().__repr__() if self.low else f"1kbit to {self.written(self.high)}, or 0bit"


class Size(_Text):
    """A size: "2MB"."""

    suffix, usual, parse = "_bytes", "10MB", units.size_bytes
    sizes: ClassVar = {unit: size for unit, size in units.SIZE_UNITS.items() if "i" not in unit}


class Payload(Size):
    """A size, or full segments: "600packets"."""

    def __repr__(self) -> str:
        return '"10MB" or "600packets"'

    def check(self, value: Any) -> str:
        if not isinstance(value, str):
            raise ValueError(f"write text with a unit, like {self!r}")  # noqa: TRY004
        self._check_size(units.payload(value, 1))
        return value

    def canonical(self, value: str, mss: int) -> int:
        return self._check_size(units.payload(value, mss))

    def _check_size(self, size: int) -> int:
        if not self.low <= size <= self.high:
            raise ValueError(f"choose from {super().__repr__()}")
        return size


class Room(Kind):
    """The size of a queue: "1bdp", "100packets", "2MB" or "50ms". `low` to `high` count packets."""

    def __repr__(self) -> str:
        return '"1bdp", "100packets", "2MB" or "50ms"'

    def check(self, value: Any) -> str:
        if not isinstance(value, str):
            raise ValueError('write text with a unit, like "1bdp" or "100packets"')  # noqa: TRY004
        if units.buffer(value)[1] <= 0:
            raise ValueError(
                'a queue needs room for at least one packet; write "1bdp" or "100packets"'
            )
        return value

    def resolve(self, value: str, packet_bytes: int, rate_bps: int, rtt_ns: int) -> dict[str, int]:
        """The size in packets or bytes: a BDP to the nearest packet, a time to the nearest byte.

        Raises `ValueError` if it is too small or too large.
        """
        kind, room = units.buffer(value)
        if kind == "bdp":
            bits = room * rate_bps * rtt_ns / 10**9
            kind, room = "packets", (bits / (8 * packet_bytes)).to_integral_value(ROUND_HALF_UP)
        elif kind == "ns":
            kind, room = "bytes", (room * rate_bps / (8 * 10**9)).to_integral_value(ROUND_HALF_UP)
        least = self.low if kind == "packets" else packet_bytes
        if not least <= room <= self.high:
            raise ValueError(f"is {room} {kind}; choose from {least} to {self.high}")
        return {kind: int(room)}
