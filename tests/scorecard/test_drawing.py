"""The pictures of a scorecard: that their words can be read."""

from itertools import pairwise

import polars as pl
import pytest

from ackclock.draw import responsive
from ackclock.figures.experiment import Runs
from ackclock.questions.card import ALONE, answers
from ackclock.questions.measure import Numbers
from ackclock.scorecard import evaluated as parts
from ackclock.scorecard.drawing import figure
from ackclock.scorecard.evaluated import QUESTIONS

NAMES = ("my_algorithm.c", "cubic", "reno", "bbr")


def asked(question):
    """A full question with four algorithms, and numbers that nobody measured."""
    experiment = question.experiment(NAMES, quick=False)
    numbers = dict.fromkeys(Numbers._fields, 12.3)
    rows = [{**point, "seed": 1, **numbers} for point in experiment.points]
    runs = Runs(experiment, pl.DataFrame(rows))
    return parts.Answered(
        question, experiment, runs, answers(question, experiment, {experiment: runs})
    )


def overlapping(drawing):
    """Pairs of ticks and of titles of which one is written over the other."""
    drawing.canvas.draw()
    found, titles = [], []
    for axes in drawing.axes:
        if not axes.get_visible():
            continue
        for axis in (axes.xaxis, axes.yaxis):
            labels = [each for each in axis.get_ticklabels() if each.get_visible()]
            found += [
                (one.get_text(), other.get_text())
                for one, other in pairwise(labels)
                if one.get_window_extent().padded(1).overlaps(other.get_window_extent())
            ]
        titles += [text for text in (axes.title, axes._left_title) if text.get_text()]
    found += [
        (one.get_text(), other.get_text())
        for index, one in enumerate(titles)
        for other in titles[:index]
        if one.get_window_extent().overlaps(other.get_window_extent())
    ]
    return found


@pytest.mark.parametrize("row", ["R3", "R4", "R7", "R7b", "R9", "R10", "R15"])
def test_no_word_is_written_over_another(row):
    """With four algorithms in a full run, as wide as a page, and on a phone."""
    (question,) = (each for each in QUESTIONS if each.row == row)
    evaluated = parts.Evaluated(NAMES[0], NAMES[1:], [asked(question)], quick=False)
    drawing = figure(evaluated.asked[0], evaluated)
    assert overlapping(drawing) == []
    responsive.to_html(drawing)
    assert overlapping(drawing) == []


def test_each_rival_has_its_own_heat_maps():
    """R7: harm to CUBIC is not averaged with that to BBR. A cell is the mean over the buffers."""
    (question,) = (each for each in QUESTIONS if each.row == "R7")
    of = asked(question)
    percent = pl.when(pl.col("other") == "bbr").then(7.0).otherwise(4.0)
    deeper = pl.when(pl.col("buffer") == "4bdp").then(6.0).otherwise(0.0)
    table = of.runs.table.with_columns(harm_percent=percent + deeper)
    of = parts.Answered(question, of.experiment, Runs(of.experiment, table), of.answers)
    drawing = figure(of, parts.Evaluated(NAMES[0], NAMES[1:], [of], quick=False))
    shown = {
        axes.get_title(loc="left"): {text.get_text() for text in axes.texts}
        for axes in drawing.axes
    }
    assert len(shown) == len(NAMES) * 3
    assert ALONE not in shown
    assert shown["cubic beside bbr"] == {"8"}
    assert shown["cubic beside reno"] == {"5"}
