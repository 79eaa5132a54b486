"""The command `ackclock run`."""

import re
import sys
from contextlib import ExitStack, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ackclock import AckclockError
from ackclock.base.directory import Directory
from ackclock.cli.console import (
    ALGORITHM,
    KERNEL,
    RESUMES,
    SCENARIOS,
    SIM,
    Jobs,
    OfFlows,
    On,
    Output,
    Settings,
    app,
    linux_of,
    one_line_errors,
    out,
    print_json,
    print_table,
    progress_bar,
    styled,
)
from ackclock.scenario import snapshot

if TYPE_CHECKING:
    import polars as pl

    from ackclock import Flow, Scenario, Session
    from ackclock.hosts.linux import Linux
    from ackclock.hosts.threads import Executor
    from ackclock.results.pcapng import Pcapng

#: Exit code of a kernel run whose certificate is not valid.
INVALID = 3
#: Most seeds of one command.
MOST_SEEDS = 1000


@app.command("run", rich_help_panel=SCENARIOS)
def run_command(
    scenarios: Annotated[
        list[Path],
        typer.Argument(help="Scenario files (TOML); - reads standard input.", metavar="SCENARIO"),
    ],
    output: Output = None,
    settings: Settings = None,
    algorithm: OfFlows = None,
    branch: Annotated[
        list[str] | None,
        typer.Option(
            help="Branch the run at a time, with drop=flow1:next, keep=flow1:next, "
            "set=bottleneck.rate=5mbit or set=flow1.algorithm=reno. Repeatable.",
            metavar="at=TIME,CHANGE",
        ),
    ] = None,
    rtt: Annotated[
        str | None, typer.Option(help="Set the round-trip time, like 20ms.", metavar="TIME")
    ] = None,
    seed: Annotated[
        int | None, typer.Option(help="Set the random seed (default: the scenario's).")
    ] = None,
    seeds: Annotated[
        str | None,
        typer.Option(
            help="Run seeds 1 to N (or A to B) on all cores; print means with 95 % intervals. "
            "Finished runs are kept in .ackclock.",
            metavar="N|A-B",
        ),
    ] = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print one line of JSON per scenario.")
    ] = False,
    on: On = SIM,
    attempts: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="With --on kernel: maximum attempts to get a valid run (default: 3).",
        ),
    ] = None,
    acks: Annotated[
        bool,
        typer.Option("--acks", help="With -o: write every ACK to acks.parquet."),
    ] = False,
    qlog: Annotated[
        Path | None,
        typer.Option(
            help="Write samples and events of one run as qlog, for qvis (docs/interchange.md).",
            metavar="FILE",
        ),
    ] = None,
    pcapng: Annotated[
        Path | None,
        typer.Option(
            help="Write the packets of a simulated run, for Wireshark, tshark and tcptrace "
            "(docs/interchange.md).",
            metavar="FILE",
        ),
    ] = None,
    pcapng_at: Annotated[
        str | None,
        typer.Option(
            "--pcapng-at",
            help="With --pcapng: show the interface of the sender of data, of its receiver, or "
            "both (default: sender).",
            metavar="sender|receiver|both",
        ),
    ] = None,
    snaplen: Annotated[
        int | None,
        typer.Option(
            help="With --pcapng: bytes of each packet to keep (default: 96, all headers).",
            metavar="BYTES",
        ),
    ] = None,
    jobs: Jobs = 0,
) -> None:
    """Run a scenario and print what each flow got.

    Examples:
        ackclock run examples/two_cubic.toml
        ackclock run examples/two_cubic.toml -o out/two_cubic --seed 7
        ackclock run examples/two_cubic.toml --algorithm cubic --algorithm reno
        ackclock run examples/two_cubic.toml --set bottleneck.buffer=2bdp --rtt 20ms --seeds 20
        ackclock run examples/two_cubic.toml --branch at=12.5s,drop=flow1:next
        ackclock run examples/*.toml --json
        ackclock run examples/two_cubic.toml --pcapng out/two_cubic.pcapng
        ackclock run examples/two_cubic.toml --on kernel
        ackclock run examples/two_cubic.toml --on vlinux

    The output directory holds the tables of docs/tables.md as Parquet, and manifest.json. With
    several scenarios each has a directory of its own there; with --seeds it holds summary.json.
    A kernel run with bad timing is marked invalid and ends with exit code 3.
    """
    several = len(scenarios) > 1 and output is not None
    left = "the scenarios that finished are written" if several else "nothing was written"
    with one_line_errors(left if seeds is None else RESUMES), snapshot.held():
        _check_options(on, output, attempts, seed, seeds, acks)
        packets = _packets(pcapng, pcapng_at, snaplen, on)
        if (len(scenarios) > 1 or seeds) and (pcapng or qlog):
            option = f"--pcapng {pcapng}" if pcapng else f"--qlog {qlog}"
            raise AckclockError(f"{option}: takes one run; give one scenario, and no --seeds")
        short = _short(settings or [], rtt, seed, seeds, algorithm or [])
        chosen = {
            name: changed(scenario, [*(settings or ()), *short], algorithm or ()).branched(
                *branch or ()
            )
            for name, scenario in _read(scenarios).items()
        }
        host = linux_of(on, jobs)
        for scenario in chosen.values():  # the last is refused before the first runs
            check(scenario, host)
        valid = True
        for name, scenario in chosen.items():
            path = output / name if output and len(chosen) > 1 else output
            with nullcontext() if path is None else Directory(path) as directory:
                if seeds is not None:
                    from ackclock import Local  # noqa: PLC0415 (slow to import)

                    summary = _over_seeds(name, scenario, seeds, host or Local(jobs), directory)
                else:
                    summary = _one(name, scenario, host, attempts, acks, (packets, qlog), directory)
            _show(summary, name, scenario, titled=len(chosen) > 1, as_json=as_json)
            if path is not None and not as_json:
                out.print(f"written to {path}")
            for file in (pcapng, qlog):
                if file is not None and not as_json:
                    out.print(f"written: {file}")
            valid &= summary.get("certificate", {"valid": True})["valid"]
        if not valid:
            raise typer.Exit(INVALID)


def check(scenario: "Scenario", host: "Linux | None") -> None:
    """Raises `AckclockError` for what `host`, or the simulator, would refuse before it runs."""
    if host:
        host.check(scenario)
    else:
        scenario.check()


def _check_options(
    on: str,
    output: Path | None,
    attempts: int | None,
    seed: int | None,
    seeds: str | None,
    acks: bool,
) -> None:
    if attempts is not None and on != KERNEL:
        raise AckclockError(f"--attempts {attempts}: add --on kernel")
    if acks and output is None:
        raise AckclockError("--acks: add an output directory (-o DIR)")
    for option, given in (("--acks", acks), (f"--attempts {attempts}", attempts is not None)):
        if given and seeds is not None:
            raise AckclockError(f"{option}: takes one run; leave out --seeds {seeds}")
    if seeds is not None and seed is not None:
        raise AckclockError(f"--seed {seed} and --seeds {seeds}: give one of the two")


def _packets(file: Path | None, at: str | None, snaplen: int | None, on: str) -> "Pcapng | None":
    """What `--pcapng` and its options ask for."""
    from ackclock.results.pcapng import SNAPLEN, Pcapng  # noqa: PLC0415 (slow to import)

    if file is None:
        if at is not None or snaplen is not None:
            option = f"--snaplen {snaplen}" if at is None else f"--pcapng-at {at}"
            raise AckclockError(f"{option}: add --pcapng FILE")
        return None
    if on != SIM:
        raise AckclockError(f"--pcapng {file}: only in the simulator; leave out --on {on}")
    return Pcapng(file, at or "sender", SNAPLEN if snaplen is None else snaplen)


def _short(
    settings: list[str],
    rtt: str | None,
    seed: int | None,
    seeds: str | None,
    algorithms: list[str],
) -> list[str]:
    """The settings that have options of their own; refused if `--set` has them, too."""
    from ackclock.scenario.settings import key_of  # noqa: PLC0415 (slow to import)

    options = {"rtt": ("--rtt", rtt), "seed": ("--seed", seed)}
    if seeds is not None:
        options["seed"] = ("--seeds", seeds)
    if algorithms:
        options["flow.algorithm"] = ("--algorithm", algorithms[0])
    for setting in settings:
        option, value = options.get(re.sub(r"\.\d+\.", ".", key_of(setting)), ("", None))
        if value is not None:
            raise AckclockError(f"--set {setting} and {option} {value}: give one of the two")
    if not all(each.strip() for each in algorithms):
        raise AckclockError(f'--algorithm "": write {ALGORITHM}')
    return [f"rtt={rtt}"] * (rtt is not None) + [f"seed={seed}"] * (seed is not None)


def _read(paths: list[Path]) -> dict[str, "Scenario"]:
    """The scenarios of these files, by the names of the files without their ending."""
    read = {}
    for path in paths:
        name = "stdin" if str(path) == "-" else path.stem
        if name in read:
            raise AckclockError(f"{path}: two scenarios are called {name}; rename one of the files")
        read[name] = read_one(path)
    return read


def read_one(path: Path) -> "Scenario":
    """The scenario of a file; of standard input, if it is called "-"."""
    from ackclock import Scenario  # noqa: PLC0415 (slow to import)

    if str(path) == "-":
        return Scenario.from_text(sys.stdin.buffer.read(), source="stdin")
    return Scenario.from_toml(path)


def changed(
    scenario: "Scenario", settings: list[str], algorithms: list[str] | tuple[()]
) -> "Scenario":
    """The scenario with the settings of the command line."""
    every: tuple[Flow | Session, ...] = (*scenario.flows, *scenario.sessions)
    for setting in settings:
        if setting.partition("=")[0].strip() == "rtt" and all(each.rtt for each in every):
            raise AckclockError(
                f"{setting}: every flow has an rtt of its own; write --set flow.{setting}"
            )
    scenario = scenario.assign(*settings)
    flows = sum(flow.count for flow in scenario.flows)
    if algorithms and not flows:
        raise AckclockError(
            f"--algorithm {algorithms[0]}: the scenario has no [[flow]]; "
            f"write --set session.algorithm={algorithms[0]}"
        )
    if (given := len(algorithms)) > 1 and given != flows:
        fix = f"flows; give it once, for every flow, or {flows} times"
        if flows == 1:
            fix = f"flow; give it once in each of {given} runs, or write --set flow.count={given}"
        raise AckclockError(f"--algorithm is given {given} times, the scenario has {flows} {fix}")
    if len(algorithms) == 1:
        return scenario.assign(f"flow.algorithm={algorithms[0]}")
    return scenario.assign(
        *(f"flow.{number}.algorithm={each}" for number, each in enumerate(algorithms, 1))
    )


def _one(
    name: str,
    scenario: "Scenario",
    host: "Linux | None",
    attempts: int | None,
    acks: bool,
    files: tuple["Pcapng | None", Path | None],
    directory: Directory | None,
) -> dict[str, Any]:
    """Runs a scenario, writes it to the directory, if any, and sums it up."""
    from ackclock.hosts import streamed  # noqa: PLC0415 (slow to import)
    from ackclock.results import summary  # noqa: PLC0415 (slow to import)

    more: dict[str, Any] = {}
    packets, qlog = files
    on_acks = (lambda table: more.update(acks=table)) if acks else None

    def on_packets(table: "pl.DataFrame") -> None:
        from ackclock.results import tables  # noqa: PLC0415 (slow to import)

        more.update(acks=tables.acks_of(table))

    with ExitStack() as stack, progress_bar(name) as progress:
        if host:
            result = host.once(scenario, attempts=attempts, progress=progress, on_acks=on_acks)
        else:
            place = None if directory is None else directory.beside
            result = stack.enter_context(
                streamed.run(
                    scenario,
                    place=place,
                    progress=progress,
                    pcapng=packets,
                    on_packets=on_packets if acks else None,
                )
            )
        summed = summary.summarise(result)
        if directory is not None:
            directory.fill(lambda partial: result.write(partial, **more))
        if qlog is not None:
            result.to_qlog(qlog)
    return summed


def _over_seeds(
    name: str, scenario: "Scenario", seeds: str, executor: "Executor", directory: Directory | None
) -> dict[str, Any]:
    """Runs a scenario with several seeds; each run is kept in .ackclock."""
    from ackclock import run_all  # noqa: PLC0415 (slow to import)
    from ackclock.results import summary  # noqa: PLC0415 (slow to import)
    from ackclock.store.entries import write_json  # noqa: PLC0415 (slow to import)

    found = re.fullmatch(r"(?:(\d{1,18})-)?(\d{1,18})", seeds)
    first, last = (int(found[1] or 1), int(found[2])) if found else (1, 0)
    if not 0 < last - first + 1 <= MOST_SEEDS:
        raise AckclockError(
            f"--seeds {seeds}: write 20 for seeds 1 to 20, or 5-24; at most {MOST_SEEDS} seeds"
        )
    runs = [scenario.replace(seed=seed) for seed in range(first, last + 1)]
    with progress_bar(f"{name}, {len(runs)} runs") as progress:
        found_of = run_all(runs, summary.summarise, executor=executor, progress=progress)
        summed = summary.over_seeds(found_of)
    if directory is not None:
        value = summary.json_ready(summed)
        directory.fill(lambda to: write_json(value, to / "summary.json"))
    return summed


def _show(
    summed: dict[str, Any], name: str, scenario: "Scenario", *, titled: bool, as_json: bool
) -> None:
    from ackclock.results import summary  # noqa: PLC0415 (slow to import)
    from ackclock.scenario import installed  # noqa: PLC0415 (slow to import)

    if as_json:
        line = {"scenario": name} | summary.json_ready(summed)
        print_json(line)
        return
    if titled:
        out.print(styled(name, "bold"))
    for table in summary.tables(summed):
        print_table(table, keys=2)
    for line in summary.trace_lines(summed):
        out.print(styled(line, "dim"))
    out.print(summary.totals(summed))
    if tied := scenario.tied():
        out.print(
            f"{tied} flows start in the same nanosecond, so their order in the file counts; "
            "to spread their starts: --set flow.start_spread=1s"
        )
    if note := installed.note(scenario):
        out.print(note)
