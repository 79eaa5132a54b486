"""Runs the questions of the scorecard, and keeps the numbers of each run."""

import functools
import hashlib
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Self

import polars as pl

from ackclock import _core
from ackclock.base import units
from ackclock.base.errors import AckclockError, AlgorithmError
from ackclock.figures.batches import Batch
from ackclock.figures.experiment import Experiment, Point, Runs, repeats_of
from ackclock.hosts import work
from ackclock.hosts.linux import Linux
from ackclock.hosts.shard import Shard
from ackclock.hosts.testbed import NoValidRunError
from ackclock.hosts.threads import LOCAL, Executor
from ackclock.hosts.work import CACHE, check_writable
from ackclock.scenario import snapshot
from ackclock.scenario.scenario import Scenario
from ackclock.scorecard import paths, sharing
from ackclock.scorecard.card import ALONE, Answers, Number, Question, answers, points_of, with_harm
from ackclock.scorecard.measure import row_of
from ackclock.scorecard.scenarios import dumbbell
from ackclock.store.made_by import source_hash
from ackclock.store.rows import KeptRows

#: Rows R1 to R16, by the criteria of RFC 9743 (BCP 133).
QUESTIONS: Sequence[Question] = (*sharing.ROWS, *paths.ROWS)
#: The modules that make and keep the row of a simulated run.
ROW_MADE_BY = ("hosts", "figures/experiment.py", "scorecard/measure.py")
#: What an algorithm is compared with, unless told otherwise.
AGAINST = ("cubic", "reno")
#: The side that answers every row.
SIMULATOR = "simulator"
#: Repeats of a point on Linux, and with `--quick`. The kernel runs them in real time.
LINUX_SEEDS, LINUX_QUICK_SEEDS = 3, 1


@dataclass(frozen=True, eq=False)
class OnLinux:
    """What Linux answers to a question: the numbers of one point that it can measure."""

    #: None: it answers none.
    runs: Runs | None
    answers: Answers
    #: Why it does not answer the others.
    refused: Sequence[str]


@dataclass(frozen=True, eq=False)
class Asked:
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
class Evaluated:
    """A scorecard."""

    algorithm: str
    against: Sequence[str]
    asked: Sequence[Asked]
    quick: bool
    #: The row in which the algorithm could not be run, and why. Later rows are not asked.
    failed: tuple[str, str] | None = None
    #: "kernel" or "vlinux", beside the simulator; None if the card is of the simulator alone.
    on: str | None = None

    @property
    def names(self) -> dict[str, str]:
        """Each algorithm and what to call it, the one that is judged first."""
        return {each: Path(each).name for each in (self.algorithm, *self.against)}

    @property
    def made_by(self) -> str:
        """Which ackclock, and how many runs."""
        quickly = " · a quick run: wide intervals" if self.quick else ""
        beside = f" · beside it: {self.on}" if self.on else ""
        return f"ackclock {_core.engine_version()}{quickly}{beside}"

    @property
    def totals(self) -> str:
        """How much was simulated, in words."""
        tables = [asked.runs.table.unique("key") for asked in self.asked]
        runs, packets = sum(map(len, tables)), sum(int(table["packets"].sum()) for table in tables)
        cpu_s = sum(float(table["cpu_time_s"].sum()) for table in tables)
        return (
            f"{runs} runs, {units.packets_in_words(packets)}; "
            f"they took {cpu_s:.0f} s of processor time."
        )


def evaluate(
    algorithm: str,
    questions: Sequence[Question] = QUESTIONS,
    *,
    against: Sequence[str] = AGAINST,
    quick: bool = False,
    cache: Path = CACHE,
    executor: Executor = LOCAL,
    on: Linux | None = None,
    progress: Callable[[float], None] | None = None,
    on_runs: Callable[[int, float], None] | None = None,
) -> Evaluated:
    """Asks the questions of an algorithm, and of others in its place; runs what is not kept.

    `on` also asks Linux what it can measure; `on_runs` is called before with how many of these
    runs are not kept, and their seconds.
    If the algorithm crashes or does not return, the card says so in that row and ends there.
    Raises `AckclockError` if an algorithm cannot be loaded, or another cannot be run.
    """
    if on is not None:
        on.ready()
    others = [each for each in dict.fromkeys(against) if each != algorithm]
    asked: list[Asked] = []
    with snapshot.held():
        _check_all(algorithm, others, questions[0], on)
        if failed := _fails(algorithm, questions):
            return Evaluated(algorithm, others, asked, quick, failed)
        store = _store(cache, executor)
        every = [each.experiment([algorithm, *others], quick=quick) for each in questions]
        runs = [len(each.points) * _seeds(each, quick) for each in every]
        for number, (question, experiment) in enumerate(zip(questions, every, strict=True)):
            before = sum(runs[:number])

            def part(fraction: float, before: int = before, own: int = runs[number]) -> None:
                if progress is not None:
                    progress((before + fraction * own) / sum(runs))

            try:
                asked.append(_ask(question, experiment, quick, store, executor, part))
            except AlgorithmError as error:
                if not _is_of(error, algorithm):
                    raise
                return Evaluated(algorithm, others, asked, quick, (question.row, str(error)))
        if on is None:
            return Evaluated(algorithm, others, asked, quick)
        asked = _ask_linux(asked, on, quick, cache, progress, on_runs)
    return Evaluated(algorithm, others, asked, quick, on=on.name)


def fill(
    algorithm: str,
    questions: Sequence[Question] = QUESTIONS,
    *,
    against: Sequence[str] = AGAINST,
    quick: bool = False,
    shard: Shard,
    cache: Path = CACHE,
    executor: Executor = LOCAL,
    progress: Callable[[float], None] | None = None,
    on_runs: Callable[[int, int], None] | None = None,
) -> None:
    """Runs the part of a shard of what `evaluate` would run, and keeps the rows for it.

    `on_runs` is called before the runs with how many there are to run and how many are kept.
    Raises `AckclockError` if an algorithm cannot be loaded or run.
    """
    others = [each for each in dict.fromkeys(against) if each != algorithm]
    with snapshot.held():
        _check_all(algorithm, others, questions[0], None)
        if failed := _fails(algorithm, questions):
            raise AckclockError(f"{algorithm}: {failed[0]}: {failed[1]}")
        every: dict[str, Scenario] = {}
        for question in questions:
            experiment = question.experiment([algorithm, *others], quick=quick)
            every |= _Repeats.of(experiment, quick=quick).by_key
        own = dict(shard.part(list(every.items())))
        _rows(own, _store(cache, executor), executor, progress, on_runs)


def _check_all(
    algorithm: str, against: Sequence[str], question: Question, on: Linux | None
) -> None:
    """Raises `AckclockError` if an algorithm cannot be loaded, here or on Linux."""
    for each in (algorithm, *against):
        where = "" if each == algorithm else "--against: "
        _check(question, each, where)
        if on is not None:
            _rehearse(on, each, where)


def _check(question: Question, algorithm: str, where: str) -> None:
    """Raises `AckclockError` without the words of a scenario, which the user did not write."""
    try:
        first_run(question, algorithm).check()
    except AckclockError as error:
        said = str(error).removeprefix(f'flow 1: algorithm = "{algorithm}": ')
        raise AckclockError(where + said) from None


def _rehearse(on: Linux, algorithm: str, where: str) -> None:
    """Raises `AckclockError` if Linux refuses the algorithm, before the simulator runs for long."""
    try:
        on.rehearse(dumbbell(algorithm, rate="10mbit", duration="1s"))
    except AckclockError as error:
        raise AckclockError(f"{where}{error}, or leave out --on {on.name}") from None


def first_run(question: Question, algorithm: str) -> Scenario:
    """The first repeat of a quick run of a question."""
    experiment = question.experiment([algorithm], quick=True)
    return experiment.run(experiment.points[0], 1)


def _fails(algorithm: str, questions: Sequence[Question]) -> tuple[str, str] | None:
    """The first question in whose first run a C file fails, and how.

    The runs are in a process of their own: a crash ends it.
    """
    if not algorithm.partition("@")[0].partition(":")[0].endswith(".c"):
        return None
    command = [sys.executable, "-m", "ackclock.scorecard", algorithm]
    rows = [question.row for question in questions]
    done = subprocess.run([*command, *rows], capture_output=True, text=True, check=False)
    if done.returncode == 0:
        return None
    problem = (done.stderr.strip().splitlines() or [f"exit status {done.returncode}"])[-1]
    return (done.stdout.split() or rows)[-1], problem.removeprefix("error: ")


def _is_of(error: AlgorithmError, algorithm: str) -> bool:
    """Whether it is this algorithm, and not one beside it."""
    return Path(algorithm.partition("@")[0].partition(":")[0]).name in str(error)


def _ask(
    question: Question,
    experiment: Experiment,
    quick: bool,
    store: KeptRows,
    executor: Executor,
    progress: Callable[[float], None],
) -> Asked:
    runs = _Repeats.of(experiment, quick=quick).runs(store, executor, progress)
    return Asked(question, experiment, runs, answers(question, experiment, {experiment: runs}))


def _seeds(experiment: Experiment, quick: bool) -> int:
    return experiment.quick_seeds if quick else experiment.seeds


class _Repeats(Batch):
    """The repeats of an experiment."""

    @classmethod
    def of(cls, experiment: Experiment, *, quick: bool) -> Self:
        seeds = range(1, _seeds(experiment, quick) + 1)
        return cls(experiment, None, list(repeats_of(experiment, experiment.points, seeds)))

    @functools.cached_property
    def keys(self) -> list[str]:
        # Equal runs may count other flows as mine: 1 of CUBIC beside 4 of CUBIC, and 4 beside 1.
        return [f"{each.key()}-{each.flows[0].count}" for each in self.scenarios]

    def runs(self, store: KeptRows, executor: Executor, progress: Callable[[float], None]) -> Runs:
        """Runs what is not kept."""
        rows = _rows(self.by_key, store, executor, progress)
        table = [
            {**point, "seed": seed, "key": key, **rows[key]}
            for (point, seed, _), key in zip(self.repeats, self.keys, strict=True)
        ]
        found = pl.DataFrame(table, infer_schema_length=None)
        if found["algorithm"].is_in([ALONE]).any():
            found = with_harm(found, list(self.experiment.points[0]))
        return Runs(self.experiment, found)


def _ask_linux(
    asked: Sequence[Asked],
    on: Linux,
    quick: bool,
    cache: Path,
    progress: Callable[[float], None] | None,
    on_runs: Callable[[int, float], None] | None,
) -> list[Asked]:
    """The questions with what Linux answers to them."""
    able = [_able(each, on) for each in asked]
    repeats = [
        _Repeats.of(_on_linux(each, numbers), quick=quick) if numbers else None
        for each, (numbers, _) in zip(asked, able, strict=True)
    ]
    every = {key: run for each in repeats if each for key, run in each.by_key.items()}
    store = _store(cache, on)
    known = store.read(every.keys())
    left_s = {key: units.duration_ns(every[key].duration) / 1e9 for key in every.keys() - known}
    if on_runs is not None:
        on_runs(len(left_s), sum(left_s.values()))
    total_s, done_s, found = sum(left_s.values()), 0.0, []
    for each, (able_numbers, refused), some in zip(asked, able, repeats, strict=True):
        own_s = sum(left_s.pop(key, 0.0) for key in some.by_key) if some else 0.0

        def part(fraction: float, own_s: float = own_s, done_s: float = done_s) -> None:
            if progress is not None and total_s:
                progress((done_s + fraction * own_s) / total_s)

        question, linux = replace(each.question, numbers=able_numbers), None
        if some is not None:
            try:
                runs = some.runs(store, on, part)
                given = answers(question, runs.experiment, {runs.experiment: runs})
                linux = OnLinux(runs, given, refused)
            except NoValidRunError as error:
                refused.append(str(error))
        linux = linux or OnLinux(None, Answers(question, ()), refused)
        found.append(replace(each, linux=linux))
        done_s += own_s
    return found


def _able(asked: Asked, on: Linux) -> tuple[list[Number], list[str]]:
    """The numbers of a question that Linux can measure at one point, and why not the others."""
    able, refused = [], []
    mine = asked.experiment.points[0]["algorithm"]
    for number in asked.question.numbers:
        some = points_of(asked.experiment, number, mine)
        if len(some) > 1:
            refused.append(f"{number.name}: {len(some)} points, in the simulator only")
            continue
        try:
            on.check(asked.experiment.run(some[0], 1))
        except AckclockError as error:
            refused.append(f"{number.name}: {error}")
        else:
            able.append(number)
    return able, refused


def _on_linux(asked: Asked, numbers: Sequence[Number]) -> Experiment:
    """The points of these numbers, of each algorithm and of the others alone."""
    points = asked.experiment.points
    some: list[Point] = []
    for number in numbers:
        (one,) = points_of(asked.experiment, number, points[0]["algorithm"])
        like = [each for each in points if {**each, "algorithm": one["algorithm"]} == one]
        some += [each for each in like if each not in some]
    some = [each for each in points if each in some]
    harms = any(number.needs_alone for number in numbers)
    some = [each for each in some if harms or each["algorithm"] != ALONE]
    return replace(asked.experiment, points=some, seeds=LINUX_SEEDS, quick_seeds=LINUX_QUICK_SEEDS)


def _store(cache: Path, executor: Executor) -> KeptRows:
    """Where the rows of an executor's runs are kept. Raises `AckclockError` if it cannot be."""
    check_writable(cache)
    # What Linux answers, more of our Python makes.
    made_by = () if isinstance(executor, Linux) else ROW_MADE_BY
    which = source_hash(*made_by)[:16]
    if isinstance(executor, Linux):
        which += f"-{executor.name}-{hashlib.sha256(executor.version.encode()).hexdigest()[:16]}"
    return KeptRows(cache / "rows" / f"evaluate-{which}")


def _rows(
    scenarios: Mapping[str, Scenario],
    store: KeptRows,
    executor: Executor,
    progress: Callable[[float], None] | None = None,
    on_runs: Callable[[int, int], None] | None = None,
) -> dict[str, dict[str, Any]]:
    """The row of each run by its key: kept ones and new ones, which are kept."""
    wanted = work.Rows(row_of, list(scenarios), store)
    work.fill_rows(
        [wanted],
        lambda keys: [scenarios[key] for key in keys],
        executor=executor,
        progress=progress,
        on_runs=on_runs,
    )
    return wanted.found


def chosen(rows: str | None) -> Sequence[Question]:
    """The questions of these rows: "R3,R7" (with R7b); all for None. Raises `AckclockError`."""
    if rows is None:
        return QUESTIONS
    names = {question.row: {question.row, question.row.rstrip("abc")} for question in QUESTIONS}
    wanted = [each.strip() for each in rows.split(",")]
    for row in wanted:
        if row.capitalize() not in set().union(*names.values()):
            raise AckclockError(f'--rows: "{row}": choose from {", ".join(names)}')
    asked = {row.capitalize() for row in wanted}
    return [each for each in QUESTIONS if asked & names[each.row]]
