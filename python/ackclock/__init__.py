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
- `evaluate`: asks of an algorithm what RFC 9743 asks; returns the scorecard.
- `attack`: searches the scenario in which an algorithm does worst, or hurts others most.
- `gym`: environments of Gymnasium, in which a policy learns.

Look at it:

- `Result`: what a run recorded, as tables; `Result.save` and `Result.load`. A notebook shows it;
  `Result.plot` draws it, `Result.to_pandas`, `Result.to_xarray` and `Result.to_csv` export it;
  `Result.branch` runs it another way from a time on.
- `compare_runs`: several results in one picture.
- `Live`: a picture in a notebook, with sliders for keys of the scenario.
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

from ackclock import engine as _engine  # noqa: F401 (it chooses `_core`)

TYPE_CHECKING = False  # what `typing` has, without 10 ms of importing it
if TYPE_CHECKING:
    from types import ModuleType

    from ackclock import figures as figures
    from ackclock import gym as gym
    from ackclock import papers as papers
    from ackclock.base import units as units
    from ackclock.base.errors import AckclockError as AckclockError
    from ackclock.draw import plot as plot
    from ackclock.draw.live import Live as Live
    from ackclock.draw.overlay import compare_runs as compare_runs
    from ackclock.estimates import stats as stats
    from ackclock.figures import reproduce as reproduce
    from ackclock.hosts import kernel as kernel
    from ackclock.hosts import vlinux as vlinux
    from ackclock.hosts.ray import Ray as Ray
    from ackclock.hosts.threads import Local as Local
    from ackclock.hosts.work import run_all as run_all
    from ackclock.results import metrics as metrics
    from ackclock.results import tables as tables
    from ackclock.results.pcapng import Pcapng as Pcapng
    from ackclock.results.result import Result as Result
    from ackclock.results.result import run as run
    from ackclock.scenario import traffic as traffic
    from ackclock.scenario.scenario import (
        Bottleneck as Bottleneck,
    )
    from ackclock.scenario.scenario import (
        Flow as Flow,
    )
    from ackclock.scenario.scenario import (
        Scenario as Scenario,
    )
    from ackclock.scenario.scenario import (
        Session as Session,
    )
    from ackclock.scorecard.attack import attack as attack
    from ackclock.scorecard.data import evaluate as evaluate
    from ackclock.studies import compare as compare
    from ackclock.sweeps.sweep import sweep as sweep

    __version__: str

#: Where a name is. It is imported at its first use, so that the command starts at once.
#: No `__all__`: with it `help(ackclock)` prints every method of every class.
_HOME = {
    "AckclockError": "base.errors",
    "Bottleneck": "scenario.scenario",
    "Flow": "scenario.scenario",
    "Live": "draw.live",
    "Local": "hosts.threads",
    "Pcapng": "results.pcapng",
    "Ray": "hosts.ray",
    "Result": "results.result",
    "Scenario": "scenario.scenario",
    "Session": "scenario.scenario",
    "attack": "scorecard.attack",
    "evaluate": "scorecard.data",
    "compare_runs": "draw.overlay",
    "run": "results.result",
    "run_all": "hosts.work",
    "sweep": "sweeps.sweep",
}
#: Where a module is; `figures`, `gym` and `papers` are packages.
_MODULES = {
    "compare": "studies.compare",
    "figures": "figures",
    "gym": "gym",
    "kernel": "hosts.kernel",
    "metrics": "results.metrics",
    "papers": "papers",
    "plot": "draw.plot",
    "reproduce": "figures.reproduce",
    "stats": "estimates.stats",
    "tables": "results.tables",
    "traffic": "scenario.traffic",
    "units": "base.units",
    "vlinux": "hosts.vlinux",
}

if not TYPE_CHECKING:

    def __getattr__(name: str) -> object:
        if name == "__version__":
            return import_module("ackclock._core").engine_version()
        if name in _MODULES:
            module = import_module(f"ackclock.{_MODULES[name]}")
            module.__dir__ = lambda: _own(module)
            return module
        if name in _HOME:
            return getattr(import_module(f"ackclock.{_HOME[name]}"), name)
        raise AttributeError(f"module 'ackclock' has no attribute '{name}'")


def _own(module: "ModuleType") -> list[str]:
    """Its names without those that it imports."""
    public = set(getattr(module, "__all__", ()))
    for name, each in vars(module).items():
        is_here = getattr(each, "__module__", None) == module.__name__ and name[0] != "_"
        public |= {name} if is_here or name.startswith("__") else set()
    return sorted(public)


def __dir__() -> list[str]:
    return sorted(
        {*_HOME, *_MODULES, "__version__", *(name for name in globals() if name.startswith("__"))}
    )
