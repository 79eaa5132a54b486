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
from ackclock.store.rows import KeptRows, Row

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
            path = cache / scenario.key(executor.version)
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
        keys = {scenario.key(executor.version): scenario for scenario in scenarios}
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


def rows(
    keys: Sequence[str],
    scenarios: Callable[[Sequence[int]], Sequence[Scenario]],
    reduce: Callable[[Result], Row],
    store: KeptRows | None,
    executor: Executor,
    progress: Callable[[float], None] | None = None,
    on_runs: Callable[[int, int], None] | None = None,
    check: Callable[[Row], None] = lambda _: None,
) -> dict[str, Row]:
    """The row of each run by its key: those that are kept, and new ones, which it keeps.

    `scenarios` makes the runs of these places in `keys`, in which a run may stand twice. `check`
    sees each row. `on_runs` is called before the runs with how many there are to run and how many
    are kept. An interrupted one resumes: what has ended is on the disk.
    """
    first = {key: number for number, key in reversed(list(enumerate(keys)))}
    found = store.read(first.keys()) if store else {}
    missing = [key for key in first if key not in found]
    if on_runs is not None:
        on_runs(len(missing), len(first) - len(missing))
    for row in found.values():
        check(row)

    def done(index: int, row: Row) -> None:
        check(row)
        found[missing[index]] = row
        if store is not None:
            store.add(missing[index], row)

    def at_work(fraction: float) -> None:
        if store is not None:
            store.flush_in_time()
        if progress is not None:
            progress(fraction)

    try:
        executor.run(scenarios([first[key] for key in missing]), reduce, done, at_work)
    finally:
        if store is not None:
            store.flush()
    return found


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
