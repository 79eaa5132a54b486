"""What a flow has of its own, in the simulator and in Linux in virtual time: the same packets."""

import polars as pl
import pytest

from ackclock import Flow, Scenario, Session, run, vlinux
from common import ROOT
from virtual import scenario

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("machine")]


def equal_packets(each: Scenario) -> pl.DataFrame:
    """Runs it on both, and compares its flows."""
    ours, linux = run(each).flows, vlinux.run(each).flows
    for column in ("sent_packets", "delivered_bytes", "retransmitted_packets"):
        assert linux[column].to_list() == ours[column].to_list(), column
    return linux


def equal_behind(link: dict, usual: dict, flows: list[dict], duration: str = "8s") -> None:
    """Behind 20 Mb/s and 40 ms; `link` and `flows` say what differs from that and from `usual`."""
    each = [Flow(**{"algorithm": "cubic"} | usual | flow) for flow in flows]
    link = {"rate": "20mbit"} | link
    equal_packets(scenario(*each, jitter="0s", duration=duration, rtt="40ms", bottleneck=link))


def test_the_initial_window_of_a_route():
    """The same packets: 30 at first, 4 beside it."""
    flows = [Flow(algorithm="cubic", initcwnd=30), Flow(algorithm="reno", initcwnd=4, start="4.1s")]
    each = scenario(*flows, jitter="0s", duration="5s")
    equal_packets(each)


@pytest.mark.parametrize("reads", ["at once", "bulk"])
def test_a_receive_window_of_whole_segments(reads):
    """The same packets, though 300 and 100 kB are no whole segments."""
    flows = [Flow(algorithm="reno", receive_window="300kB")]
    flows.append(Flow(algorithm="cubic", receive_window="100kB", start="1s", rtt="30ms"))
    each = scenario(*flows, jitter="0s", duration="5s", rtt="40ms", reads=reads)
    equal_packets(each)


def test_readers_of_flows():
    """The same packets: beside a reader in bulk one that reads at once."""
    flows = [Flow(algorithm="cubic", reads="bulk"), Flow(algorithm="reno", start="300ms")]
    flows.append(Flow(algorithm="cubic", reads="at once", size="2MB", start="700ms"))
    for usual in ("at once", "bulk"):
        equal_packets(scenario(*flows, jitter="0s", duration="5s", reads=usual))


def test_drawn_rtts():
    """The same packets: each flow has the delay that the simulator draws for it."""
    flows = [Flow(algorithm="cubic", rtt_exponential=f"{ms}ms") for ms in (20, 20, 80)]
    flows += [Flow(algorithm="reno", rtt="5ms", tso=False, start="1s")]
    for seed in (1, 2):
        each = scenario(*flows, jitter="0s", duration="5s", rtt="10ms", seed=seed)
        linux = equal_packets(each)
        drawn_ms = linux["min_rtt_us"].to_numpy() / 1e3
        assert len({round(ms) for ms in drawn_ms}) == 4


def test_drawn_rtts_of_sessions():
    """The same transfers: each connection has the RTT that the simulator draws for it."""
    usual = {"rtt": "20ms", "rtt_exponential": "30ms", "gap": "50ms", "size": "60kB"}
    link = {"rate": "20mbit", "buffer": "60packets"}
    for seed in (1, 3):
        sources = [Session(algorithm=each, pareto=1.3, **usual) for each in ("cubic", "reno")]
        each = scenario(
            jitter="0s", duration="6s", rtt="20ms", bottleneck=link, sessions=sources, seed=seed
        )
        ours, linux = run(each), vlinux.run(each)
        assert len(linux.transfers) > 20
        for table in ("sessions", "transfers"):
            assert getattr(linux, table).equals(getattr(ours, table)), table


def test_acks_of_flows():
    """The same packets: an ACK for each of flow 1, each second of flow 2, as usual of flow 3."""
    flows = [Flow(algorithm="cubic", delayed_ack_segments=1)]
    flows.append(Flow(algorithm="reno", delayed_ack_segments=2, start="300ms"))
    flows.append(Flow(algorithm="cubic", size="2MB", start="700ms", rtt="17ms"))
    for usual in (1, 2):
        equal_packets(scenario(*flows, jitter="0s", duration="5s", delayed_ack_segments=usual))


#: Receive buffers that Linux tunes, and what their link does.
TUNED = {
    "losses, and a small buffer beside it": ([{}, {"receive_buffer": "300kB", "start": "1s"}], {}),
    "random losses": ([{}], {"loss": 0.003, "buffer": "100packets"}),
    "beside one without": ([{}, {"receive_buffer": None}], {}),
    "BBR": ([{"algorithm": "bbr"}], {}),
}


@pytest.mark.parametrize("name", TUNED)
def test_a_window_that_linux_tunes(name):
    """The same packets: its quick ACKs while the window grows, and what waits for a gap."""
    flows, link = TUNED[name]
    equal_behind({"buffer": "1bdp"} | link, {"receive_buffer": "6MiB"}, flows, "6s")


def test_a_receive_buffer_is_the_limit():
    """153 of its 256 parts are data (1448 of 2408 bytes); one packet waits to be read."""
    window_bytes = ((6 << 20) - 2408) * 153 // 256
    each = Scenario.from_toml(ROOT / "examples" / "receive_buffer.toml")
    each = each.replace(duration="6s", jitter="0s")
    for result in (run(each), vlinux.run(each)):
        in_flight = result.samples.filter(pl.col("time_us") > 4_000_000)["in_flight_packets"]
        # Linux sends a short segment into the rest of the window.
        assert in_flight.median() == pytest.approx(window_bytes / 1448, abs=1)
        assert result.flows["receive_window_limited_us"].item() > 4.5e6


#: What its reader does, and in which room.
READERS = {
    "a buffer that grows": {"receive_buffer": "6MiB", "read_rate": "5mbit"},
    "BBR": {"algorithm": "bbr", "receive_window": "48kB", "read_rate": "4mbit"},
    "a pause": {
        "receive_window": "48kB",
        "read_rate": "5mbit",
        "read_rate_at": [{"time": "2s", "rate": "0bit"}, {"time": "6s", "rate": "8mbit"}],
    },
    "never": {"receive_window": "48kB", "read_rate": "0bit"},
}


@pytest.mark.parametrize("name", READERS)
def test_a_slow_reader(name):
    """The same packets: its window falls, closes, is probed, and opens."""
    equal_behind({"buffer": "1bdp"}, READERS[name], [{}], "9s")


def test_segments_of_a_flow():
    """The same packets: of 536, 1200 and 1448 bytes of payload."""
    flows = [Flow(algorithm="cubic", mss=536), Flow(algorithm="cubic", start="300ms")]
    flows.append(Flow(algorithm="reno", mss=1200, size="2MB", start="700ms"))
    each = scenario(*flows, jitter="0s", duration="5s")
    assert equal_packets(each)["delivered_bytes"][0] % 536 == 0


#: Flows without SACK, and what their link does.
WITHOUT_SACK = {
    "beside SACK": ([{}, {"sack": True, "start": "300ms"}], "1bdp", {}),
    "slow start in a small buffer": ([{"algorithm": "bbr"}], "20packets", {}),
    "the first write": ([{"algorithm": "veno", "rtt": "120ms"}], "22packets", {"rate": "5mbit"}),
    "without TSO": (
        [{"algorithm": "reno", "rtt": "120ms", "tso": False}],
        "30packets",
        {"rate": "10mbit"},
    ),
    "timeouts": ([{}, {"algorithm": "reno", "rtt": "20ms"}], "10packets", {"rate": "2mbit"}),
    "reordering": (
        [{"size": "3MB"}, {"algorithm": "reno", "size": "3MB", "rtt": "20ms"}],
        "100packets",
        {"reorder": {"p": 0.01, "delay": "5ms"}},
    ),
    "short": (
        [{"size": f"{17 + 20 * n}kB", "start": f"{60 * n}ms"} for n in range(12)],
        "8packets",
        {},
    ),
}


@pytest.mark.parametrize("name", WITHOUT_SACK)
def test_without_sack(name):
    """The same packets: NewReno's recoveries, its timeouts, and what reordering is taken for."""
    flows, buffer, link = WITHOUT_SACK[name]
    equal_behind({"buffer": buffer} | link, {"sack": False}, flows, "10s")


#: Flows without timestamps, and what their link does. 300 ms more bring a needless timeout.
WITHOUT_TIMESTAMPS = {
    "beside timestamps": ([{}, {"timestamps": True, "start": "300ms"}], "20packets", {}),
    "four SACK blocks": ([{"algorithm": "bbr"}], "20packets", {}),
    "reordering": (
        [{"size": "3MB"}, {"algorithm": "reno", "size": "3MB", "rtt": "20ms"}],
        "100packets",
        {"reorder": {"p": 0.01, "delay": "5ms"}},
    ),
    "a longer way": (
        [{}, {"algorithm": "bbr", "start": "1s"}],
        "40packets",
        {"delay_at": [{"time": "3s", "delay": "300ms"}]},
    ),
    "lost SYNs": (
        [{"algorithm": "reno", "start": "200ms"}],
        "40packets",
        {"loss_at": [{"time": "100ms", "p": 1.0}, {"time": "1700ms", "p": 0.0}]},
    ),
    "ACKs in a queue": ([{}, {"direction": "reverse"}], "40packets", {"rate": "5mbit"}),
}


@pytest.mark.parametrize("name", WITHOUT_TIMESTAMPS)
def test_without_timestamps(name):
    """The same packets: what was sent again tells no RTT, and only D-SACKs undo a reduction."""
    flows, buffer, link = WITHOUT_TIMESTAMPS[name]
    equal_behind({"buffer": buffer} | link, {"timestamps": False}, flows)


#: Flows without RACK, and what their link does.
WITHOUT_RACK = {
    "beside RACK": ([{}, {"rack": True, "start": "300ms"}], "20packets", {}),
    "lost again": ([{"algorithm": "bbr"}], "20packets", {}),
    "reordering": (
        [{"size": "3MB"}, {"algorithm": "reno", "size": "3MB", "rtt": "20ms"}],
        "100packets",
        {"reorder": {"p": 0.01, "delay": "5ms"}},
    ),
    "losses by chance": (
        [{"algorithm": "reno"}, {"rtt": "20ms", "timestamps": False, "start": "1s"}],
        "100packets",
        {"loss": 0.01},
    ),
    "an outage": (
        [{}, {"algorithm": "reno", "rtt": "20ms", "tlp": False}],
        "40packets",
        {"loss_at": [{"time": "3s", "p": 1.0}, {"time": "3030ms", "p": 0.0}]},
    ),
}


@pytest.mark.parametrize("name", WITHOUT_RACK)
def test_without_rack(name):
    """The same packets: SACKed segments count, and only a timeout finds what is lost again."""
    flows, buffer, link = WITHOUT_RACK[name]
    equal_behind({"buffer": buffer} | link, {"rack": False}, flows)


def test_without_tail_loss_probes():
    """The same packets: what is lost at the end waits for the timeout."""
    sizes = {f"{14 + 9 * n}kB": f"{700 * n}ms" for n in range(1, 6)}
    flows = [Flow(algorithm="cubic", size=n, start=at, tlp=False) for n, at in sizes.items()]
    each = scenario(*flows, jitter="0s", bottleneck={"rate": "20mbit", "buffer": "3packets"})
    # A probe of the first would make it none.
    assert equal_packets(each)["timeouts"][0] == 1


#: Flows whose windows stay as they are while idle or little used.
KEPT_WINDOWS = {
    "requests": [
        {"algorithm": "reno", "writes": [{"size": "300kB", "pause": "1s"}]},
        {"writes": [{"size": "150kB", "pause": "500ms"}], "start": "100ms"},
    ],
    "beside one that begins again": [
        {"writes": [{"size": "300kB", "every": "900ms"}]},
        {"writes": [{"size": "300kB", "every": "900ms"}], "slow_start_after_idle": True},
    ],
    "little used": [
        {"writes": [{"size": "2MB"}, {"at": "2s", "size": "5792B", "every": "40ms"}, {"at": "5s"}]},
        {"algorithm": "bbr", "writes": [{"size": "1MB"}, {"at": "4s"}], "start": "1s"},
    ],
}


@pytest.mark.parametrize("name", KEPT_WINDOWS)
def test_without_slow_start_after_idle(name):
    """The same packets: a window is what it was before the pause."""
    equal_behind({"buffer": "80packets"}, {"slow_start_after_idle": False}, KEPT_WINDOWS[name])


@pytest.mark.parametrize("seed", [16, 34])
def test_pauses_after_losses(seed):
    """The same packets: no window is judged while nothing waits; a probe is data that left."""
    if seed == 16:
        flow = Flow(algorithm="vegas", writes=[{"size": "3kB", "pause": "110ms"}])
        link = {"rate": "50mbit", "buffer": "90packets", "loss": 0.01}
    else:
        requests = [{"size": "100kB", "pause": "110ms"}]
        flow = Flow(algorithm="reno", writes=requests, slow_start_after_idle=False)
        link = {"rate": "1gbit", "buffer": "4883packets", "loss": 0.001}
    rtt = {16: "21.6ms", 34: "58.6ms"}[seed]
    usual = {"jitter": "0s", "duration": "8s"}
    equal_packets(scenario(flow, rtt=rtt, seed=seed, bottleneck=link, **usual))


#: Flows whose routes have an `rto_min`, usually of 5 ms, and what their link does.
SHORT_TIMEOUTS = {
    "an outage": (
        [{}, {"algorithm": "reno", "rtt": "20ms", "tlp": False, "rto_min": "1500us"}],
        "40packets",
        {"loss_at": [{"time": "3s", "p": 1.0}, {"time": "3150ms", "p": 0.0}]},
    ),
    "small writes, delayed ACKs": (
        [
            {"writes": [{"size": "4kB", "every": "51ms"}]},
            {"rtt": "1ms", "rto_min": "30ms", "writes": [{"size": "1448B", "every": "23ms"}]},
        ],
        "5packets",
        {"loss": 0.1},
    ),
    "requests": (
        [
            {"algorithm": "reno", "rtt": "2ms", "writes": [{"size": "30kB", "pause": "1s"}]},
            {"rtt": "3ms", "writes": [{"size": "100kB", "pause": "13ms"}], "start": "31ms"},
        ],
        "10packets",
        {},
    ),
    "without SACK": ([{"rtt": "2600us", "sack": False}], "100packets", {"loss": 0.03}),
    "a longer one": ([{"rto_min": "1s"}], "100packets", {"loss": 0.1}),
}


@pytest.mark.parametrize("name", SHORT_TIMEOUTS)
def test_the_shortest_timeout_of_a_route(name):
    """The same packets: timeouts, probes and delayed ACKs wait for less, or more, than 200 ms."""
    flows, buffer, link = SHORT_TIMEOUTS[name]
    equal_behind({"buffer": buffer} | link, {"rto_min": "5ms"}, flows)


#: Algorithms and the highest rates of pacing, below, at and above what the link lets them have.
PACED = {
    "beside a flow that does not pace": [("cubic", "20mbit"), ("cubic", None)],
    "BBR": [("reno", "5mbit"), ("bbr", "8mbit")],
    "slow, and above the link": [("cubic", "100kbit"), ("cubic", "200mbit")],
}


@pytest.mark.parametrize("name", PACED)
def test_a_limited_pacing_rate(name):
    """The same packets, and no more than the limit."""
    flows = [Flow(algorithm=algorithm, max_pacing_rate=rate) for algorithm, rate in PACED[name]]
    each = scenario(*flows, jitter="0s", duration="5s")
    equal_packets(each)


def udp(rate, **keys):
    return Flow(stack="udp", algorithm="none", rate=rate, **keys)


#: No timer of TCP is due as a datagram leaves, and nothing as the run ends.
UDP = {
    "alone, four times the link": [udp("80mbit", stop="2.9991s")],
    "three at once": [Flow(algorithm="cubic"), udp("7.9mbit", count=3), Flow(algorithm="reno")],
    "both ways": [
        Flow(algorithm="cubic"),
        udp("11mbit", direction="reverse"),
        udp("37mbit", start="2s", stop="2.5s"),
    ],
    "links of their own": [
        udp("7mbit", route=[2]),
        Flow(algorithm="cubic"),
        udp("13mbit", rtt="7ms", route=[1]),
    ],
}
LINKS = [
    {"rate": "20mbit", "buffer": "1bdp"},
    {"rate": "10mbit", "buffer": "40packets", "delay": "7ms", "drop_every_packets": 400},
]


@pytest.mark.parametrize("name", UDP)
def test_udp(name):
    """Each datagram leaves at the same nanosecond, so that all of TCP is the same beside it."""
    flows = UDP[name]
    links = {"links": LINKS} if flows[0].route else {"bottleneck": LINKS[0]}
    each = Scenario(duration="3.0001s", rtt="40ms", jitter="0s", flows=flows, **links)
    ours, linux = run(each), vlinux.run(each)
    assert linux.flows.equals(ours.flows)
    assert linux.flows["dropped_packets"].sum() > 30


def test_udp_beside_cubic():
    """The example: the same packets, and the same queue at each sample."""
    each = Scenario.from_toml(ROOT / "examples" / "udp.toml").replace(jitter="0s", duration="10s")
    ours, linux = run(each), vlinux.run(each)
    assert linux.flows.equals(ours.flows)
    assert linux.queues.equals(ours.queues)
    of = [result.samples.filter(pl.col("flow") == 1) for result in (ours, linux)]
    assert of[1].equals(of[0])
    assert linux.flows["sent_packets"][0] == 1 + 10 * 20_000_000 // (8 * 1500)


def transfers(*packets: int, **keys) -> list[Flow]:
    """One of each size, one after the other."""
    starts = (f"{300 * place}ms" for place in range(len(packets)))
    return [
        Flow(algorithm="cubic", size=f"{size}packets", start=start, **keys)
        for size, start in zip(packets, starts, strict=True)
    ]


#: What becomes of a FIN → the flows, and what the link has of its own.
FINS = {
    "alone, in a full window, and with data": (transfers(1, 9, 10, 11, 60), {}),
    "it finds a lost tail": (transfers(5), {"drop_packets": [5]}),
    "after timeouts": (transfers(5, 2), {"drop_packets": [4, 5, 6, 7, 8, 9]}),
    "after short timeouts": (transfers(5, rto_min="20ms"), {"drop_packets": [5]}),
    "without SACK": (transfers(5, sack=False), {"drop_packets": [5]}),
    "it is dropped": (transfers(9, 7, 40), {"rate": "2mbit", "buffer": "8packets"}),
    "a send buffer": (transfers(300, send_buffer="28960B"), {}),
    "paced": ([Flow(algorithm="bbr", size=size) for size in ("9packets", "90packets")], {}),
}


@pytest.mark.parametrize("name", FINS)
def test_the_fin_of_a_transfer(name):
    """The same tables, to the microsecond of the end."""
    flows, link = FINS[name]
    link = {"rate": "20mbit", "buffer": "100packets"} | link
    each = Scenario(duration="4s", rtt="20ms", jitter="0s", flows=flows, bottleneck=link)
    ours, linux = (on(each).flows.drop("send_buffer_limited_us") for on in (run, vlinux.run))
    assert linux.equals(ours)


def test_the_fins_of_sessions():
    """The receiver's FIN is answered: 52 bytes on the way of the data."""
    sessions = [Session(algorithm="reno", size="9packets", gap="30ms")]
    sessions.append(Session(algorithm="cubic", size="30kB", pareto=1.3, gap="20ms"))
    each = scenario(jitter="0s", duration="4s", sessions=sessions)
    ours, linux = run(each), vlinux.run(each)
    assert len(linux.transfers) > 40
    for table in ("flows", "sessions", "transfers"):
        assert getattr(linux, table).equals(getattr(ours, table)), table
