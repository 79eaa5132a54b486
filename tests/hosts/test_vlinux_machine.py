"""The virtual machine: built once, without root, and ended with what started it."""

import os
import resource
import shutil
import subprocess
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from ackclock import AckclockError, Flow, run, vlinux
from ackclock.hosts.vlinux import build
from common import ACKCLOCK, ROOT, wait_until
from virtual import scenario

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("machine")]


def test_machines_that_start_at_once_build_the_guest_once(tmp_path):
    with ThreadPoolExecutor(4) as pool:
        found = set(pool.map(build.guest, [build.Built(tmp_path)] * 4))
    assert found == set(tmp_path.iterdir())
    assert len(found) == 1


def test_a_start_takes_little_of_a_processor():
    """Less than 25 000 packets: 0.19 of 1.1 s, where a network that programs make takes 0.6."""

    def used_s():
        each = resource.getrusage(resource.RUSAGE_CHILDREN)
        return each.ru_utime + each.ru_stime

    def least_s(of):
        took_s = []
        for _ in range(3):
            before_s = used_s()
            vlinux.run(of)
            took_s.append(used_s() - before_s)
        return min(took_s)

    empty = scenario(Flow(algorithm="kernel:cubic", start="0.9s"), duration="1s")
    vlinux.run(empty)  # builds what is missing
    full = scenario(
        Flow(algorithm="kernel:cubic"),
        bottleneck={"rate": "100mbit", "buffer": "1bdp"},
        duration="10s",
    )
    assert least_s(empty) < 0.3 * least_s(full)


def test_a_machine_that_takes_too_long_is_ended(machine):
    with pytest.raises(AckclockError, match="took more than 1 s and was ended"):
        vlinux.run(
            scenario(duration="600s", bottleneck={"rate": "500mbit", "buffer": "1bdp"}), limit_s=1
        )
    wait_until(lambda: left_over(machine, of=os.getpid()) == "")


@pytest.mark.parametrize(
    ("name", "says"),
    [
        (
            "divides_by_zero",
            "kernel crashed; if .*divides_by_zero.c divides by zero, the simulator",
        ),
        ("loops", "took more than 1 s .*; if .*loops.c does not return, the simulator names"),
    ],
)
def test_a_c_file_that_ends_the_machine_is_named(name, says, machine):
    own = scenario(Flow(algorithm=str(ROOT / f"tests/scorecard/{name}.c")))
    with pytest.raises(AckclockError, match=says):
        vlinux.run(own, limit_s=1 if name == "loops" else None)
    wait_until(lambda: left_over(machine, of=os.getpid()) == "")


@pytest.mark.parametrize(
    "hooks",
    [
        """CC_HOOK(void, by_zero_cong_avoid, struct sock *sk, u32 ack, u32 acked)
{ tcp_cong_avoid_ai(tcp_sk(sk), tcp_sk(sk)->snd_cwnd / 16384, acked); }""",
        """CC_HOOK(void, by_zero_cong_avoid, struct sock *sk, u32 ack, u32 acked)
{
	tcp_sk(sk)->snd_cwnd = tcp_sk(sk)->snd_ssthresh = 0;
	tcp_reno_cong_avoid(sk, ack, acked);
	tcp_sk(sk)->snd_ssthresh = 2;
}""",
    ],
)
def test_growth_by_a_packet_per_0_packets_is_as_in_the_simulator(hooks, tmp_path):
    """The kernel divides by what `tcp_cong_avoid_ai` is given; Reno gives it cwnd."""
    own = tmp_path / "by_zero.c"
    own.write_text(
        f"""#include "tcp_cc.h"
{hooks}
CC_ALGORITHM(by_zero, "", .ssthresh = tcp_reno_ssthresh, .cong_avoid = by_zero_cong_avoid);
"""
    )
    each = scenario(Flow(algorithm=str(own)))
    here, there = (result.flows["sent_packets"][0] for result in (run(each), vlinux.run(each)))
    assert there == pytest.approx(here, rel=0.02)


def test_what_kills_the_command_ends_its_machine(machine, tmp_path, monkeypatch):
    """And the next command removes its directory."""
    long = scenario(duration="600s", bottleneck={"rate": "500mbit", "buffer": "1bdp"})
    (tmp_path / "long.toml").write_text(long.to_toml())
    (temporary := tmp_path / "temporary").mkdir()
    command = subprocess.Popen(
        [ACKCLOCK, "run", "long.toml", "--on", "vlinux", "-o", "out"],
        cwd=tmp_path,
        env=os.environ | {"TMPDIR": str(temporary)},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    wait_until(lambda: left_over(machine, of=command.pid) != "", command)
    command.kill()
    command.wait()
    wait_until(lambda: left_over(machine, of=command.pid) == "")
    assert len(list(temporary.iterdir())) == 1
    monkeypatch.setattr(tempfile, "tempdir", str(temporary))
    vlinux.run(scenario(duration="1s"))
    assert list(temporary.iterdir()) == []


def left_over(machine, of):
    """The machine's processes whose parent is this one, or none any more."""
    pgrep = ["pgrep", "-P", f"1,{of}", "-f", str(machine.kernel)]
    return subprocess.run(pgrep, capture_output=True, text=True, check=False).stdout


#: A user who may read all, since the interpreter may be root's, and may do nothing else.
NOBODY = ("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups",
          *(f"--{of}=-all,+dac_read_search" for of in ("inh-caps", "ambient-caps", "bounding-set"))
          )  # fmt: skip


@pytest.fixture
def open_directory():
    """One that every user may read, unlike `tmp_path`."""
    with tempfile.TemporaryDirectory() as made:
        Path(made).chmod(0o755)
        yield Path(made)


def test_it_needs_no_root(machine, open_directory):
    """With the path of a user on Debian, which does not have tc."""
    if os.geteuid() or subprocess.run([*NOBODY, "true"], check=False).returncode:
        pytest.skip("only root can become another user")
    each = scenario(Flow(algorithm="kernel:cubic"), duration="1s")
    file = open_directory / "s.toml"
    file.write_text(each.to_toml())
    vlinux.run(each)
    kept = open_directory / "ackclock" / "vlinux" / machine.key
    kept.mkdir(parents=True)
    recipe = machine.directory / "recipe"
    for path in (recipe, machine.kernel, build.guest(machine), build.recorder(machine)):
        shutil.copy2(path, kept)
    user = [*NOBODY, "env", "-i", "PATH=/usr/bin:/bin", f"XDG_CACHE_HOME={open_directory}"]

    def ackclock(*words):
        command = [*user, ACKCLOCK, *words]
        return subprocess.run(command, cwd="/", capture_output=True, text=True, check=False)

    built = ackclock("linux", "build")
    assert built.stdout == f"built: {kept}\n", built.stderr
    done = ackclock("run", file, "--on", "vlinux")
    assert done.returncode == 0, done.stderr
