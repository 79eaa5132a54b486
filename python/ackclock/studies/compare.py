"""One scenario in the simulator and on Linux (the kernel, or in virtual time), side by side.

Measures are of the second half of the runs, means over the repeats of each side.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

from ackclock.base.errors import AckclockError
from ackclock.draw import html, plot, responsive, style
from ackclock.hosts import linux
from ackclock.hosts.testbed import NoValidRunError
from ackclock.hosts.work import CACHE, run_all, whole
from ackclock.results import certificate, metrics
from ackclock.results.result import PAGE, Result, run
from ackclock.scenario import snapshot
from ackclock.scenario.scenario import Scenario
from ackclock.store.entries import MANIFEST, write_json

#: How far the simulator may be from the kernel: share of a rate, of a flow's share, of its cwnd.
BOUND_UTILISATION, BOUND_SHARE, BOUND_CWND = 0.03, 0.10, 0.10


@dataclass(frozen=True)
class Quantity:
    """What one quantity was in each run of all sides."""

    name: str
    simulated: Sequence[float]
    #: Side → its runs.
    measured: Mapping[str, Sequence[float]]
    digits: int
    #: Most distance of the means; None: it is not judged.
    bound: float | None = None
    #: The distance is a difference, of shares; otherwise it is relative to Linux.
    absolute: bool = False

    def distance(self, side: str) -> float:
        """Of the simulator's mean from that side's; NaN, relative to a mean of 0."""
        simulated, measured = float(np.mean(self.simulated)), float(np.mean(self.measured[side]))
        if self.absolute:
            return simulated - measured
        return simulated / measured - 1 if measured else math.nan

    def verdict(self, side: str) -> str:
        """Whether it is within its bound; empty if there is none, or nothing on either side.

        One run proves nothing: then it is empty, too. Beyond the bound it is open where the runs
        of both sides overlap: then repeats of one side are as far apart as the means.
        """
        simulated, measured = self.simulated, self.measured[side]
        one = min(len(simulated), len(measured)) == 1
        if one or self.bound is None or not any((*simulated, *measured)):
            return ""
        if abs(self.distance(side)) <= self.bound:
            return "holds"
        overlap = max(min(simulated), min(measured)) < min(max(simulated), max(measured))
        return "open" if overlap else "fails"


@dataclass(frozen=True)
class Comparison:
    """The runs of a scenario on all sides; the first of each is drawn."""

    scenario: Scenario
    simulated: Sequence[Result]
    #: "kernel" or "vlinux" → its runs.
    measured: Mapping[str, Sequence[Result]]
    #: Why a side has fewer runs than were asked for.
    missing: Sequence[str] = ()

    def measures(self) -> list[Quantity]:
        """Utilisation, each flow's share and mean cwnd, the mean queue.

        A flow that ended in the first half has a share and a mean cwnd of 0.
        """
        half_s = metrics.duration_s(self.simulated[0]) / 2
        end_s = 2 * half_s

        def both(of: Callable[[Result], float]) -> tuple[list[float], dict[str, list[float]]]:
            measured = {
                side: [of(each) for each in results] for side, results in self.measured.items()
            }
            return [of(each) for each in self.simulated], measured

        def share(number: int) -> Callable[[Result], float]:
            def of(result: Result) -> float:
                rates = metrics.throughput_bps(result, [half_s, end_s])[:, 0]
                return float(rates[number - 1] / (rates.sum() or 1))

            return of

        def cwnd(number: int) -> Callable[[Result], float]:
            return lambda result: metrics.mean_cwnd_packets(result, half_s).get(number, 0)

        def queue(result: Result) -> float:
            late = result.queues["time_us"] >= half_s * 1e6
            return float(result.queues.filter(late)["queue_packets"].to_numpy().mean())

        used = both(lambda result: metrics.utilisation(result, half_s, end_s))
        rows = [Quantity("utilisation", *used, 4, BOUND_UTILISATION, absolute=True)]
        flows = self.simulated[0].flows["flow"].to_list()
        for number in flows:
            name = f"flow {number}: " if len(flows) > 1 else ""
            if name:
                rows.append(Quantity(f"{name}share", *both(share(number)), 3, BOUND_SHARE))
            rows.append(Quantity(f"{name}mean cwnd, packets", *both(cwnd(number)), 1, BOUND_CWND))
        return [*rows, Quantity("mean queue, packets", *both(queue), 1)]

    def table(self) -> html.Table:
        """A row per measure: all sides with their ranges, the distances, the verdicts."""
        header = ["measure", "simulator"]
        for side in self.measured:
            header += [side, "distance", "bound", "verdict"]
        return html.Table(tuple(header), [_row(measure) for measure in self.measures()])

    def notes(self) -> list[str]:
        """What differs by the set-up, and what each kernel run says of itself."""
        lines: list[str] = []
        profile = self.simulated[0].resolved["profile"]
        for side, results in self.measured.items():
            ran = results[0].manifest["kernel"]
            lines.append(f"{side}: Linux {ran}; the simulator has the profile {profile}")
            lines += linux.host(side).differences(self.scenario)
            for number, result in enumerate(results, 1):
                if "certificate" in result.manifest:
                    said = certificate.shown(result.manifest["certificate"])
                    lines.append(f"{side} run {number}: {'; '.join(said)}")
            if min(len(results), len(self.simulated)) == 1:
                lines.append(f"{side}: one run proves nothing, so there is no verdict: --seeds 10")
        return [*lines, *self.missing]

    def figure(self) -> Figure:
        """Congestion windows, throughput and queue: the simulator left, Linux right."""
        sides = {"simulator": self.simulated, **self.measured}
        with style.applied():
            figure = Figure(figsize=(5 * len(sides), 7))
            panels = figure.subplots(3, len(sides), sharex=True, sharey="row")
            for column, (title, (result, *_)) in enumerate(sides.items()):
                plot.cwnd(panels[0, column], result)
                plot.throughput(panels[1, column], result)
                plot.queue(panels[2, column], result)
                panels[0, column].set_title(title)
                panels[2, column].set_xlabel("time (s)")
            for left, *others in panels:
                left.autoscale(axis="y")  # of all
                left.set_ylim(bottom=0)
                for other in others:
                    other.set_ylabel("")
            lines, labels = panels[0, 0].get_legend_handles_labels()
            shown = plot.MOST_LABELS
            figure.legend(lines[:shown], labels[:shown], loc="outside upper left", ncols=4)
        return figure

    def write(self, directory: Path) -> None:
        """Writes the page, its figure and a manifest."""
        figure = self.figure()
        plot.write(figure, directory, "compare")
        first = self.simulated[0].manifest
        beside = " and ".join(
            f"{len(results)} of {side} ({results[0].manifest['kernel']})"
            for side, results in self.measured.items()
        )
        lead = (
            f"Linux beside the simulator: second half of {self.scenario.duration}, "
            f"{len(self.simulated)} simulated runs, {beside}; the first of each is drawn."
        )
        sections = [
            html.Section("", picture=responsive.to_html(figure, "The first run of each.")),
            html.Section("Distances", table=self.table()),
            *(
                [html.Section("What to know about these runs", text="\n\n".join(said))]
                if (said := self.notes())
                else []
            ),
            html.Section("The scenario", code=self.scenario.to_toml()),
        ]
        page = html.page("Simulator and Linux", lead, sections, kind="compare")
        html.write_scripts(directory)
        (directory / PAGE).write_text(page, encoding="utf-8")
        runs = {
            side: [result.manifest for result in results]
            for side, results in {"sim": self.simulated, **self.measured}.items()
        }
        measures = [
            {
                "name": measure.name,
                "sim": list(measure.simulated),
                **{side: list(values) for side, values in measure.measured.items()},
                "distance": {
                    side: None if math.isnan(distance := measure.distance(side)) else distance
                    for side in measure.measured
                },
                "bound": measure.bound,
            }
            for measure in self.measures()
        ]
        manifest = {"ackclock": first["ackclock"], "measures": measures, "runs": runs}
        write_json(manifest, directory / MANIFEST)


def compare(
    scenario: Scenario,
    *,
    on: Sequence[str] = ("kernel",),
    repeats: int = 1,
    progress: Callable[[float], None] | None = None,
    on_invalid: Callable[[Result], None] | None = None,
) -> Comparison:
    """Runs a scenario in the simulator and `on` "kernel", "vlinux", `repeats` times each.

    Each repeat has a seed of its own. A kernel run that stays invalid is the last one there, and
    does not count; the comparison is of those before it, and of the other side.
    Raises `AckclockError` if one of the sides cannot, or there is no valid run on Linux.
    """
    if scenario.sample_interval in ("0s", "0ms", "0us", "0ns"):
        raise AckclockError(f'sample_interval = "{scenario.sample_interval}": sample, to compare')
    seeds = range(scenario.seed, scenario.seed + repeats)
    measured: dict[str, list[Result]] = {}
    missing = []

    def told(place: int, fraction: float) -> None:
        if progress is not None:
            progress((place + fraction) / len(on))

    with snapshot.held():
        each_simulated = [linux.like(scenario, on[0]).replace(seed=seed) for seed in seeds]
        each_measured = [scenario.replace(seed=seed) for seed in seeds]
        for place, side in enumerate(on):
            results: dict[int, Result] = {}
            part = partial(told, place)
            try:
                host = linux.host(side, on_invalid=on_invalid)
                if host.real_time:
                    host.run(each_measured, whole, results.__setitem__, part)
                else:  # they are always the same: kept where `reproduce --on vlinux` finds them
                    beside = CACHE / host.name
                    kept = run_all(each_measured, whole, cache=beside, executor=host, progress=part)
                    results.update(enumerate(kept))
            except NoValidRunError as error:
                missing.append(f"{side}: {len(results)} of {repeats} runs; then {error}")
            if results:
                measured[side] = [results[number] for number in sorted(results)]
        if not measured:
            raise NoValidRunError(missing[0])
        simulated = [run(each) for each in each_simulated]
    _check_same_code([*simulated, *(each for results in measured.values() for each in results)])
    return Comparison(scenario, simulated, measured, missing)


def _check_same_code(results: Sequence[Result]) -> None:
    """The kernel's side compiles for itself. Raises `AckclockError` if a file changed between."""
    ran: dict[str, str] = {}
    for result in results:
        for spec, code in result.manifest["algorithms"].items():
            fingerprint = code["fingerprint"]
            if ran.setdefault(spec, fingerprint) != fingerprint:
                raise AckclockError(
                    f"{code['source']}: the file changed during the comparison, and its runs are "
                    "of different code; run it again"
                )


def _row(quantity: Quantity) -> tuple[str, ...]:
    def side(values: Sequence[float]) -> str:
        mean = f"{np.mean(values):.{quantity.digits}f}"
        if len(values) == 1:
            return mean
        return f"{mean} ({min(values):.{quantity.digits}f}–{max(values):.{quantity.digits}f})"

    cells = [quantity.name, side(quantity.simulated)]
    bound = "" if quantity.bound is None else f"{100 * quantity.bound:.0f} %"
    for name, values in quantity.measured.items():
        distance = quantity.distance(name)
        far = f"{100 * distance:+.1f} {'points' if quantity.absolute else '%'}"
        cells += [side(values), "—" if math.isnan(distance) else far, bound, quantity.verdict(name)]
    return tuple(cells)
