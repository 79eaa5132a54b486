"""Background traffic like that of the papers' testbeds, as sessions of a scenario."""

from ackclock.base import units
from ackclock.scenario.scenario import Session

#: Payload of one source alone on a link that it cannot fill, bit/s. Measured: mean of 5 seeds of
#: 300 s (`tests/scenario/test_traffic.py` checks it).
WEB_BPS, BULK_BPS = 467e3, 5.10e6
#: Bits on the wire per bit of payload in full segments.
OVERHEAD = 1500 / 1448


def background(rate: str, share: float, algorithm: str = "reno") -> tuple[Session, ...]:
    """Surge-like web traffic and Iperf-like bulk traffic in both directions.

    `rate` is that of the link. Web and bulk traffic each offer half of `share` of the link. Beside
    flows that fill the queue they carry less than they offer, because a full queue lengthens the
    RTT and their windows are 64 KB.

    The traffic follows Ha et al. 2008, section 6.1: "a modification of a web-traffic generator,
    called Surge, and Iperf", "a wider range of flow sizes", round-trip times "randomly selected
    from an exponential distribution", socket buffers of 64 KB. Cao and Zhang use the same
    generators. The papers give no more details. Assumed:

    * web and bulk traffic have equal halves;
    * round-trip times are 10 ms + Exp(90 ms);
    * web users pause for Exp(1 s) and fetch 85 kB on average. Sizes are lognormal like the body of
      Surge's files (median 11.6 kB, Barford and Crovella 1998), but with σ = 2 instead of 1.318;
    * Iperf sends transfers of 10 MB.
    """
    wanted_bps = units.rate_bps(rate) * share / 2 / OVERHEAD
    return tuple(
        Session(
            algorithm=algorithm,
            direction=direction,
            rtt="10ms",
            rtt_exponential="90ms",
            receive_window="64KiB",
            count=max(1, round(wanted_bps / source_bps)),
            **kind,
        )
        for direction in ("forward", "reverse")
        for source_bps, kind in (
            (WEB_BPS, {"gap": "1s", "size": "85kB", "lognormal": 2}),
            (BULK_BPS, {"size": "10MB"}),
        )
    )
