"""Figures as values: experiments, quantities, claims and plots.

A figure's module says each thing once. An `Experiment` has points, a scenario for each and the
numbers that are kept of a run. A `Column` of it is a `Quantity` at each point; differences, ratios
and slopes of quantities are quantities. A `Claim` has bounds of quantities. A `Figure` has all,
so that its table, its plot and its verdicts show the same numbers. A name that does not exist
raises at import.
"""

from importlib import import_module
from typing import TYPE_CHECKING

from ackclock.estimates.repeats import AtLeast, AtMost, Repeats
from ackclock.figures.claim import Claim, Either, Part, above, below, ours, within
from ackclock.figures.experiment import Experiment, Point, Runs, Variant, grid
from ackclock.figures.quantity import (
    Column,
    Quantity,
    combined,
    computed,
    geometric,
    mean_of,
    needs_of,
    ratio,
    slope,
)

if TYPE_CHECKING:
    from ackclock.figures import plots
    from ackclock.figures.figure import Check, Figure, Plot, View, every

#: Where a name is that draws: it is imported at its first use, which takes half a second.
_HOME = {
    "Check": "figure",
    "Figure": "figure",
    "Plot": "figure",
    "View": "figure",
    "every": "figure",
}

__all__ = [
    "AtLeast",
    "AtMost",
    "Check",
    "Claim",
    "Column",
    "Either",
    "Experiment",
    "Figure",
    "Part",
    "Plot",
    "Point",
    "Quantity",
    "Repeats",
    "Runs",
    "Variant",
    "View",
    "above",
    "below",
    "combined",
    "computed",
    "every",
    "geometric",
    "grid",
    "mean_of",
    "needs_of",
    "ours",
    "plots",
    "ratio",
    "slope",
    "within",
]


if not TYPE_CHECKING:

    def __getattr__(name: str) -> object:
        if name == "plots":
            return import_module("ackclock.figures.plots")
        if name not in _HOME:
            raise AttributeError(f"module 'ackclock.figures' has no attribute '{name}'")
        return getattr(import_module(f"ackclock.figures.{_HOME[name]}"), name)
