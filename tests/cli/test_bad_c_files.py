"""A user's C file that crashes, loops or has an odd name: one clear line, and exit status 1."""

import os
import pty
import re
import shutil
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest

from common import ACKCLOCK, wait_until

SCENARIO = """
duration = "5s"
rtt = "20ms"
[bottleneck]
rate = "10mbit"
buffer = "1bdp"
[[flow]]
algorithm = "reno"
"""
FILE = """#include "tcp_cc.h"
CC_HOOK(u32, bad_ssthresh, struct sock *sk)
{{
	volatile u32 zero = 0;

	{body}
	return max(tcp_sk(sk)->snd_cwnd / 2 + zero, 2U);
}}
CC_ALGORITHM(bad, "bad", .ssthresh = bad_ssthresh, .cong_avoid = tcp_reno_cong_avoid);
"""
ENDLESS = "while (!zero) ;"


@pytest.fixture
def start(tmp_path):
    (tmp_path / "scenario.toml").write_text(SCENARIO)

    def start(name: str, body: str, stderr=subprocess.PIPE) -> subprocess.Popen:
        (tmp_path / name).write_text(FILE.format(body=body))
        command = [ACKCLOCK, "run", "scenario.toml"]
        return subprocess.Popen(
            [*command, "--algorithm", f"./{name}"],
            cwd=tmp_path,
            env=os.environ | {"TERM": "xterm"},  # a dumb terminal has no progress bar
            text=True,
            stdout=subprocess.PIPE,
            stderr=stderr,
        )

    return start


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (
            "*(volatile u32 *)0 = 1;",
            "function bad_ssthresh: writes through a null pointer",
        ),
        ("((volatile u32 *)sk)[1 << 28] = 1;", "memory that is not its own"),
        ("((volatile u64 *)sk)[-1] = 1;", "writes to memory that is not its own"),
        ("__builtin_trap();", "stops itself"),
    ],
)
def test_a_crash_is_one_line(start, body, words):
    process = start("bad.c", body)
    _, said = process.communicate(timeout=300)
    assert process.returncode == 1, said
    lines = [line for line in said.splitlines() if line.startswith("error: ")]
    assert len(lines) == 1, said
    assert lines[0].startswith("error: ./bad.c")
    assert words in lines[0]
    assert "Traceback" not in said


#: Reads that compilers may take for "never happens", and give any number for.
NULL_READS = {
    "itself": "return *(u32 *)0;",
    "a field": "struct tcp_sock *tp = NULL; return tp->snd_cwnd;",
    "on one way only": "u32 *p = tcp_sk(sk)->snd_cwnd > 1000000 ? (u32 *)sk : NULL; return *p;",
    "an index": "u32 *p = NULL; return p[tcp_sk(sk)->snd_cwnd];",
    "far": "u32 *p = NULL; return p[100000];",
    "before it": "u32 *p = NULL; return p[-1];",
    "a loop": "u32 *p = NULL, sum = 0; for (int i = 0; i < 8; i++) sum += p[i]; return sum;",
    "a copy": "u32 *p = NULL, r; __builtin_memcpy(&r, p, 4); return r;",
}


@pytest.mark.parametrize("compiler", ["clang", "gcc"])
@pytest.mark.parametrize("read", NULL_READS)
def test_a_null_read_is_one_line(start, tmp_path, monkeypatch, read, compiler):
    if compiler == "gcc":  # which checks only what is written
        for program in ("gcc", "as", "ld"):
            (tmp_path / program).symlink_to(shutil.which(program))
        monkeypatch.setenv("PATH", str(tmp_path))
    process = start("bad.c", NULL_READS[read])
    _, said = process.communicate(timeout=300)
    assert process.returncode == 1, said
    (line,) = [line for line in said.splitlines() if line.startswith("error: ")]
    assert line.startswith("error: ./bad.c:")
    assert "function bad_ssthresh: reads" in line


def test_the_message_of_a_crash_begins_a_line(start):
    """On a terminal a progress bar stands in the last line, and has hidden the cursor."""
    mine, its = pty.openpty()
    process = start("bad.c", "*(volatile u32 *)0 = 1;", stderr=its)
    os.close(its)
    said = b""
    with suppress(OSError):  # Linux says so at the end
        while part := os.read(mine, 4096):
            said += part
    os.close(mine)
    process.communicate(timeout=300)
    before, found, _ = said.partition(b"error: ./bad.c")
    assert found
    shown = re.sub(rb"\x1b\[[0-9;?]*[A-Za-z]", b"", before)
    assert shown[-1:] in (b"", b"\r", b"\n")


def test_an_endless_loop_is_ended(start):
    process = start("loop.c", ENDLESS)
    _, said = process.communicate(timeout=300)
    assert process.returncode == 1, said
    said = " ".join(said.split())
    assert "./loop.c: a hook has run for 5 s of CPU time and does not return" in said


def test_ctrl_c_ends_an_endless_loop(start):
    process = start("loop.c", ENDLESS)
    # The thread of a run needs this much of a processor for a loop only: it may have 5 s.
    wait_until(lambda: _ticks_of_children(process.pid) >= 30, process)
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=300)
    assert process.returncode not in (0, 1), said
    assert "Traceback" not in said
    assert "does not return" not in said


def _ticks_of_children(pid: int) -> int:
    """Most CPU time of a process that this one has started, which runs the file."""
    most = 0
    for path in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):  # it has ended
            fields = path.read_text().rsplit(")", 1)[1].split()
            if int(fields[1]) == pid:
                most = max(most, int(fields[11]) + int(fields[12]))
    return most


@pytest.mark.parametrize("name", ["$x.c", "#1.c", "-x.c", "a b.c", "it's.c", "x@y.c", "a:b=c.c"])
def test_odd_names_run(start, name):
    process = start(name, "")
    _, said = process.communicate(timeout=300)
    assert process.returncode == 0, said


CRASH_ELSEWHERE = """
import ctypes, faulthandler, sys
from ackclock import _core
{first}
_core.configure("./good.c")
{second}
ctypes.string_at(16)
"""


@pytest.mark.parametrize("enabled_first", [True, False])
def test_a_crash_elsewhere_is_pythons(tmp_path, enabled_first):
    (tmp_path / "good.c").write_text(FILE.format(body=""))
    order = ("faulthandler.enable()", "")
    first, second = order if enabled_first else reversed(order)
    code = CRASH_ELSEWHERE.format(first=first, second=second)
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == -signal.SIGSEGV, done.stderr
    assert "Fatal Python error: Segmentation fault" in done.stderr
    assert "error: ./good.c" not in done.stderr


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ("size=8k", "no space left; set TMPDIR"),
        ("size=100k", "no space left; set TMPDIR"),
        ("noexec", "is mounted noexec"),
    ],
)
def test_an_unusable_place_for_temporary_files_is_named(tmp_path, options, words):
    (tmp_path / "good.c").write_text(FILE.format(body=""))
    place = tmp_path / "place"
    place.mkdir()
    mount = f"mount -t tmpfs -o {options} none {place} 2>&1 || exit 77"
    command = f"{mount}; TMPDIR={place} exec {ACKCLOCK} list ./good.c"
    done = subprocess.run(
        ["unshare", "-m", "sh", "-c", command],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode == 77 or "unshare" in done.stderr:
        pytest.skip("this user may not mount")
    assert done.returncode == 1
    assert words in done.stderr, done.stderr
    assert str(place) in done.stderr
    assert len(done.stderr.splitlines()) == 1


@pytest.mark.parametrize("command", [["run", "scenario.toml", "--algorithm"], ["list"]])
def test_a_name_that_is_not_utf_8_is_refused(tmp_path, command):
    (tmp_path / "scenario.toml").write_text(SCENARIO)
    name = b"./\xff.c"
    (tmp_path / os.fsdecode(name)).write_text(FILE.format(body=""))
    done = subprocess.run(
        [ACKCLOCK, *command, name], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 1
    assert len(done.stderr.splitlines()) == 1
    assert done.stderr.endswith("is not text in UTF-8: rename the file\n")
