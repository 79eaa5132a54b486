"""A scenario in a notebook: sliders change its keys, and the picture of its run follows."""

from collections.abc import Mapping
from html import escape
from pathlib import Path
from typing import Any

from ackclock.base.errors import AckclockError
from ackclock.draw import plot
from ackclock.results.result import run
from ackclock.scenario.scenario import Scenario

try:
    import anywidget
    import traitlets
except ImportError:
    raise AckclockError('anywidget is missing; type pip install "ackclock[notebook]"') from None


class Live(anywidget.AnyWidget):
    """Sliders over keys of a scenario, as of `--set`, and the picture of the run.

    >>> Live(scenario, {"rtt": (5, 200, "ms"), "cubic:beta": (0.5, 0.9)})  # doctest: +SKIP

    Each key has its least and greatest value, and the unit that it is written with. A key begins
    in the middle. Raises `AckclockError`, as `Scenario.assign` does.
    """

    _esm = Path(__file__).with_name("live.js")
    sliders: Any = traitlets.List().tag(sync=True)
    #: Key → where its slider is.
    values = traitlets.Dict().tag(sync=True)
    #: SVG, or why there is none.
    picture = traitlets.Unicode().tag(sync=True)

    def __init__(self, scenario: Scenario, keys: Mapping[str, tuple[Any, ...]]) -> None:
        self._units = {key: "".join(unit) for key, (_, _, *unit) in keys.items()}
        self._scenario = scenario
        middle = {key: (low + high) / 2 for key, (low, high, *_) in keys.items()}
        self._picture_of(middle)
        names = ("key", "low", "high", "unit")
        rows = [(key, low, high, self._units[key]) for key, (low, high, *_) in keys.items()]
        sliders = [dict(zip(names, row, strict=True)) for row in rows]
        super().__init__(sliders=sliders, values=middle)

    def _picture_of(self, values: Mapping[str, float]) -> str:
        texts = [f"{key}={value:.4g}{self._units[key]}" for key, value in values.items()]
        return plot.inline_svg(run(self._scenario.assign(*texts)).plot())

    @traitlets.observe("values")
    def _changed(self, change: Any) -> None:
        try:
            self.picture = self._picture_of(change["new"])
        except AckclockError as error:
            self.picture = f"<pre>{escape(str(error))}</pre>"
