"""The scenarios beside a figure: each is that of its row, and runs as it is."""

from pathlib import Path

import numpy as np
import polars as pl
import pytest

from ackclock import Bottleneck, Flow, Result, Scenario, papers, reproduce, run
from ackclock.figures import Column, plots
from ackclock.figures.batches import batches_of
from ackclock.figures.experiment import Runs
from ackclock.figures.figure import View
from ackclock.figures.reproduce import Reproduced
from ackclock.hosts.work import Work
from ackclock.pages import figure_pages
from ackclock.pages.offered import Offered
from ackclock.papers.cubicfc._experiments import CUBIC_FC, JOINING
from common import made_by_hand


def without_directories(scenario):
    return scenario.with_files(lambda path: Path(path).name, lambda _, path: Path(path).name)


@pytest.mark.parametrize("name", papers.names())
def test_each_row_has_the_scenario_of_its_run(name, tmp_path):
    """Of a quick run, without simulating it."""
    (named,) = papers.load(name)
    batches = batches_of([named], None, True, (), False)
    rows = {}
    for batch in batches:
        table = pl.DataFrame([{**point, "seed": seed} for point, seed, _ in batch.repeats])
        rows[batch.experiment] = Runs(batch.experiment, table)
    tables, _ = Offered(tmp_path).write_rows(Reproduced(named, rows, batches))
    found = [pl.read_csv(tmp_path / each) for each in tables if each.endswith(".csv")]
    for batch, table in zip(batches, found, strict=True):
        repeats = zip(batch.repeats, table.iter_rows(named=True), strict=True)
        for (point, seed, scenario), row in repeats:
            assert row == {**point, "seed": seed, "scenario": row["scenario"]}
            path = tmp_path / row["scenario"]
            assert '"/' not in path.read_text()
            offered = Scenario.from_toml(path)
            assert without_directories(offered) == without_directories(scenario)
            offered.read_files()
    assert {path.suffix for path in tmp_path.iterdir()} <= {".toml", ".csv", ".parquet", ".c"}


def test_an_offered_scenario_runs_from_any_directory(tmp_path, ackclock):
    """It gives the number of its row, here with a C file."""
    (named,) = papers.load("ha2008/fig02")
    (figure,) = reproduce.reproduce([named], quick=True, work=Work(tmp_path / ".ackclock"))
    site = tmp_path / "site"
    site.mkdir()
    figure_pages.write([figure], site, command="", quick=True)
    (tmp_path / "elsewhere").mkdir()
    (experiment,) = figure.rows
    row, _ = pl.read_csv(site / "ha2008-fig02.csv").iter_rows(named=True)
    command = ["run", str(Path("../site") / row["scenario"]), "-o", "out"]
    done = ackclock(*command, cwd=tmp_path / "elsewhere")
    assert done.returncode == 0, done.stderr
    again = Result.load(tmp_path / "elsewhere" / "out")
    assert experiment.row(again).delivered_mb == row["delivered_mb"]
    page = (site / "index.html").read_text()
    assert "Scenario of what is drawn: two hooks, seed 1" in page
    assert "algorithm = &quot;two_hooks.c&quot;" in page
    assert str(Path(papers.__file__).parent) not in page


def test_what_a_scenario_needs_lies_beside_it(tmp_path):
    """Headers from other directories, two files of one name, a trace; the run is the same."""
    source = Path(papers.__file__).with_name("ha2008") / "two_hooks.c"
    text = source.read_text().replace("2U", "LEAST")
    for name, least in (("one", "2U"), ("two", "20U")):
        (tmp_path / name / "common").mkdir(parents=True)
        (tmp_path / name / "common" / "least.h").write_text(f"#define LEAST {least}\n")
        lines = text.replace("#include", '#include "common/least.h"\n#include', 1)
        (tmp_path / name / "own.c").write_text(lines)
    (tmp_path / "cell.up").write_text("".join(f"{ms}\n" for ms in range(5, 2000, 2)))
    scenario = Scenario(
        duration="3s",
        rtt="40ms",
        bottleneck=Bottleneck(trace=str(tmp_path / "cell.up"), buffer="20packets"),
        flows=tuple(Flow(algorithm=str(tmp_path / name / "own.c")) for name in ("one", "two")),
    )
    (tmp_path / "out").mkdir()
    offered = Offered(tmp_path / "out")
    names = offered.write("a", [scenario, scenario.replace(seed=2)])
    assert names == ["a-1.toml", "a-2.toml"]
    files = {"own.c", "own-2.c", "least.h", "least-2.h", "cell.up.trace"}
    assert {path.name for path in (tmp_path / "out").iterdir()} == files | set(names)
    again = Scenario.from_toml(tmp_path / "out" / "a-1.toml")
    assert run(again).manifest["trace_hash"] == run(scenario).manifest["trace_hash"]


def test_the_picture_has_the_number_of_its_row():
    """Its line is where the row of the seed says that is drawn, whatever the curves show."""
    samples = [[(t, 10, 10 * t) for t in range(61)] for _ in range(2)]
    result = made_by_hand(samples, duration_s=60, starts_s=[0, 10])
    rows = [
        {"algorithm": CUBIC_FC, "seed": 2, "convergence_s": 30.0},
        {"algorithm": CUBIC_FC, "seed": 1, "convergence_s": 20.0},
    ]
    when = Column(JOINING, "convergence_s", "convergence time", "s").at(algorithm=CUBIC_FC)
    plot = plots.windows(
        {"Cubic-FC": (JOINING, {"algorithm": CUBIC_FC})}, converged={"Cubic-FC": when}
    )
    runs = {JOINING: Runs(JOINING, pl.DataFrame(rows))}
    view = View(runs, lambda _: result, lambda of, point, seed: of.run(point, seed))
    (axes,) = plot(view).axes
    assert axes.get_title(loc="left") == "Cubic-FC, seed 1 of 2"
    assert [text.get_text() for text in axes.texts] == ["converged\nafter 20 s"]
    assert any(np.array_equal(line.get_xdata(), [30, 30]) for line in axes.lines)
    assert view.drawn == [(JOINING, {"algorithm": CUBIC_FC}, 1)]
