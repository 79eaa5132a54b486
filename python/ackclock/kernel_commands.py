"""The commands of `ackclock` for the real kernel: deploy, status, undeploy, doctor."""

import json
import sys
from contextlib import nullcontext
from pathlib import Path
from typing import Annotated

import typer
from rich.text import Text

from ackclock import Scenario
from ackclock.console import (
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
from ackclock.kernel_part import kernel_part
from ackclock.runs import output_directory

#: What an interrupt may leave, and what tells.
INTERRUPTED = "`ackclock status` tells what is registered"


PANEL = "The kernel"


@app.command("deploy", rich_help_panel=PANEL)
def deploy_command(
    algorithm: Annotated[str, typer.Argument(help="name[@preset][:param=value,…] or a C file.")],
    param: Annotated[
        list[str] | None, typer.Option(help="param=value; may be given several times.")
    ] = None,
    name: Annotated[
        str | None, typer.Option(help="Its name in the kernel, at most 15 characters.")
    ] = None,
    default: Annotated[
        bool, typer.Option("--default", help="Make it what new sockets begin with.")
    ] = False,
) -> None:
    """Register an algorithm in the running kernel, for every program of this machine.

    It stays until `ackclock undeploy` or the next boot. Where Linux has an algorithm of that name
    it becomes ac_NAME. Needs root.

    **Examples**

    - `ackclock deploy cubic_fc`

    - `ackclock deploy cubic_fc --param f_max=0.6 --name fc06 --default`

    - `ackclock deploy ./my_cc.c && iperf3 -c host -C my_cc`
    """
    with one_line_errors(INTERRUPTED):
        spec = algorithm
        if param:
            has_settings = "=" in algorithm.rsplit("/", 1)[-1]
            spec += ("," if has_settings else ":") + ",".join(param)
        done = kernel_part().deploy(spec, name, default)
        if done["mounted"]:
            out.print("mounted the BPF file system at /sys/fs/bpf, which keeps it")
        out.print(f"{done['name']} is registered: {done['spec']}")
        if default:
            out.print(f"it is the default of new sockets here (was {done['replaced']})")
        out.print(f"`ackclock undeploy {done['name']}` ends it")


@app.command("undeploy", rich_help_panel=PANEL)
def undeploy_command(
    name: Annotated[str, typer.Argument(help="Its name in the kernel.")],
) -> None:
    """Unregister what `ackclock deploy` registered, and restore the default that it replaced.

    **Example**

    - `ackclock undeploy cubic_fc`
    """
    with one_line_errors(INTERRUPTED):
        done = kernel_part().undeploy(name)
        out.print(f"{name} is no longer registered")
        for namespace, default in done["restored"]:
            out.print(f"namespace {namespace}: the default is {default} again")
        for namespace, sockets in done["live"]:
            out.print(f"namespace {namespace}: {sockets} sockets keep it until they close")


@app.command("status", rich_help_panel=PANEL)
def status_command(
    as_json: Annotated[bool, typer.Option("--json", help="For programs.")] = False,
) -> None:
    """List the algorithms in BPF that the kernel has, who uses them, and their parameters.

    **Examples**

    - `ackclock status`

    - `ackclock status --json`
    """
    with one_line_errors():
        registered = kernel_part().status()
        if as_json:
            sys.stdout.write(json.dumps(registered, indent=2, ensure_ascii=False) + "\n")
            return
        if not registered:
            out.print("no algorithm in BPF is registered; `ackclock deploy NAME` does it")
            return
        table = new_table("name", "algorithm", "kept by", "sockets", "default in")
        for each in registered:
            keepers = (["deploy"] if each["pinned"] else []) + each["held_by"]
            sockets = [f"{count} ({namespace})" for namespace, count in each["sockets"]]
            table.add_row(
                each["name"],
                each["spec"] or "not ours",
                ", ".join(keepers) or "—",
                ", ".join(sockets) or "0",
                ", ".join(each["default_in"]) or "—",
            )
        print_table(table)
        for each in registered:
            if each["parameters"]:
                out.print(Text(each["name"], style="bold"), f" {each['parameters']}")


@app.command("doctor", rich_help_panel=PANEL)
def doctor_command() -> None:
    """Say what this machine can do with the real kernel, and how to get the rest.

    Exit code 1 if algorithms cannot be registered. The simulator needs none of it.

    **Example**

    - `ackclock doctor`
    """
    with one_line_errors():
        findings = kernel_part().doctor()
        table = new_table("", "what", "found", "how to get it")
        for each in findings:
            mark = Text("yes", style="green") if each["ok"] else Text("no", style="red")
            table.add_row(mark, each["what"], each["found"], "" if each["ok"] else each["fix"])
        print_table(table)
    if any(each["needed"] and not each["ok"] for each in findings):
        raise typer.Exit(1)


@app.command("compare", rich_help_panel=PANEL)
def compare_command(
    scenario: Annotated[Path, typer.Argument(help="A scenario file (TOML).")],
    output: Output = None,
    repeats: Annotated[int, typer.Option(min=1, max=1000, help="Runs on each side.")] = 1,
) -> None:
    """Run a scenario in the simulator and on this machine's TCP stack, and show the distances.

    **Examples**

    - `ackclock compare examples/two_cubic.toml`

    - `ackclock compare examples/two_cubic.toml -o out/compare --repeats 5`

    Of the second half of the runs. Two flows are chaotic and one run of them is noise: judge them
    by 10 repeats or more. The output directory has one page (`index.html`) with the
    congestion windows, throughput and queue of both.
    """
    from ackclock.compare import compare  # noqa: PLC0415 (only this command draws)

    with one_line_errors():
        chosen = Scenario.from_toml(scenario)
        with nullcontext() if output is None else output_directory(output) as partial:
            with progress_bar(scenario.name) as progress:
                both = compare(chosen, repeats=repeats, progress=progress, on_invalid=say_invalid)
            if partial is not None:
                both.write(partial)
        print_report("", both.table())
        for line in both.certificates():
            out.print(line)
        if output is not None:
            out.print(f"written to {output}; look at {(output / 'index.html').absolute()}")
