"""Every scenario of examples/ runs."""

import polars as pl
import pytest

from ackclock import Scenario, metrics, run
from common import ROOT


@pytest.mark.parametrize("path", sorted((ROOT / "examples").glob("*.toml")), ids=lambda p: p.stem)
def test_example(path):
    result = run(Scenario.from_toml(path))
    link = result.resolved["bottleneck"]
    passes = link["policer"]["rate_bps"] / link["rate_bps"] if "policer" in link else 1
    # A flow whose application pauses, or whose window is small, leaves the link idle.
    flows = result.resolved["flows"]
    idle = {"writes", "receive_buffer_bytes", "rto_min_ns"}
    pauses = not flows or any(flow.keys() & idle for flow in flows)
    assert (0 if pauses else 0.9) < metrics.utilisation(result) / passes <= 1
    assert (result.flows["delivered_bytes"] > 0).all()


def test_after_idle():
    """From 10 packets 208 take five round trips, with the last window one and 25 ms."""
    flows = run(Scenario.from_toml(ROOT / "examples" / "after_idle.toml")).flows
    requests = flows["delivered_bytes"] / (208 * 1448)
    assert requests.to_list() == [1 + 120 // (3 + 0.5), 1 + 120 // (3 + 0.125)]


@pytest.mark.parametrize(("rto_min", "least_ms", "most_ms"), [("200ms", 200, 300), ("5ms", 21, 30)])
def test_incast(rto_min, least_ms, most_ms):
    """What has lost its end is sent again after the smallest timeout."""
    scenario = Scenario.from_toml(ROOT / "examples" / "incast.toml")
    servers = scenario.flow[0].replace(rto_min=rto_min)
    flows = run(scenario.replace(flow=[servers])).flows
    assert flows["timeouts"].sum() > 0
    assert least_ms < flows["completed_us"].max() / 1000 < most_ms


def test_readers():
    """Bulk: an ACK for two segments (RFC 1122, 4.2.3.2); at once: for the end of a burst, too."""
    parts: list[pl.DataFrame] = []
    run(Scenario.from_toml(ROOT / "examples" / "readers.toml"), on_packets=parts.append)
    acks = pl.concat(parts).filter(kind="ack", state="open").filter(pl.col("time_ns") > 1e9)
    acked = acks.with_columns(pl.col("ack_bytes").diff().over("flow") / 1448)
    shares = {
        (flow, segments): (acked.filter(flow=flow)["ack_bytes"] == segments).mean()
        for flow in (1, 2)
        for segments in (1, 2)
    }
    assert shares[2, 2] > 0.99
    assert 0.35 < shares[1, 1] < 0.5
    assert shares[1, 1] + shares[1, 2] > 0.99
