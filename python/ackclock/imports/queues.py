"""Queue disciplines of tc: AQMs, fair queues, cake and fifos."""

import re
from collections.abc import Callable, Iterator
from typing import Any

from ackclock.base import units
from ackclock.imports.link import ETHERNET_BYTES, Link
from ackclock.imports.words import Words

#: FQ-CoDel's queues.
FLOWS = 1024


def options(words: Words, kinds: dict[str, Callable[[], Any]]) -> Iterator[tuple[str, Any]]:
    """Each option of a qdisc and its value, None of a word alone."""
    while words:
        word = words.next()
        if word not in kinds:
            raise words.no_counterpart(word, "leave it out")
        yield word, kinds[word]()


#: Options of CoDel and PIE → keys.
_KEYS = {
    "target": "target",
    "interval": "interval",
    "tupdate": "update",
    "quantum": "quantum",
    "alpha": "alpha_16ths_hz",
    "beta": "beta_16ths_hz",
    "ecn": "ecn",
    "noecn": "ecn",
}


def _queue(kind: str, limit: int, *, ecn: bool) -> Callable[[Words, Link], None]:
    """A queue discipline with CoDel's or PIE's options."""

    def read(words: Words, link: Link) -> None:
        queue: dict[str, Any] = {"kind": kind, "ecn": ecn}

        def time() -> Any:
            return units.time_text(words.time_ns())

        kinds: dict[str, Callable[[], Any]] = dict.fromkeys(("target", "interval", "tupdate"), time)
        kinds |= {"limit": words.integer, "ecn": lambda: True, "noecn": lambda: False}
        if kind == "fq_codel":
            kinds |= {"quantum": lambda: f"{words.bytes()}B", "memory_limit": words.bytes}
            kinds |= dict.fromkeys(("flows", "drop_batch"), words.integer)
        if kind == "pie":
            kinds |= dict.fromkeys(("alpha", "beta"), words.integer)
            kinds |= dict.fromkeys(("nobytemode", "no_dq_rate_estimator"), lambda: None)
        packets = limit
        for word, value in options(words, kinds):
            if word in _KEYS:
                queue[_KEYS[word]] = value
            elif word == "limit":
                packets = value
            elif word == "flows" and value != FLOWS:
                raise words.no_counterpart(f"flows {value}", f"leave it out: {FLOWS}")
        link.fields |= {"queue": queue, "buffer": f"{packets}packets"}

    return read


def _red(words: Words, link: Link) -> None:
    """RED, with what tc computes of what it is not told."""
    kinds: dict[str, Callable[[], Any]] = dict.fromkeys(
        ("limit", "min", "max", "avpkt"), words.bytes
    )
    kinds |= {"burst": words.integer, "bandwidth": words.rate_bps}
    kinds |= {"probability": words.share}
    kinds |= dict.fromkeys(("ecn", "adaptive", "harddrop", "nodrop"), lambda: True)
    given = dict(options(words, kinds))
    limit, packet = given.get("limit"), given.get("avpkt")
    if not limit or not packet:
        raise words.refused("red needs a limit and an avpkt, like limit 400kb avpkt 1000")
    for word in ("harddrop", "nodrop"):
        if word in given and "ecn" in given:
            raise words.no_counterpart(f"red's {word}", "leave it out: ecn marks above max too")
    # Thresholds and burst as of Floyd's "Setting Parameters", where tc is not told them.
    most = given.get("max") or (3 * given["min"] if given.get("min") else limit // 4)
    least = given.get("min") or most // 3
    burst = given.get("burst") or (2 * least + most) // (3 * packet)
    queue: dict[str, Any] = {"kind": "red", "min": f"{least}B", "max": f"{most}B"}
    queue |= {"max_p": given.get("probability", 0.02)}
    queue |= {"weight_log2": _weight_log2(words, least, burst, packet)}
    queue |= {word: True for word in ("ecn", "adaptive") if word in given}
    idle_ns = 0 if link.below else 8 * 10**9 * packet // (given.get("bandwidth") or 10**7)
    queue |= {"idle_packet": units.time_text(idle_ns)}
    link.fields |= {"queue": queue, "buffer": f"{limit}B"}


def _weight_log2(words: Words, least: int, burst: int, packet: int) -> int:
    """The weight 1/2ⁿ with which a burst into an empty queue brings the average to `least`.

    From Floyd and Jacobson (1993), section 4: burst + 1 − least ≤ (1 − (1 − w)ᵇᵘʳˢᵗ) / w, in
    packets; tc takes the largest w that does.
    """
    room = burst + 1 - least / packet
    if room < 1:
        raise words.refused(f"burst {burst} is below min; write burst {least // packet + 1}")
    for log2 in range(1, 32):
        if room <= (1 - (1 - 2.0**-log2) ** burst) * 2**log2:
            return log2
    raise words.refused(f"burst {burst} is too large; write a smaller one")


def _fq(words: Words, link: Link) -> None:
    queue: dict[str, Any] = {"kind": "fq"}
    kinds: dict[str, Callable[[], Any]] = dict.fromkeys(
        ("limit", "flow_limit", "buckets"), words.integer
    )
    kinds |= dict.fromkeys(("quantum", "initial_quantum"), words.bytes)
    kinds |= {"ce_threshold": words.time_ns, "pacing": lambda: None, "nopacing": lambda: None}
    kinds["maxrate"] = words.rate_bps
    packets = 10_000
    for word, value in options(words, kinds):
        match word:
            case "limit":
                packets = value
            case "flow_limit":
                queue["flow_limit_packets"] = value
            case "quantum" | "initial_quantum":
                queue[word] = f"{value}B"
            case "ce_threshold":
                queue[word] = units.time_text(value)
            case "pacing":
                link.notes.append("fq paces the host's own flows: write pacing = true")
            case "maxrate":
                limit = units.rate_text(value)
                link.notes.append(
                    f"fq holds each flow at {limit} with headers: write max_pacing_rate in [[flow]]"
                )
    link.fields |= {"queue": queue, "buffer": f"{packets}packets"}


#: Options of dualpi2 → keys.
_DUALPI2 = {
    "target": "target",
    "tupdate": "update",
    "step_thresh": "step",
    "alpha": "alpha_256ths_hz",
    "beta": "beta_256ths_hz",
    "coupling_factor": "coupling",
    "classic_protection": "classic_share_percent",
}
#: Its words alone: what it does, or how it drops.
_DUALPI2_ALONE = ("drop_on_overload", "drop_dequeue", "drop_enqueue", "split_gso", "l4s_ect")


def _dualpi2(words: Words, link: Link) -> None:
    queue: dict[str, Any] = {"kind": "dualpi2"}
    kinds: dict[str, Callable[[], Any]] = {
        "limit": words.integer,
        "memlimit": words.bytes,
        "coupling_factor": words.integer,
        "classic_protection": lambda: round(100 * words.probability()),
    }
    times = ("target", "tupdate", "step_thresh")
    kinds |= dict.fromkeys(times, lambda: units.time_text(words.time_ns()))
    kinds |= dict.fromkeys(("alpha", "beta"), lambda: round(256 * words.share()))
    kinds |= dict.fromkeys(_DUALPI2_ALONE, lambda: None)
    given = dict(options(words, kinds))
    queue |= {key: given[word] for word, key in _DUALPI2.items() if word in given}
    link.fields |= {"queue": queue, "buffer": f"{given.get('limit', 10_000)}packets"}


def _sfq(words: Words, link: Link) -> None:
    """Fifos in turn, as fq's; 127 packets are its usual limits, of all and of each flow."""
    numbers = ("limit", "depth", "perturb", "flows", "divisor")
    kinds: dict[str, Callable[[], Any]] = dict.fromkeys(numbers, words.integer)
    given = dict(options(words, kinds | {"quantum": words.bytes}))
    limit = given.get("limit", 127)
    queue = {"kind": "fq", "flow_limit_packets": min(given.get("depth", 127), limit)}
    link.fields |= {"queue": queue, "buffer": f"{limit}packets"}
    link.notes.append("sfq has no counterpart: fq is nearest, whose flows share no queue")


def _fifo(unit: str) -> Callable[[Words, Link], None]:
    def read(words: Words, link: Link) -> None:
        # 1000 packets are the usual txqueuelen; a fifo of bytes takes as many of its MTU.
        link.fields["buffer"] = "1000packets" if unit == "packets" else "1514000B"
        limit = words.bytes if unit == "B" else words.integer
        for _, value in options(words, {"limit": limit}):
            link.fields["buffer"] = f"{value}{unit}"

    return read


#: RTTs of cake's words, µs; its target is a 20th.
_CAKE_RTTS_US = {"datacentre": 100, "lan": 1_000, "metro": 10_000, "regional": 30_000}
_CAKE_RTTS_US |= {"internet": 100_000, "oceanic": 300_000, "satellite": 1_000_000}
#: Words of its fair queues, of which FQ-CoDel has its own.
_CAKE_QUEUES = re.compile(
    r"besteffort|diffserv\d|precedence|flowblind|(dual-)?(src|dst)host|hosts|flows|triple-isolate"
    r"|(no)?nat|(no)?wash|(no-)?split-gso|no-ack-filter|egress|unlimited|noatm|raw"
)
#: Words that change what packets take, or which there are.
_CAKE_LEFT_OUT = re.compile(
    r"ack-filter(-aggressive)?|autorate-ingress|ingress|atm|ptm|conservative|docsis|ethernet"
    r"|ether-vlan|overhead|(pppoe|pppoa|bridged|ipoa)-\w+"
)
#: Bytes that words add (tc-cake(8)).
_CAKE_OVERHEADS = {"conservative": 48, "docsis": 18, "ethernet": 38, "ether-vlan": 4}
_CAKE_OVERHEADS |= {"pppoe-ptm": 30, "bridged-ptm": 22, "ipoa-vcmux": 8, "ipoa-llcsnap": 16}
_CAKE_OVERHEADS |= {"bridged-vcmux": 24, "bridged-llcsnap": 32, "pppoa-vcmux": 10}
_CAKE_OVERHEADS |= {"pppoa-llc": 14, "pppoe-vcmux": 32, "pppoe-llcsnap": 40}


def _cake_framing(word: str, words: Words, framing: dict[str, str | int]) -> str:
    """Takes what a word says of packets and cells, and returns it with its value."""
    # Added to a packet without its Ethernet header.
    plain = int(framing.get("overhead", -ETHERNET_BYTES))
    if word == "overhead":
        bytes_ = words.signed()
        framing["overhead"] = bytes_ - ETHERNET_BYTES
        return f"overhead {bytes_}"
    if word in _CAKE_OVERHEADS:
        framing["overhead"] = plain + _CAKE_OVERHEADS[word]
    if word.endswith("ptm"):
        framing["linklayer"] = "ptm"
    elif re.fullmatch(r"atm|conservative|.*-(vcmux|llc|llcsnap)", word):
        framing["linklayer"] = "atm"
    return word


def _cake(words: Words, link: Link) -> None:
    """Its rate, and FQ-CoDel with its target."""
    queue: dict[str, Any] = {"kind": "fq_codel", "ecn": True}
    rtt_ns = 100 * 10**6
    left_out: list[str] = []
    while words:
        match word := words.next():
            case "bandwidth":
                link.rate(words.rate_bps())
            case "rtt":
                rtt_ns = words.time_ns()
            case "memlimit" | "mpu" | "fwmark":
                words.next()
            case _ if word in _CAKE_RTTS_US:
                rtt_ns = _CAKE_RTTS_US[word] * 1000
            case _ if _CAKE_LEFT_OUT.fullmatch(word):
                left_out.append(_cake_framing(word, words, link.framing))
            case _ if not _CAKE_QUEUES.fullmatch(word):
                raise words.no_counterpart(f"cake's {word}", "leave it out")
    queue |= {"interval": units.time_text(rtt_ns)}
    queue |= {"target": units.time_text(max(rtt_ns // 20, 10_000))}
    link.fields |= {"queue": queue, "buffer": "10240packets"}
    if left_out:
        link.notes.append(f"left out, without counterpart: cake's {', '.join(left_out)}")
    link.notes.append("cake's own queue has no counterpart: FQ-CoDel with its target is nearest")


QUEUES: dict[str, Callable[[Words, Link], None]] = {
    "cake": _cake,
    "codel": _queue("codel", 1_000, ecn=False),
    "fq_codel": _queue("fq_codel", 10_240, ecn=True),
    "pie": _queue("pie", 1_000, ecn=False),
    "red": _red,
    "fq": _fq,
    "sfq": _sfq,
    "dualpi2": _dualpi2,
    "pfifo": _fifo("packets"),
    "bfifo": _fifo("B"),
    "pfifo_fast": lambda words, link: words.left.clear(),  # noqa: ARG005 (its bands, as tc shows)
}
