"""Starts the page's server, and ends it."""

import errno
import os
import secrets
import socket
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import uvicorn

from ackclock import AckclockError
from ackclock.explore.app import Page

#: Where the page is if nobody says where, so that links to it stay.
PORT = 8721


def serve(folder: Path, host: str, port: int | None, say: Callable[[str], None]) -> None:
    """Serves the page until an interrupt; raises `AckclockError` where it cannot."""
    _check_writable(folder / "explore")
    listening = _listen(host, port)
    port = listening.getsockname()[1]
    token = secrets.token_urlsafe(24)
    address = f"{_in_address(host)}:{port}"
    page = Page(folder, token, frozenset({address}))
    config = uvicorn.Config(
        page.app,
        log_level="error",
        access_log=False,
        server_header=False,
        proxy_headers=False,
        timeout_graceful_shutdown=10,  # seconds; it says so on stderr if an answer needs longer
    )
    server = uvicorn.Server(config)
    page.is_ending = lambda: server.should_exit
    say(f"http://{address}/#token={token}")
    say(f"Runs are kept in {folder / 'explore'}. Ctrl-C ends the page.")
    threading.Thread(target=page.runs.warm, daemon=True).start()
    try:
        server.run(sockets=[listening])
    except KeyboardInterrupt:
        pass
    finally:
        page.runs.close()


def _listen(host: str, port: int | None) -> socket.socket:
    try:
        family, *_, address = socket.getaddrinfo(host, port or PORT, type=socket.SOCK_STREAM)[0]
        if host in ("", "0.0.0.0", "::"):  # noqa: S104 (refused)
            raise AckclockError(f"--host {host}: write the address that browsers will use")
    except OSError as error:
        raise AckclockError(f"--host {host}: {error.strerror}") from None
    try:
        return _listen_at(family, address)
    except OSError as error:
        if error.errno == errno.EADDRNOTAVAIL:
            raise AckclockError(f"--host {host}: not an address of this machine") from None
        if port is not None:
            raise AckclockError(f"--port {port}: {error.strerror}; choose another") from None
        return _listen_at(family, (address[0], 0, *address[2:]))


def _listen_at(family: int, address: tuple[Any, ...]) -> socket.socket:
    """Raises `OSError` also where another program took the port after our `bind`."""
    listening = socket.socket(family, socket.SOCK_STREAM)
    try:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind(address)
        listening.listen()
    except OSError:
        listening.close()
        raise
    return listening


def _check_writable(folder: Path) -> None:
    """Raises `AckclockError` if runs could not be kept there. Makes no directory."""
    there = next(each for each in (folder, *folder.absolute().parents) if each.exists())
    if not there.is_dir():
        raise AckclockError(f"output directory {folder}: {there} is a file; choose another")
    if not os.access(there, os.W_OK | os.X_OK):
        raise AckclockError(f"output directory {folder}: cannot be written; choose another")


def _in_address(host: str) -> str:
    return f"[{host}]" if ":" in host else host
