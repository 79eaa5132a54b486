"""`comcast …` and `pumba netem …` as the commands of tc that they run."""

import re

from ackclock.imports.words import Words

#: Sub-commands of pumba's netem → their options and defaults.
_PUMBA = {
    "delay": {"time": "100", "jitter": "10", "correlation": "20", "distribution": ""},
    "loss": {"percent": "0", "correlation": "0"},
    "loss-state": {"p13": "0", "p31": "100", "p32": "0", "p23": "100", "p14": "0"},
    "loss-gemodel": {"pg": "0", "pb": "100", "one-h": "100", "one-k": "0"},
    "duplicate": {"percent": "0", "correlation": "0"},
    "corrupt": {"percent": "0", "correlation": "0"},
    "rate": {"rate": "100kbit", "packetoverhead": "0", "cellsize": "0", "celloverhead": "0"},
}
#: Letters of options that are not their first one.
_LETTERS = {"loss-gemodel": {"p": "pg", "r": "pb"}, "rate": {"s": "cellsize", "c": "celloverhead"}}
_PUMBA_NETEM = dict.fromkeys(
    ("duration", "interface", "target", "egress-port", "ingress-port", "tc-image", "pull-image"), ""
)
_COMCAST = dict.fromkeys(("device", "latency", "target-bw", "default-bw", "packet-loss"), "")
_COMCAST |= dict.fromkeys(("target-addr", "target-proto", "target-port", "stop", "dry-run"), "")
#: Options without a value, unless one follows "=".
_SWITCHES = ("stop", "dry-run", "pull-image")


def as_tc(command: str, notes: list[str]) -> str:
    """The command, or that of tc which it runs; "" of one that removes."""
    words = Words(command, command.split())
    names = [re.sub(r".*/|:.*", "", word) for word in words.left]
    if "tc" in names:
        return command
    for name, read in (("comcast", _comcast), ("pumba", _pumba)):
        if name in names:
            del words.left[: names.index(name) + 1]
            made = read(words, notes)
            notes += [f"{name} runs: {made}"] if made else []
            return made
    return command


def _comcast(words: Words, notes: list[str]) -> str:
    given = _options(words, _COMCAST, {})
    if words:
        raise words.refused(f'"{words.left[0]}" is no option of comcast')
    if given["stop"]:
        return ""
    if any(given[option] for option in ("target-addr", "target-proto", "target-port")):
        notes.append("comcast chooses packets by address, protocol or port: here it takes all")
    if given["default-bw"]:
        notes.append("--default-bw is the rate of packets that comcast does not choose: left out")
    # Without a bandwidth its class of htb has 1 Gb/s.
    netem = f"rate {given['target-bw'] or 1_000_000}kbit"
    netem += f" delay {given['latency']}ms" if given["latency"] else ""
    netem += f" loss {given['packet-loss'].rstrip('%')}%" if given["packet-loss"] else ""
    return f"tc qdisc add dev {given['device'] or 'eth0'} root netem {netem}"


def _pumba(words: Words, notes: list[str]) -> str:
    if "netem" not in words.left:
        raise words.refused("of pumba's commands only netem shapes a link")
    del words.left[: words.left.index("netem") + 1]
    above = _options(words, _PUMBA_NETEM, {})
    kind = words.next()
    if kind not in _PUMBA:
        raise words.refused(f'"{kind}" has no counterpart in a scenario; {", ".join(_PUMBA)} have')
    given = _options(words, _PUMBA[kind], _LETTERS.get(kind, {}))
    if any(above[option] for option in ("target", "egress-port", "ingress-port")):
        notes.append("pumba chooses packets by address or port: here it takes all")
    dev = above["interface"] or "eth0"
    return f"tc qdisc add dev {dev} root netem {_netem(kind, given, words, notes)}"


def _netem(kind: str, given: dict[str, str], words: Words, notes: list[str]) -> str:
    if kind == "rate":
        return " ".join(["rate", *given.values()])
    if kind != "delay":
        return " ".join([kind.replace("-", " "), *given.values()])
    netem = f"delay {given['time']}ms"
    if given["jitter"] == "0":
        return netem
    correlation = given["correlation"]
    if not re.search(r"\s(-c|--correlation)\b", words.command):
        notes.append("pumba's usual correlation of 20 % has no counterpart: here draws are apart")
        correlation = "0"
    netem += f" {given['jitter']}ms {correlation}"
    return netem + (f" distribution {given['distribution']}" if given["distribution"] else "")


def _options(words: Words, defaults: dict[str, str], letters: dict[str, str]) -> dict[str, str]:
    """The options in front of the other words, each with its value or default."""
    given = dict(defaults)
    short = {name[0]: name for name in reversed(defaults)} | letters
    while words.left and words.left[0].startswith("-"):
        name, equal, value = words.next().lstrip("-").partition("=")
        name = short.get(name, name)
        if not name:  # "--": what follows are containers
            break
        if name not in defaults:
            raise words.no_counterpart(f"--{name}", "leave it out")
        given[name] = value if equal else "true" if name in _SWITCHES else words.next()
    return given
