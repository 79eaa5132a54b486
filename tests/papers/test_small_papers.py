"""The experiments of Cubic-FC and SQUARE:FF: their runs, and what their claims make of rows."""

import math
from types import SimpleNamespace

import numpy as np
import polars as pl
import pytest

from ackclock import papers, stats
from ackclock.figures import Runs
from ackclock.figures.claim import JudgedClaim, judged
from ackclock.papers import _converged as converged
from ackclock.papers import errata
from ackclock.papers.cubicfc import _experiments as cubicfc
from ackclock.papers.cubicfc import _phases as phases
from ackclock.papers.squareff import _experiments as squareff
from ackclock.papers.squareff import reference

SEEDS = range(1, 11)


@pytest.mark.parametrize("name", ["fig02", "fig03", "reference"])
def test_square_ff_has_a_gigabit_2_ms_and_windows_of_16_mb(name):
    (named,) = papers.load(f"squareff/{name}")
    for experiment, point in named.figure.needs:
        scenario = experiment.run(point, 1)
        assert scenario.bottleneck.rate == "1gbit"
        first, second = scenario.flows
        assert first.rtt == "2ms"
        assert second.rtt in {f"{rtt_ms}ms" for rtt_ms in (2, 4, 8, 16, 32, 64, 128)}
        assert first.receive_window == second.receive_window == "16MB"
        assert first.algorithm == second.algorithm


@pytest.mark.parametrize("name", ["fig02", "fig03"])
def test_square_ffs_curves_have_each_point(name):
    (named,) = papers.load(f"squareff/{name}")
    run = [point for experiment, point in named.figure.needs if experiment is squareff.TWO_PATHS]
    assert len(run) == len(squareff.TWO_PATHS.where()) == 21


def test_square_ffs_queue_is_the_cards_and_its_unit_the_kernels():
    for point in squareff.TWO_PATHS.points:
        scenario = squareff.TWO_PATHS.run(point, 1)
        assert scenario.bottleneck.buffer == "511packets"
        has_unit = point["algorithm"] != squareff.CUBIC
        assert [flow.algorithm.endswith("reference_rtt_ms=1") for flow in scenario.flows] == [
            has_unit,
            has_unit,
        ]


def test_every_cell_of_queue_and_unit_has_a_verdict():
    order = {squareff.CUBIC: 0.7, squareff.CBRT: 0.8, squareff.SQUARE: 0.9}

    def numbers(point, seed):
        """As in the paper where the queue is 511 packets and the unit 1 ms, else all alike."""
        like = (point["queue"], point["unit_ms"]) == (squareff.QUEUE, 1)
        jain = order[point["algorithm"]] - point["rtt_ms"] / 1000 if like else 1
        ratio = (0.8 if point["rtt_ms"] < 16 else 3) if like else 1
        return {"jain": jain + seed / 1000, "ratio": ratio + seed / 100}

    rows = rows_of(reference.CELLS, numbers)
    holding = {claim: of.estimate(rows).mean for claim, of in reference.HOLDING.items()}
    # CUBIC has no unit, so that two claims hold in the five cells of the queue.
    assert holding == {
        "fig2.cubic-unfair": 5,
        "fig3.grows": 5,
        "fig3.cbrt-better": 1,
        "fig3.square-best": 1,
        "fig3.overshoot": 1,
    }


def test_the_framed_cell_has_the_runs_of_the_table():
    cell = {"queue": squareff.QUEUE, "unit_ms": 1}
    points = reference.CELLS.where(**cell)
    assert {point["algorithm"] for point in points} == set(squareff.NAMES)
    for point in points:
        plain = {key: value for key, value in point.items() if key not in cell}
        for seed in (1, 12):
            assert reference.CELLS.run(point, seed) == squareff.TWO_PATHS.run(plain, seed)
    assert reference.CELLS.seeds == squareff.TWO_PATHS.seeds


def test_the_release_is_where_the_papers_rule_first_finds_competition():
    """By hand: W_max falls to 85 % of a loss below it; delta counts from a loss that lowers it."""
    windows = [1000, 990, 900, 960, 930, 700, 800, 600]
    events = pl.DataFrame(
        {
            "flow": 1,
            "kind": "recovery",
            "time_us": [1_000_000 * at for at in range(8)],
            "cwnd_packets": windows,
            "ssthresh_packets": [700, 693, 630, 672, 500, 490, 560, 420],
        }
    )
    found = phases.losses(SimpleNamespace(events=events))
    assert [each.lowers for each in found] == [False, True, False, False, True, True, False, True]
    assert found[1].w_max == pytest.approx(0.85 * 990)
    # Of the losses at 1 s and 3 s the windows are within 5 %; of those at 4 s and 6 s not.
    assert phases.release(found) is None
    released = phases.release([*found, found[-1], found[-1]])
    assert [each.time_s for each in released] == [4, 5, 6, 7, 7]
    # Delta is 130 of a most of 240: f is 0.6 x 110 / 120.
    assert phases.f_of(released[0], released[2]) == pytest.approx(0.55)


@pytest.mark.parametrize("name", ["fig06", "fig07", "table02"])
def test_cubic_fc_has_five_rtts_and_ends_at_600_s(name):
    (named,) = papers.load(f"cubicfc/{name}")
    scenarios = [experiment.run(point, 1) for experiment, point in named.figure.needs]
    assert all(experiment.seeds >= 10 for experiment in named.figure.experiments)
    assert {each.rtt for each in scenarios} == {"50ms", "100ms", "150ms", "200ms", "300ms"}
    for scenario in scenarios:
        assert scenario.bottleneck.rate == "800mbit"
        assert scenario.bottleneck.buffer == "1bdp"
        assert scenario.duration == "600s"
        # The first of 12 parts of one cycle of flow 1.
        assert [flow.start for flow in scenario.flows[:2]] == ["0s", "87.292s"]
        assert scenario.flows[1].start_spread == "0s"
    background = [[each.rate for each in scenario.flows[2:]] for scenario in scenarios]
    assert background.count([]) == len(scenarios) / 2
    assert background.count(["90.1mbit"]) == len(scenarios) / 2


def test_starts_are_even_parts_of_a_cycle_and_more_starts_are_within_them():
    point = cubicfc.RTTS.points[0]
    starts_s = [
        float(cubicfc.RTTS.run(point, seed).flows[1].start.removesuffix("s"))
        for seed in range(1, 25)
    ]
    parts = [int((start_s - 85) / (55 / 12)) for start_s in starts_s]
    assert parts == [*range(12)] * 2
    assert len(set(starts_s)) == 24


def rows_of(experiment, numbers):
    """Runs of an experiment whose numbers depend on point and seed as told; others are 0."""
    rows = []
    for point in experiment.points:
        for seed in SEEDS:
            row = dict.fromkeys(experiment.columns, 0.0) | numbers(point, seed)
            rows.append({**point, "seed": seed, **row})
    return {experiment: Runs(experiment, pl.DataFrame(rows, infer_schema_length=None))}


def verdicts(name, rows):
    (named,) = papers.load(name)
    claims = [
        JudgedClaim(claim, judged(claim.parts, rows))
        for claim in named.figure.claims
        if {experiment for experiment, _ in claim.needs} <= set(rows)
    ]
    return {claim.id.rpartition(".")[2]: claim for claim in claims}


def two_paths(jain, ratio):
    def numbers(point, seed):
        return {"jain": jain(point["algorithm"], point["rtt_ms"]) + seed / 1000,
                "ratio": ratio(point["rtt_ms"]) + seed / 100}  # fmt: skip

    return rows_of(squareff.TWO_PATHS, numbers)


def test_square_ffs_claims_hold_of_runs_that_are_like_the_papers():
    order = {squareff.CUBIC: 0.7, squareff.CBRT: 0.8, squareff.SQUARE: 0.9}
    rows = two_paths(lambda of, rtt: order[of] - rtt / 1000, lambda rtt: 0.8 if rtt < 16 else 3)
    assert {each.verdict for each in verdicts("squareff/fig03", rows).values()} == {"holds"}
    assert verdicts("squareff/fig02", rows)["cubic-unfair"].verdict == "holds"


def test_square_ffs_claims_fail_of_runs_that_are_not():
    order = {squareff.CUBIC: 0.9, squareff.CBRT: 0.8, squareff.SQUARE: 0.7}
    rows = two_paths(lambda of, rtt: order[of] + rtt / 10_000, lambda _: 1.5)
    assert {each.verdict for each in verdicts("squareff/fig03", rows).values()} == {"fails"}
    assert verdicts("squareff/fig02", rows)["cubic-unfair"].verdict == "fails"


def rtts(convergence_s, difference_mbps, total_mbps):
    """Of figure 6; a time that the end of the run cut off is 500 s."""

    def numbers(point, seed):
        algorithm = point["algorithm"]
        time_s = convergence_s(algorithm, point["rtt_ms"], seed)
        return {
            "settled_s": 500.0 if time_s is None else time_s,
            "first_fair_s": 500.0 if time_s is None else time_s,
            "difference_mbps": difference_mbps[algorithm] + seed,
            "total_mbps": total_mbps[algorithm],
        }

    return rows_of(cubicfc.RTTS, numbers)


def test_cubic_fcs_claims():
    cubic, cubic_fc = cubicfc.CUBIC, cubicfc.CUBIC_FC

    def like(algorithm, rtt_ms, seed):
        """As in the paper; at 300 ms CUBIC is sometimes cut off."""
        if algorithm == cubic_fc:
            return 100.0 + seed
        return None if rtt_ms == 300 and seed < 4 else 120.0 + rtt_ms + seed

    rows = rtts(like, {cubic: 200, cubic_fc: 100}, {cubic: 772, cubic_fc: 771.9})
    for name in ("fig06", "fig07"):
        assert {each.verdict for each in verdicts(f"cubicfc/{name}", rows).values()} == {"holds"}
    table = verdicts("cubicfc/table02", rows)
    assert table["throughput"].verdict == "holds"
    assert table["mean-loss"].verdict == "reported"

    def waning(algorithm, rtt_ms, seed):
        return 100.0 + seed + (50 - rtt_ms / 10 if algorithm == cubic else 0)

    rows = rtts(waning, {cubic: 100, cubic_fc: 100}, {cubic: 772, cubic_fc: 750})
    claim = verdicts("cubicfc/fig06", rows)["faster-everywhere"]
    failing = [part.name for part in claim.parts if part.verdict() == "fails"]
    assert all(name.startswith("gain per 100 ms of RTT") for name in failing)
    assert len(failing) == 2
    assert claim.verdict == "fails"
    assert verdicts("cubicfc/fig07", rows)["fairer"].verdict == "open"
    assert verdicts("cubicfc/table02", rows)["throughput"].verdict == "fails"


def test_cubic_fc_that_is_cut_off_has_the_restricted_mean():
    """500 s are counted: Cubic-FC is later by 500 s less those of CUBIC."""
    cubic_fc = cubicfc.CUBIC_FC

    def late(algorithm, rtt_ms, seed):
        return None if algorithm == cubic_fc and rtt_ms == 50 else 100.0 + seed

    same = dict.fromkeys(cubicfc.NAMES, 1.0)
    claim = verdicts("cubicfc/fig06", rtts(late, same, same))["faster-everywhere"]
    for part in (claim.parts[0], claim.parts[5]):
        assert "50 ms" in part.name
        assert part.estimate.mean == 100 + sum(SEEDS) / len(SEEDS) - 500
        assert part.verdict() == "fails"


def test_the_interval_of_even_starts_is_that_of_second_differences():
    """By hand: of 0, 1, 0, 1, … each is 2 or -2, so that the variance is 10 x 4 / (6 x 12 x 10).

    There are 60² / 664 degrees of freedom, for which t is 2.511.
    """
    found = stats.systematic_ci([0, 1] * 6)
    assert (found.mean, found.n) == (0.5, 12)
    assert found.high - found.mean == pytest.approx(2.511 * math.sqrt(1 / 18), rel=2e-3)
    slope = stats.systematic_ci([3.0, 5, 7, 9])
    assert slope.high == slope.low == slope.mean == 6


def test_the_interval_of_even_starts_covers_noise():
    """95 % of 4000 means of 12 draws without a trend, within three standard deviations."""
    draws = np.random.default_rng(4).normal(size=(4000, 12)).tolist()
    found = [stats.systematic_ci(each) for each in draws]
    covered = sum(each.low < 0 < each.high for each in found) / len(found)
    assert covered == pytest.approx(0.95, abs=3 * math.sqrt(0.95 * 0.05 / 4000))


def test_the_mean_over_runs_converges_though_no_run_does():
    """In odd runs flow 1 has more, in even ones flow 2: their mean is fair from the first."""
    both = {"first_mbps": [150.0] * 100, "second_mbps": [50.0] * 100}
    swapped = {"first_mbps": both["second_mbps"], "second_mbps": both["first_mbps"]}
    experiment = cubicfc.JOINING
    rows = rows_of(experiment, lambda _, seed: (both if seed % 2 else swapped) | {"window_s": 10.0})
    runs = converged.Ensemble(rows[experiment], experiment.points[0])
    every = np.arange(len(runs.seeds))
    assert runs.until_s(every) == 0
    assert runs.until_s(every[::2]) == np.inf
    found = converged.estimate(runs.until_s, len(every), runs.seconds)
    assert (found.mean, found.low, found.high, found.censored) == (0, 0, np.inf, 0)
    assert converged.estimate(runs.until_s, 1, runs.seconds).censored == 1


def test_the_average_of_cubicfc_by_its_own_table():
    """By hand, of the losses of 0.01489, 0.02551, 0.05294, 0.02577 and 0.09795 %."""
    assert errata.mean_loss_percent("without background") == pytest.approx(0.0434, abs=5e-5)
    assert errata.mean_loss_percent("with background") == pytest.approx(0.4686, abs=5e-5)
