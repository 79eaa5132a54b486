"""The rows of measures: made once, and kept for every command that asks for them."""

import hashlib
from collections.abc import Mapping
from typing import Any

from ackclock.hosts.linux import Linux
from ackclock.hosts.work import Rows, Work, check_writable
from ackclock.questions.measure import row_of
from ackclock.scenario.scenario import Scenario
from ackclock.store.made_by import source_hash
from ackclock.store.rows import KeptRows

#: The modules that make and keep the row of a simulated run.
ROW_MADE_BY = ("hosts", "figures/experiment.py", "questions/measure.py")


def store_of(work: Work) -> KeptRows:
    """Where the rows of an executor's runs are kept. Raises `AckclockError` if it cannot be."""
    check_writable(work.cache)
    executor = work.executor
    # What Linux answers, more of our Python makes.
    made_by = () if isinstance(executor, Linux) else ROW_MADE_BY
    which = source_hash(*made_by)[:16]
    if isinstance(executor, Linux):
        which += f"-{executor.name}-{hashlib.sha256(executor.version.encode()).hexdigest()[:16]}"
    return KeptRows(work.cache / "rows" / f"evaluate-{which}")


def rows_of(
    scenarios: Mapping[str, Scenario], store: KeptRows, work: Work
) -> dict[str, dict[str, Any]]:
    """The row of each run by its key: kept ones and new ones, which are kept."""
    wanted = Rows(row_of, list(scenarios), store)
    work.fill_rows([wanted], lambda keys: [scenarios[key] for key in keys])
    return wanted.found
