"""What the commands share: their options, how they print, what ends them."""

import inspect
import json
import logging
import os
import re
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, fields, replace
from functools import wraps
from io import TextIOWrapper
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import typer
from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment, Segments
from typer.core import TyperCommand, TyperGroup

from ackclock import AckclockError, _core
from ackclock.base.directory import CACHE
from ackclock.base.errors import visible
from ackclock.base.interrupts import READER_GONE, is_interrupt
from ackclock.scenario import snapshot

if TYPE_CHECKING:
    from rich.table import Table
    from rich.text import Text

    from ackclock import Result
    from ackclock.draw import html
    from ackclock.hosts.linux import Linux
    from ackclock.hosts.threads import Executor
    from ackclock.hosts.work import Work

T = TypeVar("T", bound=Callable[..., Any])


def without_types(params: Any) -> Any:
    """The help would show `--json <bool>`, `--jobs <int range>` and `DIR… <list[Path]>`."""
    for each in params:
        if each.param_type_name == "argument":
            each.display_type = lambda *_: None
        elif each.metavar is None:
            each.metavar = "" if getattr(each, "is_flag", False) else _value(each.type_descriptor)
    return params


def _value(described: Any) -> str | None:
    """In the help: the value of an option whose declaration names none."""
    if described.is_choice:
        return "|".join(str(getattr(each, "value", each)) for each in described.choices)
    return "N" if described.is_ranged or described.annotation in (int, float) else None


class _Command(TyperCommand):
    def get_params(self, ctx: Any) -> Any:
        return without_types(super().get_params(ctx))

    def format_help_text(self, ctx: Any, formatter: Any) -> None:
        """Examples keep their lines."""
        self.help = re.sub(r"(?m)^(?=Examples?:$)", "\b\n", inspect.cleandoc(self.help or ""))
        super().format_help_text(ctx, formatter)


class _Group(TyperGroup):
    def get_params(self, ctx: Any) -> Any:
        return without_types(super().get_params(ctx))

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """By their panels, each with its whole first line."""
        panels: dict[str, list[tuple[str, str]]] = {}
        for name in self.list_commands(ctx):
            command: Any = self.get_command(ctx, name)
            panel = command.rich_help_panel or "Commands"
            line = command.get_short_help_str(limit=200)
            panels.setdefault(panel, []).append((name, line))
        for panel, rows in panels.items():
            with formatter.section(panel):
                formatter.write_dl(rows)


class Commands(typer.Typer):
    """A group of commands."""

    def __init__(self, **options: Any) -> None:
        super().__init__(cls=_Group, **options)

    def command(self, name: str | None = None, **options: Any) -> Callable[[T], T]:
        add = super().command(name, cls=_Command, **options)
        return lambda function: add(_with_options(function))


app = Commands(
    help="Test TCP congestion control: in a simulator, and in the Linux kernel.",
    epilog="Start with: ackclock examples && ackclock run examples/two_cubic.toml",
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)


#: In the help: the panel of commands about scenarios and algorithms.
SCENARIOS = "Scenarios and algorithms"


#: Where a scenario runs; vlinux:7.3 is that series of Linux.
SIM, KERNEL, VLINUX = "sim", "kernel", "vlinux"
#: As usage shows them.
HOSTS, LINUXES = "sim|kernel|vlinux[:SERIES]", "kernel|vlinux[:SERIES]"


def host_name(text: str) -> str:
    """Parses a value of `--on`."""
    kind, colon, series = text.partition(":")
    if kind not in (SIM, KERNEL, VLINUX) or (colon and not (series and kind == VLINUX)):
        raise typer.BadParameter(
            f"'{text}' is not one of '{SIM}', '{KERNEL}', '{VLINUX}', '{VLINUX}:7.3'"
        )
    return text


On = Annotated[
    str,
    typer.Option(
        "--on",
        parser=host_name,
        metavar=HOSTS,
        help="Run in the simulator, on this machine's TCP stack (root), or on Linux in virtual "
        "time (docs/vlinux.md).",
    ),
]


def beside(text: str) -> str:
    """Parses a Linux that stands beside the simulator."""
    if text == SIM:
        raise typer.BadParameter(f"'{SIM}' is not one of '{KERNEL}', '{VLINUX}', '{VLINUX}:7.3'")
    return host_name(text)


#: Columns of a table that nobody sees on a screen: nothing in it needs to be folded.
WIDE = 1000

# Without a home that can be written it tells where it keeps its fonts.
logging.getLogger("matplotlib").setLevel(logging.ERROR)

for stream in (sys.stdout, sys.stderr):
    if isinstance(stream, TextIOWrapper):  # not a notebook's
        stream.reconfigure(errors="replace")


class _Console(Console):
    """A terminal that obeys nothing in a text: only our own styles, and what moves the cursor."""

    def render(
        self, renderable: RenderableType, options: ConsoleOptions | None = None
    ) -> Iterable[Segment]:
        for each in super().render(renderable, options):
            yield each if each.control else each._replace(text=visible(each.text))


out = _Console(
    markup=False, highlight=False, soft_wrap=True, width=None if sys.stdout.isatty() else WIDE
)
err = _Console(stderr=True, markup=False, highlight=False, soft_wrap=True)

#: Seconds between two lines of progress where there is no terminal for a bar.
PROGRESS_EVERY_S = 10.0
#: The part of the work that must be done before it tells how long the rest takes.
LEAST_KNOWN = 0.01


def _algorithms(incomplete: str) -> list[str]:
    """For the shell's completion."""
    known = [each["name"] for each in _core.algorithms()]
    files = [str(path) for path in Path().glob("*.c")]
    return [name for name in (*known, *files, *(f"./{file}" for file in files))
            if name.startswith(incomplete)]  # fmt: skip


def _figures(incomplete: str) -> list[str]:
    """For the shell's completion."""
    from ackclock import papers  # noqa: PLC0415 (only this needs it)

    names = papers.names()
    known = [*names, *{name.split("/")[0]: None for name in names}, "all"]
    return [name for name in known if name.startswith(incomplete)]


#: How to write an algorithm; its completion.
ALGORITHM = "NAME[@PRESET][:PARAMETER=VALUE,…] or a C file"
complete_algorithm, complete_figure = _algorithms, _figures


def _directory(text: str) -> Path:
    if not text:
        raise typer.BadParameter("the name of the directory is empty")
    return Path(text)


Settings = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        help="Change a key of the scenario: rtt=20ms, bottleneck.buffer=2bdp, flow.2.start=5s, "
        "cubic:beta=0.8. Repeatable.",
        metavar="KEY=VALUE",
    ),
]
OfFlows = Annotated[
    list[str] | None,
    typer.Option(
        "--algorithm",
        help=f"Use this algorithm in every flow: {ALGORITHM}. Repeat it to give one to each flow.",
        metavar="ALGORITHM",
        autocompletion=complete_algorithm,
    ),
]

Output = Annotated[
    Path | None,
    typer.Option(
        "-o",
        "--output",
        help="Write the results to this directory.",
        metavar="DIR",
        parser=_directory,
    ),
]
Jobs = Annotated[
    int,
    typer.Option("-j", "--jobs", min=0, help="Run this many simulations at a time (0: all cores)."),
]

OnRay = Annotated[
    str | None,
    typer.Option(
        metavar="ADDRESS", help="Run on this Ray cluster, HOST:PORT or auto (docs/cluster.md)."
    ),
]


@dataclass(frozen=True)
class Shared:
    """The options of a command whose runs other machines may share."""

    jobs: Jobs = 0
    on_ray: OnRay = None
    shard: Annotated[
        str | None,
        typer.Option(
            metavar="K/N",
            help="Run only the K-th of N parts, and keep its runs (docs/cluster.md).",
        ),
    ] = None
    merge: Annotated[
        list[str] | None,
        typer.Option(
            metavar="DIR",
            help="Take over what shards have kept that ran in DIR; may have a * (may repeat).",
        ),
    ] = None

    def work(
        self,
        host: "Linux | None" = None,
        *,
        not_with: str = "",
        unused: Mapping[str, object] | None = None,
    ) -> "Work":
        """What a command has to run: all, or its shard; takes over what others have kept.

        `not_with` is an option of the command that cannot be shared, `unused` are those that a
        shard does not look at, with what they were given. Raises `AckclockError`.
        """
        from ackclock.hosts.shard import WHOLE, Shard, take_over  # noqa: PLC0415 (slow to import)
        from ackclock.hosts.work import Work  # noqa: PLC0415 (slow to import)

        if (self.shard or self.merge) and not_with:
            raise AckclockError(f"{'--shard' if self.shard else '--merge'}: not with {not_with}")
        if given := [name for name, value in (unused or {}).items() if self.shard and value]:
            raise AckclockError(
                f"--shard: writes no table; give {given[0]} to the command that comes after all "
                "shards"
            )
        if self.shard and self.merge:
            raise AckclockError("--shard and --merge: give one of the two; the merge comes last")
        if self.merge:
            err.print(f"{take_over(self.merge, Path(CACHE))} entries of kept runs taken over")
        own = Shard.read(self.shard) if self.shard else WHOLE
        return Work(executor=host or executor(self.jobs, self.on_ray), shard=own, on_runs=say_runs)


def _with_options(function: Any) -> Any:
    """The function with the options of `Shared`, if it has that as a parameter."""
    signature = inspect.signature(function)
    own = [each for each in signature.parameters.values() if each.annotation is not Shared]
    if len(own) == len(signature.parameters):
        return function
    own += inspect.signature(Shared).parameters.values()

    @wraps(function)
    def called(**given: Any) -> Any:
        shared = Shared(**{each.name: given.pop(each.name) for each in fields(Shared)})
        return function(**given, shared=shared)

    called.__signature__ = signature.replace(parameters=own)  # type: ignore[attr-defined]
    called.__annotations__ = {each.name: each.annotation for each in own}
    return called


@contextmanager
def showing(work: "Work", what: str) -> Iterator["Work"]:
    """The same, with a bar."""
    with progress_bar(what) as progress:
        yield replace(work, progress=progress)


def say_shard(work: "Work") -> None:
    """At the end of a shard: what to do with it."""
    out.print(
        f"shard {work.shard} is done; its runs are kept in {Path(CACHE).absolute()}. "
        "When all are done, type the command without --shard here, or elsewhere with --merge DIR"
    )


def executor(jobs: int, on_ray: str | None) -> "Executor":
    """Where the runs of a command are executed. Raises `AckclockError`."""
    if on_ray is None:
        from ackclock.hosts.threads import Local  # noqa: PLC0415 (slow to import)

        return Local(jobs)
    if jobs:
        raise AckclockError(
            f"--jobs {jobs}: not with --on-ray, which takes all CPUs of the cluster"
        )
    from ackclock.hosts.ray import Ray  # noqa: PLC0415 (slow to import)

    return Ray(on_ray)


def linux_of(on: str, jobs: int = 0, on_ray: str | None = None) -> "Linux | None":
    """The Linux that `--on` names; None: the simulator. Raises `AckclockError` with a cluster."""
    if on == SIM:
        return None
    if on_ray:
        raise AckclockError(f"--on-ray: not with --on {on}, which runs on this machine only")
    from ackclock.hosts import linux  # noqa: PLC0415 (slow to import)

    return linux.host(on, jobs, say_invalid)


UntilDecided = Annotated[
    bool,
    typer.Option(
        "--until-decided", help="Add seeds until each bound is decided, 95 % of them rightly."
    ),
]
Most = Annotated[
    int | None,
    typer.Option(min=10, max=1000, help="With --until-decided: most seeds (default: 100)."),
]


def most_seeds(until_decided: bool, most: int | None) -> int | None:
    """Most seeds of `--until-decided`; None without it. Raises `AckclockError`."""
    from ackclock.estimates import sequential  # noqa: PLC0415 (slow to import)

    if most is not None and not until_decided:
        raise AckclockError(f"--most {most}: add --until-decided")
    return (most or sequential.MOST) if until_decided else None


def _version(wanted: bool) -> None:
    if wanted:
        from ackclock.store import entries  # noqa: PLC0415 (slow to import)

        out.print(f"ackclock {_core.engine_version()}")
        out.print(
            f"results of version {entries.results_version()}; kept runs of another may run again"
        )
        raise typer.Exit


@app.callback()
def options(
    _: Annotated[
        bool,
        typer.Option("--version", callback=_version, is_eager=True, help="Print the version."),
    ] = False,
    trust: Annotated[
        bool,
        typer.Option(
            "--trust", help="Run C files without checks of what they touch: only your own."
        ),
    ] = False,
) -> None:
    if trust:  # the processes of workers read it, too
        os.environ["ACKCLOCK_TRUST"] = "1"


#: What an interrupt leaves of a command that keeps its runs.
RESUMES = "the runs that finished are kept; the same command resumes"


@contextmanager
def one_line_errors(interrupted: str = "nothing was written") -> Iterator[None]:
    try:
        with snapshot.held():  # one look at each C file for the whole command
            yield
        sys.stdout.flush()
    except UnicodeEncodeError:  # the name of a file may be any bytes
        err.print("error: a name on the command line is not text in UTF-8: rename the file")
        raise typer.Exit(1) from None
    except AckclockError as error:
        err.print(f"error: {error}")
        raise typer.Exit(1) from None
    except OSError as error:
        raise typer.Exit(not_printed(error)) from None
    except BaseException as error:
        if isinstance(error, typer.Exit) or not is_interrupt(error):
            raise
        err.print(f"interrupted: {interrupted}")
        raise typer.Exit(130) from None


def not_printed(error: OSError) -> int:
    """Says that standard output takes nothing; returns the exit code."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    if isinstance(error, BrokenPipeError):  # `| head`
        return READER_GONE
    err.print(f"error: cannot print: {error.strerror}")
    return 1


def print_json(value: object, *, indent: int | None = None) -> None:
    """Prints a line of JSON, or lines."""
    text = json.dumps(value, indent=indent, ensure_ascii=False)
    out.file.write(visible(text) + "\n")


@contextmanager
def progress_bar(what: str) -> Iterator[Callable[[float], None]]:
    """A bar on a terminal; elsewhere a plain line every `PROGRESS_EVERY_S`.

    A fraction below the one before it begins anew, with more work.
    """
    if not err.is_terminal:
        yield _progress_lines(what)
        return
    from rich.progress import (  # noqa: PLC0415 (slow to import)
        BarColumn,
        Progress,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        TextColumn("{task.percentage:3.0f} %"),
    )
    times = (TimeElapsedColumn(), TextColumn("left"), TimeRemainingColumn())
    with Progress(*columns, *times, console=err, transient=True) as bar:
        task = bar.add_task(what, total=1.0)
        before = 0.0

        def show(fraction: float) -> None:
            nonlocal before
            if fraction < before:
                bar.reset(task, total=1.0)
            before = fraction
            bar.update(task, completed=fraction)

        yield show


def _progress_lines(what: str) -> Callable[[float], None]:
    last_s = time.monotonic()
    started_s = first = before = 0.0

    def show(fraction: float) -> None:
        nonlocal last_s, started_s, first, before
        now_s = time.monotonic()
        if not started_s or fraction < before:  # what came before it says nothing of the rest
            started_s, first = now_s, fraction
        before = fraction
        if fraction > first and now_s - last_s >= PROGRESS_EVERY_S:
            last_s = now_s
            left_s = (now_s - started_s) * (1 - fraction) / (fraction - first)
            known = fraction - first >= LEAST_KNOWN
            left = f", about {in_words(left_s)} left" if known else ""
            err.print(f"{what}: {100 * fraction:.0f} %{left}")

    return show


def in_words(seconds: float) -> str:
    """A time for people: "40 s", "3 min 20 s", "2 h 5 min"."""
    minutes, rest_s = divmod(round(seconds), 60)
    if minutes < 60:
        return f"{minutes} min {rest_s} s" if minutes else f"{rest_s} s"
    return f"{minutes // 60} h {minutes % 60} min"


def say_runs(todo: int, kept: int) -> None:
    """Before the runs: how many. How long they take is known when some have ended."""
    if todo:
        err.print(f"{todo} runs to simulate" + (f", {kept} are kept" if kept else ""))


def say_invalid(result: "Result") -> None:
    problems = "; ".join(result.manifest["certificate"]["problems"])
    err.print(f"run {result.manifest['attempt']} is not valid: {problems}")


def styled(text: str, style: str) -> "Text":
    """Text that is shown as it is, in a style."""
    from rich.text import Text  # noqa: PLC0415 (slow to import)

    return Text(text, style=style)


def print_report(title: str, table: "html.Table", *, less: Sequence[str] = ()) -> None:
    """Prints a table of text; `less` is as in `screen.fitted`."""
    colours = {"holds": "green", "fails": "red", "open": "yellow"}
    shown = new_table(*table.header, title=title)
    for row in table.rows:
        shown.add_row(*(styled(cell, colours.get(cell, "")) for cell in row))
    print_table(shown, less=less)


def new_table(*header: str, title: str | None = None) -> "Table":
    """A table that `print_table` prints."""
    from ackclock.base import table  # noqa: PLC0415 (slow to import)

    return table.new_table(*header, title=title)


def print_table(table: "Table", *, keys: int = 1, less: Sequence[str] = ()) -> None:
    """Prints a table as `screen.fitted` fits it into the terminal."""
    from ackclock.cli import screen  # noqa: PLC0415 (slow to import)

    shown = screen.fitted(table, out.width, keys=keys, less=less)
    # A word that is longer than the screen is whole: a path, say, that one copies.
    parts = Segments(out.render(shown, out.options.update(width=WIDE)))
    with out.capture() as printed:
        out.print(parts, soft_wrap=True, end="")
    text = re.sub(r"(?m) +$", "", printed.get()).strip("\n")
    out.file.write(f"\n{text}\n\n")
