"""The packets of a simulated run as a pcapng file, for Wireshark, tshark and tcptrace.

`docs/interchange.md` says what the file shows.
"""

import os
import struct
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from ackclock.base.directory import replaced
from ackclock.base.errors import AckclockError

#: The interfaces that a file may show.
PLACES = ("sender", "receiver", "both")
#: Bytes of each packet that are kept by default: all headers.
SNAPLEN = 96
LEAST_SNAPLEN, MOST_SNAPLEN = 94, 262_144


@dataclass(frozen=True)
class Pcapng:
    """Where the packets of a run go: `run(scenario, pcapng=Pcapng("run.pcapng"))`.

    Raises `AckclockError` if a value is wrong.
    """

    #: The file; it is replaced when the run is over.
    path: str | os.PathLike[str]
    #: Whose interface: "sender" (of the data), "receiver" or "both".
    at: str = "sender"
    #: Bytes of each packet to keep; the rest is data, all 0.
    snaplen: int = SNAPLEN

    def __post_init__(self) -> None:
        if self.at not in PLACES:
            raise AckclockError(
                f'at = "{self.at}": unknown interface; choose from {", ".join(PLACES)}'
            )
        if not LEAST_SNAPLEN <= self.snaplen <= MOST_SNAPLEN:
            raise AckclockError(
                f"snaplen = {self.snaplen}: must be between {LEAST_SNAPLEN} (all headers) and "
                f"{MOST_SNAPLEN} bytes"
            )


#: What `_core.run_many` takes.
Raw = tuple[Path, str, int]


@contextmanager
def written(pcapng: "Pcapng | str | os.PathLike[str] | None") -> Iterator[Raw | None]:
    """Has the engine write a file, which takes its name when the block ends without an error."""
    if pcapng is None:
        yield None
        return
    wanted = pcapng if isinstance(pcapng, Pcapng) else Pcapng(pcapng)
    path = Path(wanted.path)
    if path.is_dir():
        raise AckclockError(f"{path}: is a directory; name a file, such as {path / 'run.pcapng'}")
    try:
        with replaced(path) as file:
            yield file, wanted.at, wanted.snaplen
    except OSError as error:
        raise AckclockError(
            f"{wanted.path}: cannot be written ({error.strerror or error}); choose another file"
        ) from None


class Captured(NamedTuple):
    """A packet of a file that we wrote."""

    time_ns: int
    content: bytes


def captured(data: bytes) -> list[Captured]:
    """The packets of such a file (Enhanced Packet Blocks, in nanoseconds), in their order."""
    found, at = [], 0
    while at < len(data):
        kind, length, _, high, low, kept = struct.unpack_from("<6I", data.ljust(at + 24), at)
        if kind == 6:
            found.append(Captured((high << 32) + low, data[at + 28 : at + 28 + kept]))
        at += length
    return found
