"""The experiments of Leith et al. 2007: their setup, their measures, what their claims notice."""

from itertools import pairwise

import numpy as np
import pytest

from ackclock import papers, run
from ackclock.figures.claim import judged, verdict_of
from ackclock.figures.experiment import as_row, repeats_of, set_where_it_fits
from ackclock.papers.leith2007 import (
    _ratios,
    _starved,
    _testbed,
    _unsync,
    fig02,
    fig04,
    fig05,
    fig09,
    fig11,
    fig12,
    fig13,
    probing,
)
from ackclock.papers.leith2007._testbed import CUBIC, HTCP, RENO
from common import made_by_hand
from made_up import made_up

FIGURES = {each.name.partition("/")[2]: each.figure for each in papers.load("leith2007")}
EXPERIMENTS = {
    experiment.name: experiment for each in FIGURES.values() for experiment in each.experiments
}


def verdict(name, rows, reading=None):
    """Of a claim, or of one of its readings."""
    (claim,) = (each for of in FIGURES.values() for each in of.claims if each.id.endswith(name))
    return verdict_of(judged(claim.readings[reading] if reading else claim.parts, rows))


@pytest.mark.parametrize("experiment", EXPERIMENTS.values(), ids=lambda each: each.name)
def test_the_testbed_is_the_papers(experiment):
    for point in experiment.points:
        scenario = experiment.scenario(**point)
        links = scenario.links or [scenario.bottleneck]
        assert (scenario.profile, scenario.tso) == ("linux-2.6.18", False)
        assert [link.tick for link in links] == ["1ms"]
        of_cubic = {each.algorithm for each in (*scenario.flows, *scenario.sessions)}
        brief = (fig05.DOWNLOADS, _starved.PIPE, probing.PROBING)
        hour = RENO in of_cubic and experiment not in brief
        hour |= experiment in (_unsync.WITH_25, _unsync.WITH_50, _unsync.WITHOUT)
        assert (scenario.duration == "3600s") == hour


@pytest.mark.parametrize("experiment", EXPERIMENTS.values(), ids=lambda each: each.name)
def test_each_variant_changes_runs_that_can_run(experiment):
    usual = [scenario for _, _, scenario in repeats_of(experiment, experiment.points, [1])]
    for variant in experiment.variants:
        repeats = repeats_of(experiment, experiment.points, [1], variant.arguments)
        changed = [set_where_it_fits(scenario, variant.settings) for _, _, scenario in repeats]
        only_standard = all(flow.algorithm == RENO for each in usual for flow in each.flows)
        of_cubic_alone = variant is _testbed.READING and only_standard
        of_sessions = variant.of == "sessions" and not usual[0].sessions
        assert (changed != usual) or of_cubic_alone or of_sessions, variant.name
        changed[0].check()


@pytest.mark.parametrize("experiment", EXPERIMENTS.values(), ids=lambda each: each.name)
def test_a_short_run_has_a_row(experiment):
    """In the packets of a run on a slow link; some numbers need a longer run."""
    scenario = experiment.scenario(**experiment.points[0])
    link = "link.1" if scenario.links else "bottleneck"
    short = scenario.assign("duration=310s", f"{link}.rate=2mbit", f"{link}.buffer=20packets")
    if experiment.name == "Algorithm 1":
        short = scenario.assign("duration=120s", "bottleneck.rate=50mbit")
    assert set(experiment.columns) <= set(as_row(experiment.row, run(short)))


def test_an_hour_is_measured_after_ten_minutes():
    """First 9 : 1, after 600 s 1 : 3, and in the last 200 s 1 : 1."""

    def after(rates):
        edges = (0, 600, 3400, 3600)
        total, samples = 0, []
        for rate, (start, stop) in zip(rates, pairwise(edges), strict=True):
            samples += [(t, 10, total + rate * (t - start)) for t in range(start, stop)]
            total += rate * (stop - start)
        return [*samples, (3600, 10, total)]

    result = made_by_hand([after((9, 1, 2)), after((1, 3, 2))], duration_s=3600, starts_s=[0, 1])
    row = _ratios.row(result)
    assert row.ratio == pytest.approx((2800 + 400) / (8400 + 400))
    assert (row.last_ratio, row.last_fairness) == (pytest.approx(1), pytest.approx(1))


def test_the_autocorrelation_of_what_alternates():
    assert _testbed.lag_1([1, 2] * 20) == pytest.approx(-1, abs=0.05)
    assert _testbed.lag_1(list(range(40))) > 0.9
    assert _testbed.lag_1([1, 2, 1]) is None


def test_an_excursion_is_a_peak_over_the_flows_previous_one():
    samples = [[(t, 10, 30 * t) for t in range(2001)] for _ in range(3)]
    events = [(time, flow, 100) for flow in (1, 2, 3) for time in range(300, 1900, 100)]
    events[5] = (800, 1, 190)
    result = made_by_hand(samples, duration_s=2000, starts_s=[0, 0, 0], events=events)
    assert _unsync.row(result).excursion == pytest.approx(1.9)
    assert _unsync.row(result).window_ratio == pytest.approx(1)


def test_convergence_grows_with_the_rate():
    def rows(at_500_s, at_250_s=250):
        by_rate = {10: 50, 250: at_250_s, 500: at_500_s}
        return made_up(
            fig02.JOINED,
            row=lambda noise, rate_mbps, **_: {"convergence_s": noise * by_rate[rate_mbps]},
        )

    assert verdict("fig2.slow-convergence", rows(400)) == "holds"
    assert verdict("fig2.slow-convergence", rows(280)) == "fails"
    assert verdict("fig2.slow-convergence", rows(400, at_250_s=500)) == "fails"


def test_a_period_two_cycle_is_one_of_the_epochs_length():
    def rows(at_250):
        return made_up(
            fig02.JOINED,
            row=lambda noise, rate_mbps, **_: {
                "epochs_lag_1": noise * (-0.9 if rate_mbps == 10 else at_250),
                "peaks_lag_1": 0.3 * noise,
            },
        )

    assert verdict("fig7.period-two", rows(-0.9)) == "holds"
    assert verdict("fig7.period-two", rows(-0.2)) == "fails"
    assert verdict("fig7.period-two", rows(-0.9), "of the peaks") == "fails"


@pytest.mark.parametrize(
    ("part", "expected"),
    [(None, "holds"), (HTCP, "fails"), (CUBIC, "fails"), (RENO, "fails"), ("long", "fails")],
)
def test_each_part_of_figure_5_counts(part, expected):
    slower = {RENO: 1.1, CUBIC: 4.5, HTCP: 2.0} | ({part: 3.5, CUBIC: 2} if part == CUBIC else {})
    if part in (HTCP, RENO):
        slower[part] = 3.5
    long_mbps = {RENO: 40, CUBIC: 150, HTCP: 90 if part == "long" else 180}

    def row(noise, algorithm, where, size_mb, **_):
        beside = where == fig05.BESIDE
        factor = slower[algorithm] if beside else 1
        # Small downloads do not count.
        factor = factor if size_mb >= 20 else 10
        return {
            "completion_s": noise * size_mb * factor,
            "long_mbps": noise**3 * long_mbps[algorithm] if beside else None,
        }

    assert verdict("fig5.short-flow", made_up(fig05.DOWNLOADS, row=row)) == expected


@pytest.mark.parametrize(
    ("starved_in", "standard", "expected"),
    [
        (_starved.PIPES, 0.4, "holds"),
        ((_starved.OWN,), 0.4, "fails"),
        (_starved.PIPES, 0.1, "fails"),  # standard TCP starves there, too
    ],
)
def test_starvation_counts_at_13_packets_in_each_pipe(starved_in, standard, expected):
    def row(noise, pair, pipe, **_):
        share = standard if pair == _starved.STANDARD else 0.1 if pipe in starved_in else 0.4
        return {"smaller_share": noise * share, "unequal": 1 / (noise * share) - 1}

    rows = made_up(_starved.PIPE, row=row)
    assert verdict("fig14.starvation-1M", rows) == expected
    assert verdict("fig16.std-1M", rows) == expected


def test_acks_share_the_pipe_or_do_not():
    """In the data's pipe each ACK takes a slot: less is left for data."""
    shares = []
    for pipe in _starved.PIPES:
        point = {"pair": _starved.BOTH, "pipe": pipe, "slots": 13}
        scenario = _starved.PIPE.scenario(**point).replace(duration="60s")
        result = run(scenario)
        shares.append(result.queues["enqueued_packets"].max() / result.manifest["packets"])
    assert shares[0] < 1.05
    assert shares[1] > 1.3


@pytest.mark.parametrize(("effect", "expected"), [(0.4, "holds"), (0.1, "holds"), (0, "open")])
def test_the_start_matters_if_it_explains_more_than_chance(effect, expected):
    random = np.random.default_rng(3)

    def row(_, start_s):
        return {"ratio": float(np.exp(effect * (start_s % 3) + random.normal(0, 0.05)))}

    rows = made_up(fig13.STARTS, row=row)
    assert verdict("fig13.start-time", rows) == expected


def test_generally_fairer_is_fairer_in_the_mean_over_the_rtts():
    def rows(cubic):
        def row(noise, rtt_ms, **_):
            return {"ratio": 0.6 * noise, "fairness": cubic[rtt_ms > 100] * noise}

        def standard(noise, **_):
            return {"ratio": 0.3, "fairness": 0.5 * noise}

        return made_up(*fig12.CUBIC.values(), row=row) | made_up(
            *fig12.STANDARD.values(), row=standard
        )

    at_every_rtt = "fairer at every RTT"
    assert verdict("fig12.rtt-ratio", rows((0.9, 0.9))) == "holds"
    assert verdict("fig12.rtt-ratio", rows((0.9, 0.4))) == "holds"
    assert verdict("fig12.rtt-ratio", rows((0.9, 0.4)), at_every_rtt) == "fails"
    assert verdict("fig12.rtt-ratio", rows((0.4, 0.5))) == "fails"


@pytest.mark.parametrize(
    ("cubic", "standard", "expected"), [(0.5, 0.9, "holds"), (0.9, 0.95, "fails")]
)
def test_around_a_half_is_a_part_of_figure_11(cubic, standard, expected):
    def row(noise, algorithm, **_):
        return {"utilisation": noise * (cubic if algorithm == CUBIC else standard)}

    experiments = {column.experiment for column in fig11.UTILISATION.values()}
    rows = made_up(*experiments, row=row)
    assert verdict("fig11.util-250M", rows) == expected
    assert verdict("fig11.util-250M", rows, "only less than standard TCP") == "holds"


@pytest.mark.parametrize(("own", "expected"), [([1, 5, 4], "holds"), ([4, 5, 1], "fails")])
def test_the_distance_of_distributions_against_that_of_another_back_off(own, expected):
    counts = {CUBIC: [5, 5, 0], _unsync.HTCP: [4, 5, 1], _unsync.OWN: own}

    def row(noise, algorithm, **_):  # noqa: ARG001
        return {"cwnd_counts": counts[algorithm], "all_lose": 0.5}

    rows = made_up(_unsync.WITH_25, row=row)
    assert fig09.DISTANCE.estimate(rows).mean == pytest.approx(0.1)
    assert verdict("fig9.cwnd-distribution", rows) == expected


@pytest.mark.parametrize(("control", "expected"), [(1.1, "holds"), (1.5, "fails")])
def test_sessions_count_against_none(control, expected):
    """Unfairness and excursions that flows alone have as well are not those of sessions."""

    def row(of):
        return lambda noise, **_: {
            "hour_ratio": 1.1, "window_ratio": of * noise, "excursion": of * noise
        }  # fmt: skip

    rows = made_up(_unsync.WITH_25, _unsync.WITH_50, row=row(1.6))
    rows |= made_up(_unsync.WITHOUT, row=row(control))
    assert verdict("fig6.unsync", rows) == expected
    assert verdict("fig10.excursions", rows) == expected


@pytest.mark.parametrize(("alone_s", "expected"), [(300, "holds"), (100, "fails")])
def test_web_flows_are_compared_with_none(alone_s, expected):
    """The mean over the runs is unfair for 300 s."""

    def web(noise):  # noqa: ARG001
        return {
            "window_s": 10.0,
            "first_mbps": [150.0] * 300 + [100.0] * 200,
            "second_mbps": [50.0] * 300 + [100.0] * 200,
        }

    rows = made_up(fig04.WEB, row=web)
    rows |= made_up(fig02.JOINED, row=lambda noise, **_: {"convergence_s": noise * alone_s})
    assert fig04.OF_MEAN[0.8].estimate(rows).mean == 296
    assert verdict("fig4.web-ensemble", rows) == expected
