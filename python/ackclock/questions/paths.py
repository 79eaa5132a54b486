"""Rows R9 to R16 of the scorecard: sections 6 and 7 of RFC 9743, paths of every kind."""

from collections.abc import Sequence

from ackclock.questions import scenarios
from ackclock.questions.card import Question, measured, used

ROWS: Sequence[Question] = (
    Question(
        "R9",
        "Does it bear losses that are no congestion?",
        "6.4",
        scenarios.wireless,
        {"loss": ("0", "0.00001", "0.0001", "0.001", "0.01", "bursts")},
        (
            used("utilisation at 0.1 % loss", loss="0.001"),
            used("utilisation at 1 % loss", loss="0.01"),
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
            used("utilisation, jitter", path="jitter"),
            used("utilisation, fades", path="fades"),
            used("utilisation, pauses", path="pauses"),
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
            used("utilisation, CoDel", queue="codel", ecn="off"),
            measured("queue delay, CoDel, p95", "delay_p95_ms", 2, queue="codel", ecn="off"),
            measured(
                "queue delay, CoDel with ECN, p95", "delay_p95_ms", 2, queue="codel", ecn="ECT(0)"
            ).unsafe_from(100.0, "does not answer marks"),
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
            measured(
                "harm to a CUBIC flow with ECN, CoDel", "harm_percent", 5, queue="codel"
            ).unsafe_from(90, "a CUBIC flow beside it has less than a fifth of its share"),
        ),
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
            measured(
                "harm to a CUBIC flow with ECN, DualPI2", "harm_percent", 5, other="cubic"
            ).unsafe_from(90, "a CUBIC flow beside it has less than a fifth of its share"),
            measured(
                "harm to a Prague flow, DualPI2", "harm_percent", 5, other="prague"
            ).unsafe_from(90, "a Prague flow beside it has less than a fifth of its share"),
        ),
        seeds=5,
    ),
    Question(
        "R11",
        "Does it bear reordering?",
        "7.3, 7.7 SHOULD",
        scenarios.reordering,
        {"percent": (0.1, 1, 10), "late_packets": (3, 30, 300)},
        (
            used("utilisation, 1 % late by 30 packets", percent=1, late_packets=30),
            measured(
                "retransmitted, 1 % late by 30 packets",
                "retransmitted_percent",
                0.2,
                percent=1,
                late_packets=30,
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
            used("utilisation, ACKs late by up to 20 ms", jitter="20ms"),
            used("utilisation, ACKs late by up to 60 ms", jitter="60ms"),
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
            used("utilisation at 64 kb/s", rate="64kbit"),
            measured("timeouts at 64 kb/s", "timeouts", 2, rate="64kbit"),
        ),
    ),
    Question(
        "R13",
        "Does it work on very long paths?",
        "7.5",
        scenarios.long,
        {"rate": ("40mbit", "250mbit"), "buffer": ("0.25bdp", "1bdp")},
        (
            measured("time to fill 250 Mb/s at 600 ms", "full_s", 1, rate="250mbit", buffer="1bdp"),
            used("utilisation with 1 BDP", rate="250mbit", buffer="1bdp"),
            used("utilisation with 0.25 BDP", rate="250mbit", buffer="0.25bdp"),
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
            measured("honest flow, the other hides losses", "others_mbps", 1, hides="losses"),
            measured("honest flow, the other hides marks", "others_mbps", 1, hides="marks"),
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
            used("utilisation, rate × 10", change="rate × 10"),
            measured("packets lost, rate ÷ 10", "loss_percent", 0.2, change="rate ÷ 10"),
            used("utilisation, black-out of 2 s", change="black-out of 2 s"),
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
            measured("UDP lost as it comes with 75 %", "others_loss_percent", 0.2, load="comes"),
            used("utilisation after 75 % UDP goes", load="goes"),
        ),
        seeds=5,
    ),
    Question(
        "R15c",
        "Does it behave when its application has paused?",
        "7.8 SHOULD",
        scenarios.pauses,
        {"beside": ("nobody", "CUBIC")},
        (
            measured("time of 3 MB every 2 s, median", "frame_median_ms", 50, beside="nobody"),
            measured("packets lost", "loss_percent", 0.2, beside="nobody").unsafe_from(
                10.0, "each pause ends in a burst that the buffer cannot hold"
            ),
            measured("harm to a CUBIC flow", "harm_percent", 5, beside="CUBIC").unsafe_from(
                90, "a flow that uses a quarter of the link takes nine tenths of it"
            ),
        ),
        seeds=5,
    ),
    Question(
        "R15d",
        "Does it share from the first second after a pause?",
        "7.8 SHOULD",
        scenarios.comes_back,
        {"buffer": ("1bdp", "4bdp")},
        tuple(
            measured(
                f"harm to a CUBIC flow, {bdp} BDP", "harm_percent", 5, buffer=f"{bdp}bdp"
            ).unsafe_from(75, "a CUBIC flow has less than half of its share in that second")
            for bdp in (1, 4)
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
            measured("time of 64 kB, 32 senders, p99", "completion_p99_ms", 1, senders=32),
            measured("slowdown of 64 kB, 128 senders, median", "slowdown_median", 1, senders=128),
        ),
        quick={"senders": (32, 128)},
        seeds=5,
    ),
)
