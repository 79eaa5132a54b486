"""The virtual machine: what is put into it, and how it starts and ends."""

import os
import re
import shutil
import signal
import subprocess
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from ackclock.base.errors import AckclockError
from ackclock.hosts.vlinux import build, modules, plan
from ackclock.hosts.vlinux.records import text_of

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
    # Sockets of IPv6 work; no device has an address of it, nor sends what it would.
    "ipv6.disable_ipv6=1",
    "init=/proc/self/cwd/guest",
    "con=null",
    "con0=null,fd:1",
    # From 6.16 on its programs stop at system calls with less work for the host.
    "seccomp=auto",
    "quiet",
)


#: What the machine's kernel says as it crashes, and what a C file then did.
CRASHES = {"Kernel mode signal 8": "divides by zero", "Segfault": "uses a bad pointer"}


def info(built: build.Built) -> dict[str, Any]:
    """What a manifest tells of the machine."""
    kernel = f"{built.series} in virtual time ({built.key})"
    return {"backend": "vlinux", "kernel": kernel, "hz": built.hz}


def put_parts(
    directory: Path,
    built: build.Built,
    loaded: modules.Loaded,
    planned: plan.Plan,
    canonical: Mapping[str, Any],
    **numbers: int,
) -> None:
    """The guest, its modules and its plan; `numbers` are parameters of the recorder."""
    shutil.copy2(build.guest(built), directory / "guest")
    shutil.copy2(build.recorder(built), directory / "recorder.ko")
    numbers |= {"links": len(planned.queues), "seed": canonical["seed"]}
    settings = " ".join(f"{name}={value}" for name, value in numbers.items())
    lines = [f"load recorder.ko {settings}"]
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


def boot(
    directory: Path,
    built: build.Built,
    loaded: modules.Loaded,
    canonical: dict[str, Any],
    look: Callable[[], None],
) -> int:
    """Runs the machine until it ends itself. Returns its time at the start of the run, ns.

    `look` is called ten times a second, and may raise. Raises `AckclockError` if the machine fails.
    Nothing of it is left then.
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
                    look()
        finally:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
    said = text_of(directory / "log")
    if not said.rstrip().endswith("exit status 0"):
        console = text_of(directory / "boot.log")
        for signal_says, does in CRASHES.items():
            if signal_says in console and (cause := asks(does, canonical)):
                raise AckclockError(f"the virtual machine's kernel crashed{cause}")
        for refusal in (module.refusal(said, console) for module in loaded.modules):
            if refusal:
                raise AckclockError(refusal)
        last = [line for line in (said + console).splitlines() if line.strip()][-8:]
        raise AckclockError("the virtual machine failed:\n" + "\n".join(last))
    return int(text_of(directory / "progress").rpartition("base")[2])


def asks(does: str, canonical: Mapping[str, Any]) -> str:
    """What to do where a user's C file may be the cause; empty: the scenario has none."""
    specs = [flow["algorithm"] for flow in (*canonical["flows"], *canonical["sessions"])]
    names = (re.split("[@:]", each, maxsplit=1)[0] for each in specs)
    files = dict.fromkeys(name for name in names if name.endswith(".c"))
    if not files:
        return ""
    some = " or ".join(files)
    return f"; if {some} {does}, the simulator names the function: run the scenario without --on"
