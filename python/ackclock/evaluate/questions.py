"""The questions of the scorecard: rows R1 to R16.

They follow the criteria of RFC 9743 (BCP 133), which sets no thresholds, and take parameters of the
common TCP evaluation suite (draft-irtf-iccrg-tcpeval-01) where it has them. Unless a row says
otherwise: a drop-tail link of 50 Mb/s, a base RTT of 50 ms, a buffer of 1 BDP, and 60 s after a
warm-up of 10 s. Flows start within one RTT of each other.
"""

import textwrap
from collections.abc import Sequence
from typing import Any

from ackclock.evaluate.card import ALONE, Number, Question
from ackclock.keys import Frames
from ackclock.scenario import Bottleneck, Flow, Scenario, Session

DURATION = "70s"


def dumbbell(
    algorithm: str,
    *,
    mine: int = 1,
    other: str = "",
    others: int = 0,
    rate: str = "50mbit",
    rtt_ms: float = 50,
    buffer: str = "1bdp",
    duration: str = DURATION,
    link: dict[str, Any] | None = None,
    flow: dict[str, Any] | None = None,
    **fields: Any,
) -> Scenario:
    """Flows of the algorithm, and of another, over one link."""
    settings = {"start_spread": f"{rtt_ms:g}ms"} | (flow or {})
    flows = [Flow(algorithm=algorithm, count=mine, **settings)]
    if others:
        flows.append(Flow(algorithm=other, count=others, start_spread=f"{rtt_ms:g}ms"))
    return Scenario(
        duration=duration,
        rtt=f"{rtt_ms:g}ms",
        bottleneck=Bottleneck(rate=rate, buffer=buffer, **(link or {})),
        flows=tuple(flows),
        **fields,
    )


def _collapse(algorithm: str, path: str) -> Scenario:
    """Random loss, or nothing at all from 10 s on."""
    if path == "black-out":
        link: dict[str, Any] = {"rate_at": [{"time": "10s", "rate": "1kbit"}]}
    else:
        link = {"loss": float(path)}
    return dumbbell(algorithm, link=link)


def _many(algorithm: str) -> Scenario:
    return dumbbell(algorithm, mine=500, rate="10mbit", buffer="0.25bdp")


def _buffers(algorithm: str, buffer: str) -> Scenario:
    return dumbbell(algorithm, buffer=buffer)


def _several(algorithm: str, flows: int, buffer: str) -> Scenario:
    return dumbbell(algorithm, mine=flows, buffer=buffer)


def _joining(algorithm: str, flows: int) -> Scenario:
    """The last flow starts 20 s after the others."""
    before = dumbbell(algorithm, mine=flows - 1, duration="90s")
    late = Flow(algorithm=algorithm, start="20s", start_spread="50ms")
    return before.replace(flows=(*before.flows, late))


def _joining_far(algorithm: str) -> Scenario:
    """As two flows of `_joining`, on a path of 1667 packets."""
    before = dumbbell(algorithm, rate="200mbit", rtt_ms=100, duration="260s")
    late = Flow(algorithm=algorithm, start="60s", start_spread="100ms")
    return before.replace(flows=(*before.flows, late))


def _rtts(algorithm: str, rtt_ms: int) -> Scenario:
    """20 ms beside a longer one."""
    of = dumbbell(algorithm, duration="130s")
    flows = (
        Flow(algorithm=algorithm, rtt="20ms", start_spread="20ms"),
        Flow(algorithm=algorithm, rtt=f"{rtt_ms}ms", start_spread="20ms"),
    )
    return of.replace(flows=flows)


def _short(algorithm: str, size: str, load_percent: int) -> Scenario:
    """One long flow, and transfers of one size at a load, each of many users in turn."""
    users = 20
    sizes = {"10kB": 10e3, "100kB": 100e3, "1MB": 1e6}
    gap_s = users * 8 * sizes[size] * 1.036 / (50e6 * load_percent / 100)
    users_of = Session(algorithm=algorithm, count=users, gap=f"{round(gap_s * 1000)}ms", size=size)
    return dumbbell(algorithm, sessions=(users_of,))


def _mixed(algorithm: str, other: str, mix: str, rate: str, rtt_ms: int, buffer: str) -> Scenario:
    mine, others = map(int, mix.split(":"))
    if algorithm == ALONE:
        return dumbbell(other, mine=others, rate=rate, rtt_ms=rtt_ms, buffer=buffer)
    return dumbbell(
        algorithm, mine=mine, other=other, others=others, rate=rate, rtt_ms=rtt_ms, buffer=buffer
    )


#: Packets of a frame and the time between two: a frame of sound is one packet; 30 frames of video
#: per second are 4.3 Mb/s.
MEDIA = {"sound": ("1448B", "20ms"), "video": ("17376B", "33333us")}


def _media(algorithm: str, media: str, flows: int) -> Scenario:
    """Sound or video over CUBIC, beside flows of the algorithm."""
    size, every = MEDIA[media]
    beside = dumbbell(algorithm, mine=flows, sample_interval="5ms")
    of = Flow(algorithm="cubic", frames=Frames(size=size, every=every), start_spread="50ms")
    return beside.replace(flows=(*beside.flows, of))


def _wireless(algorithm: str, loss: str) -> Scenario:
    if loss == "bursts":
        # Bad for 5 packets in the mean, 0.1 % of all packets find it so.
        of: Any = {"kind": "gilbert_elliott", "p": 0.0002, "r": 0.2}
    else:
        of = float(loss)
    return dumbbell(algorithm, link={"loss": of})


def _aqm(algorithm: str, queue: str, ecn: str) -> Scenario:
    marks: dict[str, Any] = {"off": False, "ECT(0)": True, "accurate": "accurate"}
    parameters = {"kind": queue} | ({} if queue == "dualpi2" else {"ecn": ecn != "off"})
    if queue == "red":
        parameters |= {"adaptive": True, "min": "60kB", "max": "180kB"}
    return dumbbell(
        algorithm,
        mine=4,
        buffer="1000packets",
        link={"queue": parameters},
        flow={"ecn": marks[ecn]},
    )


def _marking(algorithm: str, queue: str) -> Scenario:
    """Beside CUBIC with ECN, on a queue that marks."""
    of = dumbbell(
        "cubic" if algorithm == ALONE else algorithm,
        buffer="1000packets",
        link={"queue": {"kind": queue, "ecn": True}},
        flow={"ecn": True},
    )
    cubic = Flow(algorithm="cubic", ecn=True, start_spread="50ms")
    return of if algorithm == ALONE else of.replace(flows=(*of.flows, cubic))


def _low_latency(algorithm: str, other: str) -> Scenario:
    """Beside CUBIC or Prague on DualPI2, with a receiver that counts marks."""
    link = {"queue": {"kind": "dualpi2"}}
    ecn: Any = "accurate" if other == "prague" else True
    if algorithm == ALONE:
        return dumbbell(other, buffer="1000packets", link=link, flow={"ecn": ecn})
    of = dumbbell(algorithm, buffer="1000packets", link=link, flow={"ecn": "accurate"})
    beside = Flow(algorithm=other, ecn=ecn, start_spread="50ms")
    return of.replace(flows=(*of.flows, beside))


def _varying(algorithm: str, jitter: str) -> Scenario:
    """Each ACK waits a time drawn from 0 to this, and none overtakes another."""
    return dumbbell(algorithm, jitter=jitter)


def _reordering(algorithm: str, percent: float, late_packets: int) -> Scenario:
    """Late by the time that the link needs for so many packets."""
    late_ms = late_packets * 0.24
    return dumbbell(algorithm, link={"reorder": {"p": percent / 100, "delay": f"{late_ms:g}ms"}})


def _slow(algorithm: str, rate: str) -> Scenario:
    return dumbbell(algorithm, rate=rate, rtt_ms=200, buffer="4packets", duration="310s")


def _long(algorithm: str, rate: str, buffer: str) -> Scenario:
    return dumbbell(algorithm, rate=rate, rtt_ms=600, buffer=buffer, duration="130s")


def _liars(algorithm: str, hides: str) -> Scenario:
    """Two flows, the receiver of the first of which lies. Its window of 1 MB ends slow start."""
    ecn = hides == "marks"
    queue: dict[str, Any] = {"queue": {"kind": "codel", "ecn": True}} if ecn else {}
    of: dict[str, Any] = {"ecn": ecn}
    liar = dumbbell(algorithm, link=queue, flow=of | {"hides": hides, "receive_window": "1MB"})
    honest = Flow(algorithm=algorithm, start_spread="50ms", **of)
    return liar.replace(flows=(*liar.flows, honest))


def _steps(algorithm: str, change: str) -> Scenario:
    """At 30 s, for good; a black-out is over after 2 s. The buffer is the BDP of 50 Mb/s."""
    changes: dict[str, dict[str, Any]] = {
        "rate × 10": {"rate_at": [{"time": "30s", "rate": "500mbit"}]},
        "rate ÷ 10": {"rate_at": [{"time": "30s", "rate": "5mbit"}]},
        "RTT × 4": {"delay_at": [{"time": "30s", "delay": "150ms"}]},
        "RTT ÷ 4": {"delay": "38ms", "delay_at": [{"time": "30s", "delay": "0s"}]},
        "black-out of 2 s": {
            "rate_at": [{"time": "30s", "rate": "1kbit"}, {"time": "32s", "rate": "50mbit"}]
        },
    }
    rtt_ms = 12 if change == "RTT ÷ 4" else 50
    return dumbbell(algorithm, rtt_ms=rtt_ms, buffer="208packets", link=changes[change])


def _incast(algorithm: str, senders: int) -> Scenario:
    """Many send 64 kB at once, again and again."""
    return Scenario(
        duration="1s",
        rtt="50us",
        sample_interval="10ms",
        jitter="1us",
        bottleneck=Bottleneck(rate="10gbit", buffer="250kB"),
        flows=(Flow(algorithm=algorithm),),
        sessions=(Session(algorithm=algorithm, count=senders, gap="1ms", size="64kB"),),
    )


BUFFERS = ("0.1bdp", "0.25bdp", "0.5bdp", "1bdp", "2bdp", "4bdp", "8bdp")

QUESTIONS: Sequence[Question] = (
    Question(
        "R1",
        "Does it back off when most is lost?",
        "5.1.1 crucial",
        _collapse,
        {"path": ("0", "0.1", "0.3", "0.5", "black-out")},
        (
            Number(
                "retransmissions per RTT in a black-out",
                "late_retransmissions_per_rtt",
                margin=0.05,
                at={"path": "black-out"},
                unsafe=1.0,
                because="goes on sending where nothing arrives",
            ),
            Number("packets per RTT at 10 % loss", "sent_per_rtt", margin=1.0, at={"path": "0.1"}),
            Number(
                "packets per RTT at 30 % loss",
                "sent_per_rtt",
                margin=1.0,
                at={"path": "0.3"},
                unsafe=10.0,
                because="goes on sending where a third is lost",
            ),
        ),
        quick={"path": ("0.1", "0.3", "black-out")},
    ),
    Question(
        "R2",
        "Do 500 flows fit on 10 Mb/s?",
        "5.1.1 crucial",
        _many,
        {},
        (
            Number(
                "utilisation",
                "utilisation",
                more=True,
                margin=0.02,
                unsafe=0.5,
                because="the link carries less than half",
            ),
            Number(
                "packets lost",
                "loss_percent",
                "%",
                margin=1.0,
                unsafe=50.0,
                because="more than half of what it sends is lost",
            ),
        ),
        seeds=5,
    ),
    Question(
        "R3",
        "Does it fill the link and keep the queue short?",
        "5.1.2 should",
        _buffers,
        {"buffer": BUFFERS},
        (
            Number(
                "utilisation with 0.1 BDP",
                "utilisation",
                more=True,
                margin=0.02,
                at={"buffer": "0.1bdp"},
            ),
            Number(
                "utilisation with 1 BDP",
                "utilisation",
                more=True,
                margin=0.02,
                at={"buffer": "1bdp"},
                unsafe=0.1,
                because="hardly uses the link",
            ),
            Number(
                "queue delay with 1 BDP, p95", "delay_p95_ms", "ms", margin=5, at={"buffer": "1bdp"}
            ),
            Number(
                "queue delay with 4 BDP, p95", "delay_p95_ms", "ms", margin=5, at={"buffer": "4bdp"}
            ),
        ),
        quick={"buffer": ("0.1bdp", "1bdp", "4bdp")},
    ),
    Question(
        "R4",
        "Does it lose few packets, also where several share a small buffer?",
        "5.1.3 should",
        _several,
        {
            "flows": (2, 4, 16, 64),
            "buffer": ("0.1bdp", "0.25bdp", "0.5bdp", "1bdp", "1.5bdp", "2bdp"),
        },
        (
            Number(
                "lost, 4 flows with 0.25 BDP",
                "loss_percent",
                "%",
                margin=0.5,
                at={"flows": 4, "buffer": "0.25bdp"},
                unsafe=5.0,
                because="sustained loss where few flows share a small buffer",
            ),
            Number(
                "lost, 16 flows with 1 BDP",
                "loss_percent",
                "%",
                margin=0.5,
                at={"flows": 16, "buffer": "1bdp"},
            ),
        ),
        quick={"flows": (4, 16), "buffer": ("0.25bdp", "1bdp")},
        seeds=5,
    ),
    Question(
        "R5a",
        "Do its flows share fairly, and soon?",
        "5.1.4 should explore",
        _joining,
        {"flows": (2, 4, 16)},
        (
            Number(
                "time until a newcomer has its share, 2 flows",
                "convergence_s",
                "s",
                margin=1,
                at={"flows": 2},
            ),
            Number("Jain's index, 4 flows", "jain", more=True, margin=0.02, at={"flows": 4}),
        ),
        quick={"flows": (2, 4)},
    ),
    Question(
        "R5b",
        "Does a long RTT get its share?",
        "5.1.4 should explore",
        _rtts,
        {"rtt_ms": (20, 40, 80, 160, 320)},
        (
            Number(
                "slower / faster, 20 v 80 ms",
                "slowest_over_fastest",
                more=True,
                margin=0.05,
                at={"rtt_ms": 80},
            ),
            Number(
                "slower / faster, 20 v 320 ms",
                "slowest_over_fastest",
                more=True,
                margin=0.05,
                at={"rtt_ms": 320},
            ),
        ),
        quick={"rtt_ms": (80, 320)},
    ),
    Question(
        "R5c",
        "Do its flows share soon on a fast, long path?",
        "5.1.4 should explore",
        _joining_far,
        {},
        (
            Number("time until a newcomer has its share, 200 Mb/s", "convergence_s", "s", margin=5),
            Number("Jain's index", "jain", more=True, margin=0.02),
        ),
        seeds=5,
    ),
    Question(
        "R6",
        "How long do short flows wait beside a long one?",
        "5.1.5, 5.2.3 MUST",
        _short,
        {"size": ("10kB", "100kB", "1MB"), "load_percent": (10, 30, 60)},
        (
            Number(
                "slowdown of 100 kB at 30 %, median",
                "slowdown_median",
                "×",
                margin=0.2,
                at={"size": "100kB", "load_percent": 30},
            ),
            Number(
                "slowdown of 100 kB at 30 %, p99",
                "slowdown_p99",
                "×",
                margin=1,
                at={"size": "100kB", "load_percent": 30},
            ),
            Number(
                "the long flow",
                "mine_mbps",
                "Mb/s",
                more=True,
                margin=1,
                at={"size": "100kB", "load_percent": 30},
            ),
        ),
        quick={"size": ("100kB",), "load_percent": (30,)},
        seeds=5,
    ),
    Question(
        "R7",
        "Does it leave standard flows their share?",
        "5.2 MUST",
        _mixed,
        {
            "other": ("cubic", "reno"),
            "mix": ("1:1",),
            "rate": ("5mbit", "20mbit", "50mbit", "200mbit"),
            "rtt_ms": (10, 20, 50, 100, 200),
            "buffer": ("1bdp",),
        },
        (
            Number(
                "harm to a CUBIC flow",
                "others_mbps",
                "%",
                harm=True,
                margin=5,
                at={"other": "cubic", "rate": "50mbit", "rtt_ms": 50},
                unsafe=95,
                because="a CUBIC flow beside it has less than a tenth of its share",
            ),
            Number(
                "harm to a Reno flow",
                "others_mbps",
                "%",
                harm=True,
                margin=5,
                at={"other": "reno", "rate": "50mbit", "rtt_ms": 50},
                unsafe=95,
                because="a Reno flow beside it has less than a tenth of its share",
            ),
            Number("harm over all rates and RTTs", "others_mbps", "%", harm=True, margin=5),
        ),
        alone=True,
        quick={"rate": ("50mbit",), "rtt_ms": (50,)},
        seeds=5,
    ),
    Question(
        "R7b",
        "Also with other buffers, and among many?",
        "5.2 MUST",
        _mixed,
        {
            "other": ("cubic", "reno"),
            "mix": ("1:1", "1:4", "4:1"),
            "rate": ("50mbit",),
            "rtt_ms": (50,),
            "buffer": ("0.1bdp", "0.25bdp", "0.5bdp", "1bdp", "2bdp", "4bdp"),
        },
        (
            Number(
                "harm to 4 CUBIC flows, 0.5 BDP",
                "others_mbps",
                "%",
                harm=True,
                margin=5,
                at={"other": "cubic", "mix": "1:4", "buffer": "0.5bdp"},
                unsafe=90,
                because="one flow takes more than nine tenths of what four CUBIC flows had",
            ),
            Number(
                "harm of 4 to a CUBIC flow, 2 BDP",
                "others_mbps",
                "%",
                harm=True,
                margin=2,
                at={"other": "cubic", "mix": "4:1", "buffer": "2bdp"},
                unsafe=98,
                because="a CUBIC flow beside four has less than a tenth of its share",
            ),
            Number(
                "loss of a CUBIC flow, 0.5 BDP",
                "others_loss_percent",
                "%",
                margin=0.2,
                at={"other": "cubic", "mix": "1:1", "buffer": "0.5bdp"},
            ),
        ),
        alone=True,
        quick={"other": ("cubic",), "buffer": ("0.5bdp", "2bdp")},
        seeds=5,
    ),
    Question(
        "R8",
        "Do sound and video come in time beside it?",
        "5.2.2 SHOULD",
        _media,
        {"media": ("sound", "video"), "flows": (1, 2)},
        (
            Number(
                "delay of a video frame, median",
                "frame_median_ms",
                "ms",
                margin=5,
                at={"media": "video", "flows": 1},
            ),
            Number(
                "delay of a video frame, p95",
                "frame_p95_ms",
                "ms",
                margin=5,
                at={"media": "video", "flows": 1},
            ),
            Number(
                "delay of sound, p95",
                "frame_p95_ms",
                "ms",
                margin=5,
                at={"media": "sound", "flows": 1},
            ),
        ),
        quick={"flows": (1,)},
        seeds=5,
    ),
    Question(
        "R9",
        "Does it bear losses that are no congestion?",
        "6.4",
        _wireless,
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
        "R10",
        "Does it work with AQM and ECN?",
        "7.1 SHOULD",
        _aqm,
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
        _marking,
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
        _low_latency,
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
        _reordering,
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
        _varying,
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
        _slow,
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
        _long,
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
        _liars,
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
        _steps,
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
        "R16",
        "Does it fit a data centre, and incast?",
        "7.11 SHOULD",
        _incast,
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


_PAGE = """# The scorecard

This page is for people who have written a congestion control, or who must decide whether to deploy
one. `ackclock evaluate` asks what RFC 9743 (BCP 133) asks of a new algorithm, and puts each answer
beside those of CUBIC and Reno in the same runs.

```sh
ackclock evaluate my_cc.c --quick                        # half a minute
ackclock evaluate my_cc.c -o out/my_cc                   # narrower intervals; all points
ackclock evaluate my_cc.c --against cubic,reno,bbr       # another algorithm beside it
ackclock evaluate my_cc.c --rows R3,R7                   # some rows
ackclock evaluate my_cc.c --check thresholds.toml        # for continuous integration
```

The terminal shows one line a row. The page (`index.html`) has a figure a row, every number with
its 95 % interval, and the scenario file of each number. `card.json` and `rows.parquet` have the
same for programs. [ci.md](ci.md) shows `--check`. [The league](scorecards/README.md) has the cards
of our own algorithms.

## How to read it

* **better, worse**: the 95 % interval of the paired difference (same seed, the other algorithm in
  the same place) is beyond the margin of the number. **same**: it is not. **mixed**: some numbers
  of the row are better, and others worse.
* **unsafe**: the mean is where nobody should deploy the algorithm. The table below has these
  bounds. They are ours: the RFC sets none, so the card never says that an algorithm complies.
* **harm** is the part of their throughput alone that other flows lose beside the algorithm (Ware
  et al., HotNets 2019). Two equal flows do each other 50 %.
* A number with ">" is of runs that the end cut off.
* If a C file crashes or does not return, the card says so and ends there.

## Beside the simulator: Linux itself

```sh
ackclock evaluate my_cc.c --quick --rows R3 --on kernel --jobs 3   # as root: 4 minutes
ackclock evaluate my_cc.c --quick --rows R3,R10 --on vlinux        # Linux in virtual time
```

With `--on kernel` each row has a second line: the same scenarios on this machine's own TCP stack
([testbed.md](testbed.md)), in real time. The card then measures each number that belongs to one
scenario which the kernel can run: one repeat with `--quick`, otherwise 3. A row's section on the
page says why a number is missing. The kernel runs no sessions (R6, R16), frames (R8), lying
receivers (R14), accurate ECN and links above 4 Gb/s (R16). `card.json` has the kernel's
numbers under `linux`, and `rows.parquet` names the side in the column `on`. All rows beside CUBIC
and Reno are 103 runs of 70 s and more for each repeat (2 h 40 min, or 55 min with `--jobs 3`), so
choose a few with `--rows`. A kernel run that kept time badly is repeated twice; then the row has no
answer. The runs are kept: the same command resumes.

`--on vlinux` does the same with [Linux in virtual time](vlinux.md), without root and without noise.

## The rows

{base}

{table}

Sound and video (R8) are flows of CUBIC whose application writes a frame each so often: one packet
each 20 ms, or 12 packets 30 times a second. The delay of a frame is the time from its writing until
its last byte is acknowledged.

A receiver that lies (R14) acknowledges what never came, or echoes no mark. Other lies gain nothing
from Linux, whose sender counts what is acknowledged: many ACKs of one packet count it once,
repeated ACKs without SACK blocks deliver nothing, and an ACK of what was not yet sent is dropped.

An algorithm with ECN sends what it asks for (R10, R10b, R10c). Off: no packet is ECT. ECT(0): the
receiver echoes marks (RFC 3168). Accurate: the receiver counts marks (RFC 9768). Only an algorithm
that asks for ECT(1) in its C file sends it, as Prague does; DualPI2 has every other flow in its
classic queue. `rows.parquet` has the marked and the dropped packets of each queue and codepoint.

## What is not asked

| question | why |
|---|---|
| deployment, security, tunnels, circuit breakers (5.3, 6.2, 7.2, 8) | no run answers them |
| several paths (7.10) | a flow here has one path |
| Wi-Fi (6.4) as a model of its medium | R9 has its losses, R11b its delays, R15 its rates |
| ECT(1) by any algorithm | RFC 9331 asks for an L4S response first |
| accurate ECN on Linux | Linux before 7.0 does not negotiate it |
| loss of 90 % and 100 % at random (5.1.1) | R1 has 50 %, and a black-out of 60 s |

`make generate` writes this page from `python/ackclock/evaluate/questions.py`.
"""


def markdown() -> str:
    """The page docs/evaluate.md."""
    rows = ["| row | RFC 9743 | question | numbers | unsafe |", "|---|---|---|---|---|"]
    for question in QUESTIONS:
        numbers = "; ".join(
            number.name + (f" ({number.unit})" if number.unit else "")
            for number in question.numbers
        )
        unsafe = "; ".join(
            f"{number.name} {'<' if number.more else '>'} {number.unsafe:g}"
            for number in question.numbers
            if number.unsafe is not None
        )
        cells = [question.row, question.criterion, question.words, numbers, unsafe]
        rows.append("| " + " | ".join(cells) + " |")
    base = " ".join((__doc__ or "").split("\n\n")[1].split())
    return _PAGE.format(base=textwrap.fill(base, 98), table="\n".join(rows))
