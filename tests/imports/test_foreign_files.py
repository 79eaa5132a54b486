"""What reads files that others wrote gives a value or an `AckclockError`, whatever the bytes."""

import gzip
import shutil
from contextlib import suppress

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ackclock import AckclockError, Scenario
from ackclock.imports import text
from ackclock.results import capture, qlog_reader
from common import ROOT

#: What often goes wrong where it stands.
WORDS = [
    b"", b"0", b"-1", b"1e400", b"nan", b"inf", b"9" * 30, b"18446744073709551616", b"0.1", b"\x00",
    b"\n", b"\r\n", b"\t", b" ", b",", b'"', b"'", b"[", b"]", b"{", b"}", b"[[", b"=", b"#", b"\\",
    b"null", b"true", b"[]", b"{}", b'""', b"\xff", b"\xef\xbb\xbf", b"\x1e", b"%", b"\xc2\xb5",
    b";", b"$x", b"$((1", b"&&", b"|", b"-", b":", b"1:", b"parent", b"root", b"time", b"data",
]  # fmt: skip
LINK = """
duration = "2s"
rtt = "40ms"
[bottleneck]
rate = "10mbit"
buffer = "20packets"
{key} = "{path}"
[[flow]]
algorithm = "cubic"
"""
TC = [
    b"tc qdisc add dev eth0 root netem delay 50ms 10ms loss gemodel 1% 10% 70% 0.1% limit 100\n",
    b"""D=eth0
tc qdisc add dev $D root handle 1: htb default 10
tc class add dev $D parent 1: classid 1:10 htb rate 9mbit burst 15k
tc qdisc add dev $D parent 1:10 fq_codel limit 100 target 5ms
""",
    b"qdisc tbf 8001: dev eth0 root refcnt 2 rate 1Mbit burst 32Kb lat 100.0ms\n",
    b"mm-delay 20 mm-loss uplink 0.01 mm-link up.trace down.trace --uplink-queue=infinite\n",
    b"ipfw pipe 1 config bw 10Mbit/s delay 50ms plr 0.01 queue 50KBytes\n",
    b"pumba netem --duration 5m --interface eth0 delay --time 300 web\n",
]
QLOG = (
    b'\x1e{"file_schema":"urn:ietf:params:qlog:file:sequential","trace":{"common_fields":'
    b'{"time_format":"relative_to_epoch"}}}\n\x1e{"time":0,"name":"quic:recovery_metrics_updated",'
    b'"data":{"congestion_window":14480,"smoothed_rtt":40.5}}\n\x1e{"time":50,"name":'
    b'"quic:packet_sent","data":{"header":{"packet_number":1},"raw":{"length":1448}}}\n'
    b'\x1e{"time":90,"name":"quic:packet_lost","data":{"header":{"packet_number":1}}}\n'
)


def files(pattern):
    return [path.read_bytes() for path in sorted(ROOT.glob(pattern))]


def scenario(path):
    Scenario.from_toml(path).resolve()


def timeline(path):
    text = LINK.format(key="timeline", path=path)
    path.with_suffix(".toml").write_text(text.replace('rate = "10mbit"', ""))
    scenario(path.with_suffix(".toml"))


def trace(path):
    text = LINK.format(key="trace", path=path)
    path.with_suffix(".toml").write_text(text.replace('rate = "10mbit"', ""))
    scenario(path.with_suffix(".toml"))


def tc(path):
    text.scenario([text.read(str(path))], path.parent)


#: What reads → such files, and how many damaged ones are read: about a minute in all.
READERS = {
    "scenario": (scenario, "toml", lambda: files("examples/*.toml"), 3_000),
    "timeline": (timeline, "csv", lambda: files("examples/*.csv"), 3_000),
    "trace": (trace, "trace", lambda: [b"0\n10\n20\n20\n1500\n", b"5\r\n1200"], 3_000),
    "tc": (tc, "sh", lambda: TC, 5_000),
    "qlog": (
        qlog_reader.as_result,
        "qlog",
        lambda: [QLOG, files("tests/results/aioquic.qlog")[0][:6000]],
        2_000,
    ),
    "capture": (
        capture.explain,
        "pcap",
        lambda: [gzip.decompress(files("tests/results/captures/busy-loss-0.02.pcap.gz")[0])[:9000]],
        30,
    ),
}


@st.composite
def damaged(draw, whole):
    """A file of somebody, with a few places overwritten, cut out, repeated or moved."""
    data = draw(st.sampled_from(whole))
    for _ in range(draw(st.integers(0, 4))):
        start = draw(st.integers(0, len(data)))
        end = start + draw(st.integers(0, 20))
        part = draw(st.sampled_from([*WORDS, data[start:end] * 2]) | st.binary(max_size=4))
        data = data[:start] + part + data[end:]
    return data[: draw(st.integers(0, len(data)))] if draw(st.integers(0, 9)) == 0 else data


@pytest.mark.slow
@pytest.mark.parametrize("name", READERS)
def test_any_bytes_are_read_or_refused(name, tmp_path):
    read, suffix, whole, cases = READERS[name]
    if name == "capture" and not shutil.which("tshark"):
        pytest.skip("no tshark")
    path = tmp_path / f"file.{suffix}"

    @given(damaged(whole()))
    @settings(max_examples=cases, database=None)
    def check(data):
        path.write_bytes(data)
        with suppress(AckclockError):
            read(path)

    check()
