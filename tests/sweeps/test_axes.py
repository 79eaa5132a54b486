"""The points of a sweep: ranges, and samples of a hypercube."""

import numpy as np

import ackclock
from ackclock.hosts.work import Work
from ackclock.sweeps import axes
from ackclock.sweeps.metrics import Reducers
from ackclock.sweeps.sweep import Sweep


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
    plan = Sweep(two, of, metrics=Reducers.parse(["utilisation"]), samples=6)
    table = plan.run(plan.check(), Work(tmp_path))
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
