"""A qlog of any sender as tables."""

import json

import pytest

from ackclock import AckclockError
from ackclock.results.qlog_reader import read

MSS = 1448
METRICS = "quic:recovery_metrics_updated"


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


def tables(path, duration_s=1, **keys):
    of = {"mss_bytes": MSS, "duration_us": duration_s * 1_000_000, "interval_us": 100_000} | keys
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
        ("{", "line 1: is no JSON; write qlog 0.3 or later"),
        ("[]", "has no list of traces"),
        ('{"traces": [{}]}', "trace 1: has no list of events"),
        (
            '{"traces": [{"events": [[1, "a", {}]]}]}',
            "trace 1: event 1: is no object; write qlog 0",
        ),
        ('{"traces": [{"events": [{"time": 1}]}]}', "trace 1: event 1: has no name"),
        (
            '\x1e{"trace": {}}\n\x1e{"time": "x", "name": "a", "data": {}}',
            'line 2: time = "x": write',
        ),
        ('{"a": 1}\n{"b": 2', "line 2: is no JSON"),
        (
            '{"traces": [{"events": []}]}',
            "trace 1 has no recovery:metrics_updated with a congestion",
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
