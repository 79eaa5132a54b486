"""Runs: the tables, saving and loading, repeatability, sweeps that resume."""

import dataclasses
import errno
import json
import os
import pickle
import subprocess
import time
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from ackclock import AckclockError, Result, Scenario, _core, metrics, plot, run, run_all, tables
from ackclock.base.directory import Directory
from ackclock.results import summary
from common import ROOT, same_tables


def test_a_run_fills_every_table(small):
    scenario = small.replace(session=[{"algorithm": "reno", "size": "10packets"}])
    result = run(scenario)
    for name in tables.TABLES:
        assert len(getattr(result, name)) > 0, name
    assert result.flows["flow"].to_list() == [1, 2]
    assert result.flows["start_us"][1] > 500_000
    sent = [table["sent_packets"].sum() for table in (result.flows, result.sessions)]
    assert result.manifest["packets"] == sum(sent)
    assert set(result.manifest) >= {"ackclock", "trace_hash", "wall_time_s", "scenario", "resolved"}
    assert result.scenario == scenario
    assert result.flows["algorithm"].to_list() == ["reno", "cubic"]


def test_a_table_is_made_when_it_is_first_used(small):
    """A sweep makes no table that its metrics do not use: six of them take longer than a run."""
    result = run(small)
    assert metrics.utilisation(result) == metrics.utilisation(dataclasses.replace(result))
    other = run(result.scenario)
    assert metrics.goodput_bps(other).tolist() == metrics.goodput_bps(result).tolist()
    assert not vars(other).keys() & tables.TABLES.keys()
    copied = pickle.loads(pickle.dumps(other))  # noqa: S301 (our own)
    assert same_tables(copied, result)
    assert copied.manifest["trace_hash"] == result.manifest["trace_hash"]
    with pytest.raises(AttributeError, match="Result has no attribute 'flow'"):
        _ = other.flow


def test_equal_flows_of_the_resolved_form_are_kept_once(small):
    flow = {"algorithm": "reno"}
    flows = run(small.replace(duration="1s", flow=[flow | {"count": 3}, flow])).resolved["flows"]
    assert len(flows) == 4
    assert len({id(each) for each in flows}) == 1


def test_samples_lie_on_the_grid_and_at_events(small):
    result = run(small)
    extra = result.samples.filter(result.samples["time_us"] % 100_000 != 0)
    assert set(extra["time_us"]) <= set(result.events["time_us"])
    assert result.queues["time_us"].is_sorted()


def test_no_sampling(small):
    result = run(small.replace(sample_interval="0s"))
    assert len(result.queues) == 0
    assert len(result.flows) == 2


def test_slow_start_ends_at_the_initial_ssthresh(small):
    """From there standard TCP grows by at most a packet per RTT: 100 in 2 s of 20 ms."""
    flow = {"algorithm": "reno", "initial_ssthresh_packets": 20}
    result = run(small.replace(flow=[flow], bottleneck={"rate": "1gbit", "buffer": "1bdp"}))
    assert result.samples["ssthresh_packets"].unique().to_list() == [20]
    assert 100 < result.samples["cwnd_packets"][-1] <= 120


def test_the_transfers_of_sessions(small):
    web = {"algorithm": "vegas", "count": 3, "gap": "50ms", "size": "10packets"}
    bulk = {"algorithm": "reno", "receive_window": "4kB"}
    result = run(small.replace(session=[web, bulk]))
    assert result.sessions["algorithm"].to_list() == ["vegas"] * 3 + ["reno"]
    assert set(result.manifest["algorithms"]) == {"reno", "cubic", "vegas"}
    transfers = result.transfers
    assert set(transfers["session"]) == {1, 2, 3}
    assert (transfers["size_bytes"] == 14480).all()
    done = transfers.filter(transfers["completed_us"] > 0)
    assert len(done) == result.sessions["transfers"].sum() > 15
    took_s = metrics.completion_s(result)
    assert len(took_s) == len(transfers)
    assert np.isinf(took_s[len(done) :]).all()
    # Handshake and one window: two round trips of 20 ms, and what the queue adds.
    assert (took_s[: len(done)] >= 0.04).all()
    assert result.flows["flow"].to_list() == [1, 2]


def test_both_directions(small):
    back = {"algorithm": "reno", "direction": "reverse"}
    result = run(small.replace(flow=[{"algorithm": "reno"}, back], session=[back]))
    assert result.flows["direction"].to_list() == ["forward", "reverse"]
    assert result.sessions["direction"].to_list() == ["reverse"]
    assert set(result.queues["queue"]) == {1, 2}
    forth = result.queues.filter(result.queues["queue"] == 1)
    rate_bps = 8e6 * forth["sent_bytes"][-1] / forth["time_us"][-1]
    assert metrics.utilisation(result) == pytest.approx(rate_bps / 20e6)
    assert set(run(small).queues["queue"]) == {1}


def test_saving_and_loading(small, tmp_path):
    result = run(small)
    again = Result.load(result.save(tmp_path / "deep" / "run"))
    for name in tables.TABLES:
        assert getattr(again, name).equals(getattr(result, name)), name
        assert getattr(again, name).schema == getattr(result, name).schema, name
    assert again.manifest == json.loads(json.dumps(result.manifest))
    assert sorted(path.name for path in (tmp_path / "deep").iterdir()) == ["run"]


def test_saving_again_replaces_a_result_and_nothing_else(small, tmp_path):
    result = run(small)
    result.save(tmp_path / "run")
    result.save(tmp_path / "run")
    assert len(list((tmp_path / "run").iterdir())) == len(tables.TABLES) + 2
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.tex").write_text("")
    with pytest.raises(AckclockError, match="choose another"):
        result.save(tmp_path / "mine")
    with pytest.raises(AckclockError, match="choose another"):
        result.save(tmp_path / "mine" / "thesis.tex" / "run")
    assert (tmp_path / "mine" / "thesis.tex").exists()


@pytest.mark.parametrize(
    "manifest", ['{"name": "an extension"}', "[]", "not JSON", '{"ackclock": "0.1"}']
)
def test_a_directory_with_someones_files_is_never_replaced(small, tmp_path, manifest):
    mine = tmp_path / "mine"
    mine.mkdir()
    (mine / "manifest.json").write_text(manifest)
    (mine / "thesis.tex").write_text("ten years of work")
    with pytest.raises(AckclockError, match="did not write"):
        run(small).save(mine)
    assert (mine / "thesis.tex").read_text() == "ten years of work"


def test_files_that_appear_during_a_run_are_not_deleted(small, tmp_path):
    run(small).save(tmp_path / "run")
    with Directory(tmp_path / "run") as directory:
        (tmp_path / "run" / "notes.txt").write_text("")
        with pytest.raises(AckclockError, match="choose another"):
            directory.fill(run(small).write)
    assert (tmp_path / "run" / "notes.txt").exists()


def test_a_symlink_to_an_output_stays_one(small, tmp_path):
    (tmp_path / "disk").mkdir()
    (tmp_path / "out").symlink_to("disk")
    for _ in range(2):
        run(small).save(tmp_path / "out")
        assert (tmp_path / "out").is_symlink()
        assert (tmp_path / "disk" / "manifest.json").exists()


def test_the_old_output_comes_back_if_the_new_one_cannot_take_its_place(
    small, tmp_path, monkeypatch
):
    result = run(small)
    result.save(tmp_path / "run")
    rename = Path.rename

    def once(path, target):
        if (path / "new").exists() and target.name == "run" and not target.exists():
            raise OSError(errno.EIO, "disk broken")
        return rename(path, target)

    def missing(*_):
        raise NotImplementedError

    # A system where names cannot be exchanged at once.
    monkeypatch.setattr("ackclock.base.directory._exchange_at_once", missing)
    monkeypatch.setattr(Path, "rename", once)
    failed = pytest.raises(AckclockError, match=r"disk broken. The results are in .*run-kept")
    with Directory(tmp_path / "run") as directory, failed:
        directory.fill(lambda partial: (partial / "new").touch())
    assert Result.load(tmp_path / "run").flows.equals(result.flows)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["run", "run-kept"]


def test_loading_what_is_no_result(tmp_path):
    with pytest.raises(AckclockError, match="not a result"):
        Result.load(tmp_path)
    (tmp_path / "manifest.json").write_text("{")
    with pytest.raises(AckclockError, match="not a result"):
        Result.load(tmp_path)


def test_a_result_of_another_version_is_named_as_such(small, tmp_path):
    """Its tables have other columns, and it is whole: its version is what is wrong."""
    old = run(small)
    old.manifest["ackclock"] = "0.0.9+1234"
    old = dataclasses.replace(old, flows=old.flows.drop("recoveries"))
    old.save(tmp_path / "old")
    with pytest.raises(
        AckclockError, match=r"ackclock 0\.0\.9\+1234 wrote it, and this is .*again"
    ):
        Result.load(tmp_path / "old")


def hashes(scenarios, threads):
    found = {}

    def keep(index, raw):
        found[index] = raw["trace_hash"], pl.DataFrame(raw["samples"])["delivered_bytes"].to_list()

    _core.run_many([each.prepare() for each in scenarios], threads, None, keep)
    return [found[index] for index in range(len(scenarios))]


def test_the_same_seed_repeats_on_any_number_of_threads(small):
    scenarios = [small.replace(seed=seed) for seed in range(1, 9)]
    one = hashes(scenarios, 1)
    assert one == hashes(scenarios, 2) == hashes(scenarios, 5) == hashes(scenarios, 0)
    assert len({trace for trace, _ in one}) == 8


@pytest.mark.slow
def test_a_build_with_assertions_does_the_same(small, tmp_path):
    """The trace hash is that of a build without optimisation and with every assertion."""
    example = Scenario.from_toml(ROOT / "examples" / "two_cubic.toml")
    for scenario in (small, small.replace(profile="linux-2.6.25"), example):
        path = tmp_path / "scenario.json"
        path.write_text(scenario.resolve())
        command = f"cargo run --quiet --package ackclock-sim --example simulate -- {path}"
        done = subprocess.run(command.split(), cwd=ROOT, capture_output=True, text=True, check=True)
        assert run(scenario).manifest["trace_hash"] in done.stdout


def test_an_error_in_one_scenario_is_raised_before_any_runs(small):
    bad = json.loads(small.resolve()) | {"duration_ns": 0}
    with pytest.raises(AckclockError, match="duration_ns = 0"):
        _core.Snapshot().validate(json.dumps(bad))


def test_an_exception_in_a_callback_stops_everything(small):
    def fail(*_):
        raise ZeroDivisionError

    scenarios = [small.replace(duration="1h").prepare()] * 3
    with pytest.raises(ZeroDivisionError):
        _core.run_many(scenarios, 2, fail, lambda *_: None)


def test_what_a_run_costs_is_processor_time(small):
    """Runs that share a core do not count each other's time."""
    cores = os.cpu_count()
    found = []
    scenarios = [small.replace(duration="20s", seed=seed).prepare() for seed in range(4 * cores)]
    started_s = time.monotonic()
    _core.run_many(scenarios, len(scenarios), None, lambda _, raw: found.append(raw))
    elapsed_s = time.monotonic() - started_s
    costs_s = [raw["cpu_time_s"] for raw in found]
    assert len(costs_s) == 4 * cores
    assert 0 < sum(costs_s) <= cores * elapsed_s
    assert "of processor time" in summary.totals(summary.summarise(run(small)))


def test_a_sweep_resumes(small, tmp_path):
    scenarios = [small.replace(seed=seed) for seed in (1, 2, 3)]
    seen = []

    def reduce(result):
        seen.append(result.scenario.seed)
        return result.manifest["wall_time_s"]

    first = run_all(scenarios[:2], reduce, cache=tmp_path)
    again = run_all(scenarios, reduce, cache=tmp_path)
    assert again[:2] == first  # kept, not run again: even the wall time is the same
    assert sorted(seen) == [1, 1, 2, 2, 3]
    assert len(list(tmp_path.iterdir())) == 3


def test_a_damaged_result_is_run_again(small, tmp_path):
    run_all([small], lambda _: None, cache=tmp_path)
    (tmp_path / small.key() / "samples.parquet").write_text("")
    (tmp_path / small.key() / "notes").mkdir()
    run_all([small], lambda _: None, cache=tmp_path)
    assert len(Result.load(tmp_path / small.key()).samples) > 0


def test_a_cache_that_cannot_be_written_is_named_before_any_run(small, tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(AckclockError, match=r"cache directory .*file/cache: cannot be written"):
        run_all([small.replace(duration="100h")], lambda _: None, cache=tmp_path / "file" / "cache")


def test_what_is_no_scenario():
    with pytest.raises(AckclockError, match="pass a Scenario"):
        run("scenario.toml")


def test_flows_may_have_different_algorithms_and_parameters(small, tmp_path):
    """Two parameter sets of one algorithm, one of them a preset, beside another and a user's."""
    (tmp_path / "my_cc.c").write_text((ROOT / "examples" / "my_cc.c").read_text())
    mine = tmp_path / "my_cc.c"
    kept = {
        "cubic:beta=0.5,hystart=0": 0.5,
        "cubic@ha2008": 0.8,
        "reno": 0.5,
        f"{mine}:beta=0.3": 0.3,
        f"{mine}:beta=0.9": 0.9,
    }
    flows = [{"algorithm": spec} for spec in kept]
    result = run(small.replace(duration="10s", flow=flows))
    assert result.flows["algorithm"].to_list() == list(kept)
    for number, share in enumerate(kept.values(), 1):
        losses = result.events.filter(flow=number, kind="recovery")
        assert len(losses) > 0
        for loss in losses.iter_rows(named=True):
            window = loss["cwnd_packets"] * round(share * 1024) // 1024
            assert loss["ssthresh_packets"] == max(window, 2)
    labels = [label for _, _, label in plot._flows(result)]
    assert labels == [
        "flow 1, CUBIC:beta=0.5,hystart=0",
        "flow 2, CUBIC@ha2008",
        "flow 3, Reno",
        "flow 4, my_cc.c:beta=0.3",
        "flow 5, my_cc.c:beta=0.9",
    ]
