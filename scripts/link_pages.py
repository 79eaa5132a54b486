"""Writes docs/links.md: what a link can be, with a picture of each queue discipline.

`python scripts/link_pages.py DIRECTORY` writes links.md and links-KIND.png there.
"""

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from ackclock import Bottleneck, Result, Scenario, run
from ackclock.draw import plot, style
from ackclock.results import metrics

FLOWS = (1, 4, 16)
SEEDS = range(1, 6)
END_S, STEADY_FROM_S = 60, 10
QUEUES: Any = Bottleneck.tables["queue"]
KINDS = tuple(QUEUES.values())
#: What a discipline needs beside its defaults to show what it is for.
SETTINGS = {"step": {"threshold": "5ms"}}
#: The algorithm that a discipline is for, if CUBIC is not.
MADE_FOR = {"step": "dctcp"}

#: What a reader of the numbers must know.
NOTES = {
    "fq": """This is Linux's `sch_fq` as a router has it: it does not pace packets that it forwards.

* `flow_limit_packets` (100) limits each flow, whatever the buffer is: here one flow waits for at
  most 24 ms. Drops at this limit count as AQM drops.
* The buffer limits all flows together. Up to 8 packets that found an empty queue, and the packet on
  the wire, come on top of it.
* The first packet of a flow that the queue has never seen waits until the others have sent up to
  196 608 bytes, here 31 ms, as in Linux 6.12. FQ-CoDel sends it first."""
}

HEAD = """# Links and queues

This page is for readers who choose a bottleneck. It shows what each queue discipline does with one,
four and sixteen CUBIC flows. [scenario.md](scenario.md) has every key.

A scenario has a `[bottleneck]`, or several `[[link]]` tables in series with the same keys. A link
has a rate, a queue before it and a delay behind it. The `route` of a flow has the numbers of the
links that its data passes, and `back` those that its ACKs pass:

* `examples/parking_lot.toml`: three links in series, and a flow that passes all of them
* `examples/shared_access.toml`: two access links before a shared link
* `examples/asymmetric.toml`: a fast downlink and a slow uplink, where ACKs queue behind an upload

One drop-tail queue is fast to simulate, because a packet's departure is known when it arrives.
Every other network costs an event for each packet and link ([ADR 12](adr/{adr})).

```sh
ackclock run examples/two_cubic.toml --set bottleneck.queue=codel              # an AQM
ackclock run examples/two_cubic.toml --set bottleneck.queue=fq_codel --set flow.ecn=true   # marks
ackclock run examples/cellular.toml -o out/cell && ackclock plot out/cell      # a recorded link
```

Tests compare fq and five AQMs with Linux's code, packet by packet.
`ackclock import-tc "tc qdisc add dev eth0 root netem delay 50ms"` makes a scenario of commands of
`tc`, mahimahi, `ipfw`, `dnctl`, comcast or pumba, or of what `tc qdisc show`,
`sh -x` or ERRANT's `-d` prints. Or of a file: a shell script, `/etc/config/sqm`, LeoReplayer's
shells. What has no counterpart is refused, or the nearest is taken, with a comment: `sfq`, `hfsc`,
correlations, `ecn`.

## Rates, losses and delays

A link may do more than queue packets. [ADR 15](adr/0015-rates-and-impairments.md) says
in which order, and how it compares with Linux.

| key | what the link does | example |
|---|---|---|
| `loss` | loses packets at random (`0.001`), in bursts, in outages | `random_loss`, `outages` |
| `drop_packets`, `drop_every_packets` | loses these data packets, or every Nth | `lost_packets` |
| `duplicate`, `reorder` | sends packets twice; lets some come late | `reordering` |
| `policer` | drops what exceeds a rate and a burst, and delays nothing | `policer` |
| `rate_at`, `delay_at`, `loss_at` | changes rate, delay or loss at times | `rate_steps` |
| `timeline` | changes all of them as a file says | `satellite` |
| `delay_jitter` | delays each packet by a draw of a distribution | `jitter` |
| `limit_packets` | holds no more packets, those in the delay included, as netem | `netem` |
| `at` | is the sender's own interface, with TCP small queues | `own_interface` |
| `trace` | carries packets at the times of a recorded link, as mahimahi | `cellular` |
| `tick` | releases packets at the ticks of a timer, as dummynet | `dummynet` |

## The disciplines

| | |
|---|---|
| link | {rate}, with room for 1000 packets |
| flows | 40 ms, starting in the first second; ECN where the discipline marks by default; CUBIC |
| pictures | queue delay in one run; short lines at the top: AQM drops (red), marks (orange) |
| values | means of {seeds} seeds, from {steady} s to {end} s; delays are of the queue alone |

ECN needs both ends of it: `ecn = true` of the flow, and a queue that marks (`ecn = true` of CoDel,
RED and PIE, which drop by default). `make docs` writes this page.
"""
RATE = "50mbit"


def scenario(kind: str, flows: int, ecn: bool, algorithm: str = "cubic") -> Scenario:
    queue = {"kind": kind} | SETTINGS.get(kind, {})
    return Scenario(
        duration=f"{END_S}s",
        rtt="40ms",
        sample_interval="20ms",
        bottleneck=Bottleneck(rate=RATE, buffer="1000packets", queue=queue),
        flows=[{"algorithm": algorithm, "count": flows, "start_spread": "1s", "ecn": ecn}],
    )


COLUMNS = (
    "utilisation",
    "median delay (ms)",
    "95 % delay (ms)",
    "AQM drops/overflows/marks per s",
    "Jain index",
)


def row(runs: list[Result]) -> list[float]:
    """The values of COLUMNS, three of them in one."""
    steady = (STEADY_FROM_S, END_S)
    delays_s = np.concatenate([metrics.queue_delays_s(each, 1, *steady) for each in runs])
    totals = [each.queues.filter(time_us=END_S * 10**6).row(0, named=True) for each in runs]
    mean = {name: np.mean([each[name] for each in totals]) / END_S for name in totals[0]}
    shares = [metrics.throughput_bps(each, steady)[:, 0] for each in runs]
    return [
        np.mean([metrics.utilisation(each, *steady) for each in runs]),
        1e3 * np.median(delays_s),
        1e3 * np.quantile(delays_s, 0.95),
        mean["early_dropped_packets"],
        mean["dropped_packets"] - mean["early_dropped_packets"],
        mean["marked_packets"],
        np.mean([metrics.jain_index(each) for each in shares]),
    ]


def picture(runs: list[Result]) -> Figure:
    """Delay of the queue over time, a panel for each number of flows."""
    with style.applied():
        figure = Figure(figsize=(9, 2.4))
        for axes, flows, result in zip(
            figure.subplots(1, len(runs), sharey=True), FLOWS, runs, strict=True
        ):
            queue = result.queues
            axes.plot(queue["time_us"] / 1e6, queue["sojourn_us"] / 1e3, color=style.INK, lw=0.6)
            plot.signals(axes, result)
            axes.set(xlim=(0, END_S), xlabel="time (s)", title=f"{flows} CUBIC")
            late = [metrics.queue_delays_s(each, 1, 2, END_S).max() for each in runs]
            axes.set_ylim(0, 1.15e3 * max(late))
        figure.axes[0].set_ylabel("queue delay (ms)")
    return figure


def section(kind: type[Any], directory: Path) -> Iterator[str]:
    """The text on a discipline; draws its picture."""
    name = kind.kind
    marks = name == "step" or (getattr(kind, "ecn", False))
    ecn = bool(marks or name == "dualpi2")

    def measure(*algorithm: str) -> dict[int, list[Result]]:
        return {
            flows: [
                run(scenario(name, flows, ecn, *algorithm).replace(seed=seed)) for seed in SEEDS
            ]
            for flows in FLOWS
        }

    runs = measure()
    figure = picture([each[0] for each in runs.values()])
    figure.savefig(directory / f"links-{name}.png", dpi=90)
    settings = ", ".join(f'`{key} = "{value}"`' for key, value in SETTINGS.get(name, {}).items())
    yield f"### `{name}`\n\n{kind.about}{f' Here with {settings}.' if settings else ''}"
    yield f"![Queue delay with {name}](links-{name}.png)"
    if name in NOTES:
        yield NOTES[name]
    table = [
        f"| flows | {' | '.join(COLUMNS)} |",
        "|---" * (1 + len(COLUMNS)) + "|",
    ]
    measured = [(f"{flows}{', with ECN' if ecn else ''}", each) for flows, each in runs.items()]
    if name in MADE_FOR:
        own = measure(MADE_FOR[name])
        label = style.look(MADE_FOR[name]).label
        measured += [(f"{flows} {label}", each) for flows, each in own.items()]
    for flows, each in measured:
        used, median, high, early, full, marked, jain = row(each)
        table.append(
            f"| {flows} | {used:.3f} | {median:.1f} | {high:.1f} "
            f"| {early:.1f}/{full:.1f}/{marked:.1f} | {jain:.3f} |"
        )
    yield "\n".join(table)


def main(directory: Path) -> None:
    adr = next(Path("docs/adr").glob("0012*")).name
    filled = {"rate": "50 Mb/s", "seeds": len(SEEDS), "steady": STEADY_FROM_S, "end": END_S}
    texts = [HEAD.format(adr=adr, **filled).rstrip()]
    for kind in KINDS:
        texts += section(kind, directory)
        print(kind.__name__, flush=True)
    (directory / "links.md").write_text("\n\n".join(texts) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
