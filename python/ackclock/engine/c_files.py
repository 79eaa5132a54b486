"""A user's C file as a WebAssembly module, by clang: the checks and the words are the engine's."""

import json
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NoReturn

import wasmtime

from ackclock.base.errors import AckclockError
from ackclock.engine.guests import Compiled

#: Largest file that is taken (crates/host/src/native/source.rs), and how long a tool may take.
_MOST_BYTES, _MOST_S = 4 << 20, 60
_CLANGS = ("clang", *(f"clang-{version}" for version in range(23, 13, -1)))
#: Beside `-ftrivial-auto-var-init=zero` where that is no flag by itself.
_ALLOW = "-enable-trivial-auto-var-init-zero-knowing-it-will-be-removed-from-clang"


@dataclass(frozen=True)
class _Tools:
    """A clang for wasm32, its linker, and what it says of itself."""

    clang: tuple[str, ...]
    linker: tuple[str, ...]
    version: str


@cache
def _tools() -> _Tools | None:
    for name in _CLANGS:
        clang = shutil.which(name)
        linker = shutil.which(name.replace("clang", "wasm-ld")) or shutil.which("wasm-ld")
        if clang and linker and "wasm32" in _told(clang, "--print-targets"):
            return _Tools((clang,), (linker,), _told(clang, "--version"))
    if (package := find_spec("ziglang")) and package.origin:
        zig = str(Path(package.origin).with_name("zig.exe" if os.name == "nt" else "zig"))
        return _Tools((zig, "clang"), (zig, "wasm-ld"), _told(zig, "clang", "--version"))
    return None


def _told(*words: str) -> str:
    return subprocess.run(words, capture_output=True, text=True, check=False).stdout


class _Refused(Exception):  # noqa: N818 (no error yet: what a tool has written)
    pass


class Compiler:
    """`call(name, *given)` asks the engine; `engine` runs the modules."""

    def __init__(self, engine: wasmtime.Engine, call: Callable[..., Any]) -> None:
        self._engine, self._call = engine, call
        self._about: Mapping[str, Any] = call("c_files")
        #: What was compiled, by path, and the texts that it was made of.
        self._known: dict[tuple[str, str], tuple[list[tuple[str, bytes]], Compiled]] = {}

    def compiled(self, path: str) -> Compiled:
        """The file, compiled once as long as it is the same. Raises `AckclockError`."""
        text = self._text(path)
        key = path, str(Path(path).absolute())
        sources, known = self._known.get(key, ([], None))
        if known and all(_is(*each) for each in sources):
            return known
        with tempfile.TemporaryDirectory(prefix="ackclock-", ignore_cleanup_errors=True) as place:
            job = _Job(self._about, self._call, path, text, Path(place))
            try:
                module = job.module()
            except _Refused as refused:
                self._call("refused_c_file", path, _decoded(text), str(refused))
                raise AssertionError from None  # it is refused
            except (OSError, subprocess.TimeoutExpired) as error:
                raise AckclockError(f"cannot load {path}: {error}") from None
        made = Compiled(path, wasmtime.Module(self._engine, module), b"")
        store = wasmtime.Store(self._engine)
        store.set_epoch_deadline(1)
        exports = wasmtime.Instance(store, made.module, []).exports(store)
        memory: Any = exports["memory"]
        declared: Any = exports["cc_module"]
        head = {
            "sources": [(name, _decoded(each)) for name, each in job.sources],
            "made_by": job.made_by,
            "module": declared.value(store) & 0xFFFFFFFF,
        }
        linked = bytes(memory.read(store, 0, memory.data_len(store)))
        made = Compiled(path, made.module, json.dumps(head).encode() + b"\n" + linked)
        self._known[key] = job.sources, made
        return made

    def _text(self, path: str) -> bytes:
        file = Path(path)
        try:
            if file.is_dir():
                raise IsADirectoryError
            if file.exists() and (file.suffix != ".c" or not file.is_file()):
                self._refuse(path, "suffix")
            with file.open("rb") as opened:
                text = opened.read(_MOST_BYTES + 1)
        except OSError as error:
            self._refuse(path, type(error).__name__, str(error))
        if len(text) > _MOST_BYTES:
            size = file.stat().st_size
            self._refuse(path, "", f"it has {size} bytes; a C file may have {_MOST_BYTES}")
        if b"\0" in text:
            self._refuse(path, "zero")
        return text

    def _refuse(self, path: str, why: str, error: str = "") -> NoReturn:
        self._call("no_c_file", path, why, error)
        raise AssertionError


def _is(path: str, text: bytes) -> bool:
    try:
        return Path(path).read_bytes() == text
    except OSError:
        return False


def _decoded(text: bytes) -> str:
    return text.decode(errors="replace")


class _Job:
    """One file in a directory with our headers."""

    def __init__(
        self,
        about: Mapping[str, Any],
        call: Callable[..., Any],
        path: str,
        text: bytes,
        place: Path,
    ) -> None:
        self._about, self._call, self._path, self._place = about, call, path, place
        own = Path(path).absolute()
        self.sources = [(str(own), text)]
        self._directory = str(own.parent)
        for name, each in about["files"].items():
            self._write(name, each.encode())
        text = text.removeprefix(b"\xef\xbb\xbf")
        self._write("include/user/file.c", about["label"].encode() + text)
        self.made_by = ""

    def _write(self, name: str, text: bytes) -> None:
        file = self._place / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(text)

    def module(self) -> bytes:
        """The linked module. Raises `_Refused` with what a tool says."""
        if (tools := _tools()) is None:
            raise AckclockError(
                f"cannot compile {self._path}: no clang with wasm-ld was found; "
                'pip install "ackclock[c]" brings one'
            )
        about = self._about
        flags = [*about["flags"]]
        version = re.search(r"version (\d+)", tools.version)
        of_user = [*about["user_flags"], *([_ALLOW] if _is_old(version) else [])]
        clang = [*tools.clang, *flags, "-I", "include", "-I", "include/kernel"]
        user = [*clang, *of_user, "-iquote", self._directory, "-x"]
        raw = self._tool([*user, "c", "-E", "include/user/file.c"])
        text, included, contents = self._call("read_c_file", self._path, self._directory, raw)
        self.sources += [(each, Path(each).read_bytes()) for each in included]
        self.made_by = "\n".join([contents, tools.version, *of_user])
        self._write("user.i", text.encode())
        try:
            self._tool([*user, "cpp-output", "-S", "user.i", "-o", "user.s"])
        except _Refused:
            # Once more for its messages: before the preprocessor every column is the user's.
            self._tool([*user, "c", "-S", "include/user/file.c", "-o", "user.s"])
            raise
        assembly = (self._place / "user.s").read_text(encoding="utf-8", errors="replace")
        self._call("check_c_file", self._path, assembly)
        linked = [*about["linked"], "user.s"]
        self._tool([*clang, "-DCC_CHECKED", "-fno-builtin", "-c", *linked])
        objects = [Path(each).with_suffix(".o").name for each in linked]
        self._tool([*tools.linker, *about["link_flags"], *objects, "-o", "user.wasm"])
        return (self._place / "user.wasm").read_bytes()

    def _tool(self, words: Sequence[str]) -> str:
        environment = {**os.environ, "LC_ALL": "C", "TMPDIR": str(self._place)}
        done = subprocess.run(
            words,
            cwd=self._place,
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            check=False,
            timeout=_MOST_S,
        )
        if done.returncode:
            raise _Refused(_decoded(done.stderr))
        return _decoded(done.stdout)


def _is_old(version: "re.Match[str] | None") -> bool:
    return version is not None and int(version[1]) < 16
