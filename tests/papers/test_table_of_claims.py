"""What is judged is what was fixed before the runs: ids, setups, bounds and whose they are.

claims.csv is the table of the claims, as they were written down before the runs that judge them.
"""

import csv
import re
from dataclasses import replace
from pathlib import Path

import pytest

from ackclock.figures.claim import Either
from ackclock.papers import load, sentences

TABLE = {
    row["id"]: row
    for row in csv.DictReader(
        Path(__file__).with_name("claims.csv").read_text(encoding="utf-8").splitlines()
    )
}
CLAIMS = {claim.id: claim for named in load("all") for claim in named.figure.claims}


def parts_of(claim):
    for part in claim.parts:
        yield from (*part.parts, *part.others) if isinstance(part, Either) else (part,)


def bounds(claim):
    """Each bound once, with whose it is."""
    said = (
        f"{part.bound}, {'ours' if part.owner == 'ours' else 'paper'}"
        for part in parts_of(claim)
        if part.bound
    )
    return "; ".join(dict.fromkeys(said))


def values(claim, key):
    """The values of a key in the runs of a claim."""
    found = set()
    for experiment, point in replace(claim, readings={}).needs:
        scenario = experiment.run(point, 1)
        links = scenario.links or [scenario.bottleneck]
        if key == "rate":
            found |= {str(link.rate) for link in links}
        elif key == "buffer":
            found |= {str(link.buffer) for link in links}
        elif key == "rtt":
            found |= {str(flow.rtt or scenario.rtt) for flow in scenario.flows}
        else:
            found.add(scenario.duration)
    return " ".join(sorted(found))


def test_every_sentence_has_claims_that_there_are_or_says_why_not():
    every = sentences.every()
    assert len(set(every)) == len(every) > 200
    for each in every:
        assert bool(each.row) != bool(each.why), each
        assert each.kind in sentences.KINDS, each
        assert each.row == "errata" or set(each.row.split()) <= CLAIMS.keys(), each
        assert re.fullmatch(r"abstract|(table )?[IV\d]+(\.[A-C\d])?(, note)?", each.place), each
        assert 2 <= len(each.words.split()) <= 15, each


def test_every_claim_about_a_paper_is_of_a_sentence():
    judged = {name for each in sentences.every() for name in each.row.split()}
    assert {name for name in CLAIMS if not name.startswith("standards")} <= judged


def test_the_sentences_are_counted():
    """By hand, of the lines of the file."""
    path = Path(sentences.__file__).with_name("sentences.csv")
    lines = path.read_text(encoding="utf-8").splitlines()[1:]
    *_, of_all = sentences.counted().rows
    untestable = sum("not testable:" in line for line in lines)
    no_row = sum("no row:" in line for line in lines)
    counts = [len(lines), len(lines) - untestable - no_row, untestable, no_row]
    assert of_all == ["all", *map(str, counts)]


def test_the_claims_are_those_of_the_table():
    assert set(CLAIMS) == set(TABLE)


@pytest.mark.parametrize("claim", CLAIMS.values(), ids=CLAIMS)
def test_a_claim_quotes_the_paper_with_the_section(claim):
    assert re.fullmatch(r"[^“”]*(“[^“”]+”[^“”]*)+ \(.+\)", claim.quote)


@pytest.mark.parametrize("name", CLAIMS)
def test_a_claim_is_judged_as_the_table_says(name):
    claim, row = CLAIMS[name], TABLE[name]
    assert bounds(claim) == row["bounds"]
    for key in ("rate", "rtt", "buffer", "duration"):
        assert values(claim, key) == row[key], key
    assert ("reported" if claim.reported else "not testable" if claim.untestable else "") == row[
        "not judged"
    ]
