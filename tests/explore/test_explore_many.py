"""Several runs of the live page: twenty seeds as a band, two runs as a table, the tour."""

import re

from playwright.sync_api import expect

from acts import fill, run, show_form, until, until_curves, until_drawn


def test_twenty_seeds_are_one_run_with_bands(page, tmp_path):
    fill(page, "duration", "5s")
    page.click("#seeds")
    chip = page.locator(".run")
    expect(chip).to_have_attribute("data-state", "done")
    expect(chip).to_have_count(1)
    expect(chip).to_contain_text(
        re.compile(r"20 seeds.*CUBIC [\d.]+ Mb/s \([\d.]+ to [\d.]+\)", re.DOTALL)
    )
    until_curves(page, 3)
    inside = """() => {
      const [, low, high, median] = document.querySelector('.panel[data-panel="rtt"]').plot.data;
      const there = median.map((_, i) => i).filter((i) => median[i] !== null);
      return there.length > 100 && there.every((i) => low[i] <= median[i] && median[i] <= high[i])
        && there.some((i) => low[i] < high[i]);
    }"""
    until(page, lambda: page.evaluate(inside), "a median inside its band")
    until_drawn(page)
    page.screenshot(path=tmp_path / "seeds.png", full_page=True)
    link = page.context.new_page()
    link.goto(page.evaluate("location.href"))
    expect(link.locator(".run")).to_have_attribute("data-state", "done")
    expect(link.locator(".run")).to_contain_text("20 seeds")
    until_curves(link, 3)
    link.close()
    page.locator(".run").get_by_title("Remove").click()
    expect(page.locator("#gallery")).to_be_visible()


def test_two_runs_stand_side_by_side_in_a_table(page):
    fill(page, "duration", "10s")
    run(page)
    expect(page.locator("#compared")).to_be_hidden()
    fill(page, "bottleneck.buffer", "3bdp")
    run(page)
    table = page.locator("#compared table")
    expect(table).to_be_visible()
    heads = ["", "CUBIC, 50mbit, 100ms", "buffer 3bdp", "change"]
    expect(table.locator("thead th")).to_have_text(heads)
    row = table.locator("tr", has_text="mean RTT (ms)")
    before, after = (float(row.locator("td").nth(index).inner_text()) for index in range(2))
    assert 100 < before < after
    percent = round((after / before - 1) * 100)
    told = re.match(r"\+(\d+) %", row.locator("td").nth(2).inner_text())
    assert abs(int(told[1]) - percent) <= percent / 10 + 1
    show_form(page)
    page.locator(".run").last.get_by_text("Hide").click()
    expect(page.locator("#compared")).to_be_hidden()


def test_the_tour_goes_from_the_window_to_the_rtt(page):
    page.get_by_role("button", name="What a window is").click()
    step = page.locator("#step")
    for number in range(1, 7):
        expect(step).to_contain_text(f"{number} of 6")
        expect(page.locator(".run")).to_have_count(1)
        expect(page.locator(".run")).to_have_attribute("data-state", "done")
        until_curves(page, 1 if number < 5 else 2)
        if number < 6:
            step.get_by_role("button", name="Next").click()
    expect(step).to_contain_text("shorter RTT")
    expect(step.get_by_role("button", name="Next")).to_be_disabled()
    step.get_by_role("button", name="Back").click()
    expect(step).to_contain_text("5 of 6")
    step.get_by_role("button", name="End").click()
    expect(step).to_be_hidden()
