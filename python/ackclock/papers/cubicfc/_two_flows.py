"""The experiment of figures 2 and 5: a flow joins another. The setup is in `fig02`."""

from collections.abc import Callable, Sequence
from typing import Any

import polars as pl
from matplotlib.figure import Figure

from ackclock import Bottleneck, Flow, Result, Scenario, metrics, plot, stats, style
from ackclock.claims import Measure

SEEDS = 10
QUICK_SEEDS = 2

# assumed: the CUBIC of the testbed's kernel ("three machines running Linux 2.6.32", section IV.A).
# Its decrease is 0.3; that of Ha et al. 2008 is 0.2.
PRESET = "linux-2.6.32"
# assumed: the profile nearest to the testbed's Linux 2.6.32.
PROFILE = "linux-2.6.25"
# assumed: iperf's socket buffers never limit a flow.
DURATION_S = 800
RATE = "800mbit"


def scenario(algorithm: str, seed: int, **fields: Any) -> Scenario:
    """Two flows of one algorithm; `fields` replace those of the scenario."""
    settings: dict[str, Any] = {
        "duration": f"{DURATION_S}s",
        "rtt": "200ms",
        "profile": PROFILE,
        "seed": seed,
        "bottleneck": Bottleneck(rate=RATE, buffer="1bdp"),
        "flows": (
            Flow(algorithm=algorithm),
            Flow(algorithm=algorithm, start="100s", start_spread="1s"),
        ),
    }
    return Scenario(**settings | fields)


def reduce(result: Result) -> dict[str, Any]:
    """A run in numbers: convergence time, and throughput of each flow from flow 2's start on."""
    both_s = metrics.last_start_s(result)
    end_s = metrics.duration_s(result)
    first, second = metrics.throughput_bps(result, [both_s, end_s])[:, 0] / 1e6
    return {
        "algorithm": result.scenario.flows[0].algorithm,
        "jitter": result.scenario.jitter,
        "profile": result.scenario.profile,
        "seed": result.scenario.seed,
        "convergence_s": metrics.convergence_time_s(result),
        "cut_off_s": end_s - both_s,
        "throughput_1_mbps": float(first),
        "throughput_2_mbps": float(second),
        "utilisation": metrics.utilisation(result, both_s),
    }


def convergence(rows: pl.DataFrame) -> stats.Estimate:
    """Mean convergence time over the runs, s."""
    return stats.mean_ci_censored(rows["convergence_s"].to_list(), rows["cut_off_s"].to_list())


def faster_by(cubic: pl.DataFrame, cubic_fc: pl.DataFrame) -> stats.Estimate:
    """How much sooner Cubic-FC converges than CUBIC with the same seed, s."""
    pairs = cubic.join(cubic_fc, on="seed", suffix="_fc", maintain_order="left")
    return stats.paired_difference_censored(
        pairs["convergence_s"].to_list(),
        pairs["convergence_s_fc"].to_list(),
        pairs["cut_off_s"].to_list(),
    )


def measures(rows: pl.DataFrame, paper_convergence: str) -> list[Measure]:
    """What the table of a figure shows."""
    return [
        Measure("convergence time", "s", convergence(rows), paper_convergence),
        *(
            Measure(
                f"{quantity}, from flow 2's start on", unit, stats.mean_ci(rows[name].to_list())
            )
            for quantity, unit, name in (
                ("payload throughput of flow 1", "Mb/s", "throughput_1_mbps"),
                ("payload throughput of flow 2", "Mb/s", "throughput_2_mbps"),
                ("utilisation", "", "utilisation"),
            )
        ),
    ]


def plot_cwnd(result: Result, title: str) -> Figure:
    """The paper's axes: both congestion windows over 800 s, and when they converged."""
    with style.applied():
        figure = Figure(figsize=(8, 3.2))
        axes = figure.subplots()
        plot.cwnd(axes, result)
        converged_s = metrics.convergence_time_s(result)
        if converged_s is not None:
            at_s = metrics.last_start_s(result) + converged_s
            axes.axvline(at_s, color=style.INK, linewidth=0.8, linestyle=":")
            axes.annotate(
                f"converged\nafter {converged_s:.0f} s",
                (at_s, 1),
                xycoords=("data", "axes fraction"),
                xytext=(4, -2),
                textcoords="offset points",
                va="top",
                fontsize="small",
            )
        axes.set_title(title)
        axes.set_xlabel("time (s)")
        axes.legend(loc="lower right", ncols=2)
    return figure


Load = Callable[[Scenario], Result]
Seeds = Sequence[int]
