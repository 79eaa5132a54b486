"""The report: a front page, a page for each paper, and the files beside them."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from html import escape
from itertools import groupby
from pathlib import Path

import polars as pl

from ackclock import papers
from ackclock.base import units
from ackclock.draw import html as report
from ackclock.draw import plot, responsive
from ackclock.figures import crosscheck, plots
from ackclock.figures.claim import JudgedClaim
from ackclock.figures.experiment import Experiment, Point
from ackclock.figures.figure import Repeat
from ackclock.figures.reproduce import Reproduced
from ackclock.hosts import linux
from ackclock.pages import companions, site, tally
from ackclock.pages.offered import Files, Offered
from ackclock.results.result import PAGE
from ackclock.scenario.scenario import Scenario
from ackclock.store.entries import write_manifest, write_parquet

_RULE = (
    "A claim holds if the whole 95 % interval of each of its parts is within the bound; it fails "
    "if that of a part is outside, at a level that Holm corrects for the number of parts. "
    "Its verdict is firm “always” if no other assumption that we tried gives the opposite."
)
_QUICK = "This is a quick run: too few repeats for verdicts on what is random."
_WHOLE = " Claims that it does not judge have the verdict of the runs of full length."
_CROSSES = (
    "In the pictures crosses and dashed lines are the papers' numbers, bands 95 % intervals. "
    "An open triangle is a bound: the end of the run cut off what it shows."
)


@dataclass(frozen=True, eq=False)
class _Site:
    """What all pages of a site share."""

    directory: Path
    command: str
    #: Of the command for each figure.
    options: str
    quick: bool
    #: Whether settings change what the papers' experiments are.
    changed: bool
    pdf: bool
    #: Paper → its page.
    pages: Mapping[str, str]
    #: Paper → `findings` and `source` → where to link to.
    companions: Mapping[str, Mapping[str, Mapping[str, str]]]
    #: Called when so many figures are drawn.
    drawn: Callable[[int], None]
    offered: Offered
    #: Figure → its thumbnail.
    thumbnails: dict[str, str] = field(default_factory=dict)

    @property
    def rule(self) -> str:
        """How claims are judged, in words."""
        return (_QUICK + _WHOLE * (not self.changed)) if self.quick else _RULE

    def whole(self, claim: JudgedClaim) -> Mapping[str, str]:
        """What runs of full length found of a claim that this quick run does not judge, or {}."""
        judged = claim.verdict != "quick" or self.changed
        return {} if judged else tally.at_full_length().get(claim.id, {})

    def verdicts(self, claims: Sequence[JudgedClaim]) -> list[str]:
        """The verdict of each claim, where there is one also of a quick run."""
        return [self.whole(each).get("verdict", each.verdict) for each in claims]

    def dots(self, claims: Sequence[JudgedClaim]) -> str:
        """A dot for each claim."""
        names = [each.id + " at full length" * bool(self.whole(each)) for each in claims]
        return report.dots(self.verdicts(claims), names)

    def where(self, paper: str, kind: str, *names: str) -> str:
        """Where the first of these names is on a companion page, or that page."""
        places = self.companions[paper].get(kind, {})
        return next((places[name] for name in (*names, "") if name in places), "")


def write(
    figures: Sequence[Reproduced],
    directory: Path,
    *,
    command: str,
    quick: bool,
    options: str = "",
    pdf: bool = False,
    progress: Callable[[float], None] | None = None,
) -> None:
    """Writes a site of the figures to a directory; `progress` gets the fraction of them drawn.

    Of one paper index.html is its page; of several it is a front page, and each has its PAPER.html.
    Each figure is there as PNG and SVG (and PDF if wanted), with the rows of its experiments as
    Parquet and CSV and the scenario of each row; the claims as JSON and Parquet.
    """
    by_paper = tally.by_paper(figures, lambda each: each.named.paper)
    several = len(by_paper) > 1
    page_of = {paper: f"{paper}.html" if several else PAGE for paper in by_paper}
    beside = {paper: companions.write(paper, directory, page=page_of[paper]) for paper in by_paper}

    def drawn(count: int) -> None:
        if progress is not None:
            progress(count / len(figures))

    offered = Offered(directory)
    changed = any(each.settings for each in figures)
    the = _Site(directory, command, options, quick, changed, pdf, page_of, beside, drawn, offered)
    for paper, some in by_paper.items():
        html = _paper_page(the, paper, some, several)
        (directory / page_of[paper]).write_text(html, encoding="utf-8")
    if several:
        (directory / PAGE).write_text(_front_page(the, by_paper), encoding="utf-8")
    report.write_scripts(directory)
    about = {"command": command, "figures": {each.name: each.keys for each in figures}}
    write_manifest(about | {"claims": site.write_claims(figures, directory)}, directory)


def write_checked(
    figures: Sequence[tuple[str, crosscheck.Checked]], directory: Path, *, command: str, pdf: bool
) -> None:
    """Writes a page of figures on Linux, beside the simulation, with their files."""
    offered = Offered(directory)
    sections = [
        report.Section(name, inner=_checked(name, each, offered, pdf=pdf)) for name, each in figures
    ]
    sections.append(report.Section("Repeat it", code=command))
    page = report.page("Linux beside the simulator", site.made_by(), sections, kind="report")
    (directory / PAGE).write_text(page, encoding="utf-8")
    report.write_scripts(directory)
    certificates = {name: list(each.certificates) for name, each in figures}
    write_manifest({"command": command, "certificates": certificates}, directory)


def _front_page(the: _Site, by_paper: Mapping[str, Sequence[Reproduced]]) -> str:
    figures = [each for some in by_paper.values() for each in some]
    claims = site.claims_of(figures)
    lead = (
        f"This report repeats {_counted(figures)} of {len(by_paper)} papers about "
        f"TCP congestion control, and judges {len(claims)} of their claims by what we measured. "
        + the.rule
    )
    sections = [report.Section("", inner=_tally(the, claims) + _hint(figures))]
    for paper, some in by_paper.items():
        page = the.pages[paper]
        links = [(page, "All figures, claims and data")]
        if findings := the.where(paper, "findings"):
            links.append((findings, "Findings: why claims hold or fail"))
        inner = (
            _tally(the, site.claims_of(some)) + report.links(links) + _thumbnails(the, page, some)
        )
        title = papers.paper_title(paper)
        sections.append(report.Section(title, id=paper, short=paper, inner=inner))
    tables = []
    for paper, own in site.by_paper(claims).items():
        where = [f"{the.pages[paper]}#{claim.id}" for claim in own]
        table = _with_whole(the, own, site.claims_table(own, links=where)).html()
        tables.append(f"<h3>{escape(paper)}</h3>{table}")
    sections.append(
        report.Section(
            "All claims",
            links=[(name, name) for name in ("claims.json", "claims.parquet", "claims.csv")],
            inner=_tallies(the, claims) + "".join(tables),
        )
    )
    sections.append(_repeat_it(the, figures))
    return report.page("The papers, repeated", lead, sections, kind="report", home=PAGE)


def _paper_page(the: _Site, paper: str, figures: Sequence[Reproduced], several: bool) -> str:
    claims = site.claims_of(figures)
    shown = []
    for each in figures:
        shown.append(_figure(the, each))
        the.drawn(len(the.thumbnails))
    many = len(figures) > 1
    named = _counted(figures) if many else "one figure"
    lead = f"This page repeats {named} of the paper, and judges what the paper says of "
    lead += "them. " if many else "it. "
    lead += the.rule
    links = [(the.where(paper, kind), text) for kind, text in (
        ("findings", "Findings: why claims hold or fail"), ("source", "Source of all figures")
    )]  # fmt: skip
    intro = _tally(the, claims) + report.links([each for each in links if each[0]])
    if len(figures) > 1:
        intro += _thumbnails(the, "", figures)
    sections = [report.Section("", inner=intro + _hint(figures)), *shown]
    setup = "\n\n".join(papers.setups(paper))
    if setup:
        inner = f"<blockquote>{report.quoting(setup)}</blockquote>"
        sections.append(report.Section("The setup of several figures", short="Setup", inner=inner))
    sections.append(_repeat_it(the, figures))
    up = [(PAGE, "All papers")] if several else []
    return report.page(papers.paper_title(paper), lead, sections, kind="report", home=PAGE, up=up)


def _counted(figures: Sequence[Reproduced]) -> str:
    tables = any(each.named.title.startswith("Table") for each in figures)
    return f"{len(figures)} figures" + (" and tables" if tables else "")


def _hint(figures: Sequence[Reproduced]) -> str:
    settings = figures[0].settings
    words = f"{_CROSSES} {site.made_by()}"
    words += f", with {', '.join(settings)}" if settings else ""
    return f'<p class="hint">{escape(words)}.</p>'


def _repeat_it(the: _Site, figures: Sequence[Reproduced]) -> report.Section:
    return report.Section("Repeat it", text=site.run_totals(figures), code=the.command)


def _judged(
    the: _Site, claims: Sequence[JudgedClaim]
) -> tuple[list[tally.Counted], list[tally.Counted]]:
    """What is counted of claims: of this run, and of runs of full length."""
    whole = {claim.id: row for claim in claims if (row := the.whole(claim))}
    own = tally.counted(claim for claim in claims if claim.id not in whole)
    return own, [tally.of_texts(*each) for each in whole.items()]


def _tally(the: _Site, claims: Sequence[JudgedClaim]) -> str:
    """How many claims hold, and how firmly, as a bar; in a quick run one more of full length."""
    own, whole = _judged(the, claims)
    if not whole:
        return _bar(own)
    said = f"{units.counted(len(whole), 'claim')} by runs of full length, which came with ackclock:"
    first = (
        f"<p>{units.counted(len(own), 'claim')} by this quick run:</p>{_bar(own)}" if own else ""
    )
    return f"{first}<p>{said}</p>{_bar(whole)}"


def _bar(claims: Sequence[tally.Counted]) -> str:
    found = Counter((verdict, firm) for _, verdict, firm, _ in claims)
    order = [(verdict, firm) for verdict in tally.ORDER for firm in (*tally.FIRM, "")]
    parts = [each for each in order if found[each]]
    said = {
        each: f"{found[each]} {tally.MANY.get(each[0], each[0])}" + f" · {each[1]}" * bool(each[1])
        for each in parts
    }
    bars = "".join(
        f'<span class="{each[0].replace(" ", "-")} {each[1].replace(" ", "-")}" '
        f'style="flex-grow:{found[each]}" title="{words}">{words}</span>'
        for each, words in said.items()
    )
    if not bars:
        return ""
    return f'<div class="tally" role="img" aria-label="{", ".join(said.values())}">{bars}</div>'


def _with_whole(the: _Site, claims: Sequence[JudgedClaim], table: report.Table) -> report.Table:
    """The table of claims with the lines of full length, and a column that says which they are."""
    if not any(map(the.whole, claims)):
        return table
    rows = []
    for claim, row in zip(claims, table.rows, strict=True):
        whole = the.whole(claim)
        cells = dict(zip(table.header, row, strict=True)) | {"run": "this run"}
        if whole:
            cells |= {key: whole[key] for key in ("verdict", "firmness", "reason")}
            cells |= {"measured, 95 % CI": whole["measured"], "run": "full length"}
        rows.append([*cells.values()])
    return replace(table, header=[*table.header, "run"], rows=rows)


def _tallies(the: _Site, claims: Sequence[JudgedClaim]) -> str:
    """Verdicts by firmness, and reasons, a column for each paper."""
    own, whole = _judged(the, claims)
    papers_in_order = [*site.by_paper(claims)]
    counted = sorted(own + whole, key=lambda each: papers_in_order.index(each[0]))
    return tally.by_firmness(counted).html() + tally.by_reason(counted).html()


def _thumbnails(the: _Site, page: str, figures: Sequence[Reproduced]) -> str:
    items = "".join(
        f'<a href="{page}#{_anchor(each)}">'
        f'<img src="{the.thumbnails[each.name]}" alt="">'
        f"<span>{escape(each.named.title)}{the.dots(each.claims)}</span></a>"
        for each in figures
    )
    return f'<div class="thumbs">{items}</div>'


def _anchor(figure: Reproduced) -> str:
    return figure.name.partition("/")[2]


def _figure(the: _Site, figure: Reproduced) -> report.Section:
    """A figure: what the paper says, the picture, its claims, and all that they rest on."""
    paper, name = figure.named.paper, figure.named.file_name
    claims = [claim.id for claim in figure.claims]
    about = [
        (the.where(paper, "findings", *claims), "Findings"),
        (the.where(paper, "source", _anchor(figure)), "Source"),
        (f"#{_anchor(figure)}-data", "Data and command"),
    ]
    drawn, whole = figure.drawn()
    files = [path.name for path in plot.write(drawn, the.directory, name, pdf=the.pdf)]
    written, of_rows = the.offered.write_rows(figure)
    files += written
    keys = set(figure.keys)
    ran = "Computed, not simulated."
    if keys:
        most = max(seed for repeats in figure.repeats.values() for _, seed, _ in repeats)
        ran = f"{units.counted(len(keys), 'run')}, "
        ran += f"seeds 1 to {most}." if most > 1 else "seed 1."
        if whole and most > 1:
            which = " and ".join(map(str, sorted({seed for _, _, seed in whole})))
            ran += f" The curves over time are of seed {which}, the numbers below of all seeds."
    picture = responsive.to_html(drawn, ran)
    the.thumbnails[figure.name] = responsive.thumbnail(drawn)
    inner = [
        report.links([each for each in about if each[0]]),
        f"<blockquote>{report.quoting(figure.named.setup)}</blockquote>",
        picture,
        *(_claim(the, figure, claim) for claim in figure.claims),
        *_assumed(figure),
    ]
    if figure.measured:
        table = site.measures_table(figure).html()
        inner.append(
            report.folded(f"Measurements: {units.counted(len(figure.measured), 'quantity')}", table)
        )
    for batch in figure.batches:
        if batch.variant is None and batch.repeats:
            scenarios = [the.offered.beside(each) for each in batch.scenarios]
            setup = site.setup_table(batch.experiment, scenarios)
            number = units.counted(len(setup.rows), "key")
            summary = f"Setup of “{batch.experiment.name}”, key by key: {number}"
            inner.append(report.folded(summary, setup.html()))
    inner += _scenarios(the, figure, of_rows, whole)
    inner += _on_linux(the, figure)
    inner.append(
        f'<h3 id="{_anchor(figure)}-data">Data and command</h3>'
        + report.links([(file, _words(file, name)) for file in files])
        + f"<pre>ackclock reproduce {escape(figure.name + the.options)}</pre>"
    )
    return report.Section(
        figure.named.title,
        id=_anchor(figure),
        inner="\n".join(inner),
        verdicts=the.verdicts(figure.claims),
    )


def _words(file: str, figure: str) -> str:
    """What a file of a figure is called in its list."""
    stem, _, kind = file.removeprefix(figure).rpartition(".")
    kinds = {"parquet": "Parquet", "csv": "CSV"}
    return f"{kinds.get(kind, kind.upper())} {stem.replace('-', ' ').strip()}".strip()


def _claim(the: _Site, figure: Reproduced, claim: JudgedClaim) -> str:
    findings = the.where(figure.named.paper, "findings", claim.id)
    cells = site.card(claim)
    firm = "".join(f' <span class="firm">{escape(cells[each])}</span>'
                   for each in ("firmness", "reason") if cells[each])  # fmt: skip
    head = f"{report.pill(claim.verdict)}{report.link(f'#{claim.id}', claim.id)}{firm}"
    head += report.link(findings, "findings") if findings else ""
    average = "measured"
    if claim.parts:
        average = claim.decides.part.quantity.average(figure.rows) or average
    found = [
        f"{words} {cells[key]}"
        for words, key in (
            ("The paper:", "the paper"),
            (f"{average.capitalize()}:", "measured, 95 % CI"),
            ("Ours / paper:", site.OURS),
            ("Bound:", "bound"),
            ("Whose:", "whose"),
            ("Decided by:", "decided by"),
            ("Runs:", "runs"),
        )
        if cells[key] and not (claim.quick and len(claim.parts) > 1)
    ]
    if whole := the.whole(claim):
        texts = (whole[key] for key in ("verdict", "firmness", "measured", "reason"))
        found.append(f"At full length: {', '.join(filter(None, texts))}")
    turns = [
        (f"{words} {cells[key]}.")
        for words, key in (
            ("Another verdict with", "turns with"),
            ("Without effect:", "without effect"),
        )
        if cells[key]
    ]
    parts = [
        f'<article class="claim {claim.verdict.replace(" ", "-")}" id="{claim.id}">',
        f'<div class="head">{head}</div>',
        f"<p>{escape(claim.claim.says)}</p>",
        f"<blockquote>{escape(claim.claim.quote)}</blockquote>" if claim.claim.quote else "",
        f'<p class="found">{escape(" · ".join(found))}</p>' if found else "",
        f'<p class="found">{escape(" ".join(turns))}</p>' if turns else "",
        f"<pre>ackclock claims {claim.id}  # {escape(cells['made by'])}</pre>",
    ]
    if len(claim.parts) > 1:
        summary, table = site.parts_table(claim)
        parts.append(report.folded(summary, table.html()))
    if claim.otherwise:
        tried = sum(map(len, claim.otherwise.values()))
        drawn = responsive.to_html(
            plots.sensitivity(claim), "How the verdict depends on what the paper leaves open."
        )
        inner = drawn + site.sensitivity_table(claim).html()
        parts.append(report.folded(f"Sensitivity: {tried} other assumptions", inner))
    return "".join(parts) + "</article>"


def _assumed(figure: Reproduced) -> Iterable[str]:
    """What the paper does not say of the setup, and what we took."""
    assumed: dict[str, str] = {}
    for experiment in figure.figure.experiments:
        assumed |= {key: why for key, why in experiment.assumed.items() if why}
    if assumed:
        items = (
            f"<li><code>{'other keys' if key == '*' else escape(key)}</code>: {escape(why)}</li>"
            for key, why in assumed.items()
        )
        inner = f'<ul class="assumed">{"".join(items)}</ul>'
        count = len(assumed)
        yield report.folded(f"What we assumed: {units.counted(count, 'key')}", inner)


def _scenarios(
    the: _Site, figure: Reproduced, files: Files, drawn: Sequence[Repeat]
) -> Iterable[str]:
    """The scenarios of the runs that the picture shows, and where those of all rows are."""
    for experiment, point, seed in drawn:
        rows = [(each, number) for each, number, _ in figure.repeats[experiment]]
        file = files[experiment][rows.index((point, seed))]
        said = ", ".join(filter(None, (experiment.say(point), f"seed {seed}")))
        text = escape((the.directory / file).read_text(encoding="utf-8"))
        inner = f"{report.links([(file, file)])}<pre>{text}</pre>"
        yield report.folded(f"Scenario of what is drawn: {said}", inner)
    for experiment, names in files.items():
        if names:
            table = _scenario_table(experiment, figure.repeats[experiment], names)
            number = units.counted(len(names), "file")
            summary = f"Scenario of each row of “{experiment.name}”: {number}"
            yield report.folded(summary, table.html())


def _scenario_table(
    experiment: Experiment, repeats: Sequence[tuple[Point, int, Scenario]], files: Sequence[str]
) -> report.Table:
    """A row for each point: the files of its first and last run, and its seeds."""
    rows: list[list[str]] = []
    links: dict[int, str] = {}
    for point, some in groupby(range(len(files)), key=lambda row: repeats[row][0]):
        first, *others = some
        last, low = [first, *others][-1], repeats[first][1]
        seeds = f"{low} to {repeats[last][1]}" if last > first else str(low)
        links[len(rows)] = files[first]
        rows.append([files[first], files[last], experiment.say(point) or "all", seeds])
    return report.Table(["first file", "last file", "point", "seeds"], rows, links=links)


def _on_linux(the: _Site, figure: Reproduced) -> Iterable[str]:
    """The figure on the kernel and on virtual Linux, or how to get it there."""
    ran = {checked.on.name: checked for checked in figure.checked}
    for side in figure.figure.checks:
        kind = linux.host(side)
        if checked := ran.get(side):
            yield f'<h3 id="{_anchor(figure)}-{side}">On the {kind.title}</h3>'
            yield _checked(figure.name, checked, the.offered, the.pdf)
        else:
            root = " As root:" if kind.real_time else " Type:"
            command = f"<code>ackclock reproduce {figure.name} --on {side}</code>"
            yield f'<p class="hint">Not run on the {kind.title} here.{root} {command}</p>'


def _checked(name: str, checked: crosscheck.Checked, offered: Offered, pdf: bool) -> str:
    """The runs of a figure on Linux beside the simulator's, with the files."""
    drawn, stem = checked.figure(), f"{name.replace('/', '-')}-{checked.on.name}"
    directory = offered.directory
    files = [path.name for path in plot.write(drawn, directory, stem, pdf=pdf)]
    scenarios = offered.write(stem, [each for batch in checked.batches for each in batch.scenarios])
    write_parquet(
        checked.rows.with_columns(scenario=pl.Series(scenarios)), directory / f"{stem}.parquet"
    )
    files.append(f"{stem}.parquet")
    runs = [
        (point, seed, side)
        for batch, side in zip(checked.batches, checked.sides, strict=True)
        for point, seed, _ in batch.repeats
    ]
    first = [
        [file, checked.check.say(point), side]
        for file, (point, seed, side) in zip(scenarios, runs, strict=True)
        if seed == 1
    ]
    table = report.Table(
        ["scenario", "point", "runs in"],
        first,
        links={number: file for number, (file, *_) in enumerate(first)},
    )
    return "\n".join(
        [
            report.paragraphs(checked.check.setup),
            responsive.to_html(drawn, checked.caption),
            report.folded("Both sides, number by number", checked.table().html()),
            report.folded("Scenarios of the runs in the picture", table.html()),
            report.links([(file, file) for file in files]),
        ]
    )
