"""Scenarios of a wide draw that once differed from Linux: both sides deliver the same bytes."""

from statistics import median

import pytest

from ackclock import Scenario, run
from ackclock.hosts import vlinux
from ackclock.studies import diverge
from drawn import carried, of_linux

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("machine")]

#: What parted them → the scenario.
FOUND = {
    "what BBR draws, with PROBE_RTT": """
        duration = "14s"
        rtt = "20.017ms"
        bottleneck = {rate = "12mbit", buffer = "60packets"}
        flow = [{algorithm = "bbr"}, {algorithm = "bbr", start = "1.1237s", rtt = "33.313ms"}]""",
    "a delayed ACK waits 200 ms at most": """
        duration = "12s"
        rtt = "5.671ms"
        bottleneck = {rate = "51.2mbit", buffer = "51packets"}
        flow = [{algorithm = "cubic"}, {algorithm = "dctcp", start = "1.61s", rtt = "130.2ms"}]""",
    "what PIE draws, and when it is updated": """
        duration = "3s"
        rtt = "5.431ms"
        tso = false
        flow = [{algorithm = "reno"}]
        [bottleneck]
        rate = "32mbit"
        buffer = "4000packets"
        queue = {kind = "pie"}
        burst = "1600B"
        """,
    "the slack of a compressed ACK's timer": """
        duration = "8s"
        rtt = "18.0602ms"
        pacing = true
        bottleneck = {rate = "400mbit", buffer = "722packets"}
        flow = [
            {algorithm = "reno"},
            {algorithm = "htcp", start = "51.14483ms", rtt = "1.55724ms", size = "15000packets"},
            {algorithm = "scalable", start = "204.26534ms", rtt = "8.1218ms"},
            {algorithm = "reno", start = "141.5375ms", rtt = "2.39218ms"},
        ]""",
    # A packet takes 40 us, and a compressed ACK waits a whole number of them.
    "a timer that is due as a packet arrives": """
        duration = "4s"
        rtt = "1ms"
        bottleneck = {rate = "300mbit", buffer = "20packets"}
        flow = [{algorithm = "bic"}]""",
    # Its answer is lost, or late.
    "a receiver's FIN that comes again": """
        duration = "1s"
        rtt = "18.21ms"
        bottleneck = {rate = "30mbit", buffer = "15packets"}
        flow = [
            {algorithm = "bbr", rtt = "43.12ms"},
            {algorithm = "reno", rtt = "56.65ms", start = "0.135s"},
        ]
        [[session]]
        algorithm = "reno"
        size = "10packets"
        lognormal = 1.0
        gap = "64ms"
        count = 3""",
    "a window that grows by what waits for the first segment": """
        duration = "6s"
        rtt = "1.8ms"
        seed = 158
        bottleneck = {rate = "1.5mbit", buffer = "4packets", delay = "14ms"}
        flow = [
            {algorithm = "westwood", tlp = false},
            {algorithm = "dctcp", start = "0.114s", receive_window = "4344B"},
        ]""",
    # Two ACKs leave at once, and both arrive at once.
    "a delay of whole nanoseconds": """
        duration = "4s"
        rtt = "2.01731ms"
        bottleneck = {rate = "300mbit", buffer = "30packets"}
        flow = [{algorithm = "illinois"}]""",
    # A SYN takes 800 ns. A call that fails, as those of the applications, once took 1000.
    "a timer that is due within a microsecond": """
        duration = "2s"
        rtt = "2.01731ms"
        bottleneck = {rate = "600mbit", buffer = "50packets"}
        flow = [{algorithm = "bic"}]""",
    # After the timeout of flow 4 its queue still has its CoDel's count.
    "a queue that knows flows by their headers": """
        duration = "5s"
        rtt = "1.8ms"
        flow = [
            {algorithm = "reno", ecn = true},
            {algorithm = "dctcp", ecn = true, start = "0.967s", rtt = "93ms"},
            {algorithm = "illinois", ecn = true, start = "0.292s", rtt = "1.84624ms"},
            {algorithm = "reno", start = "0.0762s", rtt = "1.77903ms"},
        ]
        [bottleneck]
        rate = "6mbit"
        buffer = "4000packets"
        queue = {kind = "fq_codel", target = "2.1ms", interval = "53ms", ecn = true}
        burst = "1600B"
        """,
    # A packet takes 122 448.98 ns.
    "times that are no whole nanoseconds": """
        duration = "4s"
        rtt = "17ms"
        flow = [{algorithm = "cubic"}, {algorithm = "reno", start = "1s"}]
        bottleneck = {rate = "98mbit", buffer = "100packets"}""",
    # And an ACK 693 333.3 or more.
    "such times on the way back": """
        duration = "8s"
        rtt = "31ms"
        flow = [{algorithm = "cubic", route = [1], back = [2]}]
        link = [{rate = "48mbit", buffer = "1bdp"}, {rate = "0.6mbit", buffer = "50packets"}]""",
    "what a model of Gilbert and Elliott draws": """
        duration = "6s"
        rtt = "30ms"
        flow = [{algorithm = "reno"}]
        [bottleneck]
        rate = "30mbit"
        buffer = "1bdp"
        loss = {kind = "gilbert_elliott", p = 0.001, r = 0.3, h = 0.1, k = 0.9999}
        """,
    "RED's average falls while the interface idles": """
        duration = "10s"
        rtt = "10ms"
        flow = [{algorithm = "reno", ecn = true}]
        [bottleneck]
        rate = "32mbit"
        buffer = "2bdp"
        queue = {kind = "red", ecn = true}
        """,
    "RED below a bucket sees no idle time": """
        duration = "10s"
        rtt = "10ms"
        flow = [{algorithm = "reno", ecn = true}]
        [bottleneck]
        rate = "32mbit"
        buffer = "2bdp"
        queue = {kind = "red", ecn = true, idle_packet = "0s"}
        """,
    "packets of one segment, PSH in each half window, a second ACK": """
        duration = "3s"
        rtt = "6ms"
        tso = false
        bottleneck = {rate = "60mbit", buffer = "90packets", loss = 0.003}
        flow = [{algorithm = "reno", receive_buffer = "57920B"}]""",
    "what a softirq lets go without TSO": """
        duration = "5s"
        rtt = "5ms"
        tso = false
        bottleneck = {rate = "20mbit", buffer = "30packets", burst = "9000B"}
        flow = [{algorithm = "reno"}]""",
    # The second begins with a page of its own, and not in the middle of the first one's.
    "a reader of data that lie in pages": """
        duration = "5s"
        rtt = "20ms"
        bottleneck = {rate = "12mbit", buffer = "20packets"}
        flow = [
            {algorithm = "cubic"},
            {algorithm = "reno", start = "0.3s", receive_buffer = "60kB", read_rate = "4mbit"},
        ]""",
    "frames that come faster than they leave": """
        duration = "8s"
        rtt = "20ms"
        bottleneck = {rate = "20mbit", buffer = "40packets"}
        flow = [
            {algorithm = "reno"},
            {algorithm = "cubic", frames = {size = "600kB", every = "28ms"}},
        ]""",
    "a policer's tokens, whole nanoseconds": """
        duration = "5s"
        rtt = "30ms"
        flow = [{algorithm = "cubic"}, {algorithm = "bbr", start = "0.3s"}]
        [bottleneck]
        rate = "120mbit"
        buffer = "100packets"
        policer = {rate = "79mbit", burst = "83kB"}
        """,
    "a blackout": """
        duration = "20s"
        rtt = "40.01731ms"
        flow = [{algorithm = "cubic"}]
        [bottleneck]
        rate = "10mbit"
        buffer = "60packets"
        burst = "1600B"
        rate_at = [{time = "5s", rate = "20kbit"}, {time = "9s", rate = "10mbit"}]""",
}


@pytest.mark.parametrize("name", FOUND)
def test_the_same_bytes(name):
    each = Scenario.from_text(FOUND[name], source=name).replace(jitter="0s")
    assert carried(vlinux.run(of_linux(each))) == carried(run(each))


def test_lost_syns():
    """The first two SYNs of flow 2 are lost: its window begins with one packet.

    Linux counts SYNs among the retransmissions.
    """
    each = Scenario(
        duration="4s",
        rtt="3.438ms",
        tso=False,
        bottleneck={"rate": "76.8mbit", "buffer": "53packets", "queue": {"kind": "fq"}},
        flows=[{"algorithm": "scalable"}, {"algorithm": "reno", "start": "0.0507s"}],
    ).assign("bottleneck.burst=1600B")
    found = diverge.diverge(of_linux(each), on="vlinux")
    assert found.first is None


def test_reordering():
    """3 % of packets come 25 ms late, drawn anew on each side: the ranges of eight seeds overlap.

    Without PAWS at the receiver the simulator's least is Linux's most.
    """
    late = {"p": 0.03, "delay": "25ms"}
    each = Scenario(
        duration="20s",
        rtt="60.01731ms",
        jitter="0s",
        bottleneck={"rate": "20mbit", "buffer": "100packets", "reorder": late},
        flows=[{"algorithm": "reno"}],
    )
    seeds = [each.replace(seed=seed) for seed in range(1, 9)]
    linux = sorted(carried(vlinux.run(of_linux(one)))[0][0] for one in seeds)
    ours = sorted(carried(run(one))[0][0] for one in seeds)
    assert ours[3] == pytest.approx(linux[3], rel=0.1)
    assert ours[0] < linux[4]
    assert linux[0] < ours[4]


def test_pie_with_few_packets():
    """PIE drops only where two full packets or more wait, of as many bytes on either side.

    Each side draws its random numbers: the medians of eight starts are alike. With the Ethernet
    header of the packets that PIE counts, and none of those that wait, they were 13 % apart.
    """
    each = Scenario(
        duration="20s",
        rtt="4.28569ms",
        jitter="0s",
        bottleneck={"rate": "3mbit", "buffer": "4000packets", "queue": {"kind": "pie"}},
        flows=[{"algorithm": "reno", "start_spread": "20ms"}],
    ).assign("bottleneck.burst=1600B")
    seeds = [each.replace(seed=seed) for seed in range(1, 9)]
    linux = median(carried(vlinux.run(of_linux(one)))[0][1] for one in seeds)
    assert median(carried(run(one))[0][1] for one in seeds) == pytest.approx(linux, rel=0.07)


#: The interface of the sender as the bottleneck: keys of the scenario, of the link, of the flow.
OWN = {
    "cubic": ({}, {}, {}),
    "bbr": ({}, {}, {"algorithm": "bbr"}),
    "without TSO": ({"tso": False}, {}, {}),
    "1 Gb/s": ({"duration": "1s"}, {"rate": "1gbit"}, {"rtt": "7ms"}),
    "CoDel": ({}, {"rate": "5mbit", "queue": "codel"}, {}),
    "a transfer": ({}, {}, {"size": "3MB"}),
}


@pytest.mark.parametrize("name", OWN)
def test_own_interface(name):
    """Each packet is that of Linux with TCP small queues."""
    top, link, flow = OWN[name]
    link = {"at": "sender", "rate": "100mbit", "buffer": "100packets"} | link
    flow = {"algorithm": "cubic", "rtt": "20ms"} | flow
    each = Scenario(**{"duration": "3s", "bottleneck": link, "flows": [flow]} | top)
    assert diverge.diverge(each, on="vlinux").first is None


def recorded(directory, **flow):
    """A recorded link with 4 opportunities a millisecond."""
    trace = directory / "link.trace"
    trace.write_text("".join(f"{1 + each // 4}\n" for each in range(4000)))
    return {"bottleneck": {"trace": str(trace), "buffer": "100packets"}, "flows": [flow]}


def jittered(_, **flow):
    """A delay that falls and rises: packets keep their order, so that many arrive at once."""
    late = {"delay": "6ms", "delay_jitter": {"by": "3ms"}}
    return {"bottleneck": {"rate": "100mbit", "buffer": "80packets", **late}, "flows": [flow]}


def first_difference(made):
    """Of packets that arrive at one instant, as from one poll of a network card.

    What one softirq lets go waits until it ends (`tcp_small_queue_check`), and the application
    reads after the batch (`__tcp_cleanup_rbuf`).
    """
    return diverge.diverge(Scenario(duration="3s", rtt="20ms", jitter="0s", **made)).first


@pytest.mark.parametrize("algorithm", ["cubic", "reno", "bbr"])
@pytest.mark.parametrize("link", [recorded, jittered])
def test_batches(tmp_path, link, algorithm):
    assert first_difference(link(tmp_path, algorithm=f"kernel:{algorithm}")) is None


def test_batches_and_a_tuned_window(tmp_path):
    """The window of a receive buffer falls while a batch waits."""
    flow = {"algorithm": "kernel:cubic", "receive_buffer": "2MiB"}
    assert first_difference(recorded(tmp_path, **flow)) is None


#: A receiver that merges packets (GRO): the link's rate, and what else is there.
MERGED = {
    "1 Gb/s": ("1gbit", {}, {}),
    "10 Gb/s": ("10gbit", {"buffer": "2000packets"}, {}),
    "10 Gb/s, BBR": ("10gbit", {"buffer": "2000packets"}, {"algorithm": "bbr", "rtt": "1ms"}),
    "100 Mb/s: most leave alone": ("100mbit", {}, {"rtt": "20ms"}),
    "losses": ("1gbit", {"loss": 0.001}, {"rtt": "10ms"}),
    "late packets": ("1gbit", {"reorder": {"p": 0.01, "delay": "1ms"}}, {}),
    "marks": (
        "1gbit",
        {"queue": {"kind": "step", "threshold_packets": 50}},
        {"algorithm": "dctcp", "ecn": True, "rtt": "1ms"},
    ),
    "hosts of their own": ("1gbit", {}, {"count": 3}),
    "no timestamps, and an end": ("1gbit", {}, {"size": "20MB", "timestamps": False}),
}


@pytest.mark.parametrize("name", MERGED)
def test_merged_packets(name):
    """Each packet is that of Linux, up to 45 of which its device merges."""
    rate, link, flow = MERGED[name]
    each = Scenario(
        duration="300ms" if rate == "10gbit" else "1s",
        jitter="0s",
        bottleneck={"rate": rate, "buffer": "300packets"} | link,
        flows=[{"algorithm": "cubic", "rtt": "4ms", "gro": "20us"} | flow],
    )
    assert diverge.diverge(each, on="vlinux").first is None


@pytest.mark.parametrize("algorithm", ["cubic", "reno"])
@pytest.mark.parametrize("segments", [60, 499])
def test_a_send_buffer_that_is_filled_again(segments, algorithm):
    """What an application writes fills the last packet up; once that is full, a burst leaves."""
    each = Scenario(
        duration="2s",
        rtt="37.55ms",
        jitter="0s",
        bottleneck={"rate": "187500000bit", "buffer": "364packets"},
        flows=[{"algorithm": algorithm, "send_buffer": f"{1448 * segments}B"}],
    )
    assert diverge.diverge(each, on="vlinux").first is None
