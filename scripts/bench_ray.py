"""`make bench-ray`: 10 000 runs here, and on a Ray cluster of one node and of two, on loopback.

Each node has one CPU. It prints how long the runs took, connection included, and how much memory
the command had; and how fast two processes without Ray are, which is what the machine allows. It
ends with an error if a table differs from the one of the runs here.
"""

import argparse
import hashlib
import json
import os
import resource
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor

from ackclock import Bottleneck, Flow, Local, Ray, Scenario
from ackclock.hosts.work import Work
from ackclock.scenario import snapshot
from ackclock.sweeps.metrics import Reducers
from ackclock.sweeps.sweep import Sweep

RUNS, FEWER = 10_000, 2_000
RTTS = [f"{ms}ms" for ms in range(10, 20)]
#: As the tests have them: workers get their share of the machine, and Ray's makers hear nothing.
SETTINGS = {"RAY_USAGE_STATS_ENABLED": "0", "RAY_worker_niceness": "0"}
NODE = {"num_cpus": 1, "object_store_memory": 80 << 20, "include_dashboard": False}


def drive(address: str, number: int) -> None:
    """Runs the sweep at an address ("here": in this process); prints what it took, as JSON."""
    scenario = Scenario(
        duration="10s",
        bottleneck=Bottleneck(rate="100mbit", buffer="1bdp"),
        flows=[
            Flow(algorithm="cubic", rtt="20ms", start_spread="100ms"),
            Flow(algorithm="reno", rtt="20ms"),
        ],
    )
    sweep = Sweep(
        scenario,
        {"flow.1.rtt": RTTS},
        metrics=Reducers.parse(["utilisation", "jain_index"]),
        seeds=number // len(RTTS),
    )
    work = Work(executor=Local(1) if address == "here" else Ray(address))
    with snapshot.held():
        runs = sweep.check()
        started_s = time.monotonic()
        table = sweep.run(runs, work, keep=False)
        took_s = time.monotonic() - started_s
    digest = hashlib.blake2b(table.write_csv().encode()).hexdigest()
    peak_kb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    print(json.dumps({"took_s": took_s, "memory_mb": peak_kb / 1e3, "table": digest}))


def measured(address: str, number: int) -> dict[str, float | str]:
    """What the runs took in a process of their own."""
    command = [sys.executable, __file__, "--drive", address, str(number)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    found: dict[str, float | str] = json.loads(done.stdout)
    return found


def two_at_once(number: int) -> float:
    """How long two processes take for half of the runs each, seconds."""
    with ThreadPoolExecutor(2) as both:
        found = both.map(lambda half: measured("here", half), [number // 2] * 2)
        return max(float(each["took_s"]) for each in found)


def main() -> None:
    """Measures, and prints a table."""
    from ray.cluster_utils import Cluster  # noqa: PLC0415 (slow to import)

    os.environ.update(SETTINGS)  # nodes take them from this process
    cluster = Cluster(True, head_node_args=NODE | {"node_ip_address": "127.0.0.2"})
    try:
        found = {"here, one job": measured("here", RUNS)}
        measured(cluster.address, len(RTTS))  # the workers start
        found["1 node"] = measured(cluster.address, RUNS)
        found["1 node, fewer runs"] = measured(cluster.address, FEWER)
        cluster.add_node(**NODE, node_ip_address="127.0.0.3")
        measured(cluster.address, FEWER)
        found["2 nodes"] = measured(cluster.address, RUNS)
    finally:
        cluster.shutdown()
    for name, each in found.items():
        runs = FEWER if "fewer" in name else RUNS
        print(f"{name:<20} {runs:>6} runs {each['took_s']:>7.1f} s {each['memory_mb']:>5.0f} MB")
    times = [float(found[name]["took_s"]) for name in ("1 node", "2 nodes")]
    print(f"2 nodes are {times[0] / times[1]:.2f} times as fast as 1;", end=" ", flush=True)
    alone_s = float(found["here, one job"]["took_s"])
    print(f"two processes without Ray, {alone_s / two_at_once(RUNS):.2f} times as fast as one")
    tables = {found[name]["table"] for name in ("here, one job", "1 node", "2 nodes")}
    if len(tables) > 1:
        sys.exit("the tables differ")
    print("the tables are equal")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--drive", nargs=2, metavar=("ADDRESS", "RUNS"), help=argparse.SUPPRESS)
    asked = parser.parse_args().drive
    if asked:
        drive(asked[0], int(asked[1]))
    else:
        main()
