"""Claims of a paper: what it says, as bounds of quantities, and the verdicts on them."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Generic, Literal, TypeVar

from ackclock.estimates import sequential, stats
from ackclock.estimates.stats import Estimate
from ackclock.figures.quantity import Needs, Part, Rows, needs_of

#: A claim without a bound is only `reported`; a quick run has too few or too short runs to judge.
Verdict = Literal["holds", "fails", "open", "reported", "quick", "not testable"]
#: `always`: all else that was tried gives the same verdict; `one setup`: nothing was.
Firmness = Literal["always", "depends", "one setup", ""]
#: Why a claim does not simply hold, in one of `REASONS`; "ours" is followed by its name.
Reason = str
#: "unstated input": one that the paper leaves open decides.
REASONS = ("the paper", "unstated input", "hardware", "ours", "undecided")
#: What a verdict would have to become for it to be the opposite.
OPPOSITE: Mapping[str, Sequence[str]] = {
    "holds": ("fails",),
    "fails": ("holds",),
    "open": ("holds", "fails"),
}

#: How often a claim that holds may be said to fail, all its parts together.
ERROR = 0.05
#: How the name of an assumption ends that is changed together with the measure.
CROSSED = " and measure"
#: Ours is the paper's number if it is so near, as a part of it.
NEAR = 0.1


#: A part, or one that is judged.
P = TypeVar("P")


@dataclass(frozen=True, eq=False)
class Either(Generic[P]):
    """Parts of which one is enough. It is `open` if only one of `others` holds."""

    name: str
    parts: Sequence[P]
    others: Sequence[P] = ()


Parts = Sequence[Part | Either[Part]]


@dataclass(frozen=True, eq=False)
class Claim:
    """One thing that a paper says, and its parts, all of which must hold."""

    id: str
    says: str
    parts: Parts
    #: Another way to measure it → the parts by that way.
    readings: Mapping[str, Parts] = field(default_factory=dict)
    #: What the paper has, as a number or in few words: "≈ 400 s".
    paper: str = ""
    #: The paper's own words, with their section.
    quote: str = ""
    #: Only reported, without a verdict: the paper gives nothing to judge by.
    reported: bool = False
    #: The verdict is that of the hardware that a run has, or that we assume.
    hardware: bool = False
    #: While it is open, its open parts get more seeds, up to so many (`reproduce.until_decided`).
    most_seeds: int = 0
    #: Why it is not testable here; it has no parts then.
    untestable: str = ""
    #: Whose fault it is where it fails with all else that was tried: "the paper", "ours: …".
    fault: str = ""

    @property
    def needs(self) -> Needs:
        """The points whose runs it needs."""
        return needs_of(
            part.quantity
            for parts in (self.parts, *self.readings.values())
            for part in flattened(parts)
        )


def flattened(parts: Sequence[P | Either[P]]) -> list[P]:
    """All parts, those of an `Either` in its place."""
    return [
        each
        for part in parts
        for each in ([*part.parts, *part.others] if isinstance(part, Either) else [part])
    ]


@dataclass(frozen=True, eq=False)
class Judged:
    """A part with its estimate. Without an estimate no run tells, and it is open."""

    part: Part
    estimate: Estimate | None
    #: In the scale of its repeats, which may be logarithms.
    raw: Estimate | None
    #: Level of a look at the repeats (`sequential`); None: the verdict is the interval's.
    level: float | None = None

    @property
    def name(self) -> str:
        """What is measured."""
        return self.part.quantity.name

    def verdict(self, error: float = ERROR) -> Verdict:
        """`holds`, `fails` or `open`; `fails` at this error."""
        if self.raw is None:
            return "open"
        low, high = self._bounds
        if self.level is not None and self.raw.can_look:
            at = self.level * error / ERROR
            if sequential.at_look(self.raw, low, high, at) == "fails":
                return "fails"
            holds = sequential.at_look(self.raw, low, high, self.level) == "holds"
            return "holds" if holds else "open"
        verdict = stats.verdict(self.raw, low, high)
        if verdict == "fails" and error < ERROR and self.raw.can_look:
            return sequential.at_look(self.raw, low, high, error)
        return verdict

    @property
    def chance(self) -> float:
        """The level at which its verdict just stands; 1: no level was computed."""
        if self.raw is None or self.verdict() == "open":
            return 1.0
        return sequential.chance(self.raw, *self._bounds)

    @property
    def is_outside(self) -> bool:
        """Whether the mean is not where it must lie."""
        return self.raw is not None and not self._bounds[0] <= self.raw.mean <= self._bounds[1]

    def seeds_needed(self, error: float = ERROR) -> int | None:
        """About how many repeats would decide it; None if it is decided or never would be.

        Where the end of the run cut some off, more of them do not help.
        """
        raw = self.raw
        if self.verdict(error) != "open" or raw is None or not raw.can_look:
            return None
        if raw.n < 2 or raw.censored or math.isinf(raw.high - raw.low):
            return None
        needed = sequential.repeats_needed(raw, *self._bounds, error)
        return needed and max(needed, stats.LEAST_REPEATS)

    @property
    def _bounds(self) -> tuple[float, float]:
        low, high = self.part.low, self.part.high
        if not self.part.quantity.logarithmic:
            return low, high
        return (math.log(low) if low > 0 else -math.inf), math.log(high)


class JudgedEither(Either[Judged]):
    """As `Either`, judged."""

    def verdict(self, error: float = ERROR) -> Verdict:
        """`holds`, `fails` or `open`."""
        verdicts = {part.verdict(error) for part in self.parts}
        if "holds" in verdicts:
            return "holds"
        if verdicts == {"fails"} and all(part.verdict() != "holds" for part in self.others):
            return "fails"
        return "open"

    @property
    def chance(self) -> float:
        """The level at which its verdict just stands."""
        holds = self.verdict() == "holds"
        return (min if holds else max)(part.chance for part in self.parts)

    @property
    def is_outside(self) -> bool:
        """Whether no mean is where it must lie."""
        return all(part.is_outside for part in self.parts)

    def seeds_needed(self, error: float = ERROR) -> int | None:
        """About how many repeats would decide it, each part of it; None if none would."""
        if self.verdict(error) != "open":
            return None
        needed = [part.seeds_needed(error) for part in self.parts]
        known = [each for each in needed if each is not None]
        return max(known) if known and len(known) == len(needed) else None


JudgedParts = Sequence[Judged | JudgedEither]


@dataclass(frozen=True, eq=False)
class JudgedClaim:
    """A claim with the estimates of its parts, as the setup has it and otherwise."""

    claim: Claim
    parts: JudgedParts
    #: What the paper leaves open → what it is otherwise → the parts then.
    otherwise: Mapping[str, Mapping[str, JudgedParts]] = field(default_factory=dict)
    #: Of a quick run, which has no verdict on it.
    quick: bool = False

    @property
    def id(self) -> str:
        """The name of the claim."""
        return self.claim.id

    @property
    def verdict(self) -> Verdict:
        """`holds` if every part does; `fails` if one does after Holm's correction.

        Holm rejects some part exactly if he rejects that with the smallest p-value, at the error
        divided by the number of parts ("A simple sequentially rejective multiple test procedure",
        Scand. J. Statist. 1979).
        """
        if self.claim.untestable:
            return "not testable"
        if self.quick:
            return "quick"
        return "reported" if self.claim.reported else verdict_of(self.parts)

    @property
    def is_judged(self) -> bool:
        """Whether it has a verdict."""
        return not (self.quick or self.claim.reported or self.claim.untestable)

    @property
    def decides(self) -> Judged:
        """The part to show: the first that fails, or else is open, or else the first.

        Raises `ValueError` of a claim that is not testable: it has no parts.
        """
        order = ["fails", "open", "holds"]
        error = ERROR / len(self.parts)
        first = min(
            self.parts,
            key=lambda part: (order.index(part.verdict(error)), order.index(part.verdict())),
        )
        if isinstance(first, JudgedEither):
            return min(first.parts, key=lambda part: -order.index(part.verdict()))
        return first

    @property
    def tally(self) -> str:
        """How many parts hold: "3 of 4 hold"; nothing of a single one."""
        holding = sum(part.verdict() == "holds" for part in self.parts)
        return f"{holding} of {len(self.parts)} hold" if len(self.parts) > 1 else ""

    @property
    def found(self) -> list[tuple[str, str, Verdict]]:
        """The verdict with each other assumption: what is left open, its value, verdict."""
        if not self.is_judged:
            return []
        return [
            (of, value, verdict_of(parts))
            for of, values in self.otherwise.items()
            for value, parts in values.items()
        ]

    @property
    def turning(self) -> list[tuple[str, str, Verdict]]:
        """The assumptions that give the opposite verdict. An open claim turns where decided."""
        return [each for each in self.found if each[2] in OPPOSITE[self.verdict]]

    @property
    def counts(self) -> tuple[int, int, int]:
        """With how many other assumptions it holds, is open, and fails."""
        verdicts = [verdict for _, _, verdict in self.found]
        return verdicts.count("holds"), verdicts.count("open"), verdicts.count("fails")

    @property
    def firmness(self) -> Firmness:
        """Whether another assumption gives another verdict; nothing of a claim without one."""
        if not self.is_judged:
            return ""
        verdicts = {verdict for _, _, verdict in self.found}
        if not verdicts:
            return "one setup"
        return "always" if verdicts == {self.verdict} else "depends"

    @property
    def chance(self) -> float | None:
        """The level at which the verdict just stands (`sequential.chance`); None: it is open.

        That of the part with the least room if it holds, else that of the part that fails most.
        """
        if not self.is_judged or self.verdict == "open":
            return None
        if self.verdict == "holds":
            return max(part.chance for part in self.parts)
        failing = (part.chance for part in self.parts if part.verdict() == "fails")
        return min(1.0, len(self.parts) * min(failing))

    @property
    def ratios(self) -> list[float]:
        """Ours over the paper's, of each part for which the paper has a number."""
        return [
            part.estimate.mean / part.part.quantity.paper
            for part in flattened(self.parts)
            if part.estimate and not isinstance(part.part.quantity.paper, str)
        ]

    @property
    def nearness(self) -> str:
        """How near to the paper's number: `number`, within a tenth; `order`, not; `fails`.

        Nothing where the paper has no number, or no run tells.
        """
        if not self.is_judged or not self.ratios:
            return ""
        if all(abs(each - 1) <= NEAR for each in self.ratios):
            return "number"
        return "fails" if self.verdict == "fails" else "order"

    @property
    def reason(self) -> Reason:
        """Why it does not hold always; nothing of one that does, or that had one setup."""
        if self.claim.untestable:
            return "hardware" if self.claim.hardware else "undecided"
        if not self.is_judged or (self.verdict == "holds" and not self.turning):
            return ""
        if self.claim.hardware:
            return "hardware"
        if self.verdict != "open" and self.turning:
            return "unstated input"
        return self.claim.fault if self.verdict == "fails" and self.claim.fault else "undecided"

    @property
    def depends_on(self) -> list[str]:
        """What gives another verdict: "buffer (0.5 BDP: fails, 2 BDP: open)"."""
        found: dict[str, list[str]] = {}
        for of, value, verdict in self.found:
            if verdict != self.verdict:
                found.setdefault(of, []).append(f"{value}: {verdict}")
        return [f"{of} ({', '.join(values)})" for of, values in found.items()]

    @property
    def undecided(self) -> dict[Judged | JudgedEither, int | None]:
        """The parts that more repeats must decide → about how many would; None if no number would.

        If a part is outside its bound, the claim fails as soon as one such part does. Otherwise
        each open part must be decided.
        """
        if self.verdict != "open":
            return {}
        holm = ERROR / len(self.parts)
        outside = {part: part.seeds_needed(holm) for part in self.parts if part.is_outside}
        open_ = [part for part in self.parts if part.verdict() == "open"]
        return outside or {part: part.seeds_needed() for part in open_}

    @property
    def seeds_needed(self) -> int | None:
        """About how many repeats would decide it; None if it is decided, or if no number would."""
        needed = self.undecided
        known = [each for each in needed.values() if each is not None]
        if any(part.is_outside for part in needed):
            return min(known, default=None)
        return max(known) if known and len(known) == len(needed) else None


def mapped(
    parts: Sequence[P | Either[P]], one: Callable[[P], Judged]
) -> list[Judged | JudgedEither]:
    """The parts as `one` makes them."""
    return [
        JudgedEither(part.name, [*map(one, part.parts)], [*map(one, part.others)])
        if isinstance(part, Either)
        else one(part)
        for part in parts
    ]


def verdict_of(parts: JudgedParts) -> Verdict:
    """The verdict of all parts together."""
    if any(part.verdict(ERROR / len(parts)) == "fails" for part in parts):
        return "fails"
    return "holds" if all(part.verdict() == "holds" for part in parts) else "open"


def judged(parts: Parts, rows: Rows, level: float | None = None) -> list[Judged | JudgedEither]:
    """The parts with the estimates that the runs give them."""

    def one(part: Part) -> Judged:
        quantity = part.quantity
        return Judged(part, quantity.estimate(rows), quantity.raw(rows), level)

    return mapped(parts, one)
