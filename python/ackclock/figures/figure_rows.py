"""The rows of figures, kept until anything in ackclock's Python changes.

Runs on this machine are kept whole, and rows are made anew of them when our Python changes. From a
cluster only rows return. They are kept as they come, each until our Python changes.
"""

import functools
import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from ackclock.base.directory import collect
from ackclock.figures.batches import Batch
from ackclock.figures.experiment import Experiment, Runs, as_row
from ackclock.hosts.work import Rows, Work
from ackclock.store import entries
from ackclock.store.made_by import source_hash
from ackclock.store.rows import KeptRows, Row

if TYPE_CHECKING:
    from ackclock.scenario.scenario import Scenario


def rows_of(batches: Sequence[Batch], work: Work) -> dict[Batch, Runs]:
    """The rows of each batch, after running what is not kept."""
    collect(work.cache / "rows")
    paths = {batch: _rows_path(batch, work.cache) for batch in batches}
    damaged: list[Path] = []
    known = {batch: entries.find(path, _read_rows, damaged) for batch, path in paths.items()}
    missing = [batch for batch in batches if known[batch] is None]
    entries.say_damaged(damaged, "rows of figures")

    def heard(to_run: int, there: int) -> None:
        beside = {key for batch in batches for key in batch.keys}
        beside -= {key for batch in missing for key in batch.keys}
        work.on_runs(to_run, there + len(beside))

    made = _fetch(missing, replace(work, on_runs=heard))
    found = {}
    for batch, path in paths.items():
        table = known[batch]
        if table is None:
            table = table_of(batch, made[batch])
            entries.keep_rows(path, table, _read_rows)
        found[batch] = Runs(batch.experiment, table)
    return found


def _fetch(batches: Sequence[Batch], work: Work) -> dict[Batch, list[Row]]:
    """The row of each run of the batches, in order; runs what is not kept."""
    collect(work.cache)
    runs: dict[Experiment, dict[str, Scenario]] = {}
    for batch in batches:
        runs[batch.experiment] = runs.get(batch.experiment, {}) | batch.by_key
    every = {key: scenario for own in runs.values() for key, scenario in own.items()}
    wanted = {
        experiment: Rows(
            functools.partial(as_row, experiment.row),
            list(own),
            KeptRows(work.cache / "rows" / _name(experiment)) if work.executor.is_remote else None,
        )
        for experiment, own in runs.items()
    }
    work.fill_rows(list(wanted.values()), lambda keys: [every[key] for key in keys], results=True)
    return {batch: [wanted[batch.experiment].found[key] for key in batch.keys] for batch in batches}


def _name(experiment: Experiment) -> str:
    """The directory of an experiment's rows: by what makes them, the experiment and our Python."""
    made_by = f"{experiment.row.__module__}-{experiment.row.__qualname__}-{experiment.name}"
    name = "".join(each if each.isalnum() else "-" for each in made_by)
    return f"far-{name}-{source_hash()[:16]}"


def _rows_path(batch: Batch, cache: Path) -> Path:
    """Where the rows are kept: by their runs and by all of our Python."""
    digest = hashlib.sha256(source_hash().encode())
    for key in batch.keys:
        digest.update(key.encode())
    name = "".join(each if each.isalnum() else "-" for each in batch.experiment.name)
    return cache / "rows" / f"{name}-{digest.hexdigest()[:16]}"


def table_of(batch: Batch, numbers: Sequence[Mapping[str, Any]]) -> pl.DataFrame:
    """The rows of a batch, from what `as_row` made of each run."""
    rows = [
        {**point, "seed": seed, **row}
        for (point, seed, _), row in zip(batch.repeats, numbers, strict=True)
    ]
    table = pl.DataFrame(rows, infer_schema_length=None)
    # A number that no run has keeps its column.
    table = table.cast(
        {name: pl.Float64 for name in batch.experiment.columns if table[name].dtype == pl.Null}
    )
    return table.drop(name for name in table.columns if table[name].dtype == pl.Null)


def _read_rows(path: Path) -> pl.DataFrame:
    tables, _ = entries.read_tables(path)
    if "rows" not in tables:
        raise ValueError("no rows")
    return tables["rows"]
