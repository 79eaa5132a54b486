"""One look at each file for all that a command does.

A command reads and compiles a C file once, reads the trace of a link once, and resolves a scenario
once. The key of a result, its manifest and the run itself come from that, whatever happens to the
file meanwhile.
"""

import functools
import hashlib
import json
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ackclock import _core
from ackclock.base.errors import AckclockError
from ackclock.base.kernel_part import kernel_part

#: Spec → name, source, spec, values and fingerprint of the code that ran.
Algorithms = Mapping[str, Mapping[str, Any]]

#: The directory of a C file in a spec, and its name.
_C_FILE = re.compile(r"^(?:[^@:]*/)?([^/@:]+\.c)(?=[@:]|$)")
#: Modules that make a result of what the engine hands over.
_RECORDERS = ("results/result.py", "results/tables.py")
#: Scenarios that are prepared at a time, more than the papers have: some 40 MB of them.
PREPARED = 4000


class Snapshots:
    """What was read: by the simulator's part and by the kernel's, each for itself.

    `contents`: of the files of links that came with another's scenario; then no other is read.
    """

    def __init__(self, contents: Mapping[str, bytes] | None = None) -> None:
        self.core = _core.Snapshot(None if contents is None else dict(contents))
        #: Resolves a scenario for the simulator, and names it, once for its key and its run.
        self.prepare = functools.lru_cache(PREPARED)(self.core.prepare)
        self.named = functools.lru_cache(PREPARED)(_named)

    @functools.cached_property
    def kernel(self) -> Any:
        return kernel_part().Snapshot()


_held: ContextVar[Snapshots | None] = ContextVar("held", default=None)


@contextmanager
def held(known: Snapshots | None = None) -> Iterator[None]:
    """Within it, and within what it calls, each C file is read once: never, if it is `known`."""
    if _held.get() is not None and known is None:
        yield
        return
    token = _held.set(known or Snapshots())
    try:
        yield
    finally:
        _held.reset(token)


@dataclass(frozen=True)
class Seen:
    """The files that a snapshot has read, for another machine."""

    #: Path of a C file, as it was written → its fingerprint, and path and text of it and of what
    #: it includes.
    files: Mapping[str, tuple[str, list[tuple[Path, bytes]]]]
    #: Path of a link's trace or timeline → its content.
    contents: Mapping[str, bytes]


def seen() -> Seen:
    """What is held has read so far."""
    core = current()
    return Seen(core.files(), core.contents())


def given(seen: Seen) -> Snapshots:
    """A snapshot of what another machine has seen; `held` takes it.

    Raises `AckclockError` if a C file does not become the same code here.
    """
    import socket  # noqa: PLC0415 (slow to import)
    import tempfile  # noqa: PLC0415

    known = Snapshots(seen.contents)
    with tempfile.TemporaryDirectory(prefix="ackclock-") as root:
        for path, (fingerprint, sources) in seen.files.items():
            copies = [Path(root) / str(each).lstrip("/") for each, _ in sources]
            for copy, (_, text) in zip(copies, sources, strict=True):
                copy.parent.mkdir(parents=True, exist_ok=True)
                copy.write_bytes(text)
            if known.core.take(path, copies[0]) != fingerprint:
                raise AckclockError(
                    f"{path}: {socket.gethostname()} has another C compiler, or other C headers, "
                    "than the machine that sent the file; install the same, or set CC to it"
                )
    return known


def current() -> _core.Snapshot:
    """The snapshot that is held, or a new one."""
    return (_held.get() or Snapshots()).core


def prepare(scenario: _core.Written) -> _core.Prepared:
    """A scenario as the simulator takes it."""
    return (_held.get() or Snapshots()).prepare(scenario)


def named(prepared: _core.Prepared) -> tuple[str, Algorithms]:
    """The key of its result, and the code that runs."""
    return (_held.get() or Snapshots()).named(prepared)


def _named(prepared: _core.Prepared) -> tuple[str, Algorithms]:
    algorithms = prepared.algorithms
    return key_of(prepared.json, algorithms), algorithms


def of_kernel() -> Any:
    """The kernel part's own; raises `AckclockError` where that part is not built."""
    return (_held.get() or Snapshots()).kernel


def key_of(resolved: str, algorithms: Algorithms, version: str | None = None) -> str:
    """Names a result: a hash of all that determines it.

    That is the canonical scenario, the code of its algorithms (with the compiler and its flags
    where a user's file was compiled) and the version of what runs it and records it, the
    simulator's engine unless told otherwise. Of a C file the name counts, not how its path was
    typed.
    """
    fingerprints = {spec: each["fingerprint"] for spec, each in algorithms.items()}
    named = {spec: _C_FILE.sub(r"\1", spec, count=1) for spec in fingerprints}
    code = {(named[spec], fingerprint) for spec, fingerprint in fingerprints.items()}
    if len(code) == len({*named.values()}):  # else two files have one name
        for spec in fingerprints:
            written, name = (json.dumps(each, ensure_ascii=False) for each in (spec, named[spec]))
            resolved = resolved.replace(written, name)
        fingerprints = dict(code)
    version = _core.engine_version() if version is None else version
    parts = [resolved, json.dumps(fingerprints, sort_keys=True), version, _recorder()]
    return hashlib.blake2b("\n".join(parts).encode(), digest_size=16).hexdigest()


@functools.cache
def _recorder() -> str:
    digest = hashlib.blake2b(digest_size=16)
    for name in _RECORDERS:
        digest.update(Path(__file__).parents[1].joinpath(name).read_bytes())
    return digest.hexdigest()
