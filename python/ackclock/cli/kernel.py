"""The commands of `ackclock` for Linux: deploy, status, undeploy, doctor, linux."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext, suppress
from pathlib import Path
from typing import Annotated

import typer

from ackclock import AckclockError, _core
from ackclock.base.chosen import NAME
from ackclock.base.directory import Directory
from ackclock.base.kernel_part import kernel_part
from ackclock.cli.console import (
    ALGORITHM,
    RESUMES,
    VLINUX,
    Commands,
    OfFlows,
    Output,
    Settings,
    app,
    beside,
    err,
    new_table,
    one_line_errors,
    out,
    print_json,
    print_report,
    print_table,
    progress_bar,
    styled,
)

#: What an interrupt may leave, and what shows it.
INTERRUPTED = "`ackclock status` shows what is registered"

PANEL = "The kernel"

linux = Commands(help="Linux in virtual time: build it, find where a run on it differs.")
app.add_typer(linux, name="linux", rich_help_panel=PANEL)


def _tell(text: str) -> None:
    """Says at once what a command waits for."""
    err.print(text)


def _warn(spec: str) -> None:
    """Says what the simulator and Linux do not both get of a C file."""
    from ackclock.studies.targets import lines_of_one  # noqa: PLC0415 (slow to import)

    for each in lines_of_one(spec):
        err.print(f"warning: {each}")


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
        typer.Option(hidden=True, metavar="PARAMETER=VALUE"),  # of the version before
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
        ackclock deploy cubic_fc:f_max=0.6 --name fc06 --default
        ackclock deploy ./my_cc.c && iperf3 -c host -C my_cc
    """
    with one_line_errors(INTERRUPTED):
        spec = algorithm
        if param:
            has_settings = "=" in algorithm.rsplit("/", 1)[-1]
            spec += ("," if has_settings else ":") + ",".join(param)
        kernel = kernel_part()
        _warn(spec)
        done = kernel.deploy(spec, name, default, _tell)
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
            with suppress(AckclockError):  # its file is gone, or another now
                _warn(each["spec"] or "")
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
        out.print(f"engine: {NAME}")
        findings = kernel_part().doctor()
        table = new_table("", "what", "found", "how to get it")
        for each in findings:
            mark = styled("yes", "green") if each["ok"] else styled("no", "red")
            table.add_row(mark, each["what"], each["found"], "" if each["ok"] else each["fix"])
        print_table(table)
        out.print(f"a C file's process is {_core.confinement()}")
        from ackclock.scenario.table import refused  # noqa: PLC0415 (slow to import)

        out.print(f"--on kernel refuses {', '.join(refused('kernel'))} (docs/testbed.md)")
    if any(each["needed"] and not each["ok"] for each in findings):
        raise typer.Exit(1)


@linux.command("build")
def build_command(
    series: Annotated[
        str | None,
        typer.Option(help="Which Linux, of Debian's backports [default: 6.12].", metavar="SERIES"),
    ] = None,
    source: Annotated[
        Path | None,
        typer.Option(help="A source of your own, such as linux-7.3.tar.xz.", metavar="FILE"),
    ] = None,
    hz: Annotated[
        int, typer.Option(help="Its timer ticks per second, as of a scenario.", min=24, max=10000)
    ] = 1000,
) -> None:
    """Build the virtual Linux from Debian's kernel source: once, 5 minutes of a processor.

    Examples:
        ackclock linux build && ackclock run examples/two_cubic.toml --on vlinux
        ackclock linux build --series 7.3 && ackclock run examples/two_cubic.toml --on vlinux:7.3

    As root on Debian it installs the packages that it needs, but no kernel of backports. What it
    builds is kept in ~/.cache/ackclock/vlinux, 400 MB (docs/vlinux.md).
    """
    from ackclock.hosts.vlinux import build  # noqa: PLC0415 (only this command needs it)
    from ackclock.hosts.vlinux.sources import SERIES  # noqa: PLC0415

    with one_line_errors():
        if series and source:
            raise AckclockError(f"--series {series} and --source {source}: give one of the two")
        with progress_bar("building Linux") as progress:
            built = build.build(
                progress, say=err.print, series=series or SERIES, source=source, hz=hz
            )
        out.print(f"built: {built.directory}")


@linux.command("diverge")
def diverge_command(
    scenario: Annotated[Path, typer.Argument(help="A scenario file (TOML).", metavar="SCENARIO")],
    output: Output = None,
    settings: Settings = None,
    algorithm: OfFlows = None,
    on: Annotated[
        list[str] | None,
        typer.Option(parser=beside, metavar="vlinux[:SERIES]", help="Which. [default: vlinux]"),
    ] = None,
    beside_it: Annotated[
        str | None,
        typer.Option("--beside", parser=beside, metavar="vlinux", help="In the simulator's place."),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one line of JSON.")] = False,
) -> None:
    """Find the first packet that differs between the simulator and Linux in virtual time.

    Examples:
        ackclock linux diverge examples/two_cubic.toml --on vlinux
        ackclock linux diverge examples/two_cubic.toml --on vlinux:7.3 --beside vlinux -o out

    Shows what each sender knew then: its window, what is in flight, its timer and the SACK
    blocks. Both run without jitter. The output directory gets the packets of both sides
    (`packets.parquet`).
    """
    from ackclock.cli.run import changed, read_one  # noqa: PLC0415 (a command of its own)
    from ackclock.studies.diverge import diverge  # noqa: PLC0415 (only this command needs it)

    with one_line_errors():
        sides = [*dict.fromkeys(on or [VLINUX])]
        if len(sides) > 1:
            raise AckclockError(f"--on {' --on '.join(sides)}: a packet differs from one; give one")
        chosen = changed(read_one(scenario), settings or [], algorithm or [])
        with nullcontext() if output is None else Directory(output) as directory:
            with progress_bar(scenario.name) as progress:
                found = diverge(chosen, on=sides[0], beside=beside_it, progress=progress)
            if directory is not None:
                directory.fill(found.write)
        if as_json:
            print_json(found.json())
            return
        out.print(found.title())
        for table in (found.before(), found.table()):
            if table is not None:
                print_report("", table)
        for line in found.notes():
            out.print(line)
        if output is not None:
            out.print(f"written to {output}")


@linux.command("bisect")
def bisect_command(
    scenario: Annotated[Path, typer.Argument(help="A scenario file (TOML).", metavar="SCENARIO")],
    good: Annotated[str, typer.Option(help="A series, or a commit of the tree.", metavar="A")],
    bad: Annotated[str, typer.Option(help="A later one, whose run differs.", metavar="B")],
    tree: Annotated[
        Path | None,
        typer.Option(help="A git tree of Linux: search its commits.", metavar="DIR"),
    ] = None,
    settings: Settings = None,
    algorithm: OfFlows = None,
) -> None:
    """Find the first kernel whose run of a scenario differs, and the packet, in virtual time.

    Examples:
        ackclock linux bisect examples/two_cubic.toml --algorithm kernel:cubic --good 6.12 --bad 7.3
        ackclock linux bisect s.toml --algorithm kernel:cubic --tree ~/linux --good v6.12 --bad HEAD

    One run of each kernel is proof. `kernel:NAME` is the kernel's own algorithm; other names are
    files of ackclock. Of a tree it builds each kernel with what the last one left, in
    ~/.cache/ackclock/vlinux/trees, and writes nothing in the tree. Finished runs are kept in
    .ackclock: type the same again to resume.
    """
    from ackclock.cli.run import changed, read_one  # noqa: PLC0415 (a command of its own)
    from ackclock.studies.bisect import Commits, Series, bisect  # noqa: PLC0415 (slow to import)

    with one_line_errors(RESUMES):
        chosen = changed(read_one(scenario), settings or [], algorithm or [])
        kernels = Series(good, bad) if tree is None else Commits(tree, good, bad)
        with progress_bar("building") as progress:
            found = bisect(chosen, kernels, progress=progress, say=err.print)
        if found.first is None:
            out.print(f"the tables of {kernels.names[-1]} are those of {kernels.names[0]}")
            return
        print_report("", found.table())
        out.print(f"the last that is equal: {found.before}")
        out.print(f"the first that differs: {found.first}")
        told = "none: their packets are equal"
        if found.packet is not None:
            told = found.packet.line("before", "first")
        out.print(f"the first packet that differs: {told}")


@linux.command("list")
def list_command() -> None:
    """List the virtual Linuxes that are built.

    Example:
        ackclock linux list
    """
    from ackclock.hosts.vlinux import build  # noqa: PLC0415 (only this command needs it)
    from ackclock.hosts.vlinux.sources import SERIES  # noqa: PLC0415

    with one_line_errors():
        every = build.every()
        if not every:
            out.print("none is built; type: ackclock linux build")
            return
        table = new_table("--on", "Linux", "hz", "directory")
        for built in every:
            name = VLINUX if built.series == SERIES else f"{VLINUX}:{built.series}"
            table.add_row(name, built.release, str(built.hz), str(built.directory))
        print_table(table)
