"""Rows R9 to R16 of the scorecard: sections 6 and 7 of RFC 9743, paths of every kind."""

from collections.abc import Sequence

from ackclock.evaluate import scenarios
from ackclock.evaluate.card import Number, Question

ROWS: Sequence[Question] = (
    Question(
        "R9",
        "Does it bear losses that are no congestion?",
        "6.4",
        scenarios.wireless,
        {"loss": ("0", "0.00001", "0.0001", "0.001", "0.01", "bursts")},
        (
            Number(
                "utilisation at 0.1 % loss",
                "utilisation",
                more=True,
                margin=0.02,
                at={"loss": "0.001"},
            ),
            Number(
                "utilisation at 1 % loss",
                "utilisation",
                more=True,
                margin=0.02,
                at={"loss": "0.01"},
            ),
        ),
        quick={"loss": ("0.001", "0.01")},
    ),
    Question(
        "R9b",
        "Does it bear Wi-Fi, its jitter, fades and pauses?",
        "6.4",
        scenarios.wifi,
        {"path": ("jitter", "fades", "pauses")},
        (
            Number(
                "utilisation, jitter", "utilisation", more=True, margin=0.02, at={"path": "jitter"}
            ),
            Number(
                "utilisation, fades", "utilisation", more=True, margin=0.02, at={"path": "fades"}
            ),
            Number(
                "utilisation, pauses", "utilisation", more=True, margin=0.02, at={"path": "pauses"}
            ),
        ),
        seeds=5,
    ),
    Question(
        "R10",
        "Does it work with AQM and ECN?",
        "7.1 SHOULD",
        scenarios.aqm,
        {
            "queue": ("codel", "fq_codel", "pie", "red", "dualpi2"),
            "ecn": ("off", "ECT(0)", "accurate"),
        },
        (
            Number(
                "utilisation, CoDel",
                "utilisation",
                more=True,
                margin=0.02,
                at={"queue": "codel", "ecn": "off"},
            ),
            Number(
                "queue delay, CoDel, p95",
                "delay_p95_ms",
                "ms",
                margin=2,
                at={"queue": "codel", "ecn": "off"},
            ),
            Number(
                "queue delay, CoDel with ECN, p95",
                "delay_p95_ms",
                "ms",
                margin=2,
                at={"queue": "codel", "ecn": "ECT(0)"},
                unsafe=100.0,
                because="does not answer marks",
            ),
        ),
        quick={"queue": ("codel",), "ecn": ("off", "ECT(0)")},
        seeds=5,
    ),
    Question(
        "R10b",
        "Does it leave standard flows their share on a queue that marks?",
        "7.1, 5.2 MUST",
        scenarios.marking,
        {"queue": ("codel", "pie")},
        (
            Number(
                "harm to a CUBIC flow with ECN, CoDel",
                "others_mbps",
                "%",
                harm=True,
                margin=5,
                at={"queue": "codel"},
                unsafe=90,
                because="a CUBIC flow beside it has less than a fifth of its share",
            ),
        ),
        alone=True,
        quick={"queue": ("codel",)},
        seeds=5,
    ),
    Question(
        "R10c",
        "Does it leave others their share on a queue for low latency (L4S)?",
        "7.1, 5.2 MUST",
        scenarios.low_latency,
        {"other": ("cubic", "prague")},
        (
            Number(
                "harm to a CUBIC flow with ECN, DualPI2",
                "others_mbps",
                "%",
                harm=True,
                margin=5,
                at={"other": "cubic"},
                unsafe=90,
                because="a CUBIC flow beside it has less than a fifth of its share",
            ),
            Number(
                "harm to a Prague flow, DualPI2",
                "others_mbps",
                "%",
                harm=True,
                margin=5,
                at={"other": "prague"},
                unsafe=90,
                because="a Prague flow beside it has less than a fifth of its share",
            ),
        ),
        alone=True,
        seeds=5,
    ),
    Question(
        "R11",
        "Does it bear reordering?",
        "7.3, 7.7 SHOULD",
        scenarios.reordering,
        {"percent": (0.1, 1, 10), "late_packets": (3, 30, 300)},
        (
            Number(
                "utilisation, 1 % by 30 packets",
                "utilisation",
                more=True,
                margin=0.02,
                at={"percent": 1, "late_packets": 30},
            ),
            Number(
                "retransmitted, 1 % by 30 packets",
                "retransmitted_percent",
                "%",
                margin=0.2,
                at={"percent": 1, "late_packets": 30},
            ),
        ),
        quick={"percent": (1,), "late_packets": (30,)},
        seeds=5,
    ),
    Question(
        "R11b",
        "Does it bear a delay that varies?",
        "7.3 SHOULD",
        scenarios.varying,
        {"jitter": ("2ms", "10ms", "20ms", "60ms")},
        (
            Number(
                "utilisation, 20 ms", "utilisation", more=True, margin=0.02, at={"jitter": "20ms"}
            ),
            Number(
                "utilisation, 60 ms", "utilisation", more=True, margin=0.02, at={"jitter": "60ms"}
            ),
        ),
        quick={"jitter": ("20ms", "60ms")},
        seeds=5,
    ),
    Question(
        "R12",
        "Does it work on very slow paths?",
        "7.4",
        scenarios.slow,
        {"rate": ("64kbit", "250kbit")},
        (
            Number(
                "utilisation at 64 kb/s",
                "utilisation",
                more=True,
                margin=0.02,
                at={"rate": "64kbit"},
            ),
            Number("timeouts at 64 kb/s", "timeouts", margin=2, at={"rate": "64kbit"}),
        ),
    ),
    Question(
        "R13",
        "Does it work on very long paths?",
        "7.5",
        scenarios.long,
        {"rate": ("40mbit", "250mbit"), "buffer": ("0.25bdp", "1bdp")},
        (
            Number(
                "time to fill 250 Mb/s at 600 ms",
                "full_s",
                "s",
                margin=1,
                at={"rate": "250mbit", "buffer": "1bdp"},
            ),
            Number(
                "utilisation with 1 BDP",
                "utilisation",
                more=True,
                margin=0.02,
                at={"rate": "250mbit", "buffer": "1bdp"},
            ),
            Number(
                "utilisation with 0.25 BDP",
                "utilisation",
                more=True,
                margin=0.02,
                at={"rate": "250mbit", "buffer": "0.25bdp"},
            ),
        ),
        quick={"rate": ("250mbit",)},
        seeds=5,
    ),
    Question(
        "R14",
        "What does a receiver that lies leave to an honest one?",
        "7.6 SHOULD explore",
        scenarios.liars,
        {"hides": ("losses", "marks")},
        (
            Number(
                "the honest flow beside hidden losses",
                "others_mbps",
                "Mb/s",
                more=True,
                margin=1,
                at={"hides": "losses"},
            ),
            Number(
                "the honest flow beside hidden marks",
                "others_mbps",
                "Mb/s",
                more=True,
                margin=1,
                at={"hides": "marks"},
            ),
        ),
        seeds=5,
    ),
    Question(
        "R15",
        "Does it follow sudden changes of the path?",
        "7.8, 7.9 MUST",
        scenarios.steps,
        {"change": ("rate × 10", "rate ÷ 10", "RTT × 4", "RTT ÷ 4", "black-out of 2 s")},
        (
            Number(
                "utilisation, rate × 10",
                "utilisation",
                more=True,
                margin=0.02,
                at={"change": "rate × 10"},
            ),
            Number(
                "packets lost, rate ÷ 10",
                "loss_percent",
                "%",
                margin=0.2,
                at={"change": "rate ÷ 10"},
            ),
            Number(
                "utilisation, black-out of 2 s",
                "utilisation",
                more=True,
                margin=0.02,
                at={"change": "black-out of 2 s"},
            ),
        ),
        quick={"change": ("rate × 10", "rate ÷ 10", "black-out of 2 s")},
        seeds=5,
    ),
    Question(
        "R15b",
        "Does it give way to a sudden load, and take what it leaves?",
        "7.8 SHOULD",
        scenarios.load,
        {"load": ("comes", "goes")},
        (
            Number(
                "UDP lost, 75 % of the link come",
                "others_loss_percent",
                "%",
                margin=0.2,
                at={"load": "comes"},
            ),
            Number(
                "utilisation, 75 % go",
                "utilisation",
                more=True,
                margin=0.02,
                at={"load": "goes"},
            ),
        ),
        seeds=5,
    ),
    Question(
        "R16",
        "Does it fit a data centre, and incast?",
        "7.11 SHOULD",
        scenarios.incast,
        {"senders": (8, 32, 128)},
        (
            Number(
                "64 kB, 32 senders, p99", "completion_p99_ms", "ms", margin=1, at={"senders": 32}
            ),
            Number(
                "slowdown, 128 senders, median",
                "slowdown_median",
                "×",
                margin=1,
                at={"senders": 128},
            ),
        ),
        quick={"senders": (32, 128)},
        seeds=5,
    ),
)
