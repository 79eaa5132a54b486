"""A scenario on the virtual Linux: what it cannot run there, and what the guest does.

`network.py` has the namespaces, devices and queue disciplines.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ackclock import _core
from ackclock.base.errors import AckclockError
from ackclock.hosts.vlinux import sources
from ackclock.hosts.vlinux.network import (
    Network,
    flow_of,
    is_own,
    kind_of,
    qdisc_of,
    queue_device,
)
from ackclock.hosts.vlinux.sources import SERIES
from ackclock.results import measures
from ackclock.scenario.scenario import KERNEL

#: What an application keeps unsent, bytes. With less it writes in pieces that show in the packets;
#: the simulator's applications have all their data at once.
UNSENT_BYTES = 8 << 20
#: Why there are no thinned ACKs.
#: What `sk_trim_gso_size` leaves of 65 536 bytes; with a larger MSS nothing is sent.
MOST_MSS_BYTES = 65_215
AT_LEAST = "Linux acknowledges every second segment at least"
#: IP and UDP headers of a datagram.
UDP_HEADER_BYTES = 28
#: The highest pacing rate of a flow that only paces, bytes per second.
ANY_RATE = (1 << 63) - 1

#: The algorithms of `guest/kernel.config`, and Reno, which every Linux has.
OF_LINUX = (
    "bbr", "bic", "cdg", "cubic", "dctcp", "highspeed", "htcp", "hybla", "illinois", "lp", "nv",
    "reno", "scalable", "vegas", "veno", "westwood", "yeah",
)  # fmt: skip

#: The first with accurate ECN, and here with DualPI2.
ACCURATE = (7, 0)
#: The first without the loss detection of RFC 6675.
ONLY_RACK = (6, 17)

#: A host's own jitter, which it leaves out. More is part of the path.
MOST_JITTER_NS = 1_000_000


@dataclass(frozen=True)
class Plan:
    """What runs in the machine: a shell script, then the guest's own file."""

    script: str
    guest: str
    #: The kind of each queue.
    queues: tuple[str, ...]
    #: Files of links that Linux has not.
    wires: Mapping[str, bytes]


def profiles(series: str) -> tuple[str, ...]:
    """The profiles of scenarios that a series runs as they are: the last is its own.

    A scenario that says nothing has the default profile, and every series runs it.
    """
    return ("linux-6",) if sources.version(series) < (7, 0) else ("linux-6", "linux-7")


def check(canonical: Mapping[str, Any], series: str = SERIES) -> None:
    """Raises `AckclockError` at the first field that the virtual Linux cannot honour."""
    linux, is_new = f"Linux {series}", sources.version(series) >= ACCURATE
    no_qdisc = {} if is_new else {"dualpi2": f"{linux} has no such qdisc; use --on vlinux:7.3"}
    profile = canonical["profile"]
    mine = profile if profile in profiles(series) else profiles(series)[-1]
    only: dict[str, tuple[Any, Any, str]] = {
        "profile": (profile, mine, f"its TCP is that of {linux}"),
        "hz": (canonical["hz"], 1000, "its kernel has 1000 ticks per second"),
        "mss": (
            max(canonical["mss_bytes"], MOST_MSS_BYTES),
            MOST_MSS_BYTES,
            f"a burst of its TCP has no room for more than {MOST_MSS_BYTES} bytes",
        ),
        "delayed_ack_segments": (
            max(canonical["delayed_ack_segments"], 2),
            2,
            AT_LEAST,
        ),
        "sack_cost": (canonical.get("sack_cost_ns", 0), 0, "computing takes no time there"),
    }
    several = "links" in canonical
    for number, link in enumerate((canonical["bottleneck"], *canonical.get("links", ())), 1):
        name = f"link.{number}." if several else "bottleneck."
        kind = kind_of(link)
        only |= {
            f"{name}limit_packets": (
                _limit(link),
                None,
                "netem has one for a drop_tail queue of as many packets and a constant delay",
            ),
            f"{name}tick": (link.get("tick_ns", 0), 0, "Linux has no such qdisc"),
        }
        only |= _of_own(name, link) | _of_step(name, link, canonical)
        if kind in no_qdisc:
            only[f"{name}queue"] = (kind, None, no_qdisc[kind])
        if kind == "red":
            _check_red(f"{name}queue.", link["queue"]["red"])
    for name, flow in _sources(canonical):
        own = flow["algorithm"].removeprefix(KERNEL)
        if own != flow["algorithm"] and own not in OF_LINUX:
            raise AckclockError(
                f'{name}algorithm = "{flow["algorithm"]}": {linux} has no {own}; '
                f"write kernel: and one of {', '.join(OF_LINUX)}"
            )
        only |= {
            f"{name}profile": (
                flow.get("profile", profiles(series)[-1]),
                profiles(series)[-1],
                f"its TCP is that of {linux}",
            ),
            f"{name}rtt_exponential": (
                flow.get("rtt_exponential_ns", 0) if name.startswith("session") else 0,
                0,
                "its hosts would need another for each transfer",
            ),
            f"{name}initial_ssthresh_packets": (
                flow.get("initial_ssthresh_packets"),
                None,
                "since Linux 3.6 a route has none to give",
            ),
            f"{name}stack": (
                flow.get("stack") or "udp",
                "udp",
                "its hosts have Linux's TCP and UDP",
            ),
            f"{name}delayed_ack_segments": (
                max(flow.get("delayed_ack_segments", 2), 2),
                2,
                AT_LEAST,
            ),
            f"{name}rack": (
                flow.get("rack", True) or sources.version(series) < ONLY_RACK,
                True,
                f"{linux} has no other rule",
            ),
            f"{name}hides": (flow.get("hides", "nothing"), "nothing", "its receivers are honest"),
        }
        if flow.get("ecn") == "accurate" and not is_new:
            only[f"{name}ecn"] = ("accurate", None, f"{linux} does not negotiate it")
    jitter_ns = canonical["jitter_ns"]
    if jitter_ns > MOST_JITTER_NS:
        only["jitter"] = (f"{jitter_ns} ns", None, "its ACKs arrive to the nanosecond")
    for field, (value, able, why) in only.items():
        if value != able:
            raise AckclockError(
                f"{field} = {value}: not on the virtual Linux: {why}; use the simulator"
            )


def _check_red(name: str, red: Mapping[str, Any]) -> None:
    """Raises `AckclockError` at the first parameter that tc or sch_red does not take."""
    log2, high, probability = red["weight_log2"], red["max_bytes"], red["max_p_ppm"] / 1e6
    # `red_check_params`: a threshold has 31 bits, `weight_log2` of them behind the point.
    most = (1 << 31 - log2) - 1
    # iproute2's `tc_red_eval_P`: doubled 31 times, the slope of the probability is more than 1.
    least = (high - red["min_bytes"]) / (1 << 31)
    idle_ns = red["idle_packet_ns"]
    for field, value, takes, able in (
        ("max", f"{high}B", high <= most, f"at most {most}B with weight_log2 = {log2}"),
        ("max_p", probability, probability > least, f"more than {least:.3g}"),
        ("gentle", "true", not red["gentle"], "false"),
        ("idle_packet", f"{idle_ns}ns", idle_ns == 0, "0s"),
    ):
        if not takes:
            raise AckclockError(
                f"{name}{field} = {value}: not on the virtual Linux: its RED takes {able}; "
                "write that, or use the simulator"
            )


def _of_own(name: str, link: Mapping[str, Any]) -> dict[str, tuple[Any, Any, str]]:
    """What a link must be that `guest/link.c` makes."""
    if not is_own(link):
        return {}
    return {f"{name}burst": (link.get("burst_bytes", 0), 0, "a rate of 0 has none there")}


def _of_step(
    name: str, link: Mapping[str, Any], canonical: Mapping[str, Any]
) -> dict[str, tuple[Any, Any, str]]:
    """What packets must be that are counted as bytes."""
    if kind_of(link) != "step" or qdisc_of(link) != "red" or not _differ_in_size(canonical):
        return {}
    threshold = link["queue"]["step"]["threshold_packets"]
    why = "its RED counts bytes, and these packets differ in size"
    return {f"{name}queue.threshold_packets": (threshold, None, why)}


def _differ_in_size(canonical: Mapping[str, Any]) -> bool:
    """Whether queues have full packets of another size than the scenario's, or ACKs."""
    flows = [flow for _, flow in _sources(canonical)]
    acks = any(flow.get("back") or flow["direction"] == "reverse" for flow in flows)
    kept = {(flow.get("mss_bytes"), flow.get("timestamps", True)) for flow in flows}
    return acks or kept != {(None, True)}


def _limit(link: Mapping[str, Any]) -> int | None:
    """A limit of queue and delay that is not netem's own."""
    limit: int | None = link.get("limit_packets")
    more = ("rate_at", "burst_bytes", "delay_at", "delay_jitter")
    if kind_of(link) != "drop_tail" or is_own(link) or any(link.get(key) for key in more):
        return limit
    return limit if link["buffer"].get("packets", 0) < (limit or 0) else None


def _sources(canonical: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Every flow, and those of the sessions, each with the name of its table."""
    for number, flow in enumerate(canonical["flows"], 1):
        yield f"flow.{number}.", flow
    for number, session in enumerate(canonical.get("sessions", ()), 1):
        yield f"session.{number}.", session["flow"]


def make(
    canonical: Mapping[str, Any], resolved: str, modules: Mapping[str, str], series: str = SERIES
) -> Plan:
    """The plan of a scenario in canonical form.

    `modules`: the algorithm of a flow → its name in the kernel.
    Raises `AckclockError` if the virtual Linux cannot honour a field.
    """
    check(canonical, series)
    canonical = _drawn(canonical, resolved)
    network = Network(canonical)
    starts_ns = _core.connects_ns(resolved)
    common_ns = measures.common_ns(canonical, (start_ns // 1000 for start_ns in starts_ns))
    queues = tuple(kind_of(link) for link in network.links)
    guest = [
        f"run {canonical['duration_ns']} {canonical['sample_interval_ns']}",
        "common {} {}".format(*common_ns),
        *(
            f"queue {network.queue_space(number)} {queue_device(number)} "
            f"{'-' if kind == 'drop_tail' else kind}"
            for number, kind in enumerate(map(qdisc_of, network.links), 1)
        ),
    ]
    for number, (flow, start_ns) in enumerate(zip(canonical["flows"], starts_ns, strict=True), 1):
        if flow.get("stack"):
            guest.append(_udp(number, flow, start_ns, canonical, network))
            continue
        guest.append(_flow(number, flow, start_ns, canonical, network, modules))
        guest += _writes(flow, measures.mss_bytes(canonical, flow))
        guest += _reads(flow, measures.mss_bytes(canonical, flow))
    sessions = zip(canonical.get("sessions", ()), _core.connections(resolved), strict=True)
    for number, (session, (start_ns, draws)) in enumerate(sessions, len(starts_ns) + 1):
        flow = {**flow_of(session), "size_bytes": None}
        guest.append(_flow(number, flow, start_ns, canonical, network, modules))
        guest += [f"draw {pause_ns} {'-' if size is None else size}" for pause_ns, size in draws]
    changes = sorted(network.changes(), key=lambda change: change[0])
    guest += [f"at {time_ns} {command}" for time_ns, command in changes]
    return Plan(network.script(), "\n".join(guest) + "\n", queues, network.wires())


def _drawn(canonical: Mapping[str, Any], resolved: str) -> Mapping[str, Any]:
    """The same, each flow with the RTT that the simulator draws for it."""
    rtts_ns = zip(canonical["flows"], _core.rtts_ns(resolved), strict=True)
    flows = [flow | {"rtt_ns": ns, "rtt_exponential_ns": 0} for flow, ns in rtts_ns]
    return {**canonical, "flows": flows}


def _writes(flow: Mapping[str, Any], mss: int) -> Iterator[str]:
    """What its application writes, in whole segments."""
    frames = flow.get("frames")
    for phase in [frames | {"at_ns": 0}] if frames else flow.get("writes", ()):
        size = phase.get("size_bytes")
        fields = [None if size is None else -(-size // mss) * mss]
        fields += [phase.get(key) for key in ("every_ns", "pause_ns")]
        yield " ".join(["write", str(phase["at_ns"]), *map(_or_nothing, fields)])


def _reads(flow: Mapping[str, Any], mss: int) -> Iterator[str]:
    """How fast its reader reads, a segment at a time."""
    if flow.get("read_rate_bps") is not None:
        first = {"time_ns": 0, "rate_bps": flow["read_rate_bps"]}
        for step in (first, *flow.get("read_rate_at", ())):
            yield f"read {step['time_ns']} {step['rate_bps']} {mss}"


def _or_nothing(field: object) -> str:
    return "-" if field is None else str(field)


def _udp(
    number: int,
    flow: Mapping[str, Any],
    start_ns: int,
    canonical: Mapping[str, Any],
    network: Network,
) -> str:
    way, mss = network.way(flow, number), canonical["mss_bytes"]
    datagram = mss + canonical["header_bytes"] - UDP_HEADER_BYTES
    ends = (network.sender(way), network.receiver(way), network.address(way))
    fields: Sequence[object] = [number, *ends, start_ns, flow.get("stop_ns"), datagram, mss]
    return " ".join(["udp", *map(_or_nothing, fields)])


def _flow(
    number: int,
    flow: Mapping[str, Any],
    start_ns: int,
    canonical: Mapping[str, Any],
    network: Network,
    modules: Mapping[str, str],
) -> str:
    name, way = modules[flow["algorithm"]], network.way(flow, number)
    mss = measures.mss_bytes(canonical, flow)
    # Of whole segments, as in the simulator: Linux fills the rest of a window with a short one.
    window, buffer = (
        None if flow.get(key) is None else flow[key] // mss * mss
        for key in ("receive_window_bytes", "send_buffer_bytes")
    )
    held: object = window
    if flow.get("receive_buffer_bytes") is not None:
        held = "tuned"
    elif flow.get("read_rate_bps") is not None:
        held = f"buffer:{window}"
    limit_bps = flow.get("max_pacing_rate_bps", 8 * ANY_RATE if canonical["pacing"] else None)
    fields: Sequence[object] = [
        number,
        network.sender(way),
        network.receiver(way),
        network.address(way),
        name,
        name,
        start_ns,
        flow.get("stop_ns"),
        flow.get("size_bytes"),
        held,
        buffer,
        UNSENT_BYTES,
        limit_bps and limit_bps // 8,
        1 << 18 if flow.get("reads", canonical["reads"]) == "bulk" else 1,
    ]
    return " ".join(["flow", *map(_or_nothing, fields)])
