"""The first kernel whose run of a scenario differs.

It is one of the series that are built, or a commit of a git tree. Linux in virtual time has no
noise, so one run of each kernel is proof.
"""

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import polars as pl

from ackclock.base.errors import AckclockError
from ackclock.draw import html
from ackclock.hosts import vlinux
from ackclock.hosts.vlinux import build, sources
from ackclock.hosts.vlinux.build import Built
from ackclock.hosts.vlinux.trees import Commit, Tree
from ackclock.hosts.work import CACHE, check_writable
from ackclock.results import tables
from ackclock.results.result import Result
from ackclock.scenario.scenario import Scenario
from ackclock.store import entries
from ackclock.studies import diverge

Progress = Callable[[float], None]


class Series:
    """The series that are built, from the good one to the bad one."""

    def __init__(self, good: str, bad: str) -> None:
        """Raises `AckclockError` if one is not built, or they are not in this order."""
        found = [build.find(sources.checked(each)) for each in (good, bad)]
        ends = [sources.version(each.series) for each in found]
        if not ends[0] < ends[1]:
            raise AckclockError(f"--good {good} --bad {bad}: the bad series must be the newer one")
        newest = {each.series: each for each in build.every()}
        self._built = [
            each for each in newest.values() if ends[0] <= sources.version(each.series) <= ends[1]
        ]
        self.names = [f"Linux {each.series}" for each in self._built]

    def version(self, place: int) -> str:
        """Names what makes results of one, built or not."""
        return build.version_of(self._built[place])

    def ready(self, place: int, _: Progress | None) -> AbstractContextManager[Built]:
        """One, built."""
        return nullcontext(self._built[place])


class Commits:
    """The commits of a git tree, from the good one to the bad one."""

    def __init__(self, directory: Path, good: str, bad: str) -> None:
        """Raises `AckclockError` if the tree has no such commits, in this order."""
        self._tree = Tree(directory)
        ends = self._tree.commit(good, "--good"), self._tree.commit(bad, "--bad")
        self._commits: Sequence[Commit] = self._tree.between(*ends)
        self.names = [*map(str, self._commits)]

    def version(self, place: int) -> str:
        """As that of `Series`."""
        return build.version_of(self._tree.built(self._commits[place]))

    def ready(self, place: int, progress: Progress | None) -> AbstractContextManager[Built]:
        """One, built with what the last one left. Raises `AckclockError` if it does not compile."""
        return self._tree.ready(self._commits[place], progress)


#: What may be the first, in order: the good one is the first, and the bad one the last.
Kernels = Series | Commits


@dataclass(frozen=True)
class Found:
    """The first kernel whose tables differ from those of the good one."""

    #: None: those of the bad one are equal.
    first: str | None
    before: str
    good: Result
    other: Result
    #: Of the last that is equal and the first that is not; None: their packets are equal.
    packet: diverge.Difference | None = None

    def table(self) -> html.Table:
        """What each flow got of both."""
        columns = (
            "sent_packets",
            "delivered_bytes",
            "retransmitted_packets",
            "recoveries",
            "timeouts",
        )
        rows = []
        for number, flow in enumerate(self.good.flows["flow"]):
            for column in columns:
                both = [str(result.flows[column][number]) for result in (self.good, self.other)]
                rows.append((str(flow), column, *both, "" if both[0] == both[1] else "differs"))
        rows += [
            ("", f"table {name}", "", "", "differs")
            for name in tables.TABLES
            if not getattr(self.good, name).equals(getattr(self.other, name))
        ]
        return html.Table(("flow", "of its run", "before", "first", ""), rows)


def bisect(
    scenario: Scenario,
    kernels: Kernels,
    *,
    cache: Path = CACHE,
    progress: Progress | None = None,
    say: Callable[[str], None] = lambda _: None,
) -> Found:
    """Finds the first kernel whose tables differ from those of the good one.

    `say` hears what each run gave, `progress` the fraction of a build that is done. Each run
    is kept in `cache`, so an interrupted search resumes.
    Raises `AckclockError` if a kernel does not compile, or cannot run the scenario.
    """
    check_writable(cache)
    run = partial(_run, scenario, kernels, cache, progress)
    (good, packets), last = run(0), len(kernels.names) - 1
    say(f"good: {kernels.names[0]}")
    other, others = run(last)
    if _same(good, other):
        return Found(None, kernels.names[0], good, other)
    say(f"bad: {kernels.names[last]}")
    low, high = 0, last
    while high - low > 1:
        middle = (low + high) // 2
        result, of_it = run(middle)
        if equal := _same(good, result):
            low, packets = middle, of_it
        else:
            high, other, others = middle, result, of_it
        left = high - low - 1
        say(f"{'equal' if equal else 'differs'}: {kernels.names[middle]} ({left} left)")
    both = {"before": packets, "first": others}
    manifests = {"before": good.manifest, "first": other.manifest}
    packet = diverge.between(scenario, both, manifests).first
    return Found(kernels.names[high], kernels.names[low], good, other, packet)


def _run(
    scenario: Scenario, kernels: Kernels, cache: Path, progress: Progress | None, place: int
) -> tuple[Result, pl.DataFrame]:
    """The run of one kernel and its packets, kept or new."""
    key = scenario.key(kernels.version(place))
    if (kept := entries.find(cache / key, _load)) is None:
        packets: list[pl.DataFrame] = []
        with kernels.ready(place, progress) as built:
            result = vlinux.run(scenario, on_packets=packets.append, built=built)
        result = replace(result, manifest=result.manifest | {"key": key})
        write = partial(result.write, packets=packets[0])
        entries.keep(cache / key, write, _load)
        kept = _load(cache / key)
    return kept


def _load(entry: Path) -> tuple[Result, pl.DataFrame]:
    """Raises `OSError`, too, for a run that another command kept, without its packets."""
    return Result.load(entry), pl.read_parquet(entry / "packets.parquet")


def _same(one: Result, other: Result) -> bool:
    return all(getattr(one, name).equals(getattr(other, name)) for name in tables.TABLES)
