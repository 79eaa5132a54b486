"""Repeats figures of the papers: runs, tables, plots, claims and one page of it all."""

import inspect
import json
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType

import polars as pl
from matplotlib.figure import Figure

from ackclock import _core, papers, plot, report
from ackclock.claims import Claim, Every, Measure
from ackclock.runs import MANIFEST, PAGE, Result
from ackclock.scenario import Scenario
from ackclock.stats import Estimate
from ackclock.sweeps import CACHE, sweep

#: A verdict's place in a quick run, which has too few repeats for one.
QUICK = "quick"


@dataclass(frozen=True)
class Reproduced:
    """A figure, repeated."""

    name: str
    module: ModuleType
    scenarios: list[Scenario]
    rows: pl.DataFrame
    measures: list[Measure] = field(default_factory=list)
    claims: list[Claim | Every] = field(default_factory=list)

    @property
    def title(self) -> str:
        """What it shows: the first line of the module's docstring."""
        return papers.title(self.module)

    @property
    def setup(self) -> str:
        """What the paper says of it: the rest of the docstring."""
        return self._docstring().partition("\n")[2].strip()

    def _docstring(self) -> str:
        return inspect.getdoc(self.module) or self.name

    def plot(self, cache: Path) -> Figure:
        """The figure, drawn."""

        def load(scenario: Scenario) -> Result:
            return Result.load(cache / scenario.key())

        figure: Figure = self.module.plot(self.rows, load)
        return figure


def reproduce(
    figures: Sequence[tuple[str, ModuleType]],
    *,
    seeds: int | None = None,
    quick: bool = False,
    cache: Path = CACHE,
    threads: int = 0,
    progress: Callable[[float], None] | None = None,
) -> list[Reproduced]:
    """Runs the grids of the figures (`papers.load`), all in one sweep, and reduces them.

    `seeds` is the number of repeats, numbered from 1; default: what each module says.
    """
    grids = []
    for _, module in figures:
        repeats = seeds or (module.QUICK_SEEDS if quick else module.SEEDS)
        grids.append(module.grid(range(1, repeats + 1)))
    sweep(
        [scenario for grid in grids for scenario in grid],
        lambda _: None,
        cache=cache,
        threads=threads,
        progress=progress,
    )
    reproduced = []
    for (name, module), grid in zip(figures, grids, strict=True):
        rows = pl.DataFrame(sweep(grid, module.reduce, cache=cache), infer_schema_length=None)
        reproduced.append(
            Reproduced(name, module, grid, rows, module.measures(rows), module.claims(rows))
        )
    return reproduced


def measures_table(figure: Reproduced) -> report.Table:
    """Our values beside the paper's."""
    return report.Table(
        ["quantity", "measured, 95 % CI", "runs", "paper"],
        [
            [m.quantity, number(m.estimate, m.unit), repeats(m.estimate), m.paper]
            for m in figure.measures
        ],
    )


def claims_table(figures: Sequence[Reproduced], *, quick: bool) -> report.Table:
    """The papers' claims with their verdicts."""
    return report.Table(
        ["claim", "the paper says", "bound", "measured, 95 % CI", "runs", "verdict"],
        [
            [
                claim.id,
                claim.says,
                claim.bound,
                number(claim.estimate, claim.unit),
                repeats(claim.estimate),
                QUICK if quick else claim.verdict,
            ]
            for figure in figures
            for claim in figure.claims
        ],
    )


def number(estimate: Estimate, unit: str) -> str:
    """An estimate as text: "312 s (290 … 334)"."""
    size = abs(estimate.mean)
    digits = 4 if unit == "" else 0 if size >= 100 else 1 if size >= 1 else 3
    text = f"{estimate.mean:.{digits}f} {unit}".strip()
    if estimate.censored:
        above, below = math.isinf(estimate.high), math.isinf(estimate.low)
        bound = "about" if above and below else ">" if above else "<"
        text = f"{bound} {text}, {estimate.censored} of {estimate.n} cut off"
    elif estimate.n > 1:
        text += f" ({estimate.low:.{digits}f} … {estimate.high:.{digits}f})"
    return text


def repeats(estimate: Estimate) -> str:
    """How many runs, as text."""
    return str(estimate.n) if estimate.n else "—"


def write(
    figures: Sequence[Reproduced],
    directory: Path,
    *,
    command: str,
    quick: bool,
    cache: Path = CACHE,
) -> None:
    """Writes figures (PNG, SVG, PDF), rows (Parquet), claims (JSON) and index.html."""
    sections = [report.Section("Claims", table=claims_table(figures, quick=quick))]
    for each in figures:
        file_name = each.name.replace("/", "-")
        each.rows.write_parquet(directory / f"{file_name}.parquet")
        figure = each.plot(cache)
        plot.write(figure, directory, file_name)
        sections.append(
            report.Section(
                f"{each.title} ({each.name})",
                text=each.setup,
                svg=plot.inline_svg(figure),
                table=measures_table(each),
            )
        )
    totals = run_totals(figures)
    sections += [
        report.Section("The scenario of the first run", code=figures[0].scenarios[0].to_toml()),
        report.Section("Repeat it", text=totals, code=command),
    ]
    lead = f"ackclock {_core.engine_version()}"
    if quick:
        lead += " · a quick run: too few repeats for a verdict"
    title = " and ".join(dict.fromkeys(_paper_title(each.name) for each in figures))
    page = report.page(title, lead, sections)
    (directory / PAGE).write_text(page, encoding="utf-8")
    claims = [_claim(claim, quick=quick) for each in figures for claim in each.claims]
    manifest = {
        "ackclock": _core.engine_version(),
        "command": command,
        "figures": {each.name: [s.key() for s in each.scenarios] for each in figures},
        "claims": claims,
    }
    text = json.dumps(manifest, indent=2, ensure_ascii=False)
    (directory / MANIFEST).write_text(text + "\n", encoding="utf-8")


def run_totals(figures: Sequence[Reproduced]) -> str:
    """How much was simulated, in words."""
    runs = {
        scenario.key(): row
        for each in figures
        for scenario, row in zip(each.scenarios, each.rows.iter_rows(named=True), strict=True)
    }
    packets = sum(row["packets"] for row in runs.values())
    core_s = sum(row["wall_time_s"] for row in runs.values())
    noun = "run" if len(runs) == 1 else "runs"
    millions = f"{packets / 1e6:.0f} million data packets"
    return f"{len(runs)} {noun}, {millions} in {core_s:.0f} core-seconds."


def _claim(claim: Claim | Every, *, quick: bool) -> dict[str, object]:
    """A claim for programs; what must hold at several points has its parts besides."""
    parts = claim.parts if isinstance(claim, Every) else []
    return {
        "id": claim.id,
        "says": claim.says,
        "bound": claim.bound,
        "mean": claim.estimate.mean,
        "low": _finite(claim.estimate.low),
        "high": _finite(claim.estimate.high),
        "n": claim.estimate.n,
        "censored": claim.estimate.censored,
        "unit": claim.unit,
        "verdict": QUICK if quick else claim.verdict,
        **({"parts": [_claim(part, quick=quick) for part in parts]} if parts else {}),
    }


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None  # JSON has no infinity


def _paper_title(name: str) -> str:
    paper = name.split("/", maxsplit=1)[0]
    title: str = __import__(f"{papers.__name__}.{paper}", fromlist=["TITLE"]).TITLE
    return title
