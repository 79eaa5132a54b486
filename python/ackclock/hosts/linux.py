"""Linux beside the simulator: this machine's kernel in real time, and Linux in virtual time.

To add one, write its file and name it in `KINDS`.
"""

from collections.abc import Callable
from typing import ClassVar, Protocol, runtime_checkable

import polars as pl

from ackclock.base.errors import AckclockError
from ackclock.hosts.testbed import Testbed
from ackclock.hosts.threads import Executor
from ackclock.hosts.vlinux import sources
from ackclock.hosts.vlinux.machines import Machines
from ackclock.results.result import Result
from ackclock.scenario.scenario import KERNEL, Scenario


@runtime_checkable
class Linux(Executor, Protocol):
    """An executor on Linux's own TCP, which cannot run every scenario."""

    #: "kernel" or "vlinux".
    kind: ClassVar[str]

    @property
    def name(self) -> str:
        """As `--on` takes it: "kernel", "vlinux", "vlinux:7.3"."""

    #: What people call it.
    title: ClassVar[str]
    #: Its runs of each point of a figure, unless told otherwise.
    seeds: ClassVar[int]
    #: Simulated runs beside them: they cost less, so that only Linux's mean is uncertain.
    simulated: ClassVar[int]
    #: Whether it takes as long as the scenario, and root.
    real_time: ClassVar[bool]

    @property
    def version(self) -> str:
        """What a kept run depends on beside its scenario."""

    @staticmethod
    def hz() -> int | None:
        """Its timer ticks per second; None if nobody knows."""

    def profile(self) -> str:
        """That of its own TCP."""

    @staticmethod
    def differences(scenario: Scenario) -> list[str]:
        """What a scenario's links do there and not in the simulator, a line each."""

    def ready(self) -> None:
        """Raises `AckclockError` if it cannot run anything here."""

    def check(self, scenario: Scenario) -> None:
        """Raises `AckclockError` that names the first field that it cannot honour."""

    def once(
        self,
        scenario: Scenario,
        *,
        attempts: int | None = None,
        progress: Callable[[float], None] | None = None,
        on_acks: Callable[[pl.DataFrame], None] | None = None,
    ) -> Result:
        """A run, the first valid one of so many, or the last; it is not kept.

        `on_acks` gets a row per ACK.
        """

    def rehearse(self, scenario: Scenario) -> None:
        """Raises `AckclockError` if it refuses the code of an algorithm; runs nothing."""


KINDS: dict[str, type[Testbed] | type[Machines]] = {each.kind: each for each in (Testbed, Machines)}


def host(name: str, jobs: int = 0, on_invalid: Callable[[Result], None] | None = None) -> Linux:
    """The Linux of this name, `jobs` runs at a time (0: one, and a machine on each core).

    "vlinux:7.3" is Linux 7.3 in virtual time. Raises `AckclockError` for another name.
    """
    kind, _, series = name.partition(":")
    if kind not in KINDS or (series and kind != Machines.kind):
        raise AckclockError(f'on = "{name}": unknown; choose from {", ".join(KINDS)}, vlinux:7.3')
    if series:
        return Machines(jobs, sources.checked(series))
    return KINDS[kind].of(jobs, on_invalid)


def like(scenario: Scenario, name: str = Testbed.kind) -> Scenario:
    """What the simulator is given beside it: its ticks, its TCP, and ours for `kernel:NAME`."""
    beside = host(name)
    flows = [
        {**flow.given} | {"algorithm": flow.algorithm.removeprefix(KERNEL)}
        for flow in scenario.flows
    ]
    return scenario.replace(flow=flows, hz=beside.hz() or scenario.hz, profile=beside.profile())
