"""The commands of `ackclock` for Linux: deploy, status, undeploy, doctor, compare, vlinux."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from ackclock import AckclockError
from ackclock.base.directory import Directory
from ackclock.base.kernel_part import kernel_part
from ackclock.cli.console import (
    ALGORITHM,
    Commands,
    OfFlows,
    Output,
    app,
    err,
    new_table,
    one_line_errors,
    out,
    print_json,
    print_report,
    print_table,
    progress_bar,
    say_invalid,
    styled,
)

#: What an interrupt may leave, and what shows it.
INTERRUPTED = "`ackclock status` shows what is registered"

PANEL = "The kernel"


class Beside(StrEnum):
    """What `compare` puts beside the simulator."""

    KERNEL = "kernel"
    VLINUX = "vlinux"


def _tell(text: str) -> None:
    """Says at once what a command waits for."""
    err.print(text)


@contextmanager
def _or_on_stderr(outcome: str) -> Iterator[None]:
    """Prints what was done on stderr where stdout does not take it."""
    try:
        yield
        sys.stdout.flush()
    except (OSError, SystemExit):  # rich makes a SystemExit of a broken pipe
        err.print(outcome)
        raise


@app.command("deploy", rich_help_panel=PANEL)
def deploy_command(
    algorithm: Annotated[str, typer.Argument(help=f"{ALGORITHM}.", metavar="ALGORITHM")],
    param: Annotated[
        list[str] | None,
        typer.Option(help="Set a parameter. Repeatable.", metavar="PARAMETER=VALUE"),
    ] = None,
    name: Annotated[
        str | None,
        typer.Option(
            help="Name in the kernel, at most 15 characters (default: the algorithm's name, "
            "ac_NAME where Linux has that name).",
            metavar="NAME",
        ),
    ] = None,
    default: Annotated[
        bool, typer.Option("--default", help="Make it the default of new sockets.")
    ] = False,
) -> None:
    """Register an algorithm in the running kernel, for every program of this machine.

    The algorithm stays registered until `ackclock undeploy` or the next boot. If the same
    algorithm is already deployed under that name, nothing changes. Needs root.

    Examples:
        ackclock deploy cubic_fc
        ackclock deploy cubic_fc --param f_max=0.6 --name fc06 --default
        ackclock deploy ./my_cc.c && iperf3 -c host -C my_cc
    """
    with one_line_errors(INTERRUPTED):
        spec = algorithm
        if param:
            has_settings = "=" in algorithm.rsplit("/", 1)[-1]
            spec += ("," if has_settings else ":") + ",".join(param)
        done = kernel_part().deploy(spec, name, default, _tell)
        already = "already " if done["already"] else ""
        outcome = f"{done['name']} is {already}registered: {done['spec']}"
        end = f"to end it: ackclock undeploy {done['name']}"
        with _or_on_stderr(f"{outcome}; {end}"):
            if done["mounted"]:
                out.print("mounted the BPF file system at /sys/fs/bpf (mode 0700)")
            out.print(outcome)
            if done["replaced"] == done["name"]:
                out.print("it already was the default of new sockets in this namespace")
            elif default:
                out.print(
                    "it is now the default of new sockets in this namespace "
                    f"(before: {done['replaced']})"
                )
            out.print(end)


@app.command("undeploy", rich_help_panel=PANEL)
def undeploy_command(
    names: Annotated[
        list[str] | None, typer.Argument(help="Names in the kernel.", metavar="NAME")
    ] = None,
    every: Annotated[
        bool, typer.Option("--all", help="Unregister everything that was deployed.")
    ] = False,
) -> None:
    """Unregister what `ackclock deploy` registered, and restore the default that it replaced.

    Examples:
        ackclock undeploy cubic_fc
        ackclock undeploy --all
    """
    with one_line_errors(INTERRUPTED):
        if every == bool(names):
            raise AckclockError(
                f"give the name {names[0]} or --all, not both"
                if names
                else "say what to undeploy: a name (`ackclock status` lists them) or --all"
            )
        kernel = kernel_part()
        chosen = names or kernel.deployed(_tell)
        if not chosen:
            out.print("nothing is deployed")
        for each in dict.fromkeys(chosen):
            done = kernel.undeploy(each, _tell)
            outcome = f"{each} is no longer registered"
            with _or_on_stderr(outcome):
                out.print(outcome)
                for namespace, default in done["restored"]:
                    where = "this namespace" if namespace == "here" else f"namespace {namespace}"
                    out.print(f"default congestion control of {where} restored to {default}")
                for namespace, sockets in done["live"]:
                    where = "this namespace" if namespace == "here" else f"namespace {namespace}"
                    count = "1 socket keeps" if sockets == 1 else f"{sockets} sockets keep"
                    out.print(f"{count} using it in {where} until closed")


@app.command("status", rich_help_panel=PANEL)
def status_command(
    as_json: Annotated[
        bool, typer.Option("--json", help="Print JSON; docs/kernel.md describes the keys.")
    ] = False,
) -> None:
    """List the BPF algorithms that the kernel has, their users and their parameters.

    Examples:
        ackclock status
        ackclock status --json
    """
    with one_line_errors():
        registered = kernel_part().status()
        if as_json:
            print_json(registered, indent=2)
            return
        if not registered:
            out.print("no BPF algorithm is registered; to register one: ackclock deploy NAME")
            return
        table = new_table("name", "algorithm", "kept by", "sockets", "default in")
        for each in registered:
            keepers = ["deploy"] if each["deployed"] else []
            keepers += [f"{holder['pid']} ({holder['command']})" for holder in each["held_by"]]
            sockets = [f"{used['count']} ({used['namespace']})" for used in each["sockets"]]
            defaults = [default["namespace"] for default in each["default_in"]]
            table.add_row(
                each["name"],
                each["spec"] or "of another program",
                ", ".join(keepers) or "—",
                ", ".join(sockets) or "0",
                ", ".join(defaults) or "—",
            )
        print_table(table)
        for each in registered:
            if each["parameters"]:
                settings = (f"{key}={value:g}" for key, value in each["parameters"].items())
                out.print(styled(each["name"], "bold"), " ".join(settings))


@app.command("doctor", rich_help_panel=PANEL)
def doctor_command() -> None:
    """Check what this machine can do with the real kernel, and say how to get the rest.

    The check of `deploy` is a rehearsal: the doctor registers an algorithm as `ackclock deploy`
    does and unregisters it. Exit code 1 if `ackclock deploy` would fail. The simulator needs
    none of this.

    Example:
        ackclock doctor
    """
    with one_line_errors():
        findings = kernel_part().doctor()
        table = new_table("", "what", "found", "how to get it")
        for each in findings:
            mark = styled("yes", "green") if each["ok"] else styled("no", "red")
            table.add_row(mark, each["what"], each["found"], "" if each["ok"] else each["fix"])
        print_table(table)
    if any(each["needed"] and not each["ok"] for each in findings):
        raise typer.Exit(1)


@app.command("compare", rich_help_panel=PANEL)
def compare_command(
    scenario: Annotated[Path, typer.Argument(help="A scenario file (TOML).", metavar="SCENARIO")],
    output: Output = None,
    algorithm: OfFlows = None,
    repeats: Annotated[int, typer.Option(min=1, max=1000, help="Number of runs on each side.")] = 1,
    on: Annotated[
        list[Beside] | None,
        typer.Option(
            help="Beside the simulator: this machine's TCP stack, Linux in virtual time "
            "(docs/vlinux.md), or both. Repeatable. [default: kernel]"
        ),
    ] = None,
) -> None:
    """Run a scenario in the simulator and on Linux, and show the differences.

    Examples:
        ackclock compare examples/two_cubic.toml
        ackclock compare examples/two_cubic.toml -o out/compare --repeats 5
        ackclock compare examples/two_cubic.toml --on vlinux --on kernel
        ackclock compare examples/two_cubic.toml --on vlinux --algorithm ./tcp_mine.c

    Compares the second half of each run. With two or more flows one run proves nothing: use
    `--repeats 10`. A difference beyond its bound is `open` where the runs of both sides
    overlap. The output directory gets one page (`index.html`) with the congestion
    windows, throughput and queue of both.
    """
    from ackclock import Scenario  # noqa: PLC0415 (slow to import)
    from ackclock.cli.run import changed  # noqa: PLC0415 (a command of its own)
    from ackclock.studies.compare import compare  # noqa: PLC0415 (only this command draws)

    with one_line_errors():
        sides = tuple(dict.fromkeys(map(str, on or [Beside.KERNEL])))
        chosen = changed(Scenario.from_toml(scenario), [], algorithm or [])
        with nullcontext() if output is None else Directory(output) as directory:
            with progress_bar(scenario.name) as progress:
                both = compare(
                    chosen, on=sides, repeats=repeats, progress=progress, on_invalid=say_invalid
                )
            if directory is not None:
                directory.fill(both.write)
        print_report("", both.table())
        for line in both.notes():
            out.print(line)
        if output is not None:
            out.print(f"written to {output}; look at {(output / 'index.html').absolute()}")


vlinux = Commands(help="Linux in virtual time: build it once, then run scenarios `--on vlinux`.")
app.add_typer(vlinux, name="vlinux", rich_help_panel=PANEL)


@vlinux.callback()
def _group() -> None:
    """Linux in virtual time: build it once, then run scenarios `--on vlinux`."""


@vlinux.command("build")
def build_command() -> None:
    """Build the virtual Linux from Debian's kernel source: once, 5 minutes of a processor.

    Example:
        ackclock vlinux build && ackclock run examples/two_cubic.toml --on vlinux

    As root on Debian it installs the packages that it needs. What it builds is kept in
    ~/.cache/ackclock/vlinux, 350 MB (docs/vlinux.md).
    """
    from ackclock.hosts.vlinux import build  # noqa: PLC0415 (only this command needs it)

    with one_line_errors():
        with progress_bar("building Linux") as progress:
            built = build.build(progress, say=err.print)
        out.print(f"built: {built.directory}")
