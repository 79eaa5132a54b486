"""The papers' figures for the page: scenarios to run, and the claims with their verdicts."""

import json
from typing import Any

from ackclock import Scenario, papers
from ackclock.explore.runs import MOST_FLOWS
from ackclock.figures.named import Named
from ackclock.pages import tally
from ackclock.scenario.scenario import is_c_file, name_in

#: A figure opens so many runs; of one that has more, the first and the last.
MOST_RUNS = 4
#: Samples without which a run has no curve.
LEAST_SAMPLES = 20


def told() -> list[dict[str, Any]]:
    """Each figure that has a run to show: name, paper, title, claims, and runs with seed 1."""
    verdicts = tally.at_full_length()
    found = []
    for named in papers.load("all"):
        runs = list(_runs(named))
        if not runs:
            continue
        claims = [
            {"id": claim.id, "says": claim.says} | verdicts[claim.id]
            for claim in named.figure.claims
        ]
        paper = papers.paper_title(named.paper)
        each = {"name": named.name, "paper": paper, "title": named.title}
        found.append(each | {"claims": claims, "runs": runs})
    return found


def _runs(named: Named) -> list[dict[str, str]]:
    """Title and text of the scenarios that a figure opens: of what it draws, or else needs."""
    figure = named.figure
    points = [
        (experiment.say(point) or experiment.name, scenario)
        for experiment, point in figure.plot.needs or figure.needs
        if _is_shown(scenario := experiment.run(point, 1))
    ]
    some = points if len(points) <= MOST_RUNS else [points[0], points[-1]]
    return [{"title": title, "toml": scenario.to_toml()} for title, scenario in some]


def _is_shown(scenario: Scenario) -> bool:
    """Whether the page draws it."""
    resolved = json.loads(scenario.resolve())
    interval_ns = resolved["sample_interval_ns"]
    has_curve = 0 < interval_ns * LEAST_SAMPLES <= resolved["duration_ns"]
    has_file = any(is_c_file(name_in(flow.algorithm)) for flow in scenario.flows)
    few = sum(flow.count for flow in scenario.flows) <= MOST_FLOWS
    return has_curve and few and not has_file
