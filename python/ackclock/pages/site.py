"""Tables of figures and claims, for screens, pages and programs."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl

from ackclock.base.units import packets_in_words
from ackclock.draw import html
from ackclock.estimates.stats import LEAST_REPEATS, Estimate
from ackclock.figures.claim import Judged, JudgedClaim, JudgedEither, flattened
from ackclock.figures.experiment import Experiment
from ackclock.figures.reproduce import Reproduced
from ackclock.scenario.model import toml
from ackclock.scenario.scenario import Scenario
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


#: The columns of a claim, and of its parts.
_CLAIM = ("claim", "verdict", "the paper says", "bound", "measured, 95 % CI", "runs", "depends on")


def claims_table(
    claims: Sequence[JudgedClaim],
    *,
    parts: bool = False,
    links: Sequence[str] = (),
) -> html.Table:
    """The papers' claims with their verdicts. `links` is where each leads.

    The parts of a claim are folded under it or, with `parts`, rows of their own below it.
    """
    rows: list[list[str]] = []
    folded: dict[int, tuple[str, html.Table]] = {}
    for claim in claims:
        rows.append(_claim_cells(claim))
        if parts and len(claim.parts) > 1:
            rows += [[f"  {name}", *rest] for name, *rest in _parts_cells(claim)]
        elif len(claim.parts) > 1:
            folded[len(rows) - 1] = parts_table(claim)
    varied = any(claim.otherwise for claim in claims)
    columns = range(len(_CLAIM) if varied else len(_CLAIM) - 1)
    return html.Table(
        [_CLAIM[at] for at in columns],
        [[row[at] for at in columns] for row in rows],
        folded,
        dict(enumerate(links)),
    )


def parts_table(claim: JudgedClaim) -> tuple[str, html.Table]:
    """The parts of a claim, and how many hold, in words. A quick run has no verdicts."""
    rows = _parts_cells(claim)
    header = ("part", *_CLAIM[1:])
    said = [at for at in range(len(header)) if any(row[at] for row in rows)]
    table = html.Table([header[at] for at in said], [[row[at] for at in said] for row in rows])
    tally = f": {claim.tally}" if claim.is_judged else ""
    return f"{len(rows)} parts{tally}", table


def _parts_cells(claim: JudgedClaim) -> list[list[str]]:
    verdict = None if claim.is_judged else claim.verdict
    return [_part_cells(part, verdict) for part in claim.parts]


def _claim_cells(claim: JudgedClaim) -> list[str]:
    """A claim's cells. A quick run names no part that decides, as it has no verdict."""
    if claim.quick and len(claim.parts) > 1:
        return [claim.id, claim.verdict, claim.claim.says, "of each part", "of each part", "", ""]
    part = claim.decides
    tally = f" ({claim.tally})" if claim.is_judged else ""
    where = f" at {part.name}{tally}" if len(claim.parts) > 1 else ""
    tried = sum(map(len, claim.otherwise.values()))
    depends = ", ".join(claim.depends_on) or (f"nothing of {tried} tried" if tried else "")
    runs = _repeats(part.estimate) + _more(claim)
    return [
        claim.id,
        claim.verdict,
        claim.claim.says,
        part.part.bound + where,
        _number(part.estimate, part.part.quantity.unit),
        runs,
        depends,
    ]


def _more(claim: JudgedClaim) -> str:
    """What an open claim needs: so many runs, or something else than runs."""
    if claim.verdict != "open":
        return ""
    needed = claim.seeds_needed
    if needed:
        return f"; needs {f'≈ {needed}' if needed <= MOST_NEEDED else f'> {MOST_NEEDED}'}"
    parts = flattened([*claim.undecided])
    if any(part.estimate is None for part in parts):
        return ""
    if any(part.estimate and 0 < part.estimate.n < LEAST_REPEATS for part in parts):
        return f"; needs {LEAST_REPEATS} or more"
    cut_off = any(part.raw and part.raw.censored for part in parts)
    return "; more do not decide it" + (": some are cut off" if cut_off else "")


def _part_cells(part: Judged | JudgedEither, verdict: str | None) -> list[str]:
    """A part's cells; `verdict` in place of its own."""
    if isinstance(part, JudgedEither):
        some = "; ".join(
            f"{each.name}: {_number(each.estimate, each.part.quantity.unit)}"
            + ("" if verdict else f" ({each.verdict()})")
            for each in (*part.parts, *part.others)
        )
        bound = part.parts[0].part.bound
        return [part.name, verdict or part.verdict(), "", bound, some, "", ""]
    verdict = verdict or part.verdict()
    return [
        part.name,
        verdict,
        "",
        part.part.bound,
        _number(part.estimate, part.part.quantity.unit),
        _repeats(part.estimate),
        "",
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
    fields = scenario.model_dump(exclude_unset=True, exclude_none=True, by_alias=True)
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
        parts = _parts_cells(claim) if len(claim.parts) > 1 else []
        name, *cells = _claim_cells(claim)
        for part, some in (("", cells), *((part, some) for part, *some in parts)):
            rows.append({"claim": name, "part": part} | dict(zip(_CLAIM[1:], some, strict=True)))
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
        f"{counted(len(runs), 'run')}, {packets_in_words(packets)}{took}; "
        f"a testbed would have taken {hours if testbed_s >= 3600 else minutes}."
    )


def counted(number: int, noun: str) -> str:
    """A number of things: "1 file", "2 quantities"."""
    if number == 1:
        return f"1 {noun}"
    return f"{number} {noun.removesuffix('y')}ies" if noun.endswith("ty") else f"{number} {noun}s"


def verdict_totals(claims: Sequence[JudgedClaim]) -> str:
    """How many claims hold, in words."""
    verdicts = [claim.verdict for claim in claims]
    number = counted(len(claims), "claim")
    if verdicts and set(verdicts) == {"quick"}:
        return f"{number} without verdicts: a quick run has too few repeats."
    estimates = [claim.decides.estimate for claim in claims if not claim.quick]
    few = any(each is not None and 0 < each.n < LEAST_REPEATS for each in estimates)
    reported, quick = verdicts.count("reported"), verdicts.count("quick")
    return (
        f"{number}: {verdicts.count('holds')} hold, {verdicts.count('fails')} fail, "
        f"{verdicts.count('open')} open"
        + (f", {reported} only reported" if reported else "")
        + (f"; {quick} without a verdict: a quick run has too few repeats" if quick else "")
        + (f"; fewer than {LEAST_REPEATS} repeats give no verdict" if few else "")
    )


def claim_row(claim: JudgedClaim) -> dict[str, Any]:
    """A claim for programs, with its parts and its sensitivity.

    A quick run has no verdict, so it names no part that decides: bound and numbers are null.
    """
    row = {"id": claim.id, "says": claim.claim.says} | _part_row(claim.decides)
    row["verdict"] = claim.verdict
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
    return {"bound": part.part.bound} | numbers | {"unit": part.part.quantity.unit}


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None  # JSON has no infinity
