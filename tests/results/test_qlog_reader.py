"""A qlog of any sender as tables."""

import json
from pathlib import Path

import polars as pl
import pytest

from ackclock import AckclockError, Scenario, run
from ackclock.results.metrics import throughput_bps
from ackclock.results.qlog_reader import as_result, read

MSS = 1448
METRICS = "quic:recovery_metrics_updated"
LINK = """
duration = "2s"
rtt = "40ms"
[bottleneck]
rate = "10mbit"
buffer = "1bdp"
[[flow]]
algorithm = "cubic"
"""


def log(path, events, *, sequence=True, **common):
    """A log of somebody else's stack: `events` are of time in ms, name and data."""
    rows = [{"time": at, "name": name, "data": data} for at, name, data in events]
    head = {"common_fields": common}
    if sequence:
        records = [{"file_schema": "urn:ietf:params:qlog:file:sequential", "trace": head}, *rows]
        path.write_text("".join(f"\x1e{json.dumps(each)}\n" for each in records))
    else:
        path.write_text(json.dumps({"qlog_version": "0.3", "traces": [head | {"events": rows}]}))
    return path


def tables(path, duration_s=1):
    of = {
        "mss_bytes": MSS,
        "duration_us": duration_s * 1_000_000,
        "interval_us": 100_000,
        "rtt_us": 40_000,
    }
    return read(path, **of)


#: Two losses: of the first two packets are known to be lost, and the window is cut once.
EVENTS = [
    (0, METRICS, {"congestion_window": 10 * MSS, "smoothed_rtt": 40.5}),
    (250, METRICS, {"congestion_window": 100 * MSS, "bytes_in_flight": 99 * MSS}),
    (300, "recovery:packet_lost", {"header": {"packet_number": 7}}),
    (300, "recovery:packet_lost", {}),
    (300, METRICS, {"congestion_window": 70 * MSS, "ssthresh": 70 * MSS}),
    (400, METRICS, {"congestion_window": 69 * MSS}),
    (990, "quic:packet_sent", {}),
]


@pytest.mark.parametrize("sequence", [True, False])
@pytest.mark.parametrize("zero_ms", [0, 1.7e12])
def test_windows_and_losses(sequence, zero_ms, tmp_path):
    events = [(at + zero_ms, name, data) for at, name, data in EVENTS]
    found = tables(log(tmp_path / "a.qlog", events, sequence=sequence))
    samples = found.samples.rows_by_key("time_us", named=True, unique=False)
    assert [samples[at][0]["cwnd_packets"] for at in (0, 200_000, 400_000)] == [10, 10, 69]
    assert samples[300_000][0]["ssthresh_packets"] == 70
    assert samples[200_000][0]["ssthresh_packets"] == 0x7FFFFFFF
    assert samples[1_000_000][0]["lost_packets"] == 2
    assert samples[0][0]["srtt_us"] == 40_500
    (recovery,) = found.events.rows(named=True)
    assert (recovery["time_us"], recovery["kind"]) == (300_000, "recovery")
    assert [recovery[f"{key}_packets"] for key in ("cwnd", "ssthresh", "in_flight")] == [
        100,
        70,
        99,
    ]
    # A window that falls without a loss is no recovery, and no log of states tells no other event.
    assert found.kinds == {"recovery"}
    assert "delivered_bytes" not in found.samples.columns


def test_states(tmp_path):
    name = "recovery:congestion_state_updated"
    events = [
        *EVENTS[:2],
        (260, name, {"old": "slow_start", "new": "congestion_avoidance"}),
        (280, name, {"new": "recovery", "trigger": "persistent_congestion"}),
        *EVENTS[2:],
        (500, name, {"old": "recovery", "new": "congestion_avoidance"}),
    ]
    found = tables(log(tmp_path / "a.qlog", events))
    assert found.events["kind"].to_list() == ["slow_start_exit", "timeout", "recovered"]
    assert {"timeout", "recovered"} < found.kinds


def test_its_own_packets(tmp_path):
    """Windows are packets of the sender's size; times may be of the event before."""
    events = [(0, "recovery:parameters_set", {"max_datagram_size": 1200})]
    events += [(10, METRICS, {"congestion_window": "12000"})]
    events += [(495, "quic:packet_sent", {}), (490, "quic:packet_sent", {})]
    found = tables(log(tmp_path / "a.qlog", events, time_format="relative_to_previous_event"))
    assert found.samples["cwnd_packets"].to_list() == [10] * 10
    assert found.samples["time_us"].min() == 100_000


#: A log of one event.
ONE = '{"traces": [{"events": [{"time": 0, "name": "recovery:metrics_updated", "data": %s}]}]}'


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("{", "line 1: is no JSON; write qlog"),
        ("[]", "has no list of traces"),
        ('{"traces": [{}]}', "trace 1: has no list of events"),
        (
            '{"traces": [{"events": [[1, "a", {}]]}]}',
            "trace 1: event 1: is no object; write qlog",
        ),
        ('{"traces": [{"events": [{"time": 1}]}]}', "trace 1: event 1: has no name"),
        (
            '\x1e{"trace": {}}\n\x1e{"time": "x", "name": "a", "data": {}}',
            'line 2: time = "x": write',
        ),
        ('{"a": 1}\n{"b": 2', "line 2: is no JSON"),
        (
            '{"traces": [{"events": []}]}',
            "has no recovery:metrics_updated with a congestion",
        ),
        (
            ONE % '{"congestion_window": -1}',
            "trace 1: event 1: congestion_window = -1: write a number from 0",
        ),
        (
            ONE % "1",
            "trace 1: event 1: data = 1: write an object",
        ),
        ("\xff", "line 1: is no JSON"),
    ],
)
def test_what_is_no_log(text, says, tmp_path):
    path = tmp_path / "a.qlog"
    path.write_text(text)
    with pytest.raises(AckclockError) as error:
        tables(path)
    assert str(error.value).startswith(f"{path}: {says}")
    assert "\n" not in str(error.value)


def test_a_short_log(tmp_path):
    path = log(tmp_path / "a.qlog", EVENTS)
    with pytest.raises(
        AckclockError, match=r"ends after 0.99 s, and the case takes 60 s; send for"
    ):
        tables(path, duration_s=60)


def test_a_log_of_aioquic():
    """Events of aioquic 1.7.2 with CUBIC in `ackclock shell` at 20 Mb/s and 40 ms."""
    found = tables(Path(__file__).with_name("aioquic.qlog"), duration_s=3)
    # Of 1200 bytes each, as most of its packets; without states it says when no phase ends.
    row = found.samples.filter(pl.col("time_us") == 2_800_000).row(0, named=True)
    assert (row["cwnd_packets"], row["srtt_us"], row["min_rtt_us"]) == (141, 67_978, 40_780)
    (recovery,) = found.events.rows(named=True)
    assert (recovery["kind"], recovery["time_us"] // 1000) == ("recovery", 2922)
    assert (recovery["cwnd_packets"], recovery["ssthresh_packets"]) == (144, 96)
    assert found.kinds == {"recovery"}


#: Before qlog 0.3 an event is an array: of picoquic (aioquic's of that time has ms), and of mvfst.
ARRAYS = [
    (
        ["relative_time", "category", "event", "data"],
        [
            [4000, "transport", "packet_sent", {"header": {"packet_size": 1440}}],
            [5000, "recovery", "metrics_updated", {"cwnd": 14400, "smoothed_rtt": 40500}],
            [300_000, "recovery", "packet_lost", {"packet_number": 12}],
            [300_000, "recovery", "metrics_updated", {"cwnd": 7200}],
            [990_000, "transport", "packet_sent", {"header": {"packet_size": 1440}}],
        ],
    ),
    (
        ["relative_time", "CATEGORY", "EVENT_TYPE", "TRIGGER", "DATA"],
        [
            ["4000", "TRANSPORT", "PACKET_SENT", "DEFAULT", {"packet_size": 1440}],
            ["5000", "RECOVERY", "METRIC_UPDATE", "DEFAULT", {"smoothed_rtt": 40500}],
            ["5000", "METRIC_UPDATE", "CONGESTION_METRIC_UPDATE", "", {"current_cwnd": 14400}],
            ["300000", "LOSS", "PACKETS_LOST", "DEFAULT", {"lost_packets": 1}],
            ["300000", "METRIC_UPDATE", "CONGESTION_METRIC_UPDATE", "", {"current_cwnd": 7200}],
            ["990000", "TRANSPORT", "PACKET_SENT", "DEFAULT", {"packet_size": 1440}],
            [],
        ],
    ),
]


@pytest.mark.parametrize(("fields", "events"), ARRAYS)
def test_events_that_are_arrays(fields, events, tmp_path):
    trace = {"event_fields": fields, "events": events, "configuration": {"time_units": "us"}}
    path = tmp_path / "a.qlog"
    path.write_text(json.dumps({"qlog_version": "draft-00", "traces": [trace]}))
    found = tables(path)
    row = found.samples.filter(pl.col("time_us") == 200_000).row(0, named=True)
    assert (row["cwnd_packets"], row["srtt_us"]) == (10, 40_500)
    assert found.events["kind"].to_list() == ["recovery"]
    assert found.samples["cwnd_packets"][-1] == 5
    assert found.samples["lost_packets"][-1] == 1
    trace["configuration"]["time_units"] = "ns"
    path.write_text(json.dumps({"traces": [trace]}))
    with pytest.raises(AckclockError, match='time_units = "ns": choose "ms" or "us"'):
        tables(path)


def test_states_without_the_old_one(tmp_path):
    """As quic-go's and neqo's; what is no state of congestion control changes none."""
    name = "recovery:congestion_state_updated"
    events = [
        *EVENTS[:2],
        (100, name, {"new": "slow_start"}),
        (200, name, {"new": "application_limited"}),
        (260, name, {"new": "congestion_avoidance"}),
        (270, name, {"old": "congestion_avoidance", "new": "recovery_start"}),
        (280, name, {"old": "recovery_start", "new": "recovery"}),
        *EVENTS[2:],
        (500, name, {"old": "recovery", "new": "congestion_avoidance"}),
    ]
    found = tables(log(tmp_path / "a.qlog", events))
    assert found.events["kind"].to_list() == ["slow_start_exit", "recovery", "recovered"]


def test_connections_of_one_log(tmp_path):
    """A server's: the one without a window is left out; no limit of a threshold is one."""
    path = tmp_path / "a.sqlog"
    rows = [{"qlog_version": "0.3", "trace": {}}]
    rows += [
        {"time": at, "name": name, "data": data, "group_id": group}
        for at, name, data, group in [
            (0, METRICS, {"congestion_window": 10 * MSS, "ssthresh": 2**64 - 1}, "a"),
            (1, METRICS, {"congestion_window": 20 * MSS}, "b"),
            (2, "transport:packet_received", {}, "c"),
            (980, "transport:packet_received", {}, "a"),
            (990, "transport:packet_received", {}, "b"),
        ]
    ]
    path.write_text("".join(f"{json.dumps(each)}\n" for each in rows))
    with path.open("a") as file:
        file.write('{"time": 995, "na')  # its writer was killed
    last = tables(path).samples.filter(pl.col("time_us") == 1_000_000)
    assert last["cwnd_packets"].to_list() == [10, 20]
    assert last["ssthresh_packets"].to_list() == [0x7FFFFFFF] * 2


def test_a_log_is_drawn(tmp_path, ackclock):
    """A bulk transfer: 10 packets of 1200 bytes every 10 ms, of which one is lost."""
    events = [(0, METRICS, {"congestion_window": 12_000, "smoothed_rtt": 40})]
    for at in range(0, 2000, 10):
        events += [(at, "quic:packet_sent", {"raw": {"length": 1200}})] * 10
        events += [(at, METRICS, {"bytes_in_flight": 12_000})]
    events += [(1000, "recovery:packet_lost", {}), (1000, METRICS, {"congestion_window": 8_400})]
    result = as_result(log(tmp_path / "a.sqlog", events))
    (flow,) = result.flows.iter_rows(named=True)
    assert flow["delivered_bytes"] == 1200 * (2000 - 10 - 1)
    assert (flow["recoveries"], flow["completed_us"]) == (1, 0)
    rates = throughput_bps(result, [0.5, 0.9])
    assert rates.tolist() == [[pytest.approx(9.6e6, rel=0.03)]]
    run(Scenario.from_text(LINK, source="s.toml")).save(tmp_path / "sim")
    done = ackclock("plot", tmp_path / "sim", tmp_path / "a.sqlog", "-o", tmp_path / "both.png")
    assert done.returncode == 0, done.stderr
    done = ackclock("plot", tmp_path / "a.sqlog", "-o", tmp_path / "one.png")
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "one.png").stat().st_size > 10_000
    assert "add -o FILE.png" in ackclock("plot", tmp_path / "a.sqlog").stderr


def test_what_takes_no_log(ackclock):
    done = ackclock("capture", "explain", Path(__file__).with_name("aioquic.qlog"))
    assert done.returncode == 1
    assert "aioquic.qlog CASE` judges" in done.stderr
    assert done.stderr.count("\n") == 1


def test_a_log_of_quinn(tmp_path):
    """Of quinn 0.11: RTTs in s, the length in the header, and another ID after the handshake."""
    path = tmp_path / "q.sqlog"
    first = {"min_rtt": 0.333, "smoothed_rtt": 0.333, "congestion_window": 12000}
    rows = [
        (0.6, "packet_sent", {"header": {"packet_number": 0, "length": 1200}}, "cc06915c"),
        (0.6, "metrics_updated", first | {"ssthresh": 18446744073709551615}, "cc06915c"),
        (41.9, "metrics_updated", {"min_rtt": 0.0403, "smoothed_rtt": 0.0403}, "fc20a26e"),
        (50, "packet_sent", {"header": {"packet_number": 7, "length": 1452}}, "fc20a26e"),
        (51, "packet_sent", {"header": {"packet_number": 8, "length": 1452}}, "fc20a26e"),
        (800, "metrics_updated", {"smoothed_rtt": 0.0714}, "fc20a26e"),
        (990, "packet_sent", {"header": {"packet_number": 9, "length": 1452}}, "fc20a26e"),
    ]
    records = [{"qlog_version": "0.3", "trace": {"configuration": {"time_offset": 0.0}}}]
    records += [
        {"time": at, "name": f"recovery:{name}", "data": data, "group_id": group}
        for at, name, data, group in rows
    ]
    path.write_text("".join(f"\x1e{json.dumps(each)}\n" for each in records))
    samples = tables(path).samples
    assert samples["cwnd_packets"].unique().to_list() == [8]
    assert samples["srtt_us"].unique().sort().to_list() == [40_000 + 300, 71_400]
