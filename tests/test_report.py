"""The report in a real browser, wide and on a phone."""

import shutil
import subprocess

import pytest
from playwright.sync_api import sync_playwright

from conftest import ACKCLOCK

BROWSERS = ("chromium", "chromium-browser", "google-chrome")
BROWSER = next(filter(None, map(shutil.which, BROWSERS)), None)


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    cwd = tmp_path_factory.mktemp("report")
    figures = ["leith2007/fig08", "leith2007/fig14", "cubicfc/fig05"]
    command = [ACKCLOCK, "reproduce", *figures, "--quick", "-o", "site"]
    subprocess.run(command, cwd=cwd, check=True, capture_output=True)
    return cwd / "site"


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
