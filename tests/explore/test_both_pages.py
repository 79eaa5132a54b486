"""What the page does with a server and without one, in a real browser, wide and on a phone."""

import re

from playwright.sync_api import expect

from ackclock.explore import figures
from acts import fill, until_curves


def test_a_mistake_is_told_at_its_field(either):
    fill(either, "bottleneck.rate", "20 mb")
    either.click("#run")
    expect(either.locator("#problem")).to_contain_text('did you mean "20mbit"')
    field = either.locator('[data-path="bottleneck.rate"]')
    expect(field).to_have_class(re.compile("wrong"))
    field.fill("20mbit")
    either.click("#run")  # from the field: what leaves it must not move the button
    expect(either.locator(".run")).to_have_count(1)
    expect(either.locator("#problem")).to_be_hidden()
    fill(either, "flow 1.start", "soon")
    either.click("#run")
    expect(either.locator('[data-path="flow 1.start"]')).to_have_class(re.compile("wrong"))


def test_a_figure_of_a_paper_runs_below_its_claims(either, tmp_path):
    either.click("#show-figures")
    either.screenshot(path=tmp_path / "figures.png", full_page=True)
    either.click('.card[data-name="leith2007/fig14"]')
    expect(either.locator(".run")).to_have_count(2)
    for index in range(2):
        expect(either.locator(".run").nth(index)).to_have_attribute("data-state", "done")
    until_curves(either, 4)
    claims = either.locator("#step")
    expect(claims).to_contain_text("Figure 14: two CUBIC flows")
    [told] = [each for each in figures.told() if each["name"] == "leith2007/fig14"]
    expect(claims.locator(".pill")).to_have_text(told["claims"][0]["verdict"])
    expect(claims).to_contain_text(re.compile(r"measured [\d.].*runs"))
    either.screenshot(path=tmp_path / "claims.png", full_page=True)
    claims.get_by_text("Close").click()
    expect(claims).to_be_hidden()
