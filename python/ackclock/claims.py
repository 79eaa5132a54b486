"""What a figure states: numbers beside the paper's, and claims with a verdict."""

from collections.abc import Sequence
from dataclasses import dataclass

from ackclock.stats import Estimate, Verdict, verdict


@dataclass(frozen=True)
class Measure:
    """A quantity that we measured; what the paper says of it, if anything."""

    quantity: str
    unit: str
    estimate: Estimate
    paper: str = ""


@dataclass(frozen=True)
class Claim:
    """Something that the paper says, which holds when the mean lies in [low, high]."""

    id: str
    says: str
    estimate: Estimate
    unit: str
    low: float = float("-inf")
    high: float = float("inf")

    @property
    def bound(self) -> str:
        """What the mean must be: "250 … 600 s", "< 200 s" or "> 0 s"."""
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
        return verdict(self.estimate, self.low, self.high)


@dataclass(frozen=True)
class Every:
    """Something that the paper says of several points, each with a bound of its own.

    It holds when every part holds and fails when one fails, at a part's own level: more points
    make `holds` rarer and a wrong `fails` likelier. A part's `id` is its point ("200 ms").
    What a table shows of it is the first part that decides the verdict.
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
        """How many parts hold, and what the deciding one must be."""
        holding = sum(part.verdict == "holds" for part in self.parts)
        decides = self._decides
        return f"{decides.bound} at {decides.id} ({holding} of {len(self.parts)} hold)"

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
