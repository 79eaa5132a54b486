"""`ackclock capture explain`: a capture says what the simulator's tables say of the run."""

import gzip
import json
import shutil
import struct
import subprocess

import pytest

from ackclock import AckclockError, Scenario, run
from ackclock.results.capture import explain
from ackclock.results.pcapng import Pcapng
from common import ROOT

pytestmark = pytest.mark.skipif(not shutil.which("tshark"), reason="no tshark (package tshark)")

CAPTURES = ROOT / "tests/results/captures"
LINK = {"rate": "10mbit", "buffer": "1bdp"}


def scenario(*flows, duration="8s", **link):
    return Scenario.parse(
        {"duration": duration, "rtt": "40ms", "bottleneck": LINK | link, "flow": list(flows)}
    )


def explained(of, tmp_path, at="sender"):
    """Rows of flows, and what the capture says of each."""
    path = tmp_path / "run.pcapng"
    result = run(of, pcapng=Pcapng(path, at=at))
    told = {each.sender: each for each in explain(path)}
    rows = list(result.flows.iter_rows(named=True))
    assert len(told) == len(rows)
    return [(row, told[f"10.0.0.{row['flow']}:32768"]) for row in rows]


def counts(row):
    names = ("sent_packets", "retransmitted_packets", "recoveries", "timeouts")
    return [row[name] for name in names]


@pytest.mark.parametrize("seed", [1, 2, 3, 4])
def test_losses_are_repaired_as_often(seed, tmp_path):
    """5 % of the packets are lost, also retransmissions; with seed 4 one timeout repairs."""
    flow = {"algorithm": "cubic"}
    of = scenario(flow, duration="20s", loss=0.05).replace(seed=seed)
    ((row, told),) = explained(of, tmp_path)
    assert [told.packets, told.retransmitted_packets, told.recoveries, told.timeouts] == counts(row)
    assert row["recoveries"] > 50
    assert row["timeouts"] == (seed == 4)


def test_full_queues_and_codel(tmp_path):
    """Several flows, drop-tail and CoDel: recoveries, RTT, and bytes in flight."""
    flows = {"algorithm": "cubic"}, {"algorithm": "reno", "start": "1s"}
    for more in ({}, {"queue": "codel", "buffer": "1000packets"}):
        of = scenario(*flows, **more)
        for row, told in explained(of, tmp_path):
            said = [told.packets, told.retransmitted_packets, told.recoveries, told.timeouts]
            assert said == counts(row)
            numbers = told.numbers()
            assert 1e6 * numbers["min_rtt_s"] == pytest.approx(row["min_rtt_us"], abs=1500)
            assert numbers["limit"] == "cwnd"
            assert numbers["limited"]["cwnd"] > 0.75
            assert numbers["bytes"] >= row["delivered_bytes"]


def test_what_arrives_above_a_hole_is_not_in_flight(tmp_path):
    """Without SACK each duplicate ACK tells of a packet (RFC 6582): never more than cwnd."""
    flows = {"algorithm": "cubic", "sack": False}, {"algorithm": "cubic"}
    of = scenario(*flows, duration="20s", rate="20mbit")
    samples = run(of).samples
    for row, told in explained(of, tmp_path):
        own = samples.filter(samples["flow"] == row["flow"])
        assert told.most_in_flight_bytes == 1448 * own["in_flight_packets"].max()
        assert told.mean_in_flight_bytes == pytest.approx(
            1448 * own["in_flight_packets"].mean(), rel=0.02
        )
        assert told.recoveries == row["recoveries"] > 5
    of = scenario(flows[0] | {"timestamps": False}, flows[1], rate="100mbit", buffer="0.5bdp")
    most = run(of).samples["cwnd_packets"].max() * 1460
    (row, told), _ = explained(of, tmp_path)
    assert row["retransmitted_packets"] > 100
    assert 0.5 * most < told.most_in_flight_bytes <= 1.02 * most


@pytest.mark.parametrize(
    ("flow", "limit"),
    [
        ({"receive_window": "30kB"}, "receiver"),
        ({"receive_buffer": "50kB"}, "receiver"),
        ({"receive_buffer": "50kB", "read_rate": "2mbit"}, "receiver"),
        ({"frames": {"size": "20kB", "every": "50ms"}}, "application"),
        ({"frames": {"size": "1448B", "every": "10ms"}}, "application"),  # never 10 packets
        ({"send_buffer": "30kB"}, "cwnd"),  # which a capture cannot tell apart, but for `flat`
    ],
)
def test_what_limits(flow, limit, tmp_path):
    ((row, told),) = explained(scenario({"algorithm": "cubic"} | flow), tmp_path)
    numbers = told.numbers()
    assert numbers["limit"] == limit
    assert numbers["limited"][limit] > 0.98
    assert numbers["limited"]["recovery"] == 0
    assert numbers["flat"] == ("send_buffer" in flow)
    limited_s = row["receive_window_limited_us"] / 1e6
    assert told.limited_s["receiver"] == pytest.approx(limited_s, abs=0.1)
    if "receive_window" in flow:  # a window a round-trip time
        assert numbers["most_in_flight_bytes"] <= 30_000
        assert numbers["mean_in_flight_bytes"] == pytest.approx(30_000, rel=0.05)


@pytest.mark.parametrize("algorithm", ["cubic", "bbr", "vegas"])
def test_a_window_of_an_algorithm_is_not_flat(algorithm, tmp_path):
    """Without losses, too: CUBIC grows, and the others probe."""
    ((row, told),) = explained(scenario({"algorithm": algorithm}, buffer="1000packets"), tmp_path)
    assert row["retransmitted_packets"] == 0
    assert (told.limit, told.is_flat) == ("cwnd", False)


def test_the_command_tells_of_a_send_buffer(tmp_path, ackclock):
    path = tmp_path / "run.pcapng"
    run(scenario({"algorithm": "cubic", "send_buffer": "30kB"}), pcapng=Pcapng(path))
    said = ackclock("capture", "explain", path).stdout
    assert "10.0.0.1:32768: as much data stays in flight, and nothing is lost" in said


def test_where_the_data_arrives_the_sender_is_not_seen(tmp_path):
    ((row, told),) = explained(scenario({"algorithm": "cubic"}), tmp_path, at="receiver")
    numbers = told.numbers()
    assert numbers["captured_at"] == "receiver"
    assert numbers["limit"] is numbers["recoveries"] is numbers["median_rtt_s"] is None
    assert 1e6 * numbers["min_rtt_s"] == pytest.approx(row["min_rtt_us"], abs=1500)


def test_the_command(tmp_path, ackclock):
    path = tmp_path / "run.pcapng"
    run(scenario({"algorithm": "cubic"}), pcapng=Pcapng(path, at="both"))
    done = ackclock("capture", "explain", path)
    assert done.returncode == 1
    assert "at two interfaces; keep one: tshark -r" in done.stderr
    one = tmp_path / "one.pcap"
    words = ["-Y", "frame.interface_id == 0", "-F", "pcap", "-w", one]
    subprocess.run(["tshark", "-r", path, *words], check=True, capture_output=True)
    (told,) = json.loads(ackclock("capture", "explain", one, "--json").stdout)
    assert (told["from"], told["limit"]) == ("10.0.0.1:32768", "cwnd")
    assert "cwnd" in ackclock("capture", "explain", one).stdout
    assert "`ackclock capture explain" in ackclock("plot", one).stderr
    (tmp_path / "text.pcap").write_text("no capture")
    assert "isn't a capture file" in ackclock("capture", "explain", tmp_path / "text.pcap").stderr
    with pytest.raises(AckclockError, match="no such file"):
        explain(tmp_path / "none.pcap")


def test_a_capture_that_is_cut(tmp_path):
    """A snaplen that cuts SACK blocks and the window scale; a file that ends in mid-packet."""
    path = tmp_path / "run.pcapng"
    run(scenario({"algorithm": "cubic"}, duration="4s"), pcapng=path)
    (whole,) = explain(path)
    for bytes_kept in (74, 66, 60):
        short = tmp_path / "short.pcapng"
        subprocess.run(["editcap", "-s", str(bytes_kept), path, short], check=True)
        (told,) = explain(short)
        assert told.is_cut
        assert (told.packets, told.retransmitted_packets) == (
            whole.packets,
            whole.retransmitted_packets,
        )
        assert told.numbers()["limit"] == whole.numbers()["limit"] == "cwnd"
    short.write_bytes(path.read_bytes()[: path.stat().st_size // 2 + 5])
    (told,) = explain(short)
    assert 0 < told.packets < whole.packets
    assert not told.is_cut
    assert not whole.is_cut
    short.write_text("no capture")
    with pytest.raises(AckclockError, match=r"short.pcapng: .*; name a capture \(pcap or pcapng\)"):
        explain(short)


#: Captures of iperf3, and the share of the time in which `ss` says its sender was busy.
BUSY = {
    "quiet-loss-0": 5412 / 5440,
    "busy-loss-0": 5432 / 5476,
    "quiet-loss-0.005": 5420 / 5452,
    "busy-loss-0.005": 5336 / 5356,
    "quiet-loss-0.02": 5372 / 5416,
    "busy-loss-0.02": 5320 / 5380,
}


@pytest.mark.parametrize("name", BUSY)
def test_a_host_that_clumps_is_not_the_application(name):
    """`ackclock shell` with iperf3 on a machine at load 17, and with two more busy processes.

    10 Mb/s without loss, else 50 Mb/s; 40 ms; the first 3 s, headers.
    """
    (told,) = explain(CAPTURES / f"{name}.pcap.gz")
    assert told.packets > 700
    limited = told.numbers()["limited"]
    assert abs(limited["application"] - (1 - BUSY[name])) < 0.05
    assert told.limit == "cwnd"


def test_data_that_was_queued_and_came_late_is_its_host(tmp_path):
    """Without PSH more data is queued (RFC 9293, 3.9.1.2); with it there may be none."""
    of = scenario({"algorithm": "cubic", "frames": {"size": "60kB", "every": "200ms"}})
    ((_, told),) = explained(of, tmp_path)
    assert told.limit == "application"
    assert told.limited_s["host"] == 0
    path = tmp_path / "unpushed.pcapng"
    path.write_bytes(without_push((tmp_path / "run.pcapng").read_bytes()))
    (told,) = explain(path)
    assert told.limited_s["application"] == 0
    assert told.limit == "host"


def without_push(capture):
    """The same packets without the flag PSH."""
    data, at = bytearray(capture), 0
    while at < len(data):
        kind, length = struct.unpack_from("<II", data, at)
        if kind == 6:  # an enhanced packet block: 28 bytes, Ethernet, IPv4
            data[at + 28 + 14 + 20 + 13] &= ~8
        at += length
    return bytes(data)


def test_packets_that_are_there_twice_count_once(ackclock, tmp_path):
    """As of a mirror, or of all interfaces: each packet once more, 20 us later."""
    once = CAPTURES / "quiet-loss-0.02.pcap.gz"
    data = gzip.decompress(once.read_bytes())
    least, *_ = struct.unpack("<I", data[:4])
    unit = 1_000 if least == 0xA1B23C4D else 1
    packets, at = [], 24
    while at < len(data):
        seconds, part, length, whole = struct.unpack_from("<IIII", data, at)
        body = data[at + 16 : at + 16 + length]
        for late in (0, 20 * unit):
            time = seconds * 10**6 * unit + part + late
            head = struct.pack("<IIII", *divmod(time, 10**6 * unit), length, whole)
            packets.append((time, head + body))
        at += 16 + length
    packets.sort(key=lambda each: each[0])
    twice = tmp_path / "twice.pcap"
    twice.write_bytes(data[:24] + b"".join(packet for _, packet in packets))
    one, both = ([each.numbers() for each in explain(path)] for path in (once, twice))
    assert [each.pop("copies") for each in one] == [0] * len(one)
    assert sum(each.pop("copies") for each in both) > 1000
    assert both == one
    assert (
        "packets of a connection twice; copies are left out"
        in ackclock("capture", "explain", twice).stdout
    )
