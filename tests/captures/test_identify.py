"""`ackclock identify`: an algorithm is known again by what it would have sent."""

import json
import random
import secrets
import shutil
import subprocess

import pytest

from ackclock import Scenario, _core, run
from ackclock.captures.identify import identify
from ackclock.captures.record import records
from ackclock.results.pcapng import Pcapng

pytestmark = pytest.mark.skipif(not shutil.which("tshark"), reason="no tshark (package tshark)")

ALL = [each["name"] for each in _core.algorithms()]


def drawn():
    """Random numbers of this run, by a seed that is printed if the test fails."""
    seed = secrets.randbits(32)
    print("seed", seed)
    return random.Random(seed)


def captured(tmp_path, flow, at="sender", **more):
    path = tmp_path / "run.pcapng"
    link = {"rate": "10mbit", "buffer": "1bdp"} | more.pop("bottleneck", {})
    given = {"duration": "15s", "rtt": "40ms", "bottleneck": link, "flow": [flow]} | more
    run(Scenario.parse(given), pcapng=Pcapng(path, at=at))
    return path


def on_drawn_path(rng, algorithm, tmp_path):
    link = {"rate": f"{rng.uniform(3, 30):.3f}mbit", "buffer": f"{rng.uniform(0.4, 2):.2f}bdp"}
    more = {"rtt": f"{rng.uniform(8, 90):.2f}ms", "seed": rng.randrange(10**6), "bottleneck": link}
    path = captured(tmp_path, {"algorithm": algorithm}, **more)
    (record,) = records(path)
    return identify(record)


@pytest.mark.slow
def test_some_are_known_again(tmp_path):
    rng = drawn()
    for algorithm in rng.sample(ALL, 4):
        found = on_drawn_path(rng, algorithm, tmp_path)
        assert algorithm in found.ties, (algorithm, found.why)
        assert found.verdict == " or ".join(found.ties)


@pytest.mark.slow
def test_all_are_known_again(tmp_path):
    rng = drawn()
    wrong = []
    for algorithm in ALL:
        found = on_drawn_path(rng, algorithm, tmp_path)
        if algorithm not in found.ties:
            wrong.append((algorithm, found.verdict, found.why))
    assert wrong == []


def test_losses_and_old_hosts(tmp_path):
    """Random losses; Linux 2.6; the initial window is read from the capture."""
    rng = drawn()
    for algorithm, flow, more in (
        ("cubic", {}, {"bottleneck": {"loss": 0.003}}),
        ("reno", {"initcwnd": 32}, {}),
        ("bic", {}, {"profile": "linux-2.6.18"}),
        ("htcp", {}, {"pacing": True}),
    ):
        seed = rng.randrange(10**6)
        path = captured(tmp_path, {"algorithm": algorithm} | flow, seed=seed, **more)
        found = identify(records(path)[0])
        assert algorithm in found.ties, (algorithm, seed, found.why)


def test_another_is_none_of_these(tmp_path):
    """CUBIC with other parameters is none of the candidates; named, it is known."""
    spec = "cubic:beta=0.5,C=2"
    (record,) = records(captured(tmp_path, {"algorithm": spec}))
    assert identify(record).verdict == "none of these"
    assert identify(record, [spec, "cubic", "reno"]).ties == [spec]


def test_what_a_window_does_not_limit_tells_nothing(tmp_path):
    flow = {"algorithm": "cubic", "receive_window": "20kB"}
    (record,) = records(captured(tmp_path, flow))
    found = identify(record)
    assert found.verdict == "cannot tell"
    assert "receiver" in found.why
    (record,) = records(captured(tmp_path, {"algorithm": "cubic"}, at="receiver"))
    assert identify(record).verdict == "cannot tell"


def test_a_capture_that_begins_in_the_middle(tmp_path):
    """What was sent before it is no packet of it, also if it is sent again."""
    whole = captured(tmp_path, {"algorithm": "binomial_sqrt"}, duration="25s")
    for first in ("4.00", "7.50"):
        cut = tmp_path / "cut.pcapng"
        only = f"frame.time_relative >= {first} && frame.time_relative <= 22"
        words = ["tshark", "-r", whole, "-Y", only, "-w", cut]
        subprocess.run(words, check=True, capture_output=True)
        (record,) = records(cut)
        assert not record.has_start
        found = identify(record)
        assert found.verdict == "cannot tell" or "binomial_sqrt" in found.ties


def test_the_command(tmp_path, ackclock):
    path = captured(tmp_path, {"algorithm": "vegas"}, duration="8s")
    assert "vegas" in ackclock("identify", path).stdout
    (told,) = json.loads(ackclock("identify", path, "--json").stdout)
    assert told["verdict"] == "vegas"
    assert told["decided_by"] == sorted(told["decided_by"])
    assert told["candidates"][0]["missed"] == 0
    done = ackclock("identify", path, "--algorithm", "cubix")
    assert done.returncode == 1
    assert "did you mean `cubic`" in done.stderr
