"""The rows of measures: made once, and kept for every command that asks for them."""

import hashlib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from ackclock.hosts import work
from ackclock.hosts.linux import Linux
from ackclock.hosts.threads import Executor
from ackclock.hosts.work import check_writable
from ackclock.questions.measure import row_of
from ackclock.scenario.scenario import Scenario
from ackclock.store.made_by import source_hash
from ackclock.store.rows import KeptRows

#: The modules that make and keep the row of a simulated run.
ROW_MADE_BY = ("hosts", "figures/experiment.py", "questions/measure.py")


def store_of(cache: Path, executor: Executor) -> KeptRows:
    """Where the rows of an executor's runs are kept. Raises `AckclockError` if it cannot be."""
    check_writable(cache)
    # What Linux answers, more of our Python makes.
    made_by = () if isinstance(executor, Linux) else ROW_MADE_BY
    which = source_hash(*made_by)[:16]
    if isinstance(executor, Linux):
        which += f"-{executor.name}-{hashlib.sha256(executor.version.encode()).hexdigest()[:16]}"
    return KeptRows(cache / "rows" / f"evaluate-{which}")


def rows_of(
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
