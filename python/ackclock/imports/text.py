"""A scenario file that command lines of another emulator become."""

import os
import re
from pathlib import Path
from typing import Any

from ackclock.base.errors import AckclockError
from ackclock.imports import mahimahi, tc
from ackclock.scenario.scenario import Scenario

#: What tc and mahimahi say nothing of.
USUAL: dict[str, Any] = {"duration": "30s", "rtt": "1ms", "flow": [{"algorithm": "cubic"}]}


def scenario(lines: list[str], directory: Path = Path()) -> str:
    """The text of a scenario file in `directory` with the link of these commands.

    Each text has one command or several, of lines or with `;` or `&&` between them.
    Raises `AckclockError`, a line that names the command and what has no counterpart.
    """
    commands = [each.strip() for line in lines for each in re.split(r"\n|;|&&", line)]
    commands = [each for each in commands if each and not each.startswith("#")]
    if not commands:
        raise AckclockError(
            'no command; give one like "tc qdisc add dev eth0 root netem delay 50ms"'
        )
    if commands[0].startswith("mm-"):
        fields, notes = mahimahi.scenario(" ".join(commands))
        for link in fields["link"]:
            if "trace" in link:
                link["trace"] = os.path.relpath(link["trace"], directory)
    else:
        (link,), notes = tc.links(commands)
        fields = {"bottleneck": link}
    try:
        made = Scenario.parse(USUAL | fields)
    except AckclockError as error:
        raise tc.in_its_words(error, commands) from None
    about = [f"# {each}" for each in [*commands, *notes]]
    return "\n".join([*about, made.to_toml()])
