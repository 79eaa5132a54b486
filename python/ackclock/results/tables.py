"""The tables of a run: their columns, types and meaning.

The engine declares them (``crates/sim/src/record.rs``). `added` makes the columns that say what
the scenario says of a flow or session. `markdown()` writes `docs/tables.md`.
"""

import functools
import textwrap
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ackclock import _core
from ackclock.base import pl
from ackclock.scenario.scenario import Flow, Session

#: TCP_INFINITE_SSTHRESH: an ssthresh that is not known yet.
INFINITE_SSTHRESH = 2**31 - 1

#: What `added` adds to `flows` and `sessions`: name of a column, kind, meaning, and its names.
_ADDED = (
    ("direction", "name", "Direction of the data.", ("forward", "reverse")),
    ("algorithm", "text", "Algorithm, as in the scenario.", ()),
)


def added(to: Sequence[Flow | Session]) -> dict[str, list[str]]:
    """Columns of the tables `flows` and `sessions`, from the scenario."""
    return {
        name: [getattr(each, name) for each in to for _ in range(each.count)] for name, *_ in _ADDED
    }


#: Table → what one row is, and of each column name, kind, meaning and the names of a kind "name".
_ALL = {
    table: (row, [*columns, *(_ADDED if table in ("flows", "sessions") else ())])
    for table, row, columns in _core.tables()
}
#: Those that only some runs have: with `--acks`, and `ackclock linux diverge`'s.
RARE = ("acks", "packets")
#: Table of every run → what one row is, and its columns. Units end the names.
TABLES = {name: table for name, table in _ALL.items() if name not in RARE}


@functools.cache
def schema(table: str) -> dict[str, Any]:
    """Type of each column; for `acks`, of the columns that are always there."""
    types = {"u32": pl.UInt32, "u64": pl.UInt64, "text": pl.String}
    return {
        name: pl.Enum(names) if kind == "name" else types[kind]
        for name, kind, _, names in _ALL[table][1]
    }


def frame(table: str, rows: Any, more: Mapping[str, Sequence[str]] = {}) -> "pl.DataFrame":
    """Makes a polars table of the engine's rows (Arrow), or of columns by name; names may be codes.

    `more` has columns that the rows may lack. Column by column: polars' expressions would take ten
    times as long for a short table.
    """
    made = pl.DataFrame(rows)
    if not made.height:
        return _without_rows(table).clone()
    there = {name: at for at, name in enumerate(made.columns)}
    for name, dtype in schema(table).items():
        if name not in there:
            made.insert_column(made.width, pl.Series(name, more[name], dtype=dtype))
        elif (values := made.to_series(there[name])).dtype != dtype:
            made.replace_column(there[name], _typed(values, dtype))
    return made if made.columns == list(schema(table)) else made.select(list(schema(table)))


def _typed(values: "pl.Series", dtype: Any) -> "pl.Series":
    if isinstance(dtype, pl.Enum) and values.dtype.is_numeric():
        return _names(dtype)[values].alias(values.name)
    return values.cast(dtype)


@functools.cache
def _names(dtype: "pl.Enum") -> "pl.Series":
    return pl.Series(dtype.categories, dtype=dtype)


@functools.cache
def _without_rows(table: str) -> "pl.DataFrame":
    return pl.DataFrame(schema=schema(table))


def acks_frame(rows: Any, private_state: Iterable[tuple[str, list[int], Any]]) -> "pl.DataFrame":
    """Makes a polars table of what `_kernel.run_on_kernel` returns."""
    private = []
    for name, flows, values in private_state:
        column = pl.when(pl.col("flow").is_in(flows)).then(pl.Series(values))
        private.append(column.alias(f"private.{name}"))
    return frame("acks", rows).with_columns(private)


def acks_of(packets: "pl.DataFrame") -> "pl.DataFrame":
    """The table of ACKs, from that of packets."""
    of = packets.filter(pl.col("kind") == "ack")
    return of.with_columns(time_us=pl.col("time_ns") // 1000).select(*schema("acks"))


#: As people read them.
_TYPES = {"u32": "uint32", "u64": "uint64", "name": "string", "text": "string"}


def markdown() -> str:
    """`docs/tables.md`."""
    lines = [
        "# The tables of a run",
        "",
        "This page is for readers of results: it gives the meaning of each column.",
        "`ackclock run -o DIR` writes one Parquet file per table. `ackclock.Result` has polars",
        "tables of the same names. Times count from the start of the run. Columns that say",
        '"so far" are cumulative.',
        "`make generate` writes this page from `crates/sim/src/record.rs`.",
        "",
        "Tables: " + " · ".join(f"[{table}](#{table}parquet)" for table in _ALL),
    ]
    for table, (row, columns) in _ALL.items():
        text = textwrap.fill(row, 96)
        lines += ["", f"## `{table}.parquet`", "", text, "", "| column | type | meaning |"]
        lines += ["|---|---|---|"]
        for name, kind, meaning, names in columns:
            if names:
                meaning = f"{meaning.removesuffix('.')}: {', '.join(names)}."  # noqa: PLW2901
            lines.append(f"| `{name}` | {_TYPES[kind]} | {meaning} |")
    return "\n".join(lines) + "\n"
