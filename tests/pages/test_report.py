"""The report in a real browser, wide and on a phone."""

import re
import subprocess

import polars as pl
import pytest
from playwright.sync_api import expect

from ackclock import papers
from ackclock.base.directory import CACHE
from ackclock.pages import tally
from common import ACKCLOCK, ROOT, new_context

#: The claims that the project is there to judge.
CLAIMS = """
ha2008.intro.reno-10g
ha2008.fig1.bic-growth
ha2008.fig1.cubic-growth
ha2008.fig3.response
ha2008.fig3.1g44
ha2008.fig4.plateau
ha2008.fig5a.friendly-8ms
ha2008.fig5b.scalable-82ms
ha2008.fig6.mix
ha2008.fig8a.fairness
ha2008.fig8b.utilisation
ha2008.fig9.rtt-fairness
ha2008.fig9.hstcp-no-converge
ha2008.fig10a.friendliness-rtt
ha2008.fig10b.friendliness-10ms
ha2008.fig10c.friendliness-100ms
ha2008.table1.versions
ha2008.table1.cube-root
ha2008.s4.hooks
leith2007.alg1
leith2007.fig2.slow-convergence
leith2007.fig2.linear-5000
leith2007.fig3.asymptotic-fair
leith2007.fig4.web-ensemble
leith2007.fig5.short-flow
leith2007.fig6.unsync
leith2007.fig7.period-two
leith2007.fig8.increase-functions
leith2007.fig9.cwnd-distribution
leith2007.fig10.excursions
leith2007.fig11.util-10M
leith2007.fig11.util-250M
leith2007.fig12.rtt-ratio
leith2007.fig13.start-time
leith2007.fig14.starvation-1M
leith2007.fig15.backward-compat
leith2007.fig16.std-1M
cubicfc.fig2.cubic-400s
cubicfc.fig5.fc-200s
cubicfc.fig6.faster-everywhere
cubicfc.fig7.fairer
cubicfc.table2.throughput
squareff.fig2.cubic-unfair
squareff.fig3.grows
squareff.fig3.cbrt-better
squareff.fig3.square-best
squareff.fig3.overshoot
"""


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """Every figure of every paper, in quick form. The next tier finds its runs."""
    cwd = tmp_path_factory.mktemp("report")
    (ROOT / CACHE).mkdir(exist_ok=True)
    (cwd / CACHE).symlink_to(ROOT / CACHE)
    command = [ACKCLOCK, "report", "--quick", "-o", "site"]
    subprocess.run(command, cwd=cwd, check=True, capture_output=True)
    return cwd / "site"


def test_every_claim_has_a_row_and_every_figure_its_files(site):
    claims = pl.read_parquet(site / "claims.parquet")
    assert set(CLAIMS.split()) <= set(claims["id"])
    # Those that need no repeats.
    decided = claims.filter(pl.col("verdict") != "quick")
    of_standards = pl.col("id").str.starts_with("standards.")
    standards = dict(decided.filter(of_standards).select("id", "verdict").iter_rows())
    assert len(standards) > 10
    assert standards == {name: tally.at_full_length()[name]["verdict"] for name in standards}
    decided = decided.filter(~of_standards)
    assert dict(decided.select("id", "verdict").iter_rows()) == {
        "ha2008.table1.cube-root": "holds",
        "ha2008.table1.cube-root-clocks": "not testable",
        "ha2008.table1.versions": "holds",
        "ha2008.s4.hooks": "holds",
        "ha2008.s6.tcp-mode": "holds",
        "ha2008.intro.reno-10g": "holds",
        "leith2007.fig8.increase-functions": "reported",
    }
    for named in papers.load("all"):
        for ending in ("png", "svg", "pdf"):
            assert (site / f"{named.file_name}.{ending}").stat().st_size > 100
        assert (site / f"{named.file_name}.pdf").stat().st_size <= 200_000
        rows = list(site.glob(f"{named.file_name}*.parquet"))
        assert len(rows) == len(named.figure.experiments), named.name


def test_the_front_page_has_a_verdict_of_each_claim(site):
    """Of this quick run, or of the runs of full length, and says which."""
    page = (site / "index.html").read_text(encoding="utf-8")
    judged = pl.read_parquet(site / "claims.parquet")
    own = judged.filter(pl.col("verdict") != "quick").height
    whole = judged.height - own
    assert f"<p>{own} claims by this quick run:</p>" in page
    assert f"<p>{whole} claims by runs of full length, which came with ackclock:</p>" in page
    assert page.count("<td>full length</td>") == whole
    assert page.count("<td>this run</td>") == own
    assert "not judged" not in page
    claim = "cubicfc.fig2.cubic-400s"
    found = tally.at_full_length()[claim]
    row = re.search(rf'<tr><td><a href="[^"]*#{claim}">.*?</tr>', page, re.DOTALL)[0]
    assert f">{found['verdict']}</td>" in row
    assert found["measured"] in re.sub(r"<[^>]*>", "", row)
    card = (site / "cubicfc.html").read_text(encoding="utf-8")
    assert f"At full length: {found['verdict']}, {found['firmness']}, " in card


def test_full_length_says_nothing_of_changed_settings(ackclock, tmp_path):
    command = ("reproduce", "cubicfc/fig2", "--quick", "--set", "bottleneck.buffer=500packets")
    done = ackclock(*command, "-o", "changed", "--pdf")
    assert done.returncode == 0, done.stderr
    page = (tmp_path / "changed" / "index.html").read_text(encoding="utf-8")
    assert "full length" not in page
    assert 'href="cubicfc-fig02.pdf"' in page
    assert (tmp_path / "changed" / "cubicfc-fig02.pdf").read_bytes().startswith(b"%PDF")


def test_again_from_what_is_kept_gives_the_same_bytes(site):
    command = [ACKCLOCK, "claims", "--quick", "-o", "again"]
    subprocess.run(command, cwd=site.parent, check=True, capture_output=True, timeout=300)
    for name in ("claims.json", "claims.parquet"):
        assert (site.parent / "again" / name).read_bytes() == (site / name).read_bytes()


def opened(context, path, complaints):
    page = context.new_page()
    page.on("console", lambda message: complaints.append(message.text))
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.on("requestfailed", lambda request: complaints.append(request.url))
    page.goto(path.as_uri())
    return page


@pytest.mark.parametrize(("width", "height"), [(1400, 900), (390, 844)], ids=["wide", "phone"])
def test_every_page_shows_all_without_an_error(site, browser, width, height):
    complaints, ids, links = [], {}, {}
    size = {"width": width, "height": height}
    context = new_context(browser, viewport=size, offline=True)
    for path in sorted(site.glob("*.html")):
        page = opened(context, path, complaints)
        contents = page.locator(".contents nav a").first
        expect(contents).to_be_visible(visible=width > 1000)
        ids[path.name] = page.eval_on_selector_all("[id]", "all => all.map(each => each.id)")
        links[path.name] = page.eval_on_selector_all(
            "a", "all => all.map(each => each.getAttribute('href'))"
        )
        page.evaluate("for (const each of document.querySelectorAll('details')) each.open = true")
        figures = page.locator("figure").count()
        expect(page.locator("figure svg:visible")).to_have_count(figures)
        black = page.eval_on_selector_all(  # in the dark as well
            "figure svg text",
            """all => all.filter((each) => getComputedStyle(each).fill === "rgb(0, 0, 0)")
              .map((each) => each.textContent)""",
        )
        assert black == []
        page.wait_for_function(  # no wider than the screen
            "() => document.documentElement.scrollWidth === document.documentElement.clientWidth"
        )
        page.close()
    context.close()
    assert complaints == []
    for name, some in ids.items():
        assert len(some) == len(set(some)), name
    for name, some in links.items():
        for link in some:
            to, _, anchor = link.partition("#")
            assert (site / (to or name)).is_file(), (name, link)
            assert not anchor or anchor in ids[to or name], (name, link)
    for claim in CLAIMS.split():
        assert claim in ids[f"{claim.partition('.')[0]}.html"]


def test_a_doubter_finds_words_setup_data_and_command(site, browser):
    """All of a figure, also where no script runs."""
    context = new_context(browser, java_script_enabled=False, offline=True)
    page = context.new_page()
    page.goto((site / "cubicfc.html").as_uri() + "#cubicfc.fig5.fc-200s")
    figure = page.locator("section#fig05")
    for words in ("Cubic-FC flows just need less than 200s", "ackclock reproduce cubicfc/fig05"):
        expect(figure.get_by_text(words).last).to_be_visible()
    expect(figure.locator("figure svg:visible")).to_have_count(1)
    expect(figure.locator("figure svg:visible")).to_contain_text("the paper:")
    summaries = "What we assumed", "Measurements", "Setup of", "is drawn", "each row", "2 parts"
    for summary in summaries:
        figure.locator("summary", has_text=summary).click()
    for words in ("the testbed's kernel", "1.5", "linux-2.6.32", "800mbit"):
        expect(figure.get_by_text(words).first).to_be_visible()
    for name in ("Findings", "Source", "Parquet", "CSV"):
        expect(figure.get_by_role("link", name=name, exact=True)).to_have_count(1)
    expect(figure.get_by_role("link", name="cubicfc-fig05-").first).to_be_visible()
    context.close()


def test_a_history_can_be_zoomed(site, browser):
    complaints = []
    context = new_context(browser, viewport={"width": 1400, "height": 900}, offline=True)
    page = opened(context, site / "leith2007.html", complaints)
    figure = page.locator("section#fig02 figure")
    figure.get_by_role("button", name="Zoom into it").click()
    expect(figure.locator("canvas")).to_have_count(3)  # 10, 250 and 500 Mb/s
    expect(figure.locator("svg:visible")).to_have_count(0)
    expect(figure.locator(".u-legend").first).to_contain_text("flow 2")
    over = figure.locator(".u-over").first
    width = over.evaluate("each => each.clientWidth")
    over.hover(position={"x": 100, "y": 50})
    page.mouse.down()
    over.hover(position={"x": 150, "y": 50})
    over.hover(position={"x": 200, "y": 50})
    page.mouse.up()
    over.hover(position={"x": width - 2, "y": 50})
    # The right end is no longer the end of the run, on any of the panels.
    page.wait_for_function(
        """() => [...document.querySelectorAll("#fig02 .u-legend .u-series:first-child .u-value")]
            .every(each => Number(each.textContent) > 0 && Number(each.textContent) < 300)"""
    )
    figure.get_by_role("button", name="Show the picture").click()
    expect(figure.locator("svg:visible")).to_have_count(1)
    context.close()
    assert complaints == []


def test_the_card_of_a_long_name_fits_a_phone(ackclock, browser, tmp_path):
    """Its marks stand in the last columns."""
    source = (ROOT / "tests" / "scorecard" / "never_backs_off.c").read_text()
    (tmp_path / "never_backs_off.c").write_text(source)
    done = ackclock("evaluate", "never_backs_off.c", "--quick", "--rows", "R4", "-o", "out")
    assert done.returncode == 0, done.stderr
    context = new_context(browser, viewport={"width": 390, "height": 844}, offline=True)
    page = opened(context, tmp_path / "out" / "index.html", [])
    box = page.locator(".scroll:has(table.card)")
    expect(box.get_by_text("unsafe").last).to_be_visible()
    assert box.evaluate("each => each.scrollWidth - each.clientWidth") == 0
    context.close()
