"""Fixtures of the live page."""

import pytest

from acts import until
from common import new_context
from explorer import Server


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    """`ackclock explore`, running."""
    running = Server(tmp_path_factory.mktemp("explore"))
    yield running
    assert running.close() == ""


SIZES = {"wide": (1400, 900), "phone": (390, 844)}


@pytest.fixture(params=SIZES, ids=list(SIZES))
def page(request, server, browser):
    """The page as it opens, at each size. Nothing in it may complain, or leave this machine."""
    complaints = []
    width, height = SIZES[request.param]
    size = {"width": width, "height": height}
    context = new_context(browser, viewport=size, has_touch=request.param == "phone")
    opened = context.new_page()
    opened.on("console", lambda message: complaints.append(message.text))
    opened.on("pageerror", lambda error: complaints.append(str(error)))
    opened.on("requestfailed", lambda request: complaints.append(f"failed: {request.url}"))
    opened.on(
        "request",
        lambda request: (
            request.url.startswith((f"http://{server.host}/", "blob:", "data:"))
            or complaints.append(request.url)
        ),
    )
    opened.goto(server.url)
    opened.wait_for_selector(".card")
    opened.phone = request.param == "phone"
    yield opened
    overflow = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
    until(opened, lambda: opened.evaluate(overflow) == 0, "a page as wide as the screen")
    context.close()
    # A mistake that is told; a download; this test, which reads what is drawn.
    expected = ("422", "net::ERR_ABORTED", "willReadFrequently")
    assert [each for each in complaints if not any(word in each for word in expected)] == []
