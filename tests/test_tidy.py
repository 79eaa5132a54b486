"""Documents are short, and speak of the product, not of how the work went."""

from conftest import ROOT


def words(pages):
    """As `wc -w` counts them."""
    return sum(len(page.read_text(encoding="utf-8").split()) for page in pages)


def lines(page):
    return len(page.read_text(encoding="utf-8").splitlines())


def test_the_readme_is_read_in_five_minutes():
    assert words([ROOT / "README.md"]) <= 700


def test_the_list_of_changes_is_short():
    assert lines(ROOT / "CHANGELOG.md") <= 60


def test_a_decision_fits_a_screen():
    long = {page.name: lines(page) for page in (ROOT / "docs" / "adr").glob("*.md")}
    assert len(long) > 20
    assert {name: count for name, count in long.items() if count > 50} == {}
