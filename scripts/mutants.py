"""Drops a line of each short way of ADR 17 in turn; each time a property must fail.

It works on a copy of the tracked files, in target/mutants. `scripts/mutants.py depart room` tries
these alone. Each takes half a minute.
"""

import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
COPY = ROOT / "target" / "mutants" / "tree"
TCP = "crates/sim/src/tcp"
LINK = "crates/net/src/link/predicted.rs"
FAST_PATH = "crates/sim/src/engine/fast_path.rs"

EVERY_TABLE = "conservation::no_short_way_changes_anything"
EVERY_ACK = "receiver::the_short_way_is_the_long_way"


@dataclass(frozen=True)
class Mutant:
    """A text that stands once in a file, and what takes its place."""

    short_way: str
    path: str
    old: str
    new: str = ""
    #: The property that must fail.
    caught_by: str = EVERY_TABLE


MUTANTS = (
    Mutant(
        "handle_ordinary",
        f"{TCP}/receiver/ordinary.rs",
        "        if first {\n            self.ts_recent_ns = sent_ns;\n        }\n",
        caught_by=EVERY_ACK,
    ),
    Mutant(
        "handle_pair",
        f"{TCP}/receiver/ordinary.rs",
        "        self.ts_recent_ns = echo_ns.max(sent_ns);\n",
        caught_by=EVERY_ACK,
    ),
    Mutant(
        "handle_predicted",
        f"{TCP}/input/mod.rs",
        "    sk.loss.on_plain_ack(now_ns, newest);\n",
    ),
    Mutant(
        "poll_new",
        f"{TCP}/header_prediction.rs",
        "        if P::COMMON.is_none() && self.waits_for_pacing() {\n"
        "            return None;\n        }\n",
    ),
    Mutant(
        "special",
        f"{TCP}/report.rs",
        "    pub fn stop_writing(&mut self) {\n        self.forget_plan();\n",
        "    pub fn stop_writing(&mut self) {\n",
    ),
    Mutant(
        "Plan", f"{TCP}/header_prediction.rs", "self.host.is_asked() || self.pacer", "self.pacer"
    ),
    Mutant("are_none", f"{TCP}/limits.rs", " & self.flow.receive_window == u64", " == u64"),
    Mutant("settled_until_ns", f"{TCP}/rtt.rs", "value <= self.best[2].1 || now_ns", "now_ns"),
    Mutant(
        "RateSampler",
        f"{TCP}/sender.rs",
        "            host.reads_delivery_rate() || switches.long_way,\n",
        "            switches.long_way,\n",
    ),
    Mutant(
        "next_timer_ns",
        "crates/sim/src/flow.rs",
        "            .min(connection.sender.poll_timeout());\n        self.next_timer_ns\n",
        "            .min(u64::MAX);\n        self.next_timer_ns\n",
    ),
    Mutant(
        "alone_until_ns",
        "crates/net/src/schedule/mod.rs",
        "        self.first = (time_of_few(other), element_of_few(other));\n"
        "        self.alone_until_ns = 0;\n",
        "        self.first = (time_of_few(other), element_of_few(other));\n",
    ),
    Mutant(
        "fast_path",
        FAST_PATH,
        "next_independent_ns = next_independent_ns.min(at_ns[cause]);\n",
        "\n",
    ),
    Mutant(
        "run_fast",
        FAST_PATH,
        "self.schedule.alone_until_ns().min(until_ns + 1)",
        "self.schedule.alone_until_ns()",
    ),
    Mutant(
        "receive",
        "crates/sim/src/engine/evented.rs",
        "if flow.receive(reaches_ns, sent_ns, segment, burst) && waits {",
        "if flow.receive(reaches_ns, sent_ns, segment, burst) {",
    ),
    Mutant("depart", FAST_PATH, "        self.census.acks_sent += 1;\n"),
    Mutant("enqueue_pair", LINK, "self.room.0 -= N as u64;", "self.room.0 -= 1;"),
    Mutant("room", LINK, "        self.room.0 -= N as u64;\n"),
    Mutant(
        "serve_all",
        "crates/net/src/rate/constant.rs",
        "(self.free_at_ns, self.free_at_rest) = (now_ns as i64, 0);\n        }\n        self.take",
        "self.free_at_ns = now_ns as i64;\n        }\n        self.take",
    ),
)


def survives(mutant: Mutant) -> bool:
    """Whether the property holds with the mutant, too."""
    path = COPY / mutant.path
    text = path.read_text()
    if text.count(mutant.old) != 1:
        sys.exit(f"error: {mutant.path}: this must stand there once:\n{mutant.old}")
    path.write_text(text.replace(mutant.old, mutant.new))
    # Less optimised it is built in half the time.
    environment = os.environ | {
        "CARGO_TARGET_DIR": str(COPY.parent / "target"),
        "CARGO_PROFILE_TEST_OPT_LEVEL": "1",
        "PROPTEST_CASES": os.environ.get("PROPTEST_CASES", "2048"),
        "PROPTEST_RNG_SEED": "1",
        "RUSTFLAGS": "-Awarnings",  # of what a mutant no longer uses
    }
    build = ["cargo", "test", "--quiet", "--locked", "-p", "ackclock-sim", "--test", "all"]
    try:
        subprocess.run([*build, "--no-run"], cwd=COPY, env=environment, check=True)
        done = subprocess.run(
            [*build, mutant.caught_by], cwd=COPY, env=environment, capture_output=True, check=False
        )
    finally:
        path.write_text(text)
    return done.returncode == 0


def main() -> None:
    """Tries the mutants that are named, all if none is."""
    wanted = set(sys.argv[1:])
    if unknown := wanted - {mutant.short_way for mutant in MUTANTS}:
        sys.exit(f"error: no mutant {', '.join(sorted(unknown))}")
    listing = ["git", "ls-files", "Cargo.*", "crates", "algorithms", "examples", "vectors"]
    listed = subprocess.run(listing, cwd=ROOT, capture_output=True, text=True, check=True)
    for name in listed.stdout.splitlines():
        (COPY / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(ROOT / name, COPY / name)
    survivors = []
    for mutant in MUTANTS:
        if wanted and mutant.short_way not in wanted:
            continue
        survived = survives(mutant)
        verdict = "SURVIVED" if survived else "caught"
        print(f"{mutant.short_way:18} {verdict} by {mutant.caught_by}", flush=True)
        survivors += [mutant.short_way] * survived
    sys.exit(f"error: no property catches {', '.join(survivors)}" if survivors else 0)


if __name__ == "__main__":
    main()
