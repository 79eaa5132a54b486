"""Files that know the card are recognised, others are not; a nonce repeats a card."""

import shutil
from pathlib import Path

import pytest

from ackclock import AckclockError, Scenario, attack, evaluate
from ackclock import run as simulate
from ackclock.base.directory import CACHE
from ackclock.hosts.work import Work
from ackclock.scorecard import run
from ackclock.scorecard.evaluated import QUESTIONS, Request
from common import ROOT

BAD = Path(__file__).parent
#: Tells its first random number as ssthresh.
RECORDER = """#include "tcp_cc.h"
CC_HOOK(void, tells_init, struct sock *sk)
{ tcp_sk(sk)->snd_ssthresh = cc_random(sk) & 0x7fffffff; }
CC_ALGORITHM(tells, "", .init = tells_init, .ssthresh = tcp_reno_ssthresh,
    .cong_avoid = tcp_reno_cong_avoid);
"""
FLOWS = """duration = "0.1s"
rtt = "50ms"
seed = {}
[bottleneck]
rate = "50mbit"
buffer = "1bdp"
[[flow]]
algorithm = "tells.c"
count = 16
"""


@pytest.fixture(scope="module")
def faces(tmp_path_factory):
    """The files, and the first draws of 16 flows with the seeds 1 to 10 of nonce 0."""
    place = tmp_path_factory.mktemp("faces")
    for each in (*BAD.glob("knows_*.c"), BAD / "two_faced.h", BAD / "overfitted.c"):
        shutil.copy(each, place)
    (place / "tells.c").write_text(RECORDER)
    draws = []
    for seed in range(1, 11):
        of = simulate(Scenario.from_text(FLOWS.format(seed), source="", directory=place))
        draws += of.samples.group_by("flow").first()["ssthresh_packets"].to_list()
    assert len(set(draws)) == 160
    table = "".join(f"{each}U, " for each in draws)
    (place / "draws.h").write_text(f"static const u32 draws[] = {{ {table} }};\n")
    return place


def recognised(algorithm, rows, seed):
    asked = [each for each in QUESTIONS if each.row in rows]
    request = Request(str(algorithm), asked, ("reno",), quick=True, held_out=seed)
    found = run.evaluate(request, Work(ROOT / CACHE))
    assert found.failed is None or found.failed.stage == "held out"
    return bool(found.recognised)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["draws", "mss", "hz", "clock", "packets"])
def test_who_knows_the_card_is_recognised(name, faces):
    assert recognised(faces / f"knows_{name}.c", ["R10b"], 1)


@pytest.mark.slow
def test_who_is_made_for_the_card_is_recognised(faces):
    assert recognised(faces / "overfitted.c", ["R3"], 1)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["cubic", "bbr", "copa", "vegas"])
def test_an_honest_algorithm_is_not_recognised(name):
    assert not recognised(name, ["R3", "R7", "R10b"], 1)


def test_a_card_is_repeated_by_its_nonce(tmp_path):
    """Unless one is given the cache has its own, which the card tells."""
    card_of = evaluate("vegas", against=(), rows="R9", quick=True, cache=tmp_path)
    nonce = int((tmp_path / run.NONCE).read_text())
    assert card_of["nonce"] == nonce > 1000
    again = Request("vegas", run.chosen("R9"), (), quick=True, nonce=nonce)
    runs = run.evaluate(again, Work(tmp_path / "other")).asked[0].runs.table
    assert runs["seed"].unique().sort().to_list() == [nonce + 1, nonce + 2, nonce + 3]
    assert evaluate(
        "vegas", against=(), rows="R9", quick=True, nonce=nonce, cache=tmp_path / "third"
    ) == card_of  # fmt: skip
    told = []
    run.evaluate(again, Work(tmp_path, on_runs=lambda *counts: told.append(counts[0])))
    assert sum(told) == 0  # all are kept
    other = evaluate("vegas", against=(), rows="R9", quick=True, nonce=7, cache=tmp_path)
    assert other["rows"] != card_of["rows"]
    with pytest.raises(AckclockError, match="nonce = -1: write a whole number from 0"):
        evaluate("vegas", nonce=-1, cache=tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["draws", "mss", "hz"])
def test_an_attack_is_confirmed_where_nobody_knows_it(name, faces):
    """Its search is known by segments and timer, so it finds nothing; its last runs are not."""
    found = attack(str(faces / f"knows_{name}.c"), vary=["link"], most=16, seed=2)
    assert found.excess > 0.2
    assert (found.scenario.mss, found.scenario.hz) != (1448, 1000)
