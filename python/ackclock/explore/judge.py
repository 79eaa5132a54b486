"""What the page asks of an algorithm beside a run: a quick scorecard, or an attack."""

import shlex
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from ackclock import AckclockError, Scenario
from ackclock.base.directory import Directory
from ackclock.scenario.scenario import name_in

Progress = Callable[[float], None]
#: Scenarios that an attack tries: minutes.
TRIES = 1000


def subject(scenario: Scenario) -> str:
    """The algorithm that is judged; raises `AckclockError` where there is none."""
    if not scenario.flows:
        raise AckclockError("flow: its algorithm is judged; add one")
    return scenario.flows[0].algorithm


def judge(what: str, scenario: Scenario, folder: Path, progress: Progress) -> dict[str, Any]:
    """Judges the algorithm of the first flow, and keeps what was found in the folder.

    Returns what the page is told: a line, where it is kept, and the scenario of an attack.
    SIGTERM ends it, with the process that runs a C file.
    """
    algorithm = subject(scenario)
    name = Path(name_in(algorithm)).stem
    with _ends_at_sigterm(), Directory(folder / f"{what}-{name}") as directory:
        told = WHAT[what](algorithm, directory, progress)
    return {"kept": f"{what}-{name}", **told}


def _scorecard(algorithm: str, directory: Directory, progress: Progress) -> dict[str, Any]:
    from ackclock.hosts.work import Work  # noqa: PLC0415 (slow to import)
    from ackclock.scorecard import data, page, run  # noqa: PLC0415 (slow to import)
    from ackclock.scorecard.evaluated import Request  # noqa: PLC0415 (slow to import)

    work = Work(progress=lambda done: progress(0.8 * done))
    found = run.evaluate(Request(algorithm, quick=True), work)
    command = f"ackclock evaluate {shlex.quote(Path(algorithm).name)} --quick"
    directory.fill(
        lambda to: page.write(
            found, to, command=command, progress=lambda done: progress(0.8 + 0.2 * done)
        )
    )
    return {"says": data.headline(found)}


def _attack(algorithm: str, directory: Directory, progress: Progress) -> dict[str, Any]:
    from ackclock.scorecard import attack, drawing  # noqa: PLC0415 (slow to import)

    found = attack.attack(algorithm, most=TRIES, progress=progress)
    directory.fill(lambda to: drawing.write(found, to))
    mine, other = (100 * (each or 0) for each in (found.damage, found.damage_of_other))
    harm = f"harm to other flows {mine:.0f} %; {found.against} in its place {other:.0f} %"
    says = found.crash or harm
    return {"says": says, "toml": found.scenario.to_toml()}


#: What can be asked.
WHAT = {"scorecard": _scorecard, "attack": _attack}


@contextmanager
def _ends_at_sigterm() -> Iterator[None]:
    def end(*_: object) -> None:
        raise SystemExit

    before = signal.signal(signal.SIGTERM, end)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
