"""Pages beside those of the figures: our findings about a paper, and the source of its figures."""

import re
import shutil
from collections.abc import Sequence
from html import unescape
from pathlib import Path

from markdown_it import MarkdownIt

from ackclock import papers
from ackclock.draw import html as report

#: Only a checkout has them.
FINDINGS = Path(__file__).parents[3] / "docs" / "findings"


def write(paper: str, directory: Path, *, page: str) -> dict[str, dict[str, str]]:
    """Writes both pages of a paper: `source` and, in a checkout, `findings`.

    Returns for each the places to link to: the figures' modules, or the claims that it mentions,
    and "" for the page itself.
    """
    up = [(page, "Back to the figures")]
    found = {"source": _source(paper, directory, up)}
    text = FINDINGS / f"{paper}.md"
    if text.is_file():
        claims = [claim.id for named in papers.load(paper) for claim in named.figure.claims]
        found["findings"] = _findings(text, claims, directory, up)
    return found


def _source(paper: str, directory: Path, up: Sequence[tuple[str, str]]) -> dict[str, str]:
    files = sorted((Path(papers.__file__).parent / paper).glob("[!_]*.py"))
    files += sorted((Path(papers.__file__).parent / paper).glob("_[!_]*.py"))
    sections = [
        report.Section(path.name, id=path.stem, code=path.read_text(encoding="utf-8"))
        for path in files
    ]
    name = f"{paper}-source.html"
    title = f"Source of {papers.paper_title(paper)}"
    lead = "A module for each figure; the others have the experiments that figures share."
    page = report.page(title, lead, sections, kind="source", home=up[0][0], up=up)
    (directory / name).write_text(page, encoding="utf-8")
    return {"": name} | {section.id: f"{name}#{section.id}" for section in sections}


def _findings(
    path: Path, claims: Sequence[str], directory: Path, up: Sequence[tuple[str, str]]
) -> dict[str, str]:
    """Our page about a paper. The first row that begins with a claim's name is that claim's."""
    html = MarkdownIt("commonmark").enable("table").render(path.read_text(encoding="utf-8"))
    # The other pages of docs/ are not here.
    html = re.sub(r'<a href="(?!#|https?:)[^"]*">(.*?)</a>', r"\1", html, flags=re.DOTALL)
    html = re.sub(r'src="([^":]+)"', lambda found: _copied(path, found[1], directory), html)
    html = html.replace("<table>", '<div class="scroll"><table>')
    html = html.replace("</table>", "</table></div>")
    name = f"{path.stem}-findings.html"
    places = {"": name}
    for claim in claims:
        short = re.escape(claim.partition(".")[2])
        row = rf"<tr>(?=\n<td>(?:<code>)?{short}(?![\w.-]))"
        html, there = re.subn(row, f'<tr id="{claim}">', html, count=1)
        if there:
            places[claim] = f"{name}#{claim}"
    _, title, lead, *rest = re.split(r"<h[12]>(.*?)</h[12]>\n", html)
    sections = [report.Section("", inner=lead)]
    sections += [
        report.Section(_plain(heading), inner=inner)
        for heading, inner in zip(rest[::2], rest[1::2], strict=True)
    ]
    page = report.page(_plain(title), "", sections, kind="findings", home=up[0][0], up=up)
    (directory / name).write_text(page, encoding="utf-8")
    return places


def _copied(page: Path, picture: str, directory: Path) -> str:
    """The source of an image of a page, which is then beside the other pages."""
    name = Path(picture).name
    shutil.copyfile(page.parent / picture, directory / name)
    return f'src="{name}"'


def _plain(html: str) -> str:
    return unescape(re.sub(r"<[^>]*>", "", html))
