"""Scenarios as people write them.

A scenario is a dumbbell: flows and sessions of background traffic share one bottleneck.
Quantities are text with a unit ("250mbit", "200ms", "1bdp"); `Scenario.resolve` turns them into
the canonical integers that the simulator reads (``crates/sim/src/scenario.rs``).
"""

import difflib
import json
import re
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from decimal import ROUND_HALF_UP, Decimal
from os import PathLike
from pathlib import Path
from typing import Annotated, Any, Literal, NoReturn, Self

from pydantic import (
    AliasChoices,
    BaseModel,
    ConfigDict,
    Field,
    GetCoreSchemaHandler,
    ValidationError,
)
from pydantic import model_validator as _model_validator
from pydantic_core import core_schema

from ackclock import _core, snapshot, units
from ackclock.errors import AckclockError

#: IP and TCP headers with timestamps: 20 + 20 + 12 bytes. MSS 1448 makes packets of 1500.
HEADER_BYTES = 52
#: What precedes the name of an algorithm of the kernel's own, which runs only there.
KERNEL = "kernel:"
#: Most rows of periodic samples, some 4 GB of them, and of transfers.
MAX_SAMPLES = 50_000_000


@dataclass(frozen=True, repr=False)
class _Allowed:
    """A check of a field's value; help() shows the text of what it allows."""

    text: str
    check: Callable[[Any], Any]

    def __repr__(self) -> str:
        return self.text

    def __get_pydantic_core_schema__(
        self, source: Any, handler: GetCoreSchemaHandler
    ) -> core_schema.CoreSchema:
        return core_schema.no_info_before_validator_function(self.check, handler(source))


#: From which number on a quantity without a unit is in bytes or bits, rather than in MB or mbit.
_SMALL_UNITS = {"MB": ("B", 1000), "mbit": ("bit", 10**6)}


def _example(value: Any, like: str) -> str:
    """A number that lacks its unit, with the unit of `like` or a smaller one; or else `like`."""
    if not isinstance(value, int | float) or isinstance(value, bool) or not 0 < value < 10**18:
        return like
    unit = like.lstrip("0123456789.")
    small, least = _SMALL_UNITS.get(unit, (unit, 0))
    return f"{Decimal(str(value)).normalize():f}{small if value >= least else unit}"


def _quantity(parse: Callable[[str], int], low: str, high: str, like: str) -> _Allowed:
    """Text with a unit, whose value lies in [low, high]."""

    def check(value: Any) -> str:
        if not isinstance(value, str):
            raise ValueError(f'write text with a unit, like "{_example(value, like)}"')  # noqa: TRY004
        if not parse(low) <= parse(value) <= parse(high):
            raise ValueError(f"choose from {low} to {high}")
        return value

    return _Allowed(f"{low} to {high}", check)


def _integer(low: int, high: int) -> _Allowed:
    def check(value: Any) -> int:
        if not isinstance(value, int) or isinstance(value, bool) or not low <= value <= high:
            raise ValueError(f"write a whole number from {low} to {high}")
        return value

    return _Allowed(f"{low} to {high}", check)


def _number(low: float, high: float) -> _Allowed:
    """A number with at most three decimals, which is what the canonical form keeps."""

    def check(value: Any) -> float:
        if (
            not isinstance(value, int | float)
            or isinstance(value, bool)
            or not low <= value <= high
        ):
            raise ValueError(f"write a number from {low} to {high}")
        if value != round(value, 3):
            raise ValueError("write at most three decimals")
        return value

    return _Allowed(f"{low} to {high}", check)


def _payload(value: Any) -> str:
    if not isinstance(value, str):
        raise ValueError('write text with a unit, like "10MB" or "600packets"')  # noqa: TRY004
    if not 1 <= units.payload(value, 1) <= 10**13:
        raise ValueError("choose from 1B to 10000GB")
    return value


def _buffer(value: Any) -> str:
    if not isinstance(value, str):
        raise ValueError('write text with a unit, like "1bdp" or "100packets"')  # noqa: TRY004
    if units.buffer(value)[1] <= 0:
        raise ValueError('a queue needs room for at least one packet; write "1bdp" or "100packets"')
    return value


Time = Annotated[str, _quantity(units.duration_ns, "0s", "1000h", "10s")]
Duration = Annotated[str, _quantity(units.duration_ns, "1ns", "1000h", "60s")]
Rtt = Annotated[str, _quantity(units.duration_ns, "1us", "100s", "100ms")]
Jitter = Annotated[str, _quantity(units.duration_ns, "0s", "1s", "20us")]
Rate = Annotated[str, _quantity(units.rate_bps, "1kbit", "1tbit", "250mbit")]
Size = Annotated[str, _quantity(units.size_bytes, "1B", "1000000GB", "10MB")]
Payload = Annotated[str, _Allowed('"10MB" or "600packets"', _payload)]
Buffer = Annotated[str, _Allowed('"1bdp", "100packets" or "2MB"', _buffer)]


class _Model(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")

    @classmethod
    def __pydantic_init_subclass__(cls, **_: Any) -> None:
        """Gives help() the meaning of each field."""
        described = {name: field.description for name, field in cls.model_fields.items()}
        meanings = [f"    {name}: {text}" for name, text in described.items() if text]
        cls.__doc__ = "\n".join([f"{(cls.__doc__ or '').rstrip()}\n", *meanings])

    def __init__(self, *others: object, **fields: Any) -> None:
        if others:
            name = type(self).__name__
            read = "; Scenario.from_toml(PATH) reads a file" if name == "Scenario" else ""
            raise AckclockError(f'{name}({others[0]!r}): name each field, as in rtt="40ms"{read}')
        try:
            super().__init__(**fields)
        except ValidationError as error:
            raise AckclockError(_explain(type(self), error)) from None

    def __setattr__(self, field: str, value: object) -> NoReturn:
        kind = type(self).__name__
        fix = "Scenario.replace and Scenario.assign return a changed scenario"
        if kind == "Scenario":
            fix = f"write scenario = scenario.replace({field}={value!r})"
        raise AckclockError(f"{field} = {value!r}: a {kind} does not change; {fix}")


class Bottleneck(_Model):
    """The shared link and its drop-tail queue."""

    rate: Rate = Field(description='Rate of the link, IP headers included: "250mbit".')
    buffer: Buffer = Field(
        description='Size of the queue: "1bdp" (of the longest RTT), "100packets" or "2MB".'
    )
    drop_every_packets: Annotated[int | None, _integer(2, 2**63 - 1)] = Field(
        None,
        description="Drop every Nth data packet of each direction before it reaches the queue "
        "(default: drop none).",
    )


class _Connection(_Model):
    """What a flow and the connections of a session have in common."""

    algorithm: str = Field(
        description="NAME[@PRESET][:PARAMETER=VALUE,…]. NAME is an algorithm of `ackclock list` or "
        "the path of a C file. `kernel:NAME` is the kernel's own algorithm, only on the kernel."
    )
    direction: Literal["forward", "reverse"] = Field(
        "forward",
        description="Direction of its data: `forward` or `reverse`. With a reverse flow or session "
        "the reverse path gets the same bottleneck, where ACKs and data share a queue.",
    )
    rtt: Rtt | None = Field(
        None, description="Round-trip propagation delay (default: the scenario's `rtt`)."
    )
    rtt_exponential: Time = Field(
        "0s",
        description="Mean of an extra delay added to `rtt`, drawn once per connection from an "
        "exponential distribution.",
    )
    start: Time = Field("0s", description="Time at which it connects.")
    start_spread: Time = Field(
        "0s",
        description="Longest extra delay after `start`, drawn uniformly from 0 to this.",
    )
    size: Payload | None = Field(
        None, description='Data that it sends in all: "2MB" or "600packets" (default: no end).'
    )
    receive_window: Size | None = Field(None, description="Receive window (default: no limit).")
    send_buffer: Size | None = Field(
        None, description="Sender's buffer for unacknowledged data (default: no limit)."
    )
    initial_ssthresh_packets: Annotated[int | None, _integer(2, 2**31 - 1)] = Field(
        None,
        description="ssthresh at the start, as from a route's cached metric (default: no limit).",
    )
    count: Annotated[int, _integer(1, 100_000)] = Field(
        1, description="Number of flows like this one."
    )


class Flow(_Connection):
    """One TCP connection that always has data to send, or `count` of them."""

    stop: Time | None = Field(
        None, description="Time at which its application stops sending (default: never)."
    )


class Session(_Connection):
    """Background traffic, one connection after another: web traffic, downloads.

    A session waits, opens a connection, sends, and starts again when all data is acknowledged.
    """

    start: Time = Field("0s", description="Time at which its first pause starts.")
    size: Payload | None = Field(
        None,
        description='Mean size of a transfer: "6packets" (default: one connection without end).',
    )
    pareto: Annotated[float | None, _number(1.001, 100)] = Field(
        None, description="Shape of a Pareto distribution of sizes (default: equal sizes)."
    )
    lognormal: Annotated[float | None, _number(0.001, 10)] = Field(
        None,
        description="Standard deviation of the logarithm of lognormal sizes (default: equal "
        "sizes).",
    )
    gap: Time = Field(
        "0s",
        description="Mean pause before each connection, drawn from an exponential distribution.",
    )
    count: Annotated[int, _integer(1, 100_000)] = Field(
        1, description="Number of sessions like this one."
    )


class Scenario(_Model):
    """What to run. It needs a duration, a bottleneck and at least one flow or session.

    The fields have the names of a scenario file (docs/scenario.md). Quantities are text with a
    unit: rtt="40ms". Raises `AckclockError`, one line that names field, value and fix.
    """

    duration: Duration = Field(description="Simulated time.")
    rtt: Rtt | None = Field(
        None, description="Round-trip propagation delay of each flow that has no `rtt` of its own."
    )
    profile: Literal["linux-2.6.18", "linux-2.6.25", "linux-2.6.32", "linux-6"] = Field(
        "linux-6",
        description="TCP stack of the hosts: `linux-6`, `linux-2.6.32`, `linux-2.6.25` or "
        "`linux-2.6.18` (docs/profiles.md).",
    )
    seed: Annotated[int, _integer(0, 2**63 - 1)] = Field(
        1, description="Random seed. Equal seeds give equal results."
    )
    hz: Annotated[int, _integer(24, 10_000)] = Field(
        1000, description="Timer ticks per second of the hosts' kernel (Linux's HZ)."
    )
    jitter: Jitter = Field(
        "20us",
        description="Longest delay before a host handles an ACK, drawn uniformly from 0 to this. "
        "It breaks phase effects, as real hosts do.",
    )
    mss: Annotated[int, _integer(64, 65_000)] = Field(
        1448,
        description=f"Payload of a full segment in bytes. Headers add {HEADER_BYTES} bytes.",
    )
    delayed_ack_segments: Annotated[int, _integer(1, 2)] = Field(
        2, description="Full segments per ACK; 1: no delayed ACKs."
    )
    reads: Literal["at once", "bulk"] = Field(
        "at once",
        description='When the application of a receiver reads. `"at once"`: as soon as data '
        "arrives; a receiver with `linux-6` then also acknowledges the end of each burst. "
        '`"bulk"`: each 256 KiB (SO_RCVLOWAT).',
    )
    tso: bool | None = Field(
        None,
        strict=True,
        description="Whether hosts send bursts that the network card cuts into packets (default: "
        "true for `linux-6`, false for the others). With `tso`, Linux 2.6 saves data for bursts of "
        "up to 64 KB.",
    )
    pacing: bool = Field(
        False,
        strict=True,
        description="Whether senders space their packets at `sk_pacing_rate`, as with fq.",
    )
    sample_interval: Time = Field(
        "100ms", description='Time between two samples; "0s": no samples.'
    )
    bottleneck: Bottleneck
    flows: tuple[Flow, ...] = Field(
        (), validation_alias=AliasChoices("flow", "flows"), serialization_alias="flow"
    )
    sessions: tuple[Session, ...] = Field(
        (), validation_alias=AliasChoices("session", "sessions"), serialization_alias="session"
    )

    @property
    def flow(self) -> tuple[Flow, ...]:
        """The same as `flows`, by its name in a scenario file."""
        return self.flows

    @property
    def session(self) -> tuple[Session, ...]:
        """The same as `sessions`, by its name in a scenario file."""
        return self.sessions

    @classmethod
    def from_toml(cls, path: str | PathLike[str]) -> Self:
        """Reads a scenario file; looks for an algorithm's C file beside it.

        Raises `AckclockError`, one line that names file, field, value and fix.
        """
        path = Path(path)
        try:
            data = path.read_bytes()
        except OSError as error:
            raise AckclockError(f"{path}: {_why_unreadable(path, error)}") from None
        return cls.from_text(data, source=str(path), directory=path.parent)

    @classmethod
    def from_text(cls, text: str | bytes, *, source: str, directory: Path = Path()) -> Self:
        """Reads the text of a scenario file; `source` names it in errors.

        Looks for an algorithm's C file in `directory`.
        Raises `AckclockError`, one line that names source, field, value and fix.
        """
        fields = _read(text, source)
        for each in (fields.get(name) for name in _MANY):
            for flow in each if isinstance(each, list) else ():
                if isinstance(flow, dict) and isinstance(flow.get("algorithm"), str):
                    flow["algorithm"] = _beside(directory, flow["algorithm"])
        return cls.parse(fields, source=f"{source}: ")

    @classmethod
    def parse(cls, fields: Mapping[str, Any], source: str = "") -> Self:
        """The scenario of these fields (as in a file).

        Raises `AckclockError`, one line that names source, field, value and fix.
        """
        try:
            return cls(**fields)
        except AckclockError as error:
            raise AckclockError(f"{source}{error}") from None

    def to_toml(self) -> str:
        """The text of a scenario file that `from_toml` reads as this scenario."""

        def lines(table: dict[str, Any]) -> list[str]:
            return [f"{key} = {_toml(value)}" for key, value in table.items()]

        top = self.model_dump(exclude_unset=True, exclude_none=True, by_alias=True)
        bottleneck = top.pop("bottleneck")
        tables = [(name, each) for name in ("flow", "session") for each in top.pop(name, ())]
        text = [*lines(top), "", "[bottleneck]", *lines(bottleneck)]
        for name, each in tables:
            text += ["", f"[[{name}]]", *lines(each)]
        return "\n".join(text) + "\n"

    def replace(self, **fields: Any) -> Self:
        """The same scenario with other values in some fields.

        Takes the names of the constructor. `bottleneck={"buffer": "2bdp"}` changes the buffer
        and keeps the rest of the bottleneck.
        Raises `AckclockError`, as the constructor does.
        """
        for field, value in fields.items():
            table, dot, key = field.partition(".")
            if dot:
                fix = f'assign("{field}=…")'
                if table == "bottleneck":
                    fix = f"replace(bottleneck={json.dumps({key: value}, default=str)})"
                raise AckclockError(f"{field}: write {fix}")
        now = self.model_dump(exclude_unset=True, by_alias=True)
        if isinstance(fields.get("bottleneck"), Mapping):
            fields["bottleneck"] = now["bottleneck"] | dict(fields["bottleneck"])
        for name, plural in zip(("flow", "session"), ("flows", "sessions"), strict=True):
            if plural in fields:  # the constructor refuses both
                now.pop(name, None)
        return self.parse(now | fields)

    def assign(self, *settings: str) -> Self:
        """The same scenario after settings in text, as of the command line's `--set`.

        "seed=7" and "bottleneck.buffer=2bdp" set a key; "flow.algorithm=reno" sets it in every
        flow, "flow.2.start=5s" in flow 2, as the results number flows. Sessions alike.
        A key is set once, but a flow's own setting may follow the one of all flows.
        Raises `AckclockError` that names the setting and the fix.
        """
        fields = self.model_dump(exclude_unset=True, exclude_none=True, by_alias=True)
        _check_set_once(settings)
        for setting in settings:
            _assign(fields, setting)
        return self.parse(fields)

    def resolve(self) -> str:
        """The canonical JSON that the simulator reads: integers in ns and bytes, no defaults.

        Raises `AckclockError` if an algorithm does not load.
        """
        kind, room = self._buffer_room()
        flows = [self._resolve_flow(flow) for flow in self.flows for _ in range(flow.count)]
        sessions = [
            self._resolve_session(each) for each in self.sessions for _ in range(each.count)
        ]
        canonical = {
            "seed": self.seed,
            "duration_ns": units.duration_ns(self.duration),
            "profile": self.profile,
            "hz": self.hz,
            "mss_bytes": self.mss,
            "header_bytes": HEADER_BYTES,
            "jitter_ns": units.duration_ns(self.jitter),
            "delayed_ack_segments": self.delayed_ack_segments,
            "reads": self.reads.replace(" ", "_"),
            "tso": self.profile == "linux-6" if self.tso is None else self.tso,
            "pacing": self.pacing,
            "bottleneck": {
                "rate_bps": units.rate_bps(self.bottleneck.rate),
                "buffer": {kind: room},
                "drop_every_packets": self.bottleneck.drop_every_packets,
            },
            "flows": flows,
            "sessions": sessions,
            "sample_interval_ns": units.duration_ns(self.sample_interval),
        }
        return json.dumps(canonical, separators=(",", ":"))

    def prepare(self) -> _core.Prepared:
        """The scenario as the simulator takes it, with the compiled code of its algorithms.

        Raises `AckclockError` if it cannot be simulated.
        """
        return snapshot.current().prepare(self.resolve())

    def key(self, version: str | None = None) -> str:
        """Names the result, as `ackclock.snapshot.key_of` does."""
        with snapshot.held():
            algorithms = {
                each.algorithm: snapshot.current().configure(each.algorithm)
                for each in (*self.flows, *self.sessions)
            }
        return snapshot.key_of(self.resolve(), algorithms, version)

    def _buffer_room(self) -> tuple[str, int]:
        """Unit and size of the queue; a BDP is of the longest RTT, to the nearest packet."""
        kind, room = units.buffer(self.bottleneck.buffer)
        packet_bytes = self.mss + HEADER_BYTES
        if kind == "bdp":
            rtt_ns = max(
                units.duration_ns(flow.rtt or self.rtt or "")
                for flow in self.flows or self.sessions
            )
            bits = room * units.rate_bps(self.bottleneck.rate) * rtt_ns / 10**9
            kind, room = "packets", (bits / (8 * packet_bytes)).to_integral_value(ROUND_HALF_UP)
        least = 1 if kind == "packets" else packet_bytes
        if not least <= room <= 2**32:
            raise ValueError(
                f'bottleneck.buffer = "{self.bottleneck.buffer}": is {room} {kind}; '
                f"choose from {least} to {2**32}"
            )
        return kind, int(room)

    def _resolve_session(self, session: Session) -> dict[str, Any]:
        sizes: str | dict[str, int] = "equal"
        for law in ("pareto", "lognormal"):
            if (value := getattr(session, law)) is not None:
                sizes = {law: round(1000 * value)}
        gap_ns = units.duration_ns(session.gap)
        return {"flow": self._resolve_flow(session), "gap_ns": gap_ns, "sizes": sizes}

    def _resolve_flow(self, flow: _Connection) -> dict[str, Any]:
        def optional(text: str | None, parse: Callable[[str], int]) -> int | None:
            return None if text is None else parse(text)

        stop = flow.stop if isinstance(flow, Flow) else None

        return {
            "algorithm": flow.algorithm,
            "direction": flow.direction,
            "rtt_ns": optional(flow.rtt or self.rtt, units.duration_ns),
            "rtt_exponential_ns": units.duration_ns(flow.rtt_exponential),
            "start_ns": units.duration_ns(flow.start),
            "start_spread_ns": units.duration_ns(flow.start_spread),
            "stop_ns": optional(stop, units.duration_ns),
            "size_bytes": optional(flow.size, lambda size: units.payload(size, self.mss)),
            "receive_window_bytes": optional(flow.receive_window, units.size_bytes),
            "send_buffer_bytes": optional(flow.send_buffer, units.size_bytes),
            "initial_ssthresh_packets": flow.initial_ssthresh_packets,
        }

    @_model_validator(mode="after")
    def _check(self) -> Self:
        duration_ns = units.duration_ns(self.duration)
        if not self.flows and not self.sessions:
            raise ValueError("no flows: add at least one [[flow]] table")
        for number, flow in enumerate(self.flows, 1):
            self._check_connection(f"flow {number}", flow, duration_ns)
        for number, session in enumerate(self.sessions, 1):
            name = f"session {number}"
            self._check_connection(name, session, duration_ns)
            if session.pareto is not None and session.lognormal is not None:
                raise ValueError(f"{name}: pareto and lognormal: sizes have one distribution")
            for field in ("pareto", "lognormal", "gap"):
                if session.size is None and field in session.model_fields_set:
                    raise ValueError(f'{name}: {field} needs a size, like size = "6packets"')
        self._buffer_room()
        self._check_sampling(duration_ns)
        self._check_transfers(duration_ns)
        return self

    def _check_connection(self, name: str, flow: _Connection, duration_ns: int) -> None:
        def refuse(field: str, value: str | None, fix: str) -> None:
            raise ValueError(f'{name}: {field} = "{value}": {fix}')

        if flow.rtt is None and self.rtt is None:
            raise ValueError(f'{name}: rtt is missing; write for example rtt = "100ms"')
        if units.duration_ns(flow.rtt_exponential) > units.duration_ns("100s"):
            refuse("rtt_exponential", flow.rtt_exponential, "choose from 0s to 100s")
        latest_ns = units.duration_ns(flow.start) + units.duration_ns(flow.start_spread)
        if units.duration_ns(flow.start) >= duration_ns:
            refuse(
                "start", flow.start, f"must be less than {self.duration}, the duration of the run"
            )
        if latest_ns >= duration_ns:
            refuse(
                "start_spread",
                flow.start_spread,
                f"start + start_spread must be less than {self.duration}, the duration of the run",
            )
        stop = flow.stop if isinstance(flow, Flow) else None
        if stop is not None and units.duration_ns(stop) <= latest_ns:
            spread = f" + {flow.start_spread}" if units.duration_ns(flow.start_spread) else ""
            refuse("stop", stop, f"must be more than {flow.start}{spread}, the start of the flow")
        for field in ("receive_window", "send_buffer"):
            size = getattr(flow, field)
            if size is not None and units.size_bytes(size) < self.mss:
                refuse(field, size, f"give room for a segment, at least {self.mss}B")
        try:
            snapshot.current().configure(flow.algorithm)
        except AckclockError as error:
            apart = re.fullmatch(r"([\w@.-]+)[ ,;]+(\w+=\S+)", flow.algorithm)
            fix = f'write "{apart[1]}:{apart[2]}"' if apart else str(error)
            refuse("algorithm", flow.algorithm, fix)

    def _check_transfers(self, duration_ns: int) -> None:
        """Each takes a pause, a handshake and a round trip at least."""
        transfers = 0
        for session in self.sessions:
            if session.size is not None:
                rtt = [session.rtt or self.rtt or "", session.rtt_exponential] * 2
                each_ns = sum(map(units.duration_ns, [session.gap, *rtt]))
                transfers += session.count * (duration_ns // each_ns)
        if transfers > MAX_SAMPLES:
            raise ValueError(
                f"session: {transfers} transfers are more than {MAX_SAMPLES}; write fewer sessions "
                "(count), longer gaps or a shorter duration"
            )

    def _check_sampling(self, duration_ns: int) -> None:
        interval_ns = units.duration_ns(self.sample_interval)
        if interval_ns % 1000:
            raise ValueError(
                f'sample_interval = "{self.sample_interval}": choose whole microseconds, at least '
                '1us, or "0s" for none'
            )
        flows = sum(flow.count for flow in self.flows)
        rows = duration_ns // interval_ns * (flows + 1) if interval_ns else 0
        if rows > MAX_SAMPLES:
            raise ValueError(
                f'sample_interval = "{self.sample_interval}": gives {rows} samples, more than '
                f'{MAX_SAMPLES}; sample less often, or "0s" for never'
            )


def check_is_scenario(value: object) -> None:
    """Raises `AckclockError` with what to pass instead if the value is not a `Scenario`."""
    if isinstance(value, Scenario):
        return
    fix = "pass a Scenario"
    if isinstance(value, str | PathLike):
        fix += f", like Scenario.from_toml({value!r})"
    elif isinstance(value, Mapping):
        fix += ", like Scenario(**fields)"
    elif isinstance(value, list | tuple):
        fix += "; sweep(scenarios, reduce) runs many"
    raise AckclockError(f"scenario = {value!r:.40}: {fix}")


def markdown() -> str:
    """`docs/scenario.md`."""
    lines = [
        "# A scenario file",
        "",
        "A scenario file says what `ackclock run` simulates: a link, and the flows that share it.",
        "It is TOML. Quantities are text with a unit. `examples/` has complete files.",
        "`ackclock run FILE --set KEY=VALUE` changes a key for one run: `--set rtt=20ms`,",
        "`--set bottleneck.buffer=2bdp`, `--set flow.algorithm=reno` (every flow),",
        "`--set flow.2.start=5s` (flow 2, as the results number flows).",
        "A key is set once; a setting of every flow may precede that of one flow.",
        "",
        f"Times: {', '.join(units.TIME_UNITS)}.",
        f"Rates (decimal, bits per second): {', '.join(units.RATE_UNITS)}.",
        f"Sizes: {', '.join(units.SIZE_UNITS)}.",
        "",
        "Written by `make docs` from `python/ackclock/scenario.py`.",
    ]
    for title, model in (
        ("At the top", Scenario),
        ("`[bottleneck]`", Bottleneck),
        ("`[[flow]]`, once per flow", Flow),
        ("`[[session]]`, once per kind of background traffic", Session),
    ):
        lines += ["", f"## {title}", "", "| key | default | meaning |", "|---|---|---|"]
        for name, field in model.model_fields.items():
            if field.description:
                default = "" if field.default is None else f"`{_toml(field.default)}`"
                default = "required" if field.is_required() else default
                lines.append(f"| `{name}` | {default} | {field.description} |")
    return "\n".join(lines) + "\n"


def _why_unreadable(path: Path, error: OSError) -> str:
    """Why a scenario file cannot be read, and what to type."""
    if isinstance(error, IsADirectoryError):
        files = sorted(path.glob("*.toml"))
        like = f", like {files[0]}" if files else ""
        return f"is a directory; give a scenario file{like}"
    if isinstance(error, FileNotFoundError):
        files = sorted({*path.parent.glob("*.toml"), *Path("examples").glob("*.toml")})
        by_name = {each.stem: each for each in reversed(files)}
        if near := nearest(path.stem, list(by_name)):
            return f"no such file; did you mean {by_name[near[0]]}?"
        return "no such file; give a scenario file"
    return f"cannot be read ({error.strerror})"


def _read(text: str | bytes, source: str) -> dict[str, Any]:
    """The fields of a scenario file."""
    try:
        plain = text.decode("utf-8-sig") if isinstance(text, bytes) else text.removeprefix("\ufeff")
    except UnicodeDecodeError:
        raise AckclockError(f"{source}: not a scenario file: it is not text in UTF-8") from None
    if not plain.strip():
        raise AckclockError(
            f"{source}: the file is empty; examples/two_cubic.toml shows what to write"
        )
    try:
        return tomllib.loads(plain.replace("\r\n", "\n"))
    except ValueError as error:
        reason = str(error).replace("Cannot overwrite a value", "a key is given twice")
        raise AckclockError(f"{source}: not a scenario file: {_not_toml(plain, reason)}") from None


def _not_toml(text: str, reason: str) -> str:
    """Why a text is not TOML, and what to type instead."""
    place = re.search(r"at line (\d+)", reason)
    line = text.splitlines()[int(place[1]) - 1].strip() if place else ""
    if text.lstrip()[0] == "{" or re.match(r"[\w.-]+\s*:", line):
        return "it is JSON or YAML; write TOML, as in examples/two_cubic.toml"
    if value := re.fullmatch(r"([\w.-]+)\s*=\s*([^\s\"'\[{#][^\"'#]*?)\s*(?:#.*)?", line):
        return f'line {place[1] if place else "?"}: put text in quotes: {value[1]} = "{value[2]}"'
    return reason + ("; keep one of the two" if "given twice" in reason else "")


#: A table of a scenario of which there may be many, by either name.
_MANY = ("flow", "flows", "session", "sessions")


def _assign(fields: dict[str, Any], setting: str) -> None:
    """Puts one `key=value` into the fields of a scenario."""

    def refuse(problem: str) -> NoReturn:
        raise AckclockError(f'"{setting}": {problem}')

    path, equals, text = (part.strip() for part in setting.partition("="))
    if not (path and equals and text):
        refuse("write KEY=VALUE, like rtt=20ms, bottleneck.buffer=2bdp or flow.1.start=5s")
    try:
        value = tomllib.loads(f"value = {text}")["value"]
    except ValueError:
        value = text  # a quantity or a name, without its quotes
    match path.split("."):
        case [key] if key not in ("bottleneck", *_MANY):
            fields[key] = value
        case ["bottleneck", key]:
            fields["bottleneck"][key] = value
        case [name, *number, key] if name in _MANY and len(number) <= 1:
            try:
                tables = _chosen(fields, name.removesuffix("s"), *number)
            except ValueError as error:
                refuse(str(error))
            for each in tables:
                each[key] = value
        case _:
            refuse("write KEY, bottleneck.KEY, flow.KEY or flow.NUMBER.KEY before the =")


def key_of(setting: str) -> str:
    """The key of a setting, by its one name: "flow.start" of "flows.start = 5s"."""
    table, *rest = setting.partition("=")[0].strip().split(".")
    return ".".join([table.removesuffix("s") if table in _MANY and rest else table, *rest])


def _check_set_once(settings: Sequence[str]) -> None:
    """Raises `AckclockError` if one setting would undo another before it."""
    earlier: dict[str, str] = {}
    for setting in settings:
        key = key_of(setting)
        if key in earlier:
            raise AckclockError(
                f'"{earlier[key]}" and "{setting}" set the same key; keep one of the two'
            )
        for other, text in earlier.items():
            if re.sub(r"\.\d+\.", ".", other) == key:
                raise AckclockError(
                    f'"{setting}" undoes "{text}"; put the setting of every flow first'
                )
        earlier[key] = setting


def _chosen(
    fields: dict[str, Any], name: str, number: str | None = None
) -> Sequence[dict[str, Any]]:
    """The tables of all flows (or sessions), or that of one, in the fields of a scenario.

    Raises `ValueError` if there is none.
    """
    tables = fields.get(name, ())
    if not tables:
        raise ValueError(f"the scenario has no [[{name}]] table")
    if number is None:
        return tables  # type: ignore[no-any-return]
    alone = [
        {key: value for key, value in each.items() if key != "count"}
        for each in tables
        for _ in range(each.get("count", 1))
    ]
    if number not in map(str, range(1, len(alone) + 1)):
        raise ValueError(f"there is no {name} {number}; choose from 1 to {len(alone)}")
    fields[name] = alone
    return [alone[int(number) - 1]]


def _beside(directory: Path, spec: str) -> str:
    """The spec with the path of its C file taken from the folder of the scenario file."""
    name = re.split("[@:]", spec, maxsplit=1)[0]
    if not ("/" in name or name.endswith(".c")):
        return spec
    return str(directory / name) + spec[len(name) :]


def nearest(word: str, known: Sequence[str]) -> list[str]:
    """The known name that `word` may misspell, or none: "rat" is near "rate", "bbr" not "bic"."""
    return difflib.get_close_matches(word, known, 1, cutoff=0.7)


#: What to write for a key that is a table.
_TABLES = {
    "bottleneck": "a table [bottleneck] with rate and buffer",
    "flow": "one table [[flow]] per flow",
    "session": "one table [[session]] per kind of traffic",
}
_TABLES |= {"flows": _TABLES["flow"], "sessions": _TABLES["session"]}


def _explain(model: type[BaseModel], error: ValidationError) -> str:
    """One line on the first thing wrong: field, value, fix."""
    errors = sorted(error.errors(), key=lambda each: each["type"] != "extra_forbidden")
    first = errors[0]  # a misspelt key before the one that is missing for it
    message = first["msg"].removeprefix("Value error, ")
    if not first["loc"]:
        return message  # of the model as a whole: names its field itself
    field, *number = map(str, first["loc"])
    name = field.removesuffix("s") if field in _TABLES else field
    if number:
        name += f" {int(number[0]) + 1}"
    if first["type"] == "value_error" and isinstance(first["ctx"]["error"], AckclockError):
        return f"{name}{': ' if number else '.'}{message}"  # a nested model has explained it
    match first["type"]:
        case "missing":
            return f"{name} is missing; write {_TABLES.get(field) or _LIKE[field]}"
        case "extra_forbidden":
            return f"{field}: {_unknown_key(model, field)}"
        case "tuple_type" if isinstance(first["input"], dict):
            return f"[{name}]: write [[{name}]] with two brackets; there may be several"
        case "tuple_type" | "model_type":
            message = f"write {_TABLES[field]}"
        case "literal_error":
            message = "choose " + first["ctx"]["expected"].replace("'", '"')
        case "bool_type" | "string_type" as wanted:
            message = {"bool_type": "write true or false"}.get(wanted, "write text in quotes")
    value = "None" if first["input"] is None else _toml(first["input"])
    return f"{name} = {value}: {message}"


#: What a missing key may look like.
_LIKE = {
    "duration": 'for example duration = "60s"',
    "rate": 'for example rate = "100mbit"',
    "buffer": 'for example buffer = "1bdp"',
    "algorithm": 'for example algorithm = "cubic"',
}


def _unknown_key(model: type[BaseModel], field: str) -> str:
    if field in _TABLES:  # and known, by its other name
        return f"the same as {field.removesuffix('s')}; keep one of the two"
    known = [info.serialization_alias or name for name, info in model.model_fields.items()]
    if near := nearest(field, known):
        return f'unknown key; did you mean "{near[0]}"?'
    return f"unknown key; known keys are {', '.join(known)}"


def _toml(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, default=str)
