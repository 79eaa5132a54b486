"""The rows of figures: each result is reduced where it ran.

Runs on this machine are kept whole, and rows are made anew of them when our Python changes. From a
cluster only rows return. They are kept as they come, each until our Python changes.
"""

from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ackclock.base.directory import collect
from ackclock.figures.batches import Batch
from ackclock.figures.experiment import Experiment, as_row
from ackclock.hosts.threads import Executor
from ackclock.hosts.work import check_writable, keep
from ackclock.results.result import Result
from ackclock.scenario.scenario import Scenario
from ackclock.store import entries
from ackclock.store.made_by import source_hash
from ackclock.store.rows import KeptRows

Row = dict[str, Any]


@dataclass(frozen=True)
class _Rows:
    """Reduces a run to the row of each experiment that has it; it can be pickled."""

    row_of: Mapping[str, Sequence[Callable[[Result], Any]]]
    #: Where the whole result is kept, too.
    cache: Path | None

    def __call__(self, result: Result) -> list[Row]:
        if self.cache is not None:
            keep(result, self.cache)
        return [as_row(each, result) for each in self.row_of[result.manifest["key"]]]


def fetch(
    batches: Sequence[Batch],
    cache: Path,
    executor: Executor,
    progress: Callable[[float], None] | None,
    on_runs: Callable[[int, int], None] | None,
) -> dict[Batch, list[Row]]:
    """The row of each run of the batches, in order; runs what is not kept.

    `on_runs` is called before the runs with how many there are to run and how many are kept.
    """
    collect(cache)
    runs = _runs(batches)
    stores = {each: KeptRows(cache / "rows" / _name(each)) for each in runs if executor.far}
    rows = {each: stores[each].read(of.keys()) if executor.far else {} for each, of in runs.items()}
    wanted = _lacking(runs, rows)
    every = {key: scenario for of in runs.values() for key, scenario in of.items()}
    if on_runs is not None:
        there = [key for key in every if key not in wanted or (cache / key).exists()]
        on_runs(len(every) - len(there), len(there))
    _reduce_kept(wanted, rows, cache)
    missing = [key for key in every if key in wanted]

    def done(index: int, made: list[Row]) -> None:
        key = missing[index]
        for experiment, row in zip(wanted[key], made, strict=True):
            rows[experiment][key] = row
            if experiment in stores:
                stores[experiment].add(key, row)

    def at_work(fraction: float) -> None:
        for store in stores.values():
            store.flush_in_time()
        if progress is not None:
            progress(fraction)

    if missing:
        check_writable(cache)
        row_of = {key: [each.row for each in of] for key, of in wanted.items()}
        reduce = _Rows(row_of, None if executor.far else cache)
        with ExitStack() as stack:
            for store in stores.values():
                stack.callback(store.flush)
            executor.run([every[key] for key in missing], reduce, done, at_work)
    return {batch: [rows[batch.experiment][key] for key in batch.keys] for batch in batches}


def _runs(batches: Sequence[Batch]) -> dict[Experiment, dict[str, Scenario]]:
    """The runs of each experiment, by their keys."""
    found: dict[Experiment, dict[str, Scenario]] = {}
    for batch in batches:
        own = dict(zip(batch.keys, batch.scenarios, strict=True))
        found[batch.experiment] = found.get(batch.experiment, {}) | own
    return found


def _lacking(
    runs: Mapping[Experiment, Mapping[str, Scenario]], rows: Mapping[Experiment, Mapping[str, Row]]
) -> dict[str, list[Experiment]]:
    """Key of a run → the experiments that have no row of it."""
    found: dict[str, list[Experiment]] = {}
    for experiment, own in runs.items():
        for key in own.keys() - rows[experiment].keys():
            found.setdefault(key, []).append(experiment)
    return found


def _reduce_kept(
    wanted: dict[str, list[Experiment]],
    rows: Mapping[Experiment, dict[str, Row]],
    cache: Path,
) -> None:
    """Makes the rows of kept results, which are wanted no more."""
    damaged: list[Path] = []
    for key in list(wanted):
        if (result := entries.find(cache / key, Result.load, damaged)) is not None:
            for experiment in wanted.pop(key):
                rows[experiment][key] = as_row(experiment.row, result)
    entries.say_damaged(damaged)


def _name(experiment: Experiment) -> str:
    """The directory of an experiment's rows: by what makes them, the experiment and our Python."""
    made_by = f"{experiment.row.__module__}-{experiment.row.__qualname__}-{experiment.name}"
    name = "".join(each if each.isalnum() else "-" for each in made_by)
    return f"far-{name}-{source_hash()[:16]}"
