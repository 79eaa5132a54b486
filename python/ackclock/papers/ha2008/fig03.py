"""Figure 3: response functions of standard TCP, HSTCP and CUBIC.

"Response function of standard TCP, HSTCP, and CUBIC in networks with 10ms (a) and 100ms (b) RTTs"
(caption); "the average window size of CUBIC is calculated by using (6) and CUBIC TCP-friendly
equation in (4)", "with a deterministic loss model where the number of packets between two
successive loss events is always 1/p". "In a network with RTT = 10ms and p = 10^-6, TCP has an
average window of 1200 packets. If the packet size is 1500 bytes, then TCP can achieve an average
rate of 1.44 Gbps. In this case, CUBIC achieves exactly the same rate as Standard TCP, whereas HSTCP
is about ten times more aggressive" (section 5.1).

Crosses are the formulas. One flow runs with an ACK for each packet, as in the formulas. The mean
window is that over the last 3 of 12 losses, or over the last quarter of more losses at high loss
rates. Nothing is random, so a run is not repeated. The windows of standard TCP and HSTCP do not
depend on the RTT; they are simulated at 10 ms. Windows below 20 packets, of either algorithm
compared, are shown, not judged: packets are whole there, and an epoch has few RTTs.
"""

from typing import NamedTuple

from ackclock import Result, Scenario
from ackclock.figures import (
    Claim,
    Column,
    Experiment,
    Figure,
    Quantity,
    Variant,
    combined,
    grid,
    plots,
)
from ackclock.papers.ha2008 import _testbed as testbed
from ackclock.studies import response

#: The CUBIC of the paper's equations.
CUBIC = "cubic@ha2008"
HSTCP = "highspeed@rfc3649"
TCP = testbed.SACK
RTTS_MS = (10, 100)
#: The loss rate that section 5.1 compares, at 10 ms.
COMPARED = next(rate for rate in response.LOSS_RATES if abs(rate - 1e-6) < 1e-9)
LEAST_PACKETS = 20
#: Simulated standard TCP has so much of 1.2 / √p at windows of 11 packets, and more at larger ones.
OF_FORMULA = 0.9


def cubic_packets(loss_rate: float, rtt_ms: int) -> float:
    """Eq. (6)."""
    return float(1.17 * (rtt_ms / 1e3 / loss_rate) ** 0.75)


def tcp_packets(loss_rate: float) -> float:
    """Standard TCP's mean window, as in RFC 3649."""
    return float(1.2 / loss_rate**0.5)


def paper_packets(algorithm: str, rtt_ms: int, loss_rate: float) -> float:
    """The mean window by the paper's formulas."""
    if algorithm == HSTCP:
        return response.CLOSED_FORMS["highspeed"]({}, loss_rate, rtt_ms / 1e3) or 0
    cubic = cubic_packets(loss_rate, rtt_ms) if algorithm == CUBIC else 0
    return max(cubic, tcp_packets(loss_rate))


def _scenario(algorithm: str, rtt_ms: int, loss_rate: float) -> Scenario:
    return response.scenario(algorithm, loss_rate, f"{rtt_ms}ms", profile=testbed.PROFILE)


class Row(NamedTuple):
    """A run."""

    mean_packets: float
    #: Relative change over the last half of the losses.
    drift: float


def row(result: Result) -> Row:
    """The mean window over the last quarter of the losses."""
    window = response.window(result)
    return Row(window.mean_packets, window.drift)


POINTS = [
    *grid(algorithm=[TCP, HSTCP, CUBIC], rtt_ms=[10], loss_rate=response.LOSS_RATES),
    *grid(algorithm=[CUBIC], rtt_ms=[100], loss_rate=response.LOSS_RATES),
]

RESPONSES = Experiment(
    "responses",
    POINTS,
    _scenario,
    row,
    seeds=1,
    quick_points=[
        point
        for point in POINTS
        if point["loss_rate"] > 0.9e-5
        or (point["rtt_ms"], point["loss_rate"]) == (RTTS_MS[0], COMPARED)
    ],
    variants=(
        Variant("CUBIC", "Linux 2.6.25", ["cubic@=2.2"]),
        Variant("ACKs", "one for 2 packets", ["delayed_ack_segments=2"]),
    ),
    assumed={"*": "as the formulas have it: nothing but the loss rate matters", "rtt": ""}
    | {"bottleneck.drop_every_packets": "", "profile": "as in section 6"},
    says={
        "algorithm": {TCP: "TCP", HSTCP: "HSTCP", CUBIC: "CUBIC"},
        "rtt_ms": "{} ms",
        "loss_rate": "p = {:.1e}",
    },
)

WINDOW = Column(
    RESPONSES, "mean_packets", "mean window", "packets", lambda point: paper_packets(**point)
)


def _window(algorithm: str, rtt_ms: int, loss_rate: float) -> Quantity:
    return WINDOW.at(algorithm=algorithm, rtt_ms=rtt_ms, loss_rate=loss_rate)


def _of_formula(rtt_ms: int, loss_rate: float, packets: float, formula: str) -> Quantity:
    """CUBIC's simulated mean window over that of a formula."""
    name = f"CUBIC, {rtt_ms} ms, p = {loss_rate:.1e}: of {formula}"
    return combined(name, "", [_window(CUBIC, rtt_ms, loss_rate)], lambda a: a * (1 / packets))


def _of_tcp(algorithm: str, rtt_ms: int, loss_rate: float) -> Quantity:
    """Of simulated standard TCP."""
    name = {CUBIC: "CUBIC", HSTCP: "HSTCP"}[algorithm]
    return (_window(algorithm, rtt_ms, loss_rate) / _window(TCP, 10, loss_rate)).named(
        f"{name}, {rtt_ms} ms, p = {loss_rate:.1e}: of simulated TCP"
    )


def _follows(rtt_ms: int, loss_rate: float) -> Quantity:
    """CUBIC's window against what the paper says of its region."""
    cubic = cubic_packets(loss_rate, rtt_ms)
    if cubic > tcp_packets(loss_rate):
        return _of_formula(rtt_ms, loss_rate, cubic, "eq. (6)")
    return _of_tcp(CUBIC, rtt_ms, loss_rate)


def _are_large(rtt_ms: int, loss_rate: float) -> bool:
    """Whether both windows that are compared have 20 packets or more."""
    if cubic_packets(loss_rate, rtt_ms) > tcp_packets(loss_rate):
        return cubic_packets(loss_rate, rtt_ms) >= LEAST_PACKETS
    return OF_FORMULA * tcp_packets(loss_rate) >= LEAST_PACKETS


FOLLOWS = [
    _follows(rtt, rate).within(0.9, 1.1).ours
    for rtt in RTTS_MS
    for rate in response.LOSS_RATES
    if _are_large(rtt, rate)
]
FORMULAS = [
    _of_formula(rtt, rate, paper_packets(CUBIC, rtt, rate), "the formulas").within(0.9, 1.1).ours
    for rtt in RTTS_MS
    for rate in response.LOSS_RATES
]
EXACTLY_THE_SAME = _of_tcp(CUBIC, RTTS_MS[0], COMPARED).beside(1)
TEN_TIMES = _of_tcp(HSTCP, RTTS_MS[0], COMPARED).beside(10)


def _curves(rtt_ms: int) -> plots.Curves:
    """Standard TCP and HSTCP are the same at both RTTs."""
    return {
        name: (
            plots.line_style(algorithm),
            {p: _window(algorithm, rtt, p) for p in response.LOSS_RATES},
        )
        for name, algorithm, rtt in (
            ("standard TCP", TCP, 10),
            ("HSTCP", HSTCP, 10),
            ("CUBIC", CUBIC, rtt_ms),
        )
    }


FIGURE = Figure(
    plot=plots.curves(
        {f"RTT {rtt} ms": _curves(rtt) for rtt in RTTS_MS},
        xlabel="loss rate",
        ylabel="mean window (packets)",
        log_y=True,
        after=lambda axes: axes.set_xscale("log"),
    ),
    quantities=[
        *WINDOW.everywhere(),
        *(part.quantity.beside(1) for part in FOLLOWS),
        TEN_TIMES,
    ],
    claims=[
        Claim(
            "ha2008.fig3.response",
            "CUBIC's mean window is that of eq. (6), or standard TCP's where that is larger",
            FOLLOWS,
            paper="eq. (6)",
            quote="“the average window size of CUBIC is calculated by using (6) and CUBIC "
            "TCP-friendly equation in (4)” (5.1)",
            readings={"the formulas, at every p": FORMULAS},
        ),
        Claim(
            "ha2008.fig3.1g44",
            "At 10 ms and p = 1e-6 TCP has 1200 packets, CUBIC as many, HSTCP ten times more",
            [
                _window(TCP, RTTS_MS[0], COMPARED).within(1140, 1260).ours,
                EXACTLY_THE_SAME.within(0.95, 1.05).ours,
                TEN_TIMES.within(7, 13).ours,
            ],
            paper="1200; 1; 10",
            quote="“CUBIC achieves exactly the same rate as Standard TCP, whereas HSTCP is about "
            "ten times more aggressive” (5.1)",
        ),
    ],
)
