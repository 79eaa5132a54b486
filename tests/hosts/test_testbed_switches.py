"""Rules of TCP that the flows on this machine's kernel are without."""

from functools import partial

import pytest

import ackclock
from ackclock import AckclockError, Bottleneck, Flow, Scenario
from common import needs_testbed
from kernels import run

pytestmark = [needs_testbed, pytest.mark.alone]


@pytest.mark.parametrize(("switch", "lost"), [("sack", [40, 42, 44, 46]), ("tlp", [100])])
def test_a_switch_of_all_flows(switch, lost):
    """100 segments, of which some are lost: repairs and timeouts are those of the simulator."""
    link = Bottleneck(rate="10mbit", buffer="1000packets", drop_packets=lost)
    counts = ["retransmitted_packets", "recoveries", "timeouts"]

    def counted(run, algorithm, **fields):
        flow = Flow(algorithm=algorithm, size="100packets", **fields)
        each = Scenario(duration="1500ms", rtt="20ms", bottleneck=link, flows=[flow])
        result = run(each)
        return result.flows.select(counts).row(0)

    for is_on in (True, False):
        fields = {switch: is_on}
        simulated = counted(ackclock.run, "cubic", **fields)
        once = partial(ackclock.kernel.run, attempts=1)
        assert counted(once, "kernel:cubic", **fields) == simulated, is_on


def test_flows_that_share_a_switch():
    flows = Flow(algorithm="reno"), Flow(algorithm="reno", tlp=False)
    with pytest.raises(AckclockError, match=r"flow 2: tlp = false: .* share a sysctl; give all"):
        run(*flows)
