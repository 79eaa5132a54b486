"""Which of our Python makes the rows of runs: what is kept is named by it.

An edit of a page or of a command leaves kept rows as they are, an edit of a metric does not.
"""

import functools
import hashlib
import re
from collections.abc import Iterator
from pathlib import Path

import ackclock

_HERE = Path(__file__).parents[1]
#: What only a type checker imports.
_TYPES = re.compile(r"^if TYPE_CHECKING:\n(?:(?: .*)?\n)+", re.MULTILINE)
_IMPORT = re.compile(
    r"^ *(?:from (ackclock[\w.]*) import (\([^)]*\)|.+)|import (ackclock[\w.]+))", re.MULTILINE
)


@functools.cache
def source_hash(*roots: str) -> str:
    """A hash of these modules and of all that they import; of all of our Python without `roots`."""
    digest = hashlib.sha256()
    paths = [_path(name) for name in modules(*roots)] if roots else _HERE.rglob("*.py")
    for path in sorted(paths):
        digest.update(path.read_bytes())
    return digest.hexdigest()


def modules(*roots: str) -> set[str]:
    """These modules of the package and all that they import, at once or later: "scorecard.measure".

    Not what they import by a name that is only known when they run.
    """
    found, new = set(), {*roots}
    while new:
        found |= new
        new = {each for name in new for each in _imported(_path(name))} - found
    return found


def _path(module: str) -> Path:
    path = _HERE.joinpath(*module.split("."))
    return path / "__init__.py" if path.is_dir() else path.with_suffix(".py")


def _imported(path: Path) -> Iterator[str]:
    """Modules of the package that a file names in an import, at its head or in a function."""
    text = _TYPES.sub("", path.read_text(encoding="utf-8"))
    homes = ackclock._MODULES | ackclock._HOME  # noqa: SLF001
    for package, names, module in _IMPORT.findall(text):
        for name in re.findall(r"(\w+)(?: as \w+)?(?:,|\)|\s|$)", names) or [""]:
            home = homes.get(name, name) if package == "ackclock" else name
            whole = f"{package or module}.{home}"
            parts = whole.split(".")[1:]
            # A module, or a name in one. Packages on the way only re-export.
            for length in range(len(parts), 0, -1):
                if _path(".".join(parts[:length])).is_file():
                    yield ".".join(parts[:length])
                    break
