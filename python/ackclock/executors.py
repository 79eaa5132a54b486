"""Where runs are executed: each way is an `Executor`."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol, TypeVar

from ackclock import _core
from ackclock.runs import Result, from_engine
from ackclock.scenario import Scenario

T = TypeVar("T")

#: Scenarios that `Local` prepares at a time: some 10 MB of them.
PREPARED = 1000


class Executor(Protocol):
    """Runs scenarios and reduces each result where it ran, so that only the rest travels."""

    #: Whether that is another machine.
    far: ClassVar[bool]

    def run(
        self,
        scenarios: Sequence[Scenario],
        reduce: Callable[[Result], T],
        done: Callable[[int, T], None],
        progress: Callable[[float], None] | None = None,
    ) -> None:
        """Calls `done(index, reduce(result))` of each scenario, as they end, in any order.

        It calls `done` and `progress` (the fraction done) in the calling thread. An exception
        there, or Ctrl-C, stops the rest. `scenarios` may make each scenario as it is asked for;
        `reduce` can be pickled where the executor needs that.
        Raises `AckclockError` if a scenario cannot be simulated.
        """


@dataclass(frozen=True)
class Local:
    """The cores of this machine: `jobs` runs at a time (0: one on each core)."""

    jobs: int = 0

    far: ClassVar[bool] = False

    def run(
        self,
        scenarios: Sequence[Scenario],
        reduce: Callable[[Result], T],
        done: Callable[[int, T], None],
        progress: Callable[[float], None] | None = None,
    ) -> None:
        """As `Executor.run` says. One result at a time is in memory for each job."""
        for first in range(0, len(scenarios), PREPARED):
            some = scenarios[first : first + PREPARED]
            prepared = [scenario.prepare() for scenario in some]

            def on_result(
                index: int,
                raw: dict[str, Any],
                first: int = first,
                some: Sequence[Scenario] = some,
                prepared: Sequence[_core.Prepared] = prepared,
            ) -> None:
                done(first + index, reduce(from_engine(some[index], prepared[index], raw)))

            def part(fraction: float, first: int = first, number: int = len(some)) -> None:
                if progress is not None:
                    progress((first + fraction * number) / len(scenarios))

            _core.run_many(prepared, self.jobs, part, on_result)


#: All cores of this machine.
LOCAL = Local()
