"""Compares the simulator with this machine's TCP stack on six scenarios.

`python scripts/kernel_vs_sim.py DIRECTORY` (root, about an hour) writes the page `kernel-vs-sim.md`
and its pictures. It keeps each kernel run in out/kernel-vs-sim, and does not repeat a kept run:
delete this directory to measure anew.
"""

import sys
from pathlib import Path

import ackclock
from ackclock import run
from ackclock.compare import Comparison, like_linux
from ackclock.testbed import valid_run
from linux_figures import contents, say

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


def section(name: str, title: str, both: Comparison) -> str:
    certificates = [result.manifest["certificate"] for result in both.measured["kernel"]]
    late = [certificate["lateness_p99_us"] for certificate in certificates]
    load = [certificate["load"] for certificate in certificates]
    caption = (
        f"Means and ranges of {len(both.simulated)} simulated and {len(certificates)} kernel "
        f"runs. Lateness p99 at most {max(late):.0f} µs, "
        f"load average {min(load):.0f}–{max(load):.0f}."
    )
    return "\n".join(
        [
            f"## {title}",
            "",
            f"![{title}](kernel-{name}.png)",
            "",
            both.table().markdown(),
            "",
            caption,
        ]
    )


def kept(name: str, each: ackclock.Scenario) -> ackclock.Result:
    """A valid kernel run; one that an earlier start of this script kept, if there is one."""
    directory = KEPT / f"{name}-{each.seed}"
    if not directory.exists():
        valid_run(each, on_invalid=say).save(directory)
    return ackclock.Result.load(directory)


def about_scenarios(release: str) -> str:
    """The head of kernel-vs-sim.md."""
    return f"""# The simulator beside the running kernel

This page is for readers who ask whether a simulated result also holds on a real Linux machine. It
compares both on six scenarios, on Linux {release}. `make docs-kernel` writes the page.

| | |
|---|---|
| link | 100 Mb/s, with a buffer of 1 BDP of the longest RTT |
| algorithms | ours on both sides; in the kernel they run through BPF |
| values | of the second half of each run; a run of one flow takes 60 s, a run of two flows 80 s |
| pictures | the first run of each side: the simulator on the left, the kernel on the right |
| bounds | utilisation: 3 points; share of the throughput and mean cwnd of each flow: 10 % |

**Compare ranges, and take ten runs or more.** Two flows are chaotic: at a full queue microseconds
decide which flow loses a packet. Over 40 seeds the share of one simulated run has a standard
deviation of 0.06 to 0.07. The means of few runs therefore differ by chance. With 4 runs on each
side, the means of the two flows with different RTTs were 15 to 21 % apart. Other programs used both
cores during the kernel runs: the load is below each table.

{contents([title for title, *_ in SCENARIOS.values()])}"""


def main(directory: Path) -> None:
    sections = []
    for name, (title, each, repeats) in SCENARIOS.items():
        seeds = range(1, repeats + 1)
        measured = [kept(name, each.replace(seed=seed)) for seed in seeds]
        # Simulated runs cost little: enough of them that only the kernel's mean is uncertain.
        simulated = [run(like_linux(each).replace(seed=seed)) for seed in range(1, SIMULATED + 1)]
        both = Comparison(each, simulated, {"kernel": measured})
        figure = both.figure()
        figure.savefig(directory / f"kernel-{name}.png", dpi=90)
        sections.append(section(name, title, both))
        print(sections[-1], flush=True)
        release = measured[0].manifest["kernel"].split("-")[0]
    (directory / "kernel-vs-sim.md").write_text(
        "\n\n".join([about_scenarios(release), *sections]) + "\n"
    )


if __name__ == "__main__":
    main(Path(sys.argv[1]))
