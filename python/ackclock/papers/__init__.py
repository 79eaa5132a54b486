"""The papers' experiments: one package per paper, one module per figure or table.

The docstring of a figure's module has the title, then the paper's setup. The module defines:

* ``SEEDS`` and ``QUICK_SEEDS``: the number of runs per point, at full length and with ``--quick``;
* ``grid(seeds)``: the list of scenarios (a pure function);
* ``quick_grid(seeds)``, optional: fewer or shorter scenarios for a quick run;
* ``reduce(result)``: a dict with one row of numbers for a run;
* ``plot(rows, load)``: a matplotlib figure; ``load(scenario)`` returns the `Result` of a run;
* ``measures(rows)``: a list of `Measure`, our values beside the paper's;
* ``claims(rows)``: a list of `Claim` or `Every`, the paper's claims with their verdicts;
* ``KERNEL``, optional: a `crosscheck.Check`, a version of the figure that the kernel can run.

``rows`` is a polars table with one row per run. A comment ``# assumed:`` marks each choice that the
paper leaves open.
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
    """Title of each figure: the first line of its module's docstring."""
    return {name: title(module) for name in names() for _, module in load(name)}


def paper_title(paper: str) -> str:
    """Title of a paper: the TITLE of its package."""
    text: str = importlib.import_module(f"{__name__}.{paper}").TITLE
    return text


def title(module: ModuleType) -> str:
    return (module.__doc__ or "").split("\n")[0].removesuffix(".")


def load(name: str) -> list[tuple[str, ModuleType]]:
    """(name, module) of one figure ("cubicfc/fig5"), of each of a paper ("cubicfc"), or "all".

    Raises `AckclockError` for an unknown name.
    """
    known = names()
    wanted = re.sub(r"(\D)(\d)$", r"\g<1>0\2", name)  # fig5 is fig05
    chosen = [each for each in known if name in (each.split("/")[0], "all") or wanted == each]
    if not chosen:
        raise AckclockError(f'figure = "{name}": unknown; choose from {", ".join(known)}')
    return [
        (each, importlib.import_module(f"{__name__}.{each.replace('/', '.')}")) for each in chosen
    ]
