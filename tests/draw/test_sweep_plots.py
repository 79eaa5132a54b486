"""The pictures of a sweep."""

import math

import pytest

from ackclock import AckclockError
from ackclock.draw import sweep_plots
from ackclock.hosts.work import Work
from ackclock.sweeps.metrics import Reducers
from ackclock.sweeps.sweep import Sweep


def no_value(result):  # noqa: ARG001
    return math.nan


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


def test_a_logarithmic_axis_has_plain_numbers(small, tmp_path):
    of = {"rtt": {"from": "5ms", "to": "50ms", "points": 3, "scale": "log"}}
    plan = Sweep(small, of, metrics=Reducers.parse(["utilisation"]))
    drawn = sweep_plots.figure(plan, plan.run(plan.check(), Work(tmp_path)))
    drawn.canvas.draw()
    (panel,) = drawn.axes
    labels = [label.get_text() for label in panel.get_xticklabels(which="both")]
    assert [text for text in labels if text] == ["5", "10", "20", "50"]


def at_codel(result):
    return 1 if "codel" in str(result.resolved["bottleneck"]) else None


def test_pictures(small, tmp_path):
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
        plan = Sweep(small, of, metrics=Reducers.parse(["utilisation", "p99_sojourn_s"]), **options)
        table = plan.run(plan.check(), Work(tmp_path))
        drawn = sweep_plots.figure(plan, table)
        axes = [each for each in drawn.axes if each.get_label() != "<colorbar>"]
        assert len(axes) == 2 * panels
        labels = {each.get_ylabel() for each in drawn.axes} - {""}
        assert "utilisation" in labels
        assert "p99 sojourn (ms)" in labels
    codel_only = {"bottleneck.queue": ["drop_tail", "codel"], "rtt": ["10ms", "20ms"]}
    for of in (codel_only, {"bottleneck.queue": ["drop_tail", "codel"], name: ["cubic", "reno"]}):
        plan = Sweep(small, of, metrics=Reducers.parse([no_value, at_codel]))
        drawn = sweep_plots.figure(plan, plan.run(plan.check(), Work(tmp_path)))
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
            sweep_plots.layout(Sweep(small, of, metrics=Reducers.parse(["utilisation"])))
