"""Response functions: RFC 9438's tables 1 and 2, and RFC 3649's.

RFC 9438 tabulates the average window of Reno, HSTCP and CUBIC over the loss rate: with an RTT of
0.1 s for three values of C (table 1), and of 0.01 s (table 2). "The average window sizes of Reno
TCP and HSTCP are from [RFC3649]. The average window size of CUBIC is calculated using (6) and the
CUBIC Reno-friendly region" (section 5.1).

A flow loses exactly one packet in 1/p, as the formulas have it, and has an ACK for each packet.
Nothing is random. Windows below 20 packets are not compared: packets are whole.

At 0.1 s and p = 1e-3 the table has Reno's 38. There CUBIC passes the window of its last loss well
before the next one, and section 4.3 lets W_est grow by a whole packet per RTT from then on; (6)
and the table do not know that. RFC 3649 gives HSTCP's increase in whole packets, rounded up: from
38 to 118 packets it is 2, where its formula has 1 to 2, so that small windows are larger here.
"""

from typing import NamedTuple

from ackclock import Result, Scenario
from ackclock.figures import Claim, Column, Experiment, Figure, Part, Variant, grid, plots
from ackclock.studies import response

RENO, HSTCP, CUBIC = "reno", "highspeed@rfc3649", "cubic@rfc9438"
SLOW, FAST = f"{CUBIC}:C=0.04", f"{CUBIC}:C=4"
#: Section 4.3 without what is new in it: W_est never grows faster.
CAUTIOUS = f"{CUBIC}:reno_above_prior=0"
NAMES = {
    RENO: "Reno",
    HSTCP: "HSTCP",
    CUBIC: "CUBIC",
    SLOW: "CUBIC, C = 0.04",
    FAST: "CUBIC, C = 4",
    CAUTIOUS: "CUBIC, W_est as RFC 8312's",
}
LOSS_RATES = (1e-3, 1e-4, 1e-5, 1e-6)
#: Algorithm, RTT in ms → the table's windows at these rates.
TABLES = {
    (RENO, 10): (38, 120, 379, 1200),
    (HSTCP, 10): (38, 263, 1795, 12280),
    (CUBIC, 10): (38, 120, 379, 1200),
    (CUBIC, 100): (38, 187, 1054, 5926),
    (SLOW, 100): (38, 120, 593, 3332),
    (FAST, 100): (59, 333, 1874, 10538),
    (CAUTIOUS, 100): (38, 187, 1054, 5926),
}


def _scenario(algorithm: str, rtt_ms: int, loss_rate: float) -> Scenario:
    return response.scenario(algorithm, loss_rate, f"{rtt_ms}ms")


class Row(NamedTuple):
    """Over the last quarter of the losses."""

    mean_packets: float


def row(result: Result) -> Row:
    """The mean window."""
    return Row(response.window(result).mean_packets)


RESPONSES = Experiment(
    "table windows",
    [
        point
        for algorithm, rtt_ms in TABLES
        for point in grid(algorithm=[algorithm], rtt_ms=[rtt_ms], loss_rate=LOSS_RATES)
    ],
    _scenario,
    row,
    seeds=1,
    variants=(
        Variant("ACKs", "one for 2 packets", ["delayed_ack_segments=2"]),
        Variant("hosts", "linux-7", ["profile=linux-7"]),
    ),
    assumed={"*": "as the formulas have it: nothing but the loss rate matters"},
    says={"algorithm": NAMES, "rtt_ms": "{} ms", "loss_rate": "p = {:.0e}"},
)
WINDOW = Column(
    RESPONSES,
    "mean_packets",
    "mean window",
    "packets",
    lambda point: TABLES[point["algorithm"], point["rtt_ms"]][LOSS_RATES.index(point["loss_rate"])],
)


def _as_table(algorithm: str, rtt_ms: int, lowest: int = 0) -> list[Part]:
    """Within 10 % of the table, as the papers' response functions are judged."""
    return [
        WINDOW.at(algorithm=algorithm, rtt_ms=rtt_ms, loss_rate=loss_rate)
        .within(0.9 * packets, 1.1 * packets)
        .ours
        for loss_rate, packets in list(zip(LOSS_RATES, TABLES[algorithm, rtt_ms], strict=True))[
            lowest:
        ]
    ]


def _claim(name: str, says: str, algorithm: str, rtt_ms: int, quote: str) -> Claim:
    parts = _as_table(algorithm, rtt_ms, 1)
    paper = "; ".join(map(str, TABLES[algorithm, rtt_ms][1:]))
    return Claim(f"standards.{name}", says, parts, paper=paper, quote=quote)


FIGURE = Figure(
    plot=plots.curves(
        {
            f"RTT {rtt_ms} ms": {
                NAMES[algorithm]: (
                    plots.line_style(algorithm)
                    | {"linestyle": {SLOW: ":", FAST: "--"}.get(algorithm, "-")},
                    plots.over(WINDOW, "loss_rate", algorithm=algorithm, rtt_ms=rtt_ms),
                )
                for algorithm, rtt in TABLES
                if rtt == rtt_ms and algorithm != CAUTIOUS
            }
            for rtt_ms in (10, 100)
        },
        xlabel="loss rate",
        ylabel="mean window (packets)",
        log_y=True,
        after=lambda axes: axes.set_xscale("log"),
    ),
    quantities=WINDOW.everywhere(),
    claims=[
        _claim(
            "rfc3649.reno",
            "Reno's window is 1.2 / √p",
            RENO,
            10,
            "“1.0e-06: 1200” (RFC 9438, table 1, of RFC 3649)",
        ),
        _claim(
            "rfc3649.hstcp",
            "HSTCP has RFC 3649's windows",
            HSTCP,
            10,
            "“1.0e-06: 12280” (RFC 9438, table 1, of RFC 3649)",
        ),
        _claim("rfc9438.table1", "CUBIC at 0.1 s", CUBIC, 100, "“CUBIC (C=0.4)” (table 1)"),
        _claim("rfc9438.table1-slow", "C = 0.04 at 0.1 s", SLOW, 100, "“CUBIC (C=0.04)” (table 1)"),
        _claim("rfc9438.table1-fast", "C = 4 at 0.1 s", FAST, 100, "“CUBIC (C=4)” (table 1)"),
        _claim("rfc9438.table2", "CUBIC at 0.01 s is Reno", CUBIC, 10, "“CUBIC (C=0.4)” (table 2)"),
        Claim(
            "standards.rfc9438.small-window",
            "At 0.1 s and p = 1e-3 CUBIC has Reno's window",
            _as_table(CUBIC, 100)[:1],
            paper="38",
            quote="“CUBIC (C=0.4)” at 1.0e-03 (table 1)",
            readings={"W_est as in RFC 8312": _as_table(CAUTIOUS, 100)[:1]},
        ),
    ],
)
