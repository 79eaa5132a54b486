"""Keys that a socket's option, a route or a sysctl carries to this machine's kernel."""

import pytest

from ackclock import AckclockError, Bottleneck, Flow, Scenario, kernel
from common import needs_testbed
from kernels import run, scenario

pytestmark = [needs_testbed, pytest.mark.alone]

MSS = 1448


def test_each_flow_has_its_mss():
    result = run(
        Flow(algorithm="reno", mss=1000),
        Flow(algorithm="reno"),
        rate="100mbit",
    )
    for row, mss in zip(result.flows.iter_rows(named=True), (1000, MSS), strict=True):
        arrived = row["sent_packets"] - row["dropped_packets"]
        assert 0.9 * arrived < row["delivered_bytes"] / mss <= arrived


def test_what_a_route_gives():
    """The initial window; and how often a sender tries while a link is dead for a second."""
    steps = [{"time": "1s", "rate": "0bit"}, {"time": "2s", "rate": "20mbit"}]
    dead = Bottleneck(rate="20mbit", buffer="1bdp", rate_at=steps)
    timeouts = {}
    for rto_min in ("20ms", None):
        flow = Flow(algorithm="reno", rtt="20ms", initcwnd=12, rto_min=rto_min)
        one = Scenario(duration="2s", bottleneck=dead, flows=[flow])
        result = kernel.run(one, attempts=3)
        assert result.events["cwnd_packets"][0] == 12
        timeouts[rto_min] = result.flows["timeouts"][0]
    assert timeouts["20ms"] > timeouts[None]


def test_a_window_that_receivers_tune():
    fields = {"rate": "200mbit", "buffer": "1bdp", "duration": "2s"}
    limited = run(Flow(algorithm="reno", rtt="20ms", receive_buffer="200kB"), **fields)
    (row,) = limited.flows.iter_rows(named=True)
    assert row["receive_window_limited_us"] > 0.5e6
    assert 20_000 * 2 / 0.02 < row["delivered_bytes"] < 200_000 * 2 / 0.02


@pytest.mark.parametrize("key", [{"initcwnd": 20}, {"rto_min": "40ms"}, {"receive_buffer": "1MB"}])
def test_flows_that_differ_in_what_they_share_are_refused(key):
    (name,) = key
    with pytest.raises(
        AckclockError, match=rf"flow 2: {name}.*not on the kernel: all of its flows"
    ):
        run(Flow(algorithm="reno", **key), Flow(algorithm="reno"))


def test_a_session_of_the_kernels_own_algorithm_is_refused_for_being_a_session():
    source = {"algorithm": "kernel:cubic", "size": "9kB", "gap": "1s"}
    with pytest.raises(AckclockError, match=r"\[\[session\]\].*use the simulator or vlinux"):
        kernel.check(scenario(sessions=[source]))
