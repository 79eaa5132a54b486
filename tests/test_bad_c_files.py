"""A user's C file that crashes, loops or has an odd name: one clear line, and exit status 1."""

import signal
import subprocess
import time
from pathlib import Path

import pytest

from conftest import ACKCLOCK

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

    def start(name: str, body: str) -> subprocess.Popen:
        (tmp_path / name).write_text(FILE.format(body=body))
        command = [ACKCLOCK, "run", "scenario.toml"]
        return subprocess.Popen(
            [*command, "--algorithm", f"./{name}"],
            cwd=tmp_path,
            text=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )

    return start


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (
            "*(volatile u32 *)0 = 1;",
            "function bad_ssthresh: reads or writes through a null pointer",
        ),
        ("((volatile u32 *)sk)[1 << 28] = 1;", "memory that is not its own"),
        ("((volatile u64 *)sk)[-1] = 1;", "writes beyond its socket"),
        ("__builtin_trap();", "stops itself"),
    ],
)
def test_a_crash_is_one_line(start, body, words):
    process = start("bad.c", body)
    _, said = process.communicate(timeout=120)
    assert process.returncode == 1, said
    lines = [line for line in said.splitlines() if line.startswith("error: ")]
    assert len(lines) == 1, said
    assert lines[0].startswith("error: ./bad.c")
    assert words in lines[0]
    assert "Traceback" not in said


def test_an_endless_loop_is_ended(start):
    process = start("loop.c", ENDLESS)
    _, said = process.communicate(timeout=300)
    assert process.returncode == 1, said
    said = " ".join(said.split())
    assert "./loop.c: a hook has run for 5 s of CPU time and does not return" in said


def test_ctrl_c_ends_an_endless_loop(start):
    process = start("loop.c", ENDLESS)
    # Until the loop runs: two threads, of which one uses the processor.
    while sum(map(int, _cpu_ticks(process.pid))) < 200 and process.poll() is None:
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=60)
    assert process.returncode not in (0, 1), said
    assert "Traceback" not in said
    assert "does not return" not in said


def _cpu_ticks(pid: int) -> list[str]:
    return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[11:13]


@pytest.mark.parametrize("name", ["$x.c", "#1.c", "-x.c", "a b.c", "it's.c", "x@y.c", "a:b=c.c"])
def test_odd_names_run(start, name):
    process = start(name, "")
    _, said = process.communicate(timeout=120)
    assert process.returncode == 0, said
