"""Branches of a run: "at=12.5s,drop=flow1:next" as `[[change]]` tables of its scenario."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from ackclock.base.errors import AckclockError
from ackclock.scenario.settings import value_of

#: The parts of a branch in text.
_PARTS = ("at", "drop", "keep", "set")
_PACKETS = re.compile(r"flow\.?(\d+):(next|\d+)")
_KEY = re.compile(r"(?:(bottleneck)|link\.?(\d+)|flow\.?(\d+))\.(\w+)")
#: What changes in a run.
_CAN = "bottleneck.rate, bottleneck.delay, bottleneck.loss (or link2.rate, …), flow1.algorithm"


def parts(text: str) -> dict[str, Any]:
    """The parts of a branch in text; raises `AckclockError`."""
    given: dict[str, Any] = {}
    setting: dict[str, str] = {}
    for part in re.split(rf",(?=\s*(?:{'|'.join(_PARTS)})=)", text):
        name, _, value = (each.strip() for each in part.partition("="))
        if name == "set" and "=" in value:
            key, _, value = (each.strip() for each in value.partition("="))
            setting[key] = value_of(value)
        elif name not in _PARTS[:3] or name in given or not value or "," in value:
            fix = "write at=TIME and then drop=flow1:next, keep=flow1:next or set=KEY=VALUE"
            raise AckclockError(f'--branch "{text}": {part.strip()}: {fix}')
        else:
            given[name] = value
    if "at" not in given:
        raise AckclockError(f'--branch "{text}": write when, like at=12.5s,{text}')
    return given | {"set": setting}


def changes(
    at: str,
    drop: str | None = None,
    keep: str | None = None,
    set: Mapping[str, Any] | None = None,  # noqa: A002 (as the command line has it)
) -> Iterator[dict[str, Any]]:
    """The `[[change]]` tables of a branch; raises `AckclockError`."""
    for key, packets in (("drop", drop), ("keep", keep)):
        if packets is not None:
            if not (found := _PACKETS.fullmatch(packets)):
                fix = "write flow1:next, or how many packets: flow1:3"
                raise AckclockError(f'{key} = "{packets}": {fix}')
            count = 1 if found[2] == "next" else int(found[2])
            yield {"at": at, "flow": int(found[1]), f"{key}_packets": count}
    for key, value in (set or {}).items():
        found = _KEY.fullmatch(key)
        can = {"algorithm"} if found and found[3] else {"rate", "delay", "loss"}
        if not found or found[4] not in can:
            raise AckclockError(f"{key}: does not change in a run; these do: {_CAN}")
        place = {"flow": int(found[3])} if found[3] else {"link": int(found[2] or 1)}
        yield {"at": at, **place, found[4]: value}
    if drop is keep is None and not set:
        yield {"at": at}
