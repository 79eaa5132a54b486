"""One HTML page with its styles inside: it needs no network, and can be read without its script.

The stylesheet is that of the live page, `explore/static/ackclock.css`.
"""

import hashlib
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from pathlib import Path

from ackclock.estimates.stats import Estimate

STATIC = Path(__file__).parents[1] / "explore" / "static"
#: Words that are coloured, as cells and as dots.
VERDICTS = (
    *("holds", "fails", "open", "reported", "quick", "not testable"),
    *("better", "worse", "mixed", "same", "unclear", "unsafe"),
)
#: A cell with more characters is kept wide on a phone, where tables scroll.
LONG = 20
_HEAD = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title>
<style>
{style}</style>
{script}</head>
"""
_BODY = """<body>
<header class="bar"><a class="brand" href="{home}">{icon}ackclock <span>{kind}</span></a></header>
<div class="read">
{contents}<main>
<h1>{title}</h1>
<p class="lead">{lead}</p>
{body}
</main>
</div>
</body>
</html>
"""
#: The script that `scripts` writes beside the pages.
ZOOM = "zoom.js"


@dataclass(frozen=True)
class Table:
    """Text cells; a cell that is a verdict is coloured as one."""

    header: Sequence[str]
    rows: Sequence[Sequence[str]]
    #: Number of a row → what is folded under it: a summary, and a table.
    folded: Mapping[int, tuple[str, "Table"]] = field(default_factory=dict)
    #: Number of a row → where its first cell leads.
    links: Mapping[int, str] = field(default_factory=dict)
    #: Its class in the stylesheet. "card": a phone leaves out the second column; "card of-2": also
    #: the numbers of the two others, so that their marks fit. The rows' sections have the numbers.
    look: str = ""

    def html(self) -> str:
        """The table, which scrolls where it is wider than the page."""
        return f'<div class="scroll">{self.element()}</div>\n'

    def element(self) -> str:
        """The table element alone."""
        head = "".join(f"<th>{escape(cell)}</th>" for cell in self.header)
        body = "".join(
            "<tr>"
            + "".join(self._cell(number, column) for column in range(len(row)))
            + "</tr>\n"
            + self._folded_html(number)
            for number, row in enumerate(self.rows)
        )
        look = f' class="{self.look}"' if self.look else ""
        return f"<table{look}><tr>{head}</tr>\n{body}</table>"

    def _cell(self, row: int, column: int) -> str:
        cell = self.rows[row][column]
        text = re.sub(r"\([^()]* … [^()]*\)", r'<span class="interval">\g<0></span>', escape(cell))
        if column == 0 and row in self.links:
            text = link(self.links[row], cell)
        looks = look_of(cell) if cell in VERDICTS else "long" if len(cell) > LONG else ""
        return f"<td{f' class={looks}' if looks else ''}>{text}</td>"

    def _folded_html(self, number: int) -> str:
        if number not in self.folded:
            return ""
        summary, table = self.folded[number]
        inner = folded(summary, table.element())
        return f'<tr class="parts"><td colspan="{len(self.header)}">{inner}</td></tr>\n'

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
    #: HTML: `picture`.
    picture: str = ""
    table: Table | None = None
    code: str = ""
    #: (address, text) pairs.
    links: Sequence[tuple[str, str]] = ()
    #: HTML, below all else.
    inner: str = ""
    #: Its name in the page (default: made of the title).
    id: str = ""
    #: What a table of contents says (default: the title), and the verdicts in it.
    short: str = ""
    verdicts: Sequence[str] = ()

    @property
    def anchor(self) -> str:
        """What leads to it: "#R1"."""
        return self.id or slug(self.title)

    def html(self) -> str:
        """The section."""
        parts = []
        if self.title:
            heading = f'<a href="#{self.anchor}">{escape(self.title)}</a>'
            parts.append(f'<section id="{self.anchor}">\n<h2>{heading}</h2>')
        parts += [paragraphs(self.text), self.picture]
        if self.table:
            parts.append(self.table.html())
        parts.append(links(self.links))
        if self.code:
            parts.append(f"<pre>{escape(self.code)}</pre>")
        parts.append(self.inner)
        if self.title:
            parts.append("</section>")
        return "\n".join(part for part in parts if part)


def slug(title: str) -> str:
    """A title as an anchor, as GitHub makes them."""
    return re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-")


def link(to: str, text: str) -> str:
    """A link."""
    return f'<a href="{escape(to)}">{escape(text)}</a>'


def links(pairs: Sequence[tuple[str, str]]) -> str:
    """A line of links."""
    items = " ".join(link(to, text) for to, text in pairs)
    return f'<p class="links">{items}</p>' if items else ""


def folded(summary: str, inner: str) -> str:
    """What is shown only when asked for."""
    return f"<details><summary>{escape(summary)}</summary>{inner}</details>"


def dots(verdicts: Sequence[str], names: Sequence[str] = ()) -> str:
    """A dot for each verdict, with what it is of."""
    said = [": ".join(each) for each in zip(names, verdicts, strict=True)] if names else verdicts
    marks = "".join(
        f'<i class="dot {look_of(each)}" title="{escape(words)}"></i>'
        for each, words in zip(verdicts, said, strict=True)
    )
    return f'<span class="dots">{marks}</span>' if marks else ""


def look_of(verdict: str) -> str:
    """The class of a verdict in the stylesheet."""
    return verdict.replace(" ", "-")


def pill(verdict: str) -> str:
    """A verdict as a word on its colour."""
    return f'<span class="pill {look_of(verdict)}">{verdict}</span>'


def paragraphs(text: str) -> str:
    """Paragraphs of a docstring as HTML; one that begins with `* ` is a list."""
    return "\n".join(_block(block) for block in text.split("\n\n") if block)


def _block(text: str) -> str:
    if not text.startswith("* "):
        return f"<p>{_inline(text)}</p>"
    items = text.removeprefix("* ").split("\n* ")
    return "<ul>" + "".join(f"<li>{_inline(item)}</li>" for item in items) + "</ul>"


def _inline(text: str) -> str:
    return re.sub(r"`+([^`]+)`+", r"<code>\1</code>", escape(text, quote=False))


def quoting(text: str) -> str:
    """Paragraphs in which the words of another, in double quotes, stand out."""
    return re.sub(r'"([^"<>]+)"', r"<q>\1</q>", paragraphs(text))


def picture(wide: str, narrow: str = "", caption: str = "", data: str = "") -> str:
    """A figure: an SVG, the one for a phone, and curves that the script zooms into (JSON)."""
    if narrow:
        inner = f'<div class="wide">{_own_ids(wide)}</div>'
        inner += f'<div class="narrow">{_own_ids(narrow)}</div>'
    else:
        inner = _own_ids(wide)
    if data:
        data = data.replace("<", "\\u003c")
        data = f'<script type="application/json" class="curves">{data}</script>'
    words = ""
    if caption or data:
        words = f"<figcaption><span>{escape(caption)}</span></figcaption>"
    return f'<figure><div class="picture">{inner}</div>{words}{data}</figure>'


def page(
    title: str,
    lead: str,
    sections: Sequence[Section],
    *,
    kind: str = "",
    home: str = "",
    up: Sequence[tuple[str, str]] = (),
) -> str:
    """The HTML of a page. `up` leads to other pages, `home` to the first of them."""
    body = "\n".join(section.html() for section in sections)
    zooms = 'class="curves"' in body
    style = (STATIC / "ackclock.css").read_text(encoding="utf-8")
    if zooms:
        style += (STATIC / "uplot" / "uPlot.min.css").read_text(encoding="utf-8") + "\n"
    head = _HEAD.format(
        title=escape(title),
        style=style,
        script=f'<script src="{ZOOM}" defer></script>\n' if zooms else "",
    )
    icon = (STATIC / "icon.svg").read_text(encoding="utf-8").strip()
    return head + _BODY.format(
        title=escape(title),
        lead=escape(lead),
        icon=icon.replace("<svg", '<svg width="24" height="24"', 1),
        kind=escape(kind),
        home=escape(home or "#"),
        contents=_contents(sections, up),
        body=body,
    )


def _contents(sections: Sequence[Section], up: Sequence[tuple[str, str]]) -> str:
    """Where everything is; nothing where there is little."""
    entries = [f'<a href="{escape(to)}">{escape(text)}</a>' for to, text in up]
    titled = [section for section in sections if section.title]
    entries += [
        f'<a href="#{each.anchor}"><span>{escape(each.short or each.title)}</span>'
        f"{dots(each.verdicts)}</a>"
        for each in titled
    ]
    if len(entries) < 3:
        return ""
    inner = "\n".join(entries)
    return (
        f'<details class="contents"><summary>Contents</summary><nav>\n{inner}\n</nav></details>\n'
    )


def script() -> str:
    """The script of pages with curves: uPlot, as a page from a file takes it, and ours."""
    plots, _, _ = (
        (STATIC / "uplot" / "uPlot.esm.js").read_text(encoding="utf-8").rpartition("\nexport")
    )
    ours = (STATIC / "zoom.js").read_text(encoding="utf-8")
    licence = (STATIC / "uplot" / "LICENSE").read_text(encoding="utf-8")
    return f"/*\nuPlot:\n\n{licence}*/\n(() => {{\n{plots}\n{ours}}})();\n"


def write_scripts(directory: Path) -> None:
    """Writes the script of pages with curves."""
    (directory / ZOOM).write_text(script(), encoding="utf-8")


def number(estimate: Estimate, unit: str = "") -> str:
    """An estimate as text: "312 s (290 … 334)"."""
    size = abs(estimate.mean)
    digits = _decimals(estimate) if unit == "" else 0 if size >= 100 else 1 if size >= 1 else 3
    text = f"{estimate.mean:.{digits}f} {unit}".strip()
    if estimate.censored:
        above, below = math.isinf(estimate.high), math.isinf(estimate.low)
        bound = "about" if above and below else ">" if above else "<"
        if above and below and estimate.censored == estimate.n:
            bound, text = "not known:", ""
        text = f"{bound} {text}, " if text else f"{bound} "
        text += f"{estimate.censored} of {estimate.n} cut off"
    elif estimate.n > 1:
        ends = (f"{end:.{digits}f}".replace("inf", "∞") for end in (estimate.low, estimate.high))
        text += f" ({' … '.join(ends)})"
    return re.sub(r"-(0\.?0*)(?![\d.])", r"\1", text)


def _decimals(estimate: Estimate) -> int:
    """As many decimals, 3 at most, as show half the interval's width with three digits."""
    half = (estimate.high - estimate.low) / 2
    if not 0 < half < math.inf:
        half = abs(estimate.mean) / 100
    return min(max(2 - math.floor(math.log10(half)), 0), 3) if half else 0


def repeats(estimate: Estimate) -> str:
    """Number of runs, as text."""
    return str(estimate.n) if estimate.n else "—"


def _own_ids(svg: str) -> str:
    """The SVG with ids that no other on the page has."""
    own = hashlib.sha256(svg.encode()).hexdigest()[:8]
    for marker in ('id="', 'href="#', "url(#"):
        svg = svg.replace(marker, f"{marker}f{own}-")
    return svg
