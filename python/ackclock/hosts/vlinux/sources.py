"""The sources of kernels: Debian's package of a series, or a tarball that the user has."""

import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

from ackclock.base.directory import partial_directory
from ackclock.base.errors import AckclockError

#: What `--on vlinux` is, and `ackclock vlinux build` builds.
SERIES = "6.12"
#: Where Debian's packages put them.
INSTALLED = Path("/usr/src")
#: Debian's newest kernels; `apt-get` reads nothing else, and keeps what it reads in our directory.
SUITE = "http://deb.debian.org/debian trixie-backports main"
KEYRING = "/usr/share/keyrings/debian-archive-keyring.gpg"
_NAME = re.compile(r"linux-(?:source-)?(\d+(?:\.\d+)+)\.tar(?:\.\w+)?")
_SERIES = re.compile(r"\d+(?:\.\d+)+")


def tarball(series: str) -> Path:
    """Where Debian's package has the source of a series."""
    return INSTALLED / f"linux-source-{series}.tar.xz"


def series_of(source: Path) -> str:
    """The series of a tarball, by its name: linux-7.3.tar.xz. Raises `AckclockError`."""
    named = _NAME.fullmatch(source.name)
    if named is None:
        raise AckclockError(
            f"--source {source}: its name must say the version, such as linux-7.3.tar.xz"
        )
    if not source.is_file():
        raise AckclockError(f"--source {source}: there is no such file")
    return named[1]


def checked(series: str) -> str:
    """A series. Raises `AckclockError` for what is none, or older than our changes apply to."""
    if not _SERIES.fullmatch(series):
        raise AckclockError(f"series {series}: write a version of Linux, such as {SERIES} or 7.3")
    if version(series) < version(SERIES):
        raise AckclockError(
            f"series {series}: the virtual Linux is {SERIES} or newer; choose a newer one"
        )
    return series


def version(series: str) -> tuple[int, ...]:
    """Of a series, to compare: (6, 12)."""
    return tuple(map(int, series.split(".")[:2]))


def fetch(series: str, into: Path, say: Callable[[str], None]) -> Path:
    """The source of a series: as Debian's package installed it, or as downloaded into a directory.

    No package is installed, and the machine's lists of packages stay as they are.
    Raises `AckclockError` that says which series there are.
    """
    kept = into / tarball(series).name
    for found in (tarball(series), kept):
        if found.exists():
            return found
    if not all(map(shutil.which, ("apt-get", "dpkg-deb"))):
        raise AckclockError(
            f"series {series}: without apt-get it cannot be downloaded; "
            f"give its source: --source linux-{series}.tar.xz"
        )
    into.mkdir(parents=True, exist_ok=True)
    with partial_directory(into) as scratch:
        for each in ("state/lists/partial", "cache/archives/partial"):
            (scratch / each).mkdir(parents=True)
        (scratch / "list").write_text(f"deb [signed-by={KEYRING}] {SUITE}\n", encoding="utf-8")
        say(f"downloading the source of Linux {series} from {SUITE}")
        _apt(scratch, "apt-get", "-q", "update")
        package = f"linux-source-{series}"
        said = _apt(scratch, "apt-cache", "search", "--names-only", "^linux-source-[0-9]")
        names = [line.split()[0] for line in said.splitlines()]
        if package not in names:
            known = sorted(
                (name.removeprefix("linux-source-") for name in names), key=version, reverse=True
            )
            raise AckclockError(
                f"series {series}: Debian has no source of it; choose from {', '.join(known)}, "
                f"or give its source: --source linux-{series}.tar.xz"
            )
        _apt(scratch, "apt-get", "-q", "download", package)
        (archive,) = scratch.glob("*.deb")
        _said(["dpkg-deb", "-x", str(archive), str(scratch / "package")], scratch)
        (scratch / "package" / tarball(series).relative_to("/")).replace(kept)
    return kept


def _apt(scratch: Path, program: str, *words: str) -> str:
    """Runs apt with lists of its own; returns what it prints."""
    own = {
        "Dir::State": scratch / "state",
        "Dir::Cache": scratch / "cache",
        "Dir::Etc::sourcelist": scratch / "list",
        "Dir::Etc::sourceparts": "-",
        # It has its own lists, and a user's apt may not become another user.
        "APT::Sandbox::User": "",
        "Acquire::Languages": "none",
    }
    options = [word for name, value in own.items() for word in ("-o", f"{name}={value}")]
    return _said([program, *options, *words], scratch)


def _said(command: list[str], at: Path) -> str:
    done = subprocess.run(command, cwd=at, capture_output=True, text=True, check=False)
    if done.returncode:
        said = [line for line in (done.stdout + done.stderr).splitlines() if line.strip()]
        raise AckclockError(f"{command[0]}: {said[-1] if said else done.returncode}")
    return done.stdout
