"""Links that Linux has not, in the virtual Linux: each packet is that of the simulator."""

import pytest

from ackclock import Bottleneck, Flow, Scenario
from ackclock.studies.diverge import diverge
from common import ROOT
from virtual import scenario

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("machine")]

LIVES = {"time": "8s", "rate": "33333333bit"}


def dead(**keys):
    """A link that carries nothing for two seconds, and then more."""
    of = {"rate": "20mbit", "buffer": "1bdp", "rate_at": [{"time": "6s", "rate": "0bit"}, LIVES]}
    return Bottleneck(**of | keys)


@pytest.mark.parametrize(
    "each",
    [
        scenario(bottleneck=dead(), duration="12s"),
        scenario(
            Flow(algorithm="cubic"),
            Flow(algorithm="bbr", direction="reverse"),
            bottleneck=dead(buffer="60kB"),
        ),
        Scenario.from_toml(ROOT / "examples" / "cellular.toml").replace(duration="15s"),
    ],
    ids=["dead", "both ways", "recorded"],
)
def test_each_packet_is_that_of_the_simulator(each):
    found = diverge(each)
    assert found.first is found.state is None
    assert len(found.simulated) > 10_000
