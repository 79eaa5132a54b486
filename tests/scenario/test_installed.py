"""What hosts as installed give."""

import json
import re

import pytest

from ackclock import AckclockError, Scenario, _core, run
from ackclock.scenario import installed

LINK = {"rate": "10gbit", "buffer": "1bdp"}
FLOW = {"algorithm": "cubic"}
ROOM = {"receive_buffer": "6MiB"}
INSTALLED = "as installed"


def note(*flows, links=(LINK,)):
    given = {"duration": "5s", "rtt": "100ms", "link": [*links]}
    return installed.note(Scenario.parse(given | {"flow": [*flows]}))


def resolved(*flows, **given):
    given = {"duration": "5s", "rtt": "100ms", "bottleneck": LINK} | given
    return json.loads(Scenario.parse(given | {"flow": [*flows]}).resolve())


def test_hosts_as_installed():
    """They are what the keys say that it stands for, and keys that are written win."""
    session = {"algorithm": "reno", "size": "9packets", "profile": "linux-7"}
    others = [{"receive_window": "1MB"}, {"receive_buffer": "1MiB"}, {"stack": "udp"}]
    own = [FLOW, *(FLOW | each for each in others)]
    left = resolved(*own, session=[session], host=INSTALLED)
    own[0], session = own[0] | ROOM, session | {"receive_buffer": "32MiB"}
    assert left == resolved(*own, session=[session], hz=250)
    assert resolved(FLOW, host=INSTALLED, hz=1000) == resolved(FLOW | ROOM)


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"host": "mine"}, 'host = "mine": choose "as installed"'),
        (
            {"host": INSTALLED, "profile": "linux-2.6.32"},
            'flow 1: host = "as installed": is not modelled with linux-2.6.32; write profile = ',
        ),
    ],
)
def test_hosts_that_there_are_not(given, says):
    with pytest.raises(AckclockError, match=re.escape(says)):
        resolved(FLOW, **given)


def test_the_simulator_gives_as_much():
    given = {"duration": "100s", "rtt": "50ms", "sample_interval": "0s", "bottleneck": LINK}
    flows = run(Scenario.parse(given | {"flow": [FLOW | ROOM]})).flows
    bps = 8 * flows["delivered_bytes"][0] / 100
    rmem, window = _core.installed_window("linux-6", 1448)
    assert rmem == 6 << 20
    assert 0.98 < bps * 0.05 / 8 / window < 1


@pytest.mark.parametrize(
    ("flow", "links", "says"),
    [
        ({}, [{}], "flow 1: linux-6 as installed (tcp_rmem of 6 MiB) gives at most 301 Mb/s"),
        ({"rtt": "20ms", "count": 2}, [{}], "flow 3: linux-6"),
        ({"profile": "linux-7", "rtt": "1s"}, [{}], "linux-7 as installed (tcp_rmem of 32 MiB)"),
        ({}, [{"rate": "1gbit"}, {"delay": "100ms", "rate": "2gbit"}], "150 Mb/s"),
        ({}, [{"rate": "1gbit", "delay": "100ms"}, {"rate": "100mbit"}], None),
        ({"route": [1], "back": [2]}, [{}, {"delay": "100ms"}], "150 Mb/s"),
        ({}, [{"rate": "1gbit"}], None),
        (ROOM, [{}], None),
        ({"receive_window": "1GB"}, [{}], None),
        ({"profile": "linux-2.6.32"}, [{}], None),
        ({"stack": "quinn"}, [{}], None),
    ],
)
def test_a_flow_that_is_far_or_fast(flow, links, says):
    second = (FLOW,) if "count" in flow else ()
    found = note(FLOW | flow, *second, links=[LINK | each for each in links])
    assert found is None if says is None else says in found


def test_a_run_says_so(ackclock, tmp_path):
    text = '[bottleneck]\nrate = "10gbit"\nbuffer = "1bdp"\n[[flow]]\nalgorithm = "cubic"\n'
    (tmp_path / "far.toml").write_text(f'duration = "1s"\nrtt = "100ms"\n{text}')
    said = ackclock("run", "far.toml").stdout.splitlines()[-1]
    assert said.startswith("note: flow 1: ")
    assert said.endswith('301 Mb/s here; host = "as installed" simulates it')
    for more in (
        ("--json",),
        ("--set", "bottleneck.rate=1gbit"),
        ("--set", "flow.receive_buffer=6MiB"),
        ("--set", "host=as installed"),
    ):
        done = ackclock("run", "far.toml", *more)
        assert done.returncode == 0
        assert "note:" not in done.stdout + done.stderr
