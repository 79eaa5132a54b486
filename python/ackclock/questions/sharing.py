"""Rows R1 to R8 of the scorecard: sections 5.1 and 5.2 of RFC 9743, the link and its flows."""

from collections.abc import Sequence

from ackclock.questions import scenarios
from ackclock.questions.card import Question, measured, used

BUFFERS = ("0.1bdp", "0.25bdp", "0.5bdp", "1bdp", "2bdp", "4bdp", "8bdp")
#: The algorithms of the standards track.
STANDARD = ("cubic", "reno")
#: Where the algorithm meets others (R7, R7b), and the first cell of a quick run.
GRID = {
    "rate": ("5mbit", "20mbit", "50mbit", "100mbit", "200mbit"),
    "rtt_ms": (10, 20, 50, 100, 200),
    "buffer": ("0.1bdp", "0.25bdp", "0.5bdp", "1bdp", "2bdp", "4bdp"),
}
BASE = {"rate": "50mbit", "rtt_ms": 50, "buffer": "1bdp"}

ROWS: Sequence[Question] = (
    Question(
        "R1",
        "Does it back off when most is lost?",
        "5.1.1 crucial",
        scenarios.collapse,
        {"loss": ("0", "0.1", "0.3", "0.5", "0.9", "1")},
        (
            measured(
                "retransmissions per RTT, all lost", "late_retransmissions_per_rtt", 0.05, loss="1"
            ).unsafe_from(1.0, "goes on sending where nothing arrives"),
            measured(
                "retransmissions per RTT, 90 % lost",
                "late_retransmissions_per_rtt",
                1.0,
                loss="0.9",
            ).unsafe_from(10.0, "goes on sending where a tenth arrives"),
            measured("packets per RTT, 30 % lost", "sent_per_rtt", 1.0, loss="0.3").unsafe_from(
                10.0, "goes on sending where a third is lost"
            ),
            measured("packets per RTT, 10 % lost", "sent_per_rtt", 1.0, loss="0.1"),
            measured(
                "each wait to retransmit / the one before, all lost", "backoff", 0.2, loss="1"
            ).unsafe_from(1.5, "does not wait longer each time where nothing arrives"),
        ),
        quick={"loss": ("0.1", "0.3", "0.9", "1")},
    ),
    Question(
        "R2",
        "Do 500 flows fit on 10 Mb/s?",
        "5.1.1 crucial",
        scenarios.many,
        {},
        (
            used("utilisation").unsafe_from(0.5, "the link carries less than half"),
            measured("packets lost", "loss_percent", 1.0).unsafe_from(
                50.0, "more than half of what it sends is lost"
            ),
        ),
        seeds=5,
    ),
    Question(
        "R3",
        "Does it fill the link and keep the queue short?",
        "5.1.2 should",
        scenarios.buffers,
        {"buffer": BUFFERS},
        (
            used("utilisation with 0.1 BDP", buffer="0.1bdp"),
            used("utilisation with 1 BDP", buffer="1bdp").unsafe_from(0.1, "hardly uses the link"),
            measured("queue delay with 1 BDP, p95", "delay_p95_ms", 5, buffer="1bdp"),
            measured("queue delay with 4 BDP, p95", "delay_p95_ms", 5, buffer="4bdp"),
        ),
        quick={"buffer": ("0.1bdp", "1bdp", "4bdp")},
    ),
    Question(
        "R4",
        "Does it lose few packets, also where several share a small buffer?",
        "5.1.3 should",
        scenarios.several,
        {
            "flows": (2, 4, 16, 64),
            "buffer": ("0.1bdp", "0.25bdp", "0.5bdp", "1bdp", "1.5bdp", "2bdp"),
        },
        (
            measured(
                "packets lost, 4 flows with 0.25 BDP",
                "loss_percent",
                0.5,
                flows=4,
                buffer="0.25bdp",
            ).unsafe_from(5.0, "sustained loss where few flows share a small buffer"),
            measured(
                "packets lost, 16 flows with 1 BDP", "loss_percent", 0.5, flows=16, buffer="1bdp"
            ),
        ),
        quick={"flows": (4, 16), "buffer": ("0.25bdp", "1bdp")},
        seeds=5,
    ),
    Question(
        "R5a",
        "Do its flows share fairly, and soon?",
        "5.1.4 should explore",
        scenarios.joining,
        {"flows": (2, 4, 16)},
        (
            measured("time until a newcomer has its share, 2 flows", "convergence_s", 1, flows=2),
            measured("Jain's index, 4 flows", "jain", 0.02, flows=4),
        ),
        quick={"flows": (2, 4)},
    ),
    Question(
        "R5b",
        "Does a long RTT get its share?",
        "5.1.4 should explore",
        scenarios.rtts,
        {"rtt_ms": (20, 40, 80, 160, 320)},
        (
            measured(
                "slower / faster flow, RTTs of 20 and 80 ms",
                "slowest_over_fastest",
                0.05,
                rtt_ms=80,
            ),
            measured(
                "slower / faster flow, RTTs of 20 and 320 ms",
                "slowest_over_fastest",
                0.05,
                rtt_ms=320,
            ),
        ),
        quick={"rtt_ms": (80, 320)},
    ),
    Question(
        "R5c",
        "Do its flows share soon on a fast, long path?",
        "5.1.4 should explore",
        scenarios.joining_far,
        {},
        (
            measured("time until a newcomer has its share, 200 Mb/s", "convergence_s", 5),
            measured("Jain's index", "jain", 0.02),
        ),
        seeds=5,
    ),
    Question(
        "R6",
        "How long do short flows wait beside a long one?",
        "5.1.5, 5.2.3 MUST",
        scenarios.short,
        {"size": ("10kB", "100kB", "1MB"), "load_percent": (10, 30, 60)},
        (
            measured(
                "slowdown of 100 kB, 30 % load, median",
                "slowdown_median",
                0.2,
                size="100kB",
                load_percent=30,
            ),
            measured(
                "slowdown of 100 kB, 30 % load, p99",
                "slowdown_p99",
                1,
                size="100kB",
                load_percent=30,
            ),
            measured("throughput of the long flow", "mine_mbps", 1, size="100kB", load_percent=30),
        ),
        quick={"size": ("100kB",), "load_percent": (30,)},
        seeds=5,
    ),
    Question(
        "R7",
        "Does it leave CUBIC, Reno and BBR flows their share?",
        "5.2 MUST",
        scenarios.mixed,
        {"other": ("cubic", "reno", "bbr"), "mix": ("1:1",), **GRID},
        (
            *(
                measured(
                    f"harm to a {name} flow", "harm_percent", 5, other=other, **BASE
                ).unsafe_from(95, f"a {name} flow beside it has less than a tenth of its share")
                for other, name in (("cubic", "CUBIC"), ("reno", "Reno"), ("bbr", "BBR"))
            ),
            measured(
                "harm to a Reno flow, RTT 200 ms",
                "harm_percent",
                5,
                other="reno",
                **BASE | {"rtt_ms": 200},
            ).unsafe_from(95, "a Reno flow beside it has less than a tenth of its share"),
            measured("mean harm to CUBIC and Reno, all cells", "harm_percent", 5, other=STANDARD),
            measured(
                "mean time below a tenth of a share, all cells",
                "others_starved_percent",
                2,
                other=STANDARD,
            ),
            measured(
                "queue delay with a CUBIC flow, p95", "delay_p95_ms", 5, other="cubic", **BASE
            ),
        ),
        quick={**{key: (value,) for key, value in BASE.items()}, "rtt_ms": (50, 200)},
        seeds=5,
        shown=("other", "rate", "rtt_ms"),
    ),
    Question(
        "R7b",
        "Also one beside four, and four beside one?",
        "5.2 MUST",
        scenarios.mixed,
        {"other": ("cubic", "reno", "bbr"), "mix": ("1:1", "1:4", "4:1"), **GRID},
        (
            measured(
                "harm to 4 CUBIC flows, 0.5 BDP",
                "harm_percent",
                5,
                other="cubic",
                mix="1:4",
                **BASE | {"buffer": "0.5bdp"},
            ).unsafe_from(90, "one flow takes more than nine tenths of what four CUBIC flows had"),
            measured(
                "harm of 4 to a CUBIC flow, 2 BDP",
                "harm_percent",
                2,
                other="cubic",
                mix="4:1",
                **BASE | {"buffer": "2bdp"},
            ).unsafe_from(98, "a CUBIC flow beside four has less than a tenth of its share"),
            measured(
                "loss of a CUBIC flow, 0.5 BDP",
                "others_loss_percent",
                0.2,
                other="cubic",
                mix="1:1",
                **BASE | {"buffer": "0.5bdp"},
            ),
            measured(
                "mean harm of 1 to 4 CUBIC or Reno, all cells",
                "harm_percent",
                5,
                other=STANDARD,
                mix="1:4",
            ),
            measured(
                "mean harm of 4 to 1 CUBIC or Reno, all cells",
                "harm_percent",
                2,
                other=STANDARD,
                mix="4:1",
            ),
        ),
        quick={
            "other": ("cubic",),
            **{key: (BASE[key],) for key in ("rate", "rtt_ms")},
            "buffer": ("0.5bdp", "2bdp"),
        },
        seeds=3,
        shown=("other", "mix", "buffer"),
    ),
    Question(
        "R8",
        "Do sound and video come in time beside it?",
        "5.2.2 SHOULD",
        scenarios.media,
        {"media": ("sound", "video"), "flows": (1, 2)},
        (
            measured(
                "delay of a video frame, median", "frame_median_ms", 5, media="video", flows=1
            ),
            measured("delay of a video frame, p95", "frame_p95_ms", 5, media="video", flows=1),
            measured("delay of sound, p95", "frame_p95_ms", 5, media="sound", flows=1),
        ),
        quick={"flows": (1,)},
        seeds=5,
    ),
)
