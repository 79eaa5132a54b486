"""Programs on a scenario's link: real ones, through the emulator, on this machine's TCP.

Counts are exact. Rates are compared where the certificate says that the link kept time.
"""

import json
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import polars as pl
import pytest

import ackclock
from ackclock import AckclockError, Flow, Result, Scenario
from ackclock.hosts import shell
from ackclock.results.capture import explain
from common import ACKCLOCK, ROOT, needs_testbed, wait_until
from kernels import scenario

pytestmark = [needs_testbed, pytest.mark.alone]

LINK = ROOT / "examples" / "shell_link.toml"
SENT = 1_000_000
#: Takes the data of one connection, to its end.
SERVER = (
    "import socket; s = socket.create_server(('', 7000)); c, _ = s.accept()\n"
    "while c.recv(1 << 16): pass"
)
CLIENT = (
    f"import os, socket; c = socket.create_connection((os.environ['ACKCLOCK_SERVER'], 7000))\n"
    f"c.sendall(bytes({SENT})); c.shutdown(1); c.recv(1); raise SystemExit(7)"
)


def on_hosts():
    """Processes that are in another network namespace than this test."""
    own = Path("/proc/self/ns/net").stat().st_ino
    found = []
    for each in Path("/proc").glob("[0-9]*"):
        try:
            if (each / "ns" / "net").stat().st_ino != own:
                found.append((each / "comm").read_text("utf-8").strip())
        except OSError:  # it has ended
            pass
    return found


def python(code):
    """The command line that runs it."""
    return f"{sys.executable} -c '{code.replace(chr(39), chr(34))}'"


def test_a_transfer_in_the_tables_and_the_packets(tmp_path):
    """1 MB at 10 Mb/s, RTT 20 ms: every byte is in the tables."""
    link = scenario(Flow(algorithm="reno"), rate="10mbit", buffer="200 packets")
    packets = tmp_path / "all.pcapng"
    ran = shell.run(link, [sys.executable, "-c", CLIENT], listen=[python(SERVER)], pcapng=packets)
    assert ran.status == 7
    assert on_hosts() == []
    result = Result.load(ran.result.save(tmp_path / "out"))  # which checks the columns
    (flow,) = result.flows.iter_rows(named=True)
    assert flow["delivered_bytes"] == SENT
    assert (flow["direction"], flow["algorithm"]) == ("forward", "reno")
    assert flow["sent_packets"] - flow["retransmitted_packets"] >= -(-SENT // 1448)
    assert flow["min_rtt_us"] >= 20_000
    assert 0 < flow["start_us"] < flow["completed_us"]
    (ends,) = result.manifest["connections"]
    assert (ends["from"].split(":")[0], ends["to"]) == ("10.0.0.1", "10.0.0.2:7000")
    samples = result.samples.filter(pl.col("flow") == 1)
    assert samples["delivered_bytes"].is_sorted()
    assert samples["cwnd_packets"].max() > 10
    # What passed the link, no faster than its rate.
    sent_bytes = result.queues["sent_bytes"]
    assert sent_bytes[-1] >= 0.8 * SENT
    assert sent_bytes[-1] <= 10e6 / 8 * result.queues["time_us"][-1] / 1e6
    assert {"valid", "problems", "lateness_p99_us"} <= set(result.manifest["certificate"])
    if shutil.which("tshark"):
        (told,) = explain(packets)
        again = flow["retransmitted_packets"]
        assert (told.bytes, told.retransmitted_packets) == (SENT, again)
        assert told.recoveries == flow["recoveries"]


def test_both_directions_and_a_drop():
    """A reverse flow: the server's data passes a link of the same rate, with its own drops."""
    lossy = {"rate": "10mbit", "buffer": "100 packets", "drop_every_packets": 50}
    flow = Flow(algorithm="cubic", direction="reverse")
    link = Scenario(duration="1s", rtt="20ms", bottleneck=lossy, flows=[flow])
    # The client listens with the server's program, and the other way round.
    client = CLIENT.replace("SERVER", "CLIENT").replace("SystemExit(7)", "SystemExit(0)")
    later = f"(sleep 0.5; $ACKCLOCK_AT_SERVER {python(client)}) & exec {python(SERVER)}"
    ran = shell.run(link, ["sh", "-c", later])
    (flow,) = ran.result.flows.iter_rows(named=True)
    assert (flow["direction"], flow["delivered_bytes"]) == ("reverse", SENT)
    assert flow["link_lost_packets"] == flow["sent_packets"] // 50 > 10
    assert flow["recoveries"] > 0
    assert not any("no link" in note for note in ran.result.manifest["certificate"]["notes"])


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_nothing_is_left(number, tmp_path):
    """Ctrl-C ends the command, and the tables are written; the other signals end all."""
    started = tmp_path / "started"
    words = [ACKCLOCK, "shell", LINK, "-o", tmp_path / "out", "--listen", python(SERVER), "--"]
    waits = f": >{started}; exec sleep 1000"
    with subprocess.Popen([*words, "sh", "-c", waits], stdin=subprocess.DEVNULL) as running:
        wait_until(started.exists, running)
        on_both = on_hosts()
        running.send_signal(number)
        status = running.wait()
    assert len(on_both) == 2, on_both
    wait_until(lambda: not on_hosts())
    assert status == {signal.SIGINT: 130, signal.SIGTERM: 130, signal.SIGKILL: -9}[number]
    assert (tmp_path / "out").exists() == (number == signal.SIGINT)


def test_the_servers_data_and_a_link_that_kept_time_badly(tmp_path):
    """The link carries what the client sends. An emulator that sleeps for 0.5 s says so: exit 3."""
    begun = tmp_path / "begun"
    sends = SERVER.replace("while", "c.sendall(bytes(3_000))\nwhile")
    takes = (
        "import os, socket, time, pathlib\n"
        "c = socket.create_connection((os.environ['ACKCLOCK_SERVER'], 7000)); c.recv(3_000)\n"
        f"pathlib.Path('{begun}').touch()\n"
        "for _ in range(200): c.send(b'x'); time.sleep(0.005)"
    )
    words = [ACKCLOCK, "shell", LINK, "--listen", python(sends), "--", sys.executable, "-c", takes]
    with subprocess.Popen(words, stderr=subprocess.PIPE, text=True) as running:
        wait_until(begun.exists, running)
        running.send_signal(signal.SIGSTOP)
        time.sleep(0.5)
        running.send_signal(signal.SIGCONT)
        said = running.communicate()[1]
    assert "link: was never busy enough to tell its rate, or its delay varies; minimum" in said
    assert 'came from the server, on whose way the scenario has no link; direction = "rev' in said
    assert "INVALID: " in said
    assert running.returncode == 3


def test_refusals():
    def said(link, command=("true",), **options):
        with pytest.raises(AckclockError) as error:
            shell.run(link, command, **options)
        return str(error.value)

    reno = Flow(algorithm="reno")
    two = scenario(reno, Flow(algorithm="reno", rtt="50ms"))
    assert 'flow 2: rtt = "50ms": the programs of a shell share one path' in said(two)
    two = scenario(reno, Flow(algorithm="cubic"))
    assert 'flow 2: algorithm = "cubic": the programs' in said(two)
    unknown = said(scenario(Flow(algorithm="kernel:nothing")))
    assert "the kernel refuses it" in unknown
    assert "tcp_available_congestion_control" in unknown
    known = Path("/proc/sys/net/ipv4/tcp_available_congestion_control").read_text().split()
    allowed = Path("/proc/sys/net/ipv4/tcp_allowed_congestion_control").read_text().split()
    for name in set(known) - set(allowed):
        assert "only sockets choose it" in said(scenario(Flow(algorithm=f"kernel:{name}")))
    link = scenario(reno)
    assert said(link, ["no/such"]).startswith("no/such: cannot be started")
    assert "--listen false: ended with status 1 before" in said(link, listen=["false"])
    assert said(link, listen=["'"]) == "--listen ': No closing quotation"
    assert on_hosts() == []


def test_the_programs_lack_what_the_flow_lacks(tmp_path):
    seen = tmp_path / "seen"
    names = ["tcp_sack", "tcp_slow_start_after_idle", "tcp_early_retrans"]
    paths = " ".join(f"/proc/sys/net/ipv4/{name}" for name in names)
    flow = Flow(algorithm="reno", sack=False, slow_start_after_idle=False)
    shell.run(scenario(flow), ["sh", "-c", f"cat {paths} > {seen}"])
    assert seen.read_text().split() == ["0", "0", "3"]


def test_udp_is_told():
    """60 datagrams at once into a queue of 20: no flow, but a line with what was dropped."""
    floods = (
        "import os, socket, time; s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)\n"
        "for _ in range(60): s.sendto(bytes(1200), (os.environ['ACKCLOCK_SERVER'], 9))\n"
        "time.sleep(0.5)"
    )
    link = scenario(Flow(algorithm="reno"), rate="1mbit", buffer="20 packets")
    ran = shell.run(link, [sys.executable, "-c", floods])
    assert ran.result.flows.is_empty()
    (note,) = ran.result.manifest["certificate"]["notes"]
    assert note == "UDP, as of QUIC, is no flow of the tables: links dropped 40 packets of it"


@pytest.mark.slow
@pytest.mark.skipif(not shutil.which("iperf3"), reason="no iperf3 (package iperf3)")
def test_iperf3_gets_what_the_simulator_says():
    """CUBIC at 50 Mb/s, 40 ms, a buffer of one BDP: goodput within 3 %, as often in recovery."""
    link = Scenario.from_toml(LINK)
    command = ["iperf3", "-c", "10.0.0.2", "-t", "10", "-J"]
    for _ in range(3):
        done = subprocess.run(
            [ACKCLOCK, "shell", LINK, "--listen", "iperf3 -s", "--", *command],
            capture_output=True, check=False, text=True,
        )  # fmt: skip
        if done.returncode != 3:
            break
    else:
        said = done.stderr.partition("INVALID: ")[2].partition("\n")[0]
        pytest.skip(f"this machine keeps time too badly: {said}")
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)["end"]
    simulated = ackclock.run(link)
    (goodput_bps,) = ackclock.metrics.goodput_bps(simulated)
    assert report["sum_received"]["bits_per_second"] == pytest.approx(goodput_bps, rel=0.03)
    # The line of the data in the table: flow, algorithm, …, recoveries.
    recoveries = max(
        int(line.split()[-1]) for line in done.stderr.splitlines() if " cubic " in line
    )
    assert abs(recoveries - simulated.flows["recoveries"][0]) <= 1
