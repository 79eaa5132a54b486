"""What Linux in virtual time refuses, with or without a machine."""

import os
import re

import numpy as np
import pytest

from ackclock import AckclockError, Bottleneck, Flow, Scenario, vlinux
from ackclock.hosts.vlinux import build, records, tc

USUAL = {
    "duration": "1s",
    "rtt": "40ms",
    "bottleneck": Bottleneck(rate="20mbit", buffer="1bdp"),
    "flows": (Flow(algorithm="cubic"),),
}
REFUSED = {
    "profile": {"profile": "linux-2.6.32"},
    "mss": {"mss": 65_216},
    "jitter": {"jitter": "20ms"},
    "bottleneck.tick": {"bottleneck": {"rate": "20mbit", "buffer": "1bdp", "tick": "1ms"}},
    "bottleneck.burst": {
        "bottleneck": {
            "rate": "20mbit",
            "buffer": "1bdp",
            "burst": "1600B",
            "rate_at": [{"time": "0.5s", "rate": "0bit"}, {"time": "0.6s", "rate": "20mbit"}],
        }
    },
    "bottleneck.queue": {"bottleneck": {"rate": "20mbit", "buffer": "1bdp", "queue": "dualpi2"}},
    'bottleneck.queue = {kind = "step"}': {
        "bottleneck": {"rate": "20mbit", "buffer": "1bdp", "queue": "step"},
        "flows": (Flow(algorithm="dctcp", mss=1000),),
    },
    "bottleneck.limit_packets": {
        "bottleneck": {"rate": "20mbit", "buffer": "50packets", "limit_packets": 51}
    },
    "link 2: tick": {
        "links": [
            {"rate": "20mbit", "buffer": "1bdp"},
            {"rate": "9mbit", "buffer": "1bdp", "tick": "1ms"},
        ],
    },
    "flow 1: ecn": {"flows": (Flow(algorithm="cubic", ecn="accurate"),)},
    "flow 1: profile": {"flows": (Flow(algorithm="cubic", profile="linux-2.6.32"),)},
    "flow 1: initial_ssthresh_packets": {
        "flows": (Flow(algorithm="cubic", initial_ssthresh_packets=30),)
    },
    "delayed_ack_segments": {"delayed_ack_segments": 3},
    "flow 1: delayed_ack_segments": {"flows": (Flow(algorithm="cubic", delayed_ack_segments=3),)},
    "flow 1: stack": {"flows": (Flow(algorithm="cubic", stack="quinn"),)},
    "flow 1: hides": {"flows": (Flow(algorithm="cubic", hides="losses"),)},
}


@pytest.mark.parametrize("field", REFUSED)
def test_what_it_cannot_run_is_refused_by_name(field):
    fields = REFUSED[field]
    usual = dict(USUAL)
    if "links" in fields:
        del usual["bottleneck"]
    with pytest.raises(AckclockError) as error:
        vlinux.run(Scenario(**usual | fields))
    assert str(error.value).startswith(field if "=" in field else f"{field} = ")
    assert "not on the virtual Linux" in str(error.value)


def test_later_kernels_have_only_rack():
    scenario = Scenario(**USUAL | {"flows": (Flow(algorithm="cubic", rack=False),)})
    vlinux.check(scenario, "6.16")
    said = "^flow 1: rack = false: .* Linux has no other .* use the simulator or vlinux$"
    with pytest.raises(AckclockError, match=said):
        vlinux.check(scenario, "7.3")


@pytest.mark.parametrize(
    ("red", "refusal"),
    [
        ({"max": "4194304B"}, "max up to 4194303B with weight_log2 = 9"),
        ({"max": "66kB", "weight_log2": 15}, "max up to 65535B with weight_log2 = 15"),
        ({"max": "2200kB", "weight_log2": 8, "max_p": 0.001}, r"max_p from 0\.00102"),
        ({"gentle": True}, "gentle = false"),
    ],
)
def test_what_sch_red_does_not_take_is_refused_by_name(red, refusal):
    queue = {"kind": "red", "min": "7500B"} | red
    link = {"rate": "20mbit", "buffer": "1bdp", "queue": queue}
    with pytest.raises(AckclockError, match=r"bottleneck\.queue = .* its RED takes " + refusal):
        vlinux.check(Scenario(**USUAL | {"bottleneck": link}))
    queue = {"kind": "red", "min": "7500B", "max": "4194303B"}
    vlinux.check(Scenario(**USUAL | {"bottleneck": link | {"queue": queue}}))
    bucket = link | {"queue": queue, "burst": "9kB"}
    vlinux.check(Scenario(**USUAL | {"bottleneck": bucket}))
    bucket["queue"] = queue | {"idle_packet": "1ms"}
    with pytest.raises(AckclockError, match=r'takes idle_packet = "0s" below a burst'):
        vlinux.check(Scenario(**USUAL | {"bottleneck": bucket}))


def test_an_algorithm_that_linux_lacks_is_refused_by_name():
    with pytest.raises(AckclockError, match=r'flow 1: algorithm = "kernel:htpc".* htcp,') as said:
        vlinux.run(Scenario(**USUAL | {"flows": (Flow(algorithm="linux:htpc"),)}))
    built = re.findall(r"^CONFIG_TCP_CONG_(\w+)=y$", build.CONFIG.read_text(), re.MULTILINE)
    names = {"hstcp": "highspeed"}
    of = {names.get(name.lower(), name.lower()) for name in built} - {"advanced"}
    assert of | {"reno"} == set(str(said.value).rpartition("one of ")[2].split(", "))


def test_without_a_build_it_says_what_to_type(monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    with pytest.raises(AckclockError, match="type: ackclock linux build"):
        vlinux.run(Scenario(**USUAL))


def test_without_the_source_it_says_what_to_install(monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(build, "TARBALL", tmp_path / "linux-source.tar.xz")
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    with pytest.raises(
        AckclockError, match="as root, on Debian 12 or later: apt-get install linux-source"
    ):
        build.build()


def test_where_nothing_can_be_kept_it_says_what_to_set(monkeypatch, tmp_path):
    (tmp_path / "file").touch()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    monkeypatch.setattr(build, "_require", lambda *_: None)
    monkeypatch.setattr(build, "TARBALL", tmp_path / "file")
    with pytest.raises(AckclockError, match=r"file.*: Not a directory; set XDG_CACHE_HOME to"):
        build.build()


def test_reds_weight_is_what_tc_makes_of_its_burst():
    """iproute2's own example: 1000-byte packets, a minimum of 5 of them."""
    assert tc.red_burst(5, 9) >= 5
    with pytest.raises(AckclockError, match="tc cannot set it"):
        tc.red_burst(5, 0)


def test_records_without_room_are_told():
    """The next record has how many were lost before it; without samples there is no next one."""
    some = np.zeros(records.MOST_RECORDS, records.RECORD)
    records.check_complete(some, sampled=True)
    records.check_complete(some[1:], sampled=False)
    records.check_complete(some[:0], sampled=False)
    with pytest.raises(AckclockError, match="sample more often"):
        records.check_complete(some, sampled=False)
    some["lost_records"][-1] = 1
    with pytest.raises(AckclockError, match="sample more often"):
        records.check_complete(some, sampled=True)


#: Writes half of the program, and fails as on a full disk.
GCC = """#!/bin/sh
echo half > "$3"
echo 'No space left on device' >&2
exit 1
"""


def test_of_a_guest_that_was_not_built_nothing_is_left(tmp_path, monkeypatch):
    gcc = tmp_path / "bin" / "gcc"
    gcc.parent.mkdir()
    gcc.write_text(GCC)
    gcc.chmod(0o755)
    built = build.Built(tmp_path / "built")
    built.directory.mkdir()
    monkeypatch.setenv("PATH", str(gcc.parent), prepend=os.pathsep)
    with pytest.raises(AckclockError, match="No space left"):
        build.guest(built)
    assert not list(built.directory.iterdir())
    gcc.write_text('#!/bin/sh\necho whole > "$3"\n')
    assert build.guest(built).read_text() == "whole\n"
    assert list(built.directory.iterdir()) == [build.guest(built)]
