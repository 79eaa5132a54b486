"""What OpenEvolve maximises: how much of four links a flow uses, less the delay that it makes."""

from statistics import fmean
from typing import Any

from ackclock.programs.openevolve import evaluated


def evaluate(program_path: str) -> object:
    def objective(rows: list[dict[str, Any]]) -> float:
        used = fmean(row["utilisation"] for row in rows)
        return used / (1 + fmean(row["delay_p95_ms"] for row in rows) / 1000)

    return evaluated(program_path, objective)
