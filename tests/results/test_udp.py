"""UDP at a constant rate: what it leaves to others, and what it loses."""

import pytest

from ackclock import AckclockError, Bottleneck, Flow, Result, Scenario, run
from ackclock.results import summary

#: Bits of a full packet, per bit of payload of UDP and of TCP.
UDP, TCP = 1500 / 1472, 1500 / 1448


def udp(rate, **keys):
    return Flow(stack="udp", algorithm="none", rate=rate, **keys)


def scenario(*flows, **keys):
    link = Bottleneck(rate="50mbit", buffer="1bdp")
    return Scenario(**{"duration": "60s", "rtt": "40ms", "bottleneck": link, "flows": flows} | keys)


def mbps(result, flow, overhead):
    return 8 * overhead * result.flows["delivered_bytes"][flow - 1] / 60e6


@pytest.mark.parametrize("algorithm", ["cubic", "bbr"])
def test_tcp_gets_the_rest(algorithm):
    result = run(scenario(udp("20mbit"), Flow(algorithm=algorithm)))
    assert mbps(result, 1, UDP) == pytest.approx(20, rel=0.03)  # what TCP's losses leave of it
    assert mbps(result, 2, TCP) == pytest.approx(30, rel=0.02)
    assert [each["algorithm"] for each in summary.summarise(result)["flows"]] == ["UDP", algorithm]


@pytest.mark.parametrize("rate", [51, 80, 500])
def test_what_the_link_does_not_carry_is_lost(rate, tmp_path):
    result = run(scenario(udp(f"{rate}mbit")))
    (flow,) = result.flows.rows(named=True)
    waits = 167 + 84  # in the queue and on the way at the end
    assert flow["sent_packets"] == pytest.approx(rate * 1e6 * 60 / 12_000, abs=1)
    lost = flow["sent_packets"] * (1 - 50 / rate)
    assert flow["dropped_packets"] == pytest.approx(lost, abs=waits)
    assert flow["retransmitted_packets"] == flow["timeouts"] == 0
    assert Result.load(result.save(tmp_path / "out")).flows.equals(result.flows)


def test_below_the_rate_nothing_waits():
    result = run(scenario(udp("49mbit", start="1s", stop="2s"), sample_interval="1ms"))
    assert result.flows["dropped_packets"].sum() == 0
    assert result.queues["queue_packets"].max() == 1
    assert result.flows["sent_packets"][0] == 4084  # 4083.3, the first at once


@pytest.mark.parametrize(
    ("flow", "says"),
    [
        (Flow(stack="udp", algorithm="none"), "rate = none: udp needs one; write rate ="),
        (Flow(stack="udp", algorithm="cubic", rate="1mbit"), 'udp has no .* control; write "none"'),
        (Flow(algorithm="none"), "only udp has none; choose an algorithm of"),
        (Flow(algorithm="cubic", rate="1mbit"), "only udp has one; write max_pacing_rate"),
        (udp("1mbit", ecn=True), "ecn = true: udp is not told so"),
        (udp("1mbit", size="1MB"), "udp is not told so"),
    ],
)
def test_what_udp_is_not(flow, says):
    with pytest.raises(AckclockError, match=says):
        scenario(flow).check()
