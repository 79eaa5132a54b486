"""Fixtures of the hosts' tests."""

import os
import subprocess

import pytest

from ackclock.hosts.vlinux import build


@pytest.fixture(scope="session")
def files(tmp_path_factory):
    """The folder net/ipv4 of Debian's source package, as it is."""
    if os.geteuid() and not build.TARBALL.exists():
        pytest.skip(f"{build.TARBALL} is missing, and only root can install it")
    build._require(lambda _: None, build.TARBALL)
    into = tmp_path_factory.mktemp("linux")
    wanted = ["--wildcards", "*/net/ipv4/tcp_*.[ch]"]
    subprocess.run(["tar", "-C", into, "-xf", build.TARBALL, *wanted], check=True)
    return next(into.glob("*/net/ipv4"))
