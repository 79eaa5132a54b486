"""Table 1: the versions of CUBIC.

"2.0-pre (2.6.13) … 2.0 (2.6.15) … 2.6.19: the original implementation of CUBIC has a scaling bug. …
2.1 (2.6.22): the original implementation of CUBIC clamped the maximum window increment to 32
packets per RTT. … CUBIC can safely remove this window clamping in the concave region. …
2.6.22-rc4: CUBIC improves slow start for fast start-up by removing initial_ssthresh. … 2.2
(2.6.25-rc3): the window clamping during the convex growth phase is also removed."

One flow of each version runs at 400 Mb/s and 162 ms. The slow starts of four short flows cost it
a loss while its window is small. Then it has the link for itself: first far above its last
maximum (convex), and after the next loss below its last maximum (concave). With a shorter RTT or
another buffer no version grows by 32 packets per RTT, and a clamp would not show. Nothing is
random, so a run is not repeated. On hosts of today (linux-6) the claim fails: these versions
count ACKs, as their kernels did, and so do not fit those hosts. All versions have the cube root
of 2.6.21 (Newton-Raphson); `make bench` has the older one.

The paper says that the clamp "was inherited to CUBIC for the first version" (section 1), but the
authors' patch, 2.0-pre, has none, as Leith et al. 2007 say: its growth is reported, not judged.
"""

from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from matplotlib.axes import Axes

from ackclock import Bottleneck, Flow, Result, Scenario, metrics
from ackclock.draw import style
from ackclock.figures import Claim, Column, Experiment, Figure, Part, Point, View, grid, plots
from ackclock.papers.ha2008 import _testbed as testbed

#: Preset → initial ssthresh of 100? growth clamped below Wmax? above Wmax?
VERSIONS = {
    "2.0-pre": (True, False, False),  # 2.6.13, the authors' patch
    "2.6.18.1": (True, True, True),  # 2.6.15 to 2.6.18.1, with the scaling bug
    "2.0": (True, True, True),  # 2.6.19 to 2.6.21
    "2.1": (True, False, True),  # 2.6.22
    "2.6.22-rc4": (False, False, True),  # 2.6.22-rc4 to 2.6.24
    "2.2": (False, False, False),  # 2.6.25
}
CLAMP_PACKETS = 32
INITIAL_SSTHRESH_PACKETS = 100
SOME_RTTS = 4


def _scenario(version: str) -> Scenario:
    others = Flow(algorithm=testbed.SACK, start="20s", size="10MB", count=4)
    return Scenario(
        duration="120s",
        rtt="162ms",
        profile=testbed.PROFILE,
        jitter="0s",
        bottleneck=Bottleneck(rate="400mbit", buffer="0.5bdp"),
        flows=(Flow(algorithm=f"cubic@{version}"), others),
    )


class Row(NamedTuple):
    """Flow 1: its initial ssthresh, and its largest growth per RTT."""

    initial_ssthresh_packets: float
    growth_below_packets: float
    growth_above_packets: float


def row(result: Result) -> Row:
    """Growth is a mean over some RTTs, because the growth of one RTT comes in bursts."""
    events = result.events.filter(flow=1)
    losses = events.filter(pl.col("kind") == "recovery")
    samples = metrics.regular_samples(result).filter(flow=1)
    time_s, cwnd, srtt_s, ssthresh = (
        samples[column].to_numpy().astype(float) / unit
        for column, unit in (
            ("time_us", 1e6),
            ("cwnd_packets", 1),
            ("srtt_us", 1e6),
            ("ssthresh_packets", 1),
        )
    )
    later_s = time_s + SOME_RTTS * srtt_s
    growth = (np.interp(later_s, time_s, cwnd) - cwnd) / SOME_RTTS
    below_w_max, above_w_max = [0.0], [0.0]
    edges_s = [*(losses["time_us"] / 1e6), metrics.duration_s(result)]
    for (start_s, stop_s), w_max in zip(pairwise(edges_s), losses["cwnd_packets"], strict=True):
        # From the end of the recovery to the next loss.
        inside = (time_s > start_s + 1) & (later_s < stop_s) & (cwnd > ssthresh)
        below_w_max.append(growth[inside & (cwnd < w_max)].max(initial=0))
        above_w_max.append(growth[inside & (cwnd >= w_max)].max(initial=0))
    return Row(
        float(events["ssthresh_packets"][0]), float(max(below_w_max)), float(max(above_w_max))
    )


ALONE = Experiment(
    "versions",
    grid(version=tuple(VERSIONS)),
    _scenario,
    row,
    seeds=1,
    variants=(testbed.TSO, testbed.TICK),
    assumed={"*": "the paper describes no runs here"},
    says={"version": "{}"},
)


def _paper(number: int) -> Callable[[Point], str]:
    words = (("none", "100"), (f"> {CLAMP_PACKETS}", f"≤ {CLAMP_PACKETS}"))
    return lambda point: words[number > 0][VERSIONS[point["version"]][number]]


COLUMNS = (
    Column(ALONE, "initial_ssthresh_packets", "initial ssthresh", "packets", _paper(0)),
    Column(ALONE, "growth_below_packets", "growth per RTT below Wmax", "packets", _paper(1)),
    Column(ALONE, "growth_above_packets", "growth per RTT above Wmax", "packets", _paper(2)),
)


def _parts(version: str) -> Iterator[Part]:
    judged = COLUMNS[:1] if version == "2.0-pre" else COLUMNS
    for number, (column, has_it) in enumerate(zip(judged, VERSIONS[version], strict=False)):
        of = column.at(version=version)
        if number == 0:
            starts = INITIAL_SSTHRESH_PACKETS
            yield of.within(starts, starts) if has_it else of.above(2**30)
        else:
            # The number of ACKs per packet is whole, so growth may be a tenth more.
            limit = 1.1 * CLAMP_PACKETS
            yield (of.below(limit) if has_it else of.above(limit)).ours


SCALING_BUG = COLUMNS[1].ratio(
    "growth per RTT below Wmax, with the scaling bug / without", version=("2.6.18.1", "2.0")
)


#: So that a curve is seen under another.
LINES = ["-", "-", (0, (6, 2)), (0, (3, 3)), (0, (6, 2, 1, 2)), ":"]


@plots.drawn(8, 3.4)
def _draw(axes: Axes, view: View) -> None:
    for version, colour, line in zip(VERSIONS, style.FLOWS, LINES, strict=False):
        samples = view.result(ALONE, version=version).samples.filter(flow=1)
        look: dict[str, Any] = {"color": colour, "linestyle": line, "label": version}
        axes.plot(samples["time_us"] / 1e6, samples["cwnd_packets"], **look)
    axes.set_xlabel("time (s)")
    axes.set_ylabel("cwnd (packets)")
    axes.set_ylim(bottom=0)
    axes.legend(title="CUBIC", ncols=2)


FIGURE = Figure(
    plot=_draw,
    quantities=[each for column in COLUMNS for each in column.everywhere()] + [SCALING_BUG],
    claims=[
        Claim(
            "ha2008.table1.versions",
            "Each version of CUBIC changed what table 1 says",
            [
                *(part for version in VERSIONS for part in _parts(version)),
                SCALING_BUG.below(0.5).ours,
            ],
            paper="as in the table",
            quote="“Table 1 summarizes important updates … on the implementation of CUBIC in "
            "Linux” (4.1)",
        )
    ],
)
