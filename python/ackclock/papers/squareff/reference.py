"""How figure 3 depends on the unit of RTT and on the buffer, which the paper does not state.

"K = (W_max β / C)^⅓ / RTT^½" (equation 4) needs a unit of RTT: half the unit makes every K 0.7
times as long. The unit is the parameter `reference_rtt_ms`, the RTT at which K is CUBIC's. Here it
goes from 1 ms to 1 s, with a buffer of 2000 packets and with one BDP of 128 ms.
"""

from ackclock.figures import Column, Experiment, Figure, Quantity, geometric, grid, plots
from ackclock.papers.squareff._experiments import (
    ASSUMED,
    BDP,
    CBRT,
    CUBIC,
    LOOKS,
    NAMES,
    SMALL,
    SQUARE,
    row,
    scenario,
)

UNITS_MS = (1, 4, 8, 16, 128, 1000)
BUFFERS = {SMALL: "2000 packets", BDP: "1 BDP of 128 ms"}

UNITS = Experiment(
    "units of RTT",
    grid(buffer=list(BUFFERS), algorithm=list(NAMES), reference_ms=UNITS_MS, rtt_ms=[8, 128]),
    scenario,
    row,
    seeds=5,
    quick=["duration=30s"],
    assumed=ASSUMED,
    says={
        "algorithm": NAMES,
        "rtt_ms": "2 v {} ms",
        "buffer": BUFFERS,
        "reference_ms": "unit {} ms",
    },
)
JAIN = Column(UNITS, "jain", "fairness index")
RATIO = Column(UNITS, "ratio", "throughput of flow 1 / flow 2")


def _ratio(buffer: str, algorithm: str, unit_ms: int) -> Quantity:
    return geometric(RATIO.at(buffer=buffer, algorithm=algorithm, reference_ms=unit_ms, rtt_ms=8))


def _jain(buffer: str, algorithm: str, unit_ms: int) -> Quantity:
    return JAIN.at(buffer=buffer, algorithm=algorithm, reference_ms=unit_ms, rtt_ms=128)


FIGURE = Figure(
    plot=plots.curves(
        {
            f"{what}, {name}": {
                label: (
                    {**LOOKS[algorithm], "marker": "" if algorithm == CUBIC else "o"},
                    {unit: of(buffer, algorithm, unit) for unit in UNITS_MS},
                )
                for algorithm, label in NAMES.items()
            }
            for what, of in (("2 v 128 ms", _jain), ("2 v 8 ms", _ratio))
            for buffer, name in BUFFERS.items()
        },
        xlabel="unit of RTT (ms)",
        ylabel=["Jain's index", "Jain's index", "flow 1 / flow 2", "flow 1 / flow 2"],
        log_x=True,
        columns=2,
    ),
    quantities=[
        of(buffer, algorithm, unit)
        for of in (_jain, _ratio)
        for buffer in BUFFERS
        for algorithm in (CBRT, SQUARE)
        for unit in UNITS_MS
    ],
)
