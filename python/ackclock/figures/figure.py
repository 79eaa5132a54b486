"""A figure or table of a paper, as a value."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import polars as pl

from ackclock.estimates.stats import Estimate
from ackclock.figures.claim import Claim
from ackclock.figures.experiment import Experiment, Point, repeats_of
from ackclock.figures.quantity import Column, Needs, Quantity, Rows, needs_of
from ackclock.results.result import Result
from ackclock.scenario.scenario import Scenario

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Drawing  # half a second

#: A run of an experiment: its point and its seed.
Repeat = tuple[Experiment, Point, int]


@dataclass(frozen=True, eq=False)
class View:
    """What a plot sees: the rows of the runs, and whole results where it asks for them."""

    rows: Rows
    load: Callable[[Scenario], Result]
    #: The scenario of a repeat, as it ran: with settings, and shortened in a quick run.
    scenario: Callable[[Experiment, Point, int], Scenario]
    #: The whole runs that the plot has drawn.
    drawn: list[Repeat] = field(default_factory=list)

    def estimate(self, quantity: Quantity) -> Estimate | None:
        """The number and its interval; None if no run tells."""
        return quantity.estimate(self.rows)

    def runs(self, experiment: Experiment, **some: Any) -> pl.DataFrame:
        """The rows of an experiment at the points with these values."""
        table = self.rows[experiment].table
        return table.filter(**some) if some else table

    def result(self, experiment: Experiment, seed: int = 1, **point: Any) -> Result:
        """A whole run, to draw."""
        the = experiment.the(**point)
        self.drawn.append((experiment, the, seed))
        return self.load(self.scenario(experiment, the, seed))

    def titled(self, title: str, experiment: Experiment, seed: int = 1, **point: Any) -> str:
        """A title with which of several repeats is drawn: "CUBIC, seed 1 of 10"."""
        seeds = len(self.rows[experiment].at(experiment.the(**point)))
        which = f"seed {seed} of {seeds}" if seeds > 1 else ""
        return ", ".join(filter(None, (title, which)))


@dataclass(frozen=True, eq=False)
class Plot:
    """Draws a figure of a view."""

    draw: "Callable[[View], Drawing]"
    #: The points that it draws.
    needs: Needs = ()

    def __call__(self, view: View) -> "Drawing":
        return self.draw(view)


@dataclass(frozen=True, eq=False)
class Check:
    """What of a figure runs on Linux."""

    #: How it differs from the figure's own setup.
    setup: str
    experiment: Experiment
    #: What is put side by side → the column of a row that has it.
    quantities: Mapping[str, str]

    def __post_init__(self) -> None:
        assert self.columns  # raises `KeyError` where a row has none of that name

    @property
    def columns(self) -> list[Column]:
        """What is put side by side."""
        return [Column(self.experiment, column, name) for name, column in self.quantities.items()]

    def say(self, point: Point, between: str = ", ") -> str:
        """A point in words."""
        return self.experiment.say(point, between=between) or self.experiment.name

    def repeats(self, seeds: int) -> list[tuple[Point, int, Scenario]]:
        """The runs of the check: point, seed and scenario."""
        return list(repeats_of(self.experiment, self.experiment.points, range(1, seeds + 1)))


@dataclass(frozen=True, eq=False)
class Figure:
    """What a figure of a paper shows and claims. Title and setup are its module's docstring."""

    plot: Plot
    #: What its table shows.
    quantities: Sequence[Quantity] = ()
    claims: Sequence[Claim] = ()
    #: The part of it that one machine can carry in real time.
    kernel: Check | None = None
    #: The part of it that Linux in virtual time can run, at the paper's rate.
    vlinux: Check | None = None

    @property
    def checks(self) -> dict[str, Check]:
        """What of it runs on Linux: "kernel" and "vlinux" → how."""
        both = {"kernel": self.kernel, "vlinux": self.vlinux}
        return {side: check for side, check in both.items() if check}

    @property
    def needs(self) -> Needs:
        """The points whose runs it needs."""
        found = list(needs_of(self.quantities))
        for needs in (self.plot.needs, *(claim.needs for claim in self.claims)):
            found += [need for need in needs if need not in found]
        return tuple(found)

    @property
    def experiments(self) -> list[Experiment]:
        """The experiments of the figure."""
        return list(dict.fromkeys(experiment for experiment, _ in self.needs))
