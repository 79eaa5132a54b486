"""The picture with sliders: what Python draws, and what the browser tells."""

import json

import pytest

from ackclock import AckclockError, Live, Scenario
from common import ROOT, new_context

SCENARIO = Scenario.parse(
    {
        "duration": "3s",
        "rtt": "20ms",
        "bottleneck": {"rate": "10mbit", "buffer": "1bdp"},
        "flow": [{"algorithm": "cubic"}],
    }
)
SCRIPT = ROOT / "python" / "ackclock" / "draw" / "live.js"
#: What Jupyter and others give to a widget, with its state as JSON.
MODEL = """(state) => {
  const heard = {};
  window.saved = 0;
  window.model = {
    get: (name) => state[name],
    set: (name, value) => { state[name] = value; (heard[`change:${name}`] ?? (() => {}))(); },
    on: (what, call) => { heard[what] = call; },
    save_changes: () => { window.saved += 1; },
  };
}"""


def test_a_slider_runs_the_scenario_again():
    widget = Live(SCENARIO, {"rtt": (10, 50, "ms"), "cubic:beta": (0.5, 0.9)})
    assert widget.values == {"rtt": 30, "cubic:beta": 0.7}
    assert widget.sliders[0] == {"key": "rtt", "low": 10, "high": 50, "unit": "ms"}
    first = widget.picture
    assert first.startswith("<svg")
    widget.values = {"rtt": 50, "cubic:beta": 0.7}
    assert widget.picture.startswith("<svg")
    assert widget.picture != first
    widget.values = {"rtt": 50, "cubic:beta": 9.0}
    assert "beta = 9 is out of range" in widget.picture
    with pytest.raises(AckclockError, match="gamma"):
        Live(SCENARIO, {"cubic:gamma": (0, 1)})


def test_the_browser_tells_where_a_slider_is(browser):
    widget = Live(SCENARIO, {"rtt": (10, 50, "ms")})
    state = {name: getattr(widget, name) for name in ("sliders", "values", "picture")}
    with new_context(browser) as context:
        page = context.new_page()
        page.set_content("<div id=here></div>")
        page.evaluate(MODEL, state)
        source = json.dumps(SCRIPT.read_text(encoding="utf-8"))
        page.evaluate(
            f"""async () => {{
              const url = URL.createObjectURL(new Blob([{source}], {{type: "text/javascript"}}));
              (await import(url)).default.render({{model, el: document.getElementById("here")}});
            }}"""
        )
        assert page.inner_text("label") == "rtt  30ms"
        assert page.locator("#here svg").count() >= 1
        page.locator("input").fill("50")
        assert page.inner_text("output") == "50ms"
        assert page.evaluate("[model.get('values').rtt, saved]") == [50, 1]
        page.evaluate("model.set('picture', '<svg id=other></svg>')")
        assert page.locator("#other").count() == 1
