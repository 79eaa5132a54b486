"""The file of a link in time, and what a link does at times."""

import io
import json

import numpy as np
import polars as pl
import pytest

from ackclock import AckclockError, Scenario, _core, run
from common import ROOT

CSV = b"""# rate, delay, loss and whether the link is up
time_s, rate_mbit,delay_ms,loss,up
0,10,5,0,1
2.5,,30,,
3,20,,0.5,0
3.25,,,,true
4,0,,0,1
"""
FIELDS = {"duration": "10s", "rtt": "20ms", "flow": [{"algorithm": "cubic"}]}
MS = 1_000_000


def link_of(tmp_path, content, **more):
    """What a file says, in the canonical form of its link."""
    (tmp_path / "t.csv").write_bytes(content)
    link = {"buffer": "1bdp", "timeline": str(tmp_path / "t.csv")} | more
    return json.loads(Scenario.parse(FIELDS | {"bottleneck": link}).resolve())["bottleneck"]


def steps(link, key, value):
    return [(step["time_ns"], step[value]) for step in link[key]]


def test_csv_and_parquet_say_the_same(tmp_path):
    read = link_of(tmp_path, CSV)
    assert read["rate_bps"] == 10**7
    assert steps(read, "rate_at", "rate_bps") == [(3000 * MS, 2 * 10**7), (4000 * MS, 0)]
    assert (read["delay_ns"], steps(read, "delay_at", "delay_ns")) == (
        5 * MS,
        [(2500 * MS, 30 * MS)],
    )
    losses = [(3000 * MS, 10**9), (3250 * MS, 5 * 10**8), (4000 * MS, 0)]
    assert steps(read, "loss_at", "p_ppb") == losses
    table = pl.DataFrame(
        {
            "time_us": [0, 2_500_000, 3_000_000, 3_250_000, 4_000_000],
            "rate_kbit": [10_000.0, None, 20_000, None, 0],
            "delay_us": [5_000, 30_000, None, None, None],
            "loss": [0.0, None, 0.5, None, 0.0],
            "up": [True, None, False, True, True],
        }
    )
    table.write_parquet(file := io.BytesIO())
    assert link_of(tmp_path, file.getvalue()) == read


def test_other_separators_and_percent(tmp_path):
    """Spaces, tabs and semicolons, as in the traces that players of video are tested with."""
    said = link_of(tmp_path, b"time_s,rate_mbit,loss_percent\n0,2.5,0\n0.5,10,1.5\n")
    assert (said["rate_bps"], steps(said, "rate_at", "rate_bps")) == (
        2_500_000,
        [(500 * MS, 10**7)],
    )
    assert steps(said, "loss_at", "p_ppb") == [(500 * MS, 15 * 10**6)]
    for text in ("time_s rate_mbit\tloss_percent\n0  2.5 0\n0.5\t10\t1.5\n",
                 "time_s;rate_mbit;loss_percent\n0;2.5;0\n0.5;10;1.5\n"):  # fmt: skip
        assert link_of(tmp_path, text.encode()) == said


def test_a_delay_on_each_line_lasts_10_ms(tmp_path):
    read = link_of(tmp_path, b"24\n24\n18.5\n", rate="1mbit")
    assert (read["delay_ns"], steps(read, "delay_at", "delay_ns")) == (
        24 * MS,
        [(20 * MS, 18_500_000)],
    )


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "has no lines"),
        (b"\xff\xfe", "is neither Parquet nor text"),
        (b"PAR1 is not", "is not Parquet"),
        (b"time_s\n1\n", "nothing that changes"),
        (b"rate_mbit\n1\n", "no column of times; write a first line like time_s,rate_mbit"),
        (b"time,rate_mbit\n1,2\n", 'column "time": write its unit into its name: time_ns, time_us'),
        (b"time_s,rate_mbps\n1,2\n", 'column "rate_mbps": write its unit .*rate_mbit'),
        (b"time_s,speed\n1,2\n", 'column "speed": unknown'),
        (b"time_s,rate_mbit\n1,2\n1,3\n", "row 2 is not after the row above it"),
        (b"time_s,rate_mbit\n1,fast\n", 'line 2: rate_mbit = "fast": write a number'),
        (b"time_s,rate_kbit\n1,0.5\n", "line 2: rate_kbit = 0.5: choose from 0 .* or 1 to 1e"),
        (b"time_s,loss\n0,1\n1,2\n", "line 3: loss = 2: choose from 0 to 1"),
        (b"time_s,loss_percent\n0,1\n1,200\n", "loss_percent = 200: choose from 0 to 100"),
        (b"0.0 2.5\n0.5 10\n", 'column "0.0": unknown; write a first line like time_s,rate_mbit'),
        (b"time_s,up\n0,2\n", "line 2: up = 2: choose from 0 or 1"),
        (b"time_s,loss,loss\n0,1,1\n", "CSV|two columns|unknown"),
        (b"24\n-3\n", "delay_ms = -3: choose from 0 to 100000"),
    ],
)
def test_what_is_wrong_with_a_file(tmp_path, content, message):
    (tmp_path / "t.csv").write_bytes(content)
    link = {"rate": "1mbit", "buffer": "1bdp", "timeline": str(tmp_path / "t.csv")}
    with pytest.raises(AckclockError, match=r'^bottleneck\.timeline = ".*t\.csv": .*' + message):
        Scenario.parse(FIELDS | {"bottleneck": link}).resolve()


@pytest.mark.parametrize(
    ("content", "more", "message"),
    [
        ("time_s,rate_mbit\n0,1\n", {"rate": "1mbit"}, "has the rate from 0 s on; remove rate"),
        ("time_s,rate_mbit\n1,1\n", {}, "has no rate from 0 s on; write rate too"),
        ("time_s,rate_mbit\n0,0\n", {}, "has a rate of 0 and no other"),
        ("time_s,delay_ms\n0,1\n", {}, 'has no rate; write for example rate = "100mbit" too'),
        (
            "time_s,delay_ms\n1,1\n",
            {"rate": "1mbit", "delay_at": [{"time": "1s", "delay": "1ms"}]},
            "has delay too; remove delay_at, or that column",
        ),
        (
            "time_s,up\n1,0\n",
            {"rate": "1mbit", "loss": {"kind": "gilbert_elliott", "p": 0.1, "r": 0.1}},
            "has losses, and so has loss",
        ),
    ],
)
def test_what_a_file_and_keys_cannot_both_say(tmp_path, content, more, message):
    (tmp_path / "t.csv").write_text(content)
    link = {"buffer": "1bdp", "timeline": str(tmp_path / "t.csv")} | more
    with pytest.raises(AckclockError, match=message):
        Scenario.parse(FIELDS | {"bottleneck": link}).resolve()


def test_a_file_is_the_same_as_the_keys(tmp_path):
    (tmp_path / "t.csv").write_bytes(CSV)
    link = {"buffer": "1bdp", "timeline": str(tmp_path / "t.csv"), "loss": None}
    read = Scenario.parse(FIELDS | {"bottleneck": link})
    keys = {
        "rate": "10mbit",
        "delay": "5ms",
        "buffer": "1bdp",
        "rate_at": [{"time": "3s", "rate": "20mbit"}, {"time": "4s", "rate": "0bit"}],
        "delay_at": [{"time": "2.5s", "delay": "30ms"}],
        "loss_at": [
            {"time": "3s", "p": 1},
            {"time": "3.25s", "p": 0.5},
            {"time": "4s", "p": 0},
        ],
    }
    assert read.resolve() == Scenario.parse(FIELDS | {"bottleneck": keys}).resolve()


def test_a_delay_trace_beside_a_rate_trace(tmp_path):
    """As LeoReplayer's pairs: a lone packet takes the delay of its time."""
    (tmp_path / "rate.trace").write_text("1\n")
    (tmp_path / "delay.txt").write_text("10\n" * 100 + "35\n" * 100)
    link = {"trace": str(tmp_path / "rate.trace"), "timeline": str(tmp_path / "delay.txt")}
    flow = {"algorithm": "reno", "send_buffer": "1448B"}
    fields = {"duration": "5s", "rtt": "5ms", "jitter": "0s", "delayed_ack_segments": 1}
    fields["flow"] = [flow]
    result = run(Scenario.parse(fields | {"bottleneck": link | {"buffer": "10packets"}}))
    rtt = result.samples.select("time_us", "min_rtt_us", "srtt_us")
    before = rtt.filter(pl.col("time_us") == 900_000)
    after = rtt.filter(pl.col("time_us") == 4_900_000)
    # A packet that comes at a whole ms, at which the trace lets one pass, waits for nothing.
    assert before["srtt_us"].item() == pytest.approx(15_000, abs=1)
    assert after["srtt_us"].item() == pytest.approx(40_000, abs=1)


def test_the_listed_packets_are_lost_and_no_others():
    """One, three in sequence, the last two, which need a probe: three recoveries, no timeout."""
    flows = run(Scenario.from_toml(ROOT / "examples/lost_packets.toml")).flows
    flow = flows.row(0, named=True)
    assert flow["completed_us"] > 0
    assert flow["link_lost_packets"] == flow["retransmitted_packets"] == 6
    assert (flow["recoveries"], flow["timeouts"]) == (3, 0)
    assert flow["sent_packets"] == 6006


def test_outages_lose_what_reaches_the_link_in_them():
    """A steady flow of 1000 packets/s: 16.7 ms every 2 s lose 16 or 17 packets of each outage."""
    link = {"rate": "1gbit", "buffer": "1bdp"}
    link["loss"] = {"kind": "outages", "every": "2s", "lasts": "16.7ms"}
    fields = FIELDS | {"jitter": "0s", "sample_interval": "1ms", "bottleneck": link}
    queues = run(Scenario.parse(fields)).queues
    lost = np.diff(queues["link_lost_packets"].to_numpy())
    at_ms = queues["time_us"].to_numpy()[1:][lost > 0] / 1e3
    assert len(at_ms) > 20
    assert set(at_ms // 2000) == {1, 2, 3, 4}
    assert (at_ms % 2000).max() <= 17


def test_bad_times_are_those_of_the_seed():
    link = {"rate": "10mbit", "buffer": "1bdp"}
    link["loss"] = {"kind": "bad_times", "good": "200ms", "bad": "16.7ms"}
    each = Scenario.parse(FIELDS | {"bottleneck": link})
    (changes,) = _core.loss_changes(each.resolve())
    times, parts = zip(*changes, strict=True)
    assert list(times) == sorted(set(times))
    assert parts == (10**9, 0) * (len(parts) // 2) + (10**9,) * (len(parts) % 2)
    lasts = np.diff([0, *times]) / 1e6
    # 45 of each: the deviation of a mean is 15 %.
    assert np.mean(lasts[0::2]) == pytest.approx(200, rel=0.5)
    assert np.mean(lasts[1::2]) == pytest.approx(16.7, rel=0.5)
    assert _core.loss_changes(each.replace(seed=2).resolve()) != [changes]


def test_netems_limit_is_a_window():
    """200 packets of 40 ms: 60 Mb/s of 1500 bytes, above the rate, so 33 wait at 50 Mb/s."""
    each = Scenario.from_toml(ROOT / "examples/netem.toml").replace(jitter="0s")
    result = run(each)
    longest = result.queues["queue_packets"].max()
    in_delay = 50e6 * 0.040 / 8 / 1500
    assert longest == pytest.approx(200 - in_delay, abs=1)
    assert result.flows["dropped_packets"].item() > 0
    bare = each.replace(bottleneck={"limit_packets": None})
    assert run(bare).queues["queue_packets"].max() == 200


@pytest.mark.parametrize("overtaking", [True, False])
def test_jitter_has_its_mean(overtaking):
    """A window of 20 packets: no queue, no loss."""
    flow = {"algorithm": "reno", "receive_window": "29kB"}
    link = {"rate": "100mbit", "buffer": "100packets", "delay": "30ms"}
    fields = FIELDS | {"jitter": "0s", "flow": [flow]}
    jitter = {"by": "2ms", "distribution": "normal", "overtaking": overtaking}
    result = run(Scenario.parse(fields | {"bottleneck": link | {"delay_jitter": jitter}}))
    rtts_ms = result.samples.filter(pl.col("time_us") > 1e6)["srtt_us"].to_numpy() / 1e3
    assert rtts_ms.mean() == pytest.approx(50, rel=0.04)
    assert 0.2 < rtts_ms.std() < 2


@pytest.mark.parametrize(
    ("link", "message"),
    [
        ({"drop_packets": [3, 2]}, r"drop_packets = \[3, 2\]: write the numbers in order"),
        ({"drop_packets": [3], "drop_every_packets": 9}, "keep one of the two"),
        (
            {"loss": {"kind": "outages", "every": "1s", "lasts": "1s"}},
            'loss.lasts = "1s": must be less than 1s',
        ),
        ({"loss": {"kind": "outages", "every": "1s"}}, "lasts is missing; write for example"),
        ({"delay_jitter": "5ms"}, r"delay_jitter = \"5ms\": write a table, like"),
        ({"loss_at": [{"time": "2s", "p": 1}, {"time": "1s", "p": 0}]}, "not after 2s"),
        ({"limit_packets": 0}, "limit_packets = 0: write a whole number"),
    ],
)
def test_wrong_values_are_refused_by_name(link, message):
    with pytest.raises(AckclockError, match=message):
        Scenario.parse(FIELDS | {"bottleneck": {"rate": "1mbit", "buffer": "9packets"} | link})
