"""The simulator beside the real Linux stack, on the scenarios of `tests/reference`.

`python scripts/linux_reference.py DIRECTORY` writes linux/traces.csv, linux/several.csv, a picture,
and the page linux.md.
"""

import sys
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl
from matplotlib.figure import Figure

import ackclock
import linux_page
from ackclock.draw import style
from ackclock.results import metrics

DIRECTORY = Path(__file__).parent.parent / "tests" / "reference"
RECOVERY = 3


@dataclass(frozen=True)
class Trace:
    """One side of a comparison: regular samples of every flow, and the queue."""

    samples: pl.DataFrame
    queues: pl.DataFrame
    duration_s: float

    def flow(self, number: int) -> pl.DataFrame:
        return self.samples.filter(pl.col("flow") == number).sort("time_us")

    def second_half(self, number: int) -> pl.DataFrame:
        return self.flow(number).filter(pl.col("time_us") >= self.duration_s / 2 * 1e6)

    @property
    def flows(self) -> list[int]:
        return sorted(self.samples["flow"].unique())

    def throughput_pps(self, number: int) -> float:
        """Packets delivered per second of the second half."""
        half = self.second_half(number)
        packets = half["delivered_packets"][-1] - half["delivered_packets"][0]
        return packets / (half["time_us"][-1] - half["time_us"][0]) * 1e6

    def utilisation(self, rate_bps: float) -> float:
        return sum(map(self.throughput_pps, self.flows)) * 1500 * 8 / rate_bps

    def mean_cwnd_packets(self, number: int) -> float:
        return self.second_half(number).select(pl.col("cwnd_packets").mean()).item()

    def mean_queue_packets(self) -> float:
        half = self.queues.filter(pl.col("time_us") >= self.duration_s / 2 * 1e6)
        return half.select(pl.col("queue_packets").mean()).item()

    def retransmissions(self, number: int) -> int:
        return int(self.flow(number)["retransmitted_packets"][-1])

    def recoveries_s(self, number: int) -> np.ndarray:
        """When a sample first shows a recovery."""
        samples = self.flow(number)
        recovering = (samples["state"] == RECOVERY).to_numpy().astype(int)
        return samples["time_us"].to_numpy()[1:][np.diff(recovering) == 1] / 1e6

    def mean_epoch_s(self, number: int) -> float:
        """Mean time between recoveries, from the third on: slow start is over."""
        return float(np.diff(self.recoveries_s(number)[2:]).mean())

    def convergence_s(self, start_s: float, rate_bps: float) -> float | None:
        """End of the first of the 10-s windows after the last start that all share by 80 %."""
        fair_pps = rate_bps / 1500 / 8 / len(self.flows)
        times_s = np.arange(start_s, self.duration_s - 10, 10.0)
        fair = np.ones(len(times_s), dtype=bool)
        for number in self.flows:
            samples = self.flow(number)
            edges_us = np.stack([times_s, times_s + 10]) * 1e6
            low, high = np.interp(
                edges_us, samples["time_us"], samples["delivered_packets"], left=0
            )
            fair &= high - low >= 0.8 * fair_pps * 10
        return float(times_s[fair.argmax()] + 10 - start_s) if fair.any() else None


def scenario(name: str) -> ackclock.Scenario:
    return ackclock.Scenario.from_toml(DIRECTORY / f"{name}.toml")


def linux(name: str) -> Trace:
    return Trace(
        pl.read_parquet(DIRECTORY / f"{name}.samples.parquet").with_columns(
            pl.col("state").cast(pl.Int64)
        ),
        pl.read_parquet(DIRECTORY / f"{name}.queues.parquet"),
        duration_s_of(scenario(name)),
    )


def duration_s_of(of: ackclock.Scenario) -> float:
    return ackclock.units.duration_ns(of.duration) / 1e9


def simulated(of: ackclock.Scenario) -> Trace:
    result = ackclock.run(of)
    states = {"open": 0, "disorder": 1, "cwr": 2, "recovery": 3, "loss": 4}
    samples = metrics.regular_samples(result).with_columns(
        pl.col("state").cast(pl.String).replace_strict(states, return_dtype=pl.Int64)
    )
    return Trace(samples, result.queues, metrics.duration_s(result))


def spread(of: ackclock.Scenario, seeds: Iterable[int]) -> list[Trace]:
    """The same with other seeds, hosts with the usual jitter, and starts apart by up to 100 ms."""
    flows = tuple(flow.replace(start_spread="100ms") for flow in of.flows)
    runs = [of.replace(flow=flows, jitter="20us", seed=seed) for seed in seeds]
    return [simulated(run) for run in runs]


def picture(name: str) -> Figure:
    """Cwnd of each flow and the queue, Linux and ours."""
    ours, theirs = simulated(scenario(name)), linux(name)
    with style.applied():
        figure = Figure(figsize=(8, 2 * (len(ours.flows) + 1)))
        panels = figure.subplots(len(ours.flows) + 1, 1, sharex=True)
        for trace, label, look in (
            (theirs, "Linux 6.12", {"color": "#999999", "linewidth": 3}),
            (ours, "ackclock", {"color": "#0072B2", "linewidth": 1}),
        ):
            for panel, number in zip(panels, ours.flows, strict=False):
                samples = trace.flow(number)
                panel.plot(samples["time_us"] / 1e6, samples["cwnd_packets"], label=label, **look)
                panel.set_ylabel(f"cwnd of flow {number}\n(packets)")
                panel.set_ylim(0, 1.05 * theirs.samples.select(pl.col("cwnd_packets").max()).item())
            queues = trace.queues
            panels[-1].plot(queues["time_us"] / 1e6, queues["queue_packets"], **look)
        panels[-1].set_ylabel("queue (packets)")
        panels[-1].set_xlabel("time (s)")
        panels[0].set_title(name)
        panels[0].legend(loc="lower right", ncols=2)
    return figure


def measures(name: str) -> list[tuple[str, float, float]]:
    """Measure, Linux, ours; of a run of one flow."""
    of = scenario(name)
    rate_bps = ackclock.units.rate_bps(str(of.bottleneck.rate))
    both = linux(name), simulated(of)
    found: list[tuple[str, list[float]]] = [
        ("retransmissions", [each.retransmissions(1) for each in both]),
        ("utilisation", [each.utilisation(rate_bps) for each in both]),
        ("mean cwnd (packets)", [each.mean_cwnd_packets(1) for each in both]),
        ("mean queue (packets)", [each.mean_queue_packets() for each in both]),
    ]
    if len(both[0].recoveries_s(1)) > 4:
        found.append(("mean epoch (s)", [each.mean_epoch_s(1) for each in both]))
    return [(measure, theirs, own) for measure, (theirs, own) in found]


def path(name: str) -> str:
    """Rate and RTTs in words."""
    of = scenario(name)
    rtts = dict.fromkeys(str(flow.rtt).removesuffix("ms") for flow in of.flows)
    return f"{str(of.bottleneck.rate).removesuffix('mbit')} Mb/s, {' and '.join(rtts)} ms"


SINGLE = (
    "L5_reno",
    "L5_cubic",
    "L5_bic",
    "L5_htcp",
    "L5_vegas",
    "L5_westwood",
    "R_eager_cubic_100_100",
    "S_small_reno_20_20",
    "S_small_htcp_20_20",
    "S_small_yeah_20_20",
    "S_small_cubic_10_10",
    "S_small_scalable_10_10",
    "S_small_westwood_10_10",
)
#: What Linux gave over several start times, measured with the traces.
BANDS = {
    "L1_cubic_10": "convergence 50–60 s, ratio 0.93–0.97",
    "L2_cubic_250": "convergence 120–140 s, ratio 1.01–1.02",
    "L6_rtt162_40": "convergence 50 s … never in 300 s, ratio 0.54–0.75",
    "R_eager_cubic_reno_100_8": "ratio 1.26–1.51",
    "L7_4cubic_4reno": "CUBIC 63–70 Mb/s a flow, Reno 30–37",
}
SEEDS = range(1, 21)
#: The run that is drawn.
PICTURE = "L5_cubic"


def band(name: str) -> str:
    """What ours gives over 20 seeds: the mean, the least and the most."""
    of = scenario(name)
    rate_bps = ackclock.units.rate_bps(str(of.bottleneck.rate))
    traces = spread(of, SEEDS)

    def form(values: Iterable[float], digits: int) -> str:
        low, mean, high = (f(list(values)) for f in (min, np.mean, max))
        return f"{mean:.{digits}f} ({low:.{digits}f}–{high:.{digits}f})"

    if name.startswith("L7"):
        shares = np.array([[t.throughput_pps(n) * 12e-3 for n in t.flows] for t in traces])
        cubic, reno = shares[:, :4].mean(axis=1), shares[:, 4:].mean(axis=1)
        return f"CUBIC {form(cubic, 0)} Mb/s a flow, Reno {form(reno, 0)}"
    ratio = f"ratio {form([t.throughput_pps(1) / t.throughput_pps(2) for t in traces], 2)}"
    if name.startswith("R_"):
        return ratio
    start_s = max(ackclock.units.duration_ns(flow.start) / 1e9 for flow in of.flows)
    times_s = [t.convergence_s(start_s, rate_bps) for t in traces]
    ended_s = [time_s for time_s in times_s if time_s is not None]
    never = f", never in {len(times_s) - len(ended_s)} of 20" if len(ended_s) < 20 else ""
    return f"convergence {form(ended_s, 0)} s{never}, {ratio}"


def main(directory: Path) -> None:
    folder = directory / "linux"
    folder.mkdir(exist_ok=True)
    picture(PICTURE).savefig(folder / f"{PICTURE}.png", dpi=90)
    several = [
        {"run": name, "path": path(name), "linux": theirs, "simulator": band(name)}
        for name, theirs in BANDS.items()
    ]
    linux_page.save(directory, "several", several)
    traces = [
        {"run": name, "path": path(name), "measure": measure, "linux": theirs, "simulator": ours}
        for name in SINGLE
        for measure, theirs, ours in measures(name)
    ]
    linux_page.save(directory, "traces", traces)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
