"""Where runs are executed: each way is an `Executor`."""

from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from contextvars import copy_context
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol, TypeVar

import numpy as np

from ackclock import _core
from ackclock.base import units
from ackclock.results.result import Result, from_engine, run
from ackclock.scenario.scenario import Scenario
from ackclock.scenario.snapshot import PREPARED

T = TypeVar("T")


class Executor(Protocol):
    """Runs scenarios and reduces each result where it ran, so that only the rest travels."""

    #: Whether that is another machine.
    is_remote: ClassVar[bool]

    @property
    def version(self) -> str | None:
        """What a kept run depends on beside its scenario; None: on the simulator here.

        Raises `AckclockError` if it is not built.
        """

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

    name: ClassVar[str] = "sim"
    real_time: ClassVar[bool] = False
    is_remote: ClassVar[bool] = False
    version: ClassVar[None] = None

    def ready(self) -> None:
        """The simulator runs everywhere."""

    def check(self, scenario: Scenario) -> None:
        """As `Scenario.check`."""
        scenario.check()

    def once(self, scenario: Scenario) -> Result:
        """A run, which is not kept."""
        return run(scenario)

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


def in_threads(
    run: Callable[[Scenario, Callable[[float], None]], T],
    scenarios: Sequence[Scenario],
    jobs: int,
    done: Callable[[int, T], None],
    progress: Callable[[float], None] | None = None,
) -> None:
    """The loop of an executor whose runs are not of this process: `run(scenario, watch)`.

    `run` calls `watch` with the fraction done, which ends it by an exception. `jobs` at a time.
    """
    if not scenarios:
        return
    fractions = [0.0] * len(scenarios)
    weights = [units.duration_ns(each.duration) for each in scenarios]
    stopped = False

    def one(index: int) -> T:
        def watch(fraction: float) -> None:
            if stopped:
                raise KeyboardInterrupt
            fractions[index] = fraction

        return run(scenarios[index], watch)

    with ThreadPoolExecutor(jobs) as pool:
        try:
            # Each has the files that the command has read (`snapshot.held`).
            runs = {
                pool.submit(copy_context().run, one, index): index
                for index in range(len(scenarios))
            }
            waiting = set(runs)
            while waiting:  # by steps: an interrupt is not heard within one
                ended, waiting = wait(waiting, timeout=0.2, return_when=FIRST_EXCEPTION)
                # One that failed ends all: the others are handed over before it.
                for each in sorted(ended, key=lambda each: each.exception() is not None):
                    fractions[runs[each]] = 1
                    done(runs[each], each.result())
                if progress is not None:
                    progress(float(np.average(fractions, weights=weights)))
        except BaseException:
            stopped = True
            pool.shutdown(cancel_futures=True)
            raise
