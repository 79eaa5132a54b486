"""Quantities as people write them ("250mbit", "200ms", "1bdp"), read exactly.

Numbers go through ``Decimal``, so "0.1ms" is 100000 ns and nothing is rounded:
a quantity finer than the unit of the simulator is refused.
"""

import re
from decimal import Decimal
from functools import lru_cache

#: Nanoseconds.
TIME_UNITS = {
    "ns": 1,
    "us": 10**3,
    "ms": 10**6,
    "s": 10**9,
    "min": 60 * 10**9,
    "h": 3600 * 10**9,
}
#: Bits per second, decimal as networks count.
RATE_UNITS = {"bit": 1, "kbit": 10**3, "mbit": 10**6, "gbit": 10**9, "tbit": 10**12}
#: Bytes: kB is 1000, KiB is 1024.
SIZE_UNITS = {
    "B": 1,
    "kB": 10**3,
    "MB": 10**6,
    "GB": 10**9,
    "KiB": 2**10,
    "MiB": 2**20,
    "GiB": 2**30,
}

#: What people write for a unit, in small letters → the units that they may mean.
_MEANT = {
    "sec": "s", "secs": "s", "second": "s", "seconds": "s", "msec": "ms", "usec": "us", "µs": "us",
    "μs": "us", "m": "min mbit MB", "minute": "min", "minutes": "min", "hour": "h", "hours": "h",
    "bps": "bit", "b": "bit", "bits": "bit", "kb": "kbit kB", "kbps": "kbit", "k": "kbit kB",
    "mb": "mbit MB", "mbps": "mbit", "mbits": "mbit", "gb": "gbit GB", "gbps": "gbit",
    "g": "gbit GB", "gbits": "gbit", "tb": "tbit", "tbps": "tbit", "byte": "B", "bytes": "B",
    "kib": "KiB", "mib": "MiB", "gib": "GiB", "pkt": "packets", "pkts": "packets", "p": "packets",
    "bdps": "bdp",
}  # fmt: skip

#: Longest text of a quantity.
MOST_CHARACTERS = 100
#: Each text has one way to match, so that a long one takes no longer than to read it.
_NUMBER = r"[0-9]+(?:\.[0-9]*)?|\.[0-9]+"
#: A rate in bytes, or in a unit that may mean bytes: "100MB/s", "100mb".
_BYTE_RATE = re.compile(rf"({_NUMBER})\s*(?:([kmgtKMGT]?)(B|[bB]ytes?)(?:/s|ps)?|([kmgt])b(?:/s)?)")
_QUANTITY = re.compile(rf"([+-]?(?:{_NUMBER})(?:[eE][+-]?[0-9]{{1,3}})?)\s*([^\W\d_]*(?:/s)?)")


@lru_cache(4096)  # a scenario of many sessions says the same many times
def duration_ns(text: str) -> int:
    """Time in ns, from "200ms"; raises ``ValueError`` that says what to write."""
    return _whole(text, TIME_UNITS, "200ms", "nanoseconds")


def rate_bps(text: str) -> int:
    """Rate in bit/s, from "250mbit"; raises ``ValueError`` that says what to write."""
    if found := _BYTE_RATE.fullmatch(text.strip()):
        number, of_bytes, _, of_either = found.groups()
        unit = f"{(of_bytes or of_either or '').lower()}bit"
        in_bits = f'"{(8 * Decimal(number)).normalize():f}{unit}"'
        if of_either:
            fix = f'did you mean "{number}{unit}", or {in_bits} ({number} {of_either.upper()}B/s)?'
        else:
            fix = f"did you mean {in_bits}?"
        raise ValueError(f"rates are in bits per second; {fix}")
    return _whole(text.lower().removesuffix("/s"), RATE_UNITS, "250mbit", "bits per second")


def size_bytes(text: str) -> int:
    """Size in bytes, from "10MB"; raises ``ValueError`` that says what to write."""
    return _whole(text, SIZE_UNITS, "10MB", "bytes")


@lru_cache(4096)
def payload(text: str, mss: int) -> int:
    """Payload in bytes, from "10MB" or "600packets" of `mss` bytes each; raises ``ValueError``."""
    units = SIZE_UNITS | {"packet": mss, "packets": mss}
    return _whole(text, units, "10MB", "bytes")


def buffer(text: str) -> tuple[str, Decimal]:
    """Room of a queue, from "1bdp", "100packets", "2MB" or "50ms".

    Returns "bdp", "packets", "bytes" or "ns" and how many (whole, but of BDPs);
    raises ``ValueError`` that says what to write.
    """
    times = {unit: size for unit, size in TIME_UNITS.items() if unit[-1] == "s"}
    units = {"bdp": 1, "packet": 1, "packets": 1} | SIZE_UNITS | times
    number, unit = _split(text, units, "1bdp", "100packets", "2MB")
    if unit.lower() == "bdp":
        return "bdp", number
    kind = "packets" if unit.startswith("packet") else "ns" if unit in times else "bytes"
    return kind, Decimal(_integer(number * units[unit], text, kind))


def quantity(text: str) -> tuple[str, Decimal]:
    """Any of these in the unit that ends the names of columns: "20ms" is ("s", 0.02).

    The unit is s, bps, bytes, packets or bdp; raises ``ValueError`` that says what to write.
    """
    of = {"s": TIME_UNITS, "bps": RATE_UNITS, "bytes": SIZE_UNITS}
    of |= {"packets": {"packet": 1, "packets": 1}, "bdp": {"bdp": 1}}
    every = {unit: (base, size) for base, units in of.items() for unit, size in units.items()}
    number, unit = _split(text, {unit: size for unit, (_, size) in every.items()}, "20ms", "1bdp")
    base, size = every[unit]
    return base, number * size / (10**9 if base == "s" else 1)


def _split(text: str, units: dict[str, int], *examples: str) -> tuple[Decimal, str]:
    like = " or ".join(f'"{example}"' for example in examples)
    if len(text) > MOST_CHARACTERS:
        raise ValueError(f"has {len(text)} characters; write a number and a unit, like {like}")
    match = _QUANTITY.fullmatch(text.strip())
    if not match:
        raise ValueError(f"write a number and a unit, like {like}")
    number, unit = match.groups()
    if not unit:
        like = " or ".join(f'"{number}{example.lstrip("0123456789")}"' for example in examples)
        raise ValueError(f"add a unit ({', '.join(units)}), like {like}")
    if unit not in units:
        meant = [each for each in _MEANT.get(unit.lower(), "").split() if each in units]
        fix = f'did you mean "{number}{meant[0]}"?' if meant else f"use one of {', '.join(units)}"
        raise ValueError(f'unknown unit "{unit}"; {fix}')
    return Decimal(number), unit


def _whole(text: str, units: dict[str, int], example: str, of: str) -> int:
    number, unit = _split(text, units, example)
    return _integer(number * units[unit], text, of)


def _integer(number: Decimal, text: str, of: str) -> int:
    if number != number.to_integral_value():
        raise ValueError(f"{text} is not a whole number of {of}; round it")
    return int(number)


def packets_in_words(packets: int) -> str:
    """How much was simulated: "36,215 data packets", "51.3 million data packets"."""
    few = packets < 10**6
    return f"{packets:,} data packets" if few else f"{packets / 1e6:,.1f} million data packets"
