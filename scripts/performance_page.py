"""Writes `docs/performance.md`: where the time of a packet goes, station by station.

`make docs-performance` runs this after `make bench`. valgrind counts the instructions of a longer
and of a shorter run of the demo, at each address. The difference leaves out what a run does once.
The debug information says which line of our sources each address comes from, also where code of the
standard library was inlined into it. A station is a set of our files.
"""

import json
import os
import re
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

import bench_peers

ROOT = Path(__file__).parent.parent
PAGE = ROOT / "docs/performance.md"
BENCH = ROOT / "target/bench.json"
#: The fewest instructions per packet so far.
COUNTS = ROOT / "crates/sim/benches/throughput/instructions.json"
CASES = {"demo_cubic": (15, 25), "demo_cubic_linux6": (15, 25), "both_ways": (5, 15)}

#: Station → (instructions per packet that we allow it in the demo, how paths of its files start).
STATIONS = {
    "schedule: which flow is next": (30, ["net/src/schedule"]),
    "engine: the loop, bursts to the link": (45, ["sim/src/engine", "sim/src/census",
                                                 "sim/src/flow", "sim/src/control",
                                                 "sim/src/tcp/ack", "sim/src/acks",
                                                 "host/src/pool"]),
    "link: queue, rate, losses": (30, ["net/src/link", "net/src/rate", "net/src/queue",
                                       "net/src/network", "net/src/impair"]),
    "way back: delay and jitter of ACKs": (15, ["net/src/line", "net/src/rng", "rand"]),
    "receiver: ACKs, delayed ACKs, SACK": (50, ["sim/src/tcp/receiver", "sim/src/tcp/ranges",
                                                "sim/src/tcp/advertised_window",
                                                "sim/src/tcp/sack_list"]),
    "sender, on an ACK: scoreboard, RTT, state": (
        90,
        ["sim/src/tcp/sender", "sim/src/tcp/input", "sim/src/tcp/header_prediction",
         "sim/src/tcp/flags", "sim/src/tcp/scoreboard", "sim/src/tcp/rtt", "sim/src/tcp/recovery",
         "sim/src/tcp/loss", "sim/src/tcp/rate", "sim/src/tcp/ecn", "sim/src/tcp/clock",
         "sim/src/tcp/timers", "sim/src/tcp/timeouts", "sim/src/tcp/validate",
         "sim/src/tcp/limits", "sim/src/tcp/report"],
    ),
    "sender, on a transmission: bursts, pacing": (
        40, ["sim/src/tcp/output", "sim/src/tcp/transmit", "sim/src/tcp/bursts",
             "sim/src/tcp/pacing", "sim/src/tcp/write_queue"],
    ),
    "contract: what an algorithm sees": (25, ["sim/src/tcp/host", "host/src"]),
    "algorithm: CUBIC's own C code": (25, ["algorithms"]),
}  # fmt: skip
OTHER = "other: the C library, memory, what has no station"


def output_of(command, **more):
    return subprocess.run(command, capture_output=True, text=True, check=True, **more).stdout


def program():
    build = ["cargo", "bench", "--locked", "-p", "ackclock-sim", "--no-run"]
    lines = output_of([*build, "--message-format=json"]).splitlines()
    return [path for line in lines if (path := json.loads(line).get("executable"))][-1]


def profile(binary, case, seconds):
    """(instructions at each address of the program, those of other objects, packets)."""
    with tempfile.TemporaryDirectory() as place:
        out = Path(place) / "out"
        packets = output_of(
            ["valgrind", "--tool=callgrind", "--dump-instr=yes", "--compress-pos=no",
             "--compress-strings=no", f"--callgrind-out-file={out}", binary, "--simulate", case,
             str(seconds)],
            env=os.environ | {"GLIBC_TUNABLES": "glibc.cpu.hwcaps=-AVX512F,-AVX2,-AVX,-ERMS"},
        )  # fmt: skip
        return *addresses(out, binary), int(packets.split()[0])


def addresses(out, binary):
    own: Counter[int] = Counter()
    other, here, call = 0, False, False
    for line in out.read_text(encoding="utf-8", errors="replace").splitlines():
        if line.startswith("ob="):
            here = line[3:] == str(binary)
        elif line.startswith("calls="):
            call = True  # the next line is what the called function cost
        elif line.startswith("0x"):
            if not call:
                address, _, count = line.split()
                if here:
                    own[int(address, 16)] += int(count)
                else:
                    other += int(count)
            call = False
    return own, other


def files(binary, found):
    """Address → our innermost source file there, without the path to the project."""
    listing = "\n".join(f"{address:#x}" for address in found)
    lines = output_of(["addr2line", "-a", "-i", "-e", binary], input=listing).splitlines()
    ours, address = {}, None
    for line in lines:
        if line.startswith("0x"):
            address = int(line, 16)
        elif address not in ours:
            place = re.search(r"(?:/crates/|/)((?:sim|net|host)/src/.*|algorithms/.*)", line)
            # A ring works for who uses it: the link, the way back.
            own = "/rustc/" not in line and "/registry/" not in line
            if place and own and not place[1].startswith("net/src/ring"):
                ours[address] = place[1]
            elif "/rand" in line:
                ours[address] = "rand"
    return ours


def station_of(file):
    for name, (_, starts) in STATIONS.items():
        if any(file.startswith(start) for start in starts):
            return name
    return OTHER


def per_packet(binary, case, lengths):
    """Station → instructions per packet."""
    (short, short_other, fewer), (long, long_other, more) = (
        profile(binary, case, seconds) for seconds in lengths
    )
    ours = files(binary, list(long))
    total = Counter({OTHER: long_other - short_other})
    for address, count in long.items():
        total[station_of(ours.get(address, ""))] += count - short[address]
    return {name: total[name] / (more - fewer) for name in (*STATIONS, OTHER)}


def page(shares, bench, counts, peers):
    lines = [
        "# Where the time of a packet goes",
        "",
        "For people who want to know what a run costs, or make the simulator",
        "faster. `make docs-performance` writes it (3 minutes).",
        "",
        "## Beside ns-2 and ns-3",
        "",
        "The same dumbbells, in turns on one core: CUBIC with SACK and delayed ACKs, drop-tail, a",
        "buffer of 1 BDP. Processor time of the whole process, best of 3 runs; ackclock simulates",
        "10 times as long, for its runs are short. No registry has htsim.",
        "",
        f"{bench_peers.MARKS[0]}{peers}{bench_peers.MARKS[1]}",
        "",
        "## Scenarios",
        "",
        f"`make bench` with {bench['compilers']}, one core of a virtual machine with 2.",
        "Instructions depend on code and compilers, packets per second on the machine and its",
        "load, too.",
        "",
        "| scenario | flows | packets/s | instructions a packet | memory | memory a flow |",
        "|---|--:|--:|--:|--:|--:|",
    ]
    for name, row in bench["scenarios"].items():
        memory = f"{row['memory_bytes'] / 1e6:.0f} MB"
        flow = f"{row['memory_bytes_per_flow'] / 1e3:.1f} KB" if row["flows"] >= 1000 else "—"
        lines.append(
            f"| `{name}` | {row['flows']} | {row['packets_per_s'] / 1e6:.1f} M | "
            f"{counts[name]:.0f} | {memory} | {flow} |"
        )
    few, slow, many = (
        bench["scenarios"][name]["packets_per_s"]
        for name in ("flows_2", "flows_2_slow", "flows_100000")
    )
    lines += [
        "",
        f"With 100 000 flows a packet takes {few / many:.1f} times as long as with 2 at 100 Mb/s,",
        f"and {slow / many:.1f} times as long as with 2 that have the same share of their link,",
        "1 Mb/s each (`flows_2_slow`). Small windows recover often; the rest is the many flows",
        "and the wait for memory ([ADR 18](adr/0018-many-flows-are-bound-by-memory.md)).",
        "",
        "`crates/sim/benches/throughput/cases.rs` has the scenarios.",
        "",
        "A short run costs more in Python than in the simulator: a tiny `ackclock run` takes",
        "0.18 s of processor time, and each short run of a sweep 0.5 ms, simulation included",
        "([ADR 21](adr/0021-tables-go-to-python-as-arrow.md)).",
        "",
        "## Stations of a packet",
        "",
        "Instructions per data packet, of the packet itself and of its part of an ACK. The budget",
        "is what we allow each station in the demo; together it is 350. One packet in two has an",
        "ACK, so what an ACK costs counts half.",
        "",
        "| station | budget | " + " | ".join(f"`{case}` | share" for case in shares) + " |",
        "|---|--:|" + "--:|--:|" * len(shares),
    ]
    totals = {case: sum(each.values()) for case, each in shares.items()}
    for name in (*STATIONS, OTHER):
        budget = STATIONS[name][0] if name in STATIONS else "0"
        cells = [
            f"{each[name]:.0f} | {100 * each[name] / totals[case]:.0f} %"
            for case, each in shares.items()
        ]
        lines.append(f"| {name} | {budget} | {' | '.join(cells)} |")
    sums = [f"{total:.0f} | 100 %" for total in totals.values()]
    budget = sum(budget for budget, _ in STATIONS.values())
    lines += [
        f"| all | {budget} | {' | '.join(sums)} |",
        "",
        "The count is callgrind's, at each address, of a longer run less a shorter one.",
        "`addr2line` says which source line an address comes from. Code of Rust's standard library",
        "counts for our line that it was inlined into. `scripts/performance_page.py` lists the",
        "files of each station.",
    ]
    return "\n".join(lines) + "\n"


def main():
    os.chdir(ROOT)
    if not BENCH.exists():
        sys.exit("error: target/bench.json is missing; run `make bench`")
    bench = json.loads(BENCH.read_text(encoding="utf-8"))
    counts = json.loads(COUNTS.read_text(encoding="utf-8"))[bench["compilers"]]
    binary = program()
    shares = {case: per_packet(binary, case, lengths) for case, lengths in CASES.items()}
    peers = bench_peers.written(PAGE.read_text(encoding="utf-8"))
    PAGE.write_text(page(shares, bench, counts, peers), encoding="utf-8")
    print(f"wrote {PAGE.relative_to(ROOT)}")


if __name__ == "__main__":
    main()
