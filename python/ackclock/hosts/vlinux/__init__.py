"""Runs scenarios on Linux in virtual time: its real TCP stack, exactly repeatable.

`docs/vlinux.md` says what it is, what it can run, and where it differs from a machine.
"""

import json
import tempfile
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl

from ackclock import _core
from ackclock.base.chosen import need_native
from ackclock.base.directory import collect, partial_directory
from ackclock.base.errors import AckclockError
from ackclock.hosts.programs import result as programs_result
from ackclock.hosts.vlinux import build, machine, modules, plan, programs, records
from ackclock.hosts.vlinux.sources import SERIES
from ackclock.results import tables
from ackclock.results.result import Result, result_of
from ackclock.scenario import snapshot
from ackclock.scenario.scenario import KERNEL, Scenario

__all__ = ["run"]

#: Real seconds that a virtual second may take, and that every run may.
SLOWEST, LEAST_LIMIT_S = 20.0, 120.0


def run(
    scenario: Scenario,
    *,
    progress: Callable[[float], None] | None = None,
    on_acks: Callable[[pl.DataFrame], None] | None = None,
    on_packets: Callable[[pl.DataFrame], None] | None = None,
    limit_s: float | None = None,
    built: build.Built | None = None,
) -> Result:
    """Runs a scenario in a virtual machine of one core; its tables are those of the simulator.

    `progress` is called with the fraction done; `on_acks` gets a row per ACK (`acks` of
    docs/tables.md), and `on_packets` one per packet of a sender. `limit_s`: real seconds
    after which the machine is ended (default: 20 per virtual second, at least 120). Ctrl-C ends it,
    too. `built`: the virtual Linux that runs it (default: Linux 6.12).
    Raises `AckclockError` if the scenario cannot run there, or the virtual Linux is not built.
    """
    resolved, canonical, built, loaded, planned = prepare(scenario, built=built)
    limit_s = limit_s or max(LEAST_LIMIT_S, SLOWEST * canonical["duration_ns"] / 1e9)
    temporary = Path(tempfile.gettempdir())
    collect(temporary)
    with partial_directory(temporary) as directory:
        packets = on_acks is not None or on_packets is not None
        _prepare(directory, built, loaded, planned, canonical, packets)
        aqms = [kind != "drop_tail" for kind in planned.queues]
        started = time.monotonic()
        base_ns = machine.boot(
            directory, built, loaded, canonical, _limited(directory, canonical, limit_s, progress)
        )
        wall_time_s = time.monotonic() - started
        frames = records.read(directory, scenario, base_ns, aqms)
        of_programs = _programs(directory, canonical, planned)
    if packets:
        seen = frames.get("packets", tables.frame("packets", {}))
        for told, of in ((on_acks, tables.acks_of), (on_packets, lambda table: table)):
            if told is not None:
                told(of(seen))
    raw: dict[str, Any] = frames | {
        "trace_hash": None,
        "packets": int(frames["flows"]["sent_packets"].sum()),
        "wall_time_s": wall_time_s,
    }
    if of_programs is None:
        result = result_of(scenario, resolved, loaded.algorithms, raw)
    else:
        recorder, begin, conversations, about = of_programs
        raw |= {"conversations": conversations, "algorithms": loaded.algorithms}
        like = {"rtt_ns": canonical["programs"][0]["rtt_ns"], "direction": "forward"}
        result = programs_result(scenario, resolved, raw, recorder, begin, about, like)
    key = snapshot.key_of(resolved, loaded.algorithms, build.version_of(built))
    return replace(result, manifest=result.manifest | machine.info(built) | {"key": key})


def _programs(
    directory: Path, canonical: dict[str, Any], planned: plan.Plan
) -> tuple[Any, ...] | None:
    """Of programs their connections, how those begin, what became of their data, and of them."""
    if planned.hosts is None:
        return None
    interval_us = canonical["sample_interval_ns"] // 1000
    recorder = programs.recorded(directory, interval_us, len(_flows(canonical)))
    begin = dict(zip(("forward", "reverse"), planned.hosts.algorithms, strict=True))
    about = {"programs": planned.hosts.told(directory)}
    return recorder, begin, planned.hosts.conversations(directory), about


class Prepared(NamedTuple):
    """A scenario as the virtual Linux takes it."""

    resolved: str
    canonical: dict[str, Any]
    built: build.Built
    loaded: modules.Loaded
    planned: plan.Plan


def prepare(scenario: Scenario, series: str = SERIES, built: build.Built | None = None) -> Prepared:
    """All that `run` does before the machine starts. Raises `AckclockError` as it does."""
    need_native("Linux in virtual time")
    resolved = check(scenario, series if built is None else built.series)
    canonical = json.loads(resolved)
    built = (built or build.find(series)).at(canonical["hz"])
    algorithms = [each["algorithm"] for each in _flows(canonical)]
    if given := canonical.get("programs", ()):
        algorithms += [programs.DEFAULT, *(each["algorithm"] or programs.DEFAULT for each in given)]
    loaded = modules.load(built, algorithms)
    return Prepared(
        resolved, canonical, built, loaded, plan.make(canonical, resolved, loaded.names)
    )


def check(scenario: Scenario, series: str = SERIES) -> str:
    """The canonical form of a scenario whose fields the virtual Linux takes, built or not.

    Raises `AckclockError` that names table, key, value and fix.
    """
    scenario.read_files(as_module=True)
    resolved = scenario.resolve()
    canonical = json.loads(resolved)
    with scenario.in_its_words():
        _core.check_on_vlinux(resolved, series)
    # The rest as the simulator, whichever algorithms run that Linux alone compiles, or has.
    flows, sessions, code = canonical["flows"], canonical["sessions"], snapshot.current()
    ours = {
        "flows": [_ours(code, each) for each in flows],
        "sessions": [each | {"flow": _ours(code, each["flow"])} for each in sessions],
    }
    with scenario.in_its_words():
        code.validate(json.dumps(canonical | ours))
    return resolved


def _ours(code: _core.Snapshot, flow: dict[str, Any]) -> dict[str, Any]:
    spec = flow["algorithm"]
    is_ours = not spec.startswith(KERNEL) and code.kernel_module(spec) is None
    return flow | ({} if is_ours else {"algorithm": "reno"})


def _flows(canonical: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Those of the sessions included."""
    return [*canonical["flows"], *(each["flow"] for each in canonical["sessions"])]


def _prepare(
    directory: Path,
    built: build.Built,
    loaded: modules.Loaded,
    planned: plan.Plan,
    canonical: Mapping[str, Any],
    packets: bool,
) -> None:
    """Fills the directory that the machine sees as /mnt."""
    sessions = len(canonical["sessions"])
    numbers = {"flows": len(_flows(canonical)), "sessions": sessions, "packets": int(packets)}
    if planned.hosts is not None:
        planned.hosts.put(directory)
        numbers["programs"] = 1
    machine.put_parts(directory, built, loaded, planned, canonical, **numbers)


def _limited(
    directory: Path,
    canonical: dict[str, Any],
    limit_s: float,
    progress: Callable[[float], None] | None,
) -> Callable[[], None]:
    """Ends a run that takes too long, and tells how far it is."""
    end = time.monotonic() + limit_s

    def look() -> None:
        if progress is not None:
            progress(_done_ns(directory) / canonical["duration_ns"])
        if time.monotonic() > end:
            raise AckclockError(
                f"the virtual machine took more than {limit_s:.0f} s and was ended at "
                f"{_done_ns(directory) / 1e9:.1f} s of {canonical['duration_ns'] / 1e9:g} s"
                + machine.asks("does not return", canonical)
            )

    return look


def _done_ns(directory: Path) -> int:
    """How far it has come."""
    return int((records.text_of(directory / "progress").split() or ["0"])[-1])
