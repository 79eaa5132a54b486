"""Fixtures of the command's tests."""

import pytest

from command import SCENARIO


@pytest.fixture
def scenario(tmp_path):
    path = tmp_path / "scenario.toml"
    path.write_text(SCENARIO)
    return path
