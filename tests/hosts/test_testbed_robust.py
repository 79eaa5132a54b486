"""Whatever ends a kernel run, nothing of it stays behind.

No namespace, interface, process, registered algorithm, pinned object or changed sysctl.
"""

import os
import random
import re
import shutil
import signal
import subprocess
import time
from pathlib import Path

import pytest

from ackclock import Result
from common import ACKCLOCK, REFUSED, in_own_mounts, is_group, needs_testbed, wait_until

pytestmark = [needs_testbed, pytest.mark.alone]

SCENARIO = """
duration = "1s"
rtt = "10ms"
[bottleneck]
rate = "20mbit"
buffer = "1bdp"
[[flow]]
algorithm = "cubic"
[[flow]]
algorithm = "cubic:beta=0.5"
"""
KILLS = 50
#: Runs at the same time.
AT_ONCE = 5
#: Namespaces of other work on this machine that may come and go meanwhile.
OTHERS = 20


@pytest.fixture
def scenario(tmp_path):
    path = tmp_path / "scenario.toml"
    path.write_text(SCENARIO)
    return path


def namespaces():
    """Network namespaces in the kernel's memory, named or not; None if it does not tell."""
    try:
        slabs = Path("/proc/slabinfo").read_text()
    except OSError:
        return None
    found = re.search(r"^net_namespace +(\d+)", slabs, re.MULTILINE)
    return int(found[1]) if found else None


def host():
    """What a run could change on the host and must not."""
    sysctls = {
        path: path.read_text()
        for pattern in ("ipv4/tcp_*", "core/*mem*", "ipv6/conf/*/disable_ipv6")
        for path in Path("/proc/sys/net").glob(pattern)
        if path.is_file()
        and os.access(path, os.R_OK)
        # What others register meanwhile is their own.
        and not path.name.endswith("_congestion_control")
    }
    default = Path("/proc/sys/net/ipv4/tcp_congestion_control").read_text()
    interfaces = sorted(Path("/sys/class/net").iterdir())
    named = sorted(Path("/run/netns").glob("*")) if Path("/run/netns").exists() else []
    pinned = sorted(Path("/sys/fs/bpf/ackclock").glob("*"))
    return sysctls, default, interfaces, [str(each) for each in named], pinned


def registered(pid):
    """Algorithms that this process left in the kernel: their names end in its number."""
    available = Path("/proc/sys/net/ipv4/tcp_available_congestion_control").read_text().split()
    return [name for name in available if name.endswith(f".{pid & 0xFFFFFF:06x}")]


def nothing_of(pids):
    """Waits for the kernel, which frees what a process had after its end."""
    wait_until(lambda: not [name for pid in pids for name in registered(pid)])
    return True


def start(scenario, *arguments):
    return subprocess.Popen(
        [ACKCLOCK, "run", scenario, "--on", "kernel", *arguments],
        cwd=scenario.parent,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def test_killed_at_any_moment(scenario):
    """SIGKILL and SIGINT at random moments of a run, several runs at a time."""
    before, namespaces_before = host(), namespaces()
    moment = random.Random(1)
    pids, ended = [], {signal.SIGKILL: 0, signal.SIGINT: 0}
    for _ in range(KILLS // AT_ONCE):
        runs = [start(scenario, "-o", f"out-{index}") for index in range(AT_ONCE)]
        pids += [run.pid for run in runs]
        for index, run in enumerate(runs):
            # In the run itself, or while the command starts.
            if index % 2:
                wait_registered(run)
            time.sleep(moment.uniform(0, 0.5))
            how = signal.SIGKILL if index < 3 else signal.SIGINT
            run.send_signal(how)
            ended[how] += 1
        for index, run in enumerate(runs):
            _, errors = run.communicate(timeout=300)
            if index < 3:
                assert run.returncode in (-signal.SIGKILL, 0, 3), errors
            else:
                assert run.returncode in (130, -signal.SIGINT, 0, 3), errors
                assert "Traceback" not in errors
    assert sum(ended.values()) == KILLS
    assert nothing_of(pids)
    wait_until(lambda: host() == before)
    # A compiler that the killed one had started ends by itself.
    wait_until(lambda: not any(is_group(pid) for pid in pids))
    if namespaces_before is not None:
        wait_until(lambda: namespaces() <= namespaces_before + OTHERS)


def wait_registered(run):
    """Until the run has its algorithms in the kernel, or has ended."""
    wait_until(lambda: registered(run.pid) or run.poll() is not None)


def test_two_runs_at_the_same_time(scenario):
    runs = [start(scenario, "-o", f"out-{index}", "--attempts", "1") for index in range(2)]
    for run in runs:
        _, errors = run.communicate(timeout=300)
        assert run.returncode in (0, 3), errors
    assert nothing_of([run.pid for run in runs])


def test_ctrl_c_ends_a_run_at_once(scenario):
    scenario.write_text(SCENARIO.replace('"1s"', '"1h"'))
    run = start(scenario, "-o", "out")
    wait_registered(run)
    run.send_signal(signal.SIGINT)
    _, errors = run.communicate(timeout=60)
    assert (run.returncode, errors.count("\n")) == (130, 1), errors
    assert not (scenario.parent / "out").exists()
    assert nothing_of([run.pid])


@pytest.mark.skipif(shutil.which("unshare") is None, reason="no unshare (util-linux)")
def test_a_full_disk(scenario):
    """The tiny file system is mounted in a mount namespace of its own."""
    place = scenario.parent
    done = in_own_mounts(
        "mkdir full; mount -t tmpfs -o size=8k tmpfs full; "
        f"{ACKCLOCK} run scenario.toml --on kernel --attempts 1 -o full/out || ls -A full; exit 1",
        place,
    )
    *_, last = done.stderr.splitlines()
    assert re.fullmatch(
        rf"error: .*full/out: No space left on device. The results are in {place}/out-kept", last
    )
    assert done.stdout == ""
    assert Result.load(place / "out-kept").manifest["backend"] == "kernel"


def test_what_the_verifier_refuses(scenario):
    """One line that says why, and nothing stays, not even of the flow that loaded before it."""
    (scenario.parent / "refused.c").write_text(REFUSED % "refused")
    scenario.write_text(SCENARIO.replace("cubic:beta=0.5", "./refused.c"))
    run = start(scenario)
    _, errors = run.communicate(timeout=300)
    assert run.returncode == 1
    assert errors.startswith("error: flow 2: "), errors
    assert "verifier refuses" in errors
    assert errors.count("\n") == 1, errors
    assert nothing_of([run.pid])


def test_seeds_in_real_time(tmp_path):
    """A run that kept time badly speaks for all."""
    (tmp_path / "s.toml").write_text(SCENARIO)
    ran = subprocess.run(
        [ACKCLOCK, "run", "s.toml", "--on", "kernel", "--seeds", "2"],
        cwd=tmp_path, capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    assert ran.returncode in (0, 3), ran.stderr
    assert ("INVALID" in ran.stdout) == (ran.returncode == 3)
    assert "2 runs, seeds 1 to 2" in ran.stdout
