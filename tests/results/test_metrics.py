"""Metrics, on tables made by hand."""

import math

import numpy as np
import pytest

from ackclock import metrics, run
from common import made_by_hand

# 12 Mb/s of 1500-byte packets: 1000 packets/s.
FAIR = 500


def linear(rates, until_s, step_s=1.0):
    """Samples of a flow: `rates` is (from_s, packets/s) pieces."""
    rows, delivered, time_s = [], 0.0, 0.0
    for time_s in np.arange(0, until_s + step_s / 2, step_s):
        rows.append((float(time_s), 10, round(delivered)))
        rate = [rate for since, rate in rates if since <= time_s][-1]
        delivered += rate * step_s
    return rows


def test_throughput_in_windows():
    result = made_by_hand([linear([(0, 100), (10, 200)], 20)], duration_s=20, starts_s=[0])
    bps = metrics.throughput_bps(result, [0, 10, 15, 20])
    assert bps == pytest.approx(np.array([[100, 200, 200]]) * 1448 * 8)


def test_throughput_does_not_mind_extra_rows_or_edges_between_samples():
    rows = linear([(0, 100)], 10)
    extra = sorted([*rows, (3.25, 10, 325), (3.25, 5, 325)])
    plain, more = (
        metrics.throughput_bps(made_by_hand([r], duration_s=10, starts_s=[0]), [0.5, 3.2, 9.9])
        for r in (rows, extra)
    )
    assert plain == pytest.approx(more)
    assert plain == pytest.approx(100 * 1448 * 8)


def test_convergence_is_the_start_of_the_first_fair_window_after_the_last_start():
    first = linear([(0, 1000), (100, 700), (130, 520)], 200)
    second = linear([(0, 0), (100, 300), (130, 480)], 200)
    result = made_by_hand([first, second], duration_s=200, starts_s=[0, 100])
    assert metrics.convergence_time_s(result) == 26  # windows slide by 1 s
    assert metrics.convergence_time_s(result, window_s=5) == 28
    assert metrics.convergence_time_s(result, share=0.97) is None


def test_just_below_the_share_is_not_converged():
    for second, expected in ((0.79, None), (0.81, 0)):
        rows = [linear([(0, FAIR * share)], 50) for share in (1.2, second)]
        result = made_by_hand(rows, duration_s=50, starts_s=[0, 0])
        assert metrics.convergence_time_s(result) == expected


def test_unfairness_ends_where_the_last_unfair_window_begins():
    """The newcomer at 20 s has half of the incumbent's rate for 50 s, then as much."""
    first = linear([(0, 30)], 200)
    second = linear([(0, 0), (20, 15), (70, 30)], 200)
    result = made_by_hand([first, second], duration_s=200, starts_s=[0, 20])
    # From 46 s on 4 s at half the rate and 6 s at the whole: 0.8 of the other.
    assert metrics.unfair_until_s(result) == 45
    assert metrics.unfair_until_s(result, 0.9) == 47
    assert metrics.unfair_until_s(result, window_s=20) == 41
    epochs = [(time_s, 1, 10) for time_s in (40, 70, 100)]
    result = made_by_hand([first, second], duration_s=200, starts_s=[0, 20], events=epochs)
    assert metrics.fairness_window_s(result) == 30
    assert metrics.unfair_until_s(result) == 37
    never = linear([(0, 0), (20, 15)], 200)
    result = made_by_hand([first, never], duration_s=200, starts_s=[0, 20])
    assert metrics.unfair_until_s(result) is None
    assert metrics.unfair_until_s(result, 0.4) == 0


def test_a_run_too_short_for_a_window_has_not_converged():
    rows = [linear([(0, FAIR)], 9)] * 2
    assert metrics.convergence_time_s(made_by_hand(rows, duration_s=9, starts_s=[0, 0])) is None


def test_goodput_and_utilisation():
    result = made_by_hand(
        [linear([(0, 1000)], 10)],
        duration_s=10,
        starts_s=[0],
        queue_bytes=[(0, 0), (5, 0), (10, 7_500_000)],
    )
    assert metrics.goodput_bps(result) == pytest.approx([1000 * 1448 * 8])
    assert metrics.capacity_bps(result) == pytest.approx(1000 * 1448 * 8)
    assert metrics.utilisation(result) == pytest.approx(0.5)
    assert metrics.utilisation(result, 5) == pytest.approx(1)
    assert metrics.utilisation(result, 0, 5) == 0


@pytest.mark.parametrize(
    ("shares", "index"), [([1, 1, 1], 1), ([1, 0, 0, 0], 0.25), ([2, 1], 0.9), ([5], 1)]
)
def test_jain_index(shares, index):
    assert metrics.jain_index(shares) == pytest.approx(index)


def test_epochs_and_windows():
    rows = [(0.0, 10, 0), (1.0, 20, 1), (1.5, 99, 1), (2.0, 30, 2)]
    events = [(3, 1, 40), (7, 1, 120), (8, 2, 60), (17, 1, 50)]
    result = made_by_hand([rows, rows], duration_s=20, starts_s=[0, 0], events=events)
    assert metrics.epochs_s(result, 1) == pytest.approx([4, 10])
    assert metrics.epochs_s(result, 2).size == 0
    assert metrics.mean_cwnd_packets(result) == {1: 20, 2: 20}  # the row at 1.5 s is an event's
    assert metrics.mean_cwnd_packets(result, 1, 2) == {1: 25, 2: 25}
    assert metrics.peak_cwnd_packets(result, 1) == 120
    assert metrics.peak_cwnd_packets(result, 2) == 99


def test_means_of_large_values():
    """Their sum takes more than 32 bits. Of two rows at one time the last counts."""
    large = [(0.0, 10, 0), (1.0, 7, 1), (1.0, 4_000_000_000, 1), (2.0, 4_000_000_000, 2)]
    small = [(0.0, 10, 0), (1.0, 20, 1), (2.0, 30, 2)]
    result = made_by_hand([large, small], duration_s=20, starts_s=[0, 0])
    assert metrics.mean_cwnd_packets(result, 1) == {1: 4_000_000_000, 2: 25}
    assert metrics.mean_cwnd_packets(result, 1, 1) == {1: 4_000_000_000, 2: 20}


def test_a_finished_flow_has_no_window():
    rows = [(0.0, 10, 0), (1.0, 20, 1), (2.0, 99, 1)]
    result = made_by_hand([rows], duration_s=2, starts_s=[0], completed_s=[1])
    assert metrics.mean_cwnd_packets(result) == {1: 15}


def test_without_samples_nothing_is_known_and_nothing_raises(small):
    for changes in ({"sample_interval": "0s"}, {"sample_interval": "5s"}):
        result = run(small.replace(**changes))
        assert math.isnan(metrics.utilisation(result))
        assert np.isnan(metrics.throughput_bps(result, [0, 2])).all()
        assert metrics.convergence_time_s(result, window_s=0.5) is None
        assert metrics.mean_cwnd_packets(result) == {}
        assert (metrics.goodput_bps(result) > 0).all()


def test_utilisation_up_to_the_last_sample(small):
    whole, cut = (
        metrics.utilisation(run(small.replace(sample_interval=interval)))
        for interval in ("100ms", "1900ms")
    )
    assert cut == pytest.approx(whole, abs=0.05)
