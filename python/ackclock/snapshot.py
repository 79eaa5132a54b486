"""One look at each C file for all that a command does.

A command reads and compiles a C file once. The key of a result, its manifest and the run itself
come from that one object code, whatever happens to the file meanwhile.
"""

import functools
import hashlib
import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import Any

from ackclock import _core
from ackclock.kernel_part import kernel_part

#: Spec → name, source, spec, values and fingerprint of the code that ran.
Algorithms = Mapping[str, Mapping[str, Any]]

#: Modules that make a result of what the engine hands over.
_RECORDERS = ("runs.py", "tables.py")


class _Held:
    """What was read: by the simulator's part and by the kernel's, each for itself."""

    def __init__(self) -> None:
        self.core = _core.Snapshot()

    @functools.cached_property
    def kernel(self) -> Any:
        return kernel_part().Snapshot()


_held: ContextVar[_Held | None] = ContextVar("held", default=None)


@contextmanager
def held() -> Iterator[None]:
    """Within it, and within what it calls, each C file is read once."""
    if _held.get() is not None:
        yield
        return
    token = _held.set(_Held())
    try:
        yield
    finally:
        _held.reset(token)


def current() -> _core.Snapshot:
    """The snapshot that is held, or a new one."""
    return (_held.get() or _Held()).core


def of_kernel() -> Any:
    """The kernel part's own; raises `AckclockError` where that part is not built."""
    return (_held.get() or _Held()).kernel


def key_of(resolved: str, algorithms: Algorithms, version: str | None = None) -> str:
    """Names a result: a hash of all that determines it.

    That is the canonical scenario, the code of its algorithms (with the compiler and its flags
    where a user's file was compiled) and the version of what runs it and records it, the
    simulator's engine unless told otherwise.
    """
    fingerprints = {spec: each["fingerprint"] for spec, each in algorithms.items()}
    version = _core.engine_version() if version is None else version
    parts = [resolved, json.dumps(fingerprints, sort_keys=True), version, _recorder()]
    return hashlib.blake2b("\n".join(parts).encode(), digest_size=16).hexdigest()


@functools.cache
def _recorder() -> str:
    digest = hashlib.blake2b(digest_size=16)
    for name in _RECORDERS:
        digest.update(Path(__file__).with_name(name).read_bytes())
    return digest.hexdigest()
