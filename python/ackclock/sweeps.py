"""Many scenarios on all cores, each result kept so that a rerun costs nothing."""

import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

from ackclock import _core, kept, snapshot
from ackclock.errors import AckclockError
from ackclock.output import collect, partial_directory
from ackclock.runs import Result, from_engine
from ackclock.scenario import Scenario, check_is_scenario

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
    if not callable(reduce):
        raise AckclockError(
            f"reduce = {reduce!r:.40}: pass a function of a Result, like metrics.utilisation"
        )
    cache = Path(cache)
    with snapshot.held():
        fill(scenarios, cache=cache, jobs=jobs, progress=progress)
        reduced = []
        for scenario in scenarios:
            path = cache / scenario.key()
            result = kept.find(path, Result.load)
            if result is None:  # somebody emptied the cache
                fill([scenario], cache=cache)
                result = Result.load(path)
            reduced.append(reduce(result))
        return reduced


def fill(
    scenarios: Sequence[Scenario],
    *,
    cache: str | os.PathLike[str] = CACHE,
    jobs: int = 0,
    progress: Callable[[float], None] | None = None,
) -> None:
    """Runs what is not kept of the scenarios, `jobs` at a time (0: one on each core).

    Each result is stored as `cache/KEY` the moment it is there (`Scenario.key`), so an
    interrupted sweep resumes, and results that exist are not run again. A damaged one is, and a
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
            if kept.find(cache / key, Result.load, damaged) is None
        }
        if not missing:
            return
        _check_writable(cache)
        kept.say_damaged(damaged)
        todo = list(missing.values())
        prepared = [scenario.prepare() for scenario in todo]

        def keep(index: int, raw: dict[str, Any]) -> None:
            result = from_engine(todo[index], prepared[index], raw)
            kept.keep(cache / result.manifest["key"], result.write, Result.load)

        _core.run_many(prepared, jobs, progress, keep)


def _check_writable(cache: Path) -> None:
    try:
        cache.mkdir(parents=True, exist_ok=True)
        with partial_directory(cache):
            pass
    except OSError as error:
        raise AckclockError(
            f"cache directory {cache.absolute()}: cannot be written ({error.strerror}); "
            "start the command where you may write"
        ) from None
