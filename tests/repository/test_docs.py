"""What README.md shows works, and the generated pages are those that the code generates."""

import csv
import functools
import re
import runpy
import shlex
import shutil
import subprocess
import sys
from importlib import import_module

import pytest
import typer

import ackclock
import claims_page
import drawn
import drawn_scenarios
import fidelity
import generate
import kernel_vs_sim
import linux_figures
import linux_page
import linux_reference
import scorecards
from ackclock import _core, papers
from ackclock.cli import console, main
from ackclock.draw import style
from common import ROOT

README = (ROOT / "README.md").read_text()


def blocks(language, page="README.md"):
    text = (ROOT / page).read_text(encoding="utf-8")
    return re.findall(rf"^```{language}\n(.*?)^```", text, re.DOTALL | re.MULTILINE)


def shown(page, program="ackclock"):
    """Each command `PROGRAM …` of a page's shell blocks, as words."""
    for block in blocks("sh", page):
        for line in block.splitlines():
            for part in line.split("&&"):
                words = shlex.split(part, comments=True)
                if words[:1] == [program]:
                    yield words[1:]


@pytest.fixture
def as_shown(tmp_path):
    """A directory with the scenario that README shows."""
    (scenario,) = blocks("toml")
    assert len(scenario.splitlines()) == 11
    (tmp_path / "scenario.toml").write_text(scenario)
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    return tmp_path


@pytest.mark.usefixtures("as_shown")
def test_every_command(ackclock):
    commands = list(shown("README.md"))
    assert len(commands) >= 8
    for words in commands:
        if words[0] == "explore":  # goes on until an interrupt: tests/explore
            continue
        if words[:2] == ["linux", "diverge"]:  # test_the_first_screen
            continue
        if words[0] == "evaluate":  # a whole card takes a minute: tests/scorecard has rows
            continue
        if words[0] in ("deploy", "undeploy") or "kernel" in words:
            continue  # need root: tests/cli/test_kernel_deploy.py, tests/hosts
        if words[0] == "linux" or "vlinux" in words:
            continue  # a build of minutes: below
        done = ackclock(*words)
        assert done.returncode == 0, (words, done.stderr)


@pytest.mark.slow
@pytest.mark.usefixtures("as_shown", "machine", "newer")  # they wait for a build without a limit
def test_every_command_of_the_virtual_linux(ackclock):
    of_a_build = [words for words in shown("docs/vlinux.md") if words[0] in ("linux", "run")]
    of_a_build = [words for words in of_a_build if words[1] not in ("diverge", "bisect")]
    ours = [
        words for words in shown("README.md") if words[0] == "new" or {"vlinux", "build"} & {*words}
    ]
    commands = ours + of_a_build
    assert [words[-2:] for words in commands].count(["--series", "7.3"]) == 1
    for words in commands:
        if "--source" in words:  # the reader's own: tests/hosts/test_vlinux_edits.py
            continue
        done = ackclock(*words)
        assert done.returncode == 0, (words, done.stderr)


@pytest.mark.slow
@pytest.mark.usefixtures("as_shown", "machine")
def test_the_first_screen(ackclock):
    """The sentence that README begins with is what its command prints, to the last packet."""
    (block,) = blocks("console")
    typed, said = block.splitlines()
    words = shlex.split(typed)[2:]
    assert words in list(shown("README.md"))
    assert ackclock("new", "my_cc").returncode == 0
    assert ackclock(*words).stdout == f"{said}\n"


def test_every_make_target():
    targets = re.findall(r"^(\w+):", (ROOT / "Makefile").read_text(), re.MULTILINE)
    for target, *_ in shown("README.md", "make"):
        assert target in targets


def test_the_python(ackclock, tmp_path, monkeypatch, capsys):
    ackclock("examples")
    monkeypatch.chdir(tmp_path)
    (program,) = blocks("python", "docs/start.md")
    (tmp_path / "program.py").write_text(program)
    runpy.run_path("program.py")
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 3
    for line in lines:
        rates_mbps = [float(rate) for rate in re.findall(r"\d+\.\d", line)]
        assert 90 < sum(rates_mbps) < 100, line
        assert "Mb/s" in line


def test_every_path():
    for path in re.findall(r"`([\w./]+/[\w./]*)`", README):
        if not re.match(r"out/|\.venv|leith2007|\./", path) and "PAPER" not in path:
            assert (ROOT / path).exists() or list(ROOT.glob(f"python/ackclock/papers/{path}")), path


PAGES_WITH_COMMANDS = [
    *(
        "start",
        "determinism",
        "interchange",
        "links",
        "reproduce",
        "statistics",
        "sweep",
    ),
]


@pytest.mark.slow
@pytest.mark.parametrize("page", PAGES_WITH_COMMANDS)
def test_the_commands_of_a_page(page, ackclock):
    """Of pages that need no root and no minutes. Of all: `test_how_each_is_typed`."""
    if page != "start":
        ackclock("examples")
    for words in shown(f"docs/{page}.md"):
        if "SWEEP.toml" in words:  # the reader's own
            continue
        done = ackclock(*words)
        assert done.returncode == 0, (words, done.stderr)


def test_how_each_is_typed():
    """Every command of the documentation has the arguments and options that it is shown with."""
    for module in main.MODULES:
        import_module(f"ackclock.cli.{module}")
    group = typer.main.get_command(console.app)
    pages = [page for page in PAGES if "adr" not in page.parts]
    commands = [(page, words) for page in pages for words in shown(page)]
    assert len(commands) > 60
    for page, words in commands:
        if words[0].startswith("-"):  # --version
            continue
        command, rest = group, words
        while name := getattr(command, "commands", None) and rest[0]:
            assert name in command.commands, (page, words)
            command, rest = command.commands[name], rest[1:]
        try:
            command.make_context("ackclock", rest)
        except typer.TyperException as error:
            pytest.fail(f"{page}: {words}: {error.format_message()}")


@pytest.mark.parametrize("name", scorecards.ALGORITHMS)
def test_scorecards_are_what_the_script_writes(name, tmp_path, cards):
    file = f"{name}.csv"
    scorecards.write(cards[name], tmp_path)
    assert (tmp_path / file).read_text() == (ROOT / "docs" / "scorecards" / file).read_text()


def test_the_page_of_the_scorecards(cards):
    page = (ROOT / "docs" / "scorecards" / "README.md").read_text(encoding="utf-8")
    made = scorecards.readme(list(cards.values()))
    assert page.partition(" of ackclock ")[0] == made.partition(" of ackclock ")[0]


@pytest.fixture(scope="module")
def cards():
    return {each.algorithm: each for each in scorecards.read(ROOT / "docs" / "scorecards")}


PAGES = [
    *(ROOT / page for page in ("README.md", "CONTRIBUTING.md", "vectors/README.md")),
    *sorted(ROOT.glob("docs/**/*.md")),
]


def anchors(page):
    """Of a page's headings, as GitHub makes them."""
    headings = re.findall(r"^#+ (.*)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return [re.sub(r"[^\w\- ]", "", each.lower()).replace(" ", "-") for each in headings]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_link(page):
    for path, anchor in re.findall(
        r"\]\(([^)#\s]*)#?([^)\s]*)\)", page.read_text(encoding="utf-8")
    ):
        if path.startswith("http"):
            continue
        to = (page.parent / path).resolve() if path else page
        assert to.exists(), path
        assert to.is_relative_to(ROOT), f"{path} is outside the repository"
        if anchor:
            assert anchor in anchors(to), f"{path}#{anchor}"


def test_readme_is_the_map():
    """Its links, and theirs, lead to every page; it names the directory of the decisions."""
    found, left = set(), [ROOT / "README.md"]
    while left:
        page = left.pop()
        if page in found:
            continue
        found.add(page)
        links = re.findall(r"\]\(([^)#\s:]+)[^)]*\)", page.read_text(encoding="utf-8"))
        pages = [(page.parent / path).resolve() for path in links if path.endswith(".md")]
        left += [each for each in pages if each.is_relative_to(ROOT)]
    lost = {str(each.relative_to(ROOT)) for each in set(PAGES) - found}
    assert {page for page in lost if not page.startswith("docs/adr/")} == set()


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_name_of_the_python(page):
    if page.is_relative_to(ROOT / "docs" / "adr"):
        return  # of the code as it was
    text = page.read_text(encoding="utf-8")
    for path in re.findall(r"(?<![\w./-])ackclock((?:\.[A-Za-z_]\w*)+)(?![\w/-])", text):
        _, first, *more = path.split(".")
        assert first in dir(ackclock), path
        functools.reduce(getattr, more, getattr(ackclock, first))


@pytest.mark.parametrize("file", generate.FILES)
def test_generated_files(file):
    text = (ROOT / file).read_text(encoding="utf-8")
    assert text == generate.FILES[file](), "run `make generate`"


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        (lambda rows: [row for row in rows if row["claim"] != rows[0]["claim"]], "claims, of 1 "),
        (lambda rows: [rows[0] | {"made by": "commit b"}, *rows[1:]], "of 2 commits"),
        (lambda rows: [rows[0] | {"made by": "a, with changes"}, *rows[1:]], "not committed"),
    ],
)
def test_a_report_that_is_not_whole_and_of_one_commit_is_refused(wrong, said, tmp_path):
    rows = [row | {"made by": "commit a"} for row in claims_page.data(ROOT / "docs")]
    with (tmp_path / "claims.csv").open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, [*rows[0]])
        writer.writeheader()
        writer.writerows(wrong(rows))
    with pytest.raises(SystemExit, match=said):
        claims_page.take(tmp_path, tmp_path / "docs")
    assert not (tmp_path / "docs").exists()


def test_the_page_of_claims():
    """Made of its data, which has every claim of the papers with its words."""
    rows = claims_page.data(ROOT / "docs")
    page = (ROOT / "docs" / "claims.md").read_text(encoding="utf-8")
    assert page == claims_page.page(rows), "run `python scripts/claims_page.py docs`"
    assert max(map(len, page.splitlines())) <= 400
    for row in rows:
        line = claims_page.line(row)
        assert row["part"] or len("  ".join(line)) <= 140, line
    claims = {row["claim"]: row["the paper says"] for row in rows if not row["part"]}
    assert claims == {
        claim.id: claim.says for named in papers.load("all") for claim in named.figure.claims
    }


LINUX = linux_page.data(ROOT / "docs")


def test_how_close_it_is_to_linux():
    """The page is made of the data; what is in it, the scripts measure."""
    page = (ROOT / "docs" / "linux.md").read_text(encoding="utf-8")
    assert page == linux_page.page(LINUX), "run `python scripts/linux_page.py docs`"
    assert len(page.split()) <= 2500
    assert {row["run"] for row in LINUX["traces"]} == set(linux_reference.SINGLE)
    assert {row["run"] for row in LINUX["several"]} == set(linux_reference.BANDS)
    pairs = {
        (row["algorithm"], int(row["rate_mbps"]), int(row["rtt_ms"])) for row in LINUX["alone"]
    }
    assert pairs == {(name, *path) for name in fidelity.ALGORITHMS for path in fidelity.PATHS}
    titles = [title for title, *_ in kernel_vs_sim.SCENARIOS.values()]
    assert list(dict.fromkeys(row["scenario"] for row in LINUX["kernel"])) == titles


def test_the_data_of_scenarios_drawn_at_random():
    of = {int(row["seed"]): row for row in LINUX["drawn"]}
    assert list(of) == list(drawn.SEEDS)[: len(of)]
    assert {*drawn.CAUSES} <= {seed for seed, row in of.items() if row["verdict"] == "outside"}
    for seed, row in of.items():
        each = drawn_scenarios.drawn(seed)
        assert row["scenario"] == each.words
        assert row["flows"] == str(len(each.scenario.flows))
        assert (row["draws_random_numbers"] == "yes") == each.draws_random_numbers
        assert (row["verdict"] == "equal") == (row["linux"] == row["simulator"])


def test_scenarios_drawn_at_random_have_every_key():
    """But what is drawn in each of them; a new key is an error of the script."""
    of = [drawn_scenarios.drawn(seed) for seed in drawn.SEEDS]
    extras = {
        f"{where}.{key}".lstrip(".")
        for where, ways in drawn_scenarios.WAYS.items()
        for key, way in ways.items()
        if not isinstance(way, str)
    }
    seen = {key for each in of for key in each.extras}
    assert seen < extras
    assert len(extras - seen) <= 3
    assert {len(each.extras) for each in of} == set(range(1, 9))


@pytest.mark.parametrize("side", linux_figures.SEEDS)
def test_the_data_of_figures_on_linux(side):
    found = {(row["figure"], row["quantity"], row["point"]) for row in LINUX[f"figures-{side}"]}
    assert found == {
        (named.name, quantity, check.say(point))
        for named in papers.load("all")
        if (check := named.figure.checks.get(side))
        for quantity in check.quantities
        for point in check.experiment.points
    }


def test_data_is_written_as_it_is_read(tmp_path):
    """With six digits, and the page beside it."""
    shutil.copytree(ROOT / "docs" / "linux", tmp_path / "linux")
    (first, *rest) = LINUX["alone"]
    linux_page.save(tmp_path, "alone", [first | {"simulator_retransmitted": 1 / 3}, *rest])
    again = linux_page.data(tmp_path)
    assert again["alone"] == [first | {"simulator_retransmitted": "0.333333"}, *rest]
    assert again["drawn"] == LINUX["drawn"]
    page = (tmp_path / "linux.md").read_text(encoding="utf-8")
    assert f"| {first['linux_retransmitted']} / 0.333333 |" in page
    assert "77 of 78 pairs" in page


def test_algorithms_can_be_told_apart():
    names = [algorithm["name"] for algorithm in _core.algorithms()]
    assert set(names) <= set(style.ALGORITHMS)
    for second in ("marker", "line"):
        looks = [(style.look(name).colour, getattr(style.look(name), second)) for name in names]
        assert len(looks) == len(set(looks))
    meet = ("cubic", "reno", "bbr", "bbr3", "vegas", "copa", "cubic_fc", "square_ff", "htcp")
    assert len({style.look(name).colour for name in meet}) == len(meet)


def test_the_figure_of_contributing(tmp_path):
    (figure,) = re.findall(
        r"^```python\n(.*?)^```", (ROOT / "CONTRIBUTING.md").read_text(), re.DOTALL | re.MULTILINE
    )
    (tmp_path / "paper").mkdir()
    (tmp_path / "paper" / "__init__.py").write_text('TITLE = "A paper"\n')
    (tmp_path / "paper" / "fig07.py").write_text(figure)
    code = (
        "import sys; from ackclock import papers; from ackclock.cli.main import main; "
        f"papers.__path__.append({str(tmp_path)!r}); main()"
    )
    command = [sys.executable, "-c", code, "reproduce", "paper/fig7", "--quick", "-o", "out"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "goodput of CUBIC / Reno" in (tmp_path / "out" / "index.html").read_text()
