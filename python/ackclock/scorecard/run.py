"""Asks the questions of the scorecard, the cheap ones first."""

import secrets
from collections.abc import Callable, Generator, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, TypeVar

import polars as pl

from ackclock.base.budget import Budget, LateError
from ackclock.base.directory import replaced
from ackclock.base.errors import AckclockError, AlgorithmError
from ackclock.figures.experiment import Runs
from ackclock.hosts.contained import contained
from ackclock.hosts.linux import Linux
from ackclock.hosts.work import WORK, Work, check_writable, quiet
from ackclock.questions.card import Question, answers
from ackclock.questions.held_out import Gap, again, drawn
from ackclock.questions.links import LINKS, trial
from ackclock.scenario import snapshot
from ackclock.scenario.scenario import KERNEL, name_in
from ackclock.scorecard.evaluated import (
    QUESTIONS,
    Answered,
    Evaluated,
    Failed,
    HeldOut,
    Request,
)
from ackclock.scorecard.on_linux import ask_linux, only_linux, rehearse
from ackclock.scorecard.runs import (
    NotLoadedError,
    filled,
    one_by_one,
    simulated,
    traced_elsewhere,
)

T = TypeVar("T")

#: What an algorithm must get past, one after the other; the links carry data, the card is whole.
STAGES = ("compile", "contract", "links", "quick", "card", "held out")

#: The file of a cache's own nonce, and how many bits one has.
NONCE, NONCE_BITS = "nonce", 48
#: An address differs from process to process, and nothing else that a checked file can read does.
NOT_REPEATED = "one run twice gives two results: does it use an address as a number, as in (u64)sk?"


@dataclass(frozen=True)
class _Part:
    """A question in a stage."""

    stage: str
    question: Question
    quick: bool

    @classmethod
    def all_of(cls, request: Request) -> "list[_Part]":
        """The links, the questions quickly, all of their points, and the same elsewhere."""
        rest = [] if list(request.questions) == [LINKS] else request.questions
        found = [cls("links", LINKS, False), *(cls("quick", each, True) for each in rest)]
        if not request.quick:
            found += [cls("card", each, False) for each in rest]
        if request.held_out is not None:
            some = drawn(request.questions, request.held_out)
            found += [cls("held out", each, True) for each in some]
        return found


def evaluate(
    request: Request,
    work: Work = WORK,
    *,
    on: Linux | None = None,
    on_linux: Callable[[int, float], None] = quiet,
) -> Evaluated:
    """Asks the questions of the algorithm, and of others in its place; runs what is not kept.

    Before them, the algorithm must run on `links.trial` and be safe on `links.LINKS`; before all
    points of the questions come those of a quick run. If it crashes, does not return, or is unsafe
    on the links, the card says so and ends there. `on` also asks Linux what it can measure, Linux
    alone if the simulator refuses the file or it is `kernel:NAME`; `on_linux` is called before with
    how many of these runs are not kept, and their seconds.
    C files run in a process of their own. Raises `AckclockError` if there is no such algorithm, or
    another cannot be loaded or run.
    """
    algorithm, *others = request.names
    keeps, request = request.nonce is None, replace(request, nonce=_nonce(request, work))
    if on is not None:
        on.ready()
        for each in request.names:
            rehearse(on, each, "" if each == algorithm else "--against: ")
    parts = _Part.all_of(request)
    asking = _Asking(request, work, Budget.of(request.budget_s), keeps)
    with snapshot.held():
        if on is None or not algorithm.startswith(KERNEL):
            asking.ask(parts)
            asking.ask_again()
        refused = asking.failed and asking.failed.stage == "compile"
        if on is not None and (refused or algorithm.startswith(KERNEL)):
            return only_linux(request, on, work, on_linux)
        stage, shown = asking.last(parts)
        found = asking.found["held out"]
        if asking.failed or asking.stopped:
            on = None
        if on is not None:
            asked = [(each.question, each.experiment) for each in shown]
            linux = ask_linux(asked, on, stage == "quick", work, on_linux)
            shown = [replace(each, linux=own) for each, own in zip(shown, linux, strict=True)]
    evaluated = Evaluated(
        algorithm,
        others,
        shown,
        quick=stage == "quick",
        failed=asking.failed,
        stopped=asking.stopped,
        on=on.name if on else None,
        held_out=HeldOut(request.held_out, asking.fixed, found)
        if request.held_out is not None and found
        else None,
        nonce=request.nonce,
    )
    if not evaluated.failed and (rows := ", ".join(evaluated.recognised)):
        failed = Failed("held out", evaluated.recognised[0], f"recognised the links of {rows}")
        evaluated = replace(evaluated, failed=failed)
    return evaluated


@dataclass(eq=False)
class _Asking:
    """The stages, one after the other."""

    request: Request
    work: Work
    budget: Budget
    #: Whether the nonce is the cache's own.
    keeps: bool = False
    #: Stage → its questions that have answers.
    found: dict[str, list[Answered]] = field(default_factory=lambda: {each: [] for each in STAGES})
    failed: Failed | None = None
    stopped: str | None = None

    def ask(self, parts: Sequence[_Part]) -> None:
        """Asks, until the algorithm fails or the budget is used up."""
        stage, part = "compile", None
        asked = [(each.question, each.quick) for each in parts]
        with closing(_run(simulated, self.request, self.work, self.budget, asked)) as tables:
            try:
                next(tables)
                stage = "contract"
                trace = next(tables)
                if self.keeps:
                    _keep_nonce(self.request, self.work)
                for part in parts:
                    if (stage, part.stage) == (LINKS.row, "quick") and not self._repeats(trace):
                        break
                    stage = part.stage
                    self._take(part, next(tables))
                    if self.failed:
                        break
            except LateError as late:
                self.stopped = f"{late} in the stage {stage}"
            except NotLoadedError as error:
                self.failed = Failed(stage, stage, str(error))
            except AlgorithmError as error:
                if not _is_of(error, self.request.algorithm):
                    raise
                self.failed = self._failed(part, str(error))

    def ask_again(self) -> None:
        """Draws anew what is better on the card's own links: by chance it is once, not twice."""
        first = self.found["held out"]
        doubtful = list(dict.fromkeys(gap.question for gap in self.gaps if gap.looks))
        if self.failed or self.stopped or not doubtful:
            return
        self.found["held out"] = [each for each in first if each.question not in doubtful]
        self.ask([_Part("held out", again(each), False) for each in doubtful])

    @property
    def gaps(self) -> list[Gap]:
        """How far the held out is from it."""
        return HeldOut(0, self.fixed, self.found["held out"]).gaps

    @property
    def fixed(self) -> list[Answered]:
        """What the held out is compared with: as few points of the card."""
        return self.found["quick"] or self.found[LINKS.row]

    def _repeats(self, trace: object) -> bool:
        """Whether a C file does the same in another process, where all has other addresses."""
        algorithm = self.request.algorithm
        if not name_in(algorithm).endswith(".c"):
            return True
        other_process = contained(
            self.budget.ending(traced_elsewhere), algorithm, progress=self.work.progress
        )
        with closing(self.budget.told(other_process)) as other:
            if next(other) == trace:
                return True
        self.failed = self._failed(None, NOT_REPEATED)
        return False

    def _take(self, part: _Part, table: object) -> None:
        assert isinstance(table, pl.DataFrame), "each question has a table"
        experiment = part.question.experiment(
            self.request.names, quick=part.quick, nonce=self.request.nonce
        )
        runs = Runs(experiment, table)
        given = answers(part.question, experiment, {experiment: runs})
        self.found[part.stage].append(Answered(part.question, experiment, runs, given))
        unsafe = given.unsafe(self.request.algorithm) if part.stage == LINKS.row else []
        if unsafe:
            self.failed = Failed(part.stage, part.question.row, unsafe[0])

    def _failed(self, part: _Part | None, problem: str) -> Failed:
        """What went wrong, with the run in which it does so again."""
        if part is None:
            return Failed("contract", "contract", problem, trial(self.request.algorithm).to_toml())
        work, last = replace(self.work, progress=quiet), None
        args = self.request, work, self.budget, part.question, part.quick
        try:
            with closing(_run(one_by_one, *args)) as each_of:
                for each in each_of:
                    last = each
        except LateError:
            pass  # the run is not known
        except AlgorithmError as error:
            # Of several runs at a time another may have failed first, at another moment.
            problem = str(error)
        return Failed(part.stage, part.question.row, problem, last)

    def last(self, parts: Sequence[_Part]) -> tuple[str, list[Answered]]:
        """The last stage of the card all of whose questions have answers, or else the first."""
        stages = list(dict.fromkeys(part.stage for part in parts))
        own = [each for each in stages if each not in (LINKS.row, "held out")] or [LINKS.row]
        whole = [
            each
            for each in own
            if len(self.found[each]) == sum(part.stage == each for part in parts)
        ]
        stage = whole[-1] if whole else own[0]
        return stage, self.found[stage]


def fill(request: Request, work: Work) -> None:
    """Runs the shard of what `evaluate` would run, and keeps the rows for it.

    Raises `AckclockError` if an algorithm cannot be loaded or run, or there is no nonce.
    """
    if request.nonce is None:
        raise AckclockError("--shard: each part needs the same --nonce; add one, like --nonce 7")
    with snapshot.held(), closing(_run(filled, request, work, Budget.of(None))) as told:
        for each in told:
            work.on_runs(*each)


def _nonce(request: Request, work: Work) -> int:
    """What is given, or the cache's own, which no file knows. Raises `AckclockError`."""
    given = request.nonce
    if given is None:
        with suppress(OSError, ValueError):
            return int((work.cache / NONCE).read_text(encoding="utf-8"))
        return secrets.randbits(NONCE_BITS)
    if not (isinstance(given, int) and 0 <= given < 2**NONCE_BITS):
        raise AckclockError(f"nonce = {given!r}: write a whole number from 0, like 7")
    return given


def _keep_nonce(request: Request, work: Work) -> None:
    """For the next card, which then finds the runs of this one."""
    if not (work.cache / NONCE).exists():
        check_writable(work.cache)
        with replaced(work.cache / NONCE) as file:
            file.write_text(f"{request.nonce}\n", encoding="utf-8")


def _run(
    make: Callable[..., Generator[T, None, None]],
    request: Request,
    work: Work,
    budget: Budget,
    *more: Any,
) -> Generator[T, None, None]:
    """What `make` yields: in a process of its own, if one of the algorithms is a C file.

    Raises `LateError` when the budget is used up.
    """
    given = (request, replace(work, progress=quiet, on_runs=quiet), *more)
    tell = budget.within(work.progress)
    if not any(name_in(each).endswith(".c") for each in request.names):
        yield from make(*given, tell)
        return
    is_new = not work.cache.exists()
    check_writable(work.cache)
    may_write = None if work.executor.is_remote else [work.cache]
    try:
        ending = budget.ending(make)
        yield from budget.told(contained(ending, *given, progress=tell, may_write=may_write))
    finally:
        with suppress(OSError):
            if is_new:  # and nothing was kept
                work.cache.rmdir()


def _is_of(error: AlgorithmError, algorithm: str) -> bool:
    """Whether it is this algorithm, and not one beside it."""
    return Path(name_in(algorithm)).name in str(error)


def chosen(rows: str | None) -> Sequence[Question]:
    """The questions of these rows: "R3,R7" (with R7b), "links"; all for None.

    Raises `AckclockError`.
    """
    if rows is None:
        return QUESTIONS
    if not isinstance(rows, str):
        raise AckclockError(f'rows = {rows!r}: write a text, like "R3,R7" or "links"')
    if rows.strip().lower() == LINKS.row:
        return [LINKS]
    names = {question.row: {question.row, question.row.rstrip("abcd")} for question in QUESTIONS}
    wanted = [each.strip() for each in rows.split(",")]
    for row in wanted:
        if row.capitalize() not in set().union(*names.values()):
            raise AckclockError(f'--rows: "{row}": choose from links, {", ".join(names)}')
    asked = {row.capitalize() for row in wanted}
    return [each for each in QUESTIONS if asked & names[each.row]]
