"""The commands `ackclock sweep` and `ackclock compare`."""

from contextlib import nullcontext
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ackclock import AckclockError
from ackclock.base import units
from ackclock.base.directory import Directory
from ackclock.cli.console import (
    ALGORITHM,
    LINUXES,
    RESUMES,
    SCENARIOS,
    SIM,
    Jobs,
    Most,
    On,
    Output,
    Shared,
    UntilDecided,
    app,
    beside,
    complete_algorithm,
    linux_of,
    most_seeds,
    new_table,
    one_line_errors,
    out,
    print_json,
    print_report,
    print_table,
    progress_bar,
    say_invalid,
    say_shard,
    showing,
)

if TYPE_CHECKING:
    import polars as pl

    from ackclock.estimates.stats import Estimate
    from ackclock.scenario.scenario import Scenario
    from ackclock.studies.compare import Comparison
    from ackclock.studies.programs import Compared
    from ackclock.sweeps.sweep import Sweep

#: Rows that the screen shows.
MOST_ROWS = 40


@app.command("sweep", rich_help_panel=SCENARIOS)
def sweep_command(
    file: Annotated[Path, typer.Argument(help="Sweep file (TOML).", metavar="SWEEP")],
    output: Output = None,
    plot: Annotated[
        bool,
        typer.Option("--plot", help="Draw heat maps, or lines with 95 % intervals over seeds."),
    ] = False,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print one line of JSON per point.")
    ] = False,
    until_decided: UntilDecided = False,
    most: Most = None,
    on: On = SIM,
    *,
    shared: Shared,
) -> None:
    """Run a scenario over a grid or a Latin hypercube of its fields.

    Examples:
        ackclock sweep examples/sweeps/cubic_beta.toml --plot
        ackclock sweep examples/sweeps/buffer_rtt.toml --plot -o out/buffer_rtt
        ackclock sweep examples/sweeps/cubic_beta.toml --until-decided --most 50
        ackclock sweep examples/sweeps/cubic_beta.toml --shard 3/64
        ackclock sweep examples/sweeps/cubic_beta.toml --on vlinux

    docs/sweep.md says what a sweep file has. The output directory (default: out/SWEEP) holds
    sweep.parquet with one row per run, the sweep file, and with --plot sweep.png, .svg and .pdf.
    The row of each finished run is kept in .ackclock, so an interrupted command resumes.
    """
    from ackclock.sweeps.sweep import Sweep  # noqa: PLC0415 (slow to import)

    with one_line_errors(RESUMES):
        work = shared.work(
            linux_of(on, shared.jobs, shared.on_ray),
            not_with="--until-decided" if until_decided else "",
            unused={"-o": output, "--plot": plot, "--json": as_json},
        )
        sweep = Sweep.from_toml(file, most=most_seeds(until_decided, most))
        path = output or Path("out") / file.stem
        plot = plot or (path / "sweep.png").exists()  # a picture there is drawn again
        if plot:
            from ackclock.draw import sweep_plots  # noqa: PLC0415 (slow to import)

            sweep_plots.layout(sweep)
        if shared.shard:
            with showing(work, "checking") as checking:
                runs = sweep.check(checking)
            with showing(work, file.stem) as filling:
                sweep.fill(runs, filling)
            say_shard(work)
            return
        with Directory(path) as directory:
            with showing(work, "checking") as checking:
                runs = sweep.check(checking)
            with showing(work, file.stem) as running:
                table = sweep.run(runs, running)
            directory.fill(lambda partial: _write(sweep, table, file, partial, plot))
        if as_json:
            _print_json(sweep, table)
            return
        _print(sweep, table)
        out.print(f"written to {path}")


@app.command("compare", rich_help_panel=SCENARIOS)
def compare_command(
    scenario: Annotated[
        Path,
        typer.Argument(help="A scenario file (TOML); - reads standard input.", metavar="SCENARIO"),
    ],
    algorithm: Annotated[
        list[str] | None,
        typer.Option(
            help=f"Compare these, with commas between them, or all: {ALGORITHM}. Repeatable. "
            "With --on it means what `run` means by it; programs are compared. [default: all]",
            metavar="ALGORITHMS",
            autocompletion=complete_algorithm,
        ),
    ] = None,
    settings: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            help="Change a key of the scenario, as in `run`. A key with several values has a row "
            "for each. Repeatable.",
            metavar="KEY=VALUE",
        ),
    ] = None,
    seeds: Annotated[
        int | None,
        typer.Option(min=1, max=1000, help="Run seeds 1 to N of each (default: 5; with --on: 1)."),
    ] = None,
    repeats: Annotated[
        int | None,
        typer.Option(hidden=True, min=1, max=1000),  # of the version before
    ] = None,
    on: Annotated[
        list[str] | None,
        typer.Option(
            parser=beside,
            metavar=LINUXES,
            help="Compare not algorithms, but the simulator with this machine's TCP stack, or with "
            "Linux in virtual time (docs/vlinux.md). Repeatable.",
        ),
    ] = None,
    output: Output = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print one line of JSON per row.")
    ] = False,
    jobs: Jobs = 0,
) -> None:
    """Compare algorithms on a link; with --on, the simulator with Linux.

    Examples:
        ackclock compare base.toml --algorithm cubic,bbr,bbr3,./my_cc.c
        ackclock compare base.toml --algorithm cubic,bbr --set rtt=30ms --set rtt=80ms
        ackclock import-tc "tc qdisc …" | ackclock compare - -o out/compare
        ackclock compare base.toml --on vlinux --seeds 10
        ackclock compare programs.toml --on vlinux --algorithm kernel:cubic,kernel:bbr

    Goodput, queue delay and loss are of the algorithm in all flows. Then it takes the place of the
    first [[flow]]: what do the other flows (or a CUBIC flow, if there are none) lose, against their
    own algorithm in its place? docs/compare.md explains the table. -o also draws it.

    With --on and a [[program]] it compares programs: when they end, with each algorithm (of new
    sockets), each value of --set and on each Linux.

    With --on it compares the second half of the runs. A difference beyond its bound is `open` where
    the runs of both sides overlap. One run proves nothing and gets no verdict. -o writes a
    page (`index.html`) with the congestion windows, throughput and queue of both.
    """
    from ackclock.cli.run import read_one  # noqa: PLC0415 (a command of its own)

    seeds = seeds or repeats
    with one_line_errors(RESUMES):
        given = read_one(scenario)
        with nullcontext() if output is None else Directory(output) as directory:
            if given.programs:
                compared: Any = _programs(given, on, settings, algorithm, seeds or 1, jobs)
            elif on:
                if as_json or jobs:
                    raise AckclockError(f"{'--json' if as_json else '--jobs'}: not with --on")
                compared = _with_linux(given, on, settings or [], algorithm or [], seeds or 1)
            else:
                from ackclock.questions import on_link  # noqa: PLC0415 (slow to import)

                with showing(Shared(jobs).work(), scenario.name) as work:
                    compared = on_link.on_link(
                        given,
                        on_link.algorithms(algorithm or ["all"]),
                        settings or [],
                        seeds=seeds or on_link.SEEDS,
                        work=work,
                    )
            if directory is not None:
                directory.fill(compared.write)
        if given.programs:
            for side, (sweep, table) in compared.sides.items():
                _print_json(sweep, table, on=side) if as_json else _print(sweep, table, side)
        else:
            _show(compared, {"": compared.table()} if on else compared.tables(), as_json)
        if output is not None and not as_json:
            is_page = on and not given.programs
            page = f"; look at {(output / 'index.html').absolute()}" if is_page else ""
            out.print(f"written to {output}{page}")


def _show(compared: Any, tables: dict[str, Any], as_json: bool) -> None:
    if as_json:
        for line in compared.json():
            print_json(line)
        return
    for title, table in tables.items():
        print_report(title, table)
    for line in compared.notes():
        out.print(line)


def _programs(
    scenario: "Scenario",
    on: list[str] | None,
    settings: list[str] | None,
    algorithms: list[str] | None,
    seeds: int,
    jobs: int,
) -> "Compared":
    from ackclock.questions.on_link import algorithms as read  # noqa: PLC0415 (slow to import)
    from ackclock.studies.programs import compare  # noqa: PLC0415 (slow to import)

    chosen = read(algorithms or [])
    with showing(Shared().work(), "comparing") as work:
        return compare(
            scenario, on or [], chosen, settings or [], seeds=seeds, jobs=jobs, work=work
        )


def _with_linux(
    scenario: "Scenario", on: list[str], settings: list[str], algorithms: list[str], seeds: int
) -> "Comparison":
    from ackclock.cli.run import changed  # noqa: PLC0415 (a command of its own)
    from ackclock.studies.compare import compare  # noqa: PLC0415 (only this command draws)

    chosen = changed(scenario, settings, algorithms)
    sides = tuple(dict.fromkeys(on))
    with progress_bar("comparing") as progress:
        return compare(chosen, on=sides, repeats=seeds, progress=progress, on_invalid=say_invalid)


def _write(sweep: "Sweep", table: "pl.DataFrame", file: Path, directory: Path, plot: bool) -> None:
    from ackclock.store.entries import write_manifest, write_parquet  # noqa: PLC0415 (slow to import)

    write_parquet(table, directory / "sweep.parquet")
    (directory / "sweep.toml").write_bytes(file.read_bytes())
    if plot:
        from ackclock.draw import plot as draw  # noqa: PLC0415 (slow to import)
        from ackclock.draw import sweep_plots  # noqa: PLC0415

        draw.write(sweep_plots.figure(sweep, table), directory, "sweep")
    write_manifest({"runs": len(table), "scenario": sweep.scenario.given}, directory)


def _print_json(sweep: "Sweep", table: "pl.DataFrame", **more: str) -> None:
    from ackclock.results.summary import json_ready  # noqa: PLC0415 (slow to import)

    for cell in sweep.cells(table):
        print_json(json_ready(more | cell))


def _print(sweep: "Sweep", table: "pl.DataFrame", title: str | None = None) -> None:
    from ackclock.estimates.stats import Estimate  # noqa: PLC0415 (slow to import)
    from ackclock.sweeps import in_units  # noqa: PLC0415 (slow to import)

    varied = [axis for axis in sweep.axes if table[axis.column].n_unique() > 1]
    cells = list(islice(sweep.cells(table), MOST_ROWS))
    # Column → its name and its scale for people.
    columns = {axis.column: (in_units.label(axis), in_units.scale(axis)[0]) for axis in varied}
    for name in [each for each in cells[0] if each not in {axis.column for axis in sweep.axes}]:
        means = [abs(cell[name].mean) for cell in cells if isinstance(cell[name], Estimate)]
        scale, unit = in_units.unit(name, max(means, default=None))
        columns[name] = in_units.named(name, unit), scale
    shown = new_table(title=title)
    for header, _ in columns.values():
        shown.add_column(header, overflow="fold", justify="right")

    def text(value: Any, scale: float) -> str:
        if isinstance(value, Estimate):
            return _number(in_units.scaled(value, scale))
        if isinstance(value, int | float):
            return _digits(value * scale)
        return "—" if value is None else str(value)

    for cell in cells:
        shown.add_row(*(text(cell[name], scale) for name, (_, scale) in columns.items()))
    print_table(shown, keys=len(varied))
    points = table.unique([axis.column for axis in sweep.axes])
    if len(points) > MOST_ROWS:
        out.print(f"… and {len(points) - MOST_ROWS} more points")
    runs = f"{units.counted(len(table), 'run')}, {units.counted(len(points), 'point')}"
    if len(table) > len(points):
        runs += ": mean (95 % interval)"
    out.print(runs)
    if sweep.decision is not None:
        found = points["verdict"].to_list()
        counts = ", ".join(
            f"{found.count(verdict)} {verb}"
            for verdict, verb in (("holds", "hold"), ("fails", "fail"), ("open",) * 2)
        )
        out.print(f"{sweep.decision}: {counts}")


def _number(estimate: "Estimate") -> str:
    """An estimate of a column whose size is not known."""
    text = _digits(estimate.mean)
    if estimate.censored:
        return f"> {text}, {estimate.censored} of {estimate.n} cut off"
    if estimate.n == 1:
        return text
    return f"{text} ({_digits(estimate.low)} … {_digits(estimate.high)})"


def _digits(number: float) -> str:
    """Four digits, without an exponent where there are more before the point."""
    return f"{number:.0f}" if abs(number) >= 1e3 else f"{number:.4g}"
