"""The network of a scenario in the virtual Linux: namespaces, veth pairs and queue disciplines.

    s1 ──── r ─[bottleneck]──── d

The senders with the same RTT and ECN share a namespace (s1, s2, …); all receivers are in d. The
queue of the link is the root qdisc of `bottleneck` in r: a netem with a rate and a limit, which is
an exact drop-tail FIFO, or a tbf with an AQM below it. The whole RTT of a flow is a netem on the
way back. All of it counts IP bytes: the 14 bytes of an Ethernet header are taken off, or added.
"""

import json
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ackclock import _core
from ackclock.errors import AckclockError

ETHERNET_BYTES = 14
#: Packets of a queue that is never full.
NEVER_FULL = 10_000_000
#: What an application keeps unsent, bytes. With less it writes in pieces that show in the packets;
#: the simulator's applications have all their data at once.
UNSENT_BYTES = 8 << 20
#: Of one that stops: 10 ms of its rate, in these limits, so that little is left to send.
LEAST_UNSENT, MOST_UNSENT = 1 << 14, 1 << 18
#: A host's own jitter, which it leaves out. More is part of the path.
MOST_JITTER_NS = 1_000_000
#: Half of this much memory for data is more than any window here.
SOCKET_BYTES = 1 << 30


@dataclass(frozen=True)
class Plan:
    """What runs in the machine: a shell script, then the guest's own file."""

    script: str
    guest: str
    #: Whether the queue is an AQM.
    aqm: bool


def check(canonical: Mapping[str, Any]) -> None:
    """Raises `AckclockError` at the first field that the virtual Linux cannot honour."""
    link = canonical["bottleneck"]
    (kind, _), *_ = _queue(link).items()
    only: dict[str, tuple[Any, Any, str]] = {
        "profile": (canonical["profile"], "linux-6", "its TCP is that of Linux 6.12"),
        "hz": (canonical["hz"], 1000, "its kernel has 1000 ticks per second"),
        "sack_cost": (canonical.get("sack_cost_ns", 0), 0, "computing takes no time there"),
        "[[link]]": (len(canonical.get("links", ())), 0, "it has one link so far"),
        "[[session]]": (len(canonical.get("sessions", ())), 0, "it has no sessions so far"),
        "bottleneck.drop_every_packets": (
            link.get("drop_every_packets"),
            None,
            "netem has no such thing",
        ),
        "bottleneck.burst": (link.get("burst_bytes", 0), 0, "its link is a wire"),
        "bottleneck.duplicate": (link.get("duplicate_ppb", 0), 0, "it copies nothing so far"),
        "bottleneck.reorder": (link.get("reorder"), None, "it reorders nothing so far"),
        "bottleneck.policer": (link.get("policer"), None, "it has no policer so far"),
        "bottleneck.trace": (link.get("trace_ms"), None, "Linux has no such qdisc"),
        "bottleneck.tick": (link.get("tick_ns", 0), 0, "Linux has no such qdisc"),
        "bottleneck.delay_at": (link.get("delay_at", []), [], "its delay is constant so far"),
    }
    for number, flow in enumerate(canonical["flows"], 1):
        name = f"flow.{number}."
        only |= {
            f"{name}direction": (flow["direction"], "forward", "its data goes one way so far"),
            f"{name}route": (flow.get("route", []), [], "it has one link so far"),
            f"{name}back": (flow.get("back", []), [], "its ACKs pass no queue so far"),
            f"{name}rtt_exponential": (
                flow.get("rtt_exponential_ns", 0),
                0,
                "only the simulator draws delays",
            ),
            f"{name}initial_ssthresh_packets": (
                flow.get("initial_ssthresh_packets"),
                None,
                "Linux starts without one",
            ),
            f"{name}frames": (flow.get("frames"), None, "its applications always have data"),
            f"{name}hides": (flow.get("hides", "nothing"), "nothing", "its receivers are honest"),
        }
        if flow.get("ecn") == "accurate":
            raise AckclockError(
                _refused(f"{name}ecn", "accurate", "Linux 6.12 does not negotiate it")
            )
    for field, (value, able, why) in only.items():
        if value != able:
            raise AckclockError(_refused(field, value, why))
    if kind in ("step", "dualpi2"):
        raise AckclockError(_refused("bottleneck.queue", kind, "Linux 6.12 has no such qdisc"))
    if canonical["jitter_ns"] > MOST_JITTER_NS:
        why = "its ACKs arrive to the nanosecond"
        raise AckclockError(_refused("jitter", f"{canonical['jitter_ns']} ns", why))
    if link.get("loss") and (
        kind != "drop_tail" or "bernoulli" not in link["loss"] or link.get("rate_at")
    ):
        raise AckclockError(
            _refused(
                "bottleneck.loss",
                json.dumps(link["loss"]),
                "only a drop-tail queue of constant rate loses there, "
                "each packet with the same probability",
            )
        )


def _refused(field: str, value: object, why: str) -> str:
    return f"{field} = {value}: not on the virtual Linux: {why}; use the simulator"


def make(canonical: Mapping[str, Any], resolved: str, modules: Mapping[str, str]) -> Plan:
    """The plan of a scenario in canonical form.

    `modules`: the algorithm of a flow → its name in the kernel.
    Raises `AckclockError` if the virtual Linux cannot honour a field.
    """
    check(canonical)
    hosts = _hosts(canonical)
    link = canonical["bottleneck"]
    wire_bytes = canonical["mss_bytes"] + canonical["header_bytes"]
    lines = [*_globals(), *_devices(canonical, hosts, wire_bytes), *_qdiscs(link, wire_bytes)]
    starts_ns = _core.connects_ns(resolved)
    kind, *_ = _queue(link)
    guest = [
        f"run {canonical['duration_ns']} {canonical['sample_interval_ns']}",
        f"queue r bottleneck {'-' if kind == 'drop_tail' else kind}",
    ]
    for number, (flow, start_ns) in enumerate(zip(canonical["flows"], starts_ns, strict=True), 1):
        guest.append(_flow(number, flow, start_ns, canonical, hosts, modules))
    for step in link.get("rate_at", ()):
        change = f"tc -n r qdisc change dev bottleneck root {_tbf(step['rate_bps'], wire_bytes)}"
        guest.append(f"at {step['time_ns']} {change}")
    return Plan("\n".join(lines) + "\n", "\n".join(guest) + "\n", kind != "drop_tail")


def _queue(link: Mapping[str, Any]) -> Mapping[str, Any]:
    """Kind → parameters."""
    queue = link.get("queue", "drop_tail")
    return {queue: {}} if isinstance(queue, str) else queue


#: RTT in ns, whether it uses ECN → the namespace of such senders.
Hosts = Mapping[tuple[int, bool], str]


def _hosts(canonical: Mapping[str, Any]) -> Hosts:
    keys = dict.fromkeys(_host_of(flow) for flow in canonical["flows"])
    return {key: f"s{number}" for number, key in enumerate(keys, 1)}


def _host_of(flow: Mapping[str, Any]) -> tuple[int, bool]:
    return flow["rtt_ns"], bool(flow.get("ecn"))


def _globals() -> list[str]:
    """What all namespaces share."""
    settings = {
        "net/core/netdev_max_backlog": NEVER_FULL,
        "net/core/rmem_max": 2**31 - 1,
        "net/core/wmem_max": 2**31 - 1,
        "net/ipv4/tcp_mem": "100000000 100000000 100000000",
    }
    return ["set -e", *(f'echo "{value}" > /proc/sys/{name}' for name, value in settings.items())]


def _devices(canonical: Mapping[str, Any], hosts: Hosts, wire_bytes: int) -> list[str]:
    """Namespaces, veth pairs with fixed neighbours, and the delay on the way back."""
    delay_ns = canonical["bottleneck"].get("delay_ns", 0)
    # One ACK per packet is a route's own feature of Linux.
    quick = " quickack 1" if canonical["delayed_ack_segments"] == 1 else ""
    lines = [f"ip netns add {name}" for name in ("r", "d", *hosts.values())]
    lines += _pair("r", "bottleneck", "10.255.0.2", "d", "receiver", "10.255.0.1", 0xFF, wire_bytes)
    lines += [
        "ip -n d route add default via 10.255.0.2" + quick,
        "ip netns exec r sh -c 'echo 1 > /proc/sys/net/ipv4/ip_forward'",
    ]
    for number, ((rtt_ns, ecn), name) in enumerate(hosts.items(), 1):
        lines += _pair(
            name,
            "sender",
            f"10.0.{number}.1",
            "r",
            f"r{number}",
            f"10.0.{number}.2",
            number,
            wire_bytes,
        )
        delay_ms = (rtt_ns + delay_ns) / 1e6
        lines += [
            f"ip -n {name} route add default via 10.0.{number}.2",
            f"tc -n r qdisc add dev r{number} root netem limit {NEVER_FULL} delay {delay_ms:.6f}ms",
            f"ip netns exec {name} sh -c 'echo {int(ecn)} > /proc/sys/net/ipv4/tcp_ecn'",
        ]
        if not canonical["tso"]:
            lines.append(f"ip -n {name} link set sender gso_max_segs 1")
    sysctls = {
        "tcp_no_metrics_save": "1",
        "tcp_wmem": f"4096 1048576 {SOCKET_BYTES}",
        "tcp_rmem": f"4096 {SOCKET_BYTES // 4} {SOCKET_BYTES}",
        # Autotuning would lift the clamp of a receiver's window.
        "tcp_moderate_rcvbuf": "0",
    }
    for name in ("d", *hosts.values()):
        text = "; ".join(
            f'echo "{value}" > /proc/sys/net/ipv4/{key}' for key, value in sysctls.items()
        )
        lines.append(f"ip netns exec {name} sh -c {shlex.quote(text)}")
    return lines


def _pair(
    host: str,
    device: str,
    address: str,
    peer: str,
    other: str,
    other_address: str,
    number: int,
    wire_bytes: int,
) -> list[str]:
    """A veth pair that carries packets one by one."""
    macs = [f"02:00:00:00:{number:02x}:{end:02x}" for end in (1, 2)]
    ends = ((host, device, address, macs[0]), (peer, other, other_address, macs[1]))
    own, its = (f"netns {each[0]} address {each[3]} mtu {wire_bytes}" for each in ends)
    lines = [f"ip link add {device} {own} type veth peer name {other} {its}"]
    for (space, name, its_address, _), (_, _, to, mac) in zip(ends, reversed(ends), strict=True):
        lines += [
            f"ip -n {space} addr add {its_address}/24 dev {name}",
            f"ip -n {space} link set {name} up",
            f"ip -n {space} neigh replace {to} lladdr {mac} nud permanent dev {name}",
            f"ip netns exec {space} ethtool -K {name} gso off tso off gro off >/dev/null 2>&1",
        ]
    return lines


def _packets(buffer: Mapping[str, int], wire_bytes: int) -> int:
    return buffer.get("packets") or max(1, round(buffer["bytes"] / wire_bytes))


def _tbf(rate_bps: int, wire_bytes: int) -> str:
    """A token bucket of one packet, so two never leave at once."""
    frame_bytes = wire_bytes + ETHERNET_BYTES
    rate_kbit = rate_bps * frame_bytes / wire_bytes / 1000
    return f"handle 1: tbf rate {rate_kbit:.3f}kbit burst {frame_bytes + 86} limit {1 << 30}"


def _qdiscs(link: Mapping[str, Any], wire_bytes: int) -> list[str]:
    (kind, of), *_ = _queue(link).items()
    limit, rate_bps = _packets(link["buffer"], wire_bytes), link["rate_bps"]
    at = "tc -n r qdisc add dev bottleneck"
    if kind == "drop_tail" and not link.get("rate_at"):
        loss = link.get("loss") or {}
        percent = loss["bernoulli"]["p_ppb"] / 1e7 if loss else 0
        lost = f" loss random {percent:.7f}%" if percent else ""
        return [f"{at} root netem limit {limit} rate {rate_bps}bit -{ETHERNET_BYTES}{lost}"]
    us = {key: f"{value // 1000}us" for key, value in of.items() if key.endswith("_ns")}
    ecn = "ecn" if of.get("ecn") else "noecn"
    match kind:
        case "drop_tail":
            child = f"pfifo limit {limit}"
        case "codel":
            child = (
                f"codel limit {limit} target {us['target_ns']} interval {us['interval_ns']} {ecn}"
            )
        case "fq_codel":
            quantum = of["quantum_bytes"] + ETHERNET_BYTES
            child = (
                f"fq_codel limit {limit} flows 1024 quantum {quantum} memory_limit 1gb "
                f"target {us['target_ns']} interval {us['interval_ns']} {ecn}"
            )
        case "pie":
            child = (
                f"pie limit {limit} target {us['target_ns']} tupdate {us['update_ns']} "
                f"alpha {of['alpha_16ths_hz']} beta {of['beta_16ths_hz']} {ecn}"
            )
        case _:
            child = _red(of, limit, rate_bps, wire_bytes)
    return [f"{at} root {_tbf(rate_bps, wire_bytes)}", f"{at} parent 1:1 handle 10: {child}"]


def _red(of: Mapping[str, Any], limit: int, rate_bps: int, wire_bytes: int) -> str:
    frame_bytes = wire_bytes + ETHERNET_BYTES
    low, high = (round(of[key] * frame_bytes / wire_bytes) for key in ("min_bytes", "max_bytes"))
    flags = " ecn" * bool(of["ecn"]) + " adaptive" * bool(of["adaptive"])
    return (
        f"red limit {limit * frame_bytes} min {low} max {high} avpkt {frame_bytes} "
        f"burst {_red_burst(low / frame_bytes, of['weight_log2'])} bandwidth {rate_bps}bit "
        f"probability {of['max_p_ppm'] / 1e6:.6f}{flags}"
    )


def _red_burst(least: float, weight_log2: int) -> int:
    """The burst, packets, of which `tc` makes this weight (iproute2's tc_red_eval_ewma)."""
    for burst in range(max(1, int(least)), 1_000_000):
        allowed = burst + 1 - least
        weight, log2 = 0.5, 1
        while log2 < 32 and allowed > (1 - (1 - weight) ** burst) / weight:
            weight, log2 = weight / 2, log2 + 1
        if log2 == weight_log2:
            return burst
        if log2 > weight_log2:
            break
    raise AckclockError(
        f"bottleneck.queue.weight_log2 = {weight_log2}: tc cannot set it; use the simulator"
    )


def _flow(
    number: int,
    flow: Mapping[str, Any],
    start_ns: int,
    canonical: Mapping[str, Any],
    hosts: Hosts,
    modules: Mapping[str, str],
) -> str:
    name = modules[flow["algorithm"]]
    rate_bps = canonical["bottleneck"]["rate_bps"]
    unsent = UNSENT_BYTES
    if flow.get("stop_ns") is not None:
        unsent = min(max(rate_bps // 800, LEAST_UNSENT), MOST_UNSENT)
    mss, buffer = canonical["mss_bytes"], flow.get("send_buffer_bytes")
    fields: Sequence[object] = [
        number,
        hosts[_host_of(flow)],
        "d",
        name,
        name,
        start_ns,
        flow.get("stop_ns"),
        flow.get("size_bytes"),
        flow.get("receive_window_bytes"),
        None if buffer is None else buffer // mss * mss,
        unsent,
        int(canonical["pacing"]),
        1 << 18 if canonical["reads"] == "bulk" else 1,
    ]
    return "flow " + " ".join("-" if field is None else str(field) for field in fields)
