"""The network of a scenario in the virtual Linux: namespaces, veth pairs and queue disciplines.

    s1 ── r1 ┐             hub             ┌ t1 ── d1
    s2 ── r2 ┘  [i1 j1]  [q1 a1]  [w1 b1]  └ t2 ── d2

The senders with the same way share a namespace (s1, s2, …), and their receivers another one. Each
step of a link is a veth pair with both ends in the hub: a packet leaves at the first, whose qdisc
does the work, and comes back at the second. The hub decides by the device at which a packet came,
and by its address, where it goes next. If all data ends behind the same link, its last pair ends in
d, where all receivers are. The first end of a link that is the senders' own interface is in their
namespace, of which there is one then. The RTT of a flow is a netem on the way back, before its
sender; half of it is before the receiver, if ACKs pass links.

The qdiscs count IP bytes: the 14 bytes of an Ethernet header are taken off.
"""

import json
import struct
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from ackclock import _core
from ackclock.hosts.vlinux.tc import Link, impairments, police_burst, red_burst

#: Packets of a queue that is never full.
NEVER_FULL = 10_000_000
#: For data, of a sender. A receiver has a quarter of it, and a window of 128 MiB.
SOCKET_BYTES = 1 << 30
#: When the timers of PIE and RED are armed anew: they fire first at time 0. Linux rounds 500 ms
#: up to a multiple of 8 ms.
BEFORE_NS = -504_000_000
NEVER_NS = 2**63 - 1
#: A target that no sojourn time reaches, so that CoDel only marks.
NEVER_TARGET_NS = 1_000 * 10**9
HUB = "hub"

_STAB = "stab overhead -14"
#: A packet of jumbo frames, bytes: without `mtu` a policer drops all that is larger than 2040.
_LARGEST = 65_535
_AT_ONCE = " rate 1000tbit"
_EVERYWHERE = {
    "net/core/netdev_max_backlog": NEVER_FULL,
    "net/core/wmem_max": 2**31 - 1,
    "net/ipv4/tcp_mem": "100000000 100000000 100000000",
}
_HOST = {
    "net/ipv4/tcp_no_metrics_save": 1,
    "net/ipv4/tcp_wmem": f"4096 1048576 {SOCKET_BYTES}",
    "net/ipv4/tcp_rmem": f"4096 {SOCKET_BYTES // 4} {SOCKET_BYTES}",
    # Autotuning would lift the clamp of a receiver's window.
    "net/ipv4/tcp_moderate_rcvbuf": 0,
    # A router knows flows by their headers. Here the hash of the socket reaches the queue, and
    # is drawn anew after a timeout.
    "net/core/txrehash": 0,
}

#: Switches that keep routes from remembering connections (`tcp_update_metrics`).
_FORGETS = ("net/ipv4/tcp_no_metrics_save", "net/ipv4/tcp_no_ssthresh_metrics_save")
#: Keys of a flow, and the switches of `net.ipv4` that they turn off.
_SWITCHES = _core.switches()
#: Bytes of the option with timestamps, padded.
_STAMPS_BYTES = 12

#: The receive buffer that Linux starts with, bytes.
FIRST_BUFFER = 131_072

#: `tcp_ecn` of Linux 7: accurate ECN is asked for, and answered.
ACCURATE = 3


class FlowPath(NamedTuple):
    """What the senders of a namespace have in common."""

    rtt_ns: int
    #: `tcp_ecn` of the sender.
    ecn: int
    #: Numbers of the links that data passes, and those that ACKs pass.
    route: tuple[int, ...]
    back: tuple[int, ...]
    #: The initial window that its route has; none: Linux's own.
    initcwnd: int | None = None
    #: The largest packet that its routes allow, bytes; none: that of the devices.
    mtu: int | None = None
    #: Switches of the sender's TCP that are off.
    off: tuple[str, ...] = ()
    #: Whether its receivers acknowledge each packet at once.
    quickack: bool = False
    #: Number of its only flow, which is of UDP.
    udp: int | None = None
    #: Within which the receiver's window is tuned, bytes; none: it is constant.
    receive_buffer: int | None = None
    #: Whether its senders send bursts that the device cuts into packets.
    tso: bool = True
    #: Number of its only session, whose route keeps an ssthresh.
    keeps: int | None = None
    #: `rto_min` of its routes at both ends.
    rto_min_ms: int | None = None
    #: Number of its only session, whose RTTs are drawn.
    drawn: int | None = None
    #: How long its receiver's device waits for more to merge, and its number: none shares it.
    gro: tuple[int, int] | None = None


class Step(NamedTuple):
    """A veth pair of a link: where packets leave, what makes its qdisc, where they come back."""

    out: str
    qdisc: tuple[str, ...]
    to: str
    space: str = HUB


def kind_of(link: Link) -> str:
    """The queue discipline of a link."""
    return next(iter(_queue(link)))


def qdisc_of(link: Link) -> str:
    """Which of Linux's it is."""
    kind, of = kind_of(link), _queue(link)
    if kind != "step":
        return kind
    return "codel" if of["step"]["threshold_ns"] else "red"


def is_own(link: Link) -> bool:
    """Whether Linux has no such link: recorded, or dead at times."""
    return bool(link.get("trace_ms")) or any(not at["rate_bps"] for at in link.get("rate_at", ()))


def _chosen(link: Link) -> list[int]:
    """How often a packet of data is dropped, or 0 and the numbers of those; none: no packet is."""
    numbers = link.get("drop_packets", ())
    every = link.get("drop_every_packets")
    return [0, *numbers] if numbers else [every] if every else []


def _numbers(of: list[int]) -> bytes:
    return struct.pack(f"={len(of)}Q", *of)


def _queue(link: Link) -> Mapping[str, Any]:
    """Kind → parameters."""
    queue = link.get("queue", "drop_tail")
    return {queue: {}} if isinstance(queue, str) else queue


def _as_linux(link: Link) -> tuple[str, Mapping[str, Any]]:
    """What tc makes of the queue of a link, and its parameters."""
    kind, of = kind_of(link), _queue(link)[kind_of(link)]
    if kind != "step":
        return kind, of
    if qdisc_of(link) == "red":  # which the guest makes
        return "drop_tail", {}
    never = {"target_ns": NEVER_TARGET_NS, "interval_ns": NEVER_TARGET_NS, "ecn": True}
    return "codel", never | {"more": f" ce_threshold {of['threshold_ns'] // 1000}us"}


def _tuned(most: int | None) -> dict[str, object]:
    """How receivers tune their window within a buffer of so many bytes."""
    if most is None:
        return {}
    first = min(FIRST_BUFFER, most)
    return {"net/ipv4/tcp_rmem": f"4096 {first} {most}", "net/ipv4/tcp_moderate_rcvbuf": 1}


def queue_device(number: int) -> str:
    """The device with the queue of a link."""
    return f"q{number}"


def _udp_device(flow: int) -> str:
    """The device of its sender, which keeps its rate."""
    return f"u{flow}"


def _detour(flow: int) -> tuple[str, str]:
    """A pair of devices that datagrams pass, as data of TCP passes one behind the ACK before it.

    So of equal times flows go on in the order of their numbers.
    """
    return f"y{flow}", f"z{flow}"


def flow_of(session: Mapping[str, Any]) -> Mapping[str, Any]:
    """The flow of a session, with what its connections have in common."""
    return {**session["flow"], "route_ssthresh": session.get("route_ssthresh", False)}


class Network:
    """The network of a scenario in canonical form."""

    def __init__(self, canonical: Mapping[str, Any]) -> None:
        self._canonical = canonical
        self._wire_bytes = canonical["mss_bytes"] + canonical["header_bytes"]
        links = [canonical["bottleneck"], *canonical.get("links", ())]
        flows = [*canonical["flows"], *map(flow_of, canonical.get("sessions", ()))]
        # Programs send both ways.
        routed = canonical.get("links") or any(
            flow.get("route") or flow.get("back") for flow in flows
        )
        both = canonical.get("programs") and not routed
        self._two_way = bool(both) or any(flow["direction"] == "reverse" for flow in flows)
        #: Link n is `links[n - 1]`. With data both ways the bottleneck is there twice.
        self.links: list[Link] = links + links[:1] * self._two_way
        numbered = [*enumerate(flows, 1)]
        #: The way of the programs' packets; none: there are none.
        self.programs: FlowPath | None = None
        if canonical.get("programs"):
            of = {"rtt_ns": canonical["programs"][0]["rtt_ns"], "direction": "forward"}
            self.programs = self.way(of, len(numbered) + 1)
        ways = [self.way(flow, number) for number, flow in numbered]
        if self.programs is not None:
            ways.append(self.programs)
        self._ways = [*dict.fromkeys(ways)]
        #: Of each link when its probability of a loss changes, ns, and to what, 10⁻⁹.
        self._losses = _core.loss_changes(json.dumps(canonical))
        last = {way.route[-1] for way in self._ways}
        buffers = {way.receive_buffer for way in self._ways}
        back = any(way.back for way in self._ways)
        own = {way.route[0] for way in self._ways if self._is_own(way)}
        merges = len(self._ways) > 1 and any(way.gro for way in self._ways)
        self._direct = len(last) == len(buffers) == 1 and not (back or last & own or merges)
        self._steps = [
            self._steps_of(number, link, self._direct and number in last)
            for number, link in enumerate(self.links, 1)
        ]

    def way(self, flow: Mapping[str, Any], number: int) -> FlowPath:
        """The way of a flow with this number: the sessions' follow those of the flows."""
        if self._two_way:
            route, back = ((1,), (2,)) if flow["direction"] == "forward" else ((2,), (1,))
        else:
            route = tuple(flow.get("route") or range(1, len(self.links) + 1))
            back = tuple(flow.get("back") or ())
        ecn = flow.get("ecn")
        tcp_ecn = ACCURATE if ecn == "accurate" else int(bool(ecn))
        mss = flow.get("mss_bytes", self._canonical["mss_bytes"])
        missing = 0 if flow.get("timestamps", True) else _STAMPS_BYTES
        packet = mss + self._canonical["header_bytes"] - missing
        mtu = None if packet == self._wire_bytes else packet
        off = tuple(switch for key, switch in _SWITCHES if not flow.get(key, True))
        udp = number if flow.get("stack") else None
        segments = flow.get("delayed_ack_segments", self._canonical["delayed_ack_segments"])
        tuned = flow.get("receive_buffer_bytes")
        tso = flow.get("tso", self._canonical["tso"])
        keeps = number if flow.get("route_ssthresh") else None
        own = (
            flow.get("initcwnd"),
            mtu,
            off,
            segments == 1,
            udp,
            tuned,
            tso,
            keeps,
            _rto_min_ms(flow),
            number if flow.get("rtt_exponential_ns") else None,
            flow.get("gro_ns") and (flow["gro_ns"], number),
        )
        return FlowPath(flow["rtt_ns"], tcp_ecn, route, back, *own)

    def _is_own(self, way: FlowPath) -> bool:
        """Whether its first link is the interface of its senders."""
        return self.links[way.route[0] - 1].get("at") == "sender"

    def _first(self, way: FlowPath) -> FlowPath:
        """The first way of the same host."""
        if not self._is_own(way):
            return way
        return next(each for each in self._ways if each.route[0] == way.route[0])

    def sender(self, way: FlowPath) -> str:
        """The namespace of the senders with that way."""
        return f"s{self._number(self._first(way))}"

    def queue_space(self, number: int) -> str:
        """The namespace with the queue of a link."""
        ways = (way for way in self._ways if self._is_own(way) and way.route[0] == number)
        return next(map(self.sender, ways), HUB)

    def receiver(self, way: FlowPath) -> str:
        """The namespace of their receivers."""
        return "d" if self._direct else f"d{self._number(way)}"

    def address(self, way: FlowPath, net: int = 2) -> str:
        """The address of their receivers; of the senders in net 1."""
        high, low = divmod(self._number(way), 256)
        return f"10.{net}.{high}.{low}"

    def _number(self, way: FlowPath) -> int:
        return self._ways.index(way) + 1

    def wires(self) -> dict[str, bytes]:
        """What `guest/link.c` reads of the links that it makes, by device."""
        files = {}
        for number, link in enumerate(self.links, 1):
            if chosen := _chosen(link):
                files[f"c{number}"] = _numbers(chosen)
            if self._has_wire(link):
                steps = link.get("rate_at", ())
                pairs = [(0, link["rate_bps"])]
                pairs += [(step["time_ns"], step["rate_bps"]) for step in steps]
                recorded = link.get("trace_ms")
                follow = recorded or [value for pair in pairs for value in pair]
                idles = bool(_as_linux(link)[1].get("idle_packet_ns"))
                files[queue_device(number)] = _numbers([bool(recorded), idles, *follow])
        starts_ns = _core.connects_ns(json.dumps(self._canonical))
        for number, flow in enumerate(self._canonical["flows"], 1):
            if flow.get("stack"):
                stop_ns = NEVER_NS if flow["stop_ns"] is None else flow["stop_ns"]
                times = [starts_ns[number - 1], stop_ns, flow["rate_bps"]]
                files[_udp_device(number)] = _numbers(times)
        return files

    def changes(self) -> Iterator[tuple[int, str]]:
        """What changes during the run: time in ns, line of the plan."""
        if self.wires():
            yield -1_000_000, "set - /sys/module/link/parameters/begins 0"
        for number, link in enumerate(self.links, 1):
            device = queue_device(number)
            space, gone = self.queue_space(number), f"qdisc del dev {device} parent 1:1"
            if kind_of(link) in ("pie", "red"):
                _, child = self._qdiscs(link)
                yield BEFORE_NS, _tc(f"{gone};qdisc add dev {device} {child}", space)
            if kind_of(link) == "step" and qdisc_of(link) == "red":
                yield BEFORE_NS, _tc(gone, space)
                yield BEFORE_NS, f"step {space} {self._step(number, link)}"
            if kind_of(link) == "dualpi2":
                update_ns = link["queue"]["dualpi2"]["update_ns"]
                at_ns = BEFORE_NS // update_ns * update_ns
                yield at_ns, _tc(gone, space)
                yield at_ns, f"dualpi2 {space} {self._dualpi2(number, link)}"
            for step in () if self._has_wire(link) else link.get("rate_at", ()):
                tbf = self._tbf(link, step["rate_bps"])
                yield step["time_ns"], _tc(f"qdisc change dev {device} {tbf}", space)
            for step in link.get("delay_at", ()):
                yield step["time_ns"], _path(f"w{number}", step["delay_ns"], link)
            for at_ns, p_ppb in self._losses[number - 1]:
                changed = dict(link) | {"loss": {"bernoulli": {"p_ppb": p_ppb}}}
                netem = f"netem limit {NEVER_FULL}{impairments(changed)}"
                yield at_ns, _tc(f"qdisc change dev i{number} root {netem}")

    def lines(self) -> list[str]:
        """Those of the plan that make all of it."""
        receivers = dict.fromkeys(map(self.receiver, self._ways))
        spaces = dict.fromkeys([HUB, *map(self.sender, self._ways), *receivers])
        lines = [*_settings("-", _EVERYWHERE), *(f"space {space}" for space in spaces)]
        lines += _settings(HUB, {"net/ipv4/ip_forward": 1})
        # A gateway is known to be no address of its own by the table that this makes.
        lines.append(f"up {HUB} lo")
        for step in (step for steps in self._steps for step in steps):
            to = "d" if step.to == "receiver" else HUB
            lines += [self._pair(step.space, step.out, to, step.to), *step.qdisc]
        for number, way in enumerate(self._ways, 1):
            lines += self._hosts_of(number, way)
        accurate = any(way.ecn == ACCURATE for way in self._ways)
        tuned = {self.receiver(way): _tuned(way.receive_buffer) for way in self._ways}
        for space in receivers:
            answers = {"net/ipv4/tcp_ecn": ACCURATE} if accurate else {}
            lines += [_route(space, "receiver", None)]
            lines += _settings(space, _HOST | answers | tuned[space])
        # A program takes 10 ms of processor time to start there.
        queues: dict[str, list[str]] = {}
        for line in (line for line in lines if line.startswith("tc ")):
            _, space, command = line.split(" ", 2)
            queues.setdefault(space, []).append(command)
        others = [line for line in lines if not line.startswith("tc ")]
        batches = [_tc(";".join(commands), space) for space, commands in queues.items()]
        return [*others, *batches, *self._routes()]

    def _hosts_of(self, number: int, way: FlowPath) -> list[str]:
        """The namespaces at both ends of a way."""
        sender, receiver = self.sender(way), self.receiver(way)
        # The receiver has nothing to count; with the option data packets would be smaller.
        own = {"net/ipv4/tcp_ecn": way.ecn} | {f"net/ipv4/{switch}": 0 for switch in way.off}
        if way.ecn == ACCURATE:
            own["net/ipv4/tcp_ecn_option"] = 0
        if way.keeps:
            own |= dict.fromkeys(_FORGETS, 0)
        device = _udp_device(way.udp) if way.udp else "sender"
        out, to = device, None
        if self._is_own(way):
            out, to = queue_device(way.route[0]), self.address(way)
            device += str(number)
        source = self.address(way, 1)
        ends = {"mtu": way.mtu, "rto_min_ms": way.rto_min_ms}
        lines = [
            self._pair(sender, device, HUB, f"r{number}"),
            f"address {sender} {device} {source}",
            _route(sender, out, to, source, initcwnd=way.initcwnd, **ends),
            *_settings(sender, _HOST | own),
        ]
        if way.udp:
            lines.append(_tc(f"qdisc add dev {device} root paced", sender))
            out, to = _detour(way.udp)
            lines.append(self._pair(HUB, out, HUB, to))
        elif not way.tso:
            lines.append(f"segments {sender} {out} 1")
        if not self._direct:
            lines.append(self._pair(HUB, f"t{number}", receiver, "receiver"))
        lines += self.delays(way, way.rtt_ns)
        lines.append(f"address {receiver} receiver {self.address(way)}")
        if way.gro:
            lines.append(f"gro {receiver} receiver {way.gro[0]}")
        if way.mtu or way.quickack or way.rto_min_ms:
            quickack = int(way.quickack)
            lines.append(_route(receiver, "receiver", source, quickack=quickack, **ends))
        return lines

    def delays(self, way: FlowPath, rtt_ns: int) -> list[str]:
        """What makes this RTT."""
        number, forth_ns = self._number(way), rtt_ns // 2 if way.back else 0
        own = bool(way.drawn)
        forth = [_delay(f"t{number}", forth_ns, own)] if forth_ns else []
        return [*forth, _delay(f"r{number}", rtt_ns - forth_ns, own)]

    def _pair(self, space: str, device: str, peer: str, other: str) -> str:
        """A veth pair that carries packets one by one."""
        return f"pair {space} {device} {peer} {other} {self._wire_bytes}"

    def _routes(self) -> list[str]:
        """Where the hub sends what came at a device, by its address."""
        following: dict[str, dict[str, str]] = {}
        for number, way in enumerate(self._ways, 1):
            at, receiver = f"r{number}", self.address(way)
            if way.udp:
                following[at] = {receiver: _detour(way.udp)[0]}
                at = _detour(way.udp)[1]
            for step in (step for link in way.route for step in self._steps[link - 1]):
                if step.space == HUB:
                    following.setdefault(at, {})[receiver] = step.out
                at = step.to
            if self._direct:
                at = step.out
            else:
                following.setdefault(at, {})[receiver] = f"t{number}"
                at = f"t{number}"
            sender = self.address(way, 1)
            for step in (step for link in way.back for step in self._steps[link - 1]):
                following.setdefault(at, {})[sender] = step.out
                at = step.to
            following.setdefault(at, {})[sender] = f"r{number}"
        lines = []
        for table, (at, routes) in enumerate(following.items(), 1000):
            lines.append(f"rule {HUB} {at} {table}")
            lines += [_route(HUB, device, to, table=table) for to, device in routes.items()]
        return lines

    def _steps_of(self, number: int, link: Link, is_last: bool) -> list[Step]:
        found = []
        add = "qdisc add dev"
        if _chosen(link):
            device = f"c{number}"
            found.append(Step(device, (_tc(f"{add} {device} root chosen"),), f"k{number}"))
        if (impaired := impairments(link)) or self._losses[number - 1]:
            device, other = f"i{number}", f"j{number}"
            netem = _tc(f"{add} {device} root netem limit {NEVER_FULL}{impaired}")
            found.append(Step(device, (netem,), other))
        if police := link.get("policer"):
            device, other = f"p{number}", f"x{number}"
            burst = police_burst(police["rate_bps"], police["burst_bytes"])
            action = f"police rate {police['rate_bps']}bit burst {burst} mtu {_LARGEST}"
            drop = f"filter add dev {other} ingress matchall action {action} conform-exceed drop"
            found.append(Step(device, (_tc(f"{add} {other} clsact"), _tc(drop)), other))
        device, space = queue_device(number), self.queue_space(number)
        qdiscs = tuple(_tc(f"{add} {device} {qdisc}", space) for qdisc in self._qdiscs(link))
        found.append(Step(device, qdiscs, f"a{number}", space))
        late = link.get("delay_ns") or link.get("delay_at") or link.get("delay_jitter")
        if late and not link.get("limit_packets"):
            delay = _path(f"w{number}", link.get("delay_ns", 0), link)
            found.append(Step(f"w{number}", (delay,), f"b{number}"))
        if is_last:
            found[-1] = found[-1]._replace(to="receiver")
        return found

    def _qdiscs(self, link: Link) -> list[str]:
        """The queue of a link and its rate."""
        kind, of = _as_linux(link)
        buffer, rate_bps = link["buffer"], link["rate_bps"]
        if self._is_wire(link):
            limit, late = self._packets(buffer), ""
            if both := link.get("limit_packets"):
                limit, late = both, f" delay {link.get('delay_ns', 0) / 1e6:.6f}ms"
            return [f"root {_STAB} netem limit {limit}{late} rate {rate_bps}bit"]
        us = {key: f"{value // 1000}us" for key, value in of.items() if key.endswith("_ns")}
        ecn = "ecn" if of.get("ecn") else "noecn"
        limit = self._packets(buffer)
        match kind:
            case "drop_tail" | "dualpi2":  # for which `changes` sets up another
                child = f"pfifo limit {limit}"
                if "bytes" in buffer:
                    child = f"bfifo limit {buffer['bytes']}"
            case "codel":
                child = f"codel limit {limit} target {us['target_ns']} "
                child += f"interval {us['interval_ns']} {ecn}{of.get('more', '')}"
            case "fq_codel":
                child = f"fq_codel limit {limit} flows 1024 quantum {of['quantum_bytes']} "
                child += f"memory_limit 1gb target {us['target_ns']} "
                child += f"interval {us['interval_ns']} {ecn}"
            case "fq":
                child = f"fq limit {limit} flow_limit {of['flow_limit_packets']} "
                child += f"quantum {of['quantum_bytes']} "
                child += f"initial_quantum {of['initial_quantum_bytes']}"
                if of["ce_threshold_ns"]:
                    child += f" ce_threshold {us['ce_threshold_ns']}"
            case "pie":
                # A timer of so many ticks fires one later.
                update_us = max(1000, of["update_ns"] // 1000 - 1000)
                child = f"pie limit {limit} target {us['target_ns']} tupdate {update_us}us "
                child += f"alpha {of['alpha_16ths_hz']} beta {of['beta_16ths_hz']} {ecn}"
            case _:
                child = self._red(of, limit, rate_bps)
        root = f"root {_STAB} handle 1: wire" if self._has_wire(link) else self._tbf(link, rate_bps)
        return [root, f"parent 1:1 handle 10: {child}"]

    def _step(self, number: int, link: Link) -> str:
        """Its device, its limit and its threshold in bytes of full packets."""
        limit, threshold = self._packets(link["buffer"]), link["queue"]["step"]["threshold_packets"]
        return f"{queue_device(number)} {limit * self._wire_bytes} {threshold * self._wire_bytes}"

    def _dualpi2(self, number: int, link: Link) -> str:
        """Its device, and the numbers that the guest gives it."""
        of = link["queue"]["dualpi2"]
        us = [of[f"{name}_ns"] // 1000 for name in ("target", "update", "step")]
        numbers = [self._packets(link["buffer"]), *us[:2], of["alpha_256ths_hz"]]
        numbers += [of["beta_256ths_hz"], us[2], of["coupling"], of["classic_share_percent"]]
        return " ".join([queue_device(number), *map(str, numbers)])

    def _is_wire(self, link: Link) -> bool:
        """Whether netem does all that the link does, and a packet takes its time to pass."""
        bucket = kind_of(link) != "drop_tail" or link.get("rate_at") or link.get("burst_bytes")
        # netem would not count in the sender's small queue (`skb_orphan_partial`).
        bucket = bucket or link.get("at") == "sender"
        # netem forgets what a packet takes beyond whole nanoseconds.
        is_whole = self._one_size() and not 8 * 10**9 * self._wire_bytes % (link["rate_bps"] or 1)
        return not (bucket or is_own(link)) and bool(is_whole or link.get("limit_packets"))

    def _has_wire(self, link: Link) -> bool:
        """Whether that of `guest/link.c` keeps its rate: it is no netem, and no bucket."""
        return not (self._is_wire(link) or link.get("burst_bytes"))

    def _one_size(self) -> bool:
        """Whether all packets of the queues are data."""
        return not any(way.back for way in self._ways)

    def _packets(self, buffer: Mapping[str, int]) -> int:
        return buffer.get("packets") or max(1, round(buffer["bytes"] / self._wire_bytes))

    def _tbf(self, link: Link, rate_bps: int) -> str:
        """A token bucket. Its limit is what a change makes that of a fifo below it."""
        burst = max(link["burst_bytes"], self._wire_bytes + 100)
        limit = 1 << 30
        if kind_of(link) == "drop_tail":
            limit = link["buffer"].get("packets") or link["buffer"]["bytes"]
        return f"root {_STAB} handle 1: tbf rate {rate_bps}bit burst {burst} limit {limit}"

    def _red(self, of: Mapping[str, Any], limit: int, rate_bps: int) -> str:
        wire_bytes, low, high = self._wire_bytes, of["min_bytes"], of["max_bytes"]
        if idle_ns := of["idle_packet_ns"]:
            # tc counts whole microseconds of it.
            rate_bps = 8 * int(wire_bytes * 1e9 / (max(idle_ns // 1000, 1) * 1000 + 1))
        flags = " ecn" * bool(of["ecn"]) + " adaptive" * bool(of["adaptive"])
        return (
            f"red limit {limit * wire_bytes} min {low} max {high} avpkt {wire_bytes} "
            f"burst {red_burst(low / wire_bytes, of['weight_log2'])} bandwidth {rate_bps}bit "
            f"probability {of['max_p_ppm'] / 1e6:.6f}{flags}"
        )


def _rto_min_ms(flow: Mapping[str, Any]) -> int | None:
    """As a route takes it."""
    ns = flow.get("rto_min_ns")
    return ns and -(-ns // 1_000_000)


def _settings(space: str, values: Mapping[str, object]) -> list[str]:
    return [f"set {space} /proc/sys/{name} {value}" for name, value in values.items()]


def _route(
    space: str, device: str, to: str | None, source: str | None = None, /, **of: int | None
) -> str:
    """`to`: none is every address."""
    names = ("table", "mtu", "initcwnd", "quickack", "rto_min_ms")
    numbers = " ".join(str(of.get(name) or 0) for name in names)
    return f"route {space} {device} {to or '-'} {source or '-'} {numbers}"


def _tc(commands: str, space: str = HUB) -> str:
    return f"tc {space} {commands}"


def _delay(device: str, delay_ns: int, overtaking: bool = False) -> str:
    """A netem of whole nanoseconds, which keeps the order of packets when it changes, or not."""
    return f"delay {HUB} {device} {delay_ns} {int(overtaking)}"


def _path(device: str, delay_ns: int, link: Link) -> str:
    """What is behind a link: a delay, or delays with a distribution."""
    jitter = link.get("delay_jitter")
    if jitter is None:
        return _delay(device, delay_ns)
    netem = f"netem limit {NEVER_FULL} delay {delay_ns / 1e6:.6f}ms {jitter['by_ns'] / 1e6:.6f}ms"
    if jitter["distribution"] != "uniform":
        netem += f" distribution {jitter['distribution']}"
    # A rate keeps the order of packets. This one takes no time.
    return _tc(f"qdisc replace dev {device} root {netem}{'' if jitter['overtaking'] else _AT_ONCE}")
