"""Runs the questions of the scorecard, and keeps the numbers of each run."""

import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from ackclock import _core, kept, snapshot
from ackclock.errors import AckclockError
from ackclock.evaluate.card import Answers, Number, Question, answers, points_of
from ackclock.evaluate.measure import numbers
from ackclock.evaluate.questions import QUESTIONS
from ackclock.executors import LOCAL, Executor
from ackclock.figures.experiment import Experiment, Point, Runs, as_row, repeats_of
from ackclock.kept_rows import KeptRows
from ackclock.many import CACHE, check_writable
from ackclock.runs import Result
from ackclock.scenario import Scenario

#: What an algorithm is compared with, unless told otherwise.
AGAINST = ("cubic", "reno")


@dataclass(frozen=True, eq=False)
class Asked:
    """A question with the runs that answer it."""

    question: Question
    experiment: Experiment
    runs: Runs
    answers: Answers

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

    @property
    def names(self) -> dict[str, str]:
        """Each algorithm and what to call it, the one that is judged first."""
        return {each: Path(each).name for each in (self.algorithm, *self.against)}

    @property
    def made_by(self) -> str:
        """Which ackclock, and how many runs."""
        quickly = " · a quick run: wide intervals" if self.quick else ""
        return f"ackclock {_core.engine_version()}{quickly}"

    @property
    def totals(self) -> str:
        """How much was simulated, in words."""
        tables = [asked.runs.table.unique("key") for asked in self.asked]
        runs, packets = sum(map(len, tables)), sum(int(table["packets"].sum()) for table in tables)
        core_s = sum(float(table["wall_time_s"].sum()) for table in tables)
        return (
            f"{runs} runs, {packets / 1e6:,.0f} million data packets in {core_s:.0f} core-seconds."
        )


def row_of(result: Result) -> dict[str, Any]:
    """The numbers of a run, and what it cost; it can be pickled."""
    return as_row(numbers, result)


def evaluate(
    algorithm: str,
    questions: Sequence[Question] = QUESTIONS,
    *,
    against: Sequence[str] = AGAINST,
    quick: bool = False,
    cache: Path = CACHE,
    executor: Executor = LOCAL,
    progress: Callable[[float], None] | None = None,
) -> Evaluated:
    """Asks the questions of an algorithm, and of others in its place; runs what is not kept.

    If the algorithm crashes or does not return, the card says so in that row and ends there.
    Raises `AckclockError` if an algorithm cannot be loaded, or another cannot be run.
    """
    others = [each for each in dict.fromkeys(against) if each != algorithm]
    asked: list[Asked] = []
    with snapshot.held():
        for each in (algorithm, *others):
            first_run(questions[0], each).check()
        if failed := _fails(algorithm, questions):
            return Evaluated(algorithm, others, asked, quick, failed)
        for number, question in enumerate(questions):

            def part(fraction: float, number: int = number) -> None:
                if progress is not None:
                    progress((number + fraction) / len(questions))

            try:
                asked.append(_ask(question, [algorithm, *others], quick, cache, executor, part))
            except AckclockError as error:
                if not _is_of(error, algorithm):
                    raise
                return Evaluated(algorithm, others, asked, quick, (question.row, str(error)))
    return Evaluated(algorithm, others, asked, quick)


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
    command = [sys.executable, "-m", "ackclock.evaluate", algorithm]
    rows = [question.row for question in questions]
    done = subprocess.run([*command, *rows], capture_output=True, text=True, check=False)
    if done.returncode == 0:
        return None
    problem = (done.stderr.strip().splitlines() or [f"exit status {done.returncode}"])[-1]
    return (done.stdout.split() or rows)[-1], problem.removeprefix("error: ")


def _is_of(error: AckclockError, algorithm: str) -> bool:
    """Whether an error is of this algorithm's own doing."""
    return Path(algorithm.partition("@")[0].partition(":")[0]).name in str(error)


def _ask(
    question: Question,
    algorithms: Sequence[str],
    quick: bool,
    cache: Path,
    executor: Executor,
    progress: Callable[[float], None],
) -> Asked:
    experiment = question.experiment(algorithms, quick=quick)
    seeds = range(1, (experiment.quick_seeds if quick else experiment.seeds) + 1)
    repeats = list(repeats_of(experiment, experiment.points, seeds))
    # Equal runs may count other flows as mine: 1 of CUBIC beside 4 of CUBIC, and 4 beside 1.
    keys = [f"{each.key()}-{each.flows[0].count}" for _, _, each in repeats]
    scenarios = dict(zip(keys, (scenario for _, _, scenario in repeats), strict=True))
    rows = _rows(scenarios, cache, executor, progress)
    table = pl.DataFrame(
        [
            {**point, "seed": seed, "key": key, **rows[key]}
            for (point, seed, _), key in zip(repeats, keys, strict=True)
        ],
        infer_schema_length=None,
    )
    runs = Runs(experiment, table)
    return Asked(question, experiment, runs, answers(question, experiment, {experiment: runs}))


def _rows(
    scenarios: Mapping[str, Scenario],
    cache: Path,
    executor: Executor,
    progress: Callable[[float], None],
) -> dict[str, dict[str, Any]]:
    """The row of each run by its key: kept ones and new ones, which are kept."""
    check_writable(cache)
    store = KeptRows(cache / "rows" / f"evaluate-{kept.source_hash()[:16]}")
    rows = store.read(scenarios.keys())
    missing = [key for key in scenarios if key not in rows]

    def done(index: int, row: dict[str, Any]) -> None:
        rows[missing[index]] = row
        store.add(missing[index], row)

    def at_work(fraction: float) -> None:
        store.flush_in_time()
        progress(fraction)

    try:
        executor.run([scenarios[key] for key in missing], row_of, done, at_work)
    finally:
        store.flush()
    return rows


def chosen(rows: str | None) -> Sequence[Question]:
    """The questions of these rows: "R3,R7"; all for None. Raises `AckclockError`."""
    if rows is None:
        return QUESTIONS
    known = [question.row for question in QUESTIONS]
    wanted = [each.strip() for each in rows.split(",")]
    for row in wanted:
        if not any(each.rstrip("ab") == row or each == row for each in known):
            raise AckclockError(f'--rows: "{row}": choose from {", ".join(known)}')
    return [each for each in QUESTIONS if each.row in wanted or each.row.rstrip("ab") in wanted]
