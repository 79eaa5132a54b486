"""Fixtures of every test."""

import faulthandler
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

import portable
from ackclock import AckclockError, Bottleneck, Flow, Scenario
from ackclock.base import chosen
from ackclock.hosts.vlinux import build

pytest.register_assert_rewrite("command", "common", "explorer")

from common import ACKCLOCK, SLOW_MS  # noqa: E402 (after their asserts are rewritten)

# What is drawn is the same in each run, and a slow machine is no failure.
settings.register_profile(
    "tests", derandomize=True, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("tests")
#: Files of a processor minute or more, the longest first: none is left alone at the end.
LONG = ("test_report", "test_vlinux", "test_wheel", "test_without_many", "test_response",
        "test_bisect", "test_vlinux_flows", "test_foreign_files", "test_linux_reference",
        )  # fmt: skip


@pytest.hookimpl(trylast=True)
def pytest_configure():
    """Wasmtime handles the traps of WebAssembly: its handler must be the newest."""
    if chosen.NAME == "portable":
        faulthandler.disable()


@pytest.hookimpl(tryfirst=True)  # before `-m` chooses
def pytest_collection_modifyitems(items):
    """A test that opens a browser, or that runs alone, is slow. Long files begin first."""
    for item in items:
        if "browser" in item.fixturenames or item.get_closest_marker("alone"):
            item.add_marker(pytest.mark.slow)
        if chosen.NAME == "portable":
            path = item.path.relative_to(Path(__file__).parent)
            name = f"{path.as_posix()}::{item.name}"
            if why := portable.reason(name):
                item.add_marker(pytest.mark.skip(reason=f"on the portable engine: {why}"))
    items.sort(key=lambda item: LONG.index(item.path.stem) if item.path.stem in LONG else len(LONG))


@pytest.fixture
def ackclock(tmp_path):
    """Runs the command in an empty directory: `ackclock("run", …)` → CompletedProcess."""

    def call(*arguments, env=None, **options):
        return subprocess.run(
            [ACKCLOCK, *map(str, arguments)],
            capture_output=True,
            text=True,
            timeout=900,
            check=False,
            env=os.environ | {"COLUMNS": "120"} | (env or {}),
            **({"cwd": tmp_path} | options),
        )

    return call


def built(series, hz=1000):
    """A virtual Linux, once for each machine; who may not install what it needs has none."""
    try:
        return build.build(say=lambda _: None, series=series, hz=hz)
    except AckclockError as error:
        if os.geteuid() == 0 or not re.search("as root, on Debian|without apt-get", str(error)):
            raise
        pytest.skip(str(error))


@pytest.fixture(scope="session")
def machine():
    """The virtual Linux that `ackclock linux build` builds."""
    return built("6.12")


@pytest.fixture(scope="session")
def newer():
    """That of `ackclock linux build --series 7.3`."""
    return built("7.3")


@pytest.fixture(scope="session")
def ticking():
    """That of `ackclock linux build --hz 250`."""
    return built("6.12", 250)


@pytest.fixture(scope="module")
def browser():
    """A browser without a window."""
    from playwright.sync_api import expect, sync_playwright  # noqa: PLC0415 (few files need it)

    expect.set_options(timeout=SLOW_MS)
    names = ("chromium", "chromium-browser", "google-chrome")
    path = next(filter(None, map(shutil.which, names)), None)
    if path is None:
        pytest.skip("no Chromium here: apt-get install chromium")
    with sync_playwright() as playwright:
        # Root's Chromium has no sandbox; the pages are ours. /dev/shm may be small (a container's).
        options = ["--no-sandbox", "--disable-dev-shm-usage"]
        started = playwright.chromium.launch(executable_path=path, args=options, timeout=SLOW_MS)
        yield started
        started.close()


@pytest.fixture
def small():
    """Two flows for two simulated seconds."""
    return Scenario(
        duration="2s",
        rtt="20ms",
        bottleneck=Bottleneck(rate="20mbit", buffer="1bdp"),
        flows=(Flow(algorithm="reno"), Flow(algorithm="cubic", start="500ms", start_spread="1s")),
    )
