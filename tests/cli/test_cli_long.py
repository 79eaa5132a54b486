"""A command that takes long: its progress, and what an interrupt leaves."""

import itertools
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import typer

from ackclock.base import interrupts
from ackclock.cli import console
from command import SCENARIO
from common import ACKCLOCK, wait_until


def start(*arguments, cwd):
    environment = os.environ | {"COLUMNS": "120"}
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    return subprocess.Popen([ACKCLOCK, *arguments], cwd=cwd, env=environment, **pipes)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_an_interrupt_leaves_nothing_half_written(scenario, tmp_path, number):
    scenario.write_text(SCENARIO.replace("2s", "1000h"))
    process = start("run", scenario, "-o", "out", cwd=tmp_path)
    wait_until(lambda: len(list(tmp_path.iterdir())) > 1, process)
    time.sleep(0.3)  # it runs now, or not yet: both are right
    process.send_signal(number)
    _, stderr = process.communicate(timeout=300)
    assert process.returncode == 130
    assert "interrupted: nothing was written" in stderr
    assert "Traceback" not in stderr
    assert [path.name for path in tmp_path.iterdir()] == ["scenario.toml"]


@pytest.mark.parametrize(
    ("arguments", "finished", "left"),
    [
        (["long.toml", "--seeds", "1000"], ".ackclock", "finished are kept; the same command"),
        (["scenario.toml", "endless.toml", "-o", "out"], "out", "that finished are written"),
    ],
)
def test_an_interrupt_says_what_is_there(tmp_path, arguments, finished, left):
    (tmp_path / "scenario.toml").write_text(SCENARIO)
    (tmp_path / "long.toml").write_text(SCENARIO.replace("2s", "1000s"))
    (tmp_path / "endless.toml").write_text(SCENARIO.replace("2s", "1000h"))
    process = start("run", *arguments, cwd=tmp_path)
    wait_until(lambda: any((tmp_path / finished).glob("[!.]*/manifest.json")), process)
    process.send_signal(signal.SIGINT)
    _, stderr = process.communicate(timeout=300)
    assert process.returncode == 130
    assert left in stderr
    assert "nothing was written" not in stderr


@pytest.mark.parametrize("library", ["ackclock/_core.", "_polars_runtime"])
def test_an_interrupt_while_the_command_starts_is_quiet(scenario, tmp_path, library):
    """The moment is known by a library that the command has begun to import."""
    scenario.write_text(SCENARIO.replace("2s", "1000h"))
    process = start("run", scenario, cwd=tmp_path)
    maps = Path(f"/proc/{process.pid}/maps")
    while library not in maps.read_text() and process.poll() is None:
        pass
    assert process.returncode is None, "the command does not import that library any more"
    process.send_signal(signal.SIGINT)
    _, stderr = process.communicate(timeout=300)
    assert process.returncode == 130
    assert stderr in ("", "interrupted: nothing was written\n")


def test_an_interrupt_of_which_a_library_makes_a_panic_is_an_interrupt(monkeypatch, capsys):
    class PanicException(BaseException):
        """As pyo3's: polars raises it where an interrupt meets it on its way to numpy."""

    monkeypatch.setattr(interrupts, "_interrupts", [signal.SIGINT])
    with pytest.raises(typer.Exit) as left, console.one_line_errors("all is kept"):
        raise PanicException
    assert left.value.exit_code == 130
    assert capsys.readouterr().err == "interrupted: all is kept\n"


def test_an_interrupt_in_a_finaliser_comes_once_more():
    program = """
import signal, time
from ackclock.base import interrupts

class Finalised:
    def __del__(self):
        signal.raise_signal(signal.SIGINT)

signal.signal(signal.SIGINT, interrupts.interrupt)
Finalised()
try:
    time.sleep(60)
except KeyboardInterrupt:
    print("heard")
"""
    command = [sys.executable, "-c", program]
    run = subprocess.run(command, text=True, capture_output=True, check=False)
    assert (run.stdout, run.stderr, run.returncode) == ("heard\n", "", 0)


def test_ctrl_c_in_a_sweep_keeps_what_is_done_and_resumes(tmp_path):
    cache = tmp_path / ".ackclock"
    process = start("reproduce", "cubicfc/fig5", "--jobs", "1", cwd=tmp_path)
    wait_until(lambda: any(cache.glob("[!.]*/manifest.json")), process)
    process.send_signal(signal.SIGINT)
    _, stderr = process.communicate(timeout=300)
    assert process.returncode == 130
    assert "resumes" in stderr
    assert not (tmp_path / "out").exists()
    runs = [path for path in cache.iterdir() if path.name != "rows"]
    assert all((path / "manifest.json").exists() for path in runs)
    before = {path: path.stat().st_mtime_ns for path in runs}
    process = start("reproduce", "cubicfc/fig5", "--seeds", "1", cwd=tmp_path)
    process.communicate(timeout=900)
    assert process.returncode == 0
    assert {path: path.stat().st_mtime_ns for path in runs} == before


def test_progress_in_a_log_is_plain_lines(monkeypatch, capsys):
    clock = itertools.count(0, 6)
    monkeypatch.setattr(console.time, "monotonic", lambda: next(clock))
    with console.progress_bar("two_cubic") as progress:
        for step in range(1, 11):
            progress(step / 20)
    lines = capsys.readouterr().err.splitlines()
    assert lines[0] == "two_cubic: 10 %, about 1 min 48 s left"
    assert len(lines) == 5


def test_time_left_is_of_the_work_at_hand(monkeypatch, capsys):
    """More seeds begin a new count: the time that the ones before took is not in it."""
    now_s = 0.0
    monkeypatch.setattr(console.time, "monotonic", lambda: now_s)
    show = console._progress_lines("runs")
    for at_s, fraction in ((100, 0.5), (200, 1.0), (200, 0.0), (220, 0.5)):
        now_s = at_s
        show(fraction)
    assert capsys.readouterr().err.splitlines()[-1] == "runs: 50 %, about 20 s left"


def test_too_little_work_tells_no_time(monkeypatch, capsys):
    """A first step of a thousandth once foretold 4 hours for 4 minutes."""
    now_s = 100.0
    monkeypatch.setattr(console.time, "monotonic", lambda: now_s)
    show = console._progress_lines("runs")
    for at_s, fraction in ((100, 0.0), (111, 0.001), (122, 0.5)):
        now_s = at_s
        show(fraction)
    assert capsys.readouterr().err.splitlines() == ["runs: 0 %", "runs: 50 %, about 22 s left"]
