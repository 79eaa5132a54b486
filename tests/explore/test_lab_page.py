"""The page without a server, in a real browser: from a plain file server, and offline."""

import base64
import gzip
import json
import re
import subprocess

import pytest
from playwright.sync_api import expect

import firefox
import lab_page
from ackclock import Scenario, papers, run
from ackclock.explore import figures, gallery
from ackclock.results import measures
from acts import until, until_curves, until_whole
from common import ROOT, serving

#: All files of the page together, compressed.
MOST_BYTES = 3_000_000


def choose(page, name):
    page.click(f'.card[data-name="{name}"]')
    chip = page.locator(".run")
    expect(chip).to_have_attribute("data-state", "done")
    return chip


def test_a_card_runs_and_its_numbers_are_pythons(lab, tmp_path):
    chip = choose(lab, "03-cubicfc-v-cubic")
    result = run(Scenario.from_toml(gallery.FOLDER / "03-cubicfc-v-cubic.toml"))
    for name, bps in zip(("Cubic-FC", "CUBIC"), measures.goodputs_bps(result), strict=True):
        expect(chip).to_contain_text(f"{name} {bps / 1e6:.1f} Mb/s")
    expect(chip).to_contain_text("rates: 20–120 s")
    until_whole(lab, 2)
    lab.screenshot(path=tmp_path / "lab.png", full_page=True)
    expect(lab.locator("#show-kept")).to_be_hidden()
    expect(lab.locator("#on-kernel-box")).to_be_hidden()


def test_the_first_curve_waits_for_no_file(lab, site):
    """The engine is loaded while the user looks at the gallery."""
    asked, came = [], []
    page = lab.context.new_page()
    page.on("request", lambda request: asked.append(request.url))
    page.on("requestfinished", lambda request: came.append(request.url))
    page.goto(site.url)
    until(page, lambda: any(url.endswith("engine.wasm") for url in came), "the engine")
    at_click = len(asked)
    page.click(".card >> nth=0")
    until_curves(page, 1)
    assert not [url for url in asked[at_click:] if url.endswith((".js", ".wasm"))]


def test_a_link_is_a_run(lab, site):
    scenario = Scenario.from_toml(gallery.FOLDER / "04-rtt-unfairness.toml")
    page = lab.context.new_page()
    page.goto(f"{site.url}{lab_page.link((scenario, 'two RTTs'))}")
    expect(page.locator(".run")).to_have_attribute("data-state", "done")
    expect(page.locator(".run")).to_contain_text("two RTTs")
    until_curves(page, 2)


def test_it_works_offline_after_the_first_load(lab):
    lab.evaluate("navigator.serviceWorker.ready.then(() => true)")
    lab.context.set_offline(True)
    lab.reload()
    lab.wait_for_selector(".card")
    choose(lab, "07-bbr-shallow")
    until_curves(lab, 2)
    lab.context.set_offline(False)


def test_a_c_file_can_be_read(lab):
    if lab.phone:
        lab.click("#show-form")
    lab.locator(".flow .code").first.click()
    expect(lab.locator("#editor textarea")).to_have_value(re.compile(r"CC_ALGORITHM\(cubic"))


def without_clang(route):
    answer = route.fetch()
    route.fulfill(response=answer, json=answer.json() | {"clang_bytes": 0})


def test_without_a_compiler_a_c_file_is_not_said_to_run_here(site, browser):
    page = browser.new_page()
    page.route("**/about.json", without_clang)
    page.goto(site.url)
    page.click("[data-tab=code]")
    expect(page.locator("#code-hint")).to_contain_text("has no C compiler: write here")
    expect(page.locator("#code-hint")).not_to_contain_text("compiled when you run")
    page.close()


def test_opened_as_a_file_it_says_what_it_needs(site, browser):
    page = browser.new_page()
    page.goto((site.root / "index.html").as_uri())
    expect(page.locator("#unstarted")).to_contain_text("python3 -m http.server")
    page.close()


def test_a_script_that_is_not_the_page_s_own_does_not_run(site, browser):
    """What the policy allows, the other tests use, with a clean console."""
    page = browser.new_page()
    page.goto(site.url)
    page.wait_for_selector(".card")
    blocked = page.evaluate(
        """() => new Promise((done) => {
          const found = [];
          addEventListener("securitypolicyviolation", ({ effectiveDirective: of }) => {
            if (found.push(of) === 3) done(found.sort());
          });
          for (const [name, textContent] of [["script", "ran = 1"], ["style", "p {}"]]) {
            document.body.append(Object.assign(document.createElement(name), { textContent }));
          }
          fetch("http://127.0.0.2:9/").catch(() => {});
        })"""
    )
    assert blocked == ["connect-src", "script-src-elem", "style-src-elem"]
    assert page.evaluate("typeof ran") == "undefined"
    page.close()


#: Waits for the run of a link, then runs a scenario in a worker of its own: its hash, or an error.
IN_FIREFOX = """async (toml) => {
  const until = async (look) => {
    while (!look()) await new Promise((done) => setTimeout(done, 50));
  };
  await until(() => document.querySelector('.run[data-state="done"]'));
  await until(() => document.querySelector(".panel")?.plot?.data[1]?.some((y) => y !== null));
  const worker = new Worker("static/lab/worker.js", { type: "module" });
  return new Promise((done) => {
    worker.onmessage = ({ data: { kind, text, trace_hash: hash } }) => {
      if (kind === "error" || kind === "end") done(text ?? hash);
    };
    worker.postMessage({ job: 1, toml });
  });
}"""


@pytest.mark.slow
@pytest.mark.skipif(not firefox.COMMAND, reason="no Firefox here: apt-get install firefox-esr")
def test_firefox_runs_a_link_and_its_hash_is_the_native_one(site, tmp_path):
    """The first 250 s of demo_cubic: figure 2 of Cubic-FC."""
    [named] = papers.load("cubicfc/fig2")
    [(experiment, point)] = named.figure.plot.needs
    scenario = experiment.run(point, 1).replace(duration="250s")
    opened = firefox.Firefox(tmp_path)
    try:
        opened.goto(f"{site.url}{lab_page.link((scenario, 'demo'))}")
        found = opened.evaluate(IN_FIREFOX, scenario.to_toml())
    finally:
        opened.close()
    assert found == run(scenario).manifest["trace_hash"]


@pytest.mark.slow
def test_a_figure_of_a_report_opens_in_the_lab(ackclock, tmp_path):
    """A report with a page for each of two papers, whose other figures it has not."""
    names = ("cubicfc/fig02", "leith2007/fig14")
    done = ackclock("reproduce", *names, "--quick", "-o", "report")
    assert done.returncode == 0, done.stderr
    pages = {path: path.read_text() for path in (tmp_path / "report").glob("*.html")}
    lab_page.add_to_report(tmp_path / "report")
    link = r'<a href="../lab/index.html#([\w-]+)">Open in the lab</a> '
    assert {path: re.sub(link, "", path.read_text()) for path in pages} == pages
    for figure in figures.told():
        paper, name = figure["name"].split("/")
        page = tmp_path / "report" / f"{paper}.html"
        text = page.read_text() if page.exists() else ""
        section = text.partition(f'<section id="{name}"')[2].partition("<section ")[0]
        found = re.findall(link, section)
        assert len(found) == (figure["name"] in names)
        for packed in found:
            sources = json.loads(base64.urlsafe_b64decode(packed + "=="))
            assert [{key: each[key] for key in ("title", "toml")} for each in sources] == figure[
                "runs"
            ]


@pytest.mark.slow
def test_what_make_lab_writes_opens(browser):
    done = subprocess.run(["make", "lab"], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "python3 -m http.server -d out/lab\n" in done.stdout
    with serving(ROOT / "out") as running:
        page = browser.new_page()
        page.goto(running.url)
        choose(page, "01-cubic-epoch")
        until_curves(page, 1)
        page.close()


def test_it_is_small(site):
    """What a server that compresses sends for the whole page, but for the C compiler."""
    parts = [path for path in site.root.iterdir() if path.name != "clang"]
    files = [path for part in parts for path in (part, *part.rglob("*")) if path.is_file()]
    assert sum(len(gzip.compress(path.read_bytes())) for path in files) < MOST_BYTES
