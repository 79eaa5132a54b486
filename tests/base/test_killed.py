"""What a command leaves that was killed or interrupted: nothing, or a whole result."""

import contextlib
import errno
import os
import subprocess
import sys
from pathlib import Path

import pytest

from ackclock import AckclockError, Result, run
from ackclock.base.directory import PARTIAL, Directory, collect
from common import ROOT, hidden, is_group, same_tables, short, wait_until, whole

MY_CC = (ROOT / "examples" / "my_cc.c").read_text()
SCENARIO = """
duration = "1s"
rtt = "20ms"
[bottleneck]
rate = "10mbit"
buffer = "1bdp"
[[flow]]
algorithm = "./mine.c"
"""


def test_only_what_the_dead_left_is_collected(tmp_path):
    owner = (
        "import sys; from ackclock.base.directory import Directory\n"
        "with Directory(sys.argv[1]) as d: print(d._partial, flush=True); sys.stdin.read()"
    )
    command = [sys.executable, "-c", owner, tmp_path / "out"]
    dead = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    theirs = Path(dead.stdout.readline().strip())
    somebodys = tmp_path / f"{PARTIAL}file"
    somebodys.write_text("")
    collect(tmp_path)
    assert sorted(hidden(tmp_path)) == sorted([theirs.name, somebodys.name])
    dead.kill()
    dead.communicate()
    assert theirs.is_dir()
    with Directory(tmp_path / "out") as mine:
        assert not theirs.exists()
        collect(tmp_path)
        assert mine._partial.is_dir()
    assert hidden(tmp_path) == [somebodys.name]


def test_without_locks_nothing_is_collected(tmp_path, monkeypatch):
    def flock(*_):
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr("fcntl.flock", flock)
    left = tmp_path / f"{PARTIAL}left"
    left.mkdir()
    with Directory(tmp_path / "out") as directory:
        directory.fill(run(short()).write)
    whole(tmp_path / "out")
    assert hidden(tmp_path) == [left.name]


def test_a_kill_while_a_directory_is_filled_in_place(tmp_path, monkeypatch):
    """At every step: what is there is no result, or a whole one, and the next command fills it."""
    monkeypatch.chdir(tmp_path)
    one, other = run(short()), run(short(seed=2))
    replace, steps, finished = Path.replace, 0, False
    while not finished:
        one.save(".")
        left = steps

        def killed(path, target):
            nonlocal left
            if left == 0:
                raise KeyboardInterrupt
            left -= 1
            return replace(path, target)

        monkeypatch.setattr(Path, "replace", killed)
        try:
            other.save(".")
            finished = True
        except KeyboardInterrupt:
            with contextlib.suppress(AckclockError):
                loaded = Result.load(".")
                assert any(same_tables(loaded, each) for each in (one, other))
        monkeypatch.setattr(Path, "replace", replace)
        steps += 1
    assert steps > 8
    assert same_tables(whole(tmp_path), other)


#: Kills its child 50 times, while it compiles, runs, keeps and writes: every other time right
#: after it began, otherwise after its first output is there.
KILLER = """
import os, random, select, signal, time
from pathlib import Path
from ackclock import Bottleneck, Flow, Local, Scenario, run_all
from ackclock.results import result
mine = Path("mine.c")
text = mine.read_text()
draw = random.Random(1)
for life in range(50):
    heard, say = os.pipe()
    child = os.fork()
    if child == 0:
        for again in range(1000):
            mine.write_text(text + f"/* {life} {again} */")
            scenarios = [
                Scenario(duration="200ms", rtt="10ms", seed=seed,
                         bottleneck=Bottleneck(rate="5mbit", buffer="10packets"),
                         flows=(Flow(algorithm=algorithm),))
                for algorithm in (["reno"], ["./mine.c", "reno"])[life % 2]
                for seed in (1000 * life + again, 2)
            ]
            run_all(scenarios, lambda result: result.save("out"), cache="kept", executor=Local(2))
            os.write(say, b".")
        os._exit(1)
    if life % 4 < 2:
        select.select([heard], [], [], 60)
    time.sleep(draw.uniform(0, 0.5))
    os.kill(child, signal.SIGKILL)
    _, status = os.waitpid(child, 0)
    print(os.WTERMSIG(status), flush=True)
    os.close(heard), os.close(say)
"""


def test_killed_at_random_moments(tmp_path):
    """Nothing that is seen is a part of a result; the next command works and leaves nothing."""
    place, scratch = tmp_path / "place", tmp_path / "scratch"
    place.mkdir()
    scratch.mkdir()
    (place / "mine.c").write_text(MY_CC)
    environment = os.environ | {"TMPDIR": str(scratch)}
    with subprocess.Popen(
        [sys.executable, "-c", KILLER],
        cwd=place,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as killer:
        said, errors = killer.communicate(timeout=900)
    assert said.split() == ["9"] * 50, errors
    assert errors == ""
    # A compiler that a killed one had started ends by itself.
    wait_until(lambda: not is_group(killer.pid))
    seen = [path for path in (place / "kept").iterdir() if not path.name.startswith(".")]
    assert seen
    for path in seen:
        Result.load(path)
    whole(place / "out")
    (place / "mine.c").write_text(MY_CC)
    (place / "scenario.toml").write_text(SCENARIO)
    for path in scratch.iterdir():
        os.utime(path, (0, 0))  # a minute ago: younger ones may not be locked yet
    last = "from ackclock import Scenario, run_all; s = Scenario.from_toml('scenario.toml'); "
    last += "run_all([s], lambda result: result.save('out'), cache='kept')"
    subprocess.run([sys.executable, "-c", last], cwd=place, env=environment, check=True)
    whole(place / "out")
    assert hidden(tmp_path) == []
    assert list(scratch.iterdir()) == []


INTERRUPTED = """
import threading, time
from pathlib import Path
from ackclock import Bottleneck, Flow, Scenario
from ackclock.base import directory
from ackclock.hosts import threads

scenario = Scenario(duration="1s", rtt="10ms", flows=(Flow(algorithm="reno"),),
                    bottleneck=Bottleneck(rate="5mbit", buffer="1bdp"))
def for_ever(scenario, watch):
    while True:
        watch(0)
        time.sleep(0.01)

start = threading.Thread.start
def interrupted(thread):
    start(thread)
    raise KeyboardInterrupt
threading.Thread.start = interrupted
try:
    {call}
except KeyboardInterrupt:
    print("interrupted")
"""


@pytest.mark.parametrize(
    "call",
    ['directory.sync_all(Path("."))', "threads.in_threads(for_ever, [scenario], 1, print)"],
)
def test_an_interrupt_while_threads_start_ends_the_command(tmp_path, call):
    """The moment is the worst: a thread has started, and nobody knows of it yet."""
    (tmp_path / "file").touch()
    program = [sys.executable, "-c", INTERRUPTED.format(call=call)]
    done = subprocess.run(
        program, cwd=tmp_path, capture_output=True, text=True, check=False, timeout=120
    )
    assert (done.stdout, done.stderr, done.returncode) == ("interrupted\n", "", 0)
