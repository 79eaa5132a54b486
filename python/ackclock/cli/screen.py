"""Tables that fit a screen: the one way in which every command prints them.

A table that is too wide has, in this order: headers on several lines, intervals on a line of their
own, fewer columns (those that a command can spare), text folded between its words, and then either
the columns that are left in further tables, or one block of lines per row.
"""

import re
import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from rich import box
from rich.cells import cell_len
from rich.console import Group
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

if TYPE_CHECKING:
    from rich.console import JustifyMethod, RenderableType
    from rich.table import Column

#: Longer text may be folded between its words, but into no narrower column.
READABLE = 24
#: A header's word is broken where it is longer.
HEADER = 12
#: Blanks between two columns, where there are few and where there are many.
GAP, WIDE_GAP = 2, 3
_INTERVAL = re.compile(r" \(([^()]*(?: … |–)[^()]*)\)")
#: A word that has no room may be broken after one of these.
_JOINT = re.compile(r"(?<=[,/:=|])(?=\D)")
_HEADER_JOINT = re.compile(r"(?<=[._:])")


@dataclass(frozen=True)
class _Column:
    header: str
    justify: "JustifyMethod"
    cells: Sequence[Text]

    @property
    def natural(self) -> int:
        """Letters in a line that nothing is folded in."""
        return max(self.own, *map(cell_len, self.header.split("\n")))

    @property
    def own(self) -> int:
        """The same, without the header."""
        return max((cell_len(line) for line in self._lines), default=0)

    @property
    def least(self) -> int:
        """Letters in a line when it is folded as far as may be."""
        return max(min(self.own, READABLE), self.longest_word)

    @property
    def longest_word(self) -> int:
        """Its letters."""
        lines = (self.header, *self._lines)
        return max((cell_len(word) for line in lines for word in line.split()), default=0)

    @property
    def _lines(self) -> list[str]:
        return [line for cell in self.cells for line in cell.plain.splitlines()]


def fitted(table: Table, room: int, *, keys: int = 1, less: Sequence[str] = ()) -> Group:
    """The table in lines of at most `room` letters, if no word is longer.

    Where columns must go into further tables, each has the first `keys` columns. `less` are
    headers of columns that may be left out, the first of them first; the title says how many.
    """
    columns = [_column(each) for each in table.columns]
    title = str(table.title or "")
    if _total([each.natural for each in columns], WIDE_GAP) <= room:
        natural = [each.natural for each in columns]
        return Group(*_titled(title, room), _drawn(columns, natural, room, WIDE_GAP))
    forms = [*_narrower(columns, less)]
    whole = [(each, [max(of.own, of.longest_word) for of in each]) for each in forms]
    folded = [(each, [of.least for of in each]) for each in forms[1:]]
    for shown, least in [*whole, *folded]:
        if _total(least, GAP) <= room:
            return Group(*_head(title, columns, shown, room), _drawn(shown, least, room))
    shown = forms[-1]
    if any(each.own > READABLE for each in shown[keys:]):
        return Group(*_titled(title, room), *_blocks(columns, room))
    return Group(*_head(title, columns, shown, room), *_parts(shown, room, keys))


def _head(
    title: str, columns: Sequence[_Column], shown: Sequence[_Column], room: int
) -> list["RenderableType"]:
    """The title, with the columns that are left out."""
    headers = {" ".join(each.header.split()) for each in shown}
    own = [" ".join(_broken(each.header, HEADER, _HEADER_JOINT).split()) for each in columns]
    left = [
        each.header
        for each, broken in zip(columns, own, strict=True)
        if not {each.header, broken} & headers
    ]
    if left:
        title += f"; a wider screen has room for: {', '.join(left)}"
    return _titled(title, room)


def _column(column: "Column") -> _Column:
    cells = [each if isinstance(each, Text) else Text(str(each)) for each in column.cells]
    return _Column(str(column.header), column.justify, cells)


def _total(widths: Sequence[int], gap: int) -> int:
    return sum(widths) + gap * (len(widths) - 1)


def _titled(title: str, room: int) -> list["RenderableType"]:
    return [Text(textwrap.fill(title, room), style="italic")] if title else []


def _narrower(columns: Sequence[_Column], less: Sequence[str]) -> Iterator[Sequence[_Column]]:
    """The columns in narrower and narrower forms."""
    yield columns
    columns = [replace(each, cells=[*map(_interval_below, each.cells)]) for each in columns]
    yield columns
    columns = [
        replace(
            each,
            header=_broken(each.header, HEADER, _HEADER_JOINT),
            cells=[_in_lines(cell, READABLE) for cell in each.cells],
        )
        for each in columns
    ]
    yield columns
    for name in less:
        left_out = _broken(name, HEADER, _HEADER_JOINT)
        columns = [each for each in columns if each.header != left_out]
        yield columns


def _interval_below(cell: Text) -> Text:
    """A number with its interval on a second line."""
    found = _INTERVAL.findall(cell.plain)
    if len(found) != 1:
        return cell
    number = Text(_INTERVAL.sub("", cell.plain), cell.style)
    return number.append(f"\n{found[0]}", "dim")


def _in_lines(cell: Text, width: int) -> Text:
    """As `_broken`, with its style."""
    text = _broken(cell.plain, width)
    return cell if text == cell.plain else Text(text, cell.style)


def _broken(text: str, width: int, joint: re.Pattern[str] = _JOINT) -> str:
    """A text whose longer words are on several lines: a list of settings, a path, a key."""
    words = []
    for word in text.split(" "):
        lines = [""]
        for piece in joint.split(word) if cell_len(word) > width else [word]:
            if lines[-1] and cell_len(lines[-1] + piece) > width:
                lines.append("")
            lines[-1] += piece
        words.append("\n".join(lines))
    return " ".join(words)


def _drawn(columns: Sequence[_Column], least: Sequence[int], room: int, gap: int = GAP) -> Table:
    """The columns as a table; the room is shared: the column that lacks most gets more."""
    widths = list(least)
    for _ in range(room - _total(widths, gap)):
        lacking = [
            each.natural / max(width, 1) for each, width in zip(columns, widths, strict=True)
        ]
        if max(lacking) <= 1:
            break
        widths[lacking.index(max(lacking))] += 1
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=(0, gap - 1, 0, 0))
    for each, width in zip(columns, widths, strict=True):
        table.add_column(each.header, justify=each.justify, overflow="fold", width=width)
    for row in zip(*(each.cells for each in columns), strict=True):
        table.add_row(*row)
    return table


def _parts(columns: Sequence[_Column], room: int, keys: int) -> Iterator["RenderableType"]:
    """The columns in several tables, each with the keys."""
    first, rest = columns[:keys], list(columns[keys:])
    while rest:
        taken = 1
        while taken < len(rest) and (
            _total([each.least for each in (*first, *rest[: taken + 1])], GAP) <= room
        ):
            taken += 1
        some, rest = rest[:taken], rest[taken:]
        every = [*first, *some]
        yield _drawn(every, [each.least for each in every], room)
        if rest:
            yield Text()


def _blocks(columns: Sequence[_Column], room: int) -> Iterator["RenderableType"]:
    """Each row as lines: its first cell, and below it the others with their headers."""
    first, *others = columns
    label = max(cell_len(each.header) for each in others)
    width = room - label - 2 * GAP
    others = [
        replace(each, cells=[_in_lines(cell, width) for cell in each.cells]) for each in others
    ]
    width = max(width, *(each.longest_word for each in others))
    for number, name in enumerate(first.cells):
        if number:
            yield Text()
        yield Text(name.plain, "bold")
        block = Table.grid(padding=(0, GAP, 0, 0))
        block.add_column(width=label, style="dim")
        block.add_column(width=width)
        for each in others:
            if each.cells[number]:
                block.add_row(each.header, each.cells[number])
        yield Padding(block, (0, 0, 0, GAP))
