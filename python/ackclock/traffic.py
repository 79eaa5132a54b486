"""Background traffic as the papers' testbeds had it, as sessions of a scenario."""

from ackclock import units
from ackclock.scenario import Session

#: What one source carries alone on a link that it cannot fill, payload in bit/s: measured, mean
#: of 5 seeds of 300 s (`tests/test_traffic.py` holds it).
WEB_BPS, BULK_BPS = 467e3, 5.10e6
#: Bits on the wire per bit of payload in full segments.
OVERHEAD = 1500 / 1448


def background(rate: str, share: float, algorithm: str = "reno") -> tuple[Session, ...]:
    """Surge-like web traffic and Iperf-like bulk, each half of `share` of a link, both ways.

    After Ha et al. 2008, section 6.1 ("a modification of a web-traffic generator, called Surge,
    and Iperf", "a wider range of flow sizes", round-trip times "randomly selected from an
    exponential distribution", socket buffers of 64 KB), which Cao et al. follow. The papers give
    no more. Assumed: halves; round-trip times of 10 ms + Exp(90 ms); web users who pause for
    Exp(1 s) and fetch 85 kB on average, lognormal like the body of Surge's files (median 11.6 kB,
    Barford and Crovella 1998) but with σ = 2 instead of 1.318; Iperf in transfers of 10 MB.

    `share` is what the sources offer alone. Beside flows that fill the queue they carry less,
    since a window of 64 KB then lasts for more than a round trip.
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
