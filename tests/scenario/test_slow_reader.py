"""A reader with a rate of its own: goodput, a window that closes and opens, and its probes."""

import polars as pl
import pytest

from ackclock import Scenario, run

MSS = 1448
RTT_S = 0.04


def scenario(rate: str, *changes: tuple[str, str], **flow: str) -> Scenario:
    """Behind 20 Mb/s."""
    flow = {"algorithm": "cubic", "receive_window": "48kB"} | flow
    reads = {"read_rate": rate, "read_rate_at": [{"time": t, "rate": r} for t, r in changes]}
    return Scenario(
        duration="30s",
        rtt=f"{RTT_S}s",
        jitter="0s",
        bottleneck={"rate": "20mbit", "buffer": "1bdp"},
        flow=[flow | reads],
    )


@pytest.mark.parametrize("algorithm", ["cubic", "bbr", "reno"])
@pytest.mark.parametrize("room", [{}, {"receive_window": None, "receive_buffer": "6MiB"}])
def test_the_goodput_is_the_rate_of_the_reader(algorithm, room):
    result = run(scenario("5mbit", algorithm=algorithm, **room))
    (row,) = result.flows.rows(named=True)
    samples = result.samples.filter(pl.col("time_us") > 10_000_000)
    times_us, delivered = samples["time_us"], samples["delivered_bytes"]
    rate_bps = 8e6 * (delivered[-1] - delivered[0]) / (times_us[-1] - times_us[0])
    assert rate_bps == pytest.approx(5e6, rel=0.02)
    # BBR also keeps itself to the rate that it finds.
    assert row["receive_window_limited_us"] > (0.5 if algorithm == "bbr" else 0.9) * 30e6
    assert row["retransmitted_packets"] == 0


def test_a_closed_window():
    """What a full buffer holds, and what is sent when the window opens again.

    Of twice 47 784 bytes 153 of 256 parts are data. 17 segments share an overhead of 960 bytes
    (16, if one lies in two pieces of 32 KiB), and below a 16th nothing more is offered.
    """
    part = 153 / 256
    most = 2 * 33 * MSS
    parts: list[pl.DataFrame] = []
    run(scenario("0bit", ("20s", "5mbit")), on_packets=parts.append)
    packets = pl.concat(parts)
    closed = packets.filter((pl.col("time_ns") > 5e9) & (pl.col("time_ns") < 20e9))
    held = closed["una_bytes"].max() // MSS
    taken = held * MSS + -(-held // 17) * 960
    assert 0 <= (most - taken) * part < most * part / 16 + MSS
    assert closed["una_bytes"].unique().to_list() == [held * MSS]
    assert closed.filter(kind="data").is_empty()
    opens = packets.filter(kind="data").filter(pl.col("time_ns") > 20e9)
    assert opens["from_bytes"][0] == held * MSS


def test_probes_of_a_closed_window():
    """Each after twice the time: RTO, 2 RTO, …, from the answer to the one before."""
    parts: list[pl.DataFrame] = []
    run(scenario("0bit"), on_packets=parts.append)
    acks = pl.concat(parts).filter(kind="ack").filter(pl.col("time_ns") > 1e9)
    assert acks["timer"].unique().to_list() == ["window_probe"]
    rto_s = acks["rto_us"][0] / 1e6
    gaps_s = acks["time_ns"].diff().drop_nulls() / 1e9
    # Timers of so many jiffies are up to an eighth late.
    doublings = [(gap_s - RTT_S) / rto_s for gap_s in gaps_s]
    for found, before in zip(doublings[1:], doublings, strict=False):
        assert found == pytest.approx(2 * before, rel=0.13)
    assert 2 <= doublings[0] <= 4 * 1.13
