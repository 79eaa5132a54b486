"""The scorecard for programs: `ackclock.evaluate`, card.json, rows.parquet."""

import math
import os
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import polars as pl

from ackclock import _core
from ackclock.draw import style
from ackclock.estimates.stats import Estimate
from ackclock.hosts.threads import LOCAL, Executor
from ackclock.hosts.work import CACHE
from ackclock.scorecard import run
from ackclock.scorecard.card import MARKS, Answer, Answers
from ackclock.scorecard.run import AGAINST, SIMULATOR, Evaluated
from ackclock.store.entries import MANIFEST, write_json, write_parquet


def evaluate(
    algorithm: str,
    *,
    against: Sequence[str] = AGAINST,
    rows: str | None = None,
    quick: bool = False,
    cache: str | os.PathLike[str] = CACHE,
    executor: Executor = LOCAL,
    progress: Callable[[float], None] | None = None,
) -> dict[str, Any]:
    """Asks of an algorithm what RFC 9743 asks; returns what card.json has (docs/evaluate.md).

    `algorithm` and those that it is compared with: a C file, or NAME[@PRESET][:PARAMETER=VALUE,…].
    `rows`: only these, "R3,R7". Runs are kept in `cache`, so that the same call costs nothing.
    An algorithm that crashes has "failed": the row, and how. Raises `AckclockError` if one cannot
    be loaded.
    """
    found = run.evaluate(
        algorithm,
        run.chosen(rows),
        against=against,
        quick=quick,
        cache=Path(cache),
        executor=executor,
        progress=progress,
    )
    return as_json(found)


def headline(evaluated: Evaluated) -> str:
    """The card in one line, in the simulator: marks against the first of the others, by row.

    "against CUBIC: 5 better, 16 same; unsafe in R4; equal to Reno in every number".
    """
    mine = evaluated.algorithm
    unsafe = [asked.question.row for asked in evaluated.asked if asked.answers.unsafe(mine)]
    unsafe += [evaluated.failed[0]] if evaluated.failed else []
    parts = []
    for other in evaluated.against[:1]:
        safe = [asked for asked in evaluated.asked if asked.question.row not in unsafe]
        marks = Counter(asked.answers.mark(other) for asked in safe)
        counts = ", ".join(f"{marks[mark]} {mark}" for mark in MARKS if marks[mark])
        parts += [f"against {label(other)}: {counts}"] if counts else []
    parts.append(f"unsafe in {', '.join(unsafe)}" if unsafe else "nothing unsafe")
    answers = [answer for asked in evaluated.asked for answer in asked.answers.answers]
    equal = [
        label(other)
        for other in evaluated.against
        if answers and all(answer.equal(mine, other) for answer in answers)
    ]
    parts += [f"equal to {' and '.join(equal)} in every number"] if equal else []
    return "; ".join(parts)


def label(algorithm: str) -> str:
    """What it is called."""
    return style.of(Path(algorithm).name).label


def write(evaluated: Evaluated, directory: Path, *, command: str) -> None:
    """Writes card.json, rows.parquet and the manifest."""
    made_by = {"ackclock": _core.engine_version(), "command": command}
    write_json(made_by, directory / MANIFEST)
    write_json(as_json(evaluated), directory / "card.json")
    rows = [
        runs.table.with_columns(row=pl.lit(asked.question.row), on=pl.lit(side))
        for asked in evaluated.asked
        for side, runs in (
            (SIMULATOR, asked.runs),
            (evaluated.on, asked.linux and asked.linux.runs),
        )
        if runs
    ]
    if rows:
        write_parquet(pl.concat(rows, how="diagonal_relaxed"), directory / "rows.parquet")


def as_json(evaluated: Evaluated) -> dict[str, Any]:
    """The card for programs."""
    return {
        "algorithm": evaluated.algorithm,
        "against": list(evaluated.against),
        "quick": evaluated.quick,
        "on": evaluated.on,
        "made_by": evaluated.made_by,
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
        "failed": None
        if evaluated.failed is None
        else dict(zip(("row", "problem"), evaluated.failed, strict=True)),
    }


def _row(given: Answers, evaluated: Evaluated) -> dict[str, Any]:
    return {
        "unsafe": given.unsafe(evaluated.algorithm),
        "marks": {each: given.mark(each) for each in evaluated.against},
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


def _estimate(found: Estimate | None) -> dict[str, Any] | None:
    if found is None:
        return None
    low, high = (each if math.isfinite(each) else None for each in (found.low, found.high))
    return {"mean": found.mean, "low": low, "high": high, "n": found.n, "censored": found.censored}
