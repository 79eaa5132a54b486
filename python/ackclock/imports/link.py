"""What commands of tc say of the link of a device."""

from dataclasses import dataclass, field
from typing import Any

from ackclock.imports.words import Words
from ackclock.scenario.kinds import Rate

#: Rate of a device of which tc sets none.
DEVICE = "1gbit"
#: Options of overheads that each have a value.
SIZES = ("mpu", "overhead", "linklayer")
COUNTED = "tc counts 14 bytes of Ethernet header of each packet, and this link none"
OVERHEAD = "overheads of packets and cells are left out: lower the rate by their share"


@dataclass
class Link:
    """What the commands say of a device."""

    fields: dict[str, Any] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    #: Whether the queue that is read lies below another one.
    below: bool = False
    #: Handle of a prio → the band whose queue is read.
    bands: dict[str, str] = field(default_factory=dict)

    def rate(self, bps: int) -> None:
        self.fields["rate"] = Rate(0, 0).written(bps)
        if COUNTED not in self.notes:
            self.notes.append(COUNTED)

    def left_out(self, words: Words, word: str) -> None:
        """An option of overheads, and its value."""
        words.next()
        if word != "mpu":  # ACKs alone are smaller
            self.notes.append(OVERHEAD)
