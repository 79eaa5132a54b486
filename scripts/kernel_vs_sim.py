"""Compares the simulator with this machine's TCP stack on six scenarios.

`python scripts/kernel_vs_sim.py DIRECTORY` (root, about an hour) writes linux/kernel.csv and the
page linux.md. It keeps each kernel run in out/kernel-vs-sim, and does not repeat a kept run: delete
this directory to measure anew.
"""

import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np

import ackclock
import linux_page
from ackclock import run
from ackclock.hosts import linux
from ackclock.hosts.testbed import valid_run
from ackclock.studies.compare import Comparison
from linux_figures import say

KEPT = Path("out/kernel-vs-sim")
SIMULATED = 40
BOTTLENECK = ackclock.Bottleneck(rate="100mbit", buffer="1bdp")


def scenario(*flows, **fields):
    late = [{}, {"start_spread": "1s"}]
    return ackclock.Scenario(
        bottleneck=BOTTLENECK,
        flows=[{**each, **more} for each, more in zip(flows, late, strict=False)],
        **fields,
    )


def alone(algorithm):
    return scenario({"algorithm": algorithm}, rtt="40ms", duration="60s"), 2


def pair(one, two, **fields):
    return scenario(one, two, duration="80s", **fields), 12


CUBIC, RENO = {"algorithm": "cubic"}, {"algorithm": "reno"}
#: Name → title, scenario, repeats.
SCENARIOS = {
    "reno": ("Reno alone, 40 ms", *alone("reno")),
    "cubic": ("CUBIC alone, 40 ms", *alone("cubic")),
    "cubic_fc": ("Cubic-FC alone, 40 ms", *alone("cubic_fc")),
    "two-cubic": ("Two CUBIC flows, 100 ms", *pair(CUBIC, CUBIC, rtt="100ms")),
    "cubic-reno": ("CUBIC against Reno, 40 ms", *pair(CUBIC, RENO, rtt="40ms")),
    "two-rtts": (
        "CUBIC at 20 ms and at 80 ms",
        *pair({**CUBIC, "rtt": "20ms"}, {**CUBIC, "rtt": "80ms"}),
    ),
}


def rows(title: str, both: Comparison) -> list[dict[str, object]]:
    """The rows of kernel.csv."""
    (side, results), *_ = both.measured.items()
    certificates = [result.manifest["certificate"] for result in results]
    about = {
        "simulated_runs": len(both.simulated),
        "kernel_runs": len(results),
        "late_p99_us": max(each["lateness_p99_us"] for each in certificates),
        "release": results[0].manifest["kernel"].split("-")[0],
    }
    return [
        {"scenario": title, "measure": measure.name}
        | _side("simulator", measure.simulated, measure.digits)
        | _side("kernel", measure.measured[side], measure.digits)
        | {
            "distance": f"{100 * measure.distance(side):+.1f}",
            "of": "points" if measure.absolute else "%",
            "bound": "" if measure.bound is None else f"{100 * measure.bound:g}",
            "verdict": measure.verdict(side),
        }
        | about
        for measure in both.measures()
    ]


def _side(name: str, values: Sequence[float], digits: int) -> dict[str, str]:
    numbers = {name: np.mean(values), f"{name}_least": min(values), f"{name}_most": max(values)}
    return {key: f"{value:.{digits}f}" for key, value in numbers.items()}


def kept(name: str, each: ackclock.Scenario) -> ackclock.Result:
    """A valid kernel run; one that an earlier start of this script kept, if there is one."""
    directory = KEPT / f"{name}-{each.seed}"
    if not directory.exists():
        valid_run(each, on_invalid=say).save(directory)
    return ackclock.Result.load(directory)


def main(directory: Path) -> None:
    found = []
    for name, (title, each, repeats) in SCENARIOS.items():
        seeds = range(1, repeats + 1)
        measured = [kept(name, each.replace(seed=seed)) for seed in seeds]
        # Simulated runs cost little: enough of them that only the kernel's mean is uncertain.
        simulated = [run(linux.like(each).replace(seed=seed)) for seed in range(1, SIMULATED + 1)]
        found += rows(title, Comparison(each, simulated, {"kernel": measured}))
        print(f"{title}: {repeats} kernel runs", flush=True)
    linux_page.save(directory, "kernel", found)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
