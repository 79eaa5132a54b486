"""What a user does in the live page, and waits for."""

from playwright.sync_api import expect

from common import SLOW_MS


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
