"""Algorithms in the running kernel: deploy, status, undeploy, doctor; real programs use them."""

import ctypes
import fcntl
import functools
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import pytest

from ackclock import _core
from ackclock.base.kernel_part import NOT_BUILT, is_built, kernel_part, lacks
from common import ACKCLOCK, REFUSED, ROOT, needs_kernel

TCP_CONGESTION = 13
SYSCTL = Path("/proc/sys/net/ipv4/tcp_congestion_control")


def run(*command, **options):
    return subprocess.run(
        command, capture_output=True, text=True, timeout=300, check=True, **options
    ).stdout


def on_own_machine(test):
    """Runs a test on a thread with mounts of its own and a BPF file system of its own.

    They end with the thread, and what is deployed in them, so that nothing of the machine
    matters to the test and nothing of the test stays.
    """

    def own_mounts():
        clone_newns, ms_rec_private = 0x20000, 0x4000 | 1 << 18
        libc = ctypes.CDLL(None, use_errno=True)
        assert libc.unshare(clone_newns) == 0, os.strerror(ctypes.get_errno())
        assert libc.mount(b"none", b"/", None, ms_rec_private, None) == 0
        run("mount", "-t", "bpf", "-o", "mode=0700", "bpf", "/sys/fs/bpf")

    @functools.wraps(test)
    def alone(*args, **kwargs):
        with ThreadPoolExecutor(1, initializer=own_mounts) as thread:
            return thread.submit(test, *args, **kwargs).result()

    return needs_kernel(alone)


LINKS_LACK = lacks("CAP_NET_ADMIN")
needs_links = pytest.mark.skipif(
    bool(LINKS_LACK), reason=f"two hosts with a link cannot be made: {LINKS_LACK}"
)


@pytest.fixture
def name():
    """A name in the kernel, which all namespaces share, that nobody else has."""
    return f"t{os.getpid()}_{os.urandom(2).hex()}"


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


@on_own_machine
def test_deploy_status_undeploy(ackclock, name):
    done = ackclock("deploy", "cubic_fc@ha2008:beta=0.75", "--param", "f_max=0.5", "--name", name)
    assert done.returncode == 0, done.stderr
    assert f"{name} is registered: cubic_fc@ha2008:beta=0.75,f_max=0.5" in done.stdout

    [listed] = [
        each for each in json.loads(ackclock("status", "--json").stdout) if each["name"] == name
    ]
    assert listed["spec"] == "cubic_fc@ha2008:beta=0.75,f_max=0.5"
    wanted = _core.configure("cubic_fc@ha2008:beta=0.75,f_max=0.5")["values"]
    assert listed["parameters"] == pytest.approx(wanted)
    assert listed["deployed"]
    assert listed["sockets"] == listed["held_by"] == listed["default_in"] == []
    shown = ackclock("status").stdout
    assert name in shown
    assert "beta=0.75" in shown

    again = ackclock("deploy", "cubic_fc@ha2008:beta=0.75,f_max=0.5", "--name", name)
    assert again.returncode == 0
    assert f"{name} is already registered: cubic_fc@ha2008:beta=0.75,f_max=0.5" in again.stdout
    other = ackclock("deploy", "cubic_fc", "--name", name)
    assert other.returncode == 1
    assert f"`{name}` is already deployed as cubic_fc@ha2008" in other.stderr
    assert f"run `ackclock undeploy {name}` first" in other.stderr

    done = ackclock("undeploy", name)
    assert done.returncode == 0, done.stderr
    assert done.stdout == f"{name} is no longer registered\n"
    assert name not in [each["name"] for each in kernel_part().status()]


@on_own_machine
def test_live_sockets_keep_it(name):
    kernel_part().deploy("reno", name)
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.setsockopt(socket.IPPROTO_TCP, TCP_CONGESTION, name.encode())
        with socket.create_connection(server.getsockname()) as client:
            client.setsockopt(socket.IPPROTO_TCP, TCP_CONGESTION, name.encode())
            used = {each["namespace"]: each["count"] for each in status_of(name)["sockets"]}
            assert used["here"] == 3  # and the one to be accepted
            live = dict(kernel_part().undeploy(name)["live"])
            assert live["here"] == 3
            accepted, _ = server.accept()
            with accepted:
                client.sendall(b"x" * 100_000)
                assert len(accepted.recv(100_000, socket.MSG_WAITALL)) == 100_000
            with pytest.raises(FileNotFoundError), socket.socket() as late:
                late.setsockopt(socket.IPPROTO_TCP, TCP_CONGESTION, name.encode())


@needs_links
@on_own_machine
@pytest.mark.skipif(not shutil.which("iperf3"), reason="no iperf3 (Debian: iperf3)")
def test_any_program_uses_it(name):
    with two_hosts() as (a, b):
        kernel_part().deploy("cubic_fc:f_max=0.5", name)
        server = ("iperf3", "-s", "-1", "-B", "10.1.1.2", "--forceflush")
        with subprocess.Popen(
            inside(b, *server), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        ) as listening:
            while "listening" not in listening.stdout.readline():
                assert listening.poll() is None
            # It ends when all is written; what the buffers then hold is not counted as received.
            client = ("iperf3", "-J", "-c", "10.1.1.2", "-n", "250M", "-C", name)
            report = json.loads(run(*inside(a, *client)))
            listening.communicate(timeout=300)
        assert report["end"]["sum_received"]["bytes"] >= 200e6
        assert report["end"]["sender_tcp_congestion"] == name


@needs_links
@on_own_machine
def test_default_of_a_namespace(name):
    with two_hosts() as (a, b):
        before = run(*inside(a, "cat", SYSCTL)).strip()
        run(*inside(a, ACKCLOCK, "deploy", "htcp", "--name", name, "--default"))
        assert run(*inside(a, "cat", SYSCTL)).strip() == name
        assert SYSCTL.read_text().strip() != name
        run(*inside(b, "sh", "-c", f"echo {name} > {SYSCTL}"))
        default_in = sorted(status_of(name)["default_in"], key=lambda each: each["namespace"])
        assert default_in == [
            {"namespace": a, "previous": before},
            {"namespace": b, "previous": None},
        ]
        done = run(*inside(a, ACKCLOCK, "undeploy", name))
        assert f"default congestion control of this namespace restored to {before}" in done
        assert f"default congestion control of namespace {b} restored to {before}" in done
        assert run(*inside(a, "cat", SYSCTL)).strip() == before
        assert run(*inside(b, "cat", SYSCTL)).strip() == before


@on_own_machine
def test_names(ackclock):
    for spec, option, complaint in [
        ("cubic", "a_name_of_16_char", "characters, the kernel takes 15"),
        ("cubic", "no-hyphen", "letters, digits"),
        ("cubic", "htcp", "an algorithm of Linux has that name"),
        ("cubicc", "x", "did you mean `cubic`?"),
        ("cubic:beta=7", "x", "out of range"),
    ]:
        done = ackclock("deploy", spec, "--name", option)
        assert done.returncode == 1
        assert complaint in done.stderr
    assert "not deployed" in ackclock("undeploy", "nothing").stderr


@on_own_machine
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


@on_own_machine
def test_without_root():
    python, code = ACKCLOCK.with_name("python"), "from ackclock.cli.main import main; main()"
    card = ["evaluate", "reno", "--quick", "--rows", "R12", "--on", "kernel"]
    for command in (["deploy", "cubic_fc"], ["undeploy", "cubic_fc"], ["status"], card):
        done = subprocess.run(
            ["setpriv", "--bounding-set=-all", "--inh-caps=-all", python, "-c", code, *command],
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 1, command
        assert "needs root; this process lacks CAP_SYS_ADMIN" in done.stderr
        assert len(done.stderr.splitlines()) == 1
        assert len(done.stderr) < 200
    done = subprocess.run(
        ["setpriv", "--bounding-set=-all", "--inh-caps=-all", python, "-c", code, "doctor"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    for capability in ("NET_ADMIN", "SYS_ADMIN", "PERFMON", "BPF", "SYS_PTRACE", "SYS_RESOURCE"):
        assert f"CAP_{capability}" in done.stdout
    assert "deploying an algorithm needs root; this process lacks CAP_SYS_ADMIN" in done.stdout


#: How a shell makes the machine lack something, for itself and for what it starts.
LACKS = {
    "this kernel has no BTF": "mount -t tmpfs none /sys/kernel/btf",
    "Linux 5.10.0-30-amd64 is too old": "mount --bind osrelease /proc/sys/kernel/osrelease",
    "runs in a mount namespace of its own": "while umount /sys/fs/bpf 2>/dev/null; do :; done",
}


@on_own_machine
@pytest.mark.parametrize("complaint", LACKS)
def test_what_a_kernel_may_lack(tmp_path, name, complaint):
    kernel_part().deploy("reno", name)
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
    needed = [each for each in kernel_part().doctor() if each["needed"]]
    assert done.returncode == (0 if all(each["ok"] for each in needed) else 1)
    for what in (
        "kernel",
        "BTF",
        "struct_ops",
        "deploy",
        "default algorithm",
        "clang",
        "netem",
        "TUN",
        "cores",
    ):
        assert what in done.stdout


@on_own_machine
def test_undeploy_several(ackclock, name):
    assert ackclock("undeploy", "--all").stdout == "nothing is deployed\n"
    both = [name + suffix for suffix in "ab"]
    for arguments in (["--all"], both):
        for each in both:
            assert ackclock("deploy", "cubic_fc", "--name", each).returncode == 0
        done = ackclock("undeploy", *arguments)
        assert done.returncode == 0, done.stderr
        assert done.stdout == "".join(f"{each} is no longer registered\n" for each in both)
        assert not any(each["name"].startswith(name) for each in kernel_part().status())
    for arguments in (), (name, "--all"):
        done = ackclock("undeploy", *arguments)
        assert done.returncode == 1
        assert "--all" in done.stderr


@on_own_machine
def test_where_stdout_is_full(name):
    """It is registered, and stderr says so."""
    for already in "", "already ":
        with Path("/dev/full").open("w") as full:
            command = (ACKCLOCK, "deploy", "cubic_fc", "--name", name)
            done = subprocess.run(
                command, stdout=full, stderr=subprocess.PIPE, text=True, check=False
            )
        assert done.returncode == 1
        assert done.stderr == (
            f"{name} is {already}registered: cubic_fc; to end it: ackclock undeploy {name}\n"
            "error: cannot print: No space left on device\n"
        )
        assert status_of(name)["deployed"]
    reader, writer = os.pipe()
    os.close(reader)
    command = (ACKCLOCK, "undeploy", name)
    done = subprocess.run(command, stdout=writer, stderr=subprocess.PIPE, text=True, check=False)
    os.close(writer)
    assert done.returncode == 128 + signal.SIGPIPE
    assert done.stderr == f"{name} is no longer registered\n"


@on_own_machine
def test_an_interrupt_ends_the_wait(name):
    directory = Path("/sys/fs/bpf/ackclock")
    directory.mkdir(mode=0o700)
    holder = os.open(directory, os.O_RDONLY)
    fcntl.flock(holder, fcntl.LOCK_EX)
    command = (ACKCLOCK, "deploy", "cubic_fc", "--name", name)
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as waiting:
        said = waiting.stderr.readline()
        assert f"waiting for process {os.getpid()} (" in said
        waiting.send_signal(signal.SIGINT)
        assert waiting.wait(timeout=300) == 130
        said = waiting.stderr.read()
        assert said.endswith("interrupted: `ackclock status` shows what is registered\n")
    os.close(holder)
    assert name not in [each["name"] for each in kernel_part().status()]


@on_own_machine
def test_status_json_is_documented(ackclock, name):
    kernel_part().deploy("cubic_fc", name)
    [listed] = [
        each for each in json.loads(ackclock("status", "--json").stdout) if each["name"] == name
    ]
    page = (ROOT / "docs" / "kernel.md").read_text(encoding="utf-8")
    section = page.split("## `status --json`")[1].split("\n## ")[0]
    documented = re.findall(r"^\| `(\w+)` \|", section, re.MULTILINE)
    assert documented == list(listed)


@needs_links
@on_own_machine
def test_one_route_uses_it(name):
    """`ip route … congctl` chooses it for the connections of a route, whatever the default."""
    connect = (
        "import socket, sys\n"
        "with socket.create_connection(('10.1.1.2', 5)) as client:\n"
        "    print(client.getsockopt(6, 13, 16).split(b'\\0')[0].decode())\n"
        "    client.setsockopt(6, 13, b'reno')\n"
    )
    listen = (
        "import socket, sys\n"
        "server = socket.create_server(('10.1.1.2', 5))\n"
        "print('ready', flush=True)\n"
        "sys.stdin.read()\n"
    )
    with two_hosts() as (a, b):
        default = run(*inside(a, "cat", SYSCTL)).strip()
        kernel_part().deploy("cubic_fc", name)
        route = ("ip", "-n", a, "route", "replace", "10.1.1.2/32", "dev", "eth0")
        with subprocess.Popen(
            inside(b, sys.executable, "-c", listen),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        ) as server:
            assert server.stdout.readline() == "ready\n"
            assert run(*inside(a, sys.executable, "-c", connect)).strip() == default
            run(*route, "congctl", name)
            assert run(*inside(a, sys.executable, "-c", connect)).strip() == name
            assert name in run("ip", "-n", a, "route")
            run(*route, "congctl", "lock", name)
            with pytest.raises(subprocess.CalledProcessError) as refused:
                run(*inside(a, sys.executable, "-c", connect))
            assert "PermissionError" in refused.value.stderr
            kernel_part().undeploy(name)
            assert run(*inside(a, sys.executable, "-c", connect)).strip() == default


@needs_kernel
@pytest.mark.parametrize("mounted", [False, True])
def test_on_a_fresh_machine(name, mounted):
    """Nothing is mounted, or systemd mounted it; process 1 is in these mounts."""
    script = f"""
        while umount /sys/fs/bpf 2>/dev/null; do :; done
        {"mount -t bpf -o mode=0700 bpf /sys/fs/bpf" if mounted else ""}
        set -e
        {ACKCLOCK} doctor
        {ACKCLOCK} deploy cubic_fc --name {name}
        stat -c %a /sys/fs/bpf/ackclock
        {ACKCLOCK} status
        {ACKCLOCK} undeploy {name}
        {ACKCLOCK} status
        test ! -e /sys/fs/bpf/ackclock
    """
    done = subprocess.run(
        ("unshare", "--mount", "--pid", "--fork", "--mount-proc", "sh", "-c", script),
        capture_output=True,
        text=True,
        check=False,
        timeout=600,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert ("deploy will mount it" in done.stdout) is not mounted
    assert ("mounted the BPF file system" in done.stdout) is not mounted
    assert "\n700\n" in done.stdout


@pytest.mark.skipif(not shutil.which("systemd-analyze"), reason="no systemd-analyze (systemd)")
def test_the_unit_of_the_docs(tmp_path):
    page = (ROOT / "docs" / "kernel.md").read_text(encoding="utf-8")
    unit = page.split("```ini\n")[1].split("```")[0]
    unit = unit.replace("/opt/ackclock/.venv/bin/ackclock", str(ACKCLOCK))
    path = tmp_path / "ackclock-cubic_fc.service"
    path.write_text(unit)
    done = subprocess.run(
        ("systemd-analyze", "verify", "--man=no", path), capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "ackclock" not in done.stderr


@on_own_machine
def test_dctcp_needs_dctcp_at_the_other_end(name):
    """With any other listener the connection has no ECN, and the sender becomes Reno."""
    kernel_part().deploy("dctcp", name)
    dctcp = name.encode()

    def used(listens):
        """What the two sockets of a connection run after 100 kB."""
        with socket.socket() as listener, socket.socket() as sender:
            listener.setsockopt(socket.IPPROTO_TCP, TCP_CONGESTION, listens)
            listener.bind(("127.0.0.1", 0))
            listener.listen(1)
            sender.setsockopt(socket.IPPROTO_TCP, TCP_CONGESTION, dctcp)
            sender.connect(listener.getsockname())
            receiver, _ = listener.accept()
            with receiver:
                sender.sendall(bytes(100_000))
                receiver.recv(100_000, socket.MSG_WAITALL)
                ends = sender, receiver
                options = [end.getsockopt(socket.IPPROTO_TCP, TCP_CONGESTION, 16) for end in ends]
        return [option.rstrip(b"\0") for option in options]

    assert used(b"reno") == [b"reno", b"reno"]
    assert used(dctcp) == [dctcp, dctcp]
    kernel_part().undeploy(name)
