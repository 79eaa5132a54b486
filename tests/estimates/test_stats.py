"""Statistics against values known from elsewhere."""

import math
import random
from statistics import NormalDist

import numpy as np
import pytest

from ackclock import stats
from ackclock.estimates.repeats import AtLeast, Repeats, slope
from ackclock.estimates.stats import Estimate, exact, mean_ci, verdict


def repeats(*numbers):
    """Of seeds from 1 on."""
    return Repeats.by_seed(dict(enumerate(numbers, 1)))


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


def test_the_interval_of_few_repeats_is_that_of_students_t():
    # 10 normal scores: t with 9 degrees of freedom, times s / √10. Not expanded it is 5 % shorter.
    values = [NormalDist().inv_cdf((i + 0.5) / 10) for i in range(10)]
    half = 2.262 * float(np.std(values, ddof=1)) / math.sqrt(10)
    estimate = mean_ci(values)
    assert (-estimate.low, estimate.high) == pytest.approx((half, half), rel=0.02)


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
    difference = (repeats(101, 202, 303, 404, 505) - repeats(100, 200, 300, 400, 500)).mean()
    assert difference.mean == 3
    assert 1 <= difference.low < 3 < difference.high <= 5


def test_pairs_are_of_the_same_seed():
    a, b = Repeats.by_seed({1: 10, 2: 20, 3: 30}), Repeats.by_seed({3: 3, 2: 2})
    assert (a - b).seeds == (2, 3)
    assert (a - b).value.tolist() == [18, 27]


def test_the_slope_of_repeats_that_have_levels_of_their_own():
    by_x = {x: repeats(*(level + 3 * x for level in (0, 10, 20, 30, 40))) for x in (1, 2, 4)}
    estimate = slope(by_x).mean()
    assert (estimate.mean, estimate.low, estimate.high) == pytest.approx((3, 3, 3))


def test_a_slope_where_an_end_is_known_only_from_below():
    def of(**late):
        points = {"first": [0.0] * 5, "middle": [1.0] * 5, "last": [2.0] * 5}
        for name, number in late.items():
            points[name] = [AtLeast(x) if n < number else x for n, x in enumerate(points[name])]
        return slope({x: repeats(*each) for x, each in enumerate(points.values())}).mean()

    last = of(last=1)
    assert (last.low, last.high, last.censored) == (1, math.inf, 1)
    assert verdict(last, low=0) == "holds"
    first = of(first=5)
    assert (first.low, first.high, first.censored) == (-math.inf, 1, 5)
    assert verdict(first, low=0) == "open"
    middle = of(middle=5)
    assert (middle.low, middle.high, middle.censored) == (1, 1, 0)


def test_cut_off_repeats_are_counted_and_bound_the_mean_from_below():
    estimate = repeats(100, AtLeast(500), 140).mean()
    assert estimate.censored == 1
    assert estimate.mean == pytest.approx(740 / 3)
    assert estimate.high == math.inf


def test_repeats_without_a_number_do_not_count():
    estimate = repeats(1, None, 3, math.nan).mean()
    assert (estimate.mean, estimate.n) == (2, 2)
    assert repeats(None, None).mean() is None


def test_ratios_are_averaged_as_logarithms():
    """Twice and half are 1 in the mean, whichever flow is above."""
    logs = repeats(2.0, 0.5).log()
    assert stats.exponential(logs.mean()).mean == pytest.approx(1)
    assert logs.exp().value.tolist() == pytest.approx([2, 0.5])
    late = repeats(AtLeast(2.0)).log()
    assert (late.low[0], late.high[0]) == (pytest.approx(math.log(2)), math.inf)


@pytest.mark.parametrize(
    ("low", "high", "expected"),
    [
        (0, 100, "holds"),
        (10, 20, "holds"),
        (0, 9, "fails"),
        (21, 30, "fails"),
        (0, 15, "open"),
        (15, 30, "open"),
        (-math.inf, math.inf, "holds"),
    ],
)
def test_verdict_of_an_interval_from_10_to_20(low, high, expected):
    assert verdict(Estimate(15, 10, 20, 10), low, high) == expected


def test_verdict_of_a_lower_bound():
    cut_off = repeats(12, 14, AtLeast(16), 13, 15).mean()
    assert verdict(cut_off, high=11) == "fails"
    assert verdict(cut_off, high=100) == "open"
    assert verdict(cut_off, low=11) == "holds"
    assert verdict(cut_off, low=20) == "open"


def test_too_few_repeats_give_no_verdict():
    assert verdict(Estimate(15, 10, 20, 4), 0, 100) == "open"
    assert verdict(Estimate(15, 10, 20, 4), 50, 100) == "open"
    assert verdict(Estimate(15, 10, 20, 5), 50, 100) == "fails"


def test_a_tie_is_not_better():
    tie = mean_ci([0.0] * 5)
    assert verdict(tie, low=0) == verdict(tie, high=0) == "open"
    assert verdict(tie, low=0, high=0) == "holds"


def test_what_is_calculated_needs_no_repeats():
    assert verdict(exact(5000), 4750, 5250) == "holds"
    assert verdict(exact(7), 0, 1) == "fails"


def test_pairs_that_were_cut_off():
    late = AtLeast(300)
    above = (repeats(late, 200, 250) - repeats(100, 100, 100)).mean()
    assert (above.mean, above.high, above.censored) == (150, math.inf, 1)
    assert above.low >= 100
    below = (repeats(200, 200, 250) - repeats(100, late, 100)).mean()
    assert (below.low, below.censored) == (-math.inf, 1)
    assert below.high <= 150
    both = (repeats(late, 200, 250) - repeats(100, late, 100)).mean()
    assert (both.low, both.high, both.censored) == (-math.inf, math.inf, 2)
    same = (repeats(late, 200, 250) - repeats(late, 100, 100)).mean()
    assert (same.low, same.high, same.censored) == (-math.inf, math.inf, 1)


@pytest.mark.parametrize(("freedom", "quantile"), [(4, 2.7764), (9, 2.26216), (24, 2.06390)])
def test_quantiles_of_students_t(freedom, quantile):
    assert stats.student_t(0.975, freedom) == pytest.approx(quantile, abs=1e-3)


@pytest.mark.parametrize(
    ("probability", "between", "within", "quantile"),
    [(0.95, 1, 10, 4.9646), (0.95, 10, 120, 1.9105), (0.95, 5, 2, 19.2964), (0.99, 3, 20, 4.9382)],
)
def test_quantiles_of_the_f_distribution(probability, between, within, quantile):
    assert stats.f_quantile(probability, between, within) == pytest.approx(quantile, rel=1e-4)
    other = 1 / stats.f_quantile(1 - probability, within, between)
    assert other == pytest.approx(quantile, rel=1e-4)


def test_groups_that_do_not_differ_are_found_to_differ_5_times_in_100():
    random = np.random.default_rng(1)
    found = [stats.variance_ratio(random.normal(0, 1, (11, 5)).tolist()) for _ in range(1000)]
    assert 30 <= sum(each.low > 1 for each in found) <= 70
    assert 30 <= sum(each.high < 1 for each in found) <= 70
    # F of three groups around 2, 3 and 6, each with a variance of 1.
    assert stats.variance_ratio([[1, 2, 3], [2, 3, 4], [5, 6, 7]]).mean == pytest.approx(13)
    assert stats.variance_ratio([[1], [2]]) is None
