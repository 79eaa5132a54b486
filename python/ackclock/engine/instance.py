"""An instance of the engine, `crates/wasm`, in wasmtime.

An instance belongs to one thread at a time. Its memory never shrinks, so each run has its own.
"""

import atexit
import ctypes
import functools
import hashlib
import json
import os
import signal
import tempfile
import threading
import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import wasmtime

from ackclock.base import errors
from ackclock.base.errors import AckclockError
from ackclock.engine.guests import STALL_S, Compiled, Guests

#: What ends a command, or wakes it.
_NAMES = ("SIGINT", "SIGTERM", "SIGHUP", "SIGALRM", "SIGBREAK")
_SIGNALS = [getattr(signal, name) for name in _NAMES if hasattr(signal, name)]
ENGINE = Path(__file__).parents[1] / "explore" / "static" / "lab" / "engine.wasm"


@functools.cache
def engine_of(guarded: bool) -> wasmtime.Engine:
    # What a trap says has the lines of the file's C.
    os.environ["WASMTIME_BACKTRACE_DETAILS"] = "1"
    config = wasmtime.Config()
    config.epoch_interruption = guarded
    return wasmtime.Engine(config)


@functools.cache
def _module(guarded: bool) -> tuple[wasmtime.Engine, wasmtime.Module]:
    """The engine, compiled: 2 s once, then kept in the user's cache directory.

    `guarded`: beside users' C files, whose loops end; it takes 6 % more time.
    """
    engine = engine_of(guarded)
    text = ENGINE.read_bytes()
    of = f"{version('wasmtime')} {guarded}"
    name = hashlib.blake2b(text + of.encode(), digest_size=12).hexdigest()
    home = os.environ.get("XDG_CACHE_HOME") or os.environ.get("LOCALAPPDATA")
    kept = Path(home or Path.home() / ".cache", "ackclock", f"engine-{name}.cwasm")
    with suppress(OSError, wasmtime.WasmtimeError):
        return engine, wasmtime.Module.deserialize_file(engine, str(kept))
    module = wasmtime.Module(engine, text)
    with suppress(OSError):  # it is compiled again the next time
        kept.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(dir=kept.parent, delete=False) as file:
            file.write(module.serialize())
        Path(file.name).replace(kept)
    return engine, module


_living: "weakref.WeakSet[Instance]" = weakref.WeakSet()


@atexit.register
def _close() -> None:
    """While Python ends, wasmtime would call functions of it that are no more."""
    for each in list(_living):
        each.close()


@contextmanager
def _later() -> Iterator[None]:
    """Signals wait meanwhile: wasmtime bears no exception where a callback of it begins."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    came: list[Any] = []
    before = {each: signal.getsignal(each) for each in _SIGNALS}
    for each, handler in before.items():
        if callable(handler):
            signal.signal(each, lambda *given: came.append(given))
    try:
        yield
    finally:
        for each, handler in before.items():
            if callable(handler):
                signal.signal(each, handler)
    for number, frame in came:
        before[number](number, frame)  # type: ignore[operator, misc]


class Instance:
    """An instance: `take(message)` gets what it tells, `ask(what)` gives what it asks for."""

    def __init__(
        self,
        take: Callable[[dict[str, Any]], bool | None] | None = None,
        ask: Callable[[list[Any]], bytes] | None = None,
        guarded: bool = False,
    ) -> None:
        engine, module = _module(guarded)
        # wasmtime keeps its callbacks, and garbage is collected late: no circle holds this.
        self._take, self._ask = take, weakref.WeakMethod(ask) if ask else None
        self._answer = b""
        #: What was told last, and what a callback raised.
        self.told: dict[str, Any] = {}
        self.raised: BaseException | None = None
        self.is_broken = self._is_busy = False
        self._store = wasmtime.Store(engine)
        linker = wasmtime.Linker(engine)
        self.guests = Guests(engine, self._store) if guarded else None
        if self.guests:
            linker.define(self._store, "page", "hook", self.guests.hook)
            self._live()
        word = wasmtime.ValType.i32()
        for name, given, made in (
            ("tell", 2, [word]),
            ("ask", 2, [word]),
            ("answered", 1, []),
            *([] if guarded else [("hook", 12, [word])]),
        ):
            of = wasmtime.FuncType([word] * given, made)
            linker.define_func("page", name, of, _guarded(weakref.ref(self), f"_on_{name}"))
        exports = linker.instantiate(self._store, module).exports(self._store)
        self._exports: Mapping[str, Any] = exports
        self._memory: Any = exports["memory"]
        _living.add(self)

    def close(self) -> None:
        if not self._is_busy:
            self._store.close()

    def _live(self) -> None:
        if self.guests:
            self._store.set_epoch_deadline(STALL_S + 1)

    def add(self, file: Compiled) -> bytes:
        """Takes a C file; what the engine that asks for it is answered."""
        assert self.guests
        self.guests.add(file, self._memory)
        return file.answer

    def _address(self, at: int) -> int:
        return ctypes.addressof(self._memory.data_ptr(self._store).contents) + at

    def _bytes(self, at: int, size: int) -> bytes:
        return ctypes.string_at(self._address(at), size)

    def _on_tell(self, at: int, size: int) -> int:
        told = json.loads(self._bytes(at, size))
        if columns := told.get("columns"):
            told["columns"] = {
                name: np.frombuffer(self._bytes(of, count * int(kind[2:])), kind)
                for name, kind, of, count in columns
            }
        self.told = told
        if told["kind"] == "progress":
            self._live()
        return bool(self._take and self._take(told))

    def _on_ask(self, at: int, size: int) -> int:
        ask = self._ask and self._ask()
        assert ask  # who has none asks nothing that needs it
        try:
            self._answer = ask(json.loads(self._bytes(at, size)))
        except ValueError as error:
            self._answer = str(error).encode()
            return -len(self._answer)
        self._live()
        return len(self._answer)

    def _on_answered(self, at: int) -> None:
        ctypes.memmove(self._address(at), self._answer, len(self._answer))

    def _on_hook(self, *_: int) -> int:
        raise NotImplementedError

    def call(self, name: str, given: object) -> dict[str, Any]:
        """Calls a function with JSON; what it told last. Raises what it refuses."""
        with _later():
            return self._called(name, given)

    def _called(self, name: str, given: object) -> dict[str, Any]:
        text = json.dumps(given, allow_nan=False).encode()
        self._is_busy = True
        try:
            at = self._exports["alloc"](self._store, len(text)) & 0xFFFFFFFF
            ctypes.memmove(self._address(at), text, len(text))
            self._exports[name](self._store, at, len(text))
        except BaseException as trap:
            self.is_broken = True
            if self.raised is not None:
                raise self.raised from None
            if not isinstance(trap, wasmtime.WasmtimeError | wasmtime.Trap):
                raise
            if self.guests and isinstance(trap, wasmtime.Trap) and self.guests.socket:
                raise self._trapped(self.guests, trap, given) from None
            text_of = self.told.get("text") if self.told.get("kind") == "error" else None
            reason = text_of or f"the simulator broke down: {trap}; please report this"
            raise AckclockError(reason) from None
        finally:
            self._is_busy = False
        if self.told["kind"] == "refused":
            raise refusal(*self.told["error"])
        return self.told

    def _trapped(self, guests: Guests, trap: wasmtime.Trap, given: Any) -> Exception:
        """What a hook has done."""
        self._live()
        code = trap.trap_code.name if trap.trap_code else ""
        if code == "INTERRUPT":
            try:
                value_of(self, "stalled", [given["scenario"]])
            except AckclockError as error:
                return error
        place, says = guests.trapped(trap)
        what, moment = value_of(self, "trapped", [code, guests.socket])
        return errors.AlgorithmError(f"{place}: {says or what or code}{moment}")


def _guarded(of: "Callable[[], Instance | None]", name: str) -> Callable[..., Any]:
    def guarded(*given: int) -> Any:
        instance = of()
        assert instance is not None  # it is called in a call of its own
        try:
            return getattr(instance, name)(*(each & 0xFFFFFFFF for each in given))
        except BaseException as error:
            instance.raised = error  # wasmtime has one place for those of all threads
            raise

    return guarded


def refusal(kind: str, *words: str) -> Exception:
    made: Exception = (ValueError if kind == "ValueError" else getattr(errors, kind))(*words)
    return made


def value_of(instance: Instance, name: str, given: Sequence[object]) -> Any:
    """What a function of the engine returns."""
    value = instance.call("call", [name, given])["value"]
    if isinstance(value, dict) and value.keys() == {"Err"}:
        raise refusal(*value["Err"])
    return value["Ok"] if isinstance(value, dict) and value.keys() == {"Ok"} else value
