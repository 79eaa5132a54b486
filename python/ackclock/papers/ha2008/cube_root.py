"""Table 1: what CUBIC's cube root costs.

"The cubic root calculation in CUBIC, originally implemented in the bisection method, is now
replaced by a Newton-Raphson method with table lookups for small values. This results in more than
10 times performance improvement in the cubic root calculation. On average, the bisection method
costs 1032 clocks while the improved version costs only 79 clocks" (table 1, 2.6.21).

Not simulated: `make bench` runs both, in the kernel's form of the time, as programs for 32-bit x86
(the machines of 2008, where a 64-bit division is a routine) and for 64 bits. The figure shows kept
measurements (cube_root.json, which ACKCLOCK_WRITE_CUBE_ROOT=1 writes), so that it is the same on
every machine. Judged are instructions, and how much the running time varies: the standard deviation
of the clocks over a thousand arguments. Clocks themselves are those of a processor of 2007.
"""

import json
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.axes import Axes

from ackclock import stats
from ackclock.draw import style
from ackclock.figures import Claim, Figure, Part, Quantity, View, computed, plots

MEASURED = json.loads(Path(__file__).with_suffix(".json").read_text(encoding="utf-8"))
#: Label of a build → what was measured of it.
BUILDS: dict[str, dict[str, Any]] = {
    f"{each['compiler']}, {each['bits']} bits": each for each in MEASURED["builds"]
}
METHODS = {"bisection": "bisection", "newton": "table and Newton–Raphson"}
UNITS = ("clocks", "instructions")
#: The paper's, clocks.
PAPER = {"bisection": 1032, "newton": 79}


def _clocks(build: str, method: str) -> Quantity:
    values = [float(each) for each in BUILDS[build][f"{method}_clocks"]]
    name = f"{METHODS[method]}, {build}"
    return computed(name, "clocks", (), lambda _: stats.mean_ci(values)).beside(PAPER[method])


def _ratio(build: str, unit: str) -> Quantity:
    """Bisection over Newton–Raphson."""
    a, b = (np.atleast_1d(BUILDS[build][f"{method}_{unit}"]).astype(float) for method in METHODS)
    name = f"bisection / Newton–Raphson in {unit}, {build}"
    ratios = (a / b).tolist()
    found = stats.exact(ratios[0]) if len(ratios) == 1 else stats.mean_ci(ratios)
    return computed(name, "", (), lambda _: found).beside(10)


def _deviation(build: str, method: str) -> list[float]:
    """Over a thousand arguments, clocks; of each repetition."""
    return [float(each) for each in BUILDS[build][f"{method}_deviation"]]


def _variance(build: str) -> Quantity:
    """That of Newton–Raphson over that of bisection."""
    pairs = zip(_deviation(build, "newton"), _deviation(build, "bisection"), strict=True)
    found = stats.mean_ci([(newton / bisection) ** 2 for newton, bisection in pairs])
    name = f"variance of the clocks, Newton–Raphson / bisection, {build}"
    return computed(name, "", (), lambda _: found).beside("< 1")


@plots.drawn(7, 0.8 + 0.45 * len(BUILDS))
def _draw(axes: Axes, view: View) -> None:
    for shift, (method, label) in enumerate(METHODS.items()):
        found = [view.estimate(_clocks(build, method)) for build in BUILDS]
        means = [0.0 if each is None else each.mean for each in found]
        at = [y + 0.35 * shift - 0.17 for y in range(len(BUILDS))]
        axes.barh(at, means, height=0.33, color=style.FLOWS[shift], label=label)
        axes.axvline(PAPER[method], color=style.FLOWS[shift], linestyle=":", linewidth=1)
        axes.annotate(
            f"{PAPER[method]}", (PAPER[method], 1), (0, 2), ("data", "axes fraction"),
            textcoords="offset points", ha="center", va="bottom", color=style.FLOWS[shift],
        )  # fmt: skip
    axes.set_yticks(range(len(BUILDS)), list(BUILDS))
    axes.invert_yaxis()
    axes.set_xlabel(f"clocks per root ({MEASURED['processor']}); dotted: the paper")
    axes.legend(fontsize="small")


def _fewer(bits: int) -> list[Part]:
    """At least 9 times fewer instructions: "almost by 10 times" (section 1); less variance."""
    builds = [build for build, each in BUILDS.items() if each["bits"] == bits]
    return [
        *(_ratio(build, "instructions").above(9).ours for build in builds),
        *(_variance(build).below(1) for build in builds),
    ]


FIGURE = Figure(
    plot=_draw,
    quantities=[
        *(_clocks(build, method) for build in BUILDS for method in METHODS),
        *(_ratio(build, unit) for build in BUILDS for unit in UNITS),
        *map(_variance, BUILDS),
    ],
    claims=[
        Claim(
            "ha2008.table1.cube-root",
            "A cube root by table and Newton–Raphson takes almost 10 × fewer instructions, and its "
            "time varies less",
            _fewer(32),
            paper="≈ 10; less",
            quote="“improves the running time by more than 10 times on average … and reduces the "
            "variance in running times” (4.1)",
            hardware=True,
            readings={"64 bits": _fewer(64)},
        ),
        Claim(
            "ha2008.table1.cube-root-clocks",
            "On average bisection costs 1032 clocks, the improved version 79",
            [],
            paper="1032; 79 clocks",
            quote="“On average, the bisection method costs 1032 clocks while the improved version "
            "costs only 79 clocks” (table 1)",
            hardware=True,
            untestable="clocks are those of a processor of 2007",
        ),
    ],
)
