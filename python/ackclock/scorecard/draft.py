"""Evidence for a draft: an appendix in kramdown-rfc by RFC 9743's sections, and its archive."""

import gzip
import io
import re
import shlex
import tarfile
import tempfile
from pathlib import Path

from ackclock.draw import html
from ackclock.pages.offered import Offered
from ackclock.scenario import snapshot
from ackclock.scorecard.evaluated import Answered, Evaluated
from ackclock.scorecard.page import full, scenario_file, section

#: The files that a draft takes.
APPENDIX, ARCHIVE = "appendix.md", "evidence.tar.gz"
#: The path of the C file that an algorithm names.
C_FILE = re.compile(r".*?\.c(?=[@:]|$)")
LEAD = """# Evidence for {name} {{#evidence}}

This appendix has what {{{{?RFC9743}}}} asks of a new congestion control, section by section. Each
number is a mean with its 95 % confidence interval over the repeats of one scenario, beside those of
the others in its place, in the same runs. {made_by} made them; a scenario, the version and the
seeds determine each packet. The key of a run is a hash of all three and of the algorithm's code.
{{{{archive}}}} says how to repeat it.
"""
TAIL = """## How to Repeat It {{#archive}}

The archive {archive} has each scenario, the C files with what they include, the card (card.json),
every run (rows.parquet) and what made them (manifest.json). With the same version of ackclock
and in its directory

~~~
{command}
~~~

prints the same numbers, and `ackclock run NAME.toml` runs one scenario.
"""


def write(evaluated: Evaluated, directory: Path, *, command: str) -> None:
    """Writes appendix.md and evidence.tar.gz; `directory` has what `data.write` wrote."""
    files = {each: (directory / each).read_bytes() for each in ("card.json", "manifest.json")}
    if (rows := directory / "rows.parquet").exists():
        files[rows.name] = rows.read_bytes()
    with tempfile.TemporaryDirectory() as beside, snapshot.held():
        command = _offered(evaluated, Path(beside), command)
        files |= {each.name: each.read_bytes() for each in Path(beside).iterdir()}
    text = appendix(evaluated, command=command)
    (directory / APPENDIX).write_text(text, encoding="utf-8")
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as archive:
        for name, content in sorted(files.items()):
            about = tarfile.TarInfo(f"evidence/{name}")
            about.size = len(content)
            archive.addfile(about, io.BytesIO(content))
    # Without times, so that the same card is the same archive.
    (directory / ARCHIVE).write_bytes(gzip.compress(packed.getvalue(), mtime=0))


def _offered(evaluated: Evaluated, directory: Path, command: str) -> str:
    """Writes the first repeat of each number's scenario, and all C files; the command there."""
    offered, names = Offered(directory), {}
    for algorithm in evaluated.names:
        if found := C_FILE.match(algorithm):
            if evaluated.failed:  # perhaps it does not load
                names[found[0]] = Path(found[0]).name
                (directory / names[found[0]]).write_bytes(Path(found[0]).read_bytes())
            else:
                names[found[0]] = offered.c_file(found[0])
    for asked in evaluated.asked:
        for number in asked.question.numbers:
            point = asked.point(number, evaluated.algorithm)
            scenario = offered.beside(asked.experiment.run(point, asked.experiment.first_seed))
            name = directory / scenario_file(asked, number)
            name.write_text(scenario.to_toml(), encoding="utf-8")
    if not names:
        return command
    paths = "|".join(re.escape(each) for each in sorted(names, key=len, reverse=True))
    words = [re.sub(paths, lambda path: names[path[0]], each) for each in shlex.split(command)]
    return shlex.join(words)


def appendix(evaluated: Evaluated, *, command: str) -> str:
    """The text: a section for each question, a line for each number."""
    name = evaluated.names[evaluated.algorithm].removesuffix(".c")
    parts = [LEAD.format(name=name, made_by=evaluated.made_by)]
    parts += [_section(asked, evaluated) for asked in evaluated.asked]
    if evaluated.failed:
        failed = evaluated.failed
        parts.append(f"## {failed.row}: It Failed\n\n{failed.problem}\n")
    parts.append(TAIL.format(archive=ARCHIVE, command=command))
    return "\n".join(parts)


def _section(asked: Answered, evaluated: Evaluated) -> str:
    question = asked.question
    algorithms = [evaluated.algorithm, *evaluated.against]
    header = ["number", *(evaluated.names[each] for each in algorithms), "scenario", "key"]
    rows = []
    for answer in asked.answers.answers:
        number = answer.number
        point = asked.point(number, evaluated.algorithm)
        key = asked.runs.at(point)["key"][0].partition("-")[0]
        cells = [full(answer.found[each], number.unit) for each in algorithms]
        rows.append([number.name, *cells, scenario_file(asked, number), key[:12]])
    unsafe = "".join(f"\nUnsafe: {each}.\n" for each in asked.answers.unsafe(evaluated.algorithm))
    return (
        f"## {question.row}: {question.words}\n\nRFC 9743, {section(question.criterion)}.\n\n"
        f"{html.Table(header, rows).markdown()}\n{unsafe}"
    )
