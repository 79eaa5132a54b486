"""Claims: how firm a verdict is, how near to the paper, and whether many rows leave it standing."""

import math

import numpy as np
import pytest

from ackclock import stats
from ackclock.estimates.stats import mean_ci
from ackclock.figures import Claim, Quantity
from ackclock.figures.claim import JudgedClaim, judged
from ackclock.pages import site, tally


def known(mean, spread=0.0, n=20):
    """A quantity without randomness or, with a spread, of `n` repeats with that deviation."""
    if not spread:
        return Quantity("x", "s", (), lambda _: stats.exact(mean))
    draws = mean + spread * math.sqrt((n - 1) / n) * np.tile([-1.0, 1.0], n // 2)
    return Quantity("x", "s", (), lambda _: mean_ci(draws.tolist()))


def judge(claim):
    return JudgedClaim(claim, judged(claim.parts, {}))


def test_firm_is_only_what_stays_within_its_bound():
    """An assumption with which a claim is open is neither the opposite nor without effect."""
    holds, open_ = [judged([known(mean, 10).above(0)], {}) for mean in (30, 1)]
    found = JudgedClaim(Claim("a.b", "", []), holds, {"buffer": {"1": holds, "2": open_}})
    assert (found.firmness, found.turning) == ("depends", [])
    assert site.card(found)["firmness"] == "depends 1/1/0"
    assert site.card(found)["turns with"] == "buffer (2: open)"
    assert site.card(found)["without effect"] == "buffer"


def test_whose_fault_it_is_where_nothing_turns_it():
    fails = [known(-30).above(0)]
    same = {"buffer": {"1": judged(fails, {})}}
    for fault, reason in (("", "undecided"), ("ours: the hosts", "ours: the hosts")):
        claim = JudgedClaim(Claim("a.b", "", fails, fault=fault), judged(fails, {}), same)
        assert claim.reason == reason
        assert tally.by_reason(tally.counted([claim])).rows == [[reason.split(":")[0], "1"]]


@pytest.mark.parametrize(
    ("ours", "paper", "bound", "word"),
    [(95, 100, 50, "number"), (70, 100, 50, "order"), (70, 100, 90, "fails")],
)
def test_ours_beside_the_papers_number(ours, paper, bound, word):
    of = Quantity("x", "s", (), lambda _: stats.exact(ours)).beside(paper)
    found = judge(Claim("a.b", "", [of.above(bound), known(5, 1).above(0)]))
    assert site.card(found)[site.OURS] == f"{ours / paper:.2f} {word}"


def test_the_level_at_which_a_verdict_stands():
    """T is -2.5 sqrt(20 / 19) with 19 degrees of freedom: p is 0.0190."""
    doubtful = known(-2.5 / math.sqrt(19), 1).above(0)
    clear = known(5, 1).above(0)
    assert judge(Claim("a.b", "", [doubtful])).chance == pytest.approx(0.0190, abs=0.0002)
    both = judge(Claim("a.b", "", [known(2.5 / math.sqrt(19), 1).above(0), clear]))
    assert both.verdict == "holds"
    assert both.chance == pytest.approx(0.0190, abs=0.0002)
    median = Quantity("x", "", (), lambda _: mean_ci([*range(20)], statistic=np.median)).above(-1)
    assert judge(Claim("a.b", "", [median])).chance == 1  # a median has no level
    assert judge(Claim("a.b", "", [known(3).above(0)])).chance == 0  # nor has it randomness
    equal = Quantity("x", "", (), lambda _: mean_ci([3.0] * 5)).within(3, 3)
    assert judge(Claim("a.b", "", [equal])).chance == 0
    assert judge(Claim("a.b", "", [known(1, 10).above(0)])).chance is None  # it is open
    assert tally.survives("0.0004", 100)
    assert not tally.survives("0.0006", 100)
