"""Writes docs/claims.md, the tallies, a line and a card for each claim, from docs/claims.csv.

The live page and quick reports get the verdicts, too.

    claims_page.py DIRECTORY            DIRECTORY is docs
    claims_page.py DIRECTORY REPORT     takes claims and pictures from a report before

`ackclock report -o out/report` makes a report; one that has not all claims, of one commit, is
refused. `make docs-claims` makes a report, and writes the page.
"""

import csv
import json
import re
import sys
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path

from PIL import Image

from ackclock import papers
from ackclock.draw.html import Table, look_of
from ackclock.figures.claim import ERROR
from ackclock.pages import tally
from ackclock.pages.site import OURS
from ackclock.papers import sentences
from ackclock.papers.errata import ERRATA

PAGE = """# What the papers claim, and what we measured

This page is for readers who want our verdict on each claim of the four papers,
and on what standards say of the same algorithms.
[Findings](findings.md) explain why a claim fails or stays open.

* **holds**: the whole confidence interval of each part of the claim is within its bound.
* **fails**: the interval of a part is outside, at a level that Holm corrects for the number of
  parts. **open**: neither.
* **always 9/0/0**: the verdict is the same with each of 9 other assumptions. **depends 6/2/1**: it
  holds with 6, is open with 2, fails with 1; the card names those that differ. Each has the seeds
  of the verdict, and each other measure is crossed with each other setup.
* **ours / paper**: *number*, within 10 %; *order*, the sign or the shape alone; *fails*.
* **bound**: the paper's, or ours. Each card has the paper's words and their section.
* **reason**: the fault of `the paper`, an `unstated input` that decides, `hardware`, something of
  `ours`, or `undecided`.

{tallies}

{sentences}

[sentences.csv](../python/ackclock/papers/sentences.csv) has each with its place and its row, or why
it has none.

[claims.csv](claims.csv) has every part, what decides, and the number of runs. `ackclock claims
CLAIM` measures one claim again, and `make docs-claims` all of them, with this page. Numbers without
an interval are counted or computed. Nobody has digitised the papers' curves: their numbers are
those of their texts.
{chance}
"""
CHANCE = """
At 5 % about {expected:.0f} of {decided} decided verdicts would be chance. {weak} with a † do not
survive 0.05 / {judged}, for {judged} rows together.
"""
MADE = "`make docs-claims` made all rows at {made}.\n"
#: Until all rows are made anew.
SEVERAL = """**Rows are of {commits} commits**, which claims.csv names.
"""
#: Of rows without a level.
FEWER = """
Rows without a count behind `always` have at most 5 seeds an assumption; `depends 2/9`: 2 of 9 give
the opposite.
"""
LINE = ("claim", "verdict", "the paper", "measured, 95 % CI", OURS, "bound", "reason")
PART = ("part", "verdict", "measured, 95 % CI", "bound", "whose", "runs")
QUICK = """
**Not judged here:** a claim that reads `quick` was run for this page with few or short runs only.
"""
#: Where the pictures are, beside the page, and their size.
DOCS, PICTURES = Path(__file__).parent.parent / "docs", "claims"
WIDTH, COLOURS = 900, 64
#: Claim → the picture of its figure.
DRAWN = {
    claim.id: f"{named.file_name}.png"
    for named in papers.load("all")
    for claim in named.figure.claims
}
PICTURED = list(dict.fromkeys(DRAWN.values()))
Row = Mapping[str, str]


def data(directory: Path) -> list[dict[str, str]]:
    """The rows of claims.csv: a claim, then its parts."""
    with (directory / "claims.csv").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def page(rows: Sequence[Row], *, parts: bool = False) -> str:
    """docs/claims.md; with `parts` in the cards it is for the site, whose cards fold."""
    claims = [row for row in rows if not row["part"]]
    counted = [tally.of_texts(row["claim"], row) for row in claims]
    tallies = [tally.by_firmness(counted), tally.by_reason(counted)]
    weak = {row["claim"] for row in claims if _is_weak(row, len(claims))}
    text = [
        PAGE.format(
            tallies="\n\n".join(map(_dense, tallies)),
            sentences=_dense(sentences.counted()),
            chance=_chance(claims, weak),
        )
    ]
    if any(row["verdict"] == "quick" for row in claims):
        text.append(QUICK.lstrip())
    papers = list(dict.fromkeys(map(_paper, claims)))
    for paper in papers:
        some = [row for row in claims if _paper(row) == paper]
        cells = [[_linked(row), *line(row, weak)[1:]] for row in some]
        table = Table(LINE, cells)
        text += [f"## {paper}", "", _dense(table), ""]
        if parts:
            text += ['<details class="claims" markdown="1"><summary>Cards</summary>', ""]
            for row in some:
                text += [*_folded(row, [each for each in rows if _is_part(each, row)]), ""]
            text += ["</details>", ""]
    if not parts:
        text += ["## Cards", ""]
        for row in claims:
            text += [f"### {row['claim']}", "", *_card(row), ""]
    table = Table(["paper", "section", "it says", "right"], [[*each] for each in ERRATA])
    end = ["## Errata of the papers", "", _dense(table), "", _made(claims)]
    if parts:
        fold = (
            '<details class="claims" markdown="1"><summary>Errata, and what made the rows</summary>'
        )
        end = [fold, "", *end, "", "</details>", ""]
    return "\n".join([*text, *end])


def _is_weak(row: Row, rows: int) -> bool:
    """Whether its verdict does not survive so many rows."""
    return bool(row["chance"]) and not tally.survives(row["chance"], rows)


def _chance(claims: Sequence[Row], weak: Collection[str]) -> str:
    """How many verdicts would be chance; a verdict without randomness is none."""
    decided = [row for row in claims if row["chance"] and float(row["chance"])]
    if not decided:
        return ""
    expected = ERROR * len(decided)
    return CHANCE.format(
        expected=expected, decided=len(decided), weak=len(weak), judged=len(claims)
    )


def _made(claims: Sequence[Row]) -> str:
    """By which commit; if there are several, how many."""
    by_commit = tally.by_paper(claims, lambda row: row["made by"])
    if len(by_commit) == 1:
        return MADE.format(made=next(iter(by_commit)))
    fewer = FEWER if any(row["firmness"] == "always" for row in claims) else ""
    return f"{SEVERAL.format(commits=len(by_commit))}{fewer}"


def _dense(table: Table) -> str:
    """As Markdown without spaces beside the bars, which would count as words of the page."""
    return re.sub(r" ?\| ?", "|", table.markdown())


def line(row: Row, weak: Collection[str] = ()) -> list[str]:
    """A claim's line: its verdict with the firmness, its bound with whose it is."""
    verdict = ", ".join(filter(None, (row["verdict"], row["firmness"])))
    verdict += " †" * (row["claim"] in weak)
    bound = f"{row['bound']} ({row['whose']})" if row["whose"] else row["bound"]
    measured = row["measured, 95 % CI"]
    return [_short(row), verdict, row["the paper"], measured, row[OURS], bound, row["reason"]]


def _paper(row: Row) -> str:
    return row["claim"].partition(".")[0]


def _short(row: Row) -> str:
    return row["claim"].partition(".")[2]


def _is_part(row: Row, of: Row) -> bool:
    return row["claim"] == of["claim"] and bool(row["part"])


def _anchor(row: Row) -> str:
    """As GitHub makes it of the heading."""
    return row["claim"].replace(".", "").lower()


def _linked(row: Row) -> str:
    return f"[{_short(row)}](#{_anchor(row)})"


def _folded(row: Row, parts: Sequence[Row]) -> Iterator[str]:
    """A card that opens on a click, by a link to its anchor, and on paper."""
    verdict = f'<span class="{look_of(row["verdict"])}">{line(row)[1]}</span>'
    yield f'<details class="claim" markdown="1"><summary>{row["claim"]} {verdict}</summary>'
    yield f'<div id="{_anchor(row)}" markdown="1">'
    yield ""
    yield from _card(row, parts)
    yield ""
    yield "</div></details>"


def _card(row: Row, parts: Sequence[Row] | None = None) -> Iterator[str]:
    """What the paper says, and what turns the verdict.

    On the site also what we take the paper to say, what decides, all parts, and what was tried
    without effect.
    """
    picture = f"{PICTURES}/{DRAWN.get(row['claim'], '')}"
    yield f"{row['quote']}." + f" [Picture]({picture})." * (DOCS / picture).is_file()
    on_site = parts is not None
    if on_site:
        yield f"We judge: {row['the paper says']}."
    measured = re.sub(r"\((\d+) of \1 hold\)$", r"(all \1 hold)", row["decided by"])
    if row["verdict"] == "not testable":
        yield f"Not here: {measured}."
    elif on_site:
        yield f"Measured: {measured}."
    if row["verdict"] == "open":
        yield f"Runs: {row['runs']}."
    if row["turns with"]:
        yield f"Otherwise with {row['turns with'] if on_site else _first(row['turns with'])}."
    if parts:
        table = Table(PART, [[each[column] for column in PART] for each in parts])
        yield ""
        yield table.html()
    if on_site and row["without effect"]:
        yield f"Without effect: {row['without effect']}."
    if on_site:
        yield f"`ackclock claims {row['claim']}`, {row['made by']}."


def _first(text: str) -> str:
    """The first of the assumptions that turn a verdict; claims.csv has all."""
    first = re.match(r".*?: (?:holds|fails|open)", text)
    return f"{first[0]}), …" if first and len(first[0]) + 1 < len(text) else text


def take(report: Path, directory: Path) -> None:
    """Takes the claims of a report, and its pictures in fewer colours.

    Raises `SystemExit` if the report was made of what is not committed, which no page may name, or
    if it has not all claims, of one commit.
    """
    new = {row["claim"]: row for row in data(report) if not row["part"]}
    if unclear := [name for name, row in new.items() if "with changes" in row["made by"]]:
        sys.exit(f"{report}: {unclear[0]} was made with changes that are not committed")
    commits = {row["made by"] for row in new.values()}
    if new.keys() != DRAWN.keys() or len(commits) > 1:
        has = f"has {len(new)} of {len(DRAWN)} claims, of {len(commits)} commits"
        sys.exit(f"{report}: {has}; the page is of one: type `make docs-claims`")
    order = [*DRAWN]
    rows = sorted(data(report), key=lambda row: order.index(row["claim"]))
    with (directory / "claims.csv").open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, [*rows[0]], lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
    for name in PICTURED:
        if (report / name).exists():
            with Image.open(report / name) as image:
                small = image.convert("RGB")
                small.thumbnail((WIDTH, 10 * WIDTH))
                small.quantize(COLOURS).save(directory / PICTURES / name, optimize=True)


def verdicts(rows: Sequence[Row]) -> str:
    """Claim → what the live page and a quick report say of it, as JSON."""
    columns = {"measured": "measured, 95 % CI"} | {
        key: key for key in ("verdict", "firmness", "reason", "runs")
    }
    lines = [
        f"{json.dumps(row['claim'])}: "
        + json.dumps({key: row[of] for key, of in columns.items()}, ensure_ascii=False)
        for row in rows
        if not row["part"]
    ]
    return "{\n" + ",\n".join(lines) + "\n}\n"


def main(directory: Path, *report: Path) -> None:
    """Writes the page."""
    for each in report:
        take(each, directory)
    rows = data(directory)
    (directory / "claims.md").write_text(page(rows), encoding="utf-8")
    tally.VERDICTS.write_text(verdicts(rows), encoding="utf-8")


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:]))
