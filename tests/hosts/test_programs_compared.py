"""Programs beside one another: `ackclock compare`, their files, and UDP by port."""

import json
import re
import sys

import polars as pl
import pytest

from ackclock import AckclockError, Scenario
from ackclock.hosts import vlinux
from ackclock.hosts.vlinux import programs
from common import ROOT

UPLOAD = ROOT / "examples" / "programs" / "upload.toml"


@pytest.mark.slow
@pytest.mark.usefixtures("machine")
def test_compare_tells_when_programs_end_and_who_failed(ackclock, tmp_path):
    sets = ["duration=3s", "program.2.start=0s", "program.2.command=iperf3 -c server -t 1"]
    options = [word for each in (*sets, "program.2.command=false now") for word in ("--set", each)]
    algorithm = ("--algorithm", "kernel:bbr")
    ran = ackclock("compare", UPLOAD, "--on", "vlinux", *options, *algorithm, "--json", "-o", "out")
    assert ran.returncode == 0, ran.stderr
    got, failed = map(json.loads, ran.stdout.splitlines())
    assert got["on"] == "vlinux"
    assert got["program.algorithm"] == "kernel:bbr"
    assert 1 < got["end_s"]["mean"] < 2.5
    assert 300_000 < got["carried_bytes"]["mean"] < 50e6 / 8 * got["end_s"]["mean"]
    assert failed["program.2.command"] == "false now"
    assert failed["end_s"] is None
    assert failed["carried_bytes"]["mean"] == 0
    kept = pl.read_parquet(tmp_path / "out" / "compare.parquet")
    assert kept["end_s"].to_list() == [got["end_s"]["mean"], None]
    again = ackclock("compare", UPLOAD, "--on", "vlinux", *options, *algorithm)
    assert re.search(r"false now +— +0 ", again.stdout)
    assert "to simulate" not in again.stderr


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ((), "only Linux runs programs; add --on vlinux"),
        (("--on", "vlinux", "--set", "rtt=30ms"), "one case is nothing to compare"),
    ],
)
def test_what_compare_refuses(options, says, ackclock):
    refused = ackclock("compare", UPLOAD, *options)
    assert (refused.returncode, refused.stderr.count("\n")) == (1, 1)
    assert says in refused.stderr


SEND = """import socket, time
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.bind(("", 5000))
for _ in range(60): s.sendto(bytes(1200), ("server", 9000))
time.sleep(1)
s.setsockopt(17, 103, 1000)  # UDP_SEGMENT: the kernel cuts
s.sendto(bytes(9_500), ("server", 9000))
s.sendto(open("more/bytes", "rb").read(), ("server", 9000))
"""
TAKE = """import socket
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.bind(("", 9000))
while len(s.recvfrom(2000)[0]) != 7: pass
"""


@pytest.mark.slow
def test_files_of_programs_and_udp_by_port(machine, tmp_path):
    """60 datagrams at once into a queue of 20; then 10 that the kernel cuts, and one."""
    (tmp_path / "more").mkdir()
    (tmp_path / "more" / "bytes").write_bytes(b"7 bytes")
    (tmp_path / "send it.py").write_text(SEND)
    (tmp_path / "take.py").write_text(TAKE)
    own = Scenario.from_toml(UPLOAD).replace(
        flows=[],
        duration="3s",
        bottleneck={"rate": "1mbit", "buffer": "20packets"},
        programs=[
            {"command": f"{sys.executable} take.py", "files": "take.py", "side": "server"},
            {"command": f"{sys.executable} 'send it.py'", "files": "'send it.py' more"},
        ],
    )
    (tmp_path / "s.toml").write_text(own.to_toml())
    ran = vlinux.run(Scenario.from_toml(tmp_path / "s.toml"), built=machine)
    assert [each["status"] for each in ran.manifest["programs"]] == [0, 0], ran.manifest["programs"]
    (udp,) = ran.manifest["udp"]
    assert (udp["from"], udp["to"]) == ("client:5000", "server:9000")
    assert udp["sent_packets"] == 71
    assert udp["dropped_packets"] == 40
    assert udp["arrived_bytes"] == 20 * 1200 + 9_500 + 7


def test_files_that_are_not_there_or_have_one_name(tmp_path):
    (tmp_path / "a").write_text("")
    for files, says in (("b", "b: no such file"), ("'b", "No closing quotation")):
        with pytest.raises(AckclockError, match=says):
            programs._paths(files, {})
    with pytest.raises(AckclockError, match="have one name; rename one"):
        programs._paths(str(tmp_path / "a"), {"a": "a"})


def test_a_change_of_its_files_is_another_run(tmp_path):
    (tmp_path / "www").mkdir()
    (tmp_path / "www" / "page").write_text("1")
    own = Scenario.from_toml(UPLOAD).replace(programs=[{"command": "true", "files": "www"}])
    (tmp_path / "s.toml").write_text(own.to_toml())
    own = Scenario.from_toml(tmp_path / "s.toml")
    assert own.programs[0].files == str(tmp_path / "www")
    before = own.key("a version")
    (tmp_path / "www" / "page").write_text("22")
    assert own.key("a version") != before
