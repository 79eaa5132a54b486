"""Repeats figures of the papers: runs, tables, plots, claims and a site of it all."""

import functools
import hashlib
import inspect
import json
import math
import subprocess
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import ModuleType
from typing import Any

import polars as pl
from matplotlib.figure import Figure

from ackclock import _core, crosscheck, kept, metrics, papers, plot, report, sequential, snapshot
from ackclock.claims import Claim, Every, Measure
from ackclock.executors import LOCAL, Executor
from ackclock.kept import MANIFEST
from ackclock.many import CACHE, fill, run_all
from ackclock.output import collect
from ackclock.runs import PAGE, Result
from ackclock.scenario import Scenario
from ackclock.stats import LEAST_REPEATS

_QUIETLY: Any = {"capture_output": True, "text": True}
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
    #: The same on the kernel, where it has run here.
    checked: crosscheck.Checked | None = None

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

    @property
    def paper(self) -> str:
        """The package that it is in."""
        return self.name.split("/")[0]

    @property
    def file_name(self) -> str:
        """What its files are called, without an ending."""
        return self.name.replace("/", "-")

    def plot(self, cache: Path) -> Figure:
        """The figure, drawn."""

        def load(scenario: Scenario) -> Result:
            return run_all([scenario], lambda result: result, cache=cache)[0]

        figure: Figure = self.module.plot(self.rows, load)
        return figure


def reproduce(
    figures: Sequence[tuple[str, ModuleType]],
    *,
    seeds: int | Mapping[str, int] | None = None,
    quick: bool = False,
    cache: Path = CACHE,
    executor: Executor = LOCAL,
    progress: Callable[[float], None] | None = None,
    on_runs: Callable[[int, int], None] | None = None,
) -> list[Reproduced]:
    """Runs the grids of the figures (`papers.load`), all at once, and reduces them.

    `seeds` is the number of repeats, numbered from 1, of all figures or of each by its name;
    default: what each module says.
    The rows of a figure are kept, too, until anything in ackclock's Python changes.
    `on_runs` is called before the runs with how many there are to simulate and how many are kept.
    """
    grids = []
    for name, module in figures:
        repeats = seeds[name] if isinstance(seeds, Mapping) else seeds
        repeats = repeats or (module.QUICK_SEEDS if quick else module.SEEDS)
        grid_of = getattr(module, "quick_grid", module.grid) if quick else module.grid
        grids.append(grid_of(range(1, repeats + 1)))
    collect(cache / "rows")
    with snapshot.held():
        paths = [
            _rows_path(name, grid, cache) for (name, _), grid in zip(figures, grids, strict=True)
        ]
        damaged: list[Path] = []
        known = [kept.find(path, _read_rows, damaged) for path in paths]
        missing = [number for number, rows in enumerate(known) if rows is None]
        kept.say_damaged(damaged, "rows of figures")
        if on_runs is not None:
            keys = {scenario.key() for grid in grids for scenario in grid}
            todo = {scenario.key() for number in missing for scenario in grids[number]}
            todo = {key for key in todo if not (cache / key).exists()}
            on_runs(len(todo), len(keys) - len(todo))
        fill(
            [scenario for number in missing for scenario in grids[number]],
            cache=cache,
            executor=executor,
            progress=progress,
        )
        reproduced = []
        for (name, module), grid, path, found in zip(figures, grids, paths, known, strict=True):
            rows = _reduce(module, grid, cache, path) if found is None else found
            check = getattr(module, "KERNEL", None)
            checked = crosscheck.load(check, cache=cache, executor=executor) if check else None
            measures, claims = module.measures(rows), module.claims(rows)
            reproduced.append(Reproduced(name, module, grid, rows, measures, claims, checked))
        return reproduced


def until_decided(
    figures: Sequence[tuple[str, ModuleType]],
    *,
    most: int,
    cache: Path = CACHE,
    executor: Executor = LOCAL,
    progress: Callable[[float], None] | None = None,
    on_runs: Callable[[int, int], None] | None = None,
) -> list[Reproduced]:
    """As `reproduce`, with more seeds for a figure until its claims are decided (`sequential`).

    Each figure has `most` seeds at most. A claim about something else than a mean of repeats (a
    median) has the verdict of its interval, and asks for no seeds; nor does a figure that runs each
    point once. A claim is shown with the repeats of the look that decided it. `progress` and
    `on_runs` are called at each look.
    """
    plans = {
        name: sequential.looks(most, max(module.SEEDS, sequential.FIRST))
        if module.SEEDS > 1
        else (1,)
        for name, module in figures
    }
    decided: dict[str, dict[tuple[str, str], Claim]] = {name: {} for name, _ in figures}
    done: dict[str, Reproduced] = {}
    pending = list(figures)
    with snapshot.held():
        for look in range(max(map(len, plans.values()), default=0)):
            seeds = {name: plans[name][look] for name, _ in pending}
            for each in reproduce(
                pending,
                seeds=seeds,
                cache=cache,
                executor=executor,
                progress=progress,
                on_runs=on_runs,
            ):
                plan = plans[each.name]
                level = None if plan == (1,) else sequential.levels(plan[-1], plan[0])[look]
                claims = [_at_look(claim, level, decided[each.name]) for claim in each.claims]
                done[each.name] = replace(each, claims=claims)
            pending = [
                (name, module)
                for name, module in pending
                if look + 1 < len(plans[name]) and any(_asks(claim) for claim in done[name].claims)
            ]
            if not pending:
                break
    return [done[name] for name, _ in figures]


def _at_look(
    claim: Claim | Every, level: float | None, decided: dict[tuple[str, str], Claim]
) -> Claim | Every:
    """The claim, or its parts, as of the look that decided it, which may be an earlier one."""
    if isinstance(claim, Every):
        parts = [_part_at_look(part, level, decided, claim.id) for part in claim.parts]
        return replace(claim, parts=parts)
    return _part_at_look(claim, level, decided)


def _part_at_look(
    claim: Claim, level: float | None, decided: dict[tuple[str, str], Claim], of: str = ""
) -> Claim:
    if level is None or not claim.estimate.repeats:
        return claim
    now = replace(claim, level=level)
    if now.verdict != "inconclusive":
        decided.setdefault((of, claim.id), now)
    return decided.get((of, claim.id), now)


def _asks(claim: Claim | Every) -> bool:
    """Whether more seeds may decide it."""
    parts = claim.parts if isinstance(claim, Every) else [claim]
    asking = [part for part in parts if part.level is not None and part.verdict == "inconclusive"]
    return claim.verdict == "inconclusive" and bool(asking)


def _row(module: ModuleType, result: Result) -> dict[str, object]:
    """What the figure makes of a run, and what the run cost here and would on a testbed."""
    completed_us = result.flows["completed_us"].to_numpy()
    finite = completed_us.size and completed_us.all() and not result.scenario.sessions
    row: dict[str, object] = module.reduce(result)
    return row | {
        "packets": result.manifest["packets"],
        "wall_time_s": result.manifest["wall_time_s"],
        "testbed_s": float(completed_us.max() / 1e6) if finite else metrics.duration_s(result),
    }


def _rows_path(name: str, grid: Sequence[Scenario], cache: Path) -> Path:
    """Where the rows of a figure are kept: by its runs and by all of our Python."""
    digest = hashlib.sha256(kept.source_hash().encode())
    for scenario in grid:
        digest.update(scenario.key().encode())
    return cache / "rows" / f"{name.replace('/', '-')}-{digest.hexdigest()[:16]}"


def _reduce(module: ModuleType, grid: Sequence[Scenario], cache: Path, path: Path) -> pl.DataFrame:
    """The rows of a figure, which are then kept as `path`."""
    rows = run_all(grid, functools.partial(_row, module), cache=cache)
    table = pl.DataFrame(rows, infer_schema_length=None)

    def write(partial: Path) -> None:
        kept.write_tables(partial, {"rows": table}, {"ackclock": _core.engine_version()})

    kept.keep(path, write, _read_rows)
    return table


def _read_rows(path: Path) -> pl.DataFrame:
    return kept.read_tables(path)[0]["rows"]


def measures_table(figure: Reproduced) -> report.Table:
    """Our values beside the paper's."""
    return report.Table(
        ["quantity", "measured, 95 % CI", "runs", "paper"],
        [
            [m.quantity, report.number(m.estimate, m.unit), report.repeats(m.estimate), m.paper]
            for m in figure.measures
        ],
    )


#: The columns of a claim, and of its parts.
_CLAIM = ("claim", "verdict", "the paper says", "bound", "measured, 95 % CI", "runs")


def claims_table(
    figures: Sequence[Reproduced], *, quick: bool, parts: bool = False
) -> report.Table:
    """The papers' claims with their verdicts.

    The parts of a claim are folded under it or, with `parts`, rows of their own below it.
    """
    rows: list[list[str]] = []
    folded: dict[int, tuple[str, report.Table]] = {}
    for claim in (claim for figure in figures for claim in figure.claims):
        rows.append(_claim_cells(claim, quick))
        if isinstance(claim, Every):
            below = [_claim_cells(part, quick) for part in claim.parts]
            if parts:
                rows += [[f"  {name}", *rest] for name, *rest in below]
            else:
                tally = "" if quick else f": {claim.tally}"
                header = ("part", *_CLAIM[1:])
                said = [at for at in range(len(header)) if any(row[at] for row in below)]
                table = report.Table(
                    [header[at] for at in said], [[row[at] for at in said] for row in below]
                )
                folded[len(rows) - 1] = (f"{len(below)} parts{tally}", table)
    return report.Table(_CLAIM, rows, folded)


def _claim_cells(claim: Claim | Every, quick: bool) -> list[str]:
    """A claim's cells. A quick run names no part that decides, as it has no verdict."""
    if isinstance(claim, Every) and quick:
        return [claim.id, QUICK, claim.says, "of each part", "of each part", ""]
    return [
        claim.id,
        QUICK if quick else claim.verdict,
        claim.says,
        claim.bound + (f" ({claim.tally})" if isinstance(claim, Every) else ""),
        report.number(claim.estimate, claim.unit),
        report.repeats(claim.estimate),
    ]


def write(
    figures: Sequence[Reproduced],
    directory: Path,
    *,
    command: str,
    quick: bool,
    pdf: bool = False,
    cache: Path = CACHE,
) -> None:
    """Writes a site of the figures to a directory.

    index.html has the claims and, of one paper, its figures; of several each has its PAPER.html.
    Each figure is there as PNG and SVG (and PDF if wanted), its rows as Parquet; the claims as
    JSON and Parquet.
    """
    by_paper: dict[str, list[Reproduced]] = {}
    for each in figures:
        by_paper.setdefault(each.paper, []).append(each)
    lead = _lead()
    if quick:
        lead += " · a quick run: too few repeats for a verdict"
    sections = _claims_section(figures, quick)
    if len(by_paper) > 1:
        links = [(f"{paper}.html", papers.paper_title(paper)) for paper in by_paper]
        sections.insert(0, report.Section("Papers", links=links))
        for paper, some in by_paper.items():
            up = report.Section("", links=[(PAGE, "All papers")])
            shown = [part for each in some for part in _sections(each, directory, pdf, cache)]
            page = report.page(
                papers.paper_title(paper), lead, [up, *_claims_section(some, quick), *shown]
            )
            (directory / f"{paper}.html").write_text(page, encoding="utf-8")
    else:
        sections += [part for each in figures for part in _sections(each, directory, pdf, cache)]
    sections.append(report.Section("Repeat it", text=run_totals(figures), code=command))
    title = " and ".join(map(papers.paper_title, by_paper))
    page = report.page("The papers, repeated" if len(by_paper) > 1 else title, lead, sections)
    (directory / PAGE).write_text(page, encoding="utf-8")
    verdicts = write_claims(figures, directory, quick=quick)
    manifest = {
        "ackclock": _core.engine_version(),
        "command": command,
        "figures": {each.name: [s.key() for s in each.scenarios] for each in figures},
        "claims": verdicts,
    }
    text = json.dumps(manifest, indent=2, ensure_ascii=False)
    (directory / MANIFEST).write_text(text + "\n", encoding="utf-8")


def _claims_section(figures: Sequence[Reproduced], quick: bool) -> list[report.Section]:
    """The claims of the figures; nothing if they claim nothing."""
    table = claims_table(figures, quick=quick)
    return [report.Section("Claims", table=table)] if table.rows else []


def write_kernel(
    figures: Sequence[tuple[str, crosscheck.Checked]], directory: Path, *, command: str
) -> None:
    """Writes a page of figures on the kernel, beside the simulation, with their files."""
    sections = [kernel_section(name, each, directory, pdf=False) for name, each in figures]
    sections.append(report.Section("Repeat it", code=command))
    page = report.page("The kernel beside the simulator", _lead(), sections)
    (directory / PAGE).write_text(page, encoding="utf-8")
    manifest = {
        "ackclock": _core.engine_version(),
        "command": command,
        "certificates": {name: list(each.certificates) for name, each in figures},
    }
    text = json.dumps(manifest, indent=2, ensure_ascii=False)
    (directory / MANIFEST).write_text(text + "\n", encoding="utf-8")


def _lead() -> str:
    """What made it: the engine's version, and the commit where ackclock runs from a checkout."""
    here = Path(__file__)
    git = ["git", "-C", str(here.parent)]
    try:
        subprocess.run([*git, "ls-files", "--error-unmatch", here.name], check=True, **_QUIETLY)
        describe = [*git, "describe", "--always", "--abbrev=12", "--dirty=, with changes"]
        commit = subprocess.run(describe, check=True, **_QUIETLY).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return f"ackclock {_core.engine_version()}"
    return f"ackclock {_core.engine_version()}, commit {commit}"


def write_claims(
    figures: Sequence[Reproduced], directory: Path, *, quick: bool
) -> list[dict[str, object]]:
    """Writes claims.json (with the parts of a claim), claims.parquet and claims.md; returns them.

    Nothing where the figures claim nothing.
    """
    verdicts = [claim_row(claim, quick=quick) for each in figures for claim in each.claims]
    if verdicts:
        text = json.dumps(verdicts, indent=2, ensure_ascii=False)
        (directory / "claims.json").write_text(text + "\n", encoding="utf-8")
        flat = [{k: v for k, v in claim.items() if k != "parts"} for claim in verdicts]
        pl.DataFrame(flat, infer_schema_length=None).write_parquet(directory / "claims.parquet")
        text = claims_table(figures, quick=quick).markdown()
        (directory / "claims.md").write_text(text + "\n", encoding="utf-8")
    return verdicts


def _sections(figure: Reproduced, directory: Path, pdf: bool, cache: Path) -> list[report.Section]:
    """A figure on its page, and below it what the kernel makes of it."""
    sections = [_section(figure, directory, pdf, cache)]
    if figure.checked:
        sections.append(kernel_section(figure.name, figure.checked, directory, pdf))
    elif hasattr(figure.module, "KERNEL"):
        command = f"ackclock reproduce {figure.name} --on kernel"
        title = _kernel_title(figure.name)
        sections.append(report.Section(title, text="Not run here. As root:", code=command))
    return sections


def _section(figure: Reproduced, directory: Path, pdf: bool, cache: Path) -> report.Section:
    """A figure, with its files beside the page."""
    name = figure.file_name
    figure.rows.write_parquet(directory / f"{name}.parquet")
    drawn = figure.plot(cache)
    files = [path.name for path in plot.write(drawn, directory, name, pdf=pdf)]
    data = f"{name}.parquet"
    scenarios = sorted({scenario.key() for scenario in figure.scenarios})
    runs = f"{len(scenarios)} runs" if len(scenarios) != 1 else "1 run"
    if scenarios:
        seeds = [scenario.seed for scenario in figure.scenarios]
        digest = hashlib.sha256("".join(scenarios).encode()).hexdigest()[:16]
        runs += f", seeds {min(seeds)} to {max(seeds)}, scenarios {digest}"
    return report.Section(
        f"{figure.title} ({figure.name})",
        text=figure.setup,
        svg=plot.inline_svg(drawn),
        caption=runs if scenarios else "computed, not simulated",
        table=measures_table(figure) if figure.measures else None,
        links=[(file, file) for file in (*files, data)],
        code=f"# the first of {runs}\n{figure.scenarios[0].to_toml()}" if scenarios else "",
    )


def _kernel_title(name: str) -> str:
    return f"On the kernel ({name})"


def kernel_section(
    name: str, checked: crosscheck.Checked, directory: Path, pdf: bool
) -> report.Section:
    """The kernel's runs of a figure beside the simulator's, with the files."""
    drawn, stem = checked.figure(), f"{name.replace('/', '-')}-kernel"
    files = [path.name for path in plot.write(drawn, directory, stem, pdf=pdf)]
    checked.rows.write_parquet(directory / f"{stem}.parquet")
    first = next(iter(checked.check.points.values()))(1)
    return report.Section(
        _kernel_title(name),
        text=checked.check.setup,
        svg=plot.inline_svg(drawn),
        caption=checked.caption,
        table=checked.table(),
        links=[(file, file) for file in (*files, f"{stem}.parquet")],
        code=first.to_toml(),
    )


def run_totals(figures: Sequence[Reproduced]) -> str:
    """How much was simulated, in words."""
    runs = {
        scenario.key(): row
        for each in figures
        for scenario, row in zip(each.scenarios, each.rows.iter_rows(named=True), strict=True)
    }
    packets, core_s, testbed_s = (
        sum(row[column] for row in runs.values())
        for column in ("packets", "wall_time_s", "testbed_s")
    )
    noun = "run" if len(runs) == 1 else "runs"
    return (
        f"{len(runs)} {noun}, {packets / 1e6:,.1f} million data packets in {core_s:.0f} "
        f"core-seconds; a testbed would have taken {testbed_s / 3600:.1f} hours."
    )


def verdict_totals(figures: Sequence[Reproduced], *, quick: bool) -> str:
    """How many claims hold, in words."""
    verdicts = [claim.verdict for figure in figures for claim in figure.claims]
    if quick:
        return f"{len(verdicts)} claims, without verdicts: a quick run has too few repeats."
    few = any(0 < claim.estimate.n < LEAST_REPEATS for each in figures for claim in each.claims)
    return (
        f"{len(verdicts)} claims: {verdicts.count('holds')} hold, {verdicts.count('fails')} fail, "
        f"{verdicts.count('inconclusive')} inconclusive"
        + (f"; fewer than {LEAST_REPEATS} repeats give no verdict" if few else "")
    )


def claim_row(claim: Claim | Every, *, quick: bool) -> dict[str, object]:
    """A claim for programs. One about several points has its parts, too.

    A quick run has no verdict, so it names no part that decides: bound and numbers are null.
    """
    row = {
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
    }
    if isinstance(claim, Every):
        if quick:
            row |= dict.fromkeys(("bound", "mean", "low", "high", "n", "censored"))
        row["parts"] = [claim_row(part, quick=quick) for part in claim.parts]
    return row


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None  # JSON has no infinity
