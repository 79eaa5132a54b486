"""A page that runs, and what a browser would send it."""

import http.client
import io
import json
import re
import subprocess
import time
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

import numpy as np
import polars as pl

from ackclock.explore import worker
from ackclock.explore.security import kept_key
from common import ACKCLOCK

LINK = """
[bottleneck]
rate = "20mbit"
buffer = "1bdp"
[[flow]]
algorithm = "{algorithm}"
"""
SHORT = 'duration = "5s"\nrtt = "40ms"\n' + LINK
#: Minutes of work on any machine: it is still going on when a test looks at it.
LONG = 'duration = "1440min"\nrtt = "40ms"\nsample_interval = "10s"\n' + LINK.replace(
    "20mbit", "10gbit"
)
#: Two links, an AQM, losses, ECN, a rate that changes, a flow that ends and one that stops.
TWO_LINKS = """
duration = "20s"
rtt = "40ms"
sample_interval = "5ms"
[[link]]
rate = "20mbit"
buffer = "1bdp"
rate_at = [{time = "8s", rate = "0bit"}, {time = "8.2s", rate = "22mbit"}]
[[link]]
rate = "18mbit"
buffer = "30packets"
queue = { kind = "step", threshold_packets = 20 }
loss = 0.0004
[[flow]]
algorithm = "cubic"
[[flow]]
algorithm = "dctcp"
start = "3s"
size = "500kB"
[[flow]]
algorithm = "reno"
start = "0.3s"
stop = "15s"
"""
#: Most time for anything here: it ends a test that has failed.
ANSWER_S = 300


class Answer(NamedTuple):
    status: int
    headers: http.client.HTTPMessage
    body: bytes

    @property
    def json(self):
        return json.loads(self.body)


class Server:
    """`ackclock explore` in a directory."""

    def __init__(self, directory, *options, command=ACKCLOCK, env=None):
        self.process = subprocess.Popen(
            [command, "explore", "-o", "out", *options],
            cwd=directory,
            env=env,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        self.folder = directory / "out"
        self.url = self.process.stdout.readline().strip()
        found = re.fullmatch(r"http://127\.0\.0\.1:(\d+)/#token=(\S{32,})", self.url)
        assert found, self.url
        self.port, self.token = int(found[1]), found[2]
        self.host = f"127.0.0.1:{self.port}"

    def rows(self, run):
        """What a run drew: tables, names of events in codes."""
        answer = self.ask("GET", f"/api/runs/{run}/rows?from=0")
        assert answer.status == 200, answer.body
        found = {}
        for message, text in worker.read(io.BytesIO(answer.body)):
            at, columns = text.index(b"\n") + 1, {}
            for name, dtype, length in message["columns"]:
                columns[name] = np.frombuffer(text, dtype, length, at)
                at += columns[name].nbytes
            found.setdefault(message["kind"], []).append(pl.DataFrame(columns))
        return {kind: pl.concat(parts) for kind, parts in found.items()}

    def ask(self, method, path, body=None, *, entered=True, **headers):
        """A request as of the page. `headers` (_ for -) replace its own; None leaves one out."""
        sent = {
            "host": self.host,
            "origin": f"http://{self.host}" if method != "GET" else None,
            "authorization": f"Bearer {self.token}" if entered else None,
            "content-type": "application/json" if body is not None else None,
        }
        sent |= {name.replace("_", "-"): value for name, value in headers.items()}
        data = body if isinstance(body, bytes | None) else json.dumps(body).encode()
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=ANSWER_S)
        connection.putrequest(method, path, skip_host=True, skip_accept_encoding=True)
        if data is not None and "content_length" not in headers:
            sent["content-length"] = str(len(data))
        for name, value in sent.items():
            if value is not None:
                connection.putheader(name, value)
        connection.endheaders(data)
        answer = connection.getresponse()
        try:
            return Answer(answer.status, answer.headers, answer.read())
        finally:
            connection.close()

    def kept(self, path):
        """The address of a file in the results' folder, with the key that opens it."""
        return f"/kept/{kept_key(self.token, path)}/{path}"

    def runs(self):
        """What the page is told of each run."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=ANSWER_S)
        connection.request("GET", "/api/events", headers={
            "host": self.host, "authorization": f"Bearer {self.token}"
        })  # fmt: skip
        told = json.loads(connection.getresponse().readline().removeprefix(b"data: "))
        connection.close()
        return {run["id"]: run for run in told["changed"]}

    def start(self, toml, **more):
        answer = self.ask("POST", "/api/runs", {"toml": toml, **more})
        assert answer.status == 200, answer.body
        return answer.json["id"]

    def wait(self, run, *states):
        """Waits until a run is in one of these states; returns what the page is told of it."""
        end = time.monotonic() + ANSWER_S
        while (told := self.runs()[run])["state"] not in states:
            assert time.monotonic() < end, told
            assert told["state"] in ("waiting", "running"), told
            time.sleep(0.1)
        return told

    def children(self):
        """The processes that it has started and that have not ended."""
        found = []
        for task in Path(f"/proc/{self.process.pid}/task").glob("*/children"):
            with suppress(OSError):  # the thread has ended
                found += task.read_text().split()
        return found

    def close(self):
        self.process.send_signal(2)
        _, said = self.process.communicate(timeout=ANSWER_S)
        assert self.process.returncode == 0
        return said
