"""Users' C files beside an engine: modules with memories of their own (algorithms/checked/wasm.c).

A hook goes from the engine to a file without Python: `_DOOR` finds the file's `_GLUE`, which copies
the socket into the file's memory, and back. Nothing else can be reached.
"""

import re
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from typing import Any

import wasmtime

#: Processor time after which a hook counts as endless, s (crates/sim/src/control.rs).
STALL_S = 5
#: Calls the hook of the guest that is its first argument. While it does, `socket` is not 0.
_DOOR = f"""(module
  (type $hook (func (param {"i32 " * 11}) (result i32)))
  (table (export "guests") 0 funcref)
  (global $guest (export "guest") (mut i32) (i32.const 0))
  (global $socket (export "socket") (mut i32) (i32.const 0))
  (func (export "hook") (param {"i32 " * 12}) (result i32)
    (global.set $guest (local.get 0))
    (global.set $socket (local.get 2))
    (call_indirect (type $hook)
      {" ".join(f"(local.get {each})" for each in range(1, 12))} (local.get 0))
    (global.set $socket (i32.const 0))))"""
#: Lengths are of bytes, but of `params` in words of 32 and of `block` in words of 64 bits. The
#: largest sample has 256 bytes.
_GLUE = """(module
  (import "engine" "memory" (memory $theirs 0))
  (import "guest" "memory" (memory $own 0))
  (import "guest" "__heap_base" (global $heap i32))
  (import "guest" "cc_prepare" (func $prepare (param i32) (result i32)))
  (import "guest" "cc_hook" (func $call (param i32 i32 i32 i32 i32 i32 i32) (result i32)))
  (global $ready (mut i32) (i32.const 0))
  (func (export "hook")
    (param $hook i32) (param $socket i32) (param $socket_len i32) (param $first i32)
    (param $second i32) (param $sample i32) (param $sample_len i32) (param $params i32)
    (param $params_len i32) (param $block i32) (param $block_len i32) (result i32)
    (local $at i32) (local $at_sample i32) (local $at_params i32) (local $at_block i32)
    (local $returned i32)
    (local.set $at (i32.and (i32.add (global.get $heap) (i32.const 15)) (i32.const -16)))
    (local.set $at_sample (i32.and (i32.const -16)
      (i32.add (i32.add (local.get $at) (local.get $socket_len)) (i32.const 15))))
    (local.set $at_params (i32.add (local.get $at_sample) (i32.const 256)))
    (local.set $params_len (i32.shl (local.get $params_len) (i32.const 2)))
    (local.set $block_len (i32.shl (local.get $block_len) (i32.const 3)))
    (local.set $at_block (i32.and (i32.const -16)
      (i32.add (i32.add (local.get $at_params) (local.get $params_len)) (i32.const 15))))
    (if (i32.eqz (global.get $ready)) (then
      (local.set $returned (i32.sub
        (i32.shr_u (i32.add (i32.add (local.get $at_block) (local.get $block_len))
          (i32.const 65535)) (i32.const 16))
        (memory.size $own)))
      (if (i32.gt_s (local.get $returned) (i32.const 0)) (then
        (drop (memory.grow $own (local.get $returned)))))
      (drop (call $prepare (local.get $params_len)))
      (global.set $ready (i32.const 1))))
    (memory.copy $own $theirs (local.get $at) (local.get $socket) (local.get $socket_len))
    (if (local.get $params_len) (then
      (memory.copy $own $theirs
        (local.get $at_params) (local.get $params) (local.get $params_len))))
    (if (local.get $sample_len) (then
      (memory.copy $own $theirs
        (local.get $at_sample) (local.get $sample) (local.get $sample_len))))
    (if (local.get $block_len) (then
      (memory.copy $own $theirs (local.get $at_block) (local.get $block) (local.get $block_len))))
    (local.set $returned (call $call (local.get $hook) (local.get $at)
      (local.get $first) (local.get $second)
      (select (local.get $at_sample) (i32.const 0) (local.get $sample_len))
      (local.get $at_params)
      (select (local.get $at_block) (i32.const 0) (local.get $block_len))))
    (memory.copy $theirs $own (local.get $socket) (local.get $at) (local.get $socket_len))
    (if (local.get $block_len) (then
      (memory.copy $theirs $own (local.get $block) (local.get $at_block) (local.get $block_len))))
    (local.get $returned)))"""


@dataclass(frozen=True)
class Compiled:
    """A C file for the engine: its module, and what the engine reads of it."""

    path: str
    module: wasmtime.Module
    answer: bytes


@cache
def _made(engine: wasmtime.Engine, text: str) -> wasmtime.Module:
    return wasmtime.Module(engine, text)


class Guests:
    """The C files of one instance of the engine."""

    def __init__(self, engine: wasmtime.Engine, store: wasmtime.Store) -> None:
        self._engine, self._store = engine, store
        door = wasmtime.Instance(store, _made(engine, _DOOR), []).exports(store)
        self._door: Mapping[str, Any] = door
        self._added: list[tuple[str, Mapping[str, Any]]] = []

    @property
    def hook(self) -> Any:
        """What the engine calls."""
        return self._door["hook"]

    def add(self, file: Compiled, memory: Any) -> None:
        """`memory`: the engine's. The engine adds its files in the same order."""
        own = wasmtime.Instance(self._store, file.module, []).exports(self._store)
        glue = _made(self._engine, _GLUE)
        names = {"engine": {"memory": memory}, "guest": own}
        given = [names[each.module][str(each.name)] for each in glue.imports]
        hook = wasmtime.Instance(self._store, glue, given).exports(self._store)["hook"]
        self._door["guests"].grow(self._store, 1, hook)
        self._added.append((file.path, own))

    @property
    def socket(self) -> int:
        """The socket of the hook that has not returned, in the engine's memory; 0: none."""
        return int(self._door["socket"].value(self._store)) & 0xFFFFFFFF

    def trapped(self, trap: wasmtime.Trap) -> tuple[str, str]:
        """Where a hook has trapped, and what it says of that."""
        path, own = self._added[self._door["guest"].value(self._store)]
        of, breach = (self._text(own, own[name]) for name in ("cc_breach_of", "cc_breach"))
        if breach.startswith(" "):
            breach = f"writes {of}{breach}"
        return _place(trap, path), breach

    def _text(self, own: Mapping[str, Any], pointer: Any) -> str:
        at = pointer(self._store)
        memory = own["memory"]
        text = memory.read(self._store, at, memory.data_len(self._store)) if at else b""
        return bytes(text).partition(b"\0")[0].decode(errors="replace")


#: A frame in what wasmtime says of a trap, its number, and a line of C in it.
_FRAME = re.compile(r"^ +(\d+): (.*\n(?: +(?:at|-) .*\n)*)", re.MULTILINE)
_LINE = re.compile(r"^ +at (.+?):(\d+)(?::\d+)?$", re.MULTILINE)
#: Our own headers.
_OURS = re.compile(r"[\\/]include[\\/]\w+\.h$")


def _place(trap: wasmtime.Trap, path: str) -> str:
    """The first line of the file's own C in what wasmtime says, and the function."""
    frames = trap.frames
    for number, lines in _FRAME.findall(str(trap)):
        for file, line in _LINE.findall(lines):
            if not _OURS.search(file):
                is_own = re.split(r"[\\/]", file)[-1] == "file.c"
                name = frames[int(number)].func_name
                return f"{path if is_own else file}:{line}, function {name}"
    return path


class Clock:
    """Ticks once for each second of processor time that a run may have had."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._runs = 0

    @contextmanager
    def running(self, engine: wasmtime.Engine) -> Iterator[None]:
        with self._lock:
            self._runs += 1
            if self._runs == 1:
                threading.Thread(target=self._tick, args=(engine,), daemon=True).start()
        try:
            yield
        finally:
            with self._lock:
                self._runs -= 1

    def _tick(self, engine: wasmtime.Engine) -> None:
        seen_s = time.process_time()
        while runs := self._runs:
            time.sleep(0.1)
            if time.process_time() - seen_s > runs:
                seen_s = time.process_time()
                engine.increment_epoch()


clock = Clock()
