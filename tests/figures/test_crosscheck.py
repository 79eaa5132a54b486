"""Figures on the kernel: what of each paper runs there, and a small one that does."""

from typing import NamedTuple

import pytest

from ackclock import AckclockError, Bottleneck, Flow, Scenario, metrics, papers, units
from ackclock.figures import Check, Experiment, crosscheck, grid
from ackclock.hosts import linux, testbed, vlinux
from ackclock.hosts.work import Work
from ackclock.pages import figure_pages
from common import needs_testbed

FIGURES = papers.load("all")
CHECKS = {each.name: each.figure.kernel for each in FIGURES if each.figure.kernel}
AT_FULL_RATE = {each.name: each.figure.vlinux for each in FIGURES if each.figure.vlinux}
PAPERS = {"cubicfc", "ha2008", "leith2007", "squareff"}
HOST = linux.host("kernel", 2)


class Row(NamedTuple):
    utilisation: float


def row(result) -> Row:
    return Row(metrics.utilisation(result))


def small(rtt_ms):
    return Scenario(
        duration="2s",
        rtt=f"{rtt_ms}ms",
        bottleneck=Bottleneck(rate="10mbit", buffer="1bdp"),
        flows=(Flow(algorithm="cubic_fc"), Flow(algorithm="reno", start="200ms")),
    )


SMALL = Check(
    setup="small",
    experiment=Experiment("small", grid(rtt_ms=[20, 30]), small, row, says={"rtt_ms": "{} ms"}),
    quantities={"use": "utilisation"},
)


def test_each_paper_has_one_that_this_machine_can_carry():
    assert {name.split("/")[0] for name in CHECKS} == PAPERS
    for check in CHECKS.values():
        for _, seed, scenario in check.repeats(2):
            assert scenario.seed == seed
            assert scenario.profile == "linux-6"
            assert scenario.sessions == ()
            assert int(scenario.bottleneck.rate.removesuffix("mbit")) <= 200


def test_each_paper_has_one_at_its_own_rate():
    rates = {"cubicfc/fig05": {800}, "ha2008/fig05": {400}, "leith2007/fig02": {10, 250, 500},
             "squareff/fig03": {1000}}  # fmt: skip
    assert {name.split("/")[0] for name in AT_FULL_RATE} == PAPERS
    for name, check in AT_FULL_RATE.items():
        for _, _, scenario in check.repeats(1):
            vlinux.check(scenario)
            assert units.rate_bps(scenario.bottleneck.rate) / 1e6 in rates[name]


def fill_on_a_busy_machine(cache, progress):
    """Fills, and resumes where a run had no valid certificate three times."""
    for _ in range(5):
        try:
            crosscheck.fill([SMALL], HOST, seeds=2, work=Work(cache, progress=progress))
        except AckclockError as error:
            said = str(error)
            assert said.startswith("no valid kernel run"), said
        else:
            return
    pytest.skip(f"this machine keeps time too badly: {said}")


@needs_testbed
@pytest.mark.alone
def test_a_check_runs_is_kept_and_drawn(tmp_path, monkeypatch):
    assert crosscheck.load(SMALL, HOST, Work(tmp_path)) is None
    heard = []
    fill_on_a_busy_machine(tmp_path, heard.append)
    assert heard[-1] > 0.8
    monkeypatch.setattr(testbed, "valid_run", None)  # what is kept is not run again
    crosscheck.fill([SMALL], HOST, seeds=2, work=Work(tmp_path))
    checked = crosscheck.load(SMALL, HOST, Work(tmp_path))
    assert len(checked.certificates) == 4
    header, rows = checked.table().header, checked.table().rows
    assert header == ["quantity", "point", "simulator", "kernel", "intervals overlap"]
    assert [row[1] for row in rows] == ["20 ms", "30 ms"]
    assert "n = 2" in rows[0][3]
    (column,), point = SMALL.columns, {"rtt_ms": 20}
    assert checked.estimates(column, point)[1].mean == pytest.approx(0.95, abs=0.1)
    command = "ackclock reproduce"
    figure_pages.write_checked([("small/one", checked)], tmp_path, command=command, pdf=True)
    page = (tmp_path / "index.html").read_text()
    assert all(
        each in page for each in ("small-one-kernel.parquet", "small-one-kernel.pdf", "<svg")
    )


@needs_testbed
@pytest.mark.alone
def test_one_that_fails_stops_the_others(tmp_path):
    def scenario(profile):
        return small(20).replace(duration="100s", profile=profile)

    points = grid(profile=["linux-6", "linux-2.6.25"])
    impossible = Check("", Experiment("long", points, scenario, row), {"use": "utilisation"})
    with pytest.raises(AckclockError, match="profile"):
        crosscheck.fill([impossible], HOST, seeds=1, work=Work(tmp_path))
    assert not list(tmp_path.glob("kernel/*"))


def test_what_is_too_fast_for_the_kernel_is_refused(ackclock):
    done = ackclock("reproduce", "cubicfc/table02", "--on", "kernel")
    assert done.returncode == 1
    assert "cubicfc/table02" in done.stderr
    assert "choose from cubicfc/fig05" in done.stderr
    done = ackclock("reproduce", "cubicfc/fig05", "--on", "kernel", "--quick")
    assert (done.returncode, "--quick" in done.stderr) == (1, True)
