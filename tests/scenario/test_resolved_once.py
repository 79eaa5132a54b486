"""A scenario is resolved once on its way to the engine, whoever runs it."""

from collections import Counter

import pytest

from ackclock import _core, evaluate, run, run_all, sweep


@pytest.fixture
def calls(monkeypatch):
    """Counts what is asked of Rust's snapshots. What needs a true one fails: it resolves, too."""
    counts = Counter()
    true = _core.Snapshot

    class Counting:
        def __init__(self, contents=None):
            self.snapshot = true(contents)

        def __getattr__(self, name):
            def counted(*given):
                counts[name] += 1
                return getattr(self.snapshot, name)(*given)

            return counted

    monkeypatch.setattr(_core, "Snapshot", Counting)
    return counts


@pytest.fixture
def ran(monkeypatch):
    """Counts what the engine runs."""
    counts = Counter()
    true = _core.run_many

    def run_many(prepared, *rest, **more):
        counts["runs"] += len(prepared)
        return true(prepared, *rest, **more)

    monkeypatch.setattr(_core, "run_many", run_many)
    return counts


def test_a_run_and_many(calls, small, tmp_path):
    run(small)
    assert calls == {"prepare": 1}
    calls.clear()
    scenarios = [small.replace(seed=seed) for seed in range(5)]
    run_all(scenarios, lambda result: result.manifest["packets"], cache=tmp_path)
    assert calls == {"prepare": 5}


def test_a_sweep_of_100_points(calls, ran, small, tmp_path):
    axes = {
        "rtt": {"from": "10ms", "to": "100ms", "points": 50},
        "bottleneck.rate": ["1mbit", "2mbit"],
    }
    found = sweep(small, axes, metrics=["goodput_bps"], cache=tmp_path)
    assert (len(found), ran["runs"]) == (100, 100)
    assert calls == {"prepare": 100}


def test_the_rows_of_a_card(calls, ran, tmp_path):
    """Beside them the first run of each algorithm, which shows that it loads."""
    evaluate("reno", against=["cubic"], rows="links", quick=True, cache=tmp_path)
    assert ran["runs"] > 5
    assert calls["prepare"] <= ran["runs"] + 2
    assert not calls["configure"] + calls["read"]
