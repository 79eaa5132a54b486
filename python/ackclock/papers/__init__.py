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

import difflib
import importlib
import pkgutil
import re
from pathlib import Path
from types import ModuleType

from ackclock.errors import AckclockError

_HERE = Path(__file__).parent


def names() -> list[str]:
    """All figures, as "PAPER/MODULE"."""
    found = []
    for paper in (each for each in pkgutil.iter_modules(__path__) if each.ispkg):
        package = importlib.import_module(f"{__name__}.{paper.name}")
        modules = pkgutil.iter_modules(package.__path__)
        found += [f"{paper.name}/{each.name}" for each in modules if each.name[0] != "_"]
    return found


def titles() -> dict[str, str]:
    """Title of each figure, read from its file: importing every figure takes a second."""
    return {name: _title_in(_HERE / f"{name}.py") for name in names()}


def paper_title(paper: str) -> str:
    """Title of a paper: the TITLE of its package."""
    text: str = importlib.import_module(f"{__name__}.{paper}").TITLE
    return text


def title(module: ModuleType) -> str:
    """Title of a figure: the first line of its module's docstring."""
    return (module.__doc__ or "").split("\n")[0].removesuffix(".")


def _title_in(path: Path) -> str:
    with path.open(encoding="utf-8") as file:
        return file.readline().strip().strip('"').removesuffix(".")


def _choose(name: str, known: list[str]) -> str:
    """What to write for a figure that does not exist."""
    papers = list(dict.fromkeys(each.split("/")[0] for each in known))
    paper, _, figure = name.rpartition("/")
    if same := [each for each in known if each.split("/")[1] == figure and not paper]:
        return f"did you mean {' or '.join(same)}?"
    if paper in papers:
        return f"choose from {', '.join(each for each in known if each.startswith(paper))}"
    if near := difflib.get_close_matches(name, [*papers, "all", *known], 1, cutoff=0.7):
        return f"did you mean {near[0]}?"
    return f"choose from {', '.join(papers)}, all; `ackclock list` names the figures"


def load(name: str) -> list[tuple[str, ModuleType]]:
    """(name, module) of one figure ("cubicfc/fig5"), of each of a paper ("cubicfc"), or "all".

    Raises `AckclockError` for an unknown name.
    """
    known = names()
    wanted = re.sub(r"(\D)(\d)$", r"\g<1>0\2", name)  # fig5 is fig05
    chosen = [each for each in known if name in (each.split("/")[0], "all") or wanted == each]
    if not chosen:
        raise AckclockError(f'figure = "{name}": unknown; {_choose(wanted, known)}')
    return [
        (each, importlib.import_module(f"{__name__}.{each.replace('/', '.')}")) for each in chosen
    ]
