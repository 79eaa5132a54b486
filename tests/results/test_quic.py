"""Flows of QUIC stacks, from a scenario to its tables."""

import polars as pl
import pytest

from ackclock import AckclockError, Bottleneck, Flow, Scenario, metrics, run, vlinux
from ackclock.results import summary

LINK = Bottleneck(rate="20mbit", buffer="1bdp")


def beside(stack="quinn", algorithm="cubic", **keys):
    flows = [Flow(algorithm=algorithm, stack=stack, **keys), Flow(algorithm="cubic")]
    return Scenario(duration="10s", rtt="40ms", bottleneck=LINK, flows=flows)


@pytest.mark.parametrize("stack", ["quinn", "noq"])
def test_a_stack_shares_a_link_with_linux(stack):
    result = run(beside(stack))
    both = summary.summarise(result)["flows"]
    assert [each["algorithm"] for each in both] == [f"{stack} cubic", "cubic"]
    assert all(each["goodput_bps"] > 2e6 for each in both)
    assert 0.9 < sum(each["goodput_bps"] for each in both) / 20e6 < 1
    assert run(beside(stack)).manifest["trace_hash"] == result.manifest["trace_hash"]


def test_its_window_is_in_the_tables():
    result = run(beside())
    own = result.samples.filter(pl.col("flow") == 1)
    assert own["cwnd_packets"].max() > own["cwnd_packets"].min() > 1
    assert own["srtt_us"].max() >= own["min_rtt_us"].max() >= 40_000
    kinds = set(result.events.filter(pl.col("flow") == 1)["kind"])
    assert {"established", "recovery"} <= kinds


@pytest.mark.parametrize("stack", ["quinn", "noq"])
def test_its_rtt_is_that_of_the_path(stack):
    """Until the first ACK a stack guesses 333 ms. TCP's ACKs are no matter."""
    flow = Flow(algorithm="cubic", stack=stack, size="100kB")
    own = {"duration": "2s", "rtt": "100ms", "delayed_ack_segments": 4}
    result = run(Scenario(**own, bottleneck=LINK, flow=[flow]))
    assert result.samples["srtt_us"][0] == result.samples["min_rtt_us"][0] == 0
    assert metrics.mean_rtt_s(result)[1] == pytest.approx(0.105, abs=0.015)
    assert result.samples["min_rtt_us"].max() == pytest.approx(100_000, rel=0.01)


@pytest.mark.parametrize(
    ("keys", "says"),
    [
        ({"algorithm": "vegas"}, "quinn has cubic, reno, bbr of its own; choose one"),
        ({"mss": 1300}, "mss .*quinn is not told so"),
        ({"delayed_ack_segments": 8}, "delayed_ack_segments = 8: quinn is not told so"),
        ({"initcwnd": 1}, "initcwnd = 1: quinn sends only .* write 2 or more"),
        ({"ecn": "accurate"}, "QUIC's counts are accurate"),
    ],
)
def test_what_a_stack_has_not_is_refused(keys, says):
    with pytest.raises(AckclockError, match=says):
        beside(**keys).check()


def test_frames_take_as_long_as_those_of_tcp():
    """10 kB are 7 packets: 4.2 ms at 20 Mb/s. What QUIC delivers is read, an RTT before the ACK."""
    frames = {"frames": {"size": "10136B", "every": "100ms"}}
    scenario = beside(**frames).replace(rtt="40ms", sample_interval="100us", duration="5s")
    both = [
        metrics.frame_delays_s(run(scenario.replace(flow=[flow])), 1, 1, 4.9)
        for flow in (scenario.flow[0], Flow(algorithm="cubic", **frames))
    ]
    assert [len(delays) for delays in both] == [39, 39]
    quic_s, tcp_s = (delays.mean() for delays in both)
    assert tcp_s == pytest.approx(0.040 + 7 * 1500 * 8 / 20e6, abs=2e-4)
    assert quic_s == pytest.approx(7 * 1510 * 8 / 20e6, abs=2e-4)
    (bulk,) = {len(metrics.frame_delays_s(run(beside()), number)) for number in (1, 2)}
    assert bulk == 0


def test_linux_has_no_such_flows():
    with pytest.raises(AckclockError, match='stack = "quinn": not on the virtual Linux'):
        vlinux.check(beside())
