"""Many scenarios on Linux in virtual time: several virtual machines at a time."""

import os
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from contextvars import copy_context
from dataclasses import dataclass, replace
from pathlib import Path
from typing import ClassVar, TypeVar

from ackclock import vlinux
from ackclock.runs import Result
from ackclock.scenario import Scenario
from ackclock.vlinux import build

T = TypeVar("T")


@dataclass(frozen=True)
class Machines:
    """Virtual machines: `jobs` at a time (0: one on each core). An `Executor`.

    Its results have the keys of the simulator's, so keep them in `cache`.
    """

    jobs: int = 0

    far: ClassVar[bool] = False

    def cache(self, within: Path) -> Path:
        """Where its results are kept: for each build of the virtual Linux.

        Raises `AckclockError` if it is not built.
        """
        return within / "vlinux" / build.find().key

    def run(
        self,
        scenarios: Sequence[Scenario],
        reduce: Callable[[Result], T],
        done: Callable[[int, T], None],
        progress: Callable[[float], None] | None = None,
    ) -> None:
        """As `Executor.run` says."""
        fractions = [0.0] * len(scenarios)
        stopped = False

        def one(index: int) -> T:
            def watch(fraction: float) -> None:
                if stopped:
                    raise KeyboardInterrupt
                fractions[index] = fraction

            result = vlinux.run(scenarios[index], progress=watch)
            key = {"key": scenarios[index].key()}
            return reduce(replace(result, manifest=result.manifest | key))

        with ThreadPoolExecutor(self.jobs or os.cpu_count()) as pool:
            # Each has the files that the command has read (`snapshot.held`).
            runs = {
                pool.submit(copy_context().run, one, index): index
                for index in range(len(scenarios))
            }
            waiting = set(runs)
            try:
                while waiting:  # by steps: an interrupt is not heard within one
                    ended, waiting = wait(waiting, timeout=0.2, return_when=FIRST_EXCEPTION)
                    for run in ended:
                        fractions[runs[run]] = 1
                        done(runs[run], run.result())
                    if progress is not None:
                        progress(sum(fractions) / len(scenarios))
            except BaseException:
                stopped = True
                pool.shutdown(cancel_futures=True)
                raise
