"""Figure 8: the increase functions after a missed drop, from the formulas.

"Cubic TCP increase function for the situation where the cwnd at last backoff is 10000 packets. The
y-axis is normalised so that the origin lies at the cwnd immediately after backoff, the dashed line
then marks the normalised cwnd at last backoff" (caption); the curves "correspond ... to the two
possible increase functions that can occur due to the adaptation of the inflection point". "For
comparison, also plotted is the increase function used by H-TCP ... on the right-hand side of the
plot, corresponding to the behaviour after missing a drop, the H-TCP cubic function is similar to
that of Cubic TCP", "slightly less aggressive" (section IV.C).

CUBIC is equation (1) with W_max = W and 0.9 W (section III, item 5). The figure's labels say 0.8 W
and 0.9 W, but the caption puts the inflection of the 0.8 W curve at the dashed line, which is W.
H-TCP grows by 2 (1 − β) (1 + 10 (Δ − 1) + (Δ − 1)²/4) per RTT, Δ in s since the back-off, and by
2 (1 − β) in the first second; with CUBIC's back-off, as in figure 9. Growth per RTT depends on the
RTT, which the figure does not give. Linux scales it by RTT / 100 ms (up to 200 ms), and then it
does not. The figure's time axis is not given either. So there is no verdict: the ratios are those
of the first 100 s. The picture has the paper's axes: linear, from the cwnd after the back-off, with
a dashed line at the cwnd before.
"""

from functools import partial

import numpy as np
from matplotlib.axes import Axes
from numpy.typing import NDArray

from ackclock.draw import style
from ackclock.figures import Claim, Figure, Part, Quantity, View, computed, plots

W_PACKETS = 10_000
B, C, BETA = 2.5, 0.4, 0.8
W_MAX_SHARES = (1.0, 0.9)
#: As the figure's labels name the curves.
CURVES = {1.0: "CUBIC, the paper's “W_max = 0.8 W”", 0.9: "CUBIC, the paper's “W_max = 0.9 W”"}
#: What the picture shows: both curves of CUBIC from the back-off to three times the growth to W.
SHOWN_S, SHOWN_PACKETS = 40, 6000
#: How H-TCP's growth depends on the RTT → the RTT whose growth it has, s.
RTTS_S = {"16 ms": 0.016, "80 ms": 0.08, "200 ms": 0.2, "with RTT scaling": 0.1}
Array = NDArray[np.float64]
TIMES_S = np.arange(0, 100.1, 0.1)


def cubic(w_max_share: float) -> Array:
    """Growth since the back-off by equation (1), packets; shape of `TIMES_S`."""
    w_max = w_max_share * W_PACKETS
    k_s = np.cbrt(B * (w_max - BETA * W_PACKETS))
    grown: Array = w_max + C * (TIMES_S - k_s) ** 3 - BETA * W_PACKETS
    return grown


def htcp(rtt_s: float) -> Array:
    """Growth of H-TCP since the back-off: the integral of its increase per RTT."""
    since_s = np.maximum(TIMES_S - 1, 0)
    alpha = 2 * (1 - BETA) * (1 + 10 * since_s + since_s**2 / 4)
    steps = (alpha[1:] + alpha[:-1]) / 2 * np.diff(TIMES_S) / rtt_s
    return np.concatenate([[0], np.cumsum(steps)])


def _ratios(w_max_share: float, rtt_s: float) -> Array:
    """H-TCP's growth over CUBIC's, where CUBIC is above W."""
    grown = cubic(w_max_share)
    beyond = grown > (1 - BETA) * W_PACKETS
    ratio: Array = htcp(rtt_s)[beyond] / grown[beyond]
    return ratio


def _quantities() -> list[Quantity]:
    ends = {"smallest": np.min, "largest": np.max}
    return [
        computed(
            f"H-TCP / CUBIC beyond W, W_max = {share:g} W, {rtt}, {which}",
            "",
            (),
            partial(lambda number, _: number, float(of(_ratios(share, rtt_s)))),
        ).beside("similar, slightly below 1")
        for share in W_MAX_SHARES
        for rtt, rtt_s in RTTS_S.items()
        for which, of in ends.items()
    ]


@plots.drawn(6, 4.2)
def _plot(axes: Axes, _view: View) -> None:
    for share, line in zip(W_MAX_SHARES, ("-", "--"), strict=True):
        label = CURVES[share]
        axes.plot(TIMES_S, cubic(share), line, color=style.look("cubic").colour, label=label)
    for (name, rtt_s), line in zip(RTTS_S.items(), (":", "--", "-.", "-"), strict=True):
        colour = style.look("htcp").colour
        axes.plot(TIMES_S, htcp(rtt_s), line, color=colour, label=f"H-TCP, {name}")
    axes.axhline((1 - BETA) * W_PACKETS, color=style.INK, linewidth=0.8, linestyle="--")
    axes.annotate(
        "cwnd at the last back-off", (SHOWN_S, (1 - BETA) * W_PACKETS), (-3, 3),
        textcoords="offset points", ha="right", fontsize="small",
    )  # fmt: skip
    axes.set_xlim(0, SHOWN_S)
    axes.set_ylim(0, SHOWN_PACKETS)
    axes.set_xlabel("time since back-off (s)")
    axes.set_ylabel("cwnd − cwnd after back-off (packets)")
    axes.legend(**{**plots.ABOVE, "ncols": 2})


FIGURE = Figure(
    plot=_plot,
    quantities=_quantities(),
    claims=[
        Claim(
            "leith2007.fig8.increase-functions",
            "After a missed drop H-TCP grows like CUBIC, slightly less aggressively",
            [Part(each) for each in _quantities()],
            paper="similar",
            quote="“the H-TCP cubic function is similar to that of Cubic TCP”, “slightly less "
            "aggressive” (IV.C)",
            reported=True,
        )
    ],
)
