"""The live page in a real browser, wide and on a phone: from the form to the curve."""

import json
import re
import time

import pytest
from playwright.sync_api import expect

from ackclock import Result, Scenario
from ackclock import run as run_once
from ackclock.draw import html
from ackclock.explore.runs import AT_A_TIME
from common import ROOT, SLOW_MS, needs_testbed, new_context
from explorer import LONG, SHORT, Server

SIZES = {"wide": (1400, 900), "phone": (390, 844)}


@pytest.fixture(params=SIZES, ids=list(SIZES))
def page(request, server, browser):
    """The page as it opens, at each size. Nothing in it may complain, or leave this machine."""
    complaints = []
    width, height = SIZES[request.param]
    size = {"width": width, "height": height}
    context = new_context(browser, viewport=size, has_touch=request.param == "phone")
    opened = context.new_page()
    opened.on("console", lambda message: complaints.append(message.text))
    opened.on("pageerror", lambda error: complaints.append(str(error)))
    opened.on("requestfailed", lambda request: complaints.append(f"failed: {request.url}"))
    opened.on(
        "request",
        lambda request: (
            request.url.startswith((f"http://{server.host}/", "blob:", "data:"))
            or complaints.append(request.url)
        ),
    )
    opened.goto(server.url)
    opened.wait_for_selector(".card")
    opened.phone = request.param == "phone"
    yield opened
    overflow = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
    until(opened, lambda: opened.evaluate(overflow) == 0, "a page as wide as the screen")
    context.close()
    # A mistake that is told; a download; this test, which reads what is drawn.
    expected = ("422", "net::ERR_ABORTED", "willReadFrequently")
    assert [each for each in complaints if not any(word in each for word in expected)] == []


def show_form(page):
    if page.phone and page.locator("#side.folded").count():
        page.click("#show-form")


def fill(page, path, value):
    """Types a value into the form."""
    show_form(page)
    field = page.locator(f'[data-path="{path}"]')
    if field.evaluate("each => each.tagName") == "SELECT":
        field.select_option(value)
    else:
        field.fill(value)
        field.blur()


def run(page, state="done"):
    """Runs what the form says; waits until the last run is in that state."""
    before = page.locator(".run").count()
    page.click("#run")
    expect(page.locator(".run")).to_have_count(before + 1)
    chip = page.locator(".run").last
    expect(chip).to_have_attribute("data-state", state)
    return chip


def coloured(page, panel, colour=None):
    """Pixels of a panel that are neither white nor grey, its curves and marks; or of one colour."""
    return page.evaluate(
        """async ([panel, colour]) => {
          await new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)));
          const canvas = document.querySelector(`.panel[data-panel="${panel}"] canvas`);
          if (!canvas) return 0;
          const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
          let found = 0;
          for (let i = 0; i < data.length; i += 4) {
            const [r, g, b, a] = data.slice(i, i + 4);
            found += colour
              ? a > 200 && [r, g, b].every((each, i) => Math.abs(each - colour[i]) < 9)
              : a > 60 && Math.max(r, g, b) - Math.min(r, g, b) > 40;
          }
          return found;
        }""",
        [panel, colour],
    )


def until_drawn(page, panel="cwnd"):
    until(page, lambda: coloured(page, panel) > 300, f"something drawn in {panel}")


def until_whole(page, count, panel="cwnd"):
    """Waits until so many curves go to the end: they come some requests after a run's end."""
    page.wait_for_function(
        """([panel, count]) => {
          const { data } = document.querySelector(`.panel[data-panel="${panel}"]`)?.plot ?? {};
          const late = (each) => each.slice(Math.floor(each.length * 0.95)).some((y) => y !== null);
          return data?.slice(1).filter(late).length === count;
        }""",
        arg=[panel, count],
    )


def until(page, condition, what):
    """Waits until the page is so: what a click or a wheel does is drawn some frames later."""
    for _ in range(SLOW_MS // 50):
        if condition():
            return
        page.wait_for_timeout(50)
    raise AssertionError(f"waited in vain for {what}")


def until_curves(page, count, panel="cwnd"):
    """Waits until so many curves with values are in a panel."""
    page.wait_for_function(
        """([panel, count]) => {
          const { data } = document.querySelector(`.panel[data-panel="${panel}"]`)?.plot ?? {};
          return data?.slice(1).filter((each) => each.some((y) => y !== null)).length === count;
        }""",
        arg=[panel, count],
    )


def shown(page):
    """The window on the screen, in seconds, in each panel."""
    return page.evaluate(
        "[...document.querySelectorAll('.panel')].map(each => each.plot.scales.x)"
        ".map(({ min, max }) => [min, max])"
    )


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


def test_a_second_card_replaces_the_first_that_has_not_begun(page, server):
    """The answer to the first comes after the click on the second."""
    held = []

    def hold_first(route):
        if held:
            route.continue_()
        else:
            held.append((route, route.fetch()))

    page.route("**/api/runs", hold_first)
    page.click('.card[data-name="03-cubicfc-v-cubic"]')
    until(page, lambda: held, "the first start")
    page.click('.card[data-name="07-bbr-shallow"]')
    route, answer = held[0]
    route.fulfill(response=answer)
    chip = page.locator(".run", has_text="BBR in a shallow buffer")
    expect(chip).to_have_attribute("data-state", "done")
    expect(page.locator(".run")).to_have_count(1)
    server.wait(answer.json()["id"], "cancelled", "done")


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
    look = "each => getComputedStyle(each).backgroundColor.match(/\\d+/g).map(Number)"
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


def test_a_mistake_is_told_at_its_field(page):
    fill(page, "bottleneck.rate", "20 mb")
    page.click("#run")
    expect(page.locator("#problem")).to_contain_text('did you mean "20mbit"')
    field = page.locator('[data-path="bottleneck.rate"]')
    expect(field).to_have_class(re.compile("wrong"))
    field.fill("20mbit")
    page.click("#run")  # from the field: what leaves it must not move the button
    expect(page.locator(".run")).to_have_count(1)
    expect(page.locator("#problem")).to_be_hidden()
    fill(page, "flow 1.start", "soon")
    page.click("#run")
    expect(page.locator('[data-path="flow 1.start"]')).to_have_class(re.compile("wrong"))


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


def test_a_crash_marks_its_function_and_is_on_the_screen(page):
    """A division by zero has no line; the last hook of a long file has its place."""
    fill(page, "flow 1.algorithm", "my_cc.c")
    page.click("[data-tab=code]")
    text = (ROOT / "tests" / "scorecard" / "divides_by_zero.c").read_text()
    line = 1 + next(i for i, each in enumerate(text.split("\n")) if "u32, divides_ssthresh" in each)
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


def test_exports_are_what_is_on_the_screen(page, tmp_path):
    fill(page, "duration", "10s")
    run(page)
    for panel in ("cwnd", "throughput", "queue", "rtt"):
        until_whole(page, 1, panel)
    until_drawn(page)
    page.click("#export summary")  # open until a click beside it

    def export(text):
        with page.expect_download() as download:
            page.click(f"#export >> text={text}")
        path = tmp_path / download.value.suggested_filename
        download.value.save_as(path)
        return path

    assert export("PNG").read_bytes()[:4] == b"\x89PNG"
    svg = export("SVG").read_text()
    assert svg.startswith("<svg ")
    for title in ("Congestion window", "Throughput", "Queue", "Smoothed RTT"):
        assert title in svg
    assert len(max(re.findall(r' d="(M[^"]+)"', svg), key=len)) > 3000
    assert export("CSV").read_text().startswith("time_us,flow,cwnd_packets")
    assert 'algorithm = "cubic"' in export("TOML").read_text()


def test_a_picture_has_the_marks_of_cubic(page):
    page.click('.card[data-name="01-cubic-epoch"]')
    expect(page.locator(".run")).to_have_attribute("data-state", "done")
    until_whole(page, 1)
    page.click("#export summary")
    with page.expect_download() as download:
        page.click("#export-svg")
    svg = download.value.path().read_text()
    assert svg.count(">W_max<") >= 3
    assert len(re.findall(r">K [\d.]+ s<", svg)) >= 3
    assert ">recovery<" in svg  # what the marks in the picture mean
    assert ">ECN<" not in svg


def test_the_open_menu_follows_the_runs(page, server):
    """A run goes on while another waits for room: it gets its CSV when it has run."""
    fill(page, "duration", "5s")
    run(page)
    show_form(page)
    page.click("[data-tab=toml]")
    page.fill("#toml", LONG.format(algorithm="cubic"))
    chip = run(page, "running")
    chip.locator(".line").wait_for()
    going = chip.get_attribute("data-id")
    long = LONG.format(algorithm="reno")
    others = [server.start(f"{long}# {number}") for number in range(AT_A_TIME - 1)]
    show_form(page)
    # Each size of the page has the same server, which runs nothing twice.
    page.fill("#toml", f"seed = {2 + page.phone}\n{SHORT.format(algorithm='bbr')}")
    run(page, "waiting")
    page.click("#export summary")
    items = page.locator("#export .links a")
    expect(items).to_have_count(4)
    expect(items.nth(2)).to_have_text(re.compile("CSV.*when it has ended"))
    assert items.nth(2).get_attribute("href") is None
    for other in others or [going]:
        server.ask("POST", f"/api/runs/{other}/cancel")
    expect(page.locator(".run").last).to_have_attribute("data-state", "done")
    expect(items.last).to_have_text(re.compile("TOML: .*BBR"))
    server.ask("POST", f"/api/runs/{going}/cancel")
    expect(items).to_have_count(5)
    with page.expect_download() as download:
        items.nth(3).click()
    assert "cwnd_packets" in download.value.path().read_text()


def test_on_a_phone_the_form_makes_room_for_what_is_kept(page):
    for section in ("kept", "gallery"):
        show_form(page)
        page.click("[data-tab=code]")
        page.click(f"#show-{section}")
        expect(page.locator(f"#{section} h1")).to_be_in_viewport()


def test_a_link_brings_the_scenario_and_never_starts_code(page, server):
    fill(page, "duration", "7s")
    run(page)
    fill(page, "flow 1.algorithm", "my_cc.c")
    run(page)
    link = page.evaluate("location.href")
    assert server.token not in link
    other = Server(server.folder.parent / "out")
    try:
        visit = page.context.new_page()
        visit.goto(other.url + link[link.index("#") :])
        expect(visit.locator("#note")).to_contain_text("C code")
        expect(visit.locator(".run")).to_have_count(1)
        expect(visit.locator(".run")).to_have_attribute("data-state", "done")
        told = list(other.runs().values())
        assert [each["files"] for each in told] == [{}]
        assert told[0]["about"]["duration_us"] == 7_000_000
        visit.close()
    finally:
        other.close()


def test_what_is_kept_opens_beside_the_others(page, server):
    fill(page, "duration", "8s")
    run(page)
    figure = server.folder / "figure"
    figure.mkdir(parents=True, exist_ok=True)
    (figure / "index.html").write_text("<!doctype html><style>h1{color:red}</style><h1>Figure</h1>")
    page.click("#show-kept")
    with page.context.expect_page() as opened:
        page.locator(".kept-row", has_text="figure").get_by_role("link").click()
    expect(opened.value.locator("h1")).to_have_text("Figure")
    opened.value.close()
    own = server.runs()[page.locator(".run").get_attribute("data-id")]["end"]["kept"]
    kept = page.locator(".kept-row", has_text=own.partition("/")[2])
    expect(kept.locator("b")).to_have_text("CUBIC, 50mbit, 100ms")
    kept.get_by_text("Open").click()
    expect(page.locator(".run")).to_have_count(2)
    expect(page.locator(".run").last).to_contain_text("CUBIC, 50mbit, 100ms")
    expect(page.locator(".run").last).to_have_attribute("data-state", "done")


def test_a_long_trace_runs_and_only_the_link_is_too_long(page, tmp_path):
    """A browser's function takes some 100 000 arguments; the trace has more letters."""
    trace = tmp_path / "long.trace"
    trace.write_text("".join(f"{1 + number // 3}\n" for number in range(40_000)))
    assert trace.stat().st_size > 200_000
    show_form(page)
    fill(page, "duration", "5s")
    page.get_by_text("A recorded link instead of a rate").click()
    page.locator("#form input[type=file]").set_input_files(trace)
    expect(page.locator("#toml")).to_have_value(re.compile('trace = "long.trace"'))
    run(page)
    until_drawn(page)
    page.click("#share")
    expect(page.locator("#note")).to_contain_text("too long for a link")


def test_a_kept_sweep_without_a_picture_says_how_to_get_one(page, server):
    for name, file in (("drawn", "sweep.png"), ("bare", "sweep.parquet")):
        kept = server.folder / f"swept-{name}-{page.phone}"
        kept.mkdir(parents=True, exist_ok=True)
        (kept / file).write_bytes(b"")
    page.click("#show-kept")
    bare = page.locator(".kept-row", has_text=f"swept-bare-{page.phone}")
    expect(bare).to_contain_text("no picture: sweep it with --plot")
    drawn = page.locator(".kept-row", has_text=f"swept-drawn-{page.phone}")
    expect(drawn.get_by_role("link")).to_have_text("Picture")
    expect(drawn).not_to_contain_text("no picture")


def test_a_kept_run_that_cannot_be_opened_says_why(page, server):
    broken = server.folder / "broken"
    broken.mkdir(parents=True, exist_ok=True)
    for name in ("manifest.json", "samples.parquet"):
        (broken / name).write_text("{}")
    page.click("#show-kept")
    page.locator(".kept-row", has_text="broken").get_by_text("Open").click()
    expect(page.locator("#note")).to_contain_text("manifest.json has no scenario")


def test_the_scenario_of_a_c_file_elsewhere_is_not_edited_in_silence(page, server, tmp_path):
    own = tmp_path / "mine.c"
    own.write_text((ROOT / "examples" / "my_cc.c").read_text())
    scenario = Scenario.from_text(SHORT.format(algorithm=own), source="")
    run_once(scenario).save(server.folder / f"mine-{page.phone}")
    page.click("#show-kept")
    page.locator(".kept-row", has_text=f"mine-{page.phone}").get_by_text("Open").click()
    page.locator(".run").get_by_text("Edit").click()
    expect(page.locator("#problem")).to_contain_text("write the file")
    # The form has another scenario, and says so.
    fill(page, "duration", "9s")
    expect(run(page).locator("b")).to_have_text("CUBIC, 50mbit, 100ms")


def test_a_kept_report_zooms_by_our_script_only(page, server):
    """The script that stands beside it does not run: the server answers with its own."""
    kept = server.folder / "report"
    kept.mkdir(parents=True, exist_ok=True)
    series = [{"label": "flow 1", "values": list(range(100))}]
    panel = {"from": 0, "to": 10, "title": "cwnd", "x": "s", "y": "packets", "series": series}
    figure = html.picture("<svg viewBox='0 0 9 9'></svg>", data=json.dumps([panel]))
    evil = "<script>document.title = 'inline'</script><script src='evil.js'></script>"
    body = html.page("A report", "", [html.Section("Figure", picture=figure, inner=evil)])
    (kept / "index.html").write_text(body, encoding="utf-8")
    for name in ("zoom.js", "evil.js"):
        (kept / name).write_text("document.title = 'foreign'")
    visit = page.context.new_page()
    visit.goto(
        f"http://{server.host}{server.kept('report/index.html')}"
    )  # with all its scripts, if they run
    visit.get_by_text("Zoom into it").click()
    expect(visit.locator(".zoom canvas")).to_be_visible()
    assert visit.title() == "A report"
    visit.close()


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
        pytest.skip("as wide")
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
