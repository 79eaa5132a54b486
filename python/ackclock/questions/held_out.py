"""The same questions on other links: an algorithm that recognises the card's links is found out."""

import math
import random
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from statistics import stdev
from typing import Any

from ackclock.base import units
from ackclock.estimates.stats import Estimate, student_t
from ackclock.questions.card import Answers, Number, Question
from ackclock.scenario.scenario import Scenario

#: Rate, RTT, buffer and number of flows are the card's times a factor from 2^-MOST to 2^MOST.
MOST = 0.25
#: Of kernels that are built; the card's is 1000.
HZ = (100, 250, 300)
PROFILES = ("linux-6", "linux-7")
#: Below the card's 1448 bytes.
MSS_BYTES = (1200, 1440)
HEADER_BYTES = 52
#: One question is asked in runs of so many times the length.
LONG = 10
#: A gap of so many margins is asked again.
DOUBTFUL = 2
#: Repeats of what is asked again, also in long runs, and what draws their links.
AGAIN, LONG_AGAIN, ANEW = 16, 5, 1
#: All flows start up to so many RTTs later.
LATE_RTTS = 10


def host(draw: random.Random) -> dict[str, Any]:
    """Seed, segments, timer and stack of hosts that are none of the card's."""
    return {
        "seed": draw.getrandbits(48),
        "mss": draw.randint(*MSS_BYTES),
        "hz": draw.choice(HZ),
        "profile": draw.choice(PROFILES),
    }


def elsewhere(scenario: Scenario, times: int, *drawn_by: object) -> Scenario:
    """The scenario on another link and host: `drawn_by` determines it, whatever the algorithms.

    Nothing by which a run could be known stays: seed, rate, RTT, buffer, segment, timer, stack,
    start, and how many flows there are. It is so many times as long. The rate in packets is that
    of the card times a factor: what smaller segments do is no other question.
    """
    draw = random.Random(repr(drawn_by))  # noqa: S311 (a seed repeats it)
    rate, rtt, buffer, flows_of = (2 ** draw.uniform(-MOST, MOST) for _ in range(4))
    assert scenario.rtt is not None, "the card's scenarios have an RTT"
    late_ns = draw.uniform(0, LATE_RTTS) * units.duration_ns(scenario.rtt)
    of_host, link = host(draw), scenario.bottleneck
    rate *= (of_host["mss"] + HEADER_BYTES) / (scenario.mss + HEADER_BYTES)
    steps = [{"time": each.time, "rate": _rate(each.rate, rate)} for each in link.rate_at or ()]
    flows = [
        flow.replace(
            start=f"{round(units.duration_ns(flow.start) + late_ns)}ns",
            count=round(flow.count * (1 if flow.frames else flows_of)),
            **({"rtt": _time(flow.rtt, rtt)} if flow.rtt else {}),
        )
        for flow in scenario.flows
    ]
    return scenario.replace(
        bottleneck={"rate": _rate(link.rate, rate), "buffer": _buffer(link.buffer, buffer)}
        | ({"rate_at": steps} if steps else {}),
        rtt=_time(scenario.rtt, rtt),
        flows=flows,
        duration=_time(scenario.duration, times),
        **of_host,
    )


def _buffer(text: str, factor: float) -> str:
    found = re.fullmatch(r"([\d.]+)(\D+)", text)
    assert found, "the card's buffers are a number and a unit"
    size = float(found[1]) * factor
    return f"{max(1, round(size))}packets" if "packet" in text else f"{size:.4g}{found[2]}"


def _rate(text: str | None, factor: float) -> str:
    assert text is not None, "the card's links have rates"
    return f"{max(1000, round(units.rate_bps(text) * factor))}bit"


def _time(text: str | None, factor: float) -> str:
    assert text is not None, "the card's scenarios have an RTT"
    return f"{round(units.duration_ns(text) * factor)}ns"


@dataclass(frozen=True)
class Gap:
    """How an algorithm does against another on the card's links, and on the others."""

    #: The question on other links.
    question: Question
    number: Number
    other: str
    #: The paired differences.
    fixed: Estimate
    held_out: Estimate

    @property
    def row(self) -> str:
        """Of the question."""
        return self.question.row

    @property
    def name(self) -> str:
        """Of the number, and how long its runs were."""
        long = f", {self.question.times} times as long" if self.question.times > 1 else ""
        return self.number.name + long

    @property
    def ends(self) -> tuple[float, float]:
        """How much better it does on the card's links than on one more: 95 % are above the first.

        The spread of its own numbers over drawn links is in it (a prediction interval): the card's
        is one of these links to an algorithm that does not know it.
        """
        known = 0.0 if self.fixed.n == 1 else (self.fixed.high - self.fixed.low) / 2
        n, spread = self.held_out.n, self.held_out.repeats
        other = 0.0 if n == 1 else math.inf  # a run that was cut off has no number
        if len(spread) > 1:
            other = student_t(0.95, n - 1) * stdev(spread) * math.sqrt(1 + 1 / n)
        half = math.hypot(known, other)
        return self.mean - half, self.mean + half

    @property
    def mean(self) -> float:
        """Of how much better it does on the card's links."""
        return (1 if self.number.more else -1) * (self.fixed.mean - self.held_out.mean)

    @property
    def looks(self) -> bool:
        """Whether to ask again: a few repeats have wide intervals."""
        return self.counts or (self.tells and self.mean > DOUBTFUL * self.number.margin)

    @property
    def counts(self) -> bool:
        """Whether it is beyond the margin of the number. One run on each side cannot tell."""
        return self.tells and self.ends[0] > self.number.margin

    @property
    def tells(self) -> bool:
        """Whether there are repeats: another link alone makes a difference, too."""
        return min(self.fixed.n, self.held_out.n) > 1


def drawn(questions: Sequence[Question], seed: int) -> list[Question]:
    """The questions at few points of other links, and one of them in runs of ten times the length.

    That is the first that asks for harm, or the first.
    """
    found = [replace(each, drawn_by=(seed,)) for each in questions]
    longest = next((each for each in found if each.alone), found[0])
    first = longest.numbers[0]
    points = {**longest.points, **longest.quick}
    one = {column: (first.at.get(column, of[0]),) for column, of in points.items()}
    same = [each for each in longest.numbers if each.at == first.at]
    return [*found, replace(longest, points=one, quick={}, numbers=same, times=LONG)]


def again(question: Question) -> Question:
    """The same on links that are drawn anew, more of them."""
    assert question.drawn_by is not None
    points = {**question.points, **question.quick}
    seeds = AGAIN if question.times == 1 else LONG_AGAIN
    drawn_by = (*question.drawn_by, ANEW)
    return replace(question, points=points, quick={}, drawn_by=drawn_by, seeds=seeds)


def gaps(fixed: Sequence[Answers], held_out: Sequence[Answers]) -> list[Gap]:
    """Of each number that both have, against each other algorithm."""
    known = {(of.question.row, each.number.name): each for of in fixed for each in of.answers}
    return [
        Gap(of.question, its.number, other, difference, elsewhere)
        for of in held_out
        for its in of.answers
        for other, elsewhere in its.differences.items()
        if elsewhere is not None
        and (mine := known.get((of.question.row, its.number.name))) is not None
        and (difference := mine.differences[other]) is not None
    ]
