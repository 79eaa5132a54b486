"""Any programs on a scenario's link, on Linux in virtual time; docs/programs.md says how."""

import json
import os
import re
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, redirect_stderr, redirect_stdout
from dataclasses import replace
from io import BytesIO, TextIOWrapper
from itertools import zip_longest
from pathlib import Path
from typing import IO, Any, Self

from ackclock.base.directory import collect, partial_directory
from ackclock.base.errors import AckclockError
from ackclock.hosts.programs import Ran, result, words_of
from ackclock.hosts.vlinux import build, check, machine, modules, network, plan, records
from ackclock.hosts.vlinux.programs import (
    CALL_NS,
    CLIENT,
    COMMANDS,
    SERVER,
    SERVES,
    Hosts,
    Program,
    recorded,
)
from ackclock.hosts.vlinux.sources import SERIES
from ackclock.results.pcapng import Pcapng, captured, written
from ackclock.scenario.scenario import Scenario

#: Real seconds in which no time passes in the machine, after which it stands still.
STANDS_S = 120.0
#: Most bytes of a packet in a capture.
MOST_SNAPLEN = 2_048
#: Calls of a program that waits, by their numbers.
CALLS = {-1: "rdtsc", 0: "read", 7: "poll", 23: "select", 24: "sched_yield", 96: "gettimeofday",
         201: "time", 202: "futex", 228: "clock_gettime", 232: "epoll_wait", 270: "pselect6",
         271: "ppoll", 281: "epoll_pwait"}  # fmt: skip


def run(
    scenario: Scenario,
    command: Sequence[str],
    *,
    listen: Sequence[str] = (),
    pcapng: Pcapng | str | os.PathLike[str] | None = None,
    series: str = SERIES,
    call_ns: int = CALL_NS,
    keep: Path | None = None,
) -> Ran:
    """Runs a command on the client's host of a scenario, and waits for its end; any user may.

    As `ackclock.hosts.shell.run` in virtual time: two runs are equal. Each system call of a program
    takes `call_ns`. What programs print goes to this process's standard output and standard error.
    `keep`: a directory that gets what each printed, and `files.tar`: what they wrote in this one.
    Raises `AckclockError` if the scenario or a program cannot, or if no time passes in the machine.
    """
    resolved = check(scenario, series)
    canonical = json.loads(resolved)
    built = build.find(series).at(canonical["hz"])
    spec = scenario.flows[0].algorithm
    loaded = modules.load(built, [spec])
    made = network.Network(canonical)
    commands = [
        *(Program(words_of(line), SERVER, SERVES, call_ns=call_ns) for line in listen),
        Program(list(command), CLIENT, COMMANDS, call_ns=call_ns),
    ]
    temporary = Path(tempfile.gettempdir())
    collect(temporary)
    with (
        written(pcapng) as packets,
        partial_directory(temporary) as directory,
        ExitStack() as stack,
    ):
        snaplen = 0 if packets is None else min(packets[2], MOST_SNAPLEN)
        begin = (spec, loaded.names[spec])
        hosts = Hosts(made, _way(canonical, made), [begin] * 2, commands, snaplen)
        hosts.put(directory)
        planned = plan.of_programs(canonical, made, hosts.lines())
        machine.put_parts(directory, built, loaded, planned, canonical, flows=0, programs=1)
        outputs = [stack.enter_context(each) for each in _outputs(directory, len(commands))]
        started = time.monotonic()
        look = _Look(directory, outputs)
        machine.boot(directory, built, loaded, canonical, look)
        wall_time_s = time.monotonic() - started
        look.pass_on()
        told = hosts.told(directory)
        if packets is not None:
            shutil.copyfile(directory / "packets.pcapng", packets[0])
        times_ns = records.text_of(directory / "progress").split()
        raw: dict[str, Any] = records.of_links(directory, planned.queues) | {
            "trace_hash": None,
            "packets": 0,
            "wall_time_s": wall_time_s,
            "duration_ns": max(int(times_ns[-3]), 1),
            "algorithms": loaded.algorithms,
            "conversations": hosts.conversations(directory),
        }
        recorder = recorded(directory, canonical["sample_interval_ns"] // 1000)
        begins = dict.fromkeys(("forward", "reverse"), begin)
        of = result(scenario, resolved, raw, recorder, begins, machine.info(built))
        if keep is not None:
            _keep(directory, keep, len(commands))
        return Ran(replace(of, manifest=of.manifest | {"programs": told}), told[-1]["status"])


def run_twice(
    scenario: Scenario,
    command: Sequence[str],
    *,
    pcapng: str | os.PathLike[str] | None = None,
    keep: Path,
    **how: Any,
) -> tuple[Ran, int]:
    """As `run`, and once more; what was equal: the run, and how many packets.

    Raises `AckclockError` that names the first packet that differs, or the text.
    """
    with tempfile.TemporaryDirectory(prefix="ackclock-") as name:
        files = [Path(pcapng or Path(name, "1.pcapng")), Path(name, "2.pcapng")]
        whole = [Pcapng(each, snaplen=MOST_SNAPLEN) for each in files]
        ran = run(scenario, command, pcapng=whole[0], keep=keep, **how)
        silent = TextIOWrapper(BytesIO())
        with redirect_stdout(silent), redirect_stderr(silent):
            run(scenario, command, pcapng=whole[1], keep=Path(name), **how)
        one, other = (captured(each.read_bytes()) for each in files)
        for number, (mine, its) in enumerate(zip_longest(one, other), 1):
            if mine != its:
                at_s = min(each.time_ns for each in (mine, its) if each) / 1e9
                raise AckclockError(f"not equal twice: packet {number}, at {at_s:.6f} s, differs")
        for each in sorted(keep.glob("*.out")) + sorted(keep.glob("*.err")):
            if each.read_bytes() != Path(name, each.name).read_bytes():
                raise AckclockError(f"not equal twice: {each.name} differs, the packets do not")
    return ran, len(one)


def _way(canonical: dict[str, Any], made: network.Network) -> network.FlowPath:
    """The way of the programs' packets. Raises `AckclockError` if the flows have several."""
    if canonical["sessions"] or canonical.get("programs"):
        raise AckclockError(
            "the command makes the connections here; leave [[session]] and [[program]] out"
        )
    if all(flow["direction"] == "reverse" for flow in canonical["flows"]):
        fix = "the client sends, too; write another [[flow]] without it"
        raise AckclockError(f'flow 1: direction = "reverse": {fix}')
    ways: dict[network.FlowPath, int] = {}
    for number, flow in enumerate(canonical["flows"], 1):
        ways.setdefault(made.way({**flow, "direction": "forward"}, number), number)
    if len(ways) > 1:
        raise AckclockError(
            f"flow {[*ways.values()][1]}: differs from flow 1 in more than its algorithm; programs "
            "have one path, so write one [[flow]]"
        )
    return next(iter(ways))


class _Output:
    """What a program prints in a file, passed on as it comes."""

    def __init__(self, path: Path, to: IO[bytes]) -> None:
        path.touch()
        self._file = path.open("rb")
        self._to = to

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def pass_on(self) -> None:
        if more := self._file.read():
            self._to.write(more)
            self._to.flush()


def _outputs(directory: Path, number: int) -> Iterator[_Output]:
    """Standard output is the command's."""
    out, err = sys.stdout.buffer, sys.stderr.buffer
    for each in range(number):
        yield _Output(directory / f"{each}.out", out if each == number - 1 else err)
        yield _Output(directory / f"{each}.err", err)


class _Look:
    """Passes on what programs print; ends a machine in which no time passes."""

    def __init__(self, directory: Path, outputs: list[_Output]) -> None:
        self._outputs = outputs
        self._stands = stands_still(directory)

    def pass_on(self) -> None:
        for each in self._outputs:
            each.pass_on()

    def __call__(self) -> None:
        self.pass_on()
        self._stands()


def stands_still(directory: Path) -> Callable[[], None]:
    """To call now and then: raises `AckclockError` once no time passes in a machine."""
    size, since_s = 0, time.monotonic()

    def look() -> None:
        nonlocal size, since_s
        progress = directory / "progress"
        now = progress.stat().st_size if progress.exists() else 0
        if now != size:
            size, since_s = now, time.monotonic()
            return
        console = records.text_of(directory / "boot.log")
        if said := re.search(r"(\S+) spins: system call (-?\d+)", console):
            name = CALLS.get(int(said[2]), f"system call {said[2]}")
            raise AckclockError(
                f"{said[1]} calls {name} without end, and no time passes; let calls take some: "
                "--call 1us"
            )
        if time.monotonic() - since_s > STANDS_S:
            raise AckclockError(
                f"a program has computed for {STANDS_S:.0f} s without a system call; computing "
                "takes no time there, so one that waits in a loop for time to pass waits for ever"
            )

    return look


def _keep(directory: Path, to: Path, number: int) -> None:
    """What each program printed, and the files that they wrote."""
    for each in range(number):
        name = "command" if each == number - 1 else f"server-{each + 1}"
        for kind in ("out", "err"):
            shutil.copyfile(directory / f"{each}.{kind}", to / f"{name}.{kind}")
    if (directory / "files").exists():
        shutil.make_archive(str(to / "files"), "tar", directory / "files")
