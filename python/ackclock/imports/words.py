"""The words of a command of tc, and the units of its quantities."""

import re
from dataclasses import dataclass
from decimal import Decimal

from ackclock.base.errors import AckclockError

_TIMES = {"": 1_000, "ns": 1, "us": 1_000, "ms": 10**6, "s": 10**9}
_TIMES |= {"usec": 1_000, "usecs": 1_000, "msec": 10**6, "msecs": 10**6, "sec": 10**9}
_TIMES |= {"secs": 10**9}
_PREFIXES = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12}
_PREFIXES |= {"ki": 2**10, "mi": 2**20, "gi": 2**30, "ti": 2**40}
#: In sizes every prefix is one of 1024.
_SIZES = {"": 1, "k": 2**10, "m": 2**20, "g": 2**30}
_NUMBER = re.compile(r"(\d{1,18}(?:\.\d{0,18})?|\.\d{1,18})([a-z%]*)")


@dataclass
class Words:
    """The words of a command that are not read yet."""

    command: str
    left: list[str]

    def __bool__(self) -> bool:
        return bool(self.left)

    def next(self) -> str:
        """The next word."""
        if not self.left:
            raise self.refused(f"a word is missing at its end, behind {self.command.split()[-1]}")
        return self.left.pop(0)

    def refused(self, why: str, what: str = "") -> AckclockError:
        """An error that names the command, and the place of `what`, or of its last word, in it."""
        read = self.command.split()
        del read[len(read) - len(self.left) :]
        named = re.findall(r"[^\s']+", what)[::-1]
        places = (at for word in named for at in range(len(read), 0, -1) if read[at - 1] == word)
        place = f"word {next(places, len(read))}: " if what else ""
        return AckclockError(f'"{self.command}": {place}{why}')

    def no_counterpart(self, what: str, instead: str) -> AckclockError:
        return self.refused(f"{what} has no counterpart in a scenario; {instead}", what)

    def if_number(self) -> str | None:
        """The next word, if it is a number."""
        return self.left.pop(0) if self.left and _NUMBER.fullmatch(self.left[0].lower()) else None

    def _quantity(self, units: dict[str, int], like: str) -> Decimal:
        word = self.next()
        found = _NUMBER.fullmatch(word.lower())
        if not found or found[2] not in units:
            raise self.refused(f'"{word}": write a quantity of tc, like {like}', word)
        return Decimal(found[1]) * units[found[2]]

    def time_ns(self) -> int:
        return int(self._quantity(_TIMES, "50ms"))

    def rate_bps(self) -> int:
        """A rate: of bits, or with "bps" of bytes."""
        units = {f"{prefix}bit": size for prefix, size in _PREFIXES.items()}
        units |= {f"{prefix}bps": 8 * size for prefix, size in _PREFIXES.items()}
        return int(self._quantity(units | {"": 1}, "10mbit"))

    def bytes(self) -> int:
        units = {f"{prefix}{end}": size for prefix, size in _SIZES.items() for end in ("", "b")}
        units |= {f"{prefix}bit": size // 8 for prefix, size in _SIZES.items() if prefix}
        word, *_ = self.next().partition("/")  # tbf's burst may have a cell size
        self.left.insert(0, word)
        return int(self._quantity(units, "15kb"))

    def integer(self) -> int:
        return int(self._quantity({"": 1}, "1000"))

    def signed(self) -> int:
        if not re.fullmatch(r"-?\d{1,9}", word := self.next()):
            raise self.refused(f'"{word}": write bytes, like 40', word)
        return int(word)

    def share(self) -> float:
        return float(self._quantity({"": 1}, "0.02"))

    def probability(self) -> float:
        word = self.left[0] if self.left else ""
        percent = self._quantity({"%": 1, "": 1}, "1%")
        if percent > 100:
            raise self.refused(f'"{word}": choose from 0% to 100%', word)
        return float(round(percent / 100, 9))
