"""A server of the Model Context Protocol: a program lists, runs, evaluates and attacks algorithms.

`ackclock mcp` starts it; `pip install "ackclock[programs]"` installs the protocol. An algorithm is
a name, or the text of a C file, which runs in a process of its own.
"""

import json
import re
import tempfile
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from functools import wraps
from pathlib import Path
from typing import Any

from ackclock import _core
from ackclock.base.budget import Budget, LateError
from ackclock.base.errors import AckclockError
from ackclock.hosts.contained import contained
from ackclock.programs.packages import missing
from ackclock.results import summary
from ackclock.results.result import run as simulate
from ackclock.scenario.scenario import Scenario, name_in
from ackclock.scorecard import attack as attacks
from ackclock.scorecard import data
from ackclock.scorecard.evaluated import VERSION

#: What a text is compiled as, unless it names itself.
UNNAMED = "candidate"
#: Where the text of a C file stands in a scenario.
PLACE = "./candidate.c"


def list_algorithms() -> list[dict[str, Any]]:
    """The congestion controls that are built in: name, summary, params (with ranges), presets."""
    told = ("name", "summary", "params", "presets")
    return [{key: each[key] for key in told} for each in _core.algorithms()]


def run(scenario: str, c_file: str | None = None, budget_s: float = 60) -> dict[str, Any]:
    """Simulates a scenario, the text of a TOML file; returns what each flow and queue got.

    A flow with algorithm = "./candidate.c" runs `c_file`, the text of a C file. A run that takes
    longer than `budget_s` is an error.
    """
    with _file(c_file) as directory:
        given = Scenario.from_text(scenario, source="scenario", directory=directory)
        _refuse_files(given, directory / PLACE)
        budget = Budget.of(budget_s)
        tell = budget.within(lambda _: None)
        try:
            (found,) = budget.told(contained(budget.ending(_summed), given, progress=tell))
        except LateError as late:
            raise AckclockError(f"{late}; give more, or a shorter duration") from None
        return _without_path({"version": VERSION} | found, str(directory / UNNAMED) + ".c")


def _refuse_files(scenario: Scenario, but: Path) -> None:
    """What is not in the call is not read: errors would quote it. Raises `AckclockError`."""
    every: tuple[Any, ...] = (*scenario.flows, *scenario.sessions)
    for name in (name_in(each.algorithm) for each in every):
        if Path(name).resolve() != but.resolve():
            _refuse_file(name)
    for link in filter(None, (*scenario.links, scenario.bottleneck)):
        for key in ("trace", "timeline"):
            if getattr(link, key) is not None:
                raise AckclockError(f"{key}: no file of this machine is read; write rate, rate_at")


def _refuse_file(name: str) -> None:
    if name.endswith(".c"):
        raise AckclockError(f"{name}: give the text of the C file, not its name")


def _summed(
    scenario: Scenario, progress: Callable[[float], None]
) -> Generator[dict[str, Any], None, None]:
    yield summary.json_ready(summary.summarise(simulate(scenario, progress=progress)))


def evaluate(
    algorithm: str,
    rows: str = "links",
    against: str = "cubic,reno",
    quick: bool = True,
    held_out: int | None = None,
    nonce: int | None = None,
    budget_s: float = 60,
) -> dict[str, Any]:
    """Asks of an algorithm, a name or the text of a C file, what RFC 9743 asks: its scorecard.

    `rows`: "links" for four links in a quarter of a second, or rows like "R3,R7", or "all".
    "failed" has stage, row, problem and scenario if it does not compile, crashes or is unsafe.
    `held_out`: a seed that draws other links. `nonce`: repeats a card that had it.
    """
    others = [each.strip() for each in against.split(",")]
    for each in others:
        _refuse_file(name_in(each))
    with _algorithm(algorithm) as spec:
        card = data.evaluate(
            spec,
            rows=None if rows == "all" else rows,
            against=others,
            quick=quick,
            held_out=held_out,
            nonce=nonce,
            budget_s=budget_s,
        )
    return _without_path(card, spec)


def attack(
    algorithm: str,
    hurt: str = "R7",
    against: str = "reno",
    tries: int = 200,
    seed: int | None = None,
    budget_s: float = 60,
) -> dict[str, Any]:
    """Searches the scenario in which an algorithm, a name or the text of a C file, does worst.

    `hurt`: R3 (its share), R4 (losses), R5 (fairness), R7 (harm to others) or R8 (delay).
    `against`: count how much worse it is than this in its place; "none": the damage itself.
    After `budget_s` it returns the worst so far, of one run, and "stopped" says so.
    """
    so_far: list[attacks.Found] = []
    _refuse_file(name_in(against))
    with _algorithm(algorithm) as spec:
        other = None if against == "none" else against
        stopped = None
        try:
            found = attacks.attack(
                spec,
                hurt,
                against=other,
                most=tries,
                seed=seed,
                budget_s=budget_s,
                on_found=so_far.append,
            )
        except LateError as error:
            if not so_far:
                raise AckclockError(f"{error} before a scenario was tried; give more") from None
            found, stopped = so_far[-1], str(error)
        said = attacks.as_json(found) | {"scenario": found.scenario.to_toml(), "stopped": stopped}
    return _without_path(said, spec)


def _without_path(said: dict[str, Any], spec: str) -> dict[str, Any]:
    """A text has no path of this machine."""
    if not spec.endswith(".c"):
        return said
    text = json.dumps(said).replace(f"{Path(spec).parent}/", "./")
    clean: dict[str, Any] = json.loads(text)
    return clean


@contextmanager
def _algorithm(given: str) -> Iterator[str]:
    """A name as it is; the path of a text."""
    if not given.strip():
        raise AckclockError(
            f'algorithm = "{given}": give a name, like "cubic", or a C file\'s text'
        )
    if "\n" not in given:
        _refuse_file(name_in(given))
        yield given
        return
    named = re.search(r"CC_ALGORITHM\(\s*(\w+)", given)
    with _directory() as directory:
        path = directory / f"{named[1] if named else UNNAMED}.c"
        path.write_text(given, encoding="utf-8")
        yield str(path)


@contextmanager
def _file(text: str | None) -> Iterator[Path]:
    with _directory() as directory:
        if text is not None:
            (directory / PLACE).write_text(text, encoding="utf-8")
        yield directory


@contextmanager
def _directory() -> Iterator[Path]:
    """For a text. Errors tell no path of this machine either."""
    with tempfile.TemporaryDirectory(prefix="ackclock-") as directory:
        try:
            yield Path(directory)
        except AckclockError as error:
            raise AckclockError(str(error).replace(f"{directory}/", "./")) from None


def serve() -> None:
    """Speaks the protocol on standard input and output. Raises `AckclockError` without `mcp`."""
    made().run("stdio")


def made() -> Any:
    """The server, an `MCPServer`. Raises `AckclockError` if the package mcp is not installed."""
    try:
        from mcp.server import MCPServer  # noqa: PLC0415 (optional, and slow to import)
        from mcp.server.mcpserver.exceptions import ToolError  # noqa: PLC0415
    except ImportError:
        raise missing("mcp") from None

    def told(tool: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(tool)
        def called(*given: Any, **named: Any) -> Any:
            try:
                return tool(*given, **named)
            except AckclockError as error:  # the client hears the words of a ToolError only
                raise ToolError(str(error)) from None

        return called

    server = MCPServer("ackclock", version=_core.engine_version())
    for each in (list_algorithms, run, evaluate, attack):
        server.tool()(told(each))
    return server
