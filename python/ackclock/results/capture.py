"""What a capture of packets says of its TCP connections; `docs/captures.md`.

tshark dissects the file. From its fields follows, of each direction with data, what RFC 6298 and
RFC 6675 let a sender know: RTT, bytes in flight, recoveries, timeouts. A capture does not show the
congestion window. What a sender was limited by follows from whether it answers ACKs with new data.
"""

import shutil
import subprocess
from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ackclock.base.errors import AckclockError

#: What tshark is asked for, of each packet.
FIELDS = (
    "frame.time_epoch", "frame.interface_id", "tcp.stream", "ip.src", "ipv6.src", "tcp.srcport",
    "ip.dst", "ipv6.dst", "tcp.dstport", "tcp.flags", "tcp.seq", "tcp.ack", "tcp.len",
    "tcp.window_size", "tcp.window_size_scalefactor", "tcp.options.mss_val",
    "tcp.options.timestamp.tsval", "tcp.options.sack_le", "tcp.options.sack_re",
    "frame.cap_len", "frame.len", "ip.id", "frame.number", "tcp.options.timestamp.tsecr",
    "tcp.options.sack_perm",
)  # fmt: skip
#: Those of each packet whose TCP header is whole.
NEEDED = ("tcp.stream", "tcp.srcport", "tcp.dstport", "tcp.flags", "tcp.seq", "tcp.len",
          "tcp.window_size")  # fmt: skip
SYN, RST, PSH, ACK = 2, 4, 8, 16
#: Ends that are no farther apart see the same, s; and a copy of a packet is no later.
NEAR_S = 0.001
#: What two packets of a connection do not share, unless one is a copy of the other.
NAMES_A_PACKET = ("tcp.stream", "ip.src", "ipv6.src", "tcp.srcport", "ip.id", "tcp.flags",
                  "tcp.seq", "tcp.ack", "tcp.len", "tcp.options.timestamp.tsval")  # fmt: skip
WRAP = 2**32
#: MSS of Ethernet, and what timestamps take of each packet.
DEFAULT_MSS, STAMPS_BYTES = 1460, 12
#: Linux's smallest retransmission timeout beyond the smoothed RTT, s.
LEAST_RTO_S = 0.2
#: Without an RTT a timeout takes this long (RFC 6298, 2.1), s.
FIRST_RTO_S = 1.0
#: A retransmission so late after the last progress is a timeout's, and after so much silence a
#: timer's; shares of the timeout that is estimated. What an ACK sets off comes at once.
TIMED_OUT, SILENT = 0.9, 0.5
#: An ACK sets off what it lets the sender send in less time than this, s.
ANSWERS_S = 0.001
#: Linux puts off new data until a third of the window is free (tcp_tso_win_divisor): a sender which
#: does not send when more is free has nothing to send.
DEFERRED = 1 / 3
#: A sender may begin with as many (RFC 6928), packets.
INITIAL_WINDOW = 10
#: A window that loses nothing and does not grow is no loss-based one: the data in flight differs
#: by a packet at most in this share of the time that it held the sender back, and in so many RTTs.
FLAT, FLAT_RTTS = 0.8, 20
#: What does not show where the data arrives.
NOT_SEEN = (
    "median_rtt_s", "mean_in_flight_bytes", "most_in_flight_bytes", "recoveries", "timeouts",
    "probes", "limit", "limited", "flat",
)  # fmt: skip
LIMITS = ("cwnd", "receiver", "application", "host", "recovery")


@dataclass
class Direction:
    """The data of a connection in one direction. Times are s, rates bit/s."""

    sender: str
    receiver: str
    bytes: int = 0
    packets: int = 0
    retransmitted_packets: int = 0
    recoveries: int = 0
    timeouts: int = 0
    #: Retransmissions by a timer that came before the timeout: tail loss probes (RFC 8985).
    probes: int = 0
    handshake_rtt_s: float | None = None
    rtts_s: list[float] = field(default_factory=list)
    most_in_flight_bytes: int = 0
    mean_in_flight_bytes: float = 0.0
    first_s: float = 0.0
    last_s: float = 0.0
    #: Seconds in which each of `LIMITS` held the sender back.
    limited_s: dict[str, float] = field(default_factory=lambda: dict.fromkeys(LIMITS, 0.0))
    #: Seconds in which its cwnd, or what looks so, held it back, by the packets then in flight.
    held_s: dict[int, float] = field(default_factory=dict)
    #: Whether the receive window is known: the capture has the handshake.
    knows_window: bool = False
    #: Whether the capture has too few bytes of a packet for the options of its ACKs.
    is_cut: bool = False
    #: Packets of the connection that the capture shows once more: they count as nothing else.
    copies: int = 0

    @property
    def limit(self) -> str | None:
        """What limited it most of the time; None if it sent only once."""
        most = max(self.limited_s, key=lambda name: self.limited_s[name])
        return most if self.limited_s[most] > 0 else None

    @property
    def is_flat(self) -> bool:
        """Whether without losses the data in flight stays the same, as of a small send buffer."""
        held_s = self.held_s
        flat_s = max((held_s[at] + held_s.get(at + 1, 0.0) for at in held_s), default=0.0)
        if self.retransmitted_packets or not self.rtts_s or self.limit != "cwnd":
            return False
        return flat_s > max(FLAT * sum(held_s.values()), FLAT_RTTS * min(self.rtts_s))

    @property
    def is_at_receiver(self) -> bool:
        """Whether the capture is nearer to the receiver, where the RTT of data is not seen."""
        if self.handshake_rtt_s is None or not self.rtts_s:
            return False
        median_s = sorted(self.rtts_s)[len(self.rtts_s) // 2]
        return self.handshake_rtt_s > NEAR_S and median_s < self.handshake_rtt_s / 2

    def numbers(self) -> dict[str, Any]:
        """What there is to tell, as JSON takes it."""
        ordered = sorted(self.rtts_s)
        least = [*ordered[:1], *([] if self.handshake_rtt_s is None else [self.handshake_rtt_s])]
        seconds = self.last_s - self.first_s
        total_s = sum(self.limited_s.values())
        told = {
            "from": self.sender,
            "to": self.receiver,
            "bytes": self.bytes,
            "packets": self.packets,
            "seconds": seconds,
            "rate_bps": 8 * self.bytes / seconds if seconds else None,
            "handshake_rtt_s": self.handshake_rtt_s,
            "min_rtt_s": min(least, default=None),
            "median_rtt_s": ordered[len(ordered) // 2] if ordered else None,
            "mean_in_flight_bytes": self.mean_in_flight_bytes,
            "most_in_flight_bytes": self.most_in_flight_bytes,
            "retransmitted_packets": self.retransmitted_packets,
            "recoveries": self.recoveries,
            "timeouts": self.timeouts,
            "probes": self.probes,
            "limit": self.limit,
            "limited": {name: seconds / total_s if total_s else None
                        for name, seconds in self.limited_s.items()},
            "flat": self.is_flat,
            "copies": self.copies,
            "captured_at": "sender",
        }  # fmt: skip
        if self.is_at_receiver:
            told |= dict.fromkeys(NOT_SEEN) | {
                "captured_at": "receiver", "min_rtt_s": self.handshake_rtt_s,
            }  # fmt: skip
        return told


@dataclass
class _Segment:
    """Data on its way: bytes from `start` to `end`."""

    start: int
    end: int
    sent_s: float
    is_new: bool = True
    is_sacked: bool = False


class Sender:
    """Follows one direction of a connection."""

    def __init__(self, direction: Direction, mss_bytes: int) -> None:
        self.of = direction
        self.mss = mss_bytes
        self._una = self._nxt = 1
        self._window: int | None = None
        #: Data on its way, in order of its bytes, and where each segment starts.
        self._segments: list[_Segment] = []
        self._starts: list[int] = []
        self._sacked = 0
        #: Packets that arrived above a hole, as ACKs without SACK blocks tell (RFC 6582); None if
        #: there are blocks.
        self._above: int | None = 0
        #: Whether the newest packet is shorter than the path takes, and whether it has the flag
        #: PSH: a sender sets it when no more data is queued (RFC 9293, 3.9.1.2).
        self._is_short = self._is_pushed = False
        self._srtt_s = self._rttvar_s = 0.0
        #: Highest byte at the first retransmission; None if nothing is being repaired.
        self._repairs: int | None = None
        #: When the timeout began to run, how often it doubled, and when the receiver last spoke.
        self._armed_s = self._last_ack_s = 0.0
        self._backoff = 0
        #: The last new data: when, what was in flight then, and what has been ACKed since.
        self._gap: tuple[float, int, str] | None = None
        self._acked = 0
        #: When so much of that was ACKed that what is queued should have been sent.
        self._freed_s: float | None = None
        self._now_s = 0.0
        self._byte_seconds = 0.0
        #: Stretches without new data: from, to, and what held it back.
        self.gaps: list[tuple[float, float, str]] = []

    def send(self, now_s: float, start: int, length: int, *, is_pushed: bool) -> None:
        """A packet with data."""
        self._tick(now_s)
        of, end = self.of, start + length
        count = -(-length // self.mss)
        of.packets += count
        if not of.first_s:
            of.first_s = now_s
            self._una = self._nxt = start
        if start >= self._nxt:
            self._close_gap(now_s)
            if not self._segments:
                self._armed_s = now_s
            self._append(_Segment(start, end, now_s))
            of.bytes += end - self._nxt
            self._is_short, self._is_pushed = length % self.mss > 0, is_pushed
            self._nxt = end
            self._open_gap(now_s)
        elif end > self._una:
            of.retransmitted_packets += count
            self._again(now_s, start, end)
        else:
            of.retransmitted_packets += count  # of what has arrived
        of.last_s = now_s
        of.most_in_flight_bytes = max(of.most_in_flight_bytes, self._flight())

    def _again(self, now_s: float, start: int, end: int) -> None:
        """Data that has been sent before."""
        silent_s = now_s - self._last_ack_s
        rto_s = FIRST_RTO_S
        if self._srtt_s:
            rto_s = self._srtt_s + max(4 * self._rttvar_s, LEAST_RTO_S)
        rto_s *= 2**self._backoff
        timer = silent_s > SILENT * rto_s
        if timer and now_s - self._armed_s >= TIMED_OUT * rto_s and start <= self._first_hole():
            self.of.timeouts += 1
            self._backoff += 1
            self._armed_s = now_s
            self._close_gap(now_s)
            self._repairs = self._nxt
        elif self._repairs is None and silent_s > self._srtt_s > 0:
            self.of.probes += 1
            self._armed_s = now_s
        elif self._repairs is None:
            self.of.recoveries += 1
            self._close_gap(now_s)
            self._repairs = self._nxt
        at = max(bisect_right(self._starts, start) - 1, 0)
        for segment in self._segments[at:]:
            if segment.start >= end:
                break
            segment.is_new = False

    def take_receiver_packet(
        self, now_s: float, ack: int, window: int | None, sacks: list[tuple[int, int]]
    ) -> None:
        """A packet of the receiver."""
        self._tick(now_s)
        self._last_ack_s = now_s
        is_update = window is not None and window != self._window
        if window is not None:
            self._window = window
        before = self._una
        self._count_above(ack, is_dup=not is_update and ack == before, has_sacks=bool(sacks))
        if before < ack <= self._nxt:
            self._advance(now_s, ack)
        for start, end in sacks:
            self._sack(now_s, start, end)
        if self._repairs is None:
            self._acked += self._una - before
            if self._gap and not self._freed_s:
                is_freed = self._acked > DEFERRED * self._gap[1] + 2 * self.mss
                self._freed_s = now_s if is_freed else None
        elif self._una >= self._repairs and any(
            not each.is_new and not each.is_sacked for each in self._segments
        ):
            # What was lost meanwhile, and is sent again, begins the next recovery (RFC 6675, 5).
            self.of.recoveries += 1
            self._repairs = self._nxt
        elif self._una >= self._repairs:
            self._repairs = None
            self._open_gap(now_s)

    def _count_above(self, ack: int, *, is_dup: bool, has_sacks: bool) -> None:
        """Linux's `tcp_add_reno_sack` and `tcp_remove_reno_sacks`."""
        if has_sacks or self._above is None:
            self._above = None
        elif is_dup:
            most = (self._nxt - self._una) // self.mss - 1  # one is the hole
            self._above = max(min(self._above + 1, most), 0)
        elif self._above and self._una < ack <= self._nxt:
            acked = -(-(ack - self._una) // self.mss)
            self._above = max(self._above - acked + 1, 0) if ack < self._nxt else 0

    def _advance(self, now_s: float, ack: int) -> None:
        count = bisect_left(self._starts, ack)
        done, self._segments = self._segments[:count], self._segments[count:]
        del self._starts[:count]
        if done and done[-1].end > ack:  # half of it
            last = done[-1]
            done[-1] = _Segment(last.start, ack, last.sent_s, last.is_new, last.is_sacked)
            rest = _Segment(ack, last.end, last.sent_s, last.is_new, last.is_sacked)
            self._segments.insert(0, rest)
            self._starts.insert(0, ack)
        self._una = ack
        self._sacked -= sum(each.end - each.start for each in done if each.is_sacked)
        self._armed_s, self._backoff = now_s, 0
        if done and all(each.is_new and not each.is_sacked for each in done):
            self._measure(now_s - done[-1].sent_s)

    def _sack(self, now_s: float, start: int, end: int) -> None:
        at = bisect_left(self._starts, start)
        newest = None
        for segment in self._segments[at:]:
            if segment.end > end:
                break
            if not segment.is_sacked:
                segment.is_sacked = True
                self._sacked += segment.end - segment.start
                newest = segment
        if newest is not None and newest.is_new:
            self._measure(now_s - newest.sent_s)

    def _measure(self, rtt_s: float) -> None:
        self.of.rtts_s.append(rtt_s)
        if not self._srtt_s:
            self._srtt_s, self._rttvar_s = rtt_s, rtt_s / 2
            return
        self._rttvar_s += (abs(rtt_s - self._srtt_s) - self._rttvar_s) / 4
        self._srtt_s += (rtt_s - self._srtt_s) / 8

    def _append(self, segment: _Segment) -> None:
        self._segments.append(segment)
        self._starts.append(segment.start)

    def _first_hole(self) -> int:
        """Where the first byte is that the receiver lacks."""
        return next((each.start for each in self._segments if not each.is_sacked), self._una)

    def _flight(self) -> int:
        """Bytes that the sender takes to be on their way, or lost."""
        return self._nxt - self._una - self._sacked - (self._above or 0) * self.mss

    def _tick(self, now_s: float) -> None:
        if self._now_s:
            passed_s = now_s - self._now_s
            self._byte_seconds += passed_s * self._flight()
            if self._repairs is not None:
                self.of.limited_s["recovery"] += passed_s
        self._now_s = now_s

    def _open_gap(self, now_s: float) -> None:
        """From now on nothing new is sent; the receiver's window may be why."""
        is_full = False
        if self._window is not None:  # room for less than a packet, or half the window (RFC 9293)
            room = self._una + self._window - self._nxt
            is_full = room < min(self.mss, self._window // 2 + 1)
        self._gap = (
            now_s,
            self._flight(),
            "receiver" if is_full and self.of.knows_window else "cwnd",
        )
        self._acked, self._freed_s = 0, None

    def _is_below_initial(self) -> bool:
        """Whether it has lost nothing, and never used the window with which it began."""
        of = self.of
        is_small = of.most_in_flight_bytes < INITIAL_WINDOW * self.mss
        return is_small and of.knows_window and not of.retransmitted_packets

    def _close_gap(self, now_s: float) -> None:
        """New data is sent, or a repair begins: says what held the sender back until now."""
        if self._gap is not None:
            since_s, flight, why = self._gap
            # Nothing is in flight; the last ACK set off nothing, or the data ended in mid-packet.
            is_idle = self._una == self._nxt and (
                self._is_short or now_s - self._last_ack_s > ANSWERS_S
            )
            is_unused = self._is_below_initial() and now_s - self._last_ack_s > ANSWERS_S
            is_freed = self._freed_s is not None and now_s - self._freed_s > ANSWERS_S
            if why == "cwnd" and self._is_pushed and (is_idle or is_freed or is_unused):
                why = "application"
            elif why == "cwnd" and is_freed and self._freed_s:  # queued data: its host is late
                self.of.limited_s["host"] += now_s - self._freed_s
                now_s = self._freed_s
            self.of.limited_s[why] += now_s - since_s
            self.gaps.append((since_s, now_s, why))
            if why == "cwnd":
                held_s, packets = self.of.held_s, flight // self.mss
                held_s[packets] = held_s.get(packets, 0.0) + now_s - since_s
        self._gap = None

    def finish(self) -> None:
        """The capture ends."""
        seconds = self._now_s - self.of.first_s
        self.of.mean_in_flight_bytes = self._byte_seconds / seconds if seconds > 0 else 0.0


class Capture:
    """The connections of a file, packet by packet."""

    def __init__(self, path: Path) -> None:
        self.senders: dict[tuple[str, str, str], Sender] = {}
        self._path = path
        #: Of each direction its interface.
        self._interfaces: dict[tuple[str, str], str] = {}
        #: Packets of the last `NEAR_S`, and when they came.
        self._recent: dict[tuple[str, ...], float] = {}
        #: Of each connection: when its SYN came, its RTT, and its MSS.
        self._syns: dict[str, float] = {}
        self.handshakes: dict[str, float] = {}
        self._sizes: dict[str, int] = {}
        #: Ends whose window scale is known.
        self._scaled: set[tuple[str, str]] = set()
        #: The newest sequence number of each direction.
        self._newest: dict[tuple[str, str, str], int] = {}

    def take(self, packet: dict[str, str]) -> None:
        """Takes a packet, as tshark tells it."""
        stream = packet["tcp.stream"]
        own = f"{packet['ip.src'] or packet['ipv6.src']}:{packet['tcp.srcport']}"
        other = f"{packet['ip.dst'] or packet['ipv6.dst']}:{packet['tcp.dstport']}"
        now_s, flags = float(packet["frame.time_epoch"]), int(packet["tcp.flags"], 16)
        if self._is_copy(packet, now_s):
            for key in ((stream, own, other), (stream, other, own)):
                if key in self.senders:
                    self.senders[key].of.copies += 1
            return
        interface = packet["frame.interface_id"]
        if self._interfaces.setdefault((stream, own), interface) != interface:
            raise AckclockError(
                f"{self._path}: shows a connection at two interfaces; keep one: "
                f'tshark -r {self._path} -Y "frame.interface_id == 0" -w one.pcapng'
            )
        self._shake_hands(packet, stream, own, now_s, flags)
        if int(packet["tcp.len"]):
            self._send(packet, (stream, own, other), now_s)
        if packet["tcp.ack"] and not flags & RST and (stream, other, own) in self.senders:
            self._acknowledge(packet, (stream, other, own), now_s)

    def _acknowledge(
        self, packet: dict[str, str], key: tuple[str, str, str], now_s: float
    ) -> tuple[int, list[tuple[int, int]]]:
        """The receiver of a direction tells it what has arrived. Returns that, without wrap."""
        sender, near = self.senders[key], self._newest[key]
        sacks = [(_unwrapped(each, near), _unwrapped(end, near)) for each, end in _sacks(packet)]
        ack = _unwrapped(int(packet["tcp.ack"]), near)
        sender.of.is_cut |= _is_cut(packet)
        sender.take_receiver_packet(now_s, ack, int(packet["tcp.window_size"]), sacks)
        return ack, sacks

    def _is_copy(self, packet: dict[str, str], now_s: float) -> bool:
        """Whether it is there twice, as of a mirror or of all interfaces (`-i any`).

        A host numbers its packets (IP ID). Without a number, as of IPv6, data of the same time
        stamp is a copy too; an ACK may be one of several that are alike.
        """
        if not (int(packet["ip.id"] or "0", 16) or int(packet["tcp.len"])):
            return False
        name = tuple(packet[field] for field in NAMES_A_PACKET)
        while self._recent and now_s - next(iter(self._recent.values())) > NEAR_S:
            del self._recent[next(iter(self._recent))]
        is_there = name in self._recent
        self._recent.setdefault(name, now_s)
        return is_there

    def _shake_hands(
        self, packet: dict[str, str], stream: str, own: str, now_s: float, flags: int
    ) -> None:
        if flags & SYN:
            if not flags & ACK:  # the last of several is answered
                self._syns[stream] = now_s
            if not _is_cut(packet):
                self._scaled.add((stream, own))
            most = int(packet["tcp.options.mss_val"] or DEFAULT_MSS)
            if packet["tcp.options.timestamp.tsval"]:
                most -= STAMPS_BYTES
            self._sizes[stream] = min(self._sizes.get(stream, most), most)
        elif stream in self._syns and stream not in self.handshakes:
            self.handshakes[stream] = now_s - self._syns[stream]

    def _send(self, packet: dict[str, str], key: tuple[str, str, str], now_s: float) -> int:
        """Data leaves. Returns its sequence number, without wrap."""
        stream, own, other = key
        sequence = int(packet["tcp.seq"])
        if key not in self.senders:
            made = Direction(own, other, handshake_rtt_s=self.handshakes.get(stream))
            made.knows_window = (stream, other) in self._scaled
            size = self._sizes.get(stream, DEFAULT_MSS - STAMPS_BYTES)
            self.senders[key] = Sender(made, size)
            self._newest[key] = sequence
        sequence = _unwrapped(sequence, self._newest[key])
        self._newest[key] = max(self._newest[key], sequence)
        is_pushed = bool(int(packet["tcp.flags"], 16) & PSH)
        self.senders[key].send(now_s, sequence, int(packet["tcp.len"]), is_pushed=is_pushed)
        return sequence


def explain(path: Path) -> list[Direction]:
    """Each direction of each TCP connection of a capture that has data, in order of its first.

    The RTT is that from the place of the capture to the receiver and back. Raises `AckclockError`
    if the file is no capture, or tshark is missing.
    """
    capture = Capture(path)
    for packet in packets(path):
        capture.take(packet)
    for sender in capture.senders.values():
        sender.finish()
    return [sender.of for sender in capture.senders.values()]


def _unwrapped(number: int, near: int) -> int:
    """The sequence number nearest to another that is this one in 32 bits."""
    return near + (number - near + WRAP // 2) % WRAP - WRAP // 2


def _is_cut(packet: dict[str, str]) -> bool:
    """Whether the capture ends in its TCP header: of what carries no data, every byte is header."""
    return packet["tcp.len"] == "0" and int(packet["frame.cap_len"]) < int(packet["frame.len"])


def _sacks(packet: dict[str, str]) -> Iterator[tuple[int, int]]:
    starts, ends = packet["tcp.options.sack_le"], packet["tcp.options.sack_re"]
    if ends:  # a short snaplen cuts a block in two
        yield from zip(map(int, starts.split(",")), map(int, ends.split(",")), strict=False)


def packets(path: Path) -> Iterator[dict[str, str]]:
    """The TCP packets of a capture, as tshark tells them."""
    if not path.is_file():
        what = "is no file" if path.exists() else "no such file"
        raise AckclockError(f"{path}: {what}; name a capture (pcap or pcapng)")
    if not path.stat().st_size:
        raise AckclockError(f"{path}: the file is empty; name a capture (pcap or pcapng)")
    if path.suffix in (".qlog", ".sqlog"):
        raise AckclockError(f"{path}: is no capture; `ackclock conform {path} CASE` judges a qlog")
    if not shutil.which("tshark"):
        raise AckclockError("explain needs tshark, which is missing: apt-get install tshark")
    asked = [part for name in FIELDS for part in ("-e", name)]
    words = ["tshark", "-n", "-r", str(path), "-Y", "tcp", "-T", "fields", *asked]
    with subprocess.Popen(
        words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, errors="replace"
    ) as process:
        assert process.stdout is not None and process.stderr is not None  # noqa: PT018
        seen = 0
        for seen, line in enumerate(process.stdout, 1):  # noqa: B007 (counts)
            # Of an ICMP error that quotes a packet tshark tells two values of a field.
            packet = dict(zip(FIELDS, line.rstrip("\n").split("\t"), strict=True))
            # Of a header that is cut or damaged it tells none of some.
            if "," not in packet["tcp.stream"] + packet["ip.src"] and all(map(packet.get, NEEDED)):
                yield packet
        said = process.stderr.read()
        if process.wait() and not (seen and "cut short" in said):  # as of a tcpdump that was killed
            reason = said.strip().splitlines()[-1].removeprefix("tshark: ").rstrip(".")
            raise AckclockError(f"{path}: {reason}; name a capture (pcap or pcapng)")
