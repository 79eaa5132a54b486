"""What the tests share and import; the fixtures are in `conftest.py`."""

import functools
import os
import signal
import subprocess
import sys
import threading
import time
from contextlib import contextmanager
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import NamedTuple

import numpy as np
import polars as pl
import pytest

from ackclock import Bottleneck, Flow, Result, Scenario, tables
from ackclock.base.directory import PARTIAL, WRITTEN
from ackclock.base.kernel_part import TESTBED, lacks
from ackclock.results.result import MANIFEST

ROOT = Path(__file__).parent.parent
ACKCLOCK = Path(sys.executable).with_name("ackclock")
#: A file of the pages is a module, which Node 18, as Debian 12 has it, does not see by itself.
NODE = ("node", "--experimental-default-type=module")

# Under nohup, and in the background of a script, signals come ignored, and commands inherit that.
signal.signal(signal.SIGHUP, signal.SIG_DFL)
signal.signal(signal.SIGINT, signal.default_int_handler)


def _needs(missing, what):
    return pytest.mark.skipif(bool(missing), reason=f"{what} cannot run: {missing}")


needs_kernel = _needs(lacks(), "a deployment")
needs_testbed = _needs(lacks(*TESTBED), "the testbed")
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

#: Most time for what a page does: it ends a test that has failed.
SLOW_MS = 120_000


def new_context(browser, **options):
    """A window's settings. Each action in it waits for what it acts on, and that takes its time."""
    context = browser.new_context(**options)
    context.set_default_timeout(SLOW_MS)
    return context


def wait_until(condition, process=None, seconds=300):
    """Waits until something is so, and not longer than a process of which it is waited for lives.

    The time is only to end a test that has failed: no machine is that slow.
    """
    end = time.monotonic() + seconds
    while not condition():
        ended = process is not None and process.poll() is not None
        assert not ended or condition(), f"it ended before, with {process.returncode}"
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.02)


def is_group(number):
    """Whether a process group has a process."""
    try:
        os.killpg(number, 0)
    except ProcessLookupError:
        return False
    return True


def in_own_mounts(script, cwd):
    """Runs a shell script in a mount namespace of its own.

    Skips where there is none: without the privilege, or where `/` is not a mount point (chroot).
    """
    unshare = ["unshare", "--mount"] if os.geteuid() == 0 else ["unshare", "--mount", "-r"]
    probe = "mkdir -p probe && mount -t tmpfs tmpfs probe"
    command = [*unshare, "sh", "-c", probe]
    if subprocess.run(command, cwd=cwd, capture_output=True, check=False).returncode:
        pytest.skip("no mounts in a namespace here: no privilege, or / is not a mount point")
    return subprocess.run(
        [*unshare, "sh", "-ec", script],
        cwd=cwd,
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )


class Sent(NamedTuple):
    sent: int


def sent(result) -> Sent:
    """A row for an `Experiment`."""
    return Sent(int(result.flows["sent_packets"][0]))


def short(algorithm="reno", **fields):
    """A run with losses that takes some milliseconds."""
    fields = {"duration": "1s", "rtt": "10ms"} | fields
    return Scenario(
        bottleneck=Bottleneck(rate="20mbit", buffer="10packets"),
        flows=(Flow(algorithm=str(algorithm)),),
        **fields,
    )


def same_tables(one, other):
    return all(getattr(one, name).equals(getattr(other, name)) for name in tables.TABLES)


def hidden(directory):
    """What unfinished commands have left below it."""
    return [path.name for path in directory.rglob(f"{PARTIAL}*")]


def whole(directory):
    """The result in a directory, which has nothing else."""
    names = {path.name for path in directory.iterdir()}
    assert names == {MANIFEST, WRITTEN, *(f"{name}.parquet" for name in tables.TABLES)}
    return Result.load(directory)


def made_by_hand(
    samples, *, duration_s, starts_s, rate="12mbit", queue_bytes=None, events=(), completed_s=None
):
    """A result whose flows have the given samples: per flow (time_s, cwnd, delivered packets)."""
    scenario = Scenario(
        duration=f"{duration_s}s",
        rtt="100ms",
        bottleneck=Bottleneck(rate=rate, buffer="1bdp"),
        sample_interval="1s",
        flows=tuple(Flow(algorithm="reno", start=f"{start}s") for start in starts_s),
    )

    def table(name, **columns):
        length = len(next(iter(columns.values())))
        full = {column: np.zeros(length, dtype=np.uint64) for column in tables.schema(name)}
        if name == "events":
            full["kind"] = ["recovery"] * length
        return tables.frame(name, full | columns)

    def empty(name):
        return pl.DataFrame(schema=tables.schema(name))

    rows = [(t, flow, *rest) for flow, each in enumerate(samples, 1) for t, *rest in each]
    time_s, flow, cwnd, delivered = map(np.array, zip(*rows, strict=True))
    flows = np.arange(1, len(starts_s) + 1)
    end_bytes = [each[-1][2] * 1448 for each in samples]
    queue_bytes = queue_bytes or [(0, 0)]
    return Result(
        flows=table(
            "flows",
            flow=flows,
            start_us=np.array(starts_s) * 10**6,
            delivered_bytes=np.array(end_bytes),
            common_bytes=np.array(end_bytes),
            completed_us=np.array(completed_s or [0] * len(starts_s)) * 10**6,
            direction=["forward"] * len(starts_s),
            algorithm=["reno"] * len(starts_s),
        ),
        samples=table(
            "samples",
            time_us=(time_s * 1e6).round().astype(np.uint64),
            flow=flow,
            cwnd_packets=cwnd,
            delivered_packets=delivered,
        ),
        queues=table(
            "queues",
            time_us=np.array([t * 10**6 for t, _ in queue_bytes]),
            queue=np.ones(len(queue_bytes)),
            sent_bytes=np.array([sent for _, sent in queue_bytes]),
        ),
        events=table(
            "events",
            time_us=np.array([t * 10**6 for t, _, _ in events]),
            flow=np.array([flow for _, flow, _ in events]),
            cwnd_packets=np.array([cwnd for _, _, cwnd in events]),
        )
        if events
        else empty("events"),
        sessions=empty("sessions"),
        transfers=empty("transfers"),
        manifest={
            "scenario": dict(scenario.given),
            "resolved": __import__("json").loads(scenario.resolve()),
            "algorithms": {"reno": {"name": "reno"}},
            "packets": 0,
            "wall_time_s": 0.0,
            "cpu_time_s": 0.0,
        },
    )


class Quiet(SimpleHTTPRequestHandler):
    """Serves files, as any server does."""

    def log_message(self, *_):
        """Is quiet."""


@contextmanager
def serving(root):
    """A server of the files in a directory; the page is below `lab/`, as in the documentation."""
    handler = functools.partial(Quiet, directory=root)
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as running:
        running.root = root / "lab"
        running.host = f"127.0.0.1:{running.server_port}"
        running.url = f"http://{running.host}/lab/"
        thread = threading.Thread(target=running.serve_forever, daemon=True)
        thread.start()
        yield running
        running.shutdown()
