"""The live page in a real browser, wide and on a phone: from the form to the curve."""

import re

import pytest
from playwright.sync_api import expect

from acts import (
    coloured,
    fill,
    run,
    show_form,
    shown,
    until,
    until_curves,
    until_drawn,
    until_whole,
)
from common import needs_testbed
from explorer import LONG


def test_from_the_form_to_the_curve(page, tmp_path):
    fill(page, "duration", "20s")
    fill(page, "bottleneck.rate", "20mbit")
    fill(page, "bottleneck.queue", "codel")
    fill(page, "flow 1.algorithm", "reno")
    page.click("text=Add a flow")
    fill(page, "flow 2.algorithm", "bbr")
    fill(page, "flow 2.start", "3s")
    chip = run(page)
    expect(chip).to_contain_text("Reno")
    expect(chip).to_contain_text(re.compile(r"BBR [\d.]+ Mb/s"))
    for panel in ("cwnd", "throughput", "rtt"):
        until_drawn(page, panel)
    page.click("[data-tab=toml]") if not page.phone else None
    toml = page.locator("#toml")
    expect(toml).to_have_value(re.compile('queue = "codel"'))
    expect(toml).to_have_value(re.compile('algorithm = "bbr"\nstart = "3s"'))
    page.screenshot(path=tmp_path / "form.png", full_page=True)


def test_a_scenario_of_the_gallery_is_one_click(page, tmp_path):
    page.click('.card[data-name="03-cubicfc-v-cubic"]')
    chip = page.locator(".run")
    expect(chip).to_have_attribute("data-state", "done")
    expect(chip).to_contain_text("Cubic-FC makes room sooner")
    # The rates are of one interval, and together no more than the payload of 100 Mb/s.
    expect(chip).to_contain_text("rates: 20–120 s")
    mbps = re.findall(r"([\d.]+) Mb/s", chip.inner_text())
    assert len(mbps) == 2
    assert 90 < sum(map(float, mbps)) < 96.6
    until_drawn(page)
    page.screenshot(path=tmp_path / "gallery.png", full_page=True)


def hold_first(page, path):
    """Keeps the answer to the first request for a path: the list has its route and itself."""
    held = []

    def hold(route):
        if held:
            route.continue_()
        else:
            held.append((route, route.fetch()))

    page.route(path, hold)
    return held


def test_a_second_card_replaces_the_first_that_has_not_begun(page, server):
    """The answer to the first comes after the click on the second."""
    held = hold_first(page, "**/api/runs")
    page.click('.card[data-name="03-cubicfc-v-cubic"]')
    until(page, lambda: held, "the first start")
    page.click('.card[data-name="07-bbr-shallow"]')
    route, answer = held[0]
    route.fulfill(response=answer)
    chip = page.locator(".run", has_text="BBR in a shallow buffer")
    expect(chip).to_have_attribute("data-state", "done")
    expect(page.locator(".run")).to_have_count(1)
    server.wait(answer.json()["id"], "cancelled", "done")


@pytest.mark.parametrize("act", ["type", "begin", "choose"])
def test_what_is_done_while_the_page_opens_stays(page, server, act):
    """The answer with the scenario that the form begins with comes late."""
    other = page.context.new_page()
    other.phone = page.phone
    held = hold_first(other, "**/api/check")
    other.goto(server.url)
    until(other, lambda: held, "the first scenario")
    toml = other.locator("#toml")
    if act == "choose":
        other.click('.card[data-name="07-bbr-shallow"]')
        expect(toml).to_have_value(re.compile("bbr"))
    else:
        show_form(other)
        other.click("[data-tab=toml]")
        toml.select_text()
        if act == "type":
            toml.fill("# typed")
    before = toml.input_value()
    route, answer = held[0]
    route.fulfill(response=answer)
    expect(other.locator('[data-path="duration"]')).to_have_count(1)  # the form is filled
    if act == "begin":
        expect(toml).not_to_have_value("")
        before = "# typed"
        other.keyboard.insert_text(before)
    expect(toml).to_have_value(before)


def test_runs_overlay_and_each_can_be_hidden_and_removed(page):
    fill(page, "duration", "10s")
    run(page)
    show_form(page)
    page.locator('[data-path="bottleneck.buffer"]').fill("2bdp")
    page.keyboard.press("Control+Enter")  # out of the field, which still has the focus
    expect(page.locator(".run")).to_have_count(2)
    chip = page.locator(".run").last
    expect(chip).to_contain_text("buffer 2bdp")
    expect(chip).to_have_attribute("data-state", "done")
    until_whole(page, 2)
    until_drawn(page)
    look = "each => getComputedStyle(each).borderTopColor.match(/\\d+/g).map(Number)"
    colour = chip.locator(".line").evaluate(look)
    until(page, lambda: coloured(page, "cwnd", colour) > 100, "the second curve")
    chip.get_by_text("Hide").click()
    until_curves(page, 1)
    until(page, lambda: coloured(page, "cwnd", colour) == 0, "a curve that is gone")
    chip.get_by_title("Remove").click()
    expect(page.locator(".run")).to_have_count(1)
    page.locator(".run").get_by_title("Remove").click()
    expect(page.locator("#gallery")).to_be_visible()


def test_zoom_is_linked_and_the_pointer_gives_values(page):
    fill(page, "duration", "20s")
    run(page)
    until_whole(page, 1)
    until_drawn(page)
    until(page, lambda: shown(page) == [[0, 20]] * 4, "the whole window")
    over = page.locator('.panel[data-panel="queue"] .u-over')
    width = over.evaluate("each => each.clientWidth")

    def point(part):
        over.hover(position={"x": width * part, "y": 30})

    point(0.25)
    page.mouse.down()
    for part in (0.3, 0.4, 0.5):
        point(part)
    page.mouse.up()

    def is_zoomed():
        windows = shown(page)
        return windows == [windows[0]] * 4 and windows[0] == pytest.approx([5, 10], abs=0.2)

    until(page, is_zoomed, "the same window in each panel")
    point(0.6)
    for panel in ("cwnd", "throughput", "queue", "rtt"):
        values = page.locator(f'.panel[data-panel="{panel}"] .values')
        expect(values).to_contain_text(re.compile(r"\d"))
    expect(page.locator('.panel[data-panel="cwnd"] .values')).to_contain_text(
        re.compile(r"(7\.9|8\.0)\d* s")
    )
    point(0.5)
    page.mouse.wheel(0, -200)
    until(page, lambda: all(end - start < 4.5 for start, end in shown(page)), "a smaller window")
    page.click("#zoom-all")
    until(page, lambda: shown(page) == [[0, 20]] * 4, "the whole window")


def test_a_long_run_grows_and_can_be_cancelled(page, server):
    show_form(page)
    page.click("[data-tab=toml]")
    page.fill("#toml", LONG.format(algorithm="cubic"))
    page.click("#run")
    chip = page.locator(".run")
    expect(chip).to_have_attribute("data-state", "running")
    progress = chip.locator("progress")
    expect(progress).not_to_have_js_property("value", 0)
    first = progress.evaluate("each => each.value")
    until_drawn(page)
    page.wait_for_function(
        "first => document.querySelector('.run progress').value > first", arg=first
    )
    chip.get_by_text("Cancel").click()
    expect(chip).to_have_attribute("data-state", "cancelled")
    until_drawn(page)
    told = server.runs()[chip.get_attribute("data-id")]
    assert told["state"] == "cancelled"
    # The panels end where the run did, so that others beside it can be seen.
    done = told["done"]
    assert done < 1
    end = pytest.approx(done * 86_400)
    until(page, lambda: shown(page)[0][1] == end, "panels that end where the run did")


def test_a_click_is_not_lost_when_a_run_tells_how_far_it_is(page):
    """A finger is on a button for a tenth of a second: in that time the chip is drawn anew."""
    show_form(page)
    page.click("[data-tab=toml]")
    page.fill("#toml", LONG.format(algorithm="cubic"))
    chip = run(page, "running")
    until_drawn(page)  # where things are is settled
    chip.get_by_text("Cancel").hover()
    page.mouse.down()
    for _ in range(3):
        progress = chip.locator("progress").evaluate("each => each.value")
        page.wait_for_function(
            "value => document.querySelector('.run progress').value > value", arg=progress
        )
    page.mouse.up()
    expect(chip).to_have_attribute("data-state", "cancelled")


def test_several_links_in_the_form(page):
    fill(page, "duration", "5s")
    page.click("#add-link")
    fill(page, "link 2.rate", "5mbit")
    fill(page, "link 2.delay", "7ms")
    fill(page, "flow 1.route", "2, 1")
    chip = run(page)
    expect(chip).to_contain_text(re.compile(r"CUBIC 4\.\d+ Mb/s"))
    toml = page.locator("#toml")
    expect(toml).to_have_value(re.compile(r"route = \[2, 1\]"))
    expect(toml).not_to_have_value(re.compile(r"\[bottleneck\]"))
    assert toml.input_value().count("[[link]]") == 2
    fill(page, "link 2.rate", "5 mb")
    page.click("#run")
    expect(page.locator('[data-path="link 2.rate"]')).to_have_class(re.compile("wrong"))
    fill(page, "link 2.rate", "5mbit")
    page.get_by_title("Remove this link").first.click()
    expect(toml).to_have_value(re.compile(r'\[bottleneck\][^[]*rate = "5mbit"'))
    expect(toml).not_to_have_value(re.compile("route"))


def test_light_and_dark(page, tmp_path):
    page.click('.card[data-name="07-bbr-shallow"]')
    expect(page.locator(".run")).to_have_attribute("data-state", "done")
    until_drawn(page)
    colour = "getComputedStyle(document.body).backgroundColor"
    light = page.evaluate(colour)
    page.click("#theme")
    until(page, lambda: page.evaluate(colour) != light, "another colour")
    until_drawn(page)
    page.screenshot(path=tmp_path / "dark.png", full_page=True)


@needs_testbed
@pytest.mark.alone
def test_the_kernel_stands_beside_the_simulator(page):
    if page.phone:
        pytest.skip("a phone runs the same code as the wide window, where this is tested")
    fill(page, "duration", "3s")
    fill(page, "bottleneck.rate", "10mbit")
    page.check("#on-kernel")
    page.click("#run")
    expect(page.locator(".run")).to_have_count(2)
    for index in range(2):
        chip = page.locator(".run").nth(index)
        expect(chip).to_have_attribute("data-state", "done")
    expect(page.locator(".run").last).to_contain_text("kernel")
    until_drawn(page)


def test_a_scorecard_and_an_attack(page):
    """A scorecard opens when it is done; an attack, of minutes, can be cancelled."""
    if page.phone:
        pytest.skip("a phone runs the same code as the wide window, where this is tested")
    page.click("text=Attack")
    chip = page.locator(".run", has_text="Attack on cubic")
    expect(chip.locator("progress")).not_to_have_js_property("value", 0)
    chip.get_by_text("Cancel").click()
    expect(chip).to_have_attribute("data-state", "cancelled")
    chip.get_by_title("Remove").click()
    page.click("text=Scorecard")
    chip = page.locator(".run", has_text="Scorecard of cubic")
    expect(chip).to_have_attribute("data-state", "done")
    expect(chip).to_contain_text("against Reno")
    with page.context.expect_page() as card:
        chip.get_by_text("Open").click()
    expect(card.value.locator("h1")).to_contain_text("Scorecard")
    card.value.close()
