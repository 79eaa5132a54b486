"""Fixtures of the sweeps' tests."""

import pytest

from ackclock import Scenario
from two import MINE, SCENARIO, SWEEP


@pytest.fixture
def two(tmp_path):
    """The scenario and a sweep of it, in files."""
    (tmp_path / "two.toml").write_text(SCENARIO)
    (tmp_path / "sweep.toml").write_text(SWEEP)
    (tmp_path / "mine.py").write_text(MINE)
    return Scenario.from_toml(tmp_path / "two.toml")
