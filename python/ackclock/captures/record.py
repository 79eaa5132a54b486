"""What a sender sent and was told, of each direction of a capture: what candidates follow."""

from array import array
from bisect import bisect_left, bisect_right
from dataclasses import dataclass, field
from pathlib import Path

from ackclock.results.capture import SYN, Capture, Direction, packets

ACK_KIND, NEW, AGAIN = 2, 0, 1
#: Numbers of a packet, as `_core.follow` takes them.
WORDS = 12
#: Before the first packet there is so much time, ns: a clock at 0 has no past.
BEFORE_NS = 10_000_000_000
SECOND_NS = 1_000_000_000
FIN, ECE = 0x01, 0x40


@dataclass
class Record:
    """The packets of one direction at its sender, in segments; times ns from a whole second."""

    of: Direction
    mss: int
    #: Rows of `WORDS` numbers.
    packets: "array[int]" = field(default_factory=lambda: array("Q"))
    #: Of each row the number of its packet in the capture, from 1.
    frames: list[int] = field(default_factory=list)
    established_ns: int = 0
    rtt_ns: int = 0
    has_start: bool = False
    has_stamps: bool = False
    has_sack: bool = False
    has_ecn: bool = False
    #: Stretches without new data (s from the same time): from, to, what held the sender back.
    gaps: list[tuple[float, float, str]] = field(default_factory=list)
    #: Where each segment ends, bytes.
    ends: list[int] = field(default_factory=list)
    #: Whether a FIN ends the data, and the largest window that ACKs show.
    is_closed: bool = False
    window_bytes: int = 0

    def rows(self) -> int:
        """How many packets it has."""
        return len(self.frames)


class _Recording(Capture):
    """Reads a capture as `explain` does, and keeps what each sender saw."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self.records: dict[tuple[str, str, str], Record] = {}
        self._zero_ns: int | None = None
        self._now_ns = 0
        self._frame = 0
        #: When a packet with this timestamp first left.
        self._stamps: dict[tuple[str, str, str], dict[str, int]] = {}
        self._windows: dict[tuple[str, str, str], str] = {}
        self._options: dict[str, list[bool]] = {}

    def take(self, packet: dict[str, str]) -> None:
        whole, _, part = packet["frame.time_epoch"].partition(".")
        at_ns = int(whole) * SECOND_NS + int(part.ljust(9, "0")[:9])
        if self._zero_ns is None:
            self._zero_ns = at_ns // SECOND_NS * SECOND_NS - BEFORE_NS
        self._now_ns = at_ns - self._zero_ns
        packet["frame.time_epoch"] = f"{self._now_ns / SECOND_NS:.9f}"
        self._frame = int(packet["frame.number"])
        flags = int(packet["tcp.flags"], 16)
        if flags & SYN:
            kept = self._options.setdefault(packet["tcp.stream"], [True, True, False])
            kept[0] &= bool(packet["tcp.options.timestamp.tsval"])
            kept[1] &= bool(packet["tcp.options.sack_perm"])
            kept[2] = bool(flags & ECE)
        super().take(packet)
        if flags & FIN:
            for key, record in self.records.items():
                own = f"{packet['ip.src'] or packet['ipv6.src']}:{packet['tcp.srcport']}"
                record.is_closed |= key[:2] == (packet["tcp.stream"], own)

    def _send(self, packet: dict[str, str], key: tuple[str, str, str], now_s: float) -> int:
        start = super()._send(packet, key, now_s)
        end = start + int(packet["tcp.len"])
        if key not in self.records:
            self.records[key] = self._begin(key, start)
        record = self.records[key]
        if stamp := packet["tcp.options.timestamp.tsval"]:
            self._stamps.setdefault(key, {}).setdefault(stamp, self._now_ns)
        ends = record.ends
        sent = ends[-1]
        if ends[0] < min(end, sent) and start < sent:  # not of before the capture
            again = max(bisect_right(ends, start) - 1, 0), bisect_left(ends, min(end, sent))
            self._add(record, AGAIN, again)
        if end > sent:
            first = len(ends) - 1
            ends.extend(range(sent + record.mss, end, record.mss))
            ends.append(end)
            self._add(record, NEW, (first, len(ends) - 1))
        return start

    def _begin(self, key: tuple[str, str, str], start: int) -> Record:
        stream, sender = key[0], self.senders[key]
        options = self._options.get(stream, [True, True, False])
        record = Record(sender.of, sender.mss, gaps=sender.gaps, ends=[start])
        rtt_s = self.handshakes.get(stream)
        record.has_start = rtt_s is not None
        record.rtt_ns = round((rtt_s or 0) * SECOND_NS)
        record.established_ns = self.established_ns.get(stream, self._now_ns)
        record.has_stamps, record.has_sack, record.has_ecn = options
        return record

    def _acknowledge(
        self, packet: dict[str, str], key: tuple[str, str, str], now_s: float
    ) -> tuple[int, list[tuple[int, int]]]:
        ack, sacks = super()._acknowledge(packet, key, now_s)
        record = self.records[key]
        ends = record.ends
        sent = self._stamps.get(key, {}).get(packet["tcp.options.timestamp.tsecr"], self._now_ns)
        segments = [(bisect_right(ends, a) - 1, bisect_right(ends, b) - 1) for a, b in sacks]
        is_dsack = bool(sacks) and (
            sacks[0][1] <= ack
            or (len(sacks) > 1 and sacks[1][0] <= sacks[0][0] and sacks[0][1] <= sacks[1][1])
        )
        window = packet["tcp.window_size"]
        is_new = self._windows.get(key) != window
        self._windows[key] = window
        record.window_bytes = max(record.window_bytes, int(window))
        flags = int(packet["tcp.flags"], 16)
        bits = is_dsack + 2 * bool(flags & ECE and record.has_ecn) + 4 * is_new
        acked = max(bisect_right(ends, ack) - 1, 0)
        self._add(record, ACK_KIND, (0, acked), sent, segments[:3], bits)
        return ack, sacks

    def _add(
        self,
        record: Record,
        kind: int,
        segments: tuple[int, int],
        echo_ns: int = 0,
        sacks: "list[tuple[int, int]] | tuple[()]" = (),
        bits: int = 0,
    ) -> None:
        last = record.packets[-WORDS:]
        same = kind != ACK_KIND and list(last[:2]) == [self._now_ns, kind]
        if same and segments[0] == last[3]:  # one burst
            record.packets[len(record.packets) - WORDS + 3] = segments[1]
            return
        blocks = [max(each, 0) for block in sacks for each in block]
        blocks += [0] * (6 - len(blocks))
        record.packets.extend((self._now_ns, kind, *segments, echo_ns, *blocks, bits))
        record.frames.append(self._frame)

    def _shake_hands(
        self, packet: dict[str, str], stream: str, own: str, now_s: float, flags: int
    ) -> None:
        had = stream in self.handshakes
        super()._shake_hands(packet, stream, own, now_s, flags)
        if not had and stream in self.handshakes:
            self.established_ns[stream] = self._now_ns

    established_ns: dict[str, int]


def records(path: Path) -> list[Record]:
    """What each sender of a capture saw, in order of its first data.

    Raises `AckclockError` as `explain` does.
    """
    recording = _Recording(path)
    recording.established_ns = {}
    for packet in packets(path):
        recording.take(packet)
    for sender in recording.senders.values():
        sender.finish()
    return [*recording.records.values()]
