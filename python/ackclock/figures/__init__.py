"""Figures as values: experiments, quantities, claims and plots.

A figure's module says each thing once. An `Experiment` has points, a scenario for each and the
numbers that are kept of a run. A `Column` of it is a `Quantity` at each point; differences, ratios
and slopes of quantities are quantities. A `Claim` has bounds of quantities. A `Figure` has all,
so that its table, its plot and its verdicts show the same numbers. A name that does not exist
raises at import.
"""

from ackclock.estimates.repeats import AtLeast, AtMost, Repeats
from ackclock.figures.claim import Claim, Either
from ackclock.figures.experiment import Experiment, Point, Runs, Variant, grid
from ackclock.figures.figure import Check, Figure, Plot, View
from ackclock.figures.quantity import (
    Column,
    Part,
    Quantity,
    combined,
    computed,
    mean_of,
    needs_of,
    slope,
)

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
    "combined",
    "computed",
    "grid",
    "mean_of",
    "needs_of",
    "slope",
]
