"""Figures on the kernel: what of each paper runs there, and a small one that does."""

import pytest

from ackclock import AckclockError, Bottleneck, Flow, Scenario, metrics, papers, units
from ackclock.figures import crosscheck
from ackclock.figures.crosscheck import Check, mean
from ackclock.hosts import linux, testbed
from ackclock.pages import figure_pages
from common import needs_testbed

FIGURES = papers.load("all")
CHECKS = {each.name: each.figure.kernel for each in FIGURES if each.figure.kernel}
AT_FULL_RATE = {each.name: each.figure.vlinux for each in FIGURES if each.figure.vlinux}
PAPERS = {"cubicfc", "ha2008", "leith2007", "squareff"}
HOST = linux.host("kernel", 2)


def small(seed):
    return Scenario(
        duration="2s",
        rtt="20ms",
        seed=seed,
        bottleneck=Bottleneck(rate="10mbit", buffer="1bdp"),
        flows=(Flow(algorithm="cubic_fc"), Flow(algorithm="reno", start="200ms")),
    )


SMALL = Check(
    setup="small",
    points={"one": small, "other": lambda seed: small(seed).replace(rtt="30ms")},
    reduce=lambda result: {"utilisation": metrics.utilisation(result)},
    quantities={"utilisation": mean("utilisation")},
)


def test_each_paper_has_one_that_this_machine_can_carry():
    assert {name.split("/")[0] for name in CHECKS} == PAPERS
    for check in CHECKS.values():
        for of in check.points.values():
            scenario = of(1)
            assert scenario.profile == "linux-6"
            assert scenario.sessions == ()
            assert int(scenario.bottleneck.rate.removesuffix("mbit")) <= 200
            assert scenario.replace(seed=2) == of(2)


def test_each_paper_has_one_at_its_own_rate():
    rates = {"cubicfc/fig05": {800}, "ha2008/fig05": {400}, "leith2007/fig02": {10, 250, 500},
             "squareff/fig03": {1000}}  # fmt: skip
    assert {name.split("/")[0] for name in AT_FULL_RATE} == PAPERS
    for name, check in AT_FULL_RATE.items():
        for of in check.points.values():
            linux.host("vlinux").check(of(1))
            assert units.rate_bps(of(1).bottleneck.rate) / 1e6 in rates[name]
            assert of(1).replace(seed=2) == of(2)


def fill_on_a_busy_machine(cache, progress):
    """Fills, and resumes where a run had no valid certificate three times."""
    for _ in range(5):
        try:
            crosscheck.fill([SMALL], HOST, seeds=2, cache=cache, progress=progress)
        except AckclockError as error:
            said = str(error)
            assert said.startswith("no valid kernel run"), said
        else:
            return
    pytest.skip(f"this machine keeps time too badly: {said}")


@needs_testbed
@pytest.mark.alone
def test_a_check_runs_is_kept_and_drawn(tmp_path, monkeypatch):
    assert crosscheck.load(SMALL, HOST, cache=tmp_path) is None
    heard = []
    fill_on_a_busy_machine(tmp_path, heard.append)
    assert heard[-1] > 0.8
    monkeypatch.setattr(testbed, "valid_run", None)  # what is kept is not run again
    crosscheck.fill([SMALL], HOST, seeds=2, cache=tmp_path)
    checked = crosscheck.load(SMALL, HOST, cache=tmp_path)
    assert len(checked.certificates) == 4
    header, rows = checked.table().header, checked.table().rows
    assert header == ["quantity", "point", "simulator", "kernel", "intervals overlap"]
    assert [row[1] for row in rows] == ["one", "other"]
    assert "n = 2" in rows[0][3]
    assert checked.estimate("utilisation", "one", "kernel").mean == pytest.approx(0.95, abs=0.1)
    figure_pages.write_checked([("small/one", checked)], tmp_path, command="ackclock reproduce")
    page = (tmp_path / "index.html").read_text()
    assert all(each in page for each in ("small-one-kernel.parquet", "intervals overlap", "<svg"))


@needs_testbed
@pytest.mark.alone
def test_one_that_fails_stops_the_others(tmp_path):
    impossible = Check(
        setup="",
        points={
            "long": lambda seed: small(seed).replace(duration="100s"),
            "refused": lambda seed: small(seed).replace(profile="linux-2.6.25"),
        },
        reduce=dict,
        quantities={},
    )
    with pytest.raises(AckclockError, match="profile"):
        crosscheck.fill([impossible], HOST, seeds=1, cache=tmp_path)
    assert not list(tmp_path.glob("kernel/*"))


def test_what_is_too_fast_for_the_kernel_is_refused(ackclock):
    done = ackclock("reproduce", "cubicfc/table02", "--on", "kernel")
    assert done.returncode == 1
    assert "cubicfc/table02" in done.stderr
    assert "choose from cubicfc/fig05" in done.stderr
    done = ackclock("reproduce", "cubicfc/fig05", "--on", "kernel", "--quick")
    assert (done.returncode, "--quick" in done.stderr) == (1, True)
