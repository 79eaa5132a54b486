"""Which algorithm a sender of a capture ran: `ackclock identify`; `docs/captures.md`.

Open loop: a sender of ours with each candidate gets the recorded ACKs at their times, and the
recorded packets as what it sent. After each it says what it would still send. The right one is
right at nearly each ACK; a wrong one fails at each step of growth and at each loss.
"""

import itertools
import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from ackclock import _core
from ackclock.base.chosen import need_native
from ackclock.captures.record import ACK_KIND, AGAIN, SECOND_NS, WORDS, Record

#: Hosts: profile, TSO, pacing of the kernel's own.
HOSTS = (
    ("linux-6", True, False), ("linux-6", False, False), ("linux-6", True, True),
    ("linux-2.6.32", False, False), ("linux-2.6.18", False, False),
)  # fmt: skip
#: Ticks a second that kernels have, and in how many places of a tick their clocks may begin.
TICKS = (1000, 250, 300, 100)
PHASES = 8
#: Seeds of an algorithm that draws random numbers; in each of so many ns it has drawn what fits.
SEEDS, DRAWS_NS = 32, SECOND_NS // 4
#: A tenth of a host's answers to ACKs is no later than it must be; a later host is none of ours.
QUICK, MOST_SLACK_NS = 0.1, 500_000
#: So many candidates are tried with each clock.
CLOSE = 6
#: Fewer turns of a sender that its window held back tell nothing.
LEAST_TURNS = 60
#: A capture tells algorithms apart if of so many half miss so many times as many turns as the best,
#: or so large a share.
MANY, TELLING, MOST_USUAL = 10, 1.5, 0.5
#: More that are about as likely are no answer.
MOST_ALIKE = 8
#: How much likelier the first must be than the second (a logarithm): 1000 times.
SURE = math.log(1000)
#: The right one misses no more of the turns in 99 % of captures (docs/captures.md).
MOST_MISSED = 0.25
#: Without the handshake what a sender knew is not known: then no more than so many.
MOST_MISSED_CUT = 0.05


@dataclass(frozen=True)
class Host:
    """The host of a candidate, as `_core.follow` reads it."""

    profile: str
    tso: bool
    pacing: bool
    mss: int
    established_ns: int
    rtt_ns: int
    sack: bool
    timestamps: bool
    ecn: bool
    slack_ns: int
    initcwnd: int | None
    ssthresh: int | None = None
    hz: int = 1000
    tick_phase_ns: int = 0
    seed: int = 1

    @property
    def words(self) -> str:
        """What is not usual."""
        said = [self.profile] if self.profile != "linux-6" else []
        said += ["paced"] if self.pacing else []
        said += [f"initial window {self.initcwnd}"] if self.initcwnd else []
        return ", ".join(said)


@dataclass
class Candidate:
    """What an algorithm on a host would have sent: an error for each turn, packets."""

    spec: str
    host: Host
    errors: np.ndarray
    cwnd: np.ndarray
    #: Whether it draws random numbers.
    is_drawn: bool = False
    likelihood: float = -math.inf
    missed: float = 1.0


@dataclass
class Identified:
    """What a direction says of its sender's algorithm."""

    record: Record
    #: "cubic", "reno or …", "none of these", "cannot tell".
    verdict: str
    why: str
    #: The candidates, the likeliest first, and those that are about as likely as it.
    ranked: list[Candidate] = field(default_factory=list)
    ties: list[str] = field(default_factory=list)
    turns: int = 0
    #: Numbers of packets in the capture at which the second best is wrong.
    decided_by: list[int] = field(default_factory=list)

    def numbers(self) -> dict[str, Any]:
        """What there is to tell, as JSON takes it."""
        return {
            "from": self.record.of.sender,
            "to": self.record.of.receiver,
            "packets": self.record.of.packets,
            "verdict": self.verdict,
            "why": self.why,
            "ties": self.ties,
            "turns": self.turns,
            "candidates": [
                {
                    "algorithm": each.spec,
                    "host": each.host.words,
                    "hz": each.host.hz,
                    "log_likelihood": each.likelihood,
                    "missed": each.missed,
                }
                for each in self.ranked
            ],
            "decided_by": self.decided_by,
        }


@dataclass
class Turns:
    """An ACK and what was sent until the next one; which of them tell something."""

    record: Record
    #: Also those before a pause that `explain` takes for the application's, as pacing makes them.
    all_count: bool = True

    @cached_property
    def rows(self) -> np.ndarray:
        return np.frombuffer(self.record.packets, dtype=np.uint64).reshape(-1, WORDS)

    @cached_property
    def starts(self) -> np.ndarray:
        """The first row of each."""
        is_ack = self.rows[:, 1] == ACK_KIND
        is_ack[0] = True
        starts = np.flatnonzero(is_ack)
        return starts[np.searchsorted(starts, self.known) :]

    @cached_property
    def known(self) -> int:
        """The row from which on the window is known.

        A capture without handshake shows it at its first loss, when all that was out is ACKed.
        """
        rows = self.rows
        again = np.flatnonzero(rows[:, 1] == AGAIN)
        if self.record.has_start or not len(again):
            return 0
        out = rows[: again[0], 3].max()
        done = (rows[again[0] :, 1] == ACK_KIND) & (rows[again[0] :, 3] >= out)
        return int(again[0] + np.argmax(done)) if done.any() else 0

    @cached_property
    def at_ns(self) -> np.ndarray:
        at: np.ndarray = self.rows[self.starts, 0].astype(np.int64)
        return at

    @cached_property
    def is_held(self) -> np.ndarray:
        """Whether the sender's window held it back, as `explain` says."""
        held = np.ones(len(self.starts), dtype=bool)
        times = self.at_ns / SECOND_NS
        for start, end, why in () if self.all_count else self.record.gaps:
            if why not in ("cwnd", "recovery"):
                first, last = np.searchsorted(times, (start, end))
                held[max(first - 1, 0) : last] = False
        if self.record.gaps:
            held[np.searchsorted(times, self.record.gaps[-1][1]) :] = False
        return held

    @cached_property
    def slack_ns(self) -> int:
        """How late the host answers an ACK: what its quick answers take, four times."""
        rows = self.rows
        follows = (rows[1:, 1] != ACK_KIND) & (rows[:-1, 1] == ACK_KIND)
        late = (rows[1:, 0] - rows[:-1, 0])[follows]
        return min(int(4 * np.quantile(late, QUICK)), MOST_SLACK_NS) if len(late) else 0

    @property
    def tolerance(self) -> int:
        """A host that takes its time to answer may put a packet off until the next ACK."""
        return int(self.slack_ns > 0)

    def errors(self, found: np.ndarray) -> np.ndarray:
        """Of each turn what a candidate would have sent more (below 0: fewer), if that counts."""
        of_rows = np.zeros(len(self.rows), dtype=np.int64)
        of_rows[: len(found)] = found
        most = np.maximum.reduceat(of_rows, self.starts)
        least = np.minimum.reduceat(of_rows, self.starts)
        return np.where((most > 0) & self.is_held, most, np.minimum(least, 0))


class Following:
    """A record and the candidates that follow it."""

    def __init__(self, record: Record, *, all_count: bool) -> None:
        self.record = record
        self.turns = Turns(record, all_count)
        rows = self.turns.rows
        first_ack = np.flatnonzero((rows[:, 1] == ACK_KIND) & (rows[:, 3] > 0))
        before = rows[: first_ack[0]] if len(first_ack) else rows
        if record.has_start:  # half an RTT later it is a probe that sends
            late_ns = record.packets[0] + max(record.rtt_ns // 2, MOST_SLACK_NS)
            before = before[before[:, 0] <= late_ns]
        sent = int(before[:, 3].max(initial=0))
        self._bytes = record.packets.tobytes()
        self._usual = Host(
            "linux-6", True, False, record.mss, record.established_ns, record.rtt_ns,
            record.has_sack, record.has_stamps, record.has_ecn, self.turns.slack_ns,
            sent if sent > 10 or not record.has_start else None,
            None if record.has_start else max(sent, 2),
        )  # fmt: skip

    def host(self, profile: str, tso: bool, pacing: bool) -> Host:
        return replace(self._usual, profile=profile, tso=tso, pacing=pacing)

    def follow(self, wanted: Sequence[tuple[str, Host]]) -> list[Candidate]:
        """Lets candidates follow; of those that draw random numbers, what fits best."""
        twice = [(spec, replace(host, seed=seed)) for spec, host in wanted for seed in (1, 2)]
        found = self._each(twice)
        made = []
        for first, second in zip(found[::2], found[1::2], strict=True):
            if np.array_equal(first.errors, second.errors):
                made.append(first)
            else:
                more = [(first.spec, replace(first.host, seed=each)) for each in range(3, SEEDS)]
                made.append(self._drawn([first, second, *self._each(more)]))
        return made

    def _each(self, wanted: Sequence[tuple[str, Host]]) -> list[Candidate]:
        made = []
        for (spec, host), told in zip(wanted, _core.follow(wanted, self._bytes), strict=True):
            table = np.frombuffer(told, dtype=np.int32).reshape(-1, 3)
            cwnd = table[self.turns.starts[self.turns.starts < len(table)], 1]
            made.append(Candidate(spec, host, self.turns.errors(table[:, 0]), cwnd))
        return made

    def _drawn(self, seeds: list[Candidate]) -> Candidate:
        """In each stretch the draw that misses least."""
        at = (self.turns.at_ns - self.turns.at_ns[0]) // DRAWS_NS
        errors = seeds[0].errors.copy()
        for stretch in np.unique(at):
            here = at == stretch
            best = min(seeds, key=lambda each: np.abs(each.errors[here]).sum())
            errors[here] = best.errors[here]
        return replace(seeds[0], errors=errors, is_drawn=True)


def _judge(candidates: Iterable[Candidate], tolerance: int) -> list[Candidate]:
    """Finds likelihoods, and sorts by them. An error of so many packets is none of the candidate.

    An error of 0 stays so but for ε of the turns, and another but for η; a new one is of k packets
    with 2/3 of 1/(|k|+1)/(|k|+2). The host's ε and η are those of the candidate that errs least.
    """
    candidates = list(candidates)
    for each in candidates:
        each.missed = float(np.mean(np.abs(each.errors) > tolerance)) if len(each.errors) else 1.0
    best = min(candidates, key=lambda each: each.missed)
    before, after = best.errors[:-1], best.errors[1:]
    moved = before != after
    epsilon, eta = (
        (np.sum(moved & (at != 0)) + 1) / (np.sum(at != 0) + 2) for at in (before == 0, before)
    )
    for each in candidates:
        before, after = each.errors[:-1], each.errors[1:]
        moves = np.where(before == 0, epsilon, eta)
        size = np.abs(after)
        jump = np.log(moves * 2 / 3 / (size + 1) / (size + 2))
        each.likelihood = float(np.where(before == after, np.log1p(-moves), jump).sum())
    return sorted(candidates, key=lambda each: -each.likelihood)


def _best_of_each(candidates: Iterable[Candidate]) -> list[Candidate]:
    best: dict[str, Candidate] = {}
    for each in candidates:
        best.setdefault(each.spec, each)
    return [*best.values()]


def specs() -> list[str]:
    """Our algorithms, and those with HyStart without it, too."""
    made = []
    for each in _core.algorithms():
        made.append(each["name"])
        if any(param["name"] == "hystart" for param in each["params"]):
            made.append(f"{each['name']}:hystart=0")
    return made


def identify(
    record: Record,
    candidates: Sequence[str] | None = None,
    progress: Callable[[float], None] = lambda _: None,
) -> Identified:
    """Says which algorithm a sender ran, as far as its packets tell.

    `candidates`: specs of algorithms; without them all of ours.
    """
    need_native("identify")
    if record.of.is_at_receiver:
        why = "captured where the data arrives: what the sender saw is not there"
        return Identified(record, "cannot tell", why)
    wanted = list(candidates or specs())
    found = _identify(Following(record, all_count=True), wanted, progress)
    if found.verdict in ("none of these", "cannot tell"):
        return _identify(Following(record, all_count=False), wanted, progress)
    return found


def _identify(
    of: Following, wanted: Sequence[str], progress: Callable[[float], None]
) -> Identified:
    record, turns = of.record, int(of.turns.is_held.sum())
    if turns < LEAST_TURNS:
        limits = {why for *_, why in record.gaps} - {"cwnd", "recovery"}
        held = f"; the {' or the '.join(sorted(limits))} limited it" if limits else ""
        why = f"its window held it back in {turns} turns, of {LEAST_TURNS} that are needed{held}"
        return Identified(record, "cannot tell", why, turns=turns)
    first: list[Candidate] = []
    for place, host in enumerate(HOSTS):
        first += of.follow([(spec, of.host(*host)) for spec in wanted])
        progress((place + 1) / (len(HOSTS) + 1))
    close = _best_of_each(_judge(first, of.turns.tolerance))[:CLOSE]
    clocks = [
        replace(each.host, hz=hz, tick_phase_ns=phase * SECOND_NS // hz // PHASES)
        for each in close
        for hz, phase in itertools.product(TICKS, range(PHASES))
    ]
    specs_of = [each.spec for each in close for _ in range(len(TICKS) * PHASES)]
    first += of.follow(list(zip(specs_of, clocks, strict=True)))
    ranked = _best_of_each(_judge(first, of.turns.tolerance))
    progress(1.0)
    return _verdict(of, ranked, turns)


def _verdict(of: Following, ranked: list[Candidate], turns: int) -> Identified:
    best = ranked[0]
    alike = [each for each in ranked if best.likelihood - each.likelihood < SURE]
    others = [each for each in ranked if not any(each is one for one in alike)]
    # The plain ones first: DCTCP without ECN is Reno.
    ties = sorted((each.spec for each in alike), key=lambda spec: (":" in spec, len(spec), spec))
    found = Identified(of.record, " or ".join(ties), "", ranked, ties, turns)
    told = f"would have sent what it did after {1 - best.missed:.1%} of {len(best.errors)} ACKs"
    found.why = f"{best.spec} {told}"
    if others:
        second = others[0]
        far = np.abs(second.errors) > of.turns.tolerance
        wrong = np.flatnonzero(far & (best.errors == 0))
        frames = np.array(of.record.frames)[of.turns.starts]
        found.decided_by = [int(each) for each in frames[wrong[:5]]]
        found.why += f"; the next, {second.spec}, after {1 - second.missed:.1%}"
        usual = float(np.median([each.missed for each in ranked]))
        if len(ranked) >= MANY and usual < min(TELLING * best.missed, MOST_USUAL):
            found.verdict = "cannot tell"
            found.why += f", and half of all after {1 - usual:.1%}"
        elif not of.record.has_start and best.missed > MOST_MISSED_CUT:
            found.verdict = "cannot tell"
            found.why += "; without the handshake that is too little"
        elif best.missed > MOST_MISSED:
            # None of the draws may be the host's.
            is_open = best.is_drawn and best.missed < MOST_USUAL
            found.verdict = "cannot tell" if is_open else "none of these"
        elif len(alike) > MOST_ALIKE:
            found.verdict = "cannot tell"
    elif best.missed > MOST_MISSED:
        found.verdict = "none of these"
    return found
