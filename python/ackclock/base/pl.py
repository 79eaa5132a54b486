"""polars, imported at its first use: that takes 0.08 s, and a short `ackclock run` needs none."""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from polars import *  # noqa: F403
else:

    def __getattr__(name: str) -> object:
        return getattr(import_module("polars"), name)
