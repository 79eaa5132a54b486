"""The line that a mistake in a sweep gets."""

import pytest

import ackclock
from ackclock import AckclockError
from ackclock.sweeps import axes
from ackclock.sweeps.metrics import Reducers
from ackclock.sweeps.sweep import Sweep
from two import SWEEP

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
                                 ["cubic:beta", "from: write a number"]),
    "an end without end": ("= [0.5]", "= {from = 0.5, to = 1e400, points = 3}",
                           ["line 8", "number overflowed"]),
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
            Sweep(two, of, metrics=Reducers.parse(["utilisation"]), **options)


def test_a_sweep_is_no_scenario(ackclock, two):  # noqa: ARG001
    done = ackclock("run", "sweep.toml")
    assert "ackclock sweep" in done.stderr
