"""The experiment of figures 2 and 3: two flows with different RTTs.

"We established two CUBIC TCP connections", from two hosts to a third; "the network delay time of
one connection was always 2ms. The delay time of the other connection ranged from 2ms to 128ms";
"all elements in this experimental network supported 1Gbps Ethernet"; "advertise windows size was
set 16MB" (section III.A).
"""

from typing import Any, NamedTuple, Protocol

from ackclock import Bottleneck, Flow, Result, Scenario, metrics
from ackclock.draw import style
from ackclock.figures import Column, Experiment, Quantity, Variant, grid

RTTS_MS = (2, 4, 8, 16, 32, 64, 128)
#: The kernel's own RTTs are in ms. The paper gives no unit for RTT in equations (3) and (4).
UNIT = ":reference_rtt_ms=1"
CUBIC = "cubic@linux-2.6.32"
CBRT, SQUARE = f"square_ff@cbrt-2.6.32{UNIT}", f"square_ff@linux-2.6.32{UNIT}"
NAMES = {CUBIC: "CUBIC", CBRT: "third root, eq. (3)", SQUARE: "SQUARE:FF, eq. (4)"}
#: Colour and marker of the curves.
LOOKS: dict[str, dict[str, Any]] = {
    CUBIC: {"color": style.look("cubic").colour, "marker": style.look("cubic").marker},
    CBRT: {"color": style.FLOWS[4], "marker": "s"},
    SQUARE: {"color": style.look("square_ff").colour, "marker": style.look("square_ff").marker},
}
#: Of the card where two inputs of 1 Gb/s meet at one output: 256 transmit descriptors, and an
#: interface queue of one packet fewer.
QUEUE = "511packets"
#: Other queues that the bridge could have had, and one bandwidth-delay product of 128 ms.
QUEUES = {
    "256packets": "256 packets",
    QUEUE: "511 packets",
    "699packets": "699 packets",
    "1024packets": "1024 packets",
    "2000packets": "2000 packets",
    "10667packets": "1 BDP of 128 ms",
}
#: Units that an implementer could have had: 1/8 ms of `delay_min`, ms, jiffies, s.
UNITS_MS = {0.125: "1/8 ms", 1: "1 ms", 4: "4 ms", 10: "10 ms", 1000: "1 s"}
#: Slow start, which a measure may leave out.
WARM_UP_S = 20
#: About one cycle of CUBIC, so that seeds meet the first flow at any phase of its cycle.
CYCLE = "10s"

ASSUMED = {
    "duration": "the paper does not say how long netperf ran",
    "bottleneck.buffer": "no link is slowed down: the queue is that of the bridge's card, an "
    "82541, to which FreeBSD 8.2 gives 256 descriptors and a queue of 255 packets",
    "flow.start_spread": "the paper does not say when flows start: over one cycle",
    "flow.algorithm": "the CUBIC of the senders' Linux 2.6.32. Its beta is 0.3; \"C and beta of "
    "CUBIC TCP were set 0.4 and 0.2, respectively\". The unit of RTT is 1 ms, the kernel's",
    "profile": "the senders' kernel",
}


def scenario(algorithm: str, rtt_ms: int, queue: str = QUEUE, kernel: str = "") -> Scenario:
    """One flow with an RTT of 2 ms and one with an RTT of `rtt_ms`.

    `kernel`: "-backports" for the CUBIC of distributions.
    """
    name, unit = algorithm.partition(":")[::2]
    flows = (
        Flow(
            algorithm=name + kernel + (f":{unit}" if unit else ""),
            rtt=f"{rtt}ms",
            receive_window="16MB",
            start_spread=CYCLE,
        )
        for rtt in (2, rtt_ms)
    )
    return Scenario(
        duration="100s",
        profile="linux-2.6.32",
        bottleneck=Bottleneck(rate="1gbit", buffer=queue),
        flows=tuple(flows),
    )


class Row(NamedTuple):
    """A run: all of it, as netperf reports it, and without its slow start.

    It begins when both flows have started.
    """

    throughput_1_mbps: float
    throughput_2_mbps: float
    #: Of flow 1 to flow 2.
    ratio: float
    jain: float
    late_ratio: float
    late_jain: float
    utilisation: float


def row(result: Result) -> Row:
    """Throughputs are of payload."""
    both_s, end_s = metrics.last_start_s(result), metrics.duration_s(result)
    whole, late = (
        metrics.throughput_bps(result, [start_s, end_s])[:, 0] / 1e6
        for start_s in (both_s, both_s + WARM_UP_S)
    )
    return Row(
        float(whole[0]),
        float(whole[1]),
        float(whole[0] / whole[1]),
        metrics.jain_index(whole),
        float(late[0] / late[1]),
        metrics.jain_index(late),
        metrics.utilisation(result, both_s + WARM_UP_S),
    )


TWO_PATHS = Experiment(
    "two paths",
    grid(algorithm=[CUBIC, CBRT, SQUARE], rtt_ms=RTTS_MS),
    scenario,
    row,
    seeds=12,
    # Beyond the first loss, which may come after 25 s.
    quick=["duration=60s"],
    variants=(
        *(
            Variant("queue", name, [f"bottleneck.buffer={queue}"])
            for queue, name in QUEUES.items()
            if queue != QUEUE
        ),
        *(
            Variant("unit of RTT", name, [f"square_ff:reference_rtt_ms={unit_ms}"])
            for unit_ms, name in UNITS_MS.items()
            if unit_ms != 1
        ),
        Variant("start", "within 1 s", ["flow.start_spread=1s"]),
        Variant("duration", "30 s", ["duration=30s"]),
        Variant("duration", "300 s", ["duration=300s"]),
        Variant("TSO", "on", ["tso=true"]),
        Variant("jitter", "10 packets", ["jitter=120us"]),
        Variant("beta", "0.2, the paper's text", ["cubic:beta=0.8", "square_ff:beta=0.8"]),
        Variant("CUBIC", "of distributions", arguments={"kernel": "-backports"}),
    ),
    assumed=ASSUMED,
    says={"algorithm": NAMES, "rtt_ms": "2 v {} ms"},
)

JAIN = Column(TWO_PATHS, "jain", "fairness index")
RATIO = Column(TWO_PATHS, "ratio", "throughput of flow 1 / flow 2")
LATE_JAIN = Column(TWO_PATHS, "late_jain", "fairness index, without the first 20 s")
LATE_RATIO = Column(TWO_PATHS, "late_ratio", "throughput of flow 1 / flow 2, without 20 s")


class HasPoints(Protocol):
    """A number at each algorithm and RTT, such as a `Column`."""

    def at(self, **point: Any) -> Quantity:
        """The number at one point."""
        ...


def ratio(column: HasPoints, algorithm: str, rtt_ms: int) -> Quantity:
    """Of the throughputs, averaged as logarithms."""
    return column.at(algorithm=algorithm, rtt_ms=rtt_ms).geometric()
