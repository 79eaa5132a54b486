"""Runs on a Ray cluster of two nodes, which these tests start on loopback and stop."""

import os
import pickle
import shutil
import signal
import socket
import subprocess
import sys
import threading
from contextlib import suppress
from pathlib import Path

import polars as pl
import pytest

import ackclock
from ackclock import AckclockError, Bottleneck, Flow, Local, Ray, Result, Scenario
from ackclock.base.errors import AlgorithmError
from ackclock.hosts import ray as on_ray
from ackclock.hosts.work import CACHE, Work
from ackclock.scenario import snapshot
from ackclock.sweeps.sweep import Sweep
from common import ACKCLOCK, wait_until

pytest.importorskip("ray", reason="ray is not installed; `make test-slow` installs it")
pytestmark = pytest.mark.slow

#: Of each node. Ray takes 127.0.0.1 for a mistake, but not its neighbours.
NODE = {"num_cpus": 1, "object_store_memory": 80 << 20, "include_dashboard": False}
#: Nothing goes to Ray's makers; workers get their share of a busy machine.
SETTINGS = {"RAY_USAGE_STATS_ENABLED": "0", "RAY_worker_niceness": "0"}
SCENARIO = """
duration = "4s"
rtt = "20ms"
[bottleneck]
trace = "rate.trace"
buffer = "64packets"
[[flow]]
algorithm = "own/mine.c:beta=0.6"
[[flow]]
algorithm = "reno"
start_spread = "1s"
"""
SWEEP = """
scenario = "two.toml"
seeds = 30
metrics = ["utilisation", "share_1", "mine.py:late"]
[axes]
rtt = { from = "5ms", to = "30ms", points = 20 }
"""
MINE = """
from ackclock import metrics

def late(result):
    return metrics.utilisation(result, 1)

def wrong(result):
    return 1 / 0
"""
#: A C file that sets a window of 0.
ZERO = """
#include "tcp_cc.h"
CC_HOOK(u32, zero_ssthresh, struct sock *sk) { return 2; }
CC_HOOK(void, zero_cong_avoid, struct sock *sk, u32 ack, u32 acked) { tcp_sk(sk)->snd_cwnd = 0; }
CC_ALGORITHM(zero, "zero", .ssthresh = zero_ssthresh, .cong_avoid = zero_cong_avoid);
"""
#: One that crashes at its first loss.
CRASH = """
#include "tcp_cc.h"
CC_HOOK(u32, crash_ssthresh, struct sock *sk) { return *(volatile u32 *)8; }
CC_ALGORITHM(crash, "crash", .ssthresh = crash_ssthresh, .cong_avoid = tcp_reno_cong_avoid);
"""
RUNS = 600


@pytest.fixture(scope="module")
def cluster():
    from ray.cluster_utils import Cluster  # noqa: PLC0415 (not before the skip)

    with pytest.MonkeyPatch.context() as patch:
        for name, value in SETTINGS.items():
            patch.setenv(name, value)
        cluster = Cluster(True, head_node_args=NODE | {"node_ip_address": "127.0.0.2"})
        cluster.add_node(**NODE, node_ip_address="127.0.0.3")
        yield cluster
        cluster.shutdown()


@pytest.fixture
def sweep(tmp_path, monkeypatch):
    """A sweep with files of all kinds: a C file with a header of its own, a trace, Python."""
    monkeypatch.chdir(tmp_path)
    own = tmp_path / "own"
    own.mkdir()
    subprocess.run([ACKCLOCK, "new", "mine"], cwd=own, check=True, capture_output=True)
    text = (own / "mine.c").read_text()
    (own / "mine.c").write_text('#include "mine.h"\n' + text)
    (own / "mine.h").write_text("/* beside the file */\n")
    (tmp_path / "rate.trace").write_text("0\n1\n1\n2\n5\n")
    for name, text in (("two.toml", SCENARIO), ("sweep.toml", SWEEP), ("mine.py", MINE)):
        (tmp_path / name).write_text(text)
    return Sweep.from_toml("sweep.toml")


def run(sweep, executor, **options):
    """The table, and how many runs were to do and were kept."""
    heard = []
    with snapshot.held():
        table = sweep.run(
            sweep.check(),
            Work(executor=executor, on_runs=lambda *n: heard.append(n), **options),
            keep="cache" in options,
        )
    return table, heard[0]


def test_the_table_is_that_of_a_local_sweep(cluster, sweep, tmp_path):
    """The files are gone before the first chunk travels: the workers cannot have read them."""
    local, _ = run(sweep, Local())
    assert local["trace_hash"].n_unique() == RUNS
    with snapshot.held():
        runs = sweep.check()
        shutil.rmtree(tmp_path / "own")
        for name in ("rate.trace", "mine.py"):
            (tmp_path / name).unlink()
        far = sweep.run(runs, Work(executor=Ray(cluster.address)), keep=False)
    assert far.equals(local)


@pytest.mark.parametrize("begins", ["here", "on the cluster"])
def test_what_begins_here_ends_there(cluster, sweep, tmp_path, begins):
    def stop(fraction):
        if fraction > 0.4:
            raise KeyboardInterrupt

    ends = [Local(2), Ray(cluster.address)]
    first, second = ends if begins == "here" else ends[::-1]
    cache = tmp_path / "kept"
    with pytest.raises(KeyboardInterrupt):
        run(sweep, first, cache=cache, progress=stop)
    table, (todo, kept) = run(sweep, second, cache=cache)
    assert todo + kept == RUNS
    assert kept > 0.3 * RUNS
    assert todo > 0
    assert table.equals(run(sweep, Local())[0])


def workers(node):
    """The processes of a node that run chunks."""
    raylets = {process.process.pid for process in node.all_processes["raylet"]}
    found = []
    for path in Path("/proc").glob("[0-9]*"):
        try:
            title = (path / "cmdline").read_bytes()
            parent = int((path / "stat").read_text().rpartition(")")[2].split()[1])
        except OSError:
            continue
        if parent in raylets and title.startswith(b"ray::chunk"):
            found.append(int(path.name))
    return found


def test_killed_workers_and_nodes_lose_nothing(cluster, sweep):
    with snapshot.held():
        runs = sweep.check()
        rows = {}
        Local().run(runs, sweep.metrics, rows.__setitem__)
        killed, lost, came = [], [], []

        def kill(fraction):
            head, node = cluster.head_node, [*cluster.worker_nodes][-1]
            if fraction > 0.1 and not killed:
                # None has one now if all chunks on their way have just been done.
                killed.extend(workers(head) + workers(node))
                for pid in killed:
                    with suppress(ProcessLookupError):
                        os.kill(pid, signal.SIGKILL)
            elif fraction > 0.4 and not lost:
                lost.append(node)
                cluster.remove_node(node, allow_graceful=False)
                cluster.add_node(**NODE, node_ip_address="127.0.0.4")

        Ray(cluster.address).run(runs, sweep.metrics, lambda at, row: came.append((at, row)), kill)
    assert killed
    assert lost
    assert sorted(at for at, _ in came) == list(range(RUNS))
    assert dict(came) == rows


def test_whole_results_return(cluster, small, tmp_path):
    """As of `ackclock reproduce`: under the same keys, and the same but for the time they took."""
    scenarios = [small.replace(seed=seed) for seed in range(1, 4)]
    Work(tmp_path, Ray(cluster.address)).fill(scenarios)
    for scenario in scenarios:
        here = Result.load(ackclock.run(scenario).save(tmp_path / f"seed{scenario.seed}"))
        far = Result.load(tmp_path / scenario.key())
        assert far.samples.equals(here.samples)
        times = {"wall_time_s": 0, "cpu_time_s": 0}
        assert far.manifest | times == here.manifest | times


def test_the_command(cluster, sweep, ackclock, tmp_path):
    done = ackclock("sweep", "sweep.toml", "--on-ray", cluster.address, "--json")
    assert done.returncode == 0, done.stderr
    assert done.stderr.splitlines()[0] == f"{RUNS} runs to simulate"
    table = pl.read_parquet(tmp_path / "out" / "sweep" / "sweep.parquet")
    here, (todo, _) = run(sweep, Local(), cache=Path(CACHE))
    assert todo == 0
    assert table.equals(here)


def test_an_interrupt_ends_the_command(cluster, sweep, tmp_path):  # noqa: ARG001
    """The runs are long, so that the sweep is not over when its first rows are kept."""
    (tmp_path / "two.toml").write_text(SCENARIO.replace('"4s"', '"60s"'))
    child = subprocess.Popen(
        [ACKCLOCK, "sweep", "sweep.toml", "--on-ray", cluster.address],
        cwd=tmp_path, stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    wait_until(lambda: any(tmp_path.glob(".ackclock/rows/*/[0-9a-f]*")), child)
    child.send_signal(signal.SIGINT)
    stdout, stderr = child.communicate(timeout=300)
    assert child.returncode == 130, stderr
    assert stderr.splitlines()[-1].endswith("the same command resumes")
    assert stdout == ""
    assert not (tmp_path / "out").exists()
    wait_until(lambda: not workers(cluster.head_node))


def test_figures_of_papers(cluster, ackclock, tmp_path):
    """Rows return, which are kept; a local command has the same, and finds them."""
    options = ["cubicfc/fig5", "--quick", "-o", "out/one"]
    done = ackclock("claims", *options, "--on-ray", cluster.address)
    assert done.returncode == 0, done.stderr
    kept_here = tmp_path / ".ackclock"
    assert [path.name for path in kept_here.iterdir()] == ["rows"], "no whole result"
    again = ackclock("claims", *options)
    assert "runs to simulate" not in again.stderr
    assert again.stdout == done.stdout
    for table in kept_here.glob("rows/[!f]*"):
        shutil.rmtree(table)
    resumed = ackclock("claims", *options, "--on-ray", cluster.address)
    assert "runs to simulate" not in resumed.stderr
    assert resumed.stdout == done.stdout
    shutil.rmtree(kept_here)
    here = ackclock("claims", *options)
    assert "runs to simulate" in here.stderr
    assert here.stdout == done.stdout
    shutil.rmtree(kept_here / "rows")
    drawn = ackclock("reproduce", *options, "--on-ray", cluster.address)
    assert drawn.returncode == 0, drawn.stderr
    assert "runs to simulate" not in drawn.stderr
    assert (tmp_path / "out" / "one" / "index.html").exists()


def test_another_version_is_refused(cluster, small, monkeypatch):
    monkeypatch.setattr(on_ray, "version", lambda: "ackclock 0.0.1+other")
    with pytest.raises(AckclockError, match=r"worker .* has ackclock .* and this machine ackclock 0"
                                            r"\.0\.1\+other; install the same"):  # fmt: skip
        Ray(cluster.address).run([small], len, print)


def test_a_worker_without_ackclock_is_refused(tmp_path):
    import ray  # noqa: PLC0415

    (tmp_path / "task").write_bytes(ray.cloudpickle.dumps(on_ray._task()))
    program = (
        "import sys, pickle; sys.modules['ackclock'] = None; "
        "task = pickle.load(open('task', 'rb')); print(task('ackclock 1', '', '', b'', b''))"
    )
    done = subprocess.run([sys.executable, "-c", program], cwd=tmp_path, capture_output=True,
                          text=True, check=True)  # fmt: skip
    assert "has no ackclock" in done.stdout
    assert "this machine ackclock 1; install the same" in done.stdout


def test_another_compiler_is_refused(sweep):
    with snapshot.held():
        sweep.check()
        seen = pickle.loads(pickle.dumps(snapshot.seen()))  # noqa: S301 (our own)
    snapshot.given(seen)
    other = {path: ("0" * 16, sources) for path, (_, sources) in seen.files.items()}
    with pytest.raises(AckclockError, match=r"own/mine\.c: .* has another C compiler"):
        snapshot.given(snapshot.Seen(other, seen.contents))


def test_a_worker_reads_no_file_of_its_own(sweep, tmp_path, monkeypatch):  # noqa: ARG001
    """What specs call ./mine.c is the file that came, whatever the worker's directory has."""

    def algorithms(spec):
        flow = Flow(algorithm=spec, rtt="20ms")
        link = Bottleneck(rate="10mbit", buffer="20packets")
        scenario = Scenario(duration="1s", bottleneck=link, flows=[flow])
        return scenario.prepare().algorithms[spec]

    monkeypatch.chdir(tmp_path / "own")
    with snapshot.held():
        here = algorithms("./mine.c")
        seen = pickle.loads(pickle.dumps(snapshot.seen()))  # noqa: S301 (our own)
    theirs = tmp_path / "theirs"
    theirs.mkdir()
    for name in ("mine.c", "another.c", "mine.h"):
        text = (tmp_path / "own" / name.replace("another", "mine")).read_text()
        (theirs / name).write_text(text + "/* theirs */\n")
    monkeypatch.chdir(theirs)
    assert algorithms("./mine.c")["fingerprint"] != here["fingerprint"]
    with snapshot.held(snapshot.given(seen)):
        assert algorithms("./mine.c") == here
        for path in ("./another.c", str(theirs / "mine.c")):
            with pytest.raises(AckclockError, match=f"cannot read {path}: it did not come"):
                algorithms(path)
        with pytest.raises(ValueError, match="did not come"):
            snapshot.current().trace(str(tmp_path / "rate.trace"))


def test_what_an_algorithm_does_is_told_from_other_errors(tmp_path):
    path = tmp_path / "zero.c"
    path.write_text(ZERO)
    link = Bottleneck(rate="10mbit", buffer="20packets")
    flow = Flow(algorithm=str(path), rtt="20ms")
    work = pickle.dumps(([Scenario(duration="1s", bottleneck=link, flows=[flow])], len))
    with snapshot.held():
        pickle.loads(work)[0][0].check()  # noqa: S301 (our own)
        sent = pickle.dumps(snapshot.seen())
    unsent = pickle.dumps(snapshot.Seen({}, {}))
    its_own, ours = (
        on_ray.answer("", name, files, work) for name, files in (("sent", sent), ("unsent", unsent))
    )
    assert type(its_own) is AlgorithmError
    assert "snd_cwnd = 0 after" in str(its_own)
    assert type(ours) is AckclockError
    assert f"{path}: it did not come" in str(ours)


def test_a_file_that_crashes_leaves_the_worker_alone(tmp_path):
    path = tmp_path / "crash.c"
    path.write_text(CRASH)
    link = Bottleneck(rate="10mbit", buffer="20packets")
    flow = Flow(algorithm=str(path), rtt="20ms")
    work = pickle.dumps(([Scenario(duration="2s", bottleneck=link, flows=[flow])], len))
    with snapshot.held():
        pickle.loads(work)[0][0].check()  # noqa: S301 (our own)
        sent = pickle.dumps(snapshot.seen())
    crashed, limits = (on_ray.answer(each, "crash", sent, work) for each in ("", "memory=little"))
    assert type(crashed) is AlgorithmError
    assert "crash.c:3, function crash_ssthresh: reads through a null pointer (flow 1 at 0." in str(
        crashed
    )
    assert 'ACKCLOCK_LIMITS: "memory=little"' in str(limits)


def test_another_server_is_no_cluster(sweep):  # noqa: ARG001
    with socket.create_server(("127.0.0.1", 0)) as server:

        def answer():
            connection, _ = server.accept()
            with connection:
                connection.recv(100)
                connection.sendall(b"HTTP/1.0 400 Bad Request\r\n\r\n")

        thread = threading.Thread(target=answer)
        thread.start()
        port = server.getsockname()[1]
        with pytest.raises(AckclockError, match="what listens there does not speak gRPC"):
            Ray(f"127.0.0.1:{port}").run([None], len, print)
        thread.join()


def test_a_mistake_is_one_line(cluster, sweep, ackclock, tmp_path, monkeypatch):  # noqa: ARG001
    (tmp_path / "sweep.toml").write_text(SWEEP.replace("py:late", "py:wrong"))
    for address, options, says in (
        (cluster.address, [], "metrics: wrong: "),
        ("127.0.0.1:1", [], "no Ray cluster answers there"),
        ("here", [], "write HOST:PORT"),
        (cluster.address, ["--jobs", 2], "--jobs 2: not with --on-ray"),
    ):
        done = ackclock("sweep", "sweep.toml", "--on-ray", address, *options)
        assert done.returncode == 1
        assert says in done.stderr.splitlines()[-1]
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(AckclockError, match=r'not installed; type: .* -m pip install "ray>='):
        Ray("127.0.0.2:6379")


def test_nothing_to_do_needs_no_cluster():
    Ray("127.0.0.1:1").run([], len, print)
