"""What the page asks of an algorithm: an attack on a C file, which ends when it is told to."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from ackclock import AckclockError, Scenario
from ackclock.explore import judge, shelf, worker
from common import ROOT, wait_until
from explorer import SHORT

TOML = SHORT.format(algorithm="my_cc.c")


@pytest.fixture
def files(tmp_path):
    """A folder with a C file."""
    text = (ROOT / "examples/my_cc.c").read_text()
    (tmp_path / "files").mkdir()
    (tmp_path / "files" / "my_cc.c").write_text(text)
    return tmp_path / "files"


@pytest.mark.slow
def test_an_attack_finds_a_scenario(files, tmp_path, monkeypatch):
    monkeypatch.setattr(judge, "TRIES", 16)
    scenario = Scenario.from_text(TOML, source="", directory=files)
    done = []
    told = judge.judge("attack", scenario, tmp_path, done.append)
    assert told["kept"] == "attack-my_cc"
    [listed] = [each for each in shelf.listed(tmp_path) if each["kind"] == "attack"]
    assert (listed["path"], listed["page"]) == ("attack-my_cc", "attack.png")
    kept = json.loads((tmp_path / "attack-my_cc" / "attack.json").read_text())
    assert kept["hurt"] == "R7"
    assert told["says"].startswith(f"harm to other flows {100 * kept['damage']:.0f} %; reno in")
    assert Scenario.from_text(told["toml"], source="").flows
    assert done == sorted(done)
    assert done[-1] > 0.9


def children(pid):
    """The processes that a process has started, and what they have started."""
    try:
        own = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    except FileNotFoundError:
        return []
    return [int(each) for each in own] + [each for of in own for each in children(of)]


@pytest.mark.slow
def test_sigterm_ends_the_process_of_a_c_file_too(files, tmp_path):
    job = {"judge": "attack", "toml": TOML, "files": str(files), "keep": str(tmp_path / "explore")}
    command = [sys.executable, "-m", worker.__name__]
    with subprocess.Popen(command, stdin=-1, stdout=-1, stderr=-1) as process:
        process.stdin.write(json.dumps(job).encode() + b"\n")
        process.stdin.flush()
        assert b"progress" in process.stdout.readline()
        started = children(process.pid)
        assert len(started) == 2  # the server, and the process of the call
        process.terminate()
        process.wait(60)
    wait_until(lambda: not any(Path(f"/proc/{each}").exists() for each in started), seconds=60)


def test_it_needs_a_flow():
    session = SHORT.format(algorithm="reno").replace("[[flow]]", "[[session]]")
    toml = session + 'size = "10kB"\ngap = "100ms"\n'
    with pytest.raises(AckclockError, match="flow: its algorithm is judged; add one"):
        judge.subject(Scenario.from_text(toml, source=""))
