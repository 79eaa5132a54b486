"""Algorithms in the running kernel: deploy, status, undeploy, doctor; real programs use them."""

import json
import os
import shutil
import socket
import subprocess
from contextlib import contextmanager
from pathlib import Path

import pytest

from ackclock import _core
from ackclock.kernel_part import NOT_BUILT, is_built, kernel_part
from conftest import ACKCLOCK, kernel_lacks, needs_kernel

TCP_CONGESTION = 13
SYSCTL = Path("/proc/sys/net/ipv4/tcp_congestion_control")


def run(*command, **options):
    return subprocess.run(
        command, capture_output=True, text=True, timeout=60, check=True, **options
    ).stdout


@pytest.fixture
def name():
    """A name in the kernel that nobody else has; free again afterwards."""
    name = f"t{os.getpid()}"
    yield name
    if any(each["name"] == name for each in kernel_part().status()):
        kernel_part().undeploy(name)


@contextmanager
def two_hosts():
    """Two namespaces with a link between them, 10.1.1.1 and 10.1.1.2."""
    hosts = [f"ac-d{os.getpid()}{side}" for side in "ab"]
    try:
        for host in hosts:
            run("ip", "netns", "add", host)
        peer = ("peer", "name", "eth0", "netns", hosts[1])
        run("ip", "-n", hosts[0], "link", "add", "eth0", "type", "veth", *peer)
        for index, host in enumerate(hosts, start=1):
            run("ip", "-n", host, "addr", "add", f"10.1.1.{index}/24", "dev", "eth0")
            run("ip", "-n", host, "link", "set", "eth0", "up")
        yield hosts
    finally:
        for host in hosts:
            subprocess.run(["ip", "netns", "del", host], check=False, capture_output=True)


def inside(host, *command):
    """`ip netns exec` would hide the BPF file system."""
    return ("nsenter", f"--net=/run/netns/{host}", *map(str, command))


def status_of(name):
    return next(each for each in kernel_part().status() if each["name"] == name)


@needs_kernel
def test_deploy_status_undeploy(ackclock, name):
    done = ackclock("deploy", "cubic_fc@ha2008:beta=0.75", "--param", "f_max=0.5", "--name", name)
    assert done.returncode == 0, done.stderr
    assert f"{name} is registered: cubic_fc@ha2008:beta=0.75,f_max=0.5" in done.stdout

    [listed] = [
        each for each in json.loads(ackclock("status", "--json").stdout) if each["name"] == name
    ]
    assert listed["spec"] == "cubic_fc@ha2008:beta=0.75,f_max=0.5"
    settings = dict(setting.split("=") for setting in listed["parameters"].split())
    wanted = _core.configure("cubic_fc@ha2008:beta=0.75,f_max=0.5")["values"]
    assert {key: float(value) for key, value in settings.items()} == pytest.approx(wanted)
    assert listed["pinned"]
    assert listed["sockets"] == []
    assert name in ackclock("status").stdout

    again = ackclock("deploy", "cubic_fc", "--name", name)
    assert again.returncode == 1
    assert f"the kernel has an algorithm `{name}` already" in again.stderr

    done = ackclock("undeploy", name)
    assert done.returncode == 0, done.stderr
    assert f"{name} is no longer registered" in done.stdout
    assert name not in [each["name"] for each in kernel_part().status()]


@needs_kernel
def test_live_sockets_keep_it(name):
    kernel_part().deploy("reno", name, False)
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.setsockopt(socket.IPPROTO_TCP, TCP_CONGESTION, name.encode())
        with socket.create_connection(server.getsockname()) as client:
            client.setsockopt(socket.IPPROTO_TCP, TCP_CONGESTION, name.encode())
            assert dict(status_of(name)["sockets"])["here"] == 3  # and the one to be accepted
            live = dict(kernel_part().undeploy(name)["live"])
            assert live["here"] == 3
            accepted, _ = server.accept()
            with accepted:
                client.sendall(b"x" * 100_000)
                assert len(accepted.recv(100_000, socket.MSG_WAITALL)) == 100_000
            with pytest.raises(FileNotFoundError), socket.socket() as late:
                late.setsockopt(socket.IPPROTO_TCP, TCP_CONGESTION, name.encode())


@needs_kernel
@pytest.mark.skipif(not shutil.which("iperf3"), reason="no iperf3 (Debian: iperf3)")
def test_any_program_uses_it(name):
    with two_hosts() as (a, b):
        kernel_part().deploy("cubic_fc:f_max=0.5", name, False)
        server = ("iperf3", "-s", "-1", "-B", "10.1.1.2", "--forceflush")
        with subprocess.Popen(
            inside(b, *server), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        ) as listening:
            while "listening" not in listening.stdout.readline():
                assert listening.poll() is None
            # It ends when all is written; what the buffers then hold is not counted as received.
            client = ("iperf3", "-J", "-c", "10.1.1.2", "-n", "250M", "-C", name)
            report = json.loads(run(*inside(a, *client)))
            listening.communicate(timeout=30)
        assert report["end"]["sum_received"]["bytes"] >= 200e6
        assert report["end"]["sender_tcp_congestion"] == name


@needs_kernel
def test_default_of_a_namespace(name):
    with two_hosts() as (a, b):
        before = run(*inside(a, "cat", SYSCTL)).strip()
        run(*inside(a, ACKCLOCK, "deploy", "htcp", "--name", name, "--default"))
        assert run(*inside(a, "cat", SYSCTL)).strip() == name
        assert SYSCTL.read_text().strip() != name
        run(*inside(b, "sh", "-c", f"echo {name} > {SYSCTL}"))
        assert sorted(status_of(name)["default_in"]) == [a, b]
        done = run(*inside(a, ACKCLOCK, "undeploy", name))
        assert f"namespace here: the default is {before} again" in done
        assert run(*inside(a, "cat", SYSCTL)).strip() == before
        assert run(*inside(b, "cat", SYSCTL)).strip() == before


@needs_kernel
def test_names(ackclock):
    for spec, option, complaint in [
        ("cubic", "a_name_of_16_char", "characters, the kernel takes 15"),
        ("cubic", "no-hyphen", "letters, digits"),
        ("cubic", "htcp", "name of Linux's own"),
        ("cubicc", "x", "did you mean `cubic`?"),
        ("cubic:beta=7", "x", "out of range"),
    ]:
        done = ackclock("deploy", spec, "--name", option)
        assert done.returncode == 1
        assert complaint in done.stderr
    assert "not deployed" in ackclock("undeploy", "nothing").stderr


#: The verifier sees no bound of the index.
REFUSED = """
#include "tcp_cc.h"
static const u32 table[32] = { 7, 8, 9 };
CC_HOOK(u32, mine_ssthresh, struct sock *sk) { return table[tcp_sk(sk)->snd_cwnd]; }
CC_HOOK(void, mine_cong_avoid, struct sock *sk, u32 ack, u32 acked)
{
	tcp_reno_cong_avoid(sk, ack, acked);
}
CC_ALGORITHM(%s, "reads anywhere", .ssthresh = mine_ssthresh, .cong_avoid = mine_cong_avoid);
"""


@needs_kernel
def test_a_file_of_ones_own(ackclock, tmp_path, name):
    assert ackclock("new", "my_cc").returncode == 0
    done = ackclock("deploy", "./my_cc.c", "--name", name)
    assert done.returncode == 0, done.stderr
    assert status_of(name)["spec"] == "./my_cc.c"

    no_clang = {**os.environ, "CLANG": "/nowhere/clang"}
    done = subprocess.run(
        [ACKCLOCK, "deploy", "./my_cc.c"],
        cwd=tmp_path,
        env=no_clang,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    assert "no clang with the bpf target; install one" in done.stderr

    (tmp_path / "refused.c").write_text(REFUSED % "refused")
    done = ackclock("deploy", "./refused.c")
    assert done.returncode == 1
    assert "the kernel's verifier refuses ./refused.c" in done.stderr
    assert "refused.c:4" in done.stderr
    assert "unbounded memory access" in done.stderr
    assert "refused" not in [each["name"] for each in kernel_part().status()]


@needs_kernel
def test_without_root():
    python, code = ACKCLOCK.with_name("python"), "from ackclock.cli import main; main()"
    for command in (["deploy", "cubic_fc"], ["undeploy", "cubic_fc"], ["status"]):
        done = subprocess.run(
            ["setpriv", "--bounding-set=-all", "--inh-caps=-all", python, "-c", code, *command],
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 1, command
        assert "needs root (CAP_BPF" in done.stderr
        assert len(done.stderr.splitlines()) == 1
    done = subprocess.run(
        ["setpriv", "--bounding-set=-all", "--inh-caps=-all", python, "-c", code, "doctor"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    assert "without CAP_NET_ADMIN, CAP_SYS_ADMIN, CAP_PERFMON, CAP_BPF" in done.stdout


#: How a shell makes the machine lack something, for itself and for what it starts.
LACKS = {
    "this kernel has no BTF": "mount -t tmpfs none /sys/kernel/btf",
    "Linux 5.10.0-30-amd64 is too old": "mount --bind osrelease /proc/sys/kernel/osrelease",
    "this command has a mount namespace of its own": "umount /sys/fs/bpf",
}


@needs_kernel
@pytest.mark.parametrize("complaint", LACKS)
def test_what_a_kernel_may_lack(tmp_path, name, complaint):
    kernel_part().deploy("reno", name, False)  # mounts the BPF file system
    (tmp_path / "osrelease").write_text("5.10.0-30-amd64\n")
    done = subprocess.run(
        ["unshare", "-m", "sh", "-c", f"{LACKS[complaint]} && exec {ACKCLOCK} undeploy {name}"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    assert complaint in done.stderr
    assert len(done.stderr.splitlines()) == 1


@pytest.mark.skipif(not is_built(), reason=NOT_BUILT)
def test_doctor(ackclock):
    done = ackclock("doctor")
    assert done.returncode == (1 if kernel_lacks() else 0)
    for what in ("kernel", "BTF", "struct_ops", "capabilities", "clang", "netem", "TUN", "cores"):
        assert what in done.stdout
