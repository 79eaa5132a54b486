"""What an evaluation asks, and what it found."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from ackclock import _core
from ackclock.base import units
from ackclock.figures.experiment import Experiment, Point, Runs
from ackclock.questions import paths, sharing
from ackclock.questions.card import Answers, Number, Question, points_of
from ackclock.questions.held_out import Gap, gaps

#: Rows R1 to R16, by the criteria of RFC 9743 (BCP 133).
QUESTIONS: Sequence[Question] = (*sharing.ROWS, *paths.ROWS)
#: What an algorithm is compared with, unless told otherwise.
AGAINST = ("cubic", "reno")
#: Of what programs read, docs/card.schema.json; it rises when a key changes its meaning or goes.
VERSION = 1
#: Who answers every row of an algorithm that it takes.
SIMULATOR = "simulator"


@dataclass(frozen=True)
class Request:
    """What is asked of an algorithm."""

    algorithm: str
    questions: Sequence[Question] = QUESTIONS
    #: What it is compared with, in its place.
    against: Sequence[str] = AGAINST
    #: At few points.
    quick: bool = False
    #: Draws links, on which the same is asked.
    held_out: int | None = None
    #: After it the card ends with what there is.
    budget_s: float | None = None
    #: The seeds of its runs follow it. None: the cache's own, which no file knows.
    nonce: int | None = 0

    @property
    def names(self) -> list[str]:
        """The algorithm and the others, each once."""
        return list(dict.fromkeys([self.algorithm, *self.against]))


@dataclass(frozen=True, eq=False)
class OnLinux:
    """What Linux answers to a question: the numbers of one point that it can measure."""

    #: None: it answers none.
    runs: Runs | None
    answers: Answers
    #: Why it does not answer the others.
    refused: Sequence[str]


@dataclass(frozen=True, eq=False)
class Answered:
    """A question with the runs that answer it."""

    question: Question
    experiment: Experiment
    runs: Runs
    answers: Answers
    #: The same on Linux, if it was asked.
    linux: OnLinux | None = None

    def point(self, number: Number, algorithm: str) -> Point:
        """The point of a number of an algorithm, the first of several."""
        return points_of(self.experiment, number, algorithm)[0]


@dataclass(frozen=True, eq=False)
class HeldOut:
    """The same questions on links that a seed has drawn."""

    seed: int
    #: As few points of the card's own.
    fixed: Sequence[Answered]
    asked: Sequence[Answered]

    @property
    def gaps(self) -> list[Gap]:
        """How each number differs between both."""
        return gaps([each.answers for each in self.fixed], [each.answers for each in self.asked])


@dataclass(frozen=True)
class Failed:
    """Where an algorithm failed, and how. Nothing is asked after that."""

    #: Of `run.STAGES`.
    stage: str
    row: str
    problem: str
    #: The run in which it happened, as TOML, where that is known.
    scenario: str | None = None


@dataclass(frozen=True, eq=False)
class Evaluated:
    """A scorecard."""

    algorithm: str
    against: Sequence[str]
    asked: Sequence[Answered]
    quick: bool
    failed: Failed | None = None
    #: Why there is no more, if nothing failed: the budget.
    stopped: str | None = None
    #: "kernel" or "vlinux", beside the simulator; None if one host answers alone.
    on: str | None = None
    #: Who answers every row: Linux, if the simulator refuses the algorithm.
    host: str = SIMULATOR
    #: The same questions on other links, if that was asked.
    held_out: HeldOut | None = None
    #: Of the request.
    nonce: int | None = 0

    @property
    def names(self) -> dict[str, str]:
        """Each algorithm and what to call it, the one that is judged first."""
        return {each: Path(each).name for each in (self.algorithm, *self.against)}

    @property
    def gaps(self) -> list[Gap]:
        """How each number differs between the card's links and those that are held out."""
        return self.held_out.gaps if self.held_out else []

    @property
    def recognised(self) -> list[str]:
        """The rows whose marks do not count: it does better on the card's links than on others."""
        return list(dict.fromkeys(each.row for each in self.gaps if each.counts))

    @property
    def made_by(self) -> str:
        """Which ackclock, and how many runs."""
        quickly = " · a quick run: wide intervals" if self.quick else ""
        beside = f" · beside it: {self.on}" if self.on else ""
        beside += f" · all on {self.host}" if self.host != SIMULATOR else ""
        beside += f" · nonce {self.nonce}" if self.nonce else ""
        return f"ackclock {_core.engine_version()}{quickly}{beside}"

    @property
    def totals(self) -> str:
        """How much was simulated, in words."""
        tables = [asked.runs.table.unique("key") for asked in self.asked]
        runs, packets = sum(map(len, tables)), sum(int(table["packets"].sum()) for table in tables)
        cpu_s = sum(float(table["cpu_time_s"].sum() or 0) for table in tables)  # Linux tells none
        return (
            f"{runs} runs, {units.packets_in_words(packets)}; "
            f"they took {cpu_s:.0f} s of processor time."
        )
