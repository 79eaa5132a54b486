"""What a window shows of a curve: every peak, straight lines, and the rates between."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ackclock import Bottleneck, Flow, Scenario, run
from ackclock.draw.curves import BLOCK, Column, Curve, Window
from ackclock.explore.marks import Cubic, Marks


def curve(times_us, values, parts=1):
    made = Curve.empty(value="i4")
    for at, some in zip(
        np.array_split(times_us, parts), np.array_split(values, parts), strict=True
    ):
        made.append(at, {"value": some})
    return made


@given(
    gaps=st.lists(st.integers(1, 50), min_size=1, max_size=400),
    parts=st.integers(1, 7),
    start=st.integers(0, 5000),
    span=st.integers(10, 9000),
    columns=st.integers(1, 60),
    seed=st.integers(0, 99),
)
@settings(max_examples=200)
def test_each_column_shows_its_lowest_and_highest_sample(gaps, parts, start, span, columns, seed):
    times = np.cumsum(gaps)
    values = np.random.default_rng(seed).integers(0, 1000, len(times))
    window = Window(float(start), float(start + span), columns)
    shown = curve(times, values, parts).shown("value", window).reshape(columns, 2)
    edges = window.start_us + np.arange(columns + 1) * window.column_us
    for column, (low, high) in enumerate(np.sort(shown, axis=1)):
        inside = values[(times >= edges[column]) & (times < edges[column + 1])]
        if len(inside):
            assert (low, high) == (inside.min(), inside.max())
        else:
            line = np.interp(
                window.times_us[2 * column : 2 * column + 2], times, values, np.nan, np.nan
            )
            np.testing.assert_allclose(np.sort(line), (low, high), rtol=1e-6)


def test_many_samples_show_the_peaks_that_few_would():
    """10⁶ samples, whole blocks in each column: the range of each column and its neighbours."""
    random = np.random.default_rng(1)
    values = random.integers(0, 1000, 1_000_000)
    values[[5, 123_456, 999_990]] = 5000
    times = np.arange(1_000_000)
    made = curve(times, values, parts=37)
    window = Window(0.0, 1e6, 500)
    assert 1_000_000 / window.columns > 8 * BLOCK
    shown = made.shown("value", window)
    assert np.flatnonzero(shown == 5000).tolist() == [0, 122, 123, 999] or (
        (shown == 5000).sum() == 3
    )
    column = Column("i4")
    column.append(values)
    exact = np.maximum.reduceat(values, np.arange(0, 1_000_000, 2000))
    _, high = column.ranges(np.append(np.arange(0, 1_000_000, 2000), 1_000_000))
    assert (high == exact).all()


def test_the_rate_of_a_steady_flow_is_steady():
    times = np.arange(0, 10_000_000, 10_000)
    made = Curve.empty(delivered="i8")
    made.append(times, {"delivered": times // 100})
    rate = made.rate_per_s("delivered", Window(0.0, 10e6, 300), 200_000)
    np.testing.assert_allclose(rate[~np.isnan(rate)], 10_000, rtol=1e-6)


def marks_of(result):
    marks = Marks()
    marks.cubic[1] = Cubic(result.manifest["algorithms"]["cubic"]["values"])
    marks.append(result.events)
    return marks


@pytest.fixture(scope="module")
def alone():
    """A CUBIC flow alone: 50 Mb/s, 100 ms, its curve undisturbed between losses."""
    return run(
        Scenario(
            duration="60s",
            rtt="100ms",
            sample_interval="20ms",
            bottleneck=Bottleneck(rate="50mbit", buffer="0.5bdp"),
            flows=(Flow(algorithm="cubic"),),
        )
    )


def test_the_window_is_back_at_w_max_after_k(alone):
    """W(K) = W_max (RFC 9438, section 4.2): where no loss comes before."""
    samples = alone.samples
    epochs = marks_of(alone).epochs_within(0, 60e6)
    reached = [epoch for epoch in epochs if epoch[1] + epoch[2] < min(epoch[4], 60)]
    assert len(reached) >= 3
    for _, start_s, k_s, w_max, _ in reached:
        at = np.interp((start_s + k_s) * 1e6, samples["time_us"], samples["cwnd_packets"])
        assert at == pytest.approx(w_max, rel=0.01)
        half = np.interp((start_s + k_s / 2) * 1e6, samples["time_us"], samples["cwnd_packets"])
        assert half == pytest.approx(w_max - 0.4 * (k_s / 2) ** 3, rel=0.02)


def test_marks_are_the_events_one_of_a_kind_in_each_column(alone):
    marks = marks_of(alone)
    recoveries = alone.events.filter(alone.events["kind"].cast(str) == "recovery")
    shown = [mark for mark in marks.within(0, 60e6, 2000) if mark[2] == "recovery"]
    assert [mark[0] for mark in shown] == (recoveries["time_us"] / 1e6).to_list()
    assert len(marks.within(0, 60e6, 1)) == len({mark[2] for mark in marks.within(0, 60e6, 2000)})
