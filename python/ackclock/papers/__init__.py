"""The papers' experiments: one package per paper, one module per figure or table.

A figure's module has a docstring, its title and then the paper's setup, and

* ``SEEDS`` and ``QUICK_SEEDS``: how many repeats of each point;
* ``grid(seeds)``: the scenarios, a list (pure);
* ``quick_grid(seeds)``, where a quick run is not just fewer repeats: fewer or shorter scenarios;
* ``reduce(result)``: one row of numbers of a run, a dict;
* ``plot(rows, load)``: a matplotlib figure; ``load(scenario)`` gives a run's `Result`;
* ``measures(rows)``: what is put beside the paper's numbers, a list of `Measure`;
* ``claims(rows)``: the paper's claims with their verdicts, a list of `Claim` or `Every`;
* ``KERNEL``, where the figure has a version that the kernel can run: a `crosscheck.Check`;

where ``rows`` is a polars table of all runs. What a paper leaves open is marked ``# assumed:``.
"""

import importlib
import pkgutil
import re
from types import ModuleType

from ackclock.errors import AckclockError


def names() -> list[str]:
    """All figures, as "PAPER/MODULE"."""
    found = []
    for paper in (each for each in pkgutil.iter_modules(__path__) if each.ispkg):
        package = importlib.import_module(f"{__name__}.{paper.name}")
        modules = pkgutil.iter_modules(package.__path__)
        found += [f"{paper.name}/{each.name}" for each in modules if each.name[0] != "_"]
    return found


def titles() -> dict[str, str]:
    """What each figure shows: the first line of its module's docstring."""
    return {name: title(module) for name in names() for _, module in load(name)}


def paper_title(paper: str) -> str:
    """What a paper is called: its package's TITLE."""
    text: str = importlib.import_module(f"{__name__}.{paper}").TITLE
    return text


def title(module: ModuleType) -> str:
    return (module.__doc__ or "").split("\n")[0].removesuffix(".")


def load(name: str) -> list[tuple[str, ModuleType]]:
    """The figure of a name ("cubicfc/fig5"), of a paper ("cubicfc") or "all": (name, module) pairs.

    Raises `AckclockError` for another name.
    """
    known = names()
    wanted = re.sub(r"(\D)(\d)$", r"\g<1>0\2", name)  # fig5 is fig05
    chosen = [each for each in known if name in (each.split("/")[0], "all") or wanted == each]
    if not chosen:
        raise AckclockError(f'figure = "{name}": there is none; choose from {", ".join(known)}')
    return [
        (each, importlib.import_module(f"{__name__}.{each.replace('/', '.')}")) for each in chosen
    ]
