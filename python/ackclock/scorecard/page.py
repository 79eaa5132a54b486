"""A scorecard as a table for a screen, as files, and as one page."""

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from html import escape
from pathlib import Path

from ackclock.draw import html, plot, responsive
from ackclock.estimates.stats import Estimate
from ackclock.pages.offered import Offered
from ackclock.questions.card import Answer, Answers, Number
from ackclock.results.result import PAGE
from ackclock.scorecard import data
from ackclock.scorecard.drawing import figure
from ackclock.scorecard.evaluated import Answered, Evaluated

LEAD = (
    "RFC 9743 (BCP 133) names what to ask of a congestion control, and sets no thresholds. Each "
    "row is one of its criteria, with the RFC's word for its force. A mark compares the algorithm "
    "with another in its place, in the same runs: better or worse if the 95 % interval of the "
    "paired difference (− cubic) is beyond the margin of the number. A line of the card shows one "
    "number of its row; a mark in brackets comes from another one."
)
HELD_OUT = (
    "The same questions on links and hosts drawn around those of the card, and again where the "
    "first drawing is doubtful. The gap is how much better the algorithm does on the card's links, "
    'in its difference to another: "recognised" if 95 of 100 drawn links are worse by the margin.'
)
#: The words of the numbers.
WORDS = {
    "harm": (
        "the part of their throughput alone that other flows lose beside the algorithm (Ware et "
        "al., HotNets 2019). Two equal flows do each other 50 %"
    ),
    "1:4": "1 flow of the algorithm beside 4 of the other",
    "1 BDP": "rate × RTT",
    "p95, p99": "what 95 or 99 of 100 packets or transfers do not exceed",
    "time until a newcomer has its share": (
        "from its start until it has had 80 % of an equal share for 10 s, in steps of 10 s"
    ),
    "Jain's index": "1 if all flows have the same throughput, 1/n if one of n has everything",
    "slowdown": "time of a transfer over the time that it needs on an empty link",
}


def section(criterion: str) -> str:
    """Sections of the RFC, and the word in them: `section 5.1.2: "should"`."""
    where = re.match(r"[\d., ]+", criterion)
    sections = where[0].strip() if where else ""
    word = criterion[len(sections) :].strip()
    many = "sections" if "," in sections else "section"
    return f"{many} {sections.replace(', ', ' and ')}" + (f': "{word}"' if word else "")


def cell(answer: Answer, algorithm: str) -> str:
    """An estimate as short text."""
    found = answer.found[algorithm]
    return "—" if found is None else _short(found, answer.number)


def _short(found: Estimate, number: Number) -> str:
    size = abs(found.mean)
    if number.unit == "" and 0.095 <= size <= 1.5:
        text = f"{found.mean:.2f}"
    else:
        text = f"{found.mean:.3g}" if size < 1000 else f"{found.mean:.0f}"
    return f"{'> ' if found.censored else ''}{text} {number.unit}".strip()


def _sides(asked: Answered, evaluated: Evaluated) -> list[tuple[str, Answers]]:
    """The simulator's answers, and those of Linux, if it was asked."""
    linux = [(evaluated.on, asked.linux.answers)] if evaluated.on and asked.linux else []
    return [(evaluated.host, asked.answers), *linux]


def table(evaluated: Evaluated) -> html.Table:
    """One line a question: a number of each algorithm, and how it does against each.

    The number is the one that says most of the marks; a mark that another number says is in
    brackets.
    With Linux beside the simulator a second line has the same from there.
    """
    names = evaluated.names
    mine, *others = names.values()
    on = ["on"] if evaluated.on else []
    header = ["row", "question", "number", *on, mine, *others]
    header += [f"v {each}" for each in others]
    rows: list[list[str]] = []
    links: dict[int, str] = {}
    for asked in evaluated.asked:
        links[len(rows)] = f"#{asked.question.row}"
        number = _telling(asked, evaluated)
        for side, given in _sides(asked, evaluated):
            first = next((each for each in given.answers if each.number is number), None)
            unsafe = given.unsafe(evaluated.algorithm)
            marks = [
                "unsafe" if unsafe else _mark(given, first, each) for each in evaluated.against
            ]
            marks = [each if given.answers else "—" for each in marks]
            cells = [cell(first, each) if first else "—" for each in names]
            said = [asked.question.row, asked.question.words, number.name]
            said = said if given is asked.answers else ["", "", ""]
            rows.append([*said, *([side] if on else []), *cells, *marks])
    if evaluated.failed:
        rows.append(
            [
                evaluated.failed.row,
                evaluated.failed.problem,
                "does it run?",
                *on,
                "failed",
                *("" for _ in others),
                *("failed" for _ in others),
            ]
        )
    look = "card" if on else f"card of-{len(others)}"
    return html.Table(header, rows, links=links, look=look)


def gaps(evaluated: Evaluated) -> html.Table:
    """How each number differs on links that were drawn, where it does so beyond its margin."""
    header = ["row", "number", "v", "on the card", "on other links", "gap", ""]
    rows = []
    for gap in evaluated.gaps:
        unit = gap.number.unit
        ends = " … ".join(f"{each:.3g}" for each in gap.ends)
        cells = [full(each, unit) for each in (gap.fixed, gap.held_out)]
        said = [gap.row, gap.name, evaluated.names[gap.other]]
        rows.append([*said, *cells, ends, "recognised" if gap.counts else "—"])
    return html.Table(header, rows)


def _mark(given: Answers, shown: Answer | None, other: str) -> str:
    """The mark of a row; in brackets if the number that is shown has another."""
    mark = given.mark(other)
    if mark in ("better", "worse") and (shown is None or shown.mark(other) != mark):
        return f"({mark})"
    return mark


def _telling(asked: Answered, evaluated: Evaluated) -> Number:
    """The number that says why the row is marked: the first unsafe one, or that of most marks.

    With Linux beside the simulator it is one that both have, if there is one.
    """
    given = asked.answers.answers
    linux = [answer.number for answer in asked.linux.answers.answers] if asked.linux else []
    given = [answer for answer in given if answer.number in linux] or given
    for answer in given:
        if answer.unsafe(evaluated.algorithm):
            return answer.number

    def says(answer: Answer) -> int:
        marks = {other: answer.mark(other) for other in evaluated.against}
        differ = [other for other, mark in marks.items() if mark in ("better", "worse")]
        like = [other for other in differ if marks[other] == asked.answers.mark(other)]
        return len(differ) + len(like)

    return max(given, key=says).number if given else asked.question.numbers[0]


def details(asked: Answered, evaluated: Evaluated) -> html.Table:
    """All numbers of a question, with the paired differences."""
    on = ["on"] if evaluated.on else []
    header = ["number", "margin", *on, *evaluated.names.values()]
    header += [
        each for name in evaluated.against for each in (f"− {evaluated.names[name]}", "mark")
    ]
    rows: list[list[str]] = []
    links: dict[int, str] = {}
    for number in asked.question.numbers:
        for side, given in _sides(asked, evaluated):
            for answer in given.answers:
                if answer.number is not number:
                    continue
                cells = [full(answer.found[name], number.unit) for name in evaluated.names]
                for other in evaluated.against:
                    cells += [full(answer.differences[other], number.unit), answer.mark(other)]
                links[len(rows)] = scenario_file(asked, number)
                margin = f"{number.margin:g} {number.unit}".strip()
                rows.append([number.name, margin, *([side] if on else []), *cells])
    return html.Table(header, rows, links=links)


def scenario_file(asked: Answered, number: Number) -> str:
    """The file with the scenario of a number: of its first point, if it is a mean over several."""
    return f"{asked.question.row}-{asked.question.numbers.index(number) + 1}.toml"


def full(found: Estimate | None, unit: str) -> str:
    """An estimate with its interval."""
    return "—" if found is None else html.number(found, unit)


def row_section(asked: Answered, evaluated: Evaluated) -> html.Section:
    """A question with all its numbers."""
    question = asked.question
    unsafe = asked.answers.unsafe(evaluated.algorithm)
    text = f"RFC 9743, {section(question.criterion)}."
    text += f"\n\nUnsafe: {'; '.join(unsafe)}." if unsafe else ""
    for why in asked.linux.refused if asked.linux else ():
        text += f"\n\nNot on the {evaluated.on or evaluated.host}: {why}."
    marks = [asked.answers.mark(each) for each in evaluated.against]
    return html.Section(
        f"{question.row}: {question.words}",
        text=text,
        table=details(asked, evaluated),
        id=question.row,
        verdicts=["unsafe"] if unsafe else marks,
    )


def document(
    evaluated: Evaluated,
    rows: Sequence[html.Section],
    *,
    command: str,
    totals: str = "",
    files: Sequence[str] = (),
    up: Sequence[tuple[str, str]] = (),
) -> str:
    """The card as one HTML page; `rows` are the sections of its questions."""
    about = f'<p class="hint">{escape(evaluated.made_by)}</p>'
    text = LEAD + (" The name of a number is a link to its scenario." if files else "")
    links = [(name, name) for name in files]
    sections = [
        html.Section("", inner=about),
        html.Section("The card", text=text, table=table(evaluated), links=links),
        *rows,
    ]
    if evaluated.failed:
        failed = evaluated.failed
        sections.append(
            html.Section(f"{failed.row}: failed", text=failed.problem, code=failed.scenario or "")
        )
    if evaluated.stopped:
        sections.append(html.Section("Not finished", text=evaluated.stopped))
    if evaluated.held_out:
        sections.append(html.Section("On other links", text=HELD_OUT, table=gaps(evaluated)))
    words = html.Table(["word", "what it means"], [list(each) for each in WORDS.items()])
    sections.append(html.Section("Words", table=words))
    sections.append(html.Section("Repeat it", text=totals, code=command))
    title = f"Scorecard of {evaluated.names[evaluated.algorithm]}"
    return html.page(title, data.headline(evaluated), sections, kind="scorecard", up=up)


def write(
    evaluated: Evaluated,
    directory: Path,
    *,
    command: str,
    progress: Callable[[float], None] = lambda _: None,
) -> None:
    """Writes index.html, card.json, rows.parquet and the scenarios of the numbers."""
    sections, offered = [], Offered(directory)
    for drawn_before, asked in enumerate(evaluated.asked):
        progress(drawn_before / len(evaluated.asked))
        for number in asked.question.numbers:
            point = asked.point(number, evaluated.algorithm)
            path = directory / scenario_file(asked, number)
            scenario = offered.beside(asked.experiment.run(point, asked.experiment.first_seed))
            path.write_text(scenario.to_toml(), encoding="utf-8")
        drawn = figure(asked, evaluated)
        files = [path.name for path in plot.write(drawn, directory, asked.question.row, pdf=False)]
        row = row_section(asked, evaluated)
        links = [(file, file) for file in files]
        sections.append(replace(row, picture=responsive.to_html(drawn), links=links))
    page = document(
        evaluated,
        sections,
        command=command,
        totals=evaluated.totals,
        files=("card.json", "rows.parquet")[: 2 if evaluated.asked else 1],
    )
    (directory / PAGE).write_text(page, encoding="utf-8")
    data.write(evaluated, directory, command=command)
