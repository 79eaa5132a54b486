"""Runs a scenario; what comes back."""

import functools
import json
import os
import platform
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, fields
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar, Self

from ackclock import _core
from ackclock.base import pl
from ackclock.base.directory import Directory, replaced
from ackclock.base.errors import AckclockError
from ackclock.results import tables
from ackclock.results.pcapng import Pcapng, written
from ackclock.scenario.scenario import KERNEL, Scenario, check_is_scenario
from ackclock.scenario.snapshot import Algorithms, key_of, named
from ackclock.store import entries
from ackclock.store.entries import MANIFEST

if TYPE_CHECKING:
    import pandas as pd
    import xarray as xr
    from matplotlib.figure import Figure

PAGE = "index.html"
_WHOLE = range(1 << 63)
_LINK = {
    "rate_bps": _WHOLE,
    "trace_ms?": list,
    "rate_at?": [{"time_ns": _WHOLE, "rate_bps": _WHOLE}],
}
_FLOW = {"algorithm": str, "rtt_ns": _WHOLE, "size_bytes": (_WHOLE,), "stop_ns": (_WHOLE,)}
#: What a run's manifest has at least, as deep as it is read. `KEY?` may be missing, (…,) be null,
#: and "*" is each key.
SHAPE: dict[str, Any] = {
    "ackclock": str,
    "backend?": str,
    "trace_hash": (str,),
    "packets": _WHOLE,
    "wall_time_s": float,
    "scenario": dict,
    "resolved": {
        "duration_ns": _WHOLE[1:],
        "mss_bytes": _WHOLE,
        "sample_interval_ns": _WHOLE,
        "bottleneck?": _LINK,  # not of a machine that was watched
        "links?": [_LINK],
        "flows": [_FLOW],
        "sessions": [dict],
    },
    "algorithms": {"*": {"name": str, "source": str, "spec": str, "values": dict}},
    "certificate?": dict,
}


#: What people ask of a result and others make of its tables: the module and its function.
DOORS = {
    "plot": ("draw.plot", "overview"),
    "html": ("draw.overlay", "html"),
    "qlog": ("results.qlog", "write"),
}


def door(name: str) -> Any:
    """The function, imported at its first use."""
    module, function = DOORS[name]
    return getattr(import_module(f"ackclock.{module}"), function)


@dataclass(frozen=True, eq=False, repr=False)
class Result:
    """What one run recorded; `ackclock.tables` says what the columns mean."""

    flows: "pl.DataFrame"
    samples: "pl.DataFrame"
    queues: "pl.DataFrame"
    events: "pl.DataFrame"
    sessions: "pl.DataFrame"
    transfers: "pl.DataFrame"
    #: Scenario as written and resolved, versions, algorithms, trace hash, wall time, packets.
    manifest: dict[str, Any]
    #: Of what its fields are made at their first use; None: they were given.
    _run: ClassVar["_Run | None"] = None

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            """Short runs are many, and most measures take the rows as the engine has them."""
            if self._run is None or name not in self.__dataclass_fields__:
                raise AttributeError(f"a {type(self).__name__} has no attribute '{name}'")
            return self.__dict__.setdefault(name, self._run.make(name))

    def __getstate__(self) -> dict[str, Any]:
        return {each.name: getattr(self, each.name) for each in fields(self)}

    @property
    def scenario(self) -> Scenario:
        """What was run."""
        return Scenario.parse(self.manifest["scenario"])

    @property
    def resolved(self) -> dict[str, Any]:
        """What was run, as the simulator read it: integers in ns and bytes."""
        resolved: dict[str, Any] = self.manifest["resolved"]
        return resolved

    def column(self, table: str, name: str) -> list[Any]:
        """The values of a column."""
        added = self._run.added(table) if self._run else {}
        return added.get(name) or getattr(self, table)[name].to_list()

    def branch(
        self,
        at: str,
        *,
        drop: str | None = None,
        keep: str | None = None,
        set: Mapping[str, Any] | None = None,  # noqa: A002 (as the command line has it)
    ) -> "Result":
        """Runs the same until the time `at`, and then another future.

        `drop="flow1:next"` loses the next data packet of flow 1, "flow1:3" the next three;
        `keep="flow1:next"` does not lose the next one that would be lost.
        `set={"bottleneck.rate": "5mbit", "flow1.algorithm": "reno"}` changes a link's rate, delay
        or loss, or a flow's algorithm, whose connection stays.
        Raises `AckclockError` that says what changes in a run, or if Linux made the result.
        """
        if self.manifest.get("backend", "sim") != "sim":
            raise AckclockError("branch: only the simulator branches a run; ackclock.run makes one")
        return run(self.scenario.branched(at=at, drop=drop, keep=keep, set=set))

    def parts(self, table: str, *columns: str) -> "Iterator[pl.DataFrame]":
        """These columns of a table in parts, in order; no time is in two of them."""
        yield getattr(self, table)[list(columns)]

    def save(self, directory: str | os.PathLike[str]) -> Path:
        """Writes the tables as Parquet and the manifest, all or nothing; returns the directory."""
        with Directory(directory) as output:
            output.fill(self.write)
        return Path(directory)

    def write(self, directory: str | os.PathLike[str], **more: "pl.DataFrame") -> None:
        """Writes the tables, `more` beside them, and the manifest into a directory that is there.

        `save` makes a directory. Raises `AckclockError` if there is none.
        """
        directory = Path(directory)
        if not directory.is_dir():
            raise AckclockError(f"{directory}: no such directory; result.save(DIRECTORY) makes one")
        own = {table: getattr(self, table) for table in tables.TABLES}
        entries.write_tables(directory, own | more, self.manifest)

    def plot(self) -> "Figure":
        """Draws congestion windows, throughput and queue; `.savefig(PATH)` writes the picture."""
        drawn: Figure = door("plot")(self)
        return drawn

    def __repr__(self) -> str:
        """The tables have hundreds of lines; `print(result.flows)` shows one."""
        each = {name: getattr(self, name) for name in tables.TABLES}
        rows = (
            f"{name} {len(of) if isinstance(of, pl.DataFrame) else 'lazy'}"
            for name, of in each.items()
        )
        return f"<{type(self).__name__} with rows of its tables: {', '.join(rows)}>"

    def _repr_html_(self) -> str:
        return str(door("html")(self))

    def to_csv(self, path: str | os.PathLike[str], table: str = "samples") -> Path:
        """Writes a table as CSV; returns the path. Raises `AckclockError` if it cannot."""
        frame = self._table(table)
        try:
            with replaced(path) as file:
                entries.write_csv(frame, file)
        except OSError as error:
            raise AckclockError(f"{path}: cannot be written ({error.strerror or error})") from None
        return Path(path)

    def to_qlog(self, path: str | os.PathLike[str]) -> Path:
        """Writes the samples and events of each flow as qlog; returns the path.

        Raises `AckclockError` if it cannot.
        """
        return Path(door("qlog")(self, path))

    def to_pandas(self, table: str = "samples") -> "pd.DataFrame":
        """A table for pandas. Raises `AckclockError` where pandas is not installed."""
        try:
            import pandas  # noqa: ICN001, PLC0415 (ackclock does not need it)
        except ImportError:
            raise AckclockError("pandas is not installed. Type `pip install pandas`") from None

        def column(of: "pl.Series") -> Any:
            """With the type of the table, also where it has no rows."""
            if of.dtype.is_numeric():
                return of.to_numpy()
            if isinstance(of.dtype, pl.Enum):
                codes = of.to_physical().to_numpy().astype("int16")
                return pandas.Categorical.from_codes(codes, of.dtype.categories.to_list())
            return of.to_list()

        return pandas.DataFrame({each.name: column(each) for each in self._table(table)})

    def to_xarray(self) -> "xr.Dataset":
        """Samples over (time_us, flow) and queues over (time_us, queue); missing where none is.

        Raises `AckclockError` where xarray is not installed.
        """
        try:
            import xarray  # noqa: PLC0415 (ackclock does not need it)
        except ImportError:
            raise AckclockError('xarray is not installed. Type `pip install "xarray"`') from None

        def over(table: str, of: str) -> "xr.Dataset":
            rows = self.to_pandas(table).drop_duplicates(["time_us", of], keep="last")
            return xarray.Dataset.from_dataframe(rows.set_index(["time_us", of]))

        both = over("samples", "flow"), over("queues", "queue")
        return xarray.merge(both, join="outer", compat="no_conflicts")

    def _table(self, name: str) -> "pl.DataFrame":
        if name not in tables.TABLES:
            raise AckclockError(
                f'table = "{name}": unknown; choose from {", ".join(tables.TABLES)}'
            )
        frame: pl.DataFrame = getattr(self, name)
        return frame

    @classmethod
    def load(cls, directory: str | os.PathLike[str]) -> Self:
        """Reads what `save` wrote; raises `AckclockError` if that is not what is there."""
        try:
            frames, manifest = entries.read_tables(Path(directory))
            _check(manifest, frames)
        except (OSError, ValueError) as error:
            reason: object = error
            if isinstance(error, OSError) and error.strerror:
                file = error.filename and Path(os.fsdecode(error.filename)).name
                reason = f"{file}: {error.strerror}" if file else error.strerror
            raise AckclockError(
                f"{directory}: not a result of `ackclock run -o`: {reason}"
            ) from None
        return cls(**{table: frames[table] for table in tables.TABLES}, manifest=manifest)


def _check(manifest: dict[str, Any], frames: "dict[str, pl.DataFrame]") -> None:
    """Raises `ValueError` for what no run of this version has written."""
    try:
        _check_shape(manifest, frames)
    except ValueError as error:
        wrote, own = manifest.get("ackclock"), _core.engine_version()
        if not isinstance(wrote, str) or wrote == own:
            raise
        raise ValueError(f"ackclock {wrote} wrote it, and this is {own}; run it again") from error


def _check_shape(manifest: dict[str, Any], frames: "dict[str, pl.DataFrame]") -> None:
    wrong = next(_misfits(manifest, SHAPE), None)
    if wrong is None:
        resolved = manifest["resolved"]
        for table in tables.TABLES:
            if table not in frames or frames[table].schema != tables.schema(table):
                raise ValueError(f"{table}.parquet has other columns than docs/tables.md")
        if not {flow["algorithm"] for flow in resolved["flows"]} <= manifest["algorithms"].keys():
            wrong = "algorithms"
        for table in ("flows", "sessions"):
            if len(resolved[table]) != len(frames[table]):
                wrong = f"resolved.{table}"
    if wrong:
        raise ValueError(f"{MANIFEST} is damaged, or of another command: its {wrong}")


def _misfits(value: Any, shape: Any, path: str = "") -> Iterator[str]:
    """The paths of what is not as `SHAPE` says."""
    if isinstance(shape, tuple):
        (shape,) = shape
        if value is None:
            return
    if isinstance(shape, range):
        fits = isinstance(value, int) and value in shape
    else:
        kind: Any = shape if isinstance(shape, type) else type(shape)
        fits = isinstance(value, int | float if kind is float else kind)
    if not fits:
        yield path
        return
    for name, each, inner in _within(value, shape):
        yield from _misfits(each, inner, f"{path}.{name}".strip("."))


def _within(value: Any, shape: Any) -> Iterator[tuple[str, Any, Any]]:
    """The names of what has a shape of its own in a value, and both."""
    if isinstance(shape, list):
        yield from (("", each, shape[0]) for each in value)
    elif isinstance(shape, dict):
        for key, inner in shape.items():
            name = key.removesuffix("?")
            if key == "*":
                yield from ((name, each, inner) for name, each in value.items())
            elif name == key or name in value:
                yield name, value.get(name), inner


def run(
    scenario: Scenario,
    *,
    progress: Callable[[float], None] | None = None,
    pcapng: Pcapng | str | os.PathLike[str] | None = None,
    on_packets: "Callable[[pl.DataFrame], None] | None" = None,
) -> Result:
    """Simulates a scenario on one core.

    `progress` is called about ten times a second with the fraction done. Ctrl-C stops the run.
    `pcapng` is a file that takes the packets as they pass the senders' interfaces; a
    `Pcapng` also chooses the interfaces and how many bytes of each packet it keeps. `on_packets`
    gets a row per packet that a sender sends or gets (`packets` of docs/tables.md).
    Raises `AckclockError` if the scenario cannot be simulated, or the file cannot be written.
    """
    check_is_scenario(scenario)
    results: list[Result] = []
    prepared = scenario.prepare()
    with written(pcapng) as packets:
        _core.run_many(
            [prepared],
            1,
            progress,
            lambda _, raw: results.append(from_engine(scenario, prepared, raw, on_packets)),
            pcapng=packets,
            packets=on_packets is not None,
        )
    return results[0]


def from_engine(
    scenario: Scenario,
    prepared: _core.Prepared,
    raw: dict[str, Any],
    on_packets: "Callable[[pl.DataFrame], None] | None" = None,
) -> Result:
    """The result of a scenario from what `_core.run_many` handed over."""
    if on_packets is not None:
        on_packets(tables.frame("packets", raw["packet_rows"]))
    return _Run(scenario, lambda: (prepared.json, *named(prepared)), raw).result()


def _parse(resolved: str) -> dict[str, Any]:
    """A canonical scenario. Equal flows are one dictionary: 100 000 of them would take 70 MB."""
    known: dict[str, dict[str, Any]] = {}
    scenario: dict[str, Any] = json.loads(
        resolved, object_hook=lambda each: known.setdefault(repr(each), each)
    )
    return scenario


def with_own(algorithms: Algorithms, specs: set[str]) -> Algorithms:
    """Algorithms with the names of those of `specs` that are the kernel's own."""
    own = specs - algorithms.keys()
    named = {
        spec: {"name": spec.removeprefix(KERNEL), "source": "", "spec": spec, "values": {}}
        for spec in own
    }
    return {
        **algorithms,
        **{spec: {**each, "fingerprint": ""} for spec, each in named.items()},
    }


@functools.cache
def versions() -> dict[str, str]:
    """What made a result, for its manifest."""
    return {
        "ackclock": _core.engine_version(),
        "python": platform.python_version(),
        "polars": version("polars"),  # without importing it
    }


def result_of(
    scenario: Scenario,
    resolved: str,
    algorithms: Algorithms,
    raw: dict[str, Any],
    seen: Mapping[str, Any] = MappingProxyType({}),
) -> Result:
    """The result of a scenario: as it was resolved, the code that ran, the tables of the run.

    `seen` has tables with all their columns that stand for those of the run.
    """
    of = (resolved, key_of(resolved, algorithms), algorithms)
    return _Run(scenario, lambda: of, {**raw, **seen}).result()


@dataclass(frozen=True)
class _Run:
    """What a host hands over of a run: fields of its `Result` are made of it."""

    scenario: Scenario
    #: As it was resolved, its key, and the code that ran.
    named: Callable[[], tuple[str, str, Algorithms]]
    raw: Mapping[str, Any]

    def result(self) -> Result:
        result = Result.__new__(Result)
        result.__dict__["_run"] = self
        return result

    def make(self, name: str) -> Any:
        """The field of this name."""
        if name != "manifest":
            more = self.added(name) if name in ("flows", "sessions") else {}
            return tables.frame(name, self.raw[name], more)
        resolved, key, algorithms = self.named()
        raw = self.raw
        return {
            **versions(),
            "backend": "sim",
            "key": key,
            "trace_hash": raw["trace_hash"],
            "packets": raw["packets"],
            "wall_time_s": raw["wall_time_s"],
            **{key: raw[key] for key in raw.keys() & {"cpu_time_s"}},  # only the simulator knows it
            "scenario": dict(self.scenario.given),
            "resolved": _parse(resolved),
            "algorithms": algorithms,
        }

    def added(self, table: str) -> dict[str, list[str]]:
        """The columns of a table that the scenario has, where its rows lack them."""
        scenario = self.scenario
        return tables.added(scenario.flows if table == "flows" else scenario.sessions)
