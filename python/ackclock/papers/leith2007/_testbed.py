"""The testbed of section II: Linux 2.6.18 hosts around a FreeBSD router with dummynet.

"Apart from the router, all machines run an instrumented version of the Linux 2.6.18 kernel [...] In
our tests we use a corrected implementation" of CUBIC (section II.A): that of 2.6.18.2, whose clamp
is 160 packets/s. Algorithm 1 has the same numbers, and the text reads them as "20 packets/s"
(section III), because it misses that the kernel's `delay_min` counts eighths of a jiffy. Figures
have the kernel's clamp; the text's is a variant.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import polars as pl

from ackclock import Bottleneck, Flow, Result, Scenario, metrics
from ackclock.figures import Variant

CUBIC = "cubic@2.6.18.2"
#: Algorithm 1, as the paper's text reads it.
TEXT = "cubic@2.6.18"
RENO, HTCP = "reno", "htcp"
NAMES = {CUBIC: "CUBIC", RENO: "standard TCP", HTCP: "H-TCP"}

#: Why keys have their values that the paper does not give.
OF_HOSTS = {
    "tso": "the paper is silent. With bursts our flows do not lose together, as its figure 7's do, "
    "and small buffers at 10 Mb/s are far less used than in its figure 11",
    "bottleneck.tick": "dummynet's manual recommends HZ = 1000",
    "flow.start": "the paper does not say, except for figure 13",
    "flow.start_spread": "so that runs with different seeds differ",
    "sample_interval": "of our measurement only",
}
ASSUMED = OF_HOSTS | {
    "flow.algorithm": "the clamp of the testbed's kernel; the text has an eighth of it"
}


def pipe(rate_mbps: int, buffer: str = "1bdp") -> Bottleneck:
    """A pipe of the router, which works at the ticks of its timer."""
    return Bottleneck(rate=f"{rate_mbps}mbit", buffer=buffer, tick="1ms")


def scenario(
    rate_mbps: int,
    algorithms: Sequence[str],
    rtts_ms: Sequence[int],
    *,
    starts_s: Sequence[float] = (0, 100),
    spread: str = "1s",
    buffer: str = "1bdp",
    **fields: Any,
) -> Scenario:
    """One long-lived flow for each algorithm, with its RTT and start, for ten minutes.

    "Each individual test was run at least ten minutes each" (section II.A).
    """
    flows = tuple(
        Flow(algorithm=algorithm, rtt=f"{rtt_ms}ms", start=f"{start_s:g}s", start_spread=spread)
        for algorithm, rtt_ms, start_s in zip(algorithms, rtts_ms, starts_s, strict=False)
    )
    return hosts(flows=flows, bottleneck=pipe(rate_mbps, buffer), **fields)


def hosts(**fields: Any) -> Scenario:
    """A scenario between the testbed's hosts."""
    usual: dict[str, Any] = {
        "duration": "600s",
        "profile": "linux-2.6.18",
        "tso": False,
        "sample_interval": "1s",
    }
    return Scenario(**usual | fields)


#: What the paper leaves open of every figure.
READING = Variant("algorithm", "Algorithm 1's text", ["cubic@=2.6.18"])
WITH_TSO = Variant("TSO", "on", ["tso=true"])
WITHOUT_TICK = Variant("router's tick", "none", ["bottleneck.tick=0s"])
JITTER = Variant("jitter", "1 ms", ["jitter=1ms"])
OPEN = (READING, WITH_TSO, WITHOUT_TICK, JITTER)
BUFFERS = (
    Variant("buffer", "0.5 BDP", ["bottleneck.buffer=0.5bdp"]),
    Variant("buffer", "2 BDP", ["bottleneck.buffer=2bdp"]),
)
TEN_MINUTES = Variant("duration", "10 min", ["duration=600s"])


def last_throughputs_mbps(result: Result, since_s: float) -> list[float]:
    """Mean throughput of each flow from `since_s` to the end, Mb/s."""
    edges_s = [since_s, metrics.duration_s(result)]
    return (metrics.throughput_bps(result, edges_s)[:, 0] / 1e6).tolist()  # type: ignore[no-any-return]


def losses(result: Result, flow: int, after_s: float = 0) -> pl.DataFrame:
    """The entries into recovery of a flow: its back-offs."""
    return result.events.filter(
        (pl.col("flow") == flow)
        & (pl.col("kind") == "recovery")
        & (pl.col("time_us") >= after_s * 1e6)
    )


def lag_1(values: Sequence[float]) -> float | None:
    """Autocorrelation of a series at a lag of one step; None for fewer than 4 values."""
    x = np.asarray(values, float)
    x -= x.mean() if len(x) else 0
    power = float(x @ x)
    return float(x[1:] @ x[:-1] / power) if len(x) >= 4 and power else None
