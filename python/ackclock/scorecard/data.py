"""The scorecard for programs: `ackclock.evaluate`, card.json, rows.parquet."""

import math
import os
from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import polars as pl

from ackclock import _core
from ackclock.base.errors import AckclockError
from ackclock.draw import style
from ackclock.estimates.stats import Estimate
from ackclock.hosts.threads import LOCAL, Executor
from ackclock.hosts.work import CACHE, Work, quiet
from ackclock.questions.card import Answer, Answers
from ackclock.questions.held_out import Gap
from ackclock.scorecard import own, run
from ackclock.scorecard.evaluated import AGAINST, VERSION, Evaluated, Request
from ackclock.store.entries import MANIFEST, write_json, write_parquet

#: The file of the run in which an algorithm fails.
FAILED = "failed.toml"
#: The side of runs on links that were drawn.
HELD_OUT = "held out"

#: What a program makes more of: a function of the runs.
Objective = Callable[[list[dict[str, Any]]], float]


def evaluate(
    algorithm: str,
    *,
    against: Sequence[str] = AGAINST,
    rows: str | None = None,
    quick: bool = False,
    held_out: int | None = None,
    nonce: int | None = None,
    budget_s: float | None = None,
    objective: Objective | None = None,
    cache: str | os.PathLike[str] = CACHE,
    executor: Executor = LOCAL,
    progress: Callable[[float], None] | None = None,
) -> dict[str, Any]:
    """Asks of an algorithm what RFC 9743 asks; returns what card.json has (docs/evaluate.md).

    `algorithm` and those that it is compared with: a C file, or NAME[@PRESET][:PARAMETER=VALUE,…].
    `rows`: only these, "R3,R7", or "links": four links, for a first look. Runs are kept in `cache`,
    so that the same call costs nothing. It ends after `budget_s`, "stopped", with what there is,
    and where the algorithm does not compile, crashes, does not return or is unsafe on the links,
    with what "failed": stage, row, problem and scenario. C files run in a process of their own.
    `held_out` asks the same on links that this seed draws, and tells the "gap". The seeds of the
    runs follow `nonce`, by default a number that `cache` keeps and the card tells.
    `objective` is called with the algorithm's own runs, a dict each, with the columns of
    rows.parquet; "objective" is what it returns, None if nothing ran.
    Raises `AckclockError` if there is no such algorithm or file, if one of `against` cannot be
    loaded or run, or an argument is wrong.
    """
    for name in (algorithm, *against):
        if not isinstance(name, str):
            raise AckclockError(f'algorithm = {name!r}: write a text, like "cubic" or "my_cc.c"')
    if held_out is not None and not (isinstance(held_out, int) and held_out >= 0):
        raise AckclockError(f"held_out = {held_out!r}: write a whole number from 0, like 7")
    if objective is not None and not callable(objective):
        raise AckclockError(f"objective = {objective!r}: give a function of the runs")
    request = Request(algorithm, run.chosen(rows), against, quick, held_out, budget_s, nonce)
    found = run.evaluate(request, Work(Path(cache), executor, progress=progress or quiet))
    card = as_json(found)
    if objective is not None:
        every = table(found)
        mine = [] if every is None else every.filter(algorithm=algorithm).to_dicts()
        card["objective"] = own.number(objective, mine, "objective") if mine else None
    return card


def headline(evaluated: Evaluated) -> str:
    """The card in one line, in the simulator: marks against the first of the others, by row.

    "against CUBIC: 5 better, 16 same; unsafe in R4; equal to Reno in every number".
    """
    mine, against = evaluated.algorithm, evaluated.against
    recognised = evaluated.recognised
    given = [each.answers for each in evaluated.asked if each.question.row not in recognised]
    rows = [
        (each.question.row, bool(each.unsafe(mine)), each.mark(against[0]) if against else None)
        for each in given
    ]
    answers = [answer for each in given for answer in each.answers]
    equal = [
        each
        for each in against
        if answers and not recognised and all(of.equal(mine, each) for of in answers)
    ]
    names = [label(each) for each in equal]
    failed = evaluated.failed.row if evaluated.failed else None
    return _core.headline(rows, label(against[0]) if against else None, names, failed)


def label(algorithm: str) -> str:
    """What it is called."""
    return style.look(Path(algorithm).name).label


def write(evaluated: Evaluated, directory: Path, *, command: str) -> None:
    """Writes card.json, rows.parquet and the manifest."""
    made_by = {"ackclock": _core.engine_version(), "command": command}
    write_json(made_by, directory / MANIFEST)
    write_json(as_json(evaluated), directory / "card.json")
    if evaluated.failed and evaluated.failed.scenario:
        (directory / FAILED).write_text(evaluated.failed.scenario, encoding="utf-8")
    if (rows := table(evaluated)) is not None:
        write_parquet(rows, directory / "rows.parquet")


def table(evaluated: Evaluated) -> pl.DataFrame | None:
    """Every run of every row, and whose it is; None without any."""
    rows = [
        runs.table.with_columns(row=pl.lit(asked.question.row), on=pl.lit(side))
        for asked in evaluated.asked
        for side, runs in (
            (evaluated.host, asked.runs),
            (evaluated.on, asked.linux and asked.linux.runs),
        )
        if runs
    ]
    rows += [
        asked.runs.table.with_columns(row=pl.lit(asked.question.row), on=pl.lit(HELD_OUT))
        for asked in (evaluated.held_out.asked if evaluated.held_out else ())
    ]
    return pl.concat(rows, how="diagonal_relaxed") if rows else None


def as_json(evaluated: Evaluated) -> dict[str, Any]:
    """The card for programs, as docs/card.schema.json describes it."""
    return {
        "version": VERSION,
        "algorithm": evaluated.algorithm,
        "against": list(evaluated.against),
        "quick": evaluated.quick,
        "on": evaluated.on or evaluated.host,
        "made_by": evaluated.made_by,
        "nonce": evaluated.nonce,
        "confined": _core.confinement(),
        "headline": headline(evaluated),
        "rows": [
            {
                "row": asked.question.row,
                "question": asked.question.words,
                "rfc9743": asked.question.criterion,
                **_row(asked.answers, evaluated),
                "linux": asked.linux
                and _row(asked.linux.answers, evaluated) | {"refused": [*asked.linux.refused]},
            }
            for asked in evaluated.asked
        ],
        "failed": evaluated.failed and asdict(evaluated.failed),
        "stopped": evaluated.stopped,
        "held_out": evaluated.held_out
        and {"seed": evaluated.held_out.seed, "gaps": [_gap(each) for each in evaluated.gaps]},
    }


def _row(given: Answers, evaluated: Evaluated) -> dict[str, Any]:
    return {
        "unsafe": given.unsafe(evaluated.algorithm),
        "marks": {
            each: given.mark(each)
            for each in evaluated.against
            if given.question.row not in evaluated.recognised
        },
        "numbers": [_number(answer, evaluated) for answer in given.answers],
    }


def _number(answer: Answer, evaluated: Evaluated) -> dict[str, Any]:
    return {
        "name": answer.number.name,
        "unit": answer.number.unit,
        "more_is_better": answer.number.more,
        "margin": answer.number.margin,
        "found": {name: _estimate(answer.found[name]) for name in evaluated.names},
        "differences": {name: _estimate(each) for name, each in answer.differences.items()},
        "marks": {name: answer.mark(name) for name in evaluated.against},
    }


def _gap(of: Gap) -> dict[str, Any]:
    return {
        "row": of.row,
        "name": of.number.name,
        "against": of.other,
        "fixed": _estimate(of.fixed),
        "held_out": _estimate(of.held_out),
        "times": of.question.times,
        "gap": of.ends,
        "recognised": of.counts,
    }


def _estimate(found: Estimate | None) -> dict[str, Any] | None:
    if found is None:
        return None
    low, high = (each if math.isfinite(each) else None for each in (found.low, found.high))
    n = max(found.n, 1)  # 0 of a number without randomness: one run told it
    return {"mean": found.mean, "low": low, "high": high, "n": n, "censored": found.censored}
