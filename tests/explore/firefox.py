"""Debian's Firefox without a window, driven by its own protocol (Marionette): JSON over TCP.

Playwright drives a Firefox of its own only.
"""

import json
import shutil
import socket
import subprocess

from common import SLOW_MS, wait_until

COMMAND = shutil.which("firefox-esr") or shutil.which("firefox")


class Firefox:
    """A browser with a new profile in a directory."""

    def __init__(self, profile):
        (profile / "user.js").write_text('user_pref("marionette.port", 0);\n')
        command = [COMMAND, "--headless", "--marionette", "--no-remote", "--profile", profile]
        self.process = subprocess.Popen(command, stdout=-3, stderr=-3)
        port = profile / "MarionetteActivePort"
        wait_until(lambda: port.exists() and port.read_text(), self.process)
        self.socket = socket.create_connection(("127.0.0.1", int(port.read_text())))
        self.stream = self.socket.makefile("rb")
        self.count = 0
        self._read()  # it tells its version
        self._call("WebDriver:NewSession", timeouts={"script": SLOW_MS})

    def goto(self, url):
        self._call("WebDriver:Navigate", url=url)

    def evaluate(self, expression, *given):
        """What the promise of a function in JavaScript comes to."""
        script = (
            f"const done = [...arguments].at(-1); ({expression})(...arguments).then(done, done)"
        )
        return self._call("WebDriver:ExecuteAsyncScript", script=script, args=given)["value"]

    def close(self):
        self._call("Marionette:Quit", flags=["eForceQuit"])
        self.process.wait(60)
        self.socket.close()

    def _call(self, name, **parameters):
        self.count += 1
        text = json.dumps([0, self.count, name, parameters]).encode()
        self.socket.sendall(b"%d:%s" % (len(text), text))
        _, _, error, found = self._read()
        assert error is None, error
        return found

    def _read(self):
        length = b""
        while (letter := self.stream.read(1)) != b":":
            assert letter, "Firefox has ended"
            length += letter
        return json.loads(self.stream.read(int(length)))
