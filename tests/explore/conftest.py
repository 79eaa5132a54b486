"""Fixtures of the live page."""

import pytest

from explorer import Server


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    """`ackclock explore`, running."""
    running = Server(tmp_path_factory.mktemp("explore"))
    yield running
    assert running.close() == ""
