"""Plants a fault in turn, and looks whether a quick test finds it; golden hashes are not asked.

The faults are in a copy of the tracked files, in target/mutants, all in one build: each stands
beside what is right, and a variable of the environment chooses. Those of Python replace its text.
`scripts/mutants.py depart room` tries these alone. A fault takes seconds, the build minutes.
"""

import json
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
COPY = ROOT / "target" / "mutants" / "tree"
CHOICE = "ACKCLOCK_MUTANT"
TCP = "crates/sim/src/tcp"
QUEUE = "crates/net/src/queue"
MEASURE = "crates/measure/src"
LINK = "crates/net/src/link/predicted.rs"
FAST_PATH = "crates/sim/src/engine/fast_path.rs"
#: Goes into each crate with a fault.
PLANTED = """
#[inline]
pub(crate) fn planted(number: u32) -> bool {{
    static CHOSEN: std::sync::OnceLock<u32> = std::sync::OnceLock::new();
    let chosen = || std::env::var("{choice}").map_or(0, |text| text.parse().unwrap());
    *CHOSEN.get_or_init(chosen) == number
}}
"""
#: Golden hashes: the commit that changes a rule writes them anew.
GOLDEN = "traces::nothing_changes"

#: Both of its ways have the fault of a rule.
BOTH_WAYS = "conservation::no_short_way_changes_anything"
EVERY_TABLE = f"sim {BOTH_WAYS}"
EVERY_ACK = "sim receiver::the_short_way_is_the_long_way"


@dataclass(frozen=True)
class Mutant:
    """A fault: a statement or expression that stands once in a file, and what takes its place."""

    name: str
    path: str
    old: str
    new: str = ""
    #: A crate and the tests whose names have this, or what `pytest` is given.
    caught_by: str = EVERY_TABLE

    @property
    def is_rust(self) -> bool:
        return self.path.endswith(".rs")

    def planted(self, number: int) -> str:
        """Both, one beside the other."""
        chosen = f"if crate::planted({number}) {{ {self.new} }} else {{ {self.old} }}"
        is_statement = self.old.rstrip().endswith((";", "}"))
        return chosen if is_statement else f"({chosen})"


#: A line of each short way of ADR 17: a property compares it with the long way.
SHORT_WAYS = (
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
        "        self.forget_plan();\n        self.limits.stop_at(self.board.nxt());\n",
        "self.limits.stop_at(self.board.nxt());",
    ),
    Mutant(
        "Plan",
        f"{TCP}/header_prediction.rs",
        "self.host.is_asked() || self.pacer.holds(&self.host)",
        "self.pacer.holds(&self.host)",
    ),
    Mutant(
        "are_none",
        f"{TCP}/limits.rs",
        "limits & self.flow.receive_window == u64::MAX",
        "limits == u64::MAX",
    ),
    Mutant(
        "settled_until_ns",
        f"{TCP}/rtt.rs",
        "value <= self.best[2].1 || now_ns > self.settled_until_ns",
        "now_ns > self.settled_until_ns",
    ),
    Mutant(
        "RateSampler",
        f"{TCP}/sender.rs",
        "host.reads_delivery_rate() || switches.long_way",
        "switches.long_way",
    ),
    Mutant(
        "next_timer_ns", "crates/sim/src/flow.rs", "connection.sender.poll_timeout()", "u64::MAX"
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
        "flow.receive(reaches_ns, sent_ns, segment, burst) && waits",
        "flow.receive(reaches_ns, sent_ns, segment, burst)",
    ),
    Mutant("depart", FAST_PATH, "        self.census.acks_sent += 1;\n"),
    Mutant("enqueue_pair", LINK, "self.room.0 -= N as u64;", "self.room.0 -= 1;"),
    Mutant("room", LINK, "self.room.0 -= N as u64;"),
    Mutant(
        "serve_all",
        "crates/net/src/rate/constant.rs",
        "            (self.free_at_ns, self.free_at_rest) = (now_ns as i64, 0);\n",
        "            self.free_at_ns = now_ns as i64;\n",
    ),
)

#: Rules of TCP, of queues, of what is measured and of statistics.
RULES = (
    Mutant(
        "a lone packet's probe waits for a delayed ACK",
        f"{TCP}/loss/tlp.rs",
        "u64::from(self.rto_min_us)",
        "TIMEOUT_MIN_US",
        "sim rfc::rfc8985",
    ),
    Mutant(
        "no probe beside a SACK",
        f"{TCP}/loss/tlp.rs",
        "tp.packets_out == 0 || !open || tp.sacked_out > 0",
        "tp.packets_out == 0 || !open",
        "sim tcp::loss::tlp",
    ),
    Mutant(
        "a reduction forgets the probe",
        f"{TCP}/recovery/machine.rs",
        "        self.tlp.forget();\n        self.reduction.begin(&mut self.host);\n",
        "        self.reduction.begin(&mut self.host);\n",
        "sim ",
    ),
    Mutant(
        "a timeout forgets the probe",
        f"{TCP}/recovery/machine.rs",
        "        self.tlp.forget();\n        self.host.set_state(CaState::Loss);\n",
        "self.host.set_state(CaState::Loss);",
        "sim ",
    ),
    Mutant(
        "a window probe waits 200 ms",
        f"{TCP}/timers.rs",
        "host.rto().max(host.jiffies_of_us(RTO_MIN_US.into()))",
        "host.rto()",
        "sim tcp::timers",
    ),
    Mutant(
        "window probes back off",
        f"{TCP}/timers.rs",
        "(base << self.probes.min(MOST_PROBE_SHIFT)).min(most)",
        "base.min(most)",
        "sim ",
    ),
    Mutant(
        "a timeout backs off",
        f"{TCP}/timeouts.rs",
        "                self.host.back_off_rto();\n",
        "",
        "sim rfc::rfc6298",
    ),
    Mutant(
        "a timer has one tick at least",
        f"{TCP}/timers.rs",
        "host.jiffies_of_us(until_us).max(1)",
        "host.jiffies_of_us(until_us)",
        "sim tcp::timers",
    ),
    Mutant(
        "a paced flow's timer waits longer",
        f"{TCP}/timers.rs",
        "wait + host.pacing_delay()",
        "wait",
        "sim tcp::timers",
    ),
    Mutant(
        "Karn's RTT is a millisecond at least",
        f"{TCP}/rtt.rs",
        "(now_ns / NS_PER_MS - delivery.echo_ns / NS_PER_MS).max(1)",
        "(now_ns / NS_PER_MS - delivery.echo_ns / NS_PER_MS)",
        "sim tcp::rtt",
    ),
    Mutant(
        "a falling RTT hardly raises the deviation",
        f"{TCP}/rtt.rs",
        "excess >>= 3;",
        "",
        "sim tcp::rtt",
    ),
    Mutant(
        "three SACKs end the patience",
        f"{TCP}/loss/rack.rs",
        "tp.sacked_out >= REORDERING",
        "tp.sacked_out > REORDERING",
        "sim sender::",
    ),
    Mutant(
        "the reordering window has a bound",
        f"{TCP}/loss/rack.rs",
        "(u64::from(min_rtt_us / 4) * u64::from(self.steps)).min(u64::from(tp.srtt_us >> 3))",
        "u64::from(min_rtt_us / 4) * u64::from(self.steps)",
        "sim tcp::loss::rack",
    ),
    Mutant(
        "a timeout spares the last round trip",
        f"{TCP}/loss/rack.rs",
        "now_us - sent_ns / 1_000 < self.rtt_us()",
        "now_us - sent_ns / 1_000 <= self.rtt_us()",
        "sim tcp::loss::rack",
    ),
    Mutant(
        "progress sends one more",
        f"{TCP}/recovery/prr.rs",
        "budget += 1;",
        "",
        "sim tcp::recovery::prr",
    ),
    Mutant(
        "a share is rounded up",
        f"{TCP}/recovery/prr.rs",
        "share.div_ceil(u64::from(tp.prior_cwnd))",
        "(share / u64::from(tp.prior_cwnd))",
        "sim rfc::rfc9937",
    ),
    Mutant(
        "what is undone keeps its window",
        f"{TCP}/recovery/prr.rs",
        "ssthresh < TCP_INFINITE_SSTHRESH && !undone",
        "ssthresh < TCP_INFINITE_SSTHRESH",
        "sim tcp::recovery::prr",
    ),
    Mutant(
        "D-SACKs from before do not count",
        f"{TCP}/recovery/undo.rs",
        "self.is_open() && end > self.marker && self.retrans > 0",
        "self.is_open() && self.retrans > 0",
        "sim tcp::recovery::undo",
    ),
    Mutant(
        "a timestamp of the same millisecond tells nothing",
        f"{TCP}/recovery/undo.rs",
        "echo_ns / NS_PER_MS < self.stamp_ns / NS_PER_MS",
        "echo_ns / NS_PER_MS <= self.stamp_ns / NS_PER_MS",
        "sim tcp::recovery::undo",
    ),
    Mutant(
        "CWR lasts a round trip",
        f"{TCP}/recovery/machine.rs",
        "self.board.una() != self.high_seq",
        "self.board.una() == self.high_seq",
        "sim ",
    ),
    Mutant(
        "a hook's reduction begins on a dubious ACK",
        f"{TCP}/input/linux6.rs",
        "apply_requested_cwr(sk, Sender::tcp_enter_cwr);\n    end(sk, &prior, dubious);",
        "end(sk, &prior, dubious);",
        "sim kernel_contract::",
    ),
    Mutant(
        "the first mark is acknowledged quickly",
        f"{TCP}/ecn.rs",
        "retransmission || first_mark",
        "retransmission",
        "sim tcp::ecn",
    ),
    Mutant(
        "CWR ends the echo",
        f"{TCP}/ecn.rs",
        "        if marks.cwr {\n            self.demands_cwr = false;\n        }\n",
        "",
        "sim tcp::ecn",
    ),
    Mutant(
        "two marks are told at once",
        f"{TCP}/ecn.rs",
        "self.ce_packets.wrapping_sub(self.told) >= MARKS_PER_ACK",
        "self.ce_packets.wrapping_sub(self.told) > MARKS_PER_ACK",
        "sim accurate_ecn::",
    ),
    Mutant(
        "the first ACK's window stays open",
        f"{TCP}/limits.rs",
        "end.max(self.first_edge).saturating_sub(board.nxt())",
        "end.saturating_sub(board.nxt())",
        "sim tcp::limits",
    ),
    Mutant(
        "a late ACK doubles the delay",
        f"{TCP}/receiver/mod.rs",
        "(self.ato << 1).min(self.most_ato)",
        "self.ato",
        "sim receiver::",
    ),
    Mutant(
        "an old segment is discarded",
        f"{TCP}/receiver/mod.rs",
        "((older && late()) || segment + segments < self.last_ack_sent) && !self.hides_losses",
        "older && late() && !self.hides_losses",
        "sim receiver::",
    ),
    Mutant(
        "the last packet of a capture has a FIN",
        "crates/sim/src/capture.rs",
        "if fin { FIN } else { 0 }",
        "0",
        "sim runs::",
    ),
    Mutant(
        "a full queue takes no packet",
        "crates/net/src/buffer.rs",
        "load.packets < limit",
        "load.packets <= limit",
        "net droptail",
    ),
    Mutant(
        "the packet on the wire takes a slot",
        f"{QUEUE}/droptail.rs",
        "self.buffer.fits(self.fifo.load() + wire, packet.bytes)",
        "self.buffer.fits(self.fifo.load(), packet.bytes)",
        "net droptail",
    ),
    Mutant(
        "CoDel's interval must pass",
        f"{QUEUE}/codel.rs",
        "self.first_above.get_or_insert(now + targets.interval)",
        "self.first_above.get_or_insert(now)",
        "net codel",
    ),
    Mutant(
        "CoDel leaves one packet alone",
        f"{QUEUE}/codel.rs",
        "sojourn < targets.target || backlog_bytes <= targets.mtu_bytes",
        "sojourn < targets.target",
        "net codel",
    ),
    Mutant(
        "FQ-CoDel: a new flow has one quantum",
        f"{QUEUE}/fq_codel.rs",
        "is_new && !self.old.is_empty()",
        "false",
        "net fq_codel",
    ),
    Mutant(
        "PIE marks to ten percent",
        f"{QUEUE}/pie.rs",
        "self.parameters.ecn && self.probability <= ONE / 10",
        "self.parameters.ecn",
        "net pie",
    ),
    Mutant(
        "RED counts since the last mark",
        f"{QUEUE}/red.rs",
        "excess * *count >= self.gap",
        "excess >= self.gap",
        "net red",
    ),
    Mutant(
        "DualPI2 couples its queues",
        f"{QUEUE}/dualpi2.rs",
        "u64::from(self.probability) * self.parameters.coupling",
        "u64::from(self.probability)",
        "net dualpi2",
    ),
    Mutant(
        "a policer fills to its burst",
        "crates/net/src/rate/policer.rs",
        "grown_ns.min(self.most_ns)",
        "grown_ns",
        "net policer",
    ),
    Mutant(
        "a bad state may pass packets",
        "crates/net/src/impair.rs",
        "self.is_bad ^= self.happens(leaves);",
        "",
        "net impair",
    ),
    Mutant(
        "the common interval ends with the first that stops",
        f"{MEASURE}/setup.rs",
        "one.1.min(other.1)",
        "one.1.max(other.1)",
        "measure ",
    ),
    Mutant(
        "a link is full at 90 %",
        f"{MEASURE}/numbers.rs",
        "(0..self.count()).map(rate_bps).sum::<f64>() >= FULL * self.capacity_bps",
        "(0..self.count()).map(rate_bps).sum::<f64>() >= 0.95 * self.capacity_bps",
        "measure ",
    ),
    Mutant(
        "what is cut off counts with its time",
        f"{MEASURE}/numbers.rs",
        "self.end_s - *start_us as f64 / 1e6",
        "self.end_s",
        "measure ",
    ),
    Mutant(
        "Jain's index has as many squares as shares",
        f"{MEASURE}/values.rs",
        "shares.len() as f64 * exact_sum(shares.iter().map(|share| share * share))",
        "exact_sum(shares.iter().map(|share| share * share))",
        "measure ",
    ),
    Mutant(
        "an interval is expanded for few repeats",
        "python/ackclock/estimates/stats.py",
        "-math.sqrt(n / (n - 1)) * student_t(",
        "-student_t(",
        "tests/estimates",
    ),
    Mutant(
        "few repeats decide nothing",
        "python/ackclock/estimates/stats.py",
        "if 0 < estimate.n < LEAST_REPEATS:",
        "if 0 < estimate.n < LEAST_REPEATS - 1:",
        "tests/estimates",
    ),
    Mutant(
        "looks share the error",
        "python/ackclock/estimates/sequential.py",
        "chance <= level",
        "chance <= ERROR",
        "tests/estimates",
    ),
    Mutant(
        "a damaged table is not read",
        "python/ackclock/store/entries.py",
        "if _digest(data) != digest:",
        "if False:",
        "tests/store",
    ),
    Mutant(
        "a key has its host's version",
        "python/ackclock/scenario/snapshot.py",
        "version = _core.engine_version() if version is None else version",
        "version = _core.engine_version() or version",
        "tests/scenario",
    ),
)
MUTANTS = SHORT_WAYS + RULES


def plant() -> None:
    """Writes the copy, in which each fault of Rust may be chosen by its number."""
    texts: dict[str, str] = {}
    for number, mutant in enumerate(MUTANTS, 1):
        text = texts.get(mutant.path) or (ROOT / mutant.path).read_text()
        if text.count(mutant.old) != 1:
            sys.exit(f"error: {mutant.path}: this must stand there once:\n{mutant.old}")
        planted = mutant.planted(number) if mutant.is_rust else mutant.old
        texts[mutant.path] = text.replace(mutant.old, planted)
    for crate in {Path(path).parts[1] for path in texts if path.startswith("crates")}:
        library = f"crates/{crate}/src/lib.rs"
        text = texts.get(library) or (ROOT / library).read_text()
        texts[library] = text + PLANTED.format(choice=CHOICE)
    parts = ("Cargo.*", "crates", "algorithms", "examples", "vectors", "python", "tests")
    listing = ["git", "ls-files", *parts]
    listed = subprocess.run(listing, cwd=ROOT, capture_output=True, text=True, check=True)
    for name in listed.stdout.splitlines():
        content = texts[name].encode() if name in texts else (ROOT / name).read_bytes()
        path = COPY / name
        if not path.exists() or path.read_bytes() != content:  # cargo looks at times
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)


def build() -> dict[str, list[Path]]:
    """The test programs of each crate."""
    crates = sorted({each.caught_by.partition(" ")[0] for each in MUTANTS if each.is_rust})
    # Less optimised they are built in half the time; what a mutant no longer uses is no fault.
    environment = os.environ | {
        "CARGO_TARGET_DIR": str(COPY.parent / "target"),
        "CARGO_PROFILE_TEST_OPT_LEVEL": "1",
        "RUSTFLAGS": "--cap-lints allow",
    }
    packages = [word for crate in crates for word in ("-p", f"ackclock-{crate}")]
    command = ["cargo", "test", "--locked", "--no-run", "--message-format=json", *packages]
    done = subprocess.run(
        command, cwd=COPY, env=environment, stdout=subprocess.PIPE, text=True, check=True
    )
    found: dict[str, list[Path]] = {crate: [] for crate in crates}
    for line in done.stdout.splitlines():
        message = json.loads(line)
        if message.get("profile", {}).get("test") and message["executable"]:
            crate = Path(message["manifest_path"]).parent.name
            found[crate].append(Path(message["executable"]))
    return found


def survives(mutant: Mutant, number: int, programs: dict[str, list[Path]]) -> bool:
    """Whether all tests that should fail pass."""
    environment = os.environ | {
        CHOICE: str(number),
        # Few scenarios need what a short way leaves out.
        "PROPTEST_CASES": "2048" if mutant in SHORT_WAYS else "256",
        "PROPTEST_RNG_SEED": "1",
    }
    crate, _, names = mutant.caught_by.partition(" ")
    if mutant.is_rust:
        skipped = [GOLDEN] if mutant in SHORT_WAYS else [GOLDEN, BOTH_WAYS]
        but = [word for each in skipped for word in ("--skip", each)]
        commands = [[str(each), names, *but] for each in programs[crate]]
        directory = COPY / "crates" / crate
    else:
        commands = [[sys.executable, "-m", "pytest", "-qx", "-m", "not slow", mutant.caught_by]]
        directory = COPY
        environment["PYTHONPATH"] = str(COPY / "python")
        for native in (ROOT / "python" / "ackclock").glob("*.so"):
            shutil.copy2(native, COPY / "python" / "ackclock")
        path = COPY / mutant.path
        text = path.read_text()
        path.write_text(text.replace(mutant.old, mutant.new))
    try:
        return not any(
            subprocess.run(
                command, cwd=directory, env=environment, capture_output=True, check=False
            ).returncode
            for command in commands
        )
    finally:
        if not mutant.is_rust:
            path.write_text(text)


def main() -> None:
    """Tries the mutants that are named, all if none is."""
    wanted = set(sys.argv[1:])
    if unknown := wanted - {mutant.name for mutant in MUTANTS}:
        sys.exit(f"error: no mutant {', '.join(sorted(unknown))}")
    chosen = [each for each in enumerate(MUTANTS, 1) if not wanted or each[1].name in wanted]
    plant()
    programs = build()
    survivors = []
    for number, mutant in chosen:
        survived = survives(mutant, number, programs)
        verdict = "SURVIVED" if survived else "caught"
        print(f"{mutant.name:50} {verdict} by {mutant.caught_by}", flush=True)
        survivors += [mutant.name] * survived
    caught = len(chosen) - len(survivors)
    print(f"{caught} of {len(chosen)} caught")
    sys.exit(f"error: no test finds: {', '.join(survivors)}" if survivors else 0)


if __name__ == "__main__":
    main()
