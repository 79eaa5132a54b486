"""Writes docs/scorecards/: the card of each algorithm, and the league, all of them by row.

    scorecards.py DIRECTORY [--full]

Runs are kept in `.ackclock`: the same command resumes, and a second one takes seconds.
"""

import sys
from collections.abc import Sequence
from pathlib import Path

from ackclock import _core, report, style
from ackclock.evaluate import page, run
from ackclock.evaluate.run import Evaluated

ALGORITHMS = [each["name"] for each in _core.algorithms()]
#: How a mark looks in the league.
SIGNS = {"better": "+", "worse": "−", "same": "=", "mixed": "±", "open": "?"}


def how(quick: bool) -> str:
    runs = "quick runs (3 repeats, few points)" if quick else "full runs"
    return f"Written by `make docs-scorecards` from {runs} of ackclock {_core.engine_version()}."


def card(evaluated: Evaluated) -> str:
    """The card of an algorithm: every number, with its 95 % interval and its marks."""
    name = evaluated.algorithm
    text = [f"# Scorecard of {style.of(name).label}", ""]
    text.append(
        f"This page shows what `ackclock evaluate {name}` finds: each number with its 95 % "
        "interval, beside CUBIC and Reno in the same runs. [evaluate.md](../evaluate.md) says what "
        f"each row asks, [the league](README.md) compares all algorithms, and [{name}]"
        f"(../algorithms/{name}.md) says how this one works."
    )
    for asked in evaluated.asked:
        question = asked.question
        text += ["", f"## {question.row}: {question.words}", "", f"RFC 9743, {question.criterion}."]
        for why in asked.answers.unsafe(name):
            text += ["", f"**Unsafe**: {why}."]
        text += ["", page.details(asked, evaluated).markdown().strip()]
    if evaluated.failed:
        at, problem = evaluated.failed
        text += ["", f"## {at}: unsafe", "", problem]
    return "\n".join([*text, "", how(evaluated.quick), ""])


def in_league(evaluated: Evaluated, index: int) -> str:
    """A row of the card in one cell: its first number, and how it does against CUBIC."""
    asked = evaluated.asked[index]
    first = page.cell(asked.answers.answers[0], evaluated.algorithm)
    if asked.answers.unsafe(evaluated.algorithm):
        return f"{first} **unsafe**"
    if "cubic" not in evaluated.against:
        return first
    return f"{first} {SIGNS[asked.answers.mark('cubic')]}"


def league(cards: Sequence[Evaluated]) -> str:
    """Every algorithm by every row."""
    questions = [asked.question for asked in cards[0].asked]
    text = [
        "# The league",
        "",
        "This page is for people who compare algorithms: each of ours by each row of the",
        "[scorecard](../evaluate.md). A cell has the first number of the row, and how the",
        "algorithm does against CUBIC in all numbers of the row: better (+), worse (−), the same",
        "(=), or some better and some worse (±). A mark needs the 95 % interval of the paired",
        "difference beyond a margin. The names lead to the cards, which have all numbers.",
        "",
        "There is no total: the rows ask different things, and who deploys an algorithm must say",
        "which of them matter.",
        "",
    ]
    rows = [
        [each.row, each.words, f"{first.name}{f' ({first.unit})' if first.unit else ''}"]
        for each in questions
        for first in each.numbers[:1]
    ]
    text.append(report.Table(["row", "question", "first number"], rows).markdown().strip())
    half = (len(questions) + 1) // 2
    for part in (range(half), range(half, len(questions))):
        header = ["algorithm", *(questions[index].row for index in part)]
        rows = [
            [
                f"[{each.algorithm}]({each.algorithm}.md)",
                *(in_league(each, index) for index in part),
            ]
            for each in cards
        ]
        text += ["", report.Table(header, rows).markdown().strip()]
    unsafe = [
        f"* `{each.algorithm}`, {asked.question.row}: {why}."
        for each in cards
        for asked in each.asked
        for why in asked.answers.unsafe(each.algorithm)
    ]
    text += ["", "## Unsafe", "", *unsafe]
    return "\n".join([*text, "", how(cards[0].quick), ""])


def main(directory: Path, *, quick: bool) -> None:
    directory.mkdir(parents=True, exist_ok=True)
    cards = []
    for name in ALGORITHMS:
        cards.append(run.evaluate(name, quick=quick))
        (directory / f"{name}.md").write_text(card(cards[-1]), encoding="utf-8")
        print(name, cards[-1].totals, flush=True)
    whole = [each for each in cards if not each.failed]
    (directory / "README.md").write_text(league(whole), encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]), quick="--full" not in sys.argv[2:])
