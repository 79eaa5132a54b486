"""The runs of the scorecard's questions, and their numbers, which are kept."""

import functools
from collections.abc import Callable, Generator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Self

import polars as pl

from ackclock.base.errors import AckclockError
from ackclock.figures.batches import Batch
from ackclock.figures.experiment import Experiment, Point, Runs, repeats_of
from ackclock.hosts.shard import Shard
from ackclock.hosts.threads import Executor
from ackclock.questions.card import ALONE, Question, with_harm
from ackclock.questions.held_out import elsewhere
from ackclock.questions.links import LINKS, trial
from ackclock.questions.rows import rows_of, store_of
from ackclock.results.result import run
from ackclock.scenario import snapshot
from ackclock.store.rows import KeptRows

if TYPE_CHECKING:
    from ackclock.scenario.scenario import Scenario


class NotLoadedError(AckclockError):
    """The C file that is judged does not compile, or declares no algorithm."""


class Repeats(Batch):
    """The repeats of an experiment."""

    @classmethod
    def of(cls, experiment: Experiment, *, quick: bool, drawn_by: int | None = None) -> Self:
        """All of them; on other links if `drawn_by` is a number."""
        seeds = range(1, seeds_of(experiment, quick=quick) + 1)
        repeats = list(repeats_of(experiment, experiment.points, seeds))
        if drawn_by is not None:
            repeats = [
                (point, seed, elsewhere(scenario, drawn_by, experiment.name, _place(point), seed))
                for point, seed, scenario in repeats
            ]
        return cls(experiment, None, repeats)

    @functools.cached_property
    def keys(self) -> list[str]:
        """The keys of its runs, in order."""
        # Equal runs may count other flows as mine: 1 of CUBIC beside 4 of CUBIC, and 4 beside 1.
        return [f"{each.key()}-{each.flows[0].count}" for each in self.scenarios]

    def runs(self, store: KeptRows, executor: Executor, progress: Callable[[float], None]) -> Runs:
        """Runs what is not kept."""
        rows = rows_of(self.by_key, store, executor, progress)
        table = [
            {**point, "seed": seed, "key": key, **rows[key]}
            for (point, seed, _), key in zip(self.repeats, self.keys, strict=True)
        ]
        found = pl.DataFrame(table, infer_schema_length=None)
        if found["algorithm"].is_in([ALONE]).any():
            found = with_harm(found, list(self.experiment.points[0]))
        return Runs(self.experiment, found)


def _place(point: Point) -> Point:
    """Without whose it is: the others stand in the same place."""
    return {key: value for key, value in point.items() if key != "algorithm"}


def seeds_of(experiment: Experiment, *, quick: bool) -> int:
    """How many repeats of each point."""
    return experiment.quick_seeds if quick else experiment.seeds


def simulated(
    algorithm: str,
    others: Sequence[str],
    asked: Sequence[tuple[Question, bool]],
    cache: Path,
    executor: Executor,
    progress: Callable[[float], None],
) -> Generator[pl.DataFrame | str | None, None, None]:
    """The runs of each question, quick or not, in their order; runs what is not kept.

    Yields None where the algorithm has been compiled, and where `links.trial` has run its trace.
    Raises `AckclockError` if an algorithm cannot be loaded or run, `NotLoadedError` of the first.
    """
    with snapshot.held():
        try:
            trial(algorithm).check()
        except AckclockError as error:
            says = _without_flow(error, algorithm)
            # Without its file or without a compiler nothing is known of the algorithm.
            if says.startswith("cannot compile ") or not Path(file_of(algorithm)).is_file():
                raise AckclockError(says) from None
            raise NotLoadedError(says) from None
        yield None
        for each in others:
            try:
                trial(each).check()
            except AckclockError as error:
                raise AckclockError(f"--against: {_without_flow(error, each)}") from None
        yield traced(algorithm)
        store = store_of(cache, executor)
        every = [
            Repeats.of(
                question.experiment([algorithm, *others], quick=quick),
                quick=quick,
                drawn_by=question.drawn_by,
            )
            for question, quick in asked
        ]
        counts = [len(each.repeats) for each in every]
        for number, repeats in enumerate(every):
            done = sum(counts[:number])

            def part(fraction: float, done: int = done, own: int = counts[number]) -> None:
                progress((done + fraction * own) / sum(counts))

            yield repeats.runs(store, executor, part).table


def traced(algorithm: str) -> str:
    """The trace of its `links.trial`."""
    return str(run(trial(algorithm)).manifest["trace_hash"])


def traced_elsewhere(
    algorithm: str, progress: Callable[[float], None]
) -> Generator[str, None, None]:
    """The same, for a process of its own, where all has other addresses."""
    progress(0)
    with snapshot.held():
        yield traced(algorithm)


def file_of(algorithm: str) -> str:
    """Without preset and parameters."""
    return algorithm.partition("@")[0].partition(":")[0]


def _without_flow(error: AckclockError, algorithm: str) -> str:
    """Without the words of a scenario, which the user did not write."""
    return str(error).removeprefix(f'flow 1: algorithm = "{algorithm}": ')


def filled(
    algorithm: str,
    others: Sequence[str],
    questions: Sequence[Question],
    quick: bool,
    shard: Shard,
    cache: Path,
    executor: Executor,
    progress: Callable[[float], None],
) -> Generator[tuple[int, int], None, None]:
    """Runs the part of a shard of what `simulated` would run, and keeps the rows for it.

    Yields how many there are to run and how many are kept.
    """
    with snapshot.held():
        for _ in simulated(algorithm, others, (), cache, executor, progress):
            pass
        every: dict[str, Scenario] = {}
        for question in (LINKS, *questions):
            experiment = question.experiment([algorithm, *others], quick=quick)
            every |= Repeats.of(experiment, quick=quick).by_key
        own = dict(shard.part(list(every.items())))
        store = store_of(cache, executor)
        kept = len(store.read(own.keys()))
        yield len(own) - kept, kept
        rows_of(own, store, executor, progress)


def one_by_one(
    algorithm: str,
    others: Sequence[str],
    question: Question,
    quick: bool,
    cache: Path,
    executor: Executor,
    _progress: Callable[[float], None],
) -> Generator[str, None, None]:
    """Runs what is not kept of a question, and yields each scenario, as TOML, before it runs."""
    experiment = question.experiment([algorithm, *others], quick=quick)
    with snapshot.held():
        repeats = Repeats.of(experiment, quick=quick, drawn_by=question.drawn_by).by_key
        known = store_of(cache, executor).read(repeats.keys())
        for key, scenario in repeats.items():
            if key not in known:
                yield scenario.to_toml()
                run(scenario)
