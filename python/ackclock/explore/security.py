"""Who may talk to the page: only a script of the page that has the token.

The token stands behind the `#` of the address that `ackclock explore` prints: a browser sends that
to no server. The page's script keeps it in the storage of its origin, and names it in each request.
It is no cookie: a browser sends the cookies of 127.0.0.1 to each of its ports, and another user may
listen there. Other pages in the same browser, other users of the machine and names that resolve to
this machine (DNS rebinding) are refused before any other code sees the request. docs/security.md
lists what is tried.
"""

import base64
import hmac
import re
import secrets

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import PlainTextResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

#: Longest body of a request: a scenario, C files, a trace.
MOST_BODY_BYTES = 3_000_000
#: What the page may load: its own files. No inline script and no inline style.
CSP = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
#: What a kept page may do: show itself. Our pages have their styles inside, and
#: can be read without their script. It may run ours: `kept_csp_with`.
KEPT_CSP = (
    "sandbox allow-downloads allow-same-origin allow-top-navigation-by-user-activation; "
    "default-src 'none'; style-src 'unsafe-inline'; img-src 'self' data:; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
SCRIPT = re.compile(r"http://[\w.:\[\]-]+(?:/[\w.~%-]+)+")


def kept_csp_with(page: str, script: str) -> str:
    """What a kept page at this address may do if our script stands beside it.

    The policy names the one address; the server has the same text for each page.
    """
    address = f"{page.rpartition('/')[0]}/{script}"
    if not SCRIPT.fullmatch(address):
        return KEPT_CSP
    return KEPT_CSP.replace("sandbox ", "sandbox allow-scripts ") + f"; script-src {address}"


HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}


class Guard:
    """Refuses what does not come from the page; adds the headers that confine the page."""

    def __init__(self, app: ASGIApp, token: str, hosts: frozenset[str]) -> None:
        self.app = app
        self.token = token
        #: Host and port as a browser may write them.
        self.hosts = hosts

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        send = _confined(send)
        headers = Headers(scope=scope)
        refusal = self._another(scope, headers) or _too_long(headers)
        if refusal is None and not self._may(scope["path"], headers):
            refusal = PlainTextResponse(
                "Open the address that `ackclock explore` printed: it ends in a token that is "
                "new at each start.",
                401,
            )
        if refusal is not None:
            await refusal(scope, receive, send)
        else:
            await self.app(scope, _Limited(receive), send)

    def _another(self, scope: Scope, headers: Headers) -> Response | None:
        """Refuses another name of this machine, and another page in the same browser."""
        hosts, origin = headers.getlist("host"), headers.get("origin")
        if len(hosts) != 1 or hosts[0] not in self.hosts:
            return PlainTextResponse(
                f"this is not the address of the page; open http://{min(self.hosts)}/", 421
            )
        reads = scope["method"] in ("GET", "HEAD")
        visits = scope["path"] == "/" and headers.get("sec-fetch-mode") == "navigate"
        if origin not in ({None} if reads else set()) | {f"http://{hosts[0]}"} or (
            headers.get("sec-fetch-site", "none") not in ("none", "same-origin") and not visits
        ):
            return PlainTextResponse("only the page itself may ask that", 403)
        return None

    def _may(self, path: str, headers: Headers) -> bool:
        """Whether this is the page itself, which is no secret, or somebody proves the right."""
        if path == "/" or path.startswith("/static/"):
            return True
        if path.startswith("/kept/"):
            _, _, key, *parts = path.split("/")
            return ".." not in parts and any(
                _same(key, kept_key(self.token, each)) for each in (".", *parts[:1])
            )
        return _same(headers.get("authorization", ""), f"Bearer {self.token}")


def kept_key(token: str, path: str) -> str:
    """What opens a kept page, its pictures and what lies beside it; part of their addresses.

    A browser opens those without our script. The key tells nothing of the token, and opens one
    entry of the results' folder only; that of the folder's own page (".") opens all.
    """
    digest = hmac.digest(token.encode(), path.partition("/")[0].encode(), "sha256")
    return base64.urlsafe_b64encode(digest[:24]).decode()


def _same(given: str, right: str) -> bool:
    return secrets.compare_digest(given.encode(), right.encode())


def _too_long(headers: Headers) -> Response | None:
    length = headers.get("content-length", "0")
    if length.isascii() and length.isdecimal() and int(length[:20]) <= MOST_BODY_BYTES:
        return None
    return PlainTextResponse(f"at most {MOST_BODY_BYTES} bytes", 413)


class TooLongError(Exception):
    """A body that is longer than it said, or said nothing of its length."""


class _Limited:
    """Reads a body up to `MOST_BODY_BYTES`."""

    def __init__(self, receive: Receive) -> None:
        self.receive = receive
        self.size = 0

    async def __call__(self) -> Message:
        message = await self.receive()
        self.size += len(message.get("body", b""))
        if self.size > MOST_BODY_BYTES:
            raise TooLongError
        return message


def _confined(send: Send) -> Send:
    async def with_headers(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = MutableHeaders(scope=message)
            headers.setdefault("Content-Security-Policy", CSP)
            for name, value in HEADERS.items():
                headers[name] = value
        await send(message)

    return with_headers
