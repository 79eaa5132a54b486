"""The experiments of Cubic-FC: two flows of one algorithm, of which the second joins the first.

"Bandwidth of bottleneck link is 800Mbps, … and queue size is 100% BDP" (caption of figure 2). "We
use the drop-tail router at the bottleneck"; "for each scenario, we took at least 10 times and
calculated average value"; "RTT is varied from 50ms to 300ms"; "background traffic by Surge and
Iperf. The amount of background traffic is about 10% of the bandwidth bottleneck link in both
forward and backward directions" (section IV).
"""

from typing import Any, NamedTuple

from ackclock import Bottleneck, Flow, Result, Scenario, metrics, traffic
from ackclock.figures import Column, Experiment, Quantity, Variant, grid
from ackclock.papers import _converged as converged

CUBIC, CUBIC_FC = "cubic@linux-2.6.32", "cubic_fc@linux-2.6.32"
NAMES = {CUBIC: "CUBIC", CUBIC_FC: "Cubic-FC"}
RATE = "800mbit"
RTTS_MS = (50, 100, 150, 200, 300)
WITHOUT, WITH = "without background", "with background"
#: Flow 2's starts cover one cycle of flow 1, so that seeds meet it at any phase.
CYCLE = (85, 55)
SEEDS = 12
#: Table 2 gives the background: 772.2 - 685.2 Mb/s of payload in packets of 1500 bytes, of which
#: TCP has 52 of headers and UDP 28.
BACKGROUND = "90.1mbit"
#: How the flows share at the end of a run is that of this last part, s.
LAST_S = 100

ASSUMED = {
    "flow.algorithm": 'the CUBIC of the testbed\'s kernel, "Linux 2.6.32" (section IV.A)',
    "profile": "the testbed's kernel",
    "flow.3": "constant, as table 2 gives its rate; forward, the way of the bottleneck",
    "flow.start": '"flow 2 start at 100+x(s) (0<x<1)" meets flow 1 at one phase of its cycle; here '
    "its starts are 12 even parts of one cycle, from 85 to 140 s",
}


def scenario(
    algorithm: str, rtt_ms: int = 200, background: str = WITHOUT, kind: str = "constant"
) -> Scenario:
    """Two flows of one algorithm, and the background: constant, or sessions as Ha et al. had."""
    fields: dict[str, Any] = {}
    constant: tuple[Flow, ...] = ()
    if background == WITH and kind == "constant":
        constant = (Flow(algorithm="none", stack="udp", rate=BACKGROUND),)
    elif background == WITH:
        # Alone the sessions carry 15 % of the link, beside two flows that fill it about 10 %.
        fields["sessions"] = traffic.background(RATE, 0.15, CUBIC)
    return Scenario(
        duration="800s",
        rtt=f"{rtt_ms}ms",
        profile="linux-2.6.32",
        bottleneck=Bottleneck(rate=RATE, buffer="1bdp"),
        flows=(Flow(algorithm=algorithm), Flow(algorithm=algorithm, start="100s"), *constant),
        **fields,
    )


class Row(NamedTuple):
    """A run. Throughputs are of payload, from flow 2's start on."""

    #: Convergence (`papers._converged`) at 0.8, 0.9 and 0.95.
    convergence_s: float
    convergence_90_s: float
    convergence_95_s: float
    #: The first at 0.8, and what starts the first fair window; at the end of the run at the latest.
    settled_s: float
    first_fair_s: float
    throughput_1_mbps: float
    throughput_2_mbps: float
    difference_mbps: float
    total_mbps: float
    utilisation: float
    background_mbps: float
    #: Of the slower to the faster flow in the last 100 s.
    last_ratio: float


def row(result: Result) -> Row:
    """The two flows of a run."""
    both_s, end_s = metrics.last_start_s(result), metrics.duration_s(result)
    each = metrics.throughput_bps(result, [both_s, end_s])[:, 0] / 1e6
    first, second = each[:2].tolist()
    last = metrics.throughput_bps(result, [max(both_s, end_s - LAST_S), end_s])[:2, 0]
    sent_bytes = result.sessions.filter(direction="forward")["delivered_bytes"].to_numpy().sum()
    meets, meets_90, meets_95 = (
        converged.convergence_s(result, share, flows=(1, 2)) for share in converged.columns()
    )
    return Row(
        meets,
        meets_90,
        meets_95,
        float(meets),
        converged.first_fair_s(result, flows=(1, 2)),
        first,
        second,
        first - second,
        first + second,
        metrics.utilisation(result, both_s),
        float(each[2:].sum() + 8e-6 * sent_bytes / end_s),
        float(last.min() / last.max()),
    )


def _spec(preset: str) -> list[str]:
    return [f"{algorithm}@={preset}" for algorithm in ("cubic", "cubic_fc")]


VARIANTS = (
    Variant(
        "start of flow 2",
        "100 … 101 s, one phase",
        ["flow.2.start=100s", "flow.2.start_spread=1s"],
    ),
    # Without noise a drop-tail bottleneck has phase effects (Floyd and Jacobson, "On Traffic Phase
    # Effects in Packet-Switched Gateways", 1992) that no testbed has: hence the jitter.
    Variant("jitter", "none", ["jitter=0s"]),
    Variant("jitter", "10 packets", ["jitter=150us"]),
    Variant("TSO", "on", ["tso=true"]),
    Variant("buffer", "0.5 BDP", ["bottleneck.buffer=0.5bdp"]),
    Variant("buffer", "2 BDP", ["bottleneck.buffer=2bdp"]),
    Variant("CUBIC", "of distributions", _spec("linux-2.6.32-backports")),
    Variant("CUBIC", "of Ha et al. 2008", _spec("ha2008")),
    Variant("hosts", "linux-2.6.25", ["profile=linux-2.6.25"]),
    Variant("hosts", "linux-6", ["profile=linux-6"]),
)

#: Figures 2 and 5.
JOINING = Experiment(
    "two flows",
    grid(algorithm=[CUBIC, CUBIC_FC]),
    scenario,
    row,
    seeds=SEEDS,
    cycle=CYCLE,
    quick_seeds=2,
    variants=VARIANTS,
    assumed=ASSUMED,
    says={"algorithm": NAMES},
)


def _for_600_s(**point: Any) -> Scenario:
    """For figure 6: "flow 1 starts at 0(s) and ends at 600(s)"."""
    return scenario(**point).replace(duration="600s")


#: Figures 6 and 7, and table 2.
RTTS = Experiment(
    "RTTs",
    grid(background=[WITHOUT, WITH], rtt_ms=RTTS_MS, algorithm=[CUBIC, CUBIC_FC]),
    _for_600_s,
    row,
    seeds=SEEDS,
    cycle=CYCLE,
    quick=["duration=200s"],
    variants=(
        VARIANTS[0],
        Variant("background", "sessions, 15 % offered", arguments={"kind": "sessions"}),
    ),
    assumed=ASSUMED,
    says={"algorithm": NAMES, "rtt_ms": "{} ms"},
)


def gain(column: Column, **point: Any) -> Quantity:
    """That of CUBIC minus that of Cubic-FC, with the same seed."""
    both = column.at(algorithm=CUBIC, **point) - column.at(algorithm=CUBIC_FC, **point)
    where = column.experiment.say(
        column.experiment.the(algorithm=CUBIC, **point), without=["algorithm"]
    )
    return both.named(f"{column.name}, CUBIC − Cubic-FC{', ' + where if where else ''}")
