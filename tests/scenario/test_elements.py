"""What a link does beside its queue: losses, changing rates, traces, ticks, policers, delays."""

import json
import math
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from ackclock import AckclockError, Scenario, _core, metrics, run
from ackclock._core import capacity_bits
from ackclock.scenario import snapshot
from common import ROOT

LINK = {"rate": "10mbit", "buffer": "50packets"}
FIELDS = {"duration": "10s", "rtt": "20ms", "flow": [{"algorithm": "cubic"}]}


def with_link(**link):
    return Scenario.parse(FIELDS | {"bottleneck": LINK | link})


GILBERT = {"kind": "gilbert_elliott", "p": 0.01, "r": 0.25}
ELEMENTS = {
    "loss": (0.001, {"bernoulli": {"p_ppb": 1_000_000}}),
    "loss of a billionth": (1e-9, {"bernoulli": {"p_ppb": 1}}),
    "loss in bursts": (
        GILBERT,
        {"gilbert_elliott": {"p_ppb": 10**7, "r_ppb": 25 * 10**7, "h_ppb": 0, "k_ppb": 10**9}},
    ),
    "reorder": ({"p": 0.5, "delay": "3ms"}, {"p_ppb": 5 * 10**8, "delay_ns": 3_000_000}),
    "policer": ({"rate": "1mbit", "burst": "9kB"}, {"rate_bps": 10**6, "burst_bytes": 9_000}),
    "rate_at": (
        [{"time": "1s", "rate": "1mbit"}, {"time": "2s", "rate": "3mbit"}],
        [{"time_ns": 10**9, "rate_bps": 10**6}, {"time_ns": 2 * 10**9, "rate_bps": 3 * 10**6}],
    ),
    "delay_at": ([{"time": "1s", "delay": "1ms"}], [{"time_ns": 10**9, "delay_ns": 10**6}]),
}


@pytest.mark.parametrize("name", ELEMENTS)
def test_the_canonical_form(name, tmp_path):
    key, (value, canonical) = name.split()[0], ELEMENTS[name]
    scenario = with_link(**{key: value})
    assert json.loads(scenario.resolve())["bottleneck"][key] == canonical
    _core.Snapshot().validate(scenario.resolve())
    path = tmp_path / "scenario.toml"
    path.write_text(scenario.to_toml())
    assert Scenario.from_toml(path) == scenario
    assert scenario.key() != with_link().key()


def test_keys_of_before_are_unchanged():
    assert set(json.loads(with_link().resolve())["bottleneck"]) == {
        "rate_bps",
        "buffer",
        "drop_every_packets",
    }


def test_settings_reach_into_elements():
    scenario = with_link().assign("bottleneck.loss=0.01", "bottleneck.tick=1ms")
    assert json.loads(scenario.resolve())["bottleneck"]["loss"]["bernoulli"]["p_ppb"] == 10**7
    assert scenario.assign("bottleneck.loss.p=0.1").bottleneck.loss.p == 0.1
    assert with_link(reorder=ELEMENTS["reorder"][0]).assign("bottleneck.reorder.p=1")
    with pytest.raises(AckclockError, match=r"loss.p=0.1\": loss is 0.01 here; set all of loss"):
        scenario.assign("bottleneck.loss=0.01", "bottleneck.loss.p=0.1")


LATE = {"time": "2s", "rate": "1mbit"}


@pytest.mark.parametrize(
    ("link", "words"),
    [
        ({"loss": 2}, ["bottleneck.loss.p = 2", "from 0 to 1"]),
        ({"loss": 1e-10}, ["bottleneck.loss.p", "nine decimals"]),
        ({"loss": True}, ["bottleneck.loss = true", "write a probability, like 0.001"]),
        ({"loss": "markov"}, ['bottleneck.loss = "markov"', "gilbert_elliott"]),
        ({"loss": "1%"}, ['bottleneck.loss = "1%"', "write 0.01"]),
        ({"loss": {"kind": "markov", "p": 1}}, ['bottleneck.loss.kind = "markov"', "choose from"]),
        ({"loss": {"p": 0.1}}, ["bottleneck.loss", "a table with kind"]),
        ({"loss": {"kind": "gilbert_elliott", "p": 0.1}}, ["loss.r is missing", "r = 0.3"]),
        ({"loss": GILBERT | {"h": -1}}, ["bottleneck.loss.h = -1", "from 0 to 1"]),
        ({"reorder": 0.1}, ["bottleneck.reorder = 0.1", 'like {p = 0.01, delay = "10ms"}']),
        ({"reorder": {"p": 0.1}}, ["bottleneck.reorder.delay is missing", '"50ms"']),
        ({"reorder": {"p": 0.1, "delay": "0s"}}, ['reorder.delay = "0s"', "from 1ns"]),
        ({"duplicate": 1.5}, ["bottleneck.duplicate = 1.5", "from 0 to 1"]),
        ({"policer": {"rate": "1mbit"}}, ["bottleneck.policer.burst is missing", '"100kB"']),
        ({"policer": {"rate": "1mbit", "burst": "1kB"}}, ['policer.burst = "1kB"', "1500B"]),
        ({"policer": 5}, ["bottleneck.policer = 5", "write a table"]),
        ({"burst": "1kB"}, ['bottleneck.burst = "1kB"', "1500B"]),
        ({"tick": "2s"}, ['bottleneck.tick = "2s"', "to 1s"]),
        ({"rate_at": LATE}, ["bottleneck.rate_at", "a list of tables"]),
        ({"rate_at": [{"time": "2s"}]}, ["bottleneck.rate_at 1: rate is missing"]),
        ({"rate_at": [LATE, LATE]}, ["bottleneck.rate_at 2", 'time = "2s"', "in order"]),
        ({"rate_at": [{"time": "-1s", "rate": "1mbit"}]}, ["rate_at 1: time", "from 0s"]),
        ({"delay_at": [{"time": "2s", "delay": "-1s"}]}, ["delay_at 1: delay", "from 0s"]),
        ({"rate": None}, ["bottleneck.rate is missing", 'rate = "100mbit", or a trace']),
        ({"trace": "t"}, ['bottleneck.trace = "t"', "remove rate, or trace"]),
        ({"trace": "t", "rate": None, "burst": "9kB"}, ["remove burst, or trace"]),
        ({"trace": "t", "rate": None, "rate_at": [LATE]}, ["remove rate_at, or trace"]),
        ({"trace": 5, "rate": None}, ["bottleneck.trace = 5", "in quotes"]),
        ({"trace": "no/file", "rate": None}, ['trace = "no/file"', "No such file"]),
    ],
    ids=str,
)
def test_bad_input_is_one_line_that_names_table_key_value_and_fix(link, words):
    with pytest.raises(AckclockError) as error:
        with_link(**link).check()
    assert "\n" not in str(error.value)
    for word in words:
        assert word in str(error.value)


@pytest.mark.parametrize("kind", [Path, str])
def test_a_trace_lies_in_the_directory_of_a_text(kind, tmp_path):
    text = with_link(trace="t", rate=None).to_toml()
    read = Scenario.from_text(text, source="s", directory=kind(tmp_path))
    assert read.bottleneck.trace == str(tmp_path / "t")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", ["has 0 lines", "a time in ms on each"]),
        ("1\n\n2\n", ['line 2 is ""', "whole number of ms"]),
        ("1\n-2\n", ['line 2 is "-2"', "from 0"]),
        ("1\n2.5\n", ['line 2 is "2.5"']),
        ("5\n3\n9\n", ["line 2, 3 ms", "sort the times", "if these are rates"]),
        ("10.5\n12.25\n", ['line 1 is "10.5"', "packet of 1500 bytes", "write them in a timeline"]),
        ("10\n12\n15\n20\n25\n30\n", ["begin at 10 ms", "2.4 Mb/s", "write them in a timeline"]),
        ("40\n40\n41\n44\n50\n", ["longer than 6 ms", "end at 50 ms"]),
        ("".join(f"{kbps}\n" for kbps in range(20_000, 21_000)), ["begin at 20000 ms", "timeline"]),
        ("20\n" * 600, ["600 packets leave all at 20 ms", "write them in a timeline"]),
        ("10000\n" * 300 + "20000\n" * 300, ["all at 10000 or 20000 ms"]),
        ("time\n1\n2\n", ['line 1 is "time"']),
        ("1\r2\r3\r", ["line 1 is"]),
        ("4000000000\n", ["line 1, 4000000000 ms, is later than"]),
        ("1" * 40_000_000, ["longer than 32000000 bytes", "1000000 lines"]),
        ("0\n0\n", ["more than 0 ms"]),
        (b"\xff\xfe", ["not text"]),
    ],
    ids=lambda each: repr(each)[:30],
)
def test_a_bad_trace_is_one_line(tmp_path, text, words):
    path = tmp_path / "bad.trace"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    scenario = with_link(rate=None, trace=str(path))
    for call in (scenario.check, scenario.prepare, scenario.key):
        with pytest.raises(AckclockError) as error:
            call()
        assert "\n" not in str(error.value)
        for word in [f'bottleneck.trace = "{path}"', *words]:
            assert word in str(error.value)


@pytest.mark.parametrize(
    "times",
    [
        [1],
        [1, 1],
        [2, 3],
        [5, 10, 15],
        [0, 1, 1, 2, 5],
        [3, 6, 8, 11],
        range(500, 1500),  # an outage first
        [10, *range(11, 5000, 7)],
        range(5_000, 50_000, 100),  # a long outage first
        [1] * 50,  # 600 Mb/s, as of mahimahi
        [20],
    ],
    ids=lambda times: str(times)[:40],
)
def test_times_of_packets_are_no_rates(tmp_path, times):
    path = tmp_path / "mine.trace"
    path.write_text("".join(f"{time}\n" for time in times))
    with_link(rate=None, trace=str(path)).check()


def test_a_trace_of_another_system_is_read(tmp_path):
    """With the byte order mark and the ends of lines of Windows."""
    path = tmp_path / "mine.trace"
    read = []
    for content in (b"1\n3\n4\n", b"\xef\xbb\xbf1\r\n3\r\n4\r\n"):
        path.write_bytes(content)
        read.append(with_link(rate=None, trace=str(path)).resolve())
    assert read[0] == read[1]


def test_a_run_says_what_its_trace_is(ackclock, tmp_path):
    (tmp_path / "mine.trace").write_text("1\n1\n2\n4\n")
    file = tmp_path / "scenario.toml"
    file.write_text(
        'duration = "1s"\nrtt = "20ms"\n[[link]]\nrate = "20mbit"\nbuffer = "1bdp"\n'
        '[[link]]\ntrace = "mine.trace"\nbuffer = "1bdp"\n[[flow]]\nalgorithm = "cubic"\n'
    )
    printed = " ".join(ackclock("run", file).stdout.split())
    assert "queue 2: " in printed
    assert "mine.trace has a mean of 12 Mb/s and repeats after 0.004 s" in printed
    for more in ([], ["--seeds", 2]):
        (trace,) = json.loads(ackclock("run", file, "--json", *more).stdout)["traces"]
        assert (trace["queue"], trace["mean_bps"], trace["length_s"]) == (2, 12_000_000, 0.004)


def test_a_bucket_that_is_full_is_no_more_than_the_whole_link():
    """In 10 s of 20 Mb/s 25 MB pass, and 50 MB of the bucket beside."""
    result = run(with_link(rate="20mbit", burst="50MB", buffer="60000packets"))
    sent_bytes = result.queues["sent_bytes"].max()
    assert sent_bytes > 60e6
    assert metrics.utilisation(result) == pytest.approx(sent_bytes / 75e6)
    assert 0.8 < metrics.utilisation(result) <= 1


def test_an_outage_in_a_run():
    steps = [{"time": "4s", "rate": "0bit"}, {"time": "6s", "rate": "20mbit"}]
    result = run(with_link(rate="20mbit", rate_at=steps))
    assert metrics.utilisation(result, 1, 4) > 0.9
    # An RTO of up to 4 s ends after the outage.
    assert metrics.utilisation(result, 8.5, 10) > 0.9
    assert math.isnan(metrics.utilisation(result, 4.5, 5.5))
    assert capacity_bits(result.resolved["bottleneck"], 3, 7) == 2 * 20e6
    assert metrics.throughput_bps(result, [4.5, 5.5]).sum() == 0


def test_a_link_that_is_always_dead_is_refused():
    steps = [{"time": "0s", "rate": "0bit"}]
    with pytest.raises(AckclockError, match=r"rate_at.*the link carries nothing in the whole run"):
        run(with_link(rate_at=steps))
    slow = [{"time": "1s", "rate": "999bit"}]
    with pytest.raises(AckclockError, match=r'rate_at 1: rate = "999bit": .* or 0bit: nothing lea'):
        with_link(rate_at=slow)
    with pytest.raises(AckclockError, match=r'bottleneck.rate = "0bit": choose from 1kbit'):
        with_link(rate="0bit")


def test_a_link_in_series_has_them_too(tmp_path):
    (tmp_path / "mine.trace").write_text("1\n")
    file = tmp_path / "scenario.toml"
    file.write_text(
        'duration = "1s"\nrtt = "20ms"\n[[link]]\nrate = "20mbit"\nbuffer = "1bdp"\nloss = 0.01\n'
        '[[link]]\ntrace = "mine.trace"\nbuffer = "1bdp"\n[[flow]]\nalgorithm = "cubic"\n'
    )
    scenario = Scenario.from_toml(file)
    second = json.loads(scenario.resolve())["links"][0]
    assert (second["trace_ms"], second["rate_bps"]) == ([1], 12_000_000)
    assert run(scenario).flows["delivered_bytes"].sum() > 0
    (tmp_path / "mine.trace").write_text("0\n")
    with pytest.raises(AckclockError, match=r'scenario.toml: link 2: trace = ".*": the last time'):
        scenario.check()
    steps = [{"time": "2s", "delay": "1ms"}, {"time": "1s", "delay": "1ms"}]
    with pytest.raises(AckclockError, match=r'link 1: delay_at 2: time = "1s": is not after 2s'):
        Scenario.parse(FIELDS | {"link": [LINK | {"delay_at": steps}]})


def test_the_content_of_a_trace_is_in_the_key(tmp_path):
    file, trace = tmp_path / "scenario.toml", tmp_path / "mine.trace"
    file.write_text(
        'duration = "1s"\nrtt = "20ms"\n[bottleneck]\ntrace = "mine.trace"\nbuffer = "1bdp"\n'
        '[[flow]]\nalgorithm = "cubic"\n'
    )
    scenario = Scenario.from_toml(file)  # it need not be there to read the scenario
    trace.write_text("1\n")
    key = scenario.key()
    assert json.loads(scenario.resolve())["bottleneck"]["rate_bps"] == 12_000_000
    assert json.loads(scenario.resolve())["bottleneck"]["buffer"] == {"packets": 20}
    trace.write_text("1\n2\n")
    assert scenario.key() != key
    trace.write_text("1\n")
    assert scenario.key() == key


def test_a_trace_is_read_once_for_a_command(tmp_path):
    trace = tmp_path / "mine.trace"
    trace.write_text("1\n")
    scenario = with_link(rate=None, trace=str(trace))
    with snapshot.held():
        key = scenario.key()
        trace.write_text("2\n")
        assert scenario.key() == key
    assert scenario.key() != key


def test_utilisation_counts_what_the_link_could_carry():
    steps = [{"time_ns": 2 * 10**9, "rate_bps": 10}, {"time_ns": 4 * 10**9, "rate_bps": 30}]
    link = {"rate_bps": 20, "rate_at": steps}
    assert capacity_bits(link, 0, 5) == 2 * 20 + 2 * 10 + 30
    assert capacity_bits(link, 1, 3) == 20 + 10
    assert capacity_bits(link, 6, 7) == 30
    times = {"rate_bps": 9 * 10**6, "trace_ms": [0, 2, 4]}
    # After 0: those at 2 and 4 ms, and the first of the repetition.
    assert capacity_bits(times, 0, 0.004) == 3 * 12_000
    assert capacity_bits(times, 0.001, 0.0035) == 12_000
    assert capacity_bits(times, 0, 4) == pytest.approx(9e6 * 4)


def test_a_busy_trace_carries_all_it_can():
    scenario = Scenario.from_toml(ROOT / "examples" / "cellular.toml")
    result = run(scenario.replace(duration="20s"))
    seconds = range(2, 20)
    queues = result.queues
    sent = np.interp(seconds, queues["time_us"] / 1e6, queues["sent_bytes"])
    for (start, before), (stop, after) in pairwise(zip(seconds, sent, strict=True)):
        can = capacity_bits(result.resolved["bottleneck"], start, stop)
        assert 8 * (after - before) == pytest.approx(can, rel=0.02)
    assert metrics.capacity_bps(result) == pytest.approx(7e6 * 1448 / 1500, rel=0.001)


def test_a_link_loses_the_share_that_it_is_told():
    result = run(with_link(loss=0.02))
    sent, dropped = result.flows["sent_packets"].sum(), result.flows["dropped_packets"].sum()
    assert dropped / sent == pytest.approx(0.02, rel=0.25)


def test_the_delay_changes():
    steps = [{"time": "4s", "delay": "40ms"}, {"time": "7s", "delay": "0s"}]
    scenario = with_link(rate="100mbit", delay_at=steps)
    # Too few packets for a queue, and no ACK waits.
    result = run(scenario.assign("flow.receive_window=8688B", "delayed_ack_segments=1"))
    samples = metrics.regular_samples(result)
    for from_s, to_s, rtt_ms in ((1, 4, 20), (5, 7, 60), (8, 10, 20)):
        rows = samples.filter(samples["time_us"].is_between(from_s * 10**6, to_s * 10**6 - 1))
        assert rows["srtt_us"].min() / 1e3 == pytest.approx(rtt_ms, rel=0.05)


@pytest.mark.parametrize("lines", ["3500000000\n", "1\n" * 90_000], ids=["slow", "fast"])
def test_a_trace_of_a_rate_that_no_link_has_is_refused(tmp_path, lines):
    path = tmp_path / "link.trace"
    path.write_text(lines)
    with pytest.raises(AckclockError, match=r'trace = ".*": its mean rate is .* 1kbit to 1tbit'):
        with_link(rate=None, trace=str(path)).check()


def test_drops_by_cause():
    """Each drop of a flow has one cause, and a link counts it there."""
    policer = {"rate": "8mbit", "burst": "30kB"}
    result = run(with_link(loss=0.001, drop_every_packets=500, policer=policer, queue="codel"))
    flow = result.flows.row(0, named=True)
    queue = result.queues.row(-1, named=True)
    assert flow["link_lost_packets"] == queue["link_lost_packets"] > 10
    assert flow["policed_packets"] == queue["policed_packets"] > 10
    before = queue["link_lost_packets"] + queue["policed_packets"]
    assert flow["dropped_packets"] == queue["dropped_packets"] + before
    assert flow["early_dropped_packets"] == queue["early_dropped_packets"]
