"""The questions of the scorecard: rows R1 to R16, by the criteria of RFC 9743 (BCP 133)."""

from collections.abc import Sequence

from ackclock.evaluate import paths, sharing
from ackclock.evaluate.card import Question

QUESTIONS: Sequence[Question] = (*sharing.ROWS, *paths.ROWS)
