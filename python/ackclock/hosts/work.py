"""Many scenarios, each result kept so that a rerun costs nothing."""

import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TypeVar

from ackclock.base import directory
from ackclock.base.directory import collect, partial_directory
from ackclock.base.errors import AckclockError
from ackclock.hosts.threads import LOCAL, Executor
from ackclock.results.result import Result
from ackclock.scenario import snapshot
from ackclock.scenario.scenario import Scenario, check_is_scenario
from ackclock.store import entries

T = TypeVar("T")

#: Where results are kept unless told otherwise.
CACHE = Path(directory.CACHE)


def run_all(
    scenarios: Sequence[Scenario],
    reduce: Callable[[Result], T],
    *,
    cache: str | os.PathLike[str] = CACHE,
    executor: Executor = LOCAL,
    progress: Callable[[float], None] | None = None,
) -> list[T]:
    """Runs the scenarios, on all cores unless told otherwise, as `fill` does.

    Returns `reduce(result)` of each, in order. Only one result at a time is in memory.
    """
    if not callable(reduce):
        raise AckclockError(
            f"reduce = {reduce!r:.40}: pass a function of a Result, like metrics.utilisation"
        )
    cache = Path(cache)
    with snapshot.held():
        fill(scenarios, cache=cache, executor=executor, progress=progress)
        reduced = []
        for scenario in scenarios:
            path = cache / scenario.key()
            result = entries.find(path, Result.load)
            if result is None:  # somebody emptied the cache
                fill([scenario], cache=cache, executor=executor)
                result = Result.load(path)
            reduced.append(reduce(result))
        return reduced


def fill(
    scenarios: Sequence[Scenario],
    *,
    cache: str | os.PathLike[str] = CACHE,
    executor: Executor = LOCAL,
    progress: Callable[[float], None] | None = None,
) -> None:
    """Runs what is not kept of the scenarios, on all cores unless told otherwise.

    Each result is stored as `cache/KEY` the moment it is there (`Scenario.key`), so an
    interrupted command resumes, and results that exist are not run again. A damaged one is, and a
    line on stderr says so. Several processes may fill one cache. `progress` is called with the
    fraction of the remaining work that is done.
    Raises `AckclockError` if a scenario cannot be simulated.
    """
    if isinstance(scenarios, str | Scenario | Mapping):
        raise AckclockError(f"scenarios = {scenarios!r:.40}: pass a list of Scenario")
    for scenario in scenarios:
        check_is_scenario(scenario)
    cache = Path(cache)
    collect(cache)
    with snapshot.held():
        keys = {scenario.key(): scenario for scenario in scenarios}
        damaged: list[Path] = []
        missing = {
            key: scenario
            for key, scenario in keys.items()
            if entries.find(cache / key, Result.load, damaged) is None
        }
        if not missing:
            return
        check_writable(cache)
        entries.say_damaged(damaged)
        executor.run(
            list(missing.values()),
            whole,
            lambda _, result: keep(result, cache),
            progress,
        )


def keep(result: Result, cache: Path) -> None:
    """Keeps a result, as `fill` does."""
    entries.keep(cache / result.manifest["key"], result.write, Result.load)


def whole(result: Result) -> Result:
    """A reducer that keeps all; unlike a lambda it can be pickled."""
    return result


def check_writable(cache: Path) -> None:
    """Raises `AckclockError` if nothing can be kept there."""
    try:
        cache.mkdir(parents=True, exist_ok=True)
        with partial_directory(cache):
            pass
    except OSError as error:
        raise AckclockError(
            f"cache directory {cache.absolute()}: cannot be written ({error.strerror}); "
            "start the command where you may write"
        ) from None
