"""Commands with `--set`, as a reader types them, find what docs/claims.md says of firmness."""

import polars as pl
import pytest

from ackclock.pages import tally

pytestmark = pytest.mark.slow


@pytest.fixture
def claim_of(ackclock, tmp_path):
    """Runs `ackclock claims CLAIM --set …`, and returns the claim's row."""

    def typed(claim, *settings):
        options = [word for each in settings for word in ("--set", each)]
        done = ackclock("claims", claim, *options, "-o", "out")
        assert done.returncode == 0, done.stderr
        assert f"with {', '.join(settings)}" in done.stdout
        (row,) = pl.read_parquet(tmp_path / "out" / "claims.parquet").iter_rows(named=True)
        return row

    return typed


@pytest.mark.parametrize(
    ("claim", "setting", "verdict"),
    [
        ("squareff.fig3.overshoot", "bottleneck.buffer=1024packets", "holds"),
        ("squareff.fig4.synchronised", "bottleneck.buffer=10667packets", "holds"),
        ("squareff.fig3.cbrt-better", "bottleneck.buffer=2000packets", "fails"),
        ("cubicfc.fig5.fc-200s", "cubic_fc:f_max=0.3", "holds"),
    ],
)
def test_a_verdict_turns_as_the_page_says(claim_of, claim, setting, verdict):
    assert claim_of(claim, setting)["verdict"] == verdict
    firmness = tally.at_full_length()[claim]["firmness"]
    assert firmness.startswith("depends")


def test_without_a_tick_figure_12_no_longer_holds(claim_of):
    assert claim_of("leith2007.fig12", "bottleneck.tick=0s")["verdict"] in ("open", "fails")


def test_the_related_work_with_another_alpha(ackclock, tmp_path):
    done = ackclock("reproduce", "ha2008/related", "--set", "fast:alpha=80", "-o", "out")
    assert done.returncode == 0, done.stderr
    claims = pl.read_parquet(tmp_path / "out" / "claims.parquet")
    assert dict(claims.select("id", "verdict").iter_rows())["ha2008.s2.fast"] == "holds"
