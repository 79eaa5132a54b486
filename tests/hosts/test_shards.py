"""Several commands that share the runs of one: together they make what one makes."""

import json
import subprocess
import time
from importlib import import_module

import pytest

import ackclock
from ackclock import AckclockError, papers
from ackclock.base.directory import CACHE
from ackclock.cli.console import app
from ackclock.figures import reproduce
from ackclock.hosts.shard import Shard, take_over
from ackclock.hosts.work import Work
from ackclock.scorecard import run as scorecard
from ackclock.scorecard.evaluated import Request
from ackclock.store import entries
from common import ACKCLOCK

SWEEP = """
scenario = "two.toml"
seeds = 20
metrics = ["utilisation", "jain_index"]
[axes]
rtt = ["10ms", "20ms", "40ms", "80ms"]
"""
TWO = """
duration = "10s"
rtt = "20ms"
[bottleneck]
rate = "50mbit"
buffer = "1bdp"
[[flow]]
algorithm = "cubic"
count = 2
"""
CARD = ("evaluate", "bic", "--quick", "--rows", "R1,R3")


@pytest.fixture
def place(tmp_path):
    """Makes a directory with the files of the sweep, as each machine has it."""

    def make(name):
        at = tmp_path / name
        at.mkdir()
        (at / "two.toml").write_text(TWO)
        (at / "sweep.toml").write_text(SWEEP)
        return at

    return make


def command(at, *words):
    done = subprocess.run([ACKCLOCK, *words], cwd=at, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stderr


def test_a_shard_has_every_nth():
    every = list(range(10))
    parts = [Shard.read(f"{number}/3").part(every) for number in (1, 2, 3)]
    assert parts == [[0, 3, 6, 9], [1, 4, 7], [2, 5, 8]]


@pytest.mark.parametrize("text", ["0/3", "4/3", "3", "1/2/3", "-1/3", "1/0", "a/b", ""])
def test_what_is_no_shard(text):
    with pytest.raises(AckclockError, match=r"--shard .*: write which of how many"):
        Shard.read(text)


def test_the_union_of_shards_is_the_serial_table(place):
    """One is killed, and repeated; another runs twice."""
    serial = place("serial")
    command(serial, "sweep", "sweep.toml", "-o", "out")
    for number in (1, 2, 3):
        command(place(f"shard{number}"), "sweep", "sweep.toml", "--shard", f"{number}/4")
    assert (
        command(place("again"), "sweep", "sweep.toml", "--shard", "1/4") == "20 runs to simulate\n"
    )
    killed = place("shard4")
    part = subprocess.Popen(
        [ACKCLOCK, "sweep", "sweep.toml", "--shard", "4/4"], cwd=killed, stderr=subprocess.DEVNULL
    )
    time.sleep(0.3)
    part.kill()
    part.wait()
    command(killed, "sweep", "sweep.toml", "--shard", "4/4")
    merged = place("merged")
    words = ("--merge", "../shard*", "--merge", "../again", "-o", "out")
    said = command(merged, "sweep", "sweep.toml", *words)
    assert "entries of kept runs taken over" in said
    assert "to simulate" not in said
    tables = [(at / "out" / "sweep.parquet").read_bytes() for at in (serial, merged)]
    assert tables[0] == tables[1]


def test_more_shards_than_runs(place):
    at = place("one")
    for number in (1, 80, 81, 100):
        command(at, "sweep", "sweep.toml", "--shard", f"{number}/100")


def test_shards_of_a_card(place):
    serial, one, two = place("serial"), place("one"), place("two")
    given = (*CARD, "--nonce", "7")
    command(serial, *given, "--no-page", "-o", "card")
    command(one, *given, "--shard", "1/2")
    command(two, *given, "--shard", "2/2")
    command(two, *given, "--merge", str(one), "--no-page", "-o", "card")
    cards = [json.loads((at / "card" / "card.json").read_text()) for at in (serial, two)]
    assert cards[0] == cards[1]
    questions = scorecard.chosen("R1,R3")
    todo = []
    for number in (1, 2):
        shard = Shard(number, 2)
        work = Work(two / CACHE, shard=shard, on_runs=lambda *counts: todo.append(counts[0]))
        scorecard.fill(Request("bic", questions, quick=True, nonce=7), work)
    assert todo == [0, 0]
    with pytest.raises(AckclockError, match="--shard: each part needs the same --nonce"):
        scorecard.fill(Request("bic", questions, quick=True, nonce=None), work)


def test_a_card_for_programs(place):
    """Printed, in the file and in Python it is the same; without a page nothing is drawn."""
    at = place("one")
    words = [*CARD, "--json", "--no-page", "-o", "card"]
    done = subprocess.run([ACKCLOCK, *words], cwd=at, capture_output=True, text=True, check=True)
    card = json.loads(done.stdout)
    assert card == json.loads((at / "card" / "card.json").read_text())
    seen = {each.name for each in (at / "card").iterdir() if each.name[0] != "."}
    assert seen == {"card.json", "manifest.json", "rows.parquet"}
    assert card == ackclock.evaluate("bic", rows="R1,R3", quick=True, cache=at / CACHE)
    assert [each["row"] for each in card["rows"]] == ["R1", "R3"]


def test_shards_of_a_figure(tmp_path):
    """All shards have run what the figure needs."""
    figures = papers.load("squareff/fig02")
    counts = []
    for number in (1, 2, 3):
        reproduce.fill(figures, quick=True, work=Work(tmp_path, shard=Shard(number, 3)))
    work = Work(tmp_path, on_runs=lambda *each: counts.append(each))
    found = reproduce.reproduce(figures, quick=True, work=work)
    assert counts[0][0] == 0
    assert counts[0][1] > 3
    assert found[0].rows


def test_a_report_finds_the_runs_of_shards(tmp_path, monkeypatch, capsys):
    """It has no `--shard` of its own: its runs are those of `reproduce`."""
    monkeypatch.chdir(tmp_path)
    figures = papers.load("squareff/fig02")
    monkeypatch.setattr(papers, "load", lambda _: figures)
    import_module("ackclock.cli.papers")

    def call(*words):
        app([*words, "--quick"], prog_name="ackclock", standalone_mode=False)
        return capsys.readouterr().err

    for number in (1, 2):
        shard = ("--sensitivity", "--shard", f"{number}/2")
        assert "runs to simulate" in call("reproduce", "all", *shard)
    assert "to simulate" not in call("report")
    assert (tmp_path / "out" / "report" / "index.html").is_file()


def test_what_is_damaged_is_not_taken_over(place, capsys):
    at, mine = place("one"), place("two")
    command(at, "sweep", "sweep.toml", "--shard", "1/2")
    # A slow machine keeps a manifest more: what it has after some seconds.
    manifests = list((at / CACHE / "rows").rglob(entries.MANIFEST))
    assert manifests
    for each in manifests:
        (each.parent / "rows.parquet").write_bytes(b"PAR1")
    assert take_over([str(at)], mine / CACHE) == 0
    assert "damaged entries" in capsys.readouterr().err
    assert not list(mine.rglob("*.parquet"))


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ("sweep sweep.toml --shard 1/2 --merge .", "--shard and --merge: give one of the two"),
        ("sweep sweep.toml --merge nowhere", "--merge nowhere: no .ackclock in it"),
        ("sweep sweep.toml --shard 1/2 --until-decided", "--shard: not with --until-decided"),
        ("claims --shard 1/2 --until-decided", "--shard: not with --until-decided"),
        ("sweep sweep.toml --shard 1/2 --plot", "--shard: writes no table; give --plot to"),
        ("evaluate bic --shard 1/2 --check x.toml", "--shard: writes no table; give --check to"),
        ("reproduce cubicfc/fig5 --shard 1/2 -o out", "--shard: writes no table; give -o to"),
        ("evaluate bic --shard 1/2 --on vlinux", "--shard: not with --on vlinux"),
        ("reproduce cubicfc/fig5 --shard 1/2 --on kernel", "--shard: not with --on kernel"),
    ],
)
def test_what_shards_cannot_do(place, words, says):
    at = place("one")
    done = subprocess.run(
        [ACKCLOCK, *words.split()], cwd=at, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout) == (1, "")
    assert says in done.stderr
    assert sorted(each.name for each in at.iterdir()) == ["sweep.toml", "two.toml"]
