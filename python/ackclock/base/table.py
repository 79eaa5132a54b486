"""Tables of a terminal; `cli.screen` fits them into it."""

from rich import box
from rich.table import Table


def new_table(*header: str, title: str | None = None) -> Table:
    """A table with these columns."""
    table = Table(title=title, title_justify="left", box=box.SIMPLE_HEAD)
    for column in header:
        table.add_column(column, overflow="fold")
    return table
