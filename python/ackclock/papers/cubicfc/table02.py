"""Table II: total throughput.

"Table II shows the compare of total throughput of two mechanisms. [...] in the environment without
background traffic, the maximum decrement of total throughput is only 0.098%, and the average value
is only 0.014%; in the environment with background traffic, these two values are 0.63% and 0.46%,
respectively" (section IV.C), in the runs of figure 6. Throughputs are measured from flow 2's start
on: over the whole run their sum would exceed the 772 Mb/s of payload that the link carries.
"""

from ackclock.draw import style
from ackclock.figures import Claim, Column, Figure, Part, Point, Quantity, combined, mean_of, plots
from ackclock.papers.cubicfc._experiments import (
    CUBIC,
    CUBIC_FC,
    RTTS,
    RTTS_MS,
    WITH,
    WITHOUT,
)

#: The paper's table, Mb/s.
PAPER = {
    (WITHOUT, CUBIC): (772.173, 772.259, 772.590, 772.334, 772.814),
    (WITHOUT, CUBIC_FC): (772.058, 772.062, 772.181, 772.135, 772.057),
    (WITH, CUBIC): (685.203, 685.680, 686.053, 684.754, 683.844),
    (WITH, CUBIC_FC): (680.896, 681.452, 683.176, 681.869, 682.086),
}
#: Largest loss that is not a "serious impact", percent.
LARGEST_LOSS_PERCENT = {WITHOUT: 0.2, WITH: 1}


def _paper(point: Point) -> float:
    return PAPER[point["background"], point["algorithm"]][RTTS_MS.index(point["rtt_ms"])]


#: How near a total is the paper's, as a part of it: ours.
NEAR = 0.01
TOTAL = Column(RTTS, "total_mbps", "total throughput", "Mb/s", _paper)
BACKGROUND = Column(RTTS, "background_mbps", "the background's throughput", "Mb/s", "≈ 87 Mb/s")


def loss(background: str, rtt_ms: int) -> Quantity:
    """Share of CUBIC's total throughput that Cubic-FC loses, percent, with the same seed."""
    cubic, cubic_fc = (
        TOTAL.at(background=background, rtt_ms=rtt_ms, algorithm=each) for each in (CUBIC, CUBIC_FC)
    )
    name = f"throughput that Cubic-FC loses, {background}, {rtt_ms} ms"
    index = RTTS_MS.index(rtt_ms)
    paper = 100 * (1 - PAPER[background, CUBIC_FC][index] / PAPER[background, CUBIC][index])
    of_it = combined(
        name, "%", [cubic, cubic_fc], lambda a, b: (b.log() - a.log()).exp() * -100 + 100
    )
    return of_it.beside(paper)


MEAN_LOSS = mean_of(
    "throughput that Cubic-FC loses, with background, mean", [loss(WITH, rtt) for rtt in RTTS_MS]
).beside(0.46)

FIGURE = Figure(
    plot=plots.curves(
        {
            "": {
                background: (
                    {"color": colour, "marker": marker, "fillstyle": "none"},
                    {rtt: loss(background, rtt) for rtt in RTTS_MS},
                )
                # Both are at zero.
                for background, colour, marker in zip(
                    (WITHOUT, WITH), style.FLOWS, "so", strict=False
                )
            }
        },
        xlabel="RTT (ms)",
        ylabel="throughput that Cubic-FC loses (%)",
        size=(7, 3.4),
    ),
    quantities=[
        *TOTAL.everywhere(),
        *BACKGROUND.everywhere(background=WITH),
        *(loss(background, rtt) for background in (WITHOUT, WITH) for rtt in RTTS_MS),
        MEAN_LOSS,
    ],
    claims=[
        Claim(
            "cubicfc.table2.totals",
            "The ten totals with background are those of the table",
            [
                TOTAL.at(**point).within((1 - NEAR) * paper, (1 + NEAR) * paper).ours
                for point in RTTS.where(background=WITH)
                for paper in [_paper(point)]
            ],
            paper="table 2",
            quote="“Total Throughput (Mbps)”, “With background traffic” (table 2)",
        ),
        Claim(
            "cubicfc.table2.throughput",
            "Cubic-FC loses at most 0.1 % of CUBIC's total throughput, and 0.65 % with background",
            [
                loss(background, rtt).beside("").below(LARGEST_LOSS_PERCENT[background]).ours
                for background in (WITHOUT, WITH)
                for rtt in RTTS_MS
            ],
            paper="≤ 0.1 %; ≤ 0.65 %",
            quote="“The maximum decrement of total throughput is only 0.098%”, with background "
            "“0.63%” (IV.C)",
        ),
        Claim(
            "cubicfc.table2.mean-loss",
            "Throughput that Cubic-FC loses with background, mean over the RTTs",
            [Part(MEAN_LOSS)],
            paper="0.46 %",
            quote="“The average value”, with background traffic, is “0.46%” (IV.C)",
            reported=True,
        ),
    ],
)
