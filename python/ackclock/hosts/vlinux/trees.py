"""Virtual Linuxes of the commits of a user's git tree, each built with what the last one left.

Its files are checked out in our cache, with an index of our own: nothing is written in the user's
tree, nor in its .git.
"""

import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from ackclock.base.directory import locked
from ackclock.base.errors import AckclockError
from ackclock.hosts.vlinux import build, sources
from ackclock.hosts.vlinux.build import Built
from ackclock.hosts.vlinux.edits import EDITS, HZ, edit

#: When files were changed that objects of an earlier build were made of, s.
LONG_AGO = 946684800


@dataclass(frozen=True)
class Commit:
    """One of the tree."""

    hash: str
    subject: str

    def __str__(self) -> str:
        return f"{self.hash[:12]} {self.subject}"


@dataclass(frozen=True)
class Tree:
    """A git tree with the source of Linux."""

    directory: Path

    def __post_init__(self) -> None:
        """Raises `AckclockError` if it is none."""
        if not self.directory.is_dir() or not (self._git_directory / "objects").is_dir():
            raise AckclockError(f"--tree {self.directory}: no git tree; give one of Linux")

    @cached_property
    def _git_directory(self) -> Path:
        command = ["git", "-C", str(self.directory), "rev-parse", "--git-common-dir"]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        return self.directory / done.stdout.strip() if done.returncode == 0 else Path(os.devnull)

    @property
    def place(self) -> Path:
        """Our copy of it, and what was built of it."""
        name = build.digest(str(self.directory.resolve()).encode())
        return build.cache_directory() / "trees" / name

    @property
    def _work(self) -> Path:
        return self.place / "work"

    def _git(self, *words: str) -> str:
        command = ["git", f"--git-dir={self._git_directory}", *words]
        environment = os.environ | {
            "GIT_INDEX_FILE": str(self.place / "index"),
            "GIT_WORK_TREE": str(self._work if self._work.exists() else Path.cwd()),
            "GIT_OPTIONAL_LOCKS": "0",
        }
        done = subprocess.run(
            command, env=environment, capture_output=True, text=True, check=False, errors="replace"
        )
        if done.returncode:
            said = done.stderr.strip().splitlines() or [f"exit code {done.returncode}"]
            raise AckclockError(f"--tree {self.directory}: git {words[0]}: {said[-1]}")
        return done.stdout

    def commit(self, name: str, option: str) -> Commit:
        """The commit that a user names. Raises `AckclockError` if there is none."""
        try:
            found = self._git("log", "-1", "--format=%H %s", f"{name}^{{commit}}", "--")
        except AckclockError:
            raise AckclockError(f"{option} {name}: {self.directory} has no such commit") from None
        return Commit(*found.strip().split(" ", 1))

    def between(self, good: Commit, bad: Commit) -> list[Commit]:
        """From the good one to the bad one, of a merge the first parent.

        Raises `AckclockError` if the bad one does not come after the good one.
        """
        way = ("log", "--first-parent", "--reverse", f"{good.hash}..{bad.hash}")
        lines = self._git(*way, "--format=%H %P").splitlines()
        if not lines or good.hash not in lines[0].split()[1:2]:
            raise AckclockError(
                f"--good {good.hash[:12]} --bad {bad.hash[:12]}: the bad one does not come after "
                "the good one, by first parents"
            )
        told = self._git(*way, "--format=%H %s")
        return [good, *(Commit(*line.split(" ", 1)) for line in told.splitlines())]

    def built(self, commit: Commit) -> Built:
        """Where the virtual Linux of a commit is, built or not."""
        makefile = self._git("show", f"{commit.hash}:Makefile")
        numbers = dict(re.findall(r"^(VERSION|PATCHLEVEL) = (\d+)$", makefile, re.MULTILINE))
        if len(numbers) < 2:
            raise AckclockError(f"--tree {self.directory}: {commit.hash[:12]} is not Linux")
        series = sources.checked(f"{numbers['VERSION']}.{numbers['PATCHLEVEL']}")
        return Built(self.place / f"{series}-{commit.hash[:16]}-{build.recipe()}")

    @contextmanager
    def ready(self, commit: Commit, progress: Callable[[float], None] | None) -> Iterator[Built]:
        """The virtual Linux of a commit, which can run until another one is asked for.

        Raises `AckclockError` if it does not compile.
        """
        self.place.mkdir(parents=True, exist_ok=True)
        built = self.built(commit)
        with locked(self.place):
            self._switch(commit, built.series)
            build.compile_tree(self._work, progress)
            built.directory.mkdir(exist_ok=True)
            shutil.copy2(self._work / "linux", built.kernel)
            tree = built.directory / "tree"
            if not tree.is_symlink():
                tree.symlink_to("../work")
            yield built
            # The modules are of this commit; others have the tree from now on.
            shutil.rmtree(built.directory)

    def _switch(self, commit: Commit, series: str) -> None:
        """Has the files of a commit, with our changes; what stays keeps its time."""
        first = not (self.place / "index").exists()
        self._work.mkdir(exist_ok=True)
        if first:
            for path in self._work.iterdir():  # of a command that was killed
                shutil.rmtree(path) if path.is_dir() else path.unlink()
        edited = {self._work / each.file for each in EDITS}
        before = {path: (path.read_bytes(), path.stat()) for path in edited if path.exists()}
        # Those that it takes for changed are written anew.
        self._git("read-tree", "--reset", "-u", commit.hash)
        edit(self._work)
        for path, (content, status) in before.items():
            if path.exists() and path.read_bytes() == content:
                os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))
        if first:
            self._take_objects(commit, series)
            # With the new times, nothing is changed.
            self._git("update-index", "-q", "--refresh")

    def _take_objects(self, commit: Commit, series: str) -> None:
        """What an earlier build of the series made of the same files."""
        kept = [each for each in build.every() if (each.series, each.hz) == (series, HZ)]
        archive = kept[-1].directory / "objects.tar" if kept else None
        if archive is None or not archive.exists():
            return
        lines = (archive.parent / "made_of").read_text(encoding="utf-8").splitlines()
        made_of = {name: blob for blob, name in (line.split(" ", 1) for line in lines)}
        listed = self._git("ls-tree", "-r", "-z", commit.hash).split("\0")
        blobs = {
            name: told.split()[2] for told, name in (row.split("\t", 1) for row in listed if row)
        }
        for name in {each.file for each in EDITS if each.file in blobs}:
            blobs[name] = build.blob((self._work / name).read_bytes())
        for name, blob in made_of.items():
            if blobs.get(name) == blob:
                os.utime(self._work / name, (LONG_AGO, LONG_AGO))
        with tempfile.TemporaryFile() as said:
            command = ["tar", "-C", str(self._work), "-xf", str(archive)]
            if subprocess.run(command, stderr=said, check=False).returncode:
                said.seek(0)
                raise AckclockError(f"{archive}: {said.read().decode().strip()}")
