"""A scorecard and an attack of the page without a server: in Node and in Chromium."""

import json
import shutil
import subprocess
from pathlib import Path

import pytest
from playwright.sync_api import expect

import lab_judges
import lab_page
from ackclock import Scenario, evaluate, metrics, run
from acts import fill, show_form
from common import NODE, SLOW_MS, serving
from conftest import ENGINE, opened
from lab_page import CLANG

#: Candidates of an attack are a quarter of these.
TRIES = 96
#: A window of one packet: it carries next to nothing.
TIMID = """#include "tcp_cc.h"
CC_HOOK(u32, timid_ssthresh, struct sock *sk) { return 2; }
CC_HOOK(void, timid_avoid, struct sock *sk, u32 ack, u32 acked) { tcp_sk(sk)->snd_cwnd = 1; }
CC_HOOK(u32, timid_undo, struct sock *sk) { return 1; }
CC_ALGORITHM(timid, "timid", .ssthresh = timid_ssthresh, .cong_avoid = timid_avoid,
             .undo_cwnd = timid_undo);
"""
#: It writes where nothing is.
CRASHES = TIMID.replace("tcp_sk(sk)->snd_cwnd = 1", "*(u32 *)(ack & 0) = 1")

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        not ENGINE.exists() or not shutil.which("node"),
        reason="the laboratory in a browser is not built: make lab, and Node",
    ),
]


@pytest.fixture(scope="module")
def judging(tmp_path_factory):
    """The page with what it needs to judge."""
    root = tmp_path_factory.mktemp("site")
    lab_judges.write(root / "lab", TRIES)
    lab_page.write(root / "lab")
    with serving(root) as running:
        yield running


def judged(judging, what, algorithm):
    """What the page's own code finds, in Node."""
    command = [*NODE, Path(__file__).parent / "judge.mjs", judging.root, what, algorithm]
    return json.loads(subprocess.run(command, stdout=-1, text=True, check=True).stdout)


def assert_same(found, ours, where):
    """An estimate, and that of `ackclock evaluate`."""
    if ours is None or found is None:
        assert found is ours, where
        return
    for key in ("mean", "low", "high", "n", "censored"):
        end = None if isinstance(found[key], str) else found[key]
        assert end == (None if ours[key] is None else pytest.approx(ours[key], rel=1e-9)), where


def test_the_card_is_that_of_evaluate(judging):
    """Every number, difference and mark of the quick rows."""
    algorithm = "bbr"  # better, worse, and unsafe
    card = judged(judging, "scorecard", algorithm)
    ours = evaluate(algorithm, quick=True, nonce=0)
    assert card["says"] == ours["headline"].replace("CUBIC", "cubic").replace("Reno", "reno")
    assert [row["row"] for row in card["rows"]] == [row["row"] for row in ours["rows"]]
    for row, expected in zip(card["rows"], ours["rows"], strict=True):
        assert row["unsafe"] == bool(expected["unsafe"])
        assert dict(zip(card["others"], row["marks"], strict=True)) == expected["marks"]
        for answer, number in zip(row["answers"], expected["numbers"], strict=True):
            where = (row["row"], number["name"])
            assert answer["number"]["name"] == number["name"]
            assert_same(answer["found"], number["found"][algorithm], where)
            for against in answer["against"]:
                other = against["other"]
                assert_same(against["found"], number["found"][other], where)
                assert_same(against["difference"], number["differences"][other], where)
                assert against["mark"] == number["marks"][other], where


def test_an_attack_finds_the_worst_of_its_scenarios(judging):
    found = judged(judging, "attack", "bbr")
    asked = json.loads((judging.root / "attack.json").read_text())

    def goodputs_bps(toml, name):
        scenario = Scenario.from_text(toml.replace('"yours"', f'"{name}"'), source="")
        return metrics.goodput_bps(run(scenario))

    def harm(bps, each):
        beside = bps[each["own"] : each["own"] + each["others"]].mean()
        return min(max(1 - beside / max(each["alone_bps"], 1), 0), 1)

    more = []
    for each in asked["scenarios"]:
        mine = harm(goodputs_bps(each["toml"], "bbr"), each)
        more.append(mine - min(max(1 - each["beside_bps"] / max(each["alone_bps"], 1), 0), 1))
    worst = asked["scenarios"][max(range(len(more)), key=more.__getitem__)]
    assert found["toml"] == worst["toml"].replace('"yours"', '"bbr"')
    assert f"the worst of {len(more)} scenarios, 3 seeds" in found["says"]


def test_both_buttons_without_a_server(browser, judging):
    with opened(browser, "phone", judging) as page:
        show_form(page)
        page.click("[data-judge=scorecard]")
        chip = page.locator(".run", has_text="Scorecard of cubic")
        shown = chip.get_by_role("button", name="Open", exact=True)
        expect(shown).to_be_visible(timeout=4 * SLOW_MS)
        expect(chip).to_contain_text("against reno: ")
        with page.expect_popup() as card:
            shown.click()
        expect(card.value.locator("h1")).to_have_text("Scorecard of cubic")
        assert card.value.locator("#R16 tr").count() > 1
        expect(card.value.locator("header.bar")).to_have_css("display", "flex")  # has its style
        show_form(page)
        page.click("[data-judge=attack]")
        chip = page.locator(".run", has_text="Attack on cubic")
        again = chip.get_by_role("button", name="Run it")
        expect(again).to_be_visible(timeout=4 * SLOW_MS)
        expect(chip).to_contain_text("reno in its place")
        again.click()
        page.locator(".run[data-state=done]", has_text="what it found").wait_for()


@pytest.mark.skipif(not CLANG.exists(), reason="no C compiler for a browser: make .venv/clang")
@pytest.mark.parametrize(
    ("what", "text", "says"),
    [
        ("scorecard", TIMID, "failed in links"),
        ("scorecard", CRASHES, "failed in links"),
        ("attack", CRASHES, "my_cc.c:3, function timid_avoid"),
    ],
)
def test_a_file_of_one_s_own_is_judged(browser, judging, what, text, says):
    with opened(browser, "wide", judging) as page:
        fill(page, "flow 1.algorithm", "my_cc.c")
        page.click("[data-tab=code]")
        page.locator("#editor textarea").fill(text)
        page.click(f"[data-judge={what}]")
        chip = page.locator(".run", has_text="my_cc.c")
        expect(chip).to_contain_text(says, timeout=4 * SLOW_MS)
