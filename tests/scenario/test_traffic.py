"""Background traffic offers what it claims."""

import numpy as np
import pytest

from ackclock import Bottleneck, Scenario, run, traffic


@pytest.mark.parametrize(("rate", "share"), [("400mbit", 0.15), ("800mbit", 0.1)])
def test_background_takes_its_share_of_an_idle_link_both_ways(rate, share):
    taken = []
    for seed in (1, 2, 3):
        scenario = Scenario(
            duration="150s",
            profile="linux-2.6.25",
            seed=seed,
            sample_interval="150s",
            bottleneck=Bottleneck(rate=rate, buffer="1bdp"),
            sessions=traffic.background(rate, share),
        )
        queues = run(scenario).queues
        rate_bps = 1e6 * int(rate.removesuffix("mbit"))
        assert queues["queue"].to_list() == [1, 2]
        assert (queues["dropped_packets"] == 0).all()
        taken.append(8 * queues["sent_bytes"].to_numpy() / (150 * rate_bps))
    # Queue 1 has the ACKs of queue 2's data besides its own, some 2 % of them.
    assert np.mean(taken, axis=0) == pytest.approx([1.02 * share] * 2, rel=0.1)


def test_a_share_too_small_for_a_source_still_has_one_of_each_kind():
    sessions = traffic.background("1mbit", 0.01)
    assert [each.count for each in sessions] == [1, 1, 1, 1]
    assert {each.direction for each in sessions} == {"forward", "reverse"}
