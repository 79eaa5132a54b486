"""Repeats figures of the papers: their runs, the rows of numbers, and the verdicts."""

import functools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from matplotlib.figure import Figure as Drawing

from ackclock.estimates import sequential
from ackclock.estimates.stats import Estimate
from ackclock.figures import crosscheck, figure_rows
from ackclock.figures.batches import At, Batch, Seeds, at, batches_of
from ackclock.figures.claim import Judged, JudgedClaim, flattened, mapped
from ackclock.figures.experiment import Experiment, Point, Runs
from ackclock.figures.figure import Figure, Repeat, View
from ackclock.figures.judge import judged_claims
from ackclock.figures.named import Named
from ackclock.figures.quantity import Needs, Quantity, Rows, needs_of
from ackclock.hosts import linux
from ackclock.hosts.work import WORK, Work, quiet, whole
from ackclock.results.result import Result
from ackclock.scenario import snapshot
from ackclock.scenario.scenario import Scenario

#: A claim gets more seeds unless a part needs more than this times the most.
HOPE = 2


@dataclass(frozen=True, eq=False)
class Reproduced:
    """A figure, repeated."""

    named: Named
    rows: Rows
    #: What ran as the setup has it, and with one thing changed.
    batches: Sequence[Batch]
    claims: Sequence[JudgedClaim] = ()
    settings: Sequence[str] = ()
    #: The same on the kernel and on virtual Linux, where it has run here.
    checked: Sequence[crosscheck.Checked] = ()
    load: Callable[[Scenario], Result] | None = None

    @property
    def name(self) -> str:
        """The name of the figure: "cubicfc/fig05"."""
        return self.named.name

    @property
    def figure(self) -> Figure:
        """What it is."""
        return self.named.figure

    @property
    def scenarios(self) -> list[Scenario]:
        """All runs, as the setup has it."""
        return [each for batch in self.batches if not batch.variant for each in batch.scenarios]

    @property
    def keys(self) -> list[str]:
        """The keys of these runs, as they were when they ran."""
        return [each for batch in self.batches if not batch.variant for each in batch.keys]

    @property
    def repeats(self) -> dict[Experiment, Sequence[tuple[Point, int, Scenario]]]:
        """The runs as the setup has it, in the order of `rows`."""
        return {each.experiment: each.repeats for each in self.batches if each.variant is None}

    @property
    def measured(self) -> list[tuple[Quantity, Estimate | None]]:
        """The quantities with what we measured."""
        return [(each, each.estimate(self.rows)) for each in self.figure.quantities]

    def plot(self) -> Drawing:
        """The figure, drawn."""
        return self.drawn()[0]

    def drawn(self) -> tuple[Drawing, list[Repeat]]:
        """The figure, and which whole runs it shows."""
        assert self.load is not None
        plain = {batch.experiment: batch.by_point() for batch in self.batches if not batch.variant}

        def scenario_of(experiment: Experiment, point: Point, seed: int) -> Scenario:
            return plain[experiment][tuple(point.items()), seed]

        view = View(self.rows, self.load, scenario_of)
        return self.figure.plot(view), view.drawn


def reproduce(
    figures: Sequence[Named],
    *,
    seeds: Seeds = None,
    quick: bool = False,
    settings: Sequence[str] = (),
    sensitivity: bool = False,
    work: Work = WORK,
    level: float | None = None,
) -> list[Reproduced]:
    """Runs the experiments of the figures (`papers.load`), all at once, and judges their claims.

    `seeds` is the number of repeats, numbered from 1, of all points or of each; default: what each
    experiment says. `settings` change every scenario, as `--set`. With
    `sensitivity` each claim is also judged with every variant of its experiments.
    The rows of an experiment are kept, too, until anything in ackclock's Python changes.
    `work` (`ackclock.hosts.work.Work`) has cache and executor, and who is told of the runs.
    An open claim that has `most_seeds` gets more repeats, unless `seeds`, `settings` or `quick`
    say otherwise.
    """
    with snapshot.held():
        variants = sensitivity and not quick
        batches = batches_of(figures, seeds, quick, settings, variants, work.executor.version)
        rows = figure_rows.rows_of(batches, work)
        found = []
        for named in figures:
            own = dict(_own(named.figure, rows))
            found.append(
                Reproduced(
                    named,
                    {batch.experiment: runs for batch, runs in own.items() if not batch.variant},
                    list(own),
                    judged_claims(named.figure.claims, own, level, quick),
                    settings,
                    _checked(named.figure, replace(work, progress=quiet, on_runs=quiet)),
                    functools.partial(_load, replace(work, progress=quiet)),
                )
            )
        if seeds or settings or quick:
            return found
        return [_with_more(each, sensitivity, work) for each in found]


def _with_more(figure: Reproduced, sensitivity: bool, work: Work) -> Reproduced:
    """The figure with more seeds where an open claim asks for them.

    Only its parts that do not hold get some. The others keep the verdict of their interval.
    """
    less = [
        replace(
            each.claim,
            parts=[
                part
                for part, found in zip(each.claim.parts, each.parts, strict=True)
                if found.verdict() != "holds"
            ],
        )
        for each in figure.claims
        if each.claim.most_seeds and each.verdict == "open"
    ]
    if not less:
        return figure
    named = replace(figure.named, figure=replace(figure.figure, claims=less))
    most = max(each.most_seeds for each in less)
    (found,) = until_decided([named], most=most, hope=math.inf, sensitivity=sensitivity, work=work)
    parts = {(claim.id, part.name): part for claim in found.claims for part in claim.parts}
    claims = [
        replace(each, parts=[parts.get((each.id, part.name), part) for part in each.parts])
        for each in figure.claims
    ]
    rows = {**figure.rows, **found.rows}
    return replace(found, named=figure.named, rows=rows, claims=claims)


def fill(
    figures: Sequence[Named],
    *,
    seeds: Seeds = None,
    quick: bool = False,
    settings: Sequence[str] = (),
    sensitivity: bool = False,
    work: Work,
) -> None:
    """Runs the shard of what `reproduce` would run, and keeps the results for it."""
    with snapshot.held():
        variants = sensitivity and not quick
        batches = batches_of(figures, seeds, quick, settings, variants, work.executor.version)
        every = {key: each for batch in batches for key, each in batch.by_key.items()}
        own = dict(work.shard.part(list(every.items())))
        there = sum((work.cache / key).exists() for key in own)
        work.on_runs(len(own) - there, there)
        work.fill(list(own.values()))


def _checked(figure: Figure, work: Work) -> list[crosscheck.Checked]:
    found = [
        crosscheck.load(check, linux.host(side), work) for side, check in figure.checks.items()
    ]
    return [each for each in found if each]


def _own(figure: Figure, rows: Mapping[Batch, Runs]) -> Iterator[tuple[Batch, Runs]]:
    """What a figure needs of the batches."""
    for batch, runs in rows.items():
        points = [point for experiment, point in figure.needs if experiment is batch.experiment]
        some = batch.only(points)
        if points and (some.repeats or batch.variant is None):
            present = {tuple(point.items()): point for point, _, _ in some.repeats}
            yield some, runs.only(list(present.values()))


def until_decided(
    figures: Sequence[Named],
    *,
    most: int,
    hope: float = HOPE,
    **how: Any,
) -> list[Reproduced]:
    """As `reproduce`, with more seeds for a figure until its claims are decided (`sequential`).

    Each point has `most` seeds at most, and more than the first look's only if an open claim needs
    it. A claim about something else than a mean of repeats (a median) has the verdict of its
    interval, and asks for no seeds; nor does a figure that runs each point once, nor a claim with
    a part that would need more than `hope` times `most`. A claim is shown with the repeats of the
    look that decided it.
    """
    plans = {each.name: _plan(each.figure, most) for each in figures}
    seeds: dict[At, int] = {}
    for named in figures:
        _give(seeds, named.figure.needs, plans[named.name][0])
    last: dict[tuple[str, str], Judged] = {}
    done: dict[str, Reproduced] = {}
    pending = list(figures)
    with snapshot.held():
        for look in range(max(map(len, plans.values()), default=0)):
            for each in reproduce(pending, seeds=seeds, **how):
                plan = plans[each.name]
                level = None if plan == (1,) else sequential.levels(plan[-1], plan[0])[look]
                claims = [_at_look(claim, level, last) for claim in each.claims]
                done[each.name] = replace(each, claims=claims)
            asking = {
                named: needs_of(_asks(done[named.name].claims, hope * most))
                for named in pending
                if look + 1 < len(plans[named.name])
            }
            pending = [named for named, needs in asking.items() if needs]
            for named in pending:
                _give(seeds, asking[named], plans[named.name][look + 1])
            if not pending:
                break
    return [
        replace(found, claims=[_settled(claim, plans[name][0]) for claim in found.claims])
        for name, found in done.items()
    ]


def _give(seeds: dict[At, int], needs: Needs, number: int) -> None:
    """Gives these points at least so many seeds."""
    for experiment, point in needs:
        key = at(experiment, point)
        seeds[key] = max(number, seeds.get(key, 0))


def _plan(figure: Figure, most: int) -> tuple[int, ...]:
    random = [experiment.seeds for experiment in figure.experiments if experiment.seeds > 1]
    return sequential.looks(most, max(*random, sequential.FIRST)) if random else (1,)


def _at_look(
    claim: JudgedClaim, level: float | None, last: dict[tuple[str, str], Judged]
) -> JudgedClaim:
    """The claim with each part as of the last look at new repeats, or of that which decided it.

    `last` is updated. Without new repeats a part has no new look, whose error would be larger.
    """

    def one(part: Judged) -> Judged:
        if level is None or part.raw is None or not part.raw.can_look:
            return part
        key = (claim.id, part.name)
        before = last.get(key)
        if before is None or (
            before.verdict() == "open" and before.raw and before.raw.n < part.raw.n
        ):
            last[key] = replace(part, level=level)
        return last[key]

    return replace(claim, parts=mapped(claim.parts, one))


def _settled(claim: JudgedClaim, first: int) -> JudgedClaim:
    """The claim where parts that got no more than the first repeats hold if their interval does.

    The claim was decided, or given up, without them: its verdict stays.
    """

    def one(part: Judged) -> Judged:
        by_interval = replace(part, level=None)
        few = part.raw is not None and part.raw.n <= first
        return by_interval if few and by_interval.verdict() == "holds" else part

    found = replace(claim, parts=mapped(claim.parts, one))
    return found if found.verdict == claim.verdict else claim


def _asks(claims: Sequence[JudgedClaim], hoped: float) -> list[Quantity]:
    """What needs more repeats: the open parts of claims that so many seeds may decide.

    What the first repeats say of that is uncertain.
    """
    found = []
    for claim in claims:
        parts = claim.undecided
        able = [part for part, needed in parts.items() if needed and needed <= hoped]
        if len(able) == len(parts) or any(part.is_outside for part in able):
            found += [part.part.quantity for part in flattened(able)]
    return found


def _load(work: Work, scenario: Scenario) -> Result:
    (result,) = work.reduced([scenario], whole)
    return result
