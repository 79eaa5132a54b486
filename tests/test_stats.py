"""Statistics against values known from elsewhere."""

import math

import pytest

from ackclock import Claim
from ackclock.stats import (
    Estimate,
    mean_ci,
    mean_ci_censored,
    paired_difference,
    paired_difference_censored,
    verdict,
)


def test_student_interval():
    # t(0.975, 9) = 2.262157; the sample 1…10 has s = 3.02765.
    estimate = mean_ci(list(range(1, 11)))
    assert estimate.mean == 5.5
    half = 2.262157 * 3.0276504 / math.sqrt(10)
    assert estimate.low == pytest.approx(5.5 - half, abs=1e-5)
    assert estimate.high == pytest.approx(5.5 + half, abs=1e-5)
    assert estimate.n == 10


def test_student_interval_at_another_level():
    # t(0.95, 2) = 2.919986
    estimate = mean_ci([1, 2, 3], level=0.9)
    assert estimate.high == pytest.approx(2 + 2.919986 / math.sqrt(3), abs=1e-5)


def test_one_repeat_says_nothing_of_the_spread():
    estimate = mean_ci([3.0])
    assert (estimate.mean, estimate.low, estimate.high) == (3, -math.inf, math.inf)


def test_none_is_refused():
    with pytest.raises(ValueError, match="at least one"):
        mean_ci([])


def test_pairs_remove_what_repeats_share():
    difference = paired_difference([101, 202, 303], [100, 200, 300])
    assert difference.mean == 2
    assert difference.low == pytest.approx(2 - 4.302653 / math.sqrt(3), abs=1e-5)


def test_cut_off_repeats_are_counted_and_bound_the_mean_from_below():
    estimate = mean_ci_censored([100, None, 140], [500, 500, 500])
    assert estimate.censored == 1
    assert estimate.mean == pytest.approx(740 / 3)


@pytest.mark.parametrize(
    ("low", "high", "expected"),
    [
        (0, 100, "holds"),
        (10, 20, "holds"),
        (0, 9, "fails"),
        (21, 30, "fails"),
        (0, 15, "inconclusive"),
        (15, 30, "inconclusive"),
        (-math.inf, math.inf, "holds"),
    ],
)
def test_verdict_of_an_interval_from_10_to_20(low, high, expected):
    assert verdict(Estimate(15, 10, 20, 10), low, high) == expected


def test_verdict_of_a_lower_bound():
    cut_off = Estimate(15, 10, 20, 10, censored=2)
    assert verdict(cut_off, high=9) == "fails"
    assert verdict(cut_off, high=100) == "inconclusive"
    assert verdict(cut_off, low=5) == "inconclusive"


def test_too_few_repeats_give_no_verdict():
    assert verdict(Estimate(15, 10, 20, 4), 0, 100) == "inconclusive"
    assert verdict(Estimate(15, 10, 20, 4), 50, 100) == "inconclusive"
    assert verdict(Estimate(15, 10, 20, 5), 50, 100) == "fails"


def test_pairs_that_were_cut_off():
    cut_off = [300] * 3
    lower = paired_difference_censored([None, 200, 250], [100, 100, 100], cut_off)
    assert (lower.mean, lower.censored) == (150, 1)
    unknown = paired_difference_censored([200, 200, 250], [100, None, 100], cut_off)
    assert (unknown.low, unknown.high) == (-math.inf, math.inf)


@pytest.mark.parametrize(
    ("low", "high", "shown"),
    [(250, 600, "250 … 600 s"), (-math.inf, 200, "< 200 s"), (0, math.inf, "> 0 s")],
)
def test_a_claim_shows_its_bound(low, high, shown):
    assert Claim("id", "says", Estimate(1, 0, 2, 5), "s", low, high).bound == shown
