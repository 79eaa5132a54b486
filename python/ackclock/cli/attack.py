"""The command `ackclock attack`."""

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ackclock import AckclockError
from ackclock.base.directory import Directory
from ackclock.cli.console import (
    SCENARIOS,
    Host,
    Jobs,
    Output,
    app,
    err,
    executor,
    linux_of,
    one_line_errors,
    out,
    progress_bar,
)

if TYPE_CHECKING:
    from ackclock.scorecard.attack import Found


@app.command("attack", rich_help_panel=SCENARIOS)
def attack_command(
    algorithm: Annotated[
        str,
        typer.Argument(help="A C file, or NAME[@PRESET][:PARAMETER=VALUE,…].", metavar="ALGORITHM"),
    ],
    hurt: Annotated[
        str,
        typer.Option(
            help="What to make worse: R3 (its share), R4 (losses), R5 (fairness), R7 (harm to "
            "others), R8 (delay), or FILE.py:FUNCTION of a Result.",
            metavar="WHAT",
        ),
    ] = "R7",
    against: Annotated[
        str,
        typer.Option(
            help="Count how much worse it is than this in its place; none: the damage itself.",
            metavar="NAME",
        ),
    ] = "reno",
    vary: Annotated[
        str | None,
        typer.Option(
            help="Vary only these, of link, queue, loss, reorder, outage, cross, pulses, pauses, "
            "rtts.",
            metavar="PARTS",
        ),
    ] = None,
    tries: Annotated[int, typer.Option(help="Try this many scenarios.", min=16)] = 1000,
    seed: Annotated[int, typer.Option(help="Seed of the search.", min=1)] = 1,
    check: Annotated[
        Path | None,
        typer.Option(
            help="Search nothing: exit with 1 if the damage of the attack in this directory has "
            "not fallen to half.",
            metavar="DIR",
        ),
    ] = None,
    on: Annotated[
        Host, typer.Option(help="Judge what was found also on Linux in virtual time (vlinux).")
    ] = Host.SIM,
    output: Output = None,
    jobs: Jobs = 0,
) -> None:
    """Search the scenario in which an algorithm does worst, or hurts others most.

    Examples:
        ackclock attack my_cc.c --hurt R7
        ackclock attack my_cc.c --hurt R3 --against cubic --vary link,loss
        ackclock attack reno --hurt R3 --against none --vary pulses
        ackclock attack my_cc.c --check out/attack-my_cc

    The search varies link, queue, losses, reordering, an outage, flows of CUBIC, Reno and BBR,
    pulses of traffic without congestion control, pauses of the application, and a second RTT. It
    simplifies what it finds. The same seed finds the same. The output directory (default:
    out/attack-NAME) has attack.toml, for `ackclock run`, and attack.json, for --check.
    """
    from ackclock.questions.trouble import VARIED  # noqa: PLC0415 (slow to import)
    from ackclock.scorecard import attack  # noqa: PLC0415

    with one_line_errors():
        if check is not None:
            _check(algorithm, check, jobs)
            return
        name = Path(algorithm.partition("@")[0].partition(":")[0]).stem
        path = output or Path("out") / f"attack-{name}"
        what = hurt if hurt in attack.HURTS else attack.function(hurt)
        linux = linux_of(on, jobs)
        with Directory(path) as directory:
            with progress_bar("attacking") as progress:
                found = attack.attack(
                    algorithm,
                    what,
                    against=None if against == "none" else against,
                    vary=tuple(VARIED) if vary is None else _names(vary),
                    seed=seed,
                    most=tries,
                    executor=executor(jobs, None),
                    progress=progress,
                    on_found=lambda each: err.print(f"{each.tried} scenarios: {_says(each)}"),
                )
            if linux is not None and not found.crash:
                with progress_bar(f"on {on}"):
                    there = attack.checked(found, linux, attack.SEEDS[:1])
                out.print(f"on {on}: {_says(there)}")
            directory.fill(lambda partial: attack.write(found, partial))
        out.print(f"{attack.HURTS.get(hurt, hurt)}: {_says(found)}")
        out.print(f"repeat it: ackclock run {path / attack.SCENARIO}\n\n{found.scenario.to_toml()}")


def _names(text: str) -> list[str]:
    return [each.strip() for each in text.split(",")]


def _says(found: "Found") -> str:
    if found.crash:
        return found.crash
    other = ""
    if found.damage_of_other is not None:
        other = f", {found.against} in its place {found.damage_of_other:.3g}"
    return f"{found.damage:.3g}{other}"


def _check(algorithm: str, directory: Path, jobs: int) -> None:
    """Ends with 1 if the damage is still more than half of what it was."""
    from ackclock.scorecard import attack  # noqa: PLC0415 (slow to import)

    before = attack.from_json(directory / attack.DATA)
    if before.hurt not in attack.HURTS:
        raise AckclockError(f"--check {directory}: was found with a function; search again")
    now = attack.checked(replace(before, algorithm=algorithm), executor(jobs, None))
    most = before.threshold
    says = f"{now.hurt}: {_says(now)}; at most {most:.3g} more is kept"
    if now.excess > most:
        out.print(f"broken: {says}")
        raise typer.Exit(1)
    out.print(f"kept: {says}")
