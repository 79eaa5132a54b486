"""What leaves the live page and what comes back: exports, links, what is kept."""

import json
import re

from playwright.sync_api import expect

from ackclock import Scenario
from ackclock import run as run_once
from ackclock.draw import html
from ackclock.explore.runs import AT_A_TIME
from acts import fill, run, show_form, until_drawn, until_whole
from common import ROOT
from explorer import LONG, SHORT, Server


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


def test_what_is_kept_is_named_by_what_differs_and_opens_beside_the_others(page, server):
    for duration in ("9s", "8s"):
        fill(page, "duration", duration)
        run(page)
    figure = server.folder / "figure"
    figure.mkdir(parents=True, exist_ok=True)
    (figure / "index.html").write_text("<!doctype html><style>h1{color:red}</style><h1>Figure</h1>")
    page.click("#show-kept")
    with page.context.expect_page() as opened:
        page.locator(".kept-row", has_text="figure").get_by_role("link").click()
    expect(opened.value.locator("h1")).to_have_text("Figure")
    opened.value.close()
    own = server.runs()[page.locator(".run").last.get_attribute("data-id")]["end"]["kept"]
    kept = page.locator(".kept-row", has_text=own.partition("/")[2])
    expect(kept.locator("b")).to_have_text(re.compile("^CUBIC, 50mbit, 100ms, .*duration 8s"))
    kept.get_by_text("Open").click()
    expect(page.locator(".run")).to_have_count(3)
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
