"""One check: what `Scenario.check` passes runs everywhere, and all refuse in the same words."""

import random
import re
from collections import Counter
from contextlib import suppress
from functools import partial
from pathlib import Path

import pytest
import typer

from ackclock import AckclockError, Scenario, _core, run, run_all
from ackclock.base.errors import AlgorithmError
from ackclock.cli.run import run_command
from ackclock.explore.runs import Runs, Source
from ackclock.scenario.table import tables
from ackclock.sweeps.metrics import Reducers
from ackclock.sweeps.sweep import Sweep

#: What people write.
USUAL = {
    "duration": ["100ms", "1s", "60s"],
    "rtt": ["200us", "1ms", "10ms", "40ms"],
    "rate": ["1mbit", "10mbit", "100mbit", "1gbit"],
    "buffer": ["1bdp", "10packets", "100packets", "20ms", "100kB"],
    "algorithm": ["reno", "cubic", "bbr", "dctcp", "prague", "vegas", "cubic:beta=0.7"],
    "burst": ["0B", "10kB", "1MB"],
    "start": ["0s", "1ms", "5ms"],
    "start_spread": ["0s", "1ms"],
    "stop": ["10ms", "1s"],
    "time": ["0s", "1ms", "10ms", "50ms"],
    "size": ["1B", "10kB", "2MB"],
    "every": ["1ms", "20ms"],
    "mss": [536, 1448, 8948],
    "sample_interval": ["0s", "1ms", "100ms"],
    "count": [1, 2],
    "route": [[1], [2], [1, 2], [2, 1]],
    "back": [[1], [2], [2, 1]],
    "trace": ["good.trace"],
    "timeline": ["good.csv"],
    "drop_packets": [[], [1, 3, 70]],
    "command": ["iperf3 -s"],
    "environment": ["", "A=1"],
    "files": ["", "good.csv"],
}
#: What nobody should.
ODD = [
    None, True, 0, -1, 1.5, 2**70, float("nan"), float("inf"), "", "1", "-1ms", "1e999s", "\ud800",
    "9" * 99 + "s", "two\nlines", "\0", [], {}, [1], [3, 3], {"kind": 1}, "rno", "cubic@nope",
    "cubic:beta=7", "sub/nothing.c", "broken.c", "kernel:cubic", "kernel:", "cubic beta=0.8",
    "nothing.trace", "good.csv", "rates.trace", "empty.trace", ".",
]  # fmt: skip
FILES = {
    "good.trace": "1\n2\n5\n900\n2000\n",
    "good.csv": "time_ms,delay_ms,loss\n0,5,0\n400,1,0.1\n",
    "rates.trace": "10\n20\n30\n",
    "empty.trace": "",
    "broken.c": "int main(",
}


class Draw:
    """A random scenario. Most keys have usual values, some one at a bound, and few an odd one."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.odd = self.random.choice([0, 0, 0, 0.05])
        self.share = self.random.choice([0.02, 0.05, 0.1])

    def scenario(self):
        fields = self.table("Scenario")
        for name, table, numbers in (
            ("link", "Bottleneck", [0, 0, 0, 1, 2, 3]),
            ("flow", "Flow", [1, 1, 2, 3]),
            ("session", "Session", [0, 0, 1, 2]),
            ("change", "Change", [0] * 15 + [1]),
            ("program", "Program", [0] * 15 + [1]),
        ):
            many = [self.table(table) for _ in range(self.random.choice(numbers))]
            fields |= {name: many} if many else {}
        if "link" not in fields or self.random.random() < self.odd:
            fields["bottleneck"] = self.table("Bottleneck")
        return fields

    def table(self, of):
        fields = {}
        for key in tables()[of]["keys"]:
            name = key["key"]
            if name in ("kind", "bottleneck", "links", "flows", "sessions", "changes", "programs"):
                fields |= {"kind": key["default"]} if name == "kind" else {}
            elif key["required"] or name in ("rate", "rtt", "size") or self.chance(self.share):
                odd = self.chance(0.05 if name == "algorithm" else self.odd)
                fields[name] = self.random.choice(ODD) if odd else self.value(key)
        if "trace" in fields:
            fields.pop("rate", None)
        if of == "Flow" and not self.chance(self.odd):
            if fields.get("stack") == "udp":
                fields |= {"algorithm": "none"}
            else:
                fields.pop("rate", None)
        return fields

    def chance(self, probability):
        return self.random.random() < probability

    def value(self, key):  # noqa: PLR0911 (a list of cases)
        name = key["key"]
        usual = (
            1
            if name
            in ("algorithm", "route", "back", "drop_packets", "command", "environment", "files")
            else 0.98
            if name == "count"
            else 0.7
        )
        if name in USUAL and self.chance(usual):
            return self.random.choice(USUAL[name])
        match key:
            case {"many": {"table": table}}:
                return [self.table(table) for _ in range(self.random.choice([0, 1, 2]))]
            case {"table": table}:
                return self.table(table)
            case {"kinds": kinds}:
                return self.table(self.random.choice([*kinds.values()]))
            case {"choices": choices}:
                return self.random.choice(choices)
            case {"plain": "bool"}:
                return self.chance(0.5)
        return self.bound(key)

    def bound(self, key):
        kind, low, high = key["kind"], key["low"], key["high"]
        if kind in ("File", "Trace"):
            return "good.trace" if kind == "Trace" else "good.csv"
        past = [low - 1, high + 1] if self.chance(self.odd) else []
        number = self.random.choice(past or [low, high, low + 1, high // 2])
        if kind == "Room":
            return f"{number}{self.random.choice(['packets', 'B', 'ns'])}"
        if kind in ("Time", "Rate", "Size", "Payload"):
            unit = {"Time": "ns", "Rate": "bit"}.get(kind, "B")
            return f"{number}{unit}"
        parts = {"Thousandths": 10**3, "Millionths": 10**6, "Billionths": 10**9}.get(kind, 1)
        return number if parts == 1 else number / parts


class AcceptedError(Exception):
    """The engine got the scenario."""


@pytest.fixture
def files(tmp_path, monkeypatch):
    """What some of the scenarios name, in the current directory."""
    for name, text in FILES.items():
        (tmp_path / name).write_text(text)
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def no_engine(monkeypatch):
    """Nothing is simulated."""

    def engine(*_, **__):
        raise AcceptedError

    monkeypatch.setattr(_core, "run_many", engine)


def refusal(call):
    """What is said, or nothing if the engine got the scenario."""
    try:
        call()
    except AcceptedError:
        return ""
    except AckclockError as error:
        return str(error)
    return ""


def by_command(scenario, capsys):
    """As `ackclock run` says it, of the scenario in a file; None if its text is no UTF-8."""
    try:
        Path("scenario.toml").write_text(scenario.to_toml(), encoding="utf-8")
    except UnicodeEncodeError:
        return None
    with suppress(AcceptedError, typer.Exit):
        run_command([Path("scenario.toml")])
    return capsys.readouterr().err


def by_page(scenario):
    """As the live page says it of what stands in its editor; None of a file that it has not."""
    try:
        Runs(Path("page")).check(
            Source(scenario.to_toml(), {name: FILES[name] for name in ("good.trace", "good.csv")})
        )
    except AckclockError as error:
        return (
            None
            if re.search("this page|the page draws|half a character", str(error))
            else str(error)
        )
    return ""


def check_alike(numbers, capsys):
    """Of the random scenarios of these numbers: how many every surface takes, and every refuses."""
    seen = Counter()
    for number in numbers:
        try:
            scenario = Scenario.parse(Draw(number).scenario())
        except AckclockError:
            seen["no scenario"] += 1
            continue
        said = refusal(scenario.check)
        assert "\n" not in said.partition("does not compile")[0], number
        assert refusal(partial(run, scenario)) == said, number
        assert refusal(partial(run_all, [scenario], len, cache="kept")) == said, number
        swept = refusal(Sweep(scenario, {"hz": [scenario.hz]}, metrics=Reducers.parse([len])).check)
        assert swept.removeprefix(f"at hz = {scenario.hz}: ") == said, number
        line = f"error: scenario.toml: {said}\n" if said else ""
        assert by_command(scenario, capsys) in (line, None), number
        assert by_page(scenario) in (said, None), number
        seen["refused" if said else "taken"] += 1
    return seen


@pytest.mark.usefixtures("files", "no_engine")
def test_what_a_check_passes_every_surface_takes(capsys):
    seen = check_alike(range(300), capsys)
    assert min(seen.values()) > 10, seen


@pytest.mark.slow
@pytest.mark.usefixtures("files", "no_engine")
def test_what_a_check_passes_every_surface_takes_of_thousands(capsys):
    seen = check_alike(range(1_000, 5_000), capsys)
    assert min(seen.values()) > 240, seen


@pytest.mark.usefixtures("files")
def test_what_a_check_passes_is_simulated():
    """Only what an algorithm does in the run may end it."""
    ran = 0
    for number in range(20_000, 20_450):
        fields = Draw(number).scenario() | {"duration": "10ms", "sample_interval": "1ms"}
        try:
            scenario = Scenario.parse(fields)
            scenario.check()
        except AckclockError:
            continue
        with suppress(AlgorithmError):
            run(scenario)
        ran += 1
    assert ran > 80
