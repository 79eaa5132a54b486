"""Section 2: what the papers say of other algorithms, one line each.

"Designed to provide an equal bandwidth sharing among the flows with different RTTs (e.g., H-TCP and
FAST)" (ha2008, section 6.3); Constant-Rate "could improve fairness dramatically", TCP-Libra and
HRF-TCP are RTT-fair (squareff, section II.B); "TCP-Hybla scales the window increment rule to ensure
fairness among the flows with different RTTs"; of Scalable "the recovery time from loss events" is
"constant regardless of the window size"; Westwood is "effective especially over wireless links",
and Veno reduces the window less after a random loss; Vegas keeps between α and β packets in the
queue; Illinois sets a small β "when the average delay is small" (ha2008, section 2). Each is judged
by what its sentence says: a reduction by reductions, growth by growth.

The papers describe no runs: the link has 100 Mb/s, and a buffer of one BDP of 20 ms, so that the
queue does not make the RTTs alike. RTT-fairness is that of 160 v 20 ms, against standard TCP's.
"""

from itertools import pairwise
from typing import NamedTuple

import numpy as np
import polars as pl
from matplotlib.axes import Axes

from ackclock import Bottleneck, Flow, Result, Scenario, metrics
from ackclock.draw import plot, style
from ackclock.figures import (
    Claim,
    Column,
    Experiment,
    Figure,
    Part,
    Quantity,
    Variant,
    View,
    grid,
    plots,
)
from ackclock.papers.ha2008 import _testbed as testbed

#: Two flows that each keep 50 packets fit the queue.
STANDARD, FAST = "reno", "fast:alpha=50"
NAMES = {
    STANDARD: "standard TCP",
    "htcp": "H-TCP",
    FAST: "FAST",
    "constant_rate": "Constant-Rate",
    "libra": "Libra",
    "hrf": "HRF",
    "hybla": "Hybla",
    "scalable": "Scalable",
    "westwood": "Westwood",
    "veno": "Veno",
    "vegas": "Vegas",
    "illinois": "Illinois",
}
#: Which share equally, and who says so.
_EQUAL_BANDWIDTH = (
    "“designed to provide an equal bandwidth sharing among the flows with different RTTs (e.g., "
    "H-TCP and FAST)” (6.3)"
)
FAIR = {
    "htcp": _EQUAL_BANDWIDTH,
    FAST: _EQUAL_BANDWIDTH,
    "constant_rate": "“could improve fairness dramatically” (squareff, II.B)",
    "hybla": "“scales the window increment rule to ensure fairness among the flows with different "
    "RTTs” (2)",
}
PAIRED = (STANDARD, *FAIR, "libra", "hrf")
LONG_MS, SHORT_MS = 160, 20
BUFFER = "167packets"
RANDOM_LOSS = 1e-4
WARM_UP_S = 60
#: Vegas' defaults in Linux, packets in the queue.
ALPHA, BETA = 2, 4


def _pair(algorithm: str) -> Scenario:
    """Ten minutes: an epoch of standard TCP at 160 ms is a minute."""
    flows = tuple(
        Flow(algorithm=algorithm, rtt=f"{rtt_ms}ms", start_spread="10s")
        for rtt_ms in (LONG_MS, SHORT_MS)
    )
    return Scenario(
        duration="600s",
        profile=testbed.PROFILE,
        bottleneck=Bottleneck(rate="100mbit", buffer=BUFFER),
        flows=flows,
    )


def _alone(algorithm: str, rate_mbps: int = 100, loss: float = 0) -> Scenario:
    return Scenario(
        duration="300s",
        rtt="50ms",
        profile=testbed.PROFILE,
        bottleneck=Bottleneck(rate=f"{rate_mbps}mbit", buffer="1bdp", loss=loss),
        flows=(Flow(algorithm=algorithm),),
    )


class Pair(NamedTuple):
    """Throughput with 160 ms over that with 20 ms, and how the window with 160 ms grows."""

    ratio: float
    growth: float | None


def pair(result: Result) -> Pair:
    """After a minute."""
    long, short = metrics.throughput_bps(result, [WARM_UP_S, metrics.duration_s(result)])[:2, 0]
    return Pair(float(long / short), _growth(result))


def _growth(result: Result) -> float | None:
    """Packets per second by which flow 1's window grows from a recovery to the next loss, median.

    After a minute; None where it never grows for a second.
    """
    events = result.events.filter(
        (pl.col("flow") == 1)
        & pl.col("kind").is_in(["recovered", "recovery"])
        & (pl.col("time_us") >= WARM_UP_S * 1e6)
    )
    found = [
        (after["cwnd_packets"] - before["cwnd_packets"]) / span_s
        for before, after in pairwise(events.iter_rows(named=True))
        if (before["kind"], after["kind"]) == ("recovered", "recovery")
        and (span_s := (after["time_us"] - before["time_us"]) / 1e6) >= 1
    ]
    return float(np.median(found)) if found else None


class Alone(NamedTuple):
    """One flow after a minute."""

    mbps: float
    epoch_s: float | None
    #: In the queue, in the mean, without the packet in service.
    waiting_packets: float
    #: Of the window at a loss the part that it leaves, median; how the window grows.
    kept: float | None
    growth: float | None


def alone(result: Result) -> Alone:
    """One flow after a minute."""
    end_s = metrics.duration_s(result)
    epochs = metrics.epochs_s(result, 1)
    payload_bits = result.resolved["mss_bytes"] * 8
    service_s = payload_bits / metrics.capacity_bps(result)
    wait_s = float(metrics.queue_delays_s(result, start_s=WARM_UP_S).mean()) - service_s
    rate_bps = metrics.throughput_bps(result, [WARM_UP_S, end_s])[0, 0]
    losses = result.events.filter(
        (pl.col("kind") == "recovery") & (pl.col("time_us") >= WARM_UP_S * 1e6)
    )
    kept = (losses["ssthresh_packets"] / losses["cwnd_packets"]).to_numpy()
    return Alone(
        float(rate_bps / 1e6),
        float(epochs[1:].mean()) if len(epochs) > 2 else None,
        float(wait_s * rate_bps / payload_bits),
        float(np.median(kept)) if len(kept) else None,
        _growth(result),
    )


_ASSUMED = {"*": "the papers describe no runs here"}
_VARIANTS = (
    Variant("buffer", "half of it", ["bottleneck.buffer=83packets"]),
    testbed.TSO,
    Variant("hosts", "linux-6", ["profile=linux-6"]),
)
PAIRS = Experiment(
    "160 v 20 ms",
    grid(algorithm=PAIRED),
    _pair,
    pair,
    quick=["duration=120s"],
    variants=(
        *_VARIANTS,
        *(Variant("FAST's α", f"{n} packets", [f"fast:alpha={n}"]) for n in (20, 80, 100)),
        Variant("H-TCP", "no bandwidth switch", ["htcp:use_bandwidth_switch=0"]),
        Variant("H-TCP", "no RTT scaling", ["htcp:use_rtt_scaling=0"]),
        Variant("buffer", "1 BDP of 160 ms", ["bottleneck.buffer=1333packets"]),
    ),
    assumed=_ASSUMED,
    says={"algorithm": NAMES},
)
ALONE = Experiment(
    "a flow alone",
    [
        *grid(algorithm=["scalable"], rate_mbps=[100, 400], loss=[0]),
        *grid(algorithm=[STANDARD, "westwood", "veno", "illinois"], rate_mbps=[100], loss=[1e-4]),
        *grid(algorithm=["vegas", "illinois"], rate_mbps=[100], loss=[0]),
        *grid(algorithm=[STANDARD], rate_mbps=[25, 100], loss=[0]),
    ],
    _alone,
    alone,
    quick=["duration=120s"],
    variants=(*_VARIANTS[1:], Variant("ACKs", "one a packet", ["delayed_ack_segments=1"])),
    assumed=_ASSUMED,
    says={"algorithm": NAMES, "rate_mbps": "{} Mb/s", "loss": {0: "", 1e-4: "loss of 1e-4"}},
)
SHORT = Experiment(
    "10 ms",
    grid(algorithm=[STANDARD, "hybla"]),
    lambda algorithm: _alone(algorithm, loss=RANDOM_LOSS).replace(rtt="10ms"),
    alone,
    quick=["duration=120s"],
    variants=ALONE.variants,
    assumed=_ASSUMED,
    says={"algorithm": NAMES},
)
RATIO = Column(PAIRS, "ratio", "throughput, 160 / 20 ms")
RATE = Column(ALONE, "mbps", "throughput", "Mb/s")
EPOCH = Column(ALONE, "epoch_s", "epoch", "s")
GROWTH = Column(PAIRS, "growth", "growth of the window, 160 ms", "packets/s")
KEPT = Column(ALONE, "kept", "part of the window that a loss leaves")
GROWS = Column(ALONE, "growth", "growth of the window", "packets/s")
WAITING = Column(ALONE, "waiting_packets", "packets waiting")


def _fairer(algorithm: str) -> Quantity:
    name = f"throughput, 160 / 20 ms, {NAMES[algorithm]} / standard TCP"
    return RATIO.ratio(name, algorithm=(algorithm, STANDARD))


def _more(algorithm: str) -> Quantity:
    """Throughput under random loss over standard TCP's."""
    name = f"throughput under random loss, {NAMES[algorithm]} / standard TCP"
    return RATE.ratio(name, algorithm=(algorithm, STANDARD), rate_mbps=100, loss=RANDOM_LOSS)


def _equally(algorithm: str) -> list[Part]:
    return [
        _fairer(algorithm).above(1),
        RATIO.at(algorithm=algorithm).geometric().within(0.5, 2).ours,
    ]


def _equal(algorithm: str) -> Claim:
    return Claim(
        f"ha2008.s2.{algorithm.partition(':')[0].replace('_', '-')}",
        f"{NAMES[algorithm]} shares about equally between flows of 160 and 20 ms, unlike standard "
        "TCP",
        _equally(algorithm),
        paper="equal",
        quote=FAIR[algorithm],
    )


#: Illinois where random losses come at a small delay, and where those of a full queue do.
_SMALL, _LARGE = (
    {"algorithm": "illinois", "rate_mbps": 100, "loss": loss} for loss in (RANDOM_LOSS, 0)
)
MORE_KEPT = (KEPT.at(**_SMALL) - KEPT.at(**_LARGE)).named(
    "part that a loss leaves, Illinois, small delay − large"
)
MORE_GROWTH = (GROWS.at(**_SMALL) / GROWS.at(**_LARGE)).named(
    "growth, Illinois, small delay / large"
)
VENO = KEPT.at(algorithm="veno", rate_mbps=100, loss=RANDOM_LOSS).beside(0.8)
QUICKER = GROWTH.ratio(
    "growth of the window at 160 ms, Libra / standard TCP", algorithm=("libra", STANDARD)
)
RECOVERY = EPOCH.ratio(
    "Scalable's time between losses, 400 Mb/s / 100 Mb/s",
    algorithm="scalable",
    rate_mbps=(400, 100),
)
NEWRENO = EPOCH.ratio(
    "standard TCP's time between losses, 100 Mb/s / 25 Mb/s",
    algorithm=STANDARD,
    rate_mbps=(100, 25),
    loss=0,
)
LIKE_NEWRENO = Column(SHORT, "mbps", "throughput", "Mb/s").ratio(
    "throughput at 10 ms, Hybla / standard TCP", algorithm=("hybla", STANDARD)
)
IN_QUEUE = WAITING.at(algorithm="vegas").beside(f"{ALPHA} … {BETA}")


@plots.drawn(8, 3.4)
def _plot(axes: Axes, view: View) -> None:
    for number, each in enumerate(PAIRED):
        found = view.estimate(RATIO.at(algorithm=each).geometric())
        plot.error_bars(axes, [number], [found], color=style.look(each).colour, fmt="o")
    axes.set_xticks(range(len(PAIRED)), [NAMES[each] for each in PAIRED])
    axes.set_ylim(bottom=0)
    axes.set_ylabel("throughput, 160 / 20 ms")
    axes.set_title("mean and 95 % interval", fontsize="small")
    plots.by_paper(axes, 1, "equal shares")


FIGURE = Figure(
    plot=_plot,
    quantities=[
        *(each.geometric() for each in RATIO.everywhere()),
        *map(_fairer, PAIRED[1:]),
        QUICKER,
        *RATE.everywhere(),
        *KEPT.everywhere(loss=RANDOM_LOSS),
        MORE_KEPT,
        MORE_GROWTH,
        RECOVERY,
        NEWRENO,
        LIKE_NEWRENO,
        IN_QUEUE,
    ],
    claims=[
        *map(_equal, FAIR),
        Claim(
            "ha2008.s2.scalable",
            "Scalable's recovery time does not depend on the window",
            [RECOVERY.within(0.8, 1.25).ours],
            paper="constant",
            quote="“make the recovery time from loss events be constant regardless of the window "
            "size” (2)",
        ),
        Claim(
            "ha2008.s2.newreno",
            "Standard TCP's recovery time grows with the window: four times the rate, at least "
            "twice the time",
            [NEWRENO.above(2).ours],
            paper="largely depends",
            quote="“the recovery time of TCP-NewReno largely depends on the current window size” "
            "(2)",
        ),
        Claim(
            "ha2008.s2.hybla-short",
            "At an RTT below its reference Hybla is standard TCP",
            [LIKE_NEWRENO.within(0.95, 1.05).ours],
            paper="as NewReno",
            quote="“behaves as TCP-NewReno when the RTT of a flow is less than a certain reference "
            "RTT (e.g., 20ms)” (2)",
        ),
        Claim(
            "ha2008.s2.libra",
            "Libra's window grows more quickly with a large RTT than standard TCP's",
            [QUICKER.above(1)],
            paper="more quickly",
            quote="“increases congestion window size of large RTT connections more quickly” "
            "(squareff, II.B)",
            readings={"160 and 20 ms share equally": _equally("libra")},
        ),
        Claim(
            "ha2008.s2.hrf",
            "HRF improves RTT fairness",
            [_fairer("hrf").above(1)],
            paper="fairer",
            quote="“HRF (Hybrid RTT Fair)-TCP” for “improving RTT fairness” (squareff, II.B)",
            readings={"160 and 20 ms share equally": _equally("hrf")},
        ),
        Claim(
            "ha2008.s2.westwood",
            "Westwood loses less to random losses than standard TCP",
            [_more("westwood").above(1)],
            paper="more",
            quote="“effective especially over wireless links” (2)",
        ),
        Claim(
            "ha2008.s2.veno",
            "At a random loss Veno reduces its window by 20 %",
            [VENO.within(0.75, 0.85).ours],
            paper="20 %, not 50 %",
            quote="“TCP-Veno reduces the congestion window by 20%, not by 50%” (2)",
        ),
        Claim(
            "ha2008.s2.illinois",
            "At a small delay Illinois grows faster and reduces less than at a large one",
            [MORE_KEPT.above(0), MORE_GROWTH.above(1)],
            paper="large α, small β",
            quote="“sets a large α and small β when the average delay d is small” (2)",
        ),
        Claim(
            "ha2008.s2.vegas",
            "Vegas keeps between α and β packets waiting",
            [IN_QUEUE.within(ALPHA, BETA)],
            paper=f"{ALPHA} … {BETA} packets",
            quote="“When δ is larger than an upper threshold β, … TCP-Vegas reduces the sending "
            "rate” (2)",
        ),
    ],
)
