"""Conformance as data: scenarios with assertions on the tables of their runs."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from ackclock.base.errors import AckclockError
from ackclock.results import tables
from ackclock.results.result import Result, run
from ackclock.scenario import toml_file
from ackclock.scenario.scenario import Scenario

#: The table of a file that holds its assertions, and the keys of each.
ASSERT = "assert"
KEYS = ("says", "value", "between")


@dataclass(frozen=True)
class Verdict:
    """An assertion of a file, and what the run has."""

    case: str
    says: str
    #: What SQL found; None: no row.
    value: float | None
    low: float
    high: float

    @property
    def holds(self) -> bool:
        """Whether the value is within the bounds, both included."""
        return self.value is not None and self.low <= self.value <= self.high


@dataclass(frozen=True)
class Case:
    """A file: a scenario whose flow 1 is judged, and its assertions."""

    name: str
    scenario: Scenario
    asserts: tuple[dict[str, Any], ...]

    @classmethod
    def read(cls, path: Path) -> "Case":
        """Reads a file. Raises `AckclockError` that names file, key and fix."""
        fields = toml_file.read(toml_file.content(path, "a case"), str(path))
        asserts = fields.pop(ASSERT, None)
        if not isinstance(asserts, list) or not asserts:
            raise AckclockError(f"{path}: has no [[{ASSERT}]]; add one with {', '.join(KEYS)}")
        for number, each in enumerate(asserts, 1):
            between = each.get("between")
            is_pair = isinstance(between, list) and len(between) == 2
            if set(each) != set(KEYS) or not is_pair:
                raise AckclockError(
                    f"{path}: {ASSERT} {number}: write says, value (SQL) and between = [low, high]"
                )
        return cls(path.stem, Scenario.parse(fields, source=f"{path}: "), tuple(asserts))

    def judge(self, algorithm: str, execute: Callable[[Scenario], Result] = run) -> list[Verdict]:
        """Runs the scenario with this algorithm in flow 1, and asks the tables."""
        result = execute(self.scenario.assign(f"flow.1.algorithm={algorithm}"))
        # Names as text, so that SQL compares them.
        frames = {
            name: getattr(result, name).with_columns(pl.col(pl.Enum).cast(pl.String))
            for name in tables.TABLES
        }
        context = pl.SQLContext(frames)
        return [self._verdict(context, each) for each in self.asserts]

    def _verdict(self, context: "pl.SQLContext[Any]", each: dict[str, Any]) -> Verdict:
        try:
            found = context.execute(each["value"], eager=True)
        except pl.exceptions.PolarsError as error:
            reason = str(error).splitlines()[0]
            raise AckclockError(f"{self.name}: {each['says']}: {reason}") from None
        value = found.item() if found.shape == (1, 1) else None
        low, high = each["between"]
        return Verdict(self.name, each["says"], None if value is None else float(value), low, high)
