"""Tables of figures and claims, for screens, pages and programs."""

import math
import subprocess
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import polars as pl

from ackclock import _core
from ackclock.base import units
from ackclock.draw import html
from ackclock.estimates.stats import LEAST_REPEATS, Estimate
from ackclock.figures.claim import Judged, JudgedClaim, JudgedEither, flattened
from ackclock.figures.experiment import Experiment
from ackclock.figures.reproduce import Reproduced
from ackclock.pages import tally
from ackclock.scenario.scenario import Scenario
from ackclock.scenario.table import toml
from ackclock.store.entries import write_csv, write_json, write_parquet

#: More repeats than these are not told apart: nobody makes them.
MOST_NEEDED = 100_000
#: A row of a setup's table shows so many different values.
_MOST_VALUES = 6


def measures_table(figure: Reproduced) -> html.Table:
    """Our values beside the paper's."""
    return html.Table(
        ["quantity", "measured, 95 % CI", "runs", "paper"],
        [
            [
                quantity.name,
                _number(estimate, quantity.unit),
                _repeats(estimate),
                _paper(quantity.paper, quantity.unit),
            ]
            for quantity, estimate in figure.measured
        ],
    )


def _paper(paper: float | str, unit: str) -> str:
    return paper if isinstance(paper, str) else f"{paper:g} {unit}".strip()


def _number(estimate: Estimate | None, unit: str) -> str:
    return "not seen" if estimate is None else html.number(estimate, unit)


def _repeats(estimate: Estimate | None) -> str:
    return "—" if estimate is None else html.repeats(estimate)


_QUIETLY: Any = {"capture_output": True, "text": True}
#: What the column says: the ratio, and `JudgedClaim.nearness`.
OURS = "ours / paper"
#: The columns of a claim's line, and what a file says beside it.
_LINE = (
    *("claim", "verdict", "firmness", "the paper", "measured, 95 % CI", OURS),
    *("bound", "whose", "reason"),
)
_BESIDE = (
    *("runs", "decided by", "the paper says", "quote", "turns with", "without effect"),
    *("chance", "made by"),
)
_PART = ("part", "verdict", "measured, 95 % CI", "bound", "whose", "runs")
_WHOSE = {"the paper's": "paper", "ours": "ours"}


def claims_table(
    claims: Sequence[JudgedClaim],
    *,
    parts: bool = False,
    links: Sequence[str] = (),
) -> html.Table:
    """A line for each claim of a paper. `links` is where each leads.

    The parts of a claim are folded under it or, with `parts`, rows of their own below it.
    """
    rows: list[list[str]] = []
    folded: dict[int, tuple[str, html.Table]] = {}
    for claim in claims:
        name, *rest = _line(claim)
        rows.append([name.partition(".")[2], *rest])
        if parts and len(claim.parts) > 1:
            rows += [_part_line(cells) for cells in _parts_cells(claim)]
        elif len(claim.parts) > 1:
            folded[len(rows) - 1] = parts_table(claim)
    return html.Table(_LINE, rows, folded, dict(enumerate(links)))


def by_paper(claims: Sequence[JudgedClaim]) -> dict[str, list[JudgedClaim]]:
    """The claims of each paper."""
    return tally.by_paper(claims, lambda claim: claim.id.partition(".")[0])


def parts_table(claim: JudgedClaim) -> tuple[str, html.Table]:
    """The parts of a claim, and how many hold, in words. A quick run has no verdicts."""
    rows = _parts_cells(claim)
    tally = f": {claim.tally}" if claim.is_judged else ""
    return f"{len(rows)} parts{tally}", html.Table(_PART, rows)


def _parts_cells(claim: JudgedClaim) -> list[list[str]]:
    verdict = None if claim.is_judged else claim.verdict
    return [_part_cells(part, verdict) for part in claim.parts]


def _part_line(cells: Sequence[str]) -> list[str]:
    """A part in the columns of `_LINE`."""
    part = dict(zip(_PART, cells, strict=True)) | {"claim": f"  {cells[0]}"}
    return [part.get(each, "") for each in _LINE]


def _line(claim: JudgedClaim) -> list[str]:
    """A claim's line. A quick run names no part that decides, as it has no verdict."""
    firm: str = claim.firmness
    if claim.found:
        firm += " " + "/".join(map(str, claim.counts))
    head = [claim.id, claim.verdict, firm]
    if not claim.parts:
        return [*head, claim.claim.paper, "", "", "", "", claim.reason]
    if claim.quick and len(claim.parts) > 1:
        return [*head, claim.claim.paper, "of each part", "", "of each part", "", claim.reason]
    part = claim.decides
    paper = claim.claim.paper or _paper(part.part.quantity.paper, part.part.quantity.unit)
    bound = part.part.bound
    return [
        *head,
        paper,
        _number(part.estimate, part.part.quantity.unit),
        _ours(claim),
        bound,
        _WHOSE[part.part.owner] if bound else "",
        claim.reason,
    ]


def _ours(claim: JudgedClaim) -> str:
    """Ours over the paper's, and how near that is: "0.72 order"; of many the ends."""
    found = sorted(claim.ratios)
    ends = found if len(found) < 2 else [found[0], found[-1]]
    return f"{' … '.join(f'{each:.2f}' for each in ends)} {claim.nearness}".strip()


def _beside(claim: JudgedClaim) -> list[str]:
    """What a card says beside the line."""
    says, quote = claim.claim.says, claim.claim.quote
    if not claim.parts:
        return ["", claim.claim.untestable, says, quote, "", "", "", made_by()]
    part, decides = claim.decides, ""
    if len(claim.parts) == 1 or not claim.quick:
        decides = part.name + (f" ({claim.tally})" if claim.is_judged and claim.tally else "")
    runs = "" if claim.quick and len(claim.parts) > 1 else _repeats(part.estimate) + _more(claim)
    chance = "" if claim.chance is None else f"{claim.chance:.2g}"
    turns = ", ".join(claim.depends_on)
    return [runs, decides, says, quote, turns, _without(claim), chance, made_by()]


@cache
def made_by() -> str:
    """The engine's version, and the commit where ackclock runs from a checkout."""
    here = Path(__file__)
    git = ["git", "-C", str(here.parent)]
    try:
        subprocess.run([*git, "ls-files", "--error-unmatch", here.name], check=True, **_QUIETLY)
        describe = [*git, "describe", "--always", "--abbrev=12", "--dirty=, with changes"]
        commit = subprocess.run(describe, check=True, **_QUIETLY).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return f"ackclock {_core.engine_version()}"
    return f"ackclock {_core.engine_version()}, commit {commit}"


def card(claim: JudgedClaim) -> dict[str, str]:
    """What a claim's card says, by name: its line, and what stands beside it."""
    return dict(zip((*_LINE, *_BESIDE), (*_line(claim), *_beside(claim)), strict=True))


def _without(claim: JudgedClaim) -> str:
    """What was tried that leaves the verdict: "buffer (2), jitter"."""
    same = Counter(of for of, _, verdict in claim.found if verdict == claim.verdict)
    return ", ".join(of if count == 1 else f"{of} ({count})" for of, count in same.items())


def _more(claim: JudgedClaim) -> str:
    """What an open claim needs: so many runs, or something else than runs."""
    if claim.verdict != "open":
        return ""
    needed = claim.seeds_needed
    if needed:
        by = next(part.name for part, number in claim.undecided.items() if number == needed)
        number = f"≈ {needed}" if needed <= MOST_NEEDED else f"> {MOST_NEEDED}"
        return f"; needs {number}" + (f" for {by}" if by != claim.decides.name else "")
    parts = flattened([*claim.undecided])
    if any(part.estimate is None for part in parts):
        return ""
    if any(part.estimate and 0 < part.estimate.n < LEAST_REPEATS for part in parts):
        return f"; needs {LEAST_REPEATS} or more"
    if any(part.raw and part.raw.censored for part in parts):
        return f"{_alone(claim)}; more do not decide it: some are cut off"
    return "; how many would decide it is not known"


def _alone(claim: JudgedClaim) -> str:
    """That the part which decides fails, but not at the level that Holm needs."""
    if claim.decides.verdict() != "fails":
        return ""
    return (
        f"; fails at 5 %, but not at the {5 / len(claim.parts):.2g} % of {len(claim.parts)} parts"
    )


def _part_cells(part: Judged | JudgedEither, verdict: str | None) -> list[str]:
    """A part's cells; `verdict` in place of its own."""
    if isinstance(part, JudgedEither):
        some = "; ".join(
            f"{each.name}: {_number(each.estimate, each.part.quantity.unit)}"
            + ("" if verdict else f" ({each.verdict()})")
            for each in (*part.parts, *part.others)
        )
        of = part.parts[0].part
        return [part.name, verdict or part.verdict(), some, of.bound, _WHOSE[of.owner], ""]
    of = part.part
    return [
        part.name,
        verdict or part.verdict(),
        _number(part.estimate, of.quantity.unit),
        of.bound,
        _WHOSE[of.owner] if of.bound else "",
        _repeats(part.estimate),
    ]


def sensitivity_table(claim: JudgedClaim) -> html.Table:
    """The verdict with each thing changed that the paper leaves open."""
    rows = [["as set up", "", claim.verdict, *_deciding(claim)]]
    for of, values in claim.otherwise.items():
        for value, parts in values.items():
            other = JudgedClaim(claim.claim, parts)
            rows.append([of, value, other.verdict, *_deciding(other)])
    return html.Table(
        ["left open", "changed to", "verdict", "decided by", "measured, 95 % CI", "runs"], rows
    )


def change(before: JudgedClaim, after: JudgedClaim, settings: Sequence[str]) -> str:
    """A claim as set up, and with settings, in two lines."""

    def found(claim: JudgedClaim) -> str:
        part = claim.decides
        if part.estimate is None or (claim.quick and len(claim.parts) > 1):
            return claim.verdict
        mean = html.number(replace(part.estimate, n=1), part.part.quantity.unit)
        return f"{claim.verdict} {mean}" + (f" at {part.name}" if len(claim.parts) > 1 else "")

    return (
        f"{after.id}: {after.claim.says}\n"
        f"  as set up: {found(before)} → with {', '.join(settings)}: {found(after)}"
    )


def _deciding(claim: JudgedClaim) -> list[str]:
    part = claim.decides
    where = part.name if len(claim.parts) > 1 else ""
    tally = f" ({claim.tally})" if claim.tally else ""
    number = _number(part.estimate, part.part.quantity.unit)
    return [where + tally, number, _repeats(part.estimate)]


def setup_table(experiment: Experiment, scenarios: Sequence[Scenario]) -> html.Table:
    """The keys that an experiment's scenarios set, their values, and which of them are assumed."""
    values: dict[str, dict[str, None]] = {}
    for scenario in scenarios:
        for key, value in _flat(scenario).items():
            values.setdefault(key, {})[value] = None
    rows = []
    for key, some in values.items():
        shown = list(some)[:_MOST_VALUES]
        text = ", ".join(shown) + (" …" if len(some) > len(shown) else "")
        plain = ".".join(part for part in key.split(".") if not part.isdigit())
        assumed = experiment.assumed
        reason = next((assumed[each] for each in (key, plain, "*") if each in assumed), "")
        rows.append([key, text, f"assumed: {reason}" if reason else "the paper"])
    return html.Table(["key", "value", "from"], rows)


def _flat(scenario: Scenario) -> dict[str, str]:
    """The keys that a scenario sets, as of `--set`, without its seed."""
    fields = dict(scenario.given)
    found: dict[str, str] = {}

    def walk(prefix: str, value: Any) -> None:
        if isinstance(value, Mapping):
            for key, inner in value.items():
                walk(f"{prefix}.{key}" if prefix else key, inner)
        elif isinstance(value, list | tuple) and value and isinstance(value[0], Mapping):
            for number, inner in enumerate(value, 1):
                walk(f"{prefix}.{number}", inner)
        else:
            found[prefix] = value if isinstance(value, str) else toml(value)

    walk("", {key: value for key, value in fields.items() if key != "seed"})
    return found


def claims_of(figures: Sequence[Reproduced]) -> list[JudgedClaim]:
    """All claims of figures."""
    return [claim for figure in figures for claim in figure.claims]


def write_claims(figures: Sequence[Reproduced], directory: Path) -> list[dict[str, Any]]:
    """Writes claims.json (parts and sensitivity, too), claims.parquet and claims.csv; returns them.

    claims.csv has the texts of `claims_table`, a row for each claim and each part.

    Nothing where the figures claim nothing.
    """
    claims = claims_of(figures)
    verdicts = [claim_row(claim) for claim in claims]
    if verdicts:
        write_json(verdicts, directory / "claims.json")
        flat = [
            {k: v for k, v in claim.items() if not isinstance(v, list | dict)} for claim in verdicts
        ]
        table = pl.DataFrame(flat, infer_schema_length=None)
        write_parquet(table, directory / "claims.parquet")
        write_csv(pl.DataFrame(_texts(claims)), directory / "claims.csv")
    return verdicts


def _texts(claims: Sequence[JudgedClaim]) -> list[dict[str, str]]:
    rows = []
    for claim in claims:
        own = card(claim)
        name = own.pop("claim")
        rows.append({"claim": name, "part": ""} | own)
        for part, *some in _parts_cells(claim) if len(claim.parts) > 1 else []:
            of_part = dict.fromkeys(own, "") | dict(zip(_PART[1:], some, strict=True))
            rows.append({"claim": name, "part": part} | of_part)
    return rows


def run_totals(figures: Sequence[Reproduced]) -> str:
    """How much was simulated, in words."""
    batches = {batch.experiment: batch for each in figures for batch in each.batches
               if batch.variant is None}  # fmt: skip
    tables = {experiment: runs.table for each in figures for experiment, runs in each.rows.items()}
    runs = {
        key: row
        for experiment, batch in batches.items()
        for key, row in zip(batch.keys, tables[experiment].iter_rows(named=True), strict=True)
    }
    packets, testbed_s = (
        sum(row[column] for row in runs.values()) for column in ("packets", "testbed_s")
    )
    cpu_s: list[Any] = [row.get("cpu_time_s") for row in runs.values()]  # not of runs on Linux
    took = "" if None in cpu_s else f"; they took {sum(cpu_s):.0f} s of processor time"
    hours = f"{testbed_s / 3600:.1f} hours"
    minutes = f"{max(testbed_s / 60, 1):.0f} min"
    return (
        f"{units.counted(len(runs), 'run')}, {units.packets_in_words(packets)}{took}; "
        f"a testbed would have taken {hours if testbed_s >= 3600 else minutes}."
    )


def claim_row(claim: JudgedClaim) -> dict[str, Any]:
    """A claim for programs, with its parts and its sensitivity.

    A quick run has no verdict, so it names no part that decides: bound and numbers are null.
    """
    row: dict[str, Any] = {"id": claim.id, "says": claim.claim.says, "paper": claim.claim.paper}
    row |= _part_row(claim.decides) if claim.parts else _NO_PART
    row |= {"verdict": claim.verdict, "firmness": claim.firmness, "reason": claim.reason}
    row |= {"otherwise": [*claim.counts], "turning": len(claim.turning), "chance": claim.chance}
    row |= {"near": claim.nearness, "ours_over_paper": [*claim.ratios]}
    if len(claim.parts) > 1:
        if claim.quick:
            row |= dict.fromkeys(("bound", "mean", "low", "high", "n", "censored"))
        row["parts"] = [_any_part_row(part, claim.quick) for part in claim.parts]
    row["depends_on"] = ", ".join(claim.depends_on)
    row["seeds_needed"] = claim.seeds_needed
    row["sensitivity"] = [
        {"of": of, "value": value, "verdict": JudgedClaim(claim.claim, parts).verdict}
        | {"parts": [_any_part_row(part, claim.quick) for part in parts]}
        for of, values in claim.otherwise.items()
        for value, parts in values.items()
    ]
    return row


def _any_part_row(part: Judged | JudgedEither, quick: bool) -> dict[str, Any]:
    verdict = {"verdict": "quick" if quick else part.verdict()}
    if isinstance(part, JudgedEither):
        some = [_any_part_row(each, quick) for each in (*part.parts, *part.others)]
        return {"name": part.name, "either": some} | verdict
    return {"name": part.name} | _part_row(part) | verdict


def _part_row(part: Judged) -> dict[str, Any]:
    found = part.estimate
    numbers: dict[str, Any] = dict.fromkeys(("mean", "low", "high", "n", "censored"))
    if found is not None:
        numbers |= {"mean": found.mean, "low": _finite(found.low), "high": _finite(found.high)}
        numbers |= {"n": found.n, "censored": found.censored}
    bound = {"bound": part.part.bound, "owner": part.part.owner}
    return bound | numbers | {"unit": part.part.quantity.unit}


_NO_PART: Mapping[str, Any] = dict.fromkeys(
    ("bound", "owner", "mean", "low", "high", "n", "censored", "unit")
)


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None  # JSON has no infinity
