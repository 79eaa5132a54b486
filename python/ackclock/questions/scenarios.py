"""The scenarios of the scorecard's rows, a function each; its first argument is the algorithm.

They follow the criteria of RFC 9743 (BCP 133), which sets no thresholds, and take parameters of the
common TCP evaluation suite (draft-irtf-iccrg-tcpeval-01) where it has them. Unless a row says
otherwise: a drop-tail link of 50 Mb/s, a base RTT of 50 ms, a buffer of 1 BDP, and 60 s after a
warm-up of 10 s. Flows start within one RTT of each other.
"""

from typing import Any

from ackclock.base import units
from ackclock.questions.card import ALONE
from ackclock.scenario.keys import Frames, Write
from ackclock.scenario.scenario import Bottleneck, Flow, Scenario, Session

DURATION = "70s"
PACKET_BYTES = 1500
#: With a loss from here on the handshake takes half a minute.
MOST_AT_START = 0.9


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


def collapse(algorithm: str, loss: str) -> Scenario:
    """Random loss of data. With 90 % or more no connection opens, so the loss begins later.

    Each packet is then the first of the loss with probability 0.001, and the loss does not end.
    """
    share = float(loss)
    late = {"kind": "gilbert_elliott", "p": 0.001, "r": 1e-9, "h": round(1 - share, 9)}
    return dumbbell(algorithm, link={"loss": late if share >= MOST_AT_START else share})


def many(algorithm: str) -> Scenario:
    return dumbbell(algorithm, mine=500, rate="10mbit", buffer="0.25bdp")


def buffers(algorithm: str, buffer: str) -> Scenario:
    return dumbbell(algorithm, buffer=buffer)


def several(algorithm: str, flows: int, buffer: str) -> Scenario:
    return dumbbell(algorithm, mine=flows, buffer=buffer)


def joining(algorithm: str, flows: int) -> Scenario:
    """The last flow starts 20 s after the others."""
    before = dumbbell(algorithm, mine=flows - 1, duration="90s")
    late = Flow(algorithm=algorithm, start="20s", start_spread="50ms")
    return before.replace(flows=(*before.flows, late))


def joining_far(algorithm: str) -> Scenario:
    """As two flows of `joining`, on a path of 1667 packets."""
    before = dumbbell(algorithm, rate="200mbit", rtt_ms=100, duration="260s")
    late = Flow(algorithm=algorithm, start="60s", start_spread="100ms")
    return before.replace(flows=(*before.flows, late))


def rtts(algorithm: str, rtt_ms: int) -> Scenario:
    """20 ms beside a longer one."""
    of = dumbbell(algorithm, duration="130s")
    flows = (
        Flow(algorithm=algorithm, rtt="20ms", start_spread="20ms"),
        Flow(algorithm=algorithm, rtt=f"{rtt_ms}ms", start_spread="20ms"),
    )
    return of.replace(flows=flows)


def short(algorithm: str, size: str, load_percent: int) -> Scenario:
    """One long flow, and transfers of one size at a load, each of many users in turn."""
    users = 20
    sizes = {"10kB": 10e3, "100kB": 100e3, "1MB": 1e6}
    gap_s = users * 8 * sizes[size] * 1.036 / (50e6 * load_percent / 100)
    users_of = Session(algorithm=algorithm, count=users, gap=f"{round(gap_s * 1000)}ms", size=size)
    return dumbbell(algorithm, sessions=(users_of,))


def mixed(algorithm: str, other: str, mix: str, rate: str, rtt_ms: int, buffer: str) -> Scenario:
    """`buffer` is in BDPs, and at least one packet."""
    mine, others = map(int, mix.split(":"))
    bits = float(buffer.removesuffix("bdp")) * units.rate_bps(rate) * rtt_ms / 1e3
    path: dict[str, Any] = {"rate": rate, "rtt_ms": rtt_ms}
    path["buffer"] = buffer if bits >= 8 * PACKET_BYTES else "1packet"
    if algorithm == ALONE:
        return dumbbell(other, mine=others, **path)
    return dumbbell(algorithm, mine=mine, other=other, others=others, **path)


#: Packets of a frame and the time between two: a frame of sound is one packet; 30 frames of video
#: per second are 4.3 Mb/s.
MEDIA = {"sound": ("1448B", "20ms"), "video": ("17376B", "33333us")}


def media(algorithm: str, media: str, flows: int) -> Scenario:
    """Sound or video over CUBIC, beside flows of the algorithm."""
    size, every = MEDIA[media]
    beside = dumbbell(algorithm, mine=flows, sample_interval="5ms")
    of = Flow(algorithm="cubic", frames=Frames(size=size, every=every), start_spread="50ms")
    return beside.replace(flows=(*beside.flows, of))


def wireless(algorithm: str, loss: str) -> Scenario:
    if loss == "bursts":
        # Bad for 5 packets in the mean, 0.1 % of all packets find it so.
        of: Any = {"kind": "gilbert_elliott", "p": 0.0002, "r": 0.2}
    else:
        of = float(loss)
    return dumbbell(algorithm, link={"loss": of})


def wifi(algorithm: str, path: str) -> Scenario:
    """A stand-in for Wi-Fi: the medium's jitter, a fade, pauses (draft-huitema-ccwg-c4-test).

    Its access point takes 100 ms of its rate. The jitter is of the ACKs. A packet keeps the rate
    with which its service began: in a pause one takes 0.2 s.
    """
    if path == "jitter":
        return dumbbell(algorithm, rate="10mbit", rtt_ms=2, buffer="100ms", jitter="14ms")
    if path == "fades":
        changes = [(at_s + wait_s, rate) for at_s in range(0, 70, 5)
                   for wait_s, rate in ((2.0, "2mbit"), (4.0, "20mbit"))]  # fmt: skip
        rtt_ms, jitter = 80, "2ms"
    else:
        changes = [(at_s + wait_s, rate) for at_s in range(0, 70, 2)
                   for wait_s, rate in ((1.8, "60kbit"), (2, "20mbit"))]  # fmt: skip
        rtt_ms, jitter = 10, "20us"
    rate_at = [{"time": f"{time_s:g}s", "rate": rate} for time_s, rate in changes if time_s < 70]
    link = {"rate_at": rate_at}
    return dumbbell(
        algorithm, rate="20mbit", rtt_ms=rtt_ms, buffer="100ms", link=link, jitter=jitter
    )


def aqm(algorithm: str, queue: str, ecn: str) -> Scenario:
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


def marking(algorithm: str, queue: str) -> Scenario:
    """Beside CUBIC with ECN, on a queue that marks."""
    of = dumbbell(
        "cubic" if algorithm == ALONE else algorithm,
        buffer="1000packets",
        link={"queue": {"kind": queue, "ecn": True}},
        flow={"ecn": True},
    )
    cubic = Flow(algorithm="cubic", ecn=True, start_spread="50ms")
    return of if algorithm == ALONE else of.replace(flows=(*of.flows, cubic))


def low_latency(algorithm: str, other: str) -> Scenario:
    """Beside CUBIC or Prague on DualPI2, with a receiver that counts marks."""
    link = {"queue": {"kind": "dualpi2"}}
    ecn: Any = "accurate" if other == "prague" else True
    if algorithm == ALONE:
        return dumbbell(other, buffer="1000packets", link=link, flow={"ecn": ecn})
    of = dumbbell(algorithm, buffer="1000packets", link=link, flow={"ecn": "accurate"})
    beside = Flow(algorithm=other, ecn=ecn, start_spread="50ms")
    return of.replace(flows=(*of.flows, beside))


def varying(algorithm: str, jitter: str) -> Scenario:
    """Each ACK waits a time drawn from 0 to this, and none overtakes another."""
    return dumbbell(algorithm, jitter=jitter)


def reordering(algorithm: str, percent: float, late_packets: int) -> Scenario:
    """Late by the time that the link needs for so many packets."""
    late_ms = late_packets * 0.24
    return dumbbell(algorithm, link={"reorder": {"p": percent / 100, "delay": f"{late_ms:g}ms"}})


def slow(algorithm: str, rate: str) -> Scenario:
    return dumbbell(algorithm, rate=rate, rtt_ms=200, buffer="4packets", duration="310s")


def long(algorithm: str, rate: str, buffer: str) -> Scenario:
    return dumbbell(algorithm, rate=rate, rtt_ms=600, buffer=buffer, duration="130s")


def liars(algorithm: str, hides: str) -> Scenario:
    """Two flows, the receiver of the first of which lies. Its window of 1 MB ends slow start."""
    ecn = hides == "marks"
    queue: dict[str, Any] = {"queue": {"kind": "codel", "ecn": True}} if ecn else {}
    of: dict[str, Any] = {"ecn": ecn}
    liar = dumbbell(algorithm, link=queue, flow=of | {"hides": hides, "receive_window": "1MB"})
    honest = Flow(algorithm=algorithm, start_spread="50ms", **of)
    return liar.replace(flows=(*liar.flows, honest))


def steps(algorithm: str, change: str) -> Scenario:
    """At 30 s, for good; a black-out is over after 2 s. The buffer is the BDP of 50 Mb/s.

    A packet keeps the rate with which its service began: in a black-out one takes 2 s.
    """
    changes: dict[str, dict[str, Any]] = {
        "rate × 10": {"rate_at": [{"time": "30s", "rate": "500mbit"}]},
        "rate ÷ 10": {"rate_at": [{"time": "30s", "rate": "5mbit"}]},
        "RTT × 4": {"delay_at": [{"time": "30s", "delay": "150ms"}]},
        "RTT ÷ 4": {"delay": "38ms", "delay_at": [{"time": "30s", "delay": "0s"}]},
        "black-out of 2 s": {
            "rate_at": [{"time": "30s", "rate": "6kbit"}, {"time": "32s", "rate": "50mbit"}]
        },
    }
    rtt_ms = 12 if change == "RTT ÷ 4" else 50
    return dumbbell(algorithm, rtt_ms=rtt_ms, buffer="208packets", link=changes[change])


def load(algorithm: str, load: str) -> Scenario:
    """75 of 100 Mb/s of UDP, for good at 40 s or until then (tcpeval, section 5.3).

    The UDP is 30 flows, each of a packet every 4.8 ms, whose receivers hide all losses: nothing
    makes them send less, or anything again.
    """
    times = {"comes": {"start": "40s"}, "goes": {"stop": "40s"}}[load]
    udp = Flow(
        algorithm="reno",
        rtt="2ms",
        frames=Frames(size="1448B", every="4800us"),
        hides="losses",
        start_spread="5ms",
        count=30,
        **times,
    )
    of = dumbbell(algorithm, rate="100mbit", rtt_ms=100, buffer="1024packets", duration="80s")
    return of.replace(flows=(*of.flows, udp))


def pauses(algorithm: str, beside: str) -> Scenario:
    """3 MB every 2 s, which the link carries in half a second; also beside a flow of CUBIC."""
    if algorithm == ALONE:
        return dumbbell("cubic")
    frames = {"frames": Frames(size="3MB", every="2s")}
    return dumbbell(algorithm, other="cubic", others=int(beside == "CUBIC"), flow=frames)


def comes_back(algorithm: str, buffer: str) -> Scenario:
    """Sends 10 MB beside CUBIC, pauses, and sends on in the last second, which is measured."""
    if algorithm == ALONE:
        return dumbbell("cubic", buffer=buffer, duration="11s")
    writes = {"writes": (Write(size="10MB"), Write(at="9950ms")), "start_spread": "0s"}
    return dumbbell(algorithm, other="cubic", others=1, buffer=buffer, duration="11s", flow=writes)


def incast(algorithm: str, senders: int) -> Scenario:
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
