"""Quantities as people write them ("250mbit", "200ms", "1bdp"), read exactly.

A quantity finer than the unit of the simulator is refused. `crates/resolve/src/units.rs` has the
rules.
"""

from decimal import Decimal

from ackclock import _core

#: In ns, in bit/s (decimal, as networks count), and in bytes: kB is 1000, KiB is 1024.
TIME_UNITS, RATE_UNITS, SIZE_UNITS = (
    dict(dict(_core.quantity_units())[kind]) for kind in ("Time", "Rate", "Size")
)


def duration_ns(text: str) -> int:
    """Time in ns, from "200ms"; raises ``ValueError`` that says what to write."""
    return _core.read_quantity("Time", text)


def rate_bps(text: str) -> int:
    """Rate in bit/s, from "250mbit"; raises ``ValueError`` that says what to write."""
    return _core.read_quantity("Rate", text)


def size_bytes(text: str) -> int:
    """Size in bytes, from "10MB"; raises ``ValueError`` that says what to write."""
    return _core.read_quantity("Size", text)


def payload(text: str, mss: int) -> int:
    """Payload in bytes, from "10MB" or "600packets" of `mss` bytes each; raises ``ValueError``."""
    return _core.read_quantity("Payload", text, mss)


def time_text(ns: int) -> str:
    """Text with a unit, "200ms", from a time in ns."""
    return _core.write_quantity("Time", ns)


def rate_text(bps: int) -> str:
    """Text with a unit, "250mbit", from a rate in bit/s."""
    return _core.write_quantity("Rate", bps)


def buffer(text: str) -> tuple[str, Decimal]:
    """Room of a queue, from "1bdp", "100packets", "2MB" or "50ms".

    Returns "bdp", "packets", "bytes" or "ns" and how many (whole, but of BDPs);
    raises ``ValueError`` that says what to write.
    """
    kind, number = _core.read_room(text)
    return kind, Decimal(number)


def quantity(text: str) -> tuple[str, Decimal]:
    """Any of these in the unit that ends the names of columns: "20ms" is ("s", 0.02).

    The unit is s, bps, bytes, packets or bdp; raises ``ValueError`` that says what to write.
    """
    base, number, size = _core.any_quantity(text)
    return base, Decimal(number) * size / (10**9 if base == "s" else 1)


def packets_in_words(packets: int) -> str:
    """How much was simulated: "36,215 data packets", "51.3 million data packets"."""
    few = packets < 10**6
    return f"{packets:,} data packets" if few else f"{packets / 1e6:,.1f} million data packets"


def counted(number: int, noun: str) -> str:
    """A number of things: "1 file", "2 quantities"."""
    if number == 1:
        return f"1 {noun}"
    return f"{number} {noun.removesuffix('y')}ies" if noun.endswith("ty") else f"{number} {noun}s"
