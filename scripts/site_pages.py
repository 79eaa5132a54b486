"""What `make site` adds to docs/: pages that the code makes, and files elsewhere that pages name.

mkdocs calls the functions on_*. Links are written for a reader of the repository; here they are
turned to where the site has the page or file.
"""

import importlib
import inspect
import io
import json
import os
import re
import shutil
from functools import cache
from pathlib import Path
from typing import Any

import typer
from mkdocs.structure.files import File

import ackclock
import claims_page
import lab_judges
import lab_page
import scorecards
from ackclock import AckclockError, Scenario
from ackclock.cli import console, main
from ackclock.draw import html as report
from ackclock.draw import plot
from ackclock.explore import gallery
from notebook import NOTEBOOK, markdown

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
#: Pages of the site that stand elsewhere in the repository.
OUTSIDE = {
    "index.md": "README.md",
    "CONTRIBUTING.md": "CONTRIBUTING.md",
    "CHANGELOG.md": "CHANGELOG.md",
    "SECURITY.md": "SECURITY.md",
    "vectors.md": "vectors/README.md",
    "linux-traces.md": "tests/reference/README.md",
}
#: Many pages with the same words: the search shows other pages before these.
LATER = ("adr/", "CHANGELOG.md")
#: `make site` writes it first: all papers, with thumbnails and cards.
REPORT = ROOT / "out" / "report"
#: The front page of the site begins with the laboratory, which runs this scenario of the gallery.
FIRST = "02-cubic-joins"
LAB = """
<p class="wide">This is the laboratory: a simulator of TCP, in your browser, that equals Linux
packet for packet. Choose another algorithm, rate or queue, and press Run.
<a href="lab/index.html">Open it alone</a> for a gallery, a tour in six steps, and C files of your
own.</p>
<iframe class="lab" src="{link}" title="The laboratory"></iframe>
<p><a href="scorecards/index.html"><strong>The league</strong></a>: all algorithms, row by row.</p>
"""
PAPERS = """
<p><a href="report/index.html"><strong>The papers, repeated</strong></a>: all figures with their
claims, verdicts and data.</p>
"""
#: Its picture becomes the heat map.
LEAGUE = "scorecards/README.md"
#: Makes the search work without a server.
WORKER = "iframe-worker.js"
#: What the theme calls the colours of our pages.
STYLE = "ackclock.css"
THEME = """  --md-primary-fg-color: #0072b2; --md-primary-fg-color--dark: #005a8e;
  --md-accent-fg-color: var(--accent); --md-typeset-a-color: var(--accent);
  --md-default-bg-color: var(--paper); --md-code-bg-color: var(--soft);
"""
#: Code of 100 characters fits, and more of a wide table. Pictures in the dark, as in the report.
LAYOUT = """.md-grid { max-width: 76rem; }
.md-typeset p:not(.wide):not(:has(img)), .md-typeset li { max-width: 40rem; }
.md-typeset h1:has(~ .lab) { margin: 0 0 .4rem; }
iframe.lab {
  width: 100%; height: max(26rem, calc(100vh - 12rem)); border: 1px solid var(--line);
  border-radius: .4rem;
}
.md-typeset td code { word-break: normal; }
.md-typeset table:not([class]) :is(th, td) { min-width: 2.2rem; padding: .6em; }
.md-typeset .scroll td:is(:first-child, .long) { min-width: 7rem; }
.md-typeset pre > code { font-size: .74em; }
.md-typeset details.claim {
  border: 0; border-top: 1px solid var(--line); box-shadow: none; margin: 0;
}
.md-typeset details.claim > summary { background: none; font-weight: 400; }
.md-typeset details.claim > summary { padding-left: .6rem; }
.md-typeset details.claim > summary::before { display: none; }
.md-typeset details.claim > summary > span { float: right; }
.md-typeset details.claim > div { scroll-margin-top: 7rem; }
@media print {
  .md-typeset :is(.claim, .claims)::details-content { content-visibility: visible; }
}
/* Class on paper: a sheet of two pages, without the answers. */
@media print { .md-typeset:has([src^="class-"]) {
  font-size: .6rem; line-height: 1.35;
  img { float: right; width: 35%; margin: 0 0 .2rem .8rem; }
  h1, h2 { margin: 0 0 .2rem; clear: both; }
  h2:nth-of-type(4) { break-before: page; }
  pre > code { font-size: .44rem; line-height: 1.25; padding: .2rem .4rem; white-space: pre-wrap; }
  p, pre { margin: .3rem 0; }
  &::before { display: none; }
  details, button { display: none; }
} }
[data-md-color-scheme="slate"] .md-content img {
  filter: invert(1) hue-rotate(180deg); mix-blend-mode: lighten;
}"""
#: Of the navigation: pages of a directory, by the heading of each.
FOLDERS = {
    "ALGORITHMS": "algorithms",
    "DECISIONS": "adr",
    "FINDINGS": "findings",
}


def on_config(config):
    """Fills the navigation with the pages of whole directories."""
    config.nav = _filled(config.nav)
    return config


def _filled(entry):
    if isinstance(entry, list):
        return [_filled(each) for each in entry]
    if isinstance(entry, dict):
        return {title: _filled(each) for title, each in entry.items()}
    if entry not in FOLDERS:
        return entry
    pages = sorted(
        (DOCS / FOLDERS[entry]).glob("*.md"), key=lambda page: (page.name != "README.md", page.name)
    )
    return [str(page.relative_to(DOCS)) for page in pages]


def on_files(files, config):
    """Adds the pages that are not in docs/."""
    for uri, path in OUTSIDE.items():
        files.append(File.generated(config, uri, content=(ROOT / path).read_text(encoding="utf-8")))
    made = {
        "notebook.md": notebook_page(),
        "reference/cli.md": command_line(),
        "reference/python.md": python(),
        "reference/contract.md": contract(),
        "reference/gallery.md": gallery_page(),
    }
    for uri, text in made.items():
        files.append(File.generated(config, uri, content=text))
    files.append(File.generated(config, STYLE, content=style()))
    files.append(File.generated(config, WORKER, abs_src_path=str(Path(__file__).with_name(WORKER))))
    for name, page in scorecards.pages(cards()).items():
        files.append(File.generated(config, f"scorecards/{name}", content=page))
    for name, png in pictures().items():
        files.append(File.generated(config, f"reference/{name}.png", content=png))
    linked = {
        target
        for file in files.documentation_pages()
        for target in _targets(file)
        if target.is_file() and not _in_site(target)
    }
    for target in sorted(linked):
        uri = f"source/{target.relative_to(ROOT)}"
        files.append(File.generated(config, uri, abs_src_path=str(target)))
    return files


def _home(uri):
    """Where the text of a page is in the repository."""
    return ROOT / OUTSIDE[uri] if uri in OUTSIDE else DOCS / uri


def _targets(file):
    for path in re.findall(r"\]\(([^)#\s:]+)[^)]*\)", file.content_string):
        yield (_home(file.src_uri).parent / path).resolve()


def _in_site(target):
    return target.is_relative_to(DOCS) or target in {ROOT / path for path in OUTSIDE.values()}


def on_page_markdown(markdown, page, config, files):  # noqa: ARG001 (mkdocs gives them)
    """Turns links that leave docs/."""
    uri = page.file.src_uri
    if uri == LEAGUE:
        page.meta["hide"] = ["toc"]  # wide
    if uri == "index.md":
        page.meta["hide"] = ["navigation", "toc"]
        title, rest = markdown.split("\n", 1)
        shown = PAPERS if (REPORT / "index.html").exists() else ""
        markdown = f"{title}\n{LAB.format(link=_first())}{shown}{rest}"
    markdown = re.sub(
        r"^```toml\n(.*?)^```$",
        lambda block: block[0] + _in_lab(block[1], page.title or "", uri),
        markdown,
        flags=re.DOTALL | re.MULTILINE,
    )
    if uri == "claims.md":
        markdown = claims_page.page(claims_page.data(DOCS), parts=True)
    if uri.startswith(LATER) and not uri.endswith("README.md"):
        page.meta["search"] = {"boost": 0.3}
    markdown = markdown.replace("][:PARAMETER", r"]\[:PARAMETER")  # no reference
    if uri.startswith("reference/"):
        return markdown

    def turned(match):
        text, path, anchor = match.groups()
        target = (_home(uri).parent / path).resolve()
        outside = {ROOT / there: here for here, there in OUTSIDE.items()}
        if target in outside:
            to = outside[target]
        elif target.is_relative_to(DOCS):
            to = str(target.relative_to(DOCS))
        elif target.is_file():
            to = f"source/{target.relative_to(ROOT)}"
        else:
            return text[1:-1]  # a directory
        return f"{text}({os.path.relpath(to, Path(uri).parent)}{anchor or ''})"

    return re.sub(r"(\[[^\]]*\])\(([^)#\s:]+)(#[^)\s]*)?\)", turned, markdown)


def _first():
    """Where the laboratory runs the scenario of the front page."""
    (each,) = (each for each in gallery.scenarios() if each["name"] == FIRST)
    scenario = Scenario.from_text(each["toml"], source="")
    return f"lab/{lab_page.link((scenario, each['title']))}"


def _in_lab(toml, title, uri):
    """A link below a scenario that opens it in the page without a server."""
    try:
        scenario = Scenario.from_text(toml, source="")
    except AckclockError:  # a part of a scenario, or another file
        return ""
    to = lab_page.link((scenario, title))
    up = os.path.relpath("lab", Path(uri).parent)
    return f'\n\n<p><a href="{up}/{to}">Open in the lab</a></p>\n' if to else ""


def on_page_content(html, page, config, files):  # noqa: ARG001 (mkdocs gives them)
    """Colours the verdicts and marks in tables, as the pages of reports and scorecards do.

    Also says where a narrow screen may break a long name in a table: `cubic@linux-2.6.32`. The
    league's picture becomes the heat map.
    """

    def breaks(code):
        return re.sub(r"(?<=\w)[_@:=,/]+(?=\w)", r"\g<0><wbr>", code[0])

    def cell(found):
        return re.sub(r"(?<=<code>)[^<]*", breaks, found[0])

    html = re.sub(r"<td[ >].*?</td>", cell, html, flags=re.DOTALL)
    if page.file.src_uri == LEAGUE:
        picture = rf'<p><img [^>]*src="{scorecards.PICTURE}"[^>]*></p>'
        html, found = re.subn(picture, lambda _: scorecards.heat_map(cards()), html)
        if found != 1:
            raise ValueError(f"{LEAGUE}: {found} pictures {scorecards.PICTURE}, not one")
    words = "|".join(report.VERDICTS)
    firm = r"(, (?:always|depends|one setup)[^<]*)?"
    plain = rf"<td((?![^>]*class)[^>]*)>(?:<strong>)?({words}){firm}(?:</strong>)?</td>"

    def coloured(found):
        attributes, verdict, firmness = found.groups()
        return f'<td{attributes} class="{report.look_of(verdict)}">{verdict}{firmness or ""}</td>'

    return re.sub(plain, coloured, html)


def on_post_build(config):
    """Adds the live page, and the report of the papers where it has been written."""
    site = Path(config["site_dir"])
    lab_judges.write(site / "lab")
    lab_page.write(site / "lab")
    if (REPORT / "index.html").exists():
        shutil.copytree(REPORT, site / "report", dirs_exist_ok=True)
        lab_page.add_to_report(site / "report")


def style():
    """The colours of the stylesheet that all pages of ackclock share, under the theme's names."""
    shared = (report.STATIC / "ackclock.css").read_text(encoding="utf-8")
    light, dark = (
        re.findall(rf"^{re.escape(start)} {{\n(.*?)^}}", shared, re.DOTALL | re.MULTILINE)[0]
        for start in (":root", ':root[data-theme="dark"]')
    )
    looks = "|".join(map(report.look_of, report.VERDICTS))
    marks = re.findall(rf"^\.(?:{looks})[^{{}}]*{{.*?}}$", shared, re.MULTILINE)
    cells = re.sub(r"\.(?=[a-z])", ":is(td, summary > span).", "\n".join(marks))
    return "\n".join(
        [
            f"[data-md-color-scheme] {{\n{light}{THEME}}}",
            f'[data-md-color-scheme="slate"] {{\n{dark}}}',
            cells,
            LAYOUT,
        ]
    )


@cache
def cards():
    """The scorecards of docs/scorecards."""
    return scorecards.read(DOCS / "scorecards")


# --- pages ---


def command_line():
    """Every command with its options."""
    for module in main.MODULES:
        importlib.import_module(f"ackclock.cli.{module}")
    group: Any = typer.main.get_command(console.app)
    names = [name for names in main.MODULES.values() for name in names]
    parts = ["# The command line", "`ackclock COMMAND --help` prints the same text."]
    for name in names:
        parts += _command(f"ackclock {name}", group.commands[name])
    return "\n\n".join(parts) + "\n"


def _command(name, command):
    if hasattr(command, "commands"):
        yield f"## `{name}`"
        yield inspect.cleandoc(command.help or "")
        for each, inner in command.commands.items():
            yield from _command(f"{name} {each}", inner)
        return
    arguments = [p for p in command.params if p.param_type_name == "argument"]
    console.without_types(command.params)
    options = [p for p in command.params if p.param_type_name == "option" and p.name != "help"]
    usage = " ".join(
        [
            name,
            *((a.metavar or a.name.upper()) for a in arguments),
            *(["[OPTIONS]"] * bool(options)),
        ]
    )
    yield f"## `{name}`"
    yield f"```\n{usage}\n```"
    yield inspect.cleandoc(command.help or "")
    rows = ["| option | meaning |", "|---|---|"]
    for option in options:
        value = (option.metavar or "").replace("|", chr(92) + "|")
        names = ", ".join(
            f"`{each}{value and ' ' + value}`" for each in (*option.opts, *option.secondary_opts)
        )
        rows.append(
            f"| {names} | {' '.join((option.help or '').split()).replace('|', chr(92) + '|')} |"
        )
    if options:
        yield "\n".join(rows)


def notebook_page():
    """docs/notebook.ipynb with its outputs."""
    page = markdown(json.loads(NOTEBOOK.read_text(encoding="utf-8")))
    style = "<style>.output svg { max-width: 100%; height: auto }</style>"
    return f"{page}\n[The notebook](notebook.ipynb) itself.\n\n{style}\n"


def python():
    """The API in the order in which help(ackclock) lists it."""
    text = inspect.getdoc(ackclock)
    _, lists = str(text).split("What to run:")
    parts = ["# Python", "`help(ackclock)` lists these names in the same order."]
    for line in ("What to run:" + lists).splitlines():
        if re.fullmatch(r"[A-Z][\w ]+:", line):
            parts.append(f"## {line[:-1]}")
        named = re.findall(r"`(\w+)`(?=[:,])", line)
        parts += [
            f"::: ackclock.{_where(name)}\n    options: {{ heading_level: 3 }}" for name in named
        ]
    return "\n\n".join(parts) + "\n"


def _where(name):
    """The path below `ackclock` of what the package names."""
    home = ackclock._HOME.get(name)  # noqa: SLF001
    return f"{home}.{name}" if home else name


def contract():
    """The headers that an algorithm includes, whose comments explain them."""
    parts = [
        "# The contract of a C file",
        "An algorithm is one C file that includes `tcp_cc.h`. The comments are the reference.",
    ]
    for name in ("tcp_cc.h", "tcp_cc_types.h"):
        text = (ROOT / "algorithms" / "include" / name).read_text(encoding="utf-8")
        parts.append(f"## `{name}`\n\n```c\n{text}```")
    return "\n\n".join(parts) + "\n"


def gallery_page():
    """The ten scenarios of the live page, with pictures."""
    parts = [
        "# Gallery",
        "`ackclock explore` begins with these scenarios. Pictures: windows, throughput, queue.",
    ]
    for each in gallery.scenarios():
        parts.append(
            f"## {each['title']}\n\n{each['sentence']}\n\n![{each['title']}]({each['name']}.png)"
        )
        parts.append(f"```toml\n{each['toml'].split(chr(10), 2)[2]}```")
    return "\n\n".join(parts) + "\n"


@cache
def pictures():
    """PNG by name."""
    made = {}
    for each in gallery.scenarios():
        figure = plot.overview(
            ackclock.run(Scenario.from_toml(gallery.FOLDER / f"{each['name']}.toml"))
        )
        out = io.BytesIO()
        figure.savefig(out, format="png", dpi=80)
        made[each["name"]] = out.getvalue()
    return made
