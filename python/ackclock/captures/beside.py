"""A capture beside a run of the scenario that it was read as; what other algorithms do there."""

import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

from ackclock.base.errors import AckclockError
from ackclock.captures.identify import identify
from ackclock.captures.path import Packets, read_path
from ackclock.captures.path import Path as Read
from ackclock.captures.record import SECOND_NS, Record, records
from ackclock.draw import html, plot, responsive, style
from ackclock.estimates.stats import mean_ci
from ackclock.questions.on_link import Table
from ackclock.results.pcapng import Pcapng
from ackclock.results.result import PAGE, run
from ackclock.scenario.scenario import Scenario

#: Parts of a capture whose rates are compared.
PARTS = 50
#: Connections with a smaller share of the data are left out.
LEAST = 0.01
#: So much longer than the capture a run may take until its data is there.
LONGER = 5
#: What stands for an algorithm that is none of ours.
OTHER = "cubic"


@dataclass
class Beside:
    """A capture, what was read of it, and the run of that."""

    capture: Path
    read: Read

    @cached_property
    def simulated(self) -> list[Record]:
        """What the senders of the run saw."""
        with tempfile.TemporaryDirectory() as directory:
            path = Path(directory) / "run.pcapng"
            run(self.read.scenario, pcapng=Pcapng(path))
            return records(path)

    @cached_property
    def rates_bps(self) -> list[np.ndarray]:
        """Data delivered in each of `PARTS`, of the capture and of the run."""
        return [
            np.diff([np.sum(each) for each in zip(*(_delivered(one, self.edges_s) for one in of),
                                                  strict=True)])
            * 8 / (self.edges_s[1] - self.edges_s[0])
            for of in (self.read.records, self.simulated)
        ]  # fmt: skip

    @cached_property
    def edges_s(self) -> np.ndarray:
        return np.linspace(0, float(self.read.scenario.duration.rstrip("s")), PARTS + 1)

    @cached_property
    def distance(self) -> float:
        """How far the run's rates are from the capture's: mean of the parts, of the mean rate."""
        captured, simulated = self.rates_bps
        return float(np.mean(np.abs(captured - simulated)) / max(float(captured.mean()), 1e-9))

    def said(self) -> str:
        """The distance in words, and that of goodput and of the median RTT."""
        captured, simulated = self.rates_bps
        rtts = [float(np.median(np.concatenate([Packets(each).rtts[:, 1] for each in of])))
                for of in (self.read.records, self.simulated)]  # fmt: skip
        return (
            f"distance {self.distance:.1%} of the rate, in {PARTS} parts; goodput "
            f"{captured.mean() / 1e6:.2f} Mb/s, simulated {simulated.mean() / 1e6:.2f}; median RTT "
            f"{rtts[0] * 1e3:.1f} ms, simulated {rtts[1] * 1e3:.1f}"
        )

    def figure(self) -> Figure:
        """Rate and RTT of both over time."""
        with style.applied():
            figure = Figure(figsize=(8, 5))
            above, below = figure.subplots(2, 1, sharex=True)
            middle_s = (self.edges_s[1:] + self.edges_s[:-1]) / 2
            sides = ("capture", self.read.records), ("simulation", self.simulated)
            for place, ((name, of), rates) in enumerate(zip(sides, self.rates_bps, strict=True)):
                look = {"color": style.FLOWS[place], "label": name, "linewidth": 1.2 - place / 3}
                above.plot(middle_s, rates / 1e6, **look)
                start_s = _start_s(of[0])
                for each in of:
                    rtts = Packets(each).rtts
                    below.plot(rtts[:, 0] - start_s, rtts[:, 1] * 1e3, ",", color=look["color"])
            above.set_ylabel("delivered (Mb/s)")
            below.set_ylabel("RTT (ms)")
            below.set_xlabel("time (s)")
            above.set_ylim(bottom=0)
            below.set_ylim(bottom=0)
            above.legend(loc="lower right")
        return figure

    def write(self, directory: Path, table: Table | None = None, facts: Sequence[str] = ()) -> None:
        """Writes the page, its picture and the scenario; `table`: what algorithms do there."""
        figure = self.figure()
        plot.write(figure, directory, "capture")
        told = [(each.key, str(each.value), each.sure, each.why) for each in self.read.told]
        sections = [html.Section("", picture=responsive.to_html(figure, self.said()))]
        if table is not None:
            table.write(directory)
            (cells,) = table.tables().values()
            sections += [
                html.Section("Algorithms on this path", table=cells,
                             text="\n\n".join([*facts, *table.notes()])),
                html.Section("In a picture", picture=responsive.to_html(table.figure(), "")),
            ]  # fmt: skip
        sections += [
            html.Section("What was read", table=html.Table(("key", "value", "", "from"), told),
                         text="\n\n".join(f"Not told: {each}" for each in self.read.unknown)),
            html.Section("The scenario", code=self.read.scenario.to_toml()),
        ]  # fmt: skip
        (directory / "scenario.toml").write_text(self.read.text(), encoding="utf-8")
        lead = f"The path of {self.capture.name}, as a scenario, and its run beside the capture."
        html.write_scripts(directory)
        page = html.page("From a capture", lead, sections, kind="capture")
        (directory / PAGE).write_text(page, encoding="utf-8")


def import_capture(
    capture: Path,
    algorithm: str | None = None,
    progress: Callable[[float], None] = lambda _: None,
) -> Beside:
    """Reads a capture as a scenario: the connections of the host that sent most.

    `algorithm`: what they run (default: what `identify` says, or CUBIC). Raises `AckclockError` if
    nothing can be read of it.
    """
    read = records(capture)
    if not read:
        raise AckclockError(f"{capture}: no TCP connection carried data; capture at its sender")
    most = max(read, key=lambda each: each.of.bytes)
    host = most.of.sender.rpartition(":")[0]
    of = [most, *(each for each in read if each is not most
                  and each.of.sender.rpartition(":")[0] == host
                  and each.of.bytes >= LEAST * most.of.bytes)]  # fmt: skip
    if most.of.is_at_receiver:
        raise AckclockError(f"{capture}: captured where the data arrives; capture at its sender")
    names, said = [], []
    for place, each in enumerate(of):
        progress(place / len(of))
        found = None if algorithm else identify(each)
        is_known = found is not None and found.verdict not in ("cannot tell", "none of these")
        names.append(found.ties[0] if found and is_known else algorithm or OTHER)
        if found and not is_known:
            said.append(
                f"the algorithm of {each.of.sender}: {found.verdict}; {OTHER} stands for it"
            )
    path = read_path(of, names)
    path.unknown += said
    if left := len(read) - len(of):
        path.unknown.append(
            f"{left} directions of other hosts, or with less than {LEAST:.0%} of the data"
        )
    return Beside(capture, path)


def completions(scenario: Scenario, chosen: Sequence[str], seeds: int) -> list[str]:
    """When the first flow is complete with each algorithm: a line with mean and 95 % interval."""
    first, *others = scenario.flows
    if first.size is None:
        return []
    longer = scenario.replace(duration=f"{LONGER * float(scenario.duration.rstrip('s')):.1f}s")
    lines = []
    for name in chosen:
        flows = [first.replace(algorithm=name), *others]
        runs = (run(longer.replace(flows=flows, seed=seed)) for seed in range(1, seeds + 1))
        ended = [each.flows["completed_us"][0] for each in runs]
        if None in ended:
            lines.append(f"{name}: its data is not there after {longer.duration}")
            continue
        of = mean_ci([each / 1e6 for each in ended])
        lines.append(f"{name}: complete after {of.mean:.2f} s ({of.low:.2f} … {of.high:.2f})")
    return lines


def _start_s(record: Record) -> float:
    return (record.established_ns - record.rtt_ns) / SECOND_NS


def _delivered(record: Record, edges_s: np.ndarray) -> np.ndarray:
    """Bytes that have arrived by these times."""
    delivered = Packets(record).delivered
    at = delivered[:, 0] - _start_s(record) if len(delivered) else delivered[:, 0]
    counts = np.append(0, delivered[:, 1])
    found: np.ndarray = counts[np.searchsorted(at, edges_s, side="right")] * record.mss
    return found
