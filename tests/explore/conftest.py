"""Fixtures of the live page."""

from contextlib import contextmanager

import pytest

import lab_page
from acts import until
from common import new_context, serving
from explorer import Server

ENGINE = lab_page.STATIC / "lab" / "engine.wasm"


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    """`ackclock explore`, running."""
    running = Server(tmp_path_factory.mktemp("explore"))
    yield running
    assert running.close() == ""


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """The page without a server but one of files."""
    if not ENGINE.exists():
        pytest.skip("the simulator for browsers is not built: make lab")
    root = tmp_path_factory.mktemp("site")
    lab_page.write(root / "lab")
    with serving(root) as running:
        yield running


SIZES = {"wide": (1400, 900), "phone": (390, 844)}


@contextmanager
def opened(browser, size, side):
    """The page as it opens, at a size. Nothing in it may complain, or leave this machine."""
    complaints = []
    width, height = SIZES[size]
    viewport = {"width": width, "height": height}
    context = new_context(browser, viewport=viewport, has_touch=size == "phone")
    page = context.new_page()
    page.on("console", lambda message: complaints.append(message.text))
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.on("requestfailed", lambda request: complaints.append(f"failed: {request.url}"))
    page.on(
        "request",
        lambda request: (
            request.url.startswith((f"http://{side.host}/", "blob:", "data:"))
            or complaints.append(request.url)
        ),
    )
    page.goto(side.url)
    page.wait_for_selector(".card")
    page.phone = size == "phone"
    yield page
    overflow = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
    until(page, lambda: page.evaluate(overflow) == 0, "a page as wide as the screen")
    context.close()
    # A mistake that is told; a download; this test, which reads what is drawn.
    expected = ("422", "net::ERR_ABORTED", "willReadFrequently")
    assert [each for each in complaints if not any(word in each for word in expected)] == []


@pytest.fixture(params=SIZES)
def page(request, server, browser):
    """The page with a server, at each size."""
    with opened(browser, request.param, server) as found:
        yield found


@pytest.fixture(params=SIZES)
def lab(request, site, browser):
    """The page without a server, at each size."""
    with opened(browser, request.param, site) as found:
        yield found


@pytest.fixture(
    params=[(side, size) for side in ("server", "site") for size in SIZES], ids="-".join
)
def either(request, browser):
    """The page with and without a server, at each size."""
    side, size = request.param
    with opened(browser, size, request.getfixturevalue(side)) as found:
        yield found
