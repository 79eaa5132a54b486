"""What the tables of a scenario have in common. What a key takes is `crates/resolve`'s to say."""

import functools
import json
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, NoReturn, Self

from ackclock import _core
from ackclock.base.errors import AckclockError

#: Key → the class of the tables in it, or the classes of its kinds by their names.
Tables = Mapping[str, "type[Table] | Mapping[str, type[Table]]"]


class Table:
    """A table of a scenario. It does not change, and its errors are one line.

    Its attributes are its keys. A key that is not given has its default.
    """

    #: What is given, in plain values: names and texts, as a file has them.
    given: Mapping[str, Any]
    tables: ClassVar[Tables] = {}

    def __init__(self, *others: object, **fields: Any) -> None:
        self._refuse_unnamed(others)
        self._fill(_core.table(type(self).__name__, fields))

    @classmethod
    def of(cls, given: Mapping[str, Any]) -> Self:
        """The table of what was checked before."""
        table = cls.__new__(cls)
        cls._fill(table, given)
        return table

    def _refuse_unnamed(self, others: tuple[object, ...]) -> None:
        if others:
            name = type(self).__name__
            read = "; Scenario.from_toml(PATH) reads a file" if name == "Scenario" else ""
            raise AckclockError(f'{name}({others[0]!r}): name each field, as in rtt="40ms"{read}')

    def _fill(self, given: Mapping[str, Any]) -> None:
        values = {key: self._value(key, value) for key, value in given.items()}
        self.__dict__.update(values, given=given)

    def _value(self, key: str, value: Any) -> Any:
        inner = self.tables.get(key)
        if isinstance(value, list):
            return tuple(value if inner is None else (self._table(inner, each) for each in value))
        return value if inner is None else self._table(inner, value)

    @staticmethod
    def _table(inner: "type[Table] | Mapping[str, type[Table]]", value: Any) -> "Table":
        return (inner if isinstance(inner, type) else inner[value["kind"]]).of(value)

    @classmethod
    @functools.cache
    def names(cls) -> tuple[str, ...]:
        """The names of its keys."""
        every = (
            each for kind in cls.__mro__[-3::-1] for each in vars(kind).get("__annotations__", ())
        )
        return tuple(name for name in every if name[0] != "_" and name != "tables")

    def replace(self, **fields: Any) -> Self:
        """The same table with other values of some keys; raises `AckclockError`."""
        return type(self)(**{**self.given, **fields})

    def __setattr__(self, field: str, value: object) -> NoReturn:
        kind = type(self).__name__
        fix = "Scenario.replace and Scenario.assign return a changed scenario"
        if kind == "Scenario":
            fix = f"write scenario = scenario.replace({field}={value!r})"
        raise AckclockError(f"{field} = {value!r}: a {kind} does not change; {fix}")

    def _values(self) -> tuple[Any, ...]:
        return tuple(getattr(self, key) for key in self.names())

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and other._values() == self._values()

    def __hash__(self) -> int:
        return hash(self._values())

    def __repr__(self) -> str:
        each = (f"{key}={vars(self)[key]!r}" for key in self.names() if key in vars(self))
        return f"{type(self).__name__}({', '.join(each)})"

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self).of, (self.given,)


@functools.cache
def tables() -> dict[str, dict[str, Any]]:
    """The tables of a scenario by the names of their classes: `about`, and their `keys`.

    Of each key: its name (`key`), what it means (`about`), `required`, `default`, `alias`, and what
    it takes: `kind` with `low` and `high` in the canonical unit, `choices`, `table`, `kinds`,
    `many` of one of these, or `plain`. `hosts`: what hosts say that do not take it just so.
    """
    return {table["name"]: table for table in json.loads(_core.keys())}


def answers(*hosts: str) -> dict[tuple[str, ...], list[str]]:
    """What hosts say of keys, one after the other, and of which; empty: as the simulator."""
    found: dict[tuple[str, ...], list[str]] = {}
    above = {key["key"] for key in tables()["Scenario"]["keys"]}
    for name, place in (("Scenario", ""), ("Bottleneck", "link."), ("Flow", "flow.")):
        for key in tables()[name]["keys"]:
            says = tuple(key["hosts"].get(host, "") for host in hosts)
            is_plain = name == "Flow" and key["key"] not in above
            found.setdefault(says, []).append(("" if is_plain else place) + key["key"])
    return {says: keys for says, keys in found.items() if any(says)}


def refused(host: str) -> list[str]:
    """The keys that a host refuses."""
    every = answers(host).items()
    return [key for (says,), keys in every if says.startswith("refused") for key in keys]


def kinds_of(key: str) -> set[str]:
    """The kinds of quantities or numbers that a key of this name is, in every table that has it."""
    every = (each for table in tables().values() for each in table["keys"])
    return {each["kind"] for each in every if each["key"] == key and "kind" in each}


def nearest(word: str, known: Sequence[str]) -> list[str]:
    """The known name that `word` may misspell, or none: "rat" is near "rate", "cdg" not "bic"."""
    import difflib  # noqa: PLC0415 (slow to import)

    return difflib.get_close_matches(word, known, 1, cutoff=0.7)


def toml(value: Any) -> str:
    """A value as in a scenario file."""
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(toml, value)) + "]"
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{key} = {toml(each)}" for key, each in value.items()) + "}"
    return json.dumps(value, ensure_ascii=False, default=str)
