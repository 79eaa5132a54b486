"""Scripts of packetdrill as packet scripts of ours (docs/packet-scripts.md), for one engine."""

import ast
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path

from ackclock import _core
from ackclock.base.chosen import need_native
from ackclock.base.errors import AckclockError

#: A longer script is not read whole.
MOST_BYTES = 1 << 20
_PARTS = re.compile(
    r"(?P<blank>//[^\n]*|/\*.*?\*/|\s+)|(?P<option>--[^\n]*)|(?P<shell>`[^`]*`)"
    r"|(?P<code>%\{.*?\}%)|(?P<line>(?:[^\n`%/]|/(?![/*])|%(?!\{))+)",
    re.DOTALL,
)
_TIME = re.compile(r"(\+?)(\d*\.?\d+)(?:(?:~|\.\.\.)(\+?)(\d*\.?\d+))?(?=\s|$)|\*")
_PACKET = re.compile(
    r"([<>])\s*(?:\[(\w+)\]\s*)?([FSRPEW.]+)\s+(\d+):(\d+)\((\d+)\)"
    r"(?:\s+ack\s+(\d+))?(?:\s+win\s+(\d+))?\s*(?:<([^>]*)>)?"
)
_CALL = re.compile(r"(\w+)\s*\((.*)\)\s*=\s*(.+)")
#: What a script may say of the kernel, as this endpoint has it.
_USUAL = {
    "tcp_congestion_control": "cubic",
    "tcp_dsack": "1",
    "tcp_frto": "2",
    "tcp_pacing_ca_ratio": "120",
    "tcp_pacing_ss_ratio": "200",
    "tcp_reordering": "3",
    "tcp_tso_win_divisor": "3",
}
#: The handshake shows what they mean.
_SHOWN = {"tcp_ecn", "tcp_sack", "tcp_timestamps"}
_SWITCHES = {
    ("tcp_early_retrans", "0"): "without tlp",
    ("tcp_recovery", "0"): "without rack",
    ("tcp_slow_start_after_idle", "0"): "without idle-restart",
}
_QUIET_CALLS = {"accept", "bind", "connect", "fcntl", "getsockopt", "listen", "poll", "socket"}
_OPTIONS = {"...", "TS", "eol", "mss", "nop", "sack", "sackOK", "wscale"}
_WRITES = {"write", "send", "sendto"}
_QUIET_OPTIONS = {"SO_REUSEADDR", "IP_TOS", "IP_MTU_DISCOVER", "TCP_NODELAY"}
_CUBIC = re.compile(r"echo (\d+) > /sys/module/tcp_cubic/parameters/(\w+)")
_DEFAULTS = re.compile(r"\S*/defaults\.sh")
_QDISC = re.compile(r"tc qdisc (?:add|replace) dev \S+ root (fq|pfifo)")
_QUIET_COMMAND = re.compile(r"|tc qdisc del(ete)? .*|ip tcp_metrics .*|\S*sysctl_restore\S*")
_FIELDS = {f"tcpi_{each}": each for each in ("lost", "sacked", "retrans", "unacked", "reordering")}
_FIELDS |= {"tcpi_snd_cwnd": "cwnd", "tcpi_snd_ssthresh": "ssthresh", "tcpi_ca_state": "state"}
_FIELDS |= {"tcpi_busy_time": "busy_us", "tcpi_rwnd_limited": "rwnd_limited_us"}
_FIELDS |= {"tcpi_min_rtt": "min_rtt_us", "tcpi_last_data_recv": "last_data_received_ms"}
_STATES = ("open", "disorder", "cwr", "recovery", "loss")
_MOST = (1 << 64) - 1


@dataclass
class _Packet:
    leaves: bool
    flags: str
    first: int
    end: int
    ack: int | None
    window: int
    options: dict[str, str]


@dataclass
class Said:
    """A script in our language, and what it cannot say but does not need."""

    text: str
    notes: list[str]


@dataclass
class _Script:
    settings: list[str] = field(default_factory=lambda: ["socket", "open end", "hz 1000"])
    notes: list[str] = field(default_factory=list)
    lines: list[str] = field(default_factory=list)
    algorithm: dict[str, str] = field(default_factory=dict)
    sysctl: dict[str, str] = field(default_factory=dict)
    constants: dict[str, int] = field(default_factory=dict)
    tolerance_us: int = 4_000
    now_us: int = 0
    #: Of the script's last event that ours has, too.
    last_us: int = 0
    #: SYN and SYN-ACK: which way the first went, when the last came, and what they agree on.
    syn: _Packet | None = None
    syn_us: int = 0
    answer: _Packet | None = None
    is_open: bool = False
    connection: str = ""
    scale: int = 0
    mss: int = 0
    sndbuf: int = 1 << 40
    written: int = 0
    total: int = 0
    una: int = 1
    #: Where packets of the other end begin and end.
    arrivals: list[int] = field(default_factory=list)

    def foresee(self, body: str) -> None:
        """Notes how much is written in all, and where packets of the other end begin and end."""
        if (found := _CALL.fullmatch(body)) and found[1] in _WRITES and found[3].isdecimal():
            self.total += int(found[3])
        if (found := _PACKET.fullmatch(body)) and found[1] == "<" and "S" not in found[3]:
            end = int(found[5])
            self.arrivals = sorted({*self.arrivals, int(found[4]), end, end + ("F" in found[3])})

    def event(self, time: str, kind: str, body: str) -> None:
        """One event, at this time as it stands there."""
        at_us, tolerance_us = self.clock(time, kind)
        if kind == "option":
            name, _, value = body.partition("=")
            if name != "--tolerance_usecs":
                raise ValueError(f"the option {body} is not said")
            self.tolerance_us = int(value)
        elif kind == "shell":
            self.shell(body.strip("`"))
        elif kind == "code":
            self.code(body[2:-2].strip(), at_us)
        elif found := _PACKET.fullmatch(body):
            self.packet(_packet(found), at_us, tolerance_us)
        elif found := _CALL.fullmatch(body):
            arguments = [each.strip() for each in found[2].split(",")]
            self.call(found[1], arguments, found[3], at_us)
        else:
            raise ValueError(f"{body!r} is no event of packetdrill that is said")

    def clock(self, time: str, kind: str) -> tuple[int, int]:
        """When an event is, and how early or late it may be: 4 ms, or an eighth of the wait."""
        if time == "*":
            return self.now_us, 10**9
        found = _TIME.fullmatch(time)
        if not found:
            return self.now_us, self.tolerance_us
        last_us = self.now_us
        start_us, end_us = (
            round(float(each or 0) * 1e6) + (last_us if sign else 0)
            for sign, each in (found.group(1, 2), found.group(3, 4))
        )
        half_us = (end_us - start_us) // 2 if found[4] and kind == "line" and "~" in time else 0
        self.now_us = start_us + half_us
        return self.now_us, max(self.tolerance_us, (start_us - last_us) // 8) + half_us

    # --- numbers of bytes are numbers of segments

    def segment(self, number: int, most: bool = False) -> int:
        """The segment with this byte; with `most` the next, unless the byte is its first."""
        offset = number - 1
        if offset >= self.total:
            return -(-self.total // self.mss) + offset - self.total
        return -(-offset // self.mss) if most else offset // self.mss

    def whole(self, number: int) -> int:
        if self.segment(number) != self.segment(number, most=True):
            raise ValueError(f"byte {number} is inside a segment of {self.mss} bytes")
        return self.segment(number)

    def arrival(self, number: int) -> int:
        if number not in self.arrivals:
            raise ValueError(f"byte {number} is inside a packet of the other end")
        return self.arrivals.index(number)

    # --- events

    def emit(self, event: str, at_us: int, tolerance_us: int | None = None) -> None:
        wait = f"+{(at_us - self.last_us) / 1000:g}"
        own = "" if tolerance_us is None else f"~{tolerance_us / 1000:g}"
        self.lines.append(f"{wait}{own} {event}")
        self.last_us = at_us

    def packet(self, packet: _Packet, at_us: int, tolerance_us: int) -> None:
        if others := packet.options.keys() - _OPTIONS:
            raise ValueError(f"the option {min(others)} of TCP is not simulated")
        if "R" in packet.flags and packet.leaves:
            self.emit("> reset", at_us, tolerance_us)
        elif "R" in packet.flags:
            raise ValueError("a reset of the other end is not said")
        elif not self.is_open:
            self.shake(packet, at_us)
        elif "S" in packet.flags:
            raise ValueError("a SYN that comes again is not said; one handshake is")
        elif packet.leaves:
            self.leaves(packet, at_us, tolerance_us)
        else:
            self.arrives(packet, at_us)

    def shake(self, packet: _Packet, at_us: int) -> None:
        """One packet of the handshake."""
        if packet.end > packet.first or (self.syn and self.answer and "S" in packet.flags):
            raise ValueError("a handshake with data, or one that is repeated, is not said")
        if self.syn is None:
            self.syn, self.syn_us = packet, at_us
        elif self.answer is None:
            self.answer = packet
            if not packet.leaves:
                self.open(packet, packet, at_us)
            self.syn_us = at_us
        else:
            self.open(self.syn, packet, at_us)

    def open(self, theirs: _Packet, last: _Packet, at_us: int) -> None:
        """The connection is open: the `last` packet of the other end comes now."""
        assert self.syn
        assert self.answer
        options = [self.syn.options, self.answer.options]
        both = {each for each in theirs.options if any(each in of or "..." in of for of in options)}
        agreed = {each for each in both if all(each in of or "..." in of for of in options)}
        if "TS" in agreed:
            raise ValueError("timestamps of chosen values are not said")
        self.scale = int(theirs.options["wscale"]) if "wscale" in agreed else 0
        self.mss = min(int(theirs.options.get("mss", 536)), 1460)
        shown = last.window << (0 if "S" in last.flags else self.scale)
        self.settings += [f"rtt {max(at_us - self.syn_us, 1) / 1000:g}", f"mss {self.mss}"]
        self.settings += [f"window {shown // self.mss}", "without timestamps"]
        self.settings += ["without sack"] * ("sackOK" not in agreed)
        self.settings += ["ecn"] * ("E" in self.syn.flags and "E" in self.answer.flags)
        self.is_open, self.last_us = True, at_us

    def leaves(self, packet: _Packet, at_us: int, tolerance_us: int) -> None:
        fin = "F" in packet.flags
        if packet.end > packet.first or fin:
            last = packet.end + (fin and packet.end == packet.first)
            push = "push" if "P" in packet.flags else "plain"
            event = f"> {self.whole(packet.first)}:{self.whole(last)} by any {push}"
        elif packet.first == self.una - 1:
            event = "> probe"
        elif at_us == self.last_us and not self.lines and not packet.options:
            return  # the last packet of a handshake that we began
        else:
            event = f"> ack {self.arrival(packet.ack or 1)}{self.sacks(packet, self.arrival)}"
        self.emit(event, at_us, tolerance_us)

    def arrives(self, packet: _Packet, at_us: int) -> None:
        fin, ack = "F" in packet.flags, packet.ack or self.una
        has_data = packet.end > packet.first or fin
        if not has_data or ack > self.una or "sack" in packet.options:
            event = f"< ack {self.whole(ack)}{self.sacks(packet, None)}"
            event += " ece" * ("E" in packet.flags)
            self.emit(f"{event} win {packet.window << self.scale}", at_us)
        self.una = max(self.una, ack)
        if has_data:
            first, end = self.arrival(packet.first), self.arrival(packet.end + fin)
            if end != first + 1:
                raise ValueError("packets of the other end overlap: that is not said")
            push = " push" * ("P" in packet.flags) + " fin" * fin
            self.emit(f"< {first}:{end}{push}", at_us)

    def sacks(self, packet: _Packet, number: Callable[[int], int] | None) -> str:
        """SACK blocks. Of ours a part of a segment says nothing (`tcp_match_skb_to_sack`)."""
        blocks = []
        for block in packet.options.get("sack", "").split():
            start, end = (int(each) for each in block.split(":"))
            inside = (self.segment(start, most=True), self.segment(end))
            if number:
                inside = (number(start), number(end))
            if inside[0] < inside[1]:
                blocks.append(((start, end), f" {inside[0]}:{inside[1]}"))
        if not blocks:
            return ""
        (start, end), first = blocks[0]
        within = len(blocks) > 1 and blocks[1][0][0] <= start and end <= blocks[1][0][1]
        if end <= (packet.ack or 0) or within:
            rest = "".join(each for _, each in blocks[1:])
            return f" dsack{first}" + (f" sack{rest}" if rest else "")
        return " sack" + "".join(each for _, each in blocks)

    def call(self, name: str, arguments: list[str], result: str, at_us: int) -> None:
        """A call of the socket's application."""
        if result.startswith("-1") and "EINPROGRESS" not in result:
            raise ValueError(f"{name}() that fails is not said")
        if name in _WRITES:
            self.write(int(result), at_us)
        elif name in {"close", "shutdown"}:
            if self.is_open and arguments[0] == self.connection:
                self.emit("close", at_us)
        elif name == "setsockopt":
            self.option(arguments[2], arguments[3])
        elif name not in _QUIET_CALLS:
            raise ValueError(f"{name}() is not said")
        self.connection = {"connect": arguments[0], "accept": result}.get(name, self.connection)

    def write(self, size: int, at_us: int) -> None:
        if size > 2 * self.sndbuf:
            raise ValueError("a write that SO_SNDBUF holds back is not said: skbs count there")
        if self.written % self.mss:
            raise ValueError(f"a write behind one that is no multiple of {self.mss} bytes")
        self.written += size
        self.emit(f"write {-(-size // self.mss)}", at_us)

    def option(self, name: str, value: str) -> None:
        if name == "SO_SNDBUF":
            self.sndbuf = int(value.strip("[]"))
        elif name == "TCP_USER_TIMEOUT":
            self.notes.append(f"no connection ends by {name} here")
        elif name not in _QUIET_OPTIONS:
            raise ValueError(f"{name} is not simulated")

    def code(self, text: str, at_us: int) -> None:
        """Assertions of Python about `tcp_info`."""
        looks = []
        for each in ast.parse(text.replace("\\\n", " ").rstrip("; \\")).body:
            match each:
                case ast.Assign([ast.Name(name)], value):
                    self.constants[name] = self.number(value)
                case ast.AugAssign(ast.Name(name), ast.Add(), value):
                    self.constants[name] += self.number(value)
                case ast.Assert(ast.Compare(left, operators, right)):
                    looks.append(self.look([left, *right], operators))
                case ast.Expr(ast.Call(ast.Name("print"))):
                    pass
                case _:
                    raise ValueError(f"`{ast.unparse(each)}`: write assert NAME == NUMBER")
        for look in looks:
            self.emit(f"= {look}", at_us, self.tolerance_us)

    def look(self, terms: list[ast.expr], operators: list[ast.cmpop]) -> str:
        low, high, name = 0, _MOST, ""
        for (left, right), operator in zip(pairwise(terms), operators, strict=True):
            swapped = isinstance(left, ast.Name) and left.id.startswith("tcpi_")
            one, other = (left, right) if swapped else (right, left)
            if not isinstance(one, ast.Name) or one.id not in _FIELDS:
                raise ValueError(f"{ast.unparse(one)} is not among {', '.join(sorted(_FIELDS))}")
            name, number = _FIELDS[one.id], self.number(other)
            kind = type(operator).__name__
            if swapped:
                kind = kind.translate(str.maketrans("LG", "GL"))
            match kind:
                case "Eq":
                    low, high = max(low, number), min(high, number)
                case "Lt" | "LtE":
                    low = max(low, number + (kind == "Lt"))
                case "Gt" | "GtE":
                    high = min(high, number - (kind == "Gt"))
                case _:
                    raise ValueError("compare with ==, <, <=, > or >=")
        if name == "state":
            return f"state {_STATES[low]}"
        return f"{name} {low}" if low == high else f"{name} {low}..{high}"

    def number(self, term: ast.expr) -> int:
        match term:
            case ast.Constant(int(value)):
                return value
            case ast.Name(name) if name.removeprefix("TCP_CA_").lower() in _STATES:
                return _STATES.index(name.removeprefix("TCP_CA_").lower())
            case ast.Name(name) if name in self.constants:
                return self.constants[name]
        raise ValueError(f"{ast.unparse(term)} is no number")

    # --- the kernel's settings

    def shell(self, text: str) -> None:
        for line in re.split(r"[\n;]|&&", text.replace("\\\n", " ")):
            command = re.sub(r"(^|\s)#.*|\s+\d?>\s*/dev/null", "", line).strip()
            if found := _CUBIC.fullmatch(command):
                self.algorithm[found[2]] = found[1]
            elif _DEFAULTS.fullmatch(command):
                self.sysctl |= {"tcp_slow_start_after_idle": "0"}
            elif command.startswith("sysctl ") or "/set_sysctls.py " in command:
                pairs = (each.split("=", 1) for each in command.split() if "=" in each)
                self.sysctl |= {re.split(r"[./]", name)[-1]: value for name, value in pairs}
            elif found := _QDISC.fullmatch(command):
                self.settings += ["paced"] * (found[1] == "fq")
            elif not _QUIET_COMMAND.fullmatch(command):
                raise ValueError(f"`{command}` has no counterpart")

    def finish(self) -> Said:
        if not self.is_open:
            raise ValueError("no connection is opened")
        spec = self.sysctl.pop("tcp_congestion_control", "cubic")
        if self.algorithm:
            spec += ":" + ",".join(f"{name}={value}" for name, value in self.algorithm.items())
        self.settings.append(f"cc {spec}")
        for name, value in self.sysctl.items():
            if (name, value) in _SWITCHES:
                self.settings.append(_SWITCHES[name, value])
            elif name == "tcp_min_tso_segs":
                self.settings.append(f"bursts from {value}")
            elif name in {key for key, _ in _SWITCHES} | _SHOWN or _USUAL.get(name) == value:
                continue
            elif name in _USUAL:
                self.notes.append(f"{name} is {_USUAL[name]} here, and {value} in the script")
            else:
                raise ValueError(f"{name} is not simulated")
        return Said("\n".join([*self.settings, *self.lines, "+0 nothing"]) + "\n", self.notes)


def _packet(found: re.Match[str]) -> _Packet:
    way, _, flags, first, end, _, ack, window, options = found.groups()
    words = [each.split(maxsplit=1) for each in re.split(r"\s*,\s*", (options or "").strip())]
    return _Packet(
        way == ">",
        flags,
        int(first),
        int(end),
        int(ack) if ack else None,
        int(window or 0),
        {each[0]: each[1] if len(each) > 1 else "" for each in words if each},
    )


def _events(text: str) -> list[tuple[int, str, str, str]]:
    """Of each event: the line, its time, its kind and what it says."""
    events, at, time = [], 0, ""
    while at < len(text):
        found = _PARTS.match(text, at)
        line = text.count("\n", 0, at) + 1
        if found is None:
            raise AckclockError(f"line {line}: {text[at : at + 30]!r} is no event of packetdrill")
        at, kind = found.end(), found.lastgroup or ""
        body = found[0].strip()
        if kind == "line" and (timed := _TIME.match(body)):
            time, body = timed[0], body[timed.end() :].strip()
        if kind != "blank" and body:
            events.append((line, time, kind, body))
            time = ""
    return events


def translate(text: str) -> Said:
    """A script of packetdrill in our language.

    Raises `AckclockError` that names the line, and what is not said.
    """
    script, events = _Script(), _events(text)
    for _, _, _, body in events:
        script.foresee(body)
    for line, time, kind, body in events:
        try:
            script.event(time, kind, body)
        except (ValueError, SyntaxError, LookupError) as error:
            raise AckclockError(f"line {line}: {error}") from None
    try:
        return script.finish()
    except ValueError as error:
        raise AckclockError(str(error)) from None


def run(path: Path) -> tuple[bool, str]:
    """Runs a script on the simulator: whether it passes, and what it expects beside what was seen.

    Raises `AckclockError` of a script that cannot be read or said.
    """
    need_native("packetdrill")
    try:
        with path.open("rb") as given:
            text = given.read(MOST_BYTES).decode()
    except (OSError, UnicodeDecodeError) as error:
        raise AckclockError(f"{path}: {getattr(error, 'strerror', 'is no text')}") from None
    try:
        said = translate(text)
        listing, differs_us = _core.packet_script(path.stem, said.text)
    except AckclockError as error:
        raise AckclockError(f"{path}: {error}") from None
    notes = "".join(f"note: {each}\n" for each in said.notes)
    return differs_us is None, notes + listing
