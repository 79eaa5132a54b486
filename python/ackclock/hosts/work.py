"""Many scenarios, each result kept so that a rerun costs nothing."""

import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Self, TypeVar

from ackclock.base import directory
from ackclock.base.directory import collect, partial_directory
from ackclock.base.errors import AckclockError
from ackclock.hosts.shard import WHOLE, Shard
from ackclock.hosts.threads import LOCAL, Executor
from ackclock.results.result import Result
from ackclock.scenario import snapshot
from ackclock.scenario.scenario import Scenario, check_is_scenario
from ackclock.store import entries
from ackclock.store.rows import KeptRows, Row

T = TypeVar("T")

#: Where results are kept unless told otherwise.
CACHE = Path(directory.CACHE)


def quiet(*_: float) -> None:
    """Is told of the work, and says nothing."""


@dataclass(frozen=True)
class Work:
    """How runs are made: by whom, which of them, where they are kept, and who is told."""

    cache: Path = CACHE
    executor: Executor = LOCAL
    #: Which of the runs, where several commands share them.
    shard: Shard = WHOLE
    #: Is called with the fraction done.
    progress: Callable[[float], None] = quiet
    #: Is called before the runs with how many there are to run and how many are kept.
    on_runs: Callable[[int, int], None] = quiet

    def reduced(self, scenarios: Sequence[Scenario], reduce: Callable[[Result], T]) -> list[T]:
        """As `run_all`."""
        made: dict[str, T] = {}
        with snapshot.held():
            self._each(scenarios, lambda key, result: made.update({key: reduce(result)}))
            return [made[scenario.key(self.executor.version)] for scenario in scenarios]

    def fill(
        self,
        scenarios: Sequence[Scenario],
        on_missing: Callable[[Sequence[Scenario]], None] | None = None,
    ) -> None:
        """Runs what is not kept of the scenarios.

        Each result is stored as `cache/KEY` the moment it is there (`Scenario.key`), so an
        interrupted command resumes, and results that exist are not run again. A damaged one is,
        and a line on stderr says so. Several processes may fill one cache. `on_missing` is called
        before the runs with what there is to run.
        Raises `AckclockError` if a scenario cannot be simulated.
        """
        self._each(scenarios, lambda *_: None, on_missing)

    def _each(
        self,
        scenarios: Sequence[Scenario],
        use: Callable[[str, Result], None],
        on_missing: Callable[[Sequence[Scenario]], None] | None = None,
    ) -> None:
        """As `fill`; `use` is called with the key and the result of each, kept or new."""
        if isinstance(scenarios, str | Scenario | Mapping):
            raise AckclockError(f"scenarios = {scenarios!r:.40}: pass a list of Scenario")
        for scenario in scenarios:
            check_is_scenario(scenario)
        collect(self.cache)
        with snapshot.held():
            lacking: dict[str, Scenario] = {}
            damaged: list[Path] = []
            for key, scenario in {
                each.key(self.executor.version): each for each in scenarios
            }.items():
                result = entries.find(self.cache / key, Result.load, damaged)
                if result is None:
                    lacking[key] = scenario
                else:
                    use(key, result)
            keys, missing = list(lacking), list(lacking.values())
            if on_missing is not None:
                on_missing(missing)
            if not missing:
                return
            check_writable(self.cache)
            entries.say_damaged(damaged)

            def done(index: int, result: Result) -> None:
                keep(result, self.cache)
                use(keys[index], result)

            self.executor.run(missing, whole, done, self.progress)

    def fill_rows(
        self,
        wanted: Sequence["Rows"],
        scenarios: Callable[[Sequence[str]], Sequence[Scenario]],
        *,
        results: bool = False,
    ) -> None:
        """Makes the rows that are not kept; each run runs once.

        Rows are kept in their stores as they come, and with `results` the whole results of this
        machine's runs, of which rows are made anew: an interrupted command resumes. `scenarios`
        makes the runs of these keys; where there are several `Rows`, a key is that of the run
        (`Scenario.key`).
        """
        lacking = _lacking(wanted)
        to_run = sum(not (results and (self.cache / key).exists()) for key in lacking)
        self.on_runs(to_run, len({key for each in wanted for key in each.keys}) - to_run)
        if results:
            _reduce_kept(lacking, self.cache)
        if lacking:
            if results:
                check_writable(self.cache)
            cache = self.cache if results and not self.executor.is_remote else None
            self._run(scenarios(list(lacking)), _Reduce.of(wanted, lacking, cache), lacking)

    def _run(
        self,
        scenarios: Sequence[Scenario],
        reduce: Callable[[Result], Sequence[Row]],
        lacking: Mapping[str, Sequence["Rows"]],
    ) -> None:
        """Runs what lacks, and adds the rows as they come."""
        missing = list(lacking)
        stores = {each.store for of in lacking.values() for each in of if each.store is not None}

        def done(index: int, made: Sequence[Row]) -> None:
            key = missing[index]
            for each, row in zip(lacking[key], made, strict=True):
                each.add(key, row)

        def progress(fraction: float) -> None:
            for store in stores:
                store.flush_in_time()
            self.progress(fraction)

        with ExitStack() as stack:
            for store in stores:
                stack.callback(store.flush)
            self.executor.run(scenarios, reduce, done, progress)


#: On all cores of this machine.
WORK = Work()


def run_all(
    scenarios: Sequence[Scenario],
    reduce: Callable[[Result], T],
    *,
    cache: str | os.PathLike[str] = CACHE,
    executor: Executor = LOCAL,
    progress: Callable[[float], None] | None = None,
) -> list[T]:
    """Runs the scenarios, on all cores unless told otherwise, as `Work.fill` does.

    Returns `reduce(result)` of each, in order. Only one result at a time is in memory.
    """
    if not callable(reduce):
        raise AckclockError(
            f"reduce = {reduce!r:.40}: pass a function of a Result, like metrics.utilisation"
        )
    return Work(Path(cache), executor, progress=progress or quiet).reduced(scenarios, reduce)


@dataclass(eq=False)
class Rows:
    """The rows of runs that one function makes."""

    reduce: Callable[[Result], Row]
    #: Of the runs; one may stand twice.
    keys: Sequence[str]
    #: Where they are kept.
    store: KeptRows | None = None
    #: Sees each, kept or new.
    check: Callable[[Row], None] = lambda _: None
    #: By their runs' keys, once `Work.fill_rows` has made them.
    found: dict[str, Row] = field(default_factory=dict)

    def read(self) -> None:
        """Finds those that are kept."""
        self.found = self.store.read(set(self.keys)) if self.store else {}
        for row in self.found.values():
            self.check(row)

    def add(self, key: str, row: Row) -> None:
        """Adds a new one, which is kept."""
        self.check(row)
        self.found[key] = row
        if self.store is not None:
            self.store.add(key, row)


def _lacking(wanted: Sequence[Rows]) -> dict[str, tuple[Rows, ...]]:
    """Key of a run → those that have no row of it, kept or new."""
    found: dict[str, tuple[Rows, ...]] = {}
    for each in wanted:
        each.read()
        alone = (each,)  # one for all keys: they may be a million
        for key in each.keys:
            if key not in each.found and each not in found.get(key, ()):
                found[key] = found[key] + alone if key in found else alone
    return found


def _reduce_kept(lacking: dict[str, tuple[Rows, ...]], cache: Path) -> None:
    """Makes the rows of kept results, which lack no more."""
    damaged: list[Path] = []
    for key in list(lacking):
        if (result := entries.find(cache / key, Result.load, damaged)) is not None:
            for each in lacking.pop(key):
                each.add(key, each.reduce(result))
    entries.say_damaged(damaged)


@dataclass(frozen=True)
class _Reduce:
    """Makes the rows of a run where it ran; it can be pickled."""

    only: Callable[[Result], Row]
    #: Key of a run → its functions; empty where there is only one.
    several: Mapping[str, Sequence[Callable[[Result], Row]]]
    #: Where the whole result is kept, too.
    cache: Path | None

    @classmethod
    def of(
        cls, wanted: Sequence[Rows], lacking: Mapping[str, Sequence[Rows]], cache: Path | None
    ) -> Self:
        several = lacking if wanted[1:] else {}
        reduces = {key: [each.reduce for each in of] for key, of in several.items()}
        return cls(wanted[0].reduce, reduces, cache)

    def __call__(self, result: Result) -> list[Row]:
        if self.cache is not None:
            keep(result, self.cache)
        of = self.several[result.manifest["key"]] if self.several else [self.only]
        return [each(result) for each in of]


def keep(result: Result, cache: Path) -> None:
    """Keeps a result, as `Work.fill` does."""
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
