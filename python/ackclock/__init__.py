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

What to run: `Scenario`, with `Bottleneck`, `Flow` and `Session`.
Run it: `run` (one), `sweep` (many, on all cores), `kernel.run` (on this machine's TCP stack).
Look at it: `Result` and its tables (`tables`), `metrics`, `stats`, `plot`, `traffic`.
Papers: `papers`, `Claim`, `Every`, `Measure`.
Every error that a user can cause is an `AckclockError`: one line that says what to type instead.
"""

from importlib import import_module

TYPE_CHECKING = False  # what `typing` has, without 10 ms of importing it
if TYPE_CHECKING:
    from ackclock import kernel, metrics, papers, plot, stats, tables, traffic, units
    from ackclock.claims import Claim, Every, Measure
    from ackclock.errors import AckclockError
    from ackclock.runs import Result, run
    from ackclock.scenario import Bottleneck, Flow, Scenario, Session
    from ackclock.sweeps import sweep

#: Where a name is. It is imported at its first use, so that the command starts at once.
_HOME = {
    "AckclockError": "errors",
    "Bottleneck": "scenario",
    "Claim": "claims",
    "Every": "claims",
    "Flow": "scenario",
    "Measure": "claims",
    "Result": "runs",
    "Scenario": "scenario",
    "Session": "scenario",
    "run": "runs",
    "sweep": "sweeps",
}

__all__ = [
    "AckclockError",
    "Bottleneck",
    "Claim",
    "Every",
    "Flow",
    "Measure",
    "Result",
    "Scenario",
    "Session",
    "kernel",
    "metrics",
    "papers",
    "plot",
    "run",
    "stats",
    "sweep",
    "tables",
    "traffic",
    "units",
]


if not TYPE_CHECKING:

    def __getattr__(name: str) -> object:
        if name not in __all__:
            raise AttributeError(f"module 'ackclock' has no attribute '{name}'")
        module = import_module(f"ackclock.{_HOME.get(name, name)}")
        return getattr(module, name) if name in _HOME else module


def __dir__() -> list[str]:
    return sorted({*__all__, *(name for name in globals() if name.startswith("__"))})
