"""What docs/tutorial.md shows works, and what it says of the outcome is so."""

import polars as pl
import pytest

import tutorial
from ackclock import Result, metrics
from common import ROOT


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    directory = tutorial.follow("tutorial", tmp_path_factory.mktemp("ackclock"))
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


def test_who_does_not_ask_gets_little(results):
    cubic, mine = metrics.goodput_bps(results["two"])
    assert mine < cubic / 2


def test_beta_buys_a_share(results):
    half, most, _, reno = metrics.goodput_bps(results["four"])
    assert half == pytest.approx(reno, rel=0.4)
    assert 1.5 < most / reno < 3
