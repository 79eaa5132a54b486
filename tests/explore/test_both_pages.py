"""What the page does with a server and without one, in a real browser, wide and on a phone."""

import re

from playwright.sync_api import expect

from ackclock.explore import figures
from acts import fill, until_curves, until_whole


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


#: Of each text that is seen: the ratio of WCAG 2 (1.4.3), and what is needed.
CONTRASTS = """() => {
  const pen = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
  const light = (value) => (value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4);
  const luminance = () => {
    const [r, g, b] = [...pen.getImageData(0, 0, 1, 1).data].map((each) => light(each / 255));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const fill = (colour) => { pen.fillStyle = colour; pen.fillRect(0, 0, 1, 1); };
  const above = (each) => (each ? [...above(each.parentElement), each] : []);
  const isText = (node) => node.nodeType === Node.TEXT_NODE && node.data.trim();
  const isSeen = (each) => each.checkVisibility() && !each.closest(":disabled, option, svg");
  return [...document.querySelectorAll("body *")]
    .filter((each) => [...each.childNodes].some(isText) && isSeen(each))
    .map((each) => {
      const { color, fontSize, fontWeight } = getComputedStyle(each);
      fill("white");
      for (const outer of above(each)) fill(getComputedStyle(outer).backgroundColor);
      const behind = luminance();
      fill(color);
      const [low, high] = [behind, luminance()].sort((one, other) => one - other);
      const size = parseFloat(fontSize) * (fontWeight >= 700 ? 24 / 18.66 : 1);
      const text = each.textContent.trim().slice(0, 40);
      return [text, (high + 0.05) / (low + 0.05), size >= 24 ? 3 : 4.5];
    });
}"""


def assert_readable(page):
    found = page.evaluate(CONTRASTS)
    assert len(found) > 20
    assert {(each[0], round(each[1], 2)) for each in found if each[1] < each[2]} == set()


def test_each_text_has_contrast(either):
    either.locator("#steps button").nth(3).click()
    expect(either.locator(".run")).to_have_attribute("data-state", "done")
    for scheme in ("light", "dark"):
        either.emulate_media(color_scheme=scheme)
        assert_readable(either)  # the step, a run, the form where there is room
        if either.phone:
            either.click("#show-form")
        for tab in ("toml", "code", "form"):
            either.click(f"[data-tab={tab}]")
            assert_readable(either)
        for section in ("gallery", "figures"):
            either.click(f"#show-{section}")
            either.wait_for_selector(f"#{section} .card")
            assert_readable(either)
        either.click("#show-figures")  # back to the curves


#: Each control that is seen and can be used gets a number; their count.
CONTROLS = """() => {
  const every = "a[href], button, input, select, textarea, summary";
  const isSeen = (each) => each.checkVisibility() && !each.disabled;
  const seen = [...document.querySelectorAll(every)].filter(isSeen);
  seen.forEach((each, index) => (each.dataset.control = index));
  return seen.length;
}"""
FOCUSED = """() => {
  const { outlineStyle, outlineWidth } = getComputedStyle(document.activeElement);
  const isShown = outlineStyle !== "none" && parseFloat(outlineWidth) >= 1;
  return [document.activeElement.dataset.control ?? null, isShown];
}"""


def test_the_keyboard_reaches_and_runs_everything(either):
    either.wait_for_selector('[data-path="duration"]', state="attached")
    either.click("#show-gallery")
    count = either.evaluate(CONTROLS)
    assert count > 20
    reached = set()
    for _ in range(count + 5):
        either.keyboard.press("Tab")
        control, is_shown = either.evaluate(FOCUSED)
        if control is not None:
            assert is_shown, f"the focus on {control} is not seen"
            reached.add(int(control))
    missed = sorted(set(range(count)) - reached)
    assert missed == []
    either.locator('.card[data-name="01-cubic-epoch"]').focus()
    either.keyboard.press("Enter")
    expect(either.locator(".run")).to_have_attribute("data-state", "done")
    fill(either, "duration", "5s")
    either.locator("#run").focus()
    either.keyboard.press("Enter")
    expect(either.locator(".run")).to_have_count(2)


ONE = """
duration = "20s"
rtt = "50ms"
[bottleneck]
rate = "20mbit"
buffer = "4bdp"
drop_packets = [4000]
[[flow]]
algorithm = "reno"
initial_ssthresh_packets = 40
"""
#: Where the last window before the loss is on the screen, and when.
PEAK = """() => {
  const { plot } = document.querySelector('.panel[data-panel="cwnd"]');
  const [times, windows] = plot.data;
  const points = times.map((time, at) => [time, windows[at]]).filter((point) => point[1] !== null);
  const later = (at, by) => points[at + by]?.[1] / points[at][1];
  const falls = (at) => later(at, 1) < 1 && later(at, 3) < 0.8;
  const [time, window] = points.find(([time], at) => time > 1 && falls(at));
  const box = plot.over.getBoundingClientRect();
  return [box.left + plot.valToPos(time, "x"), box.top + plot.valToPos(window, "y"), time];
}"""
#: The largest windows of two runs in the second after a time; whether they were equal before.
WINDOWS = """(from) => {
  const [times, one, other] = document.querySelector('.panel[data-panel="cwnd"]').plot.data;
  const isAfter = (time) => time > from && time < from + 1;
  const most = (windows) => Math.max(...windows.filter((_, at) => isAfter(times[at])));
  const same = times.every((time, at) => time > from - 0.2 || one[at] === other[at]);
  return [most(one), most(other), same];
}"""


def test_what_if_a_flow_had_not_lost(either, tmp_path):
    if either.phone:
        either.click("#show-form")
    either.click('[data-tab="toml"]')
    either.fill("#toml", ONE)
    either.click("#run")
    expect(either.locator(".run")).to_have_attribute("data-state", "done")
    until_whole(either, 1)
    left, top, time = either.evaluate(PEAK)
    either.mouse.click(left, top)
    either.locator("#what-if").click()
    expect(either.locator(".run")).to_have_count(2)
    expect(either.locator(".run").last).to_have_attribute("data-state", "done")
    expect(either.locator(".run").last).to_contain_text("without the loss of flow 1 at")
    until_whole(either, 2)
    before, after, same = either.evaluate(WINDOWS, time)
    assert same
    assert after > 1.03 * before
    expect(either.locator("#what-if")).to_be_hidden()
    either.screenshot(path=tmp_path / "what-if.png", full_page=True)
