"""The testbed of section 6.1: a dumbbell of Linux hosts around two dummynet routers.

"The maximum bandwidth of the bottleneck router is set to 400Mbps. The bottleneck buffer size is set
to 100% BDP if it is not explicitly specified. … We use the drop-tail router at the bottleneck";
"high-speed TCP machines are configured to have a very large buffer so that the transmission rates
of high-speed flows are only limited by the congestion control algorithm"; "the amount of background
traffic comparable to around 15% of the bottleneck bandwidth is pushed into forward and backward
directions of the dumbbell".
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from ackclock import Bottleneck, Flow, Result, Scenario, metrics, traffic
from ackclock.figures import Variant

#: "We used the latest update of CUBIC (v2.2)" (footnote to section 6.4), as its kernel had it.
CUBIC = "cubic@2.2"
BIC = "bic@linux-2.6.18:initial_ssthresh=0"
HSTCP = "highspeed"
SACK = "reno"
#: In the order of the paper's legends.
NAMES = {CUBIC: "CUBIC", BIC: "BIC", HSTCP: "HSTCP", SACK: "SACK"}
ALGORITHMS = tuple(NAMES)
OTHERS = (CUBIC, BIC, HSTCP)
PROFILE = "linux-2.6.25"
#: Of runs of 600 s the first 200 s are left out, of shorter ones the first half.
LEFT_OUT_S = 200

ASSUMED = {
    "duration": "the paper does not say how long its runs are",
    "profile": "CUBIC 2.2 came with Linux 2.6.25; the testbed's page [5] names 2.6.23.9",
    "flow.start_spread": "the paper does not say when flows start",
    "flow.algorithm": 'CUBIC is "v2.2"; BIC is that of the same kernel, which like CUBIC\'s no '
    "longer had an initial ssthresh (table 1)",
    "sample_interval": "how often we look",
} | {
    f"session.{key}": "the paper says only Surge, Iperf and 15 % (`traffic.background`)"
    for key in ("algorithm", "count", "gap", "size", "lognormal", "rtt", "rtt_exponential")
}

TSO = Variant("TSO", "on", ["tso=true"])
TICK = Variant("router's tick", "1 ms", ["bottleneck.tick=1ms"])
NO_JITTER = Variant("jitter", "none", ["jitter=0s"])
#: The kernels before and after. CUBIC 2.2 is not for hosts of today, which count packets.
HOSTS = tuple(
    Variant("hosts", profile, [f"profile={profile}"])
    for profile in ("linux-2.6.18", "linux-2.6.32")
)
#: What the paper leaves open. A buffer that it gives is not among them.
VARIANTS = (
    Variant("start", "all at once", ["flow.start_spread=0s"]),
    TSO,
    TICK,
    Variant("background", "none", arguments={"background": 0}),
    Variant("CUBIC", "the paper's text", ["cubic@=ha2008"]),
)
#: For runs that cost little.
MORE_VARIANTS = (
    Variant("background", "30 % offered", arguments={"background": 0.3}),
    *(NO_JITTER, Variant("jitter", "10 packets", ["jitter=300us"])),
    *HOSTS,
)
#: Where it is only the testbed's default.
BUFFERS = (
    Variant("buffer", "0.5 BDP", ["bottleneck.buffer=0.5bdp"]),
    Variant("buffer", "2 BDP", ["bottleneck.buffer=2bdp"]),
    Variant("buffer", "2 MB", ["bottleneck.buffer=2MB"]),
)
SHORTER = Variant("duration", "100 … 200 s", ["duration=200s"])


def flow(algorithm: str, rtt_ms: int | None = None, count: int = 1) -> Flow:
    """Long flows of an algorithm."""
    rtt: dict[str, Any] = {} if rtt_ms is None else {"rtt": f"{rtt_ms}ms"}
    return Flow(algorithm=algorithm, start_spread="10s", count=count, **rtt)


def scenario(
    flows: Sequence[Flow],
    *,
    rtt_ms: int | None = None,
    rate_mbps: int = 400,
    buffer: str = "1bdp",
    background: float = 0.15,
    **fields: Any,
) -> Scenario:
    """Flows over the bottleneck, for 600 s."""
    rate = f"{rate_mbps}mbit"
    settings: dict[str, Any] = {
        "duration": "600s",
        "profile": PROFILE,
        "sample_interval": "1s",
        "bottleneck": Bottleneck(rate=rate, buffer=buffer),
        "flows": tuple(flows),
        "sessions": traffic.background(rate, background) if background else (),
    }
    if rtt_ms is not None:
        settings["rtt"] = f"{rtt_ms}ms"
    return Scenario(**settings | fields)


class TwoFlows(NamedTuple):
    """Two flows in the measured part of a run."""

    throughput_1_mbps: float
    throughput_2_mbps: float
    #: Of flow 1 to flow 2.
    ratio: float
    #: Of the slower to the faster flow.
    fairness: float
    utilisation: float
    #: Mean window of flow 1 to that of flow 2.
    window_ratio: float
    #: Packets that are sent again for each entry into recovery.
    lost_per_event: float | None


def two_flows(result: Result) -> TwoFlows:
    """Throughputs are of payload."""
    first, second = (throughputs_bps(result) / 1e6).tolist()
    both = sorted((first, second))
    windows = metrics.mean_cwnd_packets(result, _measured_from_s(result))
    events = len(result.events.filter(pl.col("kind") == "recovery"))
    again = int(result.flows["retransmitted_packets"].sum())
    return TwoFlows(
        first,
        second,
        first / second,
        both[0] / both[1],
        utilisation(result),
        windows[1] / windows[2],
        again / events if events else None,
    )


class FourAndFour(NamedTuple):
    """Four flows beside four others; shares are of the payload that the link can carry."""

    first_share: float
    second_share: float
    both_share: float
    #: Of the first four to the others.
    ratio: float
    #: Of the slowest to the fastest of the first four.
    fairness: float
    utilisation: float


def four_and_four(result: Result) -> FourAndFour:
    """In the measured part of the run."""
    shares = throughputs_bps(result) / metrics.capacity_bps(result)
    first, second = float(shares[:4].sum()), float(shares[4:].sum())
    return FourAndFour(
        first,
        second,
        first + second,
        first / second,
        fairness(shares[:4]),
        utilisation(result),
    )


def throughputs_bps(result: Result) -> np.ndarray:
    """Throughput of each flow in the measured part of the run, bit/s; shape (flows,)."""
    edges_s = [_measured_from_s(result), metrics.duration_s(result)]
    return metrics.throughput_bps(result, edges_s)[:, 0]


def utilisation(result: Result) -> float:
    """Part of the bottleneck in use, in the measured part of the run.

    A packet at the edge of that part may make it slightly more than 1; then it is 1.
    """
    return min(metrics.utilisation(result, _measured_from_s(result)), 1.0)


def fairness(throughputs: np.ndarray) -> float:
    """Throughput of the slowest flow over that of the fastest flow."""
    return float(throughputs.min() / throughputs.max())


def _measured_from_s(result: Result) -> float:
    return min(LEFT_OUT_S, metrics.duration_s(result) / 2)
