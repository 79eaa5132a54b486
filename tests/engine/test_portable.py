"""The engine as WebAssembly: what it makes is what the native library makes."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from ackclock import AckclockError, Scenario, _core
from ackclock.results import measures, result, summary, tables
from common import ACKCLOCK, ROOT

portable = pytest.importorskip("ackclock.engine.portable")
instance = pytest.importorskip("ackclock.engine.instance")
pytestmark = [
    pytest.mark.skipif(not instance.ENGINE.exists(), reason="engine.wasm is not built: make lab"),
    pytest.mark.skipif(_core is portable, reason="there is no native engine beside it"),
]
EXAMPLES = sorted(ROOT.glob("examples/*.toml"))
FEW = ("two_cubic", "satellite", "cellular", "web_traffic", "two_way", "rate_steps", "parking_lot")


def of(engine, scenario, **options):
    """The result of a scenario on an engine."""
    found = []
    written = engine.Written(scenario.given)
    prepared = engine.Snapshot().prepare(written)

    def on_result(_, raw):
        found.append(raw)

    engine.run_many([prepared], 1, None, on_result, **options)
    [raw] = found
    return result.result_of(scenario, prepared.json, prepared.algorithms, raw)


def same(scenario):
    """Runs it on both engines, and compares all that they make."""
    native, wasm = of(_core, scenario), of(portable, scenario)
    ours = {"wall_time_s", "cpu_time_s"}
    one, other = (
        {key: value for key, value in each.manifest.items() if key not in ours}
        for each in (native, wasm)
    )
    assert one == other
    for table in tables.TABLES:
        assert getattr(native, table).equals(getattr(wasm, table)), table
    return native, wasm


def example(path):
    scenario = Scenario.from_toml(path)
    if any(getattr(each, "stack", None) not in (None, "udp") for each in scenario.flows):
        pytest.skip("QUIC stacks run in the native engine only")
    try:
        scenario.check()
    except AckclockError as error:
        pytest.skip(str(error))  # of Linux
    return scenario


@pytest.mark.parametrize("name", FEW)
def test_the_same_tables(name):
    same(example(ROOT / "examples" / f"{name}.toml").replace(duration="35s"))


@pytest.mark.slow
@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_the_same_tables_of_every_example(path):
    scenario = example(path)
    if "/" not in str(scenario.flows):  # a user's C file
        same(scenario)


def recorded():
    lines = (ROOT / "crates/sim/tests/data/traces.jsonl").read_text().splitlines()
    return list(map(json.loads, lines))


def hash_of(trace):
    wanted = {"rows": False, "packets": False, "pcapng": None}
    given = {"scenario": json.dumps(trace["scenario"])} | wanted
    return instance.Instance().call("run_whole", given)["trace_hash"]


@pytest.mark.parametrize("name", ["linux-6 cubic", "linux-6 web both ways"])
def test_recorded_traces(name):
    [trace] = [each for each in recorded() if each["name"] == name]
    assert hash_of(trace) == trace["trace_hash"]


@pytest.mark.slow
@pytest.mark.parametrize("trace", recorded(), ids=lambda trace: trace["name"])
def test_all_recorded_traces(trace):
    assert hash_of(trace) == trace["trace_hash"]


#: What functions are given, whose answers must be equal.
GIVEN = {
    "any_quantity": [("20ms",), ("3packets",), ("1.5bdp",)],
    "capacity_bits": [({"rate_bps": 10**7}, 0.5, 2.25)],
    "configure": [("cubic@ha2008",), ("kernel:cubic",)],
    "connections": [(json.dumps(recorded()[-1]["scenario"]),)],
    "connects_ns": [(TRACE := json.dumps(recorded()[0]["scenario"]),)],
    "headline": [([("one", False, "better"), ("two", True, None)], "reno", [], None)],
    "installed_window": [("linux", 1448), ("none of these", 1448)],
    "jain_index": [([1.0, 3.0],), ([0.0],)],
    "loss_changes": [(TRACE,)],
    "read_quantity": [("Time", "20ms"), ("Payload", "3packets", 1000)],
    "read_room": [("1bdp",), ("20ms",)],
    "read_toml": [('rtt = "20ms"\n[[flow]]\nalgorithm = "reno"\nstart = 3',)],
    "rtts_ns": [(TRACE,)],
    "table": [("Flow", {"algorithm": "reno", "start": "1500ms"})],
    "write_quantity": [("Rate", 10**7)],
}
#: What needs a run, or a system; or is of another test.
OTHERS = {
    *(
        "Prepared",
        "check_on_vlinux",
        "Snapshot",
        "Stepped",
        "Written",
        "run_many",
        "confine",
        "confinement",
        "follow",
        "fuzz",
        "packet_script",
        "capacity_bps",
        "common_ns",
    ),
    *("convergence_s", "delivered_bits", "frame_delays_s", "goodputs_bps", "is_equal"),
    *("is_unsafe", "lifetimes_bps", "mark", "means", "numbers", "summary", "utilisation"),
}


def lists(value):
    """JSON has no tuples."""
    return json.loads(json.dumps(value))


def test_each_function_answers_as_the_native_one():
    names = {name for name in dir(_core) if not name.startswith("_")}
    assert GIVEN.keys() | OTHERS <= names
    for name in sorted(names - OTHERS):
        of_both = (getattr(engine, name) for engine in (_core, portable))
        native, wasm = of_both
        if not callable(native):
            assert native == wasm
        for given in GIVEN.get(name, [()] if callable(native) else []):
            assert repr(lists(wasm(*given))) == repr(lists(native(*given))), name


@pytest.mark.parametrize(
    ("name", "given"),
    [
        ("any_quantity", ("fast",)),
        ("configure", ("cubik",)),
        ("read_toml", ("a: b",)),
        ("table", ("Flow", {"algorithm": 3.5, "rtt": float("inf")})),
        ("connects_ns", ("{}",)),
        ("check_on_vlinux", (json.dumps(recorded()[-1]["scenario"]), "2.6")),
    ],
)
def test_each_refusal_is_the_native_one(name, given):
    with pytest.raises(AckclockError if name != "any_quantity" else ValueError) as native:
        getattr(_core, name)(*given)
    with pytest.raises(type(native.value)) as wasm:
        getattr(portable, name)(*given)
    assert (type(wasm.value), wasm.value.args) == (type(native.value), native.value.args)


def test_measures(monkeypatch):
    text = "examples/cubic_and_reno.toml"
    native, wasm = same(Scenario.from_toml(ROOT / text).replace(duration="10s"))
    loaded = of(portable, native.scenario)
    frames = {table: getattr(loaded, table) for table in tables.TABLES}
    loaded = result.Result(**frames, manifest=loaded.manifest)  # of polars' tables

    def measured(engine, run):
        monkeypatch.setattr(summary, "_core", engine)
        monkeypatch.setattr(measures, "_core", engine)
        found = summary.summarise(run)
        found = {key: each for key, each in found.items() if "time_s" not in key}
        more = [
            *(engine.numbers(run, 1), engine.lifetimes_bps(run), engine.goodputs_bps(run)),
            engine.convergence_s(run, 1.0, 0.5, 0.4),
            np.frombuffer(engine.delivered_bits(run, [0.1, 3.7, 99.0])).tolist(),
            (measures.capacity_bps(run), measures.common_s(run), measures.mean_cwnd_packets(run)),
            engine.utilisation(run, 2.0, 2.0, None),
        ]
        return repr(lists([found, more]))

    asked = [measured(_core, native), measured(portable, wasm), measured(portable, loaded)]
    assert asked[0] == asked[1] == asked[2]


def test_packets(tmp_path):
    scenario = Scenario.from_toml(ROOT / "examples/two_cubic.toml").replace(duration="12s")
    files = []
    for engine in (_core, portable):
        rows = []
        prepared = engine.Snapshot().prepare(engine.Written(scenario.given))
        files.append(tmp_path / engine.__name__)
        engine.run_many(
            [prepared],
            1,
            None,
            lambda _, raw, rows=rows: rows.append(pl.DataFrame(raw["packet_rows"])),
            pcapng=(files[-1], "both", 64),
            packets=True,
        )
    assert files[0].read_bytes() == files[1].read_bytes()
    assert len(rows[0]) > 1000


def test_rows_on_their_way_and_many_runs():
    scenario = Scenario.from_toml(ROOT / "examples/two_cubic.toml").replace(duration="12s")
    seeds = [scenario.replace(seed=seed, sample_interval="2ms") for seed in range(5)]
    found = []
    for engine in (_core, portable):
        raws, done = {}, []
        prepared = [engine.Snapshot().prepare(engine.Written(each.given)) for each in seeds]
        engine.run_many(prepared, 2, done.append, raws.__setitem__)
        found.append([raws[index]["trace_hash"] for index in range(5)])
        assert sorted(done) == done
        assert done[-1] == 1
    assert found[0] == found[1]
    parts = []
    portable.run_many(
        prepared[:1],
        1,
        None,
        lambda _, raw: parts.append(raw),
        lambda _, raw: parts.append(raw),
        live=True,
    )
    whole = of(portable, seeds[0])
    assert sum(len(pl.DataFrame(part["samples"])) for part in parts) == len(whole.samples)


def test_what_a_callback_raises_ends_the_runs():
    scenario = Scenario.from_toml(ROOT / "examples/two_cubic.toml")
    prepared = portable.Snapshot().prepare(portable.Written(scenario.given))

    class EndedError(Exception):
        pass

    def end(*_):
        raise EndedError

    for options in ({"progress": end, "on_result": print}, {"progress": None, "on_result": end}):
        with pytest.raises(EndedError):
            portable.run_many([prepared] * 3, 2, **options)


def test_an_impossible_run_is_refused_as_by_the_native_one():
    fields = dict(Scenario.from_toml(ROOT / "examples/two_cubic.toml").given)
    for change in ({"duration": "2s", "rtt": "0ns"}, {"flow": []}, {"flow": [{"algorithm": "x"}]}):
        told = []
        for engine in (_core, portable):
            with pytest.raises(AckclockError) as error:
                engine.Snapshot().prepare(engine.Written(fields | change))
            told.append(str(error.value))
        assert told[0] == told[1]


def test_the_command(tmp_path):
    """`ackclock` chooses by the environment, and writes the same."""
    example = ROOT / "examples/two_cubic.toml"
    told = []
    for name in ("native", "portable"):
        environment = {**os.environ, "ACKCLOCK_ENGINE": name}
        words = ["run", example, "--set", "duration=12s", "--json", "-o", tmp_path / name]
        done = subprocess.run(
            [ACKCLOCK, *words], env=environment, capture_output=True, text=True, check=True
        )
        told.append(json.loads(done.stdout))
        for key in ("wall_time_s", "cpu_time_s"):
            del told[-1][key]
    assert str(told[0]).replace("native", "portable") == str(told[1])
    for file in (tmp_path / "native").glob("*.parquet"):
        assert file.read_bytes() == Path(tmp_path, "portable", file.name).read_bytes()


def test_an_unknown_engine_is_refused():
    environment = {**os.environ, "ACKCLOCK_ENGINE": "fast"}
    done = subprocess.run(
        [ACKCLOCK, "list"], env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 1
    assert done.stderr == 'error: ACKCLOCK_ENGINE = "fast": choose native or portable\n'


@pytest.mark.slow
def test_it_has_half_the_speed():
    """Processor time of both, in one run: the portable one has 0.45 of the packets per second."""
    scenario = Scenario.from_toml(ROOT / "examples/two_cubic.toml").replace(duration="300s")
    cpu_s = {}
    for engine in (_core, portable) * 3:
        taken_s = of(engine, scenario).manifest["cpu_time_s"]
        cpu_s[engine] = min(cpu_s.get(engine, taken_s), taken_s)
    assert cpu_s[_core] / cpu_s[portable] >= 0.45


INTERRUPTED = """
import os, signal, threading
from ackclock import _core
for each in range(30):
    try:
        threading.Timer(0.05 + each / 5000, os.kill, (os.getpid(), signal.SIGINT)).start()
        while True:
            _core.algorithms()
    except KeyboardInterrupt:
        pass
print("whole")
"""


def test_an_interrupt_waits_for_a_call():
    """An exception where a callback of wasmtime begins would end the process."""
    done = subprocess.run(
        [sys.executable, "-c", INTERRUPTED],
        env={**os.environ, "ACKCLOCK_ENGINE": "portable"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout) == (0, "whole\n"), done.stderr
