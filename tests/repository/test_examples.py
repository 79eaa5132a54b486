"""Every scenario of examples/ runs."""

import pytest

from ackclock import Scenario, metrics, run
from common import ROOT


@pytest.mark.parametrize("path", sorted((ROOT / "examples").glob("*.toml")), ids=lambda p: p.stem)
def test_example(path):
    result = run(Scenario.from_toml(path))
    link = result.resolved["bottleneck"]
    passes = link["policer"]["rate_bps"] / link["rate_bps"] if "policer" in link else 1
    # A flow whose application pauses leaves the link idle.
    pauses = any("writes" in flow for flow in result.resolved["flows"])
    assert (0 if pauses else 0.9) < metrics.utilisation(result) / passes <= 1
    assert (result.flows["delivered_bytes"] > 0).all()
