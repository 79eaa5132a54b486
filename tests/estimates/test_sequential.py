"""When enough seeds have run: known boundaries, and how often a decision is wrong."""

import math

import numpy as np
import pytest

from ackclock.estimates import sequential
from ackclock.estimates.repeats import AtLeast, Repeats
from ackclock.estimates.sequential import ERROR, levels, looks, two_tails, verdict
from ackclock.estimates.stats import Estimate, exact, mean_ci

TRIALS = 1500


def of(repeats, **fields):
    return Estimate(0, 0, 0, len(repeats), repeats=tuple(repeats), **fields)


def test_tails_of_students_t():
    """Quantiles of any table."""
    for t, freedom in ((12.7062, 1), (4.30265, 2), (2.776445, 4), (2.262157, 9), (1.984217, 99)):
        assert two_tails(t, freedom) == pytest.approx(0.05, rel=1e-5)
        assert two_tails(-t, freedom) == two_tails(t, freedom)
    assert two_tails(8.6103, 4) == pytest.approx(0.001, rel=1e-3)


def test_boundaries_of_five_equal_looks():
    """O'Brien and Fleming's, spent as of Lan and DeMets, for a two-sided 0.05, as published."""
    found = levels.__wrapped__
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sequential, "looks", lambda *_: (20, 40, 60, 80, 100))
        z = [math.sqrt(2) * _erfc_inverse(level) for level in found(100, 20)]
    assert z == pytest.approx([4.877, 3.357, 2.680, 2.290, 2.031], abs=2e-3)


def _erfc_inverse(value):
    low, high = 0.0, 10.0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if math.erfc(middle) > value else (low, middle)
    return high


def test_one_look_is_a_t_test():
    assert looks(10) == (10,)
    assert levels(10) == pytest.approx((ERROR,), rel=1e-6)
    assert looks() == (10, 15, 23, 35, 53, 80, 100)
    assert looks(50, 20) == (20, 30, 45, 50)


@pytest.mark.parametrize(
    "draw",
    [
        lambda random: random.normal(size=100),
        lambda random: random.uniform(-1, 1, size=100),
        lambda random: random.exponential(size=100) - 1,
        lambda random: 1 - random.exponential(size=100),
        lambda random: random.standard_t(3, size=100),
    ],
    ids=["normal", "uniform", "exponential", "minus exponential", "heavy tails"],
)
def test_with_no_effect_few_are_decided(draw):
    """The true mean is at the bound, so each decision is wrong: at most 5 %, and the trials' noise.

    Looking at the plain interval each time would decide 20 % of the normal ones.
    """
    random = np.random.default_rng(7)
    wrong = sum(verdict(of(draw(random)), low=0) != "open" for _ in range(TRIALS))
    assert wrong <= TRIALS * ERROR + 3 * math.sqrt(TRIALS * ERROR * (1 - ERROR))
    assert wrong >= 0.02 * TRIALS  # nor is the rate given away


def test_effects_are_decided_soon_and_rightly():
    random = np.random.default_rng(3)
    for effect, most in ((0.5, 100), (1.5, 35), (4, 23)):
        found = [verdict(of(random.normal(effect, size=most)), low=0) for _ in range(200)]
        assert found.count("holds") > 190
        assert "fails" not in found
        mirrored = [verdict(of(random.normal(-effect, size=most)), low=0) for _ in range(200)]
        assert mirrored.count("fails") > 190


def test_a_decision_stays():
    """What later seeds say changes nothing: the rule stops there."""
    early = [5 + 0.1 * (n % 3) for n in range(15)]
    assert verdict(of(early), low=0) == "holds"
    assert verdict(of(early + [-1000.0] * 85), low=0) == "holds"
    assert verdict(of(early[:9]), low=0) == "open"


def test_two_bounds():
    random = np.random.default_rng(5)
    for mean, expected in ((0.5, "holds"), (-1, "fails"), (2, "fails"), (1, "open")):
        repeats = mean + 0.05 * random.standard_normal(100)
        repeats += mean - repeats.mean() if mean == 1 else 0
        assert verdict(of(repeats), low=0, high=1) == expected


def test_equal_repeats_are_decided_unless_at_the_bound():
    assert verdict(of([0.9] * 10), low=0.8) == "holds"
    assert verdict(of([0.9] * 10), high=0.8) == "fails"
    assert verdict(of([0.9] * 100), low=0.9) == "open"


def test_repeats_that_were_cut_off_are_larger_than_they_say():
    values = [100.0 + n for n in range(20)]
    assert verdict(mean_ci(values), high=200) == "holds"
    late = Repeats.by_seed(dict(enumerate([*values[:-1], AtLeast(120.0)]))).mean()
    assert verdict(late, high=200) == "open"
    assert verdict(late, low=50) == "holds"
    assert verdict(late, high=50) == "fails"


def test_a_formula_and_a_median():
    assert verdict(exact(3), high=4) == "holds"
    assert verdict(exact(5), high=4) == "fails"
    assert verdict(mean_ci([1.0] * 20, statistic=np.median), high=4) == "open"
