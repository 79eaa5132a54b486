"""Scenarios: units, defaults, the canonical form and what is refused."""

import json
from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ackclock import AckclockError, Bottleneck, Flow, Scenario, _core, run, units
from common import ROOT


@pytest.mark.parametrize(
    ("text", "ns"),
    [
        ("200ms", 200_000_000),
        ("0.1ms", 100_000),
        ("1us", 1_000),
        ("1.5s", 1_500_000_000),
        ("2min", 120_000_000_000),
        ("1h", 3_600_000_000_000),
        (" 10 s ", 10_000_000_000),
        ("1e3s", 1_000_000_000_000),
    ],
)
def test_times(text, ns):
    assert units.duration_ns(text) == ns


@pytest.mark.parametrize(
    ("text", "bps"),
    [
        ("250mbit", 250_000_000),
        ("250Mbit/s", 250_000_000),
        ("2.5gbit", 2_500_000_000),
        ("9600bit", 9600),
        ("56kbit", 56_000),
    ],
)
def test_rates(text, bps):
    assert units.rate_bps(text) == bps


def test_sizes():
    assert units.size_bytes("2MB") == 2_000_000
    assert units.size_bytes("2MiB") == 2 * 2**20
    assert units.buffer("100packets") == ("packets", 100)
    assert units.buffer("1packet") == ("packets", 1)
    assert units.buffer("64KiB") == ("bytes", 65536)
    assert units.buffer("0.25bdp") == ("bdp", Decimal("0.25"))


@given(st.integers(0, 10**18), st.sampled_from(sorted(units.TIME_UNITS)))
def test_a_time_in_any_unit_is_exact(ns, unit):
    text = f"{Decimal(ns) / units.TIME_UNITS[unit]:f}{unit}"
    if Fraction(text.removesuffix(unit)) * units.TIME_UNITS[unit] == ns:  # 3 does not divide 10^n
        assert units.duration_ns(text) == ns


@given(st.text(max_size=12))
def test_any_text_is_read_or_refused(text):
    for parse in (units.duration_ns, units.rate_bps, units.size_bytes, units.buffer):
        try:
            parse(text)
        except ValueError as error:
            assert str(error)  # noqa: PT017


def two_flows(rate, rtt, buffer="1bdp", **fields):
    return Scenario(
        duration="10s",
        bottleneck=Bottleneck(rate=rate, buffer=buffer),
        flows=(Flow(algorithm="reno", rtt=rtt), Flow(algorithm="reno", rtt="1ms")),
        **fields,
    )


@pytest.mark.parametrize(
    ("rate", "rtt", "packets"),
    [("250mbit", "200ms", 4167), ("10mbit", "200ms", 167), ("100mbit", "100ms", 833)],
)
def test_a_bdp_is_of_the_longest_rtt_to_the_nearest_packet(rate, rtt, packets):
    resolved = json.loads(two_flows(rate, rtt).resolve())
    assert resolved["bottleneck"]["buffer"] == {"packets": packets}


def test_the_canonical_form_is_what_the_engine_reads():
    scenario = two_flows("100mbit", "100ms", buffer="2MB", seed=7, hz=250, jitter="0s")
    resolved = json.loads(scenario.resolve())
    assert resolved["duration_ns"] == 10**10
    assert resolved["bottleneck"]["buffer"] == {"bytes": 2_000_000}
    assert resolved["seed"] == 7
    assert resolved["flows"][0]["rtt_ns"] == 10**8
    assert resolved["flows"][0]["stop_ns"] is None
    _core.Snapshot().validate(scenario.resolve())


def test_count_repeats_a_flow():
    scenario = Scenario(
        duration="1s",
        rtt="1ms",
        bottleneck=Bottleneck(rate="1mbit", buffer="1packet"),
        flows=(Flow(algorithm="reno", count=3), Flow(algorithm="cubic")),
    )
    names = [flow["algorithm"] for flow in json.loads(scenario.resolve())["flows"]]
    assert names == ["reno", "reno", "reno", "cubic"]


def test_tso_is_the_profiles_unless_said():
    for fields, tso in (
        ({}, True),
        ({"profile": "linux-2.6.25"}, False),
        ({"profile": "linux-2.6.25", "tso": True}, True),
        ({"profile": "linux-2.6.18"}, False),
        ({"profile": "linux-2.6.32"}, False),
        ({"tso": False}, False),
    ):
        assert json.loads(Scenario.parse(FIELDS | fields).resolve())["tso"] is tso


def test_a_session_is_resolved():
    scenario = Scenario.parse(FIELDS | {"session": [WEB | {"count": 2}], "mss": 1000})
    first, second = json.loads(scenario.resolve())["sessions"]
    assert first == second
    assert first["flow"]["size_bytes"] == 6000
    assert first["flow"]["rtt_ns"] == 10**7
    assert first["gap_ns"] == 10**9
    assert first["sizes"] == {"pareto": 1200}


CODEL = {"rate": "10mbit", "buffer": "100packets", "queue": "codel"}


@pytest.mark.parametrize(
    ("queue", "canonical"),
    [
        ("drop_tail", None),
        ({"kind": "drop_tail"}, None),
        ("codel", {"codel": {"target_ns": 5_000_000, "ecn": False}}),
        ({"kind": "codel", "target": "2ms", "ecn": True}, {"codel": {"target_ns": 2_000_000}}),
        ({"kind": "red", "max_p": 0.02, "min": "9kB"}, {"red": {"max_p_ppm": 20_000}}),
    ],
    ids=str,
)
def test_a_queue_is_its_name_or_a_table(queue, canonical, tmp_path):
    scenario = Scenario.parse(FIELDS | {"bottleneck": CODEL | {"queue": queue}})
    resolved = json.loads(scenario.resolve())["bottleneck"].get("queue")
    for kind, parameters in (canonical or {}).items():
        assert resolved[kind] == resolved[kind] | parameters
    assert (resolved is None) == (canonical is None)  # so results from before keep their keys
    path = tmp_path / "scenario.toml"
    path.write_text(scenario.to_toml())
    assert Scenario.from_toml(path) == scenario == scenario.replace(seed=1)
    _core.Snapshot().validate(scenario.resolve())


@pytest.mark.parametrize(("mss", "packet"), [(500, 1500), (1448, 1500), (8948, 9000)])
def test_a_queue_knows_the_size_of_a_full_packet(mss, packet):
    scenario = Scenario.parse(FIELDS | {"mss": mss, "bottleneck": CODEL | {"queue": "fq_codel"}})
    queue = json.loads(scenario.resolve())["bottleneck"]["queue"]["fq_codel"]
    assert (queue["mtu_bytes"], queue["quantum_bytes"]) == (packet, packet)
    scenario = scenario.assign("bottleneck.queue.mtu=700B")
    queue = json.loads(scenario.resolve())["bottleneck"]["queue"]["fq_codel"]
    assert (queue["mtu_bytes"], queue["quantum_bytes"]) == (700, packet)


def test_a_turn_of_fq_is_two_full_packets_and_the_first_is_ten():
    scenario = Scenario.parse(FIELDS | {"mss": 8948, "bottleneck": CODEL | {"queue": "fq"}})
    queue = json.loads(scenario.resolve())["bottleneck"]["queue"]["fq"]
    assert (queue["quantum_bytes"], queue["initial_quantum_bytes"]) == (18_000, 90_000)


def test_settings_reach_into_a_queue():
    scenario = Scenario.parse(FIELDS | {"bottleneck": CODEL})
    target = scenario.assign("bottleneck.queue.target=1ms").bottleneck.queue.target
    assert target == "1ms"
    assert scenario.assign("bottleneck.queue=red").bottleneck.queue.kind == "red"


def test_constructing_compiles_nothing(tmp_path):
    """What is wrong with a C file is said when somebody runs it, or asks."""
    mine = tmp_path / "mine.c"
    scenario = Scenario.parse(FIELDS | {"flow": [{"algorithm": str(mine)}]})
    for call in (scenario.check, scenario.prepare, scenario.key):
        with pytest.raises(AckclockError, match=r'^flow 1: algorithm = ".*mine.c": .*no such file'):
            call()
    mine.write_text((ROOT / "examples" / "my_cc.c").read_text().replace("my_cc", "mine"))
    scenario.check()


#: The limits that Python states in people's units are the engine's own.
EXTREMES = [
    {"rtt": "1us"},
    {"rtt": "100s"},
    {"jitter": "1s"},
    {"hz": 24},
    {"hz": 10_000},
    {"mss": 64},
    {"mss": 65_483},
    {"duration": "1000h", "sample_interval": "1s"},
    {"seed": 2**63 - 1},
    {"sample_interval": "0s"},
    {"sample_interval": "1us"},
    {"bottleneck": {"rate": "1kbit", "buffer": "1packet"}},
    {"rtt": "8ms", "bottleneck": {"rate": "1tbit", "buffer": "4294967296packets"}},
    {"flow": [{"algorithm": "reno", "size": "1B", "count": 100_000}]},
    {"flow": None, "session": [{"algorithm": "reno"}]},
    {"session": [{"algorithm": "reno", "size": "10000000000000packets"}], "mss": 65_483},
    {"session": [{"algorithm": "reno", "size": "10000GB", "gap": "1000h", "lognormal": 10}]},
    {"session": [{"algorithm": "reno", "size": "1B", "pareto": 1.001}]},
    {"session": [{"algorithm": "reno", "size": "1B", "pareto": 100, "rtt_exponential": "100s"}]},
    {"flow": [{"algorithm": "reno", "receive_window": "65kB", "send_buffer": "1000000GB"}]},
]
LINK = {"rate": "12mbit", "buffer": "1bdp"}


def two_links(**keys):
    """What changes in FIELDS for two links; `keys` are of the flow, `buffer` is of link 2."""
    second = LINK | {"buffer": keys.pop("buffer", "1bdp")}
    return {"bottleneck": None, "link": [LINK, second], "flow": [{"algorithm": "reno"} | keys]}


WEB = {"algorithm": "reno", "gap": "1s", "size": "6packets", "pareto": 1.2}
FIELDS = {
    "duration": "10s",
    "rtt": "10ms",
    "bottleneck": {"rate": "10mbit", "buffer": "100packets"},
    "flow": [{"algorithm": "reno"}],
}


TWO = {key: value for key, value in FIELDS.items() if key != "bottleneck"} | {"link": [LINK, LINK]}


def buffers(scenario):
    resolved = json.loads(scenario.resolve())
    return [link["buffer"] for link in (resolved["bottleneck"], *resolved.get("links", ()))]


def test_links_in_series(tmp_path):
    """Without a route, data passes every link; a BDP is of the flows that pass the link."""
    slow = LINK | {"rate": "6mbit", "delay": "5ms"}
    flows = [{"algorithm": "reno"}, {"algorithm": "reno", "route": [1], "rtt": "20ms"}]
    scenario = Scenario.parse(TWO | {"link": [LINK, slow], "flow": flows})
    assert scenario.bottleneck == scenario.links[0] == scenario.link[0]
    # 20 ms of 12 Mb/s, and 10 + 5 ms of 6 Mb/s, in packets of 1500 bytes.
    assert buffers(scenario) == [{"packets": 20}, {"packets": 8}]
    assert json.loads(scenario.resolve())["flows"][1]["route"] == [1]
    path = tmp_path / "scenario.toml"
    path.write_text(scenario.to_toml())
    assert Scenario.from_toml(path) == scenario == scenario.replace(seed=1)
    result = run(scenario)
    first, second = (result.queues.filter(queue=number)["sent_bytes"][-1] for number in (1, 2))
    delivered = result.flows["delivered_bytes"]
    assert delivered[0] < second < 7_500_000 < delivered.sum() < first


def test_settings_of_links():
    scenario = Scenario.parse(TWO)
    changed = scenario.assign("link.buffer=9packets", "link.2.queue=codel", "link.2.delay=1ms")
    assert buffers(changed) == [{"packets": 9}] * 2
    assert [link.delay for link in changed.links] == ["0s", "1ms"]
    changed = changed.assign("link.2.queue.target=1ms")
    assert [link.queue.kind for link in changed.links] == ["drop_tail", "codel"]
    with pytest.raises(AckclockError, match=r"write link\.1\.rate"):
        changed.assign("bottleneck.rate=1mbit")
    with pytest.raises(AckclockError, match=r'"link.2=5": write KEY, .* or link\.NUMBER\.KEY'):
        changed.assign("link.2=5")
    assert len(scenario.replace(links=[LINK] * 3).links) == 3


def test_links_instead_of_a_bottleneck_and_back(small):
    links = small.replace(link=[LINK, LINK])
    assert len(links.links) == 2
    assert links.replace(link=[], bottleneck=LINK).links == ()
    with pytest.raises(AckclockError, match="keep one"):
        small.replace(link=[LINK], bottleneck=LINK)
    with pytest.raises(AckclockError, match=r"has a \[bottleneck\]; write bottleneck\.queue\.kind"):
        small.assign("link.1.queue.kind=red")


def test_a_queue_in_time():
    """What the link carries in 40 ms."""
    scenario = Scenario.parse(FIELDS | {"bottleneck": LINK | {"buffer": "40ms"}})
    assert buffers(scenario) == [{"bytes": 60_000}]


def test_one_link_is_a_bottleneck():
    short = Scenario.parse(FIELDS)
    long = Scenario.parse(
        {k: v for k, v in FIELDS.items() if k != "bottleneck"} | {"link": [FIELDS["bottleneck"]]}
    )
    assert short.resolve() == long.resolve()


@pytest.mark.parametrize("extreme", EXTREMES, ids=str)
def test_what_python_accepts_the_engine_accepts(extreme):
    fields = {key: value for key, value in (FIELDS | extreme).items() if value is not None}
    _core.Snapshot().validate(Scenario.parse(fields).resolve())


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"rtt": "0ms"}, ['rtt = "0ms"', "from 1us to 100s"]),
        ({"rtt": "101s"}, ['rtt = "101s"', "from 1us to 100s"]),
        ({"rtt": None}, ["flow 1: rtt is missing"]),
        ({"rtt": "10"}, ['rtt = "10"', "add a unit"]),
        ({"rtt": 10}, ["rtt = 10", "with a unit"]),
        ({"rtt": "10 parsecs"}, ["unknown unit", "parsecs"]),
        ({"rtt": "0.5ns"}, ["whole number"]),
        ({"duration": "0s"}, ['duration = "0s"']),
        ({"duration": "2000h"}, ["from 1ns to 1000h"]),
        ({"hz": 0}, ["hz = 0", "from 24 to 10000"]),
        ({"hz": True}, ["hz = true"]),
        ({"mss": 1.5}, ["mss = 1.5"]),
        ({"seed": -1}, ["seed = -1"]),
        ({"jitter": "-1ms"}, ['jitter = "-1ms"']),
        ({"sample_interval": "1ns"}, ["sample_interval", "1us"]),
        ({"sample_interval": "1500ns"}, ["sample_interval", "whole microseconds"]),
        (
            {"duration": "1000h", "sample_interval": "50ms"},
            ["sample_interval", "sample less often"],
        ),
        ({"pacing": "on"}, ['pacing = "on": write true or false']),
        ({"tso": 1}, ["tso = 1: write true or false"]),
        ({"profile": "linux-8"}, ['profile = "linux-8"', "linux-2.6.25", "linux-6"]),
        ({"duratoin": "1s"}, ["duratoin: unknown key", 'did you mean "duration"']),
        ({"xyzzy": 1}, ["xyzzy: unknown key", "known keys are"]),
        ({"ecn": True}, ["ecn: unknown key; it is a key of [[flow]] or of [[session]]"]),
        ({"session": [{"stack": "udp"}]}, ["session 1: stack: a session has TCP only; leave"]),
        (
            {"flow": [{"algorithm": "reno", "writes": [{"size": "1kB"}, {"size": "2kB"}]}]},
            ["flow 1: writes", "phase 1: the next begins no later; give each a later at"],
        ),
        (
            {"flow": [{"algorithm": "reno", "receive_window": "1MB", "read_rate": "1bit"}]},
            ['flow 1: read_rate = "1bit": choose from 1kbit to 1tbit, or 0bit'],
        ),
        ({"flow": []}, ["no flows: add at least one [[flow]] table"]),
        ({"flow": "reno"}, ["flow", "[[flow]]"]),
        ({"flow": {"algorithm": "reno"}}, ["[flow]", "write [[flow]] with two brackets"]),
        ({"flow": [3]}, ["flow 1 = 3", "[[flow]]"]),
        ({"flow": None}, ["no flows", "[[flow]]"]),
        ({"flow": [{"algorithm": 3}]}, ["flow 1: algorithm = 3", "in quotes"]),
        ({"flow": [{"rtt": "1ms"}]}, ["flow 1: algorithm is missing"]),
        ({"flow": [{"algorithm": "reno"}, {"algorithm": "rno"}]}, ["flow 2: algorithm", "reno"]),
        ({"flow": [{"algorithm": "cubic:beta=7"}]}, ["beta = 7", "0.999"]),
        ({"flow": [{"algorithm": "cubic:bta=7"}]}, ["bta", "beta"]),
        ({"flow": [{"algorithm": "cubic@nope"}]}, ["nope", "ha2008"]),
        ({"flow": [{"algorithm": "reno", "start": "10s"}]}, ["start", "must be less than 10s"]),
        ({"flow": [{"algorithm": "reno", "start_spread": "20s"}]}, ['start_spread = "20s"']),
        ({"flow": [{"algorithm": "reno", "start": "2s", "stop": "1s"}]}, ['stop = "1s"', "2s"]),
        ({"flow": [{"algorithm": "reno", "stop": "0s"}]}, ['stop = "0s"']),
        ({"flow": [{"algorithm": "reno", "size": "0B"}]}, ['size = "0B"']),
        ({"flow": [{"algorithm": "reno", "count": 0}]}, ["count = 0"]),
        ({"flow": [{"algorithm": "reno", "receive_window": "2kB"}]}, ["receive_window", "2896B"]),
        ({"flow": [{"algorithm": "reno", "send_buffer": "10B"}]}, ["send_buffer", "1448B"]),
        ({"flow": [{"algorithm": "reno", "receive_buffer": "23kB"}]}, ["receive_buffer", "24kB"]),
        (
            {"flow": [{"algorithm": "reno", "receive_buffer": "1MB", "receive_window": "1MB"}]},
            ["receive_buffer", "leave one out"],
        ),
        ({"flow": [{"algorithm": "reno", "strat": "0s"}]}, ["flow 1: strat", '"start"']),
        ({"session": [WEB | {"direction": "back"}]}, ['direction = "back"', '"reverse"']),
        (
            {"session": [{"algorithm": "reno", "size": "1B", "count": 100_000}], "duration": "1h"},
            ["session: 18000000000 transfers are more than 100000000", "longer gaps"],
        ),
        ({"session": "web"}, ['session = "web": write one table [[session]]']),
        ({"session": [3]}, ["session 1 = 3", "[[session]]"]),
        ({"session": [WEB | {"size": "0packets"}]}, ['session 1: size = "0packets"', "from 1B"]),
        ({"session": [WEB | {"size": "6"}]}, ["session 1: size", "add a unit", "packets"]),
        ({"session": [WEB | {"pareto": 1}]}, ["session 1: pareto = 1", "from 1.001 to 100"]),
        ({"session": [WEB | {"pareto": 1.2345}]}, ["pareto = 1.2345", "three decimals"]),
        ({"session": [WEB | {"lognormal": 1}]}, ["session 1: pareto and lognormal"]),
        ({"session": [{"algorithm": "reno", "gap": "1s"}]}, ["session 1: gap needs a size"]),
        ({"session": [WEB | {"stop": "1s"}]}, ["session 1: stop: a session does not stop; leave"]),
        ({"session": [WEB | {"algorithm": "rno"}]}, ["session 1: algorithm", "reno"]),
        ({"session": [WEB | {"rtt_exponential": "1h"}]}, ["session 1: rtt_exponential", "100s"]),
        ({"bottleneck": {"rate": "-5mbit", "buffer": "1bdp"}}, ['bottleneck.rate = "-5mbit"']),
        ({"bottleneck": {"rate": "0bit", "buffer": "1bdp"}}, ["from 1kbit to 1tbit"]),
        ({"bottleneck": {"rate": "9e99gbit", "buffer": "1bdp"}}, ["from 1kbit to 1tbit"]),
        ({"bottleneck": {"rate": "1mbit", "buffer": "0bdp"}}, ["buffer", "at least one packet"]),
        ({"bottleneck": {"rate": "1mbit", "buffer": "0packets"}}, ["at least one packet"]),
        ({"bottleneck": {"rate": "1mbit", "buffer": "0.1bdp"}}, ["is 0 packets"]),
        ({"bottleneck": {"rate": "1mbit", "buffer": "1kB"}}, ["is 1000 bytes", "1500"]),
        ({"bottleneck": {"rate": "1mbit", "buffer": "1e30packets"}}, ["buffer"]),
        ({"bottleneck": {"rat": "1mbit", "buffer": "1bdp"}}, ["bottleneck.rat", '"rate"']),
        ({"bottleneck": {"rate": "1mbit"}}, ["bottleneck.buffer is missing"]),
        ({"bottleneck": CODEL | {"queue": "codle"}}, ["bottleneck.queue", 'did you mean "codel"?']),
        ({"bottleneck": CODEL | {"queue": "best"}}, ['queue = "best"', '"drop_tail"', '"codel"']),
        ({"bottleneck": CODEL | {"queue": {"target": "5ms"}}}, ["bottleneck.queue", "kind"]),
        ({"bottleneck": CODEL | {"queue": 3}}, ["bottleneck.queue = 3", "kind in quotes"]),
        ({"bottleneck": CODEL | {"queue": {"kind": "codel", "target": "1h"}}}, ["queue.target"]),
        ({"bottleneck": CODEL | {"queue": {"kind": "codel", "ecn": 1}}}, ["queue.ecn = 1", "true"]),
        ({"bottleneck": CODEL | {"queue": {"kind": "red", "max_p": 2}}}, ["queue.max_p = 2"]),
        (
            {"bottleneck": CODEL | {"queue": {"kind": "red", "max": "5kB"}}},
            ['bottleneck.queue.max = "5kB"', "less than 7500B, the min"],
        ),
        (
            {"bottleneck": CODEL | {"queue": {"kind": "drop_tail", "ecn": True}}},
            ["bottleneck.queue.ecn: a drop_tail queue cannot mark", "codel"],
        ),
        (
            {"profile": "linux-2.6.18", "flow": [{"algorithm": "reno", "ecn": True}]},
            ["flow 1: ecn = true", 'profile = "linux-6"'],
        ),
        (
            {"profile": "linux-2.6.18", "flow": [{"algorithm": "reno", "ecn": "accurate"}]},
            ['flow 1: ecn = "accurate"', 'profile = "linux-6"'],
        ),
        (
            {"flow": [{"algorithm": "reno", "profile": "linux-2.6.25", "ecn": True}]},
            ["flow 1: ecn = true", "linux-2.6.25", 'profile = "linux-6"'],
        ),
        (
            {"flow": [{"algorithm": "reno", "ecn": "acurate"}]},
            ["ecn", 'choose false, true or "accurate"'],
        ),
        ({"bottleneck": [LINK]}, ["[[bottleneck]]: write [bottleneck]", "[[link]]"]),
        (
            {"bottleneck": CODEL | {"queue": {"kind": "codel", "limit": 1}}},
            ["queue.limit: unknown"],
        ),
        ({"link": [LINK]}, ["bottleneck and link", "keep one"]),
        ({"bottleneck": None, "link": [{"rate": "1mbit"}]}, ["link 1: buffer is missing"]),
        ({"bottleneck": None, "link": LINK}, ["[link]: write [[link]] with two brackets"]),
        ({"bottleneck": None}, ["bottleneck is missing", "[[link]]"]),
        (two_links(buffer="0.01bdp"), ["link 2: buffer"]),
        (two_links(route=[1, 3]), ["flow 1: route = [1, 3]", "no link 3", "from 1 to 2"]),
        (two_links(back=[1, 2, 1]), ["flow 1: back = [1, 2, 1]", "link 1 is there twice", "loop"]),
        (two_links(route=[1]), ["link 2: no flow passes it", "the route of a flow"]),
        (two_links(route=[0]), ["flow 1: number 1 of route = 0", "from 1 to"]),
        (two_links(route="1"), ["flow 1: route", "like route = [1, 2]"]),
        (two_links(direction="reverse"), ["flow 1: direction", "route and back"]),
        ({"bottleneck": "fast"}, ['bottleneck = "fast": write a table [bottleneck]']),
        ({"bottleneck": {"rate": "1mbit", "buffer": "0.5packets"}}, ["whole number of packets"]),
    ],
    ids=str,
)
def test_bad_input_is_one_line_that_names_field_value_and_fix(change, words):
    fields = {key: value for key, value in (FIELDS | change).items() if value is not None}
    with pytest.raises(AckclockError) as error:
        Scenario.parse(fields).check()
    message = str(error.value)
    with pytest.raises(AckclockError) as same:
        Scenario(**fields).check()
    assert str(same.value) == message
    assert "\n" not in message
    for word in words:
        assert word in message


def test_a_scenario_of_ten_lines():
    text = (ROOT / "examples" / "two_cubic.toml").read_text()
    assert len([line for line in text.splitlines() if line and line[0] != "#"]) <= 10


def test_the_key_tells_results_apart(small, tmp_path):
    assert small.key() == small.replace(seed=1).key()
    assert small.key() != small.replace(seed=2).key()
    mine = tmp_path / "my_cc.c"
    text = (ROOT / "examples" / "my_cc.c").read_text()
    mine.write_text(text)
    flow = {"algorithm": str(mine), "rtt": "1ms"}
    key = small.replace(flow=[flow]).key()
    mine.write_text(text.replace("512", "600"))
    assert small.replace(flow=[flow]).key() != key


def test_a_c_file_is_sought_beside_the_scenario_file():
    scenario = Scenario.from_toml(ROOT / "examples" / "my_cc.toml")
    assert scenario.flows[0].algorithm == f"{ROOT}/examples/my_cc.c:beta=0.7"


def test_a_scenario_as_a_file(small, tmp_path):
    path = tmp_path / "scenario.toml"
    changed = small.replace(seed=5, hz=250, session=[WEB])
    path.write_text(changed.to_toml())
    assert Scenario.from_toml(path) == changed


def test_a_part_of_a_scenario_is_refused_alike():
    with pytest.raises(AckclockError, match='rate = "fast": write a number and a unit'):
        Bottleneck(rate="fast", buffer="1bdp")
    with pytest.raises(AckclockError, match="count = 0: write a whole number"):
        Flow(algorithm="reno", count=0)


def test_a_key_that_stands_twice(tmp_path):
    path = tmp_path / "scenario.toml"
    path.write_text('rtt = "1ms"\nrtt = "2ms"\n')
    with pytest.raises(AckclockError, match="a key is given twice"):
        Scenario.from_toml(path)
