"""The commands of `ackclock` for the papers: reproduce, claims, report."""

import shlex
import time
from contextlib import nullcontext
from dataclasses import replace
from functools import partial
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ackclock import AckclockError, papers
from ackclock.base import units
from ackclock.base.directory import Directory
from ackclock.cli.console import (
    RESUMES,
    SIM,
    Jobs,
    Most,
    On,
    OnRay,
    Output,
    Shared,
    UntilDecided,
    app,
    complete_figure,
    err,
    in_words,
    linux_of,
    most_seeds,
    one_line_errors,
    out,
    print_report,
    progress_bar,
    say_runs,
    say_shard,
    showing,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ackclock.figures import Check
    from ackclock.figures.claim import JudgedClaim
    from ackclock.figures.named import Named
    from ackclock.figures.reproduce import Reproduced
    from ackclock.hosts.linux import Linux
    from ackclock.scenario.scenario import Scenario

PANEL = "The papers"

Settings = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        help="Change a key in every run: bottleneck.buffer=0.5bdp, cubic:beta=0.8 (may repeat).",
        metavar="KEY=VALUE",
    ),
]
Quick = Annotated[
    bool,
    typer.Option(
        "--quick", help="Run few repeats, in minutes; print only verdicts that need no repeats."
    ),
]
Pdf = Annotated[bool, typer.Option("--pdf/--no-pdf", help="Write each figure as PDF, too.")]
Figures = typer.Argument(
    help="PAPER/FIGURE, PAPER for all its figures, a claim's id, or all; see `ackclock list`.",
    metavar="FIGURE",
    autocompletion=complete_figure,
)


@app.command("reproduce", rich_help_panel=PANEL)
def reproduce_command(
    figures: Annotated[list[str], Figures],
    output: Output = None,
    seeds: Annotated[
        int | None,
        typer.Option(
            min=1, max=1000, help="Repeat each point this often (default: each figure's own)."
        ),
    ] = None,
    settings: Settings = None,
    sensitivity: Annotated[
        bool,
        typer.Option(
            "--sensitivity", help="Also judge each claim with what the paper leaves open changed."
        ),
    ] = False,
    quick: Quick = False,
    on: On = SIM,
    pdf: Pdf = False,
    *,
    shared: Shared,
) -> None:
    """Repeat figures of the papers; write tables, verdicts and a page.

    Examples:
        ackclock reproduce cubicfc/fig5
        ackclock reproduce cubicfc/fig2 cubicfc/fig5 --seeds 20 -o out/convergence
        ackclock reproduce cubicfc/fig5 --set bottleneck.buffer=0.5bdp
        ackclock reproduce cubicfc --quick
        ackclock reproduce cubicfc/fig5 --on kernel
        ackclock reproduce cubicfc/fig5 --on vlinux
        ackclock reproduce cubicfc/fig2 --on vlinux --set profile=linux-6 --seeds 2

    The output directory (default: out/FIGURE) holds index.html, and each figure as PNG, SVG and
    Parquet. Each finished run is kept in .ackclock, so an interrupted command resumes and a
    repeated one costs nothing.

    --on kernel runs the figures that one machine can carry in real time, beside the simulator: 5
    runs a point and one run at a time, unless --seeds and --jobs say otherwise. --on vlinux does
    so with one figure of each paper at full rate, 3 runs a point. With --set it runs any figure,
    without the simulator.
    """
    from ackclock.figures import reproduce  # noqa: PLC0415 (slow to import)
    from ackclock.pages import figure_pages, site  # noqa: PLC0415 (slow to import)

    started_s = time.monotonic()
    with one_line_errors(RESUMES):
        host = linux_of(on, shared.jobs)
        if host and (reason := _not_there(host, quick, sensitivity, settings, shared.on_ray)):
            raise AckclockError(reason)
        beside = host if host and (host.real_time or not (quick or settings)) else None
        chosen = _chosen(figures)
        not_with = f"--on {on}" if beside else "--on-ray" if shared.shard and shared.on_ray else ""
        work = shared.work(host, not_with=not_with, unused={"-o": output})
        path = output or Path("out") / (figures[0].replace("/", "-") + (f"-{on}" if beside else ""))
        options = "".join(f" --set {shlex.quote(each)}" for each in settings or ())
        options += " --sensitivity" if sensitivity else ""
        options += f" --seeds {seeds}" if seeds else ""
        options += " --quick" if quick else ""
        options += f" --on {on}" if on != SIM else ""
        options += " --pdf" if pdf else ""
        command = f"ackclock reproduce {shlex.join(figures)}{options}"
        if beside:
            _reproduce_beside(beside, figures, chosen, seeds, shared.jobs, path, command, pdf=pdf)
            return
        if host:
            work = replace(work, cache=work.cache / host.name)
        how: Any = {"seeds": seeds, "quick": quick, "settings": settings or ()}
        how |= {"sensitivity": sensitivity}
        if shared.shard:
            with showing(work, "simulating") as working:
                reproduce.fill(chosen, work=working, **how)
            say_shard(work)
            return
        with Directory(path) as directory:
            with showing(work, "simulating") as working:
                reproduced = reproduce.reproduce(chosen, work=working, **how)
            with progress_bar("drawing") as progress:
                drawn: Any = {"command": command, "options": options, "quick": quick, "pdf": pdf}
                directory.fill(partial(figure_pages.write, reproduced, progress=progress, **drawn))
        for figure in reproduced:
            print_report(figure.named.title, site.measures_table(figure))
        claims = site.claims_of(reproduced)
        _print_claims(claims, parts=quick)
        _print_totals(reproduced, started_s)
        out.print(f"page: {(path / 'index.html').absolute()}")


def _not_there(
    host: "Linux", quick: bool, sensitivity: bool, settings: list[str] | None, on_ray: str | None
) -> str:
    """Why a command with --on is refused, or nothing."""
    there = f"not with --on {host.name}"
    if on_ray:
        return f"--on-ray: {there}, which runs on this machine only"
    if host.real_time and quick:
        return f"--quick: {there}; write --seeds 1 instead"
    if sensitivity or (host.real_time and settings):
        option = "--sensitivity" if sensitivity else "--set"
        return f"{option}: {there}" + ", whose runs have a setup of their own" * host.real_time
    return ""


def _chosen(figures: list[str]) -> list["Named"]:
    """The figures of these names, each once."""
    found = {each.name: each for figure in figures for each in papers.load(figure)}
    return list(found.values())


def _reproduce_beside(
    host: "Linux",
    figures: list[str],
    chosen: list["Named"],
    seeds: int | None,
    jobs: int,
    path: Path,
    command: str,
    *,
    pdf: bool,
) -> None:
    from ackclock.figures import crosscheck  # noqa: PLC0415 (only these runs need it)
    from ackclock.hosts.work import Work  # noqa: PLC0415 (only these runs need it)
    from ackclock.pages import figure_pages  # noqa: PLC0415 (only these runs need it)

    def check_of(each: "Named") -> "Check | None":
        return each.figure.checks.get(host.kind)

    checks = {each.name: check for each in chosen if (check := check_of(each))}
    named = {each.name for figure in figures if "/" in figure for each in papers.load(figure)}
    if unable := sorted(named - checks.keys()):
        able = [each.name for each in papers.load("all") if check_of(each)]
        runs_any = "" if host.real_time else ", or give --set profile=linux-6"
        raise AckclockError(
            f'figure = "{unable[0]}": has no version for the {host.title}; '
            f"with --on {host.name} choose from {', '.join(able)}{runs_any}"
        )

    def say(runs: "Sequence[Scenario]") -> None:
        if runs and host.real_time:
            seconds = sum(units.duration_ns(each.duration) for each in runs) / 1e9
            left = in_words(seconds / min(jobs or 1, len(runs)))
            where = f"on the {host.name}, in real time"
            err.print(f"{len(runs)} runs {where}: {left} if each is valid at once")

    with Directory(path) as directory:
        with progress_bar(f"on the {host.title}") as progress:
            crosscheck.fill(
                list(checks.values()),
                host,
                seeds=seeds or host.seeds,
                work=Work(progress=progress),
                on_missing=say,
            )
        checked = {}
        with progress_bar("simulating") as progress:
            for done, (name, check) in enumerate(checks.items()):

                def part(fraction: float, done: int = done) -> None:
                    progress((done + fraction) / len(checks))

                checked[name] = crosscheck.load(check, host, Work(progress=part))
        there = [(name, each) for name, each in checked.items() if each is not None]
        directory.fill(partial(figure_pages.write_checked, there, command=command, pdf=pdf))
    for name, each in there:
        print_report(name, each.table())
        out.print(each.caption)
    out.print(f"page: {(path / 'index.html').absolute()}")


@app.command("claims", rich_help_panel=PANEL)
def claims_command(
    figures: Annotated[list[str] | None, Figures] = None,
    output: Output = None,
    parts: Annotated[
        bool, typer.Option("--parts", help="Show each part of a claim (default: with --quick).")
    ] = False,
    sensitivity: Annotated[
        bool | None,
        typer.Option(
            "--sensitivity/--no-sensitivity",
            help="Say what each verdict depends on: more runs, with what the paper leaves open "
            "changed (default: yes, but not with --set).",
        ),
    ] = None,
    settings: Settings = None,
    quick: Quick = False,
    until_decided: UntilDecided = False,
    most: Most = None,
    *,
    shared: Shared,
) -> None:
    """Print what the papers claim, what we measured, and the verdict.

    Examples:
        ackclock claims
        ackclock claims leith2007 --parts -o out/claims
        ackclock claims cubicfc/fig5 --until-decided --most 50
        ackclock claims cubicfc.fig2.cubic-400s
        ackclock claims leith2007.fig14 --set link.1.buffer=2bdp

    Without a figure it prints the claims of all papers, and how many sentences have some. "depends
    6/2/1" says with how many other assumptions it holds, is open, and fails; `ackclock claims
    CLAIM` names them. With --set each claim also has its verdict as set up. The output directory
    holds claims.json, claims.parquet and claims.csv. Runs that `ackclock reproduce` has kept are
    not run again.
    docs/sweep.md says by which rule --until-decided adds seeds.
    """
    from ackclock.figures import reproduce  # noqa: PLC0415 (slow to import)
    from ackclock.pages import site  # noqa: PLC0415 (slow to import)
    from ackclock.papers import sentences  # noqa: PLC0415 (slow to import)

    with one_line_errors(RESUMES):
        most = most_seeds(until_decided, most)
        if quick and most is not None:
            raise AckclockError("--quick and --until-decided: give one of the two")
        chosen = _with_claims(figures or ["all"])
        not_with = "--on-ray" if shared.shard and shared.on_ray else ""
        not_with = "--until-decided" if most is not None else not_with
        work = shared.work(not_with=not_with, unused={"-o": output, "--parts": parts})
        how: Any = {"sensitivity": not settings if sensitivity is None else sensitivity}
        if shared.shard:
            with showing(work, "simulating") as how["work"]:
                for changed in [(), settings] if settings else [()]:
                    reproduce.fill(chosen, quick=quick, settings=changed, **how)
            say_shard(work)
            return
        with nullcontext() if output is None else Directory(output) as directory:
            with showing(work, "simulating") as how["work"]:

                def judged(*changed: str) -> "list[Reproduced]":
                    if most is None:
                        return reproduce.reproduce(chosen, quick=quick, settings=changed, **how)
                    return reproduce.until_decided(chosen, most=most, settings=changed, **how)

                # Settings first: one that fits nothing is said before anything runs.
                reproduced = judged(*(settings or ()))
                usual = site.claims_of(judged()) if settings else []
            if directory is not None:
                directory.fill(lambda partial: site.write_claims(reproduced, partial))
        claims = site.claims_of(reproduced)
        _print_claims(claims, parts=parts or quick, settings=settings or ())
        for before, after in zip(usual, claims, strict=bool(settings)):
            out.print(site.change(before, after, settings or ()))
        _print_tallies(claims)
        reports = [] if figures else [("Sentences", sentences.counted())]
        if len(claims) == 1 and claims[0].otherwise:
            reports.append(("Sensitivity", site.sensitivity_table(claims[0])))
        for title, table in reports:
            print_report(title, table)


def _print_claims(
    claims: "Sequence[JudgedClaim]", *, parts: bool, settings: "Sequence[str]" = ()
) -> None:
    """A table for each paper: a line for each claim."""
    from ackclock.pages import site  # noqa: PLC0415 (slow to import)

    changed = f", with {', '.join(settings)}" if settings else ""
    for paper, some in site.by_paper(claims).items():
        title = f"Claims of {paper}{changed}"
        less = ["reason", "whose", site.OURS]
        print_report(title, site.claims_table(some, parts=parts), less=less)


def _print_tallies(claims: "Sequence[JudgedClaim]") -> None:
    """How many hold, how firmly, and why others do not."""
    from ackclock.pages import tally  # noqa: PLC0415 (slow to import)

    if len(claims) > 1 and any(each.is_judged for each in claims):
        print_report("Verdicts, and how firm", tally.by_firmness(tally.counted(claims)))
        print_report("Reasons", tally.by_reason(tally.counted(claims)))
    out.print(tally.in_words(claims))


def _with_claims(figures: list[str]) -> list["Named"]:
    """The figures of these names, reduced to the claims that are asked for and what those need."""
    from ackclock.figures import Claim, Plot  # noqa: PLC0415 (slow to import)

    asked: dict[str, list[Claim]] = {}
    for name in figures:
        for named in papers.load(name):
            claims = named.figure.claims
            some = [each for each in claims if papers.is_of(each.id, name)]
            asked.setdefault(named.name, []).extend(some or claims)
    found = []
    for named in _chosen(figures):
        claims = [each for each in named.figure.claims if each in asked[named.name]]
        plot = Plot(named.figure.plot.draw)
        figure = replace(named.figure, plot=plot, quantities=(), claims=claims)
        if claims:
            found.append(replace(named, figure=figure))
    if not found:
        raise AckclockError(f'figure = "{figures[0]}": no claim is of it; type `ackclock claims`')
    return found


@app.command("report", rich_help_panel=PANEL)
def report_command(
    output: Output = None,
    quick: Quick = False,
    pdf: Pdf = True,
    jobs: Jobs = 0,
    on_ray: OnRay = None,
) -> None:
    """Write a site of all papers: figures, claims, verdicts and data.

    Example:
        ackclock report -o out/report

    It has one page for each paper (default directory: out/report). It is `ackclock reproduce all
    --sensitivity --pdf` without tables on the screen. Without --quick it writes each paper's page
    when the paper's runs are done.
    """
    from ackclock.figures import reproduce  # noqa: PLC0415 (slow to import)
    from ackclock.pages import figure_pages  # noqa: PLC0415 (slow to import)

    started_s = time.monotonic()
    with one_line_errors(RESUMES):
        work = Shared(jobs, on_ray).work()
        path = output or Path("out/report")
        command = "ackclock report" + (" --quick" if quick else "")
        every = papers.load("all")
        reproduced: list[Reproduced] = []
        for paper, chosen in groupby(every, key=lambda each: each.paper):
            todo: list[int] = []

            def say(to_run: int, there: int, todo: list[int] = todo) -> None:
                todo.append(to_run)
                say_runs(to_run, there)

            with Directory(path) as directory:
                with showing(replace(work, on_runs=say), f"simulating {paper}") as working:
                    reproduced += reproduce.reproduce(
                        list(chosen), quick=quick, sensitivity=True, work=working
                    )
                # Drawing takes as long as quick runs, but nothing beside full ones.
                if len(reproduced) < len(every) and (quick or not any(todo)):
                    continue
                with progress_bar("drawing") as progress:
                    how: Any = {"command": command, "quick": quick, "progress": progress}
                    how |= {"options": " --sensitivity" + (" --quick" if quick else "")}
                    directory.fill(partial(figure_pages.write, reproduced, pdf=pdf, **how))
        _print_totals(reproduced, started_s)
        out.print(f"site: {(path / 'index.html').absolute()}")


def _print_totals(reproduced: list["Reproduced"], started_s: float) -> None:
    from ackclock.pages import site, tally  # noqa: PLC0415 (only these commands draw)

    took = in_words(time.monotonic() - started_s)
    out.print(tally.in_words(site.claims_of(reproduced)))
    out.print(f"{site.run_totals(reproduced)} This command took {took}.")
