"""Measures ackclock beside ns-2 and ns-3: the same dumbbells, in turns, on one core.

`make bench-peers` runs this. It writes `target/bench-peers.json`, and a table in
`docs/performance.md`.
A run's time is the processor time of its whole process. The best of `ROUNDS` runs counts.
"""

import json
import os
import re
import resource
import signal
import subprocess
import sys
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
PEERS = ROOT / "crates/sim/benches/peers"
TARGET = ROOT / "target"
PAGE = ROOT / "docs" / "performance.md"
ROUNDS = 3
#: ackclock simulates so many times as long: its runs would be too short to time.
LONGER = 10
#: A run that takes longer is not finished.
LIMIT_S = 60
NS3 = ["ns3-internet", "ns3-point-to-point", "ns3-applications", "ns3-traffic-control"]
MARKS = ("<!-- make bench-peers writes this -->", "<!-- until here -->")


@dataclass(frozen=True)
class Dumbbell:
    """CUBIC flows that share a drop-tail link with a buffer of 1 BDP."""

    title: str
    case: str  # in cases.rs
    rate_bps: int
    rtt_s: float
    flows: int
    gap_s: float  # between two starts
    seconds: int


DUMBBELLS = [
    Dumbbell("2 flows, 100 Mb/s, 100 ms", "flows_2", 100_000_000, 0.1, 2, 0.2, 20),
    Dumbbell("100 flows, 1 Gb/s, 100 ms", "flows_100", 1_000_000_000, 0.1, 100, 0.002, 6),
    Dumbbell("2 flows, 800 Mb/s, 200 ms", "demo_cubic_linux6", 800_000_000, 0.2, 2, 10, 30),
]


def output_of(*command):
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def ackclock():
    """The benchmark of the simulator, built now."""
    build = ["cargo", "bench", "--locked", "-p", "ackclock-sim", "--no-run"]
    lines = output_of(*build, "--message-format=json").splitlines()
    built = [json.loads(line).get("executable") for line in lines]
    return [path for path in built if path][-1]


def ns3():
    """The dumbbell for ns-3, compiled now."""
    program = TARGET / "peers" / "dumbbell"
    program.parent.mkdir(parents=True, exist_ok=True)
    flags = output_of("pkg-config", "--cflags", "--libs", *NS3).split()
    subprocess.run(["c++", "-O3", "-o", program, PEERS / "dumbbell.cc", *flags], check=True)
    return program


def versions():
    ns2 = output_of("dpkg-query", "-W", "-f", "${Version}", "ns2")
    return {
        "ackclock": "ackclock",
        "ns-2": f"ns-2 {ns2.split('+')[0]}",
        "ns-3": f"ns-3 {output_of('pkg-config', '--modversion', NS3[0]).strip()}",
    }


def where():
    """The machine, and the day."""
    (model, *_) = re.findall(
        r"^model name\s*: (.+)$", Path("/proc/cpuinfo").read_text(), re.MULTILINE
    )
    return f"One core of {model} ({os.cpu_count()} cores), {datetime.now(tz=UTC):%d %B %Y}."


def limit():
    resource.setrlimit(resource.RLIMIT_CPU, (LIMIT_S, LIMIT_S))


def measure(command):
    """(packets, processor seconds) of a run; None if it takes too long."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(command, capture_output=True, text=True, check=False, preexec_fn=limit)
    if done.returncode in (-signal.SIGXCPU, -signal.SIGKILL):
        return None
    if done.returncode:
        sys.exit(f"error: {' '.join(map(str, command))}: {done.stderr}")
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    took = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    packets = re.findall(r"^(?:packets: )?(\d+)\b", done.stdout, re.MULTILINE)
    return int(packets[0]), took


def rates(dumbbell, commands):
    """Packets per second of each simulator, which take turns; None: not finished."""
    best: dict[str, Any] = {}
    for _ in range(ROUNDS):
        for name, command in commands.items():
            if best.get(name, 0) is None:
                continue
            measured = measure(command(dumbbell))
            if measured is None:
                best[name] = None
                continue
            packets, took_s = measured
            best[name] = max(best.get(name, 0), packets / took_s)
            print(f"{dumbbell.title}: {name}: {packets} packets in {took_s:.2f} s", flush=True)
    return best


def table(measured, names):
    own = next(iter(names))
    lines = [f"| data packets per second of one core | {' | '.join(names.values())} |"]
    lines.append("|---|" + "---|" * len(names))
    for title, best in measured.items():
        cells = []
        for name in names:
            if best[name] is None:
                cells.append(f"not finished in {LIMIT_S} s")
            elif name == own:
                cells.append(f"{best[name] / 1e6:.1f} M")
            else:
                cells.append(f"{best[name] / 1e6:.2f} M (1/{best[own] / best[name]:.0f})")
        lines.append(f"| {title} | {' | '.join(cells)} |")
    return "\n".join(lines)


def written(page):
    """The part of the page that this script writes."""
    start, end = MARKS
    if page.count(start) != 1 or page.count(end) != 1:
        sys.exit(f"error: {PAGE}: {start} and {end} must each stand there once")
    return page[page.index(start) + len(start) : page.index(end)]


def main():
    os.chdir(ROOT)
    program, peer = ackclock(), ns3()

    def arguments(each):
        return [f"{each.rate_bps}", f"{each.rtt_s}", f"{each.flows}", f"{each.gap_s}",
                f"{each.seconds}"]  # fmt: skip

    commands = {
        "ackclock": lambda each: [program, "--simulate", each.case, f"{LONGER * each.seconds}"],
        "ns-2": lambda each: ["ns", PEERS / "dumbbell.tcl", *arguments(each)],
        "ns-3": lambda each: [peer, *arguments(each)],
    }
    measured = {each.title: rates(each, commands) for each in DUMBBELLS}
    names = versions()
    report = {"versions": names, "where": where(), "packets_per_s": measured}
    (TARGET / "bench-peers.json").write_text(json.dumps(report, indent=2) + "\n")
    text = f"{table(measured, names)}\n\n{where()}"
    print(text)
    page = PAGE.read_text(encoding="utf-8")
    PAGE.write_text(page.replace(written(page), f"\n\n{text}\n\n"), encoding="utf-8")


if __name__ == "__main__":
    main()
