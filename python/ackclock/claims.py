"""What a figure states: numbers beside the paper's, and claims with a verdict."""

from collections.abc import Sequence
from dataclasses import dataclass

from ackclock import sequential
from ackclock.stats import Estimate, Verdict, verdict


@dataclass(frozen=True)
class Measure:
    """A quantity that we measured, and the paper's value, if it gives one."""

    quantity: str
    unit: str
    estimate: Estimate
    paper: str = ""


@dataclass(frozen=True)
class Claim:
    """A statement of the paper. It holds when the mean lies in [low, high]."""

    id: str
    says: str
    estimate: Estimate
    unit: str
    low: float = float("-inf")
    high: float = float("inf")
    #: Level of the look after these repeats (`sequential`); None: the verdict is the interval's.
    level: float | None = None

    @property
    def bound(self) -> str:
        """Where the mean must lie: "250 … 600 s", "< 200 s" or "> 0 s"."""
        if self.low == float("-inf"):
            text = f"< {self.high:g}"
        elif self.high == float("inf"):
            text = f"> {self.low:g}"
        else:
            text = f"{self.low:g} … {self.high:g}"
        return f"{text} {self.unit}".strip()

    @property
    def verdict(self) -> Verdict:
        """`holds`, `fails` or `inconclusive`."""
        if self.level is not None:
            return sequential.at_look(self.estimate, self.low, self.high, self.level)
        return verdict(self.estimate, self.low, self.high)


@dataclass(frozen=True)
class Every:
    """A statement of the paper about several points, each with a bound of its own.

    It holds when every part holds, and fails when one part fails. Each part has its own 95 %
    level, so with more points `holds` is rarer and a wrong `fails` is likelier. A part's `id` is
    its point ("200 ms"). A table shows the first part that decides the verdict; `parts` has all.
    """

    id: str
    says: str
    parts: Sequence[Claim]

    @property
    def verdict(self) -> Verdict:
        """`holds`, `fails` or `inconclusive`."""
        return self._decides.verdict

    @property
    def bound(self) -> str:
        """What the mean of the deciding part must be, and which part that is."""
        return f"{self._decides.bound} at {self._decides.id}"

    @property
    def tally(self) -> str:
        """How many parts hold: "3 of 4 hold"."""
        holding = sum(part.verdict == "holds" for part in self.parts)
        return f"{holding} of {len(self.parts)} hold"

    @property
    def estimate(self) -> Estimate:
        """Of the deciding part."""
        return self._decides.estimate

    @property
    def unit(self) -> str:
        """Of the deciding part."""
        return self._decides.unit

    @property
    def _decides(self) -> Claim:
        order: list[Verdict] = ["fails", "inconclusive", "holds"]
        return min(self.parts, key=lambda part: order.index(part.verdict))
