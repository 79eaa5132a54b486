"""What a figure states: numbers beside the paper's, and claims with a verdict."""

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
