"""A usual scenario for Linux in virtual time."""

from ackclock import Bottleneck, Flow, Scenario


def scenario(*flows, **fields):
    usual = {
        "duration": "10s",
        "rtt": "40ms",
        "bottleneck": Bottleneck(rate="20mbit", buffer="1bdp"),
        "flows": flows or (Flow(algorithm="cubic"),),
    }
    return Scenario(**usual | fields)
