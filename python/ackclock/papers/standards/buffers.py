"""Decrease and buffer: RFC 5681's half, RFC 9438's 0.7, and the buffer that each needs.

RFC 5681: after a loss "ssthresh = max (FlightSize / 2, 2*SMSS)" (equation 4). RFC 9438: "β_cubic
SHOULD be set to 0.7" (section 4.6). RFC 8511 (ABE): 0.8 and 0.85 instead at a mark. A window that
falls to β keeps a link full if β (BDP + buffer) is still a BDP: a buffer of (1 − β) / β BDP, which
is 1 for Reno and 0.43 for CUBIC.

One flow for 300 s on 100 Mb/s and 50 ms, measured after a minute; for marks, for 60 s on the same
path behind CoDel with ECN.
"""

from typing import NamedTuple

from matplotlib.axes import Axes

from ackclock import Bottleneck, Flow, Result, Scenario, metrics
from ackclock.figures import Claim, Column, Experiment, Figure, Quantity, Variant, grid, plots

RENO, CUBIC = "reno", "cubic"
NAMES = {RENO: "Reno", CUBIC: "CUBIC"}
#: With ABE → the multiplier at a mark.
AT_A_MARK = {"reno_abe": 0.8, "cubic_abe": 0.85}
#: The buffer that the rule asks for, BDP.
NEEDS_BDP = {RENO: 1.0, CUBIC: 0.43}
BUFFERS_BDP = (0.1, 0.2, 0.3, 0.43, 0.6, 1.0)
WARM_UP_S = 60
FULL = 0.99


def _scenario(algorithm: str, buffer_bdp: float) -> Scenario:
    return Scenario(
        duration="300s",
        rtt="50ms",
        bottleneck=Bottleneck(rate="100mbit", buffer=f"{buffer_bdp}bdp"),
        flows=(Flow(algorithm=algorithm),),
    )


def _marked(algorithm: str) -> Scenario:
    queue = {"kind": "codel", "ecn": True}
    return Scenario(
        duration="60s",
        rtt="50ms",
        bottleneck=Bottleneck(rate="100mbit", buffer="1000packets", queue=queue),
        flows=(Flow(algorithm=algorithm, ecn=True),),
    )


class Row(NamedTuple):
    """The flow after a minute, and its last decrease."""

    share: float
    decrease: float


def row(result: Result) -> Row:
    """Of the link's capacity for payload; ssthresh / cwnd."""
    bps = metrics.throughput_bps(result, [WARM_UP_S, metrics.duration_s(result)])[0, 0]
    return Row(float(bps / metrics.capacity_bps(result)), _last_decrease(result, "recovery"))


def _last_decrease(result: Result, kind: str) -> float:
    last = result.events.filter(kind=kind).tail(1)
    return float(last["ssthresh_packets"][0] / last["cwnd_packets"][0])


class Marked(NamedTuple):
    """The last decrease at a mark."""

    decrease: float


def marked(result: Result) -> Marked:
    """One flow."""
    return Marked(_last_decrease(result, "cwr"))


ALONE = Experiment(
    "a flow over the buffer",
    grid(algorithm=list(NAMES), buffer_bdp=BUFFERS_BDP),
    _scenario,
    row,
    seeds=1,
    variants=(
        Variant("RTT", "10 ms", ["rtt=10ms"]),
        Variant("bursts", "TSO off", ["tso=false"]),
        Variant("hosts", "linux-7", ["profile=linux-7"]),
    ),
    assumed={"*": "the rule holds for any path"},
    says={"algorithm": NAMES, "buffer_bdp": "{} BDP"},
)
SHARE = Column(ALONE, "share", "share of the link")
DECREASE = Column(ALONE, "decrease", "ssthresh / cwnd at a loss")
MARKED = Experiment(
    "a flow with marks",
    grid(algorithm=list(AT_A_MARK)),
    _marked,
    marked,
    seeds=1,
    assumed={"*": "the RFC holds for any path"},
    says={"algorithm": {"reno_abe": "Reno with ABE", "cubic_abe": "CUBIC with ABE"}},
)
AT_MARK = Column(
    MARKED,
    "decrease",
    "ssthresh / cwnd at a mark",
    paper=lambda point: AT_A_MARK[point["algorithm"]],
)


def _decrease(name: str, says: str, to: float, quote: str, of: Quantity) -> Claim:
    part = of.beside(to).within(to - 0.01, to + 0.01).ours
    return Claim(f"standards.{name}", says, [part], paper=f"{to:g}", quote=quote)


def _at_loss(algorithm: str) -> Quantity:
    return DECREASE.at(algorithm=algorithm, buffer_bdp=1.0)


def _fills(algorithm: str, less_bdp: float) -> Claim:
    needs_bdp = NEEDS_BDP[algorithm]
    return Claim(
        f"standards.buffer.{algorithm}",
        f"{NAMES[algorithm]} fills the link from {needs_bdp:g} BDP of buffer on, and not below",
        [
            SHARE.at(algorithm=algorithm, buffer_bdp=needs_bdp).above(FULL).ours,
            SHARE.at(algorithm=algorithm, buffer_bdp=less_bdp).below(FULL).ours,
        ],
        paper=f"{needs_bdp:g} BDP",
        quote="(1 − β) / β, from “FlightSize / 2” and “0.7” (RFC 5681, RFC 9438)",
    )


def _needs(axes: Axes) -> None:
    """The buffers that the standards' back-offs need."""
    for algorithm, needs_bdp in NEEDS_BDP.items():
        text = f"{NAMES[algorithm]} needs\n{needs_bdp:g} BDP"
        plots.marked(axes, needs_bdp, text, left=True, look=plots.PAPER)
    axes.set_ylim(top=1.03)


FIGURE = Figure(
    plot=plots.curves(
        {"": plots.by(SHARE, "buffer_bdp", "algorithm", NAMES)},
        xlabel="buffer (BDP)",
        ylabel="share of the link",
        after=_needs,
    ),
    quantities=[
        *SHARE.everywhere(),
        *DECREASE.everywhere(buffer_bdp=1.0),
        *AT_MARK.everywhere(),
    ],
    claims=[
        _decrease(
            "rfc5681.half",
            "At a loss Reno halves its window",
            0.5,
            "“max (FlightSize / 2, 2*SMSS)” (RFC 5681, eq. 4)",
            _at_loss(RENO),
        ),
        _decrease(
            "rfc9438.beta",
            "At a loss CUBIC keeps 0.7 of its window",
            0.7,
            "“β_cubic SHOULD be set to 0.7” (RFC 9438, 4.6)",
            _at_loss(CUBIC),
        ),
        _decrease(
            "rfc8511.reno",
            "At a mark Reno with ABE keeps 0.8 of its window",
            0.8,
            "“a value of beta_{ecn}=0.8” (RFC 8511, 3.1)",
            AT_MARK.at(algorithm="reno_abe"),
        ),
        _decrease(
            "rfc8511.cubic",
            "At a mark CUBIC with ABE keeps 0.85 of its window",
            0.85,
            "“CUBIC connections benefit from beta_{ecn} of 0.85” (RFC 8511, 3.1)",
            AT_MARK.at(algorithm="cubic_abe"),
        ),
        _fills(RENO, 0.43),
        _fills(CUBIC, 0.2),
    ],
)
