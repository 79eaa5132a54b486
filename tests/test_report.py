"""The report in a real browser, wide and on a phone."""

import shutil
import subprocess

import polars as pl
import pytest
from playwright.sync_api import sync_playwright

from ackclock import papers
from conftest import ACKCLOCK

BROWSERS = ("chromium", "chromium-browser", "google-chrome")
BROWSER = next(filter(None, map(shutil.which, BROWSERS)), None)


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
    assert set(claims["verdict"]) == {"quick"}
    for named in papers.load("all"):
        for ending in ("png", "svg", "pdf"):
            assert (site / f"{named.file_name}.{ending}").stat().st_size > 100
        rows = list(site.glob(f"{named.file_name}*.parquet"))
        assert len(rows) == len(named.figure.experiments), named.name


def test_again_from_what_is_kept_gives_the_same_bytes(site):
    command = [ACKCLOCK, "claims", "--quick", "-o", "again"]
    subprocess.run(command, cwd=site.parent, check=True, capture_output=True, timeout=60)
    for name in ("claims.json", "claims.parquet"):
        assert (site.parent / "again" / name).read_bytes() == (site / name).read_bytes()


@pytest.mark.skipif(BROWSER is None, reason="no Chromium here: apt-get install chromium")
@pytest.mark.parametrize(("width", "height"), [(1280, 900), (390, 844)], ids=["wide", "phone"])
def test_every_page_shows_all_without_an_error(site, tmp_path, width, height):
    complaints = []
    with sync_playwright() as playwright:
        # Root's Chromium has no sandbox; the pages are ours.
        browser = playwright.chromium.launch(executable_path=BROWSER, args=["--no-sandbox"])
        context = browser.new_context(viewport={"width": width, "height": height}, offline=True)
        for path in sorted(site.glob("*.html")):
            page = context.new_page()
            page.on("console", lambda message: complaints.append(message.text))
            page.on("pageerror", lambda error: complaints.append(str(error)))
            page.on("requestfailed", lambda request: complaints.append(request.url))
            page.goto(path.as_uri())
            drawn = page.eval_on_selector_all(
                "figure svg", "all => all.map(svg => svg.getBoundingClientRect().height)"
            )
            links = page.eval_on_selector_all("a", "all => all.map(a => a.getAttribute('href'))")
            overflow = page.evaluate(
                "document.documentElement.scrollWidth - document.documentElement.clientWidth"
            )
            page.screenshot(path=tmp_path / f"{path.stem}-{width}.png", full_page=True)
            assert all(height > 50 for height in drawn), path.name
            assert all((site / link).is_file() for link in links), path.name
            assert overflow == 0, f"{path.name} is {overflow} px wider than the screen"
            if path.stem != "index":
                assert drawn
        browser.close()
    assert complaints == []
