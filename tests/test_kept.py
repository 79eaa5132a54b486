"""What is kept is what ran: attacks on the cache, on `-o` and on a C file while it runs."""

import contextlib
import errno
import json
import os
import random
import shutil
import stat
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

from ackclock import (
    AckclockError,
    Bottleneck,
    Flow,
    Local,
    Result,
    Scenario,
    crosscheck,
    figures,
    kept,
    papers,
    reducers,
    reproduce,
    run,
    run_all,
    snapshot,
    sources,
    tables,
    testbed,
)
from ackclock.evaluate import measure
from ackclock.evaluate import run as evaluated
from ackclock.output import PARTIAL, WRITTEN, Directory, collect
from ackclock.runs import MANIFEST
from conftest import ACKCLOCK, ROOT, in_own_mounts, is_group, wait_until

MY_CC = (ROOT / "examples" / "my_cc.c").read_text()
#: Another algorithm.
EDITED = MY_CC.replace("beta) / 1024", "beta) / 2048")
assert EDITED != MY_CC
HALF_SAVED = MY_CC[: len(MY_CC) // 2]


@pytest.fixture
def mine(tmp_path):
    """A user's C file."""
    path = tmp_path / "mine.c"
    path.write_text(MY_CC)
    return path


def short(algorithm="reno", **fields):
    """A run with losses that takes some milliseconds."""
    fields = {"duration": "1s", "rtt": "10ms"} | fields
    return Scenario(
        bottleneck=Bottleneck(rate="20mbit", buffer="10packets"),
        flows=(Flow(algorithm=str(algorithm)),),
        **fields,
    )


def fingerprint(result):
    (code,) = result.manifest["algorithms"].values()
    return code["fingerprint"]


def hidden(directory):
    return [path.name for path in directory.rglob(f"{PARTIAL}*")]


# One snapshot a command.


@pytest.mark.parametrize("text", [EDITED, HALF_SAVED, None])
def test_a_c_file_that_changes_during_a_sweep(mine, tmp_path, text):
    """All results, under the keys of the old code, are of the old code."""
    scenarios = [short(mine, seed=seed) for seed in range(1, 7)]
    keys = [scenario.key() for scenario in scenarios]
    expected = [run(scenario).manifest["trace_hash"] for scenario in scenarios]

    def change(_):
        mine.unlink(missing_ok=True) if text is None else mine.write_text(text)

    found = run_all(
        scenarios,
        lambda result: result.manifest,
        cache=tmp_path / "kept",
        executor=Local(1),
        progress=change,
    )
    assert [each["trace_hash"] for each in found] == expected
    assert [each["key"] for each in found] == keys
    assert len({each["algorithms"][str(mine)]["fingerprint"] for each in found}) == 1
    assert sorted(path.name for path in (tmp_path / "kept").iterdir()) == sorted(keys)


@pytest.mark.parametrize("text", [EDITED, HALF_SAVED])
def test_a_c_file_that_changes_during_a_run(mine, text):
    """The result is there, and its manifest names the code that ran."""
    scenario = short(mine)
    key, first = scenario.key(), run(scenario)
    result = run(scenario.replace(duration="20s"), progress=lambda _: mine.write_text(text))
    assert fingerprint(result) == fingerprint(first)
    mine.write_text(MY_CC)
    assert result.manifest["key"] == scenario.replace(duration="20s").key()
    mine.write_text(EDITED)  # the next run sees it
    again = run(scenario)
    assert again.manifest["trace_hash"] != first.manifest["trace_hash"]
    assert again.manifest["key"] == scenario.key() != key


def test_a_command_reads_a_c_file_once(mine, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with snapshot.held():
        before = [
            snapshot.current().configure(spec)["fingerprint"]
            for spec in (str(mine), f"{mine}:beta=0.3")
        ]
        mine.write_text(EDITED)
        for spec in (mine, f"{mine}:beta=0.3", f"{mine}:beta=0.9", "./mine.c", "mine.c:beta=0.1"):
            assert snapshot.current().configure(str(spec))["fingerprint"] == before[0] == before[1]
    assert snapshot.current().configure(str(mine))["fingerprint"] != before[0]


def test_the_compiler_and_its_flags_are_in_the_key(mine, monkeypatch):
    keys = set()
    for compiler in ("gcc", "gcc -O1", "clang"):
        if shutil.which(compiler.split()[0]):
            monkeypatch.setenv("CC", compiler)
            keys.add(short(mine).key())
    assert len(keys) >= 2


def test_what_records_a_result_is_in_the_key(monkeypatch):
    before = short().key()
    monkeypatch.setattr(snapshot, "_recorder", lambda: "another")
    assert short().key() != before


# Several processes with one cache.

MANY = """
import os, sys
from pathlib import Path
from ackclock import Bottleneck, Flow, Local, Scenario, run_all
scenarios = [
    Scenario(duration="200ms", rtt="10ms", seed=seed,
             bottleneck=Bottleneck(rate="5mbit", buffer="10packets"),
             flows=(Flow(algorithm="reno"),))
    for seed in (1, 2)
]
print(*(scenario.key() for scenario in scenarios), flush=True)
for line in sys.stdin:
    print(*run_all(scenarios, lambda result: result.manifest["trace_hash"],
                 cache=Path(line.strip()), executor=Local(1)), flush=True)
"""


def test_eight_processes_with_one_cache(tmp_path):
    """In half of the rounds the cache has damaged entries at first."""
    started = [
        subprocess.Popen(
            [sys.executable, "-c", MANY],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for _ in range(8)
    ]
    keys = [each.stdout.readline().split() for each in started].pop()
    answers = set()
    for number in range(20):
        cache = tmp_path / str(number)
        if number % 2:
            for key in keys:
                (cache / key).mkdir(parents=True)
                (cache / key / MANIFEST).write_text("damaged")
        for each in started:
            each.stdin.write(f"{cache}\n")
            each.stdin.flush()
        answers |= {each.stdout.readline() for each in started}
        assert sorted(path.name for path in cache.iterdir()) == sorted(keys)
    errors = [each.communicate()[1] for each in started]
    assert [each.returncode for each in started] == [0] * 8, errors
    assert len(answers) == 1
    assert all(line.startswith("warning: ") for text in errors for line in text.splitlines())


def test_an_equal_result_of_another_stays(small, tmp_path):
    cache = tmp_path / "kept"
    path = cache / small.key()
    result = run(small)
    kept.keep(path, result.write, Result.load)
    before = path.stat().st_ino
    kept.keep(path, result.write, Result.load)
    assert path.stat().st_ino == before
    (path / MANIFEST).write_text("damaged")
    kept.keep(path, result.write, Result.load)
    assert Result.load(path).flows.equals(result.flows)
    assert [each.name for each in cache.iterdir()] == [path.name]


def test_what_exchanges_names_at_once_may_be_missing(small, tmp_path, monkeypatch):
    def missing(*_):
        raise NotImplementedError

    monkeypatch.setattr("ackclock.output._exchange_at_once", missing)
    test_an_equal_result_of_another_stays(small, tmp_path)


# Damage.


def same_tables(one, other):
    return all(getattr(one, name).equals(getattr(other, name)) for name in tables.TABLES)


def same(one, other):
    return one.manifest == other.manifest and same_tables(one, other)


def test_no_flipped_bit_is_read(tmp_path):
    session = {"algorithm": "reno", "size": "10packets"}
    result = run(short(session=[session], sample_interval="200ms"))
    whole, damaged = result.save(tmp_path / "whole"), tmp_path / "damaged"
    whole_result = Result.load(whole)
    files = sorted(path for path in whole.iterdir() if path.name != WRITTEN)
    draw = random.Random(1)
    refused = 0
    for _ in range(400):
        shutil.copytree(whole, damaged)
        chosen = damaged / draw.choice(files).name
        data = bytearray(chosen.read_bytes())
        bit = draw.randrange(8 * len(data))
        data[bit // 8] ^= 1 << bit % 8
        chosen.write_bytes(data)
        try:
            assert same(Result.load(damaged), whole_result), f"{chosen.name}, bit {bit}"
        except AckclockError:
            refused += 1
        shutil.rmtree(damaged)
    assert refused > 380  # of the others the meaning is the same


def flip(path):
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)


def test_damaged_results_are_said_once_and_made_anew(tmp_path, capsys):
    scenarios = [short(seed=seed) for seed in range(1, 5)]
    first = run_all(scenarios, lambda result: result.manifest["trace_hash"], cache=tmp_path)
    for scenario, name in zip(scenarios, ["flows.parquet", MANIFEST], strict=False):
        flip(tmp_path / scenario.key() / name)
    assert capsys.readouterr().err == ""
    again = run_all(scenarios, lambda result: result.manifest["trace_hash"], cache=tmp_path)
    assert again == first
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith(f"warning: damaged results in {tmp_path}: 2 (the first: ")
    run_all(scenarios, lambda _: None, cache=tmp_path)
    assert capsys.readouterr().err == ""


def test_what_another_command_has_just_made_is_not_damaged(tmp_path):
    path, damaged = tmp_path / "entry", []

    def read(entry):
        """Finds nothing at first; then the other command publishes its entry."""
        if not entry.exists():
            entry.mkdir()
            raise FileNotFoundError
        return "whole"

    assert kept.find(path, read, damaged) == "whole"
    assert damaged == []


class Sent(NamedTuple):
    """What a figure keeps of a run."""

    sent: int


def sent(result) -> Sent:
    return Sent(int(result.flows["sent_packets"][0]))


def figure():
    """A figure that takes a moment."""
    experiment = figures.Experiment("small", [{}], short, sent, seeds=2)
    column = figures.Column(experiment, "sent", "packets sent")
    return papers.Named(
        "small/figure", "A small figure", "", figures.Figure(figures.Plot(print), [column.at()])
    )


def test_damaged_rows_are_said_once_and_made_anew(tmp_path, capsys):
    small = [figure()]
    (first,) = reproduce.reproduce(small, cache=tmp_path)
    table = next(iter(first.rows.values())).table
    (path,) = (tmp_path / "rows").iterdir()
    for damage in (
        lambda: flip(path / "rows.parquet"),
        lambda: flip(path / MANIFEST),
        (path / "rows.parquet").unlink,
        lambda: (shutil.rmtree(path), path.write_text("no directory")),
    ):
        damage()
        (again,) = reproduce.reproduce(small, cache=tmp_path)
        assert next(iter(again.rows.values())).table.equals(table)
        (line,) = capsys.readouterr().err.splitlines()
        assert line.startswith("warning: damaged rows of figures in ")
        assert kept.read_tables(path)[0]["rows"].equals(table)
        assert list((tmp_path / "rows").iterdir()) == [path]
    reproduce.reproduce(small, cache=tmp_path)
    assert capsys.readouterr().err == ""


def test_damaged_kernel_runs_are_said_once_and_made_anew(tmp_path, capsys, monkeypatch):
    """What runs here is the simulator: that a kernel run is kept and read is what is tested."""
    pytest.importorskip("ackclock._kernel")
    ran = []

    def on_kernel(scenario, **_):
        ran.append(scenario.seed)
        result = run(scenario)
        result.manifest["certificate"] = {"lateness_p99_us": 1}
        return result

    monkeypatch.setattr(testbed, "valid_run", on_kernel)
    monkeypatch.setitem(crosscheck.SIDES, "kernel", crosscheck.Side("kernel", 3, 1))
    host = crosscheck.host("kernel")
    check = crosscheck.Check(
        setup="",
        points={"one": lambda seed: short(seed=seed)},
        reduce=lambda result: {"sent": result.flows["sent_packets"][0]},
        quantities={"sent": crosscheck.mean("sent")},
    )
    crosscheck.fill([check], host, seeds=3, cache=tmp_path)
    assert sorted(ran) == [1, 2, 3]
    assert len(crosscheck.load(check, host, cache=tmp_path).certificates) == 3
    flip(crosscheck.path_of(short(seed=2), host, tmp_path) / "samples.parquet")
    assert capsys.readouterr().err == ""
    assert len(crosscheck.load(check, host, cache=tmp_path).certificates) == 1
    assert capsys.readouterr().err.startswith("warning: damaged kernel runs in ")
    crosscheck.fill([check], host, seeds=3, cache=tmp_path)
    assert capsys.readouterr().err.startswith("warning: damaged kernel runs in ")
    assert sorted(ran) == [1, 2, 2, 3]
    assert len(crosscheck.load(check, host, cache=tmp_path).certificates) == 3
    assert capsys.readouterr().err == ""
    assert hidden(tmp_path) == []


def test_a_full_disk_ends_a_sweep_and_keeps_what_is_done(tmp_path):
    sweeps = (
        "from ackclock import *; "
        "run_all([Scenario(duration='1s', rtt='10ms', sample_interval='1ms', seed=seed, "
        "bottleneck=Bottleneck(rate='20mbit', buffer='10packets'), "
        "flows=(Flow(algorithm='reno'),)) for seed in range(100)], id, cache='full/kept', "
        "executor=Local(1))"
    )
    done = in_own_mounts(
        "mkdir full; mount -t tmpfs -o size=300k tmpfs full; "
        f'{sys.executable} -c "{sweeps}" || cp -a full copy',
        tmp_path,
    )
    last = done.stderr.splitlines()[-1]
    assert "cache directory" in last, done.stderr
    assert last.endswith("(No space left on device); what was kept before is still there")
    entries = list((tmp_path / "copy" / "kept").iterdir())
    assert len(entries) > 1
    for path in entries:
        Result.load(path)


# Where the output goes.

SCENARIO = """
duration = "1s"
rtt = "20ms"
[bottleneck]
rate = "10mbit"
buffer = "1bdp"
[[flow]]
algorithm = "cubic"
"""
#: A run that would take hours: what is wrong must be found before it.
LONG = SCENARIO.replace("1s", "500h").replace("10mbit", "10gbit")


@pytest.fixture
def scenario(tmp_path):
    path = tmp_path / "scenario.toml"
    path.write_text(SCENARIO)
    return path


def whole(directory):
    names = {path.name for path in directory.iterdir()}
    assert names == {MANIFEST, WRITTEN, *(f"{name}.parquet" for name in tables.TABLES)}
    return Result.load(directory)


def test_the_current_directory_is_filled_in_place(scenario, tmp_path):
    out = tmp_path / "out"
    out.mkdir()
    inode = out.stat().st_ino
    for target in (".", out, "../out"):
        command = [ACKCLOCK, "run", scenario, "-o", target]
        done = subprocess.run(command, cwd=out, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        assert out.stat().st_ino == inode
        whole(out)
    (out / "thesis.tex").write_text("ten years of work")
    done = subprocess.run(command, cwd=out, capture_output=True, text=True, check=False)
    assert "contains files that ackclock did not write" in done.stderr
    assert (out / "thesis.tex").exists()
    assert hidden(tmp_path) == []


def test_a_mount_point_is_filled_in_place(scenario, tmp_path):
    """Twice, as a file system of its own and as a directory mounted on itself."""
    for mount in ("mount -t tmpfs tmpfs out", "mount --bind out out"):
        done = in_own_mounts(
            f"mkdir -p out; {mount}; for again in 1 2; do {ACKCLOCK} run {scenario} -o out; done; "
            "mkdir copy; cp -a out/. copy; umount out",
            tmp_path,
        )
        assert done.returncode == 0, done.stderr
        whole(tmp_path / "copy")
        shutil.rmtree(tmp_path / "copy")
    assert hidden(tmp_path) == []


def test_a_read_only_place_is_refused_before_the_run(scenario, tmp_path):
    scenario.write_text(LONG)
    for target in ("ro/out", "ro/deep/out", "ro"):
        done = in_own_mounts(
            "mkdir -p ro; mount -t tmpfs -o ro tmpfs ro; "
            f"exec {ACKCLOCK} run {scenario} -o {target}",
            tmp_path,
        )
        assert done.returncode == 1
        (line,) = done.stderr.splitlines()
        assert line.endswith("cannot be written (Read-only file system); choose another")


def test_an_output_directory_that_another_command_fills(tmp_path, monkeypatch):
    (tmp_path / "out").mkdir()
    monkeypatch.chdir(tmp_path / "out")
    with Directory("."):
        monkeypatch.chdir(tmp_path)
        with pytest.raises(AckclockError, match="another command"), Directory("out"):
            pass


def test_a_full_disk_keeps_the_finished_sweep(scenario, tmp_path):
    """The room is for the first bytes of a file: what writes it may tell that in its own way."""
    scenario.write_text(SCENARIO.replace("1s", "5s"))
    sweep = tmp_path / "sweep.toml"
    sweep.write_text(
        'scenario = "scenario.toml"\nseeds = 20\nmetrics = ["utilisation"]\n'
        '[axes]\n"bottleneck.buffer" = ["1bdp", "2bdp"]\n'
    )
    done = in_own_mounts(
        "mkdir full; mount -t tmpfs -o size=8k tmpfs full; "
        f"{ACKCLOCK} sweep {sweep} -o full/out || ls -A full; exit 1",
        tmp_path,
    )
    kept_in = tmp_path / "out-kept"
    assert done.stderr.splitlines()[-1].endswith(
        f"/full/out: No space left on device. The results are in {kept_in}"
    )
    assert (kept_in / "sweep.parquet").read_bytes().endswith(b"PAR1")  # whole


def test_a_full_disk_keeps_the_finished_run(scenario, tmp_path):
    done = in_own_mounts(
        "mkdir full; mount -t tmpfs -o size=8k tmpfs full; "
        f"{ACKCLOCK} run {scenario} -o full/out || ls -A full; exit 1",
        tmp_path,
    )
    (line,) = done.stderr.splitlines()
    kept_in = tmp_path / "out-kept"
    assert line == (
        f"error: output directory {tmp_path}/full/out: No space left on device. "
        f"The results are in {kept_in}"
    )
    assert done.stdout == ""
    whole(kept_in)


def test_a_directory_made_meanwhile_keeps_the_finished_run(small, tmp_path):
    result = run(small)
    for name in ("out-kept", "out-kept-2"):
        with Directory(tmp_path / "out") as directory:
            (tmp_path / "out").mkdir(exist_ok=True)
            (tmp_path / "out" / "thesis.tex").write_text("ten years of work")
            with pytest.raises(AckclockError, match="did not write") as caught:
                directory.fill(result.write)
        assert str(caught.value).endswith(f"The results are in {tmp_path / name}")
        assert whole(tmp_path / name).manifest == json.loads(json.dumps(result.manifest))
        (tmp_path / "out" / "thesis.tex").unlink()
        (tmp_path / "out").rmdir()
    assert hidden(tmp_path) == []


def test_what_is_not_finished_is_hidden_and_private(small, tmp_path):
    with Directory(tmp_path / "out") as directory:
        (partial,) = tmp_path.iterdir()
        assert partial.name.startswith(PARTIAL)
        assert stat.S_IMODE(partial.stat().st_mode) == 0o700
        directory.fill(run(small).write)
    (out,) = tmp_path.iterdir()
    assert (out.name, stat.S_IMODE(out.stat().st_mode)) == ("out", 0o755)


# Killed commands.


def test_only_what_the_dead_left_is_collected(tmp_path):
    owner = (
        "import sys; from ackclock.output import Directory\n"
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
    rename, steps, finished = Path.rename, 0, False
    while not finished:
        one.save(".")
        left = steps

        def killed(path, target):
            nonlocal left
            if left == 0:
                raise KeyboardInterrupt
            left -= 1
            return rename(path, target)

        monkeypatch.setattr(Path, "rename", killed)
        try:
            other.save(".")
            finished = True
        except KeyboardInterrupt:
            with contextlib.suppress(AckclockError):
                loaded = Result.load(".")
                assert any(same_tables(loaded, each) for each in (one, other))
        monkeypatch.setattr(Path, "rename", rename)
        steps += 1
    assert steps > 8
    assert same_tables(whole(tmp_path), other)


#: Kills its child 50 times, while it compiles, runs, keeps and writes: every other time right
#: after it began, otherwise after its first output is there.
KILLER = """
import os, random, select, signal, time
from pathlib import Path
from ackclock import Bottleneck, Flow, Local, Scenario, kept, output, run_all, runs, snapshot
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
    (place / "scenario.toml").write_text(SCENARIO.replace("cubic", "./mine.c"))
    for path in scratch.iterdir():
        os.utime(path, (0, 0))  # a minute ago: younger ones may not be locked yet
    last = "from ackclock import Scenario, run_all; s = Scenario.from_toml('scenario.toml'); "
    last += "run_all([s], lambda result: result.save('out'), cache='kept')"
    subprocess.run([sys.executable, "-c", last], cwd=place, env=environment, check=True)
    whole(place / "out")
    assert hidden(tmp_path) == []
    assert list(scratch.iterdir()) == []


@pytest.mark.parametrize("row", ["of a scorecard", "of a sweep"])
def test_what_makes_a_row_is_in_the_hash_that_names_it(row):
    """Each of our modules that a run and its row call is found from the imports of a few."""
    scenario = Scenario.from_toml(ROOT / "examples" / "web_traffic.toml").replace(duration="10s")
    named = [name.replace("_N", "_1") for name in reducers.METRICS]
    reduce, roots = {
        "of a scorecard": (measure.row_of, evaluated.ROW_MADE_BY),
        "of a sweep": (reducers.Reducers.of(named), reducers.ROW_MADE_BY),
    }[row]
    called, rows = set(), []

    def note(frame, *_):
        called.add(frame.f_globals.get("__name__", ""))

    sys.setprofile(note)
    try:
        Local().run([scenario], reduce, lambda _, made: rows.append(made))
    finally:
        sys.setprofile(None)
    assert len(rows[0]) > 10
    ours = {each.removeprefix("ackclock.") for each in called if each.startswith("ackclock.")}
    known = sources.modules(*roots)
    assert {"metrics", "runs", "executors"} <= ours <= known
    assert not known & {"report", "evaluate.page", "commands", "explore.app", "site"}
    assert sources.source_hash(*roots) != sources.source_hash()


INTERRUPTED = """
import threading, time
from pathlib import Path
from ackclock import Bottleneck, Flow, Scenario, executors, output

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
    ['output.sync_all(Path("."))', "executors.in_threads(for_ever, [scenario], 1, print)"],
)
def test_an_interrupt_while_threads_start_ends_the_command(tmp_path, call):
    """The moment is the worst: a thread has started, and nobody knows of it yet."""
    (tmp_path / "file").touch()
    program = [sys.executable, "-c", INTERRUPTED.format(call=call)]
    done = subprocess.run(
        program, cwd=tmp_path, capture_output=True, text=True, check=False, timeout=120
    )
    assert (done.stdout, done.stderr, done.returncode) == ("interrupted\n", "", 0)
