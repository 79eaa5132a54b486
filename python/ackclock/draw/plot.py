"""Figures. Headless: they are drawn to files, never to a screen."""

import io
import math
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
import polars as pl
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.layout_engine import LayoutEngine
from matplotlib.lines import Line2D
from matplotlib.markers import CARETDOWN
from matplotlib.ticker import LogLocator
from polars.dataframe.group_by import GroupBy

from ackclock._core import capacity_bits
from ackclock.base.errors import AckclockError
from ackclock.draw import style
from ackclock.estimates.stats import Estimate
from ackclock.results import metrics
from ackclock.results.result import Result
from ackclock.results.summary import of_stack
from ackclock.scenario.scenario import Flow, Session

#: Lines of several queues.
QUEUE_LINES = ("-", "--", ":", "-.")
#: Column of `queues`, colour and label of what an AQM tells the senders.
SIGNALS = (
    ("marked_packets", "#E69F00", "marks"),
    ("early_dropped_packets", "#D55E00", "early drops"),
)
#: The same of packets that are lost without an AQM.
LOSSES = (
    ("full_packets", "#AA3377", "drops (full)"),
    ("link_lost_packets", "#009E73", "lost before the queue"),
    ("policed_packets", "#56B4E9", "policed"),
)
#: Height of a row of lines at the top of a panel, and of all such rows, as shares of the panel.
ROW, ROWS = 0.05, 0.3
#: Event → its signs at a window, in a legend and in a row, and what it is called.
REDUCTIONS: dict[str, tuple[Any, str, str, str]] = {
    "recovery": (CARETDOWN, "v", "|", "loss: recovery"),
    "timeout": ("x", "x", "x", "loss: timeout"),
    "cwr": ("s", "s", ".", "ECN"),
}
#: Signs of one kind that stand at the windows. More would hide the curves: they are in rows.
MOST_SIGNS = 60
#: Parts of the time with one sign or line of a row each: more could not be told apart.
COLUMNS = 300
#: Points of a distribution's curve.
QUANTILES = 400
#: Shares with a line across a distribution.
SHARES = (0, 0.25, 0.5, 0.75, 0.9, 0.99, 1)
#: Width of an entry of a legend: that of its key with the gaps, and of a letter, inches.
LEGEND_KEY, LEGEND_LETTER = 0.6, 0.072
#: Formats of a figure, and how each is told to have no date in it.
ENDINGS: dict[str, dict[str, Any]] = {
    ".png": {},
    ".svg": {"Date": None},
    ".pdf": {"CreationDate": None},
}
#: Flows that a legend names.
MOST_LABELS = 8


def cwnd(axes: Axes, result: Result) -> None:
    """Congestion window of each flow over time, in packets."""
    _sampled(axes, result, result.samples, "cwnd_packets", "cwnd (packets)")


def windows(axes: Axes, result: Result) -> None:
    """Congestion windows with signs where the flows reduced them."""
    cwnd(axes, result)
    reductions(axes, result)


def throughput(axes: Axes, result: Result, window_s: float | None = None) -> None:
    """Throughput of each flow in windows (default: 100 of them), in Mb/s.

    Dashed: what a link can carry whose rate changes.
    """
    end_s = metrics.duration_s(result)
    edges_s = np.arange(0, end_s * (1 + 1e-9), window_s or end_s / 100)
    rates = metrics.throughput_bps(result, edges_s) / 1e6
    for (_, look, label), rate in zip(_flows(result), rates, strict=True):
        axes.stairs(rate, edges_s, **look, label=label, baseline=None)
    _rates(axes, result, edges_s)
    axes.set_ylabel("throughput (Mb/s)")
    _over_time(axes, result)


def _rates(axes: Axes, result: Result, edges_s: np.ndarray) -> None:
    """The payload that each link can carry, if its rate changes, in Mb/s."""
    resolved = result.resolved
    if "bottleneck" not in resolved:
        return
    payload = resolved["mss_bytes"] / (resolved["mss_bytes"] + resolved["header_bytes"])
    for index, link in enumerate([resolved["bottleneck"], *resolved.get("links", ())]):
        if link.keys() & {"rate_at", "trace_ms"}:
            windows = pairwise(edges_s)
            bits = np.array([capacity_bits(link, *window) for window in windows])
            look = QUEUE_LINES[(index + 1) % len(QUEUE_LINES)]
            rates = axes.stairs(payload * bits / np.diff(edges_s) / 1e6, edges_s, baseline=None)
            rates.set(color=style.INK, linewidth=0.8, linestyle=look, zorder=1)


def reductions(axes: Axes, result: Result) -> None:
    """Over `cwnd`: signs where a flow entered recovery, timed out, or answered ECN.

    Each stands at the window before the event. A kind with many has a row of signs for each flow at
    the top, or one row for all if there are too many flows to tell.
    """
    colours = {flow: look["color"] for flow, look, _ in _flows(result)}
    rows: list[tuple[pl.DataFrame, str, str]] = []
    keys = []
    for kind, (sign, shown, small, label) in REDUCTIONS.items():
        events = result.events.filter(pl.col("kind") == kind)
        hollow = kind == "cwr"
        key = Line2D(
            [], [], color=style.INK, linestyle="", marker=shown, markersize=4.5, label=label
        )
        if len(events) > MOST_SIGNS:
            key.set(label=f"{label} (at the top)", marker=small)
            if len(colours) > MOST_LABELS:
                rows.append((events, style.INK, small))
            else:
                parts = events.sort("flow").partition_by("flow", maintain_order=True)
                rows += ((part, colours[part["flow"][0]], small) for part in parts)
        elif len(events):
            looks = [colours[flow] for flow in events["flow"]]
            faces = {"facecolors": "none", "edgecolors": looks} if hollow else {"c": looks}
            key.set_fillstyle("none" if hollow else "full")
            at = events["time_us"] / 1e6, events["cwnd_packets"]
            axes.scatter(*at, marker=sign, s=20, linewidths=1, zorder=3, **faces)
        keys += [key] * bool(len(events))
    height = min(ROW, ROWS / max(len(rows), 1))
    for row, (part, colour, small) in enumerate(rows):
        at_s = _thinned_s(result, part["time_us"])
        middle = np.full(len(at_s), 1 - (row + 0.5) * height)
        (line,) = axes.plot(at_s, middle, small, transform=axes.get_xaxis_transform())
        line.set(color=colour, markersize=min(4, 90 * height), markeredgewidth=0.7, zorder=3)
    axes.autoscale(axis="y")
    axes.set_ylim(bottom=0)
    _make_room(axes, height * len(rows))
    if keys:
        _legend(axes, keys)


def queue(axes: Axes, result: Result, kinds: Sequence[tuple[str, str, str]] = SIGNALS) -> None:
    """Packets in each queue over time; at the top, when AQM marked or dropped packets."""
    for index, ((number,), queue) in enumerate(_queues(result)):
        (line,) = axes.plot(queue["time_us"] / 1e6, queue["queue_packets"], color=style.INK)
        look = QUEUE_LINES[index % len(QUEUE_LINES)]
        line.set(linewidth=0.8, alpha=1 / (1 + index), linestyle=look, label=f"queue {number}")
    rows = signals(axes, result, kinds)
    handles, _ = axes.get_legend_handles_labels()
    if len(handles) > 1:
        _legend(axes, handles)
    axes.set_ylabel("queue (packets)")
    _over_time(axes, result)
    _make_room(axes, rows * ROW)


def signals(axes: Axes, result: Result, kinds: Sequence[tuple[str, str, str]] = SIGNALS) -> int:
    """Short lines at the top: sample intervals in which AQM marked or dropped packets.

    Each kind that there is has a row of its own. Returns how many these are.
    """
    full = pl.col("dropped_packets") - pl.col("early_dropped_packets")
    queues = result.queues.with_columns(full_packets=full)
    rows = 0
    for column, colour, label in kinds:
        rose = pl.col(column).diff(1).over("queue").fill_null(0) > 0
        at_s = _thinned_s(result, queues.filter(rose)["time_us"])
        if len(at_s):
            top = 1 - rows * ROW
            lines = axes.vlines(at_s, top - ROW, top, transform=axes.get_xaxis_transform())
            lines.set(color=colour, linewidth=0.8, label=label, zorder=3)
            rows += 1
    return rows


def _thinned_s(result: Result, times_us: pl.Series) -> np.ndarray:
    """Times in s; of those in one of `COLUMNS` only the first."""
    times_s = np.sort(times_us.to_numpy()) / 1e6
    columns = np.floor(times_s * COLUMNS / metrics.duration_s(result))
    return np.asarray(times_s[np.unique(columns, return_index=True)[1]])


def _make_room(axes: Axes, share: float) -> None:
    """Leaves this share of the panel free at its top."""
    axes.set_ylim(top=axes.get_ylim()[1] / (1 - share))


def _legend(axes: Axes, handles: Sequence[Any]) -> None:
    """A legend above a panel, at the right."""
    axes.legend(
        handles=handles,
        loc="lower right",
        bbox_to_anchor=(1, 1),
        ncols=3,
        fontsize="x-small",
        handlelength=1.5,
        columnspacing=1.2,
    )


def _queues(result: Result) -> GroupBy:
    return result.queues.group_by("queue", maintain_order=True)


def estimates(
    axes: Axes, x: Sequence[float], points: Sequence[Estimate | None], **look: Any
) -> None:
    """Means over x in one colour, with the band of their intervals where these are finite.

    A mean of runs that were cut off is no data: it is an open mark, and the line leaves it out.
    `look` is what `Axes.plot` takes.
    """
    known = [math.nan if point is None or point.censored else point.mean for point in points]
    (line,) = axes.plot(x, known, **look)
    ends = [[math.nan] * 2 if point is None else [point.low, point.high] for point in points]
    low, high = np.where(np.isfinite(ends), ends, np.nan).T
    axes.fill_between(x, low, high, color=line.get_color(), alpha=0.2, linewidth=0)
    for at, point in zip(x, points, strict=True):
        if point is not None and point.censored:
            mark = "^" if math.isinf(point.high) else "v"
            axes.plot([at], [point.mean], mark, color=line.get_color(), fillstyle="none")


def error_bars(
    axes: Axes,
    at: Sequence[float],
    points: Sequence[Estimate | None],
    *,
    across: bool = False,
    **look: Any,
) -> None:
    """Means with their intervals where these are finite, upright over `at` or `across` beside it.

    `look` is what `Axes.errorbar` takes.
    """
    means = np.array([math.nan if point is None else point.mean for point in points])
    ends = np.array(
        [[math.nan] * 2 if point is None else [point.low, point.high] for point in points]
    )
    bars = np.where(np.isfinite(ends), np.abs(ends - means[:, None]), 0).T
    look |= {"markersize": 5, "capsize": 2}
    if across:
        axes.errorbar(means, at, xerr=bars, **look)
    else:
        axes.errorbar(at, means, yerr=bars, **look)


class Picture(Figure):
    """A figure that a notebook shows."""

    def _repr_html_(self) -> str:
        return inline_svg(self)


def rtt(axes: Axes, result: Result) -> None:
    """Smoothed RTT of each flow over time, in ms."""
    known = result.samples.filter(pl.col("srtt_us") > 0)
    known = known.with_columns(srtt_ms=pl.col("srtt_us") / 1e3)
    _sampled(axes, result, known, "srtt_ms", "smoothed RTT (ms)")


def _sampled(axes: Axes, result: Result, samples: pl.DataFrame, column: str, name: str) -> None:
    """A column of these samples over time, a line for each flow."""
    by_flow = metrics.until_completed(result, samples).partition_by("flow", as_dict=True)
    for flow, look, label in _flows(result):
        own = by_flow.get((flow,), samples.clear())
        axes.plot(own["time_us"] / 1e6, own[column], **look, label=label, zorder=2)
    axes.set_ylabel(name)
    _over_time(axes, result)


def rtt_cdf(axes: Axes, result: Result) -> None:
    """Distribution of each flow's smoothed RTT at the samples of the common interval, in ms."""
    from_s, until_s = metrics.common_s(result)
    at_s = pl.col("time_us") / 1e6
    samples = metrics.until_completed(result, metrics.regular_samples(result)).filter(
        at_s.is_between(from_s, until_s), pl.col("srtt_us") > 0
    )
    if samples.is_empty():
        fix = _more_samples(result) if len(result.flows) else "add a [[flow]]"
        raise AckclockError(f"rtt-cdf: no RTT of a flow is known ({_interval(result)}); {fix}")
    by_flow = samples.partition_by("flow", as_dict=True)
    for flow, look, label in _flows(result):
        if (flow,) in by_flow:
            _distribution(axes, by_flow[flow,]["srtt_us"] / 1e3, **look, label=label)
    axes.set_xlabel("smoothed RTT (ms)")
    _over_shares(axes, "samples", _interval(result))


def delay_cdf(axes: Axes, result: Result) -> None:
    """Distribution of the sojourn times in each queue at the same samples, in ms."""
    for index, number in enumerate(sorted(result.queues["queue"].unique())):
        delays_s = metrics.queue_delays_s(result, number, *metrics.common_s(result))
        delays_s = delays_s[delays_s > 0]  # 0 before the first packet
        if len(delays_s):
            _distribution(axes, delays_s * 1e3, **_ink(index), label=f"queue {number}")
    if not axes.lines:
        said = _more_samples(result)
        raise AckclockError(f"delay-cdf: no queue was sampled ({_interval(result)}); {said}")
    if len(axes.lines) > 1:
        axes.legend(loc="lower right", fontsize="x-small")
    axes.set_xlabel("sojourn time in the queue (ms)")
    axes.set_xlim(left=0)
    _over_shares(axes, "samples", _interval(result))


def fct_cdf(axes: Axes, result: Result) -> None:
    """Distribution of completion times of transfers and of flows with a size, in s.

    Of those that began in the common interval. What the end of the run cut off counts as slow.
    """
    from_s, until_s = metrics.common_s(result)
    for name, starts_s, taken_s in _completions(result):
        own = taken_s[(starts_s >= from_s) & (starts_s < until_s)]
        completed = int(np.isfinite(own).sum())
        if completed:
            label = f"{name}: {completed} of {len(own)} completed"
            _distribution(axes, own, **_ink(len(axes.lines)), label=label)
    if not axes.lines:
        raise AckclockError(
            f"fct-cdf: no transfer was completed ({_interval(result)}); add a [[session]], or a "
            "[[flow]] with a size (examples/web_traffic.toml)"
        )
    axes.legend(loc="lower right", fontsize="x-small")
    axes.set_xscale("log")
    axes.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    axes.xaxis.set_major_formatter("{x:g}")
    axes.xaxis.set_minor_formatter("")
    axes.set_xlabel("completion time (s)")
    _over_shares(axes, "transfers", f"begun in {_interval(result)}")


def _completions(result: Result) -> Iterator[tuple[str, np.ndarray, np.ndarray]]:
    """Of each [[session]] and each [[flow]] with a size: name, starts and durations in s."""
    known = {spec: code["name"] for spec, code in result.manifest["algorithms"].items()}

    def named(what: str, last: int, each: Session | Flow) -> str:
        first = last - each.count + 1
        numbers = f"{what}s {first}–{last}" if last > first else f"{what} {first}"
        label = _label(each.algorithm, known[each.algorithm], [*known], [*known.values()])
        return f"{numbers}, {label}"

    sessions, starts_us = (result.transfers[name].to_numpy() for name in ("session", "start_us"))
    taken_s = metrics.completion_s(result)
    last = 0
    for session in result.scenario.sessions:
        last += session.count
        own = (sessions > last - session.count) & (sessions <= last)
        yield named("session", last, session), starts_us[own] / 1e6, taken_s[own]
    starts_us, ends_us = (
        result.flows[name].to_numpy().astype(float) for name in ("start_us", "completed_us")
    )
    taken_s = np.where(ends_us > 0, ends_us - starts_us, math.inf) / 1e6
    last = 0
    for flow in result.scenario.flows:
        last += flow.count
        if flow.size is not None:
            alone = slice(last - flow.count, last)
            yield named("flow", last, flow), starts_us[alone] / 1e6, taken_s[alone]


def _distribution(axes: Axes, values: Any, **look: Any) -> None:
    """Steps: the share of the values up to each; of many values, of some. Those may be infinite."""
    ordered = np.sort(np.asarray(values))
    count = len(ordered)
    if count > QUANTILES:
        shares = _of_height(np.linspace(0, 1, QUANTILES)[1:])
        x = ordered[[0, *(np.ceil(shares * count).astype(int) - 1)]]
    else:
        x = ordered
    x = np.unique(x[np.isfinite(x)])
    share = np.searchsorted(ordered, x, side="right") / count
    axes.step([x[0], *x], [0, *share], where="post", **look)


def _ink(index: int) -> dict[str, Any]:
    """The look of the lines that are of no flow."""
    look = QUEUE_LINES[index % len(QUEUE_LINES)]
    return {"color": style.INK, "linestyle": look, "alpha": max(1 / (1 + index), 0.3)}


def _height(share: Any) -> Any:
    """Where a share stands in a panel: the nearer to 1, the wider, so that 0.99 can be read."""
    return 1 - np.sqrt(np.clip(1 - np.asarray(share), 0, None))


def _of_height(height: Any) -> Any:
    return 1 - (1 - np.asarray(height)) ** 2


def _over_shares(axes: Axes, what: str, of: str) -> None:
    axes.set_yscale("function", functions=(_height, _of_height))
    axes.set_ylim(0, 1)
    axes.set_yticks(SHARES, [f"{share:g}" for share in SHARES])
    axes.grid(color=style.INK, linewidth=0.5, alpha=0.2)
    axes.set_ylabel(f"share of {what}")
    axes.set_title(of, fontsize="small")


def _interval(result: Result) -> str:
    """The common interval, in words."""
    from_s, until_s = metrics.common_s(result)
    whole = (from_s, until_s) == (0, metrics.duration_s(result))
    what = "the whole run" if whole else "while all long flows are active"
    return f"{from_s:.4g}–{until_s:.4g} s, {what}"


def _more_samples(result: Result) -> str:
    return f'write a shorter sample_interval (it is "{result.scenario.sample_interval}")'


#: What `overview` can draw, over time and as distributions.
OVER_TIME: dict[str, Callable[[Axes, Result], None]] = {
    "cwnd": windows,
    "throughput": throughput,
    "queue": partial(queue, kinds=(*SIGNALS, *LOSSES)),
    "rtt": rtt,
}
PANELS = OVER_TIME | {"rtt-cdf": rtt_cdf, "delay-cdf": delay_cdf, "fct-cdf": fct_cdf}
#: Those without lines in the colours of the flows.
_OF_NO_FLOW = {"queue", "delay-cdf", "fct-cdf"}


def title(result: Result) -> str:
    """What ran, in a line: "100mbit, buffer 1bdp, RTT 40ms, seed 1"."""
    if result.manifest.get("backend") == "qlog":
        return "a qlog"
    if "bottleneck" not in result.resolved:
        return f"Linux {result.manifest['kernel']}, watched"
    scenario = result.scenario
    link = scenario.bottleneck
    rates = [link.rate or Path(link.trace or link.timeline or "").name, f"buffer {link.buffer}"]
    rtts = dict.fromkeys(flow.rtt or scenario.rtt or "" for flow in scenario.flows)
    said = [f"{len(rtts)} RTTs"] if len(rtts) > 3 else [f"RTT {' and '.join(rtts)}"] * bool(rtts)
    return ", ".join([*rates, *said, f"seed {scenario.seed}"])


def overview(result: Result, panels: Sequence[str] = ("cwnd", "throughput", "queue")) -> Picture:
    """A run on one page: these of `PANELS`.

    Raises `AckclockError` if the run has nothing for a distribution.
    """
    with style.applied():
        figure = Picture(figsize=(8, 1 + 2 * len(panels)))
        grid = figure.subplots(len(panels), 1, squeeze=False)[:, 0]
        over_time = [axes for axes, name in zip(grid, panels, strict=True) if name in OVER_TIME]
        for axes, name in zip(grid, panels, strict=True):
            PANELS[name](axes, result)
        for axes in over_time[:-1]:
            axes.tick_params(labelbottom=False)
        for axes in over_time[-1:]:
            axes.set_xlabel("time (s)")
        flows = [] if _OF_NO_FLOW.issuperset(panels) else _flows(result)
        lines = [Line2D([], [], **look, label=label) for _, look, label in flows]
        if (more := len(lines) - MOST_LABELS) > 0:
            lines[MOST_LABELS:] = [Line2D([], [], linestyle="", label=f"… {more} more")]
        figure.legend(
            handles=lines,
            loc="outside upper left",
            ncols=4,
            title=title(result),
            alignment="left",
        )
    return figure


def legend(figure: Figure, handles: Sequence[Any], labels: Sequence[str]) -> None:
    """One legend above all panels, in as many columns as there is room for, but four at most."""
    widest = LEGEND_KEY + LEGEND_LETTER * max(map(len, labels), default=0)
    columns = max(1, min(4, int(figure.get_figwidth() / widest)))
    figure.legend(handles, labels, loc="outside upper left", ncols=columns)


@contextmanager
def _placed(figure: Figure, engine: LayoutEngine | None) -> Iterator[None]:
    """Our look, and this layout engine; None: all parts stay where they are.

    matplotlib takes None for what its settings say, also when it has saved a figure. With "none" it
    would draw everything twice.
    """
    with style.applied(), mpl.rc_context({"figure.constrained_layout.use": engine is not None}):
        if engine is None:
            figure.set_layout_engine(None)
        yield


def write(
    figure: Figure, directory: Path, name: str, *, pdf: bool = True, only: str | None = None
) -> list[Path]:
    """Writes `name`.png, .svg and .pdf (which takes 10 MB of memory); returns their paths.

    `only`: the one of `ENDINGS` to write. The figure is laid out once for all, and stays so.
    """
    wanted = [only] if only else [each for each in ENDINGS if pdf or each != ".pdf"]
    undated = {each: ENDINGS[each] for each in wanted}
    paths = {directory / f"{name}{suffix}": metadata for suffix, metadata in undated.items()}
    with style.applied():
        figure.draw_without_rendering()
    with _placed(figure, None):
        for path, metadata in paths.items():
            figure.savefig(path, dpi=150, metadata=metadata)
    return list(paths)


def inline_svg(figure: Figure) -> str:
    """The figure as an SVG element that takes on the text colour of the page around it."""
    out = io.StringIO()
    with _placed(figure, figure.get_layout_engine()):
        figure.savefig(out, format="svg", transparent=True, metadata={"Date": None})
    svg = out.getvalue()
    return svg[svg.index("<svg") :].replace(style.INK, "currentColor")


def _flows(result: Result) -> list[tuple[int, dict[str, Any], str]]:
    """Number, look and label of each flow: no two have the same colour and line."""
    specs = [flow["algorithm"] for flow in result.resolved["flows"]]
    names = [result.manifest["algorithms"][spec]["name"] for spec in specs]
    labels = [
        of_stack(flow, _label(spec, name, specs, names))
        for flow, spec, name in zip(result.resolved["flows"], specs, names, strict=True)
    ]
    ways = ["" if way == "forward" else f", {way}" for way in result.flows["direction"]]
    return [
        (number, {"color": colour, "linestyle": line}, f"flow {number}, {label}{way}")
        for number, ((colour, line), label, way) in enumerate(
            zip(style.looks(names), labels, ways, strict=True), 1
        )
    ]


def _label(spec: str, name: str, specs: list[str], names: list[str]) -> str:
    """An algorithm's name, with preset and settings where the run has it with others too."""
    if not re.match(rf"{name}(@|:|$)", spec):
        return Path(spec).name  # a user's own file
    alike = {each for each, of in zip(specs, names, strict=True) if of == name}
    return style.look(name).label + (spec[len(name) :] if len(alike) > 1 else "")


def _over_time(axes: Axes, result: Result) -> None:
    axes.set_xlim(0, metrics.duration_s(result))
    axes.set_ylim(bottom=0)
