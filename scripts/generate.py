"""Writes the files that repeat in another form what Rust declares: `make generate`.

`tests/repository/test_docs.py` checks that each is up to date. The order matters: a page of docs/
reads the Python that stands before it.
"""

import json
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator
from importlib import import_module
from pathlib import Path

from ackclock import _core

ROOT = Path(__file__).parent.parent
BIN = Path(sys.executable).parent


def stubs() -> str:
    """The types of `ackclock._core`, which pyo3 stores in the library that it builds."""
    with tempfile.TemporaryDirectory() as directory:
        command = f"{BIN}/maturin generate-stubs --quiet --locked --profile release --out"
        subprocess.run([*command.split(), directory], cwd=ROOT, check=True, capture_output=True)
        return Path(directory, "ackclock", "_core.pyi").read_text(encoding="utf-8")


def schema() -> str:
    return _core.scenario_schema() + "\n"


def card_schema() -> str:
    return str(import_module("ackclock.questions.form").schema())


def page(module: str) -> Callable[[], str]:
    return lambda: import_module(f"ackclock.{module}").markdown()


#: The ends of the names of canonical fields, and the kinds of values that people write instead.
#: Of other fields people write the integer itself (`hz`, `drop_every_packets`).
KINDS = {
    "_ns": ("Time", "str"),
    "_bps": ("Rate", "str"),
    "_bytes": ("Size", "str"),
    "_thousandths": ("Thousandths", "float"),
    "_ppm": ("Millionths", "float"),
    "_ppb": ("Billionths", "float"),
}

#: Fields that people write in another way than their name says: kind and type.
OTHER_KINDS = {
    "Scenario.mss_bytes": ("Bytes", "int"),
    "Flow.mss_bytes": ("Bytes", "int"),
    "Flow.size_bytes": ("Payload", "str"),
    "Bottleneck.buffer": ("Room", "str"),
    "Bottleneck.trace_ms": ("Trace", "str"),
    "Bottleneck.timeline": ("File", "str"),
}
#: A key that `Scenario.resolve` reads into `rate_at`, `delay_at` and `loss_at`.
TIMELINE = {
    "type": ["array", "null"],
    "items": {"type": "integer"},
    "minItems": 1,
    "maxItems": 1_000_000,
    "description": "File of the link in time, CSV or Parquet: a column `time_s`, and those that "
    "change of `rate_mbit`, `delay_ms`, `loss` and `up` (0: every packet is lost), or in other "
    "units. Or a delay in ms on each line, for 10 ms each, as LeoReplayer's.",
}
#: Fields that are not keys: `Scenario.resolve` fills them.
NO_KEYS = {"Scenario.header_bytes"}
#: Keys that may be missing though the canonical field may not: `Scenario.resolve` fills it.
OPTIONAL = (
    {"Scenario.tso", "Flow.rtt_ns", "Bottleneck.rate_bps"}
    | {f"{kind}.mtu_bytes" for kind in ("Codel", "FqCodel", "Pie", "Dualpi2")}
    | {"FqCodel.quantum_bytes", "Fq.quantum_bytes", "Fq.initial_quantum_bytes"}
)
#: Keys of a flow that a session has not.
OF_FLOWS = {
    f"Flow.{field}"
    for field in [
        "stack",
        "stop_ns",
        "frames",
        "writes",
        "hides",
        "rate_bps",
        "read_rate_bps",
        "read_rate_at",
    ]
}
#: A table that may be missing, and that `Scenario` fills: always there for its readers.
FILLED = {"Scenario.bottleneck"}
#: Names in the canonical form, and how people write them.
NAMES = {"at_once": "at once"}

HEADER = '''"""The keys of {what}. `make generate` writes this file.

The fields of the structs in `{where}` say what each key means, its range and its
default.
"""

from typing import Annotated, Literal

from pydantic import AliasChoices, BeforeValidator, Field, Strict

from ackclock.scenario.model import Model, or_short, tagged
from ackclock.scenario.kinds import (
    {kinds}
)
'''


class Keys:
    """Makes Python's classes from a JSON Schema, each after the classes that it needs."""

    def __init__(self, schema: dict) -> None:
        self.defs = schema["$defs"] | {"Scenario": schema}
        self.classes: dict[str, str] = {}

    def of_links(self) -> str:
        """The module of a link and all that is in it."""
        self.add("Bottleneck")
        return self.module("a link", "crates/net", "", self.classes)

    def of_scenarios(self) -> str:
        """The module of the rest: flows, sessions, and the scenario."""
        self.add("Bottleneck")
        links = {*self.classes}
        self.add("Scenario")
        header = self.defs["Scenario"]["properties"]["header_bytes"]
        start = f"from ackclock.scenario.link_keys import Bottleneck\n\n#: {words(header)}\n"
        start += f"HEADER_BYTES = {header['default']}\n\n\n"
        names = [name for name in self.classes if name not in links]
        return self.module("a scenario", "crates/sim/src/scenario", start, names)

    def module(self, what: str, where: str, start: str, names: Iterable[str]) -> str:
        """A whole module. `HEADER` imports what any module needs."""
        body = "\n\n".join(self.classes[name] for name in names)
        kinds = ", ".join(sorted(set(re.findall(r", ([A-Z][a-z]+)\(\d", body))))
        text = HEADER.format(what=what, where=where, kinds=kinds) + start + body
        for command in ("check --fix-only --select F401,I", "format"):
            ruff = [BIN / "ruff", *command.split(), "--quiet", "--stdin-filename", "keys.py", "-"]
            done = subprocess.run(ruff, cwd=ROOT, input=text, stdout=-1, text=True, check=True)
            text = done.stdout
        return text

    def add(self, name: str, tag: str | None = None) -> None:
        """A class for a struct."""
        if name in self.classes:
            return
        of = self.defs[name]
        keys = list(self.keys(name))
        if tag:
            keys.insert(0, (tag_field(tag), False))
        # What must be given comes first, tables last, as a reader wants to see them.
        tables = [
            text
            for text, _ in keys
            if re.match(r"\w+: (tuple\[)?[A-Z]\w+(, \.\.\.\])?( =|$)", text)
        ]
        keys = [(text, required) for text, required in keys if text not in tables]
        ordered = [text for text, required in keys if required]
        ordered += [text for text, required in keys if not required] + tables
        title = "ScenarioKeys" if name == "Scenario" else name
        doc = docstring(of.get("description", name))
        body = "\n    ".join(ordered)
        self.classes[name] = f"class {title}(Model):\n    {doc}\n\n    {body}\n" + "".join(
            alias_property(text) for text in tables if "AliasChoices" in text
        )

    def keys(self, name: str) -> Iterator[tuple[str, bool]]:
        """The line of each key, and whether it must be given."""
        properties = self.defs[name]["properties"]
        if name == "Session":
            flow = [(f"Flow.{each}", of) for each, of in self.fields("Flow")]
            flow = [(each, of) for each, of in flow if each not in OF_FLOWS]
            own = [(f"Session.{each}", of) for each, of in properties.items()]
            fields = [*flow, *((each, of) for each, of in own if each != "Session.flow")]
        else:
            fields = [(f"{name}.{each}", of) for each, of in self.fields(name)]
        if name == "Scenario":
            about = "Round-trip propagation delay of each flow that has no `rtt` of its own."
            rtt = self.defs["Flow"]["properties"]["rtt_ns"] | {"description": about}
            yield self.key("Flow.rtt_ns", rtt)
        for path, of in fields:
            if path == "Session.sizes":
                yield from self.sizes(of)
            elif path not in NO_KEYS:
                yield self.key(path, of)
        if name == "Bottleneck":
            yield self.key(f"{name}.timeline", TIMELINE)
        if name in ("Flow", "Session"):
            most = self.defs["Scenario"]["properties"][f"{name.lower()}s"]["maxItems"]
            about = f"Number of {name.lower()}s like this one."
            of = {"type": "integer", "minimum": 1, "maximum": most, "default": 1}
            yield self.key(f"{name}.count", of | {"description": about})

    def fields(self, name: str) -> list[tuple[str, dict]]:
        return list(self.defs[name]["properties"].items())

    def sizes(self, of: dict) -> Iterator[tuple[str, bool]]:
        """Each distribution is a key of its own, with its parameter."""
        for choice in self.target(of)["oneOf"]:
            for law, parameter in choice.get("properties", {}).items():
                about = {"type": ["integer", "null"], "description": choice["description"]}
                yield self.key(f"Session.{law}_thousandths", parameter | about)

    def key(self, path: str, of: dict) -> tuple[str, bool]:
        """The line of a key, and whether it must be given."""
        name = path.partition(".")[2]
        optional = path in OPTIONAL or "null" in of.get("type", ()) or "anyOf" in of
        settings: dict[str, str] = {}
        target = self.target(of)
        unit = next((each for each in KINDS if name.endswith(each)), "")
        if path in OTHER_KINDS or target.get("type") in ("integer", ["integer", "null"]):
            kind, python = OTHER_KINDS.get(path) or KINDS.get(unit, ("Integer", "int"))
            value = import_module("ackclock.scenario.kinds").__dict__[kind]
            key = name.removesuffix(value.suffix)
            value = value(*self.limits(target))
            like = example(value, of) if python == "str" else None
            arguments = [f"{value.low:_}", f"{value.high:_}", *([f'"{like}"'] if like else [])]
            annotation = f"Annotated[{python}, {kind}({', '.join(arguments)})]"
            if "default" in of and path not in OPTIONAL:
                settings["default"] = repr(value.written(of["default"]))
        else:
            key = name
            annotation = self.annotation(name, target)
            if "default" in of:
                default = of["default"]
                settings["default"] = repr(NAMES.get(default, default))
                if "discriminator" in annotation:
                    settings["default"] = f"{class_of(default)}()"
        if optional:
            annotation += " | None"
            settings.setdefault("default", "None")
        if path.startswith("Scenario.") and "tuple[" in annotation and key.endswith("s"):
            one = key.removesuffix("s")
            return (
                f'{key}: {annotation} = Field((), validation_alias=AliasChoices("{one}", "{key}"), '
                f'serialization_alias="{one}")'
            ), False
        if path in FILLED:
            return f"{key}: {annotation} = Field(None)  # type: ignore[assignment]", False
        if of.get("$ref") and target.get("properties") and not optional:
            return f"{key}: {annotation}", True
        if "tuple[" in annotation:
            settings["default"] = "()"
        required = "default" not in settings
        default = [] if required else [settings.pop("default")]
        more = [f"{name}={text}" for name, text in settings.items()]
        described = [f"description={quoted(words(of))}"] if "description" in of else []
        return f"{key}: {annotation} = Field({', '.join([*default, *more, *described])})", required

    def annotation(self, name: str, target: dict) -> str:
        """The Python type of a field that is neither a quantity nor a number."""
        match target:
            case {"type": "boolean" | ["boolean", "null"]}:
                annotation = "Annotated[bool, Strict()]"
            case {"type": "array", "items": {"type": "integer"} as item}:
                limits = f"{item['minimum']:_}, {item['maximum']:_}"
                annotation = f"tuple[Annotated[int, Integer({limits})], ...]"
            case {"type": "array"}:
                annotation = f"tuple[{self.reference(target['items'])}, ...]"
            case {"type": "object"}:
                annotation = self.reference({"$ref": f"#/$defs/{self.name_of(target)}"})
            case {"enum": choices}:
                annotation = self.literal(choices)
            case {"oneOf": choices} if any("properties" in each for each in choices):
                annotation = self.union(choices)
            case {"oneOf": choices}:
                annotation = self.literal([name for each in choices for name in tags(each)])
            case {"type": "string"} | {"type": ["string", "null"]}:
                annotation = "str"
            case _:
                raise NotImplementedError(f"{name}: {target}")
        return annotation

    def literal(self, choices: list[str | bool]) -> str:
        def written(each: str | bool) -> str:
            return str(each) if isinstance(each, bool) else json.dumps(NAMES.get(each, each))

        return f"Literal[{', '.join(map(written, choices))}]"

    def union(self, choices: list[dict]) -> str:
        """A table whose `kind` says which keys it has; its name alone if all are the defaults."""
        names = []
        for choice in choices:
            for tag in tags(choice):
                name = class_of(tag)
                struct = choice.get("properties", {}).get(tag, {"properties": {}})
                about = choice.get("description") or struct.get("description", name)
                self.defs[name] = self.target(struct) | {"description": about}
                self.add(name, tag)
                names.append(name)
        kinds = " | ".join(names)
        short = "tagged"
        first = next(iter(choices[0].get("properties", {}).items()), None)
        if first and len(fields := self.target(first[1])["properties"]) == 1:
            # Its only key alone stands for the table.
            key = next(iter(fields)).removesuffix("_ppb")
            short = f'or_short("{first[0]}", "{key}")'
        return f'Annotated[{kinds}, Field(discriminator="kind"), BeforeValidator({short})]'

    def reference(self, of: dict) -> str:
        name = of["$ref"].rpartition("/")[2]
        self.add(name)
        return name

    def target(self, of: dict) -> dict:
        """What a field refers to."""
        if "anyOf" in of:
            of = next(each for each in of["anyOf"] if each.get("type") != "null")
        return self.defs[of["$ref"].rpartition("/")[2]] if "$ref" in of else of

    def name_of(self, target: dict) -> str:
        return next(name for name, each in self.defs.items() if each is target)

    def limits(self, target: dict) -> tuple[int, int]:
        """The least and the most of a number, of an enumeration's first, of a list's length."""
        if "oneOf" in target:
            target = next(iter(target["oneOf"][0]["properties"].values()))
        if "items" in target:
            return target["minItems"], target["maxItems"]
        return target["minimum"], target["maximum"]


def tags(choice: dict) -> list[str]:
    """The names of a choice among names, and structs behind names (serde's external tags)."""
    if "properties" in choice:
        return list(choice["properties"])
    return [choice["const"]] if "const" in choice else choice["enum"]


def class_of(tag: str) -> str:
    return "".join(part.capitalize() for part in tag.split("_"))


def tag_field(tag: str) -> str:
    return f'kind: Literal["{tag}"] = "{tag}"'


def words(of: dict) -> str:
    return " ".join(of["description"].split())


def quoted(text: str) -> str:
    """A string over as many lines as it needs."""
    pieces, line = [], ""
    for word in re.findall(r"\S+\s*", text):
        if len(line + word) > 76:
            pieces.append(line)
            line = ""
        line += word
    return " ".join(repr(piece) for piece in [*pieces, line])


def docstring(text: str) -> str:
    first, *rest = text.split("\n\n")
    rest = [f"\n\n    {' '.join(each.split())}" for each in rest]
    end = "\n    " if rest else ""
    return f'"""{" ".join(first.split())}{"".join(rest)}{end}"""'


def example(value, of: dict) -> str | None:
    """What an error shows as an example, if it is not the usual one of such values."""
    for number in (*of.get("examples", ()), of.get("default")):
        if number and value.written(number) != value.usual:
            return value.written(number)
    return None


def alias_property(text: str) -> str:
    key, annotation = re.match(r"(\w+): (tuple\[.*?\])", text).groups()
    one = key.removesuffix("s")
    return (
        f"\n    @property\n    def {one}(self) -> {annotation}:\n"
        f'        """The same as `{key}`, by its name in a scenario file."""\n'
        f"        return self.{key}\n"
    )


def link_keys() -> str:
    """`ackclock.link_keys`."""
    return Keys(json.loads(_core.scenario_schema())).of_links()


def keys() -> str:
    """`ackclock.keys`."""
    return Keys(json.loads(_core.scenario_schema())).of_scenarios()


def keys_as_data() -> str:
    """`scripts/lab_keys.py`, which reads the Python that stands before it."""
    return import_module("lab_keys").text()


#: File → its text.
FILES = {
    "docs/scenario.schema.json": schema,
    "python/ackclock/_core.pyi": stubs,
    "python/ackclock/scenario/link_keys.py": link_keys,
    "python/ackclock/scenario/keys.py": keys,
    "crates/resolve/src/keys.json": keys_as_data,
    "docs/scenario.md": page("scenario.scenario"),
    "docs/tables.md": page("results.tables"),
    "docs/card.schema.json": card_schema,
    "docs/evaluate.md": page("scorecard.manual"),
}


def main() -> None:
    for file, text in FILES.items():
        (ROOT / file).write_text(text(), encoding="utf-8")


if __name__ == "__main__":
    main()
