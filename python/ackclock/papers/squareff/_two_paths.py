"""The experiment of figures 2 and 3: two flows with different RTTs.

"We established two CUBIC TCP connections", from two hosts to a third; "the network delay time of
one connection was always 2ms. The delay time of the other connection ranged from 2ms to 128ms";
"all elements in this experimental network supported 1Gbps Ethernet"; "advertise windows size was
set 16MB" (section III.A).
"""

from collections.abc import Callable, Sequence
from itertools import product
from typing import Any, NamedTuple

import polars as pl
from matplotlib.axes import Axes

from ackclock import Bottleneck, Flow, Result, Scenario, metrics, style

SEEDS = 10
QUICK_SEEDS = 1

RTTS_MS = (2, 4, 8, 16, 32, 64, 128)
# assumed: the paper states no buffer. The buffer is one bandwidth-delay product of 128 ms at every
# RTT, because the network stays the same; `reference` has other buffers.
BUFFER = "10667packets"
# assumed: the paper states neither how long netperf ran nor what it counts. Slow start is left out.
DURATION_S, WARM_UP_S = 100, 20
# assumed: the paper does not state which flow starts first.
START_SPREAD = "1s"
# assumed: the profile nearest to the senders' Linux 2.6.32, with that kernel's CUBIC. Its beta is
# 0.3. The paper says that "C and beta of CUBIC TCP were set 0.4 and 0.2", Linux's defaults.
PROFILE = "linux-2.6.25"


class Method(NamedTuple):
    """An algorithm of the paper, and the colour and marker of its points."""

    algorithm: str
    label: str
    colour: str
    marker: str


CUBIC = Method("cubic@linux-2.6.32", "CUBIC", *style.of("cubic")[:2])
CBRT = Method("square_ff@cbrt-2.6.32", "third root, eq. (3)", style.FLOWS[4], "s")
SQUARE = Method("square_ff@linux-2.6.32", "SQUARE:FF, eq. (4)", *style.of("square_ff")[:2])
METHODS = (CUBIC, CBRT, SQUARE)


def scenario(algorithm: str, rtt_ms: int, seed: int, buffer: str = BUFFER) -> Scenario:
    """One flow with an RTT of 2 ms and one with an RTT of `rtt_ms`."""
    return Scenario(
        duration=f"{DURATION_S}s",
        profile=PROFILE,
        seed=seed,
        bottleneck=Bottleneck(rate="1gbit", buffer=buffer),
        flows=tuple(
            Flow(
                algorithm=algorithm,
                rtt=f"{rtt}ms",
                receive_window="16MB",
                start_spread=START_SPREAD,
            )
            for rtt in (2, rtt_ms)
        ),
    )


def grid(seeds: Sequence[int]) -> list[Scenario]:
    """Figures 2 and 3 show the same runs."""
    return [
        scenario(method.algorithm, rtt_ms, seed)
        for method, rtt_ms, seed in product(METHODS, RTTS_MS, seeds)
    ]


def shortened(grid: Sequence[Scenario]) -> list[Scenario]:
    """For quick runs: the warm-up and 10 s."""
    return [each.replace(duration=f"{WARM_UP_S + 10}s") for each in grid]


def reduce(result: Result) -> dict[str, Any]:
    """A run in numbers: each flow's throughput after the warm-up, and the fairness."""
    mbps = metrics.throughput_bps(result, [WARM_UP_S, metrics.duration_s(result)])[:, 0] / 1e6
    return {
        "algorithm": result.scenario.flows[0].algorithm,
        "rtt_ms": result.resolved["flows"][1]["rtt_ns"] // 1_000_000,
        "buffer": result.scenario.bottleneck.buffer,
        "seed": result.scenario.seed,
        "throughput_1_mbps": float(mbps[0]),
        "throughput_2_mbps": float(mbps[1]),
        "ratio": float(mbps[0] / mbps[1]),
        "jain": metrics.jain_index(mbps),
        "utilisation": metrics.utilisation(result, WARM_UP_S),
    }


def values(
    rows: pl.DataFrame, algorithm: str, rtt_ms: int, name: str, buffer: str = BUFFER
) -> list[float]:
    """A column at one point, in the order of the seeds."""
    return (
        rows.filter(algorithm=algorithm, rtt_ms=rtt_ms, buffer=buffer).sort("seed")[name].to_list()
    )


def over_rtt(axes: Axes) -> None:
    """The horizontal axis of both figures."""
    axes.set_xscale("log", base=2)
    axes.set_xticks(RTTS_MS, [str(rtt_ms) for rtt_ms in RTTS_MS])
    axes.set_xlabel("RTT of flow 2 (ms); flow 1 has 2 ms")


Load = Callable[[Scenario], Result]
