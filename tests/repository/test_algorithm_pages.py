"""The pages of the algorithms are what the files say, and every algorithm makes a sane flow."""

import pytest

import algorithm_pages as pages
from common import ROOT

DIRECTORY = ROOT / "docs" / "algorithms"
ROWS = [(spec, profile) for _, spec, profile in pages.rows()]


@pytest.mark.parametrize("name", pages.ALGORITHMS)
def test_page(name):
    assert (DIRECTORY / f"{name}.md").read_text() == pages.page(name), "run `make docs`"
    assert 5_000 < (DIRECTORY / f"{name}.svg").stat().st_size < 60_000


def test_index():
    """But for what is measured."""
    written = (DIRECTORY / "README.md").read_text().splitlines()
    start = written.index("|---|--:|--:|--:|--:|--:|--:|--:|") + 1
    table = written[start : start + len(ROWS)]
    made = pages.index(lambda label, *_: f"| {label} |").splitlines()
    assert [f"|{line.split('|')[1]}|" for line in table] == made[start : start + len(ROWS)]
    assert (
        written[:start] + written[start + len(ROWS) :] == made[:start] + made[start + len(ROWS) :]
    )


def test_nothing_else_is_there():
    files = {f"{name}.{suffix}" for name in pages.ALGORITHMS for suffix in ("md", "svg")}
    assert {path.name for path in DIRECTORY.iterdir()} == files | {"README.md"}


@pytest.mark.parametrize(("spec", "profile"), ROWS)
def test_a_flow_is_sane(spec, profile):
    measured = pages.measured(spec, profile, seed=1)
    for measure, (least, most) in pages.bounds(spec).items():
        assert least <= measured[measure] <= most, measure


def test_exceptions_are_needed():
    """Each one's algorithm or preset is outside BOUNDS somewhere."""
    for key in pages.EXCEPTIONS:
        needed = False
        for spec, profile in ROWS:
            if key in (spec, spec.partition("@")[0]):
                row = pages.measured(spec, profile, seed=1)
                needed |= any(not a <= row[name] <= b for name, (a, b) in pages.BOUNDS.items())
        assert needed, key
