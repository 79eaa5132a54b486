"""The experiment of figures 2 and 3: two flows with different RTTs.

"We established two CUBIC TCP connections", from two hosts to a third; "the network delay time of
one connection was always 2ms. The delay time of the other connection ranged from 2ms to 128ms";
"all elements in this experimental network supported 1Gbps Ethernet"; "advertise windows size was
set 16MB" (section III.A).
"""

from typing import Any, NamedTuple

from ackclock import Bottleneck, Flow, Result, Scenario, metrics
from ackclock.draw import style
from ackclock.figures import Column, Experiment, Quantity, Variant, geometric, grid

RTTS_MS = (2, 4, 8, 16, 32, 64, 128)
CUBIC, CBRT, SQUARE = "cubic@linux-2.6.32", "square_ff@cbrt-2.6.32", "square_ff@linux-2.6.32"
NAMES = {CUBIC: "CUBIC", CBRT: "third root, eq. (3)", SQUARE: "SQUARE:FF, eq. (4)"}
#: Colour and marker of the curves.
LOOKS: dict[str, dict[str, Any]] = {
    CUBIC: {"color": style.of("cubic").colour, "marker": style.of("cubic").marker},
    CBRT: {"color": style.FLOWS[4], "marker": "s"},
    SQUARE: {"color": style.of("square_ff").colour, "marker": style.of("square_ff").marker},
}
#: One bandwidth-delay product of 128 ms, at every RTT: the network stays the same.
BDP = "10667packets"
SMALL = "2000packets"
#: Slow start, which a measure may leave out.
WARM_UP_S = 20

ASSUMED = {
    "duration": "the paper does not say how long netperf ran",
    "bottleneck.buffer": "the paper gives none; this is the BDP of 128 ms",
    "flow.start_spread": "the paper does not say which flow starts first",
    "flow.algorithm": "the CUBIC of the senders' Linux 2.6.32. Its beta is 0.3; \"C and beta of "
    'CUBIC TCP were set 0.4 and 0.2, respectively"',
    "profile": "the senders' kernel",
}


def scenario(
    algorithm: str,
    rtt_ms: int,
    buffer: str = BDP,
    reference_ms: int | None = None,
    kernel: str = "",
) -> Scenario:
    """One flow with an RTT of 2 ms and one with an RTT of `rtt_ms`.

    `reference_ms` is the unit of RTT in equations (3) and (4); default: the algorithm's. `kernel`:
    "-backports" for the CUBIC of distributions.
    """
    unit = f":reference_rtt_ms={reference_ms}" if reference_ms and algorithm != CUBIC else ""
    flows = (
        Flow(
            algorithm=algorithm + kernel + unit,
            rtt=f"{rtt}ms",
            receive_window="16MB",
            start_spread="1s",
        )
        for rtt in (2, rtt_ms)
    )
    return Scenario(
        duration="100s",
        profile="linux-2.6.32",
        bottleneck=Bottleneck(rate="1gbit", buffer=buffer),
        flows=tuple(flows),
    )


class Row(NamedTuple):
    """A run: all of it, as netperf reports it, and without its slow start."""

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
    end_s = metrics.duration_s(result)
    whole, late = (
        metrics.throughput_bps(result, [start_s, end_s])[:, 0] / 1e6 for start_s in (0, WARM_UP_S)
    )
    return Row(
        float(whole[0]),
        float(whole[1]),
        float(whole[0] / whole[1]),
        metrics.jain_index(whole),
        float(late[0] / late[1]),
        metrics.jain_index(late),
        metrics.utilisation(result, WARM_UP_S),
    )


def _cell(buffer: str, reference_ms: int) -> Variant:
    size = "1 BDP" if buffer == BDP else "2000 packets"
    settings = [f"bottleneck.buffer={buffer}", f"square_ff:reference_rtt_ms={reference_ms}"]
    return Variant("buffer and unit of RTT", f"{size}, {reference_ms} ms", settings)


TWO_PATHS = Experiment(
    "two paths",
    grid(algorithm=[CUBIC, CBRT, SQUARE], rtt_ms=RTTS_MS),
    scenario,
    row,
    quick=["duration=30s"],
    variants=(
        *(_cell(BDP, unit_ms) for unit_ms in (1, 4)),
        *(_cell(SMALL, unit_ms) for unit_ms in (1, 4, 8)),
        Variant("duration", "30 s", ["duration=30s"]),
        Variant("duration", "300 s", ["duration=300s"]),
        Variant("TSO", "on", ["tso=true"]),
        Variant("jitter", "10 packets", ["jitter=120us"]),
        Variant("CUBIC", "of distributions", arguments={"kernel": "-backports"}),
    ),
    assumed=ASSUMED,
    says={"algorithm": NAMES, "rtt_ms": "2 v {} ms"},
)

JAIN = Column(TWO_PATHS, "jain", "fairness index")
RATIO = Column(TWO_PATHS, "ratio", "throughput of flow 1 / flow 2")
LATE_JAIN = Column(TWO_PATHS, "late_jain", "fairness index, without the first 20 s")
LATE_RATIO = Column(TWO_PATHS, "late_ratio", "throughput of flow 1 / flow 2, without 20 s")


def ratio(column: Column, algorithm: str, rtt_ms: int) -> Quantity:
    """Of the throughputs, averaged as logarithms."""
    return geometric(column.at(algorithm=algorithm, rtt_ms=rtt_ms))
