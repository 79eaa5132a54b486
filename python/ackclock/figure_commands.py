"""The commands of `ackclock` for the papers: reproduce, claims, report."""

import shlex
import time
from contextlib import nullcontext
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Annotated

import typer

from ackclock import AckclockError, papers
from ackclock.console import (
    Host,
    Jobs,
    Output,
    app,
    one_line_errors,
    out,
    print_report,
    progress_bar,
    say_invalid,
)
from ackclock.runs import output_directory

if TYPE_CHECKING:
    from ackclock.reproduce import Reproduced

PANEL = "The papers"


@app.command("reproduce", rich_help_panel=PANEL)
def reproduce_command(
    figures: Annotated[
        list[str], typer.Argument(help="PAPER/FIGURE, PAPER for all of it, or all.")
    ],
    output: Output = None,
    seeds: Annotated[
        int | None, typer.Option(min=1, max=1000, help="Repeats of each point.")
    ] = None,
    quick: Annotated[bool, typer.Option("--quick", help="Few repeats and no verdict.")] = False,
    jobs: Jobs = 0,
    on: Annotated[
        Host, typer.Option(help="The simulator, or beside it this machine's own TCP stack.")
    ] = Host.SIM,
) -> None:
    """Repeat figures of the papers: table, claims with verdicts, PNG and SVG, an HTML page.

    **Examples**

    - `ackclock reproduce cubicfc/fig5`

    - `ackclock reproduce cubicfc/fig2 cubicfc/fig5 --seeds 20 -o out/convergence`

    - `ackclock reproduce cubicfc --quick`

    - `ackclock reproduce cubicfc/fig5 --on kernel`

    Each run is kept in .ackclock as it finishes, so an interrupted command resumes, and a repeated
    one costs nothing. On the kernel: what one machine can carry in real time, of each paper one
    figure at least, 5 runs a point, one at a time if --jobs is not said.
    """
    from ackclock import reproduce  # noqa: PLC0415 (only this command draws)

    started_s = time.monotonic()
    with one_line_errors("the runs that finished are kept; the same command resumes"):
        if quick and on is Host.KERNEL:
            raise AckclockError("--quick: not with --on kernel; --seeds 1 is the least")
        chosen = dict(pair for figure in figures for pair in papers.load(figure))
        directory = output or Path("out") / _file_name(figures[0], on)
        command = f"ackclock reproduce {shlex.join(figures)}"
        command += f" --seeds {seeds}" if seeds else ""
        command += " --quick" if quick else ""
        command += " --on kernel" if on is Host.KERNEL else ""
        if on is Host.KERNEL:
            _reproduce_on_kernel(figures, chosen, seeds, jobs, directory, command)
            return
        with output_directory(directory) as partial:
            with progress_bar("simulating") as progress:
                reproduced = reproduce.reproduce(
                    list(chosen.items()),
                    seeds=seeds,
                    quick=quick,
                    jobs=jobs,
                    progress=progress,
                )
            reproduce.write(reproduced, partial, command=command, quick=quick)
        for figure in reproduced:
            print_report(figure.title, reproduce.measures_table(figure))
        if any(figure.claims for figure in reproduced):
            print_report("Claims", reproduce.claims_table(reproduced, quick=quick))
        _print_totals(reproduced, quick, started_s)
        out.print(f"page: {(directory / 'index.html').absolute()}")


def _file_name(figure: str, on: Host) -> str:
    return figure.replace("/", "-") + ("-kernel" if on is Host.KERNEL else "")


def _reproduce_on_kernel(
    figures: list[str],
    chosen: dict[str, ModuleType],
    seeds: int | None,
    jobs: int,
    directory: Path,
    command: str,
) -> None:
    from ackclock import crosscheck, reproduce  # noqa: PLC0415 (only these runs need it)

    checks = {name: module.KERNEL for name, module in chosen.items() if hasattr(module, "KERNEL")}
    named = {name for figure in figures if "/" in figure for name, _ in papers.load(figure)}
    if unable := sorted(named - checks.keys()):
        able = [name for name, module in papers.load("all") if hasattr(module, "KERNEL")]
        raise AckclockError(
            f'figure = "{unable[0]}": it has no version for the kernel; with --on '
            f"kernel choose from {', '.join(able)}"
        )
    with output_directory(directory) as partial:
        with progress_bar("on the kernel") as progress:
            crosscheck.fill(
                list(checks.values()),
                seeds=seeds or crosscheck.SEEDS,
                jobs=jobs or 1,
                progress=progress,
                on_invalid=say_invalid,
            )
        with progress_bar("simulating"):
            checked = {name: crosscheck.load(check) for name, check in checks.items()}
        there = [(name, each) for name, each in checked.items() if each is not None]
        reproduce.write_kernel(there, partial, command=command)
    for name, each in there:
        print_report(name, each.table())
        out.print(each.caption)
    out.print(f"page: {(directory / 'index.html').absolute()}")


@app.command("claims", rich_help_panel=PANEL)
def claims_command(
    figures: Annotated[list[str] | None, typer.Argument(help="PAPER/FIGURE or PAPER.")] = None,
    output: Output = None,
    quick: Annotated[bool, typer.Option("--quick", help="Few repeats and no verdict.")] = False,
    jobs: Jobs = 0,
) -> None:
    """Print what the papers claim, with our measurement and its verdict.

    **Examples**

    - `ackclock claims`

    - `ackclock claims leith2007 -o out/claims`

    The output directory has claims.json, claims.parquet and claims.md. What `ackclock reproduce`
    has run is not run again.
    """
    from ackclock import reproduce  # noqa: PLC0415 (only this command draws)

    with one_line_errors("the runs that finished are kept; the same command resumes"):
        chosen = dict(pair for figure in figures or ["all"] for pair in papers.load(figure))
        with nullcontext() if output is None else output_directory(output) as partial:
            with progress_bar("simulating") as progress:
                reproduced = reproduce.reproduce(
                    list(chosen.items()), quick=quick, jobs=jobs, progress=progress
                )
            if partial is not None:
                reproduce.write_claims(reproduced, partial, quick=quick)
        print_report("Claims", reproduce.claims_table(reproduced, quick=quick))
        out.print(reproduce.verdict_totals(reproduced, quick=quick))


@app.command("report", rich_help_panel=PANEL)
def report_command(
    output: Output = None,
    quick: Annotated[bool, typer.Option("--quick", help="Few repeats and no verdict.")] = False,
    jobs: Jobs = 0,
) -> None:
    """Write a site of all papers: a page a paper, with figures, claims, verdicts and data.

    **Example**

    - `ackclock report -o out/report`

    The same as `ackclock reproduce all`, without the tables on the screen and with each figure as
    PDF, too.
    """
    from ackclock import reproduce  # noqa: PLC0415 (only this command draws)

    started_s = time.monotonic()
    with one_line_errors("the runs that finished are kept; the same command resumes"):
        directory = output or Path("out/report")
        with output_directory(directory) as partial:
            with progress_bar("simulating") as progress:
                reproduced = reproduce.reproduce(
                    papers.load("all"), quick=quick, jobs=jobs, progress=progress
                )
            command = "ackclock report" + (" --quick" if quick else "")
            reproduce.write(reproduced, partial, command=command, quick=quick, pdf=True)
        _print_totals(reproduced, quick, started_s)
        out.print(f"site: {(directory / 'index.html').absolute()}")


def _print_totals(reproduced: list["Reproduced"], quick: bool, started_s: float) -> None:
    from ackclock import reproduce  # noqa: PLC0415 (only these commands draw)

    minutes, seconds = divmod(round(time.monotonic() - started_s), 60)
    out.print(reproduce.verdict_totals(reproduced, quick=quick))
    out.print(f"{reproduce.run_totals(reproduced)} This command took {minutes} min {seconds} s.")
