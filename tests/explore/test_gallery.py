"""The pictures of the gallery's cards are those of the runs that a click starts."""

import re

import numpy as np
import polars as pl
import pytest

import claims_page
import gallery_pictures
import lab_page
from ackclock import Scenario, run
from ackclock.draw import plot
from ackclock.explore import figures, gallery
from ackclock.pages import tally
from ackclock.results import measures
from acts import until_whole
from common import ROOT


def test_the_pictures_are_those_of_the_runs():
    scenarios = gallery.scenarios()
    assert len(scenarios) == 10
    for each in scenarios:
        assert gallery_pictures.lines(each["toml"]) == each["sparkline"], "type: make generate"


def test_the_papers_figures_have_the_verdicts_of_the_documents():
    written = tally.VERDICTS.read_text(encoding="utf-8")
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
    lost = ran["slow-start"].events.filter(pl.col("kind") == "recovery")
    assert lost["cwnd_packets"].to_list() == [668, 334]
    assert lost["ssthresh_packets"].to_list() == [334, 167]
    held = ran["slow-start"].queues["queue_packets"].max() + 167  # of a BDP on the way
    assert held == pytest.approx(333, abs=2)
    # Both flows have their halves; the one over 100 ms has less.
    slow, fast = measures.goodputs_bps(ran["fairness"]), measures.goodputs_bps(ran["rtt"])
    assert measures.jain_index(slow) > 0.99
    assert fast[0] > 3 * fast[1]


def test_the_flows_of_a_card_can_be_told_apart(lab):
    """In its picture as above it."""
    for each in gallery.scenarios():
        card = lab.locator(f'.card[data-name="{each["name"]}"]')
        strokes = card.locator("path").evaluate_all(
            "all => all.map((each) => getComputedStyle(each).stroke)"
        )
        dots = card.locator(".dot").evaluate_all(
            "all => all.map((each) => getComputedStyle(each).backgroundColor)"
        )
        assert strokes == dots
        assert len(dots) == len(set(dots)) == each["toml"].count("[[flow]]")


def test_ten_flows_can_be_told_apart(lab, site):
    """On the page, in the picture that it exports, and in that of `ackclock plot`."""
    scenario = Scenario.from_text(
        'duration = "5s"\nrtt = "20ms"\n[bottleneck]\nrate = "20mbit"\nbuffer = "1bdp"\n'
        '[[flow]]\nalgorithm = "reno"\ncount = 10\n',
        source="",
    )
    page = lab.context.new_page()
    page.goto(f"{site.url}{lab_page.link((scenario, 'ten'))}")
    until_whole(page, 10)
    keys = page.locator(".run .line").evaluate_all("all => all.map((each) => each.style.borderTop)")
    assert len(set(keys)) == 10
    page.locator("#export summary").click()
    with page.expect_download() as exported:
        page.click("#export-svg")
    svg = exported.value.path().read_text()
    (windows,) = re.findall(r'<g clip-path="url\(#cwnd\)".*?</g>', svg, re.DOTALL)
    lines = set(re.findall(r'stroke="(#\w+)"( stroke-dasharray="[\d ]+")?/>', windows))
    assert len(lines) == 10
    drawn = plot.overview(run(scenario), ["cwnd"]).axes[0].get_lines()[:10]
    assert len({(line.get_color(), line.get_linestyle()) for line in drawn}) == 10
