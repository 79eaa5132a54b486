"""What is kept of runs: a directory of tables and a manifest with the digest of each.

Several commands may use one cache at a time. An entry appears whole, under a name that says what
made it, so whoever finds one there already takes it for his own.
"""

import errno
import functools
import hashlib
import io
import json
import math
import os
import stat
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeVar

from ackclock import _core
from ackclock.base import pl
from ackclock.base.directory import (
    TAKEN,
    Write,
    allow,
    exchange,
    locked,
    partial_directory,
    sync,
    sync_all,
)
from ackclock.base.errors import AckclockError, visible
from ackclock.store.made_by import source_hash

MANIFEST = "manifest.json"
#: In the manifest: table → digest of its file; and `MANIFEST` → digest of the rest of it.
DIGESTS = "digests"
#: Of 100 000 flows it has 50 MB.
MOST_MANIFEST_BYTES = 1 << 28

T = TypeVar("T")


def write_tables(
    directory: Path,
    tables: "Mapping[str, pl.DataFrame | pl.LazyFrame]",
    manifest: Mapping[str, Any],
) -> None:
    """Writes the tables as Parquet, and the manifest with their digests.

    A lazy table may be larger than the memory. Raises `OSError`.
    """
    digests = {}
    # All at once: polars' engine takes longer to start than to write a short table.
    short = {name: each for name, each in tables.items() if isinstance(each, pl.DataFrame)}
    parquets = {name: io.BytesIO() for name in short}
    pl.collect_all(
        [each.lazy().sink_parquet(parquets[name], lazy=True) for name, each in short.items()]
    )
    for name, table in tables.items():
        path = directory / f"{name}.parquet"
        if isinstance(table, pl.LazyFrame):
            try:
                table.sink_parquet(path)
            except pl.exceptions.PolarsError as error:
                raise OSError(errno.EIO, str(error)) from None
            with path.open("rb") as file:
                digests[name] = hashlib.file_digest(file, _blake2b).hexdigest()
            continue
        # Not by polars itself, whose error may not tell that a disk is full.
        parquet = parquets.pop(name).getbuffer()
        path.write_bytes(parquet)
        digests[name] = _digest(parquet)
    whole = {**manifest, DIGESTS: digests}
    digests[MANIFEST] = _digest_of_json(whole)
    write_json(whole, directory / MANIFEST)


def write_json(value: object, path: Path) -> None:
    """Writes a value, for programs and for people."""
    text = json.dumps(value, indent=2, ensure_ascii=False)
    path.write_text(text + "\n", encoding="utf-8")


def write_manifest(about: Mapping[str, Any], directory: Path) -> None:
    """Writes manifest.json: what made the directory, and of which version it is."""
    write_json({"ackclock": _core.engine_version(), **about}, directory / MANIFEST)


def write_parquet(table: "pl.DataFrame", path: Path) -> None:
    """Writes a table. Raises `OSError`, which polars does not where a disk is full."""
    parquet = io.BytesIO()
    table.write_parquet(parquet)
    path.write_bytes(parquet.getbuffer())


def write_csv(table: "pl.DataFrame", path: Path) -> None:
    """Writes a table as text. Raises `OSError`, as `write_parquet` does."""
    path.write_text(table.write_csv(), encoding="utf-8", newline="")


def read_tables(directory: Path) -> "tuple[dict[str, pl.DataFrame], dict[str, Any]]":
    """Reads what `write_tables` wrote: the tables and the manifest.

    Raises `OSError` or `ValueError` if any of it is missing or has changed.
    """
    manifest = read_manifest(directory)
    digests = manifest.get(DIGESTS)
    if not isinstance(digests, dict):
        raise ValueError(f"{MANIFEST} has no {DIGESTS}")  # noqa: TRY004
    if digests.pop(MANIFEST, None) != _digest_of_json(manifest):
        raise ValueError(f"{MANIFEST} is damaged: its digest is of another text")
    tables = {}
    for name, digest in manifest.pop(DIGESTS).items():
        data = _content(directory / f"{name}.parquet")
        if _digest(data) != digest:
            raise ValueError(f"{name}.parquet is damaged: its digest is not that in {MANIFEST}")
        tables[name] = pl.scan_parquet(io.BytesIO(data))
    try:
        return dict(zip(tables, pl.collect_all(tables.values()), strict=True)), manifest
    except pl.exceptions.PolarsError as error:
        raise ValueError(f"the tables cannot be read: {error}") from None


def read_manifest(directory: Path) -> dict[str, Any]:
    """The manifest of an entry, with its digests. Raises `OSError` or `ValueError`.

    It is JSON that any program reads: no NaN, no number beyond all, no half of a character.
    """
    content = _content(directory / MANIFEST, MOST_MANIFEST_BYTES)
    try:
        manifest = json.loads(content.decode())
        json.dumps(manifest, ensure_ascii=False, allow_nan=False).encode()
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{MANIFEST} is damaged: {error}") from None
    if not isinstance(manifest, dict):
        raise ValueError(f"{MANIFEST} is damaged: no object")  # noqa: TRY004
    return manifest


def _content(path: Path, most_bytes: float = math.inf) -> bytes:
    """Of a file: a pipe or a device may never end. Raises `OSError` or `ValueError`."""

    def at_once(name: str, flags: int) -> int:
        return os.open(name, flags | getattr(os, "O_NONBLOCK", 0))

    with open(path, "rb", opener=at_once) as file:
        found = os.fstat(file.fileno())
        if not stat.S_ISREG(found.st_mode):
            raise ValueError(f"{path.name} is damaged: not a file")
        if found.st_size > most_bytes:
            raise ValueError(f"{path.name} is damaged: {found.st_size} bytes")
        return file.read()


_blake2b = functools.partial(hashlib.blake2b, digest_size=16)


def _digest(data: bytes | memoryview) -> str:
    return _blake2b(data).hexdigest()


def _digest_of_json(value: Mapping[str, Any]) -> str:
    """Of what it says, however it is spaced."""
    plain = json.loads(json.dumps(value))
    return _digest(json.dumps(plain, sort_keys=True).encode())


def results_version() -> str:
    """Names what makes results here: the simulator, what records runs, what makes rows of them.

    Two installations of one version give equal results and share what they keep.
    """
    parts = [_core.engine_version(), source_hash()]
    return hashlib.blake2b("\n".join(parts).encode(), digest_size=8).hexdigest()


def keep(path: Path, write: Write, read: Callable[[Path], object]) -> None:
    """Has `write` fill the entry `path`. Where another has made it meanwhile, that one stays.

    `read` is as for `find`. Raises `AckclockError` where it cannot be written.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with partial_directory(path.parent) as partial:
            write(partial)
            allow(partial)
            sync_all(partial)
            _put(partial, path, read)
            sync(path.parent)
    except OSError as error:
        raise AckclockError(
            f"cache directory {path.parent.absolute()}: cannot be written "
            f"({error.strerror or error}); what was kept before is still there"
        ) from None


def keep_rows(path: Path, rows: "pl.DataFrame", read: Callable[[Path], object]) -> None:
    """As `keep`, of a table alone."""
    about = {"ackclock": _core.engine_version()}
    keep(path, lambda partial: write_tables(partial, {"rows": rows}, about), read)


def _put(partial: Path, path: Path, read: Callable[[Path], object]) -> None:
    while True:
        try:
            partial.rename(path)
        except OSError as error:
            if error.errno not in TAKEN:
                raise
        else:
            return
        # Something has the name. It is replaced only if it is damaged, and by one command only.
        with locked(path.parent):
            if _read(path, read) is not None:
                return
            with suppress(FileNotFoundError):  # it has gone
                exchange(partial, path)
                return


def find(path: Path, read: Callable[[Path], T], damaged: list[Path] | None = None) -> T | None:
    """What `read` makes of an entry; None if there is none, or it is damaged.

    A damaged entry is appended to `damaged`.
    `read` raises `OSError`, `ValueError` or `AckclockError` for what is not whole.
    """
    found = _read(path, read)
    if found is None and path.exists():
        with locked(path.parent):  # another command may just have made it, or be replacing it
            found = _read(path, read)
            if found is None and damaged is not None:
                damaged.append(path)
    return found


def _read(path: Path, read: Callable[[Path], T]) -> T | None:
    try:
        return read(path)
    except (OSError, ValueError, AckclockError):
        return None


def say_damaged(
    damaged: Sequence[Path], what: str = "results", then: str = "ackclock makes them anew"
) -> None:
    """Says on stderr, in one line, how many kept entries `find` found damaged."""
    if damaged:
        text = (
            f"warning: damaged {what} in {damaged[0].parent}: {len(damaged)} "
            f"(the first: {damaged[0].name}); {then}"
        )
        sys.stderr.write(visible(text) + "\n")
