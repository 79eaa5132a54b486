"""Marks, harm, and the links that are held out."""

import polars as pl
import pytest

from ackclock.base import units
from ackclock.estimates.stats import Estimate
from ackclock.figures.experiment import Runs
from ackclock.questions import card, scenarios, sharing
from ackclock.questions.held_out import Gap, elsewhere


def test_harm_and_its_mean():
    """By hand: of 8 and 4 Mb/s alone a flow keeps 2 and 3: harm of 75 % and 25 %, mean 50 %."""
    (question,) = (each for each in sharing.ROWS if each.row == "R7")
    experiment = question.experiment(["mine"], quick=True)
    rows = [
        {**point, "seed": seed, "mine_mbps": alone, "others_mbps": kept}
        for point in experiment.points
        for seed, alone, kept in ((1, 8.0, 2.0), (2, 4.0, 3.0))
    ]
    table = card.with_harm(pl.DataFrame(rows), list(experiment.points[0]))
    mine = table.filter(algorithm="mine", other="reno", rtt_ms=50).sort("seed")
    assert mine["harm_percent"].to_list() == [75, 25]
    number = next(each for each in question.numbers if each.name.startswith("mean harm"))
    found = card.quantity(experiment, number, "mine")
    assert found.estimate({experiment: Runs(experiment, table)}).mean == 50


def test_a_link_that_is_held_out_is_near_and_the_same_for_all():
    fixed = {name: scenarios.steps(name, "rate × 10") for name in ("reno", "cubic")}
    drawn = [elsewhere(fixed["reno"], 1, 7, "R15", seed) for seed in range(1, 40)]
    of = [
        (
            units.rate_bps(each.bottleneck.rate) / 50e6 * 1500 / (each.mss + 52),
            units.duration_ns(each.rtt) / 50e6,
            float(each.bottleneck.buffer.removesuffix("packets")) / 208,
        )
        for each in drawn
    ]
    assert all(0.83 < factor < 1.2 for each in of for factor in each)
    assert len(set(of)) == len(of)
    for key in ("seed", "mss", "hz", "rtt", "flows", "bottleneck"):
        assert all(getattr(each, key) != getattr(fixed["reno"], key) for each in drawn), key
    assert {each.profile for each in drawn} == {"linux-6", "linux-7"}
    assert elsewhere(fixed["reno"], 10, 7, "R15", 1).duration == "700000000000ns"
    many = [elsewhere(scenarios.many("reno"), 1, seed).flows[0].count for seed in range(20)]
    assert len(set(many)) > 10
    step = units.rate_bps(drawn[0].bottleneck.rate_at[0].rate)
    assert abs(step / units.rate_bps(drawn[0].bottleneck.rate) - 10) < 1e-6
    other = elsewhere(fixed["cubic"], 1, 7, "R15", 1)
    assert (other.bottleneck, other.rtt) == (drawn[0].bottleneck, drawn[0].rtt)
    assert elsewhere(fixed["reno"], 1, 8, "R15", 1).bottleneck != drawn[0].bottleneck


def test_a_gap_needs_both_intervals():
    """By hand: 3, and of one more link 2.132 s √(1 + 1/5) = 3.692, give 4.757."""
    number = card.Number("x", "utilisation", margin=4.9)
    row = sharing.ROWS[0]
    drawn = Estimate(-8, -12, -4, 5, repeats=(-10, -9, -8, -7, -6))
    gap = Gap(row, number, "reno", Estimate(2, -1, 5, 3), drawn)
    assert gap.ends == pytest.approx((5.243, 14.757), abs=0.001)
    assert gap.counts
    less = card.Number("x", "delay_p95_ms", margin=1)
    assert not Gap(row, less, "reno", gap.fixed, gap.held_out).looks
    wide = Gap(row, number, "reno", gap.fixed, Estimate(-8, -40, 24, 3, repeats=(-24, -8, 8)))
    assert (wide.counts, wide.looks) == (False, True)  # asked again
