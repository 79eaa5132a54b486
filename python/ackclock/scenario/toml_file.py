"""Reads the text of a scenario file, and says what is wrong with one that cannot be read."""

import re
import tomllib
from pathlib import Path
from typing import Any

from ackclock.base.errors import AckclockError
from ackclock.scenario.model import nearest

#: A key of more parts than a scenario has, which Python's parser reads in the square of their
#: number. It is looked for in a time that grows as the text: no part has two ways to match.
_LONG_KEY = re.compile(
    r"""(?<![\w\-."'\\])(?:(?:[\w-]++|"(?:[^"\\\n]|\\.)*+"|'[^'\n]*+')[ \t]*+\.[ \t]*+){64}"""
)

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
    if not plain.strip():
        raise AckclockError(
            f"{source}: the file is empty; examples/two_cubic.toml shows what to write"
        )
    if found := _LONG_KEY.search(plain):
        line = 1 + plain.count("\n", 0, found.start())
        raise AckclockError(
            f"{source}: not a scenario file: line {line}: a key of more than 64 parts"
        )
    try:
        return tomllib.loads(plain.replace("\r\n", "\n"))
    except RecursionError:
        raise AckclockError(
            f"{source}: not a scenario file: its brackets are nested too deep; close each"
        ) from None
    except ValueError as error:
        reason = str(error).replace("Cannot overwrite a value", "a key is given twice")
        raise AckclockError(f"{source}: not a scenario file: {_not_toml(plain, reason)}") from None


def _not_toml(text: str, reason: str) -> str:
    """Why a text is not TOML, and what to type instead."""
    place = re.search(r"at line (\d+)", reason)
    line = text.splitlines()[int(place[1]) - 1].strip() if place else ""
    if text.lstrip()[0] == "{" or re.match(r"[\w.-]+\s*:", line):
        return "it is JSON or YAML; write TOML, as in examples/two_cubic.toml"
    key, _, value = (each.strip() for each in line.partition("#")[0].partition("="))
    if (
        re.fullmatch(r"[\w.-]+", key)
        and value
        and value[0] not in "[{"
        and not set(value) & {*"\"'"}
    ):
        return f'line {place[1] if place else "?"}: put text in quotes: {key} = "{value}"'
    return reason + ("; keep one of the two" if "given twice" in reason else "")
