"""Each command of docs/class.md runs, and its answers are what the runs have."""

import re

import numpy as np
import polars as pl
import pytest

import tutorial
from ackclock import Result, Scenario, metrics, run
from common import ROOT

PAGE = (ROOT / "docs" / "class.md").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def directory(tmp_path_factory):
    return tutorial.follow("class", tmp_path_factory.mktemp("ackclock"))


@pytest.fixture
def results(directory):
    return lambda *names: [Result.load(directory / name) for name in names]


@pytest.fixture
def answers():
    found = re.findall(r"<summary>Answer</summary>\n(.*?)</details>", PAGE, re.DOTALL)
    return [" ".join(each.split()) for each in found]


def goodputs_mbps(result):
    return metrics.goodput_bps(result) / 1e6


def mean_rtt_ms(result):
    return metrics.mean_rtt_s(result)[1] * 1e3


def events(result, kind):
    return result.events.filter(pl.col("kind") == kind)


def test_it_has_six_exercises_with_curves_and_answers(answers, directory):
    assert len(answers) == len(re.findall(r"^## \d\. ", PAGE, re.MULTILINE)) == 6
    assert tutorial.pictures("class") == list("123456")
    for name in tutorial.pictures("class"):
        written = (ROOT / "docs" / f"class-{name}.svg").stat().st_size
        assert written < 100_000
        assert written == (directory / f"{name}.svg").stat().st_size, "run `make docs`"


def test_slow_start(answers, results):
    plain, hystart = results("plain", "hystart")
    most = events(plain, "recovery")["cwnd_packets"][0]
    end = events(hystart, "slow_start_exit")["cwnd_packets"][0]
    lost = [each.flows["retransmitted_packets"].sum() for each in (plain, hystart)]
    assert f"doubles to {most}, and {lost[0]} packets" in answers[0]
    assert f"slow start at {end}; the first loss comes later, and costs {lost[1]} " in answers[0]


def test_buffers(answers, results):
    runs = results("shallow", "bdp", "deep")
    goodputs = [f"{goodputs_mbps(each)[0]:.1f}" for each in runs]
    rtts = [f"{mean_rtt_ms(each):.0f}" for each in runs]
    assert "Goodput is {}, {} and {} Mb/s".format(*goodputs) in answers[1]
    assert "the mean RTT is {}, {} and {} ms".format(*rtts) in answers[1]


def test_the_curve_of_cubic(answers, results):
    (curve,) = results("curve")
    at_s = np.array([21.2, 27.3, 41.5])
    losses = events(curve, "recovery").filter((pl.col("time_us") / 1e6).round(1).is_in(at_s))
    assert losses["cwnd_packets"].to_list() == [845, 836, 845]
    w_max = 836 * 1.7 / 2
    k_s = ((w_max - losses["ssthresh_packets"][1]) / 0.4) ** (1 / 3)
    assert f"W_max is {w_max:.0f}, so K = ∛(({w_max:.0f} − 585) / 0.4) = {k_s:.1f} s" in answers[2]
    # To the plateau, and as long beyond.
    assert at_s[2] - at_s[1] == pytest.approx(2 * k_s, abs=1)  # with the recovery


def means_mbps(toml, seeds=10, **changed):
    scenario = Scenario.from_text(toml, source="").replace(**changed)
    every = [goodputs_mbps(run(scenario.replace(seed=seed))) for seed in range(1, seeds + 1)]
    return np.mean(every, axis=0)


def test_fairness(answers, directory):
    toml = (directory / "two.toml").read_text()
    near, far = (means_mbps(toml, duration="120s", rtt=each) for each in ("5ms", "160ms"))
    assert near.round() == pytest.approx([24, 24])
    assert "CUBIC gets {:.0f} Mb/s and Reno {:.0f},".format(*far) in answers[3]
    for name in ("Reno", "CUBIC"):
        alike = re.sub(r'algorithm = ".*"', f'algorithm = "{name.lower()}"', toml)
        short, long = means_mbps(f'{alike}rtt = "160ms"\n', duration="120s")
        assert f"with {name} {short:.0f} to {long:.0f}" in answers[3]


def test_a_queue_that_is_managed(answers, results):
    tail, codel, ecn = results("tail", "codel", "ecn")
    rtts = [f"{mean_rtt_ms(each):.0f}" for each in (tail, codel)]
    goodputs = [f"{goodputs_mbps(each)[0]:.1f}" for each in (tail, codel)]
    assert (
        "RTT falls from {} to {} ms, goodput from {} to {} Mb/s".format(*rtts, *goodputs)
        in (answers[4])
    )
    lost = [each.flows["retransmitted_packets"].sum() for each in (tail, codel, ecn)]
    assert f"loses {lost[0]} packets, CoDel {lost[1]};" in answers[4]
    assert lost[2] == 0
    assert f"it marks {ecn.queues['marked_packets'].max()}, and none" in answers[4]


def test_bbr_and_an_algorithm_of_ones_own(answers, directory, results):
    (shallow,) = results("bbr")
    toml = (directory / "two.toml").read_text().replace("reno", "bbr")
    deep = means_mbps(toml.replace("1bdp", "8bdp"), seeds=1)
    cubic, bbr = goodputs_mbps(shallow)
    assert f"BBR gets {bbr:.0f} Mb/s and CUBIC {cubic:.0f}:" in answers[5]
    assert "CUBIC gets {:.0f} and BBR {:.0f}:".format(*deep) in answers[5]

    def beside_mbps(beta):
        mine = f"{directory}/my_cc.c:beta={beta}"
        return means_mbps(toml.replace("bbr", mine))

    cubic, mine = beside_mbps(0.8)
    assert f"flow gets {mine:.0f} to CUBIC's {cubic:.0f}," in answers[5]
    cubic, mine = beside_mbps(0.7)
    assert mine == pytest.approx(cubic, rel=0.1)
