"""`tc qdisc add …` as a scenario: netem, tbf, htb, and the queues below them."""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from ackclock.base.errors import AckclockError
from ackclock.imports.words import Words
from ackclock.scenario.kinds import Rate, Time

#: Rate of a device of which tc sets none.
DEVICE = "1gbit"
#: Key of a link → the words of tc that give it, where they differ.
_WORDS = {
    "rate": ("rate", "ceil", "bandwidth", "bw"),
    "buffer": ("limit", "latency", "queue"),
    "loss": ("loss", "drop", "plr"),
    "limit_packets": ("limit",),
    "burst": ("burst", "buffer", "maxburst", "cburst"),
    "by": ("delay", "latency"),
    "delay": ("delay", "latency"),
    "max_p": ("probability",),
    "weight_log2": ("burst",),
    "idle_packet": ("avpkt", "bandwidth"),
    "update": ("tupdate",),
    "alpha_16ths_hz": ("alpha",),
    "beta_16ths_hz": ("beta",),
    "flow_limit_packets": ("flow_limit",),
}
#: FQ-CoDel's queues.
FLOWS = 1024

COUNTED = "tc counts 14 bytes of Ethernet header of each packet, and this link none"


@dataclass
class Link:
    """What the commands say of a device."""

    fields: dict[str, Any] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    #: Whether the queue that is read lies below another one.
    below: bool = False

    def rate(self, bps: int) -> None:
        self.fields["rate"] = Rate(0, 0).written(bps)
        if COUNTED not in self.notes:
            self.notes.append(COUNTED)


def links(commands: list[str]) -> tuple[dict[str, dict[str, Any]], list[str]]:
    """The fields of the link of each device in commands of tc, and what is not the same.

    Raises `AckclockError`, a line that names the command and what has no counterpart.
    """
    devices: dict[str, list[tuple[str, Words]]] = {}
    for text in commands:
        words = Words(text.strip(), text.split())
        if what := _head(words):
            devices.setdefault(_device(words), []).append((what, words))
    # An ingress alone hands its packets to an ifb.
    queues = {
        device: each
        for device, each in devices.items()
        if any("ingress" not in words.left for _, words in each)
    }
    made = {device: _of_device(each) for device, each in queues.items()}
    notes = [note for link in made.values() for note in link.notes]
    return {device: link.fields for device, link in made.items()}, [*dict.fromkeys(notes)]


def _of_device(commands: list[tuple[str, Words]]) -> Link:
    link = Link()
    default: str | None = None
    classes: dict[str, Callable[[], None]] = {}
    for what, words in commands:
        link.below = "parent" in words.left[:3]
        if what == "filter":
            _police(words, link)
            continue
        place = _place(words)
        if place == "ingress":
            continue
        if what == "class":
            classes[place] = _class(words, link)
            continue
        kind = words.next()
        if kind == "htb":
            default = _htb(words)
            continue
        if kind == "dualpi2":
            raise words.refused('dualpi2 is not read; write queue = "dualpi2" in [bottleneck]')
        if kind not in _QDISCS:
            near = "; fq_codel is nearest" if kind in ("sfq", "drr", "qfq") else ""
            raise words.refused(f"{kind} has no counterpart in a scenario{near}")
        _QDISCS[kind](words, link)
    _choose(classes, default)
    fields = link.fields
    if "rate" not in fields:
        fields["rate"] = DEVICE
        link.notes.append(f"tc sets no rate: {DEVICE} stands for that of your device")
    fields.setdefault("buffer", "1000packets")  # pfifo_fast, of the usual txqueuelen
    return link


def in_its_words(error: AckclockError, commands: list[str]) -> AckclockError:
    """An error that names a key of the link, as one that names a command and its word."""
    found = re.match(r"(?:bottleneck|link \d+)(?:\.|: )([\w.]+) = .*?: (.*)", str(error))
    if not found:
        return error
    key = found[1].rpartition(".")[2]
    for command in reversed(commands):
        for word in _WORDS.get(key, (key,)):
            if word in command.split():
                return AckclockError(f'"{command}": {word}: {found[2].partition("; write")[0]}')
    return error


#: Commands of a script that make no queue.
_SETS_UP = ("ip", "ifconfig", "modprobe", "ethtool", "sysctl")


def _head(words: Words) -> str:
    """Qdisc, class or filter; "" of a command that makes none."""
    at = [at for at, word in enumerate(words.left) if word == "tc" or word.endswith("/tc")]
    if not at and next((each for each in words.left if each != "sudo"), "") in _SETS_UP:
        return ""
    if not at:  # in front of it stand sudo, a namespace, a container
        raise words.refused('write commands like "tc qdisc add dev eth0 root netem delay 50ms"')
    del words.left[: at[0] + 1]
    while words.left and words.left[0].startswith("-"):
        words.next()
    word, action = words.next(), words.next()
    if "mirred" in words.left:  # to an ifb, whose queue is that of what comes to the device
        return ""
    if word == "filter" and action == "add" and "police" not in words.left:
        raise words.refused("filters choose classes; leave them out, and all but one class")
    if word not in ("qdisc", "class", "filter"):
        raise words.refused('write commands like "tc qdisc add dev eth0 root netem delay 50ms"')
    if action in ("del", "delete", "show", "list", "ls"):
        return ""
    if action not in ("add", "replace", "change"):
        raise words.refused(f'"{action}" makes no queue; write "tc {word} add …"')
    return word


def _device(words: Words) -> str:
    if words.next() != "dev":
        raise words.refused('write "dev" and a device first, like dev eth0')
    return words.next()


def _place(words: Words) -> str:
    """What stands before the kind: root or a parent, and the own class, or "ingress"."""
    own = ""
    while words and words.left[0] in ("root", "parent", "handle", "classid", "ingress"):
        word = words.next()
        own = word if word == "ingress" else own
        if word not in ("root", "ingress"):
            value = words.next()
            own = value if word == "classid" else own
    return own


def _police(words: Words, link: Link) -> None:
    """A policer of what a filter takes: here of every packet."""
    while words.next() != "police":
        pass
    policer: dict[str, str] = {}
    while words:
        word = words.next()
        if word == "rate":
            policer["rate"] = Rate(0, 0).written(words.rate_bps())
        elif word in ("burst", "buffer", "maxburst"):
            policer["burst"] = f"{words.bytes()}B"
        elif word in ("mtu", "mpu", "overhead", "flowid", "index"):
            words.next()
        elif word not in ("drop", "action", "conform-exceed", "classid"):
            raise words.no_counterpart(f"police's {word}", "leave it out")
    if len(policer) < 2:
        raise words.refused("police needs a rate and a burst, like rate 10mbit burst 100k")
    link.fields["policer"] = policer
    link.notes.append("the policer takes every packet, whatever the filter says")


def _htb(words: Words) -> str | None:
    default = None
    while words:
        word = words.next()
        if word not in ("default", "r2q", "direct_qlen", "offload"):
            raise words.refused(f'"{word}" is no option of htb')
        value = words.next() if word != "offload" else ""
        default = value if word == "default" else default
    return default


def _class(words: Words, link: Link) -> Callable[[], None]:
    """What a class of htb does if it is the chosen one."""
    if (kind := words.next()) != "htb":
        raise words.refused(f"a class of {kind} has no counterpart in a scenario; htb has")
    options: dict[str, int] = {}
    while words:
        word = words.next()
        if word in ("rate", "ceil"):
            options[word] = words.rate_bps()
        elif word in ("burst", "cburst"):
            options[word] = words.bytes()
        elif word in ("prio", "quantum", "mtu", "mpu", "overhead"):
            words.next()
        else:
            raise words.refused(f'"{word}" is no option of a class of htb')
    if "rate" not in options:
        raise words.refused("a class needs a rate, like rate 10mbit")

    def choose() -> None:
        link.rate(options.get("ceil", options["rate"]))
        if burst := options.get("cburst" if "ceil" in options else "burst"):
            link.fields["burst"] = f"{max(burst, 1600)}B"

    return choose


def _choose(classes: dict[str, Callable[[], None]], default: str | None) -> None:
    """The class that packets come to: the default one, or the only one."""
    if not classes:
        return
    minors = {own.partition(":")[2]: choose for own, choose in classes.items()}
    if default is not None and default.removeprefix("0x") in minors:
        minors[default.removeprefix("0x")]()
    elif len(minors) == 1:
        next(iter(minors.values()))()
    else:
        raise AckclockError(
            f"{len(minors)} classes of htb, and none is the default; leave all but one out"
        )


def _netem(words: Words, link: Link) -> None:
    fields = link.fields
    fields["limit_packets"] = 1000
    while words:
        word = words.next()
        if word in _NETEM:
            _NETEM[word](words, link)
        elif word == "corrupt":
            if words.probability():
                instead = "the receiver's checksum makes it a loss: write loss instead"
                raise words.no_counterpart(word, instead)
            _no_correlation(words, word)
        else:
            raise words.no_counterpart(f"netem's {word}", "leave it out")
    fields["buffer"] = f"{fields['limit_packets']}packets"
    if "reorder" in fields:
        if "delay" not in fields or "delay_jitter" in fields:
            raise words.refused("reorder needs a constant delay: those who wait it are overtaken")
        fields["reorder"]["delay"] = fields.pop("delay")
    if "delay" not in fields:
        del fields["limit_packets"]
    if jitter := fields.get("delay_jitter"):
        jitter["overtaking"] = "rate" not in fields
        if "rate" in fields:
            link.notes.append("netem draws the delay before the rate, and this link behind it")


def _delay(words: Words, link: Link) -> None:
    link.fields["delay"] = Time(0, 0).written(words.time_ns())
    _jitter(words, link.fields)


def _limit(words: Words, link: Link) -> None:
    link.fields["limit_packets"] = words.bytes()  # with the units of sizes, as tc reads it


def _duplicate(words: Words, link: Link) -> None:
    link.fields["duplicate"] = words.probability()
    _no_correlation(words, "duplicate")


def _reorder(words: Words, link: Link) -> None:
    """Netem's is the probability of no delay."""
    if probability := words.probability():
        link.fields["reorder"] = {"p": round(1 - probability, 9)}
    _no_correlation(words, "reorder")


def _gap(words: Words, link: Link) -> None:  # noqa: ARG001 (as the others)
    if words.integer() != 1:
        raise words.no_counterpart("gap", "leave it out: gap 1")


def _netem_rate(words: Words, link: Link) -> None:
    link.rate(words.rate_bps())
    while (number := words.if_number()) is not None:
        if float(number):
            raise words.no_counterpart("a packet overhead", "lower the rate")


def _jitter(words: Words, fields: dict[str, Any]) -> None:
    if (number := words.if_number()) is None:
        return
    words.left.insert(0, number)
    if by_ns := words.time_ns():
        fields["delay_jitter"] = {"by": Time(0, 0).written(by_ns)}
    _no_correlation(words, "delay")


def _no_correlation(words: Words, what: str) -> None:
    correlation = words.if_number()
    if correlation is not None and float(correlation.rstrip("%")):
        raise words.no_counterpart(f"a correlation of {what}", f"leave out {correlation}")


def _distribution(words: Words, link: Link) -> None:
    fields = link.fields
    name = words.next()
    if name not in ("uniform", "normal", "pareto"):
        raise words.no_counterpart(f"distribution {name}", "write uniform, normal or pareto")
    if "delay_jitter" not in fields:
        raise words.refused("distribution needs a delay with a jitter, like delay 50ms 10ms")
    fields["delay_jitter"]["distribution"] = name


def _losses(words: Words, link: Link) -> None:
    link.fields["loss"] = _loss(words)


def _loss(words: Words) -> Any:
    if words.left[:1] == ["state"]:
        words.next()
        return _state(words)
    if words.left[:1] == ["gemodel"]:
        words.next()
        given = _probabilities(words)
        p, r, lost, good = given + [round(1 - given[0], 9), 1.0, 0.0][len(given) - 1 :]
        h, k = round(1 - lost, 9), round(1 - good, 9)
        return {"kind": "gilbert_elliott", "p": p, "r": r, "h": h, "k": k}
    if words.left[:1] == ["random"]:
        words.next()
    p = words.probability()
    _no_correlation(words, "loss")
    return p


def _probabilities(words: Words) -> list[float]:
    given = [words.probability()]
    while (number := words.if_number()) is not None:
        words.left.insert(0, number)
        given.append(words.probability())
    return given


def _state(words: Words) -> Any:
    """Netem's four states: with p32 and p14 of 0 two are left, and these are Gilbert's."""
    given = _probabilities(words)
    p13, p31, p32, _, p14 = given + [round(1 - given[0], 9), 0.0, 1.0, 0.0][len(given) - 1 :]
    if p32 or p14:
        name, value = ("p32", p32) if p32 else ("p14", p14)
        what = f"loss state's {name} of {value:g}"
        raise words.no_counterpart(what, "two states have: write loss state p13 p31")
    return {"kind": "gilbert_elliott", "p": p13, "r": p31}


_NETEM: dict[str, Callable[[Words, Link], Any]] = {
    "limit": _limit,
    "delay": _delay,
    "latency": _delay,
    "distribution": _distribution,
    "loss": _losses,
    "drop": _losses,
    "duplicate": _duplicate,
    "reorder": _reorder,
    "gap": _gap,
    "rate": _netem_rate,
    "seed": lambda words, link: words.next(),  # noqa: ARG005 (as the others)
}


def _tbf(words: Words, link: Link) -> None:
    rate = burst = limit = latency_ns = None
    while words:
        match word := words.next():
            case "rate":
                rate = words.rate_bps()
            case "burst" | "buffer" | "maxburst":
                burst = words.bytes()
            case "limit":
                limit = words.bytes()
            case "latency":
                latency_ns = words.time_ns()
            case "mpu" | "overhead" | "linklayer":
                words.next()
            case _:
                raise words.no_counterpart(f"tbf's {word}", "leave it out")
    if rate is None or burst is None:
        raise words.refused("tbf needs a rate and a burst, like rate 10mbit burst 15kb")
    if latency_ns is not None:
        limit = rate * latency_ns // (8 * 10**9) + burst
    link.rate(rate)
    link.fields["burst"] = f"{burst}B"
    if limit is not None:
        link.fields["buffer"] = f"{limit}B"


def _options(words: Words, kinds: dict[str, Callable[[], Any]]) -> Iterator[tuple[str, Any]]:
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
            return Time(0, 0).written(words.time_ns())

        kinds: dict[str, Callable[[], Any]] = dict.fromkeys(("target", "interval", "tupdate"), time)
        kinds |= {"limit": words.integer, "ecn": lambda: True, "noecn": lambda: False}
        if kind == "fq_codel":
            kinds |= {"quantum": lambda: f"{words.bytes()}B", "memory_limit": words.bytes}
            kinds |= dict.fromkeys(("flows", "drop_batch"), words.integer)
        if kind == "pie":
            kinds |= dict.fromkeys(("alpha", "beta"), words.integer)
        packets = limit
        for word, value in _options(words, kinds):
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
    given = dict(_options(words, kinds))
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
    if not link.below:
        idle_ns = 8 * 10**9 * packet // (given.get("bandwidth") or 10**7)
        queue |= {"idle_packet": Time(0, 0).written(idle_ns)}
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
    for word, value in _options(words, kinds):
        match word:
            case "limit":
                packets = value
            case "flow_limit":
                queue["flow_limit_packets"] = value
            case "quantum" | "initial_quantum":
                queue[word] = f"{value}B"
            case "ce_threshold":
                queue[word] = Time(0, 0).written(value)
            case "pacing":
                link.notes.append("fq paces the host's own flows: write pacing = true")
            case "maxrate":
                limit = Rate(0, 0).written(value)
                link.notes.append(
                    f"fq holds each flow at {limit} with headers: write max_pacing_rate in [[flow]]"
                )
    link.fields |= {"queue": queue, "buffer": f"{packets}packets"}


def _fifo(unit: str) -> Callable[[Words, Link], None]:
    def read(words: Words, link: Link) -> None:
        limit = words.bytes if unit == "B" else words.integer
        for _, value in _options(words, {"limit": limit}):
            link.fields["buffer"] = f"{value}{unit}"

    return read


def _cake(words: Words, link: Link) -> None:
    """Its rate, and FQ-CoDel with its target."""
    queue: dict[str, Any] = {"kind": "fq_codel"}
    rtt_ns, silent = 100 * 10**6, False
    named = {"lan": 1, "metro": 10, "regional": 30, "internet": 100, "oceanic": 300}
    while words:
        match word := words.next():
            case "bandwidth":
                link.rate(words.rate_bps())
            case "rtt":
                rtt_ns = words.time_ns()
            case "memlimit" | "overhead" | "mpu":
                words.next()
                silent |= word == "overhead"
            case _ if word in named:
                rtt_ns = named[word] * 10**6
            case "ack-filter" | "ack-filter-aggressive" | "autorate-ingress" | "docsis" | "atm":
                silent = True
    queue |= {"interval": Time(0, 0).written(rtt_ns)}
    queue |= {"target": Time(0, 0).written(max(rtt_ns // 20, 10_000))}
    link.fields |= {"queue": queue, "buffer": "10240packets"}
    if silent:
        link.notes.append("cake's overheads, ACK filter and autorate have no counterpart")
    link.notes.append("cake's own queue has no counterpart: FQ-CoDel with its target is nearest")


_QDISCS: dict[str, Callable[[Words, Link], None]] = {
    "netem": _netem,
    "tbf": _tbf,
    "cake": _cake,
    "codel": _queue("codel", 1_000, ecn=False),
    "fq_codel": _queue("fq_codel", 10_240, ecn=True),
    "pie": _queue("pie", 1_000, ecn=False),
    "red": _red,
    "fq": _fq,
    "pfifo": _fifo("packets"),
    "bfifo": _fifo("B"),
    "pfifo_fast": _fifo("packets"),
}
