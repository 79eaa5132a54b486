"""The quantitative sentences of the papers: which have a claim, and why others have none.

sentences.csv has a row for each sentence of a number, an order, a trend or a form that a run or a
computation could contradict: its paper and section, a few words of ours, and the ids of the claims
that judge it ("errata": `papers.errata`). Else `why` says "not testable: …" or "no row: …".
Setups and definitions are none.
"""

import csv
from functools import cache
from pathlib import Path
from typing import NamedTuple

from ackclock.draw.html import Table

#: Kinds of sentences, in the order of the table.
KINDS = ("with a row", "not testable", "no row")


class Sentence(NamedTuple):
    """A row of sentences.csv."""

    paper: str
    place: str
    words: str
    row: str
    why: str

    @property
    def kind(self) -> str:
        """One of `KINDS`."""
        return "with a row" if self.row else self.why.partition(":")[0]


@cache
def every() -> list[Sentence]:
    """All sentences, paper by paper."""
    path = Path(__file__).with_name("sentences.csv")
    return [Sentence(**row) for row in csv.DictReader(path.read_text("utf-8").splitlines())]


def counted() -> Table:
    """How many of each paper, and of each kind."""
    papers = dict.fromkeys(each.paper for each in every())
    rows = []
    for paper in (*papers, "all"):
        kinds = [each.kind for each in every() if paper in (each.paper, "all")]
        rows.append([paper, str(len(kinds)), *(str(kinds.count(kind)) for kind in KINDS)])
    return Table(["paper", "quantitative sentences", *KINDS], rows)
