"""How fast the live page draws: 100 runs with 10⁷ samples, in headless Chromium, while zooming.

Makes the runs, opens them in the page, turns the wheel, and prints the times between the frames
that the browser drew (`requestAnimationFrame`), and those of each answer of the server.
"""

import argparse
import shutil
import statistics
import sys
import tempfile
import time
from pathlib import Path

from playwright.sync_api import expect, sync_playwright

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))

from explorer import Server

BROWSERS = ("chromium", "chromium-browser", "google-chrome")
SCENARIO = """
seed = {seed}
duration = "{duration}"
rtt = "{rtt}ms"
sample_interval = "{interval}"
[bottleneck]
rate = "20mbit"
buffer = "1bdp"
[[flow]]
algorithm = "{algorithm}"
"""
ALGORITHMS = ("cubic", "reno", "cubic_fc", "bbr", "htcp")

# Zooms in and out around one time for some seconds: one step of the wheel in each frame.
ZOOM = """async seconds => {
  const over = document.querySelector('.panel[data-panel="cwnd"] .u-over');
  const box = over.getBoundingClientRect();
  const frames = [];
  const begin = performance.now();
  let before = begin;
  let step = 0;
  while (performance.now() - begin < seconds * 1000) {
    const inwards = Math.floor(step++ / 60) % 2 === 0;
    over.dispatchEvent(new WheelEvent('wheel', {
      deltaY: inwards ? -40 : 40, clientX: box.left + box.width * 0.37, clientY: box.top + 20,
      bubbles: true, cancelable: true,
    }));
    await new Promise(requestAnimationFrame);
    const now = performance.now();
    frames.push(now - before);
    before = now;
  }
  return frames;
}"""


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=100)
    parser.add_argument("--samples", type=int, default=10_000_000, help="of all runs together")
    parser.add_argument("--seconds", type=float, default=10, help="of zooming")
    parser.add_argument("--screenshot", type=Path)
    asked = parser.parse_args()
    browser = next(filter(None, map(shutil.which, BROWSERS)))
    with tempfile.TemporaryDirectory() as directory:
        server = Server(Path(directory))
        try:
            measure(server, browser, asked)
        finally:
            server.close()


def measure(server, browser, asked):
    each = asked.samples // asked.runs
    with sync_playwright() as playwright:
        # Without a GPU Chromium emulates one, which is slower than drawing without.
        options = ["--no-sandbox", "--disable-gpu"]
        chromium = playwright.chromium.launch(executable_path=browser, args=options)
        page = chromium.new_page(viewport={"width": 1400, "height": 900})
        page.goto(server.url)
        page.wait_for_selector(".card")
        page.click("[data-tab=toml]")
        begin = time.monotonic()
        for number in range(asked.runs):
            scenario = SCENARIO.format(
                seed=number + 1,
                duration=f"{each}ms",
                interval="1ms",
                rtt=20 + number,
                algorithm=ALGORITHMS[number % len(ALGORITHMS)],
            )
            page.fill("#toml", scenario)
            page.click("#run")
            expect(page.locator(".run")).to_have_count(number + 1)
        done = page.locator(".run[data-state=done]")
        expect(done).to_have_count(asked.runs, timeout=1_200_000)
        runs = server.runs().values()
        rows = sum(run["rows"] for run in runs)
        print(f"{len(runs)} runs, {rows} rows, made in {time.monotonic() - begin:.0f} s")
        page.wait_for_timeout(3000)
        answers = []
        page.on("requestfinished", lambda request: answers.append(request.timing["responseEnd"]))
        frames = page.evaluate(ZOOM, asked.seconds)
        page.wait_for_timeout(1500)
        if asked.screenshot:
            page.screenshot(path=asked.screenshot)
        chromium.close()
    quantiles = statistics.quantiles(frames, n=20)
    rate = 1000 * len(frames) / sum(frames)
    print(
        f"{len(frames)} frames in {sum(frames) / 1000:.1f} s: {rate:.0f} frames/s; "
        f"median {statistics.median(frames):.1f} ms, 95 % {quantiles[-1]:.1f} ms, "
        f"longest {max(frames):.0f} ms"
    )
    print(f"{len(answers)} answers of the server, median {statistics.median(answers):.0f} ms")


if __name__ == "__main__":
    main()
