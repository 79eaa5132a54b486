"""The experiments of Ha et al. 2008: their setup, and what needs no repeats to be checked."""

import numpy as np
import polars as pl
import pytest

from ackclock import papers, run
from ackclock.papers.ha2008 import fig01, fig02, fig03, fig04, fig09, table01
from conftest import made_by_hand

SEEDS = range(1, 11)


@pytest.mark.parametrize("name", ["fig04", "fig05", "fig06", "fig08", "fig09", "fig10"])
def test_the_testbed_is_the_papers(name):
    ((_, module),) = papers.load(f"ha2008/{name}")
    assert module.SEEDS >= 10
    for scenario in module.grid(SEEDS):
        assert scenario.profile == "linux-2.6.25"
        assert scenario.bottleneck.buffer == ("2MB" if name in ("fig08", "fig09") else "1bdp")
        assert scenario.bottleneck.rate == "400mbit" or name == "fig10"
        assert {session.direction for session in scenario.sessions} == {"forward", "reverse"}
        assert {session.receive_window for session in scenario.sessions} == {"64KiB"}
        assert {flow.receive_window for flow in scenario.flows} == {None}


def test_figure_1_has_the_growth_functions():
    bic, cubic = (fig01.reduce(run(scenario)) for scenario in fig01.grid([1]))
    assert bic["in_order"]
    assert bic["asymmetry"] < 0.05
    assert cubic["of_tolerance"] < 1


def test_figure_1_would_notice_another_curve():
    time_s = np.arange(0, 20, 0.1)
    formula, _ = fig01._formula(time_s, 1000)
    assert fig01._cubic(time_s, formula, 1000)["of_tolerance"] == 0
    assert fig01._cubic(time_s, formula * 1.03, 1000)["of_tolerance"] > 1
    line = 800 + 20 * time_s
    assert not fig01._bic(time_s, line, 1000)["in_order"]
    assert fig01._asymmetry(time_s, line, 1000, 10) < 0.003
    assert fig01._asymmetry(time_s, formula**2 / 1000, 1000, 7.9) > 0.01


def test_figure_2_compiles_when_it_runs():
    rows = pl.DataFrame([fig02.reduce(run(scenario)) for scenario in fig02.grid([1])])
    assert rows["name"].to_list() == ["two_hooks", "reno"]
    assert [claim.verdict for claim in fig02.claims(rows)] == ["holds"]


def test_figure_3_judges_each_loss_rate():
    point = {"algorithm": "cubic@ha2008", "rtt": "10ms", "rtt_ms": 10, "analytic_packets": 1.0}
    compared = [
        point | {"algorithm": algorithm, "loss_rate": 1e-6, "simulated_packets": packets}
        for algorithm, packets in (("reno", 1200.0), ("highspeed@rfc3649", 12000.0))
    ]
    good = [point | {"loss_rate": p, "simulated_packets": 1.2 / p**0.5} for p in (1e-6, 1e-3, 1e-2)]
    bad = [*good, point | {"loss_rate": 1e-4, "simulated_packets": 150.0}]
    for rows, verdict in ((good, "holds"), (bad, "fails")):
        claims = fig03.claims(pl.DataFrame(compared + rows))
        assert [claim.verdict for claim in claims] == [verdict, "holds"]
    assert len(fig03.quick_grid([1])) < len(fig03.grid([1]))


def test_figure_4_finds_the_first_fair_window():
    """Packets per s: 100 and 0, from 30 s on 50 each: windows of 10 s are fair from 31 on."""
    first = [(t, 10, 100 * min(t, 30) + 50 * max(t - 30, 0)) for t in range(61)]
    second = [(t, 10, 50 * max(t - 30, 0)) for t in range(61)]
    result = made_by_hand([first, second], duration_s=60, starts_s=[0, 1])
    row = fig04.reduce(result)
    # From 28 s: 2 s of 100 v 0, 8 s of 50 each, so 600 v 400, which is 0.8 of the mean.
    assert row["fair_s"] == 28 - 1 + 10
    assert row["cut_off_s"] == 59


def test_figure_9_knows_when_hstcp_is_late():
    long = [scenario for scenario in fig09.grid([1]) if scenario.duration != "200s"]
    assert [scenario.duration for scenario in long] == ["250s"]
    assert {flow.rtt for flow in long[0].flows} == {"162ms"}
    assert long[0].flows[0].algorithm.startswith("highspeed")


def test_table_1_tells_the_versions_apart():
    rows = pl.DataFrame([table01.reduce(run(scenario)) for scenario in table01.grid([1])])
    (claim,) = table01.claims(rows)
    assert claim.verdict == "holds", claim.bound
    swapped = rows.with_columns(algorithm=rows["algorithm"].reverse())
    (claim,) = table01.claims(swapped)
    assert claim.verdict == "fails"
