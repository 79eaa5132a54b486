"""Programs on virtual Linux with other algorithms, keys or kernels: a sweep on each kernel."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import polars as pl

from ackclock import _core
from ackclock.base.errors import AckclockError
from ackclock.hosts import linux
from ackclock.hosts.work import WORK, Work
from ackclock.results import metrics
from ackclock.results.result import Result
from ackclock.scenario import snapshot
from ackclock.scenario.scenario import Scenario
from ackclock.scenario.settings import key_of, value_of
from ackclock.store.entries import MANIFEST, write_json, write_parquet
from ackclock.sweeps.metrics import Reducers
from ackclock.sweeps.sweep import Sweep


def outcome(result: Result) -> dict[str, Any]:
    """What the programs of a run came to.

    `end_s`: when the last of the client's ended; None if one failed or still ran, and those with a
    `stop` do not count. The delay is that of the queue where its mean is longest, until then.
    """
    given, told = result.scenario.programs, result.manifest["programs"]
    ends: list[Any] = [
        of["end_s"] if of["status"] == 0 else None
        for own, of in zip(given, told, strict=True)
        if own.side == "client" and own.stop is None
    ]
    end_s = None if None in ends else max(ends, default=None)
    queues = result.queues.group_by("queue").agg(pl.col("dropped_packets").max())
    delays_s = (metrics.queue_delays_s(result, each, 0, end_s).mean() for each in queues["queue"])
    own = result.flows[sum(flow.count for flow in result.scenario.flows) :]
    datagrams = sum(each["arrived_bytes"] for each in result.manifest["udp"])
    return {
        "end_s": end_s,
        "carried_bytes": int(own["delivered_bytes"].sum()) + datagrams,
        "retransmitted_packets": int(own["retransmitted_packets"].sum()),
        "queue_delay_s": float(max(delays_s)),
        "dropped_packets": int(queues["dropped_packets"].sum()),
    }


@dataclass(frozen=True)
class Compared:
    """The sweep on each virtual Linux, and its rows."""

    scenario: Scenario
    #: "vlinux" and the like →
    sides: Mapping[str, tuple[Sweep, pl.DataFrame]]

    def write(self, directory: Path) -> None:
        """Writes the runs, the scenario and a manifest."""
        runs = [of.with_columns(pl.lit(side).alias("on")) for side, (_, of) in self.sides.items()]
        write_parquet(pl.concat(runs, how="vertical_relaxed"), directory / "compare.parquet")
        (directory / "scenario.toml").write_text(self.scenario.to_toml(), encoding="utf-8")
        write_json({"ackclock": _core.engine_version()}, directory / MANIFEST)


def compare(
    scenario: Scenario,
    on: Sequence[str],
    algorithms: Sequence[str] = (),
    settings: Sequence[str] = (),
    *,
    seeds: int = 1,
    jobs: int = 0,
    work: Work = WORK,
) -> Compared:
    """Runs the programs with each algorithm, and each value of keys with several, on each Linux.

    `settings` are as of `Scenario.assign`. Raises `AckclockError` before the first run if one of
    the scenarios cannot run there, or there is nothing to compare.
    """
    if not on:
        raise AckclockError("only Linux runs programs; add --on vlinux")
    axes: dict[str, list[Any]] = {}
    for each in settings:
        axes.setdefault(key_of(each), []).append(value_of(each.partition("=")[2].strip()))
    if algorithms:
        axes["program.algorithm"] = [*algorithms]
    sides = dict.fromkeys(on)
    if len(sides) == 1 and all(len(values) < 2 for values in axes.values()):
        raise AckclockError(
            "one case is nothing to compare; add --algorithm kernel:cubic,kernel:bbr, a --set of "
            "the same key with another value, or another --on"
        )
    found = {}
    with snapshot.held():
        for side in sides:
            sweep = Sweep(
                scenario,
                axes or {"duration": [scenario.duration]},
                metrics=Reducers({"outcome": outcome}),
                seeds=seeds,
            )
            own = replace(work, executor=linux.host(side, jobs))
            found[side] = sweep, sweep.run(sweep.check(own), own)
    return Compared(scenario, found)
