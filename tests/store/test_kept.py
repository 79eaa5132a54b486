"""What is kept is what ran: attacks on the cache, and on a C file while it runs."""

import random
import shutil
import subprocess
import sys

import pytest

from ackclock import AckclockError, Local, Result, Scenario, figures, reproduce, run, run_all
from ackclock.base.directory import WRITTEN
from ackclock.base.kernel_part import NOT_BUILT, is_built
from ackclock.figures import Check, Experiment, crosscheck
from ackclock.figures.named import Named
from ackclock.hosts import linux, testbed
from ackclock.hosts.work import Work
from ackclock.questions import measure
from ackclock.questions.rows import ROW_MADE_BY
from ackclock.results.result import MANIFEST
from ackclock.scenario import snapshot
from ackclock.store import entries as kept
from ackclock.store import made_by
from ackclock.sweeps import metrics
from common import ROOT, hidden, in_own_mounts, same_tables, sent, short

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


def fingerprint(result):
    (code,) = result.manifest["algorithms"].values()
    return code["fingerprint"]


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

    monkeypatch.setattr("ackclock.base.directory._exchange_at_once", missing)
    test_an_equal_result_of_another_stays(small, tmp_path)


# Damage.


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


def figure():
    """A figure that takes a moment."""
    experiment = figures.Experiment("small", [{}], short, sent, seeds=2)
    column = figures.Column(experiment, "sent", "packets sent")
    return Named(
        "small/figure", "A small figure", "", figures.Figure(figures.Plot(print), [column.at()])
    )


def test_damaged_rows_are_said_once_and_made_anew(tmp_path, capsys):
    small = [figure()]
    (first,) = reproduce.reproduce(small, work=Work(tmp_path))
    table = next(iter(first.rows.values())).table
    (path,) = (tmp_path / "rows").iterdir()
    for damage in (
        lambda: flip(path / "rows.parquet"),
        lambda: flip(path / MANIFEST),
        (path / "rows.parquet").unlink,
        lambda: (shutil.rmtree(path), path.write_text("no directory")),
    ):
        damage()
        (again,) = reproduce.reproduce(small, work=Work(tmp_path))
        assert next(iter(again.rows.values())).table.equals(table)
        (line,) = capsys.readouterr().err.splitlines()
        assert line.startswith("warning: damaged rows of figures in ")
        assert kept.read_tables(path)[0]["rows"].equals(table)
        assert list((tmp_path / "rows").iterdir()) == [path]
    reproduce.reproduce(small, work=Work(tmp_path))
    assert capsys.readouterr().err == ""


def test_damaged_kernel_runs_are_said_once_and_made_anew(tmp_path, capsys, monkeypatch):
    """What runs here is the simulator: that a kernel run is kept and read is what is tested."""
    if not is_built():
        pytest.skip(NOT_BUILT)
    ran = []

    def on_kernel(scenario, **_):
        ran.append(scenario.seed)
        result = run(scenario)
        result.manifest["certificate"] = {"lateness_p99_us": 1, "valid": True}
        return result

    monkeypatch.setattr(testbed.kernel, "run", on_kernel)
    monkeypatch.setattr(testbed.Testbed, "simulated", 1)
    host = linux.host("kernel")
    check = Check("", Experiment("one", [{}], short, sent), {"sent": "sent"})
    crosscheck.fill([check], host, seeds=3, work=Work(tmp_path))
    assert sorted(ran) == [1, 2, 3]
    assert len(crosscheck.load(check, host, Work(tmp_path)).certificates) == 3
    flip(tmp_path / host.name / short(seed=2).key(host.version) / "samples.parquet")
    assert capsys.readouterr().err == ""
    assert len(crosscheck.load(check, host, Work(tmp_path)).certificates) == 1
    assert capsys.readouterr().err.startswith("warning: damaged kernel runs in ")
    crosscheck.fill([check], host, seeds=3, work=Work(tmp_path))
    assert capsys.readouterr().err.startswith(f"warning: damaged results in {tmp_path}/kernel")
    assert sorted(ran) == [1, 2, 2, 3]
    assert len(crosscheck.load(check, host, Work(tmp_path)).certificates) == 3
    assert capsys.readouterr().err == ""
    assert hidden(tmp_path) == []


def test_a_full_disk_ends_a_sweep_and_keeps_what_is_done(tmp_path):
    sweeps = (
        "from ackclock import Bottleneck, Flow, Local, Scenario, run_all; "
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


@pytest.mark.parametrize("row", ["of a scorecard", "of a sweep"])
def test_what_makes_a_row_is_in_the_hash_that_names_it(row):
    """Each of our modules that a run and its row call, and no page."""
    scenario = Scenario.from_toml(ROOT / "examples" / "web_traffic.toml").replace(duration="10s")
    named = [name.replace("_N", "_1") for name in metrics.METRICS]
    reduce, roots = {
        "of a scorecard": (measure.row_of, ROW_MADE_BY),
        "of a sweep": (metrics.Reducers.parse(named), metrics.ROW_MADE_BY),
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
    known = {".".join(path.with_suffix("").parts[-2:]) for path in made_by.files(*roots)}
    assert {"results.result", "hosts.threads"} <= ours <= known
    assert not known & {"draw.html", "scorecard.page", "cli.run", "explore.app", "pages.site"}
    assert made_by.source_hash(*roots) != made_by.source_hash()
