"""One self-contained HTML page: no script, no network, light or dark as the reader's system is."""

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from html import escape

from ackclock.stats import Estimate

_PAGE = """<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title>
<style>
:root {{ color-scheme: light dark; --line: #8884; --soft: #8882; --quiet: #777;
  --holds: #1a7f37; --fails: #c62828; --inconclusive: #9a6700; }}
@media (prefers-color-scheme: dark) {{ :root {{ --quiet: #999;
  --holds: #56d364; --fails: #ff7b72; --inconclusive: #e3b341; }} }}
body {{ font: 16px/1.5 system-ui, sans-serif;
  max-width: 56rem; margin: 2rem auto; padding: 0 1rem; }}
h1 {{ font-size: 1.6rem; line-height: 1.2; margin-bottom: .2rem }}
h2 {{ font-size: 1.15rem; margin: 2.5rem 0 .5rem }}
.lead {{ color: var(--quiet); margin-top: 0 }}
.scroll {{ overflow-x: auto }}
table {{ border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums }}
th, td {{ text-align: left; padding: .35rem .8rem .35rem 0;
  border-bottom: 1px solid var(--line); vertical-align: top }}
th {{ font-weight: 600; font-size: .85rem; color: var(--quiet) }}
figure {{ margin: 1rem 0 }}
figure svg {{ width: 100%; height: auto }}
figcaption {{ color: var(--quiet); font-size: .9rem }}
pre {{ background: var(--soft); padding: .8rem 1rem; border-radius: 6px;
  overflow-x: auto; font-size: .85rem }}
.holds, .better {{ color: var(--holds); font-weight: 600 }}
.fails, .worse, .unsafe {{ color: var(--fails); font-weight: 600 }}
.inconclusive, .mixed {{ color: var(--inconclusive); font-weight: 600 }}
.unsafe {{ text-decoration: underline }}
.links a {{ margin-right: 1rem }}
.quick, .reported {{ color: var(--quiet) }}
tr:has(+ .parts) > td {{ border-bottom: 0 }}
.parts > td {{ padding-top: 0; font-size: .9rem }}
.parts table {{ margin: .3rem 0 .6rem 1rem; width: auto }}
summary {{ cursor: pointer; color: var(--quiet) }}
</style>
<h1>{title}</h1>
<p class="lead">{lead}</p>
{body}
</html>
"""


@dataclass(frozen=True)
class Table:
    """Text cells; a cell that is a verdict is coloured as one."""

    header: Sequence[str]
    rows: Sequence[Sequence[str]]
    #: Number of a row → what is folded under it: a summary, and a table.
    folded: Mapping[int, tuple[str, "Table"]] = field(default_factory=dict)

    def html(self) -> str:
        """The table, which scrolls where it is wider than the page."""
        return f'<div class="scroll">{self.element()}</div>\n'

    def element(self) -> str:
        """The table element alone."""
        verdicts = (
            *("holds", "fails", "inconclusive", "reported", "quick"),
            *("better", "worse", "mixed", "unsafe"),
        )
        head = "".join(f"<th>{escape(cell)}</th>" for cell in self.header)
        body = "".join(
            "<tr>"
            + "".join(
                f"<td{f' class={cell}' if cell in verdicts else ''}>{escape(cell)}</td>"
                for cell in row
            )
            + "</tr>\n"
            + self._folded_html(number)
            for number, row in enumerate(self.rows)
        )
        return f"<table><tr>{head}</tr>\n{body}</table>"

    def _folded_html(self, number: int) -> str:
        if number not in self.folded:
            return ""
        summary, table = self.folded[number]
        return (
            f'<tr class="parts"><td colspan="{len(self.header)}"><details>'
            f"<summary>{escape(summary)}</summary>{table.element()}</details></td></tr>\n"
        )

    def markdown(self) -> str:
        """The table as GitHub's Markdown. What is folded stands in the row's longest cell."""
        rows = [self.header, ["---"] * len(self.header), *self.rows]
        cells = [[cell.replace("\n", ", ").replace("|", "\\|") for cell in row] for row in rows]
        for number, (summary, table) in self.folded.items():
            row = cells[number + 2]
            longest = row.index(max(row, key=len))
            lines = [
                "; ".join(
                    f"{cell} {name}" if cell.isdecimal() else cell
                    for name, cell in zip(table.header, each, strict=True)
                    if cell
                )
                for each in table.rows
            ]
            inner = "<br>".join(escape(line).replace("|", "\\|") for line in lines)
            row[longest] += f"<details><summary>{escape(summary)}</summary>{inner}</details>"
        return "\n".join("| " + " | ".join(row) + " |" for row in cells)


@dataclass(frozen=True)
class Section:
    """A heading with what stands under it, in this order."""

    title: str
    text: str = ""
    svg: str = ""
    caption: str = ""
    table: Table | None = None
    code: str = ""
    #: (address, text) pairs.
    links: Sequence[tuple[str, str]] = ()
    #: What is folded below it: a summary, and a table.
    folded: tuple[str, Table] | None = None

    def html(self, number: int) -> str:
        """The section; `number` keeps the ids inside its figure apart from other figures'."""
        parts = [f"<h2>{escape(self.title)}</h2>"] if self.title else []
        if self.text:
            parts += [_block(block) for block in self.text.split("\n\n")]
        if self.svg:
            caption = f"<figcaption>{escape(self.caption)}</figcaption>" if self.caption else ""
            parts.append(f"<figure>{_own_ids(self.svg, number)}{caption}</figure>")
        if self.table:
            parts.append(self.table.html())
        if self.links:
            items = (f'<a href="{escape(to)}">{escape(text)}</a>' for to, text in self.links)
            parts.append(f'<p class="links">{" ".join(items)}</p>')
        if self.folded:
            summary, table = self.folded
            inner = f"<summary>{escape(summary)}</summary>{table.html()}"
            parts.append(f'<details class="folded">{inner}</details>')
        if self.code:
            parts.append(f"<pre>{escape(self.code)}</pre>")
        return "\n".join(parts)


def _block(text: str) -> str:
    """A paragraph of a docstring, or a list whose items begin with `* `, as HTML."""
    if not text.startswith("* "):
        return f"<p>{_inline(text)}</p>"
    items = text.removeprefix("* ").split("\n* ")
    return "<ul>" + "".join(f"<li>{_inline(item)}</li>" for item in items) + "</ul>"


def _inline(text: str) -> str:
    return re.sub(r"`+([^`]+)`+", r"<code>\1</code>", escape(text))


def page(title: str, lead: str, sections: Sequence[Section]) -> str:
    """The HTML of a page."""
    body = "\n".join(section.html(number) for number, section in enumerate(sections))
    return _PAGE.format(title=escape(title), lead=escape(lead), body=body)


def number(estimate: Estimate, unit: str = "") -> str:
    """An estimate as text: "312 s (290 … 334)"."""
    size = abs(estimate.mean)
    digits = 4 if unit == "" else 0 if size >= 100 else 1 if size >= 1 else 3
    text = f"{estimate.mean:.{digits}f} {unit}".strip()
    if estimate.censored:
        above, below = math.isinf(estimate.high), math.isinf(estimate.low)
        bound = "about" if above and below else ">" if above else "<"
        text = f"{bound} {text}, {estimate.censored} of {estimate.n} cut off"
    elif estimate.n > 1:
        text += f" ({estimate.low:.{digits}f} … {estimate.high:.{digits}f})"
    return text


def repeats(estimate: Estimate) -> str:
    """Number of runs, as text."""
    return str(estimate.n) if estimate.n else "—"


def _own_ids(svg: str, number: int) -> str:
    for marker in ('id="', 'href="#', "url(#"):
        svg = svg.replace(marker, f"{marker}f{number}-")
    return svg
