"""A virtual Linux with other ticks: `ackclock linux build --hz 250`."""

import re
from functools import partial

import pytest

from ackclock import AckclockError, Scenario
from ackclock.hosts import vlinux
from ackclock.hosts.vlinux import build
from ackclock.studies import diverge


def pretend(cache, *names):
    for name in names:
        directory = cache / "ackclock" / "vlinux" / name
        directory.mkdir(parents=True)
        (directory / "recipe").write_text(build.recipe())
        (directory / "linux").touch()


def test_each_has_a_kernel_of_its_own(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    pretend(tmp_path, "6.12-abc", "6.12-abc@250")
    usual, other = (build.find().at(hz) for hz in (1000, 250))
    assert [each.directory.name for each in (usual, other)] == ["6.12-abc", "6.12-abc@250"]
    assert (usual.hz, other.hz) == (1000, 250)
    # The scenario says which, so that its results keep their names when another one is built.
    assert build.version_of(usual) == build.version_of(other) == build.version()
    assert usual.at(1000) == usual


@pytest.mark.parametrize(
    ("name", "hz", "says"),
    [
        ("6.12-abc", 250, "write hz = 1000, or type: ackclock linux build --hz 250"),
        ("7.3-abc", 250, "write hz = 1000, or type: ackclock linux build --series 7.3 --hz 250"),
        ("6.12-abc@250", 1000, "write hz = 250, or type: ackclock linux build"),
    ],
)
def test_one_that_is_not_built(tmp_path, monkeypatch, name, hz, says):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    pretend(tmp_path, name)
    series = name.partition("-")[0]
    what = f"hz = {hz}: the virtual Linux {series} with {hz} ticks a second is not built; {says}"
    with pytest.raises(AckclockError, match=f"^{re.escape(what)}$"):
        build.find(series).at(hz)


USUAL = {
    "duration": "10s",
    "hz": 250,
    "rtt": "30.017ms",
    "bottleneck": {"rate": "6mbit", "buffer": "50packets", "loss": 0.08},
    "flows": ({"algorithm": "kernel:cubic"},),
}
#: What its ticks time, or a whole scenario → what differs from `USUAL`.
TIMED = {
    "retransmissions": {},
    "the same of BBR": {"flows": ({"algorithm": "kernel:bbr"},)},
    "timeouts of an outage": {
        "duration": "20s",
        "bottleneck": {"rate": "10mbit", "buffer": "60packets"}
        | {"rate_at": [{"time": "3s", "rate": "0bit"}, {"time": "8.3s", "rate": "10mbit"}]},
    },
    "delayed ACKs": {
        "flows": tuple(
            {"algorithm": "kernel:reno", "size": f"{7 * n}packets", "start": f"{n}s"}
            for n in range(1, 8)
        ),
    },
    "two flows": {
        "rtt": "50ms",
        "bottleneck": {"rate": "20mbit", "buffer": "0.5bdp"},
        "flows": (
            {"algorithm": "kernel:cubic"},
            {"algorithm": "kernel:cubic", "start": "1.1237s", "rtt": "33.313ms"},
        ),
    },
}


@pytest.mark.slow
@pytest.mark.usefixtures("ticking")
@pytest.mark.parametrize("name", TIMED)
def test_every_packet_is_that_of_linux_with_250_ticks(name):
    found = diverge.diverge(Scenario(**USUAL | TIMED[name]))
    assert found.first is None
    assert [each["resolved"]["hz"] for each in found.manifests.values()] == [250, 250]
    assert found.manifests["vlinux"]["hz"] == 250
    assert len(found.packets["vlinux"]) > 200


@pytest.mark.slow
@pytest.mark.usefixtures("ticking", "machine")
def test_its_timers_are_those_of_its_ticks():
    """The simulator with other ticks parts from it."""
    usual = Scenario(**USUAL | {"jitter": "0s"})
    packets, manifests = {}, {}
    for hz in (1000, 250):
        ran = vlinux.run(usual.replace(hz=hz), on_packets=partial(packets.__setitem__, str(hz)))
        manifests[str(hz)] = ran.manifest
    assert [each["hz"] for each in manifests.values()] == [1000, 250]
    assert diverge.between(usual, packets, manifests).first is not None
