"""`ipfw pipe 1 config …` and `dnctl pipe 1 config …` as a scenario: dummynet's pipes.

Of FreeBSD's ipfw(8) and sbin/ipfw/dummynet.c: a pipe drops (plr), queues (50 slots), sends at its
bandwidth, counted without Ethernet's header, and then delays.
"""

import re
from collections.abc import Callable
from typing import Any

from ackclock.base import units
from ackclock.base.errors import AckclockError
from ackclock.imports import tc
from ackclock.imports.link import DEVICE
from ackclock.imports.words import Words

#: Whether a command is one of dummynet's.
IS = re.compile(r"(.*[\s/])?(ipfw|dnctl|pfctl)\s.*|dummynet(-anchor)?\s.*")
_CONFIG = re.compile(r"pipe\s+(\d+)\s+config\b(.*)")
_RULE = re.compile(r"\badd\b|\bdummynet\s+(in|out)\b")
_PLACED = re.compile(r"\bpipe\s+(\d+)")
_EXAMPLE = 'write commands like "ipfw pipe 1 config bw 10Mbit/s delay 50ms queue 50"'
_MASKS = ("dst-ip", "src-ip", "dst-port", "src-port", "dst-ip6", "src-ip6", "flow-id", "proto")
_BITS = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9}
#: Signs that a rule takes the packets of one direction.
_OUT = re.compile(r"\b(out|xmit|from me)\b")
_IN = re.compile(r"\b(in|recv|to me)\b")
_ONE = re.compile(r"\b(src|dst)-(ip|port)\b|\bport\b|\bfrom (?!any to any)|\bto any \d")


def scenario(commands: list[str]) -> tuple[dict[str, Any], list[str]]:
    """The fields of a scenario, and what a reader must know of it.

    Raises `AckclockError`, a line that names the command and what has no counterpart.
    """
    pipes: dict[str, dict[str, Any]] = {}
    ways: dict[str, str] = {}
    notes: list[str] = []
    for command in commands:
        words = Words(command, command.split())
        if tc.IS.search(command):
            raise words.refused("give commands of one program: those of tc or of dummynet")
        if found := _CONFIG.search(command):
            if found[1] in pipes:
                notes.append(f"pipe {found[1]}: dummynet keeps the last configuration alone")
            words.left = found[2].split()
            pipes[found[1]] = _pipe(words, notes)
        elif _RULE.search(command):
            _place(words, ways)
        elif re.search(r"\b(sched|queue)\b.* config\b", command):
            raise words.refused(f"schedulers have no counterpart in a scenario; {_EXAMPLE}")
    return _joined(pipes, ways, notes), notes


def _place(words: Words, ways: dict[str, str]) -> None:
    """Notes the direction of a rule's pipe: "out", "in", "both", or "" of one that is not told."""
    rule = words.command
    if re.search(r"\bprob\b", rule):
        raise words.no_counterpart("prob", "write plr in the pipe")
    if re.search(r"\bqueue\s+\d+", rule):
        raise words.no_counterpart("a queue of a rule", "write its pipe")
    if not (found := _PLACED.search(rule)):
        return
    way = "out" if _OUT.search(rule) else "in" if _IN.search(rule) else "both"
    if way == "both" and _ONE.search(rule):
        way = ""
    if found[1] in ways and (way == "" or way != ways[found[1]]):
        way = "both"  # from A to B, and from B to A
    ways[found[1]] = way


def _joined(
    pipes: dict[str, dict[str, Any]], ways: dict[str, str], notes: list[str]
) -> dict[str, Any]:
    if not pipes:
        raise AckclockError(f"no command makes a pipe; {_EXAMPLE}")
    if lost := next((number for number in ways if number not in pipes), None):
        raise AckclockError(f"pipe {lost} has a rule and no configuration; {_EXAMPLE}")
    placed = sorted(ways or pipes, key=lambda number: ways.get(number) == "in")
    if len(placed) > 2 or (len(placed) == 2 and "both" in ways.values()):
        raise AckclockError(
            f"pipes {', '.join(placed)}: give two pipes at most, one of data and one of ACKs"
        )
    notes.append('dummynet works at its kernel\'s ticks: write tick = "1ms" for those of 1000 Hz')
    links = [pipes[number] for number in placed]
    if len(links) == 1 and ways.get(placed[0]) != "both":
        return {"bottleneck": links[0]}
    if len(links) == 1:
        notes.append(f"pipe {placed[0]} carries data and ACKs in one queue: here each has a link")
        links *= 2
    else:
        notes.append(
            f"data pass pipe {placed[0]}, and ACKs pipe {placed[1]}: "
            "for a download exchange route and back"
        )
    return {"link": links, "flow": [{"algorithm": "cubic", "route": [1], "back": [2]}]}


def _pipe(words: Words, notes: list[str]) -> dict[str, Any]:
    link: dict[str, Any] = {"rate": DEVICE, "buffer": "50packets"}
    while words:
        word = words.next()
        if word in _OPTIONS:
            link |= _OPTIONS[word](words)
        elif word == "mask":
            notes.append("mask gives each address or port a pipe: here all flows share one")
            while words and words.left[0] in (*_MASKS, "all"):
                if words.next() != "all":
                    words.next()
        elif word in ("red", "gred"):
            raise words.refused(f'{word} is not read; write queue = "red" in [bottleneck]')
        else:
            raise words.no_counterpart(f"a pipe's {word}", "leave it out")
    if link["rate"] == DEVICE:
        notes.append(f"no bandwidth is set: {DEVICE} stands for that of your device")
    return link


def _number(words: Words, units: tuple[str, ...], like: str) -> tuple[int, str]:
    word = words.next()
    found = re.fullmatch(r"(\d+)([A-Za-z/]*)", word)
    if not found or (units and found[2] not in units):
        raise words.refused(f'"{word}": dummynet reads whole numbers, like {like}')
    return int(found[1]), found[2]


def _rate(words: Words) -> dict[str, Any]:
    """Bits, unless "B" or "by" begin the unit: `Bit/s` are bits, `Byte/s` and `B/s` bytes."""
    number, unit = _number(words, (), "10Mbit/s or 1500Kbit/s")
    prefix = unit[:1].lower() if unit[:1].lower() in _BITS else ""
    rest = unit[len(prefix) :]
    is_bytes = rest.startswith("by") or (rest.startswith("B") and not rest.startswith("Bi"))
    bps = number * _BITS[prefix] * (8 if is_bytes else 1)
    return {"rate": units.rate_text(bps) if bps else DEVICE}  # 0: no limit


def _delay(words: Words) -> dict[str, Any]:
    return {"delay": f"{_number(words, ('', 'ms'), '50ms')[0]}ms"}


def _queue(words: Words) -> dict[str, Any]:
    """Slots, or bytes, of which a K has 1024."""
    number, unit = _number(words, (), "50 or 50KBytes")
    if unit[:1] in ("K", "k"):
        return {"buffer": f"{number * 1024}B"}
    return {"buffer": f"{number}B" if unit[:1] in ("B", "b") else f"{number}packets"}


def _loss(words: Words) -> dict[str, Any]:
    word = words.next()
    if not re.fullmatch(r"0?\.\d+|[01](\.0*)?", word):
        raise words.refused(f'"{word}": write a share from 0 to 1, like plr 0.01')
    return {"loss": float(word)}


def _nothing(words: Words) -> dict[str, Any]:
    words.next()
    return {}


_OPTIONS: dict[str, Callable[[Words], dict[str, Any]]] = {
    "bw": _rate,
    "bandwidth": _rate,
    "delay": _delay,
    "queue": _queue,
    "plr": _loss,
    "buckets": _nothing,
    "weight": _nothing,
    "droptail": lambda words: {},  # noqa: ARG005 (as the others)
    "noerror": lambda words: {},  # noqa: ARG005 (as the others)
}
