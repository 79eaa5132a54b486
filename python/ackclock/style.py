"""The look of figures: one colour and one marker per algorithm, one set of plot settings.

Colours are those of Okabe and Ito, which colour-blind readers can distinguish.
"""

from contextlib import AbstractContextManager
from typing import Any, NamedTuple

import matplotlib as mpl


class Style(NamedTuple):
    """Colour, marker and label of an algorithm."""

    colour: str
    marker: str
    label: str


ALGORITHMS = {
    "reno": Style("#999999", "s", "Reno"),
    "cubic": Style("#0072B2", "o", "CUBIC"),
    "cubic_fc": Style("#D55E00", "^", "Cubic-FC"),
    "cubic_abe": Style("#56B4E9", "8", "CUBIC with ABE"),
    "reno_abe": Style("#CC79A7", "8", "Reno with ABE"),
    "dctcp": Style("#0072B2", "8", "DCTCP"),
    "bbr": Style("#009E73", "D", "BBR"),
    "bbr3": Style("#CC79A7", "D", "BBRv3"),
    "prague": Style("#D55E00", "D", "Prague"),
    "copa": Style("#E69F00", "D", "Copa"),
    "ledbat_pp": Style("#56B4E9", "D", "LEDBAT++"),
    "bic": Style("#56B4E9", "o", "BIC"),
    "highspeed": Style("#E69F00", "v", "HighSpeed TCP"),
    "scalable": Style("#009E73", "<", "Scalable TCP"),
    "htcp": Style("#CC79A7", ">", "H-TCP"),
    "hybla": Style("#E69F00", "p", "Hybla"),
    "illinois": Style("#009E73", "h", "Illinois"),
    "vegas": Style("#0072B2", "X", "Vegas"),
    "veno": Style("#56B4E9", "P", "Veno"),
    "westwood": Style("#D55E00", "*", "Westwood+"),
    "yeah": Style("#CC79A7", "d", "YeAH-TCP"),
    "square_ff": Style("#009E73", "v", "SQUARE:FF"),
    "sqrt": Style("#56B4E9", "1", "SQRT"),
    "constant_rate": Style("#E69F00", "2", "Constant Rate"),
    "compound": Style("#CC79A7", "3", "Compound"),
    "fast": Style("#009E73", "4", "FAST"),
    "libra": Style("#E69F00", "+", "Libra"),
    "hrf": Style("#56B4E9", "x", "HRF"),
}

#: Colours of flows with the same algorithm, by number.
FLOWS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#F0E442", "#999999")

#: Colour of text and axes: nearly black in a file, the page's text colour in the report.
INK = "#010203"

RC: dict[Any, Any] = {
    "figure.constrained_layout.use": True,
    "figure.facecolor": "white",
    "axes.facecolor": "none",
    "axes.edgecolor": INK,
    "axes.labelcolor": INK,
    "axes.titlesize": "medium",
    "axes.titlelocation": "left",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "text.color": INK,
    "xtick.color": INK,
    "ytick.color": INK,
    "legend.frameon": False,
    "lines.linewidth": 1.2,
    "font.size": 9,
    "svg.fonttype": "none",  # text stays text
    "pdf.fonttype": 42,  # the same, where journals ask for it
    "svg.hashsalt": "ackclock",  # the same figure is the same file
}


def applied() -> AbstractContextManager[None]:
    """A context with the plot settings, in which to make or write a figure."""
    return mpl.rc_context(RC)


def of(algorithm: str) -> Style:
    """The style of an algorithm; black for an algorithm without a style, such as a user's."""
    return ALGORITHMS.get(algorithm, Style(INK, "D", algorithm))
