from _typeshed import SupportsGetItem
from os import PathLike
from pathlib import Path
from typing import Any, SupportsIndex, final

__all__ = ["Prepared", "Snapshot", "algorithms", "canonical", "configure", "connections", "connects_ns", "engine_version", "examples", "loss_changes", "rtts_ns", "run_many", "scenario_schema", "tables", "trace_mean_bps"]

@final
class Prepared:
    """
    A scenario that `run_many` takes. No file is read after `Snapshot.prepare` made it.
    """
    @property
    def algorithms(self, /) -> dict:
        """
        The code that runs: spec in the scenario → name, source, spec, values, fingerprint.
        """
    @property
    def json(self, /) -> str:
        """
        The scenario, canonical JSON. It is made when it is asked for: with many flows it is large.
        """

@final
class Snapshot:
    """
    The algorithms of one command: each C file is read and compiled once.
    """
    def __new__(cls, /, far: bool = False) -> Snapshot:
        """
        `far`: of another machine's files. It knows those that it takes, and reads no other.
        """
    def configure(self, /, spec: str, as_module: bool = False) -> dict:
        """
        Loads an algorithm by its spec, `name_or_path[@preset][:param=value,…]`: what `algorithms`
        tells of it, values and the shortest spec. `as_module`: of a file in the kernel's form that the
        simulator cannot run, what its text tells.

        Raises AckclockError.
        """
    def files(self, /) -> dict[str, tuple[str, list[tuple[Path, bytes]]]]:
        """
        The users' C files that it compiled: each path that leads to one, as it was written → its
        fingerprint, and path and text of the file and of all that it includes.
        """
    def kernel_module(self, /, spec: str) -> tuple[list[tuple[Path, bytes]], list[Path], str | None, list[tuple[str, str]]] | None:
        """
        What Linux compiles where the spec names a file in the kernel's form: path and text of the
        file and of those in quotation marks below it; which of them are C files beside a header;
        the name of the ops, or None: those registered first; parameters as they are written. Else
        None.

        Raises AckclockError.
        """
    def module(self, /, spec: str) -> tuple[list[tuple[Path, bytes]], list[tuple[str, str]], list[tuple[str, int]]]:
        """
        What a kernel module of an algorithm is compiled from: path and text of its file and of those
        that it includes, path below `algorithms/` and text of our headers, and its parameters as the
        file has them.

        Raises AckclockError.
        """
    def prepare(self, /, json: str) -> Prepared:
        """
        Checks a scenario (canonical JSON) and takes the code of its algorithms.

        Raises FieldError.
        """
    def take(self, /, path: str | PathLike[str], at: str | PathLike[str]) -> str:
        """
        Compiles the copy `at` of another machine's C file, and takes it for what specs call
        `path`. Returns its fingerprint.

        Raises AckclockError.
        """
    def validate(self, /, json: str) -> None:
        """
        Checks a scenario (canonical JSON), whichever host its algorithms run on.

        Raises FieldError.
        """

def algorithms() -> list[dict]:
    """
    The built-in algorithms: name, summary, source, head, fingerprint,
    params, presets.
    """

def canonical(json: str) -> str:
    """
    The canonical text of a scenario: its fields in their order. Does not check their ranges.

    Raises AckclockError if a field is unknown or missing.
    """

def configure(spec: str) -> dict:
    """
    Loads an algorithm by its spec, `name_or_path[@preset][:param=value,…]`:
    what `algorithms` tells of it, values and the shortest spec.

    Raises AckclockError.
    """

def connections(json: str) -> list[tuple[int, list[tuple[int, int | None]]]]:
    """
    Of each session of a scenario in canonical JSON: when its first pause begins, ns, and of each of its
    connections the pause before it, ns, and its bytes (None: without end).

    Raises AckclockError.
    """

def connects_ns(json: str) -> list[int]:
    """
    When each flow of a scenario (canonical JSON) connects, its random spread included, ns.

    Raises AckclockError.
    """

def engine_version() -> str:
    """
    Version of the engine and a hash of its sources; a part of every result's key.
    """

def examples() -> list[tuple[str, str]]:
    """
    The files of examples/: path below it, text.
    """

def loss_changes(json: str) -> list[list[tuple[int, int]]]:
    """
    Of each link of a scenario in canonical JSON, also the one of the other direction: when its
    probability of a loss changes before the end of the run, ns, and to how many parts in 10⁹.

    Raises AckclockError.
    """

def rtts_ns(json: str) -> list[int]:
    """
    The RTT of each flow of a scenario (canonical JSON), what it draws included, ns.

    Raises AckclockError.
    """

def run_many(scenarios: SupportsGetItem[int, Prepared], threads: SupportsIndex, progress: Any | None, on_result: Any, on_rows: Any | None = None, live: bool = False, pcapng: tuple[str | PathLike[str], str, SupportsIndex] | None = None, packets: bool = False) -> None:
    """
    Runs prepared scenarios on `threads` threads; 0: as many as there are cores.

    Calls `progress(fraction)` about ten times a second and
    `on_result(index, tables)` in the calling thread as each one finishes, in
    no particular order. With `on_rows`, a run does not keep all of its rows: it calls
    `on_rows(index, tables)` in its own thread whenever it has many, and waits. With `live`, it also
    calls it about ten times a second with the rows so far. An exception in any of them, or Ctrl-C,
    cancels the rest.

    `pcapng`: a file that takes the packets of the first scenario, the interfaces that it shows
    ("sender", "receiver", "both"), and how many bytes of each packet it keeps. With `packets`, the
    tables have one of the packets that senders sent and got.

    Raises AckclockError if a run ends without a result, or the file cannot be written.
    """

def scenario_schema() -> str:
    """
    The JSON Schema of a scenario's canonical form: what each field means, its range, its default.
    """

def tables() -> list[tuple[str, str, list[tuple[str, str, str, list[str]]]]]:
    """
    The tables of a run: name, what a row is, and of each column name, type ("u32", "u64" or
    "name"), meaning and the names that the codes of a "name" stand for.
    """

def trace_mean_bps(times_ms: SupportsGetItem[int, SupportsIndex]) -> int:
    """
    The mean rate of a link's trace, bit/s: of its opportunities, for full packets.
    """
