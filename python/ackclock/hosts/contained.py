"""A generator in a process of its own: what a user's C file does there ends no other process.

A server has imported what the work needs, and forks for each call: a call costs some milliseconds.
Each call has a pipe for what it tells and a file for its last words, so that a process that dies in
the middle of a message leaves the server as it was.
"""

import contextlib
import os
import pickle
import signal
import socket
import subprocess
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from typing import BinaryIO, TypeVar

from ackclock import _core
from ackclock.base import chosen
from ackclock.base.errors import AckclockError, AlgorithmError
from ackclock.hosts.limits import VARIABLE, Limits

T = TypeVar("T")

#: How often a call tells its progress, s.
TICK_S = 0.1


@dataclass
class _Server:
    process: "subprocess.Popen[bytes]"
    #: For files, and for all else.
    control: socket.socket
    messages: Connection

    def end(self) -> None:
        self.control.close()
        self.messages.close()
        self.process.kill()
        self.process.wait()


#: Servers that wait for a call. A process that forks leaves them to its parent.
_idle: list[_Server] = []
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_idle.clear)
#: Whether this process is one of those that run calls.
_is_contained = False


def contained(
    make: Callable[..., Iterator[T]],
    *given: object,
    progress: Callable[[float], None],
    limits: str | None = None,
    may_write: Sequence[Path] | None = (),
) -> Generator[T, None, None]:
    """What `make(*given, progress)` yields, in a process that has limits (`limits.py`).

    `make` is a function of a module; it, `given` and what it yields can be pickled. Its
    `AckclockError` is raised here, and an `AlgorithmError` with its last words if it dies. Closing
    the iterator ends the process. Within such a process it runs in place. `limits`: what the
    environment says of them on the machine that sent the work, if that is another. It has no
    network, and writes below a directory of its own and those of `may_write` alone
    (crates/host/src/native/confine.rs); None: it may do what this process may.
    """
    if _is_contained or chosen.NAME == "portable":  # WebAssembly is contained by itself
        yield from make(*given, progress)
        return
    server = _idle.pop() if _idle else _start()
    child = 0
    with (
        tempfile.TemporaryFile() as words,
        tempfile.TemporaryDirectory(prefix="ackclock-", ignore_cleanup_errors=True) as own,
    ):
        reads, writes = os.pipe()
        with Connection(reads, writable=False) as told:
            try:
                try:
                    environment = {"ACKCLOCK_TRUST": "none"} | dict(os.environ)
                    if limits is not None:
                        environment[VARIABLE] = limits
                    work = pickle.dumps((make, given))
                    directories = str(Path.cwd()), own, may_write
                    socket.send_fds(server.control, [b"-"], [writes, words.fileno()])
                    server.messages.send((sys.path, directories, environment, work))
                finally:
                    os.close(writes)
                while True:
                    try:
                        kind, what = told.recv()
                    except (EOFError, OSError):  # no message, or half of one
                        raise AlgorithmError(_last_words(words)) from None
                    if kind == "item":
                        yield what
                    elif kind == "progress":
                        progress(what)
                    elif kind == "process":
                        child = what
                    elif kind == "error":
                        raise what
                    else:
                        break
            finally:
                _let_go(server, child)


def _last_words(words: BinaryIO) -> str:
    words.seek(0)
    lines = words.read().decode(errors="replace").strip().splitlines()
    return lines[-1].removeprefix("error: ") if lines else "the process that ran it was killed"


def _let_go(server: _Server, child: int) -> None:
    """Ends the call; the server waits for the next, unless it does not answer."""
    if child:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(child, signal.SIGKILL)
        with contextlib.suppress(EOFError, OSError):
            if server.messages.poll(5):
                server.messages.recv()
                _idle.append(server)
                return
    server.end()


def _start() -> _Server:
    ours, its = socket.socketpair()
    with its:
        process = subprocess.Popen(
            [sys.executable, "-m", __name__, str(its.fileno())],
            stdin=subprocess.DEVNULL,
            pass_fds=[its.fileno()],
            start_new_session=True,  # Ctrl-C is the caller's, who ends the call
        )
    return _Server(process, ours, Connection(os.dup(ours.fileno())))


def _call(make: Callable[..., Iterator[T]], given: tuple[object, ...], out: Connection) -> None:
    """Runs in the process of the call."""

    def tell(kind: str, what: object = None) -> None:
        out.send((kind, what))

    told_s = 0.0

    def progress(fraction: float) -> None:
        nonlocal told_s
        if time.monotonic() - told_s > TICK_S:
            told_s = time.monotonic()
            tell("progress", fraction)

    tell("process", os.getpid())
    try:
        Limits.read().obey()
        for item in make(*given, progress):
            tell("item", item)
    except AckclockError as error:
        tell("error", error)
    except MemoryError:
        tell("error", AlgorithmError(Limits.read().too_much_memory))
    else:
        tell("end")


def _serve(control: socket.socket) -> None:
    messages = Connection(os.dup(control.fileno()))
    while True:
        head, files, *_ = socket.recv_fds(control, 1, 2)
        if not head:
            return
        sys.path[:], (directory, own, may_write), environment, work = messages.recv()
        make, given = pickle.loads(work)  # noqa: S301 (our caller's)
        child = os.fork()
        if child == 0:
            global _is_contained  # noqa: PLW0603 (of this process, which runs one call)
            _is_contained = True
            os.setsid()
            control.close()
            messages.close()
            out, words = files
            os.dup2(words, 1)
            os.dup2(words, 2)
            os.chdir(directory)
            os.environ.update(environment)
            status = 1
            try:
                os.environ["TMPDIR"] = own
                if may_write is not None:
                    _core.confine([own, *may_write])
                with Connection(out, readable=False) as told:
                    _call(make, given, told)
                status = 0
            except BaseException:  # noqa: BLE001 (the last words of this process)
                traceback.print_exc()
            finally:
                sys.stderr.flush()
                os._exit(status)
        for each in files:
            os.close(each)
        _, status = os.waitpid(child, 0)
        messages.send(status)


if __name__ == "__main__":
    with socket.socket(fileno=int(sys.argv[1])) as _control:
        _serve(_control)
