from _typeshed import Incomplete, SupportsGetItem
from collections.abc import Mapping
from os import PathLike
from pathlib import Path
from typing import Any, Final, SupportsFloat, SupportsIndex, final

__all__ = ["HEADER_BYTES", "Prepared", "Snapshot", "Stepped", "Written", "algorithms", "any_quantity", "capacity_bits", "capacity_bps", "check_on_vlinux", "common_ns", "configure", "confine", "confinement", "connections", "connects_ns", "convergence_s", "delivered_bits", "engine_version", "examples", "follow", "frame_delays_s", "fuzz", "goodputs_bps", "headline", "installed_window", "is_equal", "is_unsafe", "jain_index", "keys", "lifetimes_bps", "loss_changes", "mark", "means", "numbers", "packet_script", "quantity_units", "read_quantity", "read_room", "read_toml", "rtts_ns", "run_many", "scenario_schema", "summary", "switches", "table", "tables", "utilisation", "write_quantity"]

HEADER_BYTES: Final[int]
"""
IP and TCP headers of a packet, with timestamps. The wire size is the payload plus the headers.
"""

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
    The files of one command: each C file is read and compiled once, and each file of a link read once.
    """
    def __new__(cls, /, contents: dict[str, SupportsGetItem[int, SupportsIndex]] | None = None) -> Snapshot:
        """
        `contents`: of the files that another machine's links name, by their paths. With them it knows
        the C files that it takes, and reads no other file.
        """
    def configure(self, /, spec: str, as_module: bool = False) -> dict:
        """
        Loads an algorithm by its spec, `name_or_path[@preset][:param=value,…]`: what `algorithms`
        tells of it, values and the shortest spec. `as_module`: of a file in the kernel's form that the
        simulator cannot run, what its text tells.

        Raises AckclockError.
        """
    def contents(self, /) -> dict[str, bytes]:
        """
        The contents of the files of links that were read so far, by their paths.
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
    def prepare(self, /, scenario: Written) -> Prepared:
        """
        Resolves a scenario and takes the code of its algorithms: what `run_many` takes.

        Raises AckclockError that names table, key, value and fix.
        """
    def read(self, /, scenario: Written, as_module: bool) -> dict[str, dict]:
        """
        Reads the files of a scenario: those of its links, and its algorithms' by their specs, as
        `configure` tells of them. `as_module`: as there.

        Raises AckclockError that names table, key, value and fix.
        """
    def take(self, /, path: str | PathLike[str], at: str | PathLike[str]) -> str:
        """
        Compiles the copy `at` of another machine's C file, and takes it for what specs call
        `path`. Returns its fingerprint.

        Raises AckclockError.
        """
    def trace(self, /, path: str) -> list[int]:
        """
        The times in the file of a link's trace, ms, as of mahimahi.

        Raises AckclockError that names line and fix.
        """
    def validate(self, /, json: str) -> None:
        """
        Checks a scenario (canonical JSON), whichever host its algorithms run on.

        Raises FieldError.
        """

@final
class Stepped:
    """
    A run whose caller sets the parameters of a flow's algorithm, step by step: `ackclock.gym`'s. A user's C
    file runs in a process of its own, as in `run_many`; other code in a thread.
    """
    def __new__(cls, /, prepared: Prepared, flow: SupportsIndex, names: SupportsGetItem[int, str], each_ack: bool) -> Stepped:
        """
        Begins a run. `flow`: from 1; `names`: those of the parameters that are set. A step ends at an ACK:
        at each, or at the first that comes a smoothed RTT after the last step.

        Raises AckclockError.
        """
    def set(self, /, values: SupportsGetItem[int, SupportsFloat | SupportsIndex]) -> None:
        """
        Sets the parameters, at the end of a step: the next begins.

        Raises AckclockError.
        """
    def wait(self, /) -> dict:
        """
        Waits for the end of a step; the first begins with the connection. Returns what the sender knows then
        or, at the end of the run, what `run_many` gives to `on_result`.

        Raises AckclockError.
        """

@final
class Written:
    """
    A scenario whose keys are allowed and fit together. It does not change.
    """
    def __new__(cls, /, fields: Mapping) -> Written:
        """
        Raises AckclockError, one line that names table, key, value and fix.
        """
    @property
    def fields(self, /) -> dict:
        """
        What is given, with one name and one form for each key.
        """
    def in_words(self, /, field: str, value: str, fix: str) -> str:
        """
        A refusal of a field of the canonical form: the key and the value as they are written.
        """
    def resolve(self, /, files: Snapshot) -> str:
        """
        The canonical JSON that the simulator reads: integers in ns and bytes, no defaults.

        Raises AckclockError if the file of a link cannot be used.
        """

def algorithms() -> list[dict]:
    """
    The built-in algorithms: name, summary, source, head, fingerprint,
    params, presets.
    """

def any_quantity(text: str) -> tuple[str, str, int]:
    """
    A quantity of any kind: the unit that ends the names of columns (s, bps, bytes, packets or bdp), the
    number as it is written, and the size of its unit, of a time in ns.

    Raises ValueError that says what to write.
    """

def capacity_bits(link: Incomplete, start_s: SupportsFloat | SupportsIndex, stop_s: SupportsFloat | SupportsIndex) -> float:
    """
    What a link of a canonical scenario can carry from one time to another, IP bits.
    """

def capacity_bps(resolved: Incomplete) -> float:
    """
    Payload that the bottleneck of a canonical scenario can carry, bit/s.
    """

def check_on_vlinux(json: str, series: str) -> None:
    """
    Refuses a scenario (canonical JSON) that Linux of a series ("6.12") in virtual time cannot run.

    Raises FieldError that names the first field.
    """

def common_ns(resolved: Incomplete, starts_us: SupportsGetItem[int, SupportsIndex]) -> tuple[int, int]:
    """
    The common interval of a scenario in canonical form, from ns to ns; `starts_us`: when each flow
    connects.
    """

def configure(spec: str) -> dict:
    """
    Loads an algorithm by its spec, `name_or_path[@preset][:param=value,…]`:
    what `algorithms` tells of it, values and the shortest spec.

    Raises AckclockError.
    """

def confine(directories: SupportsGetItem[int, str | PathLike[str]]) -> None:
    """
    Confines this process, its threads and whatever it starts, for good: it writes only below these
    directories, and to /dev/null, has no network and signals no process but its own (Landlock; signals
    from Linux 6.12 on), and makes no namespace, socket or mount, nor looks into other processes
    (seccomp), as far as this Linux can. The thread that calls must be the only one.
    """

def confinement() -> str:
    """
    What holds of the process in which a user's C file runs: "confined: …", or "not confined: …" and why.
    """

def connections(json: str) -> list[tuple[int, list[tuple[int, int | None, int]]]]:
    """
    Of each session of a scenario in canonical JSON: when its first pause begins, ns, and of each of its
    connections the pause before it, ns, its bytes (None: without end), and its RTT, ns.

    Raises AckclockError.
    """

def connects_ns(json: str) -> list[int]:
    """
    When each flow of a scenario (canonical JSON) connects, its random spread included, ns.

    Raises AckclockError.
    """

def convergence_s(result: Any, last_start_s: SupportsFloat | SupportsIndex, window_s: SupportsFloat | SupportsIndex, share: SupportsFloat | SupportsIndex) -> float | None:
    """
    Time from the last start until the forward flows share fairly, s; None: not by the end.
    """

def delivered_bits(result: Any, times_s: SupportsGetItem[int, SupportsFloat | SupportsIndex]) -> bytes:
    """
    Payload that flows have had delivered until some times, bits: numbers of 64 bits, flow by flow; NaN
    behind a flow's last sample.
    """

def engine_version() -> str:
    """
    Version of the engine and a hash of its sources; a part of every result's key.
    """

def examples() -> list[tuple[str, str]]:
    """
    The files of examples/: path below it, text.
    """

def follow(candidates: SupportsGetItem[int, tuple[str, Incomplete]], packets: bytes) -> list[bytes]:
    """
    What algorithms would have sent of a record, open loop: for each of them, and each of its packets,
    segments that it would have sent more from there on until the next packet (below 0: fewer before), its
    cwnd, and what is in flight, 32 bits each. `packets`: numbers of 64 bits: time, kind (0 new data, 1 sent
    again, 2 an ACK), segments from and to, time of the echo, three SACK blocks, flags (1 D-SACK, 2 ECE, 4
    another window).

    Raises AckclockError.
    """

def frame_delays_s(result: Any, flow: SupportsIndex, established_us: SupportsFloat | SupportsIndex | None, start_s: SupportsFloat | SupportsIndex, stop_s: SupportsFloat | SupportsIndex) -> list[float]:
    """
    Delays of the frames that a flow writes within some time, s.
    """

def fuzz(spec: str, connections: SupportsIndex, undefined: bool) -> str | None:
    """
    Lets so many drawn connections call the hooks of a C file as a kernel may, for 3 s at most. What is wrong
    with it, in one line; None: nothing. With `undefined` what C leaves so is found, too: another compile.

    Raises AckclockError.
    """

def goodputs_bps(result: Any) -> list[float]:
    """
    Payload sent and acknowledged in the common interval, of each flow, bit/s.
    """

def headline(rows: SupportsGetItem[int, tuple[str, bool, str | None]], first: str | None, equal: SupportsGetItem[int, str], failed: str | None) -> str:
    """
    A card in one line, by its rows: name, whether it is unsafe, and mark against the `first` of the others.
    `equal`: those that are so in every number; `failed`: the row in which the algorithm did.
    """

def installed_window(profile: str, mss: SupportsIndex) -> tuple[int, int] | None:
    """
    What ends the window of a Linux as installed, with segments of `mss` bytes: its `tcp_rmem[2]`, and the
    largest window, both bytes; None of a profile without its tuning.
    """

def is_equal(mine: Incomplete | None, other: Incomplete | None, difference: Incomplete | None) -> bool:
    """
    Whether two algorithms have the same number in each run, or the same bound.
    """

def is_unsafe(number: Incomplete, found: Incomplete | None) -> bool:
    """
    Whether all of an algorithm's interval is where a number is unsafe.
    """

def jain_index(shares: SupportsGetItem[int, SupportsFloat | SupportsIndex]) -> float:
    """
    Jain's index; NaN if all shares are 0.
    """

def keys() -> str:
    """
    The keys of each table, JSON: name, meaning, default, and what they take.
    """

def lifetimes_bps(result: Any) -> list[float]:
    """
    Payload acknowledged in order, from each flow's start to its end, bit/s.
    """

def loss_changes(json: str) -> list[list[tuple[int, int]]]:
    """
    Of each link of a scenario in canonical JSON, also the one of the other direction: when its
    probability of a loss changes before the end of the run, ns, and to how many parts in 10⁹.

    Raises AckclockError.
    """

def mark(differences: SupportsGetItem[int, tuple[Incomplete, Incomplete | None]]) -> str:
    """
    How an algorithm does against another, by a number and the paired difference in it, or by several.
    """

def means(result: Any, column: str, start_s: SupportsFloat | SupportsIndex, stop_s: SupportsFloat | SupportsIndex) -> dict[int, float]:
    """
    Mean of "cwnd_packets" or "srtt_us" over the regular samples of each flow in a window, until it
    completes. A flow without a sample has no entry.
    """

def numbers(result: Any, mine: SupportsIndex) -> list[tuple[str, float | None, bool]]:
    """
    What the scorecard measures of a run, whose first `mine` flows are those of the algorithm: name,
    value, and whether it is only known to be at least that.
    """

def packet_script(name: str, text: str) -> tuple[str, float | None]:
    """
    Runs a packet script (docs/packet-scripts.md) on the simulator: what it expects beside what was seen, and
    when these first differ, µs; None: never.

    Raises AckclockError of a script with a mistake.
    """

def quantity_units() -> list[tuple[str, list[tuple[str, int]]]]:
    """
    The units of each kind of quantity, and their sizes in ns, bit/s and bytes.
    """

def read_quantity(kind: str, text: str, mss: SupportsIndex = 1) -> int:
    """
    The number that a text with a unit stands for, in ns, bit/s or bytes: of a "Time", "Rate", "Size" or
    "Payload", that one with packets of `mss` bytes.

    Raises ValueError that says what to write.
    """

def read_room(text: str) -> tuple[str, str]:
    """
    Room of a queue: "bdp", "packets", "bytes" or "ns", and how many.

    Raises ValueError that says what to write.
    """

def read_toml(text: str) -> dict:
    """
    The fields in the text of a scenario file.

    Raises AckclockError if it is no TOML.
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
    `on_rows(index, tables)` whenever it has many, and waits. With `live`, it also
    calls it about ten times a second with the rows so far. An exception in any of them, or Ctrl-C,
    cancels the rest. On Linux the code of users' files runs in a process of its own, which can do
    nothing but compute (`confinement`).

    `pcapng`: a file that takes the packets of the first scenario, the interfaces that it shows
    ("sender", "receiver", "both"), and how many bytes of each packet it keeps. With `packets`, the
    tables have one of the packets that senders sent and got.

    Raises AckclockError if a run ends without a result, or the file cannot be written.
    """

def scenario_schema() -> str:
    """
    The JSON Schema of a scenario file: what people write, what each key means, its range, its default.
    """

def summary(result: Any, of_programs: bool) -> Incomplete:
    """
    What a run comes to: common interval, utilisation, Jain's index, flows and queues.
    """

def switches() -> list[tuple[str, str]]:
    """
    The keys of a flow that a switch of `net.ipv4` turns off, and the switches.
    """

def table(of: str, fields: Mapping) -> dict:
    """
    Checks a table that stands alone: `of` is its name. What is given, in one form for each key.

    Raises AckclockError, one line that names key, value and fix.
    """

def tables() -> list[tuple[str, str, list[tuple[str, str, str, list[str]]]]]:
    """
    The tables of a run: name, what a row is, and of each column name, type ("u32", "u64" or
    "name"), meaning and the names that the codes of a "name" stand for.
    """

def utilisation(result: Any, start_s: SupportsFloat | SupportsIndex, stop_s: SupportsFloat | SupportsIndex | None, queue: SupportsIndex | None) -> float:
    """
    Share of a link's rate in use from one time to another; NaN where samples are missing.
    """

def write_quantity(kind: str, number: SupportsIndex) -> str:
    """
    What people write for a number of ns, bit/s or bytes: `read_quantity` the other way.
    """
