"""Algorithms in the same place on one link: what each gets there, and what others lose to it.

Each algorithm runs in all flows of a scenario: goodput, queue delay and loss. Then it runs in the
first `[[flow]]` table alone, beside the scenario's other flows, or beside one CUBIC flow where it
has none. They lose what they would get beside their like: their own algorithm in its place.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

import polars as pl
from matplotlib.figure import Figure

from ackclock import _core
from ackclock.base import units
from ackclock.base.errors import AckclockError
from ackclock.draw import html, plot, style
from ackclock.estimates.stats import Estimate, mean_ci
from ackclock.hosts.work import WORK, Work
from ackclock.questions.card import ALONE, HARM, with_harm
from ackclock.questions.rows import rows_of, store_of
from ackclock.results.summary import json_ready
from ackclock.scenario import snapshot
from ackclock.scenario.scenario import Flow, Scenario
from ackclock.scenario.settings import key_of
from ackclock.store.entries import MANIFEST, write_json, write_parquet

#: Repeats of each run.
SEEDS = 5
#: Who stands beside an algorithm where the scenario has no other flows.
OTHER = "cubic"
#: Column of a run → its name for people, without that of who loses, and its digits.
COLUMNS = {
    "goodput_mbps": ("goodput (Mb/s)", 1),
    "delay_mean_ms": ("queue delay (ms)", 1),
    "delay_p95_ms": ("p95 of it (ms)", 1),
    "loss_percent": ("loss (%)", 2),
    HARM: ("{} loses (%)", 0),
}


def algorithms(texts: Sequence[str]) -> list[str]:
    """The algorithms of "cubic,bbr:x=1,y=2" and the like, each once; "all": every built-in one."""
    found: list[str] = []
    for text in texts:
        parts: list[str] = []
        for part in text.split(","):
            if parts and ":" in parts[-1] and "=" in part and ":" not in part:
                parts[-1] += f",{part}"  # one more parameter
            else:
                parts.append(part.strip())
        for each in parts:
            found += [of["name"] for of in _core.algorithms()] if each == "all" else [each]
    if "" in found:
        raise AckclockError('--algorithm: a name is empty; write names, like "cubic,bbr", or all')
    return list(dict.fromkeys(found))


@dataclass(frozen=True)
class Table:
    """The runs of all algorithms."""

    scenario: Scenario
    #: Keys of the scenario that vary.
    axes: Sequence[str]
    #: Whose flows stand beside each.
    like: str
    #: A row per run: the axes, algorithm, seed, and `COLUMNS`.
    runs: pl.DataFrame

    def cells(self) -> list[dict[str, Any]]:
        """Of each algorithm the axes, and an `Estimate` of each number.

        Most goodput first; where it is the same, the shortest queue.
        """
        cells = [
            dict(zip([*self.axes, "algorithm"], values, strict=True))
            | {column: mean_ci(runs[column].to_list()) for column in COLUMNS}
            for values, runs in self.runs.group_by(*self.axes, "algorithm", maintain_order=True)
        ]
        places = list(dict.fromkeys(self.place(cell) for cell in cells))
        goodput = {id(cell): round(cell["goodput_mbps"].mean, 1) for cell in cells}
        return sorted(
            cells,
            key=lambda cell: (
                places.index(self.place(cell)),
                -goodput[id(cell)],
                cell["delay_mean_ms"].mean,
            ),
        )

    def place(self, cell: Mapping[str, Any]) -> str:
        """Where on the axes it is: "rtt = 30ms"."""
        return ", ".join(f"{axis} = {cell[axis]}" for axis in self.axes)

    def headers(self) -> list[str]:
        """Of `COLUMNS`."""
        return [name.format(self.like) for name, _ in COLUMNS.values()]

    def tables(self) -> dict[str, html.Table]:
        """By the place on the axes, a row per algorithm."""
        rows: dict[str, list[tuple[str, ...]]] = {}
        for cell in self.cells():
            numbers = (_shown(cell[key], digits) for key, (_, digits) in COLUMNS.items())
            rows.setdefault(self.place(cell), []).append((Path(cell["algorithm"]).name, *numbers))
        header = ("algorithm", *self.headers())
        return {place: html.Table(header, of) for place, of in rows.items()}

    def json(self) -> list[dict[str, Any]]:
        """The cells for programs."""
        return [json_ready(cell | {"beside": self.like}) for cell in self.cells()]

    def notes(self) -> list[str]:
        """What the numbers are."""
        seeds = self.runs["seed"].n_unique()
        return [
            f"{len(self.runs) * 2} runs of {self.scenario.duration}, {seeds} seeds"
            + (
                ": mean (95 % interval)" if seeds > 1 else ": one run proves nothing, add --seeds 5"
            ),
            "loss: what queues drop, of the packets sent; not a link's own random loss",
            f"what {self.like} loses: of its throughput beside {self.like}; below 0 it gains",
        ]

    def figure(self) -> Figure:
        """A panel per number, a line per algorithm: means with 95 % intervals."""
        cells = self.cells()
        places = list(dict.fromkeys(self.place(cell) for cell in cells))
        names = list(dict.fromkeys(cell["algorithm"] for cell in cells))
        with style.applied():
            figure = Figure(figsize=(11, 1.3 + (0.1 + 0.12 * len(places)) * len(names)))
            panels = figure.subplots(1, len(COLUMNS), sharey=True)
            for panel, column, header in zip(panels, COLUMNS, self.headers(), strict=True):
                for at, place in enumerate(places):
                    own = [cell for cell in cells if self.place(cell) == place]
                    shift = (at - (len(places) - 1) / 2) * 0.7 / len(places)
                    plot.error_bars(
                        panel,
                        [names.index(cell["algorithm"]) + shift for cell in own],
                        [cell[column] for cell in own],
                        across=True,
                        fmt="o",
                        color=style.FLOWS[at % len(style.FLOWS)],
                        label=place,
                    )
                panel.set_title(header.replace(" (", "\n("))
                panel.grid(axis="y", alpha=0.2)
                if column == HARM:
                    panel.axvline(0, color=style.INK, linewidth=0.5)
                else:
                    panel.set_xlim(left=0)
                panel.set_yticks(range(len(names)), [Path(name).name for name in names])
            panels[0].invert_yaxis()
            if self.axes:
                handles = panels[0].get_legend_handles_labels()
                figure.legend(*handles, loc="outside upper left", ncols=4)
        return figure

    def write(self, directory: Path) -> None:
        """Writes the picture, the runs, the scenario and a manifest."""
        plot.write(self.figure(), directory, "compare")
        write_parquet(self.runs, directory / "compare.parquet")
        (directory / "scenario.toml").write_text(self.scenario.to_toml(), encoding="utf-8")
        manifest = {"ackclock": _core.engine_version(), "algorithms": self.json()}
        write_json(manifest, directory / MANIFEST)


def on_link(
    scenario: Scenario,
    chosen: Sequence[str],
    settings: Sequence[str] = (),
    *,
    seeds: int = SEEDS,
    work: Work = WORK,
) -> Table:
    """Runs each algorithm on the link of a scenario, with seeds 1 to `seeds`; keeps the rows.

    `settings` are as of `Scenario.assign`; a key with several values is an axis. Raises
    `AckclockError` before the first run if one of the scenarios cannot be run.
    """
    by_key: dict[str, list[str]] = {}
    for each in settings:
        by_key.setdefault(key_of(each), []).append(each)
    axes = [key for key, values in by_key.items() if len(values) > 1]
    if not scenario.flows:
        raise AckclockError("the scenario has no [[flow]]: add one; it gets each algorithm")
    if not units.duration_ns(scenario.sample_interval):
        raise AckclockError(f'sample_interval = "{scenario.sample_interval}": sample, to compare')
    like = next((flow.algorithm for flow in scenario.flows[1:] if flow.stack != "udp"), OTHER)
    table: list[dict[str, Any]] = []
    runs: dict[str, Scenario] = {}

    def add(base: Scenario, name: str, at: Mapping[str, str]) -> None:
        own = base.replace(flows=[_with(flow, name) for flow in base.flows])
        for seed in range(1, seeds + 1):
            both = [of.replace(seed=seed) for of in (own, beside(base, name))]
            keys = [f"{of.key()}-{of.flows[0].count}" for of in both]  # as the scorecard's
            runs.update(zip(keys, both, strict=True))
            counts = [own.flows[0].count, sum(flow.count for flow in own.flows[1:])]
            table.append({**at, "algorithm": name, "seed": seed, "keys": keys, "counts": counts})

    with snapshot.held():
        for values in product(*by_key.values()):
            base = _spread(scenario.assign(*values))
            at = {key: value.partition("=")[2].strip()
                  for key, value in zip(by_key, values, strict=True) if key in axes}  # fmt: skip
            for name in dict.fromkeys([*chosen, like]):
                beside(base, name).check()
                add(base, name, at)
        found = rows_of(runs, store_of(work), work)
    rows = [_row(each, found) for each in table]
    alone = [row | {"algorithm": ALONE, "mine_mbps": row["others_mbps"]}
             for row in rows if row["algorithm"] == like]  # fmt: skip
    harmed = with_harm(pl.DataFrame(rows + alone, infer_schema_length=None), [*axes, "algorithm"])
    own = harmed.filter(pl.col("algorithm").is_in(list(chosen)))
    return Table(scenario, axes, like, own.select(*axes, "algorithm", "seed", *COLUMNS))


def beside(scenario: Scenario, name: str) -> Scenario:
    """The algorithm in the first table of flows, beside the others, or beside one CUBIC flow."""
    first, *others = scenario.flows
    if all(flow.stack == "udp" for flow in others):
        others = [_with(first, OTHER).replace(count=1), *others]
    return scenario.replace(flows=(_with(first, name), *others))


def _with(flow: Flow, name: str) -> Flow:
    return flow if flow.stack == "udp" else flow.replace(algorithm=name)


def _shown(of: Estimate, digits: int) -> str:
    ends = f" ({of.low:z.{digits}f} … {of.high:z.{digits}f})" if of.n > 1 else ""
    return f"{of.mean:z.{digits}f}{ends}"


def _spread(scenario: Scenario) -> Scenario:
    """Flows that start at once start within one RTT: else the first of them has an advantage."""
    return scenario.replace(
        flows=tuple(
            flow
            if "start_spread" in flow.given
            else flow.replace(start_spread=flow.rtt or scenario.rtt)
            for flow in scenario.flows
        )
    )


def _row(run: Mapping[str, Any], found: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """A run of an algorithm in all flows, with what others had beside it."""
    alone, together = (found[key] for key in run["keys"])
    mine, others = run["counts"]
    some = {key: value for key, value in run.items() if key not in ("keys", "counts")}
    return some | {
        "goodput_mbps": mine * alone["mine_mbps"] + others * (alone["others_mbps"] or 0),
        **{column: alone[column] for column in ("delay_mean_ms", "delay_p95_ms", "loss_percent")},
        "others_mbps": together["others_mbps"],
        "mine_mbps": None,
    }
