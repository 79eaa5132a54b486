"""Writes what the page without a server judges an algorithm with: its scorecard, and an attack.

`scorecard.json` has the quick runs of every row, with the place of the algorithm free, and what the
others measured in that place; `attack.json` the scenarios that `ackclock attack` tries first, with
the harm that Reno does in them. So a browser runs the algorithm that is judged, and nothing else.
`make site` writes them beside the page. `python scripts/lab_judges.py DIRECTORY` does it by itself.
"""

import json
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ackclock.explore.judge import TRIES
from ackclock.explore.runs import MOST_FLOWS
from ackclock.figures.experiment import BOUND, Experiment, Point
from ackclock.hosts.threads import LOCAL
from ackclock.hosts.work import WORK
from ackclock.questions import links
from ackclock.questions.card import ALONE, HARM, Question, points_of
from ackclock.questions.rows import rows_of, store_of
from ackclock.questions.trouble import VARIED, decoded
from ackclock.results import metrics
from ackclock.results.result import Result
from ackclock.scenario import snapshot
from ackclock.scenario.scenario import Scenario
from ackclock.scorecard import page
from ackclock.scorecard.attack import scattered
from ackclock.scorecard.evaluated import AGAINST, QUESTIONS
from ackclock.scorecard.runs import seeds_of

#: In the place of the algorithm that is judged.
YOURS = "yours"
#: What stands in the place of the algorithm that an attack judges, for comparison.
BESIDE = "reno"


def write(directory: Path, tries: int = TRIES) -> None:
    """Writes both. `tries` as of `ackclock attack`."""
    directory.mkdir(parents=True, exist_ok=True)
    for name, told in {"scorecard": scorecard(), "attack": attack(tries)}.items():
        text = json.dumps(told, separators=(",", ":"))
        (directory / f"{name}.json").write_text(text, encoding="utf-8")


def scorecard() -> dict[str, Any]:
    """The quick rows, of each number its runs, seed by seed; the runs, with the others' numbers.

    Runs of `ALONE` say what the others have without an algorithm; harm is told against that.
    """
    runs: dict[str, _Run] = {}
    rows = [_row(question, runs) for question in (links.LINKS, *QUESTIONS)]
    with snapshot.held():
        measured = {name: _measured(name, runs.values()) for name in (*AGAINST, ALONE)}
    told = [
        {
            "toml": toml,
            "alone_mbps": measured[ALONE][number]["mine_mbps"] if run.alone else None,
            "others": {name: run.told(measured[name][number]) for name in AGAINST},
        }
        for number, (toml, run) in enumerate(runs.items())
    ]
    return {"lead": page.LEAD, "words": page.WORDS, "rows": rows, "runs": told}


@dataclass
class _Run:
    """A run of the card with a free place."""

    experiment: Experiment
    point: Point
    seed: int
    #: Whether the others run alone, too.
    alone: bool
    #: Columns of `Numbers` that are asked of it.
    columns: set[str] = field(default_factory=set)

    def of(self, algorithm: str) -> Scenario:
        """With an algorithm in the place."""
        return self.experiment.run({**self.point, "algorithm": algorithm}, self.seed)

    def told(self, row: Mapping[str, Any]) -> dict[str, Any]:
        """What is asked of it, as the engine tells it: crates/measure/src/numbers.rs."""
        names = sorted({"others_mbps" if each == HARM else each for each in self.columns})
        at_least = [name for name in names if row[name + BOUND] == "at least"]
        return {name: row[name] for name in names} | {"at_least": at_least}


def _row(question: Question, runs: dict[str, _Run]) -> dict[str, Any]:
    """A row; its runs are added to `runs`, by their TOML."""
    experiment = question.experiment([YOURS], quick=True)
    seeds = range(1, seeds_of(experiment, quick=True) + 1)

    def number_of(point: Point, seed: int, column: str) -> int:
        run = _Run(experiment, point, seed, question.alone)
        toml = run.of(YOURS).to_toml()
        runs.setdefault(toml, run).columns.add(column)
        return list(runs).index(toml)

    numbers = []
    for number in question.numbers:
        points = points_of(experiment, number, YOURS)
        of = [[number_of(point, seed, number.column) for point in points] for seed in seeds]
        keys = ("name", "column", "unit", "more", "margin", "unsafe", "because")
        numbers.append({key: getattr(number, key) for key in keys} | {"runs": of})
    asked = f"RFC 9743, {page.section(question.criterion)}"
    row = {"row": question.row, "words": question.words, "asked": asked}
    return row | {"exact": question.seeds == 1, "numbers": numbers}


def _measured(algorithm: str, runs: Iterable[_Run]) -> list[dict[str, Any]]:
    """The row of each run with an algorithm in the place; of `ALONE` {} where it is not asked."""
    asked = [run.of(algorithm) if algorithm != ALONE or run.alone else None for run in runs]
    # As the keys of the scorecard's own runs, which these are.
    keys = [each and f"{each.key()}-{each.flows[0].count}" for each in asked]
    scenarios = {str(key): each for key, each in zip(keys, asked, strict=True) if key and each}
    rows = rows_of(scenarios, store_of(WORK), WORK)
    return [rows[str(key)] if key else {} for key in keys]


#: Seeds of the lab's attack: of the search, and of the runs that judge what was found.
SEEDS = (1, 2, 3)


def attack(tries: int) -> dict[str, Any]:
    """The first candidates of an attack on R7, with what others have beside `BESIDE`, and alone."""
    genes = scattered(sum(VARIED.values()), SEEDS[0], tries)
    troubles = [decoded(each, tuple(VARIED), "R7") for each in genes]
    # What is found is drawn, too.
    troubles = [each for each in troubles if sum(each.groups(YOURS).values()) <= MOST_FLOWS]
    scenarios = [each.scenario(name, SEEDS[0]) for each in troubles for name in (BESIDE, ALONE)]
    goodputs_bps: dict[int, Sequence[float]] = {}
    with snapshot.held():
        LOCAL.run(scenarios, _goodputs_bps, goodputs_bps.__setitem__)
    told = []
    for number, each in enumerate(troubles):
        own, others = 1 + (each.second is not None), each.cross[1] if each.cross else 1
        beside_bps = goodputs_bps[2 * number][own : own + others]
        alone_bps = goodputs_bps[2 * number + 1][:others]
        toml = each.scenario(YOURS, SEEDS[0]).to_toml()
        assert _without(toml) == each.scenario(ALONE, SEEDS[0]).to_toml(), "the page does so, too"
        told.append(
            {
                "toml": toml,
                "own": own,
                "others": others,
                "beside_bps": sum(beside_bps) / others,
                "alone_bps": sum(alone_bps) / others,
            }
        )
    return {"beside": BESIDE, "seeds": SEEDS, "scenarios": told}


def _without(toml: str) -> str:
    """A scenario without the tables of the algorithm that is judged."""
    tables = toml.split("\n\n")
    return "\n\n".join(each for each in tables if f'algorithm = "{YOURS}"' not in each)


def _goodputs_bps(result: Result) -> list[float]:
    return metrics.goodput_bps(result).tolist()


if __name__ == "__main__":
    write(Path(sys.argv[1]))
