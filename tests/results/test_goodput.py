"""Rates that are compared or added: over one interval, and never above what a link can carry."""

import dataclasses
import json
import re
import subprocess

import polars as pl
import pytest
from hypothesis import HealthCheck, given, reject, settings
from hypothesis import strategies as st

from ackclock import AckclockError, Scenario, metrics, run
from ackclock._core import capacity_bits
from ackclock.base.units import size_bytes
from ackclock.questions import scenarios as scorecard
from ackclock.questions.measure import numbers
from ackclock.results import measures, summary
from common import ACKCLOCK, ROOT

TWO_CUBIC = ROOT / "examples" / "two_cubic.toml"
#: Payload of a link of 100 Mb/s.
MOST_MBPS = 96.5
END_S = 4


def seconds(least, most):
    return st.integers(round(10 * least), round(10 * most)).map(lambda tenths: f"{tenths / 10}s")


def some(fields):
    """A table with some of the fields."""
    return st.fixed_dictionaries({}, optional=fields)


QUEUES = st.sampled_from(
    ["drop_tail", {"kind": "codel", "ecn": True}, "fq_codel", "pie", "fq", "red", "dualpi2"]
)
RATES = st.sampled_from(["0.5mbit", "2mbit", "7.3mbit", "20mbit"])
LINK = some(
    {
        "queue": QUEUES,
        "delay": st.sampled_from(["5ms", "60ms"]),
        "loss": st.sampled_from([0.001, 0.03]),
        "duplicate": st.just(0.01),
        "reorder": st.just({"p": 0.02, "delay": "9ms"}),
        "policer": st.just({"rate": "4mbit", "burst": "30kB"}),
        "tick": st.just("10ms"),
        "burst": st.sampled_from(["1600B", "100kB"]),
        "rate_at": st.lists(
            st.tuples(seconds(0.1, END_S), st.sampled_from(["0bit", "1mbit", "30mbit"])),
            max_size=3,
            unique_by=lambda step: step[0],
        ).map(lambda steps: [{"time": time, "rate": rate} for time, rate in sorted(steps)]),
    }
)
SOURCE = {
    "rtt": st.sampled_from(["4ms", "30ms", "200ms"]),
    "start": seconds(0, END_S - 0.5),
    "start_spread": st.just("300ms"),
    "receive_window": st.just("40kB"),
    "ecn": st.just(True),
    "count": st.integers(1, 3),
}
FLOW = some(
    SOURCE
    | {
        "size": st.sampled_from(["1B", "50kB", "600packets"]),
        "stop": seconds(0.5, END_S),
        "hides": st.sampled_from(["losses", "marks"]),
        "frames": st.just({"size": "5kB", "every": "40ms"}),
    }
)
SESSION = some(SOURCE | {"gap": st.just("200ms"), "pareto": st.just(1.4)}).map(
    lambda session: session | {"algorithm": "cubic", "size": "80kB"}
)
MORE = some(
    {
        "jitter": st.just("2ms"),
        "pacing": st.just(True),
        "delayed_ack_segments": st.just(1),
        "mss": st.just(536),
        "tso": st.booleans(),
        "seed": st.integers(1, 100),
    }
)
BUFFERS = st.sampled_from(["5packets", "0.3bdp", "2bdp", "300packets"])
ALGORITHMS = st.sampled_from(["cubic", "reno", "bbr", "htcp", "vegas"])


@st.composite
def link_tables(draw, trace):
    link = draw(LINK) | {"buffer": draw(BUFFERS)}
    recorded = not link.keys() & {"rate_at", "burst"} and draw(st.integers(0, 3)) == 0
    return link | ({"trace": str(trace)} if recorded else {"rate": draw(RATES)})


@st.composite
def flow_tables(draw):
    flow = draw(FLOW) | {"algorithm": draw(ALGORITHMS)}
    if flow.keys() & {"size", "stop"}:
        flow.pop("frames", None)
    if flow.get("hides") == "losses":  # nothing else bounds its window
        flow["receive_window"] = "400kB"
    return flow


@st.composite
def scenarios(draw, trace):
    """Links in series with routes, or a bottleneck with flows both ways."""
    links = draw(st.lists(link_tables(trace), min_size=1, max_size=3))
    flows = draw(st.lists(flow_tables(), min_size=1, max_size=4))
    sessions = draw(st.lists(SESSION, max_size=3))
    series = draw(st.booleans())
    numbers = range(1, len(links) + 1)
    routes = st.lists(st.sampled_from(numbers), min_size=1, unique=True).map(sorted)
    for source in (*flows, *sessions):
        if series:  # each link needs a flow
            source["route"] = [*numbers] if source is flows[0] else draw(routes)
        else:
            source["direction"] = draw(st.sampled_from(["forward", "reverse"]))
    path = {"link": links} if series else {"bottleneck": links[0]}
    usual = {"duration": f"{END_S}s", "rtt": "20ms", "flow": flows, "session": sessions}
    return draw(MORE) | path | usual


@pytest.fixture(scope="module")
def trace(tmp_path_factory):
    path = tmp_path_factory.mktemp("trace") / "link.trace"
    path.write_text("".join(f"{ms}\n" for ms in range(3, 900, 3) for _ in range(1 + ms % 2)))
    return path


def carried(result):
    """Of each link and direction: payload of all that pass it, and what it can carry, bits."""
    resolved, scenario = result.resolved, result.scenario
    from_s, until_s = measures.common_s(result)
    mss, header = resolved["mss_bytes"], resolved["header_bytes"]
    written = scenario.links or (scenario.bottleneck,)
    links = [resolved["bottleneck"], *resolved.get("links", ())]
    routes = [
        (each.direction, each.route or range(1, len(links) + 1))
        for each in (*scenario.flows, *scenario.sessions)
        for _ in range(each.count)
    ]
    sums = [*result.flows["common_bytes"], *result.sessions["common_bytes"]]
    for number, (link, resolved_link) in enumerate(zip(written, links, strict=True), 1):
        # A bucket is full at the start and after each change, and cuts off parts of a nanosecond.
        fills = 1 + len(resolved_link.get("rate_at", ()))
        bucket_bits = 8 * size_bytes(link.burst) * fills
        ip_bits = capacity_bits(resolved_link, from_s, until_s) + bucket_bits
        ip_bits *= 1 + 1e-4 * (bucket_bits > 0)
        for way in ("forward", "reverse"):
            payload = [
                each
                for each, (direction, route) in zip(sums, routes, strict=True)
                if direction == way and number in route
            ]
            yield 8 * sum(payload), ip_bits * mss / (mss + header)


@settings(deadline=None, max_examples=150, suppress_health_check=[HealthCheck.too_slow])
@given(st.data())
def test_goodputs_together_fit_the_link(trace, data):
    try:
        result = run(Scenario.parse(data.draw(scenarios(trace))))
    except AckclockError:  # not every combination is one
        reject()
    for payload_bits, most_bits in carried(result):
        assert payload_bits <= most_bits * (1 + 1e-9)


def ackclock(*args, cwd=None):
    return subprocess.run(
        [ACKCLOCK, *args], check=True, capture_output=True, text=True, cwd=cwd
    ).stdout


def two_flows(first, second, **fields):
    usual = {"duration": "10s", "rtt": "20ms", "bottleneck": {"rate": "10mbit", "buffer": "1bdp"}}
    flows = [{"algorithm": "cubic"} | each for each in (first, second)]
    return run(Scenario.parse(usual | {"flow": flows} | fields))


@pytest.mark.parametrize(
    ("first", "second", "interval_s"),
    [
        ({}, {}, (0, 10)),
        ({}, {"start": "4s"}, (4, 10)),
        ({"stop": "7s"}, {"start": "4s"}, (4, 7)),
        # A flow with a size may come and go.
        ({"size": "1MB"}, {"start": "4s", "stop": "8s"}, (4, 8)),
        # They never are active at once, or there are none: the whole run.
        ({"stop": "4s"}, {"start": "4s"}, (0, 10)),
        ({"size": "1MB"}, {"start": "4s", "size": "1MB"}, (0, 10)),
    ],
)
def test_the_common_interval(first, second, interval_s):
    result = two_flows(first, second)
    assert measures.common_s(result) == interval_s
    flows = result.flows
    goodput_bps = 8 * flows["common_bytes"] / (interval_s[1] - interval_s[0])
    assert metrics.goodput_bps(result) == pytest.approx(goodput_bps.to_list())
    if interval_s == (0, 10):
        assert flows["common_bytes"].equals(flows["delivered_bytes"])
    else:
        assert (flows["common_bytes"] < flows["delivered_bytes"]).any()
        # At the samples more has been acknowledged: what was on its way at the start.
        within = result.samples.filter(
            pl.col("time_us").is_in([10**6 * each for each in interval_s])
        )
        for (number,), rows in within.group_by("flow"):
            rose = rows["delivered_bytes"].max() - rows["delivered_bytes"].min()
            started = rows.height == 2
            common_bytes = flows["common_bytes"][number - 1]
            assert not started or rose - 100_000 < common_bytes <= rose


@pytest.mark.parametrize("duration_s", [60, 15])
def test_two_cubic_flows_share_the_link(duration_s):
    """They printed 74.9 + 25.5 Mb/s, and 105.4 in 15 s."""
    setting = f"duration={duration_s}s"
    summed = json.loads(ackclock("run", str(TWO_CUBIC), "--set", setting, "--json"))
    assert summed["common_s"] == [10, duration_s]
    mbps = [flow["goodput_bps"] / 1e6 for flow in summed["flows"]]
    assert 0.9 * MOST_MBPS < sum(mbps) < MOST_MBPS
    assert summed["jain_index"] == pytest.approx(metrics.jain_index(mbps))
    assert summed["flows"][0]["lifetime_bps"] > 1.05e6 * mbps[0]

    header, _, *rows = ackclock("run", str(TWO_CUBIC), "--set", setting).strip().splitlines()[:4]
    assert re.search(rf"goodput 10–{duration_s} s \(Mb/s\) +lifetime \(Mb/s\)", header)
    assert [float(row.split()[2]) for row in rows] == pytest.approx(mbps, abs=0.005)


def test_over_seeds_and_in_sweeps(tmp_path):
    args = ("run", str(TWO_CUBIC), "--seeds", "3")
    summed = json.loads(ackclock(*args, "--json", cwd=tmp_path))
    assert sum(flow["goodput_bps"]["mean"] for flow in summed["flows"]) < 1e6 * MOST_MBPS
    assert "goodput 10–60 s (Mb/s)" in ackclock(*args, cwd=tmp_path)

    (tmp_path / "two.toml").write_text(TWO_CUBIC.read_text())
    (tmp_path / "sweep.toml").write_text("""\
scenario = "two.toml"
seeds = 2
metrics = ["goodput_bps", "goodput_1_bps", "goodput_2_bps", "share_1", "jain_index"]
[axes]
duration = ["15s", "30s"]
""")
    ackclock("sweep", "sweep.toml", "-o", "out", cwd=tmp_path)
    table = pl.read_parquet(tmp_path / "out" / "sweep.parquet")
    assert table.height == 4
    for row in table.iter_rows(named=True):
        mbps = [row[f"goodput_{flow}_bps"] / 1e6 for flow in (1, 2)]
        assert 0.9 * MOST_MBPS < sum(mbps) < MOST_MBPS
        assert row["goodput_bps"] == pytest.approx(1e6 * sum(mbps))
        assert row["share_1"] == pytest.approx(mbps[0] / sum(mbps))
        assert row["jain_index"] == pytest.approx(metrics.jain_index(mbps))


@pytest.mark.parametrize(
    "scenario",
    [
        scorecard.joining("cubic", 2),
        scorecard.rtts("cubic", 120),
        scorecard.mixed("bbr", "cubic", "1:4", "20mbit", 50, "1bdp"),
        scorecard.liars("cubic", "losses"),
        scorecard.load("cubic", "comes"),
        scorecard.load("cubic", "goes"),
    ],
    ids=["joining", "rtts", "mixed", "liars", "comes", "goes"],
)
def test_a_row_of_the_scorecard_fits_its_link(scenario):
    """A flow that joined or lied was compared over another time, or with what never came."""
    result = run(scenario)
    row = numbers(result)
    mine = scenario.flows[0].count
    mbps = mine * row.mine_mbps + (len(result.flows) - mine) * (row.others_mbps or 0)
    # To a packet: samples are not at its edges.
    packet_mbps = 8e-6 * 1448 / (measures.common_s(result)[1] - 10)
    assert 0.9 < mbps / (metrics.capacity_bps(result) / 1e6 + packet_mbps) <= 1


def test_the_header_says_the_interval():
    """Of one flow over the whole run there is no second number to tell."""
    (table,) = summary.tables(summary.summarise(two_flows({}, {})))
    headers = [str(column.header) for column in table.columns]
    assert headers[2:4] == ["goodput whole run (Mb/s)", "mean cwnd (packets)"]

    late = {"session": [{"algorithm": "reno", "size": "50kB", "gap": "100ms"}]}
    flows, sessions = summary.tables(summary.summarise(two_flows({}, {"start": "2.5s"}, **late)))
    headers = [str(column.header) for column in (*flows.columns, *sessions.columns)]
    assert {"goodput 2.5–10 s (Mb/s)", "lifetime (Mb/s)", "carried 2.5–10 s (Mb/s)"} <= {*headers}

    # Each run has its own interval: its start is drawn.
    runs = [two_flows({}, {"start_spread": "1s"}, seed=seed) for seed in (1, 2)]
    (table,) = summary.tables(summary.over_seeds([*map(summary.summarise, runs)]))
    assert str(table.columns[2].header) == "goodput while all are active (Mb/s)"


def test_segments_of_a_flow():
    """Rates, and what a file of qlog counts in bytes, are of each flow's own segments."""
    result = run(Scenario.from_toml(ROOT / "examples/tunnel.toml"))
    delivered = result.flows["delivered_bytes"]
    assert [delivered[0] % 1300, delivered[1] % 1448] == [0, 0]
    rates = metrics.throughput_bps(result, [0, 60])[:, 0]
    assert list(rates) == pytest.approx([8 * each / 60 for each in delivered], rel=0.01)
    assert delivered[0] < delivered[1]
    with pytest.raises(AckclockError, match=r"mss = 1300: choose at most the .* mss, 1000"):
        result.scenario.replace(mss=1000).check()


def test_a_programs_connections_for_control_are_no_flows_of_jains_index():
    """Two equal flows, and one of a packet each second, as iperf3's control: 1, not 2/3."""
    trickle = {"size": "1448B", "every": "1s"}
    flows = [{"algorithm": "reno", "start_spread": "1s", "count": 2}]
    flows.append({"algorithm": "reno", "frames": trickle})
    link = {"rate": "10mbit", "buffer": "1bdp"}
    fields = {"duration": "60s", "rtt": "20ms", "bottleneck": link, "flow": flows}
    result = run(Scenario.parse(fields))
    assert summary.summarise(result)["jain_index"] < 0.7
    of_programs = dataclasses.replace(result, manifest=result.manifest | {"connections": []})
    assert summary.summarise(of_programs)["jain_index"] > 0.95
