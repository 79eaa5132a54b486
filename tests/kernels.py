"""Runs on this machine's kernel."""

from ackclock import Bottleneck, Scenario, kernel


def scenario(*flows, rate="20mbit", duration="3s", **fields):
    link = {key: fields.pop(key) for key in ("at",) if key in fields}
    bottleneck = Bottleneck(rate=rate, buffer=fields.pop("buffer", "1bdp"), **link)
    fields = {"rtt": "20ms"} | fields
    return Scenario(duration=duration, bottleneck=bottleneck, flows=flows, **fields)


def run(*flows, **fields):
    return kernel.run(scenario(*flows, **fields), attempts=1)
