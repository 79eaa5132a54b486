"""`ackclock watch` shows real connections of this machine, over loopback."""

import io
import json
import os
import pty
import signal
import socket
import subprocess
import time
from contextlib import suppress
from pathlib import Path

import pytest
from rich.console import Console

from ackclock import Result
from ackclock.cli import screen
from ackclock.cli.watch import KEYS, left_out, table
from ackclock.results.connections import Connection, read
from common import ACKCLOCK, wait_until

SENT = 100_000


@pytest.fixture(params=["127.0.0.1", "::1"])
def connection(request):
    """A connection with Reno that has sent 100 kB: its two ends, and the server's port."""
    family = socket.AF_INET6 if ":" in request.param else socket.AF_INET
    try:
        server = socket.create_server((request.param, 0), family=family)
    except OSError as error:
        pytest.skip(f"no {request.param} here: {error}")
    with server, socket.create_connection(server.getsockname()[:2]) as client:
        accepted, _ = server.accept()
        with accepted:
            client.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, b"reno")
            client.sendall(bytes(SENT))
            left = SENT
            while left:
                left -= len(accepted.recv(left))
            yield client, accepted, server.getsockname()[1]


def watch(ackclock, *words):
    done = ackclock("watch", "--once", "--json", *words)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)["connections"]


def test_both_ends_of_a_connection(connection, ackclock):
    client, accepted, port = connection
    rows = {}

    def is_acked():  # the last ACK may still be on its way
        rows.update({row["local_port"]: row for row in watch(ackclock, "--port", port)})
        return rows[client.getsockname()[1]]["acked_bytes"] >= SENT

    wait_until(is_acked)
    own, other = rows[client.getsockname()[1]], rows[port]
    assert len(rows) == 2
    assert (own["local"], own["remote_port"]) == (client.getsockname()[0], port)
    assert own["algorithm"] == "reno"
    assert (
        other["algorithm"]
        == accepted.getsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, 16).rstrip(b"\0").decode()
    )
    assert own["acked_bytes"] - SENT in (0, 1)  # the SYN
    assert other["received_bytes"] == SENT
    assert own["state"] == "established"
    assert own["cwnd_packets"] >= 10
    assert own["ssthresh_packets"] is None
    assert 0 < own["min_rtt_us"] <= own["srtt_us"] < 1_000_000
    assert own["delivery_bytes_per_s"] > 0


def test_a_recording_is_a_result(connection, ackclock, tmp_path):
    """What is sent after it began, and a socket for each flow; `plot` draws it."""
    client, accepted, port = connection
    words = [ACKCLOCK, "watch", "--port", str(port), "--every", "0.1", "--record", tmp_path / "out"]
    with subprocess.Popen(words, stderr=subprocess.PIPE, text=True) as running:
        assert "recording" in running.stderr.readline()
        accepted.sendall(bytes(SENT // 10))
        left = SENT // 10
        while left:
            left -= len(client.recv(left))
        wait_until(lambda: any(each.sent_packets and each.local_port == port for each in read()))
        time.sleep(0.5)
        running.send_signal(signal.SIGINT)
        assert running.wait(300) == 0
    result = Result.load(tmp_path / "out")
    by_end = {each["from"]: each["flow"] for each in result.manifest["connections"]}
    rows = {row["flow"]: row for row in result.flows.iter_rows(named=True)}
    assert len(by_end) == len(rows) == 2
    name, number = client.getsockname()[:2]
    own, other = (rows[by_end[f"{name}:{each}"]] for each in (number, port))
    assert own["delivered_bytes"] == 0
    assert other["delivered_bytes"] == SENT // 10
    assert own["algorithm"] == "kernel:reno"
    assert result.samples["time_us"].max() >= 300_000
    done = ackclock("plot", tmp_path / "out", "-o", tmp_path / "out.svg")
    assert done.returncode == 0, done.stderr
    assert "smoothed RTT" in (tmp_path / "out.svg").read_text("utf-8")
    done = ackclock("watch", "--record", tmp_path / "more", "--json")
    assert "give one of the two" in done.stderr


def test_filters(connection, ackclock):
    client, _, port = connection
    both = ("--port", port)
    assert {row["algorithm"] for row in watch(ackclock, *both, "--algorithm", "reno")} == {"reno"}
    assert watch(ackclock, *both, "--algorithm", "no_such") == []
    address = client.getsockname()[0]
    assert len(watch(ackclock, *both, "--address", address)) == 2
    assert watch(ackclock, *both, "--address", "192.0.2.0/24") == []
    sent = [row["acked_bytes"] for row in watch(ackclock, *both, "--sort", "sent")]
    assert sent == sorted(sent, reverse=True)
    for words, said in {
        ("--sort", "size"): "--sort size: unknown; choose from delivery",
        ("--port", "0"): "--port 0: must be between 1 and 65535",
        ("--address", "here"): "--address here: write an address or a network",
    }.items():
        done = ackclock("watch", *words)
        assert done.returncode == 1
        assert said in done.stderr


def test_the_kernel_is_asked_again_and_again(connection):
    assert len(connection) == 3
    before = sum(1 for _ in Path("/proc/self/fd").iterdir())
    assert all(read() for _ in range(50))
    # Fewer: what an earlier test left open may be collected meanwhile.
    assert sum(1 for _ in Path("/proc/self/fd").iterdir()) <= before


@pytest.mark.parametrize("sort", ["delivery", "received"])
@pytest.mark.parametrize("width", [200, 120, 100, 80, 60])
def test_a_narrow_screen_has_fewer_columns_and_whole_numbers(width, sort):
    each = Connection(
        "192.168.100.100", 40000, "192.168.100.101", 50000, "established", "bbr", "recovery",
        1234, 900, 123_456, 100_000, 12, 3, 1234, 123_456_789, 98_765_432, 10**10, 5000, 1448,
    )  # fmt: skip
    shown = Console(width=width, file=io.StringIO(), highlight=False)
    less = left_out(KEYS[sort])
    shown.print(screen.fitted(table([each] * 3, most=2), width, less=less), no_wrap=True)
    lines = shown.file.getvalue().splitlines()
    assert max(len(line.rstrip()) for line in lines) <= width
    assert len([line for line in lines if " bbr " in line]) == 2
    text = "\n".join(lines)
    assert "3 TCP connections, 1 not shown" in text
    numbers = {"1234", "123.46"} | ({"0.01"} if sort == "received" else {"790.12"})
    assert numbers <= set(text.split())
    assert ("a wider screen" in text) == (width < 200)
    assert ("192.168.100.100:40000" in text) == (width > 80)


def test_the_live_table(connection):
    """On a terminal, until an interrupt."""
    _, _, port = connection
    own, terminal = pty.openpty()
    command = [ACKCLOCK, "watch", "--port", str(port), "--every", "0.2"]
    environment = os.environ | {"COLUMNS": "170", "LINES": "20", "TERM": "xterm"}
    with subprocess.Popen(command, stdout=terminal, stderr=terminal, env=environment) as running:
        os.close(terminal)
        shown = b""
        while shown.count(b"TCP connections") < 3:
            shown += os.read(own, 1 << 16)
        running.send_signal(signal.SIGINT)
        # What nobody reads it cannot write, and so cannot end.
        with suppress(OSError):  # its end
            while more := os.read(own, 1 << 16):
                shown += more
        assert running.wait(300) == 130
    os.close(own)
    text = shown.decode(errors="replace")
    assert "interrupted" not in text
    assert text.count("2 TCP connections") >= 3
    assert "reno" in text
    assert f"[::1]:{port}" in text or f"127.0.0.1:{port}" in text
