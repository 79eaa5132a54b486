"""`ackclock compare`: algorithms on one link, each beside others."""

import json
from importlib import import_module

import polars as pl
import pytest

from ackclock import AckclockError, Scenario, metrics, run
from ackclock.cli import console
from ackclock.estimates.stats import mean_ci
from ackclock.questions import on_link
from command import refused
from common import ROOT

PAGE = (ROOT / "docs" / "compare.md").read_text(encoding="utf-8")
LINK = """
duration = "25s"
rtt = "20ms"
[bottleneck]
rate = "10mbit"
buffer = "1bdp"
[[flow]]
algorithm = "reno"
"""


@pytest.fixture
def link(tmp_path):
    (tmp_path / "link.toml").write_text(LINK)
    return Scenario.from_toml(tmp_path / "link.toml")


def test_the_page_shows_what_is_printed(monkeypatch, tmp_path, capsys):
    """A question of an engineer takes two commands, and the table 80 columns."""
    monkeypatch.chdir(tmp_path)
    (first, second), shown = _typed(PAGE), PAGE.partition("rtt=80ms\n")[2].partition("\n```")[0]
    monkeypatch.setattr(console.out, "width", 80)
    for module in ("algorithms", "sweep"):
        import_module(f"ackclock.cli.{module}")
    for words in (first, second):
        console.app(words, prog_name="ackclock", standalone_mode=False)
    printed = capsys.readouterr().out.partition("examples\n")[2]
    assert printed.strip().startswith(shown)
    assert "rtt = 80ms" in printed
    assert max(map(len, printed.splitlines())) <= 80


def _typed(page):
    """The words of the commands of its first block."""
    block = page.partition("```console\n")[2].partition("```")[0]
    return [line.split()[2:] for line in block.splitlines() if line.startswith("$ ackclock ")]


def test_each_number_is_that_of_single_runs(ackclock, link, tmp_path):
    done = ackclock(
        *("compare", "link.toml", "--algorithm", "cubic:beta=0.8,bic", "--algorithm", "vegas"),
        *("--seeds", 3, "--json", "-o", "out"),
    )
    assert done.returncode == 0, done.stderr
    cells = [json.loads(line) for line in done.stdout.splitlines()]
    assert {cell["algorithm"] for cell in cells} == {"cubic:beta=0.8", "bic", "vegas"}
    goodputs = [cell["goodput_mbps"]["mean"] for cell in cells]
    assert goodputs == sorted(goodputs, reverse=True) or max(goodputs) - min(goodputs) < 0.1
    base = link.assign("flow.start_spread=20ms")
    two = base.replace(flows=base.flows * 2)
    for cell in cells:
        name = cell["algorithm"]
        alone = [run(base.assign(f"flow.algorithm={name}", f"seed={n}")) for n in (1, 2, 3)]
        mbps = [metrics.throughput_bps(each, [10, 25])[0, 0] / 1e6 for each in alone]
        assert cell["goodput_mbps"]["mean"] == pytest.approx(mean_ci(mbps).mean)
        lost = [
            1 - _second_bps(two, name, seed) / _second_bps(two, "cubic", seed) for seed in (1, 2, 3)
        ]
        assert cell["harm_percent"]["mean"] == pytest.approx(100 * mean_ci(lost).mean)
        assert cell["beside"] == "cubic"
    table = pl.read_parquet(tmp_path / "out" / "compare.parquet")
    assert len(table) == 9
    assert (tmp_path / "out" / "compare.png").read_bytes().startswith(b"\x89PNG")
    again = ackclock("compare", "link.toml", "--algorithm", "vegas", "--seeds", 3)
    assert "runs to simulate" not in again.stderr
    assert "vegas" in again.stdout


def _second_bps(two, first, seed):
    """Of CUBIC beside another."""
    of = two.assign(f"flow.1.algorithm={first}", "flow.2.algorithm=cubic", f"seed={seed}")
    return metrics.throughput_bps(run(of), [10, 25])[1, 0]


def test_others_are_those_of_the_scenario(link):
    """The algorithm takes the place of the first table; its like is that of the second."""
    mixed = link.replace(flows=[*link.flows, *link.assign("flow.algorithm=vegas").flows])
    assert [flow.algorithm for flow in on_link.beside(mixed, "bbr").flows] == ["bbr", "vegas"]
    found = on_link.on_link(mixed, ["vegas", "bbr"], seeds=2)
    assert found.like == "vegas"
    by_name = {cell["algorithm"]: cell for cell in found.cells()}
    assert by_name["vegas"]["harm_percent"].mean == 0
    assert by_name["bbr"]["harm_percent"].mean > 50


def test_a_link_of_another_tool(ackclock):
    tc = "tc qdisc add dev eth0 root netem delay 20ms rate 10mbit limit 50"
    made = ackclock("import-tc", tc)
    done = ackclock("compare", "-", "--algorithm", "cubic,reno", "--seeds", 1, input=made.stdout)
    assert done.returncode == 0, done.stderr
    assert "one run proves nothing" in done.stdout


def test_how_algorithms_are_written():
    names = on_link.algorithms(["cubic:beta=0.8,fast_convergence=0,bbr", "./a.c , bbr"])
    assert names == ["cubic:beta=0.8,fast_convergence=0", "bbr", "./a.c"]
    assert len(on_link.algorithms(["all"])) == 28
    with pytest.raises(AckclockError, match="a name is empty"):
        on_link.algorithms(["cubic,,bbr"])


@pytest.mark.usefixtures("link")
def test_mistakes(ackclock, tmp_path):
    refused(ackclock("compare", "link.toml", "--algorithm", "cubik"), "cubik", "cubic")
    refused(ackclock("compare", "link.toml", "--on", "kernel", "--json"), "--json: not with --on")
    (tmp_path / "none.toml").write_text(LINK.partition("[[flow]]")[0] + "[[session]]\n"
                                        'algorithm = "reno"\nsize = "1MB"\n')  # fmt: skip
    refused(ackclock("compare", "none.toml"), "no [[flow]]")
    (tmp_path / "never.toml").write_text('sample_interval = "0s"' + LINK)
    refused(ackclock("compare", "never.toml"), "sample_interval")
