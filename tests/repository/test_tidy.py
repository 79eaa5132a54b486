"""Files are short and in layers; documents speak of the product, not of how the work went."""

import re

import pytest

from ackclock import _core
from circles import TESTS, Crate
from common import ROOT
from mutants import MUTANTS

DOCS = sorted(ROOT.glob("docs/**/*.md"))
PAGES = [*(ROOT / name for name in ("README.md", "CHANGELOG.md", "CONTRIBUTING.md")), *DOCS]
#: Words of a diary: whose commit, which machine, what was there once.
DIARY = (
    r"busy machine|slower machine|faster machine|[^-]revision [12]\b|\b[0-9a-f]{7}\b \(|, before,"
    r"|\bcommit [0-9a-f]{7}\b|\b20\d\d-[01]\d-[0-3]\d\b"
)

#: Where source of ours is, and what is not ours.
SOURCES = ("algorithms", "crates", "examples", "python", "scripts", "tests")
KINDS = {".rs", ".py", ".pyi", ".c", ".h", ".js", ".mjs", ".css", ".html"}
THEIRS = ("uplot", "target")
#: Files that may be longer.
LONG = {
    # An algorithm is one file, as in Linux.
    "algorithms/tcp_bbr3.c",
    # Generated: every table of a scenario.
    "python/ackclock/scenario/keys.py",
}
#: Crates whose files need each other in no circle.
LAYERED = ("host", "linux", "net", "sim")


def words(pages):
    """As `wc -w` counts them."""
    return sum(len(page.read_text(encoding="utf-8").split()) for page in pages)


def lines(page):
    return len(page.read_text(encoding="utf-8").splitlines())


def test_the_readme_is_read_in_five_minutes():
    assert words([ROOT / "README.md"]) <= 700


def test_the_documents_are_a_book_not_a_shelf():
    assert words(DOCS) <= 72_000


def test_the_list_of_changes_is_short():
    assert lines(ROOT / "CHANGELOG.md") <= 60


def test_a_decision_fits_a_screen():
    long = {page.name: lines(page) for page in (ROOT / "docs" / "adr").glob("*.md")}
    assert len(long) > 20
    assert {name: count for name, count in long.items() if count > 50} == {}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_the_product_not_the_work(page):
    text = page.read_text(encoding="utf-8")
    found = [
        f"{page.name}: … {text[max(0, m.start() - 40) : m.end()]}" for m in re.finditer(DIARY, text)
    ]
    assert found == []


def test_a_file_has_one_subject():
    files = [
        path
        for directory in SOURCES
        for path in (ROOT / directory).rglob("*")
        if path.suffix in KINDS and not set(path.parts) & set(THEIRS)
    ]
    assert len(files) > 500
    long = {path.relative_to(ROOT).as_posix() for path in files if lines(path) > 700}
    assert long <= LONG


def test_a_file_of_tests_has_one_subject():
    assert [path for path in (ROOT / "tests").rglob("*.py") if lines(path) > 500] == []


@pytest.mark.parametrize("crate", LAYERED)
def test_no_files_need_each_other_in_a_circle(crate):
    assert Crate(ROOT / "crates" / crate / "src").circles() == []


def test_a_circle_is_found(tmp_path):
    """Through what a file hands on, and not through a test or a comment."""
    of_tests = "#[cfg(test)]\nmod tests {\n    use crate::a::Able;\n}\n"
    files = {
        "lib.rs": "mod a; mod b; mod c;\n#[cfg(test)]\nmod d;\npub use a::{Able as Fit, Other};",
        "a.rs": "use crate::b;\npub fn able() { b::f() }\npub struct Able;\npub struct Other;",
        "b/mod.rs": "mod e;\npub use e::E;\nuse super::c::C;\nfn g(_: crate::Fit) {}",
        "b/e.rs": f"//! As crate::a::Able.\npub struct E;\n{of_tests}",
        "c.rs": "use crate::b::E;\npub struct C;",
        "d.rs": "use super::a::Able;\nfn h() { crate::c::C }",
    }
    for name, text in files.items():
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
    assert Crate(tmp_path).circles() == [{"a.rs": ["b/mod.rs"], "b/mod.rs": ["a.rs"]}]


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name)
def test_what_a_mutant_drops_stands_once_in_its_file(mutant):
    assert (ROOT / mutant.path).read_text(encoding="utf-8").count(mutant.old) == 1


@pytest.mark.parametrize("main", sorted(ROOT.glob("crates/*/tests/main.rs")), ids=str)
def test_each_file_of_tests_is_a_part_of_their_program(main):
    declared = set(re.findall(r"^mod (\w+);", main.read_text(encoding="utf-8"), re.MULTILINE))
    files = {path.stem for path in main.parent.glob("*.rs")} - {"main"}
    folders = {path.parent.name for path in main.parent.glob("*/mod.rs")}
    assert declared == files | folders


def test_an_algorithms_name_decides_nothing():
    """The simulator may ask what a file declares, not what it is called."""
    names = "|".join(algorithm["name"] for algorithm in _core.algorithms())
    sources = [
        path
        for crate in ("sim", "net")
        for path in ROOT.glob(f"crates/{crate}/src/**/*.rs")
        if path.name != "tests.rs"
    ]
    assert len(sources) > 50
    aside = re.compile(rf"{TESTS.pattern}|^ *//.*", re.MULTILINE)
    found = [
        f"{path.relative_to(ROOT)}: {match[0]}"
        for path in sources
        for match in re.finditer(
            rf'"(?:{names})(?:@[^"]*|:[^"]*)?"', aside.sub("", path.read_text(encoding="utf-8"))
        )
    ]
    assert found == []


def test_what_a_packet_passes_is_there_and_short():
    """docs/tcp-endpoint.md names the files that a packet and an ACK pass: at most eight each."""
    page = (ROOT / "docs/tcp-endpoint.md").read_text(encoding="utf-8")
    ways = re.findall(r"^\| an? (?:data packet|ACK) \| (.*) \|$", page, re.MULTILINE)
    assert len(ways) == 2
    for way in ways:
        files = re.findall(r"`([\w/]+\.rs)`", way)
        assert len(files) <= 8
        for name in files:
            assert (ROOT / name).exists() or (ROOT / "crates/sim/src" / name).exists(), name
