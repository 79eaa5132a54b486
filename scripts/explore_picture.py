"""Draws docs/explore.png: the live page with a scenario of its gallery, in headless Chromium."""

import shutil
import sys
import tempfile
from pathlib import Path

from playwright.sync_api import expect, sync_playwright

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT / "tests"))

from explorer import Server  # noqa: E402

BROWSERS = ("chromium", "chromium-browser", "google-chrome")


def main(directory):
    browser = next(filter(None, map(shutil.which, BROWSERS)))
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        server = Server(Path(folder))
        try:
            chromium = playwright.chromium.launch(executable_path=browser, args=["--no-sandbox"])
            page = chromium.new_page(viewport={"width": 1280, "height": 860})
            page.goto(server.url)
            page.click('.card[data-name="03-cubicfc-v-cubic"]')
            done = page.locator(".run[data-state=done]")
            expect(done).to_have_count(1, timeout=60_000)
            page.wait_for_timeout(1000)
            page.mouse.move(880, 330)
            page.wait_for_timeout(300)
            page.screenshot(path=directory / "explore.png")
            chromium.close()
        finally:
            server.close()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
