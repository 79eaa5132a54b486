"""How many claims hold, fail or stay open, each with how firm its verdict is, and why."""

import json
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

from ackclock.base import units
from ackclock.draw import html
from ackclock.estimates.stats import LEAST_REPEATS
from ackclock.figures.claim import ERROR, REASONS, Firmness, JudgedClaim, Verdict

T = TypeVar("T")

#: What a verdict is called of several claims.
MANY = {"holds": "hold", "fails": "fail", "quick": "not judged", "reported": "reported"}
FIRM: Sequence[Firmness] = ("always", "depends", "one setup")
ORDER: Sequence[Verdict] = ("holds", "fails", "open", "reported", "not testable", "quick")
#: A claim's paper, verdict, firmness and reason.
Counted = tuple[str, str, str, str]
#: Claim → what docs/claims.csv says of it; `scripts/claims_page.py` writes both.
VERDICTS = Path(__file__).with_name("verdicts.json")


@cache
def at_full_length() -> dict[str, Any]:
    """Claim → verdict, firmness, reason, measured and runs, as texts of `ackclock report`."""
    return dict(json.loads(VERDICTS.read_text(encoding="utf-8")))


def of_texts(claim: str, row: Mapping[str, str]) -> Counted:
    """What is counted of a claim of `at_full_length`, or of docs/claims.csv."""
    firm = row["firmness"].partition(" ")[0]
    firm = "one setup" if firm == "one" else firm
    return claim.partition(".")[0], row["verdict"], firm, row["reason"]


def counted(claims: Iterable[JudgedClaim]) -> list[Counted]:
    """What is counted of claims."""
    return [
        (each.id.partition(".")[0], each.verdict, each.firmness, each.reason) for each in claims
    ]


def _cell(claims: Sequence[Counted], verdict: str) -> str:
    """How many have a verdict, and how firmly: "13 (8 always, 5 depends)"."""
    firm = [each[2] for each in claims if each[1] == verdict]
    counts = Counter(firm)
    inner = ", ".join(f"{counts[each]} {each}" for each in FIRM if counts[each])
    return f"{len(firm)} ({inner})" if inner else str(len(firm) or "")


def by_paper(each: Iterable[T], paper: Callable[[T], str]) -> dict[str, list[T]]:
    """Claims or figures by their paper."""
    found: dict[str, list[T]] = {}
    for one in each:
        found.setdefault(paper(one), []).append(one)
    return found


def _papers(claims: Sequence[Counted]) -> dict[str, list[Counted]]:
    found = by_paper(claims, lambda each: each[0])
    return found | ({"all": list(claims)} if len(found) > 1 else {})


def by_firmness(claims: Sequence[Counted]) -> html.Table:
    """A row for each paper: verdicts, each with its firmness."""
    shown = [each for each in ORDER if any(claim[1] == each for claim in claims)]
    rows = [
        [name, *(_cell(some, each) for each in shown)] for name, some in _papers(claims).items()
    ]
    return html.Table(["paper", *shown], rows)


def by_reason(claims: Sequence[Counted]) -> html.Table:
    """A row for each reason for which claims do not simply hold: how many of each paper."""
    papers = _papers(claims)
    rows = []
    for reason in REASONS:
        counts = [sum(_reason(each) == reason for each in some) for some in papers.values()]
        if any(counts):
            rows.append([reason, *(str(count or "") for count in counts)])
    return html.Table(["reason", *papers], rows)


def _reason(claim: Counted) -> str:
    """Without the name of what of ours it is."""
    return claim[3].partition(":")[0]


def survives(chance: str, rows: int) -> bool:
    """Whether a verdict that stands at this level still does if so many rows share the error."""
    return float(chance) <= ERROR / rows


def in_words(claims: Sequence[JudgedClaim]) -> str:
    """How many claims hold, and how firmly."""
    verdicts = [claim.verdict for claim in claims]
    number = units.counted(len(claims), "claim")
    if verdicts and set(verdicts) == {"quick"}:
        return f"{number} without verdicts: a quick run has too few repeats."
    decided = [claim.decides.estimate for claim in claims if claim.is_judged]
    few = any(each is not None and 0 < each.n < LEAST_REPEATS for each in decided)
    found = counted(claims)
    said = [
        f"{_cell(found, each) or 0} {MANY.get(each, each)}"
        for each in ORDER[:-1]
        if each in ORDER[:3] or each in verdicts
    ]
    quick = verdicts.count("quick")
    return (
        f"{number}: {', '.join(said)}"
        + (f"; {quick} without a verdict: a quick run has too few repeats" if quick else "")
        + (f"; fewer than {LEAST_REPEATS} repeats give no verdict" if few else "")
    )
