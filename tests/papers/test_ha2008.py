"""The experiments of Ha et al. 2008: their setup, their measures, and what their claims notice."""

import numpy as np
import pytest

from ackclock import papers, reproduce, run
from ackclock.figures.claim import judged, verdict_of
from ackclock.figures.experiment import Runs, as_row, repeats_of, set_where_it_fits
from ackclock.hosts.work import Work
from ackclock.papers.ha2008 import _testbed as testbed
from ackclock.papers.ha2008 import fig01, fig03, fig04, fig06, fig09, fig10, table01
from ackclock.papers.ha2008._testbed import BIC, CUBIC, HSTCP, SACK
from common import made_by_hand
from made_up import made_up

FIGURES = {each.name.partition("/")[2]: each.figure for each in papers.load("ha2008")}
EXPERIMENTS = {
    experiment.name: experiment for each in FIGURES.values() for experiment in each.experiments
}
ON_THE_TESTBED = [each for each in EXPERIMENTS.values() if each.scenario(**each.points[0]).sessions]


def verdicts(figure, rows):
    """Claim → verdict, of the claims that need no other experiment."""
    return {
        claim.id.partition(".")[2]: verdict_of(judged(claim.parts, rows))
        for claim in FIGURES[figure].claims
        if {experiment for experiment, _ in claim.needs} <= set(rows)
    }


@pytest.mark.parametrize("experiment", ON_THE_TESTBED, ids=lambda each: each.name)
def test_the_testbed_is_the_papers(experiment):
    two_mb = experiment.name in ("same RTT", "two RTTs", "HSTCP joins")
    for point in experiment.points:
        scenario = experiment.scenario(**point)
        assert scenario.profile == "linux-2.6.25"
        assert scenario.bottleneck.buffer == point.get("buffer", "2MB" if two_mb else "1bdp")
        assert scenario.bottleneck.rate == "400mbit" or experiment.name in (
            "beside SACK",
            "near Wmax",
            "beyond 400",
        )
        assert {session.direction for session in scenario.sessions} == {"forward", "reverse"}
        assert {session.receive_window for session in scenario.sessions} == {"64KiB"}
        assert {flow.receive_window for flow in scenario.flows} == {None}
        names = ("same RTT", "two RTTs", "beside SACK", "beyond 400")
        long = experiment.name in names
        assert (scenario.duration == "600s") == long
    assert len(ON_THE_TESTBED) == 9


@pytest.mark.parametrize("experiment", EXPERIMENTS.values(), ids=lambda each: each.name)
def test_each_variant_changes_runs_that_can_run(experiment):
    usual = [scenario for _, _, scenario in repeats_of(experiment, experiment.points, [1])]
    for variant in experiment.variants:
        repeats = repeats_of(experiment, experiment.points, [1], variant.arguments)
        changed = [set_where_it_fits(scenario, variant.settings) for _, _, scenario in repeats]
        assert changed != usual, variant.name
        changed[0].check()


def test_the_start_of_a_run_is_left_out():
    """For 200 s 90 and 10 packets/s, then 40 and 60."""
    first = [(t, 10, 90 * min(t, 200) + 40 * max(t - 200, 0)) for t in range(601)]
    second = [(t, 10, 10 * min(t, 200) + 60 * max(t - 200, 0)) for t in range(601)]
    result = made_by_hand([first, second], duration_s=600, starts_s=[0, 1])
    assert testbed.two_flows(result).ratio == pytest.approx(40 / 60)
    assert testbed.two_flows(result).fairness == pytest.approx(40 / 60)
    short = [samples[:401] for samples in (first, second)]
    result = made_by_hand(short, duration_s=200, starts_s=[0, 1])
    assert testbed.two_flows(result).ratio == pytest.approx(9)


def test_figures_without_noise_hold(tmp_path):
    named = [each for name in ("fig02", "table01") for each in papers.load(f"ha2008/{name}")]
    for each in reproduce.reproduce(named, work=Work(tmp_path)):
        assert [claim.verdict for claim in each.claims] == ["holds"]
        if each.name == "ha2008/table01":
            (rows,) = each.rows.values()
            versions = rows.table["version"].reverse()
            swapped = Runs(table01.ALONE, rows.table.with_columns(version=versions))
            assert verdicts("table01", {table01.ALONE: swapped}) == {"table1.versions": "fails"}


def test_figure_1_has_the_growth_functions():
    after = fig01.AFTER_A_LOSS
    bic, cubic = (as_row(after.row, run(after.run(point, 2))) for point in after.points)
    assert bic["in_order"] == 1
    assert bic["asymmetry"] < 0.05
    assert cubic["of_tolerance"] < 1
    # The first loss of CUBIC's first run is late: the run ends before 2K, and says nothing.
    first = after.run(after.the(algorithm=fig01.CUBIC), 1)
    assert as_row(after.row, run(first))["of_tolerance"] is None


def test_figure_1_would_notice_another_curve():
    time_s = np.arange(0, 20, 0.1)
    formula, _ = fig01.formula(time_s, 1000)
    assert fig01.of_tolerance(time_s, formula, 1000) == 0
    assert fig01.of_tolerance(time_s, formula * 1.03, 1000) > 1
    line = 800 + 20 * time_s
    assert fig01.phases(line, 1000) != fig01.PHASES
    assert fig01.asymmetry(time_s, line, 1000, 10) < 0.003
    assert fig01.asymmetry(time_s, formula**2 / 1000, 1000, 7.9) > 0.01


def test_figure_3_judges_cubic_by_its_region():
    def like(noise, algorithm, rtt_ms, loss_rate):  # noqa: ARG001
        """As the formulas; with small windows simulated TCP is 15 % less, and so is CUBIC."""
        packets = fig03.paper_packets(algorithm, rtt_ms, loss_rate)
        return {"mean_packets": packets * (0.85 if packets < 50 else 1)}

    def unlike(noise, algorithm, rtt_ms, loss_rate):
        row = like(noise, algorithm, rtt_ms, loss_rate)
        return {"mean_packets": row["mean_packets"] * (1.2 if algorithm == fig03.CUBIC else 1)}

    rows = made_up(fig03.RESPONSES, row=like)
    assert verdicts("fig03", rows) == {"fig3.response": "holds", "fig3.1g44": "holds"}
    formulas, *_ = FIGURES["fig03"].claims[0].readings.values()
    assert verdict_of(judged(formulas, rows)) == "fails"
    rows = made_up(fig03.RESPONSES, row=unlike)
    assert verdicts("fig03", rows) == {"fig3.response": "fails", "fig3.1g44": "fails"}


def test_figure_4_needs_the_mean_over_runs_to_converge_and_plateaus():
    def rows(unfair_s, inside):
        def row(noise):
            return {
                "convergence_s": 100.0 * noise,
                "near_inside": inside * noise,
                "near_outside": 0.5,
                "window_s": 10.0,
                "first_mbps": [300.0] * unfair_s + [200.0] * (250 - unfair_s),
                "second_mbps": [100.0] * unfair_s + [200.0] * (250 - unfair_s),
            }

        return made_up(fig04.TWO_CUBIC, row=row)

    for unfair_s, inside, expected in (
        (150, 0.8, "holds"),
        (230, 0.8, "fails"),
        (150, 0.3, "fails"),
    ):
        found = verdicts("fig04", rows(unfair_s, inside))
        assert found == {"fig4.plateau": expected}


def test_windows_near_the_last_maximum_need_another_growth_that_has_fewer():
    for others, expected in ((0.3, "holds"), (0.7, "fails")):

        def row(noise, algorithm, others=others, **_):
            return {"near_part": noise * (0.5 if algorithm == testbed.CUBIC else others)}

        found = verdicts("fig04", made_up(fig04.GROWING, row=row))
        assert found == {"s3.near-wmax": expected}


def test_a_plateau_is_near_the_last_maximum():
    """An epoch of 40 s: 80 of 100 packets for 10 s, 100 for 20 s, then 120."""
    windows = [(t / 5, 80 if t < 50 else 100 if t < 150 else 120, t) for t in range(201)]
    samples = [[*windows, (45, 80, 300)] for _ in range(2)]
    events = [(time_s, flow, 100) for flow in (1, 2) for time_s in (0.05, 40)]
    result = made_by_hand(samples, duration_s=45, starts_s=[0, 0], events=events)
    inside, outside, _ = fig04._near(result)
    assert inside > 0.9
    assert outside < 0.1


def test_figure_6_is_judged_by_the_eight_flows_and_apart_by_when_four_converge():
    good = {"first_share": 0.72, "second_share": 0.23, "both_share": 0.95, "convergence_s": 50.0}
    for change, shares, convergence in (
        ({}, "holds", "holds"),
        ({"both_share": 0.87}, "fails", "holds"),
        ({"convergence_s": 150.0}, "holds", "fails"),
        ({"utilisation": 0.1}, "holds", "holds"),
    ):
        rows = made_up(fig06.MIX, row=lambda noise, of=good | change: {
            name: value * (1 + (noise - 1) / 10) for name, value in of.items()
        })  # fmt: skip
        assert verdicts("fig06", rows) == {"fig6.mix": shares, "fig6.converge": convergence}


SLOPES = {CUBIC: 1.0, SACK: 0.9, BIC: 1.0, HSTCP: 1.6}
HEIGHTS = {CUBIC: 1.0, SACK: 0.7, BIC: 0.2, HSTCP: 1.0}


def two_rtts(noise, algorithm, rtt_ms):
    """As in the paper: a power law of the RTT ratio."""
    ratio = noise * HEIGHTS[algorithm] * (rtt_ms / fig09.RTT_1_MS) ** SLOPES[algorithm]
    same = {"utilisation": 0.99, "window_ratio": noise}
    return {"ratio": ratio, "fairness": min(ratio, 1 / ratio)} | same


def test_figure_9():
    claim = "fig9.rtt-fairness"
    others = {"fig9b.hstcp-full": "holds", "s1.equal-windows": "holds"}
    found = verdicts("fig09", made_up(fig09.TWO_RTTS, row=two_rtts))
    assert found == others | {claim: "holds"}

    def like_sack(noise, algorithm, rtt_ms):
        """HSTCP has SACK's slope."""
        return two_rtts(noise, SACK if algorithm == HSTCP else algorithm, rtt_ms)

    rows = made_up(fig09.TWO_RTTS, row=like_sack)
    assert verdicts("fig09", rows) == others | {claim: "open"}

    def flat(noise, algorithm, rtt_ms):
        """CUBIC's ratio does not depend on the RTT."""
        return two_rtts(noise, algorithm, 162 if algorithm == CUBIC else rtt_ms)

    assert verdicts("fig09", made_up(fig09.TWO_RTTS, row=flat)) == others | {claim: "fails"}
    for fairness, verdict in ((0.6, "holds"), (0.9, "fails")):
        rows = made_up(fig09.LATE_HSTCP, row=lambda noise, of=fairness: {"fairness": noise * of})
        assert verdicts("fig09", rows) == {"fig9.hstcp-no-converge": verdict}


def beside_sack(noise, buffer, rate_mbps, rtt_ms, algorithm):  # noqa: ARG001
    """As in the paper: at 10 ms CUBIC is like SACK; BIC and HSTCP take more of a faster link."""
    power = {SACK: 0, CUBIC: 0, BIC: 0.2, HSTCP: 0.15}[algorithm]
    if rtt_ms > 10:
        power = {SACK: 0, CUBIC: 0.15, BIC: 0.2, HSTCP: 0.25}[algorithm]
    # At some rates CUBIC is more friendly than SACK itself.
    friendlier = 0.95 if algorithm == CUBIC and (rtt_ms, rate_mbps) == (10, 100) else 1
    # At 100 ms and low rates HSTCP takes less than CUBIC.
    more = {CUBIC: 1.1, BIC: 1.1, HSTCP: 0.9, SACK: 1}[algorithm] if rtt_ms > 10 else 1
    ratio = noise * friendlier * more * (rate_mbps / 10) ** power
    full = 0.8 if algorithm == SACK and rtt_ms == 160 else 0.98
    sack = full / (1 + ratio)
    return {
        "first_share": full - sack,
        "second_share": sack,
        "both_share": full,
        "ratio": ratio,
        "utilisation": full,
    }


def test_figure_10():
    a, b, full, _, c = (claim.id.partition(".")[2] for claim in FIGURES["fig10"].claims)
    rows = made_up(fig10.BESIDE_SACK, row=beside_sack)
    assert verdicts("fig10", rows) == {a: "holds", b: "holds", full: "holds", c: "holds"}

    def greedy(noise, algorithm, **point):
        """CUBIC takes what BIC does, and half as much again."""
        row = beside_sack(noise, algorithm=BIC if algorithm == CUBIC else algorithm, **point)
        if algorithm == CUBIC:
            row |= {"ratio": 1.5 * row["ratio"], "second_share": 0.7 * row["second_share"]}
        return row

    rows = made_up(fig10.BESIDE_SACK, row=greedy)
    assert verdicts("fig10", rows) == {a: "fails", b: "fails", full: "holds", c: "holds"}


def test_a_control_that_is_unfair_itself_excuses_cubic():
    """SACK beside SACK gets 1.5 times as much by its place: so may CUBIC."""

    def skewed(noise, **point):
        row = beside_sack(noise, **point)
        return row | {"ratio": 1.5 * row["ratio"]}

    rows = made_up(fig10.BESIDE_SACK, row=skewed)
    claim = FIGURES["fig10"].claims[1]
    assert verdict_of(judged(claim.parts, rows)) == "holds"
    assert verdict_of(judged(claim.readings["CUBIC / SACK"], rows)) == "fails"
