"""Runs a scenario on this machine's own TCP stack; `docs/testbed.md` says how."""

import gzip
import os
import platform
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl

from ackclock.base.kernel_part import kernel_part
from ackclock.results import tables
from ackclock.results.result import Result, result_of, with_own
from ackclock.scenario import snapshot
from ackclock.scenario.scenario import Scenario

#: How often a run that kept time badly is repeated.
ATTEMPTS = 3


def run(
    scenario: Scenario,
    *,
    progress: Callable[[float], None] | None = None,
    attempts: int = ATTEMPTS,
    on_invalid: Callable[[Result], None] | None = None,
    on_acks: Callable[[pl.DataFrame], None] | None = None,
) -> Result:
    """Runs a scenario on the kernel, in real time; its tables are those of the simulator.

    A run whose certificate is not valid is handed to `on_invalid` and repeated, up to `attempts`
    runs in all; the last one is returned, valid or not (`manifest["certificate"]`).
    `on_acks` gets a row per ACK of the last run, as BPF saw it before TCP handled it (`acks` of
    docs/tables.md); `manifest["lost_acks"]` counts what is missing there.
    `progress` is called about ten times a second with the fraction done. Ctrl-C ends the run.
    Raises `AckclockError` if the scenario or the machine cannot, or the kernel part is not built.
    """
    run_on_kernel = kernel_part().run_on_kernel
    scenario.read_files()
    code, resolved = snapshot.of_kernel(), scenario.resolve()
    for attempt in range(1, attempts + 1):
        with scenario.in_its_words():
            raw = run_on_kernel(code, resolved, progress, on_acks is not None)
        ran = with_own(raw["algorithms"], {flow.algorithm for flow in scenario.flows})
        simulated = result_of(scenario, resolved, ran, raw)
        certificate = raw["certificate"]
        skipped = _skipped(simulated)
        if skipped:
            certificate["problems"].append(skipped)
            certificate["valid"] = False
        manifest = simulated.manifest | about_kernel()
        manifest |= {"attempt": attempt, "certificate": certificate}
        if "acks" in raw:
            manifest["lost_acks"] = raw["lost_acks"]
        result = replace(simulated, manifest=manifest)
        if certificate["valid"]:
            break
        if on_invalid is not None:
            on_invalid(result)
    if on_acks is not None:
        on_acks(tables.acks_frame(raw["acks"], raw["private_state"]))
    return result


def check(scenario: Scenario) -> None:
    """Looks whether the kernel takes it: it does all that `run` does before it touches the network.

    Raises `AckclockError` that names table, key, value and fix.
    """
    part = kernel_part()
    scenario.read_files()
    with scenario.in_its_words():
        part.check_on_kernel(snapshot.of_kernel(), scenario.resolve())


def about_kernel() -> dict[str, Any]:
    """What the manifest of a run on this kernel has in place of the simulator's."""
    release = {"kernel": platform.release(), "hz": hz()}
    return {"backend": "kernel", "key": None, "trace_hash": None} | release


def _skipped(result: Result) -> str:
    """Says so where the kernel did not run an algorithm's `ssthresh` and took what it found.

    That is known by a value beyond the largest, TCP_INFINITE_SSTHRESH.
    """
    beyond = result.events.filter(pl.col("ssthresh_packets") > tables.INFINITE_SSTHRESH)
    if beyond.is_empty():
        return ""
    first = beyond.row(0, named=True)
    return (
        f"flow {first['flow']} had ssthresh {first['ssthresh_packets']} at "
        f"{first['time_us'] / 1e6:.3f} s: the kernel skipped a BPF program (docs/testbed.md)"
    )


def profile(release: str | None = None) -> str:
    """The profile of a kernel, by its release (default: the running kernel's)."""
    major = re.match(r"\d+", release or platform.release())
    return "linux-7" if major and int(major[0]) >= 7 else "linux-6"


def hz() -> int | None:
    """Timer ticks per second of the running kernel; None if its configuration cannot be read."""
    packed, plain = Path("/proc/config.gz"), Path(f"/boot/config-{os.uname().release}")
    try:
        text = gzip.decompress(packed.read_bytes()).decode()
    except OSError:
        try:
            text = plain.read_text(encoding="utf-8")
        except OSError:
            return None
    found = re.search(r"^CONFIG_HZ=(\d+)$", text, re.MULTILINE)
    return int(found[1]) if found else None
