"""Runs whose rows go to files as they come: the same result, in less memory."""

import subprocess
import sys
import threading

import polars as pl
import pytest

from ackclock import AckclockError, Result, Scenario, _core, run, tables
from ackclock.hosts import streamed
from ackclock.results import summary
from common import ACKCLOCK

#: 900 000 rows: the engine hands over some of them before the end.
FINE = """
duration = "6s"
rtt = "40ms"
sample_interval = "20us"
[bottleneck]
rate = "10mbit"
buffer = "1bdp"
[[flow]]
algorithm = "cubic"
count = 2
"""


def test_the_tables_and_the_summary_are_the_same(tmp_path):
    scenario = Scenario.from_text(FINE.encode(), source="fine")
    whole = run(scenario)
    with streamed.run(scenario, place=tmp_path) as result:
        assert isinstance(result, streamed.Streamed)
        assert "samples lazy" in repr(result)
        summed = summary.summarise(result)
        result.save(tmp_path / "out")
    assert [path.name for path in tmp_path.iterdir()] == ["out"]
    times = {key: summed[key] for key in ("wall_time_s", "cpu_time_s")}
    assert summed == summary.summarise(whole) | times
    loaded = Result.load(tmp_path / "out")
    for table in tables.TABLES:
        assert getattr(loaded, table).equals(getattr(whole, table)), table


def test_a_live_run_hands_over_its_rows_as_it_goes():
    """At each look of who waits for it, however few. The run waits here for two looks."""
    scenario = Scenario.from_text(FINE.encode(), source="fine")
    parts, results, looked = [], [], threading.Semaphore(0)

    def take(_, raw):
        parts.append(raw)
        if len(parts) <= 3:
            while looked.acquire(blocking=False):
                pass
            assert all(looked.acquire(timeout=300) for _ in range(2))

    def look(_):
        looked.release()

    _core.run_many(
        [scenario.prepare()], 1, look, lambda _, raw: results.append(raw), take, live=True
    )
    rows = [tables.frame("samples", each["samples"]).height for each in parts]
    # Unasked, it hands over 97 000.
    assert max(rows[1:4]) < 50_000, rows
    at_once = run(scenario)
    for table in streamed.GROWING:
        whole = pl.concat([tables.frame(table, each[table]) for each in (*parts, *results)])
        assert whole.equals(getattr(at_once, table)), table


def test_rows_that_cannot_be_kept_end_the_run():
    scenario = Scenario.from_text(FINE.encode(), source="fine")
    results = []

    def full(*_):
        raise AckclockError("the disk is full")

    with pytest.raises(AckclockError, match="the disk is full"):
        _core.run_many([scenario.prepare()], 1, None, lambda *raw: results.append(raw), full)
    assert not results


def test_a_long_run_keeps_few_rows_in_memory(tmp_path):
    """4.5 million rows: they would need 0.9 GB at once."""
    (tmp_path / "fine.toml").write_text(FINE.replace("6s", "30s"))
    program = f"""
import resource, subprocess
subprocess.run([{str(ACKCLOCK)!r}, "run", "fine.toml", "-o", "out"], check=True, stdout=-3)
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)
"""
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert int(done.stdout) < 600_000, "KiB"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["fine.toml", "out"]
