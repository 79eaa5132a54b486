"""Figure 5: how long a download takes, alone and beside one long-lived flow.

"Completion time vs connection size for (i) baseline case with no competing flows and (ii) with a
competing long-lived flow. Measurements are shown for standard TCP, Cubic-TCP and H-TCP. Bandwidth
is 250 Mbit/sec, RTT is 50ms, queue size 100% BDP" (caption). "In the baseline situation, Cubic-TCP,
standard TCP and H-TCP all exhibit similar completion times ... the completion time of the
short-lived flow approximately doubles with H-TCP ... the completion time for the short-lived flow
increases by more than a factor of four [with CUBIC] ... the completion time [with standard TCP] is
essentially the same", and "the throughput of the long-lived flow is much lower (by a factor 5)
compared with that of the long-lived flow when using H-TCP [...] very slow to regain throughput
following losses induced by startup of a short-lived flow" (section IV.B).

Each test ran for ten minutes, and the long flow suffers from earlier downloads: they repeat. The
first 60 s are left out. Alone, a CUBIC download takes as long as the others only if it does not
begin with CUBIC's ssthresh of 100 packets: here downloads begin without it.
"""

from typing import NamedTuple

import numpy as np
from matplotlib.axes import Axes

from ackclock import Flow, Result, Scenario, Session, metrics
from ackclock.figures import (
    AtLeast,
    Claim,
    Column,
    Experiment,
    Figure,
    Part,
    Quantity,
    Variant,
    grid,
    mean_of,
    plots,
)
from ackclock.papers.leith2007 import _testbed as testbed
from ackclock.papers.leith2007._testbed import CUBIC, HTCP, NAMES, RENO

RTT = "50ms"
SIZES_MB = (2, 5, 20, 50, 100)
LARGE_MB = tuple(size for size in SIZES_MB if size >= 20)
WARM_UP_S = 60
ALONE, BESIDE = "alone", "beside a long flow"
PAPER = {RENO: 1, CUBIC: 4, HTCP: 2}
SAID = {RENO: "≈ 1", CUBIC: "> 4", HTCP: "≈ 2"}


def _scenario(
    algorithm: str, where: str, size_mb: int, ssthresh_packets: int = 0, repeated: bool = True
) -> Scenario:
    """Downloads that repeat, or one that begins after 100 to 200 s.

    `ssthresh_packets` is that with which CUBIC's downloads begin; 0: no limit.
    """
    of_download = algorithm
    if algorithm == CUBIC:
        of_download += f"{',' if ':' in CUBIC else ':'}initial_ssthresh={ssthresh_packets}"
    size = f"{size_mb}MB"
    one = Flow(algorithm=of_download, size=size, start="100s", start_spread="100s")
    return testbed.hosts(
        rtt=RTT,
        bottleneck=testbed.pipe(250),
        flows=(Flow(algorithm=algorithm),) * (where == BESIDE) + (one,) * (not repeated),
        sessions=(Session(algorithm=of_download, size=size, gap="10s"),) * repeated,
    )


class Row(NamedTuple):
    """A run after its first 60 s."""

    #: Median of the downloads.
    completion_s: float
    downloads: int
    #: Throughput of the long flow.
    long_mbps: float | None


def row(result: Result) -> Row:
    """The downloads' completion times and the long flow's throughput."""
    end_s = metrics.duration_s(result)
    table = result.transfers if result.scenario.sessions else result.flows[-1:]
    late = table.filter(table["start_us"] >= WARM_UP_S * 1e6)
    start_s, stop_s = late["start_us"].to_numpy() / 1e6, late["completed_us"].to_numpy() / 1e6
    # One that the end of the run cut off counts as slow.
    median_s = float(np.median(np.where(stop_s == 0, np.inf, stop_s - start_s)))
    beside = len(result.flows) + len(result.scenario.sessions) > 1
    return Row(
        AtLeast(end_s - start_s[0]) if np.isinf(median_s) else median_s,
        len(start_s),
        testbed.last_throughputs_mbps(result, WARM_UP_S)[0] if beside else None,
    )


DOWNLOADS = Experiment(
    "downloads",
    grid(algorithm=[RENO, CUBIC, HTCP], where=[ALONE, BESIDE], size_mb=SIZES_MB),
    _scenario,
    row,
    quick=["duration=240s"],
    quick_points=grid(algorithm=[RENO, CUBIC, HTCP], where=[ALONE, BESIDE], size_mb=LARGE_MB),
    variants=(
        *testbed.OPEN,
        *testbed.BUFFERS,
        Variant("pause", "1 s", ["session.gap=1s"]),
        Variant("pause", "15 s", ["session.gap=15s"]),
        Variant("pause", "30 s", ["session.gap=30s"]),
        Variant("ssthresh of CUBIC downloads", "100 packets", arguments={"ssthresh_packets": 100}),
        Variant("ssthresh of downloads", "what the route keeps", ["session.route_ssthresh=true"]),
        Variant("downloads", "one in a run", arguments={"repeated": False}),
    ),
    assumed=testbed.ASSUMED
    | {
        "session": "one session repeats downloads of one size",
        "session.algorithm": "without CUBIC's initial ssthresh, so that baselines are alike",
        "session.gap": "exponential pauses of 10 s in the mean",
        "session.size": "the figure's sizes are not given",
    },
    says={"algorithm": NAMES, "where": "{}", "size_mb": "{} MB"},
)
COMPLETION = Column(DOWNLOADS, "completion_s", "median completion time", "s")
LONG = Column(DOWNLOADS, "long_mbps", "throughput of the long flow", "Mb/s")


def _slower(algorithm: str, size_mb: int) -> Quantity:
    """Completion time beside the long flow over that alone."""
    name = f"completion beside a long flow / alone, {NAMES[algorithm]}, {size_mb} MB"
    at = {"algorithm": algorithm, "size_mb": size_mb}
    return COMPLETION.ratio(name, where=(BESIDE, ALONE), **at).beside(PAPER[algorithm])


def _slower_of_large(algorithm: str) -> Quantity:
    name = f"completion beside a long flow / alone, {NAMES[algorithm]}, from 20 MB on"
    return mean_of(name, [_slower(algorithm, size) for size in LARGE_MB]).beside(PAPER[algorithm])


def _long_htcp_over_standard(size_mb: int) -> Quantity:
    name = f"long flow's throughput, H-TCP / standard, {size_mb} MB"
    return LONG.ratio(name, algorithm=(HTCP, RENO), where=BESIDE, size_mb=size_mb)


LONG_RATIO = mean_of(
    "long flow's throughput, H-TCP / standard, from 20 MB on",
    [_long_htcp_over_standard(size) for size in LARGE_MB],
).beside(5)

_PARTS = [
    _slower_of_large(HTCP).within(1.5, 3).ours,
    _slower_of_large(CUBIC).above(3).ours,
    _slower_of_large(RENO).below(1.5).ours,
    LONG_RATIO.within(3, 8).ours,
]


def _at(size_mb: int) -> list[Part]:
    """The same with downloads of one size."""
    return [
        _slower(HTCP, size_mb).within(1.5, 3).ours,
        _slower(CUBIC, size_mb).above(3).ours,
        _slower(RENO, size_mb).below(1.5).ours,
        _long_htcp_over_standard(size_mb).within(3, 8).ours,
    ]


def _completion(where: str) -> plots.Curves:
    return plots.by(
        COMPLETION, "size_mb", "algorithm", NAMES, as_drawn=Quantity.geometric, where=where
    )


def _paper(axes: Axes) -> None:
    """The paper's factors, in the panel that has ours."""
    if axes.get_ylabel() == "times slower":
        for algorithm, number in PAPER.items():
            colour = plots.line_style(algorithm)["color"]
            plots.by_paper(axes, number, SAID[algorithm], colour, beside=True)


FIGURE = Figure(
    plot=plots.curves(
        {
            ALONE: _completion(ALONE),
            BESIDE: _completion(BESIDE),
            f"{BESIDE} / {ALONE}": {
                name: (plots.line_style(algorithm), {mb: _slower(algorithm, mb) for mb in SIZES_MB})
                for algorithm, name in NAMES.items()
            },
        },
        xlabel="size (MB)",
        ylabel=["median completion time (s)"] * 2 + ["times slower"],
        log_x=True,
        log_y=True,
        columns=3,
        after=_paper,
    ),
    quantities=[
        *(part.quantity for part in _PARTS),
        *(_slower(algorithm, size) for algorithm in NAMES for size in SIZES_MB),
        *(_long_htcp_over_standard(size) for size in SIZES_MB),
        *COMPLETION.everywhere(where=ALONE),
        *LONG.everywhere(where=BESIDE),
    ],
    claims=[
        Claim(
            "leith2007.fig5.short-flow",
            "Beside a long flow a download takes 2 × as long with H-TCP, more than 4 × with CUBIC",
            _PARTS,
            paper="> 4; ≈ 2; ≈ 1; 5",
            quote="“the completion time of the short-lived flow approximately doubles with "
            "H-TCP”; with CUBIC it “increases by more than a factor of four” (IV.B)",
            readings={f"downloads of {size} MB": _at(size) for size in LARGE_MB},
        )
    ],
)
