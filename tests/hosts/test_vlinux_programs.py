"""Any programs on Linux in virtual time: each runs twice, beside busy processes, to the byte."""

import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tarfile
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import polars as pl
import pytest

import programs_page
from ackclock import AckclockError, Flow, Result, Scenario, run
from ackclock.hosts import vlinux
from ackclock.hosts.vlinux import shell as virtual
from ackclock.results.capture import explain
from common import ACKCLOCK, ROOT

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("machine")]

#: With a link in each direction: without one a server sends as fast as a processor can.
LINK = Scenario.from_text(programs_page.LINK, source="")
SIZE = 3_000_000
PROGRAMS = programs_page.programs(SIZE)


@pytest.fixture(scope="module")
def here(tmp_path_factory):
    """A directory with what the programs need."""
    here = tmp_path_factory.mktemp("programs")
    programs_page.prepare(here, SIZE)
    (here / "link.toml").write_text(programs_page.LINK)
    return here


@contextmanager
def busy():
    """Two processes that take what others leave of two cores."""
    does = ["nice", sys.executable, "-c", "while True: pass"]
    each = [subprocess.Popen(does) for _ in range(2)]
    try:
        yield
    finally:
        for process in each:
            process.kill()
            process.wait()


def shell(here, command, *options, listen=()):
    return programs_page.shell(here, command, *options, listen=listen, link=here / "link.toml")


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_program_runs_twice_to_the_byte(name, here, tmp_path):
    listen, command, has = PROGRAMS[name]
    for tool in (listen.replace("$HERE", str(here)).split()[0], command.split()[0]):
        if shutil.which(tool, path=f"{os.environ['PATH']}:/usr/sbin") is None:
            pytest.skip(f"no {tool} here")  # Java and Go: large, and the others need neither

    def ran(packets):
        done = shell(here, command, "--pcapng", str(packets), listen=[listen])
        assert done.returncode == 0, done.stderr
        return done.stdout, packets.read_bytes()

    with busy(), ThreadPoolExecutor() as both:
        outputs = [*both.map(ran, (tmp_path / "1.pcapng", tmp_path / "2.pcapng"))]
    assert has in outputs[0][0]
    assert outputs[0] == outputs[1]


def test_twice_names_what_differs(here):
    """A file of this machine that changes: what it decides is what differs."""
    serve = "python3 -m http.server 7000"
    get = "curl -s --retry 5 --retry-connrefused --retry-delay 1 http://server:7000/"
    done = shell(here, f"{get}link.toml", "--twice", listen=[serve])
    assert done.returncode == 0
    assert re.search(
        r"^equal twice: \d\d packets, and what was printed$", done.stderr, re.MULTILINE
    )
    assert done.stdout == (here / "link.toml").read_text()
    grows = subprocess.Popen(["sh", "-c", "while sleep 0.01; do echo more; done >grows"], cwd=here)
    try:
        done = shell(here, f"{get}grows", "--twice", listen=[serve])
    finally:
        grows.kill()
        grows.wait()
    assert done.returncode == 1
    assert re.search(r"error: not equal twice: packet \d+, at 0\.\d{6} s, differs", done.stderr)


def test_a_transfer_is_that_of_the_simulator(here, tmp_path):
    """As many bytes as a flow of the scenario: the same rate to within 1 %, each byte once."""
    out = tmp_path / "out"
    send = (
        "import socket; c = socket.create_connection(('server', 7000)); "
        "c.sendall(bytes(6_000_000)); c.shutdown(1); c.recv(1)"
    )
    serve = (
        "import socket; s = socket.create_server(('', 7000)); c, _ = s.accept()\n"
        "while c.recv(1 << 20): pass"
    )
    (here / "send.py").write_text(send)
    (here / "serve.py").write_text(serve)
    listen = [f"{sys.executable} serve.py"]
    captures = [tmp_path / "program.pcapng", tmp_path / "flow.pcapng"]
    options = ("-o", str(out), "--pcapng", str(captures[0]))
    ran = shell(here, f"{sys.executable} send.py; echo x >new", *options, listen=listen)
    assert ran.returncode == 0, ran.stderr
    result = Result.load(out)
    (flow,) = result.flows.filter(pl.col("delivered_bytes") > 1_000).to_dicts()
    assert flow["delivered_bytes"] == 6_000_000
    assert flow["algorithm"] == "cubic"
    base = LINK
    same = base.replace(flows=[Flow(algorithm="cubic", size="6MB")], duration="20s")
    run(same, pcapng=captures[1])
    (program,), (simulated,) = map(explain, captures)
    assert program.bytes == simulated.bytes == 6_000_000
    rates_bps = [each.numbers()["rate_bps"] for each in (program, simulated)]
    assert rates_bps[0] == pytest.approx(rates_bps[1], rel=0.01)
    queue = result.queues.filter(pl.col("queue") == 1).sort("time_us")
    assert queue["sent_bytes"][-1] > 6_000_000
    with tarfile.open(out / "files.tar") as files:
        assert files.extractfile("./new").read() == b"x\n"
    told = json.loads((out / "manifest.json").read_text())["programs"]
    assert [each["status"] for each in told] == [0, 0]
    assert not (here / "new").exists()


def test_what_programs_find_in_the_machine(here):
    """IPv6, io_uring, memfd, shared memory, terminals, inotify, TLS, the processor's clock."""
    (here / "tsc.c").write_text(
        "#include <x86intrin.h>\n#include <stdio.h>\n#include <unistd.h>\nint main() { unsigned a; "
        'unsigned long long t = __rdtsc(); usleep(1000); printf("%llu\\n", __rdtscp(&a) - t); }'
    )
    subprocess.run(["gcc", "-O2", "tsc.c", "-o", "tsc"], cwd=here, check=True)
    (here / "find.py").write_text(
        "import ctypes, os, pty, socket, ssl\n"
        "from multiprocessing import shared_memory\n"
        "s = socket.socket(socket.AF_INET6); s.bind(('::1', 0)); s.listen()\n"
        "os.write(os.memfd_create('m'), b'x')\n"
        "libc = ctypes.CDLL(None)\n"
        "assert libc.syscall(425, 8, ctypes.create_string_buffer(200)) >= 0\n"
        "assert libc.inotify_init() >= 0\n"
        "assert os.ttyname(pty.openpty()[1]).startswith('/dev/pts/')\n"
        "of = shared_memory.SharedMemory(create=True, size=10); of.close(); of.unlink()\n"
        "s.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, b'bbr')\n"
        "assert ssl.create_default_context().get_ca_certs()\n"
        "print('found')\n"
    )
    ran = shell(here, f"./tsc; {sys.executable} find.py")
    ticks, found = ran.stdout.split()
    # 1 GHz: 1 ms, and what two or three calls took.
    assert int(ticks) in (1_002_000, 1_003_000), ran.stderr
    assert found == "found"


def test_an_hour_of_sleep(here):
    """The machine begins in 2023, and a run 2 to 3 s later."""
    ran = shell(here, "sleep 3600; date +%s")
    assert int(ran.stdout) - 1_700_000_000 in (3_602, 3_603)


@pytest.mark.parametrize(
    ("command", "options", "listen", "says"),
    [
        ("true", (), ["nothing-of-the-kind"], "nothing-of-the-kind: cannot be started"),
        ("true", (), ["/run/server"], "are empty there"),
        ("true", (), ["false"], "false: ended before it had a port"),
        ("true", (), ["sleep 100"], "sleep 100: has opened no port in 10 s"),
        ("true", ("--set", "flow.algorithm=kernel:nope"), [], "nope"),
        (
            f"exec {sys.executable} spin.py",
            ("--call", "0s"),
            [],
            "calls clock_gettime without end",
        ),
    ],
)
def test_what_is_refused_leaves_nothing(command, options, listen, says, here, tmp_path):
    (here / "spin.py").write_text("import time\nwhile time.monotonic() < 1e9: pass\n")
    ran = shell(here, command, "-o", str(tmp_path / "out"), *options, listen=listen)
    assert ran.returncode == 1, ran.stderr
    assert says in ran.stderr
    assert not (tmp_path / "out").exists()


def test_limits_of_the_machine(here):
    """A program that forks, fills its disk or prints without end hears so, and the machine ends."""
    ran = shell(here, "dd if=/dev/zero of=/tmp/x bs=1M 2>&1 | tail -1; echo over")
    assert "over" in ran.stdout
    assert shell(here, "ulimit -f").stdout == f"{2**30 // 512}\n"
    (here / "forks.c").write_text(
        "#include <stdio.h>\n#include <unistd.h>\nint main() { for (int i = 0; i < 10000; i++) {"
        'int pid = fork(); if (pid < 0) { perror("fork"); return 1; } if (!pid) return pause(); } }'
    )
    subprocess.run(["gcc", "forks.c", "-o", "forks"], cwd=here, check=True)
    ran = shell(here, "./forks")
    assert ran.returncode == 1, ran.stderr
    assert "fork: Resource temporarily unavailable" in ran.stderr


def test_scenarios_that_programs_cannot_have():
    base = LINK
    two = base.replace(flows=[Flow(algorithm="cubic"), Flow(algorithm="cubic", rtt="90ms")])
    with pytest.raises(AckclockError, match="flow 2: differs from flow 1"):
        virtual.run(two, ["true"])
    back = base.replace(flows=[Flow(algorithm="cubic", direction="reverse")])
    with pytest.raises(AckclockError, match='flow 1: direction = "reverse": the client sends, too'):
        virtual.run(back, ["true"])


def test_programs_of_a_scenario_beside_its_flow(machine):
    """iperf3 beside BBR says what the tables say."""
    scenario = Scenario.from_toml(ROOT / "examples" / "programs" / "upload.toml")
    with ThreadPoolExecutor() as both:
        ran, again = both.map(lambda each: vlinux.run(each, built=machine), [scenario] * 2)
    flow, *connections = ran.flows.to_dicts()
    assert flow["algorithm"] == "bbr"
    assert [each["flow"] for each in connections] == [2, 3, 4]
    (data,) = [each for each in connections if each["delivered_bytes"] > 100_000]
    assert data["algorithm"] == "cubic"
    server, client = ran.manifest["programs"]
    assert (server["side"], client["status"]) == ("server", 0)
    assert client["start_s"] == pytest.approx(2)
    said = float(re.search(r"([\d.]+) MBytes .* receiver", client["out"])[1])
    assert data["delivered_bytes"] == pytest.approx(said * 2**20, rel=0.03)
    assert again.flows.equals(ran.flows)
    assert again.manifest["programs"] == ran.manifest["programs"]
    assert len(ran.manifest["resolved"]["flows"]) == 4
    assert ran.queues["queue"].unique().to_list() == [1, 2]


@pytest.mark.parametrize(("example", "says"), [("quic", ""), ("player", "stood still for 0.00 s")])
def test_an_example_runs_to_its_end(example, says, monkeypatch, machine):
    """With the Python that has aioquic."""
    monkeypatch.setenv(
        "PATH", os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    )
    scenario = Scenario.from_toml(ROOT / "examples" / "programs" / f"{example}.toml")
    _, client = vlinux.run(scenario, built=machine).manifest["programs"]
    assert client["status"] == 0, client["err"]
    assert says in client["out"]


def test_seeds_of_a_scenario_with_programs(tmp_path):
    """Each seed is a run of its own; those whose programs connect otherwise have no mean."""
    upload = ROOT / "examples" / "programs" / "upload.toml"
    options = ("--on", "vlinux", "--seeds", "2", "--set", "duration=3s", "--json")
    ran = subprocess.run(
        [ACKCLOCK, "run", upload, *options],
        cwd=tmp_path, capture_output=True, text=True, timeout=600, check=False,
    )  # fmt: skip
    assert ran.returncode == 0, ran.stderr
    summed = json.loads(ran.stdout)
    assert summed["seeds"] == [1, 2]
    assert [each["goodput_bps"]["n"] for each in summed["flows"]] == [2] * 4


def test_http_of_two_versions(machine):
    """The example: all objects come, with the HTTP that its environment names."""
    base = Scenario.from_toml(ROOT / "examples" / "programs" / "http.toml")

    def printed(http):
        own = base.assign(f"program.2.environment=HTTP={http}")
        return vlinux.run(own, built=machine).manifest["programs"][1]

    with ThreadPoolExecutor() as both:
        second, first = both.map(printed, ("--http2", "--http1.1"))
    assert "100 x 2 200" in second["out"]
    assert "100 x 1.1 200" in first["out"]


@pytest.mark.parametrize(
    ("programs", "says"),
    [
        ([{"command": ""}], 'program 1: command = "": write a command line'),
        ([{"command": "a", "rtt": "1ms"}, {"command": "b"}], "program 2: rtt"),
        ([{"command": "a", "algorithm": "reno"}, {"command": "b"}], "program 2: algorithm"),
        ([{"command": "a", "start": "2s", "stop": "1s"}], "program 1: stop"),
        ([{"command": "'a"}], "No closing quotation"),
        ([{"command": "a", "environment": "B"}], "write NAME=VALUE"),
    ],
)
def test_what_is_wrong_with_a_program(programs, says, machine):
    base = LINK
    with pytest.raises(AckclockError, match=re.escape(says)):
        vlinux.prepare(base.replace(flows=[], programs=programs), built=machine)


@pytest.mark.parametrize("side", ["client", "server"])
def test_a_program_that_does_not_begin_is_no_result(side, machine):
    scenario = Scenario.from_toml(ROOT / "examples" / "programs" / "upload.toml").replace(
        duration="3s", programs=[{"command": "nothing-of-the-kind", "side": side}]
    )
    with pytest.raises(AckclockError, match=r"nothing-of-the-kind: cannot be started \(No such"):
        vlinux.run(scenario, built=machine)


def test_a_stop_after_the_end_and_the_order_of_a_scenario(machine):
    scenario = Scenario.from_toml(ROOT / "examples" / "programs" / "upload.toml").replace(
        duration="3s",
        programs=[
            {"command": "sleep 0.5", "stop": "1s"},
            {"command": "sleep 9", "start": "1s", "stop": "2s"},
            {"command": f"{sys.executable} -m http.server 80", "side": "server"},
        ],
    )
    first, second, server = vlinux.run(scenario, built=machine).manifest["programs"]
    assert (first["command"], first["status"]) == ("sleep 0.5", 0)
    assert second["status"] == 128 + signal.SIGTERM
    assert second["end_s"] == pytest.approx(2, abs=0.01)
    assert server["side"] == "server"


def test_the_commands_of_the_page(tmp_path):
    """In a directory with the examples, each as it is typed."""
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    page = (ROOT / "docs" / "programs.md").read_text()
    lines = re.search(r"```sh\n(.*?)```", page, re.DOTALL)[1].splitlines()
    typed = [line for line in lines if "linux build" not in line]
    assert len(typed) == 4

    def run(line):
        words = [ACKCLOCK, *shlex.split(line, comments=True)[1:]]
        return subprocess.run(
            words, cwd=tmp_path, capture_output=True, text=True, timeout=600, check=False
        )

    with ThreadPoolExecutor(2) as two:
        for line, ran in zip(typed, two.map(run, typed), strict=True):
            assert ran.returncode == 0, (line, ran.stderr)
    assert (tmp_path / "out" / "get" / "command.out").read_text().startswith("<!DOCTYPE")
    assert (tmp_path / "a.pcapng").stat().st_size > 500
