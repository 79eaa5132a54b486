"""What macOS or Windows lacks is not on the way of the commands that run there."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from common import ACKCLOCK, ROOT
from explorer import SHORT, Server

instance = pytest.importorskip("ackclock.engine.instance")
c_files = pytest.importorskip("ackclock.engine.c_files")
pytestmark = pytest.mark.skipif(
    not instance.ENGINE.exists(), reason="engine.wasm is not built: make lab"
)


HIDDEN = Path(__file__).with_name("elsewhere.py").read_text()


@pytest.fixture
def elsewhere(tmp_path):
    """An environment in which no Python sees what macOS or Windows lacks."""
    hidden = tmp_path / "hidden"
    hidden.mkdir()
    (hidden / "sitecustomize.py").write_text(HIDDEN)
    return {**os.environ, "ACKCLOCK_ENGINE": "portable", "PYTHONPATH": str(hidden)}


@pytest.fixture
def command(tmp_path, elsewhere):
    def command(*words):
        return subprocess.run(
            [ACKCLOCK, *words],
            cwd=tmp_path,
            env=elsewhere,
            capture_output=True,
            text=True,
            check=False,
        )

    return command


needs_compiler = pytest.mark.skipif(
    c_files._tools() is None, reason="no clang with wasm-ld, and no ziglang: make .venv/wheel"
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
        ("attack", "reno", "--tries", "16", "--seed", "1", "-o", "out"),
        ("evaluate", "vegas", "--quick", "--rows", "links", "-o", "out"),
        pytest.param(("reproduce", "cubicfc/fig2", "--quick", "-o", "out"), marks=pytest.mark.slow),
    ],
    ids=lambda words: words[0],
)
def test_commands(words, tmp_path, command):
    (tmp_path / "sweep.toml").write_text(SWEEP)
    done = command(*words)
    assert done.returncode == 0, done.stderr
    assert "rror" not in done.stderr


@pytest.mark.parametrize("words", [("deploy", "reno"), ("run", EXAMPLE, "--on", "kernel")])
def test_what_needs_linux_says_so(words, command):
    done = command(*words)
    assert done.returncode == 1
    assert done.stderr == (
        "error: the running kernel needs Linux and the native engine; the simulator runs here\n"
    )


def test_the_doctor_names_the_engine(command):
    assert command("doctor").stdout == "engine: portable\n"


def test_what_is_written_over_is_replaced(tmp_path, command):
    for duration in ("11s", "12s"):
        done = command("run", EXAMPLE, "--set", f"duration={duration}", "-o", "out")
        assert done.returncode == 0, done.stderr
    assert '"duration": "12s"' in (tmp_path / "out" / "manifest.json").read_text()


@needs_compiler
def test_a_c_file_runs(tmp_path, command):
    shutil.copy(ROOT / "examples/my_cc.c", tmp_path)
    shutil.copy(ROOT / "examples/my_cc.toml", tmp_path)
    for words in (("run", "my_cc.toml"), ("check", "my_cc.c"), ("list", "./my_cc.c")):
        done = command(*words)
        assert done.returncode == 0, done.stderr
        assert "my_cc" in done.stdout


def test_the_page_runs_scenarios(tmp_path, elsewhere):
    server = Server(tmp_path, env=elsewhere)
    told = server.wait(server.start(SHORT.format(algorithm="cubic")), "done", "failed")
    assert told["state"] == "done", told
    assert server.close() == ""
