"""Writes docs/algorithms: what `ackclock list` shows, pictures of growth and sharing, a table.

`python scripts/algorithm_pages.py DIRECTORY` writes README.md, NAME.md and NAME.svg there.
"""

import sys
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from matplotlib.figure import Figure

import ackclock
from ackclock import Flow, Result, Scenario, _core
from ackclock.draw import style
from ackclock.results import metrics

ALGORITHMS = {each["name"]: each for each in _core.algorithms()}
TODAY, OLD = "linux-6", "linux-2.6.25"
SEEDS = range(1, 6)
END_S = 120
#: When the second of two flows starts, and when their measurement starts.
JOINS_S, SHARED_FROM_S = 20, 60
#: How long the flow of the growth curve runs, and when its slow start is over.
GROWTH_END_S, STEADY_FROM_S = 600, 60

#: Algorithms that need marks, and the threshold of their queue, packets: a seventh of the BDP
#: (Alizadeh et al. 2010).
MARKED_ABOVE = {"dctcp": 120, "prague": 120}

#: Smallest and largest value in a row of the table, unless EXCEPTIONS say otherwise.
BOUNDS = {
    "utilisation": (0.9, 1.0),
    "retransmitted": (0.0, 0.01),
    "timeouts": (0, 0),
    "utilisation_2": (0.98, 1.0),
    "retransmitted_2": (0.0, 0.01),
    "timeouts_2": (0, 0),
    "jain_2": (0.75, 1.0),
}
#: Algorithms or presets with bounds of their own, and why.
EXCEPTIONS: dict[str, tuple[dict[str, tuple[float, float]], str]] = {
    "westwood": (
        {"utilisation": (0.7, 1.0)},
        (
            "after slow start's overshoot the bandwidth estimate sets ssthresh. The estimate began "
            "with 10 packets and lags, so the window climbs by 1 packet per RTT from about 170 "
            "packets. Linux's own trace of this run has 79 % ([why](../linux.md))."
        ),
    ),
    "hybla": (
        {"retransmitted": (0.0, 0.03), "retransmitted_2": (0.0, 0.06)},
        (
            "at 100 ms slow start multiplies the window by 2^4 per RTT (rho = 4), to 12 500 "
            "packets. The path holds 1666."
        ),
    ),
    "scalable": (
        {"jain_2": (0.5, 1.0)},
        (
            "multiplicative increase and decrease keep the shares as they are (Chiu and Jain "
            "1989). Only chance levels the shares here: 0.98 in the second half of 4000 s."
        ),
    ),
    "binomial_sqrt": (
        {"jain_2": (0.5, 1.0)},
        (
            "a loss costs 27 of 1650 packets, and with iiad one packet, so the newcomer gains "
            "little. Jain's index is 0.71 (iiad 0.56) in the second half of 4000 s."
        ),
    ),
    "dctcp": (
        {"utilisation": (0.75, 1.0), "jain_2": (0.5, 1.0)},
        (
            "the bursts of slow start are marked at 561 of 953 packets, while alpha is still "
            "large, and the window falls to 262. It then grows by 1 packet per RTT and gives up "
            "little at a mark, which suits RTTs below 1 ms. Linux's own trace at 10 ms also begins "
            "with 40 of 101 packets."
        ),
    ),
    "bbr": (
        {"utilisation_2": (0.95, 1.0), "retransmitted_2": (0.0, 0.04)},
        (
            "in PROBE_RTT a flow sends nearly nothing for 0.3 s of each 10 s, and two flows do so "
            "together. They keep up to 2 BDP in flight, so with 1 BDP of buffer each probe for "
            "bandwidth loses packets, and BBR does not slow down for a loss."
        ),
    ),
    "bbr3": (
        {"utilisation_2": (0.96, 1.0)},
        (
            "in PROBE_RTT, after 5 s without a lower RTT, both flows keep half a BDP in flight for "
            "0.2 s or longer. Without it (`probe_rtt_win_ms=3600000`) two flows fill the link."
        ),
    ),
    "ledbat_pp": (
        {"utilisation": (0.85, 1.0), "utilisation_2": (0.94, 1.0)},
        (
            "it slows down to 2 packets for 2 RTTs and returns by slow start, for a tenth of the "
            "time. Its GAIN on this path is half of standard TCP's, so its first slow start takes "
            "twice as long."
        ),
    ),
    "cubic@2.0-pre": ({"jain_2": (0.5, 1.0)}, "it has no fast convergence."),
    "cubic@2.6.18.1": (
        {"jain_2": (0.65, 1.0)},
        "its curve is too flat: the newcomer does not catch up in 120 s.",
    ),
}


def bounds(spec: str) -> dict[str, tuple[float, float]]:
    """The bounds of a row of the table."""
    own = [EXCEPTIONS[key][0] for key in (spec.partition("@")[0], spec) if key in EXCEPTIONS]
    return BOUNDS | {measure: limits for each in own for measure, limits in each.items()}


def specs() -> Iterator[str]:
    """Every algorithm, and each of its presets that is not also a preset of CUBIC."""
    cubics = ALGORITHMS["cubic"]["preset_settings"]
    for name, algorithm in ALGORITHMS.items():
        yield name
        for preset, settings in algorithm["preset_settings"].items():
            if settings and (name == "cubic" or settings != cubics.get(preset)):
                yield f"{name}@{preset}"


def scenario(*flows: Flow, **fields) -> Scenario:
    """Flows on the link that all pages use."""
    settings = {
        "duration": f"{END_S}s",
        "rtt": "100ms",
        "bottleneck": {"rate": "100mbit", "buffer": "1bdp"},
        "flow": flows,
    }
    return Scenario.parse(settings | fields)


def link(spec: str) -> dict:
    """The link of the pages, for this algorithm: with marks if it needs them."""
    name = spec.partition("@")[0]
    if name not in MARKED_ABOVE:
        return {}
    queue = {"kind": "step", "threshold_packets": MARKED_ABOVE[name]}
    return {"bottleneck": {"rate": "100mbit", "buffer": "1bdp", "queue": queue}}


def flow(spec: str, **fields) -> Flow:
    """A flow with this algorithm; Prague's receivers count marks."""
    if spec.partition("@")[0] == "prague":
        fields["ecn"] = "accurate"
    return Flow(algorithm=spec, **fields)


def one_flow(spec: str, **fields) -> Result:
    return ackclock.run(scenario(flow(spec), **link(spec), **fields))


def two_flows(spec: str, **fields) -> Result:
    second = flow(spec, start=f"{JOINS_S}s", start_spread="1s")
    return ackclock.run(scenario(flow(spec), second, **link(spec), **fields))


@cache
def measured(spec: str, profile: str, seed: int) -> dict[str, float]:
    """A row of the table: one flow over the whole run, and two from SHARED_FROM_S on (`_2`)."""
    row: dict[str, Any] = {}
    for suffix, runs, start_s in (("", one_flow, 0), ("_2", two_flows, SHARED_FROM_S)):
        result = runs(spec, profile=profile, seed=seed)
        queues = result.queues.filter(pl.col("time_us") >= start_s * 1e6)
        sent, again = (
            int(result.flows[column].sum()) for column in ("sent_packets", "retransmitted_packets")
        )
        row |= {
            f"utilisation{suffix}": metrics.utilisation(result, start_s),
            f"queue{suffix}": queues["queue_packets"].mean(),
            f"retransmitted{suffix}": again / sent,
            f"timeouts{suffix}": result.flows["timeouts"].sum(),
        }
    last_s = result.queues["time_us"][-1] / 1e6
    shares = metrics.throughput_bps(result, [SHARED_FROM_S, last_s])[:, 0]
    row["jain_2"] = metrics.jain_index(shares)
    return row


def measured_row(label: str, spec: str, profile: str) -> str:
    """Means over SEEDS, as a row of Markdown."""
    runs = [measured(spec, profile, seed) for seed in SEEDS]
    mean = {key: float(np.mean([run[key] for run in runs])) for key in runs[0]}
    jain = [run["jain_2"] for run in runs]
    cells = [label]
    for suffix in ("", "_2"):
        cells += [
            f"{100 * mean[f'utilisation{suffix}']:.1f} %",
            f"{mean[f'queue{suffix}']:.0f}",
            f"{100 * mean[f'retransmitted{suffix}']:.2f} %",
        ]
    cells.append(f"{mean['jain_2']:.2f} ({min(jain):.2f} … {max(jain):.2f})")
    return "| " + " | ".join(cells) + " |"


def rows() -> Iterator[tuple[str, str, str]]:
    """Label, spec and hosts of each row: CUBIC's presets on both hosts, all else on today's."""
    for spec in specs():
        yield f"[`{spec}`]({spec.partition('@')[0]}.md)", spec, TODAY
        if spec.startswith("cubic@"):
            yield f"… on {OLD}", spec, OLD


TOP = """# The algorithms

This page compares all built-in congestion-control algorithms on one link. It is for readers who
choose an algorithm, or who want to know what to expect of one. Each algorithm has a page with its
growth curve, its parameters and its presets (`ackclock list NAME` shows the same text).

* [The list](#the-list)
* [How they fill and share a link](#how-they-fill-and-share-a-link)
* [Why some differ](#why-some-differ)

Main result: with one flow every algorithm but Westwood+, DCTCP, Prague and LEDBAT++ uses at least
93 % of the link. With two flows all use 100 %, BBR and LEDBAT++ 97 %, and Jain's index is at least
0.78, except for Binomial SQRT, Scalable TCP, DCTCP and CUBIC 2.0-pre.

Written by `make docs` (`scripts/algorithm_pages.py`) from the files in `algorithms/`.

## The list

| algorithm | |
|---|---|
"""
MEASURED = """
## How they fill and share a link

Link: 100 Mb/s, 100 ms, 1 BDP of buffer (833 packets), 120 s, hosts `linux-6`. Numbers are means of
5 seeds.

* One flow: the whole run, slow start included.
* Two flows of the same algorithm: the second starts after 20 to 21 s. Utilisation, queue and Jain's
  index are those of the last 60 s. Retransmissions are those of all 120 s.

{marked}

Queues are in packets. "Retransmitted" is a share of the packets sent. Jain's index has its smallest
and largest value in parentheses.

| | utilisation | queue | retransmitted | two: utilisation | queue | retransmitted | Jain |
|---|--:|--:|--:|--:|--:|--:|--:|
"""
EXCEPT = """
## Why some differ
"""


def marked_queue(name: str) -> str:
    return (
        f"{style.look(name).label} has a queue that marks above {MARKED_ABOVE[name]} packets, "
        "a seventh of the BDP (`step`)."
    )


def index(measured_row: Callable[[str, str, str], str] = measured_row) -> str:
    """`README.md`: every algorithm with a line, and the table."""
    lines = [
        f"| [{style.look(name).label}]({name}.md) | {algorithm['summary']} |"
        for name, algorithm in ALGORITHMS.items()
    ]
    table = [measured_row(*row) for row in rows()]
    notes = [f"* `{key}`: {why}" for key, (_, why) in EXCEPTIONS.items()]
    measured = MEASURED.format(marked=" ".join(map(marked_queue, MARKED_ABOVE)))
    return "\n".join([TOP + "\n".join(lines), measured + "\n".join(table), EXCEPT, *notes, ""])


def page(name: str) -> str:
    """`NAME.md`, without the picture."""
    algorithm = ALGORITHMS[name]
    label, path = style.look(name).label, algorithm["source"]
    dashed = "; dashed: its formula" * (name in (*CUBICS, *PER_RTT))
    sections = {"The algorithm": ["```text", algorithm["head"].expandtabs(), "```"]}
    if algorithm["params"]:
        rows = ["| parameter | default | range | meaning |", "|---|--:|---|---|"]
        for param in algorithm["params"]:
            limits = f"{param['min']} … {param['max']}"
            rows.append(f"| `{param['name']}` | {param['default']} | {limits} | {param['doc']} |")
        sections["Parameters"] = rows
    if algorithm["presets"]:
        rows = ["| preset | meaning | settings |", "|---|---|---|"]
        for preset, doc in algorithm["presets"].items():
            settings = algorithm["preset_settings"][preset].replace(",", ", ")
            settings = f"`{settings}`" if settings else "the defaults"
            rows.append(f"| `{name}@{preset}` | {doc} | {settings} |")
        sections["Presets"] = rows
    contents = [f"[{title}](#{title.lower().replace(' ', '-')})" for title in sections]
    lines = [
        f"# {label}",
        "",
        f"`{name}`: {algorithm['summary']}. How it grows, how two flows share a link, and what can",
        "be set.",
        "",
        " · ".join(
            [*contents, "[comparison with the others](README.md)", f"[source](../../{path})"]
        ),
        "",
        f"![{label}: growth after a loss, and two flows]({name}.svg)",
        "",
        f"*100 Mb/s, 100 ms, 1 BDP of buffer. Left: one flow's window between two losses{dashed}.",
        "Right: two flows; the second starts after 20 s.*",
    ]
    if name in MARKED_ABOVE:
        lines += ["", f"*{marked_queue(name)} Left: from one mark to the next.*"]
    for title, section in sections.items():
        lines += ["", f"## {title}", "", *section]
    lines += ["", f"Written by `make docs` from `{path}`."]
    return "\n".join(lines) + "\n"


class Growth(NamedTuple):
    """A flow's time between two losses, or from one on."""

    #: Since the loss; what 0 s is.
    times_s: np.ndarray
    cwnd: np.ndarray
    rtts_s: np.ndarray
    zero: str
    #: The window at the loss; None from a start on.
    w_max: float | None
    #: Whether the window was larger at the loss before it.
    lowers: bool


def since_a_loss(spec: str) -> Growth:
    """The longest time of a flow between two losses.

    For a flow without losses in steady state: the time since its last loss, or from its start.
    """
    result = one_flow(spec, duration=f"{GROWTH_END_S}s", sample_interval="50ms")
    kind = "cwr" if spec in MARKED_ABOVE else "recovery"
    losses = result.events.filter(kind=kind)
    losses_s = losses["time_us"].to_numpy() / 1e6
    steady = np.flatnonzero(losses_s >= STEADY_FROM_S)
    first = -1
    if len(steady) > 1:
        first = int(steady[np.diff(losses_s[steady]).argmax()])
        start_s, end_s = losses_s[first : first + 2]
        zero = "mark" if spec in MARKED_ABOVE else "loss"
    elif len(losses_s):
        first = len(losses_s) - 1
        start_s, end_s, zero = losses_s[-1], losses_s[-1] + 60, "last loss"
    else:
        start_s, end_s, zero = 0, 60, "start"
    before_s = 0.05 * (end_s - start_s)
    shown = result.samples.filter(
        pl.col("time_us").is_between((start_s - before_s) * 1e6, end_s * 1e6)
    )
    shown = shown.gather_every(max(1, len(shown) // 400))
    cwnd, rtts_us, times_us = (
        shown[column].to_numpy() for column in ("cwnd_packets", "srtt_us", "time_us")
    )
    windows = losses["cwnd_packets"].to_list()
    return Growth(
        times_us / 1e6 - start_s,
        cwnd,
        rtts_us / 1e6,
        zero,
        None if first < 0 else windows[first],
        first > 0 and windows[first] < windows[first - 1],
    )


#: CUBIC's, in Linux: C, and the part of the window that a loss leaves.
C, BETA = 0.4, 0.7


#: Algorithm → its growth per RTT in words, and of the window, packets. Others count ACKs, of which
#: there is one for two packets.
PER_RTT: dict[str, tuple[str, Callable[[float], float]]] = {
    **dict.fromkeys(("reno", "reno_abe", "westwood"), ("+1 per RTT", lambda _: 1)),
    "scalable": ("+W/100 per RTT", lambda window: window / 100),
}
CUBICS = ("cubic", "cubic_abe", "cubic_fc")


def formula(name: str, of: Growth) -> tuple[str, np.ndarray, np.ndarray] | None:
    """What an algorithm's formula has of the growth: its words, times and windows; None: no form.

    A growth per RTT is summed up over the RTTs that the flow measured, from its lowest window on.
    """
    since = of.times_s > 0
    times_s, cwnd, rtts_s = of.times_s[since], of.cwnd[since], of.rtts_s[since]
    if name in CUBICS and of.w_max:
        w_max = plateau(of)
        k_s = np.cbrt((w_max - BETA * of.w_max) / C)
        return "C (t − K)³ + W_max", times_s, C * (times_s - k_s) ** 3 + w_max
    if name not in PER_RTT:
        return None
    words, per_rtt = PER_RTT[name]
    lowest = int(cwnd[: len(cwnd) // 4].argmin())
    windows = [float(cwnd[lowest])]
    for step_s, rtt_s in zip(np.diff(times_s[lowest:]), rtts_s[lowest:], strict=False):
        windows.append(windows[-1] + per_rtt(windows[-1]) * step_s / rtt_s)
    return words, times_s[lowest:], np.array(windows)


def plateau(of: Growth) -> float:
    """CUBIC's W_max: fast convergence lowers it where the window was larger before."""
    assert of.w_max is not None
    return of.w_max * ((1 + BETA) / 2 if of.lowers else 1)


def picture(name: str) -> Figure:
    looks = style.look(name)
    with style.applied():
        figure = Figure(figsize=(8, 2.9))
        growth, sharing = figure.subplots(1, 2)
        own = since_a_loss(name)
        times_s = own.times_s
        if name != "reno":
            reno = since_a_loss("reno")
            early = reno.times_s <= times_s[-1]
            grey = {"color": style.look("reno").colour, "label": "standard TCP"}
            growth.plot(reno.times_s[early], reno.cwnd[early], **grey)
        growth.plot(times_s, own.cwnd, color=looks.colour, linewidth=1.6, label=looks.label)
        if found := formula(name, own):
            words, *curve = found
            growth.plot(*curve, color=style.INK, linewidth=0.9, linestyle="--", label=words)
        if own.w_max:
            w_max = plateau(own) if name in CUBICS else own.w_max
            growth.axhline(w_max, color=style.INK, linewidth=0.7, linestyle=":", label="W_max")
        growth.legend(loc="lower right", bbox_to_anchor=(1, 0.98), ncols=2, fontsize="x-small")
        growth.set_xlabel(f"time since the {own.zero} (s)")
        growth.set_ylabel("cwnd (packets)")
        growth.set_xlim(times_s[0], times_s[-1])
        growth.set_ylim(bottom=0)

        edges_s = np.arange(0, END_S)
        rates = metrics.throughput_bps(two_flows(name), edges_s) / 1e6
        for number, (rate, line) in enumerate(zip(rates, ("-", ":"), strict=True), 1):
            sharing.stairs(
                rate,
                edges_s,
                baseline=None,
                color=looks.colour,
                linestyle=line,
                linewidth=1.6,
                label=f"flow {number}",
            )
        sharing.set_xlabel("time (s)")
        sharing.set_ylabel("throughput (Mb/s)")
        sharing.set_xlim(0, END_S)
        sharing.set_ylim(0, 100)
        sharing.legend()
    return figure


def main(directory: Path) -> None:
    directory.mkdir(exist_ok=True)
    for name in ALGORITHMS:
        (directory / f"{name}.md").write_text(page(name), encoding="utf-8")
        with style.applied():
            picture(name).savefig(directory / f"{name}.svg", metadata={"Date": None})
    (directory / "README.md").write_text(index(), encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
