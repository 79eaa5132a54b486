"""Runs a scenario; what comes back."""

import io
import json
import os
import platform
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import polars as pl

from ackclock import _core, tables
from ackclock.errors import AckclockError
from ackclock.scenario import Scenario

MANIFEST = "manifest.json"
PAGE = "index.html"
#: Names the files of an output, so that it can be told from a directory of somebody's own.
WRITTEN = ".written-by-ackclock"
#: What a run's manifest has at least.
FIELDS = {"ackclock", "trace_hash", "packets", "wall_time_s", "scenario", "resolved", "algorithms"}


@dataclass(frozen=True, eq=False)
class Result:
    """What one run recorded; `ackclock.tables` says what the columns mean."""

    flows: pl.DataFrame
    samples: pl.DataFrame
    queues: pl.DataFrame
    events: pl.DataFrame
    sessions: pl.DataFrame
    transfers: pl.DataFrame
    #: Scenario as written and resolved, versions, algorithms, trace hash, wall time, packets.
    manifest: dict[str, Any]

    @property
    def scenario(self) -> Scenario:
        """What was run."""
        return Scenario.parse(self.manifest["scenario"])

    @property
    def resolved(self) -> dict[str, Any]:
        """What was run, as the simulator read it: integers in ns and bytes."""
        resolved: dict[str, Any] = self.manifest["resolved"]
        return resolved

    def save(self, directory: str | os.PathLike[str]) -> Path:
        """Writes the tables as Parquet and the manifest, all or nothing; returns the directory."""
        with output_directory(directory) as partial:
            self.write(partial)
        return Path(directory)

    def write(self, directory: Path) -> None:
        for table in tables.TABLES:
            write_table(getattr(self, table), directory / f"{table}.parquet")
        manifest = json.dumps(self.manifest, indent=2, ensure_ascii=False)
        (directory / MANIFEST).write_text(manifest + "\n", encoding="utf-8")

    @classmethod
    def load(cls, directory: str | os.PathLike[str]) -> Self:
        """Reads what `save` wrote; raises `AckclockError` if that is not what is there."""
        directory = Path(directory)
        try:
            manifest = json.loads((directory / MANIFEST).read_text(encoding="utf-8"))
            frames = {
                table: pl.read_parquet(directory / f"{table}.parquet") for table in tables.TABLES
            }
            _check(manifest, frames)
        except (OSError, ValueError, pl.exceptions.PolarsError) as error:
            reason = error.strerror if isinstance(error, OSError) and error.strerror else error
            raise AckclockError(
                f"{directory}: not a result of `ackclock run -o`: {reason}"
            ) from None
        return cls(**frames, manifest=manifest)


def write_table(table: pl.DataFrame, path: Path) -> None:
    """Writes a table as Parquet; raises `OSError` where it cannot be written."""
    parquet = io.BytesIO()
    table.write_parquet(parquet)
    # Not by polars itself, whose error may not tell that a disk is full.
    path.write_bytes(parquet.getbuffer())


def _check(manifest: Any, frames: dict[str, pl.DataFrame]) -> None:
    if not (isinstance(manifest, dict) and manifest.keys() >= FIELDS):
        raise ValueError(f"{MANIFEST} lacks some of {', '.join(sorted(FIELDS))}")
    for table, frame in frames.items():
        if frame.schema != tables.schema(table):
            raise ValueError(f"{table}.parquet has other columns than docs/tables.md")


def run(scenario: Scenario, *, progress: Callable[[float], None] | None = None) -> Result:
    """Simulates a scenario on one core.

    `progress` is called about ten times a second with the fraction done. Ctrl-C stops the run.
    Raises `AckclockError` if the scenario cannot be simulated.
    """
    if not isinstance(scenario, Scenario):
        raise AckclockError(
            f"scenario = {scenario!r}: pass a Scenario, like Scenario.from_toml({scenario!r})"
        )
    results: list[Result] = []
    resolved = scenario.resolve()
    _core.run_many(
        [resolved],
        1,
        progress,
        lambda _, raw: results.append(from_engine(scenario, resolved, raw)),
    )
    return results[0]


def from_engine(scenario: Scenario, resolved: str, raw: dict[str, Any]) -> Result:
    """The result of a scenario from what `_core.run_many` handed over."""
    algorithms = {}
    for flow in (*scenario.flows, *scenario.sessions):
        configured = _core.configure(flow.algorithm)
        algorithms[flow.algorithm] = {
            key: configured[key] for key in ("name", "source", "spec", "values", "fingerprint")
        }
    manifest = {
        "ackclock": _core.engine_version(),
        "python": platform.python_version(),
        "polars": pl.__version__,
        "backend": "sim",
        "key": scenario.key(),
        "trace_hash": raw["trace_hash"],
        "packets": raw["packets"],
        "wall_time_s": raw["wall_time_s"],
        "scenario": scenario.model_dump(exclude_unset=True, by_alias=True),
        "resolved": json.loads(resolved),
        "algorithms": algorithms,
    }
    columns = raw | {
        table: raw[table]
        | {
            name: [getattr(each, name) for each in of for _ in range(each.count)]
            for name in ("direction", "algorithm")
        }
        for table, of in (("flows", scenario.flows), ("sessions", scenario.sessions))
    }
    frames = {table: tables.frame(table, columns[table]) for table in tables.TABLES}
    return Result(**frames, manifest=manifest)


@contextmanager
def output_directory(directory: str | os.PathLike[str]) -> Iterator[Path]:
    """A directory to fill that appears under its name when the block ends, or not at all.

    It replaces an empty directory or an earlier output of ackclock's, never anything else.
    Raises `AckclockError` at once where it cannot be written, so open it before a long run.
    """
    directory = Path(os.path.realpath(directory))
    _check_replaceable(directory)
    made = [parent for parent in directory.parents if not parent.exists()]
    try:
        directory.parent.mkdir(parents=True, exist_ok=True)
        partial = Path(tempfile.mkdtemp(prefix=f".{directory.name}.", dir=directory.parent))
    except OSError as error:
        _remove_empty(made)
        raise AckclockError(
            f"output directory {directory}: cannot be written ({error.strerror}); choose another"
        ) from None
    try:
        yield partial
        names = sorted(path.name for path in partial.iterdir())
        (partial / WRITTEN).write_text("\n".join(names) + "\n", encoding="utf-8")
        partial.chmod(0o755)
        _check_replaceable(directory)
        _put(partial, directory)
    except BaseException as error:
        shutil.rmtree(partial, ignore_errors=True)
        _remove_empty(made)
        if isinstance(error, OSError):  # the disk is full, say
            raise AckclockError(f"output directory {directory}: {error}") from None
        raise


def _check_replaceable(directory: Path) -> None:
    try:
        ours = not directory.exists() or _is_output(directory)
    except OSError as error:
        raise AckclockError(
            f"output directory {directory}: cannot be read ({error.strerror}); choose another"
        ) from None
    if not ours:
        raise AckclockError(
            f"output directory {directory}: exists and holds more than an output of ackclock's; "
            "choose another"
        )


def _is_output(directory: Path) -> bool:
    """Whether it is a directory with nothing but files that ackclock wrote."""
    if not directory.is_dir():
        return False
    files = list(directory.iterdir())
    try:
        ours = {WRITTEN, *(directory / WRITTEN).read_text(encoding="utf-8").splitlines()}
    except (FileNotFoundError, IsADirectoryError, ValueError):
        ours = set()
    drawn = {f"overview{suffix}" for suffix in (".png", ".svg", ".pdf")}  # by `ackclock plot`
    return all(path.is_file() and path.name in ours | (drawn if ours else set()) for path in files)


def _put(partial: Path, directory: Path) -> None:
    """Gives the partial directory its name; what had that name is deleted only after that."""
    if not directory.exists():
        partial.rename(directory)
        return
    old = Path(tempfile.mkdtemp(prefix=f".{directory.name}.", dir=directory.parent))
    try:
        directory.rename(old)
        partial.rename(directory)
    finally:
        if directory.exists():
            shutil.rmtree(old, ignore_errors=True)
        else:
            old.rename(directory)


def _remove_empty(directories: list[Path]) -> None:
    for directory in directories:
        try:
            directory.rmdir()
        except OSError:
            return
