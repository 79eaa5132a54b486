"""The papers' experiments: one package per paper, one module per figure or table.

The docstring of a figure's module has the title, then the paper's words and setup. The module
defines `FIGURE`, a `ackclock.figures.Figure`. A package's modules whose names begin with "_" have
the experiments that several figures share.
"""

import difflib
import importlib
import inspect
import pkgutil
import re
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

from ackclock.base.errors import AckclockError

if TYPE_CHECKING:
    from ackclock.figures.named import Named

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


def setups(paper: str) -> list[str]:
    """What a paper's shared modules say of the setup of several figures."""
    package = importlib.import_module(f"{__name__}.{paper}")
    shared = (each.name for each in pkgutil.iter_modules(package.__path__) if each.name[0] == "_")
    return [inspect.getdoc(_module(f"{paper}/{name}")) or "" for name in shared]


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


def load(name: str) -> "list[Named]":
    """One figure ("cubicfc/fig5"), each of a paper ("cubicfc"), those of claims, or "all".

    Claims go by their id, or by its beginning: "cubicfc.fig5" as well as "cubicfc.fig5.fc-200s".

    Raises `AckclockError` for an unknown name.
    """
    known = names()
    wanted = re.sub(r"(\D)(\d)$", r"\g<1>0\2", name)  # fig5 is fig05
    chosen = [each for each in known if name in (each.split("/")[0], "all") or wanted == each]
    if not chosen and "." in name:
        paper = name.partition(".")[0]
        chosen = [each for each in known if each.startswith(f"{paper}/") and _claims(each, name)]
        chosen = chosen or [each for each in known if each == wanted.replace(".", "/")]
    if not chosen:
        raise AckclockError(f'figure = "{name}": unknown; {_choose(wanted, known)}')
    return list(map(_named, chosen))


def _module(name: str) -> ModuleType:
    return importlib.import_module(f"{__name__}.{name.replace('/', '.')}")


def _named(name: str) -> "Named":
    from ackclock.figures.named import Named  # noqa: PLC0415 (slow to import)

    module = _module(name)
    title, _, setup = (inspect.getdoc(module) or name).partition("\n")
    return Named(name, title.removesuffix("."), setup.strip(), module.FIGURE)


def _claims(name: str, claim: str) -> bool:
    """Whether a figure has a claim of this id."""
    return any(is_of(each.id, claim) for each in _module(name).FIGURE.claims)


def is_of(claim: str, name: str) -> bool:
    """Whether a claim's id is this name, or begins with it and a dot."""
    return f"{claim}.".startswith(f"{name}.")
