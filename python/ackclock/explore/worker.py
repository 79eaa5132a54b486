"""A process that runs scenarios and tells their rows as they come.

The page's own process never loads a user's C file: a crash, an endless loop or a full memory ends
this process only. It reads a job as a line of JSON, and writes messages: a line of JSON, and the
columns of a table behind it as they are in memory. The last message of a job is "end" or "error".
"""

import json
import os
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import IO, Any, BinaryIO

import numpy as np
import polars as pl

from ackclock import AckclockError, Result, Scenario, _core
from ackclock.explore.judge import judge
from ackclock.hosts import kernel
from ackclock.hosts.limits import Limits
from ackclock.hosts.streamed import GROWING
from ackclock.hosts.testbed import Testbed
from ackclock.hosts.threads import LOCAL, Local
from ackclock.results import measures, summary, tables
from ackclock.results.result import from_engine
from ackclock.scenario import snapshot
from ackclock.store import entries

#: Where the page runs a scenario.
HOSTS: Mapping[str, Local | Testbed] = {each.name: each for each in (LOCAL, Testbed())}
#: Rows of one run.
MOST_ROWS = 8_000_000
#: Lower than the page's own.
NICE = 5
#: What the page draws: columns of a table.
DRAWN = {
    "samples": ("time_us", "flow", "cwnd_packets", "srtt_us", "delivered_packets"),
    "queues": ("time_us", "queue", "queue_packets"),
    "events": ("time_us", "flow", "kind", "cwnd_packets", "ssthresh_packets", "in_flight_packets"),
}

#: The run's thread tells rows while the main thread tells how far it is.
_writing = threading.Lock()


def write(to: BinaryIO, kind: str, columns: dict[str, Any] | None = None, **more: Any) -> None:
    """Writes one message."""
    columns = columns or {}
    shapes = [[name, values.dtype.str, len(values)] for name, values in columns.items()]
    with _writing:
        to.write(json.dumps({"kind": kind, "columns": shapes, **more}).encode() + b"\n")
        to.writelines(np.ascontiguousarray(values).data for values in columns.values())
        to.flush()


def read(stream: IO[bytes]) -> Iterator[tuple[dict[str, Any], bytes]]:
    """The messages that `write` wrote (`columns`: names, types, lengths), each as it came, too."""
    while line := stream.readline():
        message = json.loads(line)
        sizes = [np.dtype(dtype).itemsize * rows for _, dtype, rows in message["columns"]]
        yield message, line + stream.read(sum(sizes))


class _Told:
    """Rows that the page has been told, which are kept for the result."""

    def __init__(self, out: BinaryIO) -> None:
        self.out = out
        self.parts: list[dict[str, pl.DataFrame]] = []
        self.rows = 0

    def add(self, raw: dict[str, Any]) -> None:
        self.rows += sum(len(raw[table]) for table in DRAWN)
        if self.rows > MOST_ROWS:
            raise AckclockError(
                f"sample_interval: the run has more than {MOST_ROWS} rows, the most that the page "
                "keeps; sample less often, or use `ackclock run -o`"
            )
        part = {table: tables.frame(table, raw[table]) for table in GROWING}
        self.parts.append(part)
        _tell(self.out, part)

    def whole(self) -> dict[str, pl.DataFrame]:
        """All rows."""
        return {table: pl.concat([part[table] for part in self.parts]) for table in GROWING}


def _tell(out: BinaryIO, rows: Mapping[str, Any]) -> None:
    """Tells rows of a run: what the page draws of them, names in codes."""
    for table, names in DRAWN.items():
        columns = [rows[table][name].to_physical() for name in names]
        write(out, table, {each.name: each.to_numpy() for each in columns})


def _simulate(out: BinaryIO, scenario: Scenario, progress: Callable[[float], None]) -> Result:
    prepared = scenario.prepare()
    told, results = _Told(out), list[Result]()

    def end(_: int, raw: dict[str, Any]) -> None:
        told.add(raw)
        results.append(from_engine(scenario, prepared, raw | told.whole()))

    _core.run_many([prepared], 1, progress, end, lambda _, raw: told.add(raw), live=True)
    return results[0]


def _work(job: dict[str, Any], out: BinaryIO) -> None:
    """Runs a job, keeps its result in `job["keep"]`, and tells all of it."""

    def progress(done: float) -> None:
        write(out, "progress", done=done)

    if job.get("judge"):
        files = Path(job["files"])
        scenario = Scenario.from_text(job["toml"], source="", directory=files)
        told = judge(job["judge"], scenario, Path(job["keep"]).parent, progress)
        if "toml" in told:  # the page knows its C files by their names
            told["toml"] = told["toml"].replace(f"{files}/", "")
        write(out, "end", **told)
        return
    with snapshot.held():
        if job.get("open"):
            result = Result.load(job["open"])
            write(out, "begin", **about(result.manifest))
            _tell(out, vars(result))
            write(out, "end", kept=job["open"], **_of(result))
            return
        files = Path(job["files"])
        scenario = Scenario.from_text(job["toml"], source="", directory=files)
        host = HOSTS[job["on"]]
        host.check(scenario)
        algorithms = {
            flow.algorithm: snapshot.current().configure(flow.algorithm) for flow in scenario.flows
        }
        resolved = json.loads(scenario.resolve())
        write(out, "begin", **about({"resolved": resolved, "algorithms": algorithms}))
        place = Path(job["keep"]) / (
            f"{job['id']}-{host.name}" if host.real_time else scenario.key()
        )
        found = None if host.real_time else entries.find(place, Result.load)
        if found is not None:
            result = found
            _tell(out, vars(result))
        elif host.real_time:
            result = kernel.run(scenario, progress=progress)
            _tell(out, vars(result))
            result.save(place)
        else:
            result = _simulate(out, scenario, progress)
            result.save(place)
        write(out, "end", kept=str(place), **_of(result))


def _of(result: Result) -> dict[str, Any]:
    summed = summary.json_ready(summary.summarise(result))
    return {"summary": summed, "wall_time_s": result.manifest["wall_time_s"]}


def about(manifest: dict[str, Any]) -> dict[str, Any]:
    """What the page needs to know of a run before its first row."""
    resolved, algorithms = manifest["resolved"], manifest["algorithms"]
    flows = [
        {
            "spec": flow["algorithm"],
            "name": summary.of_stack(flow, algorithms[flow["algorithm"]]["name"]),
            "values": algorithms[flow["algorithm"]]["values"],
            "direction": flow.get("direction", "forward"),
            "rtt_ns": flow["rtt_ns"],
            "mss_bytes": measures.mss_bytes(resolved, flow),
            "size_bytes": flow.get("size_bytes"),
            "stop_ns": flow.get("stop_ns"),
        }
        for flow in resolved["flows"]
    ]
    return {
        "flows": flows,
        "duration_us": resolved["duration_ns"] // 1000,
        "sample_interval_us": resolved["sample_interval_ns"] // 1000,
        "queues": 1
        + len(resolved.get("links", ()))
        + any(f["direction"] != "forward" for f in flows),
        "backend": manifest.get("backend", LOCAL.name),
    }


def main() -> None:
    """Takes jobs from standard input."""
    out = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what a library prints is no message
    limits = Limits.read()
    limits.obey()
    if hasattr(os, "nice"):
        os.nice(NICE)
    for line in sys.stdin.buffer:
        try:
            _work(json.loads(line), out)
        except AckclockError as error:
            write(out, "error", text=str(error))
        except MemoryError:
            write(out, "error", text=limits.too_much_memory)


if __name__ == "__main__":
    main()
