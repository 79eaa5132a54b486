"""Writes gallery/sparklines.json: the small pictures of the gallery's cards."""

import json

import numpy as np

from ackclock import Scenario, run
from ackclock.draw.curves import Window, shown
from ackclock.explore import gallery

#: Columns of a picture; each has a lowest and a highest window.
COLUMNS = 40


def lines(toml: str) -> list[list[object]]:
    """The congestion window of each flow: algorithm, and numbers up to 100, or None."""
    result = run(Scenario.from_text(toml, source=""))
    end_us = result.resolved["duration_ns"] / 1e3
    window, found = Window(0, end_us, COLUMNS), []
    for (number,), rows in result.samples.group_by("flow", maintain_order=True):
        times_us, cwnd = rows["time_us"].to_numpy(), rows["cwnd_packets"].to_numpy()
        found.append((number, shown(times_us, cwnd, window)))
    most = max(np.nanmax(values) for _, values in found)
    return [
        [
            result.scenario.flows[number - 1].algorithm,
            [None if np.isnan(each) else round(float(each) / most * 100) for each in values],
        ]
        for number, values in sorted(found)
    ]


def main() -> None:
    made = {each["name"]: lines(each["toml"]) for each in gallery.scenarios()}
    rows = [f"{json.dumps(name)}: {json.dumps(each)}" for name, each in made.items()]
    gallery.PICTURES.write_text("{\n" + ",\n".join(rows) + "\n}\n", encoding="utf-8")


if __name__ == "__main__":
    main()
