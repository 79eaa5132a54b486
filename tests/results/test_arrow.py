"""Tables without a copy: what polars took over stays, and what nobody took is freed."""

import gc
from pathlib import Path

import polars as pl

from ackclock import _core


def tables(small):
    found = []
    _core.run_many([small.prepare()], 1, None, lambda _, raw: found.append(raw))
    return found[0]


def resident_bytes():
    pages = Path("/proc/self/statm").read_text(encoding="ascii").split()[1]
    return int(pages) * 4096


def test_a_frame_outlives_its_table(small):
    table = tables(small)["samples"]
    frame = pl.DataFrame(table)
    rows, first = len(table), frame.sum().row(0)
    column = frame["cwnd_packets"]
    del table, frame
    gc.collect()
    assert rows > 30
    assert len(column) == rows
    assert column.sum() in first


def test_a_table_is_taken_as_often_as_one_likes(small):
    table = tables(small)["samples"]
    assert pl.DataFrame(table).equals(pl.DataFrame(table))


def test_what_is_not_taken_is_freed(small):
    """Capsules without a consumer, and frames that are dropped, leave nothing."""
    table = tables(small)["samples"]

    def use():
        for _ in range(20_000):
            table.__arrow_c_array__()
        for _ in range(2000):
            pl.DataFrame(table)

    use()
    before = resident_bytes()
    use()
    # A structure of a column has more than 100 bytes: 20 000 tables that stay would be 20 MB.
    assert resident_bytes() - before < 5_000_000
