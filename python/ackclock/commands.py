"""The commands of `ackclock`."""

import json
import math
import os
import shlex
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from rich import box
from rich.console import Console
from rich.measure import Measurement
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.table import Table
from rich.text import Text

from ackclock import AckclockError, Result, Scenario, _core, metrics, papers, report, run, skeleton
from ackclock.runs import output_directory, write_table

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


#: Exit code of a kernel run whose certificate is not valid.
INVALID = 3
#: Columns of a table that nobody sees on a screen: nothing in it needs to be folded.
WIDE = 1000
#: Rows of flows that a summary shows.
MOST_FLOWS = 20

for stream in (sys.stdout, sys.stderr):
    stream.reconfigure(errors="replace")  # type: ignore[union-attr]
out = Console(
    markup=False, highlight=False, soft_wrap=True, width=None if sys.stdout.isatty() else WIDE
)
err = Console(stderr=True, markup=False, highlight=False, soft_wrap=True)

Output = Annotated[Path | None, typer.Option("-o", "--output", help="Write the results here.")]


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
def _one_line_errors(interrupted: str = "nothing was written") -> Iterator[None]:
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
def _progress(what: str) -> Iterator[Callable[[float], None]]:
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


@app.command("run")
def run_command(
    scenario: Annotated[Path, typer.Argument(help="A scenario file (TOML).")],
    output: Output = None,
    seed: Annotated[int | None, typer.Option(help="Instead of the scenario's.")] = None,
    algorithm: Annotated[
        str | None,
        typer.Option(help="Instead of every flow's: name[@preset][:param=value,…] or a C file."),
    ] = None,
    on: Annotated[
        Host, typer.Option(help="The simulator, or this machine's own TCP stack in real time.")
    ] = Host.SIM,
    attempts: Annotated[
        int | None,
        typer.Option(min=1, help="On the kernel: most runs until one keeps time; 3 if not said."),
    ] = None,
    acks: Annotated[
        bool, typer.Option("--acks", help="On the kernel, with -o: every ACK in acks.parquet.")
    ] = False,
) -> None:
    """Run a scenario and print what each flow got.

    **Examples**

    - `ackclock run examples/two_cubic.toml`

    - `ackclock run examples/two_cubic.toml -o out/two_cubic --seed 7`

    - `ackclock run examples/two_cubic.toml --algorithm cubic:beta=0.8`

    - `ackclock run examples/two_cubic.toml --algorithm ./my_cc.c`

    - `ackclock run examples/two_cubic.toml --on kernel`

    The output directory has the tables of docs/tables.md as Parquet, and manifest.json. A kernel
    run that kept time badly is marked as invalid there and ends with exit code 3.
    """
    with _one_line_errors():
        if attempts is not None and on is not Host.KERNEL:
            raise AckclockError(f"--attempts {attempts}: only with --on kernel")
        if acks and (on is not Host.KERNEL or output is None):
            raise AckclockError("--acks: only with --on kernel and an output directory (-o)")
        chosen = Scenario.from_toml(scenario)
        changes: dict[str, Any] = {} if seed is None else {"seed": seed}
        if algorithm is not None:
            changes["flow"] = [
                flow.model_dump(exclude_unset=True) | {"algorithm": algorithm}
                for flow in chosen.flows
            ]
        if changes:
            chosen = chosen.replace(**changes)
        with nullcontext() if output is None else output_directory(output) as partial:
            with _progress(scenario.name) as progress:
                if on is Host.KERNEL:
                    result = _run_on_kernel(chosen, progress, attempts, partial if acks else None)
                else:
                    result = run(chosen, progress=progress)
            summary, totals = _summary(result)
            if partial is not None:
                result.write(partial)
        for table in summary:
            _print_table(table)
        out.print(totals)
        if output is not None:
            out.print(f"written to {output}")
        if not result.manifest.get("certificate", {"valid": True})["valid"]:
            raise typer.Exit(INVALID)


def _run_on_kernel(
    scenario: Scenario,
    progress: Callable[[float], None],
    attempts: int | None,
    acks: Path | None,
) -> Result:
    from ackclock import kernel  # noqa: PLC0415 (only these runs need it)

    return kernel.run(
        scenario,
        progress=progress,
        attempts=attempts or kernel.ATTEMPTS,
        on_invalid=_say_invalid,
        on_acks=(lambda table: write_table(table, acks / "acks.parquet")) if acks else None,
    )


def _say_invalid(result: Result) -> None:
    problems = "; ".join(result.manifest["certificate"]["problems"])
    err.print(f"run {result.manifest['attempt']} is not valid: {problems}")


def _summary(result: Result) -> tuple[list[Table], str]:
    """What each flow got, what the sessions did, and all of them together."""
    table = _table("flow", "algorithm")
    for header in (
        "goodput (Mb/s)",
        "mean cwnd (packets)",
        "retransmitted (packets)",
        "recoveries",
    ):
        table.add_column(header, justify="right")
    goodput_bps = metrics.goodput_bps(result)
    mean_cwnd = metrics.mean_cwnd_packets(result)
    for flow, goodput in zip(
        result.flows.head(MOST_FLOWS).iter_rows(named=True), goodput_bps, strict=False
    ):
        table.add_row(
            str(flow["flow"]),
            Path(flow["algorithm"]).name,
            _known(goodput / 1e6, 2),
            _known(mean_cwnd.get(flow["flow"], math.nan), 1),
            str(flow["retransmitted_packets"]),
            str(flow["recoveries"]),
        )
    more = len(result.flows) - MOST_FLOWS
    totals = f"… and {more} more flows\n" if more > 0 else ""
    packets, wall_s = result.manifest["packets"], result.manifest["wall_time_s"]
    totals += (
        f"utilisation {_known(metrics.utilisation(result), 4)}, "
        f"Jain index {_known(metrics.jain_index(goodput_bps), 4)}\n"
        f"{packets} data packets in {wall_s:.2f} s, "
    )
    summary = [table] if result.scenario.flows else []
    summary += [_of_sessions(result)] if result.scenario.sessions else []
    return summary, totals + "\n".join(_host(result.manifest))


def _host(manifest: dict[str, Any]) -> list[str]:
    """Where it ran, and what makes that credible."""
    if manifest["backend"] == "sim":
        return [f"trace {manifest['trace_hash']}"]
    from ackclock import kernel  # noqa: PLC0415 (only these runs need it)

    lost = manifest.get("lost_acks", 0)
    missing = [f"{lost} ACKs are missing in acks.parquet"] if lost else []
    return [
        f"Linux {manifest['kernel']}",
        *missing,
        *kernel.certificate_lines(manifest["certificate"]),
    ]


def _of_sessions(result: Result) -> Table:
    """A row per [[session]] of the scenario."""
    table = _table("sessions", "algorithm")
    for header in ("carried (Mb/s)", "transfers", "median completion (s)"):
        table.add_column(header, justify="right")
    completion_s, first = metrics.completion_s(result), 1
    for session in result.scenario.sessions:
        last = first + session.count - 1
        rows = result.sessions[first - 1 : last]
        own = result.transfers["session"].is_between(first, last).to_numpy()
        table.add_row(
            f"{first}–{last}" if last > first else str(first),
            Path(session.algorithm).name,
            _known(8e-6 * rows["delivered_bytes"].to_numpy().sum() / metrics.duration_s(result), 2),
            str(rows["transfers"].sum()),
            _known(np.median(completion_s[own]) if own.any() else math.nan, 3),
        )
        first = last + 1
    return table


def _known(value: float, digits: int) -> str:
    return f"{value:.{digits}f}" if math.isfinite(value) else "—"


@app.command("reproduce")
def reproduce_command(
    figures: Annotated[
        list[str], typer.Argument(help="PAPER/FIGURE, PAPER for all of it, or all.")
    ],
    output: Output = None,
    seeds: Annotated[
        int | None, typer.Option(min=1, max=1000, help="Repeats of each point.")
    ] = None,
    quick: Annotated[bool, typer.Option("--quick", help="Few repeats and no verdict.")] = False,
    threads: Annotated[int, typer.Option(min=0, help="Cores to use; 0: all.")] = 0,
) -> None:
    """Repeat figures of the papers: table, claims with verdicts, PNG and SVG, an HTML page.

    **Examples**

    - `ackclock reproduce cubicfc/fig5`

    - `ackclock reproduce cubicfc/fig2 cubicfc/fig5 --seeds 20 -o out/convergence`

    - `ackclock reproduce cubicfc --quick`

    Each run is kept in .ackclock as it finishes, so an interrupted command resumes, and a repeated
    one costs nothing.
    """
    from ackclock import reproduce  # noqa: PLC0415 (only this command draws)

    with _one_line_errors("the runs that finished are kept; the same command resumes"):
        chosen = dict(pair for figure in figures for pair in papers.load(figure))
        directory = output or Path("out") / figures[0].replace("/", "-")
        with output_directory(directory) as partial:
            with _progress("simulating") as progress:
                reproduced = reproduce.reproduce(
                    list(chosen.items()),
                    seeds=seeds,
                    quick=quick,
                    threads=threads,
                    progress=progress,
                )
            command = f"ackclock reproduce {shlex.join(figures)}"
            command += f" --seeds {seeds}" if seeds else ""
            command += " --quick" if quick else ""
            reproduce.write(reproduced, partial, command=command, quick=quick)
        for figure in reproduced:
            _print_report(figure.title, reproduce.measures_table(figure))
        if any(figure.claims for figure in reproduced):
            _print_report("Claims", reproduce.claims_table(reproduced, quick=quick))
        out.print(reproduce.verdict_totals(reproduced, quick=quick))
        out.print(reproduce.run_totals(reproduced))
        out.print(f"page: {(directory / 'index.html').absolute()}")


@app.command("claims")
def claims_command(
    figures: Annotated[list[str] | None, typer.Argument(help="PAPER/FIGURE or PAPER.")] = None,
    output: Output = None,
    quick: Annotated[bool, typer.Option("--quick", help="Few repeats and no verdict.")] = False,
    threads: Annotated[int, typer.Option(min=0, help="Cores to use; 0: all.")] = 0,
) -> None:
    """Print what the papers claim, with our measurement and its verdict.

    **Examples**

    - `ackclock claims`

    - `ackclock claims leith2007 -o out/claims`

    The output directory has claims.json and claims.parquet. What `ackclock reproduce` has run is
    not run again.
    """
    from ackclock import reproduce  # noqa: PLC0415 (only this command draws)

    with _one_line_errors("the runs that finished are kept; the same command resumes"):
        chosen = dict(pair for figure in figures or ["all"] for pair in papers.load(figure))
        with nullcontext() if output is None else output_directory(output) as partial:
            with _progress("simulating") as progress:
                reproduced = reproduce.reproduce(
                    list(chosen.items()), quick=quick, threads=threads, progress=progress
                )
            if partial is not None:
                verdicts = [
                    reproduce.claim_row(claim, quick=quick)
                    for figure in reproduced
                    for claim in figure.claims
                ]
                reproduce.write_claims(verdicts, partial)
        _print_report("Claims", reproduce.claims_table(reproduced, quick=quick))
        out.print(reproduce.verdict_totals(reproduced, quick=quick))


@app.command("report")
def report_command(
    output: Output = None,
    quick: Annotated[bool, typer.Option("--quick", help="Few repeats and no verdict.")] = False,
    threads: Annotated[int, typer.Option(min=0, help="Cores to use; 0: all.")] = 0,
) -> None:
    """Write a site of all papers: a page a paper, with figures, claims, verdicts and data.

    **Example**

    - `ackclock report -o out/report`

    The same as `ackclock reproduce all`, without the tables on the screen and with each figure as
    PDF, too.
    """
    from ackclock import reproduce  # noqa: PLC0415 (only this command draws)

    with _one_line_errors("the runs that finished are kept; the same command resumes"):
        directory = output or Path("out/report")
        with output_directory(directory) as partial:
            with _progress("simulating") as progress:
                reproduced = reproduce.reproduce(
                    papers.load("all"), quick=quick, threads=threads, progress=progress
                )
            command = "ackclock report" + (" --quick" if quick else "")
            reproduce.write(reproduced, partial, command=command, quick=quick, pdf=True)
        out.print(reproduce.verdict_totals(reproduced, quick=quick))
        out.print(reproduce.run_totals(reproduced))
        out.print(f"site: {(directory / 'index.html').absolute()}")


def _print_report(title: str, table: report.Table) -> None:
    colours = {"holds": "green", "fails": "red", "inconclusive": "yellow"}
    shown = _table(*table.header, title=title)
    for row in table.rows:
        shown.add_row(*(Text(cell, style=colours.get(cell, "")) for cell in row))
    _print_table(shown)


def _table(*header: str, title: str | None = None) -> Table:
    table = Table(title=title, title_justify="left", box=box.SIMPLE_HEAD)
    for column in header:
        table.add_column(column, overflow="fold")
    return table


def _print_table(table: Table) -> None:
    """Folds text between words; a narrow screen gets lines too long rather than numbers cut off."""
    for column in table.columns:
        whole = column is table.columns[0] or column.justify == "right"
        words = [str(column.header).split()]
        words += [[str(cell)] if whole else str(cell).split() for cell in column.cells]
        column.min_width = max((len(word) for each in words for word in each), default=0)
    least = Measurement.get(out, out.options.update(width=WIDE), table).minimum
    out.width = max(out.width, least)
    out.print(table, soft_wrap=False, crop=False)


@app.command("new")
def new_command(
    name: Annotated[str, typer.Argument(help="Of the algorithm, as the kernel may know it.")],
) -> None:
    """Write NAME.c, a commented algorithm to start from, into the current directory.

    **Example**

    - `ackclock new my_cc && ackclock run examples/two_cubic.toml --algorithm ./my_cc.c`
    """
    with _one_line_errors():
        out.print(f"written: {skeleton.write(name)}")


@app.command("response")
def response_command(
    algorithm: Annotated[
        list[str], typer.Option(help="name[@preset][:param=value,…] or a C file; repeatable.")
    ],
    rtt: Annotated[list[str], typer.Option(help="Round-trip time; repeatable.")] = ["10ms"],  # noqa: B006
    lowest: Annotated[
        float, typer.Option(help="Lowest loss rate; 1e-7 takes 1e8 packets or more.")
    ] = 1e-7,
    profile: Annotated[str, typer.Option(help="Whose TCP the hosts run.")] = "linux-6",
    delayed_ack_segments: Annotated[
        int, typer.Option(min=1, max=2, help="1: an ACK for each packet, as the formulas have it.")
    ] = 1,
    output: Output = None,
    threads: Annotated[int, typer.Option(min=0, help="Cores to use; 0: all.")] = 0,
) -> None:
    """Mean window against loss rate: closed forms beside simulations that lose every 1/p-th packet.

    **Examples**

    - `ackclock response --algorithm cubic --algorithm reno --algorithm highspeed --rtt 10ms`

    - `ackclock response --algorithm cubic@ha2008 --rtt 10ms --rtt 100ms -o out/response`

    - `ackclock response --algorithm ./my_cc.c --lowest 1e-5 --delayed-ack-segments 2`

    The output directory has response.parquet, .png and .svg. A simulated window in brackets was
    still drifting when the run ended.
    """
    from ackclock import response  # noqa: PLC0415 (only this command draws)

    with _one_line_errors("the runs that finished are kept; the same command resumes"):
        loss_rates = response.loss_rates_from(lowest)
        with nullcontext() if output is None else output_directory(output) as partial:
            with _progress("simulating") as progress:
                rows = response.measure(
                    algorithm,
                    rtt,
                    loss_rates,
                    profile=profile,
                    delayed_ack_segments=delayed_ack_segments,
                    threads=threads,
                    progress=progress,
                )
            if partial is not None:
                response.write(rows, partial)
        for each in dict.fromkeys(rtt):
            _print_report(f"Mean window in packets, RTT {each}", response.table(rows, each))
        acks = "each packet" if delayed_ack_segments == 1 else "every second packet"
        out.print(f"hosts {profile}, an ACK for {acks}")
        if output is not None:
            out.print(f"written to {output}")


@app.command("list")
def list_command(
    algorithm: Annotated[str | None, typer.Argument(help="Show its parameters.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="For programs.")] = False,
) -> None:
    """List the algorithms (with their parameters and source) and the figures of the papers.

    **Examples**

    - `ackclock list`

    - `ackclock list cubic`

    - `ackclock list ./my_cc.c`

    - `ackclock list --json`
    """
    with _one_line_errors():
        shown = _core.algorithms() if algorithm is None else [_core.configure(algorithm)]
        if as_json:
            listing = {"algorithms": shown} | ({} if algorithm else {"figures": papers.titles()})
            sys.stdout.write(json.dumps(listing, indent=2, ensure_ascii=False) + "\n")
            return
        if algorithm is None:
            table = _table("algorithm", "what it is", "presets")
            for each in shown:
                presets = ", ".join(each["presets"])
                table.add_row(each["name"], each["summary"], presets)
            _print_table(table)
            out.print("`ackclock list NAME` shows parameters; figures to reproduce:")
            for name, title in papers.titles().items():
                out.print(f"  {name}  {title}")
            return
        for each in shown:
            out.print(Text(each["name"], style="bold"), f" {each['summary']}\n{each['source']}")
            if each["head"]:
                out.print("\n" + each["head"])
            table = _table("parameter", "value", "default", "range", "what it is")
            for param in each["params"]:
                table.add_row(
                    param["name"],
                    str(each["values"][param["name"]]),
                    str(param["default"]),
                    f"{param['min']} … {param['max']}",
                    param["doc"],
                )
            _print_table(table)
            if each["presets"]:
                table = _table("preset", "what it is", "settings")
                for name, doc in each["presets"].items():
                    settings = each["preset_settings"][name].replace(",", ", ")
                    table.add_row(f"{each['name']}@{name}", doc, settings or "the defaults")
                _print_table(table)


@app.command("plot")
def plot_command(
    directory: Annotated[Path, typer.Argument(help="What `ackclock run -o` wrote.")],
) -> None:
    """Draw a run: congestion windows, throughput and queue, as PNG, SVG and PDF in its directory.

    **Example**

    - `ackclock run examples/two_cubic.toml -o out/two_cubic && ackclock plot out/two_cubic`
    """
    from ackclock import plot  # noqa: PLC0415 (only this command draws)

    with _one_line_errors():
        figure = plot.overview(Result.load(directory))
        try:
            paths = plot.write(figure, directory, "overview")
        except OSError as error:
            raise AckclockError(f"{directory}: cannot be written ({error.strerror})") from None
        for path in paths:
            out.print(str(path))
