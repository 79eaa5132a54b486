"""The scenarios of an attack: every candidate runs, and says what it is."""

import numpy as np
import pytest

from ackclock.base import units
from ackclock.questions.card import ALONE
from ackclock.questions.trouble import VARIED, Trouble, decoded

SIZE = sum(VARIED.values())


@pytest.mark.parametrize("hurt", ["R3", "R5", "R7"])
def test_every_candidate_can_run(hurt):
    random = np.random.default_rng(1)
    corners = [np.zeros(SIZE), np.ones(SIZE), np.full(SIZE, 0.25), np.full(SIZE, 0.5)]
    for genes in [*corners, *random.random((60, SIZE))]:
        trouble = decoded(genes, tuple(VARIED), hurt)
        trouble.scenario("reno", 1).check()
        if hurt == "R7":
            trouble.scenario(ALONE, 1).check()
        assert (trouble.second is not None) == (hurt == "R5")
        for simpler in trouble.simpler():
            if hurt != "R7" or simpler.cross:
                simpler.scenario("reno", 1).check()


def test_what_does_not_vary_is_not_there():
    assert decoded([0.5, 0.5, 0.5], ["link"], "R3") == Trouble(
        rate_bps=pytest.approx(20e6),
        rtt_ms=pytest.approx(40),
        buffer_bdp=pytest.approx(0.632, rel=1e-3),
    )
    assert decoded([0.5], ["queue"], "R7").cross == ("bbr", 1, 0.0)


def test_pulses_have_the_rate_that_they_say():
    """By hand: 50 Mb/s for 50 ms are 208 packets, 21 flows of 10; in each second 2.52 Mb/s."""
    trouble = Trouble(pulses=(1.0, 1.0, 1.0))
    assert trouble.pulse_flows == 21
    assert trouble.pulse_bps == 21 * 10 * 12_000
    flow = trouble.scenario("reno", 1).flows[1]
    assert units.size_bytes(flow.frames.size) == 10 * 1448
    assert (flow.count, flow.hides) == (21, "losses")
