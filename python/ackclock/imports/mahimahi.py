"""Mahimahi's shells as a scenario: `mm-delay 20 mm-link up.trace down.trace`."""

import os
import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ackclock.base.errors import AckclockError
from ackclock.imports.link import DEVICE

#: Options of mm-link that draw or write, and change no packet.
_SILENT = re.compile(r"--(meter-\w+(-delay)?|(up|down)link-log=.*|once)")
_QUEUE = re.compile(r"--(up|down)link-(queue|queue-args)=(.*)")
#: An option whose value is the next word.
_APART = re.compile(r"--(up|down)link-(queue|queue-args|log)")
DIRECTIONS = ("uplink", "downlink")


def scenario(command: str) -> tuple[dict[str, Any], list[str]]:
    """The fields of a scenario, and what a reader must know of it. Data goes up, ACKs come down.

    Raises `AckclockError`, a line that names what has no counterpart.
    """
    ways: dict[str, list[dict[str, Any]]] = {direction: [] for direction in DIRECTIONS}
    rtt_ms = _read(command, ways)
    if not ways["uplink"]:
        ways["uplink"].append({"rate": DEVICE, "buffer": "1000packets"})
    links = ways["uplink"] + ways["downlink"]
    up = len(ways["uplink"])
    flow = {"algorithm": "cubic", "route": list(range(1, up + 1))}
    if back := list(range(up + 1, len(links) + 1)):
        flow["back"] = back
    notes = ["Data goes up; for a download exchange route and back."]
    return {"rtt": f"{rtt_ms or 0.1:g}ms", "link": links, "flow": [flow]}, notes


def _read(command: str, ways: dict[str, list[dict[str, Any]]]) -> float:
    """Fills the links of both directions; returns the RTT, ms."""
    rtt_ms = 0.0
    before: dict[str, Any] = {}
    for shell, *words in _shells(command):
        match shell, words:
            case "mm-delay", [delay]:
                rtt_ms += 2 * _number(command, delay)
            case "mm-delay", [interval, file]:
                _delays(command, ways, interval, file)
            case "mm-loss", [direction, p] if direction in DIRECTIONS:
                _once(command, before, direction, _number(command, p))
            case "mm-onoff", [direction, on, off] if direction in DIRECTIONS:
                times = {"good": f"{_number(command, on)}s", "bad": f"{_number(command, off)}s"}
                _once(command, before, direction, {"kind": "bad_times"} | times)
            case "mm-link", _:
                traces, queues = _link(command, words)
                for direction, trace in zip(DIRECTIONS, traces, strict=True):
                    loss = {"loss": before.pop(direction)} if direction in before else {}
                    ways[direction].append({"trace": trace} | queues[direction] | loss)
            case _:
                raise AckclockError(
                    f'"{command}": {" ".join([shell, *words])} has no counterpart in a scenario; '
                    "mm-delay, mm-loss, mm-onoff and mm-link have"
                )
    for direction, loss in before.items():
        ways[direction].append({"rate": DEVICE, "buffer": "1000packets", "loss": loss})
    return rtt_ms


def _delays(command: str, ways: dict[str, list[dict[str, Any]]], interval: str, file: str) -> None:
    """LeoReplayer's mm-delay: a delay for each 10 ms, both ways."""
    if _number(command, interval) != 10:
        raise AckclockError(f'"{command}": {interval}: delays for 10 ms each are read')
    for way in ways.values():
        way.append({"rate": DEVICE, "buffer": "1000000packets", "timeline": file})


def _shells(command: str) -> Iterator[list[str]]:
    try:
        words = shlex.split(command)
    except ValueError as error:
        raise AckclockError(f'"{command}": {error}; close each quote') from None
    shell: list[str] = []
    for word in words:
        if word == "--" or (shell and not word.startswith("mm-") and _is_done(shell, word)):
            break  # the program inside
        if word.startswith("mm-") and shell:
            yield shell
            shell = []
        shell.append(word)
    yield shell


def _is_done(shell: list[str], word: str) -> bool:
    """Whether a shell has all its words, so that the next one is a program; mm-link has options."""
    delays = word.endswith(".txt") or (Path(word).is_file() and not os.access(word, os.X_OK))
    most = {"mm-delay": 2 + delays, "mm-loss": 3, "mm-onoff": 4}
    return len(shell) >= most.get(shell[0], 1 << 30)


def _link(command: str, words: list[str]) -> tuple[list[str], dict[str, dict[str, Any]]]:
    traces: list[str] = []
    said: dict[tuple[str, str], str] = {}
    left = iter(words)
    for each in left:
        word = each
        if _APART.fullmatch(word):
            word += f"={next(left, '')}"
        if found := _QUEUE.fullmatch(word):
            said[f"{found[1]}link", found[2]] = found[3]
        elif not word.startswith("-") and len(traces) < 2:
            traces.append(word)
        elif len(traces) == 2 and not word.startswith("-"):
            break  # the program inside
        elif not _SILENT.fullmatch(word):
            raise AckclockError(f'"{command}": {word} has no counterpart in a scenario')
    if len(traces) != 2:
        raise AckclockError(f'"{command}": mm-link takes two traces, uplink and downlink')
    queues = {
        direction: _queue(
            command, said.get((direction, "queue"), "infinite"), said.get((direction, "queue-args"))
        )
        for direction in DIRECTIONS
    }
    return traces, queues


def _queue(command: str, kind: str, arguments: str | None) -> dict[str, Any]:
    given = dict(re.findall(r"(\w+)\s*=\s*(\d+)", arguments or ""))
    room = f"{given['packets']}packets" if "packets" in given else None
    if "bytes" in given:
        room = f"{given['bytes']}B"
    match kind:
        case "infinite":
            return {"buffer": "1000000packets"}
        case "droptail" if room:
            return {"buffer": room}
        case "codel" if room:
            times = {key: f"{given[key]}ms" for key in ("target", "interval") if key in given}
            return {"buffer": room, "queue": {"kind": "codel"} | times}
    if kind in ("droptail", "codel"):
        raise AckclockError(f'"{command}": {kind} needs its size, like packets=100')
    raise AckclockError(
        f'"{command}": the queue {kind} has no counterpart in a scenario; '
        "write droptail, codel or infinite"
    )


def _once(command: str, before: dict[str, Any], direction: str, loss: Any) -> None:
    if direction in before:
        raise AckclockError(f'"{command}": two losses of the {direction}; keep one of the two')
    before[direction] = loss


def _number(command: str, word: str) -> float:
    try:
        number = float(word)
    except ValueError:
        raise AckclockError(f'"{command}": "{word}" is no number') from None
    return int(number) if number == int(number) else number
