"""Section 6.4: up to which window BIC and HSTCP behave as standard TCP.

"BIC-TCP and HSTCP enter their TCP mode when the window size is less than 14 and 38 packets,
respectively. Therefore, even with 1ms RTT, if BDP is larger than 38 packets, HSTCP will operate in
a scalable mode" (section 6.4).

The paper shows no runs. One flow at 1 ms loses one packet in every 1/p, as in figure 3. p is that
at which standard TCP's largest window is a share of 14 or 38 packets: (8 / 3p)^½. Judged are three
quarters of it and twice as much. Nothing is random, so a run is not repeated.
"""

from collections.abc import Mapping
from typing import NamedTuple

from matplotlib.axes import Axes

from ackclock import Result, Scenario
from ackclock.figures import Claim, Column, Either, Experiment, Figure, Quantity, Variant, plots
from ackclock.papers.ha2008 import _testbed as testbed
from ackclock.papers.ha2008._testbed import BIC, HSTCP, NAMES, SACK
from ackclock.studies import response

#: The window up to which each is in its TCP mode.
MODES = {BIC: 14, HSTCP: 38}
#: The largest window of standard TCP, of that.
SHARES = (0.5, 0.75, 1.5, 2, 3, 5)
BELOW, BEYOND = 0.75, 2
#: Windows that are the same, and those that are not.
ALIKE = (0.9, 1.1)


def _scenario(algorithm: str, mode: int, share: float, rtt_ms: int = 1) -> Scenario:
    largest = share * mode
    rate = 8 / 3 / largest**2
    return response.scenario(algorithm, rate, f"{rtt_ms}ms", profile=testbed.PROFILE)


class Row(NamedTuple):
    """A run."""

    mean_packets: float


def row(result: Result) -> Row:
    """The mean window over the last quarter of the losses."""
    return Row(response.window(result).mean_packets)


MEANS = Experiment(
    "TCP mode",
    [
        {"algorithm": algorithm, "mode": mode, "share": share}
        for of, mode in MODES.items()
        for algorithm in (of, SACK)
        for share in SHARES
    ],
    _scenario,
    row,
    seeds=1,
    variants=(
        Variant("RTT", "10 ms", arguments={"rtt_ms": 10}),
        Variant("RTT", "100 ms", arguments={"rtt_ms": 100}),
        Variant("ACKs", "one for 2 packets", ["delayed_ack_segments=2"]),
        *testbed.HOSTS,
    ),
    assumed={"*": "the paper describes no runs here"},
    says={"algorithm": NAMES, "mode": "{} packets", "share": "× {:g}"},
)
WINDOW = Column(MEANS, "mean_packets", "mean window", "packets")


def _of_sack(algorithm: str, share: float) -> Quantity:
    """The mean window of an algorithm over that of standard TCP."""
    mode = MODES[algorithm]
    name = f"mean window, {NAMES[algorithm]} / SACK, largest {share:g} × {mode} packets"
    return WINDOW.ratio(name, algorithm=(algorithm, SACK), mode=mode, share=share)


def _curves() -> Mapping[str, tuple[dict[str, object], dict[float, Quantity]]]:
    """Each over the largest window of standard TCP."""
    return {
        NAMES[each]: (
            plots.line_style(each),
            {mode * share: _of_sack(each, share) for share in SHARES},
        )
        for each, mode in MODES.items()
    }


def _paper(axes: Axes) -> None:
    """Where the paper has the modes end."""
    axes.set_xticks([7, *MODES.values(), 76, 190], ["7", *map(str, MODES.values()), "76", "190"])
    for algorithm, mode in MODES.items():
        look = {"color": plots.line_style(algorithm)["color"], "linestyle": "--", "linewidth": 0.9}
        axes.axvline(mode, **look)
        axes.annotate(
            f"the paper: {NAMES[algorithm]} to {mode}",
            (mode, 0.02),
            xycoords=("data", "axes fraction"),
            xytext=(3, 0),
            textcoords="offset points",
            fontsize="small",
            color=look["color"],
        )


FIGURE = Figure(
    plot=plots.curves(
        {"": _curves()},
        xlabel="largest window of standard TCP (packets)",
        ylabel="mean window / standard TCP's",
        log_x=True,
        ylim=(0, None),
        size=(7, 3.4),
        after=_paper,
    ),
    quantities=[_of_sack(each, share) for each in MODES for share in SHARES],
    claims=[
        Claim(
            "ha2008.s6.tcp-mode",
            "Up to 14 packets BIC, up to 38 HSTCP is as SACK; beyond, HSTCP is more aggressive, "
            "even with 1 ms",
            [
                *(_of_sack(each, BELOW).within(*ALIKE).ours for each in MODES),
                Either(
                    f"mean window, BIC / SACK, largest {BEYOND} × {MODES[BIC]} packets",
                    [
                        _of_sack(BIC, BEYOND).below(ALIKE[0]).ours,
                        _of_sack(BIC, BEYOND).above(ALIKE[1]).ours,
                    ],
                ),
                _of_sack(HSTCP, BEYOND).above(1),
            ],
            paper="14; 38 packets",
            quote="“BIC-TCP and HSTCP enter their TCP mode when the window size is less than 14 "
            "and 38 packets” (6.4)",
        )
    ],
)
