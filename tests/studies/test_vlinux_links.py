"""Links that Linux has not, in the virtual Linux: each packet is that of the simulator."""

import polars as pl
import pytest

from ackclock import Bottleneck, Flow, Scenario, run, vlinux
from ackclock.studies.diverge import diverge
from common import ROOT
from virtual import scenario

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("machine")]

EXAMPLES = {"codel": "10s", "asymmetric": "60s", "rate_steps": "60s"}
QUEUES = ("fq_codel", "fq", "pie", "red")
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
        # Its opportunities are at whole ms, as are TCP's timers.
        Scenario.from_toml(ROOT / "examples" / "cellular.toml")
        .replace(duration="20s", rtt="40.0123ms")
        .assign("bottleneck.queue=codel"),
        *(scenario(bottleneck=dead(queue=queue), duration="12s") for queue in QUEUES),
        *(
            Scenario.from_toml(ROOT / "examples" / f"{name}.toml").replace(duration=duration)
            for name, duration in EXAMPLES.items()
        ),
        scenario(
            Flow(algorithm="cubic"),
            Flow(algorithm="bbr", direction="reverse"),
            bottleneck=Bottleneck(rate="20mbit", buffer="1bdp", drop_every_packets=300),
        ),
    ],
    ids=["dead", "both ways", "recorded", "recorded, codel", *QUEUES, *EXAMPLES, "every 300th"],
)
def test_each_packet_is_that_of_the_simulator(each):
    found = diverge(each)
    assert found.first is found.state is None
    assert len(found.packets["sim"]) > 10_000


#: Numbers → how often segment 500 is sent: those of `lost_packets`, and it again and again.
CHOSEN = [([500, 1500, 1501, 1502, 6003, 6004], 2), ([500, 618, 699], 4)]


@pytest.mark.parametrize(("numbers", "times"), CHOSEN)
def test_chosen_packets_are_lost(numbers, times):
    each = Scenario.from_toml(ROOT / "examples" / "lost_packets.toml")
    found = diverge(each.assign(f"bottleneck.drop_packets={numbers}"))
    assert found.first is found.state is None
    at = 499 * 1448
    has = (pl.col("from_bytes") <= at) & (pl.col("to_bytes") > at)
    assert len(found.packets["sim"].filter(pl.col("kind") == "data", has)) == times


@pytest.mark.parametrize("threshold", ["threshold_packets=20", "threshold=1ms"])
def test_step_marking(threshold):
    """Each packet of the example."""
    each = Scenario.from_toml(ROOT / "examples" / "dctcp.toml")
    found = diverge(each.replace(duration="4s").assign(f"bottleneck.queue.{threshold}"))
    assert found.first is found.state is None
    assert len(found.packets["sim"]) > 30_000


def test_a_sample_is_behind_all_packets_of_its_instant():
    """Of a recorded link many arrive at whole ms, as samples are taken."""
    each = Scenario.from_toml(ROOT / "examples" / "cellular.toml")
    ours, linux = (of(each.replace(jitter="0s", duration="10s")) for of in (run, vlinux.run))
    assert linux.flows.equals(ours.flows)
    # Beside these the simulator has a row for each event.
    last = ours.samples.unique("time_us", keep="last").join(linux.samples, on="time_us")
    assert len(last) == 100
    for column in ("delivered_bytes", "srtt_us", "cwnd_packets", "in_flight_packets"):
        assert last[column].to_list() == last[f"{column}_right"].to_list(), column
