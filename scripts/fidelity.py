"""Every algorithm alone on six paths: Linux's own in virtual time, and ours in the simulator.

`python scripts/fidelity.py DIRECTORY` writes linux/alone.csv and the page linux.md. Runs are
kept in `.ackclock`: the same command resumes.
"""

import sys
from dataclasses import dataclass
from pathlib import Path

import linux_page
from ackclock import Bottleneck, Flow, Result, Scenario
from ackclock.hosts.vlinux import build
from ackclock.hosts.vlinux.machines import Machines
from ackclock.hosts.work import CACHE, run_all
from ackclock.results import metrics
from ackclock.scenario.scenario import KERNEL

#: Linux has each of these, and so have we.
ALGORITHMS = ("bbr", "bic", "cubic", "highspeed", "htcp", "hybla", "illinois", "reno",
              "scalable", "vegas", "veno", "westwood", "yeah")  # fmt: skip
#: Rate in Mb/s, RTT in ms.
PATHS = ((10, 20), (10, 100), (50, 40), (100, 20), (100, 100), (250, 40))
DURATION_S = 60


@dataclass(frozen=True)
class Measured:
    """A run in numbers."""

    retransmitted_packets: int
    cwnd_packets: float

    @classmethod
    def of(cls, result: Result) -> "Measured":
        return cls(
            int(result.flows["retransmitted_packets"].sum()),
            metrics.mean_cwnd_packets(result, DURATION_S / 2)[1],
        )


@dataclass(frozen=True)
class Pair:
    """Both sides of a path."""

    linux: Measured
    simulator: Measured

    @property
    def cwnd_distance(self) -> float:
        return self.simulator.cwnd_packets / self.linux.cwnd_packets - 1

    def row(self) -> dict[str, float]:
        """The columns of alone.csv."""
        return {
            "linux_retransmitted": self.linux.retransmitted_packets,
            "simulator_retransmitted": self.simulator.retransmitted_packets,
            "linux_cwnd_packets": self.linux.cwnd_packets,
            "cwnd_difference_percent": 100 * self.cwnd_distance,
        }


def scenario(algorithm: str, rate_mbps: int, rtt_ms: int) -> Scenario:
    """A flow alone, with a buffer of one BDP and no jitter: a virtual machine has none."""
    return Scenario(
        duration=f"{DURATION_S}s",
        rtt=f"{rtt_ms}ms",
        jitter="0s",
        bottleneck=Bottleneck(rate=f"{rate_mbps}mbit", buffer="1bdp"),
        flows=(Flow(algorithm=algorithm),),
    )


def measure() -> dict[tuple[str, tuple[int, int]], Pair]:
    """All pairs, on all cores."""
    every, machines = [(name, path) for name in ALGORITHMS for path in PATHS], Machines()
    linux = run_all(
        [scenario(f"{KERNEL}{name}", *path) for name, path in every],
        Measured.of,
        cache=CACHE,
        executor=machines,
    )
    ours = run_all([scenario(name, *path) for name, path in every], Measured.of)
    pairs = [Pair(*both) for both in zip(linux, ours, strict=True)]
    return dict(zip(every, pairs, strict=True))


def main(directory: Path) -> None:
    build.build(say=print)
    rows = [
        {"algorithm": name, "rate_mbps": rate_mbps, "rtt_ms": rtt_ms} | pair.row()
        for (name, (rate_mbps, rtt_ms)), pair in measure().items()
    ]
    linux_page.save(directory, "alone", rows)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
