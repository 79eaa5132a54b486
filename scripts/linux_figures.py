"""A figure of each paper on Linux beside the simulator: on this kernel, or in virtual time.

`python scripts/linux_figures.py kernel|vlinux DIRECTORY` writes linux/figures-SIDE.csv, a picture,
and the page linux.md. It keeps each run in .ackclock/SIDE, and does not repeat a kept run: delete
that directory to measure anew. On the kernel (root) it takes an hour, in virtual time an hour of a
processor.
"""

import sys
from pathlib import Path

import linux_page
from ackclock import papers
from ackclock.figures import crosscheck
from ackclock.hosts import linux

#: Runs at the same time, and of each point.
AT_A_TIME = {"kernel": 3, "vlinux": 0}
SEEDS = {"kernel": 5, "vlinux": 1}

#: The figure that is drawn, of which side.
PICTURE = ("vlinux", "cubicfc/fig05")


def say(invalid):
    print(*invalid.manifest["certificate"]["problems"], "repeated", flush=True)


def rows(name: str, checked: crosscheck.Checked) -> list[dict[str, object]]:
    """The rows of figures-SIDE.csv."""
    late_us = [each["lateness_p99_us"] for each in checked.certificates]
    found = []
    both = [
        checked.estimates(column, point)
        for column in checked.check.columns
        for point in checked.check.experiment.points
    ]
    for (quantity, point, *_, overlap), estimates in zip(checked.table().rows, both, strict=True):
        row: dict[str, object] = {"figure": name, "on": checked.on.name, "quantity": quantity}
        row["point"] = point
        for side, each in zip(("simulator", "linux"), estimates, strict=True):
            ends = ("", "") if each.n == 1 else (each.low, each.high)
            columns = (side, f"{side}_low", f"{side}_high", f"{side}_runs")
            row |= dict(zip(columns, (each.mean, *ends, each.n), strict=True))
        row["overlap"] = "" if overlap == "—" else overlap
        row["late_p99_us"] = max(late_us) if late_us else ""
        found.append(row)
    return found


def main(side: str, directory: Path) -> None:
    """As `ackclock reproduce FIGURE --on SIDE` shows them."""
    found = []
    host = linux.host(side, AT_A_TIME[side], say)
    for named in papers.load("all"):
        check = named.figure.checks.get(side)
        if check is None:
            continue
        crosscheck.fill([check], host, seeds=SEEDS[side])
        checked = crosscheck.load(check, host)
        assert checked is not None, "it was just filled"
        found += rows(named.name, checked)
        print(f"{named.name}: {checked.caption}", flush=True)
        if (side, named.name) == PICTURE:
            picture = directory / "linux" / f"{named.file_name}.png"
            checked.figure().savefig(picture, dpi=90)
    linux_page.save(directory, f"figures-{side}", found)


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
