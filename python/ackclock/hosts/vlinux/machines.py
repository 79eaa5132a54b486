"""Many scenarios on Linux in virtual time: several virtual machines at a time."""

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, Self, TypeVar

import polars as pl

from ackclock.hosts import vlinux
from ackclock.hosts.threads import in_threads
from ackclock.hosts.vlinux import build, plan
from ackclock.hosts.vlinux.sources import SERIES
from ackclock.results.result import Result
from ackclock.scenario.scenario import Scenario

T = TypeVar("T")


@dataclass(frozen=True)
class Machines:
    """Virtual machines: `jobs` at a time (0: one on each core). An `Executor`."""

    jobs: int = 0
    #: Which Linux.
    series: str = SERIES

    kind: ClassVar[str] = "vlinux"
    title: ClassVar[str] = "virtual Linux"
    seeds: ClassVar[int] = 3
    simulated: ClassVar[int] = 10
    real_time: ClassVar[bool] = False
    is_remote: ClassVar[bool] = False

    @classmethod
    def of(cls, jobs: int, _: Callable[[Result], None] | None) -> Self:
        """A virtual Linux keeps time always: no run is invalid."""
        return cls(jobs)

    @property
    def name(self) -> str:
        """As `--on` takes it."""
        return self.kind if self.series == SERIES else f"{self.kind}:{self.series}"

    def profile(self) -> str:
        """That of its series."""
        return plan.profile(self.series)

    @staticmethod
    def hz() -> None:
        """The scenario's: it chooses the kernel."""

    @staticmethod
    def differences(_: Scenario) -> list[str]:
        """Its links are those of the simulator."""
        return []

    @property
    def version(self) -> str:
        """Names the virtual Linux. Raises `AckclockError` if it is not built."""
        return build.version(self.series)

    def ready(self) -> None:
        """Raises `AckclockError` if the virtual Linux is not built."""
        build.find(self.series)

    def check(self, scenario: Scenario) -> None:
        """All that `run` does before a machine starts; it compiles C files, too.

        Raises `AckclockError` as `run` does.
        """
        vlinux.prepare(scenario, self.series)

    def once(
        self,
        scenario: Scenario,
        *,
        attempts: int | None = None,  # noqa: ARG002 (its first run is valid)
        progress: Callable[[float], None] | None = None,
        on_acks: Callable[[pl.DataFrame], None] | None = None,
    ) -> Result:
        """As `vlinux.run`: the first is valid."""
        built = build.find(self.series)
        return vlinux.run(scenario, progress=progress, on_acks=on_acks, built=built)

    def rehearse(self, scenario: Scenario) -> None:
        """Nothing: its machine runs what the simulator runs, and has no verifier."""

    def run(
        self,
        scenarios: Sequence[Scenario],
        reduce: Callable[[Result], T],
        done: Callable[[int, T], None],
        progress: Callable[[float], None] | None = None,
    ) -> None:
        """As `Executor.run` says."""
        built = build.find(self.series)

        def one(scenario: Scenario, watch: Callable[[float], None]) -> T:
            result = vlinux.run(scenario, progress=watch, built=built)
            key = scenario.key(self.version)
            return reduce(replace(result, manifest=result.manifest | {"key": key}))

        in_threads(one, scenarios, self.jobs or os.cpu_count() or 1, done, progress)
