"""Sweeps that add seeds until a question is decided."""

import json
import re

import polars as pl

from ackclock.hosts.work import Work
from ackclock.sweeps.metrics import Reducers
from ackclock.sweeps.sweep import Sweep
from common import ROOT


def first_seed(result):
    return result.scenario.seed == 1


def test_truths_are_shares(two, tmp_path):
    decide = {"metric": "first_seed", "above": 0.1}
    plan = Sweep(
        two, {"rtt": ["10ms"]}, metrics=Reducers.parse([first_seed]), seeds=5, decide=decide
    )
    table = plan.run(plan.check(), Work(tmp_path))
    assert table["first_seed"].to_list() == [1, 0, 0, 0, 0]
    (cell,) = plan.cells(table)
    assert cell["first_seed"].mean == 0.2
    assert cell["verdict"] == "open"


DECIDE = """
scenario = "two.toml"
metrics = ["utilisation", "mine.py:coin"]
decide = { metric = "coin", above = 0.5 }
[axes]
rtt = ["10ms", "20ms", "30ms"]
"""
#: A metric with a known mean: 0.8, 0.5 and 0.2 for the three RTTs.
COIN = """
import random

def coin(result):
    rtt_ms = int(result.scenario.rtt[:2])
    mean = {10: 0.8, 20: 0.5, 30: 0.2}[rtt_ms]
    return random.Random(f"{rtt_ms} {result.scenario.seed}").gauss(mean, 0.2)
"""


def test_seeds_are_added_until_it_is_decided(ackclock, two, tmp_path):  # noqa: ARG001
    (tmp_path / "sweep.toml").write_text(DECIDE)
    (tmp_path / "mine.py").write_text(COIN)
    done = ackclock("sweep", "sweep.toml", "--until-decided", "--most", 60, "--json", "-o", "out")
    assert done.returncode == 0, done.stderr
    cells = [json.loads(line) for line in done.stdout.splitlines()]
    assert [cell["verdict"] for cell in cells] == ["holds", "open", "fails"]
    seeds = [cell["seeds"] for cell in cells]
    assert [cell["coin"]["n"] for cell in cells] == seeds
    assert seeds[1] == 60
    assert max(seeds[0], seeds[2]) < 40
    table = pl.read_parquet(tmp_path / "out" / "sweep.parquet")
    assert table["rtt_s"].to_list() == [0.01] * seeds[0] + [0.02] * 60 + [0.03] * seeds[2]
    assert table["seed"].to_list() == [seed for n in seeds for seed in range(1, n + 1)]
    again = ackclock("sweep", "sweep.toml", "--until-decided", "--most", 60)
    assert "runs to simulate" not in again.stderr
    assert "coin > 0.5: 1 hold, 1 fail, 1 open" in again.stdout
    assert re.search(r"20 .* 60 +open", again.stdout)
    whole = ackclock("sweep", "sweep.toml")
    assert "coin > 0.5: 0 hold, 0 fail, 3 open" in whole.stdout  # of one seed


def test_the_seeds_that_the_page_says(tmp_path):
    """Two of its seven points, which take 50 of the 331 runs."""
    page = (ROOT / "docs" / "sweep.md").read_text()
    (text,) = re.findall(r"^```toml\n(scenario[^`]*^decide[^`]*)```", page, re.MULTILINE)
    rows = re.findall(r"^\| (0\.\d) \| (\d+) \| (\w+) \|$", page, re.MULTILINE)
    assert sum(int(seeds) for _, seeds, _ in rows) == 331
    (tmp_path / "two_cubic.toml").write_bytes((ROOT / "examples" / "two_cubic.toml").read_bytes())
    (tmp_path / "sweeps").mkdir()
    path = tmp_path / "sweeps" / "decided.toml"
    path.write_text(re.sub(r'(?m)^"cubic:beta" = .*', '"cubic:beta" = [0.3, 0.9]', text))
    plan = Sweep.from_toml(path, most=100)
    cells = plan.cells(plan.run(plan.check(), keep=False))
    found = [
        (str(each["cubic:beta"]), str(each["jain_index"].n), each["verdict"]) for each in cells
    ]
    assert found == [row for row in rows if row[0] in ("0.3", "0.9")]


def test_mistakes_of_a_decision(ackclock, two, tmp_path):  # noqa: ARG001
    (tmp_path / "mine.py").write_text(COIN)
    for old, new, options, says in (
        ("decide", "#", ["--until-decided"], "decide is missing"),
        (", above = 0.5", "", [], "above or below or both"),
        ("above = 0.5", 'above = "0.5"', [], "above and below are numbers"),
        ("above = 0.5", "above = 2, below = 1", [], "above must be less than below"),
        ('"coin", above', '"coins", above', [], "choose from utilisation, coin"),
        ("decide", "seeds = [3, 4]\ndecide", ["--until-decided"], "write how many to begin with"),
        ("decide", "decide", ["--most", 20], "--most 20: add --until-decided"),
        ("decide", "seeds = 60\ndecide", ["--until-decided", "--most", 30], "more than most = 30"),
        ("decide", "seeds = 200\ndecide", ["--until-decided"], "or --most 200"),
        ("decide", "seeds = 0\ndecide", ["--until-decided"], "seeds = 0: write a whole number"),
    ):
        (tmp_path / "sweep.toml").write_text(DECIDE.replace(old, new))
        done = ackclock("sweep", "sweep.toml", *options)
        assert done.returncode == 1
        assert says in done.stderr.splitlines()[-1]
