"""What docs/tutorial.md shows works, and what it says of the outcome is so."""

import numpy as np
import polars as pl
import pytest

import tutorial
from ackclock import Result, Scenario, metrics, run_all
from common import ROOT


@pytest.fixture(scope="module")
def directory(tmp_path_factory):
    return tutorial.follow("tutorial", tmp_path_factory.mktemp("ackclock"))


@pytest.fixture(scope="module")
def results(directory):
    assert tutorial.pictures("tutorial") == ["cubic", "my_cubic", "two", "four"]
    return {name: Result.load(directory / name) for name in tutorial.pictures("tutorial")}


def test_pictures_are_there(results):
    for name in results:
        assert (ROOT / "docs" / f"tutorial-{name}.svg").stat().st_size < 80_000, "run `make docs`"


def test_the_changed_line_keeps_the_window_on_its_plateau(results):
    """The longest time without a change of the window, after slow start."""

    def still_s(name):
        samples = metrics.regular_samples(results[name]).filter(pl.col("time_us") > 5e6)
        lengths = samples["cwnd_packets"].rle().struct.field("len")
        return lengths.max() / 10

    assert still_s("cubic") < 3
    assert still_s("my_cubic") > 6
    window = results["my_cubic"].samples["cwnd_packets"]
    assert window.max() > 800  # TCP-friendliness takes over


def test_alone_it_is_not_worse(results):
    cubic, mine = results["cubic"], results["my_cubic"]
    assert metrics.utilisation(mine) >= metrics.utilisation(cubic) - 0.001
    assert mine.flows["dropped_packets"].sum() < cubic.flows["dropped_packets"].sum()


def means_mbps(scenario):
    """What each flow gets over 20 seeds."""
    spread = Scenario.from_toml(scenario).assign("flow.start_spread=1s")
    runs = [spread.replace(seed=seed) for seed in range(1, 21)]
    return np.mean(run_all(runs, metrics.goodput_bps), axis=0) / 1e6


def test_chance_decides_one_run_and_the_changed_line_does_not_decide_the_mean(results, directory):
    cubic, mine = metrics.goodput_bps(results["two"])
    assert cubic > 3 * mine
    assert means_mbps(directory / "two.toml") == pytest.approx([46, 50], abs=1)


def test_beta_buys_a_share(directory):
    half, most, _, reno = means_mbps(directory / "four.toml")
    assert [half, reno, most] == pytest.approx([18, 17, 39], abs=1)
