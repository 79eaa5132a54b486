"""How well the link emulator keeps time: `make bench-emulator` prints one line a rate.

A flow of the kernel's own CUBIC fills each link. Utilisation is that of the second half.
"""

from ackclock import Bottleneck, Flow, Scenario
from ackclock.hosts import kernel
from ackclock.results import metrics

#: Rate, RTT, duration in s.
LINKS = (
    ("1mbit", "40ms", 20),
    ("10mbit", "40ms", 10),
    ("100mbit", "40ms", 10),
    ("500mbit", "40ms", 10),
    ("1gbit", "40ms", 20),
    ("800mbit", "200ms", 40),
)
FORMAT = "{:>8} {:>6} {:>12} {:>10} {:>6} {:>6} {:>7} {:>7} {:>8} {:>5} {:>6} {:>6} {:>5}"


def main() -> None:
    """Prints the table; lateness in µs."""
    header = ("rate", "RTT", "utilisation", "busy rate", "p50", "p99", "p99.9", "worst")
    print(FORMAT.format(*header, "min RTT", "lost", "CPU", "stolen", "load"))
    for rate, rtt, duration_s in LINKS:
        scenario = Scenario(
            duration=f"{duration_s}s",
            rtt=rtt,
            bottleneck=Bottleneck(rate=rate, buffer="50packets" if rate == "1mbit" else "1bdp"),
            flows=[Flow(algorithm="kernel:cubic")],
        )
        result = kernel.run(scenario, attempts=1)
        mark = result.manifest["certificate"]
        used = metrics.utilisation(result, duration_s / 2, duration_s)
        row = FORMAT.format(
            rate,
            rtt,
            f"{used:.4f}",
            f"{mark['achieved_rate_bps'] / mark['rate_bps']:.5f}",
            *(f"{mark[f'lateness_{each}_us']:.0f}" for each in ("p50", "p99", "p999", "max")),
            f"{mark['min_rtt_excess_us']:+.0f}",
            mark["tun_dropped_packets"] + mark["lost_elsewhere_packets"],
            f"{mark['cpu']:.0%}",
            f"{mark['stolen']:.1%}",
            f"{mark['load']:.1f}",
        )
        print(row, *mark["problems"], *mark["notes"], flush=True)


if __name__ == "__main__":
    main()
