"""The runs of the scorecard's questions, and their numbers, which are kept."""

import functools
from collections.abc import Callable, Generator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Self

import polars as pl

from ackclock import _core
from ackclock.base import chosen
from ackclock.base.errors import AckclockError
from ackclock.figures.batches import Batch
from ackclock.figures.experiment import Experiment, Point, Runs, repeats_of
from ackclock.hosts.work import Work
from ackclock.questions.card import ALONE, Question, with_harm
from ackclock.questions.held_out import elsewhere
from ackclock.questions.links import LINKS, trial
from ackclock.questions.rows import rows_of, store_of
from ackclock.results.result import run
from ackclock.scenario import snapshot
from ackclock.scenario.scenario import name_in
from ackclock.scorecard.evaluated import Request
from ackclock.store.rows import KeptRows

if TYPE_CHECKING:
    from ackclock.scenario.scenario import Scenario


#: Drawn connections of the contract: 20 ms.
CONNECTIONS = 40


class NotLoadedError(AckclockError):
    """The C file that is judged does not compile, declares no algorithm, or breaks the contract."""


class Repeats(Batch):
    """The repeats of an experiment."""

    @classmethod
    def of_experiment(
        cls,
        experiment: Experiment,
        *,
        quick: bool,
        of: Question | None = None,
        version: str | None = None,
    ) -> Self:
        """All of them; on other links if the question `of` says so. `version`: the executor's."""
        first = experiment.first_seed
        seeds = range(first, first + seeds_of(experiment, quick=quick))
        repeats = list(repeats_of(experiment, experiment.points, seeds))
        if of is not None and of.drawn_by is not None:
            drawn_by = (*of.drawn_by, experiment.name)
            repeats = [
                (point, seed, elsewhere(scenario, of.times, *drawn_by, _place(point), seed - first))
                for point, seed, scenario in repeats
            ]
        return cls(experiment, None, repeats, version)

    @functools.cached_property
    def keys(self) -> list[str]:
        """The keys of its runs, in order."""
        # Equal runs may count other flows as mine: 1 of CUBIC beside 4 of CUBIC, and 4 beside 1.
        return [f"{each.key(self.version)}-{each.flows[0].count}" for each in self.scenarios]

    def runs(self, store: KeptRows, work: Work) -> Runs:
        """Runs what is not kept."""
        rows = rows_of(self.by_key, store, work)
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
    request: Request,
    work: Work,
    asked: Sequence[tuple[Question, bool]],
    progress: Callable[[float], None],
) -> Generator[pl.DataFrame | str | None, None, None]:
    """The runs of each question, quick or not, in their order; runs what is not kept.

    Yields None where the algorithm has been compiled, and where `links.trial` has run its trace.
    Raises `AckclockError` if an algorithm cannot be loaded or run, `NotLoadedError` of the first.
    """
    algorithm, *others = request.names
    with snapshot.held():
        try:
            trial(algorithm).check()
        except AckclockError as error:
            says = _without_flow(error, algorithm)
            # Without its file or without a compiler nothing is known of the algorithm.
            if says.startswith("cannot compile ") or not Path(name_in(algorithm)).is_file():
                raise AckclockError(says) from None
            raise NotLoadedError(says) from None
        yield None
        for each in others:
            try:
                trial(each).check()
            except AckclockError as error:
                raise AckclockError(f"--against: {_without_flow(error, each)}") from None
        trace = traced(algorithm)
        if found := _fuzzed(algorithm, undefined=list(request.questions) != [LINKS]):
            raise NotLoadedError(found)
        yield trace
        store = store_of(work)
        every = [
            Repeats.of_experiment(
                question.experiment(request.names, quick=quick, nonce=request.nonce),
                quick=quick,
                of=question,
            )
            for question, quick in asked
        ]
        counts = [len(each.repeats) for each in every]
        for number, repeats in enumerate(every):
            done = sum(counts[:number])

            def part(fraction: float, done: int = done, own: int = counts[number]) -> None:
                progress((done + fraction * own) / sum(counts))

            yield repeats.runs(store, replace(work, progress=part)).table


def _fuzzed(algorithm: str, *, undefined: bool) -> str | None:
    """What its hooks do that none may, if it is a C file and this system can tell."""
    can = chosen.NAME == "native" and name_in(algorithm).endswith(".c")
    return _core.fuzz(algorithm, CONNECTIONS, undefined) if can else None


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


def _without_flow(error: AckclockError, algorithm: str) -> str:
    """Without the words of a scenario, which the user did not write."""
    return str(error).removeprefix(f'flow 1: algorithm = "{algorithm}": ')


def filled(
    request: Request, work: Work, progress: Callable[[float], None]
) -> Generator[tuple[int, int], None, None]:
    """Runs the shard of what `simulated` would run, and keeps the rows for it.

    Yields how many there are to run and how many are kept.
    """
    with snapshot.held():
        for _ in simulated(request, work, (), progress):
            pass
        every: dict[str, Scenario] = {}
        for question in (LINKS, *request.questions):
            experiment = question.experiment(
                request.names, quick=request.quick, nonce=request.nonce
            )
            every |= Repeats.of_experiment(experiment, quick=request.quick).by_key
        own = dict(work.shard.part(list(every.items())))
        store = store_of(work)
        kept = len(store.read(own.keys()))
        yield len(own) - kept, kept
        rows_of(own, store, replace(work, progress=progress))


def one_by_one(
    request: Request,
    work: Work,
    question: Question,
    quick: bool,
    _progress: Callable[[float], None],
) -> Generator[str, None, None]:
    """Runs what is not kept of a question, and yields each scenario, as TOML, before it runs."""
    experiment = question.experiment(request.names, quick=quick, nonce=request.nonce)
    with snapshot.held():
        repeats = Repeats.of_experiment(experiment, quick=quick, of=question).by_key
        known = store_of(work).read(repeats.keys())
        for key, scenario in repeats.items():
            if key not in known:
                yield scenario.to_toml()
                run(scenario)
