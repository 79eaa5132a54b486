"""Writes docs/claims.md, each claim with its verdict, from docs/claims.csv.

    claims_page.py DIRECTORY     DIRECTORY is docs

`ackclock claims -o out/claims` makes claims.csv; `make docs-claims` copies it, and writes the page.
"""

import csv
import re
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

from ackclock.draw.html import Table

PAGE = """# What the papers claim, and what we measured

This page is for readers who want our verdict on each claim of the four papers.
[Findings](findings.md) explain why a claim fails or stays open.

**{totals}**

* **holds**: the whole confidence interval of each part of the claim is within its bound.
* **fails**: the interval of a part is outside, at a level that Holm corrects for the number of
  parts.
* **open**: neither.

A row shows the part that decides, and how many parts hold. The last column names what the paper
leaves open and another choice of which gives another verdict. [claims.csv](claims.csv) has every
part, the number of runs, and these choices. `ackclock claims CLAIM` measures one claim again, and
`make docs-claims` all of them, with this page.
"""


def data(directory: Path) -> list[dict[str, str]]:
    """The rows of claims.csv: a claim, then its parts."""
    with (directory / "claims.csv").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def page(rows: Sequence[Mapping[str, str]], *, parts: bool = False) -> str:
    """docs/claims.md; with `parts` folded under their claims it is for the site."""
    claims = [row for row in rows if not row["part"]]
    counts = Counter(row["verdict"] for row in claims)
    words = {"holds": "hold", "fails": "fail"}
    totals = ", ".join(f"{number} {words.get(each, each)}" for each, number in counts.most_common())
    text = [PAGE.format(totals=f"{len(claims)} claims: {totals}.")]
    for paper in dict.fromkeys(row["claim"].partition(".")[0] for row in claims):
        some = [row for row in claims if row["claim"].startswith(f"{paper}.")]
        lines = [
            [
                row["claim"].removeprefix(f"{paper}."),
                row["verdict"],
                row["the paper says"],
                row["bound"],
                row["measured, 95 % CI"],
                _names(row["depends on"]),
            ]
            for row in some
        ]
        header = ["claim", "verdict", "the paper says", "bound", "measured, 95 % CI", "depends on"]
        table = Table(header, lines, _folded(some, rows) if parts else {})
        text += [f"## {paper}", "", table.html() if parts else table.markdown(), ""]
    return "\n".join(text)


def _folded(
    claims: Sequence[Mapping[str, str]], rows: Sequence[Mapping[str, str]]
) -> dict[int, tuple[str, Table]]:
    """Number of a claim → its parts, and what its verdict depends on."""
    found = {}
    columns = ("part", "verdict", "bound", "measured, 95 % CI", "runs")
    for number, claim in enumerate(claims):
        some = [row for row in rows if row["claim"] == claim["claim"] and row["part"]]
        depends = "" if claim["depends on"].startswith("nothing") else claim["depends on"]
        if some:
            lines = [[row[each] for each in columns] for row in some]
            lines += [[f"depends on: {depends}", "", "", "", ""]] if depends else []
            found[number] = (f"{len(some)} parts", Table(columns, lines))
        elif depends:
            found[number] = ("what it depends on", Table(["depends on"], [[depends]]))
    return found


def _names(depends: str) -> str:
    """What a verdict depends on, without the values: "buffer, bursts"."""
    if depends.startswith("nothing"):
        return "nothing"
    return re.sub(r" \((?:[^()]|\([^()]*\))*\)", "", depends)


def main(directory: Path) -> None:
    """Writes the page."""
    (directory / "claims.md").write_text(page(data(directory)), encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
