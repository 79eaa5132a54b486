"""One look at each file for all that a command does.

A command reads and compiles a C file once, and reads the trace of a link once. The key of a result,
its manifest and the run itself come from that one reading, whatever happens to the file meanwhile.
"""

import functools
import hashlib
import json
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ackclock import _core
from ackclock.base.errors import AckclockError
from ackclock.base.kernel_part import kernel_part

if TYPE_CHECKING:
    from ackclock.scenario.timeline import Timeline

#: Spec → name, source, spec, values and fingerprint of the code that ran.
Algorithms = Mapping[str, Mapping[str, Any]]

#: Lines of a trace: its times are a part of the scenario.
MOST_LINES = 1_000_000
#: A longer file is not read: a line has a time of at most ten digits.
MOST_BYTES = 32 * MOST_LINES
#: The longest trace: 1000 hours, as the longest run.
MOST_MS = 3_600_000_000
#: A recorded link lasts longer, s.
SHORT_S = 1
#: Packets at one time in a shorter period are a fast link, as of mahimahi, ms.
LONG_MS = 10
#: Mean rate of a trace, bit/s: what a link may have.
LEAST_BPS, MOST_BPS = 1_000, 1_000_000_000_000
#: What to do with another kind of file.
IF_RATES = "; if these are rates, write them in a timeline, each with its time"
#: The directory of a C file in a spec, and its name.
_C_FILE = re.compile(r"^(?:[^@:]*/)?([^/@:]+\.c)(?=[@:]|$)")
#: Modules that make a result of what the engine hands over.
_RECORDERS = ("results/result.py", "results/tables.py")


class Held:
    """What was read: by the simulator's part and by the kernel's, each for itself.

    `far`: what another machine read, and nothing else. `contents`: of the files of links.
    """

    def __init__(self, *, far: bool = False, contents: Mapping[str, bytes] | None = None) -> None:
        self.far = far
        self.core = _core.Snapshot(far)
        self.contents = contents or {}
        self.traces: dict[str, list[int]] = {}
        self.timelines: dict[str, Timeline] = {}

    @functools.cached_property
    def kernel(self) -> Any:
        return kernel_part().Snapshot()


_held: ContextVar[Held | None] = ContextVar("held", default=None)


@contextmanager
def held(known: Held | None = None) -> Iterator[None]:
    """Within it, and within what it calls, each C file is read once: never, if it is `known`."""
    if _held.get() is not None and known is None:
        yield
        return
    token = _held.set(known or Held())
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
    #: Path of a link's trace → its times, ms.
    traces: Mapping[str, list[int]]
    #: Path of a link's timeline → what it says.
    timelines: "Mapping[str, Timeline]"


def seen() -> Seen:
    """What is held has read so far."""
    known = _held.get() or Held()
    return Seen(known.core.files(), known.traces, known.timelines)


def given(seen: Seen) -> Held:
    """A snapshot of what another machine has seen; `held` takes it.

    Raises `AckclockError` if a C file does not become the same code here.
    """
    import socket  # noqa: PLC0415 (slow to import)
    import tempfile  # noqa: PLC0415

    known = Held(far=True)
    known.traces.update(seen.traces)
    known.timelines.update(seen.timelines)
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
    return (_held.get() or Held()).core


def trace(path: str) -> list[int]:
    """The times in the file of a link's trace, ms, as of mahimahi.

    Raises `ValueError` that names line and fix.
    """
    known = _held.get() or Held()
    if path not in known.traces:
        known.traces[path] = _times_in(_content(path, known))
    return known.traces[path]


def timeline(path: str) -> "Timeline":
    """What the file of a link's timeline says; raises `ValueError` that names line and fix."""
    known = _held.get() or Held()
    if path not in known.timelines:
        content = _content(path, known)
        if len(content) > MOST_BYTES:
            raise ValueError(f"is longer than {MOST_BYTES} bytes; give it fewer rows")
        from ackclock.scenario import timeline as timelines  # noqa: PLC0415 (slow to import)

        known.timelines[path] = timelines.read(content)
    return known.timelines[path]


def _content(path: str, known: Held) -> bytes:
    if path in known.contents:
        return known.contents[path]
    if known.far:
        raise ValueError("did not come with the scenarios")
    try:
        with Path(path).open("rb") as file:
            return file.read(MOST_BYTES + 1)
    except OSError as error:
        raise ValueError(f"cannot be read ({error.strerror}); give another file") from None


def _lines_of(content: bytes) -> list[str]:
    if len(content) > MOST_BYTES:
        raise ValueError(
            f"is longer than {MOST_BYTES} bytes; give it at most {MOST_LINES} lines, a time in ms "
            "on each"
        )
    try:
        lines = content.decode("utf-8-sig").split("\n")
    except UnicodeDecodeError:
        raise ValueError("is not text; give a file with a time in ms on each line") from None
    if lines[-1] == "":
        lines.pop()
    if not 0 < len(lines) <= MOST_LINES:
        fix = f"give it from 1 to {MOST_LINES}, a time in ms on each"
        raise ValueError(f"has {len(lines)} lines; {fix}")
    return lines


def _times_in(content: bytes) -> list[int]:
    times: list[int] = []
    for number, line in enumerate(_lines_of(content), 1):
        text = line.strip()
        if not (text.isascii() and text.isdigit() and len(text) < 16):
            raise ValueError(
                f'line {number} is "{text:.20}"; write a whole number of ms from 0 on each line, '
                f"the time of a packet of 1500 bytes{IF_RATES}"
            )
        times.append(int(text))
        if times[-1] > MOST_MS:
            raise ValueError(f"line {number}, {text} ms, is later than {MOST_MS} ms; write less")
        if times[-1] < max(times[-2:]):
            raise ValueError(
                f"line {number}, {text} ms, is before the line above it; sort the times{IF_RATES}"
            )
    if times[-1] == 0:
        raise ValueError("the last time is the length of the trace; make it more than 0 ms")
    mean_bps = _core.trace_mean_bps(times)
    if not LEAST_BPS <= mean_bps <= MOST_BPS:
        raise ValueError(
            f"its mean rate is {mean_bps} bit/s, full packets by the last time; give a trace of "
            "1kbit to 1tbit"
        )
    _refuse_rates(times, mean_bps)
    return times


def _refuse_rates(times: list[int], mean_bps: int) -> None:
    """Refuses rates that happen to ascend.

    A trace counts from its start: the first packet comes after a gap like the others. Only a
    recording that began in an outage waits longer; and a recording lasts more than `SHORT_S`, and
    not half of it is such an outage. Rates that change little repeat one or two numbers.
    """
    each = sorted(set(times))
    if len(each) < 3 and len(times) > 10 * len(each) and each[0] >= LONG_MS:
        raise ValueError(
            f"its {len(times)} packets leave all at {' or '.join(map(str, each))} ms; "
            f"spread them over the time{IF_RATES}"
        )
    longest = max((after - before for before, after in pairwise(each)), default=0)
    is_short = each[-1] < SHORT_S * 1000 or 2 * each[0] > each[-1]
    if len(each) > 2 and is_short and each[0] > longest:
        raise ValueError(
            f"its times begin at {each[0]} ms, no gap in them is longer than {longest} ms, and "
            f"they end at {each[-1]} ms, with a mean of {mean_bps / 1e6:.4g} Mb/s: these are no "
            f"times of packets, in ms from the start of a recording; write them so{IF_RATES}"
        )


def of_kernel() -> Any:
    """The kernel part's own; raises `AckclockError` where that part is not built."""
    return (_held.get() or Held()).kernel


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
