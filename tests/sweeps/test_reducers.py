"""Functions of the user's own that make a column of a sweep."""

import functools
import json
import sys

import pytest

import ackclock
from ackclock import AckclockError, Bottleneck, Flow, Scenario

SCENARIO = Scenario(
    duration="1s",
    bottleneck=Bottleneck(rate="10mbit", buffer="20packets"),
    flows=[Flow(algorithm="reno", rtt="20ms")],
)


class Divides:
    def __call__(self, result, by=0):  # noqa: ARG002
        return 1 / by


def ends(result):  # noqa: ARG001
    sys.exit(3)


def says_much(result):  # noqa: ARG001
    raise ValueError("first line\nsecond line")


@pytest.mark.parametrize(
    ("function", "says"),
    [
        (Divides(), r"test_reducers\.py: line \d+: ZeroDivisionError: division by zero"),
        (functools.partial(Divides().__call__, by=0), "ZeroDivisionError: division by zero"),
        (ends, r"test_reducers\.py: line \d+: SystemExit: 3"),
        (says_much, r"test_reducers\.py: line \d+: ValueError: first line second line"),
    ],
)
def test_what_a_function_does_wrong_is_one_line(function, says):
    with pytest.raises(AckclockError, match=f"^metrics: [^\n]*{says}$"):
        ackclock.sweep(SCENARIO, {"rtt": ["10ms"]}, metrics=[function], cache=None)


def test_what_a_function_prints_is_not_the_output(ackclock, tmp_path):
    (tmp_path / "talks.py").write_text("def talks(result):\n    print('hello')\n    return 1\n")
    (tmp_path / "one.toml").write_text(SCENARIO.to_toml())
    (tmp_path / "sweep.toml").write_text(
        'scenario = "one.toml"\nseeds = 1\nmetrics = ["talks.py:talks"]\n[axes]\nrtt = ["10ms"]\n'
    )
    done = ackclock("sweep", "sweep.toml", "--json")
    assert done.returncode == 0
    assert json.loads(done.stdout)
    assert "hello" in done.stderr
