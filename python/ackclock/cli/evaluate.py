"""The commands `ackclock evaluate` and `ackclock attack`."""

import shlex
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ackclock import AckclockError
from ackclock.base import units
from ackclock.base.directory import Directory
from ackclock.base.interrupts import is_interrupt
from ackclock.cli.console import (
    RESUMES,
    SCENARIOS,
    SIM,
    Jobs,
    On,
    Output,
    Shared,
    app,
    err,
    executor,
    in_words,
    linux_of,
    one_line_errors,
    out,
    print_json,
    print_report,
    progress_bar,
    say_shard,
    showing,
)

if TYPE_CHECKING:
    from ackclock.questions.card import Question
    from ackclock.questions.held_out import Gap
    from ackclock.scorecard import checks
    from ackclock.scorecard.attack import Found
    from ackclock.scorecard.evaluated import Evaluated


@app.command("evaluate", rich_help_panel=SCENARIOS)
def evaluate_command(
    algorithm: Annotated[
        str,
        typer.Argument(help="A C file, or NAME[@PRESET][:PARAMETER=VALUE,…].", metavar="ALGORITHM"),
    ],
    against: Annotated[
        str,
        typer.Option(help="Compare with these, one after the other in its place.", metavar="NAMES"),
    ] = "cubic,reno",
    rows: Annotated[
        str | None,
        typer.Option(
            help="Only these rows, like R3,R7 (with R7b); links: four links.", metavar="ROWS"
        ),
    ] = None,
    check: Annotated[
        Path | None,
        typer.Option(
            help="Exit with 1 if a number breaks a threshold of this TOML file.", metavar="FILE"
        ),
    ] = None,
    quick: Annotated[
        bool,
        typer.Option(
            "--quick", help="Run few points: half a minute instead of 10 minutes on 2 cores."
        ),
    ] = False,
    held_out: Annotated[
        int | None,
        typer.Option(
            help="Ask the same on links that this seed draws, and tell the gap.",
            metavar="SEED",
            min=0,
        ),
    ] = None,
    nonce: Annotated[
        int | None,
        typer.Option(
            help="The runs' seeds follow it; default: a number drawn once, and printed.",
            metavar="N",
            min=0,
        ),
    ] = None,
    budget: Annotated[
        str | None,
        typer.Option(help="End after this time with what there is, like 30s.", metavar="TIME"),
    ] = None,
    on: On = SIM,
    as_json: Annotated[bool, typer.Option("--json", help="Print the card as JSON.")] = False,
    drawn: Annotated[
        bool, typer.Option("--page/--no-page", help="Draw the page of the card (default: yes).")
    ] = True,
    as_draft: Annotated[
        bool,
        typer.Option(
            "--as-draft", help="Write an appendix for a draft (kramdown-rfc), and its archive."
        ),
    ] = False,
    output: Output = None,
    *,
    shared: Shared,
) -> None:
    """Ask of an algorithm what RFC 9743 asks; print a scorecard.

    Examples:
        ackclock evaluate my_cc.c --quick
        ackclock evaluate my_cc.c --against cubic,reno,bbr -o out/my_cc
        ackclock evaluate my_cc.c --rows R3,R7
        ackclock evaluate my_cc.c --rows links --json --no-page
        ackclock evaluate my_cc.c --quick --held-out 7 --budget 60s
        ackclock evaluate my_cc.c --as-draft
        ackclock evaluate my_cc.c --check thresholds.toml
        ackclock evaluate my_cc.c --quick --rows R3 --on kernel

    Each row is a criterion of RFC 9743 (BCP 133). Every number stands beside those of the others in
    the same runs. The RFC sets no thresholds, and the card none: "better" and "worse" compare, and
    "unsafe" names what nobody should deploy. The output directory (default: out/evaluate-NAME) has
    a page with a figure for each row, card.json, rows.parquet and the scenario of each number.
    docs/evaluate.md says what each row measures, and docs/ci.md how to use --check.

    With --on kernel each row has a second line, from real TCP in real time: one run at a time,
    unless --jobs says otherwise. Choose few rows: a run takes 70 s.
    """
    from ackclock.hosts.work import quiet  # noqa: PLC0415 (slow to import)
    from ackclock.scenario.scenario import name_in  # noqa: PLC0415
    from ackclock.scorecard import data, run  # noqa: PLC0415 (slow to import)
    from ackclock.scorecard.evaluated import Request  # noqa: PLC0415

    started_s = time.monotonic()
    with one_line_errors(RESUMES):
        path = output or Path("out") / f"evaluate-{Path(name_in(algorithm)).stem}"
        asked = run.chosen(rows)
        others = [each.strip() for each in against.split(",") if each.strip() != algorithm]
        request = Request(algorithm, asked, others, quick, held_out, _seconds(budget), nonce)
        linux, jobs = linux_of(on, shared.jobs, shared.on_ray), shared.jobs
        real_time = linux is not None and linux.real_time
        work = replace(shared, jobs=0 if real_time else jobs).work(
            not_with="" if on == SIM else f"--on {on}",
            unused={"-o": output, "--check": check, "--json": as_json},
        )
        if shared.shard:
            with showing(work, "evaluating") as working:
                run.fill(request, working)
            say_shard(work)
            return
        thresholds = _thresholds(check, asked, others)
        with _errors_for_ci(path, thresholds):
            keys = {"--rows": rows, "--held-out": held_out, "--on": on if linux else None}

            def say(number: int, seconds: float) -> None:
                if number:
                    left = f": {in_words(seconds / (jobs or 1))} in real time"
                    err.print(f"{number} runs on the {on}{left if real_time else ''}")

            with Directory(path) as directory:
                with showing(replace(work, on_runs=quiet), "evaluating") as working:
                    evaluated = run.evaluate(request, working, on=linux, on_linux=say)
                found = _judged(thresholds, evaluated)
                keys = {"--against": against, **keys, "--nonce": evaluated.nonce}
                command = _command(algorithm, keys, quick)

                def fill(partial: Path) -> None:
                    _write(evaluated, partial, command, drawn, as_draft)
                    if thresholds:
                        from ackclock.scorecard import checks  # noqa: PLC0415 (slow to import)

                        checks.write(found, partial)

                directory.fill(fill)
        tell = err.print if as_json else out.print
        if as_json:
            print_json(data.as_json(evaluated))
        else:
            _print(evaluated, path)
        took = in_words(time.monotonic() - started_s)
        tell(f"{evaluated.totals} This command took {took}. Its seeds: --nonce {evaluated.nonce}")
        tell(f"page: {(path / 'index.html').absolute()}" if drawn else f"written to {path}")
        tell(data.headline(evaluated))
        if thresholds:
            _say_broken(found, path, tell)
    if evaluated.failed:
        raise typer.Exit(1)


def _command(algorithm: str, options: Mapping[str, object], quick: bool) -> str:
    """What repeats a card."""
    said = [f" {key} {value}" for key, value in options.items() if value is not None]
    return f"ackclock evaluate {shlex.quote(algorithm)}{''.join(said)}{' --quick' * quick}"


def _write(
    evaluated: "Evaluated", directory: Path, command: str, drawn: bool, as_draft: bool
) -> None:
    from ackclock.scorecard import data  # noqa: PLC0415 (slow to import)

    if drawn:
        from ackclock.scorecard import page  # noqa: PLC0415 (slow to import)

        with progress_bar("drawing") as progress:
            page.write(evaluated, directory, command=command, progress=progress)
    else:
        data.write(evaluated, directory, command=command)
    if as_draft:
        from ackclock.scorecard import draft  # noqa: PLC0415 (slow to import)

        draft.write(evaluated, directory, command=command)


def _seconds(budget: str | None) -> float | None:
    """Raises `AckclockError` that says what to write."""
    if budget is None:
        return None
    try:
        return units.duration_ns(budget) / 1e9
    except ValueError as error:
        raise AckclockError(f'--budget: "{budget}": {error}') from None


def _thresholds(
    file: Path | None, asked: "Sequence[Question]", others: Sequence[str]
) -> "list[checks.Threshold]":
    if file is None:
        return []
    from ackclock.scorecard import checks  # noqa: PLC0415 (slow to import)

    return checks.read(file, asked, others)


def _judged(thresholds: "list[checks.Threshold]", evaluated: "Evaluated") -> "list[checks.Checked]":
    if not thresholds:
        return []
    from ackclock.scorecard import checks  # noqa: PLC0415 (slow to import)

    return checks.judge(thresholds, evaluated)


def _say_broken(found: "list[checks.Checked]", path: Path, say: Callable[[str], None]) -> None:
    """Says which thresholds are broken; ends with 1 if one is."""
    from ackclock.scorecard import checks  # noqa: PLC0415 (slow to import)

    broken = [each for each in found if each.broken]
    for each in broken:
        say(f"broken: {each.says}")
    checks.tell_github(path)
    if broken:
        raise typer.Exit(1)
    say(f"{len(found)} threshold{'s' * (len(found) > 1)}, none broken")


@contextmanager
def _errors_for_ci(path: Path, thresholds: "list[checks.Threshold]") -> Iterator[None]:
    """With thresholds errors replace the files of an earlier card, which CI would read.

    They do so before the work begins: a command that is killed writes nothing more.
    """
    if not thresholds:
        yield
        return
    from ackclock.scorecard.checks import tell_github, write_error  # noqa: PLC0415 (slow to import)

    def write(error: str) -> None:
        with Directory(path) as directory:
            directory.fill(lambda partial: write_error(error, thresholds, partial))

    try:
        write("the command ended before its card was made: it was killed, or crashed")
        yield
    except BaseException as error:
        if is_interrupt(error) or isinstance(error, AckclockError):
            with suppress(AckclockError):
                write("interrupted" if is_interrupt(error) else str(error))
                tell_github(path)
        raise


def _print(evaluated: "Evaluated", path: Path) -> None:
    from ackclock.scorecard import data, page  # noqa: PLC0415 (slow to import)

    shown = page.table(evaluated)
    mine, *others = evaluated.names.values()
    print_report(f"Scorecard of {mine}", shown, less=["question", *reversed(others)])
    if any(cell.startswith("(") for row in shown.rows for cell in row):
        out.print("A mark in brackets comes from another number of its row.")
    for asked in evaluated.asked:
        for why in asked.answers.unsafe(evaluated.algorithm):
            out.print(f"unsafe, {asked.question.row}: {why}")
    if failed := evaluated.failed:  # the table of a narrow screen has no room for it
        out.print(f"failed, {failed.row}: {failed.problem}")
        if failed.scenario:
            out.print(f"the run in which it happens: ackclock run {path / data.FAILED}")
    if evaluated.stopped:
        out.print(f"not finished: {evaluated.stopped}")
    if evaluated.held_out:
        _say_recognised(evaluated.gaps)


def _say_recognised(gaps: "list[Gap]") -> None:
    found = [each for each in gaps if each.counts]
    for gap in found:
        out.print(
            f"recognised, {gap.row}: {gap.name}: against {gap.other} "
            f"{gap.fixed.mean:+.3g} on the card's links, {gap.held_out.mean:+.3g} on others"
        )
    if not any(each.tells for each in gaps):
        out.print("held out: one run of each number cannot tell; ask rows, like --rows R3 --quick")
    elif not found:
        out.print("held out: no number is better on the card's links than on others")


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
    tries: Annotated[
        int, typer.Option(help="Try this many scenarios.", min=16, max=100_000)
    ] = 1000,
    seed: Annotated[
        int | None, typer.Option(help="Seed of the search and its runs (default: drawn).", min=0)
    ] = None,
    check: Annotated[
        Path | None,
        typer.Option(
            help="Search nothing: exit with 1 if the damage of the attack in this directory has "
            "not fallen to half.",
            metavar="DIR",
        ),
    ] = None,
    on: On = SIM,
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
    simplifies what it finds. The same seed finds the same; attack.json has it. With --on what was
    found runs there, too. The output directory (default: out/attack-NAME) has attack.toml, for
    `ackclock run`, attack.json, for --check, and a picture.
    """
    from ackclock.questions.trouble import VARIED  # noqa: PLC0415 (slow to import)
    from ackclock.scenario.scenario import name_in  # noqa: PLC0415
    from ackclock.scorecard import attack, drawing  # noqa: PLC0415

    with one_line_errors():
        if check is not None:
            _check_attack(algorithm, check, jobs)
            return
        path = output or Path("out") / f"attack-{Path(name_in(algorithm)).stem}"
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
                    on_found=lambda each: err.print(
                        f"{each.tried} scenarios: {_damage(each)} ({_runs(each)})"
                    ),
                )
            if linux is not None and not found.crash:
                with progress_bar(f"on {on}"):
                    there = attack.checked(found, linux, [0])
                out.print(f"on {on}: {_damage(there)}")
            directory.fill(lambda partial: drawing.write(found, partial))
        out.print(f"{attack.HURTS.get(hurt, hurt)}: {_damage(found)}")
        if not found.crash and found.against and found.excess <= 0:
            out.print(
                f"nothing found: in the worst of {found.tried} scenarios it is no worse than "
                f"{found.against}; try more with --tries, or another --hurt"
            )
            return
        out.print(f"repeat it: ackclock run {path / attack.SCENARIO}\n\n{found.scenario.to_toml()}")


def _runs(found: "Found") -> str:
    return "one seed" if found.seeds == 1 else f"simplified, mean of {found.seeds} seeds"


def _names(text: str) -> list[str]:
    return [each.strip() for each in text.split(",")]


def _damage(found: "Found") -> str:
    if found.crash:
        return found.crash
    other = ""
    if found.damage_of_other is not None:
        other = f", {found.against} in its place {found.damage_of_other:.3g}"
    return f"{found.damage:.3g}{other}"


def _check_attack(algorithm: str, directory: Path, jobs: int) -> None:
    """Ends with 1 if the damage is still more than half of what it was."""
    from ackclock.scorecard import attack  # noqa: PLC0415 (slow to import)

    before = attack.from_json(directory / attack.DATA)
    if before.hurt not in attack.HURTS:
        raise AckclockError(f"--check {directory}: was found with a function; search again")
    now = attack.checked(replace(before, algorithm=algorithm), executor(jobs, None))
    most = before.threshold
    says = f"{now.hurt}: {_damage(now)}; at most {most:.3g} more is kept"
    if now.excess > most:
        out.print(f"broken: {says}")
        raise typer.Exit(1)
    out.print(f"kept: {says}")
