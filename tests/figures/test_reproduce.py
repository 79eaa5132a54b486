"""The main job, with few repeats: tables, figures, one page, and how much memory it takes."""

import json
import re
import subprocess
import sys
from html.parser import HTMLParser

import polars as pl
import pytest

from ackclock import AckclockError, papers, reproduce, units
from ackclock.cli import papers as figure_commands
from ackclock.figures.batches import batches_of
from ackclock.figures.experiment import set_where_it_fits
from ackclock.figures.named import Named
from ackclock.hosts.work import Work
from ackclock.pages import figure_pages
from common import ACKCLOCK

#: Runs a command and prints its peak memory (KiB). By a process between: a child's peak begins
#: with that of the process that started it, and pytest's own is large.
MEASURE = """
import resource, subprocess, sys
subprocess.run(sys.argv[1:], check=True)
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss, file=sys.stderr)
"""


@pytest.fixture(scope="module")
def reproduced(tmp_path_factory):
    """`make demo` in quick form: (directory of its output, what it printed, peak memory)."""
    cwd = tmp_path_factory.mktemp("demo")
    figures = ["cubicfc/fig2", "cubicfc/fig5"]
    command = [ACKCLOCK, "reproduce", *figures, "--quick", "-o", "demo"]
    done = subprocess.run(
        [sys.executable, "-c", MEASURE, *command],
        cwd=cwd,
        capture_output=True,
        text=True,
        check=True,
    )
    return cwd / "demo", done.stdout, int(done.stderr.splitlines()[-1]) * 1024


def test_it_prints_our_values_beside_the_papers(reproduced):
    directory, printed, _ = reproduced
    for word in ("convergence", "≈ 400 s", "< 200 s", "utilisation", "quick", "> 1.5"):
        assert word in printed  # the last is the bound of a part
    assert f"page: {directory / 'index.html'}" in printed
    said = printed.replace(str(directory), "")  # its path may hold such a word
    for verdict in ("holds", "fails", "open"):
        assert verdict not in said  # too few repeats


@pytest.mark.parametrize("figure", ["ha2008/fig01", "leith2007/fig13"])
def test_one_run_of_each_point_is_drawn_too(figure, tmp_path):
    """In the first none may come as far as the figure; in the second nothing varies."""
    command = [ACKCLOCK, "reproduce", figure, "--quick", "--seeds", "1", "-o", "one"]
    subprocess.run(command, cwd=tmp_path, check=True, capture_output=True)
    assert list((tmp_path / "one").glob("*.png"))


def test_one_file_is_no_files():
    said = [units.counted(n, noun) for n in (1, 2) for noun in ("file", "quantity", "key")]
    assert said == ["1 file", "1 quantity", "1 key", "2 files", "2 quantities", "2 keys"]
    said = [units.packets_in_words(number) for number in (36_215, 51_280_000)]
    assert said == ["36,215 data packets", "51.3 million data packets"]


def test_it_writes_figures_rows_and_a_manifest(reproduced):
    directory, _, _ = reproduced
    for name in ("cubicfc-fig02", "cubicfc-fig05"):
        assert (directory / f"{name}.png").read_bytes().startswith(b"\x89PNG")
        assert "<svg" in (directory / f"{name}.svg").read_text()
        rows = pl.read_parquet(directory / f"{name}.parquet")
        assert set(rows["seed"]) == {1, 2}
    page = (directory / "index.html").read_text()
    assert "2 runs, seeds 1 to 2. The curves over time are of seed 1, " in page
    assert "This page repeats 2 figures of the paper" in page
    assert "<pre>ackclock reproduce cubicfc/fig05 --quick</pre>" in page
    _, offered = page.split("Scenario of what is drawn: Cubic-FC, seed 1")
    assert "cubic_fc@" in offered[: offered.index("</pre>")]
    manifest = json.loads((directory / "manifest.json").read_text())
    assert [claim["verdict"] for claim in manifest["claims"]] == ["quick", "quick"]
    assert manifest["command"] == "ackclock reproduce cubicfc/fig2 cubicfc/fig5 --quick"


def test_the_page_is_self_contained(reproduced):
    directory, _, _ = reproduced
    page = (directory / "index.html").read_text()
    ids = []

    class Links(HTMLParser):
        def handle_starttag(self, tag, attributes):
            assert tag not in ("link", "iframe")
            for name, value in attributes:
                if name == "id":
                    ids.append(value)
                if name in ("href", "src", "xlink:href"):
                    value = value.partition("#")[0]  # noqa: PLW2901
                    inside = not value or value.startswith("data:image/png;base64,")
                    assert inside or (directory / value).is_file(), value

    Links().feed(page)
    assert len(ids) == len(set(ids))
    assert page.count("<svg") == 1 + 2 * 2  # the icon; each figure, and that for a phone
    assert len(page) < 2_000_000
    assert "@import" not in page
    assert not re.search(r"url\((?!#)", page)
    assert not re.search(r"<script>|<script [^>]*https?:", page)


def test_it_needs_less_than_250_mb(reproduced):
    """It takes 190 to 206 MB, as malloc happens to give the threads of a run their arenas."""
    _, _, peak_bytes = reproduced
    assert peak_bytes < 250e6


@pytest.mark.parametrize("paper", ["cubicfc", "ha2008", "leith2007", "squareff", "standards"])
def test_no_other_assumption_is_without_runs(paper):
    """An experiment that no claim needs has none."""
    assert all(batch.repeats for batch in batches_of(papers.load(paper), 1, False, (), True))


def test_a_figure_is_found_by_any_of_its_names():
    def found(name):
        return [each.name for each in papers.load(name)]

    assert found("cubicfc/fig5") == found("cubicfc/fig05") == ["cubicfc/fig05"]
    assert found("cubicfc.fig5.fc-200s") == found("cubicfc.fig5") == ["cubicfc/fig05"]
    assert found("ha2008.fig2") == ["ha2008/fig02"]  # which claims nothing
    assert {name.split("/")[0] for name in found("cubicfc")} == {"cubicfc"}
    assert found("all") == papers.names()
    with pytest.raises(AckclockError, match="choose from cubicfc/fig01"):
        papers.load("cubicfc/fig9")


@pytest.mark.parametrize("name", papers.names())
def test_every_figure_says_what_it_needs(name):
    (named,) = papers.load(name)
    assert named.setup
    figure = named.figure
    assert figure.quantities or figure.claims
    names = [quantity.name for quantity in figure.quantities]
    assert len(names) == len(set(names)), "the table has a row twice"
    for experiment in figure.experiments:
        for point in experiment.points[:3]:
            assert experiment.run(point, 2) == experiment.run(point, 2)
            assert experiment.run(point, 2).seed == 2
    changed = {}
    for experiment in figure.experiments:
        for variant in experiment.variants:
            runs = [experiment.run(point, 1) for point in experiment.points]
            changes = variant.arguments or any(
                set_where_it_fits(each, variant.settings) != each for each in runs
            )
            changed[variant.name] = changed.get(variant.name) or changes
    assert all(changed.values()), changed


def test_every_claim_has_an_id_of_its_own():
    ids = [claim.id for named in papers.load("all") for claim in named.figure.claims]
    assert len(ids) == len(set(ids))


@pytest.mark.parametrize("name", ["cubicfc/fig02", "cubicfc/fig05"])
def test_a_figures_runs_are_what_the_paper_says(name):
    (named,) = papers.load(name)
    for experiment, point in named.figure.needs:
        assert experiment.seeds == 12
        scenario = experiment.run(point, 1)
        assert scenario.bottleneck.rate == "800mbit"
        assert scenario.bottleneck.buffer == "1bdp"
        assert scenario.rtt == "200ms"
        assert scenario.duration == "800s"
        # The middles of the first and the last of 12 parts of 85 … 140 s.
        assert [flow.start for flow in scenario.flows] == ["0s", "87.292s"]
        assert experiment.run(point, 12).flows[1].start == "137.708s"


def test_several_papers_are_a_site_and_a_rerun_is_the_same(tmp_path):
    """Two cheap figures, of a paper each."""

    def site(output):
        command = [ACKCLOCK, "reproduce", "leith2007/fig14", "cubicfc/fig05", "--quick"]
        subprocess.run([*command, "-o", output], cwd=tmp_path, check=True, capture_output=True)
        return tmp_path / output

    first, second = site("first"), site("second")
    index = (first / "index.html").read_text()
    assert 'href="leith2007.html"' in index
    assert "leith2007.fig14.starvation-1M" in index
    page = (first / "leith2007.html").read_text()
    assert "<svg" in page
    assert 'href="leith2007-fig14.parquet"' in page
    claims = pl.read_parquet(first / "claims.parquet")
    assert set(claims["verdict"]) == {"quick"}
    for name in ("claims.parquet", "claims.json", "leith2007-fig14.parquet", "leith2007.html"):
        assert (first / name).read_bytes() == (second / name).read_bytes()
    figures = [papers.load(name)[0] for name in ("leith2007/fig14", "cubicfc/fig05")]
    drawn = []
    found = reproduce.reproduce(figures, quick=True, work=Work(tmp_path / ".ackclock"))
    (tmp_path / "third").mkdir()
    figure_pages.write(found, tmp_path / "third", command="", quick=True, progress=drawn.append)
    assert drawn == [0.5, 1]


@pytest.mark.parametrize(
    ("options", "to_run", "written"),
    [
        ("", 1, [["a/x"], ["a/x", "b/x", "b/y"]]),
        ("", 0, []),
        ("--quick", 1, []),
    ],
)
def test_a_report_has_the_papers_that_are_done(options, to_run, written, tmp_path, monkeypatch):
    """Ctrl-C in the third paper leaves the pages of two. Where all runs are kept it draws once."""
    every = [Named(name, "", "", None) for name in ("a/x", "b/x", "b/y", "c/x")]

    def done(chosen, work, **_):
        work.on_runs(to_run, 0)
        if chosen == every[-1:]:
            raise KeyboardInterrupt
        return list(chosen)

    seen = []

    def write(figures, directory, **_):
        seen.append([each.name for each in figures])
        (directory / "index.html").write_text(str(seen[-1]))

    monkeypatch.setattr(papers, "load", lambda _: every)
    monkeypatch.setattr(reproduce, "reproduce", done)
    monkeypatch.setattr(figure_pages, "write", write)
    monkeypatch.chdir(tmp_path)
    command = ["report", "-o", "site", *options.split()]
    assert figure_commands.app(command, standalone_mode=False) == 130
    assert seen == written
    assert [each.read_text() for each in tmp_path.rglob("index.html")] == list(
        map(str, written[-1:])
    )
