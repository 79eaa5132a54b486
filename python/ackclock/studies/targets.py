"""What of a C file one host alone gets: the simulator, or BPF."""

import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterable
from functools import partial
from pathlib import Path

from ackclock import _core
from ackclock.base import chosen

#: Of libbpf, which no line of the user's depends on.
_EMPTY = ("bpf_helpers.h", "bpf_core_read.h", "bpf_tracing.h")
#: What conditions of a file in the kernel's form call; its headers are taken for empty.
_KERNEL = (
    "-DLINUX_VERSION_CODE=0x60c00",
    "-DKERNEL_VERSION(a,b,c)=(((a)<<16)+((b)<<8)+(c))",
    *(f"-D{name}(option)=0" for name in ("IS_ENABLED", "IS_BUILTIN", "IS_MODULE")),
)
_MISSING = re.compile(r"fatal error: '(\w[\w./-]*\.h)' file not found")
#: The preprocessor's: line, file.
_MARKER = re.compile(r'# (\d+) "((?:[^"\\]|\\.)*)"')
#: Host → what clang is told.
_TARGETS = {"the simulator": (), "BPF": ("--target=bpf",)}


def lines_of_one(spec: str) -> list[str]:
    """`my_cc.c:12: only BPF gets this line …`, for each block that is left out of one of them.

    Nothing without clang, or of what is built in.
    Raises `AckclockError` if the file cannot be loaded.
    """
    snapshot = _core.Snapshot()
    shown = snapshot.configure(spec)
    clang = shutil.which("clang")
    if clang is None or shown["source"].startswith("algorithms/"):
        return []
    users, ours, _ = snapshot.module(spec)
    blocks = {str(path): _in_blocks(text.decode(errors="replace")) for path, text in users}
    if not any(blocks.values()):
        return []
    with tempfile.TemporaryDirectory(prefix="ackclock-") as directory:
        headers = [(Path(directory, name), text) for name, text in ours]
        for path, text in [*headers, *((Path(directory, "bpf", each), "") for each in _EMPTY)]:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        own = users[0][0]
        places = [f"-I{directory}/{each}" for each in ("include", ".", "missing")]
        places.append(f"-iquote{own.parent}")
        command = [clang, "-E", "-dD", "-std=gnu11", "-O2", *_KERNEL, *places, str(own)]
        gets = {}
        for host, target in _TARGETS.items():
            left = _preprocessed([*command, *target], Path(directory, "missing"))
            if left is None:
                return []
            gets[host] = set(_lines(left))
    simulator, bpf = gets.values()
    found = []
    for file, lines in blocks.items():
        last = 0
        for line in sorted(lines):
            if ((file, line) in simulator) != ((file, line) in bpf):
                if line != last + 1:
                    host = next(host for host, has in gets.items() if (file, line) in has)
                    name = Path(file).name if file != str(own) else shown["source"]
                    found.append(
                        f"{name}:{line}: only {host} gets this line, so that the simulator and "
                        "Linux run different algorithms: leave out the condition"
                    )
                last = line
    return found


def _preprocessed(command: list[str], missing: Path) -> str | None:
    """What the command prints, with empty headers in place of those that are not here."""
    confine = partial(_core.confine, [missing.parent])
    while True:
        done = subprocess.run(
            command,
            capture_output=True,
            text=True,
            errors="replace",
            check=False,
            preexec_fn=None if chosen.NAME == "portable" else confine,  # Windows has none
        )
        if not done.returncode:
            return done.stdout
        named = _MISSING.search(done.stderr)
        if not named or ".." in named[1] or (missing / named[1]).exists():
            return None
        (missing / named[1]).parent.mkdir(parents=True, exist_ok=True)
        (missing / named[1]).touch()


def _lines(text: str) -> Iterable[tuple[str, int]]:
    """File and number of each line that the preprocessor has left, its directives too."""
    file, line = "", 0
    for each in text.splitlines():
        if marker := _MARKER.match(each):
            file, line = marker[2], int(marker[1])
            continue
        if each.strip():
            yield file, line
        line += 1


def _in_blocks(text: str) -> set[int]:
    """The lines between `#if` and `#endif`, without those two."""
    depth, found = 0, set()
    for number, line in enumerate(text.splitlines(), 1):
        directive = re.match(r"\s*#\s*(\w+)", line)
        if directive and directive[1].startswith("if"):
            depth += 1
        elif directive and directive[1] == "endif":
            depth -= 1
        elif depth and not (directive and directive[1].startswith("el")):
            found.add(number)
    return found
