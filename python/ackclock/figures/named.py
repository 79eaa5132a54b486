"""A figure of a paper, with its name."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ackclock.figures.figure import Figure  # it draws: half a second


@dataclass(frozen=True, eq=False)
class Named:
    """A figure with its name, and what its module's docstring says."""

    #: "cubicfc/fig05".
    name: str
    title: str
    #: The paper's words and setup.
    setup: str
    figure: "Figure"

    @property
    def paper(self) -> str:
        """The package that it is in."""
        return self.name.split("/")[0]

    @property
    def file_name(self) -> str:
        """What its files are called, without an ending."""
        return self.name.replace("/", "-")
