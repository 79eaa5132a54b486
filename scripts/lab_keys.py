"""The keys of a scenario as data, for the resolver that needs no Python (`crates/resolve`).

`make generate` writes `crates/resolve/src/keys.json` from the classes in `ackclock.scenario`,
which come from Rust themselves.
"""

import json
from types import NoneType
from typing import Any, Literal, get_args, get_origin

from pydantic import BeforeValidator
from pydantic.fields import FieldInfo

from ackclock.scenario.kinds import Kind
from ackclock.scenario.model import _INNER_TABLES, _LIKE, TABLES, Model
from ackclock.scenario.scenario import Scenario


def text() -> str:
    """The file's text: tables by their names, and what errors say of keys."""
    tables: dict[str, Any] = {}
    _add(Scenario, tables)
    words = {"tables": TABLES, "inner_tables": _INNER_TABLES, "like": _LIKE}
    lines = [f" {json.dumps(name)}: {_json(of)}" for name, of in tables.items()]
    return '{"tables": {\n' + ",\n".join(lines) + f'\n}}, "words": {_json(words)}}}\n'


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def _add(model: type[Model], tables: dict[str, Any]) -> None:
    if model.__name__ not in tables:
        tables[model.__name__] = {}
        fields = model.model_fields.items()
        tables[model.__name__] = [_field(name, field, tables) for name, field in fields]


def _field(name: str, field: FieldInfo, tables: dict[str, Any]) -> dict[str, Any]:
    of = {"key": name} | _type(field.annotation, [*field.metadata], tables)
    if field.serialization_alias:
        of["alias"] = field.serialization_alias
    if field.is_required():
        of["required"] = True
    elif not isinstance(field.default, Model | tuple | None):
        of["default"] = field.default
    elif isinstance(field.default, Model):
        of["default"] = field.default.kind  # type: ignore[attr-defined]
    return of


def _type(  # noqa: C901, PLR0911 (a list of cases)
    annotation: Any, metadata: list[Any], tables: dict[str, Any]
) -> dict[str, Any]:
    """What a key takes, as one entry."""
    inner = get_args(annotation)
    if NoneType in inner:
        [other] = [each for each in inner if each is not NoneType] if len(inner) == 2 else [None]
        if other is not None:
            return _type(other, metadata, tables)
    if hasattr(annotation, "__metadata__"):
        return _type(inner[0], [*metadata, *annotation.__metadata__], tables)
    for kind in metadata:
        if isinstance(kind, Kind):
            named = {"kind": type(kind).__name__, "low": kind.low, "high": kind.high}
            return named | ({"like": kind.like} if kind.like else {})
    if get_origin(annotation) is tuple:
        return {"many": _type(inner[0], [], tables)}
    if get_origin(annotation) is Literal:
        return {"choices": list(inner)}
    if isinstance(annotation, type) and issubclass(annotation, Model):
        _add(annotation, tables)
        return {"table": annotation.__name__}
    if annotation in (bool, str):
        return {"plain": annotation.__name__}
    for each in inner:
        _add(each, tables)
    kinds = {each.model_fields["kind"].default: each.__name__ for each in inner}
    [before] = [each.func for each in metadata if isinstance(each, BeforeValidator)]
    cells = zip(before.__code__.co_freevars, before.__closure__ or (), strict=True)
    named = {name: cell.cell_contents for name, cell in cells}
    short = [named["kind"], named["key"]] if named else None
    return {"kinds": kinds} | ({"short": short} if short else {})
