"""Writes `docs/scenario.md`: the keys of a scenario. `make generate` calls it."""

from collections.abc import Iterator
from typing import Any

from ackclock.base import units
from ackclock.scenario.table import tables, toml

HEAD = """# A scenario file

A scenario file says what `ackclock run` simulates: links, and the flows that share them.
It is TOML. Quantities are text with a unit. `examples/` has complete files.
A scenario has a `[bottleneck]`, or `[[link]]` tables in series with the same keys: a
packet passes them in their order, or those of its flow's `route`.
`ackclock run FILE --set KEY=VALUE` changes a key for one run: `--set rtt=20ms`,
`--set flow.algorithm=reno` (every flow), `--set flow.2.start=5s` (flow 2),
`--set cubic:beta=0.8` (this algorithm's parameter), `--set cubic@=ha2008` (its preset).
`ackclock run FILE --branch at=12.5s,drop=flow1:next` runs the same until 12.5 s, and then another
future: a packet is lost or not (`keep`), `set=bottleneck.rate=5mbit`, `set=flow1.algorithm=reno`.
"""


#: Keys that are tables, each with a part of the page.
TABLES = ("bottleneck", "links", "flows", "sessions", "changes")


def markdown() -> str:
    lines = [
        *HEAD.split("\n"),
        f"Times: {', '.join(units.TIME_UNITS)}.",
        f"Rates (decimal, bits per second): {', '.join(units.RATE_UNITS)}.",
        f"Sizes: {', '.join(units.SIZE_UNITS)}.",
        "",
        "With `#:schema` and the path of [its schema](../examples/scenario.schema.json) in line 1,",
        "editors with Taplo complete keys. Both are made of `crates/sim/src/scenario`.",
    ]
    titles = [
        ("At the top", "Scenario"),
        ("`[bottleneck]`, or `[[link]]` once per link", "Bottleneck"),
    ]
    titles += inner_tables("bottleneck", "Bottleneck")
    titles += [("`[[flow]]`, once per flow", "Flow")]
    titles += [("`[[session]]`, once per kind of background traffic", "Session")]
    titles += [("`[[change]]`, once per change of a branch (`run --branch`)", "Change")]
    of_flow = {key["key"] for key in tables()["Flow"]["keys"]}
    for start, name in titles:
        title = start
        keys = {key["key"]: key for key in tables()[name]["keys"]}
        if name == "Session":
            without = ", ".join(
                f"`{key['key']}`" for key in tables()["Flow"]["keys"] if key["key"] not in keys
            )
            title += f", with the keys of a flow but {without}"
            keys = {key: of for key, of in keys.items() if key not in of_flow}
        rows = [row(of) for of in keys.values() if of["about"] and of["key"] not in TABLES]
        about = ["", " ".join(tables()[name]["about"].split())] if "kind" in keys else []
        head = ["", "|key|default|meaning|", "|---|---|---|"]
        lines += ["", f"## {title}", *about, *(head + rows if rows else [])]
    return "\n".join(lines) + "\n"


def row(key: dict[str, Any]) -> str:
    default = "" if key["default"] is None else f"`{toml(key['default'])}`"
    if "many" in key:
        default = "`[]`"
    return f"|`{key['key']}`|{'required' if key['required'] else default}|{key['about']}|"


def inner_tables(name: str, table: str) -> Iterator[tuple[str, str]]:
    """The tables in a table: title and name. A list's own key says what is in it."""
    for key in tables()[table]["keys"]:
        if "table" in key:
            yield f"`[{name}.{key['key']}]`", key["table"]
        for kind, inner in key.get("kinds", {}).items():
            yield f'`[{name}.{key["key"]}]`, `kind = "{kind}"`', inner
