"""Writes docs/claims.md, the tallies, a line and a card for each claim, from docs/claims.csv.

    claims_page.py DIRECTORY     DIRECTORY is docs

`ackclock claims -o out/claims` makes claims.csv; `make docs-claims` copies it, and writes the page.
"""

import csv
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from ackclock.draw.html import Table
from ackclock.pages import tally

PAGE = """# What the papers claim, and what we measured

This page is for readers who want our verdict on each claim of the four papers.
[Findings](findings.md) explain why a claim fails or stays open.

* **holds**: the whole confidence interval of each part of the claim is within its bound.
* **fails**: the interval of a part is outside, at a level that Holm corrects for the number of
  parts. **open**: neither.
* **always**: no other assumption that we tried gives the opposite verdict. **depends 2/9**: 2 of 9
  do, and the claim's card names them. **one setup**: nothing else was run for this page.
* **whose**: the bound is in the paper, or ours.

{tallies}

[claims.csv](claims.csv) has every part and the number of runs. `ackclock claims CLAIM` measures
one claim again, and `make docs-claims` all of them, with this page. Nobody has digitised the
papers' curves: their numbers are those of their texts.
"""
LINE = (
    *("claim", "verdict", "firmness", "the paper", "measured, 95 % CI"),
    *("bound", "whose", "reason"),
)
PART = ("part", "verdict", "measured, 95 % CI", "bound", "whose", "runs")
QUICK = """
**Not judged here:** a claim that reads `quick` was run for this page with few or short runs only.
"""
#: A card names so many characters of what turns a verdict; claims.csv has the rest.
MOST = 300
Row = Mapping[str, str]


def data(directory: Path) -> list[dict[str, str]]:
    """The rows of claims.csv: a claim, then its parts."""
    with (directory / "claims.csv").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def page(rows: Sequence[Row], *, parts: bool = False) -> str:
    """docs/claims.md; with `parts` in the cards it is for the site."""
    claims = [row for row in rows if not row["part"]]
    counted = [
        (_paper(row), row["verdict"], row["firmness"].partition(" ")[0], row["reason"])
        for row in claims
    ]
    counted = [
        (paper, verdict, "one setup" if firm == "one" else firm, reason)
        for paper, verdict, firm, reason in counted
    ]
    tallies = [tally.by_firmness(counted), tally.by_reason(counted)]
    text = [PAGE.format(tallies="\n\n".join(each.markdown() for each in tallies))]
    if any(row["verdict"] == "quick" for row in claims):
        text.append(QUICK.lstrip())
    papers = list(dict.fromkeys(map(_paper, claims)))
    for paper in papers:
        some = [row for row in claims if _paper(row) == paper]
        table = Table(LINE, [[_linked(row), *(row[each] for each in LINE[1:])] for row in some])
        text += [f"## {paper}", "", table.markdown(), ""]
    text += ["## Cards", ""]
    for row in claims:
        text += [*_card(row, [each for each in rows if parts and _is_part(each, row)]), ""]
    return "\n".join(text)


def _paper(row: Row) -> str:
    return row["claim"].partition(".")[0]


def _short(row: Row) -> str:
    return row["claim"].partition(".")[2]


def _is_part(row: Row, of: Row) -> bool:
    return row["claim"] == of["claim"] and bool(row["part"])


def _linked(row: Row) -> str:
    anchor = row["claim"].replace(".", "").lower()
    return f"[{_short(row)}](#{anchor})"


def _card(row: Row, parts: Sequence[Row]) -> Iterator[str]:
    """What the paper says, what decides, and what turns the verdict."""
    yield f"### {row['claim']}"
    yield ""
    yield f"{row['the paper says']}."
    if row["decided by"] and row["verdict"] != "holds":
        yield f"Decided by: {row['decided by']}."
    if row["turns with"]:
        yield f"Turns with {_cut(row['turns with'])}."
    if parts:
        table = Table(PART, [[each[column] for column in PART] for each in parts])
        yield ""
        yield table.html()
        if row["without effect"]:
            yield f"Without effect: {row['without effect']}."


def _cut(text: str) -> str:
    if len(text) <= MOST:
        return text
    return text[:MOST].rpartition(",")[0] + ", …"


def main(directory: Path) -> None:
    """Writes the page."""
    (directory / "claims.md").write_text(page(data(directory)), encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
