"""Documents are short, and speak of the product, not of how the work went."""

import re

import pytest

from ackclock import _core
from conftest import ROOT

DOCS = sorted(ROOT.glob("docs/**/*.md"))
PAGES = [*(ROOT / name for name in ("README.md", "CHANGELOG.md", "CONTRIBUTING.md")), *DOCS]
#: Words of a diary: whose commit, which machine, what was there once.
DIARY = (
    r"busy machine|slower machine|faster machine|[^-]revision [12]\b|\b[0-9a-f]{7}\b \(|, before,"
    r"|\bcommit [0-9a-f]{7}\b|\b20\d\d-[01]\d-[0-3]\d\b"
)


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


def test_an_algorithms_name_decides_nothing():
    """The simulator may ask what a file declares, not what it is called."""
    names = "|".join(algorithm["name"] for algorithm in _core.algorithms())
    of_tests = re.compile(r"^( *)#\[cfg\(test\)\]\n(?:.*;\n|(?:.*\n)*?\1\}\n)", re.MULTILINE)
    sources = [
        path for crate in ("sim", "net") for path in ROOT.glob(f"crates/{crate}/src/**/*.rs")
    ]
    assert len(sources) > 50
    found = [
        f"{path.relative_to(ROOT)}: {match[0]}"
        for path in sources
        for match in re.finditer(
            rf'"(?:{names})(?:@[^"]*|:[^"]*)?"', of_tests.sub("", path.read_text(encoding="utf-8"))
        )
    ]
    assert found == []
