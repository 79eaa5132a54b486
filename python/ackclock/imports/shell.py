"""The commands of a shell script, with the values of its variables in them."""

import re

from ackclock.base.errors import AckclockError, visible

#: What ends a command, outside quotes; comments, and outputs that go elsewhere, are left out.
_TOKEN = re.compile(
    r"""(?P<text>'[^']*'|"(?:\\.|[^"\\])*"|\\.|\|(?!\|))|(?P<end>&&|\|\||[;\n&])
    |(?P<out>(?<!\S)\#[^\n]*|(?:(?<!\S)\d)?&?>{1,2}\s*(?:&\d|[^\s;&|]+))|.""",
    re.VERBOSE | re.DOTALL,
)
_ASSIGNED = re.compile(
    r"(?:(?:export|local|readonly)\s+)?([A-Za-z_]\w*)=(\"[^\"]*\"|'[^']*'|\S*)(?:\s+|$)"
)
_VARIABLE = re.compile(r"\$(?:(\w+)|\{(\w+)(?::?[-=]([^{}]*))?\})")
#: What runs commands several times, or some of them.
_FLOW = re.compile(r"(if|for|while|until|case|select|function)\b|\w+\s*\(\)")


def commands(script: str) -> list[str]:
    """Each command of a script, in a line of words.

    Raises `AckclockError`, a line that names the command and what of the shell is not read.
    """
    script = re.sub(r"\\\s*\n", " ", visible(script.replace("\r\n", "\n")))
    parts = [""]
    for token in _TOKEN.finditer(script):
        if token["end"]:
            parts.append("")
        elif not token["out"]:
            parts[-1] += token[0]
    values: dict[str, str] = {}
    found = []
    for part in parts:
        command = " ".join(part.split())
        if flow := _FLOW.match(command):
            raise AckclockError(f'"{command}": {flow[0]} is not read; write its commands alone')
        while assigned := _ASSIGNED.match(command):
            values[assigned[1]] = _expanded(assigned[2].strip("\"'"), values, command)
            command = command[assigned.end() :]
        if command := _expanded(command, values, command):
            found.append(command)
    return found


def _expanded(text: str, values: dict[str, str], command: str) -> str:
    def value(found: re.Match[str]) -> str:
        name = found[1] or found[2]
        known = values.get(name, found[3])
        if known is None:
            raise AckclockError(f'"{command}": {found[0]} has no value; write {name}=… before it')
        return known

    made = _VARIABLE.sub(value, text)
    if left := re.search(r"\$\S*|`[^`]*`?", made):
        raise AckclockError(f'"{command}": {left[0]} is not read; write the value that it gives')
    return made
