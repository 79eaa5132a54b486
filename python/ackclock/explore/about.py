"""What the page is told before its first run: by its server, or by a file of a page without one."""

from typing import Any

from ackclock import _core
from ackclock.base.kernel_part import TESTBED, lacks
from ackclock.draw import style
from ackclock.explore import gallery
from ackclock.explore.runs import MOST_FLOWS
from ackclock.results import tables
from ackclock.scenario import skeleton
from ackclock.scenario.table import refused
from ackclock.scenario.table import tables as scenario_tables


def told() -> dict[str, Any]:
    """Algorithms with their parameters, their colours, the gallery, what the kernel lacks here.

    `events` are the names of events, by their codes in the rows of a run.
    `keeps`: whether runs are kept in a folder; `judges`: whether there are scorecards and attacks.
    """
    return {
        "version": _core.engine_version(),
        "algorithms": _core.algorithms(),
        "styles": {name: each._asdict() for name, each in style.ALGORITHMS.items()},
        "colours": style.FLOWS,
        "skeleton": skeleton.text(),
        "gallery": gallery.scenarios(),
        "tour": gallery.tour(),
        "queues": _queues(),
        "kernel_lacks": lacks(*TESTBED),
        "kernel_refuses": refused("kernel"),
        "events": tables.schema("events")["kind"].categories.to_list(),
        "keeps": True,
        "judges": True,
    }


def without_server() -> dict[str, Any]:
    """The same for a page that runs in a browser alone."""
    return told() | {
        "most_flows": MOST_FLOWS,
        "kernel_lacks": "a browser has no Linux kernel",
        "keeps": False,
        "judges": False,
    }


def _queues() -> dict[str, list[dict[str, Any]]]:
    """Kind of a queue → its parameters."""
    every = scenario_tables()
    [queue] = (key for key in every["Bottleneck"]["keys"] if key["key"] == "queue")
    kinds = {
        kind: [
            {"name": key["key"], "default": key["default"], "doc": key["about"]}
            for key in every[table]["keys"]
            if key["key"] != "kind"
        ]
        for kind, table in queue["kinds"].items()
    }
    return {name: kinds[name] for name in sorted(kinds, key=lambda name: name != "drop_tail")}
