"""The report in a real browser, wide and on a phone."""

import subprocess

import polars as pl
import pytest

from ackclock import papers
from conftest import ACKCLOCK

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
    """Every figure of every paper, in quick form."""
    cwd = tmp_path_factory.mktemp("report")
    command = [ACKCLOCK, "report", "--quick", "-o", "site"]
    subprocess.run(command, cwd=cwd, check=True, capture_output=True)
    return cwd / "site"


def test_every_claim_has_a_row_and_every_figure_its_files(site):
    claims = pl.read_parquet(site / "claims.parquet")
    assert set(CLAIMS.split()) <= set(claims["id"])
    # Those that need no repeats.
    decided = claims.filter(pl.col("verdict") != "quick")
    assert dict(decided.select("id", "verdict").iter_rows()) == {
        "ha2008.table1.cube-root": "fails",
        "ha2008.table1.versions": "holds",
        "ha2008.s4.hooks": "holds",
        "ha2008.intro.reno-10g": "holds",
        "leith2007.fig8.increase-functions": "reported",
    }
    for named in papers.load("all"):
        for ending in ("png", "svg", "pdf"):
            assert (site / f"{named.file_name}.{ending}").stat().st_size > 100
        rows = list(site.glob(f"{named.file_name}*.parquet"))
        assert len(rows) == len(named.figure.experiments), named.name


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
    context = browser.new_context(viewport={"width": width, "height": height}, offline=True)
    for path in sorted(site.glob("*.html")):
        page = opened(context, path, complaints)
        drawn = page.locator("figure svg:visible").count()
        assert drawn == page.locator("figure").count(), path.name
        contents = page.locator(".contents nav a").first
        assert contents.is_visible() == (width > 1000), path.name
        ids[path.name] = page.eval_on_selector_all("[id]", "all => all.map(each => each.id)")
        links[path.name] = page.eval_on_selector_all(
            "a", "all => all.map(each => each.getAttribute('href'))"
        )
        page.evaluate("for (const each of document.querySelectorAll('details')) each.open = true")
        overflow = page.evaluate(
            "document.documentElement.scrollWidth - document.documentElement.clientWidth"
        )
        assert overflow == 0, f"{path.name} is {overflow} px wider than the screen"
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
    context = browser.new_context(java_script_enabled=False, offline=True)
    page = context.new_page()
    page.goto((site / "cubicfc.html").as_uri() + "#cubicfc.fig5.fc-200s")
    figure = page.locator("section#fig05")
    for words in ("Cubic-FC flows just need less than 200s", "ackclock reproduce cubicfc/fig05"):
        assert figure.get_by_text(words).last.is_visible()
    assert figure.locator("figure svg:visible").count() == 1
    assert "the paper:" in figure.locator("figure svg:visible").text_content()
    for summary in ("What we assumed", "Measurements", "Setup of", "Scenario", "2 parts"):
        figure.locator("summary", has_text=summary).click()
    for words in ("the testbed's kernel", "1.5", "linux-2.6.32", "800mbit"):
        assert figure.get_by_text(words).first.is_visible()
    for name in ("Findings", "Source", "Parquet", "CSV", "scenario"):
        assert figure.get_by_role("link", name=name, exact=True).count() == 1
    context.close()


def test_a_history_can_be_zoomed(site, browser):
    complaints = []
    context = browser.new_context(viewport={"width": 1400, "height": 900}, offline=True)
    page = opened(context, site / "leith2007.html", complaints)
    figure = page.locator("section#fig02 figure")
    figure.get_by_role("button", name="Zoom into it").click()
    assert figure.locator("canvas").count() == 3  # 10, 250 and 500 Mb/s
    assert figure.locator("svg:visible").count() == 0
    legend = figure.locator(".u-legend").first
    assert "flow 2" in legend.text_content()
    figure.locator(".u-over").first.scroll_into_view_if_needed()
    over = figure.locator(".u-over").first.bounding_box()
    middle = over["y"] + over["height"] / 2
    page.mouse.move(over["x"] + 100, middle)
    page.mouse.down()
    page.mouse.move(over["x"] + 200, middle, steps=4)
    page.mouse.up()
    page.mouse.move(over["x"] + over["width"] - 2, middle)
    # The right end is no longer the end of the run, on any of the panels.
    page.wait_for_function(
        """() => [...document.querySelectorAll("#fig02 .u-legend .u-series:first-child .u-value")]
            .every(each => Number(each.textContent) > 0 && Number(each.textContent) < 300)"""
    )
    figure.get_by_role("button", name="Show the picture").click()
    assert figure.locator("svg:visible").count() == 1
    context.close()
    assert complaints == []
