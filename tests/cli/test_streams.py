"""Where a command prints: streams that are closed or full, and texts that a terminal would obey."""

import json
import os
import re
import subprocess

import pytest

from ackclock import AckclockError, Scenario
from ackclock.scenario.skeleton import text
from common import ACKCLOCK

SCENARIO = """
duration = "100ms"
rtt = "20ms"
[bottleneck]
rate = "10mbit"
buffer = "1bdp"
[[flow]]
algorithm = "cubic"
"""
#: Sets a title, clears the screen, turns the direction of a text; one byte and two.
EVIL = "\x1b]0;title\x07\x1b[2J\x9b2J\u202e"
#: What no text of a stranger may send to a terminal.
OBEYED = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")


def shell(script, directory):
    (directory / "scenario.toml").write_text(SCENARIO)
    return subprocess.run(
        ["bash", "-c", script.replace("ackclock", str(ACKCLOCK), 1)],
        cwd=directory,
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize("redirect", [">&-", ">/dev/full"])
@pytest.mark.parametrize("command", ["list", "list --json", "--help", "--version", "run --help",
                                     "run scenario.toml -o out"])  # fmt: skip
def test_output_that_is_lost_is_an_error_in_one_line(tmp_path, command, redirect):
    done = shell(f"ackclock {command} {redirect}", tmp_path)
    assert done.returncode == 1
    assert re.fullmatch(r"error: cannot print: [A-Z][a-z ]+\n", done.stderr)
    silent = shell(f"ackclock {command} {redirect} 2>&-", tmp_path)
    assert (silent.returncode, silent.stdout, silent.stderr) == (1, "", "")
    assert ("-o out" in command) == (tmp_path / "out/manifest.json").is_file()


@pytest.mark.parametrize("redirect", ["2>&-", "2>/dev/full", "<&-", "<&- 2>&-"])
@pytest.mark.parametrize(
    ("command", "code"),
    [("list", 0), ("run scenario.toml --seeds 2", 0), ("nonsense", 2), ("run none.toml", 1)],
)
def test_without_standard_error_the_work_goes_on(tmp_path, command, code, redirect):
    done = shell(f"ackclock {command} {redirect}", tmp_path)
    assert done.returncode == code
    assert bool(done.stdout) == (code == 0)
    assert "Traceback" not in done.stderr


@pytest.fixture
def evil(tmp_path):
    """A C file whose texts a terminal would obey; its name, too."""
    path = tmp_path / f"evil{EVIL[:4]}.c"
    path.write_text(
        text()
        .replace("window multiplier at a loss", EVIL)
        .replace("standard TCP that keeps", f"{EVIL} keeps")
    )
    return path


@pytest.mark.parametrize(
    "command",
    [
        *("list {c}", "list --history {c}", "list --json {c}", "{c}", "run {c}"),
        *("run scenario.toml --algorithm {c}", "run scenario.toml --set {c}=1"),
    ],
)
def test_no_text_of_a_stranger_moves_the_terminal(ackclock, tmp_path, evil, command):
    (tmp_path / "scenario.toml").write_text(SCENARIO)
    done = ackclock(*[part.format(c=f"./{evil.name}") for part in command.split()])
    printed = done.stdout + done.stderr
    assert re.search(r"\\(u001b|x1b)", printed) or "--algorithm" in command  # which names no file
    assert not OBEYED.search(printed)
    if "--json" in command:
        (told,) = json.loads(done.stdout)["algorithms"]
        assert EVIL in told["summary"]


def test_what_a_compiler_says_is_shown_as_it_is(ackclock, tmp_path):
    (tmp_path / "bad.c").write_text(f'#include "tcp_cc.h"\n#error "{EVIL}"\n', encoding="utf-8")
    (tmp_path / "scenario.toml").write_text(SCENARIO)
    done = ackclock("run", "scenario.toml", "--algorithm", "./bad.c")
    assert done.returncode == 1
    assert "error" in done.stderr
    assert not OBEYED.search(done.stderr)


@pytest.mark.parametrize("key", ["", "bottleneck.", "flow."])
def test_an_unknown_key_is_shown_as_it_is(ackclock, tmp_path, key):
    odd = f'"{json.dumps(EVIL)[1:-1]}" = 1\n'
    at = {"": SCENARIO.index("[b"), "bottleneck.": SCENARIO.index("[[f"), "flow.": len(SCENARIO)}
    toml = SCENARIO[: at[key]] + odd + SCENARIO[at[key] :]
    (tmp_path / "scenario.toml").write_text(toml)
    done = ackclock("run", "scenario.toml")
    assert done.returncode == 1
    assert "\\u001b]0;title" in done.stderr
    assert not OBEYED.search(done.stderr)
    with pytest.raises(AckclockError) as caught:
        Scenario.from_text(toml, source="x")
    assert not OBEYED.search(str(caught.value))


def test_our_own_colours_stay(tmp_path):
    (tmp_path / "scenario.toml").write_text(SCENARIO)
    environment = os.environ | {"FORCE_COLOR": "1", "TERM": "xterm"}
    done = subprocess.run(
        [ACKCLOCK, "list", "cubic"], capture_output=True, text=True, env=environment, check=True
    )
    assert "\x1b[1mcubic" in done.stdout
