"""Runs on a Ray cluster: chunks of scenarios travel to its workers, and rows come back.

A worker reads no file of this machine: C files and the traces of links travel with the scenarios.
C files run beside the worker, in a process with the limits of who sent them.
"""

import functools
import hashlib
import importlib.util
import logging
import math
import os
import pickle
import re
import signal
import socket
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, redirect_stdout, suppress
from dataclasses import dataclass
from typing import Any, ClassVar, TypeVar

from ackclock import _core
from ackclock.base.errors import AckclockError
from ackclock.hosts.contained import contained
from ackclock.hosts.limits import VARIABLE
from ackclock.hosts.threads import Local
from ackclock.results.result import Result
from ackclock.scenario import snapshot
from ackclock.scenario.scenario import Scenario
from ackclock.store.made_by import source_hash

T = TypeVar("T")

#: How long a chunk should take, and how large its answer should be.
CHUNK_S, CHUNK_BYTES = 1.0, 16 << 20
#: Least part of that, where chunks get smaller towards the end.
LEAST = 0.1
#: Chunks for each CPU of the cluster that are on their way: one runs, one waits.
IN_FLIGHT = 2
#: How often a chunk is begun whose worker or machine dies.
ATTEMPTS = 10
#: How often the caller hears of the progress, and how often the CPUs are counted.
TICK_S, COUNT_S = 0.1, 2.0
#: How long the cluster may take to answer at first.
ANSWER_S = 5.0
#: How HTTP/2, and so gRPC, begins: what the client sends, with no settings; then the bytes of the
#: header of the answer's frame, of which the fourth is the kind (RFC 9113, sections 3.4 and 4.1).
HELLO = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + bytes([0, 0, 0, 4, 0, 0, 0, 0, 0])
FRAME_BYTES, SETTINGS = 9, b"\x04"


@dataclass(frozen=True)
class Ray:
    """The machines of a Ray cluster that is there: "HOST:PORT" of its head (docs/cluster.md).

    Where the caller has connected to a cluster by `ray.init`, it is that one.
    Raises `AckclockError` if ray is not installed.
    """

    address: str = "auto"

    is_remote: ClassVar[bool] = True
    version: ClassVar[None] = None

    def __post_init__(self) -> None:
        if importlib.util.find_spec("ray") is None:
            raise AckclockError(
                f"--on-ray {self.address}: ray is not installed; type: "
                f'{sys.executable} -m pip install "ray>=2.40"'
            )

    def run(
        self,
        scenarios: Sequence[Scenario],
        reduce: Callable[[Result], T],
        done: Callable[[int, T], None],
        progress: Callable[[float], None] | None = None,
    ) -> None:
        """As `Executor.run` says. In memory are the chunks on their way, two for each CPU."""
        if not scenarios:
            return
        # Ray prints what it has to say of machines; standard output is the command's.
        with snapshot.held(), redirect_stdout(sys.stderr), _connected(self.address) as ray:
            finished = 0
            for first, rows in _answers(ray, scenarios, reduce):
                for at, row in enumerate(rows, first):
                    done(at, row)
                finished += len(rows)
                if progress is not None:
                    progress(finished / len(scenarios))


@contextmanager
def _connected(address: str) -> Iterator[Any]:
    """The module ray, connected to the cluster. Raises `AckclockError` if there is none."""
    import ray  # noqa: PLC0415 (optional, and slow to import)

    if ray.is_initialized():
        yield ray
        return
    _reach(address)
    in_main = threading.current_thread() is threading.main_thread()
    on_sigterm = signal.getsignal(signal.SIGTERM)
    try:
        ray.init(address, log_to_driver=False, logging_level=logging.CRITICAL)
    except Exception as error:
        raise AckclockError(f"--on-ray {address}: {_first_line(error)}") from error
    finally:
        if in_main:
            signal.signal(signal.SIGTERM, on_sigterm)  # ray.init has set its own
    try:
        yield ray
    finally:
        ray.shutdown()


def _reach(address: str) -> None:
    """Raises `AckclockError` where no gRPC answers; ray itself would try for minutes."""
    place = re.fullmatch(r"(?:ray://)?\[?([^/]+?)\]?:(\d+)", address)
    if not place:
        if address != "auto":
            raise AckclockError(
                f"--on-ray {address}: write HOST:PORT of the cluster's head, which `ray start "
                '--head` prints, or "auto" on a machine of the cluster'
            )
        return
    try:
        with socket.create_connection((place[1], int(place[2])), ANSWER_S) as connection:
            connection.settimeout(ANSWER_S)
            connection.sendall(HELLO)
            answer = connection.recv(FRAME_BYTES)
        problem = "" if answer[3:4] == SETTINGS else "what listens there does not speak gRPC"
    except (OSError, OverflowError) as error:
        problem = str(error)
    if problem:
        raise AckclockError(
            f"--on-ray {address}: no Ray cluster answers there ({problem}); start one with "
            "`ray start --head` (docs/cluster.md)"
        )


def _answers(
    ray: Any, scenarios: Sequence[Scenario], reduce: Callable[[Result], T]
) -> Iterator[tuple[int, list[T]]]:
    """Sends all scenarios; yields number of the first and rows of each chunk that comes back.

    Yields no rows ten times a second, too. Ends what is on its way when it is closed.
    """
    task = ray.remote(_task()).options(num_cpus=1, max_retries=ATTEMPTS - 1)
    pending: dict[Any, tuple[int, int]] = {}
    sent, files, share, cpus, counted_s = 0, _Files(ray), 0.0, 0, -math.inf
    try:
        while pending or sent < len(scenarios):
            if time.monotonic() - counted_s > COUNT_S:
                cpus, counted_s = _cpus(ray) or cpus, time.monotonic()
                if not cpus:
                    raise AckclockError(
                        "the Ray cluster has no CPU to run on; add a machine with "
                        "`ray start --address=HOST:PORT`"
                    )
            while sent < len(scenarios) and len(pending) < IN_FLIGHT * cpus:
                number = _size(share, len(scenarios) - sent, cpus)
                some = [scenarios[at] for at in range(sent, min(sent + number, len(scenarios)))]
                for scenario in some:
                    scenario.check()
                work = ray.cloudpickle.dumps((some, reduce))
                limits = os.environ.get(VARIABLE, "")
                pending[task.remote(version(), limits, *files.sent(), work)] = sent, len(some)
                sent += len(some)
            ready, _ = ray.wait(list(pending), num_returns=1, timeout=TICK_S)
            for each in ready:
                first, number = pending.pop(each)
                answer = _get(ray, each, number)
                took_s, rows = pickle.loads(answer)  # noqa: S301 (of our own cluster)
                now = max(took_s / CHUNK_S, len(answer) / CHUNK_BYTES) / number
                share = (share + now) / 2 if share else now
                yield first, rows
            if not ready:
                yield sent, []
    finally:
        for each in pending:
            with suppress(Exception):  # the cluster is gone
                ray.cancel(each)


def _cpus(ray: Any) -> int:
    return int(ray.cluster_resources().get("CPU", 0))


def _size(share: float, left: int, cpus: int) -> int:
    """How many runs a chunk gets: one at first, then as many as take `CHUNK_S`.

    Towards the end fewer, so that all CPUs end together.
    """
    if not share:
        return 1
    even = max(left / (IN_FLIGHT * cpus), LEAST / share)
    return max(1, int(min(1 / share, even, snapshot.PREPARED)))


def _get(ray: Any, answer: Any, number: int) -> bytes:
    """An answer; raises `AckclockError` if its workers died again and again, or refused it."""
    try:
        got: bytes | str | AckclockError = ray.get(answer)
    except ray.exceptions.RayTaskError:  # of `reduce`
        raise
    except ray.exceptions.RayError as error:
        raise AckclockError(
            f"a chunk of {number} runs was begun {ATTEMPTS} times, and its worker died each time: "
            f"{_first_line(error)}; does a function end the process, or does a run need more "
            "memory than the machine has? Try the command without --on-ray"
        ) from error
    if isinstance(got, str):
        raise AckclockError(got)
    if isinstance(got, AckclockError):
        raise got
    return got


def _first_line(error: Exception) -> str:
    return (str(error).strip() or type(error).__name__).splitlines()[0].rstrip(".:")


class _Files:
    """What the scenarios so far read of files, in the cluster's memory."""

    def __init__(self, ray: Any) -> None:
        self._ray = ray
        self._many = -1
        self._sent: tuple[str, Any] = "", None

    def sent(self) -> tuple[str, Any]:
        """A name for them, and where they are."""
        seen = snapshot.seen()
        many = len(seen.files) + len(seen.contents)
        if many != self._many:
            text = pickle.dumps(seen)
            digest = hashlib.blake2b(text, digest_size=16).hexdigest()
            self._many, self._sent = many, (digest, self._ray.put(text))
        return self._sent


def _task() -> Callable[..., bytes | str | AckclockError]:
    """What a worker runs. As a function inside a function it travels by value.

    So it can tell, in text, that the worker has another ackclock, or none.
    """

    def chunk(wanted: str, limits: str, digest: str, files: bytes, work: bytes) -> Any:
        import socket  # noqa: PLC0415 (this travels alone)
        import sys  # noqa: PLC0415

        try:
            from ackclock.hosts import ray as on_ray  # noqa: PLC0415, PLW0406

            found = on_ray.version()
        except ImportError as error:
            found = f"no ackclock of this kind ({error})"
        if found != wanted:
            return (
                f"Ray's worker {socket.gethostname()} has {found}, and this machine {wanted}; "
                f"install the same ackclock there, for {sys.executable}"
            )
        return on_ray.answer(limits, digest, files, work)

    return chunk


@functools.cache
def version() -> str:
    """What makes a row: the engine, and all of our Python."""
    return f"ackclock {_core.engine_version()} (Python {source_hash()[:12]})"


def answer(limits: str, digest: str, files: bytes, work: bytes) -> bytes | AckclockError:
    """At the worker: runs a chunk; returns the time that it took with its rows, or an error."""
    import ray  # noqa: PLC0415

    given = (digest, files, work, ray.cloudpickle.dumps)
    try:
        if pickle.loads(files).files:  # noqa: S301 (from our own driver)
            how: Any = {"limits": limits, "may_write": None}  # `reduce` is the user's own
            (made,) = contained(_chunk, *given, progress=lambda _: None, **how)
        else:
            (made,) = _chunk(*given, lambda _: None)
    except AckclockError as error:
        return type(error)(str(error))  # without its cause, which may not travel
    return made


def _chunk(
    digest: str,
    files: bytes,
    work: bytes,
    dumps: Callable[[object], bytes],
    progress: Callable[[float], None],
) -> Iterator[bytes]:
    """The one answer of a chunk."""
    with snapshot.held(_given(digest, files)):
        scenarios, reduce = pickle.loads(work)  # noqa: S301 (from our own driver)
        rows = [None] * len(scenarios)
        started_s = time.monotonic()
        Local(1).run(scenarios, reduce, rows.__setitem__, progress)
        took_s = time.monotonic() - started_s
    yield dumps((took_s, rows))


#: Digest → the files that a driver sent, with the compiled code; those of the last driver.
_kept: dict[str, snapshot.Snapshots] = {}


def _given(digest: str, files: bytes) -> snapshot.Snapshots:
    if digest not in _kept:
        _kept.clear()
        _kept[digest] = snapshot.given(pickle.loads(files))  # noqa: S301 (from our own driver)
    return _kept[digest]
