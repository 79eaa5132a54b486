"""Where the papers contradict themselves, their own tables, or the code that they describe."""

from typing import NamedTuple

import numpy as np

from ackclock.papers.cubicfc._experiments import CUBIC, CUBIC_FC, WITH, WITHOUT
from ackclock.papers.cubicfc.table02 import PAPER


class Erratum(NamedTuple):
    """A sentence of a paper, with its section, and what is right."""

    paper: str
    where: str
    says: str
    right: str


def mean_loss_percent(background: str) -> float:
    """Mean over the RTTs of what Cubic-FC loses, by the paper's table 2."""
    cubic, cubic_fc = (np.array(PAPER[background, each]) for each in (CUBIC, CUBIC_FC))
    return float(100 * (1 - cubic_fc / cubic).mean())


ERRATA = (
    Erratum(
        "cubicfc",
        "IV.C",
        "“the average value is only 0.014%”",
        f"{mean_loss_percent(WITHOUT):.4f} % by its table 2",
    ),
    Erratum(
        "cubicfc",
        "IV.C",
        "the average with background is “0.46%”",
        f"{mean_loss_percent(WITH):.4f} % by its table 2",
    ),
    Erratum(
        "cubicfc",
        "II",
        "below W_max “a convex curve”, above it “a concave curve”",
        "the reverse: the second derivative is 6C(t − K)",
    ),
    Erratum(
        "ha2008",
        "4.2",
        "an initial_ssthresh “can improve the start-up behavior”",
        "table 1: “fast start-up by removing initial_ssthresh”",
    ),
    Erratum(
        "ha2008",
        "4.2",
        "else last_max is “cwnd * (1 − β)”",
        "its Algorithm 1: W_last_max is cwnd",
    ),
    Erratum(
        "ha2008",
        "1",
        "the clamp “was inherited to CUBIC for the first version”",
        "the authors' patch, 2.0-pre, has none",
    ),
    Erratum("ha2008", "5.2", "figure 4 has an RTT of 240 ms", "its caption: 246 ms"),
    Erratum(
        "squareff",
        "III.A",
        "“C and β of CUBIC TCP were set 0.4 and 0.2”, Linux's defaults",
        "β is 0.3 in its Linux, 2.6.32",
    ),
)
