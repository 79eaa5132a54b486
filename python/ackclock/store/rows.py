"""The rows of runs that are kept: what is left of a run whose tables are not.

An entry of the cache holds the rows of many runs, as a run may take milliseconds and an entry costs
a few. Each row has the key of its run.
"""

import hashlib
import time
from collections.abc import Collection
from contextlib import suppress
from pathlib import Path
from typing import Any

import polars as pl

from ackclock.base.directory import collect
from ackclock.store import entries

#: How long rows wait for others before they are written.
EVERY_S = 1.0
#: Column with the key of the run.
KEY = "key"
#: A line for each entry: its name, how many rows it has, and their keys. One without is opened.
INDEX = "index"

Row = dict[str, Any]


class KeptRows:
    """Rows that the same functions made, in one directory of the cache."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self._new: list[Row] = []
        #: Entry that was read → the keys of its rows.
        self._keys: dict[Path, frozenset[str]] = {}
        self._written_s = time.monotonic()

    def read(self, keys: Collection[str]) -> dict[str, Row]:
        """The rows of these runs that are kept, by their keys."""
        collect(self.directory)
        index = self.directory / INDEX
        with suppress(OSError):  # none is there yet
            for line in index.read_text(errors="replace").splitlines():
                words = line.split()
                if words[1:2] == [str(len(words) - 2)]:  # a full disk cuts a line
                    self._keys.setdefault(self.directory / words[0], frozenset(words[2:]))
        damaged: list[Path] = []
        found: dict[str, Row] = {}
        for path in sorted(self.directory.glob("[0-9a-f]*")):
            known = self._keys.get(path)
            if known is not None and not any(key in keys for key in known):
                continue
            rows = entries.find(path, _read, damaged) or {}
            self._keys[path] = frozenset(rows)
            found |= {key: row for key, row in rows.items() if key in keys}
            if rows and known is None:
                with suppress(OSError), index.open("a") as lines:  # one write
                    lines.write(" ".join([path.name, str(len(rows)), *rows]) + "\n")
        entries.say_damaged(damaged, "rows of runs")
        return found

    def add(self, key: str, row: Row) -> None:
        """Keeps a row; it is on the disk after `flush`."""
        self._new.append({KEY: key} | row)

    def flush_in_time(self) -> None:
        """Writes the rows that are not written yet, if that was not done for a second."""
        if time.monotonic() - self._written_s > EVERY_S:
            self.flush()

    def flush(self) -> None:
        """Writes the rows that are not written yet."""
        rows, self._new = self._new, []
        if rows:
            name = hashlib.blake2b("".join(row[KEY] for row in rows).encode(), digest_size=16)
            table = pl.DataFrame(rows, infer_schema_length=None)
            entries.keep_rows(self.directory / name.hexdigest(), table, _read)
        self._written_s = time.monotonic()


def _read(path: Path) -> dict[str, Row]:
    table = entries.read_tables(path)[0].get("rows")
    if table is None or table.schema.get(KEY) != pl.String:
        raise ValueError(f"no rows with a {KEY}")
    return {row.pop(KEY): row for row in table.to_dicts()}
