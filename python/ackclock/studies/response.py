"""Response functions: the mean window of one flow over its loss rate p.

As in Ha et al. 2008, section 5, simulations drop exactly one packet in every 1/p. The mean window
is the number of packets delivered per RTT over whole epochs (from one loss to the next).
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import LogFormatterSciNotation

from ackclock.base import units
from ackclock.base.errors import AckclockError
from ackclock.draw import html, style
from ackclock.draw import plot as draw
from ackclock.hosts.linux import Linux
from ackclock.hosts.threads import LOCAL, Executor
from ackclock.hosts.work import CACHE, run_all
from ackclock.results.result import Result
from ackclock.scenario import snapshot
from ackclock.scenario.scenario import KERNEL, Bottleneck, Flow, Scenario
from ackclock.store.entries import write_manifest, write_parquet

Values = Mapping[str, Any]

#: Two loss rates per power of ten.
LOSS_RATES = tuple(10.0 ** (exponent / 2) for exponent in range(-14, -3))
#: Losses in the first run; the number doubles until the window has settled.
EPOCHS = 12
MOST_EPOCHS = 100
#: Minimum packets in a run, so that the rounding of small windows averages out.
LEAST_PACKETS = 100_000
#: The window has settled if the last two quarters of the epochs differ by less than this share.
SETTLED = 0.005


def _standard(_: Values, p: float, __: float) -> float:
    """Ha et al. 2008, eq. (3) with α = 1, β = 1/2; RFC 3649 rounds it to 1.2/√p."""
    return math.sqrt(1.5 / p)


def _cubic(values: Values, p: float, rtt_s: float) -> float | None:
    """The larger of Ha et al. 2008, eq. (5), and standard TCP's eq. (4)."""
    if values["max_increment"] or values["max_rate"] or values["curve_scale"] != 1:
        return None  # with a clamp or another curve there is no closed form
    beta = 1 - values["beta"]
    curve = float((values["C"] * (4 - beta) / (4 * beta) * (rtt_s / p) ** 3) ** 0.25)
    return max(curve, _standard(values, p, rtt_s)) if values["tcp_friendliness"] else curve


def _highspeed(_: Values, p: float, __: float) -> float:
    """RFC 3649, section 5: from (1e-3, 38) to (1e-7, 83000); standard TCP's above 1e-3."""
    slope = math.log(83000 / 38) / math.log(1e-7 / 1e-3)
    return float(38 * (p / 1e-3) ** slope) if p < 1e-3 else 1.2 / math.sqrt(p)


def _scalable(values: Values, p: float, __: float) -> float:
    """Kelly 2003: an epoch of growth from (1 - b) W to W delivers 1/p packets.

    While a W < 1 standard TCP grows faster; there the window is that of Ha et al. 2008, eq. (3).
    """
    b, ai_cnt = values["b"], values["ai_cnt"]
    rtts = -math.log(1 - b) / math.log1p(1 / ai_cnt)
    legacy_b = 0.5 if values["low_window"] else b
    return float(max(1 / p / rtts, math.sqrt((2 - legacy_b) / (2 * legacy_b) / p)))


def _binomial(values: Values, p: float, __: float) -> float | None:
    """Bansal and Balakrishnan 2001, for k + l = 1: √(α / (β p))."""
    if values["k"] + values["l"] != 1:
        return None
    return math.sqrt(float(values["alpha"]) / values["beta"] / p)


def _constant_rate(values: Values, p: float, rtt_s: float) -> float:
    """Standard TCP's with an increase of (RTT / reference RTT)² (Floyd 1991)."""
    return _standard(values, p, rtt_s) * rtt_s * 1e3 / float(values["reference_rtt_ms"])


def _hybla(values: Values, p: float, rtt_s: float) -> float:
    """Standard TCP's with an increase of ρ² (Caini and Firrincieli 2004, eq. 6)."""
    return _standard(values, p, rtt_s) * max(rtt_s * 1e3 / float(values["rtt0"]), 1)


#: The known closed forms: (parameters, loss rate, RTT in s) → packets.
CLOSED_FORMS: dict[str, Callable[[Values, float, float], float | None]] = {
    "reno": _standard,
    "cubic": _cubic,
    "highspeed": _highspeed,
    "scalable": _scalable,
    "binomial_sqrt": _binomial,
    "constant_rate": _constant_rate,
    "hybla": _hybla,
}


def analytic(algorithm: str, loss_rate: float, rtt_s: float) -> float | None:
    """Mean window by the closed form, packets; None if these parameters have no closed form.

    None also for what only Linux takes.
    """
    configured = _configured(algorithm)
    closed_form = None if algorithm.startswith(KERNEL) else CLOSED_FORMS.get(configured["name"])
    return closed_form(configured["values"], loss_rate, rtt_s) if closed_form else None


def _configured(algorithm: str) -> Mapping[str, Any]:
    """Name and values of an algorithm; those of a file that only Linux takes are not known."""
    try:
        return snapshot.current().configure(algorithm)
    except AckclockError:
        return {"name": algorithm, "values": {}}


def scenario(
    algorithm: str,
    loss_rate: float,
    rtt: str,
    *,
    epochs: int = EPOCHS,
    profile: str = "linux-6",
    delayed_ack_segments: int = 1,
    on_linux: bool = False,
) -> Scenario:
    """One flow on a link without a queue that drops one packet in every 1/p, for `epochs` losses.

    Slow start ends near the window of the later losses. If it went on for 1/p packets, its effect
    would last for dozens of epochs; on Linux it does, which takes no such threshold.
    """
    every = round(1 / loss_rate)
    epochs = max(epochs, LEAST_PACKETS // every)
    rtt_s = units.duration_ns(rtt) / 1e9
    window = analytic(algorithm, loss_rate, rtt_s) or _standard({}, loss_rate, rtt_s)
    mss = 1448
    return Scenario(
        # The run ends much earlier, when all data has arrived. This is enough for a window of one.
        duration=f"{min(math.ceil(epochs * every * rtt_s) + 1, 3_600_000)}s",
        rtt=rtt,
        profile=profile,
        jitter="0s",
        mss=mss,
        delayed_ack_segments=delayed_ack_segments,
        # The simulator has a sample at each loss, too.
        sample_interval=rtt if on_linux else "1h",
        bottleneck=Bottleneck(rate="1tbit", buffer="4000000000packets", drop_every_packets=every),
        flows=(
            Flow(
                algorithm=algorithm,
                size=f"{epochs * every * mss}B",
                receive_window="1GiB",  # the largest of TCP
                **({} if on_linux else {"initial_ssthresh_packets": max(round(0.75 * window), 2)}),
            ),
        ),
    )


@dataclass(frozen=True)
class Window:
    """The mean window of a run of `scenario`."""

    #: Packets delivered per RTT, mean over the last quarter of the epochs.
    mean_packets: float
    #: The relative change from the quarter before to the last quarter.
    drift: float


def window(result: Result) -> Window:
    """The mean window of a run; NaN if the run has fewer than 5 losses."""
    events = result.events.filter(pl.col("kind").is_in(["recovery", "timeout"]))
    losses = events["time_us"].unique().sort().to_numpy()
    if len(losses) < 5:
        return Window(math.nan, math.nan)
    edges = losses[[-1 - quarter * ((len(losses) - 1) // 4) for quarter in (2, 1, 0)]]
    samples = result.samples.unique("time_us", keep="last").sort("time_us")
    delivered = np.interp(edges, samples["time_us"], samples["delivered_packets"])
    rtts = edges * 1e3 / result.resolved["flows"][0]["rtt_ns"]
    before, last = np.diff(delivered) / np.diff(rtts)
    return Window(float(last), float(last / before - 1))


def loss_rates_from(lowest: float) -> list[float]:
    """The rates in `LOSS_RATES` from `lowest` on.

    Raises `AckclockError` if `lowest` is outside `LOSS_RATES`.
    """
    some = [rate for rate in LOSS_RATES if rate >= lowest * 0.999]
    if not some or lowest < LOSS_RATES[0] * 0.999:
        raise AckclockError(
            f"lowest = {lowest:g}: choose from {LOSS_RATES[0]:g} to {LOSS_RATES[-1]:g}"
        )
    return some


def measure(
    algorithms: Sequence[str],
    rtts: Sequence[str],
    loss_rates: Sequence[float] = LOSS_RATES,
    *,
    profile: str = "linux-6",
    delayed_ack_segments: int = 1,
    executor: Executor = LOCAL,
    progress: Callable[[float], None] | None = None,
) -> pl.DataFrame:
    """Response functions: one row per RTT, algorithm and loss rate (from high to low).

    Columns: rtt, algorithm, loss_rate, analytic_packets (null: no closed form), simulated_packets
    (of Linux, if the executor is one), drift (see `Window`), epochs. A drift of `SETTLED` or more
    means that the window had not settled after `MOST_EPOCHS` losses. Raises `AckclockError` for a
    loss rate or an RTT out of range.
    """
    for each in loss_rates:
        if not 1e-9 <= each <= 0.1:
            raise AckclockError(f"loss rate = {each:g}: choose from 1e-9 to 0.1")
    rtts_s = {}
    for rtt in rtts:
        try:
            rtts_s[rtt] = units.duration_ns(rtt) / 1e9
        except ValueError as error:
            raise AckclockError(f'rtt = "{rtt}": {error}') from None
    for rtt, rtt_s in rtts_s.items():
        if not 1e-6 <= rtt_s <= 100:
            raise AckclockError(f'rtt = "{rtt}": choose from 1us to 100s')
    points = [
        (rtt, algorithm, loss_rate)
        for rtt in rtts_s
        for algorithm in dict.fromkeys(algorithms)
        for loss_rate in sorted(loss_rates, reverse=True)
    ]
    with snapshot.held():
        epochs = dict.fromkeys(points, EPOCHS)
        windows: dict[tuple[str, str, float], Window] = {}
        pending = points
        while pending:
            scenarios = [
                scenario(
                    algorithm,
                    loss_rate,
                    rtt,
                    epochs=epochs[rtt, algorithm, loss_rate],
                    profile=profile,
                    delayed_ack_segments=delayed_ack_segments,
                    on_linux=isinstance(executor, Linux),
                )
                for rtt, algorithm, loss_rate in pending
            ]
            found = run_all(scenarios, window, cache=CACHE, executor=executor, progress=progress)
            windows |= dict(zip(pending, found, strict=True))
            pending = [
                point
                for point in pending
                if not abs(windows[point].drift) < SETTLED and 2 * epochs[point] <= MOST_EPOCHS
            ]
            for point in pending:
                epochs[point] *= 2
        return pl.DataFrame(
            [
                {
                    "rtt": rtt,
                    "algorithm": algorithm,
                    "loss_rate": loss_rate,
                    "analytic_packets": analytic(algorithm, loss_rate, rtts_s[rtt]),
                    "simulated_packets": windows[rtt, algorithm, loss_rate].mean_packets,
                    "drift": windows[rtt, algorithm, loss_rate].drift,
                    "epochs": epochs[rtt, algorithm, loss_rate],
                }
                for rtt, algorithm, loss_rate in points
            ],
            infer_schema_length=None,
        )


def table(rows: pl.DataFrame, rtt: str) -> html.Table:
    """The windows at one RTT, one row per loss rate; parentheses: the window had not settled."""
    some = rows.filter(rtt=rtt)
    algorithms = some["algorithm"].unique(maintain_order=True).to_list()
    header = ["loss rate"]
    for algorithm in algorithms:
        header += [f"{algorithm}: formula", "measured"]
    lines = []
    for (loss_rate,), points in some.group_by("loss_rate", maintain_order=True):
        line = [f"{loss_rate:.1e}"]
        for point in points.iter_rows(named=True):
            known = point["analytic_packets"]
            simulated = f"{point['simulated_packets']:.1f}"
            settled = abs(point["drift"]) < SETTLED
            line.append("—" if known is None else f"{known:.1f}")
            line.append(simulated if settled else f"({simulated})")
        lines.append(line)
    return html.Table(header, lines)


def write(rows: pl.DataFrame, directory: Path) -> None:
    """Writes response.parquet, the figure as PNG and SVG, and manifest.json."""
    write_parquet(rows, directory / "response.parquet")
    draw.write(plot(rows), directory, "response")
    write_manifest({"figures": {"response": []}}, directory)


def plot(rows: pl.DataFrame) -> Figure:
    """One panel per RTT: lines are closed forms, marks are simulated (Ha et al. 2008, figure 3)."""
    rtts = rows["rtt"].unique(maintain_order=True).to_list()
    with style.applied():
        figure = Figure(figsize=(1 + 3.5 * len(rtts), 3.6))
        panels = figure.subplots(1, len(rtts), sharey=True, squeeze=False)[0]
        for axes, rtt in zip(panels, rtts, strict=True):
            _panel(axes, rows.filter(rtt=rtt))
            axes.set_title(f"RTT {rtt}")
        panels[0].set_ylabel("mean window (packets)")
        panels[0].legend()
    return figure


def _panel(axes: Axes, rows: pl.DataFrame) -> None:
    algorithms = rows["algorithm"].unique(maintain_order=True).to_list()
    names = [_configured(algorithm)["name"] for algorithm in algorithms]
    alone = len(set(names)) == len(names)
    for number, (algorithm, name) in enumerate(zip(algorithms, names, strict=True)):
        look = style.look(name)
        colour = look.colour if alone else style.FLOWS[number % len(style.FLOWS)]
        some = rows.filter(algorithm=algorithm)
        known = some.drop_nulls("analytic_packets")
        line = look.line if alone else "-"
        axes.plot(known["loss_rate"], known["analytic_packets"], line, color=colour)
        axes.plot(
            some["loss_rate"],
            some["simulated_packets"],
            look.marker,
            color=colour,
            markersize=5,
            label=look.label if alone else algorithm,
        )
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.xaxis.set_major_formatter(LogFormatterSciNotation())
    axes.set_xlabel("loss rate")
