"""The pictures of the gallery's cards are those of the runs that a click starts."""

import numpy as np
import polars as pl
import pytest

import claims_page
import gallery_pictures
import lab_page
from ackclock import Scenario, run
from ackclock.explore import figures, gallery
from ackclock.results import measures
from common import ROOT


def test_the_pictures_are_those_of_the_runs():
    scenarios = gallery.scenarios()
    assert len(scenarios) == 10
    for each in scenarios:
        assert gallery_pictures.lines(each["toml"]) == each["sparkline"], "type: make generate"


def test_the_papers_figures_have_the_verdicts_of_the_documents():
    written = figures.VERDICTS.read_text(encoding="utf-8")
    rows = claims_page.data(ROOT / "docs")
    assert written == claims_page.verdicts(rows), "type: python scripts/claims_page.py docs"
    told = figures.told()
    assert len(told) > 35
    for each in told:
        assert 1 <= len(each["runs"]) <= figures.MOST_RUNS
        runs = [(Scenario.from_text(one["toml"], source=""), one["title"]) for one in each["runs"]]
        assert lab_page.link(*runs)  # also without a server


def steps():
    return {
        each["name"][2:]: run(Scenario.from_text(each["toml"], source=""))
        for each in gallery.tour()
    }


def test_what_the_steps_of_the_tour_say_is_so():
    ran = steps()
    assert list(ran) == ["window", "queue", "slow-start", "cubic", "fairness", "rtt"]
    # One packet more in each RTT; the throughput is window / RTT.
    rows = ran["window"].samples
    cwnd, time_us, delivered = (
        rows[name].to_numpy() for name in ("cwnd_packets", "time_us", "delivered_packets")
    )
    late = time_us > 2e6
    rise = np.diff(cwnd[late][[0, -1]]) / np.diff(time_us[late][[0, -1]]) * 100e3
    assert rise == pytest.approx(1, abs=0.05)
    got = np.interp(9.05e6, time_us, delivered) - np.interp(8.95e6, time_us, delivered)
    assert got == pytest.approx(np.interp(8.95e6, time_us, cwnd), rel=0.05)
    # 83 packets on their way: more wait.
    rows, queues = ran["queue"].samples, ran["queue"].queues
    assert measures.utilisation(ran["queue"], 5, 12) > 0.999
    waiting = queues.filter(pl.col("time_us") == 12_000_000)["queue_packets"][0]
    assert rows["cwnd_packets"][-1] - waiting == pytest.approx(83, abs=3)
    # The window doubles in each RTT until packets are lost.
    rows = ran["slow-start"].samples
    at = np.interp([150e3, 250e3, 350e3], rows["time_us"], rows["cwnd_packets"])
    assert at == pytest.approx([10, 20, 40], rel=0.1)
    assert "recovery" in ran["slow-start"].events["kind"].to_list()
    # Both flows have their halves; the one over 100 ms has less.
    slow, fast = measures.goodputs_bps(ran["fairness"]), measures.goodputs_bps(ran["rtt"])
    assert measures.jain_index(slow) > 0.99
    assert fast[0] > 3 * fast[1]
