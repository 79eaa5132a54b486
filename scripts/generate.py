"""Writes the files that repeat in another form what Rust declares: `make generate`.

`tests/repository/test_docs.py` checks that each is up to date. The order matters: a page of docs/
reads the Python that stands before it.
"""

import itertools
import json
import subprocess
import sys
import textwrap
from collections.abc import Callable
from importlib import import_module
from pathlib import Path

from ackclock import _core
from ackclock.scenario import table

ROOT = Path(__file__).parent.parent
BIN = Path(sys.executable).parent


def stubs() -> str:
    """The types of `ackclock._core`, which pyo3 stores in the library that it builds.

    What reads them is built with the tests of Rust: of the whole workspace, so that cargo makes
    nothing twice.
    """
    command = "cargo build --quiet --locked --profile test --workspace --example stubs"
    subprocess.run(command.split(), cwd=ROOT, check=True)
    reader = [str(ROOT / "target" / "debug" / "examples" / "stubs"), _core.__file__]
    return subprocess.run(reader, stdout=subprocess.PIPE, text=True, check=True).stdout


def schema() -> str:
    return _core.scenario_schema() + "\n"


def page(module: str) -> Callable[[], str]:
    return lambda: import_module(module).markdown()


#: How people write a number or a quantity, as a type of Python; other kinds are text.
TYPES = {
    "Integer": "int",
    "Bytes": "int",
    "Thousandths": "float",
    "Millionths": "float",
    "Billionths": "float",
}

KEYS = '''"""The tables of a scenario, and their keys. `make generate` writes this file.

The fields of the structs in `crates/sim/src/scenario` and `crates/net` say what each key means, its
range and its default.
"""

from typing import ClassVar, Literal

from ackclock.scenario.table import Table, Tables
'''


def keys() -> str:
    """`ackclock.scenario.keys`: a class for each table, after those of the tables in it."""
    text = KEYS + "".join(map(class_of, json.loads(_core.keys())))
    for command in ("check --fix-only --select F401,I", "format"):
        ruff = [f"{BIN}/ruff", *command.split(), "--quiet", "--stdin-filename", "keys.py", "-"]
        done = subprocess.run(ruff, cwd=ROOT, input=text, stdout=-1, text=True, check=True)
        text = done.stdout
    return text


def class_of(table: dict) -> str:
    title = "ScenarioKeys" if table["name"] == "Scenario" else table["name"]
    meanings = [meaning(key) for key in table["keys"] if key["about"]]
    lines = [f"class {title}(Table):", docstring(table["about"], meanings), ""]
    inner = {key["alias"] or key["key"]: tables_in(key) for key in table["keys"]}
    if inner := {key: tables for key, tables in inner.items() if tables}:
        each = ", ".join(f'"{key}": {tables}' for key, tables in inner.items())
        lines += [f"    tables: ClassVar[Tables] = {{{each}}}", ""]
    lines += map(attribute, table["keys"])
    for key in (key for key in table["keys"] if key["alias"]):
        annotation = annotation_of(key)
        lines += [
            "",
            "    @property",
            f"    def {key['alias']}(self) -> {annotation}:",
            f'        """The same as `{key["key"]}`, by its name in a scenario file."""',
            f"        return self.{key['key']}",
        ]
    return "\n".join(["", "", *lines, ""])


def tables_in(key: dict) -> str:
    """The class of the tables in a key, or those of its kinds; empty if there are none."""
    match key.get("many", key):
        case {"table": table}:
            return table
        case {"kinds": kinds}:
            each = ", ".join(f'"{kind}": {table}' for kind, table in kinds.items())
            return f"{{{each}}}"
    return ""


def attribute(key: dict) -> str:
    name, annotation, default = key["key"], annotation_of(key), key["default"]
    if key["required"] or (key.get("table") and name == "bottleneck"):
        return f"    {name}: {annotation}"
    if "many" in key:
        return f"    {name}: {annotation} = ()"
    if default is None:
        return f"    {name}: {annotation} | None = None"
    if "kinds" in key:
        return f"    {name}: {annotation} = {key['kinds'][default]}.of({{'kind': {default!r}}})"
    return f"    {name}: {annotation} = {default!r}"


def annotation_of(key: dict) -> str:
    match key:
        case {"many": many}:
            return f"tuple[{annotation_of(many)}, ...]"
        case {"kind": kind}:
            return TYPES.get(kind, "str")
        case {"choices": choices}:
            return f"Literal[{', '.join(map(repr, choices))}]"
        case {"table": table}:
            return table
        case {"kinds": kinds}:
            return " | ".join(kinds.values())
        case {"plain": plain}:
            return plain
    raise NotImplementedError(key)


def meaning(key: dict) -> str:
    """What a key means, for its table's docstring, and its range."""
    limits = f" ({key['range']})" if key.get("kind") in {*TYPES, "Time", "Rate", "Size"} else ""
    text = f"{key['key']}: {key['about']}{limits}"
    return textwrap.fill(text, 96, subsequent_indent="    ", break_long_words=False)


def docstring(text: str, meanings: list[str]) -> str:
    first, *rest = text.split("\n\n")
    parts = [textwrap.fill(" ".join(first.split()), 94)]
    parts += [textwrap.fill(" ".join(each.split()), 96) for each in rest]
    parts += ["\n".join(meanings)] if meanings else []
    if len(parts) == 1:
        return f'    """{parts[0]}"""'
    text = "\n\n".join(parts)
    return textwrap.indent(f'"""{text}\n"""', "    ")


def with_answers(file: str, *hosts: str) -> Callable[[], str]:
    """A page whose table below MADE says what hosts can."""

    def text() -> str:
        head, rest = (ROOT / file).read_text(encoding="utf-8").split(MADE)
        rows = [f"|key|{'|'.join(hosts)}|", "|---" * (1 + len(hosts)) + "|"]
        for says, keys in table.answers(*hosts).items():
            cells = [", ".join(f"`{key}`" for key in keys), *(each or "yes" for each in says)]
            rows.append(f"|{'|'.join(cells)}|")
        below = rest.lstrip("\n").splitlines(keepends=True)
        after = "".join(itertools.dropwhile(lambda line: line.startswith("|"), below))
        return head + MADE + "\n\n" + "\n".join(rows) + "\n" + after

    return text


#: Above a table that is made of what each host can.
MADE = "<!-- made of crates/sim/src/scenario/able.rs by make generate -->"

#: File → its text.
FILES = {
    "examples/scenario.schema.json": schema,
    "python/ackclock/_core.pyi": stubs,
    "python/ackclock/scenario/keys.py": keys,
    "docs/scenario.md": page("scenario_page"),
    "docs/tables.md": page("ackclock.results.tables"),
    "docs/testbed.md": with_answers("docs/testbed.md", "kernel"),
    "docs/quic.md": with_answers("docs/quic.md", "quinn, noq", "udp"),
    "docs/vlinux.md": with_answers("docs/vlinux.md", "vlinux"),
    "docs/evaluate.md": page("evaluate_page"),
}


def main() -> None:
    for file, text in FILES.items():
        (ROOT / file).write_text(text(), encoding="utf-8")


if __name__ == "__main__":
    main()
