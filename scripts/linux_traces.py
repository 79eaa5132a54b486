"""Takes runs of real Linux in virtual time into the tests.

`python scripts/linux_traces.py RUN …`: each RUN is a directory with `scenario.json`, `flowN.csv`
and `queue.csv`, and perhaps `guest.log` and `tcp_probe.txt`. Writes `tests/reference/NAME.toml` and
its two tables; of a run with `tcp_probe.txt` it writes `crates/sim/tests/data/acks-NAME.txt`. There
each line is an ACK: its time (us), snd_una and snd_nxt (segments), snd_cwnd and srtt (us), all as
the ACK finds them.
"""

import json
import re
import sys
from pathlib import Path

import polars as pl

ROOT = Path(__file__).parent.parent
REFERENCE = ROOT / "tests" / "reference"
ACKS = ROOT / "crates" / "sim" / "tests" / "data"
MSS_BYTES = 1448
READS = {"clean": "bulk", "eager": "at once"}
PROBE = re.compile(
    r" (\d+)\.(\d{6}): tcp_probe: .* dest=\S+:5001 .* snd_nxt=0x(\w+) snd_una=0x(\w+) "
    r"snd_cwnd=(\d+) .* srtt=(\d+)"
)
#: Our columns, from Linux's.
SAMPLES = {
    "cwnd_packets": pl.col("snd_cwnd").cast(pl.UInt32),
    "ssthresh_packets": pl.col("snd_ssthresh").cast(pl.UInt32),
    "srtt_us": pl.col("rtt_us").cast(pl.UInt32),
    "in_flight_packets": (
        pl.col("unacked") - pl.col("sacked") - pl.col("lost") + pl.col("retrans")
    ).cast(pl.UInt32),
    "delivered_packets": pl.col("delivered").cast(pl.UInt64),
    "retransmitted_packets": pl.col("total_retrans").cast(pl.UInt64),
    "state": pl.col("ca_state").cast(pl.UInt8),
}
TIME = (pl.col("t") * 1e6).round().cast(pl.UInt64).alias("time_us")


def toml(scenario: dict) -> str:
    """The scenario as ours, for drop-tail without chance."""
    bottleneck = scenario["bottleneck"]
    lines = [
        f'duration = "{scenario["duration_s"]}s"',
        'profile = "linux-6"',
        "hz = 1000",
        'jitter = "0s"',
        f'reads = "{READS[scenario.get("receiver", "clean")]}"',
        "",
        "[bottleneck]",
        f'rate = "{bottleneck["rate_mbps"]}mbit"',
        f'buffer = "{bottleneck["buffer_pkts"]}packets"',
    ]
    for flow in scenario["flows"]:
        lines += [
            "",
            "[[flow]]",
            f'algorithm = "{flow["cc"]}"',
            f'rtt = "{flow["rtt_ms"]}ms"',
            f'start = "{flow.get("start_s", 0)}s"',
            'receive_window = "120MB"',
        ]
    return "\n".join(lines) + "\n"


def take_samples(run: Path, scenario: dict) -> None:
    """Writes the scenario and its two tables."""
    flows = [
        pl.read_csv(run / f"flow{number}.csv").select(
            TIME, pl.lit(number, pl.UInt32).alias("flow"), *(e.alias(n) for n, e in SAMPLES.items())
        )
        for number in range(1, len(scenario["flows"]) + 1)
    ]
    queue = pl.read_csv(run / "queue.csv").select(
        TIME,
        pl.col("qlen").cast(pl.UInt32).alias("queue_packets"),
        pl.col("drops").cast(pl.UInt64).alias("dropped_packets"),
    )
    (REFERENCE / f"{run.name}.toml").write_text(toml(scenario), encoding="utf-8")
    pl.concat(flows).write_parquet(REFERENCE / f"{run.name}.samples.parquet")
    queue.write_parquet(REFERENCE / f"{run.name}.queues.parquet")


def take_acks(run: Path, scenario: dict) -> None:
    """Writes a line per ACK of a single flow."""
    base_us = int(re.search(r"BASE=(\d+)", (run / "guest.log").read_text())[1]) // 1000
    bottleneck, (flow,) = scenario["bottleneck"], scenario["flows"]
    rate, packets = bottleneck["rate_mbps"], bottleneck["buffer_pkts"]
    reads = READS[scenario["receiver"]].replace(" ", "-")
    header = ["#", flow["cc"], rate, flow["rtt_ms"], packets, reads, scenario["duration_s"]]
    lines = [" ".join(map(str, header))]
    first = None
    for seconds, micros, nxt, una, cwnd, srtt in PROBE.findall((run / "tcp_probe.txt").read_text()):
        first = int(una, 16) if first is None else first
        una_nxt = [(int(number, 16) - first) % 2**32 // MSS_BYTES for number in (una, nxt)]
        time_us = int(seconds) * 10**6 + int(micros) - base_us
        lines.append(" ".join(map(str, [time_us, *una_nxt, cwnd, srtt])))
    name = f"{flow['cc']}-{rate}-{flow['rtt_ms']}"
    (ACKS / f"acks-{name}.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")


def main() -> None:
    """Takes each run that is named."""
    if len(sys.argv) < 2:
        sys.exit("usage: python scripts/linux_traces.py RUN …")
    for run in map(Path, sys.argv[1:]):
        scenario = json.loads((run / "scenario.json").read_text())
        if (run / "tcp_probe.txt").exists():
            take_acks(run, scenario)
        else:
            take_samples(run, scenario)


if __name__ == "__main__":
    main()
