"""What macOS or Windows lacks is not on the way of the commands that run there."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from common import ROOT

instance = pytest.importorskip("ackclock.engine.instance")
pytestmark = pytest.mark.skipif(
    not instance.ENGINE.exists(), reason="engine.wasm is not built: make lab"
)


def command(directory, *words):
    return subprocess.run(
        [sys.executable, Path(__file__).with_name("elsewhere.py"), *words],
        cwd=directory,
        env={**os.environ, "ACKCLOCK_ENGINE": "portable"},
        capture_output=True,
        text=True,
        check=False,
    )


EXAMPLE = ROOT / "examples/two_cubic.toml"


SWEEP = f"""
scenario = "{EXAMPLE}"
metrics = ["utilisation"]
[axes]
duration = ["11s"]
bottleneck.buffer = ["0.5bdp", "1bdp"]
"""


@pytest.mark.parametrize(
    "words",
    [
        ("run", EXAMPLE, "--set", "duration=11s", "-o", "out"),
        ("list",),
        ("sweep", "sweep.toml", "-o", "out"),
        pytest.param(("reproduce", "cubicfc/fig2", "--quick", "-o", "out"), marks=pytest.mark.slow),
    ],
    ids=lambda words: words[0],
)
def test_commands(words, tmp_path):
    (tmp_path / "sweep.toml").write_text(SWEEP)
    done = command(tmp_path, *words)
    assert done.returncode == 0, done.stderr
    assert "rror" not in done.stderr


@pytest.mark.parametrize("words", [("deploy", "reno"), ("run", EXAMPLE, "--on", "kernel")])
def test_what_needs_linux_says_so(words, tmp_path):
    done = command(tmp_path, *words)
    assert done.returncode == 1
    assert done.stderr == (
        "error: the running kernel needs Linux and the native engine; "
        "the simulator runs here: leave out --on\n"
    )


def test_the_doctor_names_the_engine(tmp_path):
    assert command(tmp_path, "doctor").stdout == "engine: portable\n"


def test_what_is_written_over_is_replaced(tmp_path):
    for duration in ("11s", "12s"):
        done = command(tmp_path, "run", EXAMPLE, "--set", f"duration={duration}", "-o", "out")
        assert done.returncode == 0, done.stderr
    assert '"duration": "12s"' in (tmp_path / "out" / "manifest.json").read_text()
