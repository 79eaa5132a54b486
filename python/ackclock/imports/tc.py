"""`tc qdisc add …` as a scenario: netem, tbf, htb, and the queues below them."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import pairwise
from typing import Any

from ackclock.base import units
from ackclock.base.errors import AckclockError
from ackclock.imports.link import DEVICE, SIZES, Link, framing_note, framing_of
from ackclock.imports.queues import QUEUES, options
from ackclock.imports.words import Words

#: Whether a command is one of tc.
IS = re.compile(r"(?<!\S)(\S*/)?tc (-\S+ )*(qdisc|class|filter)\b")
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


@dataclass
class Command:
    """A command that makes a queue: "qdisc", "class" or "filter", and the words of its kind."""

    what: str
    words: Words
    device: str = ""
    parent: str = ""
    #: Its own class or handle.
    own: str = ""
    kind: str = ""
    stab: dict[str, str | int] = field(default_factory=dict)


#: Kinds that hold no packets: what they take goes to an ifb, and lo has a noqueue.
_NONE = ("ingress", "clsact", "noqueue")


def links(commands: list[str]) -> tuple[dict[str, dict[str, Any]], list[str]]:
    """The fields of the link of each device in commands of tc, and what is not the same.

    Raises `AckclockError`, a line that names the command and what has no counterpart.
    """
    devices: dict[str, list[Command]] = {}
    for text in commands:
        command = _command(Words(text, text.split()))
        if not command:
            continue
        before = devices.setdefault(command.device, [])
        if command.kind not in _NONE:
            is_root = command.what == "qdisc" and not command.parent  # it takes the place of all
            before[:] = [each for each in before if each.what == "filter" or not is_root]
            before.append(command)
    made = {device: _of_device(each) for device, each in devices.items() if each}
    notes = [note for link in made.values() for note in link.notes]
    return {device: link.fields for device, link in made.items()}, [*dict.fromkeys(notes)]


def _of_device(commands: list[Command]) -> Link:
    link = Link()
    default: str | None = None
    classes: dict[str, Callable[[], None]] = {}
    for command in commands:
        words, kind = command.words, command.kind
        link.below = bool(command.parent)
        link.framing |= command.stab
        if command.what == "filter":
            _police(words, link)
            continue
        _band(words, link, command.parent)
        if command.what == "class":
            if kind not in _CLASSFUL:
                raise words.no_counterpart(f"a class of {kind}", "htb has")
            read = _class_of_hfsc if kind == "hfsc" else _class
            classes[command.own] = read(words, link)
            continue
        if kind in _CLASSFUL:
            default = _htb(words)
            continue
        if kind in ("prio", "mq"):
            link.bands |= {command.own: ""} if kind == "prio" else {}
            link.notes.append(f"{kind} is left out: here all flows pass one queue")
            continue
        if kind not in _QDISCS:
            near = _NEAREST.get(kind, "netem, tbf, htb, cake, fq, red, AQMs and fifos have")
            raise words.no_counterpart(kind, near)
        _QDISCS[kind](words, link)
    _choose(classes, default)
    fields = link.fields
    if "rate" not in fields:
        fields["rate"] = DEVICE
        link.notes.append(f"tc sets no rate: {DEVICE} stands for that of your device")
    link.note_framing()
    fields.setdefault("buffer", "1000packets")  # pfifo_fast, of the usual txqueuelen
    return link


def in_its_words(
    error: AckclockError, commands: list[str], devices: Sequence[str]
) -> AckclockError:
    """An error that names a key of the link, as one that names a command and its word.

    `devices`: those of the links, in order; none if the commands are not of tc.
    """
    found = re.match(r"(?:bottleneck|link (\d+))(?:\.|: )([\w.]+) = .*?: (.*)", str(error))
    if not found:
        return error
    key = found[2].rpartition(".")[2]
    device = [*devices, ""][min(int(found[1] or 1), len(devices) or 1) - 1]
    for command in reversed(commands):
        words = command.split()
        if device and ("dev", device) not in pairwise(words):
            continue
        for word in _WORDS.get(key, (key,)):
            if word in words:
                at = len(words) - words[::-1].index(word)
                why = found[3].partition("; write")[0]
                return AckclockError(f'"{command}": word {at}: {word}: {why}')
    return error


#: Commands of a script that make no queue.
_SETS_UP = ("ip", "ifconfig", "modprobe", "ethtool", "sysctl", "set", "echo", "sleep", "true")
_EXAMPLE = 'write commands like "tc qdisc add dev eth0 root netem delay 50ms"'
#: What stands before the kind, with a value.
_PLACES = ("dev", "parent", "handle", "classid")


def _command(words: Words) -> Command | None:
    """What a command makes and where; None if it makes no queue."""
    each = words.left
    if not (what := _behind_tc(words)):
        return None
    command = Command(what, words)
    given = _placed(words, command)
    if "dev" not in given:
        raise words.refused('write "dev" and a device first, like dev eth0')
    command.device, command.parent = given["dev"], given.get("parent", "")
    command.own = given.get("classid", given.get("handle", ""))
    if what != "filter":
        command.kind = words.next()
        return command
    if ("action", "mirred") in pairwise(each):  # to an ifb, whose queue is that of what comes
        return None
    if "police" not in each:
        raise words.refused("filters choose classes; leave them out, and all but one class or band")
    del each[: each.index("police") + 1]
    return command


def _behind_tc(words: Words) -> str:
    """Qdisc, class or filter, of a command that adds one; or ""."""
    each = words.left
    if not (found := IS.search(" ".join(each))):
        if next((word for word in each if word != "sudo"), "") in _SETS_UP:
            return ""
        raise words.refused(_EXAMPLE)
    # In front of it stand sudo, a namespace, a container.
    del each[: len(words.command[: found.end()].split()) - 1]
    what, action = words.next(), words.next()
    if action in ("del", "delete", "show", "list", "ls"):
        return ""
    if action not in ("add", "replace", "change"):
        raise words.refused(f'"{action}" makes no queue; write "tc {what} add …"', action)
    return what


def _placed(words: Words, command: Command) -> dict[str, str]:
    """The values of `_PLACES`; a stab's sizes go to the command."""
    given: dict[str, str] = {}
    while words and words.left[0] in (*_PLACES, "root", "stab"):
        word = words.next()
        if word in _PLACES:
            given[word] = words.next()
        while word == "stab" and words and words.left[0] in (*SIZES, "mtu", "tsize"):
            size = words.next()
            value = framing_of(words, size)
            command.stab |= {size: value} if size in SIZES else {}
    return given


def _band(words: Words, link: Link, parent: str) -> None:
    """Notes of which band of a prio a queue is."""
    handle, _, band = parent.partition(":")
    read = link.bands.get(f"{handle}:")
    if read and read != band:
        raise words.refused(f"the queue of band {read} is given, too; give that of one band")
    if read == "":
        link.bands[f"{handle}:"] = band


def _police(words: Words, link: Link) -> None:
    """A policer of what a filter takes: here of every packet."""
    policer: dict[str, str] = {}
    framing: dict[str, str | int] = {}
    while words:
        word = words.next()
        if word == "rate":
            policer["rate"] = units.rate_text(words.rate_bps())
        elif word in ("burst", "buffer", "maxburst"):
            policer["burst"] = f"{words.bytes()}B"
        elif word in SIZES:
            framing[word] = framing_of(words, word)
        elif word in ("mtu", "flowid", "classid", "index"):
            words.next()
        elif word not in ("drop", "drop/pass", "drop/ok", "conform-exceed"):
            raise words.no_counterpart(f"police's {word}", "leave it out")
    if len(policer) < 2:
        raise words.refused("police needs a rate and a burst, like rate 10mbit burst 100k")
    link.fields["policer"] = policer
    if note := framing_note(policer["rate"], framing):
        link.notes.append(note)
    link.notes.append("the policer takes every packet, whatever the filter says")


def _htb(words: Words) -> str | None:
    default = None
    while words:
        word = words.next()
        if word not in ("default", "r2q", "direct_qlen", "offload"):
            raise words.refused(f'"{word}" is no option of htb', word)
        value = words.next() if word != "offload" else ""
        default = value if word == "default" else default
    return default


#: Words of a class for its burst, and for that of its ceil.
_BURSTS = dict.fromkeys(("burst", "buffer", "maxburst"), "burst")
_BURSTS |= dict.fromkeys(("cburst", "cbuffer", "cmaxburst"), "cburst")


#: Disciplines with classes, of which one is taken.
_CLASSFUL = ("htb", "hfsc")
_CURVES = ("sc", "rt", "ls", "ul")


def _class_of_hfsc(words: Words, link: Link) -> Callable[[], None]:
    """What a class of hfsc does if it is the chosen one: its upper limit, or its share."""
    rates: dict[str, int] = {}
    curve = ""
    while words:
        match words.next():
            case word if word in _CURVES:
                curve = word
            case "rate" | "m2":
                rates[curve] = words.rate_bps()
            case "m1" | "umax" | "d" | "dmax":
                words.next()
            case word:
                raise words.refused(f'"{word}" is no option of a class of hfsc', word)
    chosen = next((rates[each] for each in reversed(_CURVES) if each in rates), None)
    if chosen is None:
        raise words.refused("a class needs a curve, like ul rate 10mbit")

    def choose() -> None:
        link.rate(chosen)
        link.notes.append("hfsc's curves are left out: a class has the rate of its last one")

    return choose


def _class(words: Words, link: Link) -> Callable[[], None]:
    """What a class of htb does if it is the chosen one."""
    options: dict[str, int] = {}
    framing: dict[str, str | int] = {}
    while words:
        word = words.next()
        if word in ("rate", "ceil"):
            options[word] = words.rate_bps()
        elif word in _BURSTS:
            options[_BURSTS[word]] = words.bytes()
        elif word in SIZES:
            framing[word] = framing_of(words, word)
        elif word in ("prio", "quantum", "mtu"):
            words.next()
        else:
            raise words.refused(f'"{word}" is no option of a class of htb', word)
    if "rate" not in options:
        raise words.refused("a class needs a rate, like rate 10mbit")

    def choose() -> None:
        link.rate(options.get("ceil", options["rate"]))
        link.framing |= framing
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
            f"{len(minors)} classes, and none is the default; leave all but one out"
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
            _leave_correlation(words, link, word)
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
    link.fields["delay"] = units.time_text(words.time_ns())
    _jitter(words, link)


def _limit(words: Words, link: Link) -> None:
    link.fields["limit_packets"] = words.bytes()  # with the units of sizes, as tc reads it


def _duplicate(words: Words, link: Link) -> None:
    link.fields["duplicate"] = words.probability()
    _leave_correlation(words, link, "duplicate")


def _reorder(words: Words, link: Link) -> None:
    """Netem's is the probability of no delay."""
    if probability := words.probability():
        link.fields["reorder"] = {"p": round(1 - probability, 9)}
    _leave_correlation(words, link, "reorder")


def _gap(words: Words, link: Link) -> None:  # noqa: ARG001 (as the others)
    if words.integer() != 1:
        raise words.no_counterpart("gap", "leave it out: gap 1")


def _netem_rate(words: Words, link: Link) -> None:
    if bps := words.rate_bps():  # 0: no limit
        link.rate(bps)
    while (number := words.if_number()) is not None:
        if number.strip("0."):
            raise words.no_counterpart("a packet overhead", "lower the rate")


def _jitter(words: Words, link: Link) -> None:
    if (number := words.if_number()) is None:
        return
    words.left.insert(0, number)
    if by_ns := words.time_ns():
        link.fields["delay_jitter"] = {"by": units.time_text(by_ns)}
    _leave_correlation(words, link, "delay")


def _leave_correlation(words: Words, link: Link, what: str) -> None:
    if (correlation := words.if_number()) is None:
        return
    words.left.insert(0, correlation)
    if words.probability():
        instead = ": write loss gemodel for bursts" if what == "loss" else ""
        link.notes.append(f"netem's correlation of {what} is left out{instead}")


def _ecn(words: Words, link: Link) -> None:  # noqa: ARG001 (as the others)
    link.notes.append("netem's ecn marks what a flow with ECN would lose: here it is lost")


def _distribution(words: Words, link: Link) -> None:
    fields = link.fields
    name = words.next()
    if name not in ("uniform", "normal", "pareto"):
        raise words.no_counterpart(f"distribution {name}", "write uniform, normal or pareto")
    if "delay_jitter" not in fields:
        raise words.refused("distribution needs a delay with a jitter, like delay 50ms 10ms")
    fields["delay_jitter"]["distribution"] = name


def _losses(words: Words, link: Link) -> None:
    link.fields["loss"] = loss = _loss(words, link)
    if loss:
        link.notes.append(
            "netem loses packets: at a sender with TSO whole bursts, and here each by itself"
        )


def _loss(words: Words, link: Link) -> Any:
    if words.left[:1] == ["state"]:
        words.next()
        return _state(words)
    if words.left[:1] == ["gemodel"]:
        words.next()
        given = _probabilities(words, 4)
        p, r, lost, good = given + [round(1 - given[0], 9), 1.0, 0.0][len(given) - 1 :]
        h, k = round(1 - lost, 9), round(1 - good, 9)
        return {"kind": "gilbert_elliott", "p": p, "r": r, "h": h, "k": k}
    if words.left[:1] == ["random"]:
        words.next()
    p = words.probability()
    _leave_correlation(words, link, "loss")
    return p


def _probabilities(words: Words, most: int) -> list[float]:
    given = [words.probability()]
    while len(given) < most and (number := words.if_number()) is not None:
        words.left.insert(0, number)
        given.append(words.probability())
    return given


def _state(words: Words) -> Any:
    """Netem's four states: with p32 and p14 of 0 two are left, and these are Gilbert's."""
    given = _probabilities(words, 5)
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
    "ecn": _ecn,
    "seed": lambda words, link: words.next(),  # noqa: ARG005 (as the others)
}


def _tbf(words: Words, link: Link) -> None:
    kinds: dict[str, Callable[[], Any]] = dict.fromkeys(("rate", "peakrate"), words.rate_bps)
    # mtu and minburst: the bucket of the peak rate.
    kinds |= dict.fromkeys(("limit", "burst", "buffer", "maxburst", "mtu", "minburst"), words.bytes)
    kinds |= {"latency": words.time_ns}
    kinds |= {word: partial(framing_of, words, word) for word in SIZES}
    given = dict(options(words, kinds))
    link.framing |= {word: given[word] for word in SIZES if word in given}
    rate = given.get("rate")
    burst = given.get("burst") or given.get("buffer") or given.get("maxburst")
    if rate is None or burst is None:
        raise words.refused("tbf needs a rate and a burst, like rate 10mbit burst 15kb")
    if "peakrate" in given:
        link.notes.append("tbf's peakrate is left out: here what the burst holds leaves at once")
    limit = given.get("limit")
    if "latency" in given:
        limit = rate * given["latency"] // (8 * 10**9) + burst
    link.rate(rate)
    link.fields["burst"] = f"{burst}B"
    if limit is not None:
        link.fields["buffer"] = f"{limit}B"


_NEAREST = dict.fromkeys(("drr", "qfq", "hhf", "fq_pie"), "fq_codel is nearest")
_QDISCS: dict[str, Callable[[Words, Link], None]] = {"netem": _netem, "tbf": _tbf} | QUEUES
