"""Many runs on many cores: `_core.run_many` of the portable engine."""

import copy
import json
import os
import queue
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import IO, Any

from ackclock.engine.guests import Compiled, clock
from ackclock.engine.instance import Instance, engine_of

#: How long cancelled runs may take to end, s; and how often the caller hears of their progress.
_GRACE_S, _TICK_S = 1.0, 0.1


class Prepared:
    """As of `_core`."""

    def __init__(self, made: Sequence[Any], compiled: Mapping[str, Compiled]) -> None:
        self.json, self._algorithms, self.work = made
        #: Its C files.
        self.compiled = {
            path: compiled[path]
            for path in (each["source"].removeprefix("./") for each in self._algorithms.values())
            if path in compiled
        }

    @property
    def algorithms(self) -> dict[str, Any]:
        return dict(copy.deepcopy(self._algorithms))


class _Run:
    """A run in a thread: what it hands over on its way, and its tables."""

    def __init__(self, index: int, prepared: Prepared, on_rows: Any, live: bool) -> None:
        self.index, self.prepared = index, prepared
        self._on_rows, self._live, self._told_s = on_rows, live, 0.0
        self.done, self.stopped = 0.0, False
        self.file: IO[bytes] | None = None
        #: The flow, from 0, that `act` sets the parameters of, and whether at each ACK.
        self.acting: tuple[int, bool] | None = None
        self.act: Callable[[dict[str, int]], bytes] | None = None
        self._tables: dict[str, Any] = {}

    def _take(self, told: dict[str, Any]) -> bool:
        if self.stopped:
            raise KeyboardInterrupt
        match told["kind"]:
            case "table":
                self._tables[told["table"]] = told["columns"]
            case "rows":
                self._on_rows(self.index, self._tables)
                self._tables = {}
            case "pcapng" if self.file is not None:
                self.file.write(told["columns"][""].tobytes())
            case "progress":
                self.done = told["done"]
                if self._live and time.monotonic() - self._told_s > _TICK_S:
                    self._told_s = time.monotonic()
                    return True
        return False

    def _ask(self, what: list[Any]) -> bytes:
        if self.act is not None and what[0] == "act":
            return self.act(what[1])
        return self.instance.add(self.prepared.compiled[what[1].removeprefix("./")])

    def tables(self, pcapng: Any, packets: bool) -> dict[str, Any]:
        wall_s, cpu_s = time.perf_counter(), time.thread_time()
        wanted = {"scenario": self.prepared.json, "rows": self._on_rows is not None}
        wanted |= {"packets": packets, "pcapng": pcapng and pcapng[1:], "acting": self.acting}
        guarded = bool(self.prepared.compiled)
        with ExitStack() as stack:
            if pcapng:
                self.file = stack.enter_context(Path(pcapng[0]).open("wb"))
            if guarded:
                stack.enter_context(clock.running(engine_of(guarded)))
            self.instance = Instance(self._take, self._ask, guarded)
            stack.callback(delattr, self, "instance")  # it has much memory
            end = self.instance.call("run_whole", wanted)
        return {
            "trace_hash": end["trace_hash"],
            "packets": end["packets"],
            "wall_time_s": time.perf_counter() - wall_s,
            **self._tables,
            "cpu_time_s": time.thread_time() - cpu_s,
        }


class _Batch:
    """Runs in threads. One result waits for the caller for each."""

    def __init__(self, runs: Sequence[_Run], threads: int, pcapng: Any, packets: bool) -> None:
        self._runs, self._waiting = runs, iter(runs)
        self._pcapng, self._packets = pcapng, packets
        threads = min(threads or os.cpu_count() or 1, len(runs))
        self._ended: queue.Queue[tuple[_Run, Any]] = queue.Queue(threads or 1)
        self._workers = [threading.Thread(target=self._work, daemon=True) for _ in range(threads)]
        for each in self._workers:
            each.start()

    def _work(self) -> None:
        for run in self._waiting:
            if run.stopped:
                return
            try:
                made: Any = run.tables(None if run.index else self._pcapng, self._packets)
            except BaseException as error:  # noqa: BLE001 (it is raised in the caller's thread)
                made = error
            self._ended.put((run, made))

    def next(self) -> tuple[_Run, dict[str, Any]] | None:
        """One that has ended, if one does in time; raises what ended it."""
        try:
            run, made = self._ended.get(timeout=_TICK_S)
        except queue.Empty:
            return None
        if isinstance(made, BaseException):
            raise made
        run.done = 1.0
        return run, made

    def stop(self) -> None:
        for run in self._runs:
            run.stopped = True
        until_s = time.monotonic() + _GRACE_S
        while any(each.is_alive() for each in self._workers) and time.monotonic() < until_s:
            with suppress(queue.Empty):
                self._ended.get(timeout=_TICK_S / 10)


class Stepped:
    """As of `_core`: the run is in a thread, which ends with this."""

    def __init__(self, prepared: Prepared, flow: int, names: Sequence[str], each_ack: bool) -> None:
        run = _Run(0, prepared, None, live=False)
        run.acting = (flow - 1, each_ack)
        told: queue.SimpleQueue[Any] = queue.SimpleQueue()
        actions: queue.SimpleQueue[Any] = queue.SimpleQueue()

        def act(seen: dict[str, int]) -> bytes:
            told.put(seen)
            values = actions.get()
            return b"" if values is None else json.dumps([list(names), values]).encode()

        def work() -> None:
            try:
                told.put(run.tables(None, packets=False))
            except BaseException as error:  # noqa: BLE001 (it is raised in the caller's thread)
                told.put(error)

        run.act, self._told, self._actions = act, told, actions
        threading.Thread(target=work, daemon=True).start()

    def __del__(self) -> None:
        self._actions.put(None)

    def set(self, values: Sequence[float]) -> None:
        self._actions.put(list(values))

    def wait(self) -> dict[str, Any]:
        made: Any = self._told.get()
        if isinstance(made, BaseException):
            raise made
        return dict(made)


def run_many(
    scenarios: Sequence[Prepared],
    threads: int,
    progress: Callable[[float], object] | None,
    on_result: Callable[[int, dict[str, Any]], object],
    on_rows: Callable[[int, dict[str, Any]], object] | None = None,
    live: bool = False,
    pcapng: tuple[str, str, int] | None = None,
    packets: bool = False,
) -> None:
    """As of `_core`. wasmtime lets Python's other threads run meanwhile."""
    runs = [_Run(index, each, on_rows, live) for index, each in enumerate(scenarios)]
    total = sum(run.prepared.work for run in runs)
    batch = _Batch(runs, threads, pcapng, packets)
    left = len(runs)
    try:
        while left:
            if ended := batch.next():
                run, made = ended
                on_result(run.index, made)
                left -= 1
            if progress is not None:
                progress(sum(run.done * run.prepared.work for run in runs) / total)
    except BaseException:
        batch.stop()
        raise
