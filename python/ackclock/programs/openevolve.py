"""What OpenEvolve asks of an evaluator: `evaluate(path)` returns metrics and artifacts."""

from collections.abc import Callable, Generator
from typing import Any

from ackclock.base.budget import Budget, LateError
from ackclock.hosts.contained import contained
from ackclock.hosts.work import CACHE, check_writable
from ackclock.programs.packages import missing
from ackclock.scorecard import data, own

#: The metric that OpenEvolve maximises, and what a candidate that fails gets.
SCORE, FAILED = "combined_score", 0.0


def evaluated(
    path: str,
    objective: data.Objective,
    *,
    rows: str = "links",
    against: tuple[str, ...] = ("cubic", "reno"),
    held_out: int | None = None,
    budget_s: float = 60,
) -> Any:
    """An `EvaluationResult` of the C file at `path`: "combined_score" is the objective.

    `objective` is a function of the runs whose results are above 0, as of `data.evaluate`. A
    candidate that does not compile, crashes or is unsafe on the links has 0, and as artifacts
    stage, row, problem and scenario. The other metrics are the means of the card's numbers.
    Raises `AckclockError` if the package openevolve is not installed.
    """
    try:
        from openevolve.evaluation_result import EvaluationResult  # noqa: PLC0415 (optional)
    except ImportError:
        raise missing("openevolve") from None
    options = {
        "rows": rows,
        "against": against,
        "quick": True,
        "held_out": held_out,
        "budget_s": budget_s,
    }
    # OpenEvolve forks its workers, where polars does not run.
    check_writable(CACHE)
    budget = Budget.of(1.25 * budget_s + 1)  # for what tells no progress
    given = (budget.ending(_card), path, options)
    try:
        ((card, runs),) = budget.told(contained(*given, progress=lambda _: None, may_write=[CACHE]))
    except LateError as late:
        return EvaluationResult({SCORE: FAILED}, {"stopped": str(late)})
    failed = card["failed"] or {}
    metrics = {
        f"{row['row']}: {number['name']}": found["mean"]
        for row in card["rows"]
        for number in row["numbers"]
        if (found := number["found"][path])
    }
    score = FAILED if failed or not runs else own.number(objective, runs, "objective")
    artifacts = {key: str(value) for key, value in failed.items() if value}
    if card["stopped"]:
        artifacts["stopped"] = card["stopped"]
    return EvaluationResult(metrics | {SCORE: score}, artifacts)


def _card(
    path: str, options: dict[str, Any], _: Callable[[float], None]
) -> Generator[tuple[dict[str, Any], list[dict[str, Any]]], None, None]:
    """The card of a file, and all its runs."""
    runs: list[dict[str, Any]] = []

    def keep(rows: list[dict[str, Any]]) -> float:
        runs.extend(rows)
        return 0.0

    yield data.evaluate(path, objective=keep, **options), runs
