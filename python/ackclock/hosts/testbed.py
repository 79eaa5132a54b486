"""Scenarios on this machine's own TCP stack, several at a time: an `Executor`."""

import platform
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, Self, TypeVar

import polars as pl

from ackclock.base.errors import AckclockError
from ackclock.base.kernel_part import TESTBED, kernel_part, lacks
from ackclock.hosts import kernel
from ackclock.hosts.threads import in_threads
from ackclock.hosts.work import CACHE
from ackclock.results.certificate import advice
from ackclock.results.result import Result
from ackclock.scenario import snapshot
from ackclock.scenario.scenario import Scenario
from ackclock.store import entries

T = TypeVar("T")

#: Where in the cache the last of several invalid runs is kept. Nothing takes one from there.
INVALID = "invalid"


class NoValidRunError(AckclockError):
    """The machine kept time too badly, in every attempt."""


def version() -> str:
    """Names what runs the scenarios: this testbed on this kernel."""
    return f"{kernel_part().testbed_version()} on {platform.release()}"


def valid_run(
    scenario: Scenario,
    *,
    progress: Callable[[float], None] | None = None,
    on_invalid: Callable[[Result], None] | None = None,
) -> Result:
    """A valid kernel run; raises `NoValidRunError` if there is none in as many as are tried.

    The last of them is then kept, to be looked at, as `.ackclock/invalid/KEY-TIME`.
    """
    result = kernel.run(scenario, progress=progress, on_invalid=on_invalid)
    certificate = result.manifest["certificate"]
    # Of the code that ran: a C file may have changed since the command read it.
    key = snapshot.key_of(scenario.resolve(), result.manifest["algorithms"], version())
    if not certificate["valid"]:
        place = CACHE / INVALID / f"{key}-{time.strftime('%Y%m%d-%H%M%S')}"
        entries.keep(place, result.write, Result.load)
        said = [*certificate["problems"], *advice(certificate)]
        raise NoValidRunError(
            f"no valid kernel run in {kernel.ATTEMPTS}: {'; '.join(said)}; "
            f"the last one is kept, marked as invalid: {place}"
        )
    return replace(result, manifest=result.manifest | {"key": key})


@dataclass(frozen=True)
class Testbed:
    """Runs in real time, `jobs` at a time."""

    jobs: int = 1
    on_invalid: Callable[[Result], None] | None = None

    kind: ClassVar[str] = "kernel"
    name: ClassVar[str] = kind
    title: ClassVar[str] = "kernel"
    seeds: ClassVar[int] = 5
    simulated: ClassVar[int] = 20
    real_time: ClassVar[bool] = True
    is_remote: ClassVar[bool] = False

    @classmethod
    def of(cls, jobs: int, on_invalid: Callable[[Result], None] | None) -> Self:
        """One run at a time, unless told otherwise: beside it nothing should run."""
        return cls(jobs or 1, on_invalid)

    @staticmethod
    def hz() -> int | None:
        """As `kernel.hz`."""
        return kernel.hz()

    @staticmethod
    def profile() -> str:
        """As `kernel.profile`."""
        return kernel.profile()

    @staticmethod
    def differences(_: Scenario) -> list[str]:
        """None are known."""
        return []

    def ready(self) -> None:
        """Raises `AckclockError` that says what this machine lacks."""
        if missing := lacks(*TESTBED):
            raise AckclockError(f"the kernel cannot run it here: {missing}; see `ackclock doctor`")

    @property
    def version(self) -> str:
        """As the function `version`."""
        return version()

    def check(self, scenario: Scenario) -> None:
        """Raises `AckclockError` that names the first field that a kernel run cannot honour."""
        kernel.check(scenario)

    def once(
        self,
        scenario: Scenario,
        *,
        attempts: int | None = None,
        progress: Callable[[float], None] | None = None,
        on_acks: Callable[[pl.DataFrame], None] | None = None,
    ) -> Result:
        """As `kernel.run`."""
        return kernel.run(
            scenario,
            progress=progress,
            attempts=attempts or kernel.ATTEMPTS,
            on_invalid=self.on_invalid,
            on_acks=on_acks,
        )

    def rehearse(self, scenario: Scenario) -> None:
        """Raises `AckclockError` if clang or the verifier refuses an algorithm; runs nothing."""
        with scenario.in_its_words():
            kernel_part().rehearse_on_kernel(snapshot.of_kernel(), scenario.resolve())

    def run(
        self,
        scenarios: Sequence[Scenario],
        reduce: Callable[[Result], T],
        done: Callable[[int, T], None],
        progress: Callable[[float], None] | None = None,
    ) -> None:
        """As `Executor.run` says. Raises `NoValidRunError`, too."""

        def one(scenario: Scenario, watch: Callable[[float], None]) -> T:
            return reduce(valid_run(scenario, progress=watch, on_invalid=self.on_invalid))

        in_threads(one, scenarios, self.jobs, done, progress)
