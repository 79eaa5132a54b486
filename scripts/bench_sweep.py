"""What a short run of a sweep costs beyond its packets: `make bench`.

The slope from one number of points to another, in instructions as valgrind counts them: no load of
the machine changes it. The packets' own are those of `crates/sim/benches/throughput`.
"""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent
COUNTS = ROOT / "crates/sim/benches/throughput/instructions.json"
#: The case whose packets are like these.
CASE = "flows_2"
POINTS = (50, 250)
#: Most instructions beyond the packets, as a multiple of the packets' own.
MOST = 5.8


def swept(points):
    """Runs two flows for 1 s at so many rates; returns how many packets they sent."""
    import ackclock  # noqa: PLC0415 (this process may be the one that counts)

    scenario = ackclock.Scenario(
        duration="1s",
        rtt="20ms",
        bottleneck=ackclock.Bottleneck(rate="10mbit", buffer="1bdp"),
        flows=[ackclock.Flow(algorithm="cubic", count=2)],
    )
    table = ackclock.sweep(
        scenario,
        {"bottleneck.rate": [f"{10_000 + point}kbit" for point in range(points)]},
        metrics=["utilisation", "jain_index", "goodput_bps"],
        cache=None,
        executor=ackclock.Local(1),
    )
    return table["packets"].sum()


def counted(points):
    """Instructions and packets of a process that sweeps so many points."""
    count = ["valgrind", "--tool=cachegrind", "--cache-sim=no", "--cachegrind-out-file=/dev/null"]
    threads = {"POLARS_MAX_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    done = subprocess.run(
        [*count, sys.executable, __file__, str(points)],
        env=os.environ | threads,
        capture_output=True,
        text=True,
        check=True,
    )
    (instructions,) = re.findall(r"I +refs: +([\d,]+)", done.stderr)
    return int(instructions.replace(",", "")), int(done.stdout)


def main():
    swept(1)  # what Python compiles is kept, and not counted
    few, many = (counted(points) for points in POINTS)
    runs = POINTS[1] - POINTS[0]
    each, packets = ((more - less) / runs for less, more in zip(few, many, strict=True))
    (counts, *_) = json.loads(COUNTS.read_text(encoding="utf-8")).values()
    own = packets * counts[CASE]
    ratio = each / own - 1
    print(
        f"a swept run of {packets:.0f} packets: {each / 1e6:.2f} M instructions, "
        f"beyond its packets {ratio:.2f} times theirs (at most {MOST})"
    )
    sys.exit(ratio > MOST)


if __name__ == "__main__":
    if sys.argv[1:]:
        print(swept(int(sys.argv[1])))
    else:
        main()
