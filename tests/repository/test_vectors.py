"""The format of vectors/ suffices: a model written from its README alone agrees."""

import json
import sys

from common import ROOT

VECTORS = ROOT / "vectors"
sys.path.insert(0, str(VECTORS))

from replay import steps_that_differ  # noqa: E402

CASES = [
    case
    for case in json.loads((VECTORS / "reno.json").read_text())["cases"]
    if case["kernel"] == "linux-6"
]


def test_a_right_model_agrees():
    assert len(CASES) == 2
    for case in CASES:
        assert list(steps_that_differ(case)) == []


def test_a_wrong_model_does_not():
    for case in CASES:
        assert list(steps_that_differ(case, beta=0.51)) != []


def test_each_step_has_the_announced_shape():
    inputs = {"start": 1, "ack": 5, "dupack": 4, "loss": 1, "recovered": 1, "timeout": 1}
    inputs |= {"undo": 1, "limit": 2, "echo": 3}
    for file in sorted(VECTORS.glob("*.json")):
        vectors = json.loads(file.read_text())
        for case in vectors["cases"]:
            seen = {operation[0] for operation, *_ in case["steps"]}
            assert case["script"] != "everything" or seen == set(inputs) - {"echo"}
            assert case["script"] != "marks" or "echo" in seen
            for operation, *outputs, state in case["steps"]:
                assert len(operation) == inputs[operation[0]] + 1
                assert len(outputs) == 3
                assert len(state) == len(vectors["state"])
