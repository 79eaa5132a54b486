"""Builds the virtual Linux once: Debian's own kernel source as a program (User-Mode Linux).

Time in it jumps from event to event (`time-travel=inf-cpu`), so computing takes none. Nothing in
TCP is changed but where BBR draws; `edits.py` has every change, and why.
"""

import hashlib
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path

from ackclock.base.directory import collect, locked, partial_directory, replaced
from ackclock.base.errors import AckclockError
from ackclock.hosts.vlinux import sources
from ackclock.hosts.vlinux.edits import EDITS, HZ, EditError, edit
from ackclock.hosts.vlinux.sources import SERIES

GUEST = Path(__file__).with_name("guest")
CONFIG = GUEST / "kernel.config"
#: The program that runs in the machine.
GUEST_FILES = ("guest", "plan", "applications", "sampling", "network", "programs")
TARBALL = sources.tarball(SERIES)
PACKAGES = (
    f"linux-source-{SERIES}",
    "gcc",
    "libc6-dev",
    "make",
    "flex",
    "bison",
    "bc",
    "xz-utils",
    "iproute2",
)
#: Where Debian has tc, which is not on every user's PATH.
SBIN = "/usr/sbin:/sbin"
TOOLS = ("gcc", "make", "flex", "bison", "bc", "xz", "tc")

#: What newer kernels have besides CONFIG, and which of its lines they do not have.
NEWER_CONFIG = ("CONFIG_SYSCTL=y", "CONFIG_NET_SCH_DUALPI2=y")
GONE = {
    "CONFIG_PROC_SYSCTL=y": "CONFIG_SYSCTL=y",
    "CONFIG_PREEMPT_NONE=y": "CONFIG_PREEMPT_VOLUNTARY=y",
}

#: Fixed, so that two builds are equal.
STAMP = {
    "ARCH": "um",
    "KBUILD_BUILD_TIMESTAMP": "Thu Jan 1 00:00:00 UTC 1970",
    "KBUILD_BUILD_USER": "ackclock",
    "KBUILD_BUILD_HOST": "ackclock",
    "KBUILD_BUILD_VERSION": "1",
    # The compiler's messages are read.
    "LANG": "C",
    "LC_MESSAGES": "C",
    "LC_CTYPE": "C",
}
#: Lines that `make` prints for this kernel, measured; for the progress only.
LINES = 1090
#: What modules do not need of the tree.
UNNEEDED = ("Documentation", "drivers", "fs", "net", "sound", "mm", "crypto", "samples", "block")


class MakeError(AckclockError):
    """What make said, when it failed."""

    def __init__(self, command: str, lines: list[str]) -> None:
        self.command, self.lines = command, lines
        shown = self.errors() or lines[-10:]
        super().__init__(f"{command} failed:\n" + "\n".join(shown[:10]))

    def errors(self) -> list[str]:
        """Of the compiler."""
        found = (line for line in self.lines if re.search(r": (fatal )?error: ", line))
        return [*dict.fromkeys(found)]

    def undefined(self) -> list[str]:
        """The functions and variables that a module uses and nothing has."""
        said = (re.search(r'modpost: "(.*?)" .*undefined!', line) for line in self.lines)
        return [found[1] for found in said if found]


@dataclass(frozen=True)
class Built:
    """A virtual Linux that can run."""

    #: With the kernel, the tree that modules are built with, and what was built with it so far.
    directory: Path

    @property
    def key(self) -> str:
        """The series, and what it was made of; kernels with other ticks have the same."""
        return self.directory.name.partition("@")[0]

    @property
    def hz(self) -> int:
        """Timer ticks per second."""
        return int(self.directory.name.partition("@")[2] or HZ)

    def at(self, hz: int) -> "Built":
        """The one with other ticks. Raises `AckclockError` if it is not built."""
        name = self.key if hz == HZ else f"{self.key}@{hz}"
        if hz == self.hz or (self.directory.with_name(name) / "linux").exists():
            return Built(self.directory.with_name(name))
        raise AckclockError(
            f"hz = {hz}: the virtual Linux {self.series} with {hz} ticks a second is not built; "
            f"write hz = {self.hz}, or type: {wanted(self.series, hz)}"
        )

    @property
    def series(self) -> str:
        """The version of Linux that it is, such as 6.12."""
        return self.key.partition("-")[0]

    @property
    def release(self) -> str:
        """As `uname -r` says it."""
        file = self.directory / "tree" / "include" / "config" / "kernel.release"
        return file.read_text(encoding="utf-8").strip() if file.exists() else self.series

    @property
    def kernel(self) -> Path:
        """The program."""
        return self.directory / "linux"


def cache_directory() -> Path:
    """Where it is kept: $XDG_CACHE_HOME/ackclock/vlinux."""
    home = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(home) / "ackclock" / "vlinux"


@contextmanager
def _in_cache() -> Iterator[None]:
    """Raises `AckclockError` where what is kept cannot be read or written."""
    try:
        yield
    except OSError as error:
        raise AckclockError(
            f"{error.filename or cache_directory()}: {error.strerror}; set XDG_CACHE_HOME to a "
            "directory of yours with 2 GB of room, and type: ackclock linux build"
        ) from None


def wanted(series: str, hz: int = HZ) -> str:
    """What to type to build a series."""
    other = "" if series == SERIES else f" --series {series}"
    ticks = "" if hz == HZ else f" --hz {hz}"
    return f"ackclock linux build{other}{ticks}"


@_in_cache()
def find(series: str = SERIES) -> Built:
    """The newest of this series, of any ticks; raises `AckclockError` if none is built."""
    found = [each for each in every() if each.series == series]
    if not found:
        of = "" if series == SERIES else f" {series}"
        raise AckclockError(f"the virtual Linux{of} is not built; type: {wanted(series)}")
    return found[-1]


@_in_cache()
def every() -> list[Built]:
    """All that is built and up to date; of a series the newest build last."""
    ours = recipe()
    found = [
        Built(path.parent)
        for path in cache_directory().glob("*-*/recipe")
        if path.read_text(encoding="utf-8") == ours and (path.parent / "linux").exists()
    ]
    return sorted(
        found, key=lambda each: (sources.version(each.series), each.kernel.stat().st_mtime_ns)
    )


def version(series: str = SERIES) -> str:
    """Names what makes results: the build, and what runs and records in it. Raises as `find`."""
    return version_of(find(series))


def version_of(built: Built) -> str:
    """As `version`."""
    names = ("__init__", "modules", "network", "plan", "programs", "records", "tc")
    made_by = [GUEST.with_name(f"{name}.py") for name in names]
    ours = [*made_by, *sorted(GUEST.iterdir())]
    return f"{built.key}-{_digest_of(*ours)}"


@_in_cache()
def build(
    progress: Callable[[float], None] | None = None,
    say: Callable[[str], None] = print,
    *,
    series: str = SERIES,
    source: Path | None = None,
    hz: int = HZ,
) -> Built:
    """Builds it, if it is not there; `progress` gets the fraction done, of some 5 CPU minutes.

    `source`: a tarball of a kernel, whose name says the series. Otherwise the source is Debian's
    newest, or the one in `sources.KNOWN` where our changes do not fit the newest. `hz`: its timer
    ticks per second. Installs Debian's packages if it may.
    Raises `AckclockError` that says what is missing.
    """
    series = sources.checked(series if source is None else sources.series_of(source))
    default = series == SERIES and source is None
    _require(say, TARBALL if default else None)
    kept = cache_directory() / "sources"
    tarball = source or (TARBALL if default else sources.fetch(series, kept, say))
    try:
        return _build(series, tarball, hz, progress, say)
    except EditError as error:
        if source is not None or series not in sources.KNOWN:
            works = " or ".join(map(wanted, sources.KNOWN))
            raise AckclockError(f"{error}; one that works: type {works}") from None
        say(str(error))
        return _build(series, sources.known(series, kept, say), hz, progress, say)


def _build(
    series: str,
    source: Path,
    hz: int,
    progress: Callable[[float], None] | None,
    say: Callable[[str], None],
) -> Built:
    ticks = "" if hz == HZ else f"@{hz}"
    directory = cache_directory() / f"{series}-{_key(source)}{ticks}"
    if (directory / "linux").exists():  # no other build delays it
        return Built(directory)
    directory.parent.mkdir(parents=True, exist_ok=True)
    with locked(directory.parent):
        if (directory / "linux").exists():
            return Built(directory)
        collect(directory.parent)
        with partial_directory(directory.parent) as scratch:
            partial = scratch / "built"
            partial.mkdir()
            say(f"unpacking {source}")
            tree = _unpack(source, partial)
            edit(tree, hz)
            before = _files(tree)
            say(f"building Linux {series}: about 5 minutes of a processor")
            compile_tree(tree, progress)
            shutil.copy2(tree / "linux", partial / "linux")
            _keep_objects(tree, before, partial)
            _prune(tree)
            (partial / "recipe").write_text(recipe(), encoding="utf-8")
            os.sync()  # it is taken for whole where its name is
            partial.rename(directory)
    return Built(directory)


def _require(say: Callable[[str], None], tarball: Path | None) -> None:
    """What is built with, and Debian's source, unless it comes from elsewhere."""
    path = f"{os.environ.get('PATH', os.defpath)}:{SBIN}"
    missing = [tool for tool in TOOLS if shutil.which(tool, path=path) is None]
    if tarball is not None and not tarball.exists():
        missing.insert(0, str(tarball))
    if not missing:
        return
    packages = PACKAGES if tarball is not None else PACKAGES[1:]
    command = f"apt-get install {' '.join(packages)}"
    if os.geteuid() or shutil.which("apt-get") is None:
        what = ", ".join(missing)
        raise AckclockError(
            f"the virtual Linux needs {what}; as root, on Debian 12 or later: {command}"
        )
    say(f"installing {', '.join(packages)}")
    environment = os.environ | {"DEBIAN_FRONTEND": "noninteractive"}
    for words in (["update"], ["install", "-y", "--no-install-recommends", *packages]):
        done = subprocess.run(
            ["apt-get", "-q", *words], env=environment, capture_output=True, text=True, check=False
        )
        if done.returncode and words[0] == "install":
            raise AckclockError(
                f"{command}: {(done.stderr or done.stdout).strip().splitlines()[-1]}"
            )


@cache
def recipe() -> str:
    """Of the configuration, our edits and the compiler."""
    version = (
        subprocess.run(["gcc", "-dumpfullversion"], capture_output=True, check=False)
        if shutil.which("gcc")
        else None
    )
    ours = repr((EDITS, NEWER_CONFIG))
    return digest(ours.encode(), CONFIG.read_bytes(), version.stdout if version else b"")


def _key(source: Path) -> str:
    """Of a source and the recipe."""
    status = source.stat()
    return digest(f"{status.st_size} {status.st_mtime_ns} {recipe()}".encode())


def _unpack(source: Path, into: Path) -> Path:
    _ran(["tar", "-C", str(into), "-xf", str(source)])
    return next(into.glob("linux-*")).rename(into / "tree")


def _ran(command: Sequence[str], names: str = "") -> None:
    """Runs a program, which reads these names. Raises `AckclockError` with what it says."""
    done = subprocess.run(command, input=names, capture_output=True, text=True, check=False)
    if done.returncode:
        raise AckclockError(f"{' '.join(command)}: {done.stderr.strip()}")


def _make(tree: Path, *words: str, settings: dict[str, str] | None = None) -> Iterator[str]:
    """Runs make; yields the lines that it prints. Raises `MakeError` with them."""
    command = ["make", f"-j{os.cpu_count()}", "-C", str(tree), *words]
    environment = os.environ | STAMP | (settings or {})
    lines: list[str] = []
    with subprocess.Popen(
        command,
        env=environment,
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        errors="replace",
    ) as process:
        assert process.stdout is not None
        try:
            for line in process.stdout:
                lines.append(line.rstrip())
                yield lines[-1]
        except BaseException:
            process.terminate()
            raise
    if process.returncode:
        raise MakeError(" ".join(command), lines)


def _configure(tree: Path) -> None:
    asked = [
        line
        for line in CONFIG.read_text(encoding="utf-8").splitlines()
        if line.startswith("CONFIG")
    ]
    lines = "\n".join([*asked, *NEWER_CONFIG, ""])
    with tempfile.NamedTemporaryFile("w", encoding="utf-8", suffix=".config") as file:
        file.write(lines)
        file.flush()
        for _ in _make(tree, "allnoconfig", settings={"KCONFIG_ALLCONFIG": file.name}):
            pass
    has = (tree / ".config").read_text(encoding="utf-8").splitlines()
    if missing := [line for line in asked if line not in has and GONE.get(line) not in has]:
        raise AckclockError(f"this kernel has no {', '.join(missing)}")


def compile_tree(tree: Path, progress: Callable[[float], None] | None) -> None:
    """Builds the program, and what modules are linked with."""
    _configure(tree)
    for number, _ in enumerate(_make(tree, "linux", "modules_prepare")):
        if progress is not None:
            progress(min(number / LINES, 1))
    for _ in _make(tree, "modules"):  # its symbols
        pass


#: What no object is made of.
_UNREAD = ("Documentation", "tools", "samples", "sound", "LICENSES")


def _files(tree: Path) -> dict[str, str]:
    """The files of a tree that objects may be made of → what git calls their content."""
    found = {}
    for top, folders, names in os.walk(tree):
        if Path(top) == tree:
            folders[:] = [each for each in folders if each not in _UNREAD and each != ".git"]
        for name in names:
            path = Path(top) / name
            if not path.is_symlink():
                found[os.path.relpath(path, tree)] = blob(path.read_bytes())
    return found


def blob(content: bytes) -> str:
    """What git calls a file of this content."""
    return hashlib.sha1(b"blob %d\0" % len(content) + content, usedforsecurity=False).hexdigest()


def _keep_objects(tree: Path, before: Mapping[str, str], into: Path) -> None:
    """Keeps what was made, and of which sources: another tree is built with what it shares."""
    made = [
        name
        for path in sorted(tree.rglob("*"))
        if (path.is_symlink() or not path.is_dir())
        and (name := str(path.relative_to(tree))) not in before
        and name not in ("linux", "vmlinux", "vmlinux.o", ".git")
        and not name.startswith(tuple(f"{each}/" for each in _UNREAD))
    ]
    command = ["tar", "-C", str(tree), "-cf", str(into / "objects.tar"), "--no-recursion"]
    _ran([*command, "--null", "-T", "-"], "\0".join(made))
    lines = "".join(f"{content} {name}\n" for name, content in before.items())
    (into / "made_of").write_text(lines, encoding="utf-8")


def _prune(tree: Path) -> None:
    """Leaves what modules are built with."""
    for name in UNNEEDED:
        shutil.rmtree(tree / name, ignore_errors=True)
    for path in [*tree.rglob("*.o"), *tree.rglob("*.a"), tree / "vmlinux", tree / "linux"]:
        if "scripts" not in path.relative_to(tree).parts:
            path.unlink()


@_in_cache()
def guest(built: Built) -> Path:
    """The program that runs in the machine, built once."""
    sources = [str(GUEST / f"{name}.c") for name in GUEST_FILES]
    path = built.directory / f"guest-{_digest_of(*sources, GUEST / 'guest.h')}"
    with locked(built.directory):  # several machines start at once
        if not path.exists():
            with replaced(path) as partial:
                _ran(["gcc", "-O2", "-o", str(partial), *sources])
    return path


@dataclass(frozen=True)
class Parts:
    """What a kernel module is built from."""

    name: str
    #: Place → text.
    files: dict[str, bytes]
    #: The places of those that are compiled.
    objects: Sequence[str]
    #: More lines of its Makefile.
    makefile: str = ""

    @cached_property
    def all_files(self) -> dict[str, bytes]:
        """With the Makefile."""
        objects = " ".join(f"{each.removesuffix('.c')}.o" for each in self.objects)
        makefile = f"obj-m := {self.name}.o\n{self.name}-y := {objects}\n{self.makefile}\n"
        return self.files | {"Makefile": makefile.encode()}

    def path(self, built: Built) -> Path:
        """Of the module, once it is built."""
        named = digest(repr(sorted(self.all_files.items())).encode())
        return built.directory / f"{self.name}-{named}.ko"


def recorder(built: Built) -> Path:
    """The module that records, built once."""
    return _own(built, "recorder", "conversations.h", "headers.h", "streams.h")


def link(built: Built) -> Path:
    """The module of links that Linux has not, built once."""
    return _own(built, "link", "headers.h")


def _own(built: Built, name: str, *headers: str) -> Path:
    """A module of one file of ours."""
    files = {each: (GUEST / each).read_bytes() for each in headers}
    files["main.c"] = (GUEST / f"{name}.c").read_bytes()
    return module(built, Parts(name, files, ["main.c"]))


@_in_cache()
def module(built: Built, parts: Parts) -> Path:
    """A kernel module, built once. Raises `MakeError`, whose lines name places."""
    path = parts.path(built)
    with locked(built.directory):  # several machines start at once
        if not path.exists():
            _make_module(built, path, parts)
    return path


def _make_module(built: Built, path: Path, parts: Parts) -> None:
    temporary = Path(tempfile.gettempdir())
    collect(temporary)
    with partial_directory(temporary) as scratch:
        for each, text in parts.all_files.items():
            file = scratch / each
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(text)
        try:
            for _ in _make(built.directory / "tree", f"M={scratch}", "modules"):
                pass
        except MakeError as error:
            lines = [line.replace(f"{scratch}/", "") for line in error.lines]
            raise MakeError(error.command, lines) from None
        with replaced(path) as partial:
            shutil.copy2(scratch / f"{parts.name}.ko", partial)


def _digest_of(*paths: str | Path) -> str:
    return digest(*(Path(path).read_bytes() for path in paths))


def digest(*parts: bytes) -> str:
    """What names these bytes."""
    hashed = hashlib.blake2b(digest_size=8)
    for part in parts:
        hashed.update(part)
    return hashed.hexdigest()
