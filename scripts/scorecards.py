"""Writes docs/scorecards/: the numbers of each algorithm's card, and the league, all by row.

    scorecards.py DIRECTORY

NAME.csv has what `ackclock evaluate NAME --quick` finds, with six digits. README.md and league.png
are made of these files, and so are the pages of `make site`: the heat map, a card of each
algorithm, and the numbers of each row. Runs are kept in `.ackclock`: the same command resumes, and
a second one takes seconds.
"""

import csv
import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from html import escape
from pathlib import Path
from string import Template
from typing import Any

import matplotlib as mpl
import polars as pl
from matplotlib.figure import Figure

from ackclock import _core
from ackclock.draw import html, style
from ackclock.estimates.stats import Estimate
from ackclock.figures.experiment import Runs
from ackclock.questions.card import Answer, Answers, Mark
from ackclock.scorecard import data, page, run
from ackclock.scorecard.evaluated import AGAINST, QUESTIONS, Answered, Evaluated, Request

HERE = Path(__file__).parent
ALGORITHMS = [each["name"] for each in _core.algorithms()]
COLUMNS = ("row", "number", "of", "unit", "mean", "low", "high", "runs", "cut_off")
PICTURE = "league.png"
#: How each mark looks: its symbol, and its colours as a cell of the picture.
LOOKS: Mapping[Mark | str, tuple[str, str, str]] = {
    "better": ("+", "#9fd3ad", "black"),
    "same": ("=", "#eef0f2", "#5c6672"),
    "mixed": ("±", "#f3d98b", "black"),
    "worse": ("−", "#eda39c", "black"),
    "unclear": ("?", "white", "black"),
    "unsafe": ("!", "#8e1b1b", "white"),
}
README = """# The league

This page is for people who compare algorithms: each of ours (a line) by each row of the
[scorecard](../evaluate.md) (a column).

![{title}]({picture})

A mark compares the algorithm with CUBIC in its place, in the same runs: better (+), worse (−), the
same (=), or better in some numbers of the row and worse in others (±). Better and worse need the
95 % interval of the paired difference beyond the margin of the number, the same needs it within;
otherwise three repeats cannot tell (?). "!" is unsafe: nobody should deploy the algorithm there.
There is no total: who deploys an algorithm must say which rows matter.

On the site of the documentation (`make site`) each row can be sorted, and a cell opens the card of
its algorithm, with every number and interval.

## Unsafe

{unsafe}

## What the literature says

{literature}

`make docs-scorecards` wrote this page and its data, `NAME.csv`, from quick runs (3 repeats, few
points) of ackclock {version}.
"""
#: Who says so, what, and what we measured.
RANKINGS = (
    (
        "Cao, Zhang",
        "Cubic-FC converges sooner than CUBIC",
        "R5c: {far[cubic_fc]} v {far[cubic]}; R5a: {near[cubic_fc]} v {near[cubic]}",
    ),
    (
        "Koza, Akiyama, Yamaguchi",
        "SQUARE:FF is fairer to long RTTs than CUBIC",
        "R5b, 20 v 320 ms: {rtts[square_ff]} v {rtts[cubic]}",
    ),
    (
        "Ha, Rhee, Xu",
        "Reno leaves fast, long paths idle",
        "R13, 0.25 BDP: {used[reno]}, CUBIC {used[cubic]}",
    ),
    (
        "Brakmo, Peterson; Arun, Balakrishnan",
        "Vegas and Copa keep the shortest queues",
        "R3, 1 BDP: {delay[vegas]} and {delay[copa]}; 4 BDP: {deep[vegas]} and {deep[copa]}",
    ),
    (
        "RFC 9743, 5.1.3",
        "BBRv1 loses much in small buffers",
        "R4, 0.25 BDP: {shallow[bbr]}; BBRv3 {shallow[bbr3]}",
    ),
    (
        "RFC 8257, 5",
        "DCTCP is for data centres only",
        "R10b: a CUBIC flow loses {marks[dctcp]}",
    ),
)


# --- data ---


def write(evaluated: Evaluated, directory: Path) -> None:
    """Writes NAME.csv: each number of the algorithm, and its differences to the others."""
    name = evaluated.algorithm
    with (directory / f"{name}.csv").open("w", encoding="utf-8", newline="") as file:
        lines = csv.writer(file, lineterminator="\n")
        lines.writerow(COLUMNS)
        for asked in evaluated.asked:
            for answer in asked.answers.answers:
                of = {name: answer.found[name]}
                of |= {f"- {other}": each for other, each in answer.differences.items()}
                for who, found in of.items():
                    said = [asked.question.row, answer.number.name, who, answer.number.unit]
                    lines.writerow([*said, *_cells(found)])


def _cells(found: Estimate | None) -> list[str]:
    if found is None:
        return [""] * 5
    ends = (found.mean, found.low, found.high)
    return [*(f"{each:.6g}" for each in ends), str(found.n), str(found.censored)]


def read(directory: Path) -> list[Evaluated]:
    """The cards of the files that `write` wrote, CUBIC and Reno first."""
    found = {name: _read(directory / f"{name}.csv") for name in ALGORITHMS}
    names = sorted(ALGORITHMS, key=lambda name: (name not in AGAINST, name))
    return [_card(name, found) for name in names]


def _read(path: Path) -> dict[tuple[str, str, str], Estimate | None]:
    with path.open(encoding="utf-8", newline="") as file:
        return {
            (line["row"], line["number"], line["of"]): _estimate(line)
            for line in csv.DictReader(file)
        }


def _estimate(line: Mapping[str, str]) -> Estimate | None:
    if not line["mean"]:
        return None
    mean, low, high = (float(line[each]) for each in ("mean", "low", "high"))
    return Estimate(mean, low, high, int(line["runs"]), int(line["cut_off"]))


def _card(
    name: str, found: Mapping[str, Mapping[tuple[str, str, str], Estimate | None]]
) -> Evaluated:
    others = [each for each in AGAINST if each != name]
    every = []
    for question in QUESTIONS:
        answers = []
        for number in question.numbers:
            at = (question.row, number.name)
            values = {each: found[each][*at, each] for each in (name, *others)}
            differences = {each: found[name][*at, f"- {each}"] for each in others}
            answers.append(Answer(number, values, differences))
        experiment = question.experiment([name, *others], quick=True)
        runs = Runs(experiment, pl.DataFrame())
        every.append(Answered(question, experiment, runs, Answers(question, answers)))
    return Evaluated(name, others, every, quick=True)


# --- pages ---


def league(cards: Sequence[Evaluated]) -> dict[str, list[Mark | str]]:
    """Algorithm → its mark against CUBIC by row."""
    return {
        each.algorithm: [
            "unsafe" if asked.answers.unsafe(each.algorithm) else asked.answers.mark("cubic")
            for asked in each.asked
        ]
        for each in cards
        if "cubic" in each.against
    }


def readme(cards: Sequence[Evaluated]) -> str:
    """The short page with the picture."""
    rows = [question.row for question in QUESTIONS]
    marks = league(cards)
    unsafe = {
        name: ", ".join(row for row, mark in zip(rows, of, strict=True) if mark == "unsafe")
        for name, of in marks.items()
    }
    return README.format(
        title=_title(len(marks)),
        picture=PICTURE,
        unsafe="; ".join(f"`{name}`: {where}" for name, where in unsafe.items() if where) + ".",
        literature=literature(cards).markdown(),
        version=_core.engine_version(),
    )


def _title(count: int) -> str:
    return f"{count} algorithms by {len(QUESTIONS)} rows, against CUBIC"


def literature(cards: Sequence[Evaluated]) -> html.Table:
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
    return html.Table(["who says so", "ranking", "here"], rows)


def picture(cards: Sequence[Evaluated]) -> Figure:
    """The league as a heat map with a symbol in each cell."""
    marks = league(cards)
    with style.applied(), mpl.rc_context({"font.size": 8}):
        figure = Figure(figsize=(9.2, 0.24 * len(marks) + 0.9))
        axes = figure.subplots()
        for line, of in enumerate(marks.values()):
            for column, mark in enumerate(of):
                symbol, paper, ink = LOOKS[mark]
                place = mpl.patches.Rectangle((column, line), 1, 1, fc=paper, ec="white", lw=1.5)
                axes.add_patch(place)
                axes.text(column + 0.5, line + 0.52, symbol, color=ink, ha="center", va="center")
        axes.set_xlim(0, len(QUESTIONS))
        axes.set_ylim(len(marks), 0)
        axes.set_xticks([n + 0.5 for n in range(len(QUESTIONS))], [each.row for each in QUESTIONS])
        axes.set_yticks(
            [n + 0.5 for n in range(len(marks))], [style.look(name).label for name in marks]
        )
        axes.tick_params(length=0, top=True, labeltop=True)
        axes.spines[:].set_visible(False)
        look: dict[str, Any] = {"marker": "s", "ls": "", "ms": 9}
        handles = [
            mpl.lines.Line2D([], [], **look, color=colour, label=f"{symbol} {mark}")
            for mark in _met(marks)
            for symbol, colour, _ in (LOOKS[mark],)
        ]
        figure.legend(handles=handles, loc="outside upper center", ncols=len(handles))
    return figure


def heat_map(cards: Sequence[Evaluated]) -> str:
    """The league as HTML: sortable by each row; a cell leads to its card."""
    marks = league(cards)
    said = [escape(f"{each.row}: {each.words}") for each in QUESTIONS]
    head = [
        f'<th role="columnheader"><button title="{words}">{each.row}</button></th>'
        for each, words in zip(QUESTIONS, said, strict=True)
    ]
    lines = []
    for each in cards:
        if (name := each.algorithm) not in marks:
            continue
        label, first = escape(style.look(name).label), escape(data.headline(each))
        line = [f'<th role="rowheader"><a href="{name}.html" title="{first}">{label}</a></th>']
        for question, words, mark in zip(QUESTIONS, said, marks[name], strict=True):
            to, title = f"{name}.html#{question.row}", f"{label}, {words} {mark}"
            inner = f'<a href="{to}" title="{title}">{LOOKS[mark][0]}</a>'
            line.append(f'<td role="cell" class="{mark}" data-mark="{mark}">{inner}</td>')
        lines.append(f'<tr role="row">{"".join(line)}</tr>')
    legend = [f'<span><i class="{mark}">{LOOKS[mark][0]}</i>{mark}</span>' for mark in _met(marks)]
    template = Template((HERE / "league.html").read_text(encoding="utf-8"))
    return template.substitute(
        title=escape(_title(len(marks))),
        rows=len(QUESTIONS),
        third=-(-len(QUESTIONS) // 3),
        order=json.dumps(list(LOOKS)),
        legend="".join(legend),
        head="".join(head),
        body="\n".join(lines),
    )


def _met(marks: Mapping[str, Sequence[Mark | str]]) -> list[Mark | str]:
    """The marks that are there."""
    return [mark for mark in LOOKS if any(mark in of for of in marks.values())]


def pages(cards: Sequence[Evaluated]) -> dict[str, str]:
    """File name → HTML: the card of each algorithm, and the numbers of each row."""
    up = [("index.html", "The league"), ("rows.html", "All algorithms")]
    found = {"rows.html": rows_page(cards)}
    for each in cards:
        name = each.algorithm
        sections = [_without_files(page.row_section(asked, each)) for asked in each.asked]
        found[f"{name}.html"] = page.document(
            each,
            sections,
            command=f"ackclock evaluate {name} --quick",
            up=[*up, (f"../algorithms/{name}.html", f"How {style.look(name).label} works")],
        )
    return found


def _without_files(section: html.Section) -> html.Section:
    """Without links to the scenarios, which `ackclock evaluate` writes."""
    return replace(section, table=section.table and replace(section.table, links={}))


def rows_page(cards: Sequence[Evaluated]) -> str:
    """Each number of every algorithm, row by row."""
    sections = []
    for index, question in enumerate(QUESTIONS):
        header = ["algorithm", *(number.name for number in question.numbers)]
        lines = [
            [
                style.look(each.algorithm).label,
                *(_marked(each, answer) for answer in each.asked[index].answers.answers),
            ]
            for each in cards
        ]
        links = {line: f"{each.algorithm}.html#{question.row}" for line, each in enumerate(cards)}
        sections.append(
            html.Section(
                f"{question.row}: {question.words}",
                text=f"RFC 9743, {page.section(question.criterion)}.",
                table=html.Table(header, lines, links=links),
                id=question.row,
            )
        )
    lead = "Each number with its mark against CUBIC. A number with > was cut off by the run's end."
    return html.page(
        "The rows of the league",
        lead,
        sections,
        kind="scorecard",
        up=[("index.html", "The league")],
    )


def _marked(evaluated: Evaluated, answer: Answer) -> str:
    """A number, and how it does against CUBIC's."""
    found = page.cell(answer, evaluated.algorithm).removesuffix(" ×")
    if answer.unsafe(evaluated.algorithm):
        return f"{found} {LOOKS['unsafe'][0]}"
    return f"{found} {LOOKS[answer.mark('cubic')][0]}" if "cubic" in evaluated.against else found


def main(directory: Path) -> None:
    """Runs what is not kept, and writes all files."""
    directory.mkdir(parents=True, exist_ok=True)
    for name in ALGORITHMS:
        evaluated = run.evaluate(Request(name, quick=True))
        write(evaluated, directory)
        print(name, data.headline(evaluated), flush=True)
    cards = read(directory)
    (directory / "README.md").write_text(readme(cards), encoding="utf-8")
    picture(cards).savefig(directory / PICTURE, dpi=110)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
