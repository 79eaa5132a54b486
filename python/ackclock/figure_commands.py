"""The commands of `ackclock` for the papers: reproduce, claims, report."""

import shlex
import time
from contextlib import nullcontext
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ackclock import AckclockError, papers
from ackclock.console import (
    Host,
    Jobs,
    Most,
    OnRay,
    Output,
    UntilDecided,
    app,
    complete_figure,
    err,
    executor,
    in_words,
    most_seeds,
    one_line_errors,
    out,
    print_report,
    progress_bar,
    say_invalid,
    say_runs,
)
from ackclock.output import Directory

if TYPE_CHECKING:
    from ackclock.reproduce import Reproduced

PANEL = "The papers"

Quick = Annotated[
    bool, typer.Option("--quick", help="Run few repeats, in minutes; print no verdicts.")
]
Figures = typer.Argument(
    help="PAPER/FIGURE, PAPER for all its figures, or all; `ackclock list` names them.",
    metavar="FIGURE",
    autocompletion=complete_figure,
)
#: What an interrupt leaves.
RESUMES = "the runs that finished are kept; the same command resumes"


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
    quick: Quick = False,
    jobs: Jobs = 0,
    on: Annotated[
        Host, typer.Option(help="Run in the simulator, or also on this machine's TCP stack (root).")
    ] = Host.SIM,
    on_ray: OnRay = None,
) -> None:
    """Repeat figures of the papers; write tables, verdicts and a page.

    **Examples**

    - `ackclock reproduce cubicfc/fig5`

    - `ackclock reproduce cubicfc/fig2 cubicfc/fig5 --seeds 20 -o out/convergence`

    - `ackclock reproduce cubicfc --quick`

    - `ackclock reproduce cubicfc/fig5 --on kernel`

    The output directory (default: out/FIGURE) holds index.html, and each figure as PNG, SVG and
    Parquet. Each finished run is kept in .ackclock, so an interrupted command resumes and a
    repeated one costs nothing. With --on kernel the figures that one machine can carry run in real
    time: 5 runs a point and one run at a time, unless --seeds and --jobs say otherwise.
    """
    from ackclock import reproduce  # noqa: PLC0415 (slow to import)

    started_s = time.monotonic()
    with one_line_errors(RESUMES):
        if quick and on is Host.KERNEL:
            raise AckclockError("--quick: not with --on kernel; write --seeds 1 instead")
        if on_ray and on is Host.KERNEL:
            raise AckclockError("--on-ray: not with --on kernel, which runs on this machine only")
        where = executor(jobs, on_ray)
        chosen = dict(pair for figure in figures for pair in papers.load(figure))
        path = output or Path("out") / _file_name(figures[0], on)
        command = f"ackclock reproduce {shlex.join(figures)}"
        command += f" --seeds {seeds}" if seeds else ""
        command += " --quick" if quick else ""
        command += " --on kernel" if on is Host.KERNEL else ""
        if on is Host.KERNEL:
            _reproduce_on_kernel(figures, chosen, seeds, jobs, path, command)
            return
        with Directory(path) as directory:
            with progress_bar("simulating") as progress:
                reproduced = reproduce.reproduce(
                    list(chosen.items()),
                    seeds=seeds,
                    quick=quick,
                    executor=where,
                    progress=progress,
                    on_runs=say_runs,
                )
            directory.fill(
                lambda partial: reproduce.write(reproduced, partial, command=command, quick=quick)
            )
        for figure in reproduced:
            print_report(figure.title, reproduce.measures_table(figure))
        if any(figure.claims for figure in reproduced):
            print_report("Claims", reproduce.claims_table(reproduced, quick=quick))
        _print_totals(reproduced, quick, started_s)
        out.print(f"page: {(path / 'index.html').absolute()}")


def _file_name(figure: str, on: Host) -> str:
    return figure.replace("/", "-") + ("-kernel" if on is Host.KERNEL else "")


def _reproduce_on_kernel(
    figures: list[str],
    chosen: dict[str, ModuleType],
    seeds: int | None,
    jobs: int,
    path: Path,
    command: str,
) -> None:
    from ackclock import crosscheck, reproduce  # noqa: PLC0415 (only these runs need it)

    checks = {name: module.KERNEL for name, module in chosen.items() if hasattr(module, "KERNEL")}
    named = {name for figure in figures if "/" in figure for name, _ in papers.load(figure)}
    if unable := sorted(named - checks.keys()):
        able = [name for name, module in papers.load("all") if hasattr(module, "KERNEL")]
        raise AckclockError(
            f'figure = "{unable[0]}": has no version for the kernel; '
            f"with --on kernel choose from {', '.join(able)}"
        )
    repeats = seeds or crosscheck.SEEDS
    with Directory(path) as directory:
        number, total_s = crosscheck.to_run(list(checks.values()), seeds=repeats)
        if number:
            left = in_words(total_s / min(jobs or 1, number))
            err.print(f"{number} runs on the kernel, in real time: {left} if each is valid at once")
        with progress_bar("on the kernel") as progress:
            crosscheck.fill(
                list(checks.values()),
                seeds=repeats,
                jobs=jobs or 1,
                progress=progress,
                on_invalid=say_invalid,
            )
        checked = {}
        with progress_bar("simulating") as progress:
            for done, (name, check) in enumerate(checks.items()):

                def part(fraction: float, done: int = done) -> None:
                    progress((done + fraction) / len(checks))

                checked[name] = crosscheck.load(check, progress=part)
        there = [(name, each) for name, each in checked.items() if each is not None]
        directory.fill(lambda partial: reproduce.write_kernel(there, partial, command=command))
    for name, each in there:
        print_report(name, each.table())
        out.print(each.caption)
    out.print(f"page: {(path / 'index.html').absolute()}")


@app.command("claims", rich_help_panel=PANEL)
def claims_command(
    figures: Annotated[list[str] | None, Figures] = None,
    output: Output = None,
    parts: Annotated[
        bool, typer.Option("--parts", help="Show each part of a claim about several points.")
    ] = False,
    quick: Quick = False,
    until_decided: UntilDecided = False,
    most: Most = None,
    jobs: Jobs = 0,
    on_ray: OnRay = None,
) -> None:
    """Print what the papers claim, what we measured, and the verdict.

    **Examples**

    - `ackclock claims`

    - `ackclock claims leith2007 --parts -o out/claims`

    - `ackclock claims cubicfc/fig5 --until-decided --most 50`

    Without a figure it prints the claims of all papers. The output directory holds claims.json,
    claims.parquet and claims.md. Runs that `ackclock reproduce` has kept are not run again.
    docs/sweep.md says by which rule --until-decided adds seeds.
    """
    from ackclock import reproduce  # noqa: PLC0415 (slow to import)

    with one_line_errors(RESUMES):
        where = executor(jobs, on_ray)
        most = most_seeds(until_decided, most)
        if quick and most is not None:
            raise AckclockError("--quick and --until-decided: give one of the two")
        chosen = dict(pair for figure in figures or ["all"] for pair in papers.load(figure))
        with nullcontext() if output is None else Directory(output) as directory:
            with progress_bar("simulating") as progress:
                how: Any = {"executor": where, "progress": progress, "on_runs": say_runs}
                if most is None:
                    reproduced = reproduce.reproduce(list(chosen.items()), quick=quick, **how)
                else:
                    reproduced = reproduce.until_decided(list(chosen.items()), most=most, **how)
            if directory is not None:
                directory.fill(
                    lambda partial: reproduce.write_claims(reproduced, partial, quick=quick)
                )
        print_report("Claims", reproduce.claims_table(reproduced, quick=quick, parts=parts))
        out.print(reproduce.verdict_totals(reproduced, quick=quick))


@app.command("report", rich_help_panel=PANEL)
def report_command(
    output: Output = None,
    quick: Quick = False,
    jobs: Jobs = 0,
    on_ray: OnRay = None,
) -> None:
    """Write a site of all papers: figures, claims, verdicts and data.

    **Example**

    - `ackclock report -o out/report`

    It has one page for each paper (default directory: out/report). It is `ackclock reproduce all`
    without tables on the screen, and with each figure as PDF, too.
    """
    from ackclock import reproduce  # noqa: PLC0415 (slow to import)

    started_s = time.monotonic()
    with one_line_errors(RESUMES):
        where = executor(jobs, on_ray)
        path = output or Path("out/report")
        with Directory(path) as directory:
            with progress_bar("simulating") as progress:
                reproduced = reproduce.reproduce(
                    papers.load("all"),
                    quick=quick,
                    executor=where,
                    progress=progress,
                    on_runs=say_runs,
                )
            command = "ackclock report" + (" --quick" if quick else "")
            directory.fill(
                lambda partial: reproduce.write(
                    reproduced, partial, command=command, quick=quick, pdf=True
                )
            )
        _print_totals(reproduced, quick, started_s)
        out.print(f"site: {(path / 'index.html').absolute()}")


def _print_totals(reproduced: list["Reproduced"], quick: bool, started_s: float) -> None:
    from ackclock import reproduce  # noqa: PLC0415 (only these commands draw)

    took = in_words(time.monotonic() - started_s)
    out.print(reproduce.verdict_totals(reproduced, quick=quick))
    out.print(f"{reproduce.run_totals(reproduced)} This command took {took}.")
