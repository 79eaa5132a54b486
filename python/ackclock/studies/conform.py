"""Conformance as data: scenarios with assertions on the tables of their runs."""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from ackclock.base.errors import AckclockError
from ackclock.hosts.linux import Linux
from ackclock.hosts.threads import LOCAL
from ackclock.results import measures, qlog, qlog_reader, tables
from ackclock.results.result import Result
from ackclock.scenario import toml_file
from ackclock.scenario.scenario import Bottleneck, Flow, Scenario

#: The table of a file that holds its assertions, and the keys of each.
ASSERT = "assert"
KEYS = ("says", "value", "between")
#: The sentence of the standard that it checks; a file of one's own need not have it.
RULE = "rule"
#: Columns and kinds of events that a QUIC stack does not tell (docs/quic.md).
UNTOLD = frozenset(
    (
        *("state", "undos", "receive_window_limited_us", "send_buffer_limited_us"),
        *("slow_start_exit", "recovered", "undo", "cwr"),
    )
)


@dataclass(frozen=True)
class Seen:
    """What there is to ask: tables, and the words of SQL that ask for what is not in them."""

    frames: Mapping[str, pl.DataFrame]
    lacking: frozenset[str] = frozenset()

    @classmethod
    def from_result(cls, result: Result) -> "Seen":
        """The tables of a run."""
        # Names as text, so that SQL compares them.
        frames = {
            name: getattr(result, name).with_columns(pl.col(pl.Enum).cast(pl.String))
            for name in tables.TABLES
        }
        is_guest = result.resolved["flows"][0].get("stack")
        return cls(frames, untold(frames["samples"]) if is_guest else frozenset())

    @classmethod
    def read(cls, path: Path, scenario: Scenario) -> "Seen":
        """The tables that a qlog of this scenario's path tells; raises `AckclockError`."""
        resolved = json.loads(scenario.resolve())
        log = qlog_reader.read(
            path,
            mss_bytes=measures.mss_bytes(resolved, resolved["flows"][0]),
            duration_us=resolved["duration_ns"] // 1000,
            interval_us=resolved["sample_interval_ns"] // 1000,
            rtt_us=resolved["flows"][0]["rtt_ns"] // 1000,
        )
        frames = {"samples": log.samples, "events": log.events}
        lacking = tables.TABLES.keys() - frames.keys()
        for name, frame in frames.items():
            lacking |= tables.schema(name).keys() - set(frame.columns)
        lacking |= {*tables.schema("events")["kind"].categories} - log.kinds
        return cls(frames, frozenset(lacking | untold(log.samples) if log.is_guest else lacking))


@dataclass(frozen=True)
class Verdict:
    """An assertion of a file, and what the run has."""

    case: str
    says: str
    #: What SQL found; None: no row.
    value: float | None
    low: float
    high: float
    #: The sentence of the standard, and where it stands. "": none.
    rule: str = ""
    #: What the assertion asks for and is not there: it cannot be tested. "": nothing.
    lacks: str = ""

    @property
    def holds(self) -> bool | None:
        """Whether the value is within the bounds, both included. None: not testable."""
        if self.lacks:
            return None
        return self.value is not None and self.low <= self.value <= self.high


@dataclass(frozen=True)
class Case:
    """A file: a scenario whose flow 1 is judged, and its assertions."""

    name: str
    #: What precedes errors of its scenario.
    source: str
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
            if set(each) - {RULE} != set(KEYS) or not is_pair:
                raise AckclockError(
                    f"{path}: {ASSERT} {number}: write says, value (SQL) and between = "
                    "[low, high]; rule, the sentence that it checks, may be there too"
                )
        source = f"{path}: "
        return cls(path.stem, source, Scenario.parse(fields, source=source), tuple(asserts))

    def judge(self, algorithm: str, host: Linux | None = None, stack: str = "") -> list[Verdict]:
        """Runs the scenario with this algorithm in flow 1, and asks the tables.

        `stack`: the QUIC stack whose own the algorithm is. What a host or a stack refuses in the
        scenario cannot be tested there. Raises `AckclockError` if it refuses every scenario with
        that algorithm.
        """
        own = {"algorithm": algorithm} | ({"stack": stack} if stack else {})
        settings = [f"flow.1.{key}={value}" for key, value in own.items()]
        scenario, where = self.scenario.assign(*settings), host or LOCAL
        if host or stack:
            plain = Bottleneck(rate="10mbit", buffer="1bdp")
            where.check(Scenario(duration="1s", rtt="40ms", bottleneck=plain, flows=[Flow(**own)]))
            self.scenario.check()
            try:
                where.check(scenario)
            except AckclockError as error:
                lacks = str(error).removeprefix(self.source).partition(" = ")[0]
                return [self._untestable(each, lacks) for each in self.asserts]
        return self.ask(Seen.from_result(where.once(scenario)))

    def judge_qlog(self, path: Path) -> list[Verdict]:
        """Judges a log of the same path; raises `AckclockError` if it is none."""
        return self.ask(Seen.read(path, self.scenario))

    def ask(self, seen: Seen) -> list[Verdict]:
        """Judges what was seen of a run."""
        context = pl.SQLContext(dict(seen.frames))
        return [self._verdict(context, seen.lacking, each) for each in self.asserts]

    def _verdict(
        self, context: "pl.SQLContext[Any]", lacking: frozenset[str], each: dict[str, Any]
    ) -> Verdict:
        words = re.findall(r"\w+", each["value"])
        if lacks := next((word for word in words if word in lacking), ""):
            return self._untestable(each, lacks)
        try:
            found = context.execute(each["value"], eager=True)
        except pl.exceptions.PolarsError as error:
            reason = str(error).splitlines()[0]
            raise AckclockError(f"{self.name}: {each['says']}: {reason}") from None
        value = found.item() if found.shape == (1, 1) else None
        return self._of(each, None if value is None else float(value))

    def _untestable(self, each: dict[str, Any], lacks: str) -> Verdict:
        return self._of(each, None, lacks)

    def _of(self, each: dict[str, Any], value: float | None, lacks: str = "") -> Verdict:
        low, high = each["between"]
        return Verdict(self.name, each["says"], value, low, high, each.get(RULE, ""), lacks)


def untold(samples: pl.DataFrame) -> frozenset[str]:
    """What a QUIC stack with these samples in flow 1 does not tell."""
    column = "ssthresh_packets"
    own = samples.filter(pl.col("flow") == 1)
    told = column in own.columns and bool((own[column] != qlog.INFINITE).any())
    return UNTOLD if told else UNTOLD | {column}
