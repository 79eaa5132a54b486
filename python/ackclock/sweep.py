"""Many scenarios on all cores, each result kept so that a rerun costs nothing."""

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeVar

from ackclock import _core
from ackclock.run import MANIFEST, Result, from_engine
from ackclock.scenario import Scenario

T = TypeVar("T")

#: Where results are kept unless told otherwise.
CACHE = Path(".ackclock")


def sweep(
    scenarios: Sequence[Scenario],
    reduce: Callable[[Result], T],
    *,
    cache: str | os.PathLike[str] = CACHE,
    threads: int = 0,
    progress: Callable[[float], None] | None = None,
) -> list[T]:
    """Runs the scenarios on `threads` cores (0: all); returns `reduce(result)` of each, in order.

    Each result is stored as `cache/KEY` the moment it is there (`Scenario.key`), so an
    interrupted sweep resumes, and results that exist are not run again; only one result at a time
    is in memory. `progress` hears the fraction of the remaining work that is done.
    Raises `AckclockError` if a scenario cannot be simulated.
    """
    cache = Path(cache)
    keys = [scenario.key() for scenario in scenarios]
    missing = {
        key: scenario
        for key, scenario in zip(keys, scenarios, strict=True)
        if not (cache / key / MANIFEST).exists()
    }
    if missing:
        resolved = [scenario.resolve() for scenario in missing.values()]
        todo = list(missing.items())

        def keep(index: int, raw: dict[str, object]) -> None:
            key, scenario = todo[index]
            from_engine(scenario, resolved[index], raw).save(cache / key)

        _core.run_many(resolved, threads, progress, keep)
    return [reduce(Result.load(cache / key)) for key in keys]
