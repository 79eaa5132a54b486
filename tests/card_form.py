"""The forms of what programs read, docs/card.schema.json: `python card_form.py` prints them."""

import json
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter

from ackclock.questions.card import Mark
from ackclock.scorecard.evaluated import VERSION


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

    version: Literal[1]
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


class Trouble(_Form):
    """A scenario as the search sees it; null: not in it."""

    rate_bps: float
    rtt_ms: float
    buffer_bdp: float
    queue: str
    loss: float | None
    reorder: tuple[float, float] | None = Field(description="probability; late by so many RTTs")
    outage_s: float | None
    cross: tuple[str, int, float] | None = Field(description="algorithm, flows, start in s")
    pulses: tuple[float, float, float] | None = Field(
        description="period in s, length in RTTs, rate over the link's"
    )
    pauses: tuple[float, float] | None = Field(description="so many BDPs every so many s")
    second: float | None = Field(description="RTT of the second flow over that of the first")


class Attack(_Form):
    """What `ackclock attack` found: attack.json, and the answer of the tool attack."""

    version: Literal[1]
    algorithm: str
    hurt: str
    what: str = Field(description="what gets worse, in words")
    against: str | None
    seed: int
    tried: int
    trouble: Trouble
    damage: float
    damage_of_other: float | None
    excess: float = Field(description="what counts: the difference")
    threshold: float = Field(description="below it the algorithm counts as mended")
    crash: str | None
    seeds: int = Field(description="runs whose mean the damage is")
    face: int = Field(description="which of them is shown")
    scenario: str | None = Field(None, description="of the tool: that run, as TOML")
    stopped: str | None = Field(None, description="of the tool: the budget")


Value = bool | int | float | str | None


class Run(_Form):
    """The answer of the tool run; `ackclock run --json` has the same without version."""

    version: Literal[1]
    backend: Literal["sim"]
    seed: int
    duration_s: float
    common_s: tuple[float, float] = Field(description="while all flows are active")
    utilisation: float | None
    jain_index: float | None
    packets: int
    wall_time_s: float
    cpu_time_s: float
    trace_hash: str
    lost_acks: int | None = None
    flows: list[dict[str, Value]]
    sessions: list[dict[str, Value]]
    udp: list[dict[str, Value]] = Field(description="of programs, by port")
    queues: list[dict[str, Value]]
    traces: list[dict[str, Any]]


def schema() -> str:
    """The JSON Schema of all."""
    assert VERSION == 1
    return json.dumps(TypeAdapter(Card | Attack | Run).json_schema(), indent=1, ensure_ascii=False)


if __name__ == "__main__":
    print(schema())
