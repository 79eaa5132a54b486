"""Reads the text of a scenario file, and says what is wrong with one that cannot be read."""

from pathlib import Path
from typing import Any

from ackclock import _core
from ackclock.base.errors import AckclockError
from ackclock.scenario.table import nearest

#: The longest file that is read.
MOST_BYTES = 16 << 20


def why_unreadable(path: Path, error: OSError, what: str = "a scenario file") -> str:
    """Why a scenario file cannot be read, or `what` else it should be, and what to type."""
    if isinstance(error, IsADirectoryError):
        files = sorted(path.glob("*.toml")) if what == "a scenario file" else []
        like = f", like {files[0]}" if files else ""
        return f"is a directory; give {what}{like}"
    if isinstance(error, FileNotFoundError):
        files = sorted({*path.parent.glob("*.toml"), *Path("examples").glob("*.toml")})
        by_name = {each.stem: each for each in reversed(files)}
        if near := nearest(path.stem, list(by_name)):
            return f"no such file; did you mean {by_name[near[0]]}?"
        return f"no such file; give {what}"
    return f"cannot be read ({error.strerror})"


def content(path: Path, what: str = "a scenario file") -> bytes:
    """The bytes of a file; raises `AckclockError` that says what to give instead."""
    try:
        with path.open("rb") as file:
            data = file.read(MOST_BYTES + 1)
    except OSError as error:
        raise AckclockError(f"{path}: {why_unreadable(path, error, what)}") from None
    if len(data) > MOST_BYTES:
        raise AckclockError(f"{path}: has more than 16 MB; name {what} (TOML)")
    return data


def read(text: str | bytes, source: str) -> dict[str, Any]:
    """The fields in the text of a scenario file; raises `AckclockError` that names `source`."""
    try:
        plain = text.decode("utf-8-sig") if isinstance(text, bytes) else text.removeprefix("\ufeff")
    except UnicodeDecodeError:
        raise AckclockError(f"{source}: not a scenario file: it is not text in UTF-8") from None
    if source.endswith(".c"):
        raise AckclockError(
            f"{source}: a C file, not a scenario file; type `ackclock run SCENARIO "
            f"--algorithm {source if '/' in source else './' + source}`"
        )
    try:
        return _core.read_toml(plain)
    except AckclockError as error:
        raise AckclockError(f"{source}: {error}") from None
