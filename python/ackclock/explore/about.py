"""What the page is told before its first run: by its server, or by a file of a page without one."""

import json
from typing import Any

from ackclock import Scenario, _core
from ackclock.base.kernel_part import TESTBED, lacks
from ackclock.draw import style
from ackclock.explore import gallery
from ackclock.results import tables
from ackclock.scenario import skeleton
from ackclock.scenario.link_keys import Bottleneck
from ackclock.scenario.model import models


def told() -> dict[str, Any]:
    """Algorithms with their parameters, their colours, the gallery, what the kernel lacks here.

    `keeps`: whether runs are kept in a folder.
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
        "keeps": True,
    }


def without_server() -> dict[str, Any]:
    """The same for a page that runs in a browser alone.

    Each scenario of the gallery has its canonical JSON, too, and events their names by code.
    """

    def resolved(each: dict[str, Any]) -> dict[str, Any]:
        scenario = Scenario.from_text(each["toml"], source="")
        return each | {"scenario": json.loads(scenario.resolve())}

    return told() | {
        "gallery": [resolved(each) for each in gallery.scenarios()],
        "tour": [resolved(each) for each in gallery.tour()],
        "events": tables.schema("events")["kind"].categories.to_list(),
        "kernel_lacks": "a browser has no Linux kernel",
        "keeps": False,
    }


def _queues() -> dict[str, list[dict[str, Any]]]:
    """Kind of a queue → its parameters."""
    kinds = {
        kind.model_fields["kind"].default: [
            {"name": name, "default": field.default, "doc": field.description}
            for name, field in kind.model_fields.items()
            if name != "kind"
        ]
        for kind in models(Bottleneck.model_fields["queue"].annotation)
    }
    return {name: kinds[name] for name in sorted(kinds, key=lambda name: name != "drop_tail")}
