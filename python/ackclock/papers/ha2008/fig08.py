"""Figure 8: intra-protocol fairness and link utilisation.

"The bottleneck bandwidth is set to 400Mbps and 2Mbyte bottleneck buffer is used. RTT is varied
between 16ms and 324ms and two flows have the same RTT" (caption). "We use a throughput ratio
between these two flows. … CUBIC and BIC-TCP show higher fairness index than TCP-SACK and HSTCP. …
With 16ms RTT, TCP-SACK shows the best fairness index. … CUBIC, BIC-TCP, and HSTCP utilize the link
regardless of RTTs while TCP-SACK suffers under-utilization with larger RTTs" (section 6.2).

Each flow starts at U(0, 10 s). The first 200 s of a run are left out.
"""

from ackclock import Scenario
from ackclock.figures import Claim, Column, Experiment, Figure, Quantity, grid, mean_of, plots
from ackclock.papers.ha2008 import _testbed as testbed
from ackclock.papers.ha2008._testbed import ALGORITHMS, BIC, CUBIC, HSTCP, NAMES, OTHERS, SACK

RTTS_MS = (16, 42, 82, 162, 324)
#: How much less fair SACK may be where it "shows the best fairness index".
NOT_LESS = -0.02


def _scenario(algorithm: str, rtt_ms: int, background: float = 0.15) -> Scenario:
    flows = [testbed.flow(algorithm, count=2)]
    return testbed.scenario(flows, rtt_ms=rtt_ms, buffer="2MB", background=background)


SAME_RTT = Experiment(
    "same RTT",
    grid(algorithm=ALGORITHMS, rtt_ms=RTTS_MS),
    _scenario,
    testbed.two_flows,
    seeds=5,
    quick=["duration=60s"],
    variants=(*testbed.VARIANTS, testbed.SHORTER),
    assumed=testbed.ASSUMED | {"rtt": "the paper gives only the ends of the range"},
    says={"algorithm": NAMES, "rtt_ms": "{} ms"},
)

FAIRNESS = Column(SAME_RTT, "fairness", "slower / faster flow")
UTILISATION = Column(SAME_RTT, "utilisation", "utilisation")


def _fairer(a: str, b: str) -> Quantity:
    """The mean over the RTTs, a's minus b's."""
    first, second = (
        mean_of(f"slower / faster flow, {NAMES[each]}", FAIRNESS.everywhere(algorithm=each))
        for each in (a, b)
    )
    return (first - second).named(f"slower / faster flow, all RTTs, {NAMES[a]} − {NAMES[b]}")


def _fairer_at_16_ms(other: str) -> Quantity:
    name = f"slower / faster flow, 16 ms, SACK − {NAMES[other]}"
    return FAIRNESS.difference(name, algorithm=(SACK, other), rtt_ms=16)


LOST = Column(SAME_RTT, "lost_per_event", "packets lost in a congestion event")


def _fewer_lost() -> Quantity:
    """CUBIC's losses in an event over HSTCP's, whose growth is convex: the mean over the RTTs."""
    return mean_of(
        "packets lost in a congestion event, all RTTs, CUBIC / HSTCP",
        [LOST.ratio(f"{rtt} ms", algorithm=(CUBIC, HSTCP), rtt_ms=rtt) for rtt in RTTS_MS],
    ).beside("< 1")


OVERALL = [_fairer(better, worse) for better in (CUBIC, BIC) for worse in (SACK, HSTCP)]
AT_16_MS = [_fairer_at_16_ms(other) for other in OTHERS]

FIGURE = Figure(
    plot=plots.curves(
        {
            "(a) fairness": plots.by(FAIRNESS, "rtt_ms", "algorithm", NAMES),
            "(b) utilisation": plots.by(UTILISATION, "rtt_ms", "algorithm", NAMES),
        },
        xlabel="RTT (ms)",
        ylabel=["throughput, slower / faster flow", "link utilisation"],
        ylim=(0, 1.05),
    ),
    quantities=[
        *FAIRNESS.everywhere(),
        *UTILISATION.everywhere(),
        *LOST.everywhere(),
        _fewer_lost(),
        *(each.beside("> 0") for each in OVERALL + AT_16_MS),
    ],
    claims=[
        Claim(
            "ha2008.fig8a.fairness",
            "CUBIC and BIC are fairer than SACK and HSTCP; at 16 ms SACK is the fairest",
            [each.above(0) for each in OVERALL] + [each.above(NOT_LESS).ours for each in AT_16_MS],
            paper="fairer",
            quote="“CUBIC and BIC-TCP show higher fairness index than TCP-SACK and HSTCP. … With "
            "16ms RTT, TCP-SACK shows the best fairness index” (6.2)",
            readings={"at 16 ms SACK is fairer": [each.above(0) for each in OVERALL + AT_16_MS]},
        ),
        Claim(
            "ha2008.fig8b.utilisation",
            "CUBIC, BIC and HSTCP fill the link at all RTTs; SACK does not at large RTTs",
            [
                *(
                    UTILISATION.at(algorithm=a, rtt_ms=r).above(0.9).ours
                    for a in OTHERS
                    for r in RTTS_MS
                ),
                UTILISATION.at(algorithm=SACK, rtt_ms=324).below(0.9).ours,
            ],
            paper="full; not full",
            quote="“CUBIC, BIC-TCP, and HSTCP utilize the link regardless of RTTs while TCP-SACK "
            "suffers under-utilization with larger RTTs” (6.2)",
        ),
        Claim(
            "ha2008.s3.fewer-lost",
            "Protocols with convex growth lose more packets at once than CUBIC",
            [_fewer_lost().below(1)],
            paper="a large burst",
            quote="“convex growth functions … have the largest window increment around the "
            "saturation point, introducing a large burst of packet losses” (3.2)",
        ),
    ],
)
