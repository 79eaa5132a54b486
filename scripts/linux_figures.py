"""A figure of each paper on Linux beside the simulator: on this kernel, or in virtual time.

`python scripts/linux_figures.py kernel|vlinux DIRECTORY` writes the page `SIDE-figures.md` and its
pictures. It keeps each run in .ackclock/SIDE, and does not repeat a kept run: delete that directory
to measure anew. On the kernel (root) it takes an hour, in virtual time an hour of a processor.
"""

import re
import sys
from pathlib import Path

from ackclock import crosscheck, papers

#: Runs at the same time, and of each point.
AT_A_TIME = {"kernel": 3, "vlinux": 0}
SEEDS = {"kernel": 5, "vlinux": 1}

KERNEL = """# Figures of the papers on the running kernel

This page is for readers who ask whether a repeated figure also holds on a real Linux machine. It
has one figure of each paper, at a rate that one machine can carry in real time. Each figure runs
twice: on the machine's own TCP stack with our algorithms in BPF, and in the simulator with the
same scenarios. `make docs-kernel` writes the page.

`ackclock reproduce FIGURE --on kernel` repeats one figure. `ackclock report` then shows the
figures that have run on this machine. Several kernel runs went on at the same time; the p99 of
lateness says how well they kept time. Pictures show the first run of each point: the simulator on
the left, the kernel on the right. Tables give means and 95 % intervals.

Where small queues let microseconds decide which flow loses a packet, intervals need not overlap. In
ha2008/fig05 at 8 ms the simulator's CUBIC / SACK is 2.1 with ACKs handled at once, and 1.2 if hosts
take up to 100 µs for each (`jitter`, 8 seeds). This machine's hosts are in between."""

VLINUX = """# Figures of the papers on Linux in virtual time

This page is for readers who ask whether a repeated figure also holds on Linux at the paper's own
rate, which one machine cannot carry in real time. It has one figure of each paper. Each figure runs
twice: on Linux 6.12 in virtual time ([vlinux.md](vlinux.md)) with our algorithms as kernel modules,
and in the simulator with the same scenarios. `make docs-vlinux` writes the page.

`ackclock reproduce FIGURE --on vlinux` repeats one figure. `ackclock report` then shows the figures
that have run on this machine. Pictures show the first run of each point: the simulator on the left,
the virtual Linux on the right. Tables give means and 95 % intervals.

A table says how many seeds Linux ran, from seed 1 on; the simulator ran each point with ten. No run
has jitter, because a virtual machine has none. The simulator's windows also have a sample at each
event, so its curves show peaks between two samples of Linux."""

ABOUT = {"kernel": KERNEL, "vlinux": VLINUX}
#: (side, figure) → why the sides differ.
EXPLAINED = {
    ("vlinux", "cubicfc/fig05"): """\
On Linux, too, CUBIC needs 400 s until both flows have 95 % of their fair share, and Cubic-FC 245 s:
the paper says "about 400 s" and "less than 200 s". With seed 1 the simulator has the same two
numbers, and the same 241 s and 151 s for 80 %. Over ten seeds the simulator's CUBIC needs 356 to
400 s, since a loss more or less moves convergence by a whole epoch.""",
    ("vlinux", "ha2008/fig05"): """\
Seed 1 gives nearly the same on both sides: 2.08 on Linux and 1.97 in the simulator at 8 ms, 23.0
and 22.0 at 82 ms. Delays of less than a microsecond decide a run: the simulator's ten seeds range
from 1.53 to 2.11 at 8 ms and from 14.4 to 27.2 at 82 ms. With ten seeds at 82 ms, and a machine
whose clock counted 256 ns, Linux had 21.6 (18.3 … 24.7).""",
    ("vlinux", "leith2007/fig02"): """\
Seed 1 gives the same times on both sides at 10 Mb/s (60 and 59 s) and at 250 Mb/s (257 and 177 s).
At 500 Mb/s Linux is fair after 334 s and the simulator after 384 s; four of the simulator's
ten seeds need 333, 335, 333 and 322 s. One overflow in which flow 2 loses nothing decides this.""",
    ("vlinux", "squareff/fig03"): """\
With seed 1 SQUARE:FF's ratio is 0.827 on Linux and 0.817 in the simulator. The third root's is
within the range of the ten simulated seeds (0.81 to 0.96). CUBIC's first seed on Linux, 1.15, is
below their range of 1.34 to 1.58; seeds 2 to 5 have 1.45, 1.34, 1.55 and 1.47, so the mean of five
is 1.39.""",
}


def contents(titles: list[str]) -> str:
    """Links to the sections of a page, by GitHub's rule for anchors."""
    anchors = [re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles]
    links = [f"* [{title}](#{to})" for title, to in zip(titles, anchors, strict=True)]
    return "\n".join(["Contents:", "", *links])


def say(invalid):
    print(*invalid.manifest["certificate"]["problems"], "repeated", flush=True)


def main(side: str, directory: Path) -> None:
    """As `ackclock reproduce FIGURE --on SIDE` shows them."""
    sections, titles = [], []
    host = crosscheck.host(side, AT_A_TIME[side], say)
    for named in papers.load("all"):
        check = named.figure.checks.get(side)
        if check is None:
            continue
        crosscheck.fill([check], host, seeds=SEEDS[side])
        checked = crosscheck.load(check, host)
        picture = f"{side}-{named.file_name}.png"
        checked.figure().savefig(directory / picture, dpi=90)
        title = f"{named.title} ({named.name})"
        titles.append(title)
        head = f"## {title}\n\n{checked.check.setup}\n\n![{title}]({picture})\n\n{checked.caption}"
        explained = EXPLAINED.get((side, named.name))
        parts = [head, checked.table().markdown(), *([explained] if explained else [])]
        sections.append("\n\n".join(parts))
        print(sections[-1], flush=True)
    text = "\n\n".join([ABOUT[side], contents(titles), *sections])
    (directory / f"{side}-figures.md").write_text(text + "\n")


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
