"""Sweeps: the table, what is kept, and what runs again."""

import json
import os
import pickle
import re
import signal
import subprocess
import sys

import polars as pl
import pytest

import ackclock
from ackclock import Bottleneck, Flow, Local, Scenario, metrics, run
from ackclock.hosts.work import Work
from ackclock.store import entries
from ackclock.store.rows import KeptRows
from ackclock.sweeps.metrics import FLOW_METRICS, METRICS, Reducers
from ackclock.sweeps.sweep import Sweep
from common import ACKCLOCK, ROOT, wait_until
from two import MINE, SCENARIO, SWEEP


def test_the_table_is_what_single_runs_say(ackclock, two, tmp_path):
    done = ackclock("sweep", "sweep.toml", "-o", "out", "--plot", "--json")
    assert done.returncode == 0, done.stderr
    table = pl.read_parquet(tmp_path / "out" / "sweep.parquet")
    assert table.columns == [
        *("rtt_s", "bottleneck.buffer_bdp", "cubic:beta", "seed", "packets", "trace_hash"),
        *("utilisation", "share_1", "late"),
    ]
    assert table["rtt_s"].to_list() == [0.01] * 9 + [0.02] * 9
    assert table["bottleneck.buffer_bdp"].unique().sort().to_list() == [0.2, 0.6325, 2]
    assert table["seed"].to_list() == [1, 2, 3] * 6
    row = table.row(13, named=True)
    result = run(
        two.assign("rtt=20ms", "bottleneck.buffer=0.6325bdp", "flow.1.algorithm=cubic:beta=0.5")
        .replace(seed=2)
    )  # fmt: skip
    goodput_bps = metrics.goodput_bps(result)
    assert row["trace_hash"] == result.manifest["trace_hash"]
    assert row["utilisation"] == metrics.utilisation(result)
    assert row["share_1"] == goodput_bps[0] / goodput_bps.sum()
    assert row["late"] == metrics.utilisation(result, 1)
    cells = [json.loads(line) for line in done.stdout.splitlines()]
    assert len(cells) == 6
    used = table["utilisation"][12:15]
    assert cells[4]["utilisation"]["mean"] == pytest.approx(used.mean(), rel=1e-12)
    assert cells[4]["utilisation"]["n"] == 3
    assert (tmp_path / "out" / "sweep.png").read_bytes().startswith(b"\x89PNG")
    assert "bottleneck.buffer" in (tmp_path / "out" / "sweep.svg").read_text()
    again = ackclock("sweep", "sweep.toml")
    assert "runs to simulate" not in again.stderr
    assert "18 runs, 6 points" in again.stdout


@pytest.mark.usefixtures("two")
def test_a_screen_has_the_units_of_the_picture(ackclock, tmp_path):
    """Mb/s and ms, and no number with an exponent; JSON has the base units."""
    (tmp_path / "units.toml").write_text(
        'scenario = "two.toml"\nseeds = 2\n'
        'metrics = ["goodput_bps", "mean_sojourn_s", "retransmitted_packets"]\n'
        '[axes]\nrtt = ["10ms", "20ms"]\nbottleneck.rate = ["5mbit", "20mbit"]\n'
    )
    done = ackclock("sweep", "units.toml", "-o", "out", "--plot")
    assert done.returncode == 0, done.stderr
    header, _, *lines = done.stdout.strip().splitlines()
    headers = re.split(r"  +", header)
    assert headers == [
        *("rtt (ms)", "bottleneck.rate (Mb/s)"),
        *("goodput (Mb/s)", "mean sojourn (ms)", "retransmitted (packets)"),
    ]
    rows = [re.split(r"  +", line.strip()) for line in lines[:4]]
    assert [row[:2] for row in rows] == [["10", "5"], ["10", "20"], ["20", "5"], ["20", "20"]]
    assert not re.search(r"\de[+-]\d", done.stdout)
    said = ackclock("sweep", "units.toml", "--json").stdout.splitlines()
    picture = (tmp_path / "out" / "sweep.svg").read_text()
    for cell, row in zip(map(json.loads, said), rows, strict=True):
        assert cell["rtt_s"] * 1e3 == float(row[0])
        assert cell["goodput_bps"]["mean"] / 1e6 == pytest.approx(
            float(row[2].split()[0]), rel=1e-3
        )
        assert cell["mean_sojourn_s"]["mean"] * 1e3 == pytest.approx(
            float(row[3].split()[0]), rel=1e-3
        )
    assert all(name in picture for name in headers[2:])


def test_one_and_two_threads_make_one_table(two, tmp_path):
    of = {"rtt": ["10ms", "15ms", "20ms"], "flow.algorithm": ["cubic", "reno"]}
    names = [name for name, (_, _, needs) in METRICS.items() if "transfers" not in needs]
    tables = [
        ackclock.sweep(two, of, metrics=names, seeds=4, cache=tmp_path / str(jobs),
                       executor=Local(jobs))
        for jobs in (1, 2)
    ]  # fmt: skip
    assert len(tables[0]) == 24
    assert tables[0].equals(tables[1])
    assert tables[0].columns[2:] == [
        *("seed", "packets", "trace_hash"),
        *[c for n in names for c in ([n, "convergence_cut_off_s"] if n[:4] == "conv" else [n])],
    ]


#: A sweep that kills itself as soon as some of its rows are on the disk.
KILLED = """
import os, pathlib, signal
from ackclock import Local, Scenario
from ackclock.hosts.work import Work
from ackclock.store import rows
from ackclock.sweeps.metrics import Reducers
from ackclock.sweeps.sweep import Sweep

def kill(fraction):
    if fraction < 1 and list(pathlib.Path("kept/rows").glob("sweep-*/[0-9a-f]*")):
        os.kill(os.getpid(), signal.SIGKILL)

rows.EVERY_S = 0
rtts = {"rtt": [f"{ms}ms" for ms in range(5, 105)]}
plan = Sweep(
    Scenario.from_toml("two.toml"), rtts, metrics=Reducers.parse(["utilisation"]), seeds=10
)
plan.run(plan.check(), Work(pathlib.Path("kept"), Local(1), progress=kill))
"""


def test_a_killed_sweep_resumes(two, tmp_path):
    """Killed after some rows are on the disk: only the others run again, and the table is equal."""
    of, wanted = {"rtt": [f"{ms}ms" for ms in range(5, 105)]}, ["utilisation"]
    whole = ackclock.sweep(two, of, metrics=wanted, seeds=10, cache=None)
    child = subprocess.run([sys.executable, "-c", KILLED], check=False, cwd=tmp_path)
    assert child.returncode == -signal.SIGKILL
    plan = Sweep(two, of, metrics=Reducers.parse(wanted), seeds=10)
    heard = []
    again = plan.run(
        plan.check(), Work(tmp_path / "kept", on_runs=lambda *counts: heard.append(counts))
    )
    ((todo, kept),) = heard
    assert todo + kept == 1000
    assert kept > 0
    assert todo > 0
    assert again.equals(whole)


def test_ctrl_c_keeps_all_that_is_done(two, tmp_path):
    seen = []

    def stop(fraction):
        seen.append(fraction)
        if fraction > 0.3:
            raise KeyboardInterrupt

    plan = Sweep(two, {"rtt": ["10ms", "20ms"]}, metrics=Reducers.parse(["utilisation"]), seeds=200)
    runs = plan.check()
    with pytest.raises(KeyboardInterrupt):
        plan.run(runs, Work(tmp_path, Local(2), progress=stop))
    heard = []
    plan.run(runs, Work(tmp_path, on_runs=lambda *counts: heard.append(counts)))
    assert heard[0][1] > 0.2 * 400


def test_a_damaged_row_is_made_again(two, tmp_path, capsys):
    arguments = (two, {"rtt": ["10ms", "20ms"]})
    first = ackclock.sweep(*arguments, metrics=["utilisation"], cache=tmp_path)
    (path,) = tmp_path.glob("rows/sweep-*/*/rows.parquet")
    data = bytearray(path.read_bytes())
    data[50] ^= 1
    path.write_bytes(data)
    assert ackclock.sweep(*arguments, metrics=["utilisation"], cache=tmp_path).equals(first)
    assert "damaged rows of runs" in capsys.readouterr().err


def test_what_a_row_is_kept_for(two, tmp_path):
    """Another function, another text of its file and another scenario run again."""
    file = tmp_path / "mine.py"

    def runs(*wanted, scenario=two):
        plan = Sweep(scenario, {"rtt": ["10ms"]}, metrics=Reducers.parse(wanted, tmp_path))
        heard = []
        plan.run(plan.check(), Work(tmp_path / "kept", on_runs=lambda *n: heard.append(n[0])))
        return heard[0]

    assert runs("mine.py:late") == 1
    assert runs("mine.py:late") == 0
    assert runs("mine.py:both") == 1
    assert runs("mine.py:late", scenario=two.replace(duration="1s")) == 1
    file.write_text(MINE.replace("result, 1)", "result, 1.5)"))
    assert runs("mine.py:late") == 1


def test_functions(two, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    sys.path.insert(0, str(tmp_path))
    of = {"rtt": ["10ms"]}
    table = ackclock.sweep(two, of, seeds=2, metrics=["mine:both", metrics.utilisation])
    assert table["first"].to_list() == [1, 1]
    assert table["second"].to_list() == [1, 2]
    assert table["utilisation"].dtype == pl.Float64
    sys.path.remove(str(tmp_path))
    seen = []
    ackclock.sweep(two, of, metrics=[seen.append], cache=None)
    assert len(seen) == 1


def test_reducers_and_scenarios_travel(two, tmp_path):
    """As to another machine: the text of a function's file goes with it, not its path."""
    reducers = pickle.loads(pickle.dumps(Reducers.parse(["utilisation", "mine.py:late"], tmp_path)))  # noqa: S301
    (tmp_path / "mine.py").unlink()
    result = run(pickle.loads(pickle.dumps(two)))  # noqa: S301
    row = reducers(result)
    assert row["late"] == metrics.utilisation(result, 1)
    assert row["trace_hash"] == run(two).manifest["trace_hash"]


def test_rows_of_two_writers(tmp_path):
    one, other = KeptRows(tmp_path), KeptRows(tmp_path)
    one.add("a", {"x": 1})
    other.add("b", {"x": None})
    one.flush()
    other.flush()
    other.flush()
    assert KeptRows(tmp_path).read({"a", "b", "c"}) == {"a": {"x": 1}, "b": {"x": None}}
    assert KeptRows(tmp_path).read({"c"}) == {}


def test_an_entry_without_a_wanted_row_is_opened_once(tmp_path, monkeypatch):
    """Whoever reads it first tells its keys in the index."""
    for key in "abc":
        rows = KeptRows(tmp_path)
        rows.add(key, {"x": 1})
        rows.flush()
    opened = []
    find = entries.find
    monkeypatch.setattr(entries, "find", lambda *given: opened.append(given[0]) or find(*given))
    assert KeptRows(tmp_path).read({"a"}) == {"a": {"x": 1}}
    assert len(opened) == 3
    assert KeptRows(tmp_path).read({"b"}) == {"b": {"x": 1}}
    assert len(opened) == 4
    index = tmp_path / "index"
    index.write_text(index.read_text()[:-3])  # a full disk
    assert KeptRows(tmp_path).read({"a", "b", "c"}) == {key: {"x": 1} for key in "abc"}
    opened[3].joinpath("rows.parquet").write_bytes(b"damaged")
    assert KeptRows(tmp_path).read({"b", "c"}) == {"c": {"x": 1}}


def test_the_python_of_the_page(tmp_path):
    page = (ROOT / "docs" / "sweep.md").read_text()
    (program,) = re.findall(
        r"^```python\n(import ackclock\n.*?)^```", page, re.DOTALL | re.MULTILINE
    )
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert "utilisation" in done.stdout


def test_the_page_has_every_metric():
    page = (ROOT / "docs" / "sweep.md").read_text()
    for name, (_, meaning, _) in (METRICS | FLOW_METRICS).items():
        assert f"| `{name}` | {meaning} |" in page


@pytest.mark.parametrize("path", sorted((ROOT / "examples" / "sweeps").glob("*.toml")),
                         ids=lambda path: path.stem)  # fmt: skip
def test_examples(path):
    """Each can be run: the same check as before the first run."""
    assert len(Sweep.from_toml(path).check().keys) > 100


def test_a_sweep_of_short_flows_and_marks(tmp_path):
    scenario = Scenario(
        duration="3s",
        rtt="20ms",
        bottleneck=Bottleneck(rate="20mbit", buffer="2bdp", queue={"kind": "codel", "ecn": True}),
        flows=[Flow(algorithm="cubic", ecn=True)],
        sessions=[{"algorithm": "cubic", "size": "6packets", "gap": "50ms", "count": 5}],
    )
    table = ackclock.sweep(
        scenario,
        {"bottleneck.queue.target": ["2ms", "20ms"]},
        metrics=["median_completion_s", "p99_completion_s", "marked_packets", "dropped_packets"],
        cache=tmp_path,
    )
    low, high = table["median_completion_s"].to_list()
    assert 0.02 < low < high < 1
    assert (table["p99_completion_s"] > table["median_completion_s"]).all()
    few, many = table["marked_packets"].to_list()[::-1]
    assert 0 < few < many


def test_sigterm_ends_the_command_with_one_line(two, tmp_path):  # noqa: ARG001
    """The last runs take hours: it is not over when the first rows of the others are kept."""
    (tmp_path / "two.toml").write_text('sample_interval = "10s"\n' + SCENARIO)
    text = SWEEP.replace("[axes]", '[axes]\nduration = ["20s", "1000h"]')
    (tmp_path / "sweep.toml").write_text(text)
    child = subprocess.Popen(
        [ACKCLOCK, "sweep", "sweep.toml"], cwd=tmp_path, stderr=subprocess.PIPE, text=True,
        env=os.environ | {"COLUMNS": "120"},
    )  # fmt: skip
    wait_until(lambda: any(tmp_path.glob(".ackclock/rows/*/[0-9a-f]*")), child)
    child.terminate()
    _, said = child.communicate(timeout=300)
    assert child.returncode == 130, said
    assert "the same command resumes" in said
    assert not (tmp_path / "out").exists()


@pytest.mark.slow
@pytest.mark.usefixtures("machine")
def test_on_linux_in_virtual_time(tmp_path, ackclock):
    """Algorithms that the simulator has not run there; runs of both hosts are kept apart."""
    (tmp_path / "s.toml").write_text(
        'duration = "2s"\nrtt = "20ms"\n[bottleneck]\nrate = "10mbit"\nbuffer = "1bdp"\n'
        '[[flow]]\nalgorithm = "kernel:cubic"\n'
    )
    file = tmp_path / "linux.toml"
    file.write_text(
        'scenario = "s.toml"\nmetrics = ["utilisation"]\n[axes]\n'
        'flow.1.algorithm = ["kernel:cubic", "cubic"]\n'
    )
    refused = ackclock("sweep", file)
    assert refused.returncode == 1
    assert "take it with --on kernel or --on vlinux" in refused.stderr
    done = ackclock("sweep", file, "--on", "vlinux", "-o", tmp_path / "out")
    assert done.returncode == 0, done.stderr
    theirs, ours = pl.read_parquet(tmp_path / "out/sweep.parquet")["utilisation"]
    assert 0.5 < theirs == ours, "Linux's own, and our code as its module"
    both = ackclock("sweep", file, "--on", "vlinux", "--on-ray", "auto")
    assert both.stderr.startswith("error: --on-ray: not with --on vlinux")
