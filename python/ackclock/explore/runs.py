"""The runs of the page: each in a process of its own, what it told so far in this one."""

import contextlib
import copy
import hashlib
import json
import os
import re
import secrets
import signal
import subprocess
import sys
import threading
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from ackclock import AckclockError, Flow, Scenario, Session
from ackclock.base.directory import replaced
from ackclock.explore import worker
from ackclock.explore.judge import subject
from ackclock.explore.worker import HOSTS
from ackclock.hosts.threads import LOCAL
from ackclock.scenario import snapshot
from ackclock.scenario.scenario import is_c_file, name_in
from ackclock.store import entries

#: Runs that go on at a time; runs that wait; runs that the page has in all.
AT_A_TIME = min(os.cpu_count() or 1, 4)
MOST_WAITING = 100
MOST_RUNS = 200
#: Samples of all runs: some 700 MB. The oldest runs leave the page, and stay in their folder.
MOST_SAMPLES = 25_000_000
#: Flows of a run.
MOST_FLOWS = 100
#: Wall time of a run, seconds.
MOST_S = 600
#: In which a process ends what it has started, seconds.
ENDS_S = 2
#: What a file of a scenario may be called, and how long its text may be.
FILE_NAME = re.compile(r"[A-Za-z0-9][\w-]{0,40}\.(c|trace|csv)")
MOST_FILE_BYTES = 1_000_000
MOST_FILES = 8
MOST_TOML_BYTES = 100_000


class Source(NamedTuple):
    """What to run: the text of a scenario file, the files that it names, and where."""

    toml: str
    files: Mapping[str, str]
    #: Of `HOSTS`.
    on: str = LOCAL.name


#: What the page is told of a run, beside its source.
TOLD = ("id", "title", "state", "done", "error", "rows", "about", "end", "judge")


@dataclass(eq=False)
class Run:
    """One run, and its rows so far."""

    id: str
    source: Source
    title: str = ""
    #: What is asked of the source's algorithm, of `judge.WHAT`; empty: it is run.
    judge: str = ""
    #: waiting, running, done, failed or cancelled.
    state: str = "waiting"
    done: float = 0.0
    error: str = ""
    about: dict[str, Any] = field(default_factory=dict)
    end: dict[str, Any] = field(default_factory=dict)
    #: Grows at each change.
    version: int = 0
    rows: int = 0
    #: The messages of its rows, as `worker.write` wrote them.
    drawn: bytearray = field(default_factory=bytearray)
    process: "subprocess.Popen[bytes] | None" = None

    def told(self) -> dict[str, Any]:
        """What the page is told of it; `bytes` are those of its rows."""
        return {
            **{name: getattr(self, name) for name in TOLD},
            **self.source._asdict(),
            "bytes": len(self.drawn),
        }

    def take(self, kind: str, rows: int, text: bytes) -> None:
        """Takes rows of a table."""
        if kind != "events":
            self.rows += rows
        self.drawn += text


class Runs:
    """All runs of the page. Its methods may be called from any thread."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._runs: dict[str, Run] = {}
        self._waiting: deque[Run] = deque()
        #: Held while runs change, and while their rows are read.
        self.lock = threading.RLock()
        self._version = 0
        #: Processes without a job. Imports take half a second, so they are started early and stay.
        self._idle: list[subprocess.Popen[bytes]] = []
        self._closed = False

    def start(self, source: Source, title: str = "") -> Run:
        """Starts a run, or finds the one of the same source; raises `AckclockError`."""
        self.check(source)
        with self.lock:
            for run in self._runs.values():
                good = run.state in ("waiting", "running", "done")
                same = run.source == source and not run.judge
                if same and good and not HOSTS[source.on].real_time:
                    return run
            return self._add(source, title, self._job(source))

    def judge(self, what: str, source: Source, title: str) -> Run:
        """Starts to judge the algorithm of the first flow; raises `AckclockError`."""
        subject(self.check(source))
        with self.lock:
            return self._add(source, title, self._job(source) | {"judge": what}, what)

    def open(self, directory: Path, title: str) -> Run:
        """Opens a kept run; raises `AckclockError` if its manifest cannot be read."""
        try:
            manifest = entries.read_manifest(directory)
            toml = Scenario.parse(manifest["scenario"]).to_toml()
        except (OSError, ValueError, TypeError, KeyError):
            why = "manifest.json has no scenario"
            raise AckclockError(
                f"{directory.name}: not a result of `ackclock run -o`: {why}"
            ) from None
        source = Source(toml, {}, manifest.get("backend", LOCAL.name))
        with self.lock:
            return self._add(source, title, {"open": str(directory)})

    def check(self, source: Source) -> Scenario:
        """The scenario of a source, which its host takes: as far as is known without its C files.

        Reads no file. Raises `AckclockError` with what to type.
        """
        if len(_utf8("the scenario", source.toml)) > MOST_TOML_BYTES:
            raise AckclockError(f"the scenario is longer than {MOST_TOML_BYTES} bytes")
        if len(source.files) > MOST_FILES:
            raise AckclockError(f"{len(source.files)} files: a scenario has at most {MOST_FILES}")
        for name, text in source.files.items():
            if not FILE_NAME.fullmatch(name):
                raise AckclockError(
                    f"{name!r}: call a file NAME.c, NAME.trace or NAME.csv, up to 40 letters"
                )
            if len(_utf8(name, text)) > MOST_FILE_BYTES:
                raise AckclockError(f"{name}: longer than {MOST_FILE_BYTES} bytes")
        try:
            scenario = Scenario.from_text(source.toml, source="")
        except AckclockError as error:
            raise AckclockError(str(error).removeprefix(": ")) from None
        self._check_names(scenario, source)
        files = {name: text.encode() for name, text in source.files.items()}
        with snapshot.held(snapshot.Snapshots(files)):
            HOSTS[source.on].check(_without_c_files(scenario))
        return scenario

    def _check_names(self, scenario: Scenario, source: Source) -> None:
        """Only files that came with the scenario, and flows that can be told apart."""
        if sum(flow.count for flow in scenario.flows) > MOST_FLOWS:
            raise AckclockError(
                f"flow: the page draws at most {MOST_FLOWS} flows; `ackclock run` takes more"
            )
        every: tuple[Flow | Session, ...] = (*scenario.flows, *scenario.sessions)
        for number, flow in enumerate(every, 1):
            name = name_in(flow.algorithm)
            if is_c_file(name) and name not in source.files:
                raise AckclockError(
                    f'flow {number}: algorithm = "{flow.algorithm}": write the file {name!r} in '
                    "the C editor of this page first"
                )
        for link in (*scenario.links, *((scenario.bottleneck,) if scenario.bottleneck else ())):
            for key in ("trace", "timeline"):
                path = getattr(link, key)
                if path is not None and path not in source.files:
                    raise AckclockError(
                        f'bottleneck.{key} = "{path}": choose the file of the {key} in this page'
                    )

    def _job(self, source: Source) -> dict[str, Any]:
        text = json.dumps(sorted(source.files.items()))
        name = hashlib.blake2b(text.encode(), digest_size=8).hexdigest()
        files = self.folder / "files" / name
        for file, content in source.files.items():
            _keep_file(files / file, content.encode())
        return {
            "toml": source.toml,
            "files": str(files),
            "on": source.on,
            "keep": str(self.folder),
        }

    def _add(self, source: Source, title: str, job: dict[str, Any], judge: str = "") -> Run:
        if len(self._waiting) >= MOST_WAITING:
            raise AckclockError(f"{MOST_WAITING} runs wait already; wait for them or cancel some")
        self.folder.mkdir(parents=True, exist_ok=True)
        run = Run(secrets.token_hex(6), source, title, judge)
        self._runs[run.id] = run
        self._waiting.append(run)
        run.about["job"] = job
        self._changed(run)
        self._next()
        return run

    def get(self, run_id: str) -> Run | None:
        return self._runs.get(run_id)

    def changes(self, since: int) -> tuple[int, list[dict[str, Any]], list[str]]:
        """The version now, what changed after an earlier one, and the ids of all runs."""
        with self.lock:
            told = [run.told() for run in self._runs.values() if run.version > since]
            return self._version, told, list(self._runs)

    def cancel(self, run: Run) -> None:
        """Ends a run; its curves so far stay."""
        with self.lock:
            if run in self._waiting:
                self._waiting.remove(run)
            if run.state in ("waiting", "running"):
                self._finish(run, "cancelled")

    def remove(self, run: Run) -> None:
        with self.lock:
            self.cancel(run)
            self._runs.pop(run.id, None)
            self._version += 1

    def close(self) -> None:
        """Ends all that goes on."""
        with self.lock:
            self._closed = True
            for run in list(self._runs.values()):
                self.cancel(run)
            for process in self._idle:
                _end(process)

    def warm(self) -> None:
        """Starts processes for the next runs."""
        with self.lock:
            going = sum(run.state == "running" for run in self._runs.values())
            while len(self._idle) + going < AT_A_TIME and not self._closed:
                self._idle.append(_process())

    def _changed(self, run: Run) -> None:
        self._version += 1
        run.version = self._version

    def _next(self) -> None:
        """Starts what waits, as far as there is room."""
        going = sum(run.state == "running" for run in self._runs.values())
        while self._waiting and going < AT_A_TIME and not self._closed:
            run = self._waiting.popleft()
            going += 1
            run.process = self._idle.pop(0) if self._idle else _process()
            run.state = "running"
            self._changed(run)
            threading.Thread(target=self._follow, args=(run, run.process), daemon=True).start()
        self._forget()

    def _forget(self) -> None:
        """Drops the oldest finished runs where there are too many, or too many samples."""
        ended = [run for run in self._runs.values() if run.state not in ("waiting", "running")]
        for run in ended[:-1]:
            rows = sum(each.rows for each in self._runs.values())
            if len(self._runs) <= MOST_RUNS and rows <= MOST_SAMPLES:
                return
            del self._runs[run.id]
            self._version += 1

    def _follow(self, run: Run, process: "subprocess.Popen[bytes]") -> None:
        """Takes what the process of a run tells."""
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stderr is not None
        job = run.about.pop("job") | {"id": run.id}
        timer = threading.Timer(MOST_S, self._late, (run,))
        if not run.judge:  # it ends by itself
            timer.start()
        try:
            with contextlib.suppress(BrokenPipeError):
                process.stdin.write(json.dumps(job).encode() + b"\n")
                process.stdin.flush()
            for message, text in worker.read(process.stdout):
                with self.lock:
                    if run.state != "running":
                        break
                    self._take(run, message, text, job.get("files", ""))
                    if run.state == "running":
                        continue
                    if run.source.files:  # it has run a user's code: it takes no other job
                        break
                    self._idle.append(process)
                    self._next()
                    return
        except ValueError:  # half a message
            pass
        finally:
            timer.cancel()
        if run.state != "running":
            _end(process)
        said = process.stderr.read().decode(errors="replace").strip()
        _end(process)
        for stream in (process.stdin, process.stdout, process.stderr):
            with contextlib.suppress(BrokenPipeError):
                stream.close()
        with self.lock:
            if run.state == "running":
                reason = said.splitlines()[-1] if said else f"exit code {process.returncode}"
                reason = _told(reason, job.get("files", ""))
                self._finish(run, "failed", f"the run broke down: {reason}")
            self._next()
        self.warm()

    def _take(self, run: Run, message: dict[str, Any], text: bytes, files: str) -> None:
        kind, columns = message.pop("kind"), message.pop("columns")
        if kind == "progress":
            run.done = message["done"]
        elif kind == "begin":
            run.about = message
        elif kind == "end":
            run.end = message
            run.done = 1.0
            self._finish(run, "done")
        elif kind == "error":
            self._finish(run, "failed", _told(message["text"], files))
        else:
            run.take(kind, columns[0][2], text)
        self._changed(run)

    def _finish(self, run: Run, state: str, error: str = "") -> None:
        run.state, run.error = state, error
        if run.process is not None and state == "cancelled":
            _end(run.process, gently=bool(run.judge))
        self._changed(run)

    def _late(self, run: Run) -> None:
        with self.lock:
            if run.state == "running":
                text = f"the run took longer than {MOST_S} s; `ackclock run -o` has no limit"
                self._finish(run, "failed", text)
                if run.process is not None:
                    _end(run.process)


def _utf8(name: str, text: str) -> bytes:
    """The bytes of a text; raises `AckclockError` for half a pair of UTF-16."""
    try:
        return text.encode()
    except UnicodeEncodeError as error:
        half = text[error.start]
        raise AckclockError(f"{name}: {half!r} is half a character; remove it") from None


def _without_c_files(scenario: Scenario) -> Scenario:
    """The scenario with Reno in the place of C files, which only the process of a run loads."""
    fields = copy.deepcopy(dict(scenario.given))
    for each in (*fields.get("flow", ()), *fields.get("session", ())):
        if is_c_file(name_in(each["algorithm"])):
            each["algorithm"] = "reno"
    return Scenario.parse(fields)


def _keep_file(path: Path, content: bytes) -> None:
    """Writes a file whole, unless it is there and holds this; raises `AckclockError`."""
    try:
        if path.is_file() and path.read_bytes() == content:
            return
        with replaced(path) as file:
            file.write_bytes(content)
    except OSError as error:
        raise AckclockError(
            f"{path.name}: cannot be kept in {path.parent} ({error.strerror}); make room there"
        ) from None


def _told(text: str, files: str) -> str:
    """An error for the page, which knows its C files by their names alone."""
    text = text.replace(f"{files}/", "") if files else text
    return text.removeprefix("error: ").removeprefix(": ")


def _process() -> "subprocess.Popen[bytes]":
    return subprocess.Popen(
        [sys.executable, "-m", worker.__name__],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )


def _end(process: "subprocess.Popen[bytes]", *, gently: bool = False) -> None:
    """Kills a process and all that it started (a C compiler); `gently`: it ends its own first."""
    if gently:
        process.terminate()
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(ENDS_S)
    if hasattr(os, "killpg"):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
    process.kill()
    process.wait()
