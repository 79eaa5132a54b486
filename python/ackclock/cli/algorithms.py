"""The commands of `ackclock` for algorithms and results: new, examples, response, list, plot."""

from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ackclock import AckclockError, _core
from ackclock.base.directory import Directory, partial_directory, replaced
from ackclock.cli.console import (
    ALGORITHM,
    RESUMES,
    SCENARIOS,
    SIM,
    Jobs,
    On,
    Output,
    app,
    complete_algorithm,
    linux_of,
    new_table,
    one_line_errors,
    out,
    print_json,
    print_report,
    print_table,
    progress_bar,
    styled,
)

if TYPE_CHECKING:
    from ackclock import Result


@app.command("new", rich_help_panel=SCENARIOS)
def new_command(
    name: Annotated[
        str,
        typer.Argument(help="Name of the algorithm: a-z, 0-9 and _, at most 15.", metavar="NAME"),
    ],
    full: Annotated[
        bool, typer.Option("--full", help="With private state, init and samples of the RTT.")
    ] = False,
) -> None:
    """Write NAME.c, an algorithm to start from, here.

    Example:
        ackclock new my_cc && ackclock run examples/two_cubic.toml --algorithm ./my_cc.c
    """
    from ackclock.scenario import skeleton  # noqa: PLC0415 (only this command needs it)

    with one_line_errors():
        out.print(f"written: {skeleton.write(name, full=full)}")


@app.command("examples", rich_help_panel=SCENARIOS)
def examples_command(
    directory: Annotated[
        Path, typer.Argument(help="Directory to write.", metavar="[DIR]", show_default=True)
    ] = Path("examples"),
) -> None:
    """Write the example scenarios into a directory.

    Example:
        ackclock examples && ackclock run examples/two_cubic.toml
    """
    from ackclock.scenario import skeleton  # noqa: PLC0415 (only this command needs it)

    with one_line_errors():
        written = skeleton.write_examples(directory)
        out.print(f"{'written' if written else 'there already'}: {directory}")


@app.command("response", rich_help_panel=SCENARIOS)
def response_command(
    algorithm: Annotated[
        list[str],
        typer.Option(
            help=f"Draw this algorithm: {ALGORITHM}. Repeatable.",
            metavar="ALGORITHM",
            autocompletion=complete_algorithm,
        ),
    ],
    rtt: Annotated[
        list[str], typer.Option(help="Set the round-trip time. Repeatable.", metavar="TIME")
    ] = ["10ms"],  # noqa: B006
    lowest: Annotated[
        float, typer.Option(help="Stop at this loss rate; 1e-7 needs 1e8 packets.")
    ] = 1e-7,
    profile: Annotated[
        str,
        typer.Option(
            help="Choose the hosts' TCP stack: linux-6, linux-2.6.32, linux-2.6.25 or "
            "linux-2.6.18.",
            metavar="NAME",
        ),
    ] = "linux-6",
    delayed_ack_segments: Annotated[
        int,
        typer.Option(min=1, max=2, help="Send an ACK for 1 packet (as the formulas assume) or 2."),
    ] = 1,
    on: On = SIM,
    output: Output = None,
    jobs: Jobs = 0,
) -> None:
    """Plot mean window against loss rate, simulated and by formula.

    Examples:
        ackclock response --algorithm cubic --algorithm reno --algorithm highspeed --rtt 10ms
        ackclock response --algorithm cubic@ha2008 --rtt 10ms --rtt 100ms -o out/response
        ackclock response --algorithm ./my_cc.c --lowest 1e-5 --delayed-ack-segments 2
        ackclock response --algorithm kernel:cubic --lowest 1e-4 --on vlinux

    The link drops one packet in every 1/p. The output directory has response.parquet, .png and
    .svg. A window in brackets was still drifting when its run ended. With --on vlinux the windows
    are Linux's own; 1e5 packets take it some seconds.
    """
    from ackclock import Local  # noqa: PLC0415 (slow to import)
    from ackclock.studies import response  # noqa: PLC0415 (slow to import)

    with one_line_errors(RESUMES):
        loss_rates = response.loss_rates_from(lowest)
        if on == "kernel":
            raise AckclockError("--on kernel: it has no link without a limit; use --on vlinux")
        with nullcontext() if output is None else Directory(output) as directory:
            with progress_bar("simulating") as progress:
                rows = response.measure(
                    algorithm,
                    rtt,
                    loss_rates,
                    profile=profile,
                    delayed_ack_segments=delayed_ack_segments,
                    executor=linux_of(on, jobs) or Local(jobs),
                    progress=progress,
                )
            if directory is not None:
                directory.fill(lambda partial: response.write(rows, partial))
        for each in dict.fromkeys(rtt):
            print_report(f"Mean window in packets, RTT {each}", response.table(rows, each))
        acks = "each packet" if delayed_ack_segments == 1 else "every second packet"
        out.print(f"hosts {profile if on == SIM else on}, an ACK for {acks}")
        if output is not None:
            out.print(f"written to {output}")


@app.command("list", rich_help_panel=SCENARIOS)
def list_command(
    algorithm: Annotated[
        str | None,
        typer.Argument(
            help="Show the parameters of this one.",
            metavar="ALGORITHM",
            autocompletion=complete_algorithm,
        ),
    ] = None,
    history: Annotated[
        bool,
        typer.Option(
            "--history", help="Add where the algorithm comes from and how it differs from there."
        ),
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """List the algorithms, their parameters, and the figures.

    Examples:
        ackclock list
        ackclock list cubic
        ackclock list cubic --history
        ackclock list ./my_cc.c
        ackclock list --json
    """
    from ackclock import papers  # noqa: PLC0415 (only this command needs it)

    with one_line_errors():
        if history and algorithm is None:
            raise AckclockError("--history: name an algorithm: `ackclock list cubic --history`")
        if algorithm is not None and _is_of_a_paper(algorithm):
            raise AckclockError(
                f"{algorithm}: of a paper, not an algorithm; "
                f"`ackclock reproduce {algorithm}` repeats it"
            )
        shown = _core.algorithms() if algorithm is None else [_core.configure(algorithm)]
        if as_json:
            listing = {"algorithms": shown} | ({} if algorithm else {"figures": papers.titles()})
            print_json(listing, indent=2)
            return
        if algorithm is None:
            _print_algorithms(shown)
        else:
            _print_algorithm(shown[0], algorithm, history=history)


def _print_algorithms(every: list[dict[str, Any]]) -> None:
    from ackclock import papers  # noqa: PLC0415 (only `list` needs it)

    table = new_table("algorithm", "what it is", "presets")
    for each in every:
        table.add_row(each["name"], each["summary"], ", ".join(each["presets"]))
    print_table(table)
    out.print("`ackclock list NAME` shows parameters.")
    table = new_table("figure", "what it shows", title="Figures to reproduce")
    for name, title in papers.titles().items():
        table.add_row(name, title)
    print_table(table)


def _print_algorithm(shown: dict[str, Any], asked: str, *, history: bool) -> None:
    out.print(styled(shown["name"], "bold"), f" {shown['summary']}\n{shown['source']}")
    table = new_table("parameter", "value", "default", "range", "what it is")
    for param in shown["params"]:
        table.add_row(
            param["name"],
            str(shown["values"][param["name"]]),
            str(param["default"]),
            f"{param['min']} … {param['max']}",
            param["doc"],
        )
    if shown["params"]:
        print_table(table)
    table = new_table("preset", "what it is", "settings")
    for name, doc in shown["presets"].items():
        settings = shown["preset_settings"][name].replace(",", ", ")
        table.add_row(f"{shown['name']}@{name}", doc, settings or "the defaults")
    if shown["presets"]:
        print_table(table)
    if history:
        out.print(shown["head"])
    elif shown["head"]:
        out.print(f"`ackclock list {asked} --history` says where it comes from.")


def _is_of_a_paper(name: str) -> bool:
    from ackclock import papers  # noqa: PLC0415 (only `list` needs it)

    return name.partition("/")[0] in {each.partition("/")[0] for each in papers.names()}


def _is_qlog(path: Path) -> bool:
    return path.suffix in (".qlog", ".sqlog") and path.is_file()


def _load(directory: Path) -> "Result":
    from ackclock import Result  # noqa: PLC0415 (slow to import)

    if directory.is_file() and directory.suffix in (".pcap", ".pcapng"):
        raise AckclockError(
            f"{directory}: a capture shows no window to draw; "
            f"`ackclock capture explain {directory}` tells what it shows"
        )
    if _is_qlog(directory):
        from ackclock.results.qlog_reader import as_result  # noqa: PLC0415 (only this needs it)

        return as_result(directory)
    if (directory / "sweep.parquet").exists():
        raise AckclockError(
            f"{directory}: of a sweep; `ackclock sweep SWEEP --plot -o {directory}` draws it"
        )
    if not (directory / "manifest.json").exists():
        command = f"{directory} -o DIR" if directory.is_file() else f"SCENARIO -o {directory}"
        raise AckclockError(
            f"{directory}: not a result of `ackclock run`; write one with `ackclock run {command}`"
        )
    return Result.load(directory)


@app.command("plot", rich_help_panel=SCENARIOS)
def plot_command(
    directories: Annotated[
        list[Path],
        typer.Argument(help="Directory that `ackclock run -o` wrote, or a qlog.", metavar="DIR…"),
    ],
    output: Annotated[
        Path | None,
        typer.Option("-o", "--output", help="Write this PNG, SVG or PDF.", metavar="FILE"),
    ] = None,
    panels: Annotated[
        str,
        typer.Option(
            help="Draw these of one run: any of cwnd, throughput, queue, rtt; as distributions "
            "rtt-cdf, delay-cdf (of the queues), fct-cdf (completion times of transfers).",
            metavar="NAMES",
        ),
    ] = "cwnd,throughput,queue",
) -> None:
    """Draw a run, or several over each other: congestion windows, throughput and queue.

    Examples:
        ackclock run examples/two_cubic.toml -o out/two_cubic && ackclock plot out/two_cubic
        ackclock plot out/two_cubic --panels cwnd,rtt -o rtt.png
        ackclock run examples/web_traffic.toml -o out/web && ackclock plot out/web --panels fct-cdf
        ackclock plot out/reno out/cubic -o both.png
        ackclock plot out/quinn my.qlog -o both.png

    Without -o: writes overview.png, .svg and .pdf into the run's directory. Signs at the windows
    are losses, timeouts and ECN; lines above the queue are drops and marks.
    """
    from ackclock import compare_runs  # noqa: PLC0415 (only this command draws)
    from ackclock.draw import plot  # noqa: PLC0415 (only this command draws)

    with one_line_errors():
        if output and output.suffix not in plot.ENDINGS:
            raise AckclockError(
                f"--output {output}: write a name that ends in {', '.join(plot.ENDINGS)}"
            )
        names = [each.strip() for each in panels.split(",")]
        for name in names:
            if name not in plot.PANELS:
                raise AckclockError(
                    f'--panels: "{name}": unknown; choose from {", ".join(plot.PANELS)}'
                )
        if len(directories) > 1 and names != ["cwnd", "throughput", "queue"]:
            raise AckclockError("--panels: of one run only; leave it out, or give one directory")
        if not output and (len(directories) > 1 or _is_qlog(directories[0])):
            what = "several runs in one picture" if len(directories) > 1 else f"{directories[0]}"
            raise AckclockError(f"{what}: add -o FILE.png")
        results = {str(each): _load(each) for each in directories}
        first, *others = results.values()
        if names == ["cwnd", "throughput", "queue"] and first.queues.is_empty():
            names[2] = "rtt"  # `ackclock watch --record` sees no queue
        figure = compare_runs(**results) if others else plot.overview(first, names)
        place = output or directories[0]
        try:
            if output:
                with replaced(output) as file:
                    plot.write(figure, file.parent, file.stem, only=file.suffix)
                paths = [output]
            else:
                with partial_directory(place) as partial:
                    drawn = plot.write(figure, partial, "overview")
                    paths = [each.replace(place / each.name) for each in drawn]
        except OSError as error:
            raise AckclockError(f"{place}: cannot be written ({error.strerror})") from None
        for path in paths:
            out.print(str(path))
