"""Hosts: the initial window and the retransmission timer.

RFC 6928: the initial window is at most 10 segments. RFC 6298: "Whenever RTO is computed, if it is
less than 1 second, then the RTO SHOULD be rounded up to 1 second" (2.4), and at each timeout "set
RTO <- RTO * 2" (5.5). Linux has a floor of 0.2 s.

A Reno flow at 40 ms; the link is out for 20 s.
"""

from typing import NamedTuple

import numpy as np

from ackclock import Bottleneck, Flow, Result, Scenario
from ackclock.figures import Claim, Column, Experiment, Figure, Variant, grid, plots


def _scenario(profile: str) -> Scenario:
    return Scenario(
        duration="60s",
        rtt="40ms",
        profile=profile,
        bottleneck=Bottleneck(
            rate="20mbit",
            buffer="1bdp",
            loss={"kind": "outages", "every": "30s", "lasts": "20s"},
        ),
        flows=(Flow(algorithm="reno"),),
    )


class Row(NamedTuple):
    """The first window, and the timeouts of the outage."""

    initial_window_packets: int
    rto_s: float
    #: Each time between two timeouts over that before it, in the mean.
    growth: float


def row(result: Result) -> Row:
    """One flow; the timer doubles, so that the first interval is twice the RTO."""
    events = result.events
    first = events.filter(kind="established")["cwnd_packets"][0]
    gaps_s = np.diff(events.filter(kind="timeout")["time_us"].to_numpy()[:6] / 1e6)
    return Row(int(first), float(gaps_s[0] / 2), float((gaps_s[1:] / gaps_s[:-1]).mean()))


HOSTS = Experiment(
    "an outage",
    grid(profile=["linux-6", "linux-7"]),
    _scenario,
    row,
    seeds=1,
    variants=(Variant("RTT", "200 ms", ["rtt=200ms"]),),
    assumed={"*": "the RFCs hold for any path"},
    says={"profile": {"linux-6": "Linux 6.12", "linux-7": "Linux 7.3"}},
)
INITIAL = Column(HOSTS, "initial_window_packets", "initial window", "packets", 10)
RTO = Column(HOSTS, "rto_s", "RTO", "s", "≥ 1")
GROWTH = Column(HOSTS, "growth", "RTO over that before it", "", 2)

FIGURE = Figure(
    plot=plots.windows(
        {"Linux 6.12": (HOSTS, {"profile": "linux-6"})},
        after=lambda axes: plots.marked(axes, 30, "the link is out\nuntil 50 s"),
    ),
    quantities=[*INITIAL.everywhere(), *RTO.everywhere(), *GROWTH.everywhere()],
    claims=[
        Claim(
            "standards.rfc6928.initial-window",
            "The initial window has 10 segments",
            [each.within(10, 10) for each in INITIAL.everywhere()],
            paper="10",
            quote="“min (10*MSS, max (2*MSS, 14600))” (RFC 6928, 2)",
        ),
        Claim(
            "standards.rfc6298.floor",
            "The RTO is never below one second",
            [each.beside(1).above(1) for each in RTO.everywhere()],
            paper="1 s",
            quote="“the RTO SHOULD be rounded up to 1 second” (2.4)",
        ),
        Claim(
            "standards.rfc6298.doubles",
            "Each timeout doubles the RTO",
            [each.within(1.95, 2.05).ours for each in GROWTH.everywhere()],
            paper="2",
            quote="“set RTO <- RTO * 2” (5.5)",
        ),
    ],
)
