"""Which of our Python makes the rows of runs: what is kept is named by it.

An edit of a page or of a command leaves kept rows as they are, an edit of a metric does not.
"""

import functools
import hashlib
from pathlib import Path

from ackclock import _core

_HERE = Path(__file__).parents[1]
#: From the ground up: a module imports from its own package and from those before it.
LAYERS = (
    "base",
    "engine",
    "estimates",
    "scenario",
    "store",
    "results",
    "hosts",
    "sweeps",
    "draw",
    "studies",
    "figures",
    "papers",
    "pages",
    "questions",
    "scorecard",
    "programs",
    "imports",
    "captures",
    "gym",
    "explore",
    "cli",
)


@functools.cache
def source_hash(package: str = LAYERS[-1], *modules: str) -> str:
    """A hash of a package, all below it and single modules: `("hosts", "questions/measure.py")`.

    The engine is in it: it measures the runs, also those of Linux.
    """
    digest = hashlib.sha256(_core.engine_version().encode())
    for path in files(package, *modules):
        digest.update(path.read_bytes())
    return digest.hexdigest()


def files(package: str, *modules: str) -> list[Path]:
    """What `source_hash` reads, in order."""
    below = LAYERS[: LAYERS.index(package) + 1]
    within = [path for each in below for path in sorted(_HERE.joinpath(each).rglob("*.py"))]
    return within + [_HERE / each for each in modules]
