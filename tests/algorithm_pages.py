"""The pages of the algorithms: what `ackclock list` knows, growth and sharing drawn, a table.

`python tests/algorithm_pages.py DIRECTORY` writes README.md, NAME.md and NAME.svg there.
"""

import sys
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
import polars as pl
from matplotlib.axes import Axes
from matplotlib.figure import Figure

import ackclock
from ackclock import Flow, Result, Scenario, _core, metrics, style

SEEDS = range(1, 11)
#: When the second flow starts, and from when on the shares are measured.
JOINS_S, SHARED_FROM_S, END_S = 20, 60, 120


def scenario(flows: list[Flow], **fields) -> Scenario:
    settings = {
        "duration": f"{END_S}s",
        "rtt": "100ms",
        "bottleneck": {"rate": "100mbit", "buffer": "1bdp"},
        "flows": flows,
    }
    return Scenario(**settings | fields)


def one_flow(spec: str, **fields) -> Scenario:
    return scenario([Flow(algorithm=spec)], **fields)


def two_flows(spec: str, **fields) -> Scenario:
    second = Flow(algorithm=spec, start=f"{JOINS_S}s", start_spread="1s")
    return scenario([Flow(algorithm=spec), second], **fields)
