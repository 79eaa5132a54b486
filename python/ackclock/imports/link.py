"""What commands of tc say of the link of a device."""

from dataclasses import dataclass, field
from typing import Any

from ackclock.base import units
from ackclock.imports.words import Words

#: Rate of a device of which tc sets none.
DEVICE = "1gbit"
#: Options of overheads that each have a value.
SIZES = ("mpu", "overhead", "linklayer")
COUNTED = "tc counts 14 bytes of Ethernet header of each packet, and this link none"
#: A full packet, and what Linux counts of its Ethernet header, bytes.
PACKET_BYTES, ETHERNET_BYTES = 1500, 14


@dataclass
class Link:
    """What the commands say of a device."""

    fields: dict[str, Any] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    #: Whether the queue that is read lies below another one.
    below: bool = False
    #: Handle of a prio → the band whose queue is read.
    bands: dict[str, str] = field(default_factory=dict)
    #: Of each of `SIZES` its value, as the rate counts them.
    framing: dict[str, str | int] = field(default_factory=dict)

    def rate(self, bps: int) -> None:
        self.fields["rate"] = units.rate_text(bps)
        if COUNTED not in self.notes:
            self.notes.append(COUNTED)

    def note_framing(self) -> None:
        """What the overheads of packets and cells make of the rate."""
        if self.framing and (note := framing_note(self.fields["rate"], self.framing)):
            self.notes = [each for each in self.notes if each != COUNTED] + [note]


def framing_of(words: Words, word: str) -> str | int:
    """The value of one of `SIZES`."""
    return words.next() if word == "linklayer" else words.signed()


def framing_note(rate: str, framing: dict[str, str | int]) -> str:
    """The rate at which full packets without overheads leave as fast; "" if it is the same.

    `framing`: values of `SIZES`; the overhead is added to what has an Ethernet header, the cells
    hold 48 of 53 bytes (`__qdisc_calculate_pkt_len`), or 64 of 65 (`cake_calc_overhead`).
    """
    plain = PACKET_BYTES + ETHERNET_BYTES
    counted = max(plain + int(framing.get("overhead", 0)), int(framing.get("mpu", 1)))
    match framing.get("linklayer"):
        case "atm" | "adsl":
            counted = -(-counted // 48) * 53
        case "ptm":
            counted += -(-counted // 64)
    if counted in (plain, PACKET_BYTES):
        return ""
    factor = PACKET_BYTES / counted
    fit = units.rate_text(1000 * round(units.rate_bps(rate) * factor / 1000))
    return (
        f"overheads of packets and cells are left out: {PACKET_BYTES} B count as {counted} B, so "
        f'write rate = "{fit}", {factor:.3f} of it'
    )
