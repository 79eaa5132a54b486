"""Scenarios as people write them.

A scenario is a dumbbell: flows, and sessions of background traffic, that share one bottleneck.
Quantities are text with a unit ("250mbit", "200ms", "1bdp"); `Scenario.resolve` turns them into
the canonical integers that the simulator reads (``crates/sim/src/scenario.rs``).
"""

import difflib
import hashlib
import json
import re
import tomllib
from collections.abc import Callable
from decimal import ROUND_HALF_UP
from os import PathLike
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import AliasChoices, BaseModel, BeforeValidator, ConfigDict, Field, ValidationError
from pydantic import model_validator as _model_validator
from pydantic._internal._model_construction import ModelMetaclass

from ackclock import _core, units
from ackclock.errors import AckclockError

#: IP and TCP headers with timestamps: 20 + 20 + 12 bytes. MSS 1448 makes packets of 1500.
HEADER_BYTES = 52
#: What precedes the name of an algorithm of the kernel's own, which runs only there.
KERNEL = "kernel:"
#: Most rows of periodic samples, some 4 GB of them, and of transfers.
MAX_SAMPLES = 50_000_000


def _quantity(parse: Callable[[str], int], low: str, high: str, like: str) -> BeforeValidator:
    """Text with a unit, whose value lies in [low, high]."""

    def check(value: Any) -> str:
        if not isinstance(value, str):
            raise ValueError(f'write text with a unit, like "{like}"')  # noqa: TRY004
        if not parse(low) <= parse(value) <= parse(high):
            raise ValueError(f"choose from {low} to {high}")
        return value

    return BeforeValidator(check)


def _integer(low: int, high: int) -> BeforeValidator:
    def check(value: Any) -> int:
        if not isinstance(value, int) or isinstance(value, bool) or not low <= value <= high:
            raise ValueError(f"write a whole number from {low} to {high}")
        return value

    return BeforeValidator(check)


def _number(low: float, high: float) -> BeforeValidator:
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

    return BeforeValidator(check)


def _payload(value: Any) -> str:
    if not isinstance(value, str):
        raise ValueError('write text with a unit, like "10MB" or "600packets"')  # noqa: TRY004
    if not 1 <= units.payload(value, 1) <= 10**13:
        raise ValueError("choose from 1B to 10000GB")
    return value


def _buffer(value: Any) -> str:
    if not isinstance(value, str):
        raise ValueError('write text with a unit, like "1bdp"')  # noqa: TRY004
    if units.buffer(value)[1] <= 0:
        raise ValueError('a queue needs room for at least one packet; write "1bdp" or "100packets"')
    return value


Time = Annotated[str, _quantity(units.duration_ns, "0s", "1000h", "10s")]
Duration = Annotated[str, _quantity(units.duration_ns, "1ns", "1000h", "60s")]
Rtt = Annotated[str, _quantity(units.duration_ns, "1us", "100s", "100ms")]
Jitter = Annotated[str, _quantity(units.duration_ns, "0s", "1s", "20us")]
Rate = Annotated[str, _quantity(units.rate_bps, "1kbit", "1tbit", "250mbit")]
Size = Annotated[str, _quantity(units.size_bytes, "1B", "1000000GB", "10MB")]
Payload = Annotated[str, BeforeValidator(_payload)]
Buffer = Annotated[str, BeforeValidator(_buffer)]


class _OneLineErrors(ModelMetaclass):
    """Lets `Scenario(…)` raise what `Scenario.from_toml` does."""

    def __call__(self, **fields: Any) -> Any:
        try:
            return super().__call__(**fields)
        except ValidationError as error:
            raise AckclockError(_explain(self, error)) from None  # type: ignore[arg-type]


class _Model(BaseModel, metaclass=_OneLineErrors):
    model_config = ConfigDict(frozen=True, extra="forbid", populate_by_name=True)


class Bottleneck(_Model):
    """The shared link and its drop-tail queue."""

    rate: Rate = Field(description='Bits of IP packets per second: "250mbit".')
    buffer: Buffer = Field(
        description='Room in the queue: "1bdp" (of the longest RTT), "100packets" or "2MB".'
    )
    drop_every_packets: Annotated[int | None, _integer(2, 2**63 - 1)] = Field(
        None,
        description="Every so manieth data packet of a direction is lost on its way to the queue.",
    )


class _Connection(_Model):
    """What flows and the connections of sessions have in common."""

    algorithm: str = Field(
        description="name[@preset][:parameter=value,…]; the path of a C file does for the name; "
        "`kernel:NAME` on the kernel is its own."
    )
    direction: Literal["forward", "reverse"] = Field(
        "forward",
        description="Which way its data goes. With a reverse flow or session the way back is a "
        "bottleneck like the way forth, and ACKs queue among the data there.",
    )
    rtt: Rtt | None = Field(None, description="Round-trip propagation delay.")
    rtt_exponential: Time = Field(
        "0s",
        description="Mean of a delay that is added to `rtt`, drawn for each connection from an "
        "exponential distribution.",
    )
    start: Time = Field("0s", description="When it connects.")
    start_spread: Time = Field("0s", description="A delay drawn from U(0, spread) after `start`.")
    size: Payload | None = Field(
        None, description='What its application writes in all: "2MB" or "600packets".'
    )
    receive_window: Size | None = Field(None, description="The receiver's window.")
    send_buffer: Size | None = Field(None, description="The sender's buffer for unacked data.")
    initial_ssthresh_packets: Annotated[int | None, _integer(2, 2**31 - 1)] = Field(
        None, description="Where slow start ends, as a route's cached metric says."
    )
    count: Annotated[int, _integer(1, 100_000)] = Field(1, description="How many such flows.")


class Flow(_Connection):
    """One TCP connection that always has data to send, or `count` alike."""

    stop: Time | None = Field(None, description="When its application stops writing.")


class Session(_Connection):
    """A source of one connection after another, in the background: web traffic, downloads.

    It waits, opens a new connection, sends, and begins anew when all is acknowledged.
    """

    start: Time = Field("0s", description="When its first pause begins.")
    size: Payload | None = Field(
        None,
        description='Mean of what each connection carries: "6packets". None: one connection '
        "without end.",
    )
    pareto: Annotated[float | None, _number(1.001, 100)] = Field(
        None, description="Sizes are Pareto with this shape; without it they are equal."
    )
    lognormal: Annotated[float | None, _number(0.001, 10)] = Field(
        None, description="Sizes are lognormal; this is the standard deviation of their logarithm."
    )
    gap: Time = Field(
        "0s",
        description="Mean of the pause before each connection, drawn from an exponential "
        "distribution.",
    )
    count: Annotated[int, _integer(1, 100_000)] = Field(1, description="How many such sessions.")


class Scenario(_Model):
    """What to run. The duration, the bottleneck and a flow or session must be given."""

    duration: Duration = Field(description="Simulated time.")
    rtt: Rtt | None = Field(None, description="Round-trip propagation delay of flows without one.")
    profile: Literal["linux-2.6.25", "linux-6"] = Field(
        "linux-6", description="Whose TCP the hosts run: `linux-6` or `linux-2.6.25`."
    )
    seed: Annotated[int, _integer(0, 2**63 - 1)] = Field(1, description="Of every random stream.")
    hz: Annotated[int, _integer(24, 10_000)] = Field(
        1000, description="Timer ticks per second of the hosts' kernel."
    )
    jitter: Jitter = Field(
        "20us",
        description="Hosts handle each ACK after a delay drawn from U(0, jitter), which breaks "
        "phase effects as real hosts do.",
    )
    mss: Annotated[int, _integer(64, 65_000)] = Field(
        1448,
        description=f"Payload of a full segment, bytes; {HEADER_BYTES} of headers come on top.",
    )
    delayed_ack_segments: Annotated[int, _integer(1, 2)] = Field(
        2, description="Full segments that one delayed ACK answers; 1: no delayed ACKs."
    )
    tso: bool | None = Field(
        None,
        strict=True,
        description="Do hosts send in bursts, cut to packets by the network card? None: `linux-6` "
        "does. `linux-2.6.25` then saves for bursts of up to 64 KB.",
    )
    pacing: bool = Field(
        False,
        strict=True,
        description="Do senders space their packets at `sk_pacing_rate`, as under fq?",
    )
    sample_interval: Time = Field("100ms", description='Spacing of the samples; "0s": none.')
    bottleneck: Bottleneck
    flows: tuple[Flow, ...] = Field(
        (), validation_alias=AliasChoices("flow", "flows"), serialization_alias="flow"
    )
    sessions: tuple[Session, ...] = Field(
        (), validation_alias=AliasChoices("session", "sessions"), serialization_alias="session"
    )

    @classmethod
    def from_toml(cls, path: str | PathLike[str]) -> Self:
        """Reads a scenario file; an algorithm's C file is sought beside it.

        Raises `AckclockError`, one line that names file, field, value and fix.
        """
        path = Path(path)
        try:
            fields = tomllib.loads(path.read_text(encoding="utf-8"))
        except OSError as error:
            raise AckclockError(f"{path}: {error.strerror}") from None
        except ValueError as error:  # not TOML, or not UTF-8
            reason = str(error).replace("Cannot overwrite a value", "a key is given twice")
            raise AckclockError(f"{path}: not a scenario file: {reason}") from None
        for each in (fields.get("flow"), fields.get("session")):
            for flow in each if isinstance(each, list) else ():
                if isinstance(flow, dict) and isinstance(flow.get("algorithm"), str):
                    flow["algorithm"] = _beside(path, flow["algorithm"])
        return cls.parse(fields, source=f"{path}: ")

    @classmethod
    def parse(cls, fields: dict[str, Any], source: str = "") -> Self:
        """The scenario of these fields (as in a file).

        Raises `AckclockError`, one line that names source, field, value and fix.
        """
        try:
            return cls.model_validate(fields)
        except ValidationError as error:
            raise AckclockError(source + _explain(cls, error)) from None

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
        """The same scenario with other values in some fields."""
        return self.parse(self.model_dump(exclude_unset=True, by_alias=True) | fields)

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

    def key(self, version: str = _core.engine_version()) -> str:
        """Names the result: a hash of all that determines it.

        That is the canonical scenario, the object code of its algorithms and the version of what
        runs it, the simulator's engine unless told otherwise.
        """
        fingerprints = {
            flow.algorithm: _core.configure(flow.algorithm)["fingerprint"]
            for flow in (*self.flows, *self.sessions)
        }
        parts = [self.resolve(), json.dumps(fingerprints, sort_keys=True), version]
        return hashlib.blake2b("\n".join(parts).encode(), digest_size=16).hexdigest()

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
            raise ValueError(f"flow is missing; write {_TABLES['flow']}")
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
            refuse("start", flow.start, f"start before the end of the run ({self.duration})")
        if latest_ns >= duration_ns:
            refuse(
                "start_spread",
                flow.start_spread,
                f"start + start_spread must lie before the end of the run ({self.duration})",
            )
        stop = flow.stop if isinstance(flow, Flow) else None
        if stop is not None and units.duration_ns(stop) <= latest_ns:
            spread = f" + {flow.start_spread}" if units.duration_ns(flow.start_spread) else ""
            refuse("stop", stop, f"stop after the flow has started ({flow.start}{spread})")
        for field in ("receive_window", "send_buffer"):
            size = getattr(flow, field)
            if size is not None and units.size_bytes(size) < self.mss:
                refuse(field, size, f"give room for a segment, at least {self.mss}B")
        try:
            _core.configure(flow.algorithm)
        except AckclockError as error:
            refuse("algorithm", flow.algorithm, str(error))

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


def markdown() -> str:
    """`docs/scenario.md`."""
    lines = [
        "# A scenario file",
        "",
        "TOML; quantities are text with a unit. `examples/` has whole ones.",
        f"Times: {', '.join(units.TIME_UNITS)}.",
        f"Rates (decimal): {', '.join(units.RATE_UNITS)}.",
        f"Sizes: {', '.join(units.SIZE_UNITS)}.",
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


def _beside(path: Path, spec: str) -> str:
    """The spec with the path of its C file taken from the folder of the scenario file."""
    name = re.split("[@:]", spec, maxsplit=1)[0]
    if not ("/" in name or name.endswith(".c")):
        return spec
    return str(path.parent / name) + spec[len(name) :]


#: What to write for a key that is a table.
_TABLES = {
    "bottleneck": "one table [bottleneck]",
    "flow": "one table [[flow]] per flow",
    "session": "one table [[session]] per kind of traffic",
}
_TABLES |= {"flows": _TABLES["flow"], "sessions": _TABLES["session"]}


def _explain(model: type[BaseModel], error: ValidationError) -> str:
    """One line on the first thing wrong: field, value, fix."""
    errors = sorted(error.errors(), key=lambda each: each["type"] != "extra_forbidden")
    first = errors[0]  # a misspelt key before the one that is missing for it
    message = first["msg"].removeprefix("Value error, ")
    if first["type"] == "value_error" and not first["loc"]:
        return message  # of the model as a whole: names its field itself
    *parents, field = first["loc"]
    where = ""
    for part in parents:
        where += f" {part + 1}: " if isinstance(part, int) else str(part)
        model = _nested(model, part)
    where = where if not where or where.endswith(": ") else f"{where}."
    if isinstance(field, int):
        where, field = "", f"{where.removesuffix('.')} {field + 1}"
    table = _TABLES.get(field)
    if table and first["type"] in ("tuple_type", "model_type", "too_short"):
        message = f"write {table}"
    match first["type"]:
        case "missing":
            return f"{where}{field} is missing" + (f"; write {table}" if table else "")
        case "extra_forbidden":
            known = [info.serialization_alias or name for name, info in model.model_fields.items()]
            near = difflib.get_close_matches(str(field), known, 1)
            fix = f'did you mean "{near[0]}"?' if near else f"known keys are {', '.join(known)}"
            return f"{where}{field}: unknown key; {fix}"
        case "literal_error":
            message = "choose " + first["ctx"]["expected"].replace("'", '"')
        case "bool_type" | "string_type" as wanted:
            message = "write " + {"bool_type": "true or false"}.get(wanted, "text in quotes")
        case "model_type" if not table:
            message = f"write a table [[{str(field).split()[0].removesuffix('s')}]]"
    return f"{where}{field} = {_toml(first['input'])}: {message}"


def _nested(model: type[BaseModel], part: int | str) -> type[BaseModel]:
    nested: dict[int | str, type[BaseModel]] = {
        "bottleneck": Bottleneck,
        "flow": Flow,
        "session": Session,
    }
    return nested.get(part.removesuffix("s") if isinstance(part, str) else part, model)


def _toml(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, default=str)
