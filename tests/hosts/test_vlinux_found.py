"""Scenarios of a wide draw that once differed from Linux: both sides deliver the same bytes."""

import pytest

from ackclock import Scenario, run
from ackclock.hosts import vlinux
from ackclock.scenario.scenario import KERNEL
from drawn import carried

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("machine")]

#: What parted them → the scenario.
FOUND = {
    "the slack of a compressed ACK's timer": """
        duration = "8s"
        rtt = "18.0602ms"
        pacing = true
        bottleneck = {rate = "400mbit", buffer = "722packets"}
        flow = [
            {algorithm = "reno"},
            {algorithm = "htcp", start = "51.14483ms", rtt = "1.55724ms", size = "15000packets"},
            {algorithm = "scalable", start = "204.26534ms", rtt = "8.1218ms"},
            {algorithm = "reno", start = "141.5375ms", rtt = "2.39218ms"},
        ]""",
}


def of_linux(each):
    """The same with Linux's own algorithms."""
    flows = [flow.model_copy(update={"algorithm": KERNEL + flow.algorithm}) for flow in each.flows]
    return each.replace(flows=flows)


@pytest.mark.parametrize("name", FOUND)
def test_the_same_bytes(name):
    each = Scenario.from_text(FOUND[name], source=name).replace(jitter="0s")
    assert carried(vlinux.run(of_linux(each))) == carried(run(each))
