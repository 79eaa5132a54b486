"""The simulator as WebAssembly, in Node and in a browser: the native one's hashes, its messages."""

import functools
import http.server
import json
import shutil
import subprocess
import threading
from pathlib import Path

import pytest

from ackclock import Scenario, _core, run
from ackclock.explore import worker
from ackclock.results import summary
from common import NODE, ROOT
from explorer import TWO_LINKS

LAB = Path(worker.__file__).parent / "static" / "lab"
TRACES = [
    json.loads(line)
    for line in Path(ROOT, "crates/sim/tests/data/traces.jsonl").read_text().splitlines()
]
#: What `make test` runs of them.
FEW = ("linux-2.6.18 cubic@2.6.18", "linux-6 cubic", "linux-6 htcp", "linux-6 web both ways")

built = pytest.mark.skipif(
    not (LAB / "engine.wasm").exists() or not shutil.which("node"),
    reason="the laboratory in a browser is not built: make lab, and Node",
)
pytestmark = built


def node(*jobs):
    """The messages of each job."""
    command = [*NODE, Path(__file__).parent / "engine.mjs", LAB]
    lines = "".join(json.dumps(job) + "\n" for job in jobs)
    done = subprocess.run(command, input=lines, stdout=-1, text=True, check=True)
    return [json.loads(line) for line in done.stdout.splitlines()]


def test_hashes_in_node_are_the_native_ones():
    traces = [trace for trace in TRACES if trace["name"] in FEW]
    assert len(traces) == len(FEW)
    for trace, messages in zip(traces, node(*traces), strict=True):
        assert messages[-1]["trace_hash"] == trace["trace_hash"], trace["name"]


def test_its_messages_are_those_of_the_page_s_worker():
    scenario = Scenario.from_toml(ROOT / "examples/cubic_and_reno.toml").replace(duration="5s")
    result = run(scenario)
    [messages] = node({"scenario": scenario.resolve(), "interval_ms": 0})
    begin, end = messages[0], messages[-1]
    assert begin == worker.about(result.manifest) | {"kind": "begin", "rows": 0, "names": []}
    assert end["kind"] == "end"
    for table, names in worker.DRAWN.items():
        told = [each for each in messages if each["kind"] == table]
        assert sum(each["rows"] for each in told) == len(getattr(result, table))
        assert all(each["names"] == list(names) for each in told)
    assert end["trace_hash"] == result.manifest["trace_hash"]
    assert end["packets"] == result.manifest["packets"]
    assert end["names"] == [name for name in result.flows.columns if name in end["names"]]
    assert {"flow", "common_bytes", "retransmitted_packets"} < {*end["names"]}
    done = [each["done"] for each in messages if each["kind"] == "progress"]
    assert len(done) > 1
    assert done == sorted(done)


def test_a_run_comes_to_python_s_summary():
    result = run(Scenario.from_text(TWO_LINKS, source=""))
    [messages] = node({"toml": TWO_LINKS})
    found, ours = messages[-1]["summary"], summary.json_ready(summary.summarise(result))
    own = {"wall_time_s", "cpu_time_s", "trace_hash", "sessions", "udp", "traces"}
    assert found == {key: value for key, value in ours.items() if key not in own}


def test_it_describes_the_algorithms_as_python_does():
    [[about]] = node({})
    for told, algorithm in zip(about["algorithms"], _core.algorithms(), strict=True):
        assert told.pop("text").encode() == Path(ROOT, algorithm["source"]).read_bytes()
        assert told == algorithm
    columns = {name: columns for name, _, columns in _core.tables()}
    names = {name: names for name, *_, names in columns["events"] if names}
    assert about["tables"]["events"] == names


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ({"duration_ns": 0}, "duration_ns = 0: choose a value from 1 to 3600000000000000"),
        (
            {"sample_interval_ns": 1000},
            "the run has more than 8000000 rows, the most that the page",
        ),
        ({"flows": 3}, "invalid type: integer `3`, expected a sequence"),
    ],
)
def test_a_mistake_is_told(change, text):
    [messages] = node({"scenario": TRACES[0]["scenario"] | change})
    assert messages[-1]["kind"] == "error"
    assert text in messages[-1]["text"]


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_):
        pass


@pytest.fixture
def served():
    """The address of the laboratory's files on a plain file server."""
    handler = functools.partial(Quiet, directory=LAB)
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


IN_A_WORKER = """traces => new Promise((resolve, reject) => {
  const worker = new Worker("/worker.js", { type: "module" });
  const found = {};
  worker.onerror = ({ message }) => reject(new Error(message));
  worker.onmessage = ({ data }) => {
    if (!["end", "error"].includes(data.kind)) return;
    found[data.job] = data.trace_hash ?? data.text;
    if (Object.keys(found).length === traces.length) resolve(found);
  };
  traces.forEach(({ scenario }, job) => worker.postMessage({ job, scenario }));
})"""


@pytest.mark.slow
def test_hashes_in_a_browser_are_the_native_ones(served, browser):
    page = browser.new_page()
    page.goto(f"{served}/engine.js")
    found = page.evaluate(IN_A_WORKER, TRACES)
    assert found == {str(job): trace["trace_hash"] for job, trace in enumerate(TRACES)}
    page.close()
