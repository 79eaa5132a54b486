"""What a window shows of a run in the page: every peak, straight lines, rates, marks, plateaus."""

import json
import shutil
import subprocess
import sys

import numpy as np
import pytest

from ackclock import Result
from ackclock.draw.curves import Window, shown
from ackclock.explore import about, app, worker
from explorer import TWO_LINKS

pytestmark = pytest.mark.skipif(
    not shutil.which("node"), reason="no Node.js here: apt-get install nodejs"
)
LAB = app.STATIC / "lab"
#: The messages in a file, as the page takes them, in pieces of some messages, and its windows.
VIEWS = """
import { readFileSync } from "node:fs";
import { messages } from "LAB/messages.js";
import { Run, view } from "LAB/run.js";
const [kinds, path, windows] = JSON.parse(readFileSync(0, "utf8"));
const { buffer, byteOffset, length } = readFileSync(path);
const run = new Run("it", {}, "", kinds);
for (const { kind, columns, ...more } of messages(buffer.slice(byteOffset, byteOffset + length))) {
  if (kind === "begin") run.begin(more);
  if (["samples", "queues", "events"].includes(kind)) run.take(kind, columns);
}
console.log(JSON.stringify(windows.map((window) => view([run], ...window))));
"""
#: Curves of [[times in us], [values], parts, window], then the rate of each over 200 ms.
CURVES = """
import { readFileSync } from "node:fs";
import { Curve, Window } from "LAB/curves.js";
const shown = JSON.parse(readFileSync(0, "utf8")).map(([times, values, parts, window]) => {
  const curve = new Curve({ value: Float64Array });
  const size = Math.ceil(times.length / parts);
  for (let at = 0; at < times.length; at += size)
    curve.append(times.slice(at, at + size), { value: values.slice(at, at + size) });
  const of = new Window(...window);
  const rates = curve.ratePerS("value", of, 200_000);
  return [curve.shown("value", of), rates].map((each) => Array.from(each));
});
console.log(JSON.stringify(shown));
"""
#: A CUBIC flow alone, its curve undisturbed between losses.
ALONE = """
duration = "60s"
rtt = "100ms"
sample_interval = "20ms"
bottleneck = { rate = "50mbit", buffer = "0.5bdp" }
[[flow]]
algorithm = "cubic"
"""
#: From s, to s, columns: all, few and many samples in a column, before the first, after the last.
WINDOWS = [[0, 20, 700], [0, 20, 7], [3.3, 3.9, 900], [19.7, 23, 100], [0, 0.05, 333], [5, 15, 1]]


def node(program, given):
    done = subprocess.run(
        ["node", "--input-type=module", "-e", program.replace("LAB", str(LAB))],
        input=json.dumps(given),
        capture_output=True,
        text=True,
        check=True,
    )
    return json.loads(done.stdout)


def views(toml, folder, windows):
    """What the process of a run tells, as the page shows it, and the result that was kept."""
    job = {"id": "it", "toml": toml, "files": str(folder), "on": "sim", "keep": str(folder)}
    done = subprocess.run(
        [sys.executable, "-m", worker.__name__],
        input=json.dumps(job).encode() + b"\n",
        capture_output=True,
        check=True,
    )
    told = folder / "told"
    told.write_bytes(done.stdout)
    with told.open("rb") as stream:
        *_, (end, _) = worker.read(stream)
    return node(VIEWS, [about.told()["events"], str(told), windows]), Result.load(end["kept"])


def test_each_column_shows_its_lowest_and_highest_sample():
    """As drawings have it; where there are many samples, whole blocks of 16 of them."""
    random = np.random.default_rng(1)
    given = []
    for _ in range(200):
        times = np.cumsum(random.integers(1, 50, random.integers(1, 400)))
        values = random.integers(0, 1000, len(times))
        start = int(random.integers(0, 5000))
        window = [start, start + int(random.integers(10, 9000)), int(random.integers(1, 60))]
        given.append([times.tolist(), values.tolist(), int(random.integers(1, 8)), window])
    for (times, values, _, window), (found, _) in zip(given, node(CURVES, given), strict=True):
        exact = shown(np.array(times), np.array(values), Window(*window))
        np.testing.assert_allclose(np.array(found, "f8"), exact.astype("f4"), rtol=1e-6)


def test_many_samples_show_the_peaks_that_few_would():
    values = np.random.default_rng(1).integers(0, 1000, 300_000)
    values[[5, 123_456, 299_990]] = 5000
    [(found, _)] = node(CURVES, [[[*range(300_000)], values.tolist(), 37, [0, 300_000, 500]]])
    assert found.count(5000) == 3
    exact = values.reshape(500, -1).max(axis=1)
    high = np.array(found).reshape(500, 2).max(axis=1)
    assert (high == exact).mean() > 0.9  # a block may reach over the edge of its column
    assert np.abs(high - exact).max() < 20


def test_the_rate_of_a_steady_flow_is_steady():
    times = np.arange(0, 10_000_000, 10_000)
    [(_, rates)] = node(
        CURVES, [[times.tolist(), (times // 100).tolist(), 1, [0, 10_000_000, 300]]]
    )
    known = [each for each in rates if each is not None]
    assert len(known) > 590
    np.testing.assert_allclose(known, 10_000, rtol=1e-6)


def test_a_run_in_its_windows(tmp_path):
    """Curves of the samples that were kept, events once in a column."""
    found, result = views(TWO_LINKS, tmp_path, WINDOWS)
    samples, events = result.samples, result.events
    names = {(panel, flow) for panel in ("cwnd", "throughput", "rtt") for flow in (1, 2, 3)}
    for (start_s, end_s, columns), view in zip(WINDOWS, found, strict=True):
        assert (view["from"], view["to"], view["columns"]) == (start_s, end_s, columns)
        curves = {(each["panel"], each["number"]): each["values"] for each in view["curves"]}
        assert curves.keys() == names | {("queue", 1), ("queue", 2)}
        for flow in (1, 2, 3):
            mine = samples.filter(samples["flow"] == flow)
            window = Window(start_s * 1e6, end_s * 1e6, columns)
            exact = shown(mine["time_us"].to_numpy(), mine["cwnd_packets"].to_numpy(), window)
            drawn = np.array(curves["cwnd", flow], "f8")
            of_blocks = 2 if columns == 7 else 0  # a block may reach over a column's edge
            np.testing.assert_allclose(drawn, exact.astype("f4"), rtol=1e-6, atol=of_blocks)
        for time_s, flow, kind, cwnd in view["marks"]["it"]:
            at = events.filter(events["flow"] == flow, events["time_us"] == round(time_s * 1e6))
            assert (kind, cwnd) in at.select("kind", "cwnd_packets").cast({"kind": str}).rows()
    first, few = found[0], found[1]
    assert {mark[2] for mark in first["marks"]["it"]} >= {"recovery", "cwr", "completed"}
    kinds = [(flow, kind, time_s // (20 / 7)) for time_s, flow, kind, _ in few["marks"]["it"]]
    assert len(kinds) == len(set(kinds))
    rates = [each["values"] for each in first["curves"] if each["panel"] == "throughput"]
    assert all(0 < np.nanmax(np.array(each, "f8")) <= 22 for each in rates)  # Mb/s of the link


def test_the_window_is_back_at_w_max_after_k(tmp_path):
    """W(K) = W_max (RFC 9438, section 4.2): where no loss comes before."""
    [view], result = views(ALONE, tmp_path, [[0, 60, 2000]])
    samples = result.samples
    epochs = view["epochs"]["it"]
    reached = [epoch for epoch in epochs if epoch[1] + epoch[2] < min(epoch[4], 60)]
    assert len(reached) >= 3
    for _, start_s, k_s, w_max, _ in reached:
        at = np.interp((start_s + k_s) * 1e6, samples["time_us"], samples["cwnd_packets"])
        assert at == pytest.approx(w_max, rel=0.01)
        half = np.interp((start_s + k_s / 2) * 1e6, samples["time_us"], samples["cwnd_packets"])
        assert half == pytest.approx(w_max - 0.4 * (k_s / 2) ** 3, rel=0.02)
    recoveries = result.events.filter(result.events["kind"].cast(str) == "recovery")
    marks = [mark[0] for mark in view["marks"]["it"] if mark[2] == "recovery"]
    assert marks == pytest.approx((recoveries["time_us"] / 1e6).to_list())
