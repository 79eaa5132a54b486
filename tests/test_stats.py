"""Statistics against values known from elsewhere."""

import math
import random

import numpy as np
import pytest

from ackclock import Claim, Every, stats
from ackclock.stats import (
    Estimate,
    exact,
    mean_ci,
    mean_ci_censored,
    paired_difference,
    paired_difference_censored,
    slope,
    verdict,
)


def test_the_interval_of_many_repeats_is_the_normal_one():
    # 100 values of mean 0.5 and standard deviation 0.2901: 1.984 · 0.2901 / √100 = 0.0576.
    estimate = mean_ci([(i + 0.5) / 100 for i in range(100)])
    assert estimate.mean == pytest.approx(0.5)
    assert 0.5 - estimate.low == pytest.approx(0.0576, rel=0.05)
    assert estimate.high - 0.5 == pytest.approx(0.0576, rel=0.05)
    assert estimate.n == 100


def test_the_interval_covers_the_mean_as_often_as_it_says():
    draw = random.Random(1)
    samples = [[draw.gauss() for _ in range(10)] for _ in range(300)]
    covered = sum(e.low <= 0 <= e.high for e in map(mean_ci, samples))
    assert 0.92 < covered / 300 < 0.98


def test_equal_repeats_give_equal_intervals_that_lie_among_them():
    values = [222.0] * 9 + [161.0]
    estimate = mean_ci(values)
    assert estimate == mean_ci(values)
    assert 161 < estimate.low < estimate.mean < estimate.high == 222
    assert mean_ci([5, 5, 5]) == Estimate(5, 5, 5, 3)


def test_a_median_is_not_moved_by_an_outlier():
    estimate = mean_ci([1, 2, 3, 4, 5, 6, 7, 8, 1000], statistic=np.median)
    assert estimate.mean == 5
    assert estimate.high < 1000


def test_one_repeat_says_nothing_of_the_spread():
    estimate = mean_ci([3.0])
    assert (estimate.mean, estimate.low, estimate.high) == (3, -math.inf, math.inf)


def test_none_is_refused():
    with pytest.raises(ValueError, match="at least one"):
        mean_ci([])


def test_pairs_remove_what_repeats_share():
    a, b = [101, 202, 303, 404, 505], [100, 200, 300, 400, 500]
    difference = paired_difference(a, b)
    assert difference.mean == 3
    assert 1 <= difference.low < 3 < difference.high <= 5


def test_the_slope_of_repeats_that_have_levels_of_their_own():
    x = [1, 2, 4]
    repeats = [[level + 3 * each for each in x] for level in (0, 10, 20, 30, 40)]
    estimate = slope(x, repeats)
    assert (estimate.mean, estimate.low, estimate.high) == pytest.approx((3, 3, 3))


def test_a_slope_where_an_end_is_known_only_from_below():
    x, repeats = [1, 2, 3], [[0.0, 1.0, 2.0]] * 5
    last = slope(x, repeats, [[False, False, True]] + [[False] * 3] * 4)
    assert (last.low, last.high, last.censored) == (1, math.inf, 1)
    assert verdict(last, low=0) == "holds"
    first = slope(x, repeats, [[True, False, False]] * 5)
    assert (first.low, first.high, first.censored) == (-math.inf, 1, 5)
    assert verdict(first, low=0) == "inconclusive"
    middle = slope(x, repeats, [[False, True, False]] * 5)
    assert (middle.low, middle.high, middle.censored) == (1, 1, 0)


def test_cut_off_repeats_are_counted_and_bound_the_mean_from_below():
    estimate = mean_ci_censored([100, None, 140], [500, 500, 500])
    assert estimate.censored == 1
    assert estimate.mean == pytest.approx(740 / 3)
    assert estimate.high == math.inf


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
    cut_off = mean_ci_censored([12, 14, None, 13, 15], [16] * 5)
    assert verdict(cut_off, high=11) == "fails"
    assert verdict(cut_off, high=100) == "inconclusive"
    assert verdict(cut_off, low=11) == "holds"
    assert verdict(cut_off, low=20) == "inconclusive"


def test_too_few_repeats_give_no_verdict():
    assert verdict(Estimate(15, 10, 20, 4), 0, 100) == "inconclusive"
    assert verdict(Estimate(15, 10, 20, 4), 50, 100) == "inconclusive"
    assert verdict(Estimate(15, 10, 20, 5), 50, 100) == "fails"


def test_a_tie_is_not_better():
    tie = mean_ci([0.0] * 5)
    assert verdict(tie, low=0) == verdict(tie, high=0) == "inconclusive"
    assert verdict(tie, low=0, high=0) == "holds"


def test_what_is_calculated_needs_no_repeats():
    assert verdict(exact(5000), 4750, 5250) == "holds"
    assert verdict(exact(7), 0, 1) == "fails"


def test_pairs_that_were_cut_off():
    cut_off = [300] * 3
    above = paired_difference_censored([None, 200, 250], [100, 100, 100], cut_off)
    assert (above.mean, above.high, above.censored) == (150, math.inf, 1)
    assert above.low >= 100
    below = paired_difference_censored([200, 200, 250], [100, None, 100], cut_off)
    assert (below.low, below.censored) == (-math.inf, 1)
    assert below.high <= 150
    both = paired_difference_censored([None, 200, 250], [100, None, 100], cut_off)
    assert (both.low, both.high, both.censored) == (-math.inf, math.inf, 2)
    same = paired_difference_censored([None, 200, 250], [None, 100, 100], cut_off)
    assert (same.low, same.high, same.censored) == (-math.inf, math.inf, 1)


@pytest.mark.parametrize(
    ("low", "high", "shown"),
    [(250, 600, "250 … 600 s"), (-math.inf, 200, "< 200 s"), (0, math.inf, "> 0 s")],
)
def test_a_claim_shows_its_bound(low, high, shown):
    assert Claim("id", "says", Estimate(1, 0, 2, 5), "s", low, high).bound == shown


def test_a_claim_about_several_points_is_decided_by_its_worst():
    parts = {
        word: Claim(word, "", Estimate(mean, mean - 1, mean + 1, 10), "s", low=0)
        for word, mean in (("holds", 5), ("inconclusive", 0), ("fails", -5))
    }
    for worst, words in (
        ("holds", ["holds", "holds"]),
        ("inconclusive", ["holds", "inconclusive"]),
        ("fails", ["holds", "inconclusive", "fails"]),
    ):
        claim = Every("id", "says", [parts[word] for word in words])
        assert claim.verdict == worst
        assert claim.estimate == parts[worst].estimate
        holding = words.count("holds")
        assert claim.bound == f"> 0 s at {worst}"
        assert claim.tally == f"{holding} of {len(words)} hold"


@pytest.mark.parametrize(("freedom", "quantile"), [(4, 2.7764), (9, 2.26216), (24, 2.06390)])
def test_quantiles_of_students_t(freedom, quantile):
    assert stats._student_t(0.975, freedom) == pytest.approx(quantile, abs=1e-3)
