"""The packets of a simulated run: tshark and tcptrace count what the simulator counts."""

import re
import shutil
import subprocess
from collections import Counter
from itertools import accumulate

import pytest

from ackclock import AckclockError, Scenario, run
from ackclock.results.pcapng import Pcapng

needs_tshark = pytest.mark.skipif(not shutil.which("tshark"), reason="no tshark (package tshark)")
needs_tcptrace = pytest.mark.skipif(
    not shutil.which("tcptrace"), reason="no tcptrace (package tcptrace)"
)

FLOWS = [
    {"algorithm": "cubic", "size": "3MB", "ecn": True},
    {"algorithm": "reno", "start": "1s", "receive_window": "64kB"},
]
LINK = {"rate": "10mbit", "buffer": "20packets"}
NETWORKS = {
    # Departures are known at once (crates/sim/src/engine.rs): one queue, and one for each way.
    "predicted": {},
    "both ways": {"flow": [*FLOWS, {"algorithm": "reno", "direction": "reverse"}]},
    # Each packet is an event.
    "marks": {"bottleneck": {"rate": "10mbit", "buffer": "60packets", "queue": "codel"}},
    "losses": {"bottleneck": {"rate": "10mbit", "buffer": "60packets", "loss": 0.01}},
}


@pytest.fixture(params=NETWORKS)
def captured(request, tmp_path):
    """A result, and the file of its packets."""
    plain = {
        "duration": "6s",
        "rtt": "40ms",
        "bottleneck": LINK,
        "flow": FLOWS,
    }
    scenario = Scenario.parse(plain | NETWORKS[request.param])
    path = tmp_path / "run.pcapng"
    result = run(scenario, pcapng=Pcapng(path, at="both"))
    assert result.manifest["trace_hash"] == run(scenario).manifest["trace_hash"]
    assert [each.name for each in tmp_path.iterdir()] == [path.name]
    return result, path


def at(path, place):
    """The packets of one interface in a file of their own."""
    of = path.with_name(f"{place}.pcapng")
    number = ("sender", "receiver").index(place)
    tshark("-r", path, "-Y", f"frame.interface_id == {number}", "-w", of)
    return of


def tshark(*words):
    done = subprocess.run(["tshark", *words], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


FIELDS = (
    "ip.src", "tcp.len", "tcp.flags", "tcp.options.sack.count", "tcp.analysis.ack_rtt",
    "ip.dsfield.ecn", "tcp.analysis.retransmission", "tcp.analysis.out_of_order",
    "_ws.malformed", "tcp.checksum.status", "ip.checksum.status", "frame.len", "tcp.seq",
    "tcp.ack", "tcp.options.timestamp.tsval", "tcp.options.sack_le", "tcp.options.sack_re",
)  # fmt: skip
#: What tells one ACK from another.
ACK = ("tcp.ack", "tcp.options.timestamp.tsval", "tcp.options.sack_le", "tcp.options.sack_re")


def packets(path):
    """Of each packet what tshark says of these fields."""
    shown = [part for field in FIELDS for part in ("-e", field)]
    checks = ["-o", "ip.check_checksum:TRUE", "-o", "tcp.check_checksum:TRUE"]
    lines = tshark("-r", path, *checks, "-T", "fields", *shown).splitlines()
    return [dict(zip(FIELDS, line.split("\t"), strict=True)) for line in lines]


@needs_tshark
def test_tshark_counts_what_we_count(captured):
    result, path = captured
    sent, received = (packets(at(path, place)) for place in ("sender", "receiver"))
    assert not any(each["_ws.malformed"] for each in sent + received)
    for flow in result.flows.iter_rows(named=True):
        own = [each for each in sent if each["ip.src"] == f"10.0.0.{flow['flow']}"]
        acks = [each for each in sent if each["ip.src"] == f"10.128.0.{flow['flow']}"]
        there = [each for each in received if each["ip.src"] == f"10.0.0.{flow['flow']}"]
        data = [each for each in own if int(each["tcp.len"])]
        assert len(data) == flow["sent_packets"]
        assert [int(each["tcp.flags"], 16) & 0x12 for each in own[:2]] == [0x02, 0x10]
        assert int(acks[0]["tcp.flags"], 16) & 0x12 == 0x12
        again = [
            each
            for each in data
            if each["tcp.analysis.retransmission"] or each["tcp.analysis.out_of_order"]
        ]
        assert len(again) == flow["retransmitted_packets"] > 0
        # What was neither dropped nor is on its way has arrived.
        arrived = sum(int(each["tcp.len"]) > 0 for each in there)
        on_the_way = flow["sent_packets"] - flow["dropped_packets"] - arrived
        assert 0 <= on_the_way <= (0 if flow["completed_us"] else 100)
        marked = sum(each["ip.dsfield.ecn"] == "3" for each in there)
        assert 0 <= flow["marked_packets"] - marked <= on_the_way
        rtts_s = [float(each["tcp.analysis.ack_rtt"] or 1e9) for each in acks]
        # Where only the timestamp tells an RTT, Linux has whole milliseconds.
        steps_us = 1000 if flow["min_rtt_us"] % 1000 == 0 else 1
        assert 0 <= 1e6 * min(rtts_s) - flow["min_rtt_us"] < steps_us
        # A packet out of order fills a hole: packets behind it have come, and its first
        # transmission was dropped. tshark calls it a retransmission if it comes late.
        new = [int(each["tcp.seq"]) for each in there if int(each["tcp.len"])]
        highest = [0, *accumulate(new, max)]
        fills = {seq for seq, before in zip(new, highest, strict=False) if seq < before}
        late = sum(
            bool(each["tcp.analysis.retransmission"] or each["tcp.analysis.out_of_order"])
            for each in there
        )
        assert len(set(new)) == arrived  # no copies
        assert fills <= {int(each["tcp.seq"]) for each in again}
        assert late == len(fills) > 0
        # ACKs keep their order. The last are on their way; only data the other way drops some.
        left = [each for each in received if each["ip.src"] == f"10.128.0.{flow['flow']}"]
        left, came = ([[each[name] for name in ACK] for each in acks] for acks in (left, acks))
        if result.scenario.flows[-1].direction == "forward":
            assert came == left[: len(came)]
            assert len(came) == len(left) or not flow["completed_us"]
        else:
            rest = iter(left)
            assert all(each in rest for each in came)
        assert any(blocks for *_, blocks in came)


@needs_tshark
@needs_tcptrace
def test_tcptrace_counts_what_we_count(captured):
    result, path = captured
    files = [at(path, place) for place in ("sender", "receiver")]
    here, there = map(tcptrace, files)
    shown = list(map(packets, files))
    here_sacks, there_sacks = (
        Counter(each["ip.src"] for each in of if each["tcp.options.sack.count"]) for of in shown
    )
    odd = ("tcp.analysis.retransmission", "tcp.analysis.out_of_order")
    late = Counter(each["ip.src"] for each in shown[1] if any(each[name] for name in odd))
    for flow in result.flows.iter_rows(named=True):
        number = flow["flow"]
        forth, back = here[number]
        assert forth["actual data pkts"] == flow["sent_packets"]
        assert forth["rexmt data pkts"] == flow["retransmitted_packets"]
        assert forth["outoforder pkts"] == 0
        arrived, returned = there[number]
        # As tshark counts them: which of them come is in the test above.
        ends = (here_sacks, back), (there_sacks, returned)
        for blocks, counted in ends:
            assert counted["sacks sent"] == blocks[f"10.128.0.{number}"] > 0
        assert arrived["outoforder pkts"] == late[f"10.0.0.{number}"] > 0
        if flow["completed_us"]:
            assert forth["unique bytes sent"] == flow["delivered_bytes"] == 3_000_000
            assert arrived["actual data pkts"] == flow["sent_packets"] - flow["dropped_packets"]
            # What arrives again was not lost.
            assert (
                arrived["rexmt data pkts"]
                == flow["retransmitted_packets"] - flow["dropped_packets"]
            )


def tcptrace(path):
    """Flow → what tcptrace counts on the way of its data, and on the way back."""
    command = ["tcptrace", "-l", "-n", path]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    found = {}
    for part in done.stdout.split("TCP connection ")[1:]:
        host = re.search(r"host \w+:\s+10\.(0|128)\.0\.(\d+):", part)
        if host is None:
            continue
        pairs = [re.findall(r"([a-zA-Z][\w /]*):\s+(\d+)", line) for line in part.splitlines()]
        pairs = [line for line in pairs if len(line) == 2]
        ways = [{name: int(value) for name, value in column} for column in zip(*pairs, strict=True)]
        found[int(host[2])] = ways if host[1] == "0" else ways[::-1]
    return found


@needs_tshark
def test_the_handshake_tells_what_the_hosts_can(captured):
    result, path = captured
    options = ("mss_val", "wscale.shift", "sack_perm", "timestamp.tsecr")
    shown = [part for name in options for part in ("-e", f"tcp.options.{name}")]
    syns = "tcp.flags.syn == 1 && frame.interface_id == 0"
    lines = tshark("-r", path, "-Y", syns, "-T", "fields", *shown)
    told = [line.split("\t") for line in lines.splitlines()]
    assert len(told) == 2 * len(result.flows)
    assert {tuple(line[::2]) for line in told} == {("1460", told[0][2])}
    assert {line[1] for line in told} == {"0", "14"}  # 64 kB need no scale
    # A SYN echoes nothing, its answer does.
    assert sorted(line[3] == "0" for line in told) == len(result.flows) * [False] + (
        len(result.flows) * [True]
    )


@needs_tshark
def test_whole_packets_have_right_checksums(tmp_path):
    flow = {"algorithm": "reno", "size": "100kB"}
    scenario = Scenario(duration="2s", rtt="20ms", bottleneck=LINK, flow=[flow])
    path = tmp_path / "run.pcapng"
    run(scenario, pcapng=Pcapng(path, snaplen=2000))
    all_packets = packets(path)
    assert {each["tcp.checksum.status"] for each in all_packets} == {"1"}
    assert {each["ip.checksum.status"] for each in all_packets} == {"1"}
    assert max(int(each["frame.len"]) for each in all_packets) == 1514


def test_only_one_run_in_the_simulator(ackclock, small):
    for words, said in {
        ("--seeds", "2", "--pcapng", "x"): "--pcapng x: takes one run",
        ("--on", "vlinux", "--pcapng", "x"): "--pcapng x: only in the simulator",
        ("--snaplen", "96"): "--snaplen 96: add --pcapng FILE",
        ("--pcapng", "x", "--snaplen", "93"): "snaplen = 93: must be between 94",
        ("--pcapng", "x", "--pcapng-at", "there"): 'at = "there": unknown interface',
        ("--pcapng", "/dev/null/x"): "/dev/null/x: cannot be written",
        ("--pcapng", "."): ".: is a directory",
    }.items():
        done = ackclock("run", "-", *words, input=small.to_toml())
        assert done.returncode == 1
        assert said in done.stderr, done.stderr
    done = ackclock("run", "-", "--pcapng", "x.pcapng", input=small.to_toml())
    assert done.returncode == 0, done.stderr
    assert "written: x.pcapng" in done.stdout


def test_a_run_that_fails_leaves_no_file(small, tmp_path):
    def stop(_):
        raise KeyboardInterrupt

    path = tmp_path / "run.pcapng"
    with pytest.raises(KeyboardInterrupt):
        run(small.replace(duration="1000s"), progress=stop, pcapng=path)
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(AckclockError, match="cannot be written"):
        run(small, pcapng="/dev/null/run.pcapng")
