"""Any programs on a scenario's links, in real time; `docs/testbed.md` says how."""

import ctypes
import json
import os
import signal
import subprocess
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Self

from ackclock.base.errors import AckclockError
from ackclock.base.kernel_part import kernel_part
from ackclock.hosts import kernel
from ackclock.hosts.programs import CLOSES_S, Ran, result, words_of
from ackclock.results.connections import ENDING, ended, opened, read
from ackclock.results.pcapng import Pcapng, written
from ackclock.results.recorder import EVERY_S, Recorder
from ackclock.scenario import snapshot
from ackclock.scenario.scenario import Scenario

#: Seconds that a program of `listen` has to open its port, and any to end when it is asked to.
OPENS_S, ENDS_S = 10.0, 2.0
#: State "listening" in /proc/net/tcp.
LISTENS = "0A"
PR_SET_PDEATHSIG = 1
_LIBC = ctypes.CDLL(None, use_errno=True)


def run(
    scenario: Scenario,
    command: Sequence[str],
    *,
    listen: Sequence[str] = (),
    pcapng: Pcapng | str | os.PathLike[str] | None = None,
) -> Ran:
    """Runs a command on the client's host of a scenario, as root, and waits for its end.

    Its packets to the server's host pass the links of flow 1 and back. `listen` are command lines
    of programs on the server's host, which begin first and end with the command. Sockets begin with
    the algorithm of the flow. In the result each socket that sent data is a flow; `manifest` has
    the two ends of each in `connections`.
    Raises `AckclockError` if the scenario, the machine or a program cannot.
    """
    scenario.read_files()
    code, resolved = snapshot.of_kernel(), scenario.resolve()
    with written(pcapng) as packets, scenario.in_its_words():
        file = None if packets is None else (packets[0], packets[2])
        shell = kernel_part().Shell(code, resolved, file)
        try:
            with _Recording(shell, scenario) as recording:
                status = _run_programs(shell, command, listen, json.loads(resolved))
            raw = shell.finish(recording.recorder.min_rtt_us)
        except BaseException:
            with suppress(AckclockError):
                shell.finish(0)
            raise
    begins = (scenario.flows[0].algorithm, recording.algorithm)
    begin = dict.fromkeys(("forward", "reverse"), begins)
    about = kernel.about_kernel()
    return Ran(result(scenario, resolved, raw, recording.recorder, begin, about), status)


class _Recording:
    """A thread that reads the connections of both hosts until the block ends."""

    def __init__(self, shell: Any, scenario: Scenario) -> None:
        self.recorder = Recorder(json.loads(scenario.resolve())["sample_interval_ns"] // 1000)
        self.algorithm: str = shell.algorithm
        self._started_ns = shell.started_ns
        self._hosts = []
        for direction, is_server in (("forward", False), ("reverse", True)):
            with _on_host(shell, is_server):
                self._hosts.append((direction, opened(), opened(ENDING)))
        self._thread = threading.Thread(target=self._record, name="ackclock-connections")
        self._stop = threading.Event()

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()
        self._look()
        for _direction, asked, heard in self._hosts:
            asked.close()
            heard.close()

    def _record(self) -> None:
        while not self._stop.wait(EVERY_S):
            self._look()

    def _look(self) -> None:
        now_us = (time.monotonic_ns() - self._started_ns) // 1000
        for direction, _, heard in self._hosts:
            self.recorder.ended(now_us, direction, ended(heard))
        self.recorder.take_readings(now_us, {of: read(asked) for of, asked, _ in self._hosts})


@contextmanager
def _on_host(shell: Any, is_server: bool) -> Iterator[None]:
    """What this thread opens and starts in the block is on a host."""
    shell.enter(is_server)
    try:
        yield
    finally:
        shell.leave()


def _run_programs(
    shell: Any, command: Sequence[str], listen: Sequence[str], resolved: dict[str, Any]
) -> int:
    """Runs all programs to the end of the command; returns its status."""
    client, server = shell.addresses
    namespace = f"/proc/{os.getpid()}/fd/{shell.server_namespace}"
    environment = os.environ | {
        "ACKCLOCK_CLIENT": client,
        "ACKCLOCK_SERVER": server,
        "ACKCLOCK_AT_SERVER": f"nsenter --net={namespace}",
    }
    hosts = [_inode(namespace)]
    with _on_host(shell, is_server=False):
        hosts.append(_inode("/proc/thread-self/ns/net"))
    started = []
    try:
        for line in listen:
            with _on_host(shell, is_server=True):
                known = _ports()
                # A group of its own: Ctrl-C is for the command, which may go on.
                own = {"stdin": subprocess.DEVNULL, "stdout": 2, "process_group": 0}
                started.append(_start(words_of(line), environment, **own))
                _wait_until_open(line, started[-1], known)
        with _on_host(shell, is_server=False):
            started.append(_start(command, environment))
        status = _wait(started[-1])
        end_s = time.monotonic() + CLOSES_S + 2 * resolved["flows"][0]["rtt_ns"] / 1e9
        while _carries(shell) and time.monotonic() < end_s:
            time.sleep(EVERY_S)
        return status if status >= 0 else 128 - status
    finally:
        _end_all(hosts)
        for process in started:
            process.wait()


def _start(
    command: Sequence[str], environment: dict[str, str], **options: Any
) -> "subprocess.Popen[bytes]":
    """Starts a program, which ends if this process is killed."""
    try:
        return subprocess.Popen(
            list(command),
            env=environment,
            preexec_fn=_end_with_parent,  # noqa: PLW1509 (one system call, and no lock)
            **options,
        )
    except OSError as error:
        raise AckclockError(f"{command[0]}: cannot be started ({error.strerror})") from None


def _end_with_parent() -> None:
    _LIBC.prctl(PR_SET_PDEATHSIG, signal.SIGTERM)


def _wait(process: "subprocess.Popen[bytes]") -> int:
    """Waits for the command. Ctrl-C is its business: the terminal sends it there, too."""

    def pass_on(number: int, _: Any) -> None:
        if not os.isatty(0):
            process.send_signal(number)

    former = signal.signal(signal.SIGINT, pass_on)
    try:
        return process.wait()
    finally:
        signal.signal(signal.SIGINT, former)


def _ports() -> set[str]:
    """The ports on which programs of this thread's host listen for TCP or have for UDP."""
    found = set()
    for name in ("tcp", "tcp6", "udp", "udp6"):
        with suppress(OSError):
            for line in Path(f"/proc/thread-self/net/{name}").read_text("ascii").splitlines()[1:]:
                _, local, _, state, *_ = line.split()
                if name.startswith("udp") or state == LISTENS:
                    found.add(f"{name} {local}")
    return found


def _wait_until_open(line: str, process: "subprocess.Popen[bytes]", known: set[str]) -> None:
    """Waits until a program on this thread's host has a port that was not `known`."""
    end_s = time.monotonic() + OPENS_S
    while not _ports() - known:
        if process.poll() is not None:
            raise AckclockError(
                f"--listen {line}: ended with status {process.returncode} before it had a port"
            )
        if time.monotonic() > end_s:
            raise AckclockError(f"--listen {line}: has opened no port in {OPENS_S:.0f} s")
        time.sleep(EVERY_S)


def _carries(shell: Any) -> bool:
    """Whether connections of the client's host are not closed yet."""
    with _on_host(shell, is_server=False):
        return bool(read())


def _inode(namespace: str) -> int:
    return os.stat(namespace).st_ino  # noqa: PTH116 (a magic link)


def _end_all(hosts: Sequence[int]) -> None:
    """Ends every process that is on a host: the programs, and what they started."""
    end_s = time.monotonic() + ENDS_S
    number = signal.SIGTERM
    while processes := list(_processes(hosts)):
        for process in processes:
            with suppress(ProcessLookupError):
                os.kill(process, number)
        if time.monotonic() > end_s:
            number = signal.SIGKILL
        time.sleep(EVERY_S)


def _processes(hosts: Sequence[int]) -> Iterator[int]:
    for each in Path("/proc").iterdir():
        if each.name.isdigit() and int(each.name) != os.getpid():
            with suppress(OSError):
                if _inode(f"{each}/ns/net") in hosts:
                    yield int(each.name)
