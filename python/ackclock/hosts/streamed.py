"""Runs with more rows than the memory should hold.

The engine hands over rows as they come. They wait in Parquet files, one for each hand-over, and the
tables of the result read them from there.
"""

import io
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ackclock import _core
from ackclock.base import pl
from ackclock.base.directory import collect, partial_directory
from ackclock.base.errors import AckclockError
from ackclock.results import tables
from ackclock.results.pcapng import Pcapng, written
from ackclock.results.result import Result, from_engine
from ackclock.scenario.scenario import Scenario

#: The tables that grow with the time of a run.
GROWING = ("samples", "queues", "events", "transfers")


@dataclass(frozen=True, eq=False, repr=False)
class Streamed(Result):
    """A result whose growing tables are lazy (`polars.LazyFrame`)."""

    #: Table → its files, in order. No time is in two of them.
    files: Mapping[str, Sequence[Path]] = field(default_factory=dict)

    def parts(self, table: str, *columns: str) -> "Iterator[pl.DataFrame]":
        for file in self.files[table]:
            yield pl.read_parquet(file, columns=list(columns))


@contextmanager
def run(
    scenario: Scenario,
    *,
    place: Path | None = None,
    progress: Callable[[float], None] | None = None,
    pcapng: Pcapng | None = None,
    on_packets: "Callable[[pl.DataFrame], None] | None" = None,
) -> Iterator[Result]:
    """As `run`; many rows wait in `place` (default: where temporary files are) in the context.

    Raises `AckclockError` if the scenario cannot be simulated, or the place is full.
    """
    place = place or Path(tempfile.gettempdir())
    collect(place)
    with partial_directory(place) as directory:
        waiting = _Waiting(directory)
        prepared = scenario.prepare()
        results: list[Result] = []
        with written(pcapng) as packets:
            _core.run_many(
                [prepared],
                1,
                progress,
                lambda _, raw: results.append(from_engine(scenario, prepared, raw, on_packets)),
                lambda _, raw: waiting.add(
                    {table: tables.frame(table, raw[table]) for table in GROWING}
                ),
                pcapng=packets,
                packets=on_packets is not None,
            )
        yield waiting.result(results[0])


class _Waiting:
    """Rows that wait in files: one file of each table for each hand-over."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.hand_overs = 0

    def add(self, rows: "Mapping[str, pl.DataFrame]") -> None:
        try:
            for table in GROWING:
                parquet = io.BytesIO()
                rows[table].write_parquet(parquet, compression="lz4")
                self._file(table, self.hand_overs).write_bytes(parquet.getbuffer())
        except OSError as error:
            raise AckclockError(
                f"{self.directory}: cannot keep the samples of the run ({error.strerror}); "
                "make room there, or sample less often"
            ) from None
        self.hand_overs += 1

    def result(self, rest: Result) -> Result:
        """All rows, with the rest that the run had at its end."""
        if not self.hand_overs:
            return rest
        self.add({table: getattr(rest, table) for table in GROWING})
        files = {
            table: [self._file(table, number) for number in range(self.hand_overs)]
            for table in GROWING
        }
        lazy: dict[str, Any] = {table: pl.scan_parquet(files[table]) for table in GROWING}
        return Streamed(
            **lazy,
            flows=rest.flows,
            sessions=rest.sessions,
            manifest=rest.manifest,
            files=files,
        )

    def _file(self, table: str, number: int) -> Path:
        return self.directory / f"{table}-{number:06}.parquet"
