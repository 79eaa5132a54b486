"""Random loss: BBR and CUBIC, by BBR's authors.

"If the packet loss rate is below 15% then BBR is able to fully utilize the path (reaching
link_bandwidth*(1 - loss_rate))". "Compared to Cubic, there is 2 to 4 orders of magnitude difference
on lossy environments. Example of 100ms rtt, and 1% packet loss": netperf for 30 s, 3.27 Mb/s with
CUBIC and 9150 Mb/s with BBR (mailing list bbr-dev, 2016). The link's rate is not said; we take
10 Gb/s.
"""

from typing import NamedTuple

from ackclock import Bottleneck, Flow, Result, Scenario, metrics
from ackclock.figures import Claim, Column, Experiment, Figure, Quantity, combined, grid, plots

BBR, CUBIC = "bbr", "cubic"
NAMES = {BBR: "BBR", CUBIC: "CUBIC"}
LOSSES = (0.001, 0.01, 0.05, 0.1)
EXAMPLE = {"rate_mbps": 10_000, "loss": 0.01}


def _scenario(algorithm: str, rate_mbps: int, loss: float) -> Scenario:
    return Scenario(
        duration="30s",
        rtt="100ms",
        bottleneck=Bottleneck(rate=f"{rate_mbps}mbit", buffer="1bdp", loss=loss),
        flows=(Flow(algorithm=algorithm, receive_window="1GiB"),),
    )


class Row(NamedTuple):
    """The whole run, as netperf counts it, and the second half."""

    mbps: float
    share: float


def row(result: Result) -> Row:
    """One flow."""
    end_s = metrics.duration_s(result)
    whole_bps, late_bps = (
        metrics.throughput_bps(result, [from_s, end_s])[0, 0] for from_s in (0, end_s / 2)
    )
    return Row(float(whole_bps / 1e6), float(late_bps / metrics.capacity_bps(result)))


LOSSY = Experiment(
    "a flow with random losses",
    [
        *grid(algorithm=list(NAMES), rate_mbps=[100], loss=LOSSES),
        *grid(algorithm=list(NAMES), rate_mbps=[10_000], loss=[0.01]),
    ],
    _scenario,
    row,
    seeds=5,
    assumed={"*": "the authors say no more", "duration": "", "rtt": ""},
    says={"algorithm": NAMES, "rate_mbps": "{} Mb/s", "loss": "loss of {:g}"},
)
RATE = Column(LOSSY, "mbps", "throughput", "Mb/s")
SHARE = Column(LOSSY, "share", "share of the link")
RATIO = RATE.ratio("throughput, BBR / CUBIC", algorithm=(BBR, CUBIC), **EXAMPLE).beside(9150 / 3.27)


def _of_arriving(algorithm: str, loss: float) -> Quantity:
    """Of the payload that the link carries and does not lose."""
    name = f"throughput over rate x (1 − loss), {NAMES[algorithm]}, loss of {loss:g}"
    share = SHARE.at(algorithm=algorithm, rate_mbps=100, loss=loss)
    return combined(name, "", [share], lambda each: each * (1 / (1 - loss)))


FIGURE = Figure(
    plot=plots.curves(
        {
            "100 Mb/s, 100 ms": {
                name: (plots.line_style(each), {loss: _of_arriving(each, loss) for loss in LOSSES})
                for each, name in NAMES.items()
            }
        },
        xlabel="loss rate",
        ylabel="throughput over rate x (1 − loss)",
        after=lambda axes: axes.set_xscale("log"),
    ),
    quantities=[
        *RATE.everywhere(),
        *(_of_arriving(each, loss) for each in NAMES for loss in LOSSES),
        RATIO,
    ],
    claims=[
        Claim(
            "standards.bbr.below-15-percent",
            "BBR reaches the link's rate times 1 − loss",
            [_of_arriving(BBR, loss).above(0.9).ours for loss in LOSSES],
            paper="1",
            quote="“below 15% then BBR is able to fully utilize the path” (bbr-dev)",
        ),
        Claim(
            "standards.bbr.orders",
            "With 1 % loss at 100 ms BBR gets 2 to 4 orders of magnitude more than CUBIC",
            [RATIO.within(1e2, 1e4)],
            paper="2798 (9150 / 3.27)",
            quote="“Compared to Cubic, there is 2 to 4 orders of magnitude difference on lossy "
            "environments” (bbr-dev)",
        ),
    ],
)
