"""Sweeps: the points, the table, what is kept, and the line that a mistake gets."""

import json
import math
import os
import pickle
import re
import signal
import subprocess
import sys

import numpy as np
import polars as pl
import pytest

import ackclock
from ackclock import AckclockError, Bottleneck, Flow, Local, Scenario, metrics, run
from ackclock.draw import sweep_plots
from ackclock.store.rows import KeptRows
from ackclock.sweeps import axes
from ackclock.sweeps.metrics import FLOW_METRICS, METRICS, Reducers
from ackclock.sweeps.sweep import Sweep
from common import ACKCLOCK, ROOT, wait_until

SCENARIO = """
duration = "2s"
rtt = "20ms"
[bottleneck]
rate = "20mbit"
buffer = "1bdp"
[[flow]]
algorithm = "cubic"
[[flow]]
algorithm = "reno"
start = "100ms"
start_spread = "500ms"
"""
SWEEP = """
scenario = "two.toml"
seeds = 3
metrics = ["utilisation", "share_1", "mine.py:late"]
[axes]
rtt = ["10ms", "20ms"]
bottleneck.buffer = { from = "0.2bdp", to = "2bdp", points = 3, scale = "log" }
"cubic:beta" = [0.5]
"""
#: A reducer of the user's own.
MINE = """
from ackclock import metrics

def late(result):
    return metrics.utilisation(result, 1)

def both(result):
    return {"first": 1, "second": result.scenario.seed}

def wrong(result):
    return 1 / 0

def listed(result):
    return [1]

def of_axis(result):
    return {"rtt_s": 1}

def unnamed(result):
    return {1: 1}

def mixed(result):
    return {"kind": "late" if result.scenario.seed == 2 else 1}
"""


@pytest.fixture
def two(tmp_path):
    """The scenario and a sweep of it, in files."""
    (tmp_path / "two.toml").write_text(SCENARIO)
    (tmp_path / "sweep.toml").write_text(SWEEP)
    (tmp_path / "mine.py").write_text(MINE)
    return Scenario.from_toml(tmp_path / "two.toml")


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
from ackclock.store import rows
from ackclock.sweeps.metrics import Reducers
from ackclock.sweeps.sweep import Sweep

def kill(fraction):
    if fraction < 1 and list(pathlib.Path("kept/rows").glob("sweep-*/[0-9a-f]*")):
        os.kill(os.getpid(), signal.SIGKILL)

rows.EVERY_S = 0
rtts = {"rtt": [f"{ms}ms" for ms in range(5, 105)]}
plan = Sweep(
    Scenario.from_toml("two.toml"), rtts, metrics=Reducers.of(["utilisation"]), seeds=10
)
plan.run(plan.check(), cache=pathlib.Path("kept"), executor=Local(1), progress=kill)
"""


def test_a_killed_sweep_resumes(two, tmp_path):
    """Killed after some rows are on the disk: only the others run again, and the table is equal."""
    of, wanted = {"rtt": [f"{ms}ms" for ms in range(5, 105)]}, ["utilisation"]
    whole = ackclock.sweep(two, of, metrics=wanted, seeds=10, cache=None)
    child = subprocess.run([sys.executable, "-c", KILLED], check=False, cwd=tmp_path)
    assert child.returncode == -signal.SIGKILL
    plan = Sweep(two, of, metrics=Reducers.of(wanted), seeds=10)
    heard = []
    again = plan.run(
        plan.check(), cache=tmp_path / "kept", on_runs=lambda *counts: heard.append(counts)
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

    plan = Sweep(two, {"rtt": ["10ms", "20ms"]}, metrics=Reducers.of(["utilisation"]), seeds=200)
    runs = plan.check()
    with pytest.raises(KeyboardInterrupt):
        plan.run(runs, cache=tmp_path, progress=stop, executor=Local(2))
    heard = []
    plan.run(runs, cache=tmp_path, on_runs=lambda *counts: heard.append(counts))
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
        plan = Sweep(scenario, {"rtt": ["10ms"]}, metrics=Reducers.of(wanted, tmp_path))
        heard = []
        plan.run(plan.check(), cache=tmp_path / "kept", on_runs=lambda *n: heard.append(n[0]))
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


def hypercube(samples=50, seed=1):
    of = {
        "rtt": {"from": "1ms", "to": "1s", "scale": "log"},
        "bottleneck.buffer": {"from": "0.5bdp", "to": "1.5bdp"},
        "flow.1.algorithm": ["cubic", "reno"],
    }
    return axes.hypercube(axes.read(of, sampled=True), samples, seed)


def test_a_hypercube_covers_each_axis():
    """Each of 50 equal parts of each range, in the logarithm where it says so, has one sample."""
    rtts, buffers, algorithms = zip(*hypercube(), strict=True)
    rtts_ms = np.array([float(ackclock.units.duration_ns(rtt)) / 1e6 for rtt in rtts])
    assert sorted(np.floor(np.log10(rtts_ms) / 3 * 50)) == list(range(50))
    bdp = np.array([float(each.removesuffix("bdp")) for each in buffers])
    assert sorted(np.floor((bdp - 0.5) * 50 + 1e-9)) == list(range(50))
    assert sorted(algorithms) == ["cubic"] * 25 + ["reno"] * 25
    ranks = np.corrcoef(np.argsort(np.argsort(rtts_ms)), np.argsort(np.argsort(bdp)))[0, 1]
    assert abs(ranks) < 0.4


def test_a_hypercube_is_repeatable():
    assert hypercube() == hypercube()
    assert hypercube() != hypercube(seed=2)
    assert hypercube(3)[0] == ("1.79916ms", "1.17612bdp", "reno")  # in any Python


def test_a_hypercube_runs(two, tmp_path):
    of = {"rtt": {"from": "5ms", "to": "50ms"}, "cubic:beta": {"from": 0.3, "to": 0.9}}
    table = ackclock.sweep(two, of, metrics=["utilisation"], samples=8, cache=tmp_path)
    assert len(table) == table["trace_hash"].n_unique() == 8
    assert table["cubic:beta"].to_list() == [round(x, 3) for x in table["cubic:beta"]]


def test_equal_points_of_a_hypercube_are_no_repeats(two, tmp_path):
    of = {"rtt": ["10ms", "20ms"]}
    plan = Sweep(two, of, metrics=Reducers.of(["utilisation"]), samples=6)
    table = plan.run(plan.check(), cache=tmp_path)
    assert len(table) == 6
    assert [cell["utilisation"].n for cell in plan.cells(table)] == [1, 1]


def test_values_of_a_range():
    def values(**fields):
        (axis,) = axes.read({"rtt": fields}, sampled=False)
        return axis.values

    assert values(**{"from": "5ms", "to": "20ms", "points": 4}) == ("5ms", "10ms", "15ms", "20ms")
    decades = values(**{"from": "1ms", "to": "1s", "points": 4, "scale": "log"})
    assert decades == ("1ms", "10ms", "100ms", "1s")
    assert values(**{"from": 1, "to": 10, "points": 3}) == (1, 6, 10)
    (axis,) = axes.read({"session.pareto": {"from": 1.1, "to": 2, "points": 4}}, sampled=False)
    assert axis.values == (1.1, 1.4, 1.7, 2)
    assert values(**{"from": "-5ms", "to": "5ms", "points": 3}) == ("-5ms", "0ms", "5ms")


#: The axes of `SWEEP`.
AXES = SWEEP[SWEEP.index("[axes]") :]
#: What is wrong with a sweep → what of it is replaced, and what the line says.
MISTAKES = {
    "an axis misspelt": ('rtt = ["10', 'rttt = ["10', ["at rttt", '"rtt"?']),
    "a value of a later point": ('"20ms"]', '"20mss"]', ['at rtt = "20mss"', "20ms"]),
    "a number without a unit": ('"10ms", "20ms"', "10, 20", ["at rtt = 10", '"10ms"']),
    "no list": ('["10ms", "20ms"]', '"10ms"', ["axes.rtt", "write a list"]),
    "twice the same": ('"20ms"]', '"0.01s"]', ["axes.rtt", "are the same"]),
    "an empty table": (AXES, "[axes.flow]", ["axes is missing"]),
    "an end that is no number": ("= [0.5]", "= {from = nan, to = 1.0, points = 3}",
                                 ["cubic:beta", "from = NaN: write a number between"]),
    "an end without end": ("= [0.5]", "= {from = 0.5, to = 1e400, points = 3}",
                           ["cubic:beta", "to = Infinity: write a number between"]),
    "a huge end": ('to = "2bdp"', 'to = "9e400bdp"',
                   ['to = "9e400bdp": write a number between', "1e+15 bdp"]),
    "a tiny end": ('from = "0.2bdp"', 'from = "1e-400bdp"', ["1e-15 at least"]),
    "an end without a unit": ('to = "2bdp"', 'to = "2"', ["to: add a unit"]),
    "too many points of a range": ('"2bdp", points = 3', '"0.2002bdp", points = 9',
                                   ["points = 9 are too many", "4 digits", "fewer points"]),
    "a range without points": ("points = 3,", "", ["axes.bottleneck.buffer", "points = 2"]),
    "a range the wrong way": ('to = "2bdp"', 'to = "0.1bdp"', ["to must be more than from"]),
    "a range of two units": ('to = "2bdp"', 'to = "2MB"', ["units of one kind"]),
    "a log range from 0": ('from = "0.2bdp"', 'from = "0bdp"', ["more than 0"]),
    "a key of a range": ("scale", "scala", ["unknown key scala", "from, to, points, scale"]),
    "a scale": ('"log"', '"lgo"', ['"linear" or "log"']),
    "an algorithm that no flow has": ('"cubic:beta"', '"bic:beta"', ["no flow", "cubic, reno"]),
    "a parameter": ('"cubic:beta"', '"cubic:bta"', ["bta", "beta"]),
    "a value of a parameter": ("= [0.5]", "= [5]", ["cubic:beta = 5", "beta"]),
    "an algorithm": ('"cubic:beta" = [0.5]', 'flow.1.algorithm = ["cubik"]', ["cubik", "cubic"]),
    "a seed as axis": ('"cubic:beta" = [0.5]', "seed = [1, 2]", ["seeds = 10"]),
    "a metric": ('"share_1"', '"utilization"', ['did you mean "utilisation"?']),
    "a metric's N": ('"share_1"', '"goodput_N_bps"', ['did you mean "goodput_1_bps"? Or write']),
    "a flow's metric": ('"share_1"', '"goodput_2_mbps"', ['did you mean "goodput_2_bps"?']),
    "a flow of a metric": ('"share_1"', '"share_3"', ["there is no flow 3", "1 to 2"]),
    "a metric of sessions": ('"share_1"', '"p99_completion_s"', ["no [[session]]"]),
    "a function": ("mine.py:late", "mine.py:lat", ["mine.py:lat", "has no such function"]),
    "a file of functions": ("mine.py:late", "yours.py:f", ["yours.py", "No such file"]),
    "a module": ("mine.py:late", "yours:f", ["yours", "FILE.py:FUNCTION"]),
    "a function that fails": ("mine.py:late", "mine.py:wrong", ["line 11", "ZeroDivisionError"]),
    "a list from a function": ("mine.py:late", "mine.py:listed", ["listed", "return a number"]),
    "a column of an axis": ("mine.py:late", "mine.py:of_axis", ["rtt_s is an axis, too"]),
    "a column without a name": ("mine.py:late", "mine.py:unnamed", ["column 1", "text"]),
    "a column of two kinds": ("mine.py:late", "mine.py:mixed",
                              ["metrics: mixed: column kind is a number", "text", "return"]),
    "seeds": ("seeds = 3", "seeds = 0", ["seeds = 0", "1 to 1000"]),
    "seeds twice": ("seeds = 3", "seeds = [1, 1]", ["different seeds"]),
    "a key": ("seeds = 3", "sedes = 3", ['did you mean "seeds"?']),
    "no scenario": ('scenario = "two.toml"', "", ["scenario: write the name of its file"]),
    "no file": ("two.toml", "tow.toml", ["tow.toml", "no such file"]),
    "no axes": ("[axes]", "[axis]", ["axis", '"axes"?']),
    "samples of a grid": ("seeds = 3", "samples = 3", ["remove points"]),
}  # fmt: skip


#: What only a result can show.
FOUND_LATE = (
    "a function that fails",
    "a list from a function",
    "a column of an axis",
    "a column without a name",
    "a column of two kinds",
)


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_is_one_line(two, tmp_path, ackclock, mistake):  # noqa: ARG001
    old, new, says = MISTAKES[mistake]
    assert old in SWEEP
    (tmp_path / "sweep.toml").write_text(SWEEP.replace(old, new))
    done = ackclock("sweep", "sweep.toml", "-o", "out")
    assert done.returncode == 1
    assert done.stdout == ""
    *before, line = done.stderr.splitlines()
    assert line.startswith("error: ")
    if mistake not in FOUND_LATE:
        assert line.startswith("error: sweep.toml: ")
        assert before == []  # no run was begun
    for word in says:
        assert word in line
    assert not (tmp_path / "out").exists()


def test_mistakes_in_python(two):
    axis = {"rtt": ["10ms"]}
    for call, says in (
        (lambda: ackclock.sweep("two.toml", axis, metrics=["utilisation"]), "pass a Scenario"),
        (lambda: ackclock.sweep(two, axis, metrics="utilisation"), "write a list"),
        (lambda: ackclock.sweep(two, axis, metrics=[3]), "is no function"),
        (lambda: ackclock.sweep(two, {}, metrics=["utilisation"]), "axes is missing"),
        (lambda: ackclock.sweep(two, axis, metrics=[lambda _: axis]), "cache=None"),
        (lambda: ackclock.sweep(two, {"rtt": ["20ms"] * 2}, metrics=["utilisation"]), "the same"),
        (lambda: ackclock.sweep(two, axis, metrics=["utilisation"], most=5,
                                decide={"metric": "utilisation", "above": 0}), "^most = 5"),
        (lambda: ackclock.sweep(two, {"rtt": [f"{n}ns" for n in range(20_000)]},
                                metrics=["utilisation"]), "at most 10000"),
    ):  # fmt: skip
        with pytest.raises(AckclockError, match=says):
            call()


def test_too_many_runs_are_refused_before_they_are_made(two, monkeypatch):
    monkeypatch.setattr(axes, "grid", None)
    decide = {"metric": "utilisation", "above": 0.9}
    for options, says in (
        ({"seeds": 1000}, "1000000 points x 1000 seeds = 1000000000 runs .* write fewer seeds"),
        ({"decide": decide, "most": 20}, "x 20 seeds = 20000000 runs .* write a smaller --most"),
        ({"samples": 10**6, "seeds": 11}, "x 11 seeds = 11000000 runs"),
    ):
        of = {"mss": list(range(500, 1500)), "rtt": [f"{ms}ms" for ms in range(1000)]}
        with pytest.raises(AckclockError, match=says):
            Sweep(two, of, metrics=Reducers.of(["utilisation"]), **options)


def test_a_sweep_is_no_scenario(ackclock, two):  # noqa: ARG001
    done = ackclock("run", "sweep.toml")
    assert "ackclock sweep" in done.stderr


def test_reducers_and_scenarios_travel(two, tmp_path):
    """As to another machine: the text of a function's file goes with it, not its path."""
    reducers = pickle.loads(pickle.dumps(Reducers.of(["utilisation", "mine.py:late"], tmp_path)))  # noqa: S301
    (tmp_path / "mine.py").unlink()
    result = run(pickle.loads(pickle.dumps(two)))  # noqa: S301
    row = reducers(result)
    assert row["late"] == metrics.utilisation(result, 1)
    assert row["trace_hash"] == run(two).manifest["trace_hash"]


def no_value(result):  # noqa: ARG001
    return math.nan


def first_seed(result):
    return result.scenario.seed == 1


def test_truths_are_shares(two, tmp_path):
    decide = {"metric": "first_seed", "above": 0.1}
    plan = Sweep(two, {"rtt": ["10ms"]}, metrics=Reducers.of([first_seed]), seeds=5, decide=decide)
    table = plan.run(plan.check(), cache=tmp_path)
    assert table["first_seed"].to_list() == [1, 0, 0, 0, 0]
    (cell,) = plan.cells(table)
    assert cell["first_seed"].mean == 0.2
    assert cell["verdict"] == "open"


@pytest.mark.parametrize(
    ("ends", "ticks"),
    [
        ((20, 80), [20, 40, 60, 80]),
        ((5, 50), [5, 10, 20, 50]),
        ((5, 500), [10, 30, 100, 300]),
        ((0.001, 10), [0.001, 0.01, 0.1, 1, 10]),
        ((1e-6, 1e6), [1e-6, 1e-3, 1, 1e3, 1e6]),
    ],
)
def test_ticks_of_a_logarithmic_axis(ends, ticks):
    assert sweep_plots._log_ticks(*ends) == pytest.approx(ticks)


def test_a_logarithmic_axis_has_plain_numbers(two, tmp_path):
    of = {"rtt": {"from": "5ms", "to": "50ms", "points": 3, "scale": "log"}}
    plan = Sweep(two, of, metrics=Reducers.of(["utilisation"]))
    drawn = sweep_plots.figure(plan, plan.run(plan.check(), cache=tmp_path))
    drawn.canvas.draw()
    (panel,) = drawn.axes
    labels = [label.get_text() for label in panel.get_xticklabels(which="both")]
    assert [text for text in labels if text] == ["5", "10", "20", "50"]


def at_codel(result):
    return 1 if "codel" in str(result.resolved["bottleneck"]) else None


def test_pictures(two, tmp_path):
    """Of each kind: heat maps with panels, lines, bars, dots of a hypercube."""
    four = ["10ms", "15ms", "20ms", "25ms"]
    buffers = ["0.5bdp", "1bdp", "2bdp", "3bdp"]
    name = "flow.1.algorithm"
    for of, options, panels in (
        ({"rtt": four, "bottleneck.buffer": buffers, name: ["cubic", "reno"]}, {}, 2),
        ({"rtt": four, name: ["cubic", "reno"]}, {"seeds": 2}, 1),
        ({name: ["cubic", "reno"], "flow.2.algorithm": ["bic", "reno"]}, {}, 1),
        ({"rtt": {"from": "5ms", "to": "90ms"}, "mss": {"from": 500, "to": 1448},
          name: ["cubic", "reno"]}, {"samples": 6}, 3),
    ):  # fmt: skip
        plan = Sweep(two, of, metrics=Reducers.of(["utilisation", "p99_sojourn_s"]), **options)
        table = plan.run(plan.check(), cache=tmp_path)
        drawn = sweep_plots.figure(plan, table)
        axes = [each for each in drawn.axes if each.get_label() != "<colorbar>"]
        assert len(axes) == 2 * panels
        labels = {each.get_ylabel() for each in drawn.axes} - {""}
        assert "utilisation" in labels
        assert "p99 sojourn (ms)" in labels
    codel_only = {"bottleneck.queue": ["drop_tail", "codel"], "rtt": ["10ms", "20ms"]}
    for of in (codel_only, {"bottleneck.queue": ["drop_tail", "codel"], name: ["cubic", "reno"]}):
        plan = Sweep(two, of, metrics=Reducers.of([no_value, at_codel]))
        drawn = sweep_plots.figure(plan, plan.run(plan.check(), cache=tmp_path))
        (axes,) = drawn.axes  # none for a metric without a value
        assert axes.get_ylabel() == "at codel"
        for line in axes.get_lines():
            assert len(line.get_xdata())
        if of is not codel_only:
            labels = [label.get_text() for label in axes.get_xticklabels()]
            assert labels == ["drop_tail", "codel"]
            assert all(0.5 < x < 1.5 for line in axes.get_lines() for x in line.get_xdata())
    starts = [f"{ms}ms" for ms in range(7)]
    for of, says in (
        ({"rtt": four, "bottleneck.buffer": buffers, "flow.1.start": starts}, "7 panels are more"),
        ({"rtt": ["10ms"]}, "each axis has one value"),
    ):
        with pytest.raises(AckclockError, match=says):
            sweep_plots.layout(Sweep(two, of, metrics=Reducers.of(["utilisation"])))


def test_rows_of_two_writers(tmp_path):
    one, other = KeptRows(tmp_path), KeptRows(tmp_path)
    one.add("a", {"x": 1})
    other.add("b", {"x": None})
    one.flush()
    other.flush()
    other.flush()
    assert KeptRows(tmp_path).read({"a", "b", "c"}) == {"a": {"x": 1}, "b": {"x": None}}
    assert KeptRows(tmp_path).read({"c"}) == {}


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


DECIDE = """
scenario = "two.toml"
metrics = ["utilisation", "mine.py:coin"]
decide = { metric = "coin", above = 0.5 }
[axes]
rtt = ["10ms", "20ms", "30ms"]
"""
#: A metric with a known mean: 0.8, 0.5 and 0.2 for the three RTTs.
COIN = """
import random

def coin(result):
    rtt_ms = int(result.scenario.rtt[:2])
    mean = {10: 0.8, 20: 0.5, 30: 0.2}[rtt_ms]
    return random.Random(f"{rtt_ms} {result.scenario.seed}").gauss(mean, 0.2)
"""


def test_seeds_are_added_until_it_is_decided(ackclock, two, tmp_path):  # noqa: ARG001
    (tmp_path / "sweep.toml").write_text(DECIDE)
    (tmp_path / "mine.py").write_text(COIN)
    done = ackclock("sweep", "sweep.toml", "--until-decided", "--most", 60, "--json", "-o", "out")
    assert done.returncode == 0, done.stderr
    cells = [json.loads(line) for line in done.stdout.splitlines()]
    assert [cell["verdict"] for cell in cells] == ["holds", "open", "fails"]
    seeds = [cell["seeds"] for cell in cells]
    assert [cell["coin"]["n"] for cell in cells] == seeds
    assert seeds[1] == 60
    assert max(seeds[0], seeds[2]) < 40
    table = pl.read_parquet(tmp_path / "out" / "sweep.parquet")
    assert table["rtt_s"].to_list() == [0.01] * seeds[0] + [0.02] * 60 + [0.03] * seeds[2]
    assert table["seed"].to_list() == [seed for n in seeds for seed in range(1, n + 1)]
    again = ackclock("sweep", "sweep.toml", "--until-decided", "--most", 60)
    assert "runs to simulate" not in again.stderr
    assert "coin > 0.5: 1 hold, 1 fail, 1 open" in again.stdout
    assert re.search(r"0.02 .* 60 +open", again.stdout)
    whole = ackclock("sweep", "sweep.toml")
    assert "coin > 0.5: 0 hold, 0 fail, 3 open" in whole.stdout  # of one seed


def test_the_seeds_that_the_page_says(tmp_path):
    """Two of its seven points, which take 50 of the 331 runs."""
    page = (ROOT / "docs" / "sweep.md").read_text()
    (text,) = re.findall(r"^```toml\n(scenario[^`]*^decide[^`]*)```", page, re.MULTILINE)
    rows = re.findall(r"^\| (0\.\d) \| (\d+) \| (\w+) \|$", page, re.MULTILINE)
    assert sum(int(seeds) for _, seeds, _ in rows) == 331
    (tmp_path / "two_cubic.toml").write_bytes((ROOT / "examples" / "two_cubic.toml").read_bytes())
    (tmp_path / "sweeps").mkdir()
    path = tmp_path / "sweeps" / "decided.toml"
    path.write_text(re.sub(r'(?m)^"cubic:beta" = .*', '"cubic:beta" = [0.3, 0.9]', text))
    plan = Sweep.from_toml(path, most=100)
    cells = plan.cells(plan.run(plan.check(), cache=None))
    found = [
        (str(each["cubic:beta"]), str(each["jain_index"].n), each["verdict"]) for each in cells
    ]
    assert found == [row for row in rows if row[0] in ("0.3", "0.9")]


def test_mistakes_of_a_decision(ackclock, two, tmp_path):  # noqa: ARG001
    (tmp_path / "mine.py").write_text(COIN)
    for old, new, options, says in (
        ("decide", "#", ["--until-decided"], "decide is missing"),
        (", above = 0.5", "", [], "above or below or both"),
        ("above = 0.5", 'above = "0.5"', [], "above and below are numbers"),
        ("above = 0.5", "above = 2, below = 1", [], "above must be less than below"),
        ('"coin", above', '"coins", above', [], "choose from utilisation, coin"),
        ("decide", "seeds = [3, 4]\ndecide", ["--until-decided"], "write how many to begin with"),
        ("decide", "decide", ["--most", 20], "--most 20: add --until-decided"),
        ("decide", "seeds = 60\ndecide", ["--until-decided", "--most", 30], "more than most = 30"),
        ("decide", "seeds = 200\ndecide", ["--until-decided"], "or --most 200"),
        ("decide", "seeds = 0\ndecide", ["--until-decided"], "seeds = 0: write a whole number"),
    ):
        (tmp_path / "sweep.toml").write_text(DECIDE.replace(old, new))
        done = ackclock("sweep", "sweep.toml", *options)
        assert done.returncode == 1
        assert says in done.stderr.splitlines()[-1]


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
    """Half of the runs take hours: it is not over when the first rows of the others are kept.

    The runs of a sweep begin with the last one.
    """
    (tmp_path / "two.toml").write_text('sample_interval = "10s"\n' + SCENARIO)
    text = SWEEP.replace("[axes]", '[axes]\nduration = ["1000h", "20s"]')
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
