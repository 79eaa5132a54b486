"""The simulator beside this machine's TCP stack, on six scenarios and a figure of each paper.

`python scripts/kernel_vs_sim.py DIRECTORY` (root, some 90 minutes) writes the pages
`kernel-vs-sim.md` and `kernel-figures.md` and their pictures. Each kernel run is kept as it ends,
in out/kernel-vs-sim and .ackclock/kernel, and is not run again: delete these to measure anew.
"""

import sys
from pathlib import Path

import ackclock
from ackclock import crosscheck, papers, run
from ackclock.compare import Comparison, like_kernel, measure

KEPT = Path("out/kernel-vs-sim")
SIMULATED = 40
#: Kernel runs of a paper's figure that go on at once.
AT_A_TIME = 3
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
    return scenario(one, two, duration="80s", **fields), 6


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
        pair({**CUBIC, "rtt": "20ms"}, {**CUBIC, "rtt": "80ms"})[0],
        12,
    ),
}


def section(name: str, title: str, both: Comparison) -> str:
    late = [result.manifest["certificate"]["lateness_p99_us"] for result in both.measured]
    load = [result.manifest["certificate"]["load"] for result in both.measured]
    caption = (
        f"{len(both.simulated)} simulated and {len(both.measured)} kernel runs, means and ranges; "
        f"lateness p99 at most {max(late):.0f} us, load average {min(load):.0f}–{max(load):.0f}."
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
    """A valid kernel run, from an earlier start of this script if there is one."""
    directory = KEPT / f"{name}-{each.seed}"
    if not directory.exists():
        measure(each, on_invalid=say).save(directory)
    return ackclock.Result.load(directory)


def say(invalid):
    print(*invalid.manifest["certificate"]["problems"], "repeated", flush=True)


def main(directory: Path) -> None:
    sections = []
    for name, (title, each, repeats) in SCENARIOS.items():
        seeds = range(1, repeats + 1)
        measured = [kept(name, each.replace(seed=seed)) for seed in seeds]
        # Simulated runs cost little: enough of them that only the kernel's mean is uncertain.
        simulated = [run(like_kernel(each).replace(seed=seed)) for seed in range(1, SIMULATED + 1)]
        both = Comparison(each, simulated, measured)
        figure = both.figure()
        figure.savefig(directory / f"kernel-{name}.png", dpi=90)
        sections.append(section(name, title, both))
        print(sections[-1], flush=True)
        release = both.measured[0].manifest["kernel"].split("-")[0]
    head = f"""# The simulator beside the running kernel

Written by `make docs-kernel` (`scripts/kernel_vs_sim.py`) on Linux {release}: 100 Mb/s, a buffer of
1 BDP of the longest RTT, our algorithms on both sides (in the kernel through BPF), the second
half of 60 s and 80 s. The simulator left, the kernel right, the first run of each. Bounds:
utilisation within 3 points, a flow's share of the throughput and its mean cwnd within 10 %.

Two flows are chaotic: which of them loses a packet at a full queue hangs on microseconds, and the
share of one simulated run has a standard deviation of 0.06 to 0.07 (40 seeds). The means of few
runs therefore differ by chance: with 4 on each side those of the two RTTs were 15 to 21 % apart.
Compare their ranges, and take ten runs or more. These runs went on three at a time.
"""
    (directory / "kernel-vs-sim.md").write_text("\n\n".join([head.rstrip(), *sections]) + "\n")


def of_papers(directory: Path) -> None:
    """A figure of each paper, as `ackclock reproduce FIGURE --on kernel` shows it."""
    sections = []
    for name, module in papers.load("all"):
        if not hasattr(module, "KERNEL"):
            continue
        crosscheck.measure([module.KERNEL], jobs=AT_A_TIME, on_invalid=say)
        checked = crosscheck.load(module.KERNEL)
        picture = f"kernel-{name.replace('/', '-')}.png"
        checked.figure().savefig(directory / picture, dpi=90)
        title = f"{papers.title(module)} ({name})"
        head = f"## {title}\n\n{checked.check.setup}\n\n![{title}]({picture})\n\n{checked.caption}"
        sections.append(f"{head}\n\n{checked.table().markdown()}")
        print(sections[-1], flush=True)
    head = """# Figures of the papers on the running kernel

Written by `make docs-kernel` (`scripts/kernel_vs_sim.py`): of each paper one figure that one
machine can carry in real time, on its own TCP stack with our algorithms in BPF, and the same
scenarios in the simulator. `ackclock reproduce FIGURE --on kernel` repeats one; `ackclock report`
shows those that have run here. Several runs went on at a time; p99 of lateness says how well they
kept it."""
    (directory / "kernel-figures.md").write_text("\n\n".join([head, *sections]) + "\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
    of_papers(Path(sys.argv[1]))
