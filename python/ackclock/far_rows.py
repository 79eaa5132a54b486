"""The rows of figures from runs on other machines: each result is reduced where it ran.

A figure on this machine keeps whole results, from which rows are made anew when our Python changes.
From a cluster only rows return. They are kept as they come, each until our Python changes.
"""

from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ackclock import kept
from ackclock.executors import Executor
from ackclock.figures.batches import Batch
from ackclock.figures.experiment import Experiment, as_row
from ackclock.kept_rows import KeptRows
from ackclock.many import check_writable
from ackclock.runs import Result
from ackclock.scenario import Scenario

Row = dict[str, Any]


@dataclass(frozen=True)
class _Rows:
    """Reduces a run to the row of each experiment that has it; it can be pickled."""

    row_of: Mapping[str, Sequence[Callable[[Result], Any]]]

    def __call__(self, result: Result) -> list[Row]:
        return [as_row(each, result) for each in self.row_of[result.manifest["key"]]]


def fetch(
    batches: Sequence[Batch],
    cache: Path,
    executor: Executor,
    progress: Callable[[float], None] | None,
    on_runs: Callable[[int, int], None] | None,
) -> dict[Batch, list[Row]]:
    """The row of each run of the batches, in order; runs there what is not kept here."""
    check_writable(cache)
    runs = _runs(batches)
    stores = {each: KeptRows(cache / "rows" / _name(each)) for each in runs}
    rows = {each: stores[each].read(of.keys()) for each, of in runs.items()}
    wanted = _wanted(runs, rows, cache)
    every = {key: scenario for of in runs.values() for key, scenario in of.items()}
    missing = [key for key in every if key in wanted]
    if on_runs is not None:
        on_runs(len(missing), len(every) - len(missing))

    def done(index: int, made: list[Row]) -> None:
        key = missing[index]
        for experiment, row in zip(wanted[key], made, strict=True):
            rows[experiment][key] = row
            stores[experiment].add(key, row)

    def at_work(fraction: float) -> None:
        for store in stores.values():
            store.flush_in_time()
        if progress is not None:
            progress(fraction)

    with ExitStack() as stack:
        for store in stores.values():
            stack.callback(store.flush)
        reduce = _Rows({key: [each.row for each in of] for key, of in wanted.items()})
        executor.run([every[key] for key in missing], reduce, done, at_work)
    return {
        batch: [rows[batch.experiment][scenario.key()] for scenario in batch.scenarios]
        for batch in batches
    }


def _runs(batches: Sequence[Batch]) -> dict[Experiment, dict[str, Scenario]]:
    """The runs of each experiment, by their keys."""
    found: dict[Experiment, dict[str, Scenario]] = {}
    for batch in batches:
        own = {scenario.key(): scenario for scenario in batch.scenarios}
        found[batch.experiment] = found.get(batch.experiment, {}) | own
    return found


def _wanted(
    runs: Mapping[Experiment, Mapping[str, Scenario]],
    rows: Mapping[Experiment, dict[str, Row]],
    cache: Path,
) -> dict[str, list[Experiment]]:
    """Key of a run → the experiments that have no row of it, nor can make one of a kept result."""
    found: dict[str, list[Experiment]] = {}
    for experiment, own in runs.items():
        for key in own.keys() - rows[experiment].keys():
            found.setdefault(key, []).append(experiment)
    for key in list(found):
        if (result := kept.find(cache / key, Result.load)) is not None:
            for experiment in found.pop(key):
                rows[experiment][key] = as_row(experiment.row, result)
    return found


def _name(experiment: Experiment) -> str:
    """The directory of an experiment's rows: by what makes them, the experiment and our Python."""
    made_by = f"{experiment.row.__module__}-{experiment.row.__qualname__}-{experiment.name}"
    name = "".join(each if each.isalnum() else "-" for each in made_by)
    return f"far-{name}-{kept.source_hash()[:16]}"
