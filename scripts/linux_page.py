"""Writes docs/linux.md, "How close is it to Linux?", from the data in docs/linux.

    linux_page.py DIRECTORY     DIRECTORY is docs

The scripts that measure write the data, and then this page: linux_reference.py (traces, several),
fidelity.py (alone), drawn.py (drawn), kernel_vs_sim.py (kernel), linux_figures.py (figures-SIDE).
"""

import csv
import sys
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from ackclock.draw.html import Table

Rows = Sequence[Mapping[str, str]]
#: What `data` reads.
NAMES = ("traces", "several", "alone", "drawn", "kernel", "figures-kernel", "figures-vlinux")
PAGE = """# How close is it to Linux?

This page is for readers who ask whether a simulated result also holds on Linux. Six comparisons
answer it: from recorded packets of one flow to figures of papers on a running kernel. The whole
data is in [docs/linux](linux/traces.csv), one CSV file per comparison.

| compared with | result |
|---|---|
| [traces, one flow](#traces-of-one-flow) | {traces_says} |
| [traces, several flows](#traces-of-several-flows) | {several_says} |
| [each algorithm alone](#each-algorithm-alone) | {alone_says} |
| [scenarios drawn at random](#scenarios-drawn-at-random) | {drawn_says} |
| [a running kernel](#a-running-kernel) | {kernel_says} |
| [figures of the papers](#figures-of-the-papers) | {figures_says} |

One flow behind a drop-tail queue is Linux, packet for packet. Two or more flows are chaotic: who
loses a packet at a full queue depends on microseconds. So compare ranges over ten runs or more, on
either side.

![Window and queue of a CUBIC flow: Linux and the simulator](linux/L5_cubic.png)

## Traces of one flow

The recorded runs are of Linux 6.12 on virtual machines whose clock an emulator controls
([how](../tests/reference/README.md)). A cell has Linux / simulator where they differ.
Retransmissions are of the whole run, the mean window and queue of its second half.

{traces}

A test compares every ACK of three more runs with `tcp_probe` (`crates/sim/tests/every_ack.rs`).

## Traces of several flows

Linux: all of four or five start times. Simulator: the mean of 20 seeds (least–most). The ratio is
the throughput of flow 1 over that of flow 2.

{several}

## Each algorithm alone

Each flow runs for 60 s with a buffer of 1 BDP, once on [Linux in virtual time](vlinux.md) with
Linux's own algorithm, and once in the simulator with our file of that name. A cell has the
retransmissions, the last column the largest distance of the mean window of the second half. Equal
means: the same retransmissions, and a distance of at most 0.5 %.

{alone}

On the virtual Linux our file and Linux's own give equal tables for twelve of these algorithms
(`tests/hosts/test_vlinux.py`). BBR draws its random numbers differently.

## Scenarios drawn at random

A script draws the rate (1 Mb/s to 2 Gb/s), the RTT (1 to 400 ms), the buffer, one to five flows
with their algorithms and starts, and one to eight more of all keys that Linux takes. Each scenario
runs for 4 to 20 s on both. `.venv/bin/python scripts/drawn.py 17` shows and runs that of seed 17.

* *Equal*: every flow delivers the same bytes with the same retransmissions.
* *In range*: eight runs of each side cannot be told apart, and at least one is equal. They have
  other starts, up to an RTT or 20 ms later, and other random numbers, alike on both sides. A
  rank-sum test of each number decides, at 1 % for all.
* *Never equal*: in range, but no run is equal.
* *Outside*: they can. Chance alone puts 1 % here.

{drawn}

Those outside, by how much the medians of the flow that differs most are apart (of its bytes, or of
its time if it ended), and why.

{apart}

## A running kernel

Our algorithms run through BPF on Linux {release}, and in the simulator: 100 Mb/s, a buffer of 1 BDP
of the longest RTT, runs of 60 s (one flow) or 80 s (two). Mean (least–most) of the second half. The
bound is 3 points of utilisation, and 10 % of each flow's share and mean window.

{kernel}

## Figures of the papers

One figure of each paper: on the kernel at a rate that one machine can carry, and on Linux in
virtual time (vlinux) at the paper's own rate. `ackclock reproduce FIGURE --on kernel` repeats one.
Numbers agree if their 95 % intervals overlap. In virtual time Linux ran one seed, which has no
interval: its number agrees if it is within that of the simulator, which chance often prevents.

{figures}

![Windows of CUBIC and Cubic-FC: simulator and Linux in virtual time](linux/cubicfc-fig05.png)

In ha2008/fig05 at 8 ms microseconds decide who loses: the simulator's ratio is 2.1 without
`jitter`, 1.2 with 100 µs of it, and the kernel's in between.

## Why they differ

Both sides begin alike. Then one of these parts them:

* **Random numbers.** On a running kernel; Linux in virtual time draws those of the simulator.
* **Two packets in one nanosecond**, of two flows: here the lower number comes first.
* **Thresholds of a microsecond.** A host with TSO holds a small burst back if the next ACK is due
  within 1 ms. The traces' clock counts 0.256 µs: ACKs exactly 1 ms apart may decide otherwise.
* **A small send buffer.** The ends of Linux's packets then depend on how the application writes.
* **A receive window of 16 MB** is no whole number of segments: Linux fills it with a short one
  (squareff/fig03, 2 v 128 ms, after 1 429 089 equal packets).
* **A late host.** A real kernel handles packets microseconds late; `jitter` does the same.

## Measure it again

| command | what it measures | time |
|---|---|---|
| `make docs` | the simulator beside the traces, and other pages | 10 minutes |
| `make docs-fidelity` | each algorithm alone | 10 minutes |
| `make docs-drawn` | scenarios drawn at random | an hour of a core |
| `make docs-kernel` | the kernel, and figures on it (root) | 2 hours |
| `make docs-vlinux` | figures in virtual time | an hour of a core |

Each writes its data and this page. Kept runs are not repeated.
"""


def save(directory: Path, name: str, rows: Iterable[Mapping[str, object]]) -> None:
    """Writes linux/NAME.csv, and the page; numbers with six digits."""
    rows = [{key: _text(value) for key, value in row.items()} for row in rows]
    path = directory / "linux" / f"{name}.csv"
    path.parent.mkdir(exist_ok=True)
    with path.open("w", encoding="utf-8", newline="") as file:
        lines = csv.DictWriter(file, list(rows[0]), lineterminator="\n")
        lines.writeheader()
        lines.writerows(rows)
    (directory / "linux.md").write_text(page(data(directory)), encoding="utf-8")


def _text(value: object) -> str:
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def data(directory: Path) -> dict[str, Rows]:
    """The rows of each file."""
    found: dict[str, Rows] = {}
    for name in NAMES:
        with (directory / "linux" / f"{name}.csv").open(encoding="utf-8", newline="") as file:
            found[name] = list(csv.DictReader(file))
    return found


def page(found: Mapping[str, Rows]) -> str:
    """docs/linux.md."""
    made = {
        "traces": traces(found["traces"]),
        "several": several(found["several"]),
        "alone": alone(found["alone"]),
        "drawn": drawn(found["drawn"]),
        "kernel": kernel(found["kernel"]),
        "figures": figures([*found["figures-kernel"], *found["figures-vlinux"]]),
    }
    return PAGE.format(
        **{name: table.markdown() for name, (table, _) in made.items()},
        **{f"{name}_says": says for name, (_, says) in made.items()},
        apart=apart(found["drawn"]).markdown(),
        release=found["kernel"][0]["release"],
    )


def _both(row: Mapping[str, str], digits: int) -> str:
    """Linux and the simulator; one number if they are equal as they are shown."""
    linux, ours = (f"{float(row[side]):.{digits}f}" for side in ("linux", "simulator"))
    return linux if linux == ours else f"{linux} / {ours}"


def traces(rows: Rows) -> tuple[Table, str]:
    """One flow: a line per run."""
    shown = {"retransmissions": 0, "mean cwnd (packets)": 1, "mean queue (packets)": 0}
    lines: dict[str, list[str]] = {}
    for row in rows:
        if row["measure"] in shown:
            line = lines.setdefault(row["run"], [row["run"], row["path"]])
            line.append(_both(row, shown[row["measure"]]))
    again = [row for row in rows if row["measure"] == "retransmissions"]
    equal = sum(row["linux"] == row["simulator"] for row in again)
    says = f"{equal} of {len(again)} runs have the same retransmissions"
    return Table(["run", "path", *shown], list(lines.values())), says


def several(rows: Rows) -> tuple[Table, str]:
    """Several flows: ranges."""
    lines = [[row["run"], row["path"], row["linux"], row["simulator"]] for row in rows]
    says = f"compare the ranges of {len(rows)} runs"
    return Table(["run", "path", "Linux", "simulator"], lines), says


def is_equal(row: Mapping[str, str]) -> bool:
    """Whether a flow alone is the same on both sides."""
    same = row["linux_retransmitted"] == row["simulator_retransmitted"]
    return same and abs(float(row["cwnd_difference_percent"])) <= 0.5


def alone(rows: Rows) -> tuple[Table, str]:
    """Retransmissions of an algorithm by path, and its largest distance."""
    paths = list(dict.fromkeys(f"{row['rate_mbps']} Mb/s, {row['rtt_ms']} ms" for row in rows))
    lines = []
    for algorithm in dict.fromkeys(row["algorithm"] for row in rows):
        some = [row for row in rows if row["algorithm"] == algorithm]
        both = [(row["linux_retransmitted"], row["simulator_retransmitted"]) for row in some]
        far = max(abs(float(row["cwnd_difference_percent"])) for row in some)
        cells = [linux if linux == ours else f"{linux} / {ours}" for linux, ours in both]
        lines.append([algorithm, *cells, f"{far:.1f} %"])
    equal = sum(map(is_equal, rows))
    says = f"{equal} of {len(rows)} pairs of algorithm and path are equal"
    return Table(["algorithm", *paths, "window"], lines), says


VERDICTS = ("equal", "in range", "never equal", "outside")


def drawn(rows: Rows) -> tuple[Table, str]:
    """Verdicts by what a scenario has."""

    def count(some: Rows) -> list[str]:
        verdicts = Counter(row["verdict"] for row in some)
        return [str(len(some)), *(str(verdicts[each]) for each in VERDICTS)]

    def has(row: Mapping[str, str], chance: bool) -> bool:
        return (row["draws_random_numbers"] == "yes") == chance

    lines = []
    for flows in sorted({row["flows"] for row in rows}):
        for chance, words in ((False, ""), (True, ", with random numbers")):
            some = [row for row in rows if row["flows"] == flows and has(row, chance)]
            if some:
                lines.append([f"{flows} flow{'s' * (flows != '1')}{words}", *count(some)])
    lines.append(["all", *count(rows)])
    _, equal, inside, never, outside = lines[-1][1:]
    says = (
        f"{equal} of {len(rows)} are equal to the byte, {inside} in range, "
        f"{never} never equal, {outside} outside"
    )
    return Table(["scenario", "number", *VERDICTS], lines), says


def apart(rows: Rows) -> Table:
    """The scenarios whose sides can be told apart."""
    lines = [
        [row["seed"], row["scenario"], f"{row['difference_percent']} %", row["cause"]]
        for row in rows
        if row["verdict"] == "outside"
    ]
    return Table(["seed", "scenario", "distance", "cause"], lines)


def kernel(rows: Rows) -> tuple[Table, str]:
    """The scenarios on a kernel: what moves most, and whether all is within the bounds."""
    lines = []
    for scenario in dict.fromkeys(row["scenario"] for row in rows):
        some = [row for row in rows if row["scenario"] == scenario]
        bounded = [row for row in some if row["bound"]]
        first = next((row for row in some if "share" in row["measure"]), some[1])
        sides = [
            f"{first[n]} ({first[f'{n}_least']}–{first[f'{n}_most']})"
            for n in ("simulator", "kernel")
        ]
        most = max(bounded, key=lambda row: abs(float(row["distance"])) / float(row["bound"]))
        far = f"{float(most['distance']):+.1f} {most['of']} ({most['measure']})"
        held = sum(row["verdict"] == "holds" for row in bounded)
        lines.append(
            [
                scenario,
                some[0]["kernel_runs"],
                first["measure"],
                *sides,
                far,
                f"{held} of {len(bounded)}",
            ]
        )
    bounded = [row for row in rows if row["bound"]]
    held = sum(row["verdict"] == "holds" for row in bounded)
    header = [
        "scenario",
        "kernel runs",
        "measure",
        "simulator",
        "kernel",
        "largest distance",
        "within bound",
    ]
    return Table(header, lines), f"{held} of {len(bounded)} numbers are within 3 points or 10 %"


def figures(rows: Rows) -> tuple[Table, str]:
    """A line per figure and side: how many numbers agree, and the one farthest apart."""
    lines = []
    for figure, on in dict.fromkeys((row["figure"], row["on"]) for row in rows):
        some = [row for row in rows if (row["figure"], row["on"]) == (figure, on)]
        far = max(some, key=_distance)
        sides = [_interval(far, side) for side in ("simulator", "linux")]
        agree = f"{sum(map(_agrees, some))} of {len(some)}"
        lines.append([figure, on, agree, f"{far['quantity']}, {far['point']}", *sides])
    found = [row for row in rows if row["on"] == "kernel"]
    says = f"{sum(map(_agrees, found))} of {len(found)} intervals on the kernel overlap"
    return Table(["figure", "on", "agree", "farthest apart", "simulator", "Linux"], lines), says


def _distance(row: Mapping[str, str]) -> float:
    """Relative to the larger of both."""
    ours, linux = float(row["simulator"]), float(row["linux"])
    return abs(ours - linux) / (max(abs(ours), abs(linux)) or 1)


def _agrees(row: Mapping[str, str]) -> bool:
    """Whether the intervals overlap; one run of Linux is within the simulator's."""
    if row["overlap"]:
        return row["overlap"] == "yes"
    return float(row["simulator_low"]) <= float(row["linux"]) <= float(row["simulator_high"])


def _interval(row: Mapping[str, str], side: str) -> str:
    numbers = [row[side], row[f"{side}_low"], row[f"{side}_high"]]
    mean, *ends = (f"{float(each):.3g}" for each in numbers if each)
    return f"{mean} ({' … '.join(ends)})" if ends else mean


if __name__ == "__main__":
    docs = Path(sys.argv[1])
    (docs / "linux.md").write_text(page(data(docs)), encoding="utf-8")
