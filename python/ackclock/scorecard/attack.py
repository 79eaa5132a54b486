"""Searches the scenario in which an algorithm does worst, or hurts others most."""

import json
import secrets
import warnings
from collections.abc import Callable, Generator, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass, replace
from dataclasses import fields as dataclass_fields
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from ackclock.base.budget import Budget
from ackclock.base.errors import AckclockError, AlgorithmError
from ackclock.hosts.contained import contained
from ackclock.hosts.threads import LOCAL, Executor, Local
from ackclock.hosts.work import whole
from ackclock.questions.card import ALONE
from ackclock.questions.measure import numbers
from ackclock.questions.trouble import FACES, VARIED, Trouble, decoded
from ackclock.results import metrics
from ackclock.results.result import Result
from ackclock.scenario import snapshot
from ackclock.scenario.scenario import Scenario
from ackclock.scorecard import own
from ackclock.scorecard.evaluated import VERSION
from ackclock.sweeps.metrics import FileFunction, Reducers

#: A row of the scorecard → what a search makes worse, from 0 to 1.
HURTS = {
    "R3": "part of the rate that the algorithm's flow does not get, of what pulses leave",
    "R4": "packets lost, of those sent",
    "R5": "1 − throughput of the slower of two flows / that of the faster",
    "R7": "harm: part of their throughput alone that other flows lose beside it",
    "R8": "queue delay, 95th percentile, s (at most 1)",
}
#: Each takes memory.
MOST_TRIES = 100_000
#: Candidates before the first generation, of which the best are starting points.
SCATTERED = 0.25
#: What a simpler scenario must keep of the damage.
KEPT = 0.9
#: The files of what was found.
SCENARIO, DATA, PICTURE = "attack.toml", "attack.json", "attack"


def damage(trouble: Trouble, hurt: str, mine: Result, alone: Result | None) -> float:
    """How bad a run is, from 0 to 1, as `HURTS` says."""
    if hurt == "R3":
        left_bps = max(metrics.capacity_bps(mine) - trouble.pulse_bps, 0.1 * trouble.rate_bps)
        return float(np.clip(1 - 1e6 * numbers(mine).mine_mbps / left_bps, 0, 1))
    if hurt == "R4":
        return numbers(mine).loss_percent / 100
    if hurt == "R8":
        return min(numbers(mine).delay_p95_ms / 1e3, 1.0)
    every = metrics.goodput_bps(mine)
    if hurt == "R5":
        return 1 - float(every[:2].min() / max(every[:2].max(), 1))
    assert alone is not None, "harm needs the others alone"
    count = trouble.cross[1] if trouble.cross else 1
    others = metrics.goodput_bps(alone)
    beside, without = every[-len(others) :][:count].mean(), others[:count].mean()
    return float(np.clip(1 - beside / max(without, 1), 0, 1))


@dataclass(frozen=True)
class Found:
    """What a search found."""

    algorithm: str
    hurt: str
    #: In whose place the damage is compared; None: the damage itself counts.
    against: str | None
    seed: int
    #: How many scenarios were tried.
    tried: int
    trouble: Trouble
    #: Means over so many runs.
    damage: float
    damage_of_other: float | None
    #: How it crashed, if it did.
    crash: str | None = None
    #: 1 while the search goes on.
    seeds: int = len(FACES)
    #: Which of its runs is shown (`Trouble.seen`).
    face: int = FACES[0]

    @property
    def near(self) -> Trouble:
        """The trouble of the run that is shown."""
        return self.trouble.seen(self.seed, self.face)[0]

    @property
    def scenario(self) -> Scenario:
        """The run that is shown."""
        return self.with_algorithm(self.algorithm)

    def with_algorithm(self, name: str) -> Scenario:
        """The same with an algorithm in its place."""
        return _scenario(name, *self.trouble.seen(self.seed, self.face))

    @property
    def excess(self) -> float:
        """What counts."""
        return self.damage - (self.damage_of_other or 0)

    @property
    def threshold(self) -> float:
        """Half of that: below it the algorithm counts as mended."""
        return self.excess / 2


def _scenario(algorithm: str, near: Trouble, fields: dict[str, Any]) -> Scenario:
    return near.scenario(algorithm, 1).replace(**fields)


Hurt = str | Callable[[Result], float]


@dataclass(frozen=True)
class _Judge:
    """Runs candidates."""

    algorithm: str
    hurt: Hurt
    against: str | None
    executor: Executor
    #: Of the search.
    seed: int

    def judge(
        self, troubles: Sequence[Trouble], faces: Sequence[int]
    ) -> list[tuple[float, float | None]]:
        """Of each candidate the mean damage over its runs, and that of the other algorithm."""
        names = [self.algorithm, *([self.against] if self.against else [])]
        some = [*names, *([ALONE] if self.hurt == "R7" else [])]
        seen = [[each.seen(self.seed, face) for face in faces] for each in troubles]
        scenarios = [_scenario(name, *each) for of in seen for each in of for name in some]
        results: dict[int, Any] = {}
        reduce = whole if isinstance(self.hurt, str) else partial(_own, self.hurt)
        self.executor.run(scenarios, reduce, lambda index, what: results.update({index: what}))
        found, at = [], 0
        for runs in seen:
            each = np.zeros((len(faces), len(names)))
            for row, (trouble, _) in enumerate(runs):
                of = [results[at + column] for column in range(len(some))]
                at += len(some)
                for column in range(len(names)):
                    each[row, column] = (
                        damage(trouble, self.hurt, of[column], of[-1])
                        if isinstance(self.hurt, str)
                        else of[column]
                    )
            mine, *other = each.mean(axis=0)
            found.append((float(mine), float(other[0]) if other else None))
        return found


def _own(hurt: Callable[[Result], float], result: Result) -> float:
    return own.number(hurt, result, f"hurt: {_name(hurt)}")


def _name(hurt: Hurt) -> str:
    return hurt if isinstance(hurt, str) else getattr(hurt, "__name__", repr(hurt))


@dataclass(frozen=True)
class Candidates:
    """Candidates that are about to run."""

    troubles: Sequence[Trouble]


def searched(
    judge: _Judge,
    varied: Sequence[str],
    most: int,
    progress: Callable[[float], None],
) -> Generator[Candidates | Found, None, None]:
    """Tries `most` scenarios; yields what it tries, and each that is worse than those before.

    The last is simplified. Candidates that are scattered come first; the best of them are where
    CMA-ES begins (Hansen, "The CMA Evolution Strategy: A Tutorial", arXiv:1604.00772).
    """
    generations = _generations(sum(VARIED[each] for each in varied), judge.seed, most)
    best: Found | None = None
    worst, tried = Trouble(), 0
    scores: list[float] = []
    hurt = judge.hurt if isinstance(judge.hurt, str) else ""
    with snapshot.held():
        genes = next(generations)
        while True:
            troubles = [decoded(each, varied, hurt) for each in genes]
            yield Candidates(troubles)
            judged = judge.judge(troubles, [0])
            scores = [mine - (other or 0) for mine, other in judged]
            tried += len(genes)
            progress(min(tried / most, 1) * 0.95)
            top = int(np.argmax(scores))
            if best is None or scores[top] > best.excess:
                worst = troubles[top]
                best = replace(_found(judge, tried, worst, judged[top]), seeds=1, face=0)
                yield best
            try:
                genes = generations.send(scores)
            except StopIteration:
                break
        yield Candidates([worst])
        best = _found(judge, tried, worst, judge.judge([worst], FACES)[0])
        least, again = KEPT * best.excess, True
        while again:
            again = False
            for simpler in worst.simpler():
                if simpler == worst or (hurt == "R7" and simpler.cross is None):
                    continue
                yield Candidates([simpler])
                for faces in (FACES[:1], FACES):  # most lose too much in the first run
                    (of,) = judge.judge([simpler], faces)
                    candidate = _found(judge, tried, simpler, of)
                    if candidate.excess < least:
                        break
                else:
                    worst, best, again = simpler, candidate, True
                    break
        yield best


def _found(judge: _Judge, tried: int, trouble: Trouble, of: tuple[float, float | None]) -> Found:
    said = (judge.algorithm, _name(judge.hurt), judge.against, judge.seed)
    return Found(*said, tried, trouble, *of)


def scattered(size: int, seed: int, most: int) -> list[tuple[float, ...]]:
    """The first candidates of a search of `most`: so many numbers from 0 to 1 each, at random."""
    random = np.random.default_rng(seed)
    return [tuple(each) for each in random.random((max(8, int(SCATTERED * most)), size))]


def _generations(
    size: int, seed: int, most: int
) -> Generator[list[Sequence[float]], list[float], None]:
    """The candidates of one generation after the other; takes their scores, more is worse."""
    import cma  # noqa: PLC0415 (slow to import)

    first_ones = scattered(size, seed, most)
    known: list[tuple[float, Sequence[float]]] = []
    for first in range(0, len(first_ones), 16):
        some = first_ones[first : first + 16]
        known += zip((yield list(some)), some, strict=True)
    known.sort(key=lambda each: -each[0])
    left, start = most - len(first_ones), 0
    while left > 0:
        options = {"bounds": [0, 1], "seed": seed + start + 1, "verbose": -9, "popsize": 12}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            strategy = cma.CMAEvolutionStrategy(list(known[start][1]), 0.15, options)
            while left > 0 and not strategy.stop():
                genes = strategy.ask()
                scores = yield genes
                strategy.tell(genes, [-each for each in scores])
                left -= len(genes)
                if len(genes) * strategy.countiter > most // 4:
                    break
        start = (start + 1) % len(known)


def attack(
    algorithm: str,
    hurt: Hurt = "R7",
    *,
    against: str | None = "reno",
    vary: Sequence[str] = tuple(VARIED),
    seed: int | None = None,
    most: int = 1000,
    budget_s: float | None = None,
    executor: Executor = LOCAL,
    progress: Callable[[float], None] = lambda _: None,
    on_found: Callable[[Found], None] = lambda _: None,
) -> Found:
    """Searches the scenario in which an algorithm does worst, or hurts others most.

    `hurt`: a row of `HURTS`, or a function of a `Result` that returns more where it is worse. What
    counts is how much worse it is than `against` in its place; None: the damage itself. `vary`:
    which of `VARIED` the search may change. It tries `most` scenarios; the same seed finds the
    same, and without one it is drawn. The runs that confirm it draw seed, stack, segments, buffer
    and flows, and one is ten times as long. `on_found` is called with each that is worse than those
    before. A C file runs in a process of its own, unless `hurt` is a function; a crash is what was
    searched for. Raises `AckclockError` if an algorithm cannot be loaded, and `LateError` after
    `budget_s`.
    """
    seed = secrets.randbits(32) if seed is None else seed
    _check(hurt, vary, most, seed)
    judge, budget = _Judge(algorithm, hurt, against, executor, seed), Budget.of(budget_s)
    names = [algorithm, *([against] if against else [])]
    may_write = () if isinstance(executor, Local) else None
    tell = budget.within(progress)
    list(budget.told(contained(budget.ending(_loaded), names, progress=tell)))
    best: Found | None = None
    tried: Sequence[Trouble] = ()
    given = (judge, tuple(vary), most)
    if isinstance(hurt, str) and any(".c" in str(each) for each in names):
        search = budget.ending(searched)
        trying = budget.told(contained(search, *given, progress=tell, may_write=may_write))
    else:
        trying = searched(*given, tell)
    try:
        with closing(trying) as found:
            for each in found:
                if isinstance(each, Candidates):
                    tried = each.troubles
                else:
                    best = each
                    on_found(each)
    except AlgorithmError as error:
        return _crashed(judge, tried, str(error), budget)
    assert best is not None
    return best


def _loaded(names: Sequence[str], _: Callable[[float], None]) -> Generator[None, None, None]:
    for name in names:
        Trouble().scenario(name, 1).check()
    yield


def _crashed(judge: _Judge, tried: Sequence[Trouble], problem: str, budget: Budget) -> Found:
    """The first of these runs in which the algorithm fails."""
    again = budget.ending(_judged)
    for face, each in product((0, *FACES), tried):
        try:
            list(budget.told(contained(again, judge, each, [face], progress=lambda _: None)))
        except AlgorithmError as error:
            found = _found(judge, 0, each, (1.0, None))
            return replace(found, crash=str(error), face=face)
    raise AlgorithmError(problem)


def checked(found: Found, executor: Executor = LOCAL, faces: Sequence[int] = FACES) -> Found:
    """What was found, judged again: as the algorithm is now, or on another host.

    Raises `AlgorithmError` if the algorithm crashes.
    """
    judge = _Judge(found.algorithm, found.hurt, found.against, executor, found.seed)
    given = (judge, found.trouble, tuple(faces))
    # A virtual machine has limits of its own.
    if isinstance(executor, Local):
        answers = contained(_judged, *given, progress=lambda _: None)
    else:
        answers = _judged(*given, lambda _: None)
    with closing(answers):
        ((mine, other),) = answers
    return replace(found, damage=mine, damage_of_other=other, crash=None, seeds=len(faces))


def _judged(
    judge: _Judge, trouble: Trouble, faces: Sequence[int], _: Callable[[float], None]
) -> Generator[tuple[float, float | None], None, None]:
    yield judge.judge([trouble], faces)[0]


def as_json(found: Found) -> dict[str, Any]:
    """For programs, as docs/card.schema.json describes it, and for `from_json`."""
    return {
        "version": VERSION,
        **asdict(found),
        "excess": found.excess,
        "threshold": found.threshold,
        "what": HURTS.get(found.hurt, found.hurt),
    }


def from_json(path: Path) -> Found:
    """What `as_json` said. Raises `AckclockError` if the file is another."""
    try:
        fields = json.loads(path.read_text(encoding="utf-8"))
        parts: dict[str, Any] = {
            key: tuple(value) if isinstance(value, list) else value
            for key, value in fields["trouble"].items()
        }
        names = {each.name for each in dataclass_fields(Found)} - {"trouble"}
        return Found(trouble=Trouble(**parts), **{key: fields[key] for key in names & {*fields}})
    except OSError as error:
        raise AckclockError(f"{path}: {error.strerror}") from None
    except (ValueError, KeyError, TypeError, AttributeError):
        raise AckclockError(f"{path}: is not what `ackclock attack -o DIR` wrote") from None


def function(spec: str) -> Callable[[Result], float]:
    """The function of "FILE.py:NAME". Raises `AckclockError` if there is none."""
    if ".py:" not in spec:
        raise AckclockError(
            f'--hurt: "{spec}": choose from {", ".join(HURTS)}, or FILE.py:FUNCTION'
        )
    try:
        (made,) = Reducers.parse([spec]).functions.values()
    except AckclockError as error:
        raise AckclockError(f"--hurt: {str(error).removeprefix('metrics: ')}") from error
    assert isinstance(made, FileFunction)
    return made.function


def _check(hurt: Hurt, vary: Sequence[str], most: int, seed: int) -> None:
    if not isinstance(seed, int) or seed < 0:
        raise AckclockError(f"seed = {seed!r}: write a whole number from 0, like 7")
    if isinstance(hurt, str) and hurt not in HURTS:
        raise AckclockError(
            f'hurt = "{hurt}": choose from {", ".join(HURTS)}, or FILE.py:FUNCTION of a Result'
        )
    if not isinstance(hurt, str) and not callable(hurt):
        raise AckclockError(f"hurt = {hurt!r}: give a row or a function of a Result")
    for each in vary:
        if each not in VARIED:
            raise AckclockError(f'vary = "{each}": choose from {", ".join(VARIED)}')
    if not vary:
        raise AckclockError(f"vary: choose from {', '.join(VARIED)}")
    if not 16 <= most <= MOST_TRIES:
        raise AckclockError(f"most = {most}: try 16 to {MOST_TRIES} scenarios")
