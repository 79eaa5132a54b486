"""The site that `make site` writes: every link, and what a reader sees, wide and on a phone."""

import os
import re
import subprocess
import sys
from importlib.util import find_spec
from urllib.parse import unquote

import pytest
from playwright.sync_api import expect

import ackclock
import claims_page
from ackclock import _core
from ackclock.cli import main
from ackclock.scorecard.evaluated import QUESTIONS
from common import ROOT, new_context, serving


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """Built, strictly: each page is in the navigation, each link and anchor exists."""
    if not find_spec("mkdocs"):
        pytest.skip("mkdocs is not installed: `make site`")
    directory = tmp_path_factory.mktemp("site")
    mkdocs = [sys.executable, "-m", "mkdocs", "build", "--quiet", "--site-dir", directory]
    environment = os.environ | {"NO_MKDOCS_2_WARNING": "1"}
    done = subprocess.run(
        mkdocs, cwd=ROOT, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return directory


def test_the_site(site):
    command_line = (site / "reference" / "cli.html").read_text()
    for names in main.MODULES.values():
        for name in names:
            assert f"ackclock {name}" in command_line
    assert 'class="holds">holds, always</td>' in (site / "claims.html").read_text()
    assert ".better" in (site / "ackclock.css").read_text()
    # Where a phone may break a name in a table.
    assert "<code>retransmitted_<wbr>packets</code>" in (site / "tables.html").read_text()
    python = (site / "reference" / "python.html").read_text()
    for name in {*ackclock._HOME, *ackclock._MODULES}:
        assert name in python, name


def test_each_link_of_the_site_leads_to_a_file(site):
    """Also those that are written as HTML, which mkdocs does not check."""
    pages = [page for page in site.rglob("*.html") if page.name != "404.html"]
    assert len(pages) > 100
    missing = {
        (page.name, link)
        for page in pages
        for link in re.findall(r'(?:href|src)="([^":#?]+)["#?]', page.read_text(encoding="utf-8"))
        if not (page.parent / unquote(link)).exists()
    }
    assert missing == set()


@pytest.mark.skipif(
    not (ROOT / "python/ackclock/explore/static/lab/engine.wasm").exists(),
    reason="the simulator for browsers is not built: make lab",
)
@pytest.mark.parametrize("width", [1280, 390])
def test_the_site_begins_with_a_laboratory_that_runs(site, browser, width):
    """Its curve is in the first screen."""
    complaints = []
    with serving(site) as running:
        page = browser.new_page(viewport={"width": width, "height": 844})
        page.on("console", lambda message: complaints.append(message.text))
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.goto(f"http://{running.host}/index.html")
        laboratory = page.frame_locator("iframe.lab")
        expect(laboratory.locator(".run")).to_have_attribute("data-state", "done")
        curve = laboratory.locator('.panel[data-panel="cwnd"] canvas').bounding_box()
        assert curve["y"] + curve["height"] / 2 < 844
        assert page.evaluate("document.documentElement.scrollWidth") == width
        page.close()
    assert complaints == []


@pytest.fixture(params=[1280, 390])
def opened(site, browser, request):
    """Opens a page of the site in a window of this width; nothing is wider than the window."""
    context = new_context(browser, viewport={"width": request.param, "height": 844}, offline=True)

    def open_page(path):
        page = context.new_page()
        page.goto((site / path).as_uri())
        assert page.evaluate("document.documentElement.scrollWidth") == request.param, path
        return page

    yield open_page
    context.close()


def test_the_league(opened):
    """Every mark is in view, can be sorted by, and leads to its row of its card."""
    page = opened("scorecards/index.html")
    algorithms, rows = len(_core.algorithms()) - 1, len(QUESTIONS)
    cells = page.locator(".league td")
    expect(cells).to_have_count(algorithms * rows)
    assert page.evaluate(
        """() => [...document.querySelectorAll(".league td")].every((cell) => {
          const box = cell.getBoundingClientRect();
          return box.left >= 0 && box.right <= innerWidth && box.width >= 20;
        })"""
    )
    assert (
        page.evaluate(
            """() => [...document.querySelectorAll(".league th a")]
          .filter((name) => name.scrollWidth > name.clientWidth).map((name) => name.innerText)"""
        )
        == []
    )
    column = [each.row for each in QUESTIONS].index("R4") + 1

    def marks():
        return page.locator(f".league td:nth-child({column + 1})").all_inner_texts()

    def names():
        return page.locator(".league tbody th").all_inner_texts()

    order = list("+=±−?!")
    page.get_by_role("button", name="R4", exact=True).click()
    assert marks() == sorted(marks(), key=order.index)
    assert len(set(marks())) > 2
    page.get_by_role("button", name="R4", exact=True).click()
    assert marks() == sorted(marks(), key=order.index, reverse=True)
    expect(page.get_by_role("columnheader", name="R4", exact=True)).to_have_attribute(
        "aria-sort", "descending"
    )
    page.get_by_role("button", name="algorithm").click()
    assert names() == sorted(names(), key=str.lower)
    page.get_by_role("link", name="!", exact=True).first.click()
    expect(page.locator(":target p", has_text="Unsafe: ")).to_be_visible()


@pytest.mark.parametrize("path", ["scorecards/vegas", "scorecards/rows", "linux", "claims"])
def test_pages_of_data_fit(opened, path):
    assert len(opened(f"{path}.html").locator("table").all()) > 5


@pytest.mark.parametrize(("width", "height"), [(1400, 900), (390, 844)], ids=["wide", "phone"])
def test_the_search_of_the_site(site, browser, width, height):
    """Opened from its directory: no server, and nothing from another machine."""
    complaints = []
    size = {"width": width, "height": height}
    context = new_context(browser, viewport=size, offline=True)
    page = context.new_page()
    page.on("console", lambda message: complaints.append(message.text))
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.on("requestfailed", lambda request: complaints.append(request.url))
    page.goto((site / "algorithms" / "cubic.html").as_uri())
    page.locator("[for=__search]:visible, .md-search__input:visible").first.click()
    field = page.locator(".md-search__input")
    expect(field).to_be_focused()
    page.keyboard.type("--until-decided")  # as one types an option
    found = page.locator(".md-search-result__link", has_text="Until it is decided")
    expect(found.first).to_be_attached()
    field.fill("")
    page.keyboard.type("fq_codel")
    # The results change with each letter: this one is there when all letters are.
    expect(page.locator(".md-search-result__link").first).to_have_attribute(
        "href", re.compile("links.html")
    )
    # The worker's: two states of its automaton had one name, and some words then no results.
    assert page.frames[1].evaluate(
        """() => {
          const name = (edges) => Object.assign(new lunr.TokenSet(), { edges }).toString();
          return name({ 1: { id: 234 } }) !== name({ 1: { id: 2 }, 3: { id: 4 } });
        }"""
    )
    page.locator(".md-search-result__link", has_text="CoDel").first.click()
    page.wait_for_url("**/links.html*")
    assert complaints == []
    context.close()


def test_the_cards_of_claims_fold(opened):
    """A link to a card opens it, and paper has all."""
    page = opened("claims.html")
    cards = page.locator("details.claim")
    assert page.evaluate("document.documentElement.scrollHeight") < 120 * cards.count()
    expect(cards).to_have_count(sum(not row["part"] for row in claims_page.data(ROOT / "docs")))
    expect(page.locator("details.claim > div:visible")).to_have_count(0)
    page.locator(".md-content table a", has_text="fig1.bic-growth").click()
    expect(page.locator("details.claim > div:visible")).to_have_count(1)
    expect(page.locator("details.claim[open]")).to_contain_text("exactly symmetric")
    page.emulate_media(media="print")
    expect(page.locator("details.claim > div:visible")).to_have_count(cards.count())


def test_a_class_is_printed_on_two_pages(opened):
    """Without its answers, which open on a click."""
    page = opened("class.html")
    answer = page.locator("details", has_text="HyStart sees the RTT rise")
    expect(answer.locator("p")).to_be_hidden()
    answer.locator("summary").click()
    expect(answer.locator("p")).to_be_visible()
    sheet = page.pdf(format="A4", margin=dict.fromkeys(("top", "bottom", "left", "right"), "1cm"))
    assert len(re.findall(rb"/Type\s*/Page\b", sheet)) == 2
