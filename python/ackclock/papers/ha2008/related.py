"""Section 2: what the papers say of other algorithms, one line each.

"Designed to provide an equal bandwidth sharing among the flows with different RTTs (e.g., H-TCP and
FAST)" (ha2008, section 6.3); Constant-Rate "could improve fairness dramatically", TCP-Libra and
HRF-TCP are RTT-fair (squareff, section II.B); "TCP-Hybla scales the window increment rule to ensure
fairness among the flows with different RTTs"; of Scalable "the recovery time from loss events" is
"constant regardless of the window size"; Westwood is "effective especially over wireless links",
and Veno reduces the window less after a random loss; Vegas keeps between α and β packets in the
queue; Illinois sets a small β "when the average delay is small" (ha2008, section 2).

The papers describe no runs: the link has 100 Mb/s, and a buffer of one BDP of 20 ms, so that the
queue does not make the RTTs alike. RTT-fairness is that of 160 v 20 ms, against standard TCP's.
"""

from typing import NamedTuple

from matplotlib.axes import Axes

from ackclock import Bottleneck, Flow, Result, Scenario, metrics
from ackclock.draw import style
from ackclock.figures import Claim, Column, Experiment, Figure, Quantity, Variant, grid, plots
from ackclock.papers.ha2008 import _testbed as testbed

STANDARD = "reno"
NAMES = {
    STANDARD: "standard TCP",
    "htcp": "H-TCP",
    "fast": "FAST",
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
    "fast": _EQUAL_BANDWIDTH,
    "constant_rate": "“could improve fairness dramatically” (squareff, II.B)",
    "libra": "“increases congestion window size of large RTT connections more quickly” (squareff, "
    "II.B)",
    "hrf": "“HRF (Hybrid RTT Fair)-TCP” (squareff, II.B)",
    "hybla": "“scales the window increment rule to ensure fairness among the flows with different "
    "RTTs” (2)",
}
LOSSY = {
    "westwood": "“effective especially over wireless links” (2)",
    "veno": "At a random loss “TCP-Veno reduces the congestion window by 20%, not by 50%” (2)",
    "illinois": "“sets a large α and small β when the average delay d is small” (2)",
}
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
    """Throughput with 160 ms over that with 20 ms."""

    ratio: float


def pair(result: Result) -> Pair:
    """After a minute."""
    long, short = metrics.throughput_bps(result, [WARM_UP_S, metrics.duration_s(result)])[:2, 0]
    return Pair(float(long / short))


class Alone(NamedTuple):
    """One flow after a minute."""

    mbps: float
    epoch_s: float | None
    #: In the queue, in the mean, without the packet in service.
    waiting_packets: float


def alone(result: Result) -> Alone:
    """One flow after a minute."""
    end_s = metrics.duration_s(result)
    epochs = metrics.epochs_s(result, 1)
    payload_bits = result.resolved["mss_bytes"] * 8
    service_s = payload_bits / metrics.capacity_bps(result)
    wait_s = float(metrics.queue_delays_s(result, start_s=WARM_UP_S).mean()) - service_s
    rate_bps = metrics.throughput_bps(result, [WARM_UP_S, end_s])[0, 0]
    return Alone(
        float(rate_bps / 1e6),
        float(epochs[1:].mean()) if len(epochs) > 2 else None,
        float(wait_s * rate_bps / payload_bits),
    )


_ASSUMED = {"*": "the papers describe no runs here"}
_VARIANTS = (
    Variant("buffer", "half of it", ["bottleneck.buffer=83packets"]),
    testbed.TSO,
    Variant("hosts", "linux-6", ["profile=linux-6"]),
)
PAIRS = Experiment(
    "160 v 20 ms",
    grid(algorithm=[STANDARD, *FAIR]),
    _pair,
    pair,
    quick=["duration=120s"],
    variants=(
        *_VARIANTS,
        # Two flows that each keep 100 packets do not fit the queue.
        Variant("FAST's α", "50 packets", ["fast:alpha=50"]),
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
        *grid(algorithm=["vegas"], rate_mbps=[100], loss=[0]),
    ],
    _alone,
    alone,
    quick=["duration=120s"],
    variants=(*_VARIANTS[1:], Variant("ACKs", "one a packet", ["delayed_ack_segments=1"])),
    assumed=_ASSUMED,
    says={"algorithm": NAMES, "rate_mbps": "{} Mb/s", "loss": {0: "", 1e-4: "loss of 1e-4"}},
)
RATIO = Column(PAIRS, "ratio", "throughput, 160 / 20 ms")
RATE = Column(ALONE, "mbps", "throughput", "Mb/s")
EPOCH = Column(ALONE, "epoch_s", "epoch", "s")
WAITING = Column(ALONE, "waiting_packets", "packets waiting")


def _fairer(algorithm: str) -> Quantity:
    name = f"throughput, 160 / 20 ms, {NAMES[algorithm]} / standard TCP"
    return RATIO.ratio(name, algorithm=(algorithm, STANDARD))


def _more(algorithm: str) -> Quantity:
    """Throughput under random loss over standard TCP's."""
    name = f"throughput under random loss, {NAMES[algorithm]} / standard TCP"
    return RATE.ratio(name, algorithm=(algorithm, STANDARD), rate_mbps=100, loss=RANDOM_LOSS)


def _equal(algorithm: str) -> Claim:
    return Claim(
        f"ha2008.s2.{algorithm.replace('_', '-')}",
        f"{NAMES[algorithm]} shares about equally between flows of 160 and 20 ms, unlike standard "
        "TCP",
        [
            _fairer(algorithm).above(1),
            RATIO.at(algorithm=algorithm).geometric().within(0.5, 2).ours,
        ],
        paper="equal",
        quote=FAIR[algorithm],
    )


def _lossy(algorithm: str) -> Claim:
    return Claim(
        f"ha2008.s2.{algorithm}",
        f"{NAMES[algorithm]} loses less to random losses than standard TCP",
        [_more(algorithm).above(1)],
        paper="more",
        quote=LOSSY[algorithm],
    )


RECOVERY = EPOCH.ratio(
    "Scalable's time between losses, 400 Mb/s / 100 Mb/s",
    algorithm="scalable",
    rate_mbps=(400, 100),
)
IN_QUEUE = WAITING.at(algorithm="vegas").beside(f"{ALPHA} … {BETA}")


def _named(axes: Axes) -> None:
    """The algorithms at the axis, and equal shares."""
    axes.set_xticks(range(1 + len(FAIR)), [NAMES[each] for each in (STANDARD, *FAIR)])
    plots.by_paper(axes, 1, "equal shares")


FIGURE = Figure(
    plot=plots.curves(
        {
            "160 v 20 ms": {
                NAMES[each]: (
                    {"color": colour, "marker": "o"},
                    {number: RATIO.at(algorithm=each).geometric()},
                )
                for number, (each, colour) in enumerate(
                    zip([STANDARD, *FAIR], [style.INK, *style.FLOWS], strict=False)
                )
            }
        },
        xlabel="",
        ylabel="throughput, 160 / 20 ms",
        ylim=(0, None),
        size=(8, 3.6),
        after=_named,
    ),
    quantities=[
        *(each.geometric() for each in RATIO.everywhere()),
        *map(_fairer, FAIR),
        *RATE.everywhere(),
        RECOVERY,
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
        *map(_lossy, LOSSY),
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
