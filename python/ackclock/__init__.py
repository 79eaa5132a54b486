"""A laboratory for TCP congestion control.

>>> import ackclock
>>> scenario = ackclock.Scenario(
...     duration="60s",
...     rtt="100ms",
...     bottleneck=ackclock.Bottleneck(rate="100mbit", buffer="1bdp"),
...     flows=[ackclock.Flow(algorithm="cubic", count=2)],
... )
>>> result = ackclock.run(scenario)
>>> ackclock.metrics.goodput_bps(result) / 1e6  # Mb/s of each flow; doctest: +SKIP

What to run:

- `Scenario`: a bottleneck and what shares it; `Scenario.from_toml` reads a file.
- `Bottleneck`, `Flow`, `Session`: its parts.
- `units`: "250mbit", "200ms", "1bdp" in numbers.

Run it:

- `run`: one scenario, in the simulator.
- `Pcapng`: a file for its packets.
- `sweep`: a scenario over a grid or a Latin hypercube of its fields, as one table.
- `run_all`: any list of scenarios. Both run on all cores and keep what is finished.
- `Local`: how many cores they take; `Ray`: a cluster that they run on.
- `kernel`: `kernel.run` runs a scenario on this machine's TCP stack.
- `vlinux`: `vlinux.run` runs it on Linux in virtual time.
- `compare`: `compare.compare` runs it on several of them, side by side.

Look at it:

- `Result`: what a run recorded, as tables; `Result.save` and `Result.load`. A notebook shows it;
  `Result.plot` draws it, `Result.to_pandas` and `Result.to_csv` export its tables.
- `compare_runs`: several results in one picture.
- `tables`: what the columns mean.
- `metrics`: throughput, fairness, convergence time and more of a `Result`.
- `stats`: means and intervals over seeds.
- `plot`: charts of a `Result`.
- `traffic`: the sizes and pauses of a session.

Papers:

- `papers`: the figures that `ackclock reproduce` repeats.
- `reproduce`: runs figures, with settings of your own, and judges their claims.
- `figures`: experiments, quantities and claims, of which a figure is made.

A mistake in any of these raises `AckclockError`: one line that says what to type instead.
`__version__` is the version. `help(ackclock.run)` says the rest of `run`, and so on.
"""

from importlib import import_module

TYPE_CHECKING = False  # what `typing` has, without 10 ms of importing it
if TYPE_CHECKING:
    from ackclock import (
        compare,
        figures,
        kernel,
        metrics,
        papers,
        plot,
        reproduce,
        stats,
        tables,
        traffic,
        units,
        vlinux,
    )
    from ackclock.errors import AckclockError
    from ackclock.executors import Local
    from ackclock.many import run_all
    from ackclock.on_ray import Ray
    from ackclock.overlay import compare_runs
    from ackclock.packets import Pcapng
    from ackclock.runs import Result, run
    from ackclock.scenario import Bottleneck, Flow, Scenario, Session
    from ackclock.sweeps import sweep

    __version__: str

#: Where a name is. It is imported at its first use, so that the command starts at once.
_HOME = {
    "AckclockError": "errors",
    "Bottleneck": "scenario",
    "Flow": "scenario",
    "Local": "executors",
    "Pcapng": "packets",
    "Ray": "on_ray",
    "Result": "runs",
    "Scenario": "scenario",
    "Session": "scenario",
    "compare_runs": "overlay",
    "run": "runs",
    "run_all": "many",
    "sweep": "sweeps",
}

__all__ = [
    "AckclockError",
    "Bottleneck",
    "Flow",
    "Local",
    "Pcapng",
    "Ray",
    "Result",
    "Scenario",
    "Session",
    "__version__",
    "compare",
    "compare_runs",
    "figures",
    "kernel",
    "metrics",
    "papers",
    "plot",
    "reproduce",
    "run",
    "run_all",
    "stats",
    "sweep",
    "tables",
    "traffic",
    "units",
    "vlinux",
]


if not TYPE_CHECKING:

    def __getattr__(name: str) -> object:
        if name not in __all__:
            raise AttributeError(f"module 'ackclock' has no attribute '{name}'")
        if name == "__version__":
            return import_module("ackclock._core").engine_version()
        module = import_module(f"ackclock.{_HOME.get(name, name)}")
        return getattr(module, name) if name in _HOME else module


def __dir__() -> list[str]:
    return sorted({*__all__, *(name for name in globals() if name.startswith("__"))})
