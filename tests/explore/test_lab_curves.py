"""A page without a server shows the same: windows, marks, epochs and numbers equal Python's."""

import json
import shutil
import struct
import subprocess
import sys

import numpy as np
import pytest

from ackclock.draw.curves import Window
from ackclock.explore import about, app, worker
from ackclock.explore.runs import Runs, Source
from common import ROOT, wait_until

STATIC = ROOT / "python" / "ackclock" / "explore" / "static"
#: Reads lines of JSON (the names of events, then messages, then windows), and writes views.
VIEWS = """
import { readFileSync } from "node:fs";
import { Run, view } from "STATIC/lab/run.js";

const [kinds, messages, windows] = JSON.parse(readFileSync(0, "utf8"));
const arrays = { "|u1": Uint8Array, "<i4": Int32Array, "<u4": Uint32Array, "<u8": Float64Array };
const run = new Run("it", {}, "", kinds);
for (const { kind, columns, ...more } of messages) {
  if (kind === "begin") run.begin(more);
  if (!["samples", "queues", "events"].includes(kind)) continue;
  const told = columns.map(([name, dtype, values]) => [name, arrays[dtype].from(values)]);
  run.take(kind, Object.fromEntries(told));
}
const views = windows.map((window) => {
  const { curves, ...head } = view([run], ...window);
  const hex = (values) => Buffer.from(values.buffer).toString("hex");
  const told = curves.map(({ panel, number, values }) => [panel, number, hex(values)]);
  return { ...head, curves: told };
});
console.log(JSON.stringify(views));
"""
#: Losses, a timeout, ECN, two queues, a flow that ends.
TOML = """
duration = "20s"
rtt = "40ms"
sample_interval = "5ms"
[[link]]
rate = "20mbit"
buffer = "1bdp"
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
#: From s, to s, columns: all, few and many samples in a column, before the first, after the last.
WINDOWS = [[0, 20, 700], [0, 20, 7], [3.3, 3.9, 900], [19.7, 23, 100], [0, 0.05, 333], [5, 15, 1]]


def messages(toml, folder):
    """What the process of a run tells of it."""
    job = {"id": "it", "toml": toml, "files": str(folder), "on": "sim", "keep": str(folder)}
    done = subprocess.run(
        [sys.executable, "-m", worker.__name__],
        input=json.dumps(job).encode() + b"\n",
        capture_output=True,
        check=True,
    )
    (folder / "told").write_bytes(done.stdout)
    with (folder / "told").open("rb") as stream:
        for message, columns in worker.read(stream):
            told = [[name, each.dtype.str, each.tolist()] for name, each in columns.items()]
            yield message | {"columns": told}


@pytest.mark.skipif(not shutil.which("node"), reason="no Node.js here: apt-get install nodejs")
def test_windows_marks_and_epochs_equal_those_of_the_server(tmp_path):
    kinds = about.without_server()["events"]
    told = [kinds, [*messages(TOML, tmp_path)], WINDOWS]
    done = subprocess.run(
        ["node", "--input-type=module", "-e", VIEWS.replace("STATIC", str(STATIC))],
        input=json.dumps(told),
        capture_output=True,
        text=True,
        check=True,
    )
    runs = Runs(tmp_path / "server")
    run = runs.start(Source(TOML, {}))
    wait_until(lambda: run.state == "done")
    runs.close()
    found = json.loads(done.stdout)
    assert len(found) == len(WINDOWS)
    for (start_s, end_s, columns), theirs in zip(WINDOWS, found, strict=True):
        data = app._view([run], Window(start_s * 1e6, end_s * 1e6, columns))
        (length,) = struct.unpack_from("<I", data)
        head = json.loads(data[4 : 4 + length])
        values = np.frombuffer(data, "<f4", offset=4 + length).reshape(len(head["series"]), -1)
        assert theirs["columns"] == columns
        marks, epochs = head["marks"][run.id], head["epochs"][run.id]
        times_s = [time_s for time_s, *_ in marks]  # polars divides to the last bit but one
        assert [time_s for time_s, *_ in theirs["marks"]["it"]] == pytest.approx(times_s, rel=1e-14)
        assert [what for _, *what in theirs["marks"]["it"]] == [what for _, *what in marks]
        assert theirs["epochs"]["it"] == epochs
        assert len(theirs["curves"]) == 3 * 3 + 2
        for (panel, number, text), series, ours in zip(
            theirs["curves"], head["series"], values, strict=True
        ):
            assert [panel, number] == series[1:]
            np.testing.assert_array_equal(np.frombuffer(bytes.fromhex(text), "<f4"), ours)
    marked = {kind for _, _, kind, _ in found[0]["marks"]["it"]}
    assert marked >= {"recovery", "cwr", "completed"}
    assert found[0]["epochs"]["it"]
