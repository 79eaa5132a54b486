"""What a program makes of Reno by chance: the judge survives it, and no hole pays."""

import os
import random
import re

import pytest

from ackclock import evaluate
from common import ROOT

RENO = (ROOT / "examples" / "search" / "reno.c").read_text()
#: 200 of them were tried; a test of some seconds takes fewer.
MANY = int(os.environ.get("ACKCLOCK_MUTANTS", "24"))
#: Statements that a search may try anywhere, holes among them.
STATEMENTS = (
    "tp->snd_cwnd += 10;",
    "tp->snd_cwnd = 0;",
    "tp->snd_ssthresh = 0;",
    "tp->delivered += 1000;",
    "tp->tcp_mstamp += 1000000;",
    "tp->packets_out = 0;",
    "((u32 *)sk)[8192] = 0;",
    "((u32 *)tp)[-64] = 2;",
    "for (u32 i = 0; i < 100000; i++) if (((u32 *)tp)[i] == 1448) ((u32 *)tp)[i + 1] = 2;",
    "while (tp->snd_cwnd) ;",
    "acked = acked / (tp->snd_cwnd & 1);",
    "u32 x[4]; x[acked] = 1; acked += x[0];",
    "*(u32 *)0 = 1;",
    "tcp_snd_cwnd_set(tp, tp->snd_cwnd / 2);",
    "inet_csk_ca(sk)->mode++;",
    "return;",
)


def mutant(seed):
    """Reno with one to three changes."""
    draw = random.Random(seed)
    lines = RENO.splitlines()
    for _ in range(draw.randint(1, 3)):
        kind = draw.choice(["number", "operator", "statement", "statement", "without", "twice"])
        inside = [i for i, line in enumerate(lines) if line.startswith("\t") and ";" in line]
        at = draw.choice(inside)
        if kind == "number":
            lines[at] = re.sub(r"\d+", lambda _: str(draw.choice([0, 1, 3, 9, 1 << 31])), lines[at])
        elif kind == "operator":
            lines[at] = re.sub(r" [*/+] ", lambda _: f" {draw.choice('*/+-%')} ", lines[at])
        elif kind == "statement":
            lines.insert(at, "\t" + draw.choice(STATEMENTS))
        elif kind == "without":
            del lines[at]
        else:
            lines.insert(at, lines[at])
    return "\n".join(lines) + "\n"


@pytest.mark.slow
def test_no_mutant_crashes_the_judge_or_is_paid_for_a_hole(tmp_path):
    stages = []
    for seed in range(MANY):
        path = tmp_path / f"mutant_{seed}.c"
        path.write_text(mutant(seed))
        card = evaluate(str(path), rows="links", against=("reno",), cache=tmp_path / "kept")
        if card["failed"]:
            stages.append(card["failed"]["stage"])
            assert card["failed"]["problem"]
            continue
        stages.append("judged")
        numbers = {each["name"]: each["found"] for each in card["rows"][0]["numbers"]}
        for name, found in numbers.items():
            if name.startswith("utilisation"):
                assert 0 <= found[str(path)]["mean"] <= 1.000001, (seed, name)
        # No hole takes the rival's window: it has what an aggressive flow leaves it, or more.
        rival = numbers["throughput of a CUBIC flow beside it"][str(path)]["mean"]
        assert rival > 0.2, seed
    assert {"compile", "contract", "judged"} <= set(stages)
