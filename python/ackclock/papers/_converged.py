"""When flows share fairly: one rule for all papers.

Convergence is the time from the start of the last flow to the start of the last window in which
the slower flow gets less than `SHARE` times what the faster gets. A window has 10 s or one mean
epoch, whichever is longer. With background traffic it is the same of the mean over the runs, as
the papers average theirs; its interval is a bootstrap over the seeds.
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ackclock import Result, metrics
from ackclock.estimates.repeats import AtLeast
from ackclock.estimates.stats import Estimate
from ackclock.figures import Experiment, Point, Quantity, Runs, computed
from ackclock.figures.quantity import Rows

#: Judged, and shown beside it. They are ours: the papers give none.
SHARE = 0.8
OTHERS = (0.9, 0.95)
#: How often the runs are resampled.
RESAMPLES, SEED = 1000, 1979
Array = NDArray[np.float64]
#: Some runs, as their numbers from 0 on → a number, infinite where the end cut it off.
OfRuns = Callable[[NDArray[np.int64]], float]


def convergence_s(
    result: Result, share: float = SHARE, flows: Sequence[int] | None = None
) -> float:
    """The rule, of one run; `AtLeast` where the end of the run cut it off."""
    found = metrics.unfair_until_s(result, share, flows=flows)
    if found is not None:
        return found
    return AtLeast(metrics.duration_s(result) - metrics.last_start_s(result))


def first_fair_s(result: Result, flows: Sequence[int]) -> float:
    """When the first fair window of the rule starts; the run's end if none is."""
    window_s = int(metrics.fairness_window_s(result))
    bps = sliding_bps(result, window_s)[np.array(flows) - 1]
    fair = bps.min(axis=0) >= SHARE * bps.max(axis=0)
    end_s = metrics.duration_s(result) - metrics.last_start_s(result)
    return float(fair.argmax()) if fair.any() else float(end_s)


def sliding_bps(result: Result, window_s: int = 10) -> Array:
    """Throughput in windows that slide by 1 s from the last start; shape (flows, windows)."""
    seconds = np.arange(metrics.last_start_s(result), metrics.duration_s(result) + 1e-6)
    per_second = metrics.throughput_bps(result, seconds)
    windows: Array = np.lib.stride_tricks.sliding_window_view(per_second, window_s, axis=1).mean(2)
    return windows


def fair_from_s(result: Result, share: float) -> float:
    """What Linux and the simulator are compared by: since when flows share fairly, s.

    The end of the first window of 10 s from which on each flow has this part of an equal share.
    """
    windows = sliding_bps(result)
    equal_bps = metrics.capacity_bps(result) / len(windows)
    fair = windows.min(axis=0) >= share * equal_bps
    lasting = np.logical_and.accumulate(fair[::-1])[::-1]
    if lasting.any():
        return float(10 + lasting.argmax())
    return AtLeast(metrics.duration_s(result) - metrics.last_start_s(result))


def per_second_mbps(result: Result) -> tuple[list[float], list[float]]:
    """Throughput of two flows in each second from the last start on, Mb/s."""
    start_s = metrics.last_start_s(result)
    seconds = start_s + np.arange(int(metrics.duration_s(result) - start_s))
    first, second = (metrics.throughput_bps(result, seconds)[:2] / 1e6).round(3).tolist()
    return first, second


class Ensemble:
    """Runs of one point: throughput of two flows in each second, columns of their rows."""

    def __init__(self, runs: Runs, point: Point) -> None:
        columns = ("seed", "first_mbps", "second_mbps", "window_s")
        rows = runs.at(point).select(columns).rows()
        self.seeds = tuple(row[0] for row in rows)
        self.seconds = min(len(flow) for row in rows for flow in row[1:3])
        #: Shape (runs, 2 flows, seconds).
        self.mbps: Array = np.array([[flow[: self.seconds] for flow in row[1:3]] for row in rows])
        #: Of each run; of the mean it is the mean.
        self.windows_s: Array = np.array([row[3] for row in rows])

    def until_s(self, chosen: NDArray[np.int64], share: float = SHARE) -> float:
        """Convergence of the mean over some runs; infinite: not by the end."""
        window = max(1, min(round(self.windows_s[chosen].mean()), self.seconds - 1))
        sums = np.cumsum(self.mbps[chosen].mean(axis=0), axis=1)
        means = sums[:, window:] - sums[:, :-window]
        unfair = np.flatnonzero(means.min(axis=0) < share * means.max(axis=0))
        if not len(unfair):
            return 0.0
        return float(unfair[-1]) if unfair[-1] < means.shape[1] - 1 else np.inf


def estimate(of: OfRuns, runs: int, end_s: float) -> Estimate:
    """A number of all runs together; its interval comes from resampling them.

    Where the end of the runs cuts the number off, the interval is open from `end_s` on.
    """
    random = np.random.default_rng(SEED)
    draws = [of(random.integers(runs, size=runs)) for _ in range(RESAMPLES)]
    low, high = np.quantile(draws, [0.025, 0.975], method="nearest").tolist()
    found = of(np.arange(runs))
    return Estimate(min(found, end_s), min(low, end_s), high, runs, int(np.isinf(found)))


def of_mean(experiment: Experiment, share: float, **point: Any) -> Quantity:
    """Convergence of the mean over the runs of a point."""
    the = experiment.the(**point)

    def found(rows: Rows) -> Estimate:
        runs = Ensemble(rows[experiment], the)
        return estimate(partial(runs.until_s, share=share), len(runs.seeds), runs.seconds)

    return computed(f"{words(share)} of the mean over runs", "s", ((experiment, the),), found)


def words(share: float) -> str:
    """What is measured: "convergence (0.9)"."""
    return "convergence" if share == SHARE else f"convergence at {share:g}"


def columns(shares: Sequence[float] = (SHARE, *OTHERS)) -> dict[float, str]:
    """The columns of rows that have it, by share: "convergence_s", "convergence_90_s"."""
    return {
        each: "convergence_s" if each == SHARE else f"convergence_{round(100 * each)}_s"
        for each in shares
    }
