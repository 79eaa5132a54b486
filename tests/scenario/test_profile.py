"""Hosts that a flow has of its own."""

import json

import pytest

from ackclock import Scenario

FIELDS = {"duration": "10s", "rtt": "10ms", "bottleneck": {"rate": "10mbit", "buffer": "1bdp"}}


@pytest.mark.parametrize(
    ("scenario", "flow", "bursts"),
    [
        ({}, {"profile": "linux-2.6.18"}, [True, False]),
        ({"profile": "linux-2.6.18"}, {"profile": "linux-7"}, [False, True]),
        ({"tso": True}, {"profile": "linux-2.6.18"}, [True, None]),
        ({}, {"profile": "linux-2.6.18", "tso": True}, [True, True]),
        ({}, {"tso": False}, [True, False]),
    ],
)
def test_a_flow_has_hosts_of_its_own(scenario, flow, bursts):
    """And sends bursts if these do, unless a table says so."""
    flows = [{"algorithm": "reno"} | flow, {"algorithm": "reno"}]
    resolved = json.loads(Scenario.parse(FIELDS | scenario | {"flow": flows}).resolve())
    assert [resolved["tso"], resolved["flows"][0].get("tso")] == bursts
    assert not {"tso", "profile"} & resolved["flows"][1].keys()
