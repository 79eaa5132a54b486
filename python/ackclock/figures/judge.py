"""The verdicts of a figure's claims, as set up and with what the paper leaves open changed."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ackclock.figures.batches import Batch
from ackclock.figures.claim import CROSSED, Claim, JudgedClaim, JudgedParts, judged
from ackclock.figures.experiment import Experiment, Runs


@dataclass(frozen=True, eq=False)
class Change:
    """A thing that the paper leaves open, changed in some experiments."""

    of: str
    value: str
    batches: Sequence[Batch]


def judged_claims(
    claims: Sequence[Claim],
    batches: Mapping[Batch, Runs],
    level: float | None = None,
    quick: bool = False,
) -> list[JudgedClaim]:
    """The claims with their estimates, as set up and otherwise.

    `batches` are those of the claims' experiments. Other ways to measure are judged with the
    variants, and where nothing runs. `level` is that of a look (`sequential`). A
    `quick` run has verdicts where it is the whole.
    """
    plain = {batch.experiment: batch for batch in batches if batch.variant is None}
    rows = {experiment: batches[batch] for experiment, batch in plain.items()}
    changes = _changes(batches)
    found = []
    for claim in claims:
        otherwise: dict[str, dict[str, JudgedParts]] = {}
        crossed: dict[str, dict[str, JudgedParts]] = {}
        for change in changes:
            if _matters(claim, change, plain):
                changed = rows | {each.experiment: batches[each] for each in change.batches}
                otherwise.setdefault(change.of, {})[change.value] = judged(claim.parts, changed)
                for name, parts in claim.readings.items():
                    both = crossed.setdefault(f"{change.of}{CROSSED}", {})
                    both[f"{change.value}, {name}"] = judged(parts, changed)
        experiments = _experiments(claim)
        if changes or not experiments:
            for name, parts in claim.readings.items():
                otherwise.setdefault("measure", {})[name] = judged(parts, rows)
        shortened = quick and not all(each.is_quick for each in experiments)
        own = judged(claim.parts, rows, level)
        found.append(JudgedClaim(claim, own, otherwise | crossed, shortened))
    return found


def _changes(batches: Mapping[Batch, Runs]) -> list[Change]:
    found: dict[tuple[str, str], list[Batch]] = {}
    for batch in batches:
        if batch.variant:
            found.setdefault((batch.variant.of, batch.variant.value), []).append(batch)
    return [Change(of, value, some) for (of, value), some in found.items()]


def _matters(claim: Claim, change: Change, plain: Mapping[Experiment, Batch]) -> bool:
    """Whether a change is one of the runs that a claim needs."""
    for batch in change.batches:
        needed = {tuple(point.items()) for each, point in claim.needs if each is batch.experiment}
        usual = plain[batch.experiment].by_point()
        for at, scenario in batch.by_point().items():
            if at[0] in needed and scenario != usual.get(at):
                return True
    return False


def _experiments(claim: Claim) -> set[Experiment]:
    return {experiment for experiment, _ in claim.needs}
