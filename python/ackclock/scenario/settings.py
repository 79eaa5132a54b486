"""Settings of a scenario in text, as of the command line's `--set`: "flow.2.start=5s"."""

import re
import tomllib
from collections.abc import Sequence
from typing import Any

from ackclock.base.errors import AckclockError
from ackclock.scenario.table import toml

#: What names an algorithm: "cubic@ha2008:beta=0.7".
_SPEC = re.compile(r"([^@:]*)(@?)([^:]*):?(.*)", re.DOTALL)
#: A table of a scenario of which there may be many, by either name.
MANY = ("link", "links", "flow", "flows", "session", "sessions", "change", "changes",
        "program", "programs")  # fmt: skip


def assign(fields: dict[str, Any], settings: Sequence[str]) -> None:
    """Puts each `key=value` into the fields of a scenario, what is of algorithms as the last.

    Raises `AckclockError` that names the setting and the fix.
    """
    _check_set_once(settings)
    for setting in sorted(settings, key=lambda setting: algorithm_of(setting) is not None):
        _assign(fields, setting)


def _assign(fields: dict[str, Any], setting: str) -> None:
    path, equals, text = (part.strip() for part in setting.partition("="))
    if not (path and equals and text):
        fix = "write KEY=VALUE, like rtt=20ms, bottleneck.buffer=2bdp or flow.1.start=5s"
        raise AckclockError(f'"{setting}": {fix}')
    *inner, key = path.split(".")
    name, _, preset = path.partition("@")
    try:
        if preset and ":" not in preset:
            raise ValueError(f"write {name}@={preset}")  # noqa: TRY301
        if (algorithm := algorithm_of(setting)) is not None:
            _set_of_algorithm(fields, algorithm, path.rpartition(":")[2], text)
            return
        tables = _tables(fields, inner, key)
    except ValueError as error:
        raise AckclockError(f'"{setting}": {error}') from None
    for table in tables:
        table[key] = value_of(text)


def algorithm_of(setting: str) -> str | None:
    """The algorithm whose parameter ("cubic:beta=0.8") or preset ("cubic@=ha2008") this sets.

    None if it sets a key.
    """
    path = setting.partition("=")[0].strip()
    if path.endswith("@"):
        return path[:-1]
    return path.rpartition(":")[0] if ":" in path else None


def _set_of_algorithm(fields: dict[str, Any], algorithm: str, key: str, text: str) -> None:
    """Sets a parameter of an algorithm, or its preset, in each flow and session that has it.

    A preset leaves the parameters that are set as they are. A C file is known by its name, without
    its folder. Raises `ValueError` if none has it.
    """
    found = set()
    for table in (each for name in ("flow", "session") for each in fields.get(name, ())):
        name, at, preset, given = _SPEC.fullmatch(table["algorithm"]).groups("")  # type: ignore[union-attr]
        found.add(name.rpartition("/")[2])
        if name.rpartition("/")[2] == algorithm.rpartition("/")[2]:
            if key.endswith("@"):
                preset = text.strip('"')
                table["algorithm"] = f"{name}@{preset}" + (f":{given}" if given else "")
            else:
                values = dict(each.partition("=")[::2] for each in given.split(",") if each)
                values[key] = text
                pairs = ",".join(f"{key}={value}" for key, value in values.items())
                table["algorithm"] = f"{name}{at}{preset}:{pairs}"
            found.add("")
    if "" not in found:
        raise ValueError(
            f"no flow or session has {algorithm}; they have {', '.join(sorted(found))}"
        )


def value_of(text: str) -> Any:
    """The value in a setting, as TOML has it."""
    try:
        return tomllib.loads(f"value = {text}")["value"]
    except (ValueError, RecursionError):
        return text  # a quantity or a name, without its quotes


def _tables(fields: dict[str, Any], path: list[str], key: str) -> Sequence[dict[str, Any]]:
    """The tables in which a setting sets its key; raises `ValueError` if there are none."""
    match path:
        case [] if key not in ("bottleneck", *MANY):
            return [fields]
        case ["bottleneck", *inner] if "bottleneck" in fields:
            return [_inner(fields["bottleneck"], inner)]
        case ["bottleneck", *inner]:
            instead = ".".join(["link.1", *inner, key])
            raise ValueError(f"the scenario has [[link]] tables; write {instead}")
        case ["link" | "links", *inner] if "bottleneck" in fields:
            instead = ".".join(["bottleneck", *inner[bool(inner and inner[0].isdigit()) :], key])
            raise ValueError(f"the scenario has a [bottleneck]; write {instead}")
        case [name, *inner] if name in MANY and not key.isdigit():
            number = [inner.pop(0)] if inner and inner[0].isdigit() else []
            tables = _chosen(fields, name.removesuffix("s"), *number)
            return [_inner(each, inner) for each in tables]
    raise ValueError(
        "write KEY, bottleneck.KEY, flow.KEY, flow.NUMBER.KEY, ALGORITHM:PARAMETER, ALGORITHM@ "
        "(its preset) or link.NUMBER.KEY=VALUE"
    )


def _inner(table: dict[str, Any], path: Sequence[str]) -> dict[str, Any]:
    """The table in a table; raises `ValueError` if something else is there."""
    for name in path:
        value = table.get(name) or {}
        table[name] = {"kind": value} if isinstance(value, str) else value
        if not isinstance(table[name], dict):
            raise ValueError(f"{name} is {toml(table[name])} here; set all of {name}")  # noqa: TRY004
        table = table[name]
    return table


def key_of(setting: str) -> str:
    """The key of a setting, by its one name: "flow.start" of "flows.start = 5s"."""
    table, *rest = setting.partition("=")[0].strip().split(".")
    return ".".join([table.removesuffix("s") if table in MANY and rest else table, *rest])


def _check_set_once(settings: Sequence[str]) -> None:
    """Raises `AckclockError` if one setting would undo another before it."""
    earlier: dict[str, str] = {}
    for setting in settings:
        key = key_of(setting)
        if key in earlier:
            raise AckclockError(
                f'"{earlier[key]}" and "{setting}" set the same key; keep one of the two'
            )
        for other, text in earlier.items():
            if re.sub(r"\.\d+\.", ".", other) == key:
                raise AckclockError(
                    f'"{setting}" undoes "{text}"; put the setting of every flow first'
                )
        earlier[key] = setting


def _chosen(
    fields: dict[str, Any], name: str, number: str | None = None
) -> Sequence[dict[str, Any]]:
    """The tables of all flows (or sessions), or that of one, in the fields of a scenario.

    Raises `ValueError` if there is none.
    """
    tables = fields.get(name, ())
    if not tables:
        raise ValueError(f"the scenario has no [[{name}]] table")
    if number is None:
        return tables  # type: ignore[no-any-return]
    alone = [
        {key: value for key, value in each.items() if key != "count"}
        for each in tables
        for _ in range(each.get("count", 1))
    ]
    if number not in map(str, range(1, len(alone) + 1)):
        raise ValueError(f"there is no {name} {number}; choose from 1 to {len(alone)}")
    fields[name] = alone
    return [alone[int(number) - 1]]
