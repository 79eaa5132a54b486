"""The sources of kernels: Debian's package of a series, or a tarball that the user has."""

import hashlib
import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

from ackclock.base.directory import partial_directory
from ackclock.base.errors import AckclockError

#: What `--on vlinux` is, and `ackclock linux build` builds.
SERIES = "6.12"
#: Where Debian's packages put them.
INSTALLED = Path("/usr/src")
#: Debian's newest kernels; `apt-get` reads nothing else, and keeps what it reads in our directory.
SUITE = "http://deb.debian.org/debian trixie-backports main"
#: Where those of `KNOWN` are.
SUITES = (SUITE, "http://deb.debian.org/debian-security bookworm-security main")
#: Of a series, a version of Debian's package that every change fits, and the hash of its tarball.
KNOWN = {
    "6.12": (
        "6.12.117-1~deb12u1",
        "585a4a074597aefa2b1a68ada83a3184ba351c127544dea80618bbcceaa3961f",
    ),
    "7.3": (
        "7.3.4-1~bpo13+1",
        "76df1affb19f24926949369be1d74b60071c963c598ce8780bddd4bbf0fc3bc4",
    ),
}
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
    _download(series, f"linux-source-{series}", kept, say)
    return kept


def known(series: str, into: Path, say: Callable[[str], None]) -> Path:
    """The source of a series that our changes fit, as `KNOWN` has it; else as `fetch`."""
    version, sha256 = KNOWN[series]
    kept = into / f"linux-source-{series}_{version}.tar.xz"
    for found in (tarball(series), into / tarball(series).name, kept):
        if found.exists() and _sha256(found) == sha256:
            return found
    try:
        _download(series, f"linux-source-{series}={version}", kept, say)
        if _sha256(kept) == sha256:
            return kept
        said = "what Debian has is another file"
    except AckclockError as error:
        said = str(error)
    raise AckclockError(
        f"our changes fit Linux {version}: {said}; if you have its linux-source-{series}.tar.xz "
        f"(sha256 {sha256}), type: ackclock linux build --source linux-source-{series}.tar.xz"
    )


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _download(series: str, package: str, kept: Path, say: Callable[[str], None]) -> None:
    """Keeps the tarball of a package of Debian's, as `apt-get` names it. Raises `AckclockError`."""
    if not all(map(shutil.which, ("apt-get", "dpkg-deb"))):
        raise AckclockError(
            f"series {series}: without apt-get it cannot be downloaded; "
            f"give its source: --source linux-{series}.tar.xz"
        )
    kept.parent.mkdir(parents=True, exist_ok=True)
    with partial_directory(kept.parent) as scratch:
        for each in ("state/lists/partial", "cache/archives/partial"):
            (scratch / each).mkdir(parents=True)
        lines = "".join(f"deb [signed-by={KEYRING}] {suite}\n" for suite in SUITES)
        (scratch / "list").write_text(lines, encoding="utf-8")
        say(f"downloading {package} from Debian")
        _apt(scratch, "apt-get", "-q", "update")
        said = _apt(scratch, "apt-cache", "search", "--names-only", "^linux-source-[0-9]")
        names = [line.split()[0] for line in said.splitlines()]
        if package.partition("=")[0] not in names:
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


def _apt(scratch: Path, program: str, *words: str) -> str:
    """Runs apt with lists of its own; returns what it prints."""
    own = {
        "Dir::State": scratch / "state",
        "Dir::Cache": scratch / "cache",
        "Dir::Etc::sourcelist": scratch / "list",
        "Dir::Etc::sourceparts": "-",
        # This apt has its own lists, and a user's apt may not become another user.
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
