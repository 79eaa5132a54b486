"""Writes docs/scorecards/: the card of each algorithm, and the league, all of them by row.

    scorecards.py DIRECTORY [--full]

Runs are kept in `.ackclock`: the same command resumes, and a second one takes seconds.
"""

import sys
from collections.abc import Sequence
from pathlib import Path

from ackclock import _core, report, style
from ackclock.evaluate import page, run
from ackclock.evaluate.card import Answer
from ackclock.evaluate.run import AGAINST, Evaluated

ALGORITHMS = [each["name"] for each in _core.algorithms()]
#: How a mark looks in the league.
SIGNS = {"better": "+", "worse": "−", "same": "=", "mixed": "±", "open": "?"}


def how(quick: bool) -> str:
    runs = (
        "quick runs (3 repeats, few points; few cells of the grid of R7 and R7b)"
        if quick
        else "full runs"
    )
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
        text += [
            "",
            f"## {question.row}: {question.words}",
            "",
            f"RFC 9743, {page.section(question.criterion)}.",
        ]
        for why in asked.answers.unsafe(name):
            text += ["", f"**Unsafe**: {why}."]
        text += ["", page.details(asked, evaluated).markdown().strip()]
    if evaluated.failed:
        at, problem = evaluated.failed
        text += ["", f"## {at}: unsafe", "", problem]
    return "\n".join([*text, "", how(evaluated.quick), ""])


def mark(evaluated: Evaluated, index: int) -> str:
    """How an algorithm does against CUBIC in all numbers of a row."""
    answers = evaluated.asked[index].answers
    return "**unsafe**" if answers.unsafe(evaluated.algorithm) else SIGNS[answers.mark("cubic")]


def cell(evaluated: Evaluated, answer: Answer) -> str:
    """A number, and how it does against CUBIC's."""
    found = page.cell(answer, evaluated.algorithm).removesuffix(" ×")
    if answer.unsafe(evaluated.algorithm):
        return f"{found} **unsafe**"
    return f"{found} {SIGNS[answer.mark('cubic')]}" if "cubic" in evaluated.against else found


def linked(algorithm: str) -> str:
    return f"[{algorithm}]({algorithm}.md)"


def league(cards: Sequence[Evaluated]) -> str:
    """Every algorithm by every row."""
    cards = sorted(cards, key=lambda each: (each.algorithm not in AGAINST, each.algorithm))
    questions = [asked.question for asked in cards[0].asked]
    titles = [f"{each.row}: {each.words}" for each in questions]
    text = [
        "# The league",
        "",
        "This page is for people who compare algorithms: each of ours by each row of the",
        "[scorecard](../evaluate.md). A mark compares the algorithm with CUBIC in the same place,",
        "in the same runs: better (+), worse (−), the same (=), or some numbers of the row better",
        "and others worse (±). **unsafe**: nobody should deploy it there. A mark needs the 95 %",
        "interval of the paired difference beyond the margin of the number. A row's name leads",
        "to its numbers; that of an algorithm leads to its card, which has their intervals.",
        "",
        "There is no total: the rows ask different things, and who deploys an algorithm must say",
        "which of them matter.",
        "",
        "Contents: [all rows](#all-rows) · [unsafe](#unsafe) ·",
        "[what the literature says](#what-the-literature-says) · [the rows](#the-rows)",
        "",
        "## All rows",
    ]
    links = [
        f"[{each.row}](#{report.slug(title)})"
        for each, title in zip(questions, titles, strict=True)
    ]
    paths = [each.row for each in questions].index("R9")
    for part in (range(paths), range(paths, len(questions))):
        header = ["algorithm", *(links[index] for index in part)]
        rows = [
            [linked(each.algorithm), *(mark(each, index) for index in part)]
            for each in cards
            if "cubic" in each.against
        ]
        text += ["", report.Table(header, rows).markdown().strip()]
    unsafe = [
        f"* `{each.algorithm}`, {asked.question.row}: {why}."
        for each in cards
        for asked in each.asked
        for why in asked.answers.unsafe(each.algorithm)
    ]
    text += ["", "## Unsafe", "", *unsafe, "", *literature(cards), "", "## The rows", ""]
    text.append(
        'Each number with its mark against CUBIC. A number with ">" was cut off by the end.'
    )
    for index, (question, title) in enumerate(zip(questions, titles, strict=True)):
        text += ["", f"### {title}", "", f"RFC 9743, {page.section(question.criterion)}.", ""]
        header = ["algorithm", *(number.name for number in question.numbers)]
        rows = [
            [
                linked(each.algorithm),
                *(cell(each, answer) for answer in each.asked[index].answers.answers),
            ]
            for each in cards
        ]
        text.append(report.Table(header, rows).markdown().strip())
    return "\n".join([*text, "", how(cards[0].quick), ""])


#: Who says so, what, and what we measured.
RANKINGS = (
    (
        "Cao, Zhang",
        "Cubic-FC converges sooner than CUBIC",
        "R5c: {far[cubic_fc]} v {far[cubic]}; R5a: {near[cubic_fc]} v {near[cubic]}, not apart",
    ),
    (
        "Koza, Akiyama, Yamaguchi",
        "SQUARE:FF is fairer to long RTTs than CUBIC",
        "R5b, 20 v 320 ms: {rtts[square_ff]} v {rtts[cubic]}, Reno {rtts[reno]}",
    ),
    (
        "Ha, Rhee, Xu",
        "Reno leaves fast, long paths idle",
        "R13, 0.25 BDP: {used[reno]}, HighSpeed {used[highspeed]}, CUBIC {used[cubic]}",
    ),
    (
        "Brakmo, Peterson; Arun, Balakrishnan",
        "Vegas and Copa keep the shortest queues",
        "R3, p95, 1 BDP: {delay[vegas]} and {delay[copa]}; 4 BDP: {deep[vegas]} and {deep[copa]}",
    ),
    (
        "RFC 9743, section 5.1.3",
        "BBRv1 loses much where several flows share a small buffer (BBRv3 less)",
        "R4, 4 flows, 0.25 BDP: {shallow[bbr]} and {shallow[bbr3]}",
    ),
    (
        "RFC 8257, section 5",
        "DCTCP is for data centres only",
        "R10b: a CUBIC flow loses {marks[dctcp]} of its throughput alone",
    ),
)
WHY = """
Three rankings need the right row:

* **Cubic-FC** counts two epochs, as CUBIC, before it gives way for one epoch. On the path of R5a
  (208 packets) seed 1 shows what follows. Both algorithms have the same losses until 12.0 s after
  the newcomer's start. Then Cubic-FC's epoch lasts 16 s, CUBIC's 9 s, and the newcomer reaches 146
  packets, not 107. But it overflows the buffer alone (21.7 s, 24.3 s), so its window falls to 123,
  and its lead is gone. On the path of R5c (1667 packets) most losses are of both flows, the
  newcomer keeps what it gets, and Cubic-FC is sooner. The paper has 13 333 packets.
* **Vegas** as Linux has it leaves slow start late if the buffer takes the overshoot. With 4 BDP its
  window is then 602 packets, where 212 fill the path, and it gives back one packet per RTT: the
  queue is gone after 45 s. With 1 BDP a loss ends slow start, and the queue is short at once.
* **Reno** fills any path once its buffer is 1 BDP (R13: all but FAST, LEDBAT++, Westwood and both
  BBR reach 1.00). With 0.25 BDP it needs minutes to grow back. Those below it are slower by design
  (LEDBAT++, square-root increase), grow by a fixed number of packets per RTT (FAST: 37 packets a
  second), or take their window from an estimate of the bandwidth that is far too low after the loss
  that ends slow start (Westwood: 729 packets of 12 500).
"""


def literature(cards: Sequence[Evaluated]) -> list[str]:
    """The rankings of the literature, with our numbers."""

    def of(row: str, number: str) -> dict[str, str]:
        return {
            each.algorithm: page.cell(answer, each.algorithm)
            for each in cards
            for asked in each.asked
            if asked.question.row == row
            for answer in asked.answers.answers
            if answer.number.name == number
        }

    values = {
        "far": of("R5c", "time until a newcomer has its share, 200 Mb/s"),
        "near": of("R5a", "time until a newcomer has its share, 2 flows"),
        "rtts": of("R5b", "slower / faster flow, RTTs of 20 and 320 ms"),
        "used": of("R13", "utilisation with 0.25 BDP"),
        "delay": of("R3", "queue delay with 1 BDP, p95"),
        "deep": of("R3", "queue delay with 4 BDP, p95"),
        "shallow": of("R4", "packets lost, 4 flows with 0.25 BDP"),
        "marks": of("R10b", "harm to a CUBIC flow with ECN, CoDel"),
    }
    rows = [[who, what, here.format(**values)] for who, what, here in RANKINGS]
    lead = "`tests/test_evaluate.py` holds these rankings with margins."
    table = report.Table(["who says so", "ranking", "here"], rows).markdown().strip()
    return ["## What the literature says", "", lead, "", table, *WHY.splitlines()]


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
