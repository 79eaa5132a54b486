"""What standards say: the whole group runs here, and its verdicts are those of docs/claims.md."""

import polars as pl
import pytest

from ackclock import AckclockError, Flow, papers, run
from ackclock.figures.batches import batches_of
from ackclock.pages import tally
from ackclock.papers.ha2008 import related


def test_the_verdicts_are_those_of_the_page(ackclock, tmp_path):
    done = ackclock("reproduce", "standards", "-o", "out")
    assert done.returncode == 0, done.stderr
    claims = pl.read_parquet(tmp_path / "out" / "claims.parquet")
    found = dict(claims.select("id", "verdict").iter_rows())
    assert len(found) >= 15
    assert found == {name: tally.at_full_length()[name]["verdict"] for name in found}


@pytest.mark.parametrize(
    ("name", "setting"),
    [("cubicfc/fig5", "cubic_fc:f_max=0.3"), ("ha2008/related", "fast:alpha=80")],
)
def test_a_setting_of_one_algorithm_of_a_figure_is_taken(name, setting):
    (named,) = papers.load(name)
    batches = batches_of([named], 1, False, [setting], False)
    flows = {
        str(each.algorithm) for batch in batches for of in batch.scenarios for each in of.flows
    }
    assert any(setting.partition(":")[2] in each for each in flows)
    with pytest.raises(AckclockError, match="no flow or session of these figures has that"):
        batches_of([named], 1, False, ["copa:delta=0.4"], False)


def test_nothing_waits_on_an_idle_path():
    two_packets = (Flow(algorithm="reno", receive_window="2896B"),)
    idle = related._alone("reno").replace(flows=two_packets)
    assert related.alone(run(idle)).waiting_packets == pytest.approx(0, abs=1e-3)
