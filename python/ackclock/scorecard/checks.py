"""Thresholds of a scorecard, for continuous integration."""

import json
import os
import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

from ackclock.base.errors import AckclockError
from ackclock.draw import html
from ackclock.questions.card import Question
from ackclock.scenario.table import nearest
from ackclock.scorecard.evaluated import Evaluated
from ackclock.scorecard.page import cell

_KEYS = {"row", "number", "above", "below", "not_worse_than", "not_unsafe"}
#: What a table can require, one of them each.
_ASKED = ({"above", "below"}, {"not_worse_than"}, {"not_unsafe"})
#: Characters that no XML file may contain, not even escaped.
NOT_IN_XML = r"[^\t\n -\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]"
_LIKE = (
    'tables [[require]] with row = "R3", number = "utilisation with 1 BDP" and above = 0.9 '
    "(docs/ci.md)"
)


@dataclass(frozen=True)
class Threshold:
    """One `[[require]]` of a file."""

    row: str
    number: str | None = None
    above: float | None = None
    below: float | None = None
    not_worse_than: str | None = None
    not_unsafe: bool = False

    @property
    def name(self) -> str:
        """What it requires, in words."""
        what = f"{self.row}" + (f", {self.number}" if self.number else "")
        if self.not_unsafe:
            return f"{what}: not unsafe"
        if self.not_worse_than:
            return f"{what}: not worse than {self.not_worse_than}"
        ends = [f"above {self.above:g}"] if self.above is not None else []
        ends += [f"below {self.below:g}"] if self.below is not None else []
        return f"{what}: {' and '.join(ends)}"


@dataclass(frozen=True)
class Checked:
    """A threshold with what was measured."""

    threshold: Threshold
    broken: bool
    measured: str

    @property
    def says(self) -> str:
        """One line."""
        return f"{self.threshold.name}; measured {self.measured}"


def read(path: Path, questions: Sequence[Question], against: Sequence[str]) -> list[Threshold]:
    """The thresholds of a file; raises `AckclockError` that names file, key, value and fix.

    `against`: the algorithms beside which the card puts its own.
    """
    try:
        fields = tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise AckclockError(f"{path}: no such file; write one with {_LIKE}") from None
    except (OSError, UnicodeDecodeError, RecursionError, tomllib.TOMLDecodeError) as error:
        raise AckclockError(f"{path}: {getattr(error, 'strerror', None) or error}") from None
    required = fields.get("require")
    tables = isinstance(required, list) and all(isinstance(each, dict) for each in required)
    if not required or not tables or fields.keys() - {"require"}:
        raise AckclockError(f"{path}: write {_LIKE}")
    known = {question.row: question for question in questions}
    found = []
    for number, each in enumerate(required, 1):
        try:
            found.append(_threshold(each, known, against))
        except AckclockError as error:
            raise AckclockError(f"{path}: require {number}: {error}") from None
    return found


def _threshold(
    of: Mapping[str, Any], known: Mapping[str, Question], against: Sequence[str]
) -> Threshold:
    for key in of:
        if key not in _KEYS:
            near = nearest(key, sorted(_KEYS))
            fix = (
                f'did you mean "{near[0]}"?' if near else f"choose from {', '.join(sorted(_KEYS))}"
            )
            raise AckclockError(f"{key}: unknown key; {fix}")
    row = of.get("row")
    if not isinstance(row, str) or row not in known:
        raise AckclockError(f'row = "{row}": choose from {", ".join(known)}')
    names = [each.name for each in known[row].numbers]
    if "number" in of and of["number"] not in names:
        raise AckclockError(f'number = "{of["number"]}": choose from {"; ".join(names)}')
    asked = [each for each in _ASKED if of.keys() & each]
    if not asked:
        raise AckclockError("add above, below, not_worse_than or not_unsafe")
    if len(asked) > 1:  # one of them would be ignored
        said = [key for key in of if key not in ("row", "number")]
        raise AckclockError(f"{' and '.join(said)}: write one table [[require]] for each")
    _check_asked(of, names, against)
    return Threshold(**of)


def _check_asked(of: Mapping[str, Any], names: Sequence[str], against: Sequence[str]) -> None:
    if bounds := [key for key in ("above", "below") if key in of]:
        if "number" not in of:
            raise AckclockError(f"above and below need a number; choose from {'; '.join(names)}")
        for key in bounds:
            if type(of[key]) not in (int, float):
                raise AckclockError(f"{key} = {json.dumps(of[key], default=str)}: write a number")
        if len(bounds) == 2 and not of["above"] < of["below"]:
            raise AckclockError("above must be less than below")
    if "not_unsafe" in of:
        if of["not_unsafe"] is not True:
            raise AckclockError("not_unsafe: write true, or remove the table")
        if "number" in of:
            raise AckclockError("not_unsafe asks the whole row; remove number")
    if "not_worse_than" in of and of["not_worse_than"] not in against:
        raise AckclockError(
            f'not_worse_than = "{of["not_worse_than"]}": choose from {", ".join(against)}, '
            "or add it to --against"
        )


def judge(thresholds: Sequence[Threshold], evaluated: Evaluated) -> list[Checked]:
    """Each threshold with what was measured.

    A bound is broken if the whole 95 % interval is beyond it. A row that was not asked, because the
    algorithm failed before, breaks what is required of it.
    """
    return [_judge(each, evaluated) for each in thresholds]


def _judge(threshold: Threshold, evaluated: Evaluated) -> Checked:
    asked = next((each for each in evaluated.asked if each.question.row == threshold.row), None)
    if asked is None:
        problem = evaluated.failed.problem if evaluated.failed else "nothing"
        return Checked(threshold, True, problem)
    if threshold.not_unsafe:
        unsafe = asked.answers.unsafe(evaluated.algorithm)
        return Checked(threshold, bool(unsafe), "; ".join(unsafe) or "nothing unsafe")
    some = [a for a in asked.answers.answers if threshold.number in (None, a.number.name)]
    if threshold.not_worse_than:
        other = threshold.not_worse_than
        worse = [
            f"{each.number.name} {cell(each, evaluated.algorithm)} v {cell(each, other)}"
            for each in some
            if each.mark(other) == "worse"
        ]
        return Checked(threshold, bool(worse), "; ".join(worse) or "not worse")
    found = some[0].found[evaluated.algorithm]
    if found is None:
        return Checked(threshold, True, "no number")
    broken = (threshold.above is not None and found.high < threshold.above) or (
        threshold.below is not None and found.low > threshold.below
    )
    return Checked(threshold, broken, html.number(found, some[0].number.unit))


def write(checked: Sequence[Checked], directory: Path) -> None:
    """Writes junit.xml and summary.md."""
    broken = sum(each.broken for each in checked)
    suite = ET.Element("testsuite", name="ackclock evaluate", tests=str(len(checked)),
                        failures=str(broken))  # fmt: skip
    for each in checked:
        case = ET.SubElement(
            suite, "testcase", classname=each.threshold.row, name=each.threshold.name
        )
        if each.broken:
            _say(case, "failure", each.says)
    ET.ElementTree(suite).write(directory / "junit.xml", encoding="utf-8", xml_declaration=True)
    rows = [
        [each.threshold.name, each.measured, "broken" if each.broken else "kept"]
        for each in checked
    ]
    text = html.Table(["threshold", "measured", ""], rows).markdown()
    summary = f"## Scorecard: {broken} of {len(checked)} thresholds broken\n\n{text}\n"
    (directory / "summary.md").write_text(summary, encoding="utf-8")


def write_error(error: str, thresholds: Sequence[Threshold], directory: Path) -> None:
    """Writes junit.xml and summary.md of a scorecard that could not be made.

    So nobody takes the files of an earlier card for those of this one.
    """
    count = str(len(thresholds))
    suite = ET.Element("testsuite", name="ackclock evaluate", tests=count, errors=count)
    for each in thresholds:
        case = ET.SubElement(suite, "testcase", classname=each.row, name=each.name)
        _say(case, "error", error)
    ET.ElementTree(suite).write(directory / "junit.xml", encoding="utf-8", xml_declaration=True)
    summary = f"## Scorecard: not made\n\n```text\nerror: {error}\n```\n"
    (directory / "summary.md").write_text(summary, encoding="utf-8")


def _say(case: ET.Element, kind: str, text: str) -> None:
    """The first line as `message`, which lists show; the whole text as content, which one opens."""
    text = re.sub(NOT_IN_XML, "\ufffd", text)
    ET.SubElement(case, kind, message=text.partition("\n")[0].removesuffix(":")).text = text


def tell_github(directory: Path) -> None:
    """Appends the summary of a directory to GitHub's, where there is one."""
    if step := os.environ.get("GITHUB_STEP_SUMMARY"):
        text = (directory / "summary.md").read_text(encoding="utf-8")
        try:
            with Path(step).open("a", encoding="utf-8") as file:
                file.write(text)
        except OSError as error:
            raise AckclockError(f"GITHUB_STEP_SUMMARY={step}: {error.strerror}") from None
