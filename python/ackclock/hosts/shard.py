"""One of several commands that share the runs of one: nobody hands them out.

Each command lists all runs in the same order and takes every n-th. What it makes is kept in its
cache, and a command that is given the caches of all has nothing left to run.
"""

import re
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from glob import glob
from pathlib import Path
from typing import TypeVar

from ackclock.base import directory
from ackclock.base.directory import PARTIAL
from ackclock.base.errors import AckclockError
from ackclock.store import entries

T = TypeVar("T")


@dataclass(frozen=True)
class Shard:
    """The runs `number`, `number` + `of`, `number` + 2 `of`, …, counted from 1."""

    number: int
    of: int

    @classmethod
    def read(cls, text: str) -> "Shard":
        """From "3/64". Raises `AckclockError`."""
        found = re.fullmatch(r"([0-9]{1,6})/([0-9]{1,6})", text)
        if not found or not 1 <= int(found[1]) <= int(found[2]):
            raise AckclockError(f"--shard {text}: write which of how many, from 1/64 to 64/64")
        return cls(int(found[1]), int(found[2]))

    def part(self, every: Sequence[T]) -> Sequence[T]:
        """Those of all that are its own."""
        return every[self.number - 1 :: self.of]

    def __str__(self) -> str:
        """As on the command line."""
        return f"{self.number}/{self.of}"


#: The only one.
WHOLE = Shard(1, 1)


def take_over(places: Sequence[str], cache: Path) -> int:
    """Copies what others have kept into `cache`; returns how many entries are new.

    A place is a directory in which a command ran, or a pattern of them ("shards/*"). An entry that
    is damaged there is not copied, and a line on stderr says so. Raises `AckclockError` for a place
    in which nothing is kept.
    """
    taken = 0
    for place in places:
        found = [Path(each) for each in sorted(glob(place))]  # noqa: PTH207 (absolute)
        others = [each / directory.CACHE for each in found if (each / directory.CACHE).is_dir()]
        if not others:
            raise AckclockError(
                f"--merge {place}: no {directory.CACHE} in it; give the directory in which "
                "`ackclock … --shard` ran"
            )
        taken += sum(_copy(each, cache) for each in others if each.resolve() != cache.resolve())
    return taken


def _copy(other: Path, cache: Path) -> int:
    damaged: list[Path] = []
    taken = 0
    for manifest in sorted(other.rglob(entries.MANIFEST)):
        entry = manifest.parent
        inside = entry.relative_to(other)
        hidden = any(part.startswith(PARTIAL) for part in inside.parts)
        if hidden or (cache / inside).exists():
            continue
        if entries.find(entry, entries.read_tables, damaged) is None:
            continue

        def copy(partial: Path, entry: Path = entry) -> None:
            shutil.copytree(entry, partial, dirs_exist_ok=True)

        entries.keep(cache / inside, copy, entries.read_tables)
        taken += 1
    entries.say_damaged(damaged, "entries", "they are run anew")
    return taken
