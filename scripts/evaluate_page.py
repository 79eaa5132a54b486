"""Writes `docs/evaluate.md`: the rows of the scorecard. `make generate` calls it."""

import textwrap

from ackclock.questions import scenarios
from ackclock.scorecard.evaluated import QUESTIONS
from ackclock.scorecard.page import WORDS

_PAGE = """# The scorecard

This page is for people who have written a congestion control, or who must decide whether to deploy
one. `ackclock evaluate` asks what RFC 9743 (BCP 133) asks of a new algorithm, and puts each answer
beside those of CUBIC and Reno in the same runs.

```sh
ackclock evaluate my_cc.c --quick                        # half a minute
ackclock evaluate my_cc.c -o out/my_cc                   # all points: 10 minutes on 2 cores
ackclock evaluate my_cc.c --against cubic,reno,bbr       # another algorithm beside it
ackclock evaluate my_cc.c --rows R3,R7                   # some rows
ackclock evaluate my_cc.c --check thresholds.toml        # for continuous integration
```

The runs are kept: the same command resumes, and after a change of the C file only its own runs are
made again.

The terminal shows one line a row. The page
(`index.html`) has a figure a row, and every number with its 95 % interval and its margin. The name
of a number is a link to its scenario file. `card.json` and `rows.parquet` have the same for
programs. `--json --no-page` prints `card.json` and draws nothing.
[card.schema.json](card.schema.json) describes its keys.
[For programs](#for-programs) says how a search calls it.
`--shard 3/64 --nonce 7` runs a part on a machine of its own ([cluster.md](cluster.md#shards)).
`--as-draft` writes `appendix.md` for an Internet-Draft, by the RFC's sections, and
`evidence.tar.gz`, which repeats it. [ci.md](ci.md) shows `--check`.
[attack.md](attack.md) searches what the card does not ask.
[The league](scorecards/README.md) has our own algorithms.

## How to read it

* **better, worse**: the 95 % interval of the paired difference (same seed, the other algorithm in
  the same place) is beyond the margin of the number. **same**: it is within the margin.
  **unclear**: it reaches across, so that these repeats cannot tell. **mixed**: some numbers
  of the row are better, and others worse.
* **unsafe**: all of the 95 % interval is where nobody should deploy the algorithm. The table below
  has these bounds. They are ours: the RFC sets none, so the card never says that an algorithm
  complies.
{words}
* A number with ">" is of runs that the end cut off.
* **failed**: the algorithm does not compile, crashes, does not return, or is unsafe on four easy
  links. The card ends with exit status 1, and `failed.toml` is the run in which it happens.
  First come 12 s with marks, losses, reordering, a timeout and pauses, and calls as of
  `check --fuzz` ("contract").

## For programs

A search wants cheap answers first. The stages are compile, contract, links, quick, card, held out.

```python
card = ackclock.evaluate(
    "candidate.c",
    rows="links",  # four links: a quarter of a second of processor time, compiling included
    budget_s=10,
    objective=lambda runs: min(run["utilisation"] for run in runs),  # its own runs, a dict each
)
card["failed"]  # None, or stage, row, problem (file, line, flow, time) and scenario
card["objective"]
```

C files run in a process of their own ([limits](security.md#c-files)): a crash is an answer.
`held_out=7` (`--held-out 7`) asks the same at few points that this seed draws: rate, RTT, buffer
and flows up to a factor of 1.19 beside the card's, with other seeds, segments, timers and stacks,
and once for ten times as long. What is better on the card's own, twice, by more than drawn links
differ, is recognised: the card fails.
The card's seeds follow `nonce`, which `.ackclock/nonce` keeps and `--nonce` gives.

`make .venv/programs` (with wheels: `pip install "ackclock[programs]"`) adds two ways to call it.
`examples/search/` is an evaluator for OpenEvolve, with its configuration; a candidate that fails
has score 0, and as artifacts what failed. `ackclock mcp` serves programs that speak the Model
Context Protocol: tools list_algorithms, run, evaluate and attack, which take a C file as text.

## Beside the simulator: Linux itself

```sh
ackclock evaluate my_cc.c --quick --rows R3 --on kernel --jobs 3   # as root: 4 minutes
ackclock evaluate my_cc.c --quick --rows R3,R10 --on vlinux        # Linux in virtual time
```

With `--on kernel` each row has a second line: the same scenarios on this machine's own TCP stack
([testbed.md](testbed.md)), in real time: one repeat with `--quick`, otherwise 3. All rows take
hours, so choose a few with `--rows`. A row's section on the page says why a number is missing: the
kernel runs no sessions (R6, R16), frames (R8), lying receivers (R14, R15b), accurate ECN and links
above 4 Gb/s (R16). `card.json` has the kernel's numbers under `linux`, and `rows.parquet` names the
side in the column `on`. A kernel run that kept time badly is repeated twice; then the row has no
answer.

`--on vlinux` does the same with [Linux in virtual time](vlinux.md), without root and without noise.
It alone answers for `kernel:NAME`, and for a file that the simulator refuses.

## The rows

{base}

{table}

The loss of 90 % and of 100 % (R1) begins after some 1000 packets, since no connection would open
with it, and does not end.

In R7 and R7b an algorithm meets CUBIC and Reno, the standard, and BBR (version 1, as in Linux),
which many servers use: one flow beside one, one beside four, and four beside one, in each cell of a
grid of 5 rates (5 to 200 Mb/s), 5 RTTs (10 to 200 ms) and 6 buffers (0.1 to 4 BDP). The heat maps
show the harm: those of R7 over rate and RTT, as means over the buffers; those of R7b over mix and
buffer, as means over rates and RTTs. `rows.parquet` has each cell. `--quick` asks two cells (R7b:
three mixes with two buffers), so there "all cells" are few.

Sound and video (R8) are flows of CUBIC whose application writes a frame each so often: one packet
each 20 ms, or 12 packets 30 times a second. The delay of a frame is the time from its writing until
its last byte is acknowledged.

A receiver that lies (R14) acknowledges what never came, or echoes no mark.

Wi-Fi (R9b) follows draft-huitema-ccwg-c4-test: ACKs that wait up to 14 ms on 10 Mb/s; every 5 s a
fade from 20 to 2 Mb/s for 2 s; every 2 s a pause of 0.2 s. The load of R15b is that of the common
TCP evaluation suite (section 5.3): UDP with 75 of 100 Mb/s comes or goes. The application of R15c
writes 3 MB every 2 s, which need half a second. That of R15d writes 10 MB, pauses, and always has
data from 10 s on; that second is measured.

An algorithm with ECN sends what it asks for (R10, R10b, R10c). Off: no packet is ECT. ECT(0): the
receiver echoes marks (RFC 3168). Accurate: the receiver counts marks (RFC 9768). Only an algorithm
that asks for ECT(1) in its C file sends it, as Prague does; DualPI2 has every other flow in its
classic queue. `rows.parquet` has the marked and the dropped packets of each queue and codepoint.

## What is not asked

| question | why |
|---|---|
| deployment, security, tunnels, circuit breakers (5.3, 6.2, 7.2, 8) | no run answers them |
| several paths (7.10) | a flow here has one path |
| Wi-Fi (6.4) as a model of its medium | R9 has its losses, R9b a stand-in for its delays |
| ECT(1) by any algorithm | RFC 9331 asks for an L4S response first |
| accurate ECN on Linux | Linux before 7.0 does not negotiate it |

`make generate` writes this page from `python/ackclock/questions/`.
"""


def markdown() -> str:
    """The page docs/evaluate.md."""
    rows = ["| row | RFC 9743 | question | numbers (margin) | unsafe |", "|---|---|---|---|---|"]
    for question in QUESTIONS:
        numbers = "; ".join(
            f"{number.name} ({number.margin:g}{f' {number.unit}' if number.unit else ''})"
            for number in question.numbers
        )
        unsafe = "; ".join(
            f"{number.name} {'<' if number.more else '>'} {number.unsafe:g} {number.unit}".strip()
            for number in question.numbers
            if number.unsafe is not None
        )
        cells = [question.row, question.criterion, question.words, numbers, unsafe]
        rows.append("| " + " | ".join(cells) + " |")
    base = " ".join((scenarios.__doc__ or "").split("\n\n")[1].split())
    words = "\n".join(
        textwrap.fill(f"* **{word}**: {what}.", 98, subsequent_indent="  ")
        for word, what in WORDS.items()
    )
    return _PAGE.format(base=textwrap.fill(base, 98), table="\n".join(rows), words=words)
