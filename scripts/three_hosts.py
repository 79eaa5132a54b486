"""Draws docs/three-hosts.png: one C file in the simulator, on the virtual Linux and on this kernel.

`python scripts/three_hosts.py DIRECTORY`, as root, writes it there (a minute).
"""

import sys
from collections.abc import Callable
from pathlib import Path

from matplotlib.figure import Figure

import ackclock
from ackclock.draw import style
from ackclock.hosts import kernel, vlinux

HOSTS: dict[str, Callable[[ackclock.Scenario], ackclock.Result]] = {
    "simulator": ackclock.run,
    "Linux 6.12 in virtual time": vlinux.run,
    "the kernel of a running machine": kernel.run,
}
SCENARIO = ackclock.Scenario(
    duration="40s",
    rtt="60ms",
    sample_interval="50ms",
    bottleneck=ackclock.Bottleneck(rate="20mbit", buffer="1bdp"),
    flows=[{"algorithm": "cubic_fc"}],
)


def picture(results: dict[str, ackclock.Result]) -> Figure:
    """Windows below each other, with the losses as triangles."""
    figure = Figure(figsize=(8, 4.2))
    for axes, (host, result) in zip(
        figure.subplots(len(results), 1, sharex=True, sharey=True), results.items(), strict=True
    ):
        losses = result.events.filter(kind="recovery")
        (flow,) = result.flows.iter_rows(named=True)
        axes.plot(
            result.samples["time_us"] / 1e6,
            result.samples["cwnd_packets"],
            color=style.look("cubic_fc").colour,
        )
        axes.plot(losses["time_us"] / 1e6, losses["cwnd_packets"], "v", color=style.INK, ms=4)
        axes.set_title(
            f"{host}: {flow['delivered_bytes'] / 1e6:.2f} MB, {len(losses)} recoveries, "
            f"{flow['retransmitted_packets']} packets sent again",
            loc="left",
            fontsize="small",
        )
        axes.set_ylim(0, 240)
    figure.axes[1].set_ylabel("cwnd (packets)")
    figure.axes[-1].set(xlabel="time (s)", xlim=(0, 40))
    return figure


def main(directory: Path) -> None:
    results = {host: run(SCENARIO) for host, run in HOSTS.items()}
    with style.applied():
        picture(results).savefig(directory / "three-hosts.png", dpi=120)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
