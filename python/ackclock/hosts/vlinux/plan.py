"""A scenario on the virtual Linux: what the guest does.

`network.py` has the namespaces, devices and queue disciplines.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ackclock import _core
from ackclock.hosts.vlinux import programs, sources
from ackclock.hosts.vlinux.network import (
    NEVER_NS,
    Network,
    flow_of,
    kind_of,
    qdisc_of,
    queue_device,
)
from ackclock.results import measures

#: What an application keeps unsent, bytes. With less it writes in pieces that show in the packets;
#: the simulator's applications have all their data at once, or write when they say.
UNSENT_BYTES, UNSENT_WRITES_BYTES = 8 << 20, 1 << 30
#: How often a run without samples tells how far it is, ns.
PROGRESS_NS = 10**9
#: IP and UDP headers of a datagram.
UDP_HEADER_BYTES = 28
#: The highest pacing rate of a flow that only paces, bytes per second.
ANY_RATE = (1 << 63) - 1


@dataclass(frozen=True)
class Plan:
    """What runs in the machine: lines of the guest's plan, those that make the network first."""

    network: list[str]
    flows: list[str]
    #: The kind of each queue.
    queues: tuple[str, ...]
    #: Files of links that Linux has not.
    wires: Mapping[str, bytes]
    #: The hosts of programs.
    hosts: programs.Hosts | None = None


def profile(series: str) -> str:
    """The profile of a series."""
    return "linux-6" if sources.version(series) < (7, 0) else "linux-7"


def make(canonical: Mapping[str, Any], resolved: str, modules: Mapping[str, str]) -> Plan:
    """The plan of a scenario in canonical form.

    `modules`: the algorithm of a flow → its name in the kernel.
    """
    canonical = _drawn(canonical, resolved)
    network = Network(canonical)
    starts_ns = _core.connects_ns(resolved)
    common_ns = _core.common_ns(canonical, [start_ns // 1000 for start_ns in starts_ns])
    guest = [
        f"run {canonical['duration_ns']} {canonical['sample_interval_ns']}",
        "common {} {}".format(*common_ns),
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
        way = network.way(flow, number)
        for pause_ns, size, rtt_ns in draws:
            delays = network.delays(way, rtt_ns) if way.drawn else ()
            lines = "".join(f"{line};" for line in delays)
            guest.append(f"draw {pause_ns} {'-' if size is None else size} {lines}")
    if network.programs is None:
        return _with_links(network, guest)
    hosts = programs.of_scenario(canonical, network, modules)
    return replace(_with_links(network, [*guest, *hosts.lines()]), hosts=hosts)


def of_programs(canonical: Mapping[str, Any], network: Network, guest: Sequence[str]) -> Plan:
    """The plan of programs, which lines of the guest's plan begin; the last one's end ends it."""
    endless = f"run {NEVER_NS} {canonical['sample_interval_ns'] or PROGRESS_NS}"
    return _with_links(network, [endless, *guest])


def _with_links(network: Network, guest: Sequence[str]) -> Plan:
    """With what the guest does for links: samples of queues, and changes."""
    queues = [
        f"queue {network.queue_space(number)} {queue_device(number)} "
        f"{'-' if kind == 'drop_tail' else kind}"
        for number, kind in enumerate(map(qdisc_of, network.links), 1)
    ]
    changes = sorted(network.changes(), key=lambda change: change[0])
    lines = [*queues, *guest, *(f"at {time_ns} {command}" for time_ns, command in changes)]
    kinds = tuple(kind_of(link) for link in network.links)
    return Plan(network.lines(), lines, kinds, network.wires())


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
        UNSENT_WRITES_BYTES if flow.get("frames") or flow.get("writes") else UNSENT_BYTES,
        limit_bps and limit_bps // 8,
        1 << 18 if flow.get("reads", canonical["reads"]) == "bulk" else 1,
    ]
    return " ".join(["flow", *map(_or_nothing, fields)])
