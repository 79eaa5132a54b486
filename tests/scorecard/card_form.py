"""The form of card.json, which docs/card.schema.json states: `python card_form.py` prints it."""

import json

from pydantic import BaseModel, ConfigDict, Field

from ackclock.questions.card import Mark
from ackclock.scorecard.data import VERSION


class _Form(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)


class Found(_Form):
    """A mean over repeats, with its 95 % interval."""

    mean: float
    low: float | None = Field(description="null: one repeat has no interval")
    high: float | None
    n: int = Field(ge=1, description="repeats")
    censored: int = Field(description="repeats that the end of a run cut off")


class Number(_Form):
    """A number of a row, of each algorithm by its name."""

    name: str
    unit: str
    more_is_better: bool
    margin: float
    found: dict[str, Found | None]
    differences: dict[str, Found | None] = Field(
        description="to each other algorithm, seed by seed"
    )
    marks: dict[str, Mark]


class Side(_Form):
    """The answers of the simulator, or of Linux."""

    unsafe: list[str]
    marks: dict[str, Mark] = Field(description="against each other algorithm")
    numbers: list[Number]


class Linux(Side):
    """The answers of Linux."""

    refused: list[str] = Field(description="why it does not answer the rest")


class Row(Side):
    """A question."""

    row: str
    question: str
    rfc9743: str
    linux: Linux | None


class Failed(_Form):
    """Where the algorithm failed. Nothing is asked after that."""

    stage: str
    row: str
    problem: str
    scenario: str | None = Field(description="the run in which it happens, as TOML")


class Gap(_Form):
    """A number on the card's links and on those that the seed draws."""

    row: str
    name: str
    against: str
    fixed: Found
    held_out: Found
    times: int = Field(description="how many times as long its runs were")
    gap: tuple[float, float]
    recognised: bool


class HeldOut(_Form):
    """The same questions on other links."""

    seed: int
    gaps: list[Gap]


class Card(_Form):
    """The scorecard of `ackclock evaluate`."""

    version: int = Field(ge=VERSION, le=VERSION)
    algorithm: str
    against: list[str]
    quick: bool
    on: str = Field(description="simulator; or kernel or vlinux, beside it")
    made_by: str
    nonce: int = Field(description="the seeds of the runs follow it")
    confined: str = Field(description="what a C file's process is: confined, or not, and why")
    headline: str
    rows: list[Row]
    failed: Failed | None
    stopped: str | None = Field(description="why there is no more, if nothing failed")
    held_out: HeldOut | None
    objective: float | None = Field(None, description="of `ackclock.evaluate(objective=...)`")


def schema() -> str:
    """The JSON Schema of a card."""
    return json.dumps(Card.model_json_schema(), indent=1, ensure_ascii=False)


if __name__ == "__main__":
    print(schema())
