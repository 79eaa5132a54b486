"""Figure 11: utilisation over the size of the buffer.

"Aggregate throughput of two competing Cubic TCP flows with 10Mbit/sec and 250Mbit/sec bottleneck
bandwidths. Both flows have end-to-end round-trip propagation delays of 100ms" (caption); the buffer
"is varied from 2.5% to 100% of the bandwidth-delay product". "In the case of a 10Mb/s link ... for
buffers sized about 5% BDP Cubic TCP achieves greater link utilisation than standard TCP"; at 250
Mb/s "for buffer sizes below 30% BDP the link utilisation achieved by Cubic TCP falls to around 50%
of link capacity and is significantly lower than the link utilisation achieved by standard TCP ...
this behaviour appears to be associated with the generation of large packet bursts" (section V).
"""

from typing import Any, NamedTuple

import polars as pl
from matplotlib.figure import Figure

from ackclock import Result, Scenario, metrics, stats, style
from ackclock.claims import Claim, Every, Measure
from ackclock.papers.leith2007 import _testbed as testbed

SEEDS, QUICK_SEEDS = testbed.SEEDS, testbed.QUICK_SEEDS
RTT_MS = 100
RATES_MBPS = (10, 250)
# assumed: the points between 2.5 and 100 %.
BUFFERS_PERCENT = (2.5, 5, 10, 20, 30, 50, 100)
ALGORITHMS = {
    testbed.CUBIC: ("CUBIC, Algorithm 1", "#0072B2", "o"),
    testbed.CUBIC_SOURCE: ("CUBIC, 2.6.18.2's source", "#56B4E9", "^"),
    testbed.RENO: ("standard TCP", "#999999", "s"),
}
# assumed: the flows start together. Measured from 100 s on, after slow start.
WARM_UP_S = 100


class Hosts(NamedTuple):
    """How the senders put packets on the wire."""

    label: str
    fields: dict[str, Any]


# The paper suspects bursts. Its hosts' network cards could send bursts of up to 64 KB (TSO, which
# Linux 2.6.18 turns on for e1000). The claims are judged without bursts; the figure shows both.
HOSTS = (
    Hosts("packet by packet", {}),
    Hosts("bursts of up to 64 KB", {"tso": True}),
    Hosts("paced", {"pacing": True}),
)
VARIANT_SEEDS = 5


def grid(seeds: testbed.Seeds) -> list[Scenario]:
    as_assumed = [
        scenario(rate, algorithm, percent, seed)
        for rate in RATES_MBPS
        for algorithm in ALGORITHMS
        for percent in BUFFERS_PERCENT
        for seed in seeds
    ]
    variants = [
        scenario(250, algorithm, percent, seed, **hosts.fields)
        for hosts in HOSTS[1:]
        for algorithm in ALGORITHMS
        for percent in BUFFERS_PERCENT
        for seed in seeds[:VARIANT_SEEDS]
    ]
    return as_assumed + variants


def quick_grid(seeds: testbed.Seeds) -> list[Scenario]:
    return testbed.shortened(grid(seeds), "200s")


def scenario(rate: int, algorithm: str, percent: float, seed: int, **fields: Any) -> Scenario:
    return testbed.scenario(
        rate,
        [algorithm] * 2,
        [RTT_MS] * 2,
        seed,
        starts_s=(0, 0),
        buffer=f"{percent / 100:g}bdp",
        **fields,
    )


def reduce(result: Result) -> dict[str, Any]:
    share = result.scenario.bottleneck.buffer.removesuffix("bdp")
    return testbed.describe(result) | {
        "algorithm": result.scenario.flows[0].algorithm,
        "hosts": next(each.label for each in HOSTS if each.fields == _switches(result.scenario)),
        "buffer_percent": 100 * float(share),
        "utilisation": metrics.utilisation(result, WARM_UP_S),
        "timeouts": int(result.flows["timeouts"].sum()),
    }


def _switches(of: Scenario) -> dict[str, Any]:
    switches = {"tso": of.tso, "pacing": of.pacing}
    return {name: value for name, value in switches.items() if value}


def at(
    rows: pl.DataFrame, rate: int, algorithm: str, percent: float, hosts: Hosts = HOSTS[0]
) -> pl.DataFrame:
    """The runs at a point, in the order of the seeds."""
    near = (pl.col("buffer_percent") - percent).abs() < 1e-6
    of_these = {"rate_mbps": rate, "algorithm": algorithm, "hosts": hosts.label}
    return rows.filter(near, **of_these).sort("seed")


def utilisation(
    rows: pl.DataFrame, rate: int, algorithm: str, percent: float, hosts: Hosts = HOSTS[0]
) -> stats.Estimate:
    return stats.mean_ci(at(rows, rate, algorithm, percent, hosts)["utilisation"].to_list())


def more_than_standard(
    rows: pl.DataFrame, rate: int, algorithm: str, percent: float
) -> stats.Estimate:
    """Utilisation minus that of standard TCP with the same seed."""
    a, b = (
        at(rows, rate, each, percent)["utilisation"].to_list() for each in (algorithm, testbed.RENO)
    )
    return stats.paired_difference(a, b)


def plot(rows: pl.DataFrame, load: testbed.Load) -> Figure:  # noqa: ARG001
    panels = [(10, HOSTS[0]), *((250, hosts) for hosts in HOSTS)]
    with style.applied():
        figure = Figure(figsize=(9, 6))
        grid_of_axes = figure.subplots(2, 2, sharey=True).flat
        for axes, (rate, hosts) in zip(grid_of_axes, panels, strict=True):
            for algorithm, (label, colour, marker) in ALGORITHMS.items():
                means = [utilisation(rows, rate, algorithm, x, hosts) for x in BUFFERS_PERCENT]
                axes.plot(
                    BUFFERS_PERCENT,
                    [100 * each.mean for each in means],
                    color=colour,
                    marker=marker,
                    markersize=4,
                    label=label,
                )
            axes.set_xscale("log")
            axes.set_xticks(BUFFERS_PERCENT, [f"{each:g}" for each in BUFFERS_PERCENT])
            axes.minorticks_off()
            axes.set_ylim(0, 103)
            axes.set_xlabel("buffer (% of the BDP)")
            axes.set_ylabel("utilisation (%)")
            axes.set_title(f"{rate} Mb/s, {hosts.label}", fontsize="small")
        axes.legend(fontsize="small")
    return figure


def measures(rows: pl.DataFrame) -> list[Measure]:
    papers = {(250, testbed.CUBIC): "≈ 0.5 below 30 %", (10, testbed.CUBIC): "more than standard"}
    return [
        Measure(
            f"utilisation, {rate} Mb/s, {hosts.label}, buffer {percent:g} %, {label}",
            "",
            utilisation(rows, rate, algorithm, percent, hosts),
            papers.get((rate, algorithm), ""),
        )
        for rate, hosts in [(10, HOSTS[0]), *((250, hosts) for hosts in HOSTS)]
        for algorithm, (label, _, _) in ALGORITHMS.items()
        for percent in BUFFERS_PERCENT
    ]


def claims(rows: pl.DataFrame) -> list[Claim | Every]:
    return [claim for reading in testbed.SUFFIX for claim in _claims(rows, reading)]


def _claims(rows: pl.DataFrame, reading: str) -> list[Claim | Every]:
    at_10 = [
        Claim(
            f"{percent:g} % (CUBIC − standard)",
            "",
            more_than_standard(rows, 10, reading, percent),
            "",
            low=0,
        )
        for percent in BUFFERS_PERCENT
        if percent >= 5
    ]
    at_250 = [
        Claim(
            f"{percent:g} % (CUBIC − standard)",
            "",
            more_than_standard(rows, 250, reading, percent),
            "",
            high=0,
        )
        for percent in BUFFERS_PERCENT
        if percent < 30
    ]
    return [
        Every(
            "leith2007.fig11.util-10M" + testbed.SUFFIX[reading],
            "At 10 Mb/s and with buffers from 5 % of the BDP on CUBIC uses more than standard TCP",
            at_10,
        ),
        Every(
            "leith2007.fig11.util-250M" + testbed.SUFFIX[reading],
            "At 250 Mb/s and with buffers below 30 % CUBIC uses ≈ 50 %, less than standard TCP",
            at_250,
        ),
    ]
