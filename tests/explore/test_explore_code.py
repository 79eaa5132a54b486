"""C files in the live page, in a real browser: edited, refused at a line, copied, named."""

import re
import time

from playwright.sync_api import expect

from ackclock import Result
from acts import fill, run, show_form
from common import ROOT


def test_a_c_file_is_edited_refused_at_its_line_and_run(page, tmp_path):
    fill(page, "duration", "10s")
    fill(page, "flow 1.algorithm", "my_cc.c")
    page.click("[data-tab=code]")
    area = page.locator("#editor textarea")
    good = area.input_value()
    lines = good.split("\n")
    at = next(number for number, line in enumerate(lines, 1) if "tcp_cong_avoid_ai" in line)
    area.fill(good.replace("tcp_cong_avoid_ai", "tcp_cong_avoid_x"))
    run(page, "failed")
    expect(page.locator("#problem")).to_contain_text(f"my_cc.c:{at}:")
    expect(page.locator(".gutter .bad")).to_have_text(str(at))
    page.screenshot(path=tmp_path / "code.png")
    area.fill(good.replace("512, 1, 1023", "900, 1, 1023"))
    expect(page.locator(".gutter .bad")).to_have_count(0)
    chip = run(page)
    expect(chip).to_contain_text("my_cc.c changed")
    expect(chip).to_contain_text(re.compile(r"my_cc [\d.]+ Mb/s"))
    if not page.phone:  # the editor stands beside the curves, not over them
        apart = """() => {
          const [side, stage] = ["#side", "#stage"].map((each) => document.querySelector(each));
          return side.getBoundingClientRect().right <= stage.getBoundingClientRect().left;
        }"""
        page.wait_for_function(apart)


def test_a_failure_is_told_at_its_field_also_before_the_answer_to_run(page, server):
    """The page hears of its runs by another way than its answers, which may be slower."""

    def late(route):
        answer = route.fetch()
        server.wait(answer.json()["id"], "failed")
        time.sleep(1)  # the page hears of it now, or later: both are right
        route.fulfill(response=answer)

    page.route("**/api/runs", late)
    fill(page, "flow 1.algorithm", "my_cc.c")
    page.click("[data-tab=code]")
    page.locator("#editor textarea").fill("nothing;\n")
    run(page, "failed")
    expect(page.locator("#note")).to_be_hidden()
    expect(page.locator("#problem")).to_contain_text("my_cc.c:1:")
    expect(page.locator(".gutter .bad")).to_have_text("1")


def test_a_file_that_no_flow_runs_is_told(page):
    fill(page, "duration", "5s")
    page.click("[data-tab=code]")
    page.locator("#editor textarea").fill("nothing;\n")
    run(page)
    expect(page.locator("#note")).to_contain_text("No flow runs my_cc.c")


def test_a_crash_marks_its_line_and_is_on_the_screen(page):
    """The last hook of a long file divides by zero."""
    fill(page, "flow 1.algorithm", "my_cc.c")
    page.click("[data-tab=code]")
    text = (ROOT / "tests" / "scorecard" / "divides_by_zero.c").read_text()
    line = 1 + next(i for i, each in enumerate(text.split("\n")) if "/ zero;" in each)
    page.locator("#editor textarea").fill("\n" * 300 + text)
    run(page, "failed")
    expect(page.locator("#problem")).to_contain_text("function divides_ssthresh: divides by zero")
    expect(page.locator(".gutter .bad")).to_have_text(str(300 + line))
    expect(page.locator("#problem")).to_be_in_viewport()
    expect(page.locator(".gutter .bad")).to_be_in_viewport()


def test_a_built_in_algorithm_is_read_copied_and_changed(page, server):
    """A copy does what the original does; a copy with another beta does not."""
    fill(page, "duration", "10s")
    run(page)
    show_form(page)
    page.locator(".flow .code").click()
    area = page.locator("#editor textarea")
    expect(area).to_have_attribute("readonly", "")
    expect(area).to_have_value(re.compile(r"CC_ALGORITHM\(cubic,"))
    page.click("#change")
    expect(area).not_to_have_attribute("readonly", "")
    expect(area).to_have_value(re.compile(r"CC_ALGORITHM\(my_cubic,"))
    expect(page.locator("#file")).to_have_value("my_cubic.c")
    text = area.input_value()
    run(page)
    changed = text.replace("P(beta, 717,", "P(beta, 512,")
    assert changed != text
    # Typing 28 kB would take 20 s.
    area.evaluate(
        "(to, text) => ((to.value = text), to.dispatchEvent(new Event('input')))", changed
    )
    run(page)
    # The page's own three: an earlier test may have started one of them.
    every = server.runs()
    told = [every[chip.get_attribute("data-id")] for chip in page.locator(".run").all()]
    hashes = [
        Result.load(server.folder.parent / each["end"]["kept"]).manifest["trace_hash"]
        for each in told
    ]
    assert hashes[0] == hashes[1] != hashes[2]
    assert told[1]["about"]["flows"][0]["name"] == "my_cubic"
