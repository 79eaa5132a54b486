"""The commands of `ackclock` for scenarios and algorithms: run, plot, list, new, response."""

import json
import math
import sys
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from rich.table import Table
from rich.text import Text

from ackclock import AckclockError, Result, Scenario, _core, metrics, papers, run, skeleton
from ackclock.console import (
    Host,
    Jobs,
    Output,
    app,
    new_table,
    one_line_errors,
    out,
    print_report,
    print_table,
    progress_bar,
    say_invalid,
)
from ackclock.runs import output_directory, write_table

#: Exit code of a kernel run whose certificate is not valid.
INVALID = 3
#: Rows of flows that a summary shows.
MOST_FLOWS = 20


PANEL = "Scenarios and algorithms"


@app.command("run", rich_help_panel=PANEL)
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
    with one_line_errors():
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
            with progress_bar(scenario.name) as progress:
                if on is Host.KERNEL:
                    result = _run_on_kernel(chosen, progress, attempts, partial if acks else None)
                else:
                    result = run(chosen, progress=progress)
            summary, totals = _summary(result)
            if partial is not None:
                result.write(partial)
        for table in summary:
            print_table(table)
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
        on_invalid=say_invalid,
        on_acks=(lambda table: write_table(table, acks / "acks.parquet")) if acks else None,
    )


def _summary(result: Result) -> tuple[list[Table], str]:
    """What each flow got, what the sessions did, and all of them together."""
    table = new_table("flow", "algorithm")
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
    forward = (result.flows["direction"] == "forward").to_numpy()
    packets, wall_s = result.manifest["packets"], result.manifest["wall_time_s"]
    totals += (
        f"utilisation {_known(metrics.utilisation(result), 4)}, "
        f"Jain index {_known(metrics.jain_index(goodput_bps[forward]), 4)}\n"
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
    table = new_table("sessions", "algorithm")
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


@app.command("new", rich_help_panel=PANEL)
def new_command(
    name: Annotated[str, typer.Argument(help="Of the algorithm, as the kernel may know it.")],
) -> None:
    """Write NAME.c, a commented algorithm to start from, into the current directory.

    **Example**

    - `ackclock new my_cc && ackclock run examples/two_cubic.toml --algorithm ./my_cc.c`
    """
    with one_line_errors():
        out.print(f"written: {skeleton.write(name)}")


@app.command("response", rich_help_panel=PANEL)
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
    jobs: Jobs = 0,
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

    with one_line_errors("the runs that finished are kept; the same command resumes"):
        loss_rates = response.loss_rates_from(lowest)
        with nullcontext() if output is None else output_directory(output) as partial:
            with progress_bar("simulating") as progress:
                rows = response.measure(
                    algorithm,
                    rtt,
                    loss_rates,
                    profile=profile,
                    delayed_ack_segments=delayed_ack_segments,
                    jobs=jobs,
                    progress=progress,
                )
            if partial is not None:
                response.write(rows, partial)
        for each in dict.fromkeys(rtt):
            print_report(f"Mean window in packets, RTT {each}", response.table(rows, each))
        acks = "each packet" if delayed_ack_segments == 1 else "every second packet"
        out.print(f"hosts {profile}, an ACK for {acks}")
        if output is not None:
            out.print(f"written to {output}")


@app.command("list", rich_help_panel=PANEL)
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
    with one_line_errors():
        shown = _core.algorithms() if algorithm is None else [_core.configure(algorithm)]
        if as_json:
            listing = {"algorithms": shown} | ({} if algorithm else {"figures": papers.titles()})
            sys.stdout.write(json.dumps(listing, indent=2, ensure_ascii=False) + "\n")
            return
        if algorithm is None:
            table = new_table("algorithm", "what it is", "presets")
            for each in shown:
                presets = ", ".join(each["presets"])
                table.add_row(each["name"], each["summary"], presets)
            print_table(table)
            out.print("`ackclock list NAME` shows parameters; figures to reproduce:")
            for name, title in papers.titles().items():
                out.print(f"  {name}  {title}")
            return
        for each in shown:
            out.print(Text(each["name"], style="bold"), f" {each['summary']}\n{each['source']}")
            if each["head"]:
                out.print("\n" + each["head"])
            table = new_table("parameter", "value", "default", "range", "what it is")
            for param in each["params"]:
                table.add_row(
                    param["name"],
                    str(each["values"][param["name"]]),
                    str(param["default"]),
                    f"{param['min']} … {param['max']}",
                    param["doc"],
                )
            print_table(table)
            if each["presets"]:
                table = new_table("preset", "what it is", "settings")
                for name, doc in each["presets"].items():
                    settings = each["preset_settings"][name].replace(",", ", ")
                    table.add_row(f"{each['name']}@{name}", doc, settings or "the defaults")
                print_table(table)


@app.command("plot", rich_help_panel=PANEL)
def plot_command(
    directory: Annotated[Path, typer.Argument(help="What `ackclock run -o` wrote.")],
) -> None:
    """Draw a run: congestion windows, throughput and queue, as PNG, SVG and PDF in its directory.

    **Example**

    - `ackclock run examples/two_cubic.toml -o out/two_cubic && ackclock plot out/two_cubic`
    """
    from ackclock import plot  # noqa: PLC0415 (only this command draws)

    with one_line_errors():
        figure = plot.overview(Result.load(directory))
        try:
            paths = plot.write(figure, directory, "overview")
        except OSError as error:
            raise AckclockError(f"{directory}: cannot be written ({error.strerror})") from None
        for path in paths:
            out.print(str(path))
