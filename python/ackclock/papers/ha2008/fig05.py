"""Figure 5: one CUBIC flow and one TCP-SACK flow.

"One CUBIC flow with one TCP-SACK flow over a short-RTT network path (8ms) and a long-RTT network
path (82ms)": at 8 ms "CUBIC operates in the TCP-friendly mode" and "shares the bandwidth fair with
the other TCP-SACK flow"; at 82 ms "the CUBIC flow runs a cubic window growth function" (section
5.2). "Bandwidth is set to 400Mbps" (caption).

Each flow starts at U(0, 10 s). The second half of a run of 200 s is measured.
"""

from collections.abc import Callable
from typing import Any

from ackclock import Scenario
from ackclock.figures import Check, Claim, Column, Experiment, Figure, Variant, grid, plots
from ackclock.papers.ha2008 import _testbed as testbed


def _scenario(rtt_ms: int, **fields: Any) -> Scenario:
    flows = [testbed.flow(testbed.CUBIC), testbed.flow(testbed.SACK)]
    return testbed.scenario(flows, rtt_ms=rtt_ms, duration="200s", **fields)


PAIR = Experiment(
    "CUBIC and SACK",
    grid(rtt_ms=[8, 82]),
    _scenario,
    testbed.two_flows,
    variants=(
        *testbed.BUFFERS,
        *testbed.VARIANTS,
        *testbed.MORE_VARIANTS,
        Variant("duration", "200 … 600 s", ["duration=600s"]),
    ),
    assumed=testbed.ASSUMED | {"bottleneck.buffer": "that of section 6.1"},
    says={"rtt_ms": "{} ms"},
)

RATIO = Column(
    PAIR, "ratio", "CUBIC / SACK", "", lambda point: "fair" if point["rtt_ms"] == 8 else "> 1"
)
UTILISATION = Column(PAIR, "utilisation", "utilisation")


def _ratio(rtt_ms: int) -> Any:
    return RATIO.at(rtt_ms=rtt_ms).geometric()


def _scaled(rtt_ms: int) -> Scenario:
    smaller = {"rate_mbps": 100, "background": 0, "profile": "linux-6"}
    return _scenario(rtt_ms, **smaller)


def _at_full_rate(rtt_ms: int) -> Scenario:
    return _scenario(rtt_ms, background=0, profile="linux-6", jitter="0s")


def _beside(name: str, of: Callable[..., Scenario]) -> Experiment:
    return Experiment(name, PAIR.points, of, testbed.two_flows, says=PAIR.says)


_QUANTITIES = {
    "CUBIC / SACK": "ratio",
    "throughput of SACK (Mb/s)": "throughput_2_mbps",
    "utilisation": "utilisation",
}

FIGURE = Figure(
    plot=plots.windows({f"RTT {rtt} ms": (PAIR, {"rtt_ms": rtt}) for rtt in (8, 82)}),
    quantities=[
        _ratio(8),
        _ratio(82),
        *Column(PAIR, "throughput_1_mbps", "throughput of CUBIC", "Mb/s").everywhere(),
        *Column(PAIR, "throughput_2_mbps", "throughput of SACK", "Mb/s").everywhere(),
        *UTILISATION.everywhere(),
    ],
    claims=[
        Claim(
            "ha2008.fig5a.friendly-8ms",
            "At 8 ms CUBIC and SACK get fair shares",
            [_ratio(8).within(0.7, 1.4).ours],
            paper="fair",
            quote="“shares the bandwidth fair with the other TCP-SACK flow” (5.2)",
            readings={"arithmetic mean": [RATIO.at(rtt_ms=8).within(0.7, 1.4).ours]},
        ),
        Claim(
            "ha2008.fig5b.scalable-82ms",
            "At 82 ms CUBIC takes more than SACK and the link is full",
            [_ratio(82).above(1.5).ours, UTILISATION.at(rtt_ms=82).above(0.95).ours],
            paper="> 1; full",
            quote="“the CUBIC flow runs a cubic window growth function” (5.2)",
        ),
    ],
    kernel=Check(
        setup="100 Mb/s instead of 400, without background traffic. "
        "The TCP around the algorithms is of today.",
        experiment=_beside("at 100 Mb/s", _scaled),
        quantities=_QUANTITIES,
    ),
    vlinux=Check(
        setup="400 Mb/s, without background traffic and without jitter. "
        "The TCP around the algorithms is of today.",
        experiment=_beside("at 400 Mb/s", _at_full_rate),
        quantities=_QUANTITIES,
    ),
)
