"""What the commands share: their options, how they print, what ends them."""

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer
from rich import box
from rich.console import Console
from rich.measure import Measurement
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.table import Table
from rich.text import Text

from ackclock import AckclockError, Result, _core, report

app = typer.Typer(
    help="A laboratory for TCP congestion control.",
    epilog="Start with: ackclock run examples/two_cubic.toml",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    add_completion=False,
    rich_markup_mode="markdown",
)


class Host(StrEnum):
    """Where a scenario runs."""

    SIM = "sim"
    KERNEL = "kernel"


#: Columns of a table that nobody sees on a screen: nothing in it needs to be folded.
WIDE = 1000

for stream in (sys.stdout, sys.stderr):
    stream.reconfigure(errors="replace")  # type: ignore[union-attr]
out = Console(
    markup=False, highlight=False, soft_wrap=True, width=None if sys.stdout.isatty() else WIDE
)
err = Console(stderr=True, markup=False, highlight=False, soft_wrap=True)

Output = Annotated[Path | None, typer.Option("-o", "--output", help="Write the results here.")]
Jobs = Annotated[
    int, typer.Option("-j", "--jobs", min=0, help="Runs at a time; 0: one on each core.")
]


def _version(wanted: bool) -> None:
    if wanted:
        out.print(f"ackclock {_core.engine_version()}")
        raise typer.Exit


@app.callback()
def options(
    _: Annotated[
        bool,
        typer.Option("--version", callback=_version, is_eager=True, help="Print the version."),
    ] = False,
) -> None: ...


@contextmanager
def one_line_errors(interrupted: str = "nothing was written") -> Iterator[None]:
    try:
        yield
        sys.stdout.flush()
    except AckclockError as error:
        err.print(f"error: {error}")
        raise typer.Exit(1) from None
    except BrokenPipeError:  # `| head`
        _discard_stdout()
        raise typer.Exit(1) from None
    except OSError as error:
        _discard_stdout()
        err.print(f"error: cannot print: {error.strerror}")
        raise typer.Exit(1) from None
    except KeyboardInterrupt:
        err.print(f"interrupted: {interrupted}")
        raise typer.Exit(130) from None


def _discard_stdout() -> None:
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


@contextmanager
def progress_bar(what: str) -> Iterator[Callable[[float], None]]:
    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        TextColumn("{task.percentage:3.0f} %"),
    )
    times = (TimeElapsedColumn(), TextColumn("left"), TimeRemainingColumn())
    with Progress(
        *columns, *times, console=err, transient=True, disable=not err.is_terminal
    ) as bar:
        task = bar.add_task(what, total=1.0)
        yield lambda fraction: bar.update(task, completed=fraction)


def say_invalid(result: Result) -> None:
    problems = "; ".join(result.manifest["certificate"]["problems"])
    err.print(f"run {result.manifest['attempt']} is not valid: {problems}")


def print_report(title: str, table: report.Table) -> None:
    colours = {"holds": "green", "fails": "red", "inconclusive": "yellow"}
    shown = new_table(*table.header, title=title)
    for row in table.rows:
        shown.add_row(*(Text(cell, style=colours.get(cell, "")) for cell in row))
    print_table(shown)


def new_table(*header: str, title: str | None = None) -> Table:
    table = Table(title=title, title_justify="left", box=box.SIMPLE_HEAD)
    for column in header:
        table.add_column(column, overflow="fold")
    return table


def print_table(table: Table) -> None:
    """Folds text between words; a narrow screen gets lines too long rather than numbers cut off."""
    for column in table.columns:
        whole = column is table.columns[0] or column.justify == "right"
        words = [str(column.header).split()]
        words += [[str(cell)] if whole else str(cell).split() for cell in column.cells]
        column.min_width = max((len(word) for each in words for word in each), default=0)
    least = Measurement.get(out, out.options.update(width=WIDE), table).minimum
    out.width = max(out.width, least)
    out.print(table, soft_wrap=False, crop=False)
