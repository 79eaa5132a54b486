"""The file of a link in time: its rate, delay and losses at times, in CSV, Parquet or lines."""

import io
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from ackclock.base.units import RATE_UNITS, TIME_UNITS

#: Rows of a file: they are a part of the scenario.
MOST_ROWS = 1_000_000
#: How long each delay of LeoReplayer's lasts.
LINE_NS = 10_000_000
#: Column without its unit → units, least and most in the canonical unit.
QUANTITIES = {
    "time": (TIME_UNITS, 0, 3_600_000 * 10**9),
    "rate": (RATE_UNITS, 1_000, 10**12),
    "delay": (TIME_UNITS, 0, 100 * 10**9),
}
#: In 10⁹ parts, as the canonical form has probabilities.
PARTS = 10**9
#: Columns of shares → their units.
SHARES = {"loss": PARTS, "loss_percent": PARTS // 100, "up": 1}
LIKE = "write a first line like time_s,rate_mbit,delay_ms,loss,up"

#: Time in ns, value in the canonical unit.
Steps = list[tuple[int, int]]


@dataclass(frozen=True)
class Timeline:
    """What changes, and when. None: the file has no such column."""

    rate: Steps | None = None
    delay: Steps | None = None
    loss: Steps | None = None
    up: Steps | None = None

    def losses(self, base_ppb: int) -> Steps:
        """The probability of a loss in 10⁹ parts: 1 while the link is down, `base_ppb` at first."""
        events = [(at_ns, 0, value) for at_ns, value in self.loss or ()]
        events += [(at_ns, 1, value) for at_ns, value in self.up or ()]
        p_ppb, up, steps = base_ppb, 1, dict[int, int]()
        for at_ns, is_up, value in sorted(events):
            p_ppb, up = (p_ppb, value) if is_up else (value, up)
            steps[at_ns] = p_ppb if up else PARTS
        return _changes(steps.items(), base_ppb)


def read(content: bytes) -> Timeline:
    """The timeline in the content of a file; raises `ValueError` that says what to write."""
    if content.startswith(b"PAR1"):
        try:
            table = pl.read_parquet(io.BytesIO(content))
        except (pl.exceptions.PolarsError, pl.exceptions.PanicException) as error:
            raise ValueError(f"is not Parquet: {str(error).splitlines()[0]}") from None
        return _of_table(table, 0)
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise ValueError(f"is neither Parquet nor text; {LIKE}") from None
    lines = [line for line in text.splitlines() if line.strip() and line.lstrip()[0] != "#"]
    if not lines:
        raise ValueError(f"has no lines; {LIKE}")
    if _is_number(lines[0]):
        return _of_lines(lines)
    separator = next((each for each in ",;" if each in lines[0]), None)
    if separator != ",":
        lines = [",".join(line.split(separator)) for line in lines]
    try:
        table = pl.read_csv(io.StringIO("\n".join(lines)), infer_schema=False)
    except pl.exceptions.PolarsError as error:
        raise ValueError(f"is not CSV ({str(error).splitlines()[0]:.80}); {LIKE}") from None
    return _of_table(table.rename({each: each.strip() for each in table.columns}), 1)


def _of_lines(lines: Sequence[str]) -> Timeline:
    """LeoReplayer's delays: a number of ms on each line, for 10 ms each."""
    table = pl.DataFrame({"delay_ms": lines})
    times = pl.int_range(pl.len()).alias("time_ns") * LINE_NS
    return _of_table(table.with_columns(times), 0)


def _of_table(table: pl.DataFrame, header: int) -> Timeline:
    if not 0 < len(table) <= MOST_ROWS:
        raise ValueError(f"has {len(table)} rows; give it from 1 to {MOST_ROWS}")
    columns: dict[str, pl.Series] = {}
    for name in table.columns:
        key, unit = _key_of(name)
        if key in columns:
            raise ValueError(f"has two columns of {key}; keep one")
        columns[key] = _numbers(table[name], name, key, unit, header)
    times = columns.pop("time", None)
    if times is None:
        raise ValueError(f"has no column of times; {LIKE}")
    if not columns:
        raise ValueError(f"has times, and nothing that changes; {LIKE}")
    if times.null_count():
        raise ValueError(f"row {int(times.is_null().arg_max() or 0) + 1} has no time")
    if len(back := (times.diff() <= 0).arg_true()):
        raise ValueError(f"row {back[0] + 1} is not after the row above it; sort the rows by time")
    steps = {key: _steps(times, values) for key, values in columns.items()}
    return Timeline(**steps)


def _key_of(name: str) -> tuple[str, int]:
    """What a column is of, and its unit in the canonical one."""
    key, _, unit = name.rpartition("_")
    if name in SHARES:
        return key or name, SHARES[name]
    if key in QUANTITIES and unit in QUANTITIES[key][0]:
        return key, QUANTITIES[key][0][unit]
    if key in QUANTITIES or name in QUANTITIES:
        of = key if key in QUANTITIES else name
        units = ", ".join(f"{of}_{unit}" for unit in QUANTITIES[of][0])
        raise ValueError(f'column "{name}": write its unit into its name: {units}')
    raise ValueError(f'column "{name}": unknown; {LIKE}')


def _numbers(column: pl.Series, name: str, key: str, unit: int, header: int) -> pl.Series:
    """The values in the canonical unit, null where a cell is empty."""
    if column.dtype == pl.String:
        column = column.str.strip_chars().replace("", None)
        if key == "up":
            column = column.replace({"true": "1", "false": "0"})
    values = column.cast(pl.Float64, strict=False)
    wrong = (values.is_null() & column.is_not_null()) | values.is_nan().fill_null(value=False)
    if wrong.any():
        row = int(wrong.arg_max() or 0)
        raise ValueError(f'line {row + 1 + header}: {name} = "{column[row]}": write a number')
    numbers = (values * unit).round()
    _, low, high = QUANTITIES.get(key, ((), 0, PARTS if key == "loss" else 1))
    bad = (numbers < low) | (numbers > high)
    if key == "rate":
        bad &= numbers != 0
    if key == "up":
        bad |= (values != 0) & (values != 1)
    if bad.any():
        row = int(bad.arg_max() or 0)
        zero = "0 (nothing leaves) or " if key == "rate" else ""
        limits = "0 or 1" if key == "up" else f"{zero}{low / unit:g} to {high / unit:g}"
        raise ValueError(f"line {row + 1 + header}: {name} = {column[row]}: choose from {limits}")
    return numbers.cast(pl.Int64)


def _steps(times: pl.Series, values: pl.Series) -> Steps:
    given = values.is_not_null()
    return _changes(zip(times.filter(given), values.filter(given), strict=True), None)


def _changes(steps: Any, last: int | None) -> Steps:
    """Without the steps that change nothing."""
    found = []
    for at_ns, value in steps:
        if value != last:
            found.append((at_ns, value))
        last = value
    return found


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
