"""What the tables of a scenario have in common: names, errors, the canonical form."""

import difflib
import functools
import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, ClassVar, NoReturn, get_args, get_origin

from pydantic import BaseModel, ConfigDict, ValidationError
from pydantic.fields import FieldInfo
from pydantic_core import ErrorDetails

from ackclock.base.errors import AckclockError
from ackclock.scenario.kinds import Kind


class Model(BaseModel):
    """A table of a scenario. It does not change, and its errors are one line."""

    #: What the table is: its docstring without the meaning of each field.
    about: ClassVar[str] = ""
    model_config = ConfigDict(frozen=True, extra="forbid")

    @classmethod
    def __pydantic_init_subclass__(cls, **_: Any) -> None:
        """Gives help() the meaning of each field."""
        cls.about = (cls.__doc__ or "").strip()
        described = {name: field.description for name, field in cls.model_fields.items()}
        meanings = [f"    {name}: {text}" for name, text in described.items() if text]
        cls.__doc__ = "\n".join([f"{(cls.__doc__ or '').rstrip()}\n", *meanings])

    def __init__(self, *others: object, **fields: Any) -> None:
        if others:
            name = type(self).__name__
            read = "; Scenario.from_toml(PATH) reads a file" if name == "Scenario" else ""
            raise AckclockError(f'{name}({others[0]!r}): name each field, as in rtt="40ms"{read}')
        if "kind" in type(self).model_fields:  # is always told, so that a table can be read again
            fields.setdefault("kind", type(self).model_fields["kind"].default)
        if isinstance(spec := fields.get("algorithm"), str) and spec.startswith("linux:"):
            fields["algorithm"] = spec.replace("linux:", "kernel:", 1)  # both name Linux's own
        try:
            super().__init__(**fields)
        except ValidationError as error:
            raise AckclockError(_explain(type(self), error)) from None

    def __setattr__(self, field: str, value: object) -> NoReturn:
        kind = type(self).__name__
        fix = "Scenario.replace and Scenario.assign return a changed scenario"
        if kind == "Scenario":
            fix = f"write scenario = scenario.replace({field}={value!r})"
        raise AckclockError(f"{field} = {value!r}: a {kind} does not change; {fix}")

    def canonical(self, mss: int) -> dict[str, Any]:
        """The table with the names and the values of the canonical form; raises `ValueError`."""
        fields = {}
        for name, kind in _kinds(type(self)).items():
            value = getattr(self, name)
            if kind is None:
                fields[name] = _canonical(value, mss)
                continue
            try:
                number = None if value is None else kind.canonical(value, mss)
                fields[name + kind.suffix] = number
            except ValueError as error:
                raise ValueError(f"{name} = {toml(value)}: {error}") from None
        return fields


def _canonical(value: Any, mss: int) -> Any:
    if isinstance(value, tuple):
        return [_canonical(each, mss) for each in value]
    if not isinstance(value, Model):
        return value
    fields = value.canonical(getattr(value, "mss", None) or mss)
    kind = fields.pop("kind", None)
    return fields if kind is None else {kind: fields} if fields else kind


def tagged(value: Any) -> Any:
    """A table of several kinds, where its kind may stand for it: "codel"."""
    return {"kind": value} if isinstance(value, str) else value


def or_short(kind: str, key: str) -> Callable[[Any], Any]:
    """As `tagged`, where a number may also stand for the table of this kind with this key."""

    def table(value: Any) -> Any:
        if isinstance(value, int | float) and not isinstance(value, bool):
            return {"kind": kind, key: value}
        return tagged(value)

    return table


@functools.cache
def _kinds(model: type[BaseModel]) -> dict[str, Kind | None]:
    """The kind of each key, None of one that is neither a quantity nor a number: of a list too."""
    return {
        name: next(_declared(field, field.annotation), None)
        if get_origin(field.annotation) is not tuple
        else None
        for name, field in model.model_fields.items()
    }


def _declared(field: FieldInfo, annotation: Any) -> Iterator[Kind]:
    yield from (each for each in field.metadata if isinstance(each, Kind))
    for each in get_args(annotation):
        metadata = getattr(each, "__metadata__", ())
        yield from (kind for kind in metadata if isinstance(kind, Kind))


def models(annotation: Any) -> Iterator[type[Model]]:
    """The tables that a key may be."""
    if isinstance(annotation, type) and issubclass(annotation, Model):
        yield annotation
    for each in get_args(annotation):
        yield from models(each)


def kind_of(model: type[BaseModel], key: str) -> Kind:
    """What a key with a unit, or of a number, may be."""
    kind = _kinds(model)[key]
    assert kind is not None, key
    return kind


def key_of(model: type[BaseModel], field: str) -> str:
    """The key that has a name in the canonical form; that name itself, if it is not of a key."""
    named = {key + (kind.suffix if kind else ""): key for key, kind in _kinds(model).items()}
    return named.get(field, field)


def kinds_of(key: str) -> Iterator[Kind]:
    """What a key of this name may be, in every table that has one."""
    for each in _subclasses(Model):
        if kind := _kinds(each).get(key):
            yield kind


def _subclasses(model: type[Model]) -> Iterator[type[Model]]:
    for each in model.__subclasses__():
        yield each
        yield from _subclasses(each)


def nearest(word: str, known: Sequence[str]) -> list[str]:
    """The known name that `word` may misspell, or none: "rat" is near "rate", "cdg" not "bic"."""
    return difflib.get_close_matches(word, known, 1, cutoff=0.7)


#: What to write for a key that is a table.
TABLES = {
    "bottleneck": "a table [bottleneck] with rate and buffer",
    "link": "one table [[link]] with rate and buffer per link",
    "flow": "one table [[flow]] per flow",
    "session": "one table [[session]] per kind of traffic",
}
TABLES |= {f"{name}s": TABLES[name] for name in ("link", "flow", "session")}

#: What to write for a key that is a table in a table.
_INNER_TABLES = {
    "queue": "its kind in quotes, or a table with kind",
    "loss": "a probability, like 0.001, or a table with kind",
    "reorder": 'a table, like {p = 0.01, delay = "10ms"}',
    "policer": 'a table, like {rate = "20mbit", burst = "100kB"}',
    "frames": 'a table, like {size = "10kB", every = "20ms"}',
    "writes": 'a list of tables, like [{size = "1MB"}, {at = "5s", size = "10kB", every = "1s"}]',
    "rate_at": 'a list of tables, like [{time = "20s", rate = "25mbit"}]',
    "read_rate_at": 'a list of tables, like [{time = "20s", rate = "0bit"}]',
    "loss_at": 'a list of tables, like [{time = "20s", p = 0.01}]',
    "delay_jitter": 'a table, like {by = "10ms"}',
    "delay_at": 'a list of tables, like [{time = "20s", delay = "50ms"}]',
}

#: What a missing key may look like.
_LIKE = {
    "duration": 'for example duration = "60s"',
    "rate": 'for example rate = "100mbit"',
    "buffer": 'for example buffer = "1bdp"',
    "algorithm": 'for example algorithm = "cubic"',
    "time": 'for example time = "20s"',
    "delay": 'for example delay = "50ms"',
    "burst": 'for example burst = "100kB"',
    "every": 'for example every = "20ms"',
    "lasts": 'for example lasts = "16.7ms"',
    "good": 'for example good = "5s"',
    "bad": 'for example bad = "16.7ms"',
    "by": 'for example by = "10ms"',
    "size": 'for example size = "10kB"',
    "p": "for example p = 0.01",
    "r": "for example r = 0.3",
}


#: A key that a table has not, though others of its kind have it.
_HAS_NOT = {
    ("DropTail", "ecn"): "a drop_tail queue cannot mark; remove ecn, or choose a queue like codel",
    ("Session", "stack"): "a session has TCP only; leave stack out",
}

#: Where the keys of a table are written.
_PLACES = {
    "ScenarioKeys": "the scenario, above the tables",
    "Bottleneck": "[bottleneck] or [[link]]",
    "Flow": "[[flow]]",
    "Session": "[[session]]",
}


def _explain(model: type[BaseModel], error: ValidationError) -> str:
    """One line on the first thing wrong: field, value, fix."""
    errors = sorted(error.errors(), key=lambda each: each["type"] != "extra_forbidden")
    first = errors[0]  # a misspelt key before the one that is missing for it
    message = first["msg"].removeprefix("Value error, ")
    if not first["loc"]:
        return message  # of the model as a whole: names its field itself
    field, *rest = first["loc"]
    name = str(field).removesuffix("s") if field in TABLES else brief(str(field))
    number = [each for each in rest if isinstance(each, int)]
    if number and field in TABLES | _INNER_TABLES:
        name += f" {number[0] + 1}"
    elif number:
        name = f"number {number[0] + 1} of {name}"
    match first["type"]:
        case "value_error" if isinstance(first["ctx"]["error"], AckclockError):
            line = f"{name}{': ' if number else '.'}{message}"  # a nested model has explained it
        case "missing":
            line = f"{name} is missing; write {TABLES.get(name) or _LIKE[name]}"
        case "extra_forbidden":
            line = f"{brief(str(field))}: {_unknown_key(model, str(field))}"
        case "union_tag_invalid":
            line = f"{name}{_unknown_kind(str(field), first['input'], first['ctx'])}"
        case _ if field == "bottleneck" and isinstance(first["input"], list):
            line = "[[bottleneck]]: write [bottleneck] with one bracket, or [[link]] for several"
        case "tuple_type" if isinstance(first["input"], dict) and field in TABLES:
            line = f"[{name}]: write [[{name}]] with two brackets; there may be several"
        case _:
            value = "None" if first["input"] is None else toml(first["input"])
            line = f"{name} = {brief(value)}: {_fix(str(field), first) or message}"
    return line


def brief(text: str) -> str:
    """A text that fits into an error."""
    return text if len(text) <= 200 else f"{text[:100]}… ({len(text)} characters)"


def _fix(field: str, error: ErrorDetails) -> str:
    """What to write instead of a value of the wrong type, or nothing."""
    match error["type"]:
        case _ if tables := (_INNER_TABLES | TABLES).get(field):
            return f"write {tables}"
        case "tuple_type":
            return f"write numbers in brackets, like {field} = [1, 2]"
        case "literal_error":
            expected = str(error["ctx"]["expected"]).replace("'", '"')
            return "choose " + expected.replace("False", "false").replace("True", "true")
        case "bool_type":
            return "write true or false"
        case "string_type":
            return "write text in quotes"
    return ""


def _unknown_key(model: type[BaseModel], field: str) -> str:
    if field in TABLES:  # and known, by its other name
        return f"the same as {field.removesuffix('s')}; keep one of the two"
    if field in ("scenario", "axes"):
        return "this is the file of a sweep; run it with `ackclock sweep`"
    if fix := _HAS_NOT.get((model.__name__, field)):
        return fix
    known = [info.serialization_alias or name for name, info in model.model_fields.items()]
    if near := nearest(field, known):
        return f'unknown key; did you mean "{near[0]}"?'
    every = {each.__name__: each for each in _subclasses(Model)}
    tables = {at: every[name].model_fields for name, at in _PLACES.items() if name in every}
    if places := [at for at, fields in tables.items() if field in fields]:
        return f"unknown key; it is a key of {' or of '.join(places)}"
    return f"unknown key; known keys are {', '.join(known)}"


def _unknown_kind(field: str, table: Mapping[str, Any], context: dict[str, Any]) -> str:
    kind = table["kind"]
    known = context["expected_tags"].replace("'", '"')
    near = nearest(str(kind), re.findall(r"\w+", known))
    fix = f'did you mean "{near[0]}"?' if near else f"choose from {known}"
    if not str(kind)[:1].isalpha():  # "1%" is no misspelt kind
        fix = f"write {_INNER_TABLES[field]}"
    short = len(table) == 1  # as in queue = "codel"
    return f"{' = ' if short else '.kind = '}{toml(kind)}: {fix}"


def toml(value: Any) -> str:
    """A value as in a scenario file."""
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(toml, value)) + "]"
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{key} = {toml(each)}" for key, each in value.items()) + "}"
    return json.dumps(value, ensure_ascii=False, default=str)
