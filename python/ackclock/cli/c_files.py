"""The commands of `ackclock` that import or judge files: import-tc, packetdrill, check, conform."""

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from ackclock.base.directory import replaced
from ackclock.base.errors import AckclockError
from ackclock.cli.console import (
    ALGORITHM,
    SCENARIOS,
    SIM,
    On,
    app,
    complete_algorithm,
    linux_of,
    new_table,
    one_line_errors,
    out,
    print_json,
    print_table,
    styled,
)


@app.command("import-tc", rich_help_panel=SCENARIOS)
def import_tc_command(
    commands: Annotated[
        list[str],
        typer.Argument(
            help="Commands in quotes (tc, mm-…, ipfw, dnctl, comcast, pumba), files of them, or -.",
            metavar="COMMAND|FILE|-…",
        ),
    ],
    output: Annotated[
        Path | None,
        typer.Option("-o", "--output", help="Write this file (default: print it).", metavar="FILE"),
    ] = None,
) -> None:
    """Make a scenario of the links that commands of tc, mahimahi or dummynet make.

    Examples:
        ackclock import-tc "tc qdisc add dev eth0 root netem delay 50ms 10ms loss 1%" -o s.toml
        ackclock import-tc "mm-delay 20 mm-link up.trace down.trace --uplink-queue=infinite"
        ackclock import-tc "ipfw pipe 1 config bw 10Mbit/s delay 50ms plr 0.01 queue 50KBytes"
        tc qdisc show | ackclock import-tc - -o s.toml

    netem, tbf, htb, fq_codel, codel, fq, pie, dualpi2, fifos and cake's rate; nearest ones of sfq
    and hfsc; pipes of ipfw and dnctl; comcast, pumba and sqm's configuration. Variables of the
    shell that the commands set are read. What has no
    counterpart is one message. Data goes the way of the commands.
    """
    from ackclock.imports import text  # noqa: PLC0415 (only this command needs it)

    with one_line_errors():
        read = [text.read(each) for each in commands]
        made = text.scenario(read, output.parent if output else Path())
        if output is None:
            out.print(made, end="", markup=False, highlight=False, soft_wrap=True)
            return
        with replaced(output) as partial:
            partial.write_text(made, encoding="utf-8")
        out.print(f"written: {output}")


@app.command("packetdrill", rich_help_panel=SCENARIOS)
def packetdrill_command(
    files: Annotated[list[Path], typer.Argument(help="Scripts.", metavar="FILE.pkt…")],
) -> None:
    """Run scripts of packetdrill on the simulator's TCP, which is Linux's 6.12.

    Examples:
        ackclock packetdrill slow-start.pkt
        ackclock packetdrill tcp/sack/*.pkt

    Of a script that fails, what it expects stands beside what was seen; an arrow marks the first
    difference. What a script needs and the simulator has not is one line. The exit code is 0 if
    all pass. docs/packet-scripts.md tells what can be said.
    """
    from ackclock.imports import packetdrill  # noqa: PLC0415 (only this command needs it)

    passed = 0
    with one_line_errors():
        for file in files:
            try:
                passes, listing = packetdrill.run(file)
                told = f"passed {file}" if passes else f"failed {file}\n{listing}"
                passed += passes
            except AckclockError as error:
                told = f"not said {error}"
            out.print(told.rstrip(), markup=False, highlight=False, soft_wrap=True)
    if passed < len(files):
        raise typer.Exit(1)


@app.command("check", rich_help_panel=SCENARIOS)
def check_command(
    algorithm: Annotated[
        str,
        typer.Argument(
            help="A C file, with settings or not, or a scenario (.toml).",
            metavar="FILE[:PARAMETER=VALUE,…]",
        ),
    ],
    on: On = SIM,
    fuzz: Annotated[
        bool,
        typer.Option("--fuzz", help="Call the hooks of a C file as a kernel may, for 3 s at most."),
    ] = False,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print JSON; docs/kernel-module.md describes the keys.")
    ] = False,
) -> None:
    """Tell what the simulator, BPF and the kernel would refuse in a file; run nothing.

    Examples:
        ackclock check my_cc.c
        sudo ackclock check my_cc.c
        ackclock check my_cc.c --fuzz
        ackclock check my_cc.c --json
        ackclock check scenario.toml --on vlinux

    Each problem is a line, FILE:LINE, what it is and the fix; the exit code is then 1. Without root
    the kernel's verifier is not asked: what the code for BPF tells is told. Nothing is registered.
    --fuzz draws sockets, clocks, samples and orders of hooks that Linux can give, and finds what C
    leaves undefined, a window of 0, a threshold below 2 and an endless loop.
    Of a scenario it does what `run` does first, on one host: the simulator, or that of --on.
    """
    from ackclock.cli.run import check, read_one  # noqa: PLC0415 (a command of its own)
    from ackclock.studies import checking  # noqa: PLC0415 (only this command needs it)

    with one_line_errors():
        if algorithm.endswith(".toml"):
            check(read_one(Path(algorithm)), linux_of(on))
            out.print(f"{algorithm}: --on {on} takes it")
            return
        if on != SIM:
            raise AckclockError(f"--on {on}: a C file is checked for all; leave it out")
        checked = checking.check(algorithm, fuzz=fuzz)
        if as_json:
            print_json(asdict(checked), indent=2)
        else:
            for problem in checked.problems:
                out.print(problem)
            for warning in checked.warnings:
                out.print(f"warning: {warning}")
            for host, says in checked.hosts.items():
                out.print(f"{host}: {says}")
    if checked.problems:
        raise typer.Exit(1)


@app.command("conform", rich_help_panel=SCENARIOS)
def conform_command(
    algorithm: Annotated[
        str,
        typer.Argument(
            help=f"{ALGORITHM}. Or a qlog of a run on the path of the case.",
            metavar="ALGORITHM|QLOG",
            autocompletion=complete_algorithm,
        ),
    ],
    cases: Annotated[
        list[Path],
        typer.Argument(help="Scenarios with [[assert]] tables (TOML).", metavar="CASE…"),
    ],
    on: On = SIM,
    stack: Annotated[
        str,
        typer.Option(help="Flow 1 is this QUIC stack, quinn or noq, with an algorithm of its own."),
    ] = "",
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON: a list of asserts.")] = False,
) -> None:
    """Tell which assertions of some cases an algorithm meets.

    Examples:
        ackclock conform my_cc.c examples/conformance/rfc9438/*.toml
        ackclock conform kernel:cubic examples/conformance/rfc9438/*.toml --on vlinux
        ackclock conform cubic examples/conformance/rfc9438/*.toml --stack quinn
        ackclock conform my.qlog examples/conformance/rfc9438/decrease.toml

    A case is a scenario whose flow 1 gets the algorithm. Each [[assert]] has the keys says, value
    (SQL over the tables of docs/tables.md), between = [low, high] and rule, the sentence of the
    standard, which a failure shows. Exit code 1 if one fails, or none can be tested.
    """
    from ackclock.results.qlog_reader import SUFFIXES as QLOGS  # noqa: PLC0415 (slow to import)
    from ackclock.studies.conform import Case  # noqa: PLC0415 (only this command needs it)

    with one_line_errors():
        read = [Case.read(path) for path in cases]
        host = linux_of(on)
        if Path(algorithm).suffix in QLOGS:
            if on != SIM or stack:
                given = f"--stack {stack}" if stack else f"--on {on}"
                raise AckclockError(f"{given}: {algorithm} is of a run that is over; leave it out")
            if len(read) > 1:
                raise AckclockError(f"{algorithm}: a log is of one path; give one case")
            verdicts = read[0].judge_qlog(Path(algorithm))
        else:
            verdicts = [each for case in read for each in case.judge(algorithm, host, stack)]
        if as_json:
            print_json([asdict(each) | {"holds": each.holds} for each in verdicts], indent=2)
        else:
            table = new_table("case", "what it says", "value", "between", "")
            for each in verdicts:
                found = "–" if each.value is None else f"{each.value:.5g}"
                mark = styled("holds", "green") if each.holds else styled("fails", "red")
                if each.lacks:
                    mark = styled(f"not testable here: {each.lacks}", "yellow")
                between = f"{each.low:g} … {each.high:g}"
                says = f"{each.says}\n{each.rule}" if each.holds is False else each.says
                table.add_row(each.case, says.rstrip(), found, between, mark)
            print_table(table, keys=2)
        answers = [each.holds for each in verdicts]
        tested = len(answers) - answers.count(None)
        if not as_json:
            rest = f"; {answers.count(None)} not testable here" if tested < len(answers) else ""
            out.print(f"{answers.count(True)} of {tested} assertions hold{rest}")
    if not tested or False in answers:
        raise typer.Exit(1)
