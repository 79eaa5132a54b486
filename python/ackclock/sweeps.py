"""Many scenarios on all cores, each result kept so that a rerun costs nothing."""

import os
import shutil
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeVar

from ackclock import _core
from ackclock.errors import AckclockError
from ackclock.runs import Result, from_engine
from ackclock.scenario import Scenario

T = TypeVar("T")

#: Where results are kept unless told otherwise.
CACHE = Path(".ackclock")


def sweep(
    scenarios: Sequence[Scenario],
    reduce: Callable[[Result], T],
    *,
    cache: str | os.PathLike[str] = CACHE,
    jobs: int = 0,
    progress: Callable[[float], None] | None = None,
) -> list[T]:
    """Runs the scenarios as `fill` does; returns `reduce(result)` of each, in order.

    Only one result at a time is in memory.
    """
    fill(scenarios, cache=cache, jobs=jobs, progress=progress)
    return [reduce(Result.load(Path(cache) / scenario.key())) for scenario in scenarios]


def fill(
    scenarios: Sequence[Scenario],
    *,
    cache: str | os.PathLike[str] = CACHE,
    jobs: int = 0,
    progress: Callable[[float], None] | None = None,
) -> None:
    """Runs what is not kept of the scenarios, `jobs` at a time (0: one on each core).

    Each result is stored as `cache/KEY` the moment it is there (`Scenario.key`), so an
    interrupted sweep resumes, and results that exist are not run again. `progress` hears the
    fraction of the remaining work that is done.
    Raises `AckclockError` if a scenario cannot be simulated.
    """
    cache = Path(cache)
    missing = {
        key: scenario for scenario in scenarios if not _is_kept(cache / (key := scenario.key()))
    }
    if not missing:
        return
    _check_writable(cache)
    resolved = [scenario.resolve() for scenario in missing.values()]
    todo = list(missing.items())

    def keep(index: int, raw: dict[str, object]) -> None:
        key, scenario = todo[index]
        shutil.rmtree(cache / key, ignore_errors=True)
        from_engine(scenario, resolved[index], raw).save(cache / key)

    _core.run_many(resolved, jobs, progress, keep)


def _is_kept(directory: Path) -> bool:
    """Whether a whole result is there, not one that was damaged."""
    if not directory.exists():
        return False
    try:
        Result.load(directory)
    except AckclockError:
        return False
    return True


def _check_writable(cache: Path) -> None:
    try:
        cache.mkdir(parents=True, exist_ok=True)
        tempfile.TemporaryFile(dir=cache).close()
    except OSError as error:
        raise AckclockError(
            f"cache directory {cache.absolute()}: cannot be written ({error.strerror}); "
            "start the command where you may write"
        ) from None
