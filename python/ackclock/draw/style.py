"""The look of figures: a colour, a line and a marker per algorithm, one set of plot settings.

Colours are those of Okabe and Ito, which colour-blind readers can distinguish, and two more.
"""

from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import Any, NamedTuple


class Style(NamedTuple):
    """Colour, marker, label and line of an algorithm."""

    colour: str
    marker: str
    label: str
    #: As matplotlib names it: algorithms with the same colour have other lines.
    line: str = "-"


#: Those that meet most have a colour of their own, with a line that is not broken.
ALGORITHMS = {
    "cubic": Style("#0072B2", "o", "CUBIC"),
    "reno": Style("#999999", "s", "Reno"),
    "bbr": Style("#009E73", "D", "BBR"),
    "vegas": Style("#56B4E9", "X", "Vegas"),
    "copa": Style("#E69F00", "D", "Copa"),
    "cubic_fc": Style("#D55E00", "^", "Cubic-FC"),
    "htcp": Style("#CC79A7", ">", "H-TCP"),
    "square_ff": Style("#AA3377", "v", "SQUARE:FF"),
    "bbr3": Style("#7A5BD0", "D", "BBRv3"),
    "cubic_abe": Style("#0072B2", "8", "CUBIC with ABE", "--"),
    "reno_abe": Style("#999999", "8", "Reno with ABE", "--"),
    "scalable": Style("#009E73", "<", "Scalable TCP", "--"),
    "ledbat_pp": Style("#56B4E9", "D", "LEDBAT++", "--"),
    "dctcp": Style("#E69F00", "8", "DCTCP", "--"),
    "prague": Style("#D55E00", "D", "Prague", "--"),
    "yeah": Style("#CC79A7", "d", "YeAH-TCP", "--"),
    "hybla": Style("#AA3377", "p", "Hybla", "--"),
    "bic": Style("#7A5BD0", "o", "BIC", "--"),
    "illinois": Style("#009E73", "h", "Illinois", ":"),
    "veno": Style("#56B4E9", "P", "Veno", ":"),
    "highspeed": Style("#E69F00", "v", "HighSpeed TCP", ":"),
    "westwood": Style("#D55E00", "*", "Westwood+", ":"),
    "compound": Style("#CC79A7", "3", "Compound", ":"),
    "libra": Style("#AA3377", "+", "Libra", ":"),
    "binomial_sqrt": Style("#7A5BD0", "1", "Binomial SQRT", ":"),
    "fast": Style("#009E73", "4", "FAST", "-."),
    "hrf": Style("#56B4E9", "x", "HRF", "-."),
    "constant_rate": Style("#E69F00", "2", "Constant Rate", "-."),
}

#: Colours of flows with the same algorithm, by number, and the lines of each round of them.
FLOWS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#F0E442", "#999999")
LINES = ("-", "--", ":", "-.")

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
    import matplotlib as mpl  # noqa: PLC0415 (slow to import)

    return mpl.rc_context(RC)


def look(algorithm: str) -> Style:
    """The style of an algorithm; black for an algorithm without a style, such as a user's."""
    return ALGORITHMS.get(algorithm, Style(INK, "D", algorithm))


def looks(names: Sequence[str]) -> list[tuple[str, str]]:
    """Colour and line of each flow: its algorithm's colour where no two share one, else by number.

    32 flows can be told apart. The live page has the same rule (`names.js`).
    """
    colours = [look(name).colour for name in names]
    if len(set(colours)) == len(colours) > 1:
        return [(colour, LINES[0]) for colour in colours]
    rounds = [divmod(number, len(FLOWS)) for number in range(len(names))]
    return [(FLOWS[at], LINES[turn % len(LINES)]) for turn, at in rounds]
