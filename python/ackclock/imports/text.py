"""A scenario file that command lines of another emulator become."""

import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ackclock.base.errors import AckclockError
from ackclock.imports import dummynet, mahimahi, shell, tc, wrappers
from ackclock.scenario.scenario import Scenario

#: A line of `tc qdisc show` or `tc class show`.
_SHOWN = re.compile(
    r"(qdisc|class) (\w+) (\S+) (?:dev (\S+) )?(root|parent \S+) ?(?:refcnt \d+ ?)?(.*)"
)
#: A longer file of commands is not read whole.
MOST_BYTES = 1 << 20
#: Linux's own on lo: IP packets have at most 65 535 bytes, and headers with timestamps 52.
LOOPBACK_MSS = 65_483
#: What these commands say nothing of.
USUAL: dict[str, Any] = {"duration": "30s", "rtt": "1ms", "flow": [{"algorithm": "cubic"}]}


def read(argument: str) -> str:
    """The commands of an argument: itself, a file's if it is one word, or for "-" standard input.

    Raises `AckclockError` of a file that cannot be read.
    """
    if len(argument.split()) != 1:
        return argument
    try:
        with Path("/dev/stdin" if argument == "-" else argument).open("rb") as given:
            return given.read(MOST_BYTES).decode()
    except UnicodeDecodeError:
        raise AckclockError(f"{argument}: is no text; give a file of commands") from None
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or error
        raise AckclockError(f"{argument}: {why}; give commands in quotes, a file, or -") from None


def scenario(lines: list[str], directory: Path = Path()) -> str:
    """The text of a scenario file in `directory` with the link of these commands.

    Each text has commands as a shell reads them: lines, `;`, `&&`, variables that have a value.
    Raises `AckclockError`, a line that names the command and what has no counterpart.
    """
    script = "\n".join(lines)
    if traced := re.findall(r"(?m)^\++ (.*)", script):  # what `sh -x` prints, or ERRANT's -d
        script = "\n".join(traced)
    commands = shell.commands("\n".join(_of_sqm(script)) or script)
    if any(_SHOWN.fullmatch(each) for each in commands):
        commands = list(_as_commands(commands))
    if not commands:
        raise AckclockError(
            'no command; give one like "tc qdisc add dev eth0 root netem delay 50ms"'
        )
    ran, devices = commands, []
    if commands[0].startswith("mm-"):
        fields, notes = mahimahi.scenario(" ".join(commands))
        for link in fields["link"]:
            for key in {"trace", "timeline"} & link.keys():
                link[key] = os.path.relpath(link[key], directory)
    elif any(dummynet.IS.fullmatch(each) and not tc.IS.search(each) for each in commands):
        fields, notes = dummynet.scenario(commands)
    else:
        runs: list[str] = []
        bare = [re.sub("[\"']", "", each) for each in commands]
        ran = [run for each in bare if (run := wrappers.as_tc(each, runs))]
        links, notes = tc.links(ran)
        devices = [*links]
        notes[:0] = runs
        fields = _joined(links, notes)
    try:
        made = Scenario.parse(USUAL | fields)
    except AckclockError as error:
        raise tc.in_its_words(error, ran, devices) from None
    about = [f"# {each}" for each in [*commands, *notes]]
    return "\n".join([*about, made.to_toml()])


def _of_sqm(config: str) -> Iterator[str]:
    """What sqm-scripts make of /etc/config/sqm: cake or fq_codel at each rate, kbit/s."""
    for queue in re.split(r"(?m)^\s*config queue\b", config)[1:]:
        read = re.findall(r"(?m)^\s*option (\w+) +['\"]?([^'\"\n]*)", queue)
        given = {name: value.strip() for name, value in read}
        device, kind = given.get("interface", "eth0"), given.get("qdisc", "cake")
        framing = f" overhead {given['overhead']}" if given.get("overhead", "0") != "0" else ""
        framing += " atm" if given.get("linklayer") == "atm" else ""
        for name, at in (("upload", device), ("download", f"ifb4{device}")):
            rate = given.get(name, "0")
            if rate == "0":
                continue
            if kind == "cake":
                own = given.get("eqdisc_opts" if name == "upload" else "iqdisc_opts", "")
                yield f"tc qdisc add dev {at} root cake bandwidth {rate}kbit{framing} {own}"
            else:
                yield f"tc qdisc add dev {at} root handle 1: htb default 1"
                yield f"tc class add dev {at} parent 1: classid 1:1 htb rate {rate}kbit{framing}"
                yield f"tc qdisc add dev {at} parent 1:1 {kind}"


def _as_commands(shown: list[str]) -> Iterator[str]:
    """What makes the queues that tc shows; the lines of its counts say nothing."""
    for line in shown:
        if found := _SHOWN.fullmatch(line):
            what, kind, own, device, place, options = found.groups()
            name = "handle" if what == "qdisc" else "classid"
            options = re.sub(r"\b(\d+)p\b", r"\1", options).replace(" lat ", " latency ")
            options = re.sub(r" direct_packets_stat \d+", "", options)
            head = f"tc {what} add dev {device or 'eth0'} {place} {name} {own} {kind}"
            yield f"{head} {options}".strip()


def _joined(links: dict[str, dict[str, Any]], notes: list[str]) -> dict[str, Any]:
    """The link of a device, or one for data and one for ACKs."""
    if not links:
        raise AckclockError(
            'no command makes a queue; give one like "tc qdisc add dev eth0 root netem delay 50ms"'
        )
    flow = {"algorithm": "cubic", "route": [1], "back": [2]}
    if "lo" in links and len(links) == 1:
        notes.append("lo carries data and ACKs in one queue: here each has a link")
        notes.append("packets on lo have up to 64 KiB: for those of another device leave mss out")
        return {"mss": LOOPBACK_MSS, "link": [links["lo"]] * 2, "flow": [flow]}
    if len(links) == 1:
        return {"bottleneck": next(iter(links.values()))}
    if len(links) > 2:
        raise AckclockError(
            f"{', '.join(links)}: give the commands of two devices at most, of data and of ACKs"
        )
    data, acks = links
    notes.append(
        f"data pass {data}, and ACKs {acks}: exchange route and back, or write route = [1, 2] alone"
    )
    return {"link": list(links.values()), "flow": [flow]}
