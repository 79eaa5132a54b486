"""Linux beside the simulator: this machine's kernel in real time, and Linux in virtual time.

To add one, write its class as `testbed.py` has it, and name it in `Linux` and `KINDS`.
"""

from collections.abc import Callable

from ackclock.base.errors import AckclockError
from ackclock.hosts.testbed import Testbed
from ackclock.hosts.vlinux import sources
from ackclock.hosts.vlinux.machines import Machines
from ackclock.results.result import Result
from ackclock.scenario.scenario import KERNEL, Scenario

#: What runs on Linux's own TCP, and cannot run every scenario: an `Executor` with more.
Linux = Testbed | Machines
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
    ours = {
        key: [
            {**each.given} | {"algorithm": each.algorithm.removeprefix(KERNEL)} for each in tables
        ]
        for key, tables in (("flow", scenario.flows), ("session", scenario.sessions))
    }
    ticks = {"hz": hz} if (hz := beside.hz()) else {}
    return scenario.replace(**ours, **ticks, profile=beside.profile())
