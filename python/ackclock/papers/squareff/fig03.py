"""Figure 3: fairness index of two flows with different RTTs.

"The vertical axis of Fig. 3 depicts Jain's Fairness Index" of the runs of figure 2 (section III.A).
For CUBIC "Fairness Index declines as RTT difference grows"; with the third root "RTT fairness is
improved. However, the complete fairness is not obtained, especially with large RTT difference such
as RTT 2ms and 128ms" (III.C); SQUARE:FF "achieved much better fairness with large RTT difference
than standard CUBIC TCP and the straightforward method with third root of RTT. In the cases of
small RTTs, such as 2ms vs 4ms and 2ms vs 8ms, a little overshooting is detected. That is, the
larger RTT connection obtained higher throughput" (V).

netperf reports a whole run, so that the whole run is measured.
"""

from collections.abc import Callable, Mapping, Sequence
from math import log2
from typing import Any

from ackclock import Bottleneck, Scenario
from ackclock.figures import Check, Claim, Experiment, Figure, Part, Quantity, plots, slope
from ackclock.papers.squareff._experiments import (
    CBRT,
    CUBIC,
    JAIN,
    LATE_JAIN,
    LATE_RATIO,
    LOOKS,
    NAMES,
    RATIO,
    RTTS_MS,
    SQUARE,
    HasPoints,
    ratio,
    row,
    scenario,
)

#: A decline that counts, and an index that is not fully fair. Both are ours.
FALL, FULLY_FAIR = 0.05, 0.98


def _grows(jain: HasPoints) -> list[Part]:
    """The index falls, and by as much as one calls a decline."""
    by_octave = {log2(rtt / 2): jain.at(algorithm=CUBIC, rtt_ms=rtt) for rtt in RTTS_MS}
    near, far = (jain.at(algorithm=CUBIC, rtt_ms=rtt) for rtt in (RTTS_MS[0], RTTS_MS[-1]))
    return [
        slope("CUBIC's index per doubling of the RTT", "", by_octave).below(0),
        (near - far).named("CUBIC's index, 2 v 2 ms − 2 v 128 ms").above(FALL).ours,
    ]


def gain(jain: HasPoints, by: str, than: str, rtt_ms: int) -> Quantity:
    """How much higher the index is with one algorithm than with another, with the same seed."""
    a, b = (jain.at(algorithm=each, rtt_ms=rtt_ms) for each in (by, than))
    return (a - b).named(f"index of {NAMES[by]} − {NAMES[than]}, 2 v {rtt_ms} ms")


def _cbrt_better(jain: HasPoints) -> list[Part]:
    gains = [gain(jain, CBRT, CUBIC, rtt).above(0) for rtt in (32, 64, 128)]
    return [*gains, jain.at(algorithm=CBRT, rtt_ms=128).below(FULLY_FAIR).ours]


def _square_best(jain: HasPoints) -> list[Part]:
    return [gain(jain, SQUARE, other, rtt).above(0) for other in (CUBIC, CBRT) for rtt in (64, 128)]


def _overshoot(ratios: HasPoints) -> list[Part]:
    return [ratio(ratios, SQUARE, rtt).below(1) for rtt in (4, 8)]


#: Claim → its parts, of an index and a ratio over algorithm and RTT.
PARTS: Mapping[str, Callable[[HasPoints, HasPoints], list[Part]]] = {
    "grows": lambda jain, _: _grows(jain),
    "cbrt-better": lambda jain, _: _cbrt_better(jain),
    "square-best": lambda jain, _: _square_best(jain),
    "overshoot": lambda _, ratios: _overshoot(ratios),
}


#: On Linux: with a unit of 8 ms, and queues of one BDP of 128 ms.
_THERE = {
    algorithm.replace("reference_rtt_ms=1", "reference_rtt_ms=8"): name
    for algorithm, name in NAMES.items()
}


def _scaled(algorithm: str, rtt_ms: int) -> Scenario:
    return scenario(algorithm, rtt_ms).replace(
        duration="80s",
        profile="linux-6",
        bottleneck=Bottleneck(rate="100mbit", buffer="1067packets"),
    )


def _at_full_rate(algorithm: str, rtt_ms: int) -> Scenario:
    large = Bottleneck(rate="1gbit", buffer="10667packets")
    return scenario(algorithm, rtt_ms).replace(profile="linux-6", jitter="0s", bottleneck=large)


def _beside(
    name: str, of: Callable[..., Scenario], rtts_ms: Sequence[int], **says: str | Mapping[Any, str]
) -> Experiment:
    points = [{"algorithm": each, "rtt_ms": rtt} for rtt in rtts_ms for each in _THERE]
    return Experiment(name, points, of, row, says=says)


_QUANTITIES = {
    "throughput of flow 1 / flow 2": "late_ratio",
    "fairness index": "late_jain",
    "utilisation": "utilisation",
}


def _claim(name: str, says: str, *, paper: str, quote: str) -> Claim:
    """A claim by its `PARTS`, of whole runs and without their start."""
    whole, late = PARTS[name](JAIN, RATIO), PARTS[name](LATE_JAIN, LATE_RATIO)
    readings = {"without the first 20 s": late}
    return Claim(f"squareff.fig3.{name}", says, whole, readings, paper, quote)


_AT_128_MS = {each: f"{name}, 2 v 128 ms" for each, name in _THERE.items()}

FIGURE = Figure(
    plot=plots.curves(
        {"": plots.by(JAIN, "rtt_ms", "algorithm", NAMES, looks=LOOKS.__getitem__)},
        xlabel="RTT of flow 2 (ms); flow 1 has 2 ms",
        ylabel="Jain's fairness index",
        log_x=True,
        ylim=(0.5, 1.005),
        size=(8, 3.4),
    ),
    quantities=[
        *JAIN.everywhere(),
        *(part.quantity for part in _overshoot(RATIO)),
    ],
    claims=[
        _claim(
            "grows",
            "CUBIC's fairness index falls as the RTT difference grows",
            paper="declines",
            quote="“Fairness Index declines as RTT difference grows” (III.A)",
        ),
        _claim(
            "cbrt-better",
            "The third root is fairer than CUBIC, but not fully fair at 2 v 128 ms",
            paper="better, not fully",
            quote="“RTT fairness is improved. However, the complete fairness is not obtained, "
            "especially with large RTT difference” (III.C)",
        ),
        _claim(
            "square-best",
            "At large RTT differences SQUARE:FF is much fairer than CUBIC and than the third root",
            paper="much better",
            quote="“much better fairness with large RTT difference than standard CUBIC TCP and … "
            "third root of RTT” (V)",
        ),
        _claim(
            "overshoot",
            "SQUARE:FF at 2 v 4 and 2 v 8 ms: the flow with the larger RTT gets more",
            paper="larger RTT gets more",
            quote="“a little overshooting is detected. That is, the larger RTT connection "
            "obtained higher throughput” (V)",
        ),
    ],
    kernel=Check(
        setup="100 Mb/s instead of 1 Gb/s, a queue of 1067 packets, a unit of 8 ms. Runs of 80 s. "
        "The TCP around the algorithms is of today.",
        experiment=_beside("at 100 Mb/s", _scaled, (16, 128), algorithm=_THERE, rtt_ms="2 v {} ms"),
        quantities=_QUANTITIES,
    ),
    vlinux=Check(
        setup="1 Gb/s, a queue of 10667 packets, a unit of 8 ms, without jitter. "
        "The TCP around the algorithms is of today.",
        experiment=_beside("at 1 Gb/s", _at_full_rate, (128,), algorithm=_AT_128_MS),
        quantities=_QUANTITIES,
    ),
)
