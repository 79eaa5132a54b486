"""A branch of a run: the same until a time, and then another future."""

import dataclasses

import polars as pl
import pytest

from ackclock import AckclockError, Result, Scenario, run, run_all
from common import ROOT

FIELDS = {
    "duration": "10s",
    "rtt": "40ms",
    "bottleneck": {"rate": "20mbit", "buffer": "60packets"},
    "flow": [{"algorithm": "cubic"}, {"algorithm": "reno", "start": "1s"}],
}


@pytest.fixture(scope="module")
def parent():
    return run(Scenario.parse(FIELDS))


def before(result, time_us):
    early = pl.col("time_us") < time_us
    return [getattr(result, name).filter(early) for name in ("samples", "events", "queues")]


def is_equal(frames, others):
    return all(frame.equals(other) for frame, other in zip(frames, others, strict=True))


def test_without_a_change_it_is_its_parent(parent):
    same = parent.branch("5s")
    assert same.manifest["trace_hash"] == parent.manifest["trace_hash"]
    assert same.manifest["key"] != parent.manifest["key"]
    assert same.scenario.changes[0].at == "5s"


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ({"drop": "flow1:next"}, "drop=flow1:next"),
        ({"keep": "flow2:3"}, "keep=flow2:3"),
        ({"set": {"bottleneck.rate": "5mbit"}}, "set=bottleneck.rate=5mbit"),
        ({"set": {"bottleneck.loss": 0.01}}, "set=link1.loss=0.01"),
        ({"set": {"flow.1.algorithm": "bbr"}}, "set=flow1.algorithm=bbr"),
        (
            {"drop": "flow1:2", "set": {"flow1.algorithm": "cubic:beta=0.9,tcp_friendliness=0"}},
            "drop=flow1:2,set=flow1.algorithm=cubic:beta=0.9,tcp_friendliness=0",
        ),
    ],
)
def test_the_same_until_a_time(parent, change, text, tmp_path):
    other = parent.branch("5s", **change)
    assert is_equal(before(other, 5_000_000), before(parent, 5_000_000))
    assert other.manifest["trace_hash"] != parent.manifest["trace_hash"]
    # By the text of the command line, by its own file, and from what is kept.
    in_text = parent.scenario.branched(f"at=5s,{text}")
    assert in_text == other.scenario
    (tmp_path / "branch.toml").write_text(in_text.to_toml())
    from_file = Scenario.from_toml(tmp_path / "branch.toml")
    assert from_file.key() == other.manifest["key"]
    other.save(tmp_path / "kept")
    again = run(Result.load(tmp_path / "kept").scenario)
    assert again.manifest["trace_hash"] == other.manifest["trace_hash"]


def test_one_packet_is_lost(parent):
    dropped = parent.flows["dropped_packets"].to_list()
    quiet = parent.scenario.replace(bottleneck={"buffer": "4000packets"})
    quiet = quiet.assign("flow.initial_ssthresh_packets=30", "duration=4s")
    old = run(quiet)
    assert old.flows["dropped_packets"].to_list() == [0, 0] != dropped
    new = old.branch("2s", drop="flow1:next")
    assert new.flows["dropped_packets"].to_list() == [1, 0]


def test_a_branch_of_a_branch(parent):
    twice = parent.branch("6s", drop="flow1:next").branch("3s", set={"bottleneck.rate": "10mbit"})
    assert [change.at for change in twice.scenario.changes] == ["6s", "3s"]
    both = parent.scenario.branched("at=3s,set=bottleneck.rate=10mbit", "at=6s,drop=flow1:next")
    assert run(both).manifest["trace_hash"] == twice.manifest["trace_hash"]


def test_a_file_of_an_algorithm(parent, tmp_path):
    (tmp_path / "mine.c").write_text((ROOT / "algorithms" / "tcp_scalable.c").read_text())
    text = Scenario.parse(FIELDS).branched("at=5s,set=flow1.algorithm=./mine.c").to_toml()
    (tmp_path / "branch.toml").write_text(text)
    other = run(Scenario.from_toml(tmp_path / "branch.toml"))
    assert is_equal(before(other, 5_000_000), before(parent, 5_000_000))
    names = {each["name"] for each in other.manifest["algorithms"].values()}
    assert names == {"cubic", "reno", "scalable"}


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("drop=flow1:next", "write when, like at=12.5s,drop=flow1:next"),
        ("at=5s,drop=1", 'drop = "1": write flow1:next, or how many packets: flow1:3'),
        ("at=5s,rate=5mbit", "at=5s,rate=5mbit: write at=TIME and then drop=flow1:next"),
        ("at=5s,set=flow1.start=2s", "flow1.start: does not change in a run; these do: bottleneck"),
        ("at=5s,drop=flow3:next", "change 1: flow = 3: there is none; choose from 1 to 2"),
        ("at=50s", 'change 1: at = "50s": the run has ended by then; write a time before its'),
        ("at=5s,set=flow1.algorithm=dctcp", 'algorithm = "dctcp": hosts agree on ECN when they'),
        ("at=5s,set=flow1.algorithm=cubik", "unknown algorithm `cubik`"),
        (
            "at=5s,set=link2.rate=1mbit",
            "change 1: link = 2: there is none; choose from 1 to 1",
        ),
        ("at=soon,drop=flow1:next", 'at = "soon"'),
    ],
)
def test_what_is_wrong_and_what_to_write(text, words):
    with pytest.raises(AckclockError) as refused:
        Scenario.parse(FIELDS).branched(text).check()
    assert words in str(refused.value)


def test_keep_needs_a_queue_that_drops_at_the_tail():
    scenario = Scenario.parse(FIELDS).replace(bottleneck={"queue": "codel"})
    with pytest.raises(AckclockError, match="only a drop_tail queue has a place for it"):
        scenario.branched("at=5s,keep=flow1:next").check()


def test_only_the_simulator_branches(parent):
    on_linux = dataclasses.replace(parent, manifest=parent.manifest | {"backend": "vlinux"})
    with pytest.raises(AckclockError, match=r"only the simulator branches a run"):
        on_linux.branch("5s")


def test_branches_are_kept(parent, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    scenarios = [parent.scenario.branched(f"at={at}s,drop=flow1:next") for at in (3, 4, 3)]
    first, second, third = run_all(scenarios, lambda result: result.manifest["trace_hash"])
    assert first == third != second
