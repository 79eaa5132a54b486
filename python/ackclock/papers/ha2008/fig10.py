"""Figure 10: impact on standard TCP traffic.

"We first measure the throughput shares of four TCP-SACK flows when they are competing with the
other four TCP-SACK flows. After that, we replace four flows with a new protocol." (a) "We fix the
bottleneck bandwidth to 400Mbps and vary RTT between 10ms and 160ms. … With 400Mbps and 160ms RTT, 8
TCP-SACK flows achieve around 80% of the link bandwidth. … CUBIC, BIC-TCP, and HSTCP fully utilize
the link. … CUBIC gives more room to TCP-SACK than BIC-TCP and HSTCP for whole range of tested
RTTs". (b) "With 10ms RTT … CUBIC flows employs a window growth function that is comparable to
TCP-SACK. … BIC-TCP and HSTCP show a tendency to operate in a scalable mode (being more aggressive)
as the link speed increases". (c) "100ms RTT. … As the bandwidth gets larger than 10Mbps, the
throughput ratio drops quite rapidly. … CUBIC and BIC-TCP show a similar aggressiveness which is
slightly more aggressive than HSTCP especially for the bandwidth less than 100Mbps" (section 6.4).

The buffer is judged as 1 BDP, which section 6.1 says of all figures that give none. (a) is also
shown with the 2 MB of figures 8 and 9. Each flow starts at U(0, 10 s). The first 200 s of a run are
left out.
"""

import math
from collections.abc import Mapping
from dataclasses import replace

from ackclock import Scenario
from ackclock.figures import (
    Claim,
    Column,
    Either,
    Experiment,
    Figure,
    Point,
    Quantity,
    grid,
    plots,
    slope,
)
from ackclock.papers.ha2008 import _testbed as testbed
from ackclock.papers.ha2008._testbed import ALGORITHMS, BIC, CUBIC, HSTCP, NAMES, OTHERS, SACK

RTTS_MS = (10, 40, 80, 160)
RATES_MBPS = (10, 50, 100, 400)
BDP, LARGE = "1bdp", "2MB"
BESIDE = {algorithm: f"beside {name}" for algorithm, name in NAMES.items()}


def _scenario(
    buffer: str, rate_mbps: int, rtt_ms: int, algorithm: str, background: float = 0.15
) -> Scenario:
    flows = [testbed.flow(each, count=4) for each in (algorithm, SACK)]
    return testbed.scenario(
        flows, rtt_ms=rtt_ms, rate_mbps=rate_mbps, buffer=buffer, background=background
    )


BESIDE_SACK = Experiment(
    "beside SACK",
    [
        *grid(buffer=[BDP], rate_mbps=[400], rtt_ms=RTTS_MS, algorithm=ALGORITHMS),
        *grid(buffer=[BDP], rate_mbps=RATES_MBPS[:3], rtt_ms=[10], algorithm=ALGORITHMS),
        *grid(buffer=[BDP], rate_mbps=RATES_MBPS, rtt_ms=[100], algorithm=ALGORITHMS),
        *grid(buffer=[LARGE], rate_mbps=[400], rtt_ms=RTTS_MS, algorithm=ALGORITHMS),
    ],
    _scenario,
    testbed.four_and_four,
    seeds=5,
    quick=["duration=40s"],
    variants=(*testbed.BUFFERS, *testbed.VARIANTS, testbed.SHORTER),
    assumed=testbed.ASSUMED
    | {
        "rtt": "the paper gives only the ends of the range",
        "bottleneck.rate": "the paper gives only the ends of the range",
        "bottleneck.buffer": "1 BDP is the default of section 6.1; 2 MB is that of figures 8 and 9",
    },
    says={
        "buffer": {BDP: "", LARGE: "2 MB"},
        "rate_mbps": "{} Mb/s",
        "rtt_ms": "{} ms",
        "algorithm": BESIDE,
    },
)

SHARE = Column(BESIDE_SACK, "second_share", "share of the four SACK")
OTHERS_SHARE = Column(BESIDE_SACK, "first_share", "share of the four others")
EIGHT = Column(BESIDE_SACK, "both_share", "share of all eight")
RATIO = Column(BESIDE_SACK, "ratio", "the others / SACK")
UTILISATION = Column(BESIDE_SACK, "utilisation", "utilisation")


def _at(
    column: Column, algorithm: str, rtt_ms: int, rate_mbps: int = 400, buffer: str = BDP
) -> Quantity:
    return column.at(algorithm=algorithm, rtt_ms=rtt_ms, rate_mbps=rate_mbps, buffer=buffer)


def _more_room(other: str, rtt_ms: int) -> Quantity:
    """SACK's share beside CUBIC minus its share beside the other."""
    name = f"share of the four SACK, {rtt_ms} ms, beside CUBIC − beside {NAMES[other]}"
    at = {"rtt_ms": rtt_ms, "rate_mbps": 400, "buffer": BDP}
    return SHARE.difference(name, algorithm=(CUBIC, other), **at)


def _friendly(rate_mbps: int) -> Quantity:
    """CUBIC : SACK against SACK : SACK."""
    small = " (windows of 2 to 3 packets)" if rate_mbps == RATES_MBPS[0] else ""
    name = f"CUBIC : SACK / SACK : SACK, {rate_mbps} Mb/s, 10 ms{small}"
    at = {"rtt_ms": 10, "rate_mbps": rate_mbps, "buffer": BDP}
    return RATIO.ratio(name, algorithm=(CUBIC, SACK), **at)


def _against(other: str, rate_mbps: int) -> Quantity:
    name = f"share of the four others, CUBIC / {NAMES[other]}, {rate_mbps} Mb/s, 100 ms"
    at = {"rtt_ms": 100, "rate_mbps": rate_mbps, "buffer": BDP}
    return OTHERS_SHARE.ratio(name, algorithm=(CUBIC, other), **at)


def _trend(name: str, column: Column, algorithm: str, rtt_ms: int) -> Quantity:
    """Exponent of a power law over the rate."""
    by_rate = {
        math.log(rate): _at(column, algorithm, rtt_ms, rate).geometric() for rate in RATES_MBPS
    }
    return slope(f"{name} over the rate, {rtt_ms} ms, log-log slope", "", by_rate)


EIGHT_SACK = _at(EIGHT, SACK, 160).beside(0.8)
FULL = [_at(UTILISATION, each, rtt).above(0.95).ours for each in OTHERS for rtt in RTTS_MS]
ROOM = [_more_room(other, rtt).above(0) for other in (BIC, HSTCP) for rtt in RTTS_MS]
FRIENDLY = [_friendly(rate).within(0.8, 1.25).ours for rate in RATES_MBPS]
#: "CUBIC behaves more TCP-friendly even comparing to TCP-SACK for certain bandwidths".
FRIENDLIER = Either(
    "CUBIC : SACK / SACK : SACK at some rate above 10 Mb/s",
    [_friendly(rate).below(1) for rate in RATES_MBPS[1:]],
)
WITHOUT_CONTROL = [_at(RATIO, CUBIC, 10, r).within(0.8, 1.25).ours for r in RATES_MBPS[1:]]
RISING = [_trend(f"{NAMES[each]} / SACK", RATIO, each, 10).above(0) for each in (BIC, HSTCP)]
FALLING = [
    _trend(f"share of SACK beside {NAMES[each]}", SHARE, each, 100).below(0) for each in OTHERS
]
LIKE_BIC = [_against(BIC, rate).within(0.75, 1.25).ours for rate in RATES_MBPS]
MORE_THAN_HSTCP = [_against(HSTCP, rate).above(1) for rate in RATES_MBPS if rate < 100]

PANELS: dict[str, dict[float, Point]] = {
    "(a) 400 Mb/s, 1 BDP": {x: {"buffer": BDP, "rate_mbps": 400, "rtt_ms": x} for x in RTTS_MS},
    "(a) 400 Mb/s, 2 MB": {x: {"buffer": LARGE, "rate_mbps": 400, "rtt_ms": x} for x in RTTS_MS},
    "(b) 10 ms": {x: {"buffer": BDP, "rate_mbps": x, "rtt_ms": 10} for x in RATES_MBPS},
    "(c) 100 ms": {x: {"buffer": BDP, "rate_mbps": x, "rtt_ms": 100} for x in RATES_MBPS},
}


def _curves(column: Column, by_x: Mapping[float, Point]) -> plots.Curves:
    """A curve for each algorithm, with the paper's number in (a).

    Eight SACK flows have 80 % of the link at 160 ms: four of them have 40 %.
    """
    shown = {"algorithm": SACK, "rate_mbps": 400, "rtt_ms": 160}
    with_paper = replace(
        column, paper=lambda point: 0.8 / 2 if shown.items() <= point.items() else ""
    )
    return {
        name: (
            plots.line_style(algorithm),
            {x: with_paper.at(algorithm=algorithm, **point) for x, point in by_x.items()},
        )
        for algorithm, name in BESIDE.items()
    }


BEYOND = Experiment(
    "beyond 400",
    grid(buffer=[BDP], rate_mbps=[1000, 4000], rtt_ms=[10], algorithm=[BIC, HSTCP, SACK]),
    _scenario,
    testbed.four_and_four,
    seeds=5,
    quick=["duration=40s"],
    variants=(testbed.SHORTER,),
    assumed=BESIDE_SACK.assumed,
    says={"rate_mbps": "{} Mb/s", "algorithm": BESIDE},
)
DEPRIVED = [
    Column(BEYOND, "second_share", "").ratio(
        f"share of the four SACK, {rate} Mb/s, 10 ms, beside {NAMES[of]} / beside SACK",
        rate_mbps=rate,
        algorithm=(of, SACK),
    )
    for rate in (1000, 4000)
    for of in (BIC, HSTCP)
]

FIGURE = Figure(
    plot=plots.curves(
        {
            f"{panel}: {whose}": _curves(column, by_x)
            for panel, by_x in PANELS.items()
            for whose, column in (("four SACK", SHARE), ("others", OTHERS_SHARE))
        },
        xlabel=["RTT (ms)"] * 4 + ["bottleneck (Mb/s)"] * 4,
        ylabel="share of the link",
        log_x=True,
        ylim=(0, 1),
        columns=2,
        # Narrow, for telephones.
        size=(5.4, 9.6),
    ),
    quantities=[
        *SHARE.everywhere(),
        *UTILISATION.everywhere(),
        *(
            part.quantity
            for parts in (ROOM, FRIENDLY, RISING, FALLING, LIKE_BIC, MORE_THAN_HSTCP)
            for part in parts
        ),
        EIGHT_SACK,
        *DEPRIVED,
    ],
    claims=[
        Claim(
            "ha2008.fig10a.friendliness-rtt",
            "8 SACK flows reach ≈ 80 % at 160 ms, the others fill the link; CUBIC leaves SACK more "
            "than BIC and HSTCP do",
            [EIGHT_SACK.within(0.7, 0.9).ours, *FULL, *ROOM],
            paper="≈ 0.8; more room",
            quote="“8 TCP-SACK flows achieve around 80% of the link bandwidth … CUBIC gives more "
            "room to TCP-SACK than BIC-TCP and HSTCP for whole range of tested RTTs” (6.4)",
            readings={
                "without “fully utilize”": [EIGHT_SACK.within(0.7, 0.9).ours, *ROOM],
                "8 SACK with the background": [
                    _at(UTILISATION, SACK, 160).within(0.7, 0.9).ours,
                    *FULL,
                    *ROOM,
                ],
            },
        ),
        Claim(
            "ha2008.fig10b.friendliness-10ms",
            "CUBIC is as friendly as SACK; BIC and HSTCP take more as the rate grows",
            [*FRIENDLY[1:], FRIENDLIER, *RISING],
            paper="as SACK itself",
            quote="“BIC-TCP and HSTCP show a tendency to operate in a scalable mode (being more "
            "aggressive) as the link speed increases” (6.4)",
            readings={
                "with 10 Mb/s": [*FRIENDLY, FRIENDLIER, *RISING],
                "without “friendlier”": [*FRIENDLY[1:], *RISING],
                "CUBIC / SACK": [*WITHOUT_CONTROL, *RISING],
            },
        ),
        Claim(
            "ha2008.fig10b.sack-full",
            "At 10 ms eight SACK flows use the full bandwidth",
            [_at(UTILISATION, SACK, 10, rate).above(0.95).ours for rate in RATES_MBPS],
            paper="full",
            quote="“with 10ms RTT, we can see that TCP-SACK still uses the full bandwidth” (6.4)",
        ),
        Claim(
            "ha2008.s6.beyond-400",
            "At 10 ms and beyond 400 Mb/s BIC and HSTCP take more than half of SACK's share",
            [each.below(0.5).ours for each in DEPRIVED],
            paper="most",
            quote="“a scalable mode of BIC-TCP and HSTCP will deprive most of bandwidth share of "
            "TCP-SACK” (6.4)",
        ),
        Claim(
            "ha2008.fig10c.friendliness-100ms",
            "SACK's share falls as the rate grows; CUBIC is about as aggressive as BIC, and below "
            "100 Mb/s not less than HSTCP",
            [*FALLING, *LIKE_BIC, *MORE_THAN_HSTCP],
            paper="≈ BIC, ≥ HSTCP",
            quote="“a similar aggressiveness which is slightly more aggressive than HSTCP "
            "especially for the bandwidth less than 100Mbps” (6.4)",
        ),
    ],
)
