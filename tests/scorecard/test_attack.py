"""A search for the scenario in which an algorithm does worst."""

import json
import math
import subprocess
import sys
from functools import partial
from pathlib import Path

import pytest

import card_form
from ackclock import AckclockError, Scenario, run
from ackclock.questions.trouble import Trouble
from ackclock.results import metrics
from ackclock.scorecard import attack as module
from ackclock.scorecard import drawing

BAD = Path(__file__).parent
attack = partial(module.attack, seed=1)


def test_pulses_starve_reno():
    """Kuzmanovic, Knightly, "Low-Rate TCP-Targeted Denial of Service Attacks" (SIGCOMM 2003)."""
    found = attack("reno", "R3", against=None, vary=["pulses"], most=64)
    assert found.damage > 0.8
    assert found.trouble.pulses is not None
    assert found.trouble.pulse_bps < 0.9 * found.trouble.rate_bps
    used = metrics.throughput_bps(run(found.scenario), [10, 30])[0, 0]
    assert used < 0.3 * (found.trouble.rate_bps - found.trouble.pulse_bps)


def test_the_same_seed_finds_the_same():
    given = {"vary": ["link", "queue"], "most": 24}
    first, again = (attack("bic", "R4", **given) for _ in range(2))
    assert first == again
    assert attack("bic", "R4", seed=2, **given) != first


def test_bbr_takes_all_in_a_small_buffer():
    """Hock, Bless, Zitterbart, "Experimental Evaluation of BBR Congestion Control" (ICNP 2017)."""
    heard = []
    found = attack("bbr", vary=["link"], most=48, seed=2, on_found=heard.append)
    assert found.excess > 0.5
    assert found.trouble.buffer_bdp < 1
    assert [each.excess for each in heard[:-1]] == sorted(each.excess for each in heard[:-1])
    assert [each.seeds for each in heard] == [1] * (len(heard) - 1) + [3]


@pytest.mark.parametrize(
    ("file", "hurt", "vary", "most", "least"),
    [
        ("greedy_far.c", "R7", ["link"], 48, 0.2),
        ("after_idle.c", "R4", ["link", "pauses"], 64, 0.3),
        ("recognises.c", "R3", ["link"], 48, 0.5),
    ],
)
def test_planted_faults_are_found(file, hurt, vary, most, least):
    found = attack(str(BAD / file), hurt, vary=vary, most=most)
    assert found.excess > least
    if file == "after_idle.c":
        assert found.trouble.pauses is not None
    else:
        assert found.trouble.rtt_ms > 52


def test_a_crash_is_found():
    found = attack(str(BAD / "late_crash.c"), "R3", vary=["link"], most=64)
    assert "late_crash.c:15, function late_cong_avoid: divides by zero" in found.crash
    assert found.trouble.bdp_packets * (1 + found.trouble.buffer_bdp) > 1000


def test_an_objective_of_ones_own(tmp_path, monkeypatch):
    (tmp_path / "own.py").write_text(
        "def slow(result):\n    return 1 / int(result.flows['sent_packets'][0])\n"
    )
    monkeypatch.chdir(tmp_path)
    found = attack("reno", module.function("own.py:slow"), against=None, vary=["loss"], most=24)
    assert found.trouble.loss > 0.01
    for name in ("fast", "__name__"):
        with pytest.raises(
            AckclockError, match=rf'^--hurt: ".*own.py:{name}": (has no such|is no) function'
        ):
            module.function(f"own.py:{name}")
    (tmp_path / "own.py").write_text("1 / 0")
    with pytest.raises(AckclockError, match=r"own.py: line 1: ZeroDivisionError: division by zero"):
        module.function("own.py:slow")


@pytest.mark.parametrize(
    ("worse", "says"),
    [
        (lambda _: math.nan, "returned nan: return a finite number"),
        (lambda _: -math.inf, "returned -inf: return a finite number"),
        (lambda _: "much", "returned 'much': return a finite number"),
        (lambda _: None, "returned None: return a finite number"),
        (lambda result: result.nothing, r": AttributeError: .* \(.*test_attack.py:\d+\)"),
    ],
)
def test_a_function_that_returns_no_number_ends_the_search(worse, says):
    with pytest.raises(AckclockError, match=f"hurt: <lambda> ?{says}"):
        attack("reno", worse, vary=["link"], most=16)


def test_the_command_and_its_threshold(tmp_path):
    """A search, the run that it names, and the check, which another algorithm passes."""

    def command(*given, code=0):
        done = subprocess.run(
            [Path(sys.executable).parent / "ackclock", *given],
            capture_output=True, text=True, check=False, cwd=tmp_path,
        )  # fmt: skip
        assert done.returncode == code, done.stderr
        return done.stdout + done.stderr

    said = command("attack", "bbr", "--vary", "link", "--tries", "32", "--seed", "2", "-o", "found")
    assert "harm: part of their throughput alone" in said
    assert "bbr" in command("run", "found/attack.toml")
    kept = json.loads((tmp_path / "found" / "attack.json").read_text())
    card_form.Attack.model_validate_json(json.dumps(kept))
    assert (tmp_path / "found" / "attack.png").read_bytes().startswith(b"\x89PNG")
    assert kept["threshold"] == kept["excess"] / 2 > 0
    assert command("attack", "bbr", "--check", "found", code=1).startswith("broken: R7: ")
    assert command("attack", "vegas", "--check", "found").startswith("kept: R7: ")
    said = command("attack", "reno", "--hurt", "R99", code=1)
    assert said == 'error: --hurt: "R99": choose from R3, R4, R5, R7, R8, or FILE.py:FUNCTION\n'
    said = command("attack", "reno", "--vary", "link", "--tries", "16", "-o", "nothing")
    assert "nothing found: in the worst of 20 scenarios it is no worse than reno; try more" in said
    said = command("attack", "reno", "--vary", "weather", code=1)
    assert said.startswith('error: vary = "weather": choose from link, queue')


def test_the_run_of_a_c_file_has_its_files_beside_it(tmp_path, monkeypatch):
    """`ackclock run DIR/attack.toml` repeats what was found, also where DIR is copied to."""
    mine = tmp_path / "mine"
    mine.mkdir()
    text = (BAD / "greedy_far.c").read_text()
    (mine / "greedy.c").write_text('#include "own.h"\n' + text)
    (mine / "own.h").write_text("/* mine */\n")
    monkeypatch.chdir(tmp_path)
    found = attack("mine/greedy.c", vary=["link"], most=16)
    (hit := tmp_path / "hit").mkdir()
    drawing.write(found, hit)
    original = run(found.scenario).manifest["trace_hash"]
    (mine / "greedy.c").unlink()
    assert (hit / "own.h").read_text() == "/* mine */\n"
    again = Scenario.from_toml(hit / module.SCENARIO)
    assert run(again).manifest["trace_hash"] == original


def test_the_picture_adds_the_flows_of_those_who_send():
    """500 packets at a time are 50 flows of pulses."""
    trouble = Trouble(cross=("cubic", 2, 0), pulses=(1.0, 1.2, 2.0))
    flows = trouble.scenario("reno", 1).flows
    assert list(trouble.groups("reno").values()) == [1, 2, 50] == [each.count for each in flows]
    of = module.Found("reno", "R3", None, 1, 0, trouble, 1.0, None)
    rates, _ = drawing.attacked(of, {"reno": run(trouble.scenario("reno", 1))}).axes
    legend = [text.get_text() for text in rates.get_legend().get_texts()]
    assert legend[:2] == ["reno", "2 × cubic beside it"]
    alone, beside, *_ = (patch.get_data().values for patch in rates.patches)
    assert 0 < alone.mean() + beside.mean() < 50


def test_what_is_not_there_is_an_error(tmp_path):
    with pytest.raises(AckclockError, match="No such file"):
        module.from_json(tmp_path / "attack.json")
    (tmp_path / "attack.json").write_text("{}")
    with pytest.raises(AckclockError, match="is not what"):
        module.from_json(tmp_path / "attack.json")
    with pytest.raises(AckclockError, match="unknown algorithm"):
        attack("renno")
