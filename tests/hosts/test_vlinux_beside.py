"""Linux in virtual time beside the simulator: in `compare`, in a figure, in a scorecard."""

import re
from typing import NamedTuple

import pytest

from ackclock import Flow, compare, metrics, run_all, vlinux
from ackclock.figures import Check, Experiment, crosscheck
from ackclock.hosts import linux
from ackclock.hosts.vlinux.machines import Machines
from ackclock.hosts.work import CACHE, Work
from ackclock.pages import figure_pages
from ackclock.questions import scenarios
from ackclock.questions.card import Number, Question
from ackclock.scorecard.evaluated import Request
from ackclock.scorecard.run import evaluate
from virtual import scenario

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("machine")]


class Row(NamedTuple):
    utilisation: float


def used(result) -> Row:
    return Row(metrics.utilisation(result))


def test_a_figure_of_a_paper(ackclock, tmp_path):
    """At another rate than the paper's, and with the virtual Linux's own TCP."""
    settings = ("profile=linux-6", "duration=150s", "bottleneck.rate=20mbit", "rtt=50ms")
    words = [word for each in settings for word in ("--set", each)]
    done = ackclock("reproduce", "cubicfc/fig5", "--quick", "--on", "vlinux", *words)
    assert done.returncode == 0, done.stderr
    assert "throughput of flow 1, Cubic-FC" in done.stdout
    kept = [*(tmp_path / ".ackclock/vlinux").glob("[0-9a-f]*/manifest.json")]
    assert len(kept) == 4
    assert all('"backend": "vlinux"' in path.read_text() for path in kept)
    assert "--on vlinux" in (tmp_path / "out/cubicfc-fig5/index.html").read_text()
    refused = ackclock("reproduce", "cubicfc/fig5", "--quick", "--on", "vlinux")
    assert refused.returncode == 1
    assert 'profile = "linux-2.6.32": not on the virtual Linux' in refused.stderr


def test_beside_the_simulator(ackclock, tmp_path):
    (tmp_path / "s.toml").write_text(scenario(jitter="0s", duration="99s").to_toml())
    words = [
        "--on",
        "vlinux",
        "--set",
        "duration=20s",
        "--algorithm",
        "reno",
        "-o",
        "out",
        "--seeds",
        "2",
    ]
    done = ackclock("compare", "s.toml", *words)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("holds") == 2
    page = (tmp_path / "out/index.html").read_text()
    assert "reno" in page
    assert "cubic" not in page
    assert "vlinux" in page
    assert "in virtual time" in page


def test_a_row_of_a_scorecard(tmp_path):
    """Each number of one point is beside the simulator's, and is kept."""

    def short(algorithm, buffer):
        return scenarios.dumbbell(algorithm, buffer=buffer, rate="10mbit", duration="3s")

    used = Number("utilisation", "utilisation", margin=0.02, at={"buffer": "1bdp"})
    asked = (Question("R3", "Full?", "5.1.2", short, {"buffer": ("1bdp",)}, (used,)),)
    todo = []

    def card():
        return evaluate(
            Request("reno", asked, (), quick=True),
            Work(tmp_path),
            on=Machines(),
            on_linux=lambda *left: todo.append(left[0]),
        )

    (row,) = card().asked
    assert row.linux.refused == []
    ours, linux = (of.answers[0].found["reno"].mean for of in (row.answers, row.linux.answers))
    assert linux == pytest.approx(ours, abs=0.02)
    (again,) = card().asked
    assert again.linux.answers.answers[0].found["reno"].mean == linux
    assert todo == [1, 0]


def test_a_figure_beside_the_simulator(tmp_path):
    """As `reproduce FIGURE --on vlinux` and the report show it."""
    small = Experiment("small", [{}], lambda: scenario(duration="2s"), used)
    check = Check("", small, {"utilisation": "utilisation"})
    host = linux.host("vlinux")
    assert crosscheck.load(check, host, Work(tmp_path)) is None
    missing = []
    crosscheck.fill([check], host, seeds=1, work=Work(tmp_path), on_missing=missing.append)
    checked = crosscheck.load(check, host, Work(tmp_path))
    assert checked.table().header[2:4] == ["simulator", "virtual Linux"]
    crosscheck.fill([check], host, seeds=1, work=Work(tmp_path), on_missing=missing.append)
    assert [len(each) for each in missing] == [1, 0]
    command = "ackclock reproduce"
    figure_pages.write_checked([("small/one", checked)], tmp_path, command=command, pdf=False)
    page = (tmp_path / "index.html").read_text()
    assert "1 run on Linux 6.12 in virtual time." in page
    assert "small-one-vlinux.parquet" in page


def test_one_place_for_its_runs(tmp_path, monkeypatch):
    """What `compare` has run, a figure, a check and `run_all` find."""
    monkeypatch.chdir(tmp_path)
    once = scenario(Flow(algorithm="cubic"))
    compare.compare(once, on=["vlinux"])
    machines = linux.host("vlinux")
    place = CACHE / machines.name
    assert (place / once.key(machines.version)).is_dir()
    monkeypatch.setattr(vlinux, "run", None)
    (again,) = run_all([once], lambda result: result, cache=place, executor=machines)
    assert again.manifest["backend"] == "vlinux"


def test_an_attack_is_confirmed(ackclock):
    """The harm of BBR in a small buffer, which the simulator found, is Linux's own."""
    done = ackclock("attack", "bbr", "--vary", "link", "--tries", "16", "--on", "vlinux")
    assert done.returncode == 0, done.stderr
    of = re.search(r"on vlinux: ([\d.]+), reno in its place ([\d.]+)", done.stdout)
    assert float(of[1]) > 0.4
    assert float(of[2]) < 0.2
