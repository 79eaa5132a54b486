"""Builds the virtual Linux once: Debian's own kernel source as a program (User-Mode Linux).

Time in it jumps from event to event (`time-travel=inf-cpu`), so computing takes none. Nothing in
`net/` is changed; `EDITS` has every change, and why.
"""

import hashlib
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path

from ackclock.base.directory import collect, locked, partial_directory, replaced
from ackclock.base.errors import AckclockError

GUEST = Path(__file__).with_name("guest")
CONFIG = GUEST / "kernel.config"
#: The program that runs in the machine.
GUEST_FILES = ("guest", "plan", "applications", "sampling")
SERIES = "6.12"
TARBALL = Path(f"/usr/src/linux-source-{SERIES}.tar.xz")
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
    "ethtool",
)
#: Where Debian has tc and ethtool, which is not on every user's PATH.
SBIN = "/usr/sbin:/sbin"
TOOLS = ("gcc", "make", "flex", "bison", "bc", "xz", "ip", "tc", "ethtool")

#: One sequence for each seed (SplitMix64).
RANDOM = """\
	static unsigned long long state;
	const char *seed = getenv("ACKCLOCK_SEED");
	unsigned char *byte = buf;
	size_t i;

	if (!state)
		state = seed ? strtoull(seed, NULL, 10) : 0;
	for (i = 0; i < len; i++) {
		unsigned long long z = state += 0x9e3779b97f4a7c15ULL;

		z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
		z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
		byte[i] = z ^ (z >> 31);
	}
	return len;
"""
#: How often the clock was read in this instant.
COUNTED = """\
{
	if (time_travel_mode != TT_MODE_OFF) {
		static unsigned long long last;
		static unsigned int again;

		again = last == time_travel_time ? again + 1 : 0;
		last = time_travel_time;
"""
#: (file, its text, what stands there instead, why)
EDITS = (
    (
        "arch/um/Kconfig",
        "config HZ\n\tint\n\tdefault 100\n",
        "config HZ\n\tint\n\tdefault 1000\n",
        "Algorithms count in ticks; User-Mode Linux fixes 100 per second.",
    ),
    (
        "arch/um/include/linux/time-internal.h",
        "#define TIMER_MULTIPLIER 256\n#define TIMER_MIN_DELTA  500\n",
        "#define TIMER_MULTIPLIER 1\n#define TIMER_MIN_DELTA  1\n",
        "Its clock counts 256 ns at a time, and a timer that is due in less than 500 ns is late.",
    ),
    (
        "arch/um/kernel/time.c",
        "\tdelta += 1;\n\n",
        "",
        "With such a clock each timer is 1 ns late, so that it is never early.",
    ),
    (
        "arch/um/kernel/time.c",
        "{\n\tif (time_travel_mode != TT_MODE_OFF) {\n\t\t/*\n\t\t * We make reading",
        COUNTED + "\t\t/*\n\t\t * We make reading",
        (
            "Each reading of the clock costs a process 1 ns, which decides between equal times. "
            "Now only one that reads it without end pays."
        ),
    ),
    (
        "arch/um/kernel/time.c",
        "\t\t    !time_travel_ext_waiting)\n\t\t\ttime_travel_update_time_rel(",
        "\t\t    !time_travel_ext_waiting && again > 10000)\n\t\t\ttime_travel_update_time_rel(",
        "See above.",
    ),
    (
        "kernel/time/hrtimer.c",
        "\t\t\tif (basenow < hrtimer_get_softexpires_tv64(timer))\n",
        "\t\t\tif (basenow < hrtimer_get_expires_tv64(timer))\n",
        (
            "All hosts share a processor, so a timer with slack fires with any host's timer before "
            "it. Now each host has a processor of its own."
        ),
    ),
    (
        "arch/x86/um/user-offsets.c",
        "DEFINE_LONGS(HOST_FP_SIZE, 2696);",
        "DEFINE_LONGS(HOST_FP_SIZE, 12288);",
        "Room for the registers of processors with AMX.",
    ),
    (
        "arch/um/os-Linux/util.c",
        "\treturn getrandom(buf, len, flags);\n",
        RANDOM,
        "The host's random numbers would differ from run to run.",
    ),
)

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

    #: It has the kernel, the tree that modules are built with, and what was built with it so far.
    directory: Path

    @property
    def key(self) -> str:
        """What it was made of."""
        return self.directory.name

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
            "directory of yours with 2 GB of room, and type: ackclock vlinux build"
        ) from None


@_in_cache()
def find() -> Built:
    """The virtual Linux of this machine; raises `AckclockError` if it is not built."""
    directory = cache_directory() / _key()
    if not (directory / "linux").exists():
        raise AckclockError("the virtual Linux is not built; type: ackclock vlinux build")
    return Built(directory)


def version() -> str:
    """Names what makes results: the build, and what runs and records in it. Raises as `find`."""
    names = ("__init__", "modules", "network", "plan", "records")
    made_by = [GUEST.with_name(f"{name}.py") for name in names]
    ours = [*made_by, *sorted(GUEST.iterdir())]
    return f"{find().key}-{_digest_of(*ours)}"


@_in_cache()
def build(
    progress: Callable[[float], None] | None = None, say: Callable[[str], None] = print
) -> Built:
    """Builds it, if it is not there; `progress` gets the fraction done, of some 5 CPU minutes.

    Installs Debian's packages if it may. Raises `AckclockError` that says what is missing.
    """
    _require(say)
    directory = cache_directory() / _key()
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
            say(f"unpacking {TARBALL}")
            tree = _unpack(partial)
            _edit(tree)
            say("building Linux: about 5 minutes of a processor")
            _compile(tree, progress)
            shutil.copy2(tree / "linux", partial / "linux")
            _prune(tree)
            os.sync()  # it is taken for whole where its name is
            partial.rename(directory)
    return Built(directory)


def _require(say: Callable[[str], None]) -> None:
    path = f"{os.environ.get('PATH', os.defpath)}:{SBIN}"
    missing = [tool for tool in TOOLS if shutil.which(tool, path=path) is None]
    if TARBALL.exists() and not missing:
        return
    command = f"apt-get install {' '.join(PACKAGES)}"
    if os.geteuid() or shutil.which("apt-get") is None:
        what = ", ".join([*([] if TARBALL.exists() else [str(TARBALL)]), *missing])
        raise AckclockError(
            f"the virtual Linux needs {what}; as root, on Debian 12 or later: {command}"
        )
    say(f"installing {', '.join(PACKAGES)}")
    environment = os.environ | {"DEBIAN_FRONTEND": "noninteractive"}
    for words in (["update"], ["install", "-y", "--no-install-recommends", *PACKAGES]):
        done = subprocess.run(
            ["apt-get", "-q", *words], env=environment, capture_output=True, text=True, check=False
        )
        if done.returncode and words[0] == "install":
            raise AckclockError(
                f"{command}: {(done.stderr or done.stdout).strip().splitlines()[-1]}"
            )


@cache
def _key() -> str:
    """Of the source, the configuration, our edits and the compiler."""
    digest = hashlib.blake2b(digest_size=8)
    if TARBALL.exists():
        status = TARBALL.stat()
        digest.update(f"{status.st_size} {status.st_mtime_ns}".encode())
    digest.update(repr(EDITS).encode())
    digest.update(CONFIG.read_bytes())
    version = (
        subprocess.run(["gcc", "-dumpfullversion"], capture_output=True, check=False)
        if shutil.which("gcc")
        else None
    )
    digest.update(version.stdout if version else b"")
    return digest.hexdigest()


def _unpack(into: Path) -> Path:
    command = ["tar", "-C", str(into), "-xf", str(TARBALL)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise AckclockError(f"{' '.join(command)}: {done.stderr.strip()}")
    return next(into.glob("linux-source-*")).rename(into / "tree")


def _edit(tree: Path) -> None:
    for name, text, instead, why in EDITS:
        file = tree / name
        before = file.read_text(encoding="utf-8")
        if before.count(text) != 1:
            raise AckclockError(
                f"{TARBALL}: {name} is not as expected, so this cannot be changed: {why}"
            )
        file.write_text(before.replace(text, instead), encoding="utf-8")


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


def _compile(tree: Path, progress: Callable[[float], None] | None) -> None:
    for _ in _make(tree, "allnoconfig", settings={"KCONFIG_ALLCONFIG": str(CONFIG)}):
        pass
    has = (tree / ".config").read_text(encoding="utf-8").splitlines()
    asked = [
        line
        for line in CONFIG.read_text(encoding="utf-8").splitlines()
        if line.startswith("CONFIG")
    ]
    if missing := [line for line in asked if line not in has]:
        raise AckclockError(f"{TARBALL}: this kernel has no {', '.join(missing)}")
    for number, _ in enumerate(_make(tree, "linux", "modules_prepare")):
        if progress is not None:
            progress(min(number / LINES, 1))
    for _ in _make(tree, "modules"):  # its symbols
        pass


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
                command = ["gcc", "-O2", "-o", str(partial), *sources]
                done = subprocess.run(command, capture_output=True, text=True, check=False)
                if done.returncode:
                    raise AckclockError(f"{' '.join(command)}: {done.stderr.strip()}")
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
        digest = _digest(repr(sorted(self.all_files.items())).encode())
        return built.directory / f"{self.name}-{digest}.ko"


def recorder(built: Built) -> Path:
    """The module that records, built once."""
    files = {"main.c": (GUEST / "recorder.c").read_bytes()}
    return module(built, Parts("recorder", files, ["main.c"]))


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
    return _digest(*(Path(path).read_bytes() for path in paths))


def _digest(*parts: bytes) -> str:
    digest = hashlib.blake2b(digest_size=8)
    for part in parts:
        digest.update(part)
    return digest.hexdigest()
