"""A laboratory for TCP congestion control.

>>> import ackclock
>>> scenario = ackclock.Scenario(
...     duration="60s",
...     rtt="100ms",
...     bottleneck=ackclock.Bottleneck(rate="100mbit", buffer="1bdp"),
...     flows=[ackclock.Flow(algorithm="cubic", count=2)],
... )
>>> result = ackclock.run(scenario)
>>> result.samples["cwnd_packets"].max()  # doctest: +SKIP
"""

from ackclock import metrics, stats
from ackclock._core import engine_version
from ackclock.claims import Claim, Measure
from ackclock.errors import AckclockError
from ackclock.run import Result, run
from ackclock.scenario import Bottleneck, Flow, Scenario
from ackclock.sweep import sweep

__version__ = engine_version()

__all__ = [
    "AckclockError",
    "Bottleneck",
    "Claim",
    "Flow",
    "Measure",
    "Result",
    "Scenario",
    "metrics",
    "run",
    "stats",
    "sweep",
]
