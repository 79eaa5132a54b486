"""What a sweep keeps of a run: metrics by name, and functions of the user's own."""

import functools
import hashlib
import importlib
import inspect
import math
import re
import sys
import traceback
from collections.abc import Callable, Mapping, Sequence
from contextlib import redirect_stdout, suppress
from dataclasses import dataclass
from itertools import compress
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

from ackclock.base import units
from ackclock.base.errors import AckclockError
from ackclock.results import measures, metrics
from ackclock.results.result import Result
from ackclock.scenario.scenario import Scenario
from ackclock.scenario.table import nearest
from ackclock.store.made_by import source_hash

#: What a run is in numbers: column → value. None: the run does not tell.
Row = dict[str, Any]
Function = Callable[[Result], Any]

#: Columns of every row, which no function may have.
OWN = ("key", "point", "seed", "packets", "trace_hash", "verdict")
#: What makes and keeps a row of our own metrics.
ROW_MADE_BY = ("hosts", "sweeps/metrics.py")
#: Column that may be None because the run ended too early → column with the time that it had.
CUT_OFF = {"convergence_time_s": "convergence_cut_off_s"}


def _forward_bps(result: Result) -> metrics.Array:
    return np.array([*compress(measures.goodputs_bps(result), measures.forward(result))])


def _total(column: str) -> Callable[[Result], int]:
    """Sum of a column over all flows and sessions."""
    return lambda result: sum(int(table[column].sum()) for table in (result.flows, result.sessions))


def _in_queues(column: str) -> Callable[[Result], int]:
    """Total of a column of `queues` over all queues, at the end."""

    def total(result: Result) -> int:
        queues = result.queues["queue"].unique()
        # Of each queue the last row has it all.
        return sum(measures.queue_columns(result, each, column)[0][-1] for each in queues)

    return total


def _quantile(values: metrics.Array, quantile: float) -> float:
    return float(np.quantile(values, quantile, method="higher")) if len(values) else math.nan


def _mean_queue(result: Result) -> float:
    (packets,) = measures.queue_columns(result, 1, "queue_packets")
    return float(packets.to_numpy().mean())


def _mean_delay(result: Result) -> float:
    return float(metrics.queue_delays_s(result).mean())


def _convergence(result: Result) -> Row:
    end_s = metrics.duration_s(result)
    return {
        "convergence_time_s": metrics.convergence_time_s(result),
        "convergence_cut_off_s": end_s - metrics.last_start_s(result),
    }


def _share(result: Result, flow: int) -> float:
    goodput_bps = metrics.goodput_bps(result)
    return float(goodput_bps[flow - 1] / (goodput_bps.sum() or math.nan))


#: Name → its function, and what it means. Needs: "flows", "samples" or "transfers".
METRICS: dict[str, tuple[Function, str, str]] = {
    "goodput_bps": (
        lambda result: float(_forward_bps(result).sum()),
        "payload that all forward flows carried in the common interval, bit/s",
        "flows",
    ),
    "utilisation": (metrics.utilisation, "share of the link's rate in use", "samples"),
    "jain_index": (
        lambda result: metrics.jain_index(_forward_bps(result)),
        "Jain's fairness index of the goodput of the forward flows",
        "flows",
    ),
    "convergence_time_s": (
        _convergence,
        (
            "time from the last start until the first window of 10 s begins in which each forward "
            "flow has 80 % of its fair share, s"
        ),
        "flows samples",
    ),
    "mean_queue_packets": (_mean_queue, "mean length of the first queue", "samples"),
    "mean_sojourn_s": (_mean_delay, "mean sojourn time in the first queue, s", "samples"),
    "p99_sojourn_s": (
        lambda result: _quantile(metrics.queue_delays_s(result), 0.99),
        "99th percentile of the sojourn time in the first queue, s",
        "samples",
    ),
    "retransmitted_packets": (
        _total("retransmitted_packets"),
        "retransmissions of all flows and sessions",
        "",
    ),
    "timeouts": (_total("timeouts"), "retransmission timeouts of all flows and sessions", ""),
    "dropped_packets": (_in_queues("dropped_packets"), "drops of all queues", "samples"),
    "marked_packets": (_in_queues("marked_packets"), "marks (ECN) of all queues", "samples"),
    "median_completion_s": (
        lambda result: _quantile(metrics.completion_s(result), 0.5),
        "median completion time of the transfers of sessions, s",
        "transfers",
    ),
    "p99_completion_s": (
        lambda result: _quantile(metrics.completion_s(result), 0.99),
        "99th percentile of the completion time of the transfers of sessions, s",
        "transfers",
    ),
}
#: The same of one flow; N stands for its number.
FLOW_METRICS: dict[str, tuple[Callable[[Result, int], Any], str, str]] = {
    "goodput_N_bps": (
        lambda result, flow: float(metrics.goodput_bps(result)[flow - 1]),
        "goodput of flow N in the common interval, bit/s",
        "flows",
    ),
    "share_N": (_share, "part of flow N in the goodput of all flows", "flows"),
    "mean_cwnd_N_packets": (
        lambda result, flow: metrics.mean_cwnd_packets(result).get(flow),
        "mean congestion window of flow N",
        "flows samples",
    ),
    "mean_rtt_N_s": (
        lambda result, flow: metrics.mean_rtt_s(result).get(flow),
        "mean smoothed RTT of flow N, s",
        "flows samples",
    ),
}


@dataclass(frozen=True)
class FileFunction:
    """A function of a Python file; pickled, it travels as the text of the file."""

    path: str
    text: str
    name: str

    def __call__(self, result: Result) -> Any:
        return self.function(result)

    @property
    def function(self) -> Function:
        """The function; raises `AckclockError` if the file has none of that name."""
        found = getattr(_module(self.path, self.text), self.name, None)
        return _callable(found, f"{self.path}:{self.name}")


@functools.cache
def _module(path: str, text: str) -> ModuleType:
    """A Python file as a module."""
    module = ModuleType(Path(path).stem)
    module.__file__ = path
    sys.path.insert(0, str(Path(path).parent))
    try:
        exec(compile(text, path, "exec"), module.__dict__)  # noqa: S102 (the user's own)
    except Exception as error:
        raise AckclockError(f"{path}: {_line(error, path)}; mend the file") from error
    finally:
        sys.path.remove(str(Path(path).parent))
    return module


def _line(error: BaseException, path: str) -> str:
    """What went wrong in a user's file, and where."""
    lines = [each.lineno for each in traceback.extract_tb(error.__traceback__)
             if each.filename == path]  # fmt: skip
    if isinstance(error, SyntaxError):
        lines = [error.lineno]
    at = f"line {lines[-1]}: " if lines else ""
    return f"{at}{type(error).__name__}: {' '.join(str(error).split())}"


@dataclass(frozen=True)
class Reducers:
    """A function of a `Result` that makes the row of a run."""

    #: Name → function, as the user wrote them.
    functions: Mapping[str, str | Function]

    @classmethod
    def parse(cls, wanted: Sequence[str | Function], directory: Path = Path()) -> "Reducers":
        """What the user wants: names of metrics, "module:function", "file.py:function", functions.

        Files are beside `directory`. Raises `AckclockError` that names what is unknown.
        """
        if isinstance(wanted, str) or not isinstance(wanted, Sequence) or not wanted:
            raise AckclockError('metrics: write a list, like ["utilisation", "jain_index"]')
        functions: dict[str, str | Function] = {}
        for each in wanted:
            name, function = _named(each, directory)
            if name in functions:
                raise AckclockError(f'metrics: "{name}" is given twice; keep one of the two')
            functions[name] = function
        return cls(functions)

    def __call__(self, result: Result) -> Row:
        """The row of a run."""
        row: Row = {
            "packets": result.manifest["packets"],
            "trace_hash": result.manifest["trace_hash"],
        }
        for name, function in self.functions.items():
            if isinstance(function, str):
                made = _metric(function)[0](result)
            else:
                made = _call(name, function, result)
            columns = made if isinstance(made, Mapping) else {name: made}
            for column, value in columns.items():
                if not isinstance(column, str):
                    raise AckclockError(f"{name}: column {column!r:.40}: name it with text")
                if column in row or column in OWN:
                    raise AckclockError(f"{name}: column {column} is there already; rename it")
                row[column] = _plain(name, column, value)
        return row

    def check(self, scenario: Scenario) -> None:
        """Raises `AckclockError` for a metric that the runs of a scenario do not have."""
        for name, function in self.functions.items():
            if isinstance(function, str):
                _check_metric(name, _metric(function)[2], scenario)

    def key(self) -> str:
        """Names what makes the rows: the functions, and our Python; all of it for a user's."""
        ours = all(isinstance(each, str) for each in self.functions.values())
        parts = [source_hash(*(ROW_MADE_BY if ours else ()))]
        for name, function in sorted(self.functions.items(), key=lambda pair: pair[0]):
            parts += [name, function if isinstance(function, str) else _code(name, function)]
        return hashlib.blake2b("\n".join(parts).encode(), digest_size=8).hexdigest()


def _named(wanted: str | Function, directory: Path) -> tuple[str, str | Function]:
    if not isinstance(wanted, str):
        return getattr(wanted, "__name__", type(wanted).__name__), _callable(wanted, repr(wanted))
    where, colon, name = wanted.rpartition(":")
    if not colon:
        _metric(wanted)
        return wanted, wanted
    if not where.endswith(".py"):
        return name, _imported(where, name, directory)
    path = directory / where
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "is not text in UTF-8"
        raise AckclockError(f'metrics: "{wanted}": {path}: {reason}') from None
    function = FileFunction(str(path.resolve()), text, name)
    _ = function.function
    return name, function


def _imported(module: str, name: str, directory: Path) -> Function:
    """A function of a module, which may be in the directory."""
    sys.path.insert(0, str(directory.resolve()))
    try:
        found = importlib.import_module(module)
    except ImportError as error:
        raise AckclockError(
            f'metrics: "{module}:{name}": {error}; write MODULE:FUNCTION or FILE.py:FUNCTION'
        ) from None
    finally:
        sys.path.remove(str(directory.resolve()))
    return _callable(getattr(found, name, None), f"{module}:{name}")


def _callable(found: Any, what: str) -> Function:
    if not callable(found):
        problem = "has no such function" if found is None else "is no function"
        raise AckclockError(f'metrics: "{what}": {problem}; write a function of a Result')
    return found  # type: ignore[no-any-return]


def _metric(name: str) -> tuple[Function, str, str]:
    """Function, meaning and needs of a metric; raises `AckclockError` for an unknown name."""
    if name in METRICS:
        return METRICS[name]
    flow = re.fullmatch(r"(.*_)([1-9]\d{0,5})((?:_.*)?)", name)
    if flow and (common := f"{flow[1]}N{flow[3]}") in FLOW_METRICS:
        function, meaning, needs = FLOW_METRICS[common]
        return lambda result: function(result, int(flow[2])), meaning, f"{needs} {flow[2]}"
    known = [*METRICS, *FLOW_METRICS]
    number = re.search(r"_(\d+)(?=_|$)", name)
    near = nearest(re.sub(r"_\d+(?=_|$)", "_N", name), known)
    # N stands for a number: that of the name, or of the first flow.
    meant = [re.sub(r"_N(?=_|$)", f"_{number[1] if number else 1}", each) for each in near[:1]]
    fix = f'did you mean "{meant[0]}"? Or' if meant else f"choose from {', '.join(known)}, or"
    raise AckclockError(f'metrics: "{name}": unknown; {fix} write FILE.py:FUNCTION')


def _check_metric(name: str, needs: str, scenario: Scenario) -> None:
    flows = sum(flow.count for flow in scenario.flows)
    for need in needs.split():
        match need:
            case "flows" if not flows:
                problem = "the scenario has no [[flow]]"
            case "samples" if not units.duration_ns(scenario.sample_interval):
                problem = f'sample_interval = "{scenario.sample_interval}" takes no samples'
            case "transfers" if all(each.size is None for each in scenario.sessions):
                problem = "the scenario has no [[session]] with a size"
            case _ if need.isdigit() and int(need) > flows:
                problem = f"there is no flow {need}; choose from 1 to {flows}"
            case _:
                continue
        raise AckclockError(f'metrics: "{name}": {problem}')


def _call(name: str, function: Function, result: Result) -> Any:
    try:
        with redirect_stdout(sys.stderr):  # standard output is the command's
            return function(result)
    except (Exception, SystemExit) as error:
        path = _file(function)
        at = f"{path}: " if path else ""
        raise AckclockError(f"metrics: {name}: {at}{_line(error, path)}") from error


def _file(function: Function) -> str:
    """The file of a function; of an object that can be called, the file of its class."""
    if isinstance(function, FileFunction):
        return function.path
    for each in (function, getattr(function, "func", function), type(function)):
        with suppress(TypeError, AttributeError, OSError):
            return inspect.getfile(each)
    return ""


def _plain(name: str, column: str, value: Any) -> Any:
    """A value that a table holds: NaN and infinity are None."""
    if isinstance(value, np.generic | np.ndarray) and np.ndim(value) == 0:
        value = value.item()
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    raise AckclockError(
        f"metrics: {name}: {column} = {value!r:.40} is no number; return a number, text or None, "
        "or a dict of them"
    )


def _code(name: str, function: Function) -> str:
    """What pins a user's function: the text of its file."""
    if isinstance(function, FileFunction):
        return function.text
    plain = inspect.isfunction(function) and not function.__closure__
    try:
        if plain and (path := inspect.getsourcefile(function)):
            place = f"{function.__qualname__} {function.__code__.co_firstlineno}"
            return f"{Path(path).read_text(encoding='utf-8')}\n{place}"
    except (OSError, TypeError):
        pass
    raise AckclockError(
        f"metrics: {name}: its code is not in a file, or uses variables of the function around it; "
        "write it as a function of a module, or keep no rows with cache=None"
    )
