"""`ackclock._core` where there is no native library: `crates/wasm` answers, in wasmtime.

Its functions are those of `_core.pyi`; `crates/wasm/src/face.rs` has those that are not here.
"""

import copy
import functools
import math
import os
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ackclock.engine.c_files import Compiler
from ackclock.engine.given import columns, number, plain, text_of
from ackclock.engine.instance import Instance, engine_of, value_of
from ackclock.engine.runs import Prepared, Stepped, run_many

if TYPE_CHECKING:
    from ackclock.engine.guests import Compiled

__all__ = [
    "Prepared",
    "Snapshot",
    "Stepped",
    "Written",
    "configure",
    "read_quantity",
    "run_many",
    "table",
]

#: Functions that return a tuple, which JSON has not; and those whose null is NaN.
_TUPLES = {"any_quantity", "common_ns", "installed_window", "read_room"}
_NUMBERS = {"capacity_bits", "capacity_bps", "goodputs_bps", "jain_index", "lifetimes_bps"}
_NUMBERS |= {"utilisation", "frame_delays_s"}
#: Functions of a `Result`.
_OF_RESULTS = {"convergence_s", "delivered_bits", "frame_delays_s", "goodputs_bps"}
_OF_RESULTS |= {"lifetimes_bps", "means", "numbers", "summary", "utilisation"}
#: Bytes of a link's file that are read: one more than it may have (crates/resolve/src/files.rs).
_MOST_BYTES = 32_000_001


class _Caller(threading.local):
    """The instance of a thread for functions without a state, and the run that they ask about."""

    instance: Instance | None = None
    result: Any = None
    parts: Any = iter(())

    def ask(self, what: list[Any]) -> bytes:
        if what[0] == "rows":
            _, table, names = what
            if (run := self.result._run) is not None and isinstance(run.raw[table], Mapping):  # noqa: SLF001 (the engine's)
                self.parts = iter([run.raw[table]])
            elif names:
                self.parts = iter(self.result.parts(table, *names))
            else:
                self.parts = iter([getattr(self.result, table)])
        part = next(self.parts, None)
        return b"" if part is None else columns(part)

    def call(self, name: str, given: Sequence[Any]) -> Any:
        instance = self.instance or Instance(ask=self.ask)
        self.instance = None  # unless it survives this
        before = self.result, self.parts  # what asks may be asked itself
        if name in _OF_RESULTS:
            self.result = given[0]
            given = [self.result.resolved, *given[1:]]
        try:
            return value_of(instance, name, [number(each) for each in given])
        finally:
            self.result, self.parts = before
            self.instance = None if instance.is_broken else instance


_caller = _Caller()


def _call(name: str, *given: Any) -> Any:
    value = _caller.call(name, given)
    if name in _TUPLES:
        return value and tuple(value)
    if name in _NUMBERS:
        several = isinstance(value, list)
        floats = [math.nan if each is None else each for each in (value if several else [value])]
        return floats if several else floats[0]
    if name == "means":
        return {int(flow): mean for flow, mean in value.items()}
    return bytes(value) if name == "delivered_bits" else value


@functools.cache
def _compiler() -> Compiler:
    return Compiler(engine_of(True), _call)


def confinement() -> str:
    """As the native engine's."""
    return "confined: WebAssembly, which has a memory of its own"


def __getattr__(name: str) -> Any:
    if name == "HEADER_BYTES":
        return _call("header_bytes")
    if name.startswith("__"):
        raise AttributeError(name)
    return functools.partial(_call, name)


def read_quantity(kind: str, text: str, mss: int = 1) -> int:
    """As of `_core`."""
    return int(_call("read_quantity", kind, text, mss))


def table(of: str, fields: Mapping[str, Any]) -> dict[str, Any]:
    """As of `_core`."""
    return dict(_call("table", of, plain(fields)))


class Written:
    """As of `_core`."""

    def __init__(self, fields: Mapping[str, Any]) -> None:
        self._fields = _call("written", plain(fields))

    @property
    def fields(self) -> dict[str, Any]:
        return dict(copy.deepcopy(self._fields))

    def resolve(self, files: "Snapshot") -> str:
        return str(files.call("resolve", self._fields))

    def in_words(self, field: str, value: str, fix: str) -> str:
        return str(_call("in_words", self._fields, field, value, fix))


class Snapshot:
    """As of `_core`: an instance that keeps what it has read."""

    def __init__(self, contents: Mapping[str, bytes] | None = None) -> None:
        #: The C files that it has compiled, by their paths as they are written, and by their own.
        self._compiled: dict[str, Compiled] = {}
        self._real: dict[str, Compiled] = {}
        self._contents = dict(contents or {})
        self._is_closed = contents is not None
        self._lock = threading.Lock()
        self._read = b""

    @functools.cached_property
    def _instance(self) -> Instance:
        return Instance(ask=self._ask)

    def call(self, name: str, *given: Any) -> Any:
        with self._lock:
            try:
                return value_of(self._instance, name, given)
            finally:
                if self._instance.is_broken:
                    del self._instance

    def _ask(self, what: list[str]) -> bytes:
        if what[0] == "csv":
            from ackclock.engine.parquet import to_csv  # noqa: PLC0415 (slow to import)

            return to_csv(self._read)
        kind, path = what
        if kind == "c file":
            if self._is_closed:
                raise ValueError(f"cannot read {path}: it did not come with the scenarios")
            real = os.path.realpath(path)  # one look at a file, whatever it is called
            made = self._real[real] = self._real.get(real) or _compiler().compiled(path)
            self._compiled[path.removeprefix("./")] = made
            return made.answer
        if path not in self._contents:
            if self._is_closed:
                raise ValueError("did not come with the scenarios")
            try:
                with Path(path).open("rb") as file:
                    self._contents[path] = file.read(_MOST_BYTES)
            except OSError as error:
                raise ValueError(f"cannot be read ({error.strerror}); give another file") from None
        self._read = self._contents[path]
        return self._read

    def configure(self, spec: str, as_module: bool = False) -> dict[str, Any]:  # noqa: ARG002
        return dict(self.call("configure", text_of(spec)))

    def read(self, scenario: Written, as_module: bool) -> dict[str, dict[str, Any]]:  # noqa: ARG002
        return dict(self.call("read", scenario.fields))

    def prepare(self, scenario: Written) -> Prepared:
        return Prepared(self.call("prepare", scenario.fields), self._compiled)

    def validate(self, json: str) -> None:
        self.call("validate", json)

    def trace(self, path: str) -> list[int]:
        return list(self.call("trace", path))

    def contents(self) -> dict[str, bytes]:
        return dict(self._contents)

    def files(self) -> dict[str, Any]:
        paths = [each for path in self._compiled for each in (path, f"./{path}")]
        return {path: (self.configure(path)["fingerprint"], self.module(path)[0]) for path in paths}

    def module(self, spec: str) -> tuple[list[tuple[Path, bytes]], list[Any], list[Any]]:
        sources, ours, params = self.call("module", spec)
        users = [(Path(path), text.encode()) for path, text in sources]
        return users, list(map(tuple, ours)), list(map(tuple, params))

    def kernel_module(self, spec: str) -> None:  # noqa: ARG002
        return None


def configure(spec: str) -> dict[str, Any]:
    """As of `_core`."""
    return Snapshot().configure(spec)
