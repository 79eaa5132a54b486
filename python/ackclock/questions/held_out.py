"""The same questions on other links: an algorithm that recognises the card's links is found out."""

import math
import random
from collections.abc import Sequence
from dataclasses import dataclass

from ackclock.base import units
from ackclock.estimates.stats import Estimate
from ackclock.questions.card import Answers, Number
from ackclock.scenario.scenario import Scenario

#: Rate and RTT of a link are those of the card times a factor from 2^-MOST to 2^MOST.
MOST = 0.5


def elsewhere(scenario: Scenario, *drawn_by: object) -> Scenario:
    """The scenario on another link: `drawn_by` determines it, whatever the algorithms are."""
    draw = random.Random(repr(drawn_by))  # noqa: S311 (a seed repeats it)
    rate, rtt = (2 ** draw.uniform(-MOST, MOST) for _ in range(2))
    link = scenario.bottleneck
    steps = [{"time": each.time, "rate": _rate(each.rate, rate)} for each in link.rate_at or ()]
    flows = [
        flow.replace(rtt=_time(flow.rtt, rtt)) if flow.rtt else flow for flow in scenario.flows
    ]
    return scenario.replace(
        bottleneck={"rate": _rate(link.rate, rate)} | ({"rate_at": steps} if steps else {}),
        rtt=_time(scenario.rtt, rtt),
        flows=flows,
    )


def _rate(text: str | None, factor: float) -> str:
    assert text is not None, "the card's links have rates"
    return f"{max(1000, round(units.rate_bps(text) * factor))}bit"


def _time(text: str | None, factor: float) -> str:
    assert text is not None, "the card's scenarios have an RTT"
    return f"{round(units.duration_ns(text) * factor)}ns"


@dataclass(frozen=True)
class Gap:
    """How an algorithm does against another on the card's links, and on the others."""

    row: str
    number: Number
    other: str
    #: The paired differences.
    fixed: Estimate
    held_out: Estimate

    @property
    def ends(self) -> tuple[float, float]:
        """The 95 % interval of how much better it does on the card's links."""
        of = [self.fixed, self.held_out]
        half = math.hypot(*(0.0 if each.n == 1 else (each.high - each.low) / 2 for each in of))
        gap = (1 if self.number.more else -1) * (self.fixed.mean - self.held_out.mean)
        return gap - half, gap + half

    @property
    def counts(self) -> bool:
        """Whether it is beyond the margin of the number. One run on each side cannot tell."""
        return self.tells and self.ends[0] > self.number.margin

    @property
    def tells(self) -> bool:
        """Whether there are repeats: another link alone makes a difference, too."""
        return min(self.fixed.n, self.held_out.n) > 1


def gaps(fixed: Sequence[Answers], held_out: Sequence[Answers]) -> list[Gap]:
    """Of each number that both have, against each other algorithm."""
    return [
        Gap(one.question.row, mine.number, other, difference, elsewhere)
        for one, two in zip(fixed, held_out, strict=False)
        for mine, its in zip(one.answers, two.answers, strict=True)
        for other, difference in mine.differences.items()
        if difference is not None and (elsewhere := its.differences[other]) is not None
    ]
