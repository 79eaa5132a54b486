"""Runs scenarios on Linux in virtual time: its real TCP stack, exactly repeatable.

`docs/vlinux.md` says what it is, what it can run, and where it differs from a machine.
"""

import json
import os
import re
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl

from ackclock import _core
from ackclock.base.directory import collect, partial_directory
from ackclock.base.errors import AckclockError
from ackclock.hosts.vlinux import build, modules, plan, records
from ackclock.hosts.vlinux.sources import SERIES
from ackclock.results import tables
from ackclock.results.result import Result, result_of
from ackclock.scenario import snapshot
from ackclock.scenario.scenario import KERNEL, Scenario

__all__ = ["run"]

#: Real seconds that a virtual second may take, and that every run may.
SLOWEST, LEAST_LIMIT_S = 20.0, 120.0
SHARED_MEMORY = "/dev/shm"  # noqa: S108 (the name of memory, not of a file of ours)
#: Memory of the machine; what it does not use takes none.
MEMORY = "3G"
#: The machine's first program is in the directory where it starts. All of the command line is the
#: same for each run, since it feeds the machine's random numbers.
COMMAND = (
    "time-travel=inf-cpu",
    "time-travel-start=1700000000000000000",
    f"mem={MEMORY}",
    "rootfstype=hostfs",
    "rootflags=/",
    "ro",
    "init=/proc/self/cwd/guest",
    "con=null",
    "con0=null,fd:1",
    # From 6.16 on its programs stop at system calls with less work for the host.
    "seccomp=auto",
    "quiet",
)


#: What the machine's kernel says as it crashes, and what a C file then did.
CRASHES = {"Kernel mode signal 8": "divides by zero", "Segfault": "uses a bad pointer"}


def run(
    scenario: Scenario,
    *,
    progress: Callable[[float], None] | None = None,
    on_acks: Callable[[pl.DataFrame], None] | None = None,
    on_packets: Callable[[pl.DataFrame], None] | None = None,
    limit_s: float | None = None,
    built: build.Built | None = None,
) -> Result:
    """Runs a scenario in a virtual machine of one core; its tables are those of the simulator.

    `progress` is called with the fraction done; `on_acks` gets a row per ACK (`acks` of
    docs/tables.md), and `on_packets` one per packet of a sender. `limit_s`: real seconds
    after which the machine is ended (default: 20 per virtual second, at least 120). Ctrl-C ends it,
    too. `built`: the virtual Linux that runs it (default: Linux 6.12).
    Raises `AckclockError` if the scenario cannot run there, or the virtual Linux is not built.
    """
    resolved, canonical, built, loaded, planned = prepare(scenario, built=built)
    limit_s = limit_s or max(LEAST_LIMIT_S, SLOWEST * canonical["duration_ns"] / 1e9)
    temporary = Path(tempfile.gettempdir())
    collect(temporary)
    with partial_directory(temporary) as directory:
        packets = on_acks is not None or on_packets is not None
        _prepare(directory, built, loaded, planned, canonical, packets)
        aqms = [kind != "drop_tail" for kind in planned.queues]
        started = time.monotonic()
        base_ns = _boot(directory, built, loaded, canonical, limit_s, progress)
        wall_time_s = time.monotonic() - started
        frames = records.read(directory, scenario, base_ns, aqms)
    if packets:
        seen = frames.get("packets", tables.frame("packets", {}))
        for told, of in ((on_acks, tables.acks_of), (on_packets, lambda table: table)):
            if told is not None:
                told(of(seen))
    raw = frames | {
        "trace_hash": None,
        "packets": int(frames["flows"]["sent_packets"].sum()),
        "wall_time_s": wall_time_s,
    }
    result = result_of(scenario, resolved, loaded.algorithms, raw)
    own = {
        "backend": "vlinux",
        "kernel": f"{built.series} in virtual time ({built.key})",
        "hz": built.hz,
        "key": snapshot.key_of(resolved, loaded.algorithms, build.version_of(built)),
    }
    return replace(result, manifest=result.manifest | own)


class Prepared(NamedTuple):
    """A scenario as the virtual Linux takes it."""

    resolved: str
    canonical: dict[str, Any]
    built: build.Built
    loaded: modules.Loaded
    planned: plan.Plan


def prepare(scenario: Scenario, series: str = SERIES, built: build.Built | None = None) -> Prepared:
    """All that `run` does before the machine starts. Raises `AckclockError` as it does."""
    resolved = check(scenario, series if built is None else built.series)
    canonical = json.loads(resolved)
    built = (built or build.find(series)).at(canonical["hz"])
    loaded = modules.load(built, (flow["algorithm"] for flow in _flows(canonical)))
    return Prepared(
        resolved, canonical, built, loaded, plan.make(canonical, resolved, loaded.names)
    )


def check(scenario: Scenario, series: str = SERIES) -> str:
    """The canonical form of a scenario whose fields the virtual Linux takes, built or not.

    Raises `AckclockError` that names table, key, value and fix.
    """
    scenario.read_files(as_module=True)
    resolved = scenario.resolve()
    canonical = json.loads(resolved)
    with scenario.in_its_words():
        _core.check_on_vlinux(resolved, series)
    # The rest as the simulator, whichever algorithms run that Linux alone compiles, or has.
    flows, sessions, code = canonical["flows"], canonical["sessions"], snapshot.current()
    ours = {
        "flows": [_ours(code, each) for each in flows],
        "sessions": [each | {"flow": _ours(code, each["flow"])} for each in sessions],
    }
    with scenario.in_its_words():
        code.validate(json.dumps(canonical | ours))
    return resolved


def _ours(code: _core.Snapshot, flow: dict[str, Any]) -> dict[str, Any]:
    spec = flow["algorithm"]
    is_ours = not spec.startswith(KERNEL) and code.kernel_module(spec) is None
    return flow | ({} if is_ours else {"algorithm": "reno"})


def _flows(canonical: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Those of the sessions included."""
    return [*canonical["flows"], *(each["flow"] for each in canonical["sessions"])]


def _prepare(
    directory: Path,
    built: build.Built,
    loaded: modules.Loaded,
    planned: plan.Plan,
    canonical: Mapping[str, Any],
    packets: bool,
) -> None:
    """Fills the directory that the machine sees as /mnt."""
    shutil.copy2(build.guest(built), directory / "guest")
    shutil.copy2(build.recorder(built), directory / "recorder.ko")
    sessions, links = len(canonical["sessions"]), len(planned.queues)
    lines = [f"load recorder.ko flows={len(_flows(canonical))} sessions={sessions} links={links} "]
    lines[0] += f"seed={canonical['seed']} packets={int(packets)}"
    for module in loaded.modules:
        shutil.copy2(module.path, directory / f"{module.name}.ko")
        lines += module.commands()
    for device, wire in planned.wires.items():
        (directory / f"{device}.link").write_bytes(wire)
    first = []
    if planned.wires:
        shutil.copy2(build.link(built), directory / "link.ko")
        first = ["load link.ko"]
    text = "\n".join([*first, *planned.network, *lines, *planned.flows, ""])
    (directory / "plan").write_text(text, encoding="utf-8")


def _boot(
    directory: Path,
    built: build.Built,
    loaded: modules.Loaded,
    canonical: dict[str, Any],
    limit_s: float,
    progress: Callable[[float], None] | None,
) -> int:
    """Runs the machine until it ends itself. Returns its time at the start of the run, ns.

    Raises `AckclockError` if it fails or takes too long. Nothing of it is left then.
    """
    environment = {
        "PATH": os.environ.get("PATH", os.defpath),
        # The machine's memory is a file.
        "TMPDIR": SHARED_MEMORY if os.access(SHARED_MEMORY, os.W_OK) else str(directory),
        "HOME": str(directory),
        # Its processes have no room for what glibc registers.
        "GLIBC_TUNABLES": "glibc.pthread.rseq=0",
        "ACKCLOCK_SEED": str(canonical["seed"]),
    }
    # Whatever ends this process ends the machine, also before the machine has asked for that.
    alive = ["sh", "-c", '[ "$PPID" = "$0" ] && exec "$@"', str(os.getpid())]
    machine = ["setarch", "-R", str(built.kernel), *COMMAND]
    command = ["setpriv", "--pdeathsig", "KILL", *alive, *machine]
    end = time.monotonic() + limit_s
    with (directory / "boot.log").open("wb") as log:
        process = subprocess.Popen(
            command,
            cwd=directory,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        try:
            while True:
                try:
                    process.wait(0.1)
                    break
                except subprocess.TimeoutExpired:
                    if progress is not None:
                        progress(_done_ns(directory) / canonical["duration_ns"])
                if time.monotonic() > end:
                    raise AckclockError(
                        f"the virtual machine took more than {limit_s:.0f} s and was ended at "
                        f"{_done_ns(directory) / 1e9:.1f} s of {canonical['duration_ns'] / 1e9:g} s"
                        + _asks("does not return", canonical)
                    )
        finally:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
    said = _text(directory / "log")
    if not said.rstrip().endswith("exit status 0"):
        console = _text(directory / "boot.log")
        for signal_says, does in CRASHES.items():
            if signal_says in console and (asks := _asks(does, canonical)):
                raise AckclockError(f"the virtual machine's kernel crashed{asks}")
        for refusal in (module.refusal(said, console) for module in loaded.modules):
            if refusal:
                raise AckclockError(refusal)
        last = [line for line in (said + console).splitlines() if line.strip()][-8:]
        raise AckclockError("the virtual machine failed:\n" + "\n".join(last))
    return int(_text(directory / "progress").rpartition("base")[2])


def _asks(does: str, canonical: Mapping[str, Any]) -> str:
    """What to do where a user's C file may be the cause; empty: the scenario has none."""
    specs = [flow["algorithm"] for flow in (*canonical["flows"], *canonical["sessions"])]
    names = (re.split("[@:]", each, maxsplit=1)[0] for each in specs)
    files = dict.fromkeys(name for name in names if name.endswith(".c"))
    if not files:
        return ""
    some = " or ".join(files)
    return f"; if {some} {does}, the simulator names the function: run the scenario without --on"


def _text(path: Path) -> str:
    return path.read_text(errors="replace") if path.exists() else ""


def _done_ns(directory: Path) -> int:
    """How far it has come."""
    lines = _text(directory / "progress").split()
    return int(lines[-1]) if lines else 0
