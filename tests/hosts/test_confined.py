"""A file that runs any code it likes can do nothing with it.

The hole: a file that is trusted has machine code among its constants, which makes any system call.
"""

import os
import platform
import shutil
import subprocess
import sys

import pytest

from ackclock import AckclockError, Bottleneck, Flow, Scenario, _core, run
from ackclock.base.kernel_part import is_built
from ackclock.hosts.contained import contained
from ackclock.studies.checking import check

pytestmark = pytest.mark.skipif(
    platform.machine() != "x86_64" or sys.platform != "linux", reason="the code is x86-64's"
)
HOLE = """
#define CC_PARAMS(P) P(what, 0, 0, 99, 1, "which call")
#include "tcp_cc.h"
/* syscall(number, a, b, c, d) */
__attribute__((section(".text.hole"))) static const unsigned char code[] = {
	0x48, 0x89, 0xf8, 0x48, 0x89, 0xf7, 0x48, 0x89, 0xd6, 0x48, 0x89, 0xca, 0x4d, 0x89, 0xc2,
	0x0f, 0x05, 0xc3 };
static const char *const argv[] = { "/bin/touch", "%(made)s", 0 };
static long made(long number, long a, long b, long c, long d)
{
	return ((long (*)(long, long, long, long, long))(unsigned long)code)(number, a, b, c, d);
}
CC_HOOK(void, hole_init, struct sock *sk)
{
	long found = -99;
	switch (cc_param(sk, what)) {
%(cases)s
	}
	tcp_sk(sk)->snd_cwnd = found < 0 ? 100 - (int)found : 50;
}
CC_HOOK(u32, hole_ssthresh, struct sock *sk) { return tcp_sk(sk)->snd_cwnd; }
CC_HOOK(void, hole_avoid, struct sock *sk, u32 ack, u32 acked) {}
CC_ALGORITHM(hole, "a hole", .init = hole_init, .ssthresh = hole_ssthresh,
	.cong_avoid = hole_avoid);
"""
#: What a hole might want of this machine: number of the call, and its arguments.
CALLS = {
    "read a file": '2, (long)"%(secret)s", 0, 0, 0',
    "read it by another call": '257, -100, (long)"%(secret)s", 0, 0',
    "read it as x32": '0x40000002, (long)"%(secret)s", 0, 0, 0',
    "ask whether it is there": '21, (long)"%(secret)s", 0, 0, 0',
    "make a file": '2, (long)"%(made)s", 0101, 0644, 0',
    "make a directory": '83, (long)"%(made)s", 0755, 0, 0',
    "write the kept results": '2, (long)"%(kept)s", 02, 0, 0',
    "remove a file": '87, (long)"%(secret)s", 0, 0, 0',
    "rename a file": '82, (long)"%(secret)s", (long)"%(made)s", 0, 0',
    "a socket": "41, 2, 1, 0, 0",
    "a socket of this machine": "41, 1, 1, 0, 0",
    "start a program": "59, (long)argv[0], (long)argv, 0, 0",
    "another process": "57, 0, 0, 0, 0",
    "another process by clone": "56, 17, 0, 0, 0",
    "another process by clone3": "435, 0, 0, 0, 0",
    "signal its parent": "62, %(parent)s, 0, 0, 0",
    "signal a thread of it": "234, %(parent)s, %(parent)s, 0, 0",
    "signal its group": "62, 0, 0, 0, 0",
    "look into its parent": "310, %(parent)s, 0, 0, 0",
    "trace its parent": "101, 16, %(parent)s, 0, 0",
    "outlive its parent": "157, 1, 0, 0, 0",
    "io_uring": "425, 8, 0, 0, 0",
    "load BPF": "321, 0, 0, 0, 0",
    "a name space": "272, 0x10000000, 0, 0, 0",
    "write to an open file": '1, %(open)s, (long)"x", 1, 0',
}
#: What it may call.
HARMLESS = "39, 0, 0, 0, 0"


@pytest.fixture
def hole(tmp_path, monkeypatch):
    """The scenario: flow 1 makes a call that is harmless, each other one of `CALLS`."""
    monkeypatch.setenv("ACKCLOCK_TRUST", "1")
    monkeypatch.chdir(tmp_path)
    secret, kept = tmp_path / "secret", tmp_path / ".ackclock" / "kept"
    kept.parent.mkdir()
    kept.write_text("x")
    secret.write_text("x")
    with (tmp_path / "open").open("w") as file:
        places = {"secret": secret, "kept": kept, "made": tmp_path / "made", "open": file.fileno()}
        calls = enumerate((HARMLESS, *CALLS.values()))
        cases = [f"\tcase {n}: found = made({call}); break;" for n, call in calls]
        given = places | {"parent": os.getpid()}
        path = tmp_path / "hole.c"
        path.write_text(HOLE % (given | {"cases": "\n".join(cases) % given}))
        flows = [Flow(algorithm=f"./hole.c:what={n}", rtt="20ms") for n in range(len(cases))]
        yield Scenario(
            bottleneck=Bottleneck(rate="20mbit", buffer="50packets"), duration="0.1s", flows=flows
        )
    assert secret.read_text() == kept.read_text() == "x"
    assert sorted(each.name for each in tmp_path.iterdir()) == [
        ".ackclock",
        "hole.c",
        "open",
        "secret",
    ]
    assert (tmp_path / "open").read_text() == ""


def answers(result):
    """What the calls said, by flow: 50, or 100 and the number of the error."""
    first = result.samples.group_by("flow").first().sort("flow")
    return first["cwnd_packets"].to_list()


def ran(scenario, _):
    yield answers(run(scenario))


EXPECTED = [50, *([101] * len(CALLS))]
EXPECTED[1 + list(CALLS).index("another process by clone3")] = 138  # no such call
EXPECTED[1 + list(CALLS).index("write to an open file")] = 109  # not open there


def test_what_a_hole_can_do(hole):
    assert answers(run(hole)) == EXPECTED


def test_the_same_where_strangers_files_are_judged(hole):
    (told,) = contained(ran, hole, progress=lambda _: None, may_write=None)
    assert told == EXPECTED


KERNEL_HOLE = """
#include <linux/module.h>
#include <net/tcp.h>
__attribute__((section(".text.hole"))) static const unsigned char code[] = {
	0x48, 0x89, 0xf8, 0x48, 0x89, 0xf7, 0x48, 0x89, 0xd6, 0x48, 0x89, 0xca, 0x4d, 0x89, 0xc2,
	0x0f, 0x05, 0xc3 };
static int count __read_mostly = 1;
module_param(count, int, 0644);
static u32 hole_ssthresh(struct sock *sk) { return count; }
static struct tcp_congestion_ops hole = { .name = "hole", .owner = THIS_MODULE,
	.ssthresh = hole_ssthresh, .cong_avoid = tcp_reno_cong_avoid,
	.undo_cwnd = tcp_reno_undo_cwnd };
static int __init hole_init(void)
{
	long found = ((long (*)(long, long, long, long, long))(unsigned long)code)(%s);
	count = 7;
	return found < 0 ? (int)found : tcp_register_congestion_control(&hole);
}
module_init(hole_init);
MODULE_LICENSE("GPL");
"""


def test_module_init_is_confined_too(tmp_path, monkeypatch):
    monkeypatch.setenv("ACKCLOCK_TRUST", "1")
    path = tmp_path / "hole.c"
    for call in (CALLS["read a file"], CALLS["a socket"], CALLS["signal its parent"]):
        path.write_text(KERNEL_HOLE % (call % {"secret": path, "parent": os.getpid()}))
        with pytest.raises(AckclockError, match=r"module_init returns -1 \(EPERM\)"):
            _core.configure(str(path))
    path.write_text(KERNEL_HOLE % HARMLESS)
    assert _core.configure(str(path))["name"] == "hole"
    path.write_text(KERNEL_HOLE % "0, 0, 0, 0, *(volatile int *)8")
    with pytest.raises(AckclockError, match=r"hole.c:15, .*reads or writes"):
        _core.configure(str(path))


TWO = """#include "tcp_cc.h"
CC_HOOK(u32, two_ssthresh, struct sock *sk)
{
#ifdef __bpf__
	return 2;
#endif
	return 4;
}
CC_ALGORITHM(two, "", .ssthresh = two_ssthresh, .cong_avoid = tcp_reno_cong_avoid);
"""


@pytest.mark.skipif(shutil.which("clang") is None, reason="no clang here")
def test_no_compiler_writes_elsewhere(tmp_path, monkeypatch):
    """Those of the simulator, of BPF, and the one that says what each of them gets."""
    names = {"CC": "cc", "CLANG": "clang"}
    for variable, name in names.items():
        wrapper = tmp_path / "bin" / name
        wrapper.parent.mkdir(exist_ok=True)
        wrapper.write_text(
            f'#!/bin/sh\ncase "$*" in *two.c*|*user/*) echo x > "{tmp_path}/written by $1";; esac\n'
            f'exec {shutil.which(name)} "$@"\n'
        )
        wrapper.chmod(0o755)
        monkeypatch.setenv(variable, str(wrapper))
    monkeypatch.setenv("PATH", f"{wrapper.parent}:{os.environ['PATH']}")
    path = tmp_path / "two.c"
    path.write_text(TWO)
    subprocess.run([wrapper, "--version", path], capture_output=True, check=True)
    assert [each.name for each in tmp_path.glob("written*")] == ["written by --version"]
    found = check(str(path))
    assert found.hosts["BPF"].startswith("4 programs" if is_built() else "not asked")
    assert len(found.warnings) == 1
    assert [each.name for each in tmp_path.glob("written*")] == ["written by --version"]
