"""Scenarios as people write them.

Flows and sessions of background traffic share a bottleneck, or pass several links in series.
Quantities are text with a unit ("250mbit", "200ms", "1bdp"); `Scenario.resolve` turns them into
the canonical integers that the simulator reads (``crates/sim/src/scenario``).
"""

import json
import re
import shlex
import shutil
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from os import PathLike
from pathlib import Path
from typing import Any, Self

from ackclock import _core
from ackclock.base import units
from ackclock.base.errors import AckclockError, FieldError
from ackclock.scenario import branch, settings, snapshot, toml_file
from ackclock.scenario.keys import Bottleneck, Flow, ScenarioKeys, Session
from ackclock.scenario.table import toml

__all__ = ["HEADER_BYTES", "KERNEL", "Bottleneck", "Flow", "Scenario", "Session"]

#: IP and TCP headers of a packet, with timestamps. The wire size is the payload plus the headers.
HEADER_BYTES: int = _core.HEADER_BYTES
#: What precedes the name of an algorithm of the kernel's own, which runs only there.
KERNEL = "kernel:"
#: A table of which there may be many, and its name as an attribute.
_MANY = {each: f"{each}s" for each in ("link", "flow", "session", "change", "program")}


class Scenario(ScenarioKeys):
    """What to run. It needs a duration, a bottleneck and at least one flow or session.

    The fields have the names of a scenario file (docs/scenario.md). Quantities are text with a
    unit: rtt="40ms". Raises `AckclockError`, one line that names field, value and fix.
    """

    #: What precedes its errors: the file that it is from.
    _source: str = ""
    #: The scenario for Rust.
    _written: _core.Written

    def __init__(self, *others: object, **fields: Any) -> None:
        self._refuse_unnamed(others)
        written = _core.Written(fields)
        self._fill(written.fields)
        self.__dict__["_written"] = written

    def _fill(self, given: Mapping[str, Any]) -> None:
        values = {_MANY.get(key, key): self._value(key, value) for key, value in given.items()}
        if links := values.get("links"):
            values["bottleneck"] = links[0]
        self.__dict__.update(values, given=given)

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
        fields = self._written.fields
        _rename_files(fields, c_file, of_link)
        return self._changed(fields)

    def to_toml(self) -> str:
        """The text of a scenario file that `from_toml` reads as this scenario."""

        def lines(table: dict[str, Any]) -> list[str]:
            return [f"{key} = {toml(value)}" for key, value in table.items()]

        top = dict(self.given)
        tables = [(f"[[{name}]]", each) for name in _MANY for each in top.pop(name, ())]
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
        now = dict(self.given)
        if isinstance(fields.get("bottleneck"), Mapping):
            fields["bottleneck"] = now.get("bottleneck", {}) | dict(fields["bottleneck"])
        for name, many in _MANY.items():
            if many in fields:  # the constructor refuses both
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
        fields = self._written.fields
        settings.assign(fields, texts)
        return self._changed(fields)

    def branched(self, *branches: str, **fields: Any) -> Self:
        """The same scenario until a time, and then another future: "at=12.5s,drop=flow1:next".

        The fields are those of `Result.branch`, which says what may change. Raises `AckclockError`.
        """
        parts = [*map(branch.parts, branches), *([fields] if fields else [])]
        new = [change for part in parts for change in branch.changes(**part)]
        return self.replace(changes=[*(each.given for each in self.changes), *new]) if new else self

    def _changed(self, fields: Mapping[str, Any]) -> Self:
        scenario = self.parse(fields)
        scenario.__dict__["_source"] = self._source
        return scenario

    def resolve(self) -> str:
        """The canonical JSON that the simulator reads: integers in ns and bytes, no defaults.

        Raises `AckclockError` if the file of a link cannot be used.
        """
        with self._named():
            return self._written.resolve(snapshot.current())

    @contextmanager
    def _named(self) -> Iterator[None]:
        """Puts its source before what is refused within."""
        try:
            yield
        except AckclockError as error:
            raise AckclockError(f"{self._source}{error}") from None

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
        with self._named():
            snapshot.current().read(self._written, as_module)

    def prepare(self) -> _core.Prepared:
        """The scenario as the simulator takes it, with the compiled code of its algorithms.

        Raises `AckclockError` if it cannot be simulated.
        """
        with self._named():
            return snapshot.prepare(self._written)

    @contextmanager
    def in_its_words(self) -> Iterator[None]:
        """What is refused within, as a `FieldError`, is an `AckclockError` in its file's words."""
        try:
            yield
        except FieldError as error:
            raise AckclockError(self._source + self._written.in_words(*error.args)) from None

    def key(self, version: str | None = None) -> str:
        """Names the result, as `ackclock.snapshot.key_of` does.

        Raises `AckclockError` if an algorithm does not load, or the simulator refuses it where no
        version of another host is given.
        """
        if version is None:
            return snapshot.named(self.prepare())[0]
        with self._named():
            algorithms = snapshot.current().read(self._written, as_module=True)
            for program in self.programs:
                words = program.command.replace("'", " ").replace('"', " ").split()
                version += _named_by([shutil.which(word) or word for word in words])
                for path in map(Path, paths_of(program.files)):
                    version += _named_by([path, *sorted(path.rglob("*"))])
        return snapshot.key_of(self.resolve(), algorithms, version)

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self).parse, (self.given, self._source)


def _named_by(paths: Sequence[str | Path]) -> str:
    """What names the files among these, as they are now."""
    found = ""
    for path in map(Path, paths):
        if path.is_file():
            status = path.stat()
            found += f" {path} {status.st_size} {status.st_mtime_ns}"
    return found


def paths_of(files: str) -> list[str]:
    """The paths in `files` of a program. Raises `AckclockError`."""
    try:
        return shlex.split(files)
    except ValueError as error:
        raise AckclockError(f"files = {toml(files)}: {error}") from None


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
            if isinstance(flow, dict) and isinstance(flow.get("files"), str):
                with suppress(AckclockError):  # refused later, in the words of its file
                    flow["files"] = shlex.join(map(c_file, paths_of(flow["files"])))
    links = [fields.get("bottleneck")]
    for many in (fields.get(name) for name in ("link", "links")):
        links += many if isinstance(many, list | tuple) else ()
    for link in links:
        for key in ("trace", "timeline"):
            if isinstance(link, dict) and isinstance(link.get(key), str):
                link[key] = of_link(key, link[key])
