"""Scenarios as people write them.

Flows and sessions of background traffic share a bottleneck, or pass several links in series.
Quantities are text with a unit ("250mbit", "200ms", "1bdp"); `Scenario.resolve` turns them into
the canonical integers that the simulator reads (``crates/sim/src/scenario``).
"""

import json
import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cached_property
from itertools import accumulate
from os import PathLike
from pathlib import Path
from typing import Any, ClassVar, Self, get_origin

from pydantic import model_validator as _model_validator

from ackclock import _core
from ackclock.base import units
from ackclock.base.errors import AckclockError, FieldError
from ackclock.scenario import settings, snapshot, toml_file
from ackclock.scenario.keys import HEADER_BYTES, Flow, ScenarioKeys, Session
from ackclock.scenario.kinds import Room
from ackclock.scenario.link_keys import Bottleneck
from ackclock.scenario.links import check as check_link
from ackclock.scenario.links import check_sizes
from ackclock.scenario.links import read as read_link
from ackclock.scenario.model import TABLES, Model, brief, key_of, kind_of, models, toml

__all__ = ["HEADER_BYTES", "KERNEL", "Bottleneck", "Flow", "Scenario", "Session"]

#: What precedes the name of an algorithm of the kernel's own, which runs only there.
KERNEL = "kernel:"
#: The profiles of today's Linux.
NEW = ("linux-6", "linux-7")
#: Sizes of queues that are several full packets.
_FULL_PACKETS = {("fq", "quantum_bytes"): 2, ("fq", "initial_quantum_bytes"): 10}
#: The largest number in a route.
MOST_LINKS = 1_000
#: Most rows of periodic samples, some 4 GB of them, and of transfers.
MAX_SAMPLES = 100_000_000


class Scenario(ScenarioKeys):
    """What to run. It needs a duration, a bottleneck and at least one flow or session.

    The fields have the names of a scenario file (docs/scenario.md). Quantities are text with a
    unit: rtt="40ms". Raises `AckclockError`, one line that names field, value and fix.
    """

    #: What precedes its errors: the file that it is from.
    _source: ClassVar[str] = ""

    @classmethod
    def from_toml(cls, path: str | PathLike[str]) -> Self:
        """Reads a scenario file; looks for an algorithm's C file beside it.

        Raises `AckclockError`, one line that names file, field, value and fix.
        """
        path = Path(path)
        data = toml_file.content(path)
        return cls.from_text(data, source=str(path), directory=path.parent)

    @classmethod
    def from_text(
        cls, text: str | bytes, *, source: str, directory: str | PathLike[str] = ""
    ) -> Self:
        """Reads the text of a scenario file; `source` names it in errors.

        Looks for an algorithm's C file in `directory`.
        Raises `AckclockError`, one line that names source, field, value and fix.
        """
        fields = toml_file.read(text, source)

        def beside(path: str) -> str:
            return str(Path(directory) / path)

        _rename_files(fields, beside, lambda _, path: beside(path))
        return cls.parse(fields, source=f"{source}: ")

    @classmethod
    def parse(cls, fields: Mapping[str, Any], source: str = "") -> Self:
        """The scenario of these fields (as in a file).

        Raises `AckclockError`, one line that names source, field, value and fix.
        """
        try:
            scenario = cls(**fields)
        except AckclockError as error:
            raise AckclockError(f"{source}{error}") from None
        scenario.__dict__["_source"] = source
        return scenario

    def with_files(self, c_file: Callable[[str], str], of_link: Callable[[str, str], str]) -> Self:
        """The same scenario with other paths for its C files and the files of its links by key."""
        fields = self.model_dump(exclude_unset=True, exclude_none=True, by_alias=True)
        _rename_files(fields, c_file, of_link)
        return self._changed(fields)

    def to_toml(self) -> str:
        """The text of a scenario file that `from_toml` reads as this scenario."""

        def lines(table: dict[str, Any]) -> list[str]:
            return [f"{key} = {toml(value)}" for key, value in table.items()]

        top = self.model_dump(exclude_unset=True, exclude_none=True, by_alias=True)
        names = ("link", "flow", "session")
        tables = [(f"[[{name}]]", each) for name in names for each in top.pop(name, ())]
        if "bottleneck" in top:
            tables.insert(0, ("[bottleneck]", top.pop("bottleneck")))
        text = lines(top)
        for name, each in tables:
            text += ["", name, *lines(each)]
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
            fields["bottleneck"] = now.get("bottleneck", {}) | dict(fields["bottleneck"])
        for name in ("link", "flow", "session"):
            if f"{name}s" in fields:  # the constructor refuses both
                now.pop(name, None)
        if fields.get("link") or fields.get("links"):
            now.pop("bottleneck", None)
        return self._changed(now | fields)

    def assign(self, *texts: str) -> Self:
        """The same scenario after settings in text, as of the command line's `--set`.

        "seed=7" and "bottleneck.buffer=2bdp" set a key; "flow.algorithm=reno" sets it in every
        flow, "flow.2.start=5s" in flow 2, as the results number flows. Sessions and links alike.
        "cubic:beta=0.8" sets a parameter wherever a flow or a session has that algorithm,
        "cubic@=ha2008" its preset.
        A key is set once, but a flow's own setting may follow the one of all flows.
        Raises `AckclockError` that names the setting and the fix.
        """
        fields = self.model_dump(exclude_unset=True, exclude_none=True, by_alias=True)
        settings.assign(fields, texts)
        return self._changed(fields)

    def _changed(self, fields: Mapping[str, Any]) -> Self:
        scenario = self.parse(fields)
        scenario.__dict__["_source"] = self._source
        return scenario

    def resolve(self) -> str:
        """The canonical JSON that the simulator reads: integers in ns and bytes, no defaults.

        Raises `AckclockError` if the file of a link cannot be used.
        """
        canonical = self.canonical(self.mss)
        del canonical["rtt_ns"]
        canonical["header_bytes"] = HEADER_BYTES
        canonical["reads"] = self.reads.replace(" ", "_")
        if self.tso is None:
            canonical["tso"] = self.profile in NEW
        links = canonical["links"] or [canonical["bottleneck"]]
        for (name, link), fields in zip(self._links().items(), links, strict=True):
            self._read(name, link, fields)
        try:
            rates = [fields["rate_bps"] for fields in links]
            rooms = self._rooms(rates, [fields["delay_ns"] for fields in links])
        except ValueError as error:
            raise AckclockError(f"{self._source}{error}") from None
        for fields, room in zip(links, rooms, strict=True):
            fields["buffer"] = room
            self._fill_queue(fields["queue"])
        canonical["bottleneck"], *canonical["links"] = links
        for name in ("flows", "sessions"):
            counted = [(fields, fields.pop("count")) for fields in canonical[name]]
            canonical[name] = [
                each
                for fields, count in counted
                for each in [self._resolve_connection(fields)] * count
            ]
        return _core.canonical(json.dumps(canonical))

    def _fill_queue(self, queue: dict[str, Any] | str) -> None:
        """Sizes that the queue's table leaves open: full packets."""
        for kind, parameters in queue.items() if isinstance(queue, dict) else ():
            for key, value in parameters.items():
                if value is None:
                    packets = _FULL_PACKETS.get((kind, key), 1)
                    parameters[key] = packets * max(1500, self.mss + HEADER_BYTES)

    def _resolve_connection(self, fields: dict[str, Any]) -> dict[str, Any]:
        """A flow or session as in the canonical form."""
        if fields["rtt_ns"] is None:
            fields["rtt_ns"] = units.duration_ns(self.rtt or "")
        if fields["profile"] and fields["tso"] is None and self.tso is None:
            fields["tso"] = fields["profile"] in NEW
        if "gap_ns" not in fields:
            return fields
        own = {key: fields.pop(key) for key in ("gap_ns", "route_ssthresh")}
        laws = {law: fields.pop(f"{law}_thousandths") for law in ("pareto", "lognormal")}
        sizes = {law: parameter for law, parameter in laws.items() if parameter is not None}
        return own | {"flow": fields | {"stop_ns": None}, "sizes": sizes or "equal"}

    def tied(self) -> int:
        """How many flows start in the same nanosecond as another on its path: order decides."""
        starts: Counter[tuple[object, ...]] = Counter()
        for flow in self.flows:
            rtt = flow.rtt or self.rtt or ""
            times = (flow.start_spread, flow.rtt_exponential, flow.start, rtt)
            spread_ns, random_ns, *same = map(units.duration_ns, times)
            if not spread_ns and not random_ns and flow.stack != "udp":
                path = (*same, flow.direction, str(flow.route), str(flow.back))
                starts[path] += flow.count
        return sum(count for count in starts.values() if count > 1)

    def check(self) -> None:
        """Looks whether the simulator takes it: it does all that a run does before it simulates.

        So it reads traces, and compiles and loads C files. What it cannot know is what shows while
        the simulation runs: an algorithm that sets an impossible window or does not return, a full
        disk. Linux takes other scenarios (docs/testbed.md, docs/vlinux.md): `ackclock run --on`
        checks those.
        Raises `AckclockError` that names table, key, value and fix.
        """
        self.prepare()

    def read_files(self, *, as_module: bool = False) -> None:
        """Has `snapshot` read the files that it names.

        `as_module`: Linux compiles files in the kernel's form, so the simulator need not run them.
        Raises `AckclockError`, as `check` does.
        """
        self._configured(snapshot.current(), as_module=as_module)
        for name, link in self._links().items():
            self._read(name, link, link.canonical(self.mss))

    def prepare(self) -> _core.Prepared:
        """The scenario as the simulator takes it, with the compiled code of its algorithms.

        Raises `AckclockError` if it cannot be simulated.
        """
        code = snapshot.current()
        self._configured(code)
        resolved = self.resolve()
        with self.in_its_words():
            return code.prepare(resolved)

    @contextmanager
    def in_its_words(self) -> Iterator[None]:
        """What is refused within, as a `FieldError`, is an `AckclockError` in its file's words."""
        try:
            yield
        except FieldError as error:
            raise AckclockError(self._source + self._in_words(*error.args)) from None

    def _in_words(self, field: str, value: str, fix: str) -> str:
        """A refusal of its canonical form: the key and the value as they are written."""
        place, key = "", field
        table: Model = self
        if found := re.fullmatch(r"(flow|session|link)s\[(\d+)\]\.(?:flow\.)?(.+)", field):
            name, index, key = found[1], int(found[2]), found[3]
            number = index + 2 if name == "link" else self._number_of(name, index + 1)
            place, table = f"{name} {number}: ", getattr(self, name)[number - 1]
        elif field.startswith("bottleneck."):
            place = "link 1: " if self.links else "bottleneck."
            table, key = self.bottleneck, field.removeprefix("bottleneck.")
        key = key_of(type(table), key)
        if key.endswith(".len()"):
            key = f"number of {key.removesuffix('.len()')}"
        written = getattr(table, key, None)
        if isinstance(written, Model | tuple):
            written = table.model_dump(exclude_unset=True, include={key}).get(key)
        if written is not None:
            value = brief(toml(written))
        # The engine numbers flows as the results do, a table with `count` more than once.
        fix = re.sub(
            r"\b(flow|session) (\d+)\b",
            lambda found: f"{found[1]} {self._number_of(found[1], int(found[2]))}",
            fix,
        )
        return f"{place}{key} = {value}: {fix}"

    def _number_of(self, name: str, number: int) -> int:
        """The table of a flow or session, as the results number them."""
        counts = [each.count for each in getattr(self, name)]
        return bisect_left(list(accumulate(counts)), number) + 1

    def key(self, version: str | None = None) -> str:
        """Names the result, as `ackclock.snapshot.key_of` does.

        Raises `AckclockError` if an algorithm does not load.
        """
        algorithms = self._configured(snapshot.current(), as_module=version is not None)
        return snapshot.key_of(self.resolve(), algorithms, version)

    def _configured(
        self, code: _core.Snapshot, *, as_module: bool = False
    ) -> dict[str, dict[str, Any]]:
        """Its algorithms by their specs; raises `AckclockError` if one does not load."""
        found: dict[str, dict[str, Any]] = {}
        every: list[tuple[str, Sequence[Flow | Session]]]
        every = [("flow", self.flows), ("session", self.sessions)]
        for kind, tables in every:
            for number, each in enumerate(tables, 1):
                spec = each.algorithm
                if spec in found:
                    continue
                try:
                    found[spec] = code.configure(spec, as_module)
                except AckclockError as error:
                    apart = re.fullmatch(r"([\w@.-]+)[ ,;]+(\w+=\S+)", spec)
                    shown = toml(spec)
                    fix = str(error).replace(spec, shown[1:-1]) if "\n" in spec else str(error)
                    fix = f'write "{apart[1]}:{apart[2]}"' if apart else fix
                    place = f"{self._source}{kind} {number}"
                    raise AckclockError(f"{place}: algorithm = {shown}: {fix}") from None
        return found

    def _links(self) -> dict[str, Bottleneck]:
        """The links in order, by their names in errors."""
        return {f"link {number}: ": link for number, link in enumerate(self.links, 1)} or {
            "bottleneck.": self.bottleneck
        }

    def _read(self, name: str, link: Bottleneck, fields: dict[str, Any]) -> None:
        try:
            read_link(link, fields)
        except ValueError as error:
            raise AckclockError(f"{self._source}{name}{error}") from None

    def _rooms(self, rates_bps: Sequence[Any], delays_ns: Sequence[int]) -> list[dict[str, int]]:
        """Size of each link's queue; a BDP is of the longest RTT of the flows that pass it.

        Does not look at the size where a rate is None: of a trace that is not read yet.
        """
        links = self._links()
        kind = kind_of(Bottleneck, "buffer")
        assert isinstance(kind, Room)
        rooms = []
        ways = [
            [(set(self._way(each)), self._rtt_ns(each, delays_ns)) for each in tables]
            for tables in (self.flows, self.sessions)
        ]
        for number, (name, link) in enumerate(links.items(), 1):
            rtts_ns: list[int] = []
            for table in ways:
                rtts_ns = rtts_ns or [rtt_ns for way, rtt_ns in table if number in way]
            if not rtts_ns:
                raise ValueError(
                    f"{name.removesuffix(': ')}: no flow passes it; write its number into "
                    "the route of a flow"
                )
            rate_bps, packet_bytes = rates_bps[number - 1], self.mss + HEADER_BYTES
            if rate_bps is None:
                continue
            try:
                rooms.append(kind.resolve(link.buffer, packet_bytes, rate_bps, max(rtts_ns)))
            except ValueError as error:
                raise ValueError(f'{name}buffer = "{link.buffer}": {error}') from None
        return rooms

    @cached_property
    def _both_ways(self) -> bool:
        """Whether data passes the bottleneck in both directions."""
        every: tuple[Flow | Session, ...] = (*self.flows, *self.sessions)
        return any(each.direction == "reverse" for each in every)

    def _way(self, flow: Flow | Session) -> tuple[int, ...]:
        """The numbers of the links that the data of a flow passes, then those of its ACKs."""
        if self._both_ways:
            return 1, 1  # the bottleneck, and its copy on the way back
        return (flow.route or tuple(range(1, len(self._links()) + 1))) + flow.back

    def _rtt_ns(self, flow: Flow | Session, delays_ns: Sequence[int]) -> int:
        """Propagation delay of a flow with that of the links on its way."""
        own_ns = units.duration_ns(flow.rtt or self.rtt or "")
        return own_ns + sum(delays_ns[number - 1] for number in self._way(flow))

    def _check_route(self, name: str, flow: Flow | Session) -> None:
        most = len(self._links())
        for key in ("route", "back"):
            route = getattr(flow, key)
            for link in route:
                if link > most:
                    fix = f"there is no link {link}; choose from 1 to {most}"
                elif route.count(link) > 1:
                    fix = f"link {link} is there twice; a route has no loop"
                else:
                    continue
                raise ValueError(f"{name}: {key} = {toml(route)}: {fix}")
        if flow.direction == "reverse" and (self.links or flow.route or flow.back):
            raise ValueError(
                f'{name}: direction = "reverse": is of a [bottleneck] that both directions share; '
                "with [[link]] tables write route and back instead"
            )

    @_model_validator(mode="after")
    def _check(self) -> Self:
        duration_ns = units.duration_ns(self.duration)
        if self.links:
            if "bottleneck" in self.model_fields_set:
                raise ValueError(
                    "bottleneck and link: keep one; [bottleneck] is the short form of one [[link]]"
                )
            self.__dict__["bottleneck"] = self.links[0]
        elif "bottleneck" not in self.model_fields_set:
            raise ValueError(f"bottleneck is missing; write {TABLES['bottleneck']}, or [[link]]")
        if not self.flows and not self.sessions:
            raise ValueError("no flows: add at least one [[flow]] table")
        self._check_numbers()
        for number, flow in enumerate(self.flows, 1):
            self._check_ecn(f"flow {number}", flow)
            self._check_connection(f"flow {number}", flow, duration_ns)
        for number, session in enumerate(self.sessions, 1):
            name = f"session {number}"
            self._check_ecn(name, session)
            self._check_connection(name, session, duration_ns)
            self._check_session(name, session)
        self._check_links()
        self._check_sampling(duration_ns)
        self._check_transfers(duration_ns)
        return self

    def _check_numbers(self) -> None:
        """Of what has a place of its own in the canonical form."""
        if len(self.links) > MOST_LINKS:
            raise ValueError(f"link: {len(self.links)} links are more than {MOST_LINKS}")
        most = kind_of(Flow, "count").high
        for name, tables in (("flow", self.flows), ("session", self.sessions)):
            number = sum(each.count for each in tables)
            if number > most:
                raise ValueError(
                    f"{name}: count: {number} {name}s are more than {most}; write fewer"
                )

    def _check_links(self) -> None:
        for prefix, link in self._links().items():
            check_link(prefix, link, self.mss + HEADER_BYTES)
        # A trace or a timeline is read when it is needed.
        links = self._links().values()
        rates = [
            units.rate_bps(each.rate) if each.rate and each.timeline is None else None
            for each in links
        ]
        self._rooms(rates, [units.duration_ns(each.delay) for each in links])

    def _check_ecn(self, name: str, flow: Flow | Session) -> None:
        if flow.ecn and (profile := flow.profile or self.profile) not in NEW:
            raise ValueError(
                f"{name}: ecn = {json.dumps(flow.ecn)}: is not modelled with {profile}; "
                'write profile = "linux-6", or ecn = false'
            )

    def _check_session(self, name: str, session: Session) -> None:
        if session.pareto is not None and session.lognormal is not None:
            raise ValueError(f"{name}: pareto and lognormal: sizes have one distribution")
        for field in ("pareto", "lognormal", "gap"):
            if session.size is None and field in session.model_fields_set:
                raise ValueError(f'{name}: {field} needs a size, like size = "6packets"')

    def _check_connection(self, name: str, flow: Flow | Session, duration_ns: int) -> None:
        def refuse(field: str, value: str | None, fix: str) -> None:
            raise ValueError(f'{name}: {field} = "{value}": {fix}')

        if flow.rtt is None and self.rtt is None:
            raise ValueError(f'{name}: rtt is missing; write for example rtt = "100ms"')
        self._check_route(name, flow)
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
        check_sizes(name, flow, self.mss)

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
        fix += "; run_all(scenarios, reduce) runs many"
    raise AckclockError(f"scenario = {value!r:.40}: {fix}")


def markdown() -> str:
    """`docs/scenario.md`."""
    lines = [
        "# A scenario file",
        "",
        "A scenario file says what `ackclock run` simulates: links, and the flows that share them.",
        "It is TOML. Quantities are text with a unit. `examples/` has complete files.",
        "A scenario has a `[bottleneck]`, or `[[link]]` tables in series with the same keys: a",
        "packet passes them in their order, or those of its flow's `route`.",
        "`ackclock run FILE --set KEY=VALUE` changes a key for one run: `--set rtt=20ms`,",
        "`--set flow.algorithm=reno` (every flow), `--set flow.2.start=5s` (flow 2),",
        "`--set cubic:beta=0.8` (this algorithm's parameter), `--set cubic@=ha2008` (its preset).",
        "",
        f"Times: {', '.join(units.TIME_UNITS)}.",
        f"Rates (decimal, bits per second): {', '.join(units.RATE_UNITS)}.",
        f"Sizes: {', '.join(units.SIZE_UNITS)}.",
        "",
        "`make generate` writes this page from the fields of `crates/sim/src/scenario`, and",
        "[scenario.schema.json](scenario.schema.json), the JSON Schema of `Result.resolved`.",
    ]
    tables: list[tuple[str, type[Model]]] = [("At the top", Scenario)]
    tables += [("`[bottleneck]`, or `[[link]]` once per link", Bottleneck)]
    tables += _inner_tables("bottleneck", Bottleneck)
    tables += [("`[[flow]]`, once per flow", Flow)]
    tables += [("`[[session]]`, once per kind of background traffic", Session)]
    for name_of, model in tables:
        title, keys = name_of, ["", "| key | default | meaning |", "|---|---|---|"]
        own = [*model.model_fields]
        if model is Session:
            own = [name for name in own if name not in Flow.model_fields]
            without = [f"`{name}`" for name in Flow.model_fields if name not in model.model_fields]
            title = f"{title}, with the keys of a flow but {', '.join(without)}"
        for name, field in ((name, model.model_fields[name]) for name in own):
            if field.description:
                default = "" if field.default is None else f"`{_shown(field.default)}`"
                default = "required" if field.is_required() else default
                keys.append(f"| `{name}` | {default} | {field.description} |")
        about = [] if "kind" not in model.model_fields else ["", model.about]
        lines += ["", f"## {title}", *about, *(keys if len(keys) > 3 else [])]
    return "\n".join(lines) + "\n"


def _inner_tables(name: str, model: type[Model]) -> Iterator[tuple[str, type[Model]]]:
    """The tables in a table: title and keys. A list's own key says what is in it."""
    for key, field in model.model_fields.items():
        if get_origin(field.annotation) is tuple:
            continue
        for inner in models(field.annotation):
            kind = inner.model_fields.get("kind")
            yield f"`[{name}.{key}]`" + (f', `kind = "{kind.default}"`' if kind else ""), inner


def _shown(default: Any) -> str:
    return toml(getattr(default, "kind", default))


def name_in(spec: str) -> str:
    """The name or the path in the spec of an algorithm."""
    return re.split("[@:]", spec, maxsplit=1)[0]


def is_c_file(name: str) -> bool:
    """Whether it is the path of a C file, rather than the name of an algorithm of ackclock's."""
    return "/" in name or name.endswith(".c")


def _rename_files(
    fields: dict[str, Any], c_file: Callable[[str], str], of_link: Callable[[str, str], str]
) -> None:
    """Puts other paths for C files and those of links into the fields of a scenario."""
    for each in (fields.get(name) for name in settings.MANY):
        for flow in each if isinstance(each, list | tuple) else ():
            spec = flow.get("algorithm") if isinstance(flow, dict) else None
            if isinstance(spec, str) and is_c_file(path := name_in(spec)):
                flow["algorithm"] = c_file(path) + spec[len(path) :]
    links = [fields.get("bottleneck")]
    for many in (fields.get(name) for name in ("link", "links")):
        links += many if isinstance(many, list | tuple) else ()
    for link in links:
        for key in ("trace", "timeline"):
            if isinstance(link, dict) and isinstance(link.get(key), str):
                link[key] = of_link(key, link[key])
