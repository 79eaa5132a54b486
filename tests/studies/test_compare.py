"""A scenario on the simulator and on this machine's kernel, side by side."""

import json
import platform

import numpy as np
import pytest

import ackclock
from ackclock import Flow, kernel
from ackclock.hosts import linux
from ackclock.studies.compare import Comparison, Quantity
from common import needs_testbed
from kernels import run, scenario

pytestmark = [needs_testbed, pytest.mark.alone]


def test_both_sides_on_one_page(tmp_path):
    flows = Flow(algorithm="cubic"), Flow(algorithm="kernel:reno")
    both = Comparison(
        scenario(*flows),
        [ackclock.run(linux.like(scenario(*flows, seed=seed))) for seed in (1, 2)],
        {"kernel": [run(*flows)]},
    )
    assert both.simulated[0].resolved["hz"] == kernel.hz()
    assert f"Linux {platform.release()}; the simulator has the profile linux-" in both.notes()[0]
    assert [flow["algorithm"] for flow in both.simulated[0].resolved["flows"]] == ["cubic", "reno"]
    measures = {measure.name: measure for measure in both.measures()}
    shares = [measures[f"flow {number}: share"] for number in (1, 2)]
    for of in (lambda each: each.simulated, lambda each: each.measured["kernel"]):
        assert sum(np.mean(of(share)) for share in shares) == pytest.approx(1)
    # What load cannot break.
    assert all(0.9 < used <= 1.001 for used in measures["utilisation"].simulated)
    assert len(measures["utilisation"].measured["kernel"]) == 1
    both.write(tmp_path)
    page = (tmp_path / "index.html").read_text()
    assert "timing: " in page
    assert all(name in page for name in measures)
    manifest = json.loads((tmp_path / "manifest.json").read_text())
    assert [each["name"] for each in manifest["measures"]] == list(measures)


def test_distances():
    used = Quantity("utilisation", [0.9, 1.0], {"kernel": [1.0, 1.01]}, 4, 0.03, absolute=True)
    assert used.distance("kernel") == pytest.approx(-0.055)
    assert used.verdict("kernel") == "fails"
    runs = {"kernel": [90.0, 110.0], "vlinux": [50.0, 51.0]}
    window = Quantity("cwnd", [105.0, 105.0], runs, 1, 0.1)
    assert window.distance("kernel") == pytest.approx(0.05)
    assert window.verdict("kernel") == "holds"
    assert window.verdict("vlinux") == "fails"
    spread = {"kernel": [60.0, 110.0], "vlinux": [60.0, 80.0]}
    window = Quantity("cwnd", [100.0, 130.0], spread, 1, 0.1)
    assert [window.verdict(side) for side in spread] == ["open", "fails"]
    assert Quantity("queue", [1.0] * 2, {"kernel": [9.0] * 2}, 1).verdict("kernel") == ""


def test_one_run_has_no_verdict():
    """With 1 % of losses one window is 14 % off where the mean of 8 is 0.6 % off."""
    window = Quantity("cwnd", [100.0], {"kernel": [50.0], "vlinux": [100.0, 101.0]}, 1, 0.1)
    assert [window.verdict(side) for side in window.measured] == ["", ""]


def test_a_flow_that_ended_in_the_first_half():
    """It has nothing to compare, on one side or on both; the others are judged all the same."""
    long, short = Flow(algorithm="reno"), Flow(algorithm="reno", size="100kB")
    ended = ackclock.run(scenario(long, short))
    stays = ackclock.run(scenario(long, long))
    same, other = (
        {
            measure.name: measure
            for measure in Comparison(None, [ended] * 2, {"kernel": [each] * 2}).measures()
        }
        for each in (ended, stays)
    )
    for name in "flow 2: share", "flow 2: mean cwnd, packets":
        assert list(same[name].simulated) == [0, 0]
        assert [each[name].verdict("kernel") for each in (same, other)] == ["", "fails"]
    assert same["flow 1: share"].verdict("kernel") == "holds"
    both_ended = ackclock.run(scenario(short))
    rows = Comparison(None, [both_ended], {"kernel": [both_ended]}).table().rows
    assert [row[3] for row in rows] == ["+0.0 points", "—", "—"]


def test_the_compare_command(ackclock, tmp_path):
    (tmp_path / "s.toml").write_text(scenario(Flow(algorithm="reno"), duration="2s").to_toml())
    done = ackclock("compare", "s.toml", "--on", "kernel", "-o", "out")
    if done.returncode:  # on a machine too busy to keep time
        assert "no valid kernel run in 3" in done.stderr
    else:
        assert "utilisation" in done.stdout
        assert "one run proves nothing, so there is no verdict: --seeds 10" in done.stdout
        assert (tmp_path / "out" / "index.html").exists()
    never = scenario(Flow(algorithm="reno"), sample_interval="0s")
    (tmp_path / "never.toml").write_text(never.to_toml())
    refused = ackclock("compare", "never.toml", "--on", "kernel")
    assert (refused.returncode, refused.stderr.count("\n")) == (1, 1)


def test_a_kernel_has_the_profile_of_its_series():
    releases = {"6.12.117": "linux-6", "6.18.44-fc": "linux-6", "7.3.4+deb13": "linux-7"}
    assert {each: kernel.profile(each) for each in releases} == releases
    assert linux.like(scenario(Flow(algorithm="reno")), "vlinux:7.3").profile == "linux-7"
