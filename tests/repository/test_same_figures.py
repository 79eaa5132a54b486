"""Two runs of `ackclock reproduce all --quick` are compared file by file."""

import polars as pl
import pytest
from matplotlib.image import imsave

from same_figures import differing


@pytest.fixture
def both(tmp_path):
    """Two directories that differ in what may differ: the commit, and how long it took."""
    for name, commit, took_s in (("before", "abc", 1), ("after", "def, with changes", 2)):
        place = tmp_path / name
        place.mkdir()
        (place / "index.html").write_text(
            f"2 runs; they took {took_s} s of processor time. ackclock 0.1.0+12, commit {commit}."
        )
        (place / "manifest.json").write_text(
            f'{{"ackclock": "0.1.{took_s}+12", "keys": ["{took_s}{"a" * 31}"]}}'
        )
        rows = pl.DataFrame({"mbps": [1.5, float("nan")], "cpu_time_s": [took_s, took_s]})
        rows.write_parquet(place / "fig.parquet")
        rows.write_csv(place / "fig.csv")
        imsave(place / "fig.png", [[0.0, 0.5], [1.0, 0.25]])
        (place / "paper-source.html").write_text(name)
    return tmp_path / "before", tmp_path / "after"


def test_what_no_figure_rests_on_may_differ(both):
    assert differing(*both) == []


def test_each_difference_is_named(both):
    after = both[1]
    (after / "index.html").write_text("3 runs; they took 1 s of processor time. ackclock 0.1.0+12.")
    rows = pl.DataFrame({"mbps": [1.5000001, None], "cpu_time_s": [1, 1]})
    rows.write_parquet(after / "fig.parquet")
    rows.write_csv(after / "fig.csv")
    imsave(after / "fig.png", [[0.0, 0.5], [1.0, 0.3]])
    (after / "more.svg").write_text("<svg>")
    names = ["fig.csv", "fig.parquet", "fig.png", "index.html", "more.svg"]
    assert differing(*both) == names
