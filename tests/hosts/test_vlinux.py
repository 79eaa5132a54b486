"""Linux in virtual time: that it repeats, is Linux, and how far the simulator is from it."""

import shutil
import tempfile
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import polars as pl
import pytest

from ackclock import AckclockError, Bottleneck, Flow, Scenario, Session, run, vlinux
from ackclock.hosts import linux
from ackclock.studies.conform import Case
from common import ROOT
from drawn import carried, of_linux
from virtual import scenario

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("machine")]

#: Of these files the heads claim that they are Linux's own, bit for bit. That of bbr does, too, but
#: it draws its random numbers in another way.
EQUAL = ("bic", "cubic", "highspeed", "htcp", "hybla", "illinois", "reno", "scalable", "vegas",
         "veno", "westwood", "yeah")  # fmt: skip
EXAMPLES = ROOT / "examples"


def tables_of(result):
    return {name: getattr(result, name) for name in ("flows", "samples", "queues", "events")}


def same(one, two, but=()):
    return all(
        frame.drop(but, strict=False).equals(tables_of(two)[name].drop(but, strict=False))
        for name, frame in tables_of(one).items()
    )


def test_a_run_repeats_and_leaves_nothing(monkeypatch, tmp_path):
    each = scenario(Flow(algorithm="cubic"), Flow(algorithm="reno", start="2s"))
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    one, two = vlinux.run(each), vlinux.run(each)
    assert same(one, two)
    assert one.manifest["backend"] == "vlinux"
    assert one.samples["time_us"].max() == 10_000_000
    assert (one.flows["retransmitted_packets"] > 0).all()
    assert one.flows["dropped_packets"].sum() == one.queues["dropped_packets"].max()
    assert list(tmp_path.iterdir()) == []


def test_another_seed_is_another_run():
    each = scenario(bottleneck=Bottleneck(rate="20mbit", buffer="1bdp", loss=0.001))
    one, two = (vlinux.run(each.replace(seed=seed)) for seed in (1, 2))
    assert not same(one, two)


@pytest.mark.parametrize("name", EQUAL)
def test_ours_is_linuxs_own(name):
    """The same tables, whether our file runs or the one in Linux."""
    ours, theirs = (
        vlinux.run(scenario(Flow(algorithm=each), Flow(algorithm=each, start="3s", rtt="60ms")))
        for each in (name, f"kernel:{name}")
    )
    assert ours.flows["sent_packets"].min() > 1000
    assert same(ours, theirs, but=["algorithm"])


@pytest.mark.parametrize("case", ["conservative", "resume", "queue"])
def test_hystart_plus_plus_conforms_on_linux(case):
    case = Case.read(EXAMPLES / "conformance" / "rfc9406" / f"{case}.toml")
    verdicts = case.judge("cubic@rfc9406", linux.host("vlinux"))
    assert [each for each in verdicts if not each.holds] == []


def test_parameters_reach_the_machine():
    """Two sets of parameters of one file run beside each other, and each is as if it were alone."""
    plain, gentle = "cubic", "cubic:beta=0.9,hystart=0"
    both = vlinux.run(
        scenario(
            Flow(algorithm=plain, start="0s", stop="4s"),
            Flow(algorithm=gentle, start="5s", stop="9s"),
        )
    )
    first = both.events.filter(pl.col("kind") == "recovery").group_by("flow").first()
    of = {
        row["flow"]: row["ssthresh_packets"] / row["cwnd_packets"]
        for row in first.iter_rows(named=True)
    }
    assert of[1] == pytest.approx(0.7, abs=0.02)
    assert of[2] == pytest.approx(0.9, abs=0.02)


@pytest.mark.parametrize("queue", ["drop_tail", "codel", "fq_codel", "fq", "pie", "red"])
def test_the_simulator_beside_it(queue):
    """Utilisation, retransmissions and mean cwnd of two flows, within those of docs/linux.md."""
    each = scenario(
        Flow(algorithm="cubic"),
        Flow(algorithm="reno", start="500ms"),
        duration="30s",
        bottleneck=Bottleneck(
            rate="50mbit", buffer="1000packets" if queue != "drop_tail" else "1bdp", queue=queue
        ),
    )
    # PIE and RED draw random numbers, and one run of them says little.
    seeds = range(1, 10 if queue in ("pie", "red") else 2)
    with ThreadPoolExecutor(2) as pool:
        linux = [*pool.map(lambda seed: vlinux.run(each.replace(seed=seed)), seeds)]
    ours = [run(each.replace(seed=seed)) for seed in range(1, 10)]

    def median(results, column):
        return np.median([result.flows[column].sum() for result in results])

    assert median(ours, "delivered_bytes") == pytest.approx(
        median(linux, "delivered_bytes"), rel=0.03
    )
    lost = median(linux, "dropped_packets")
    assert median(ours, "dropped_packets") == pytest.approx(lost, rel=0.35, abs=10)
    waited_us = [
        np.median([result.queues["sojourn_us"].mean() for result in side]) for side in (ours, linux)
    ]
    assert waited_us[0] == pytest.approx(waited_us[1], rel=0.25, abs=240)
    if queue != "drop_tail":
        early = linux[0].queues["early_dropped_packets"].max()
        assert early == linux[0].queues["dropped_packets"].max() > 0


@pytest.mark.parametrize("queue", ["codel", "fq_codel", "fq"])
def test_an_aqm_drops_the_same_packets(queue):
    """Those of Linux, so that each flow delivers the same bytes.

    Both links are token buckets. The RTTs keep packets from arriving at one instant. Two flows are
    chaotic: later the runs part.
    """
    flows = Flow(algorithm="cubic"), Flow(algorithm="reno", start="513ms", rtt="46.1ms")
    link = {"rate": "20mbit", "buffer": "1000packets", "queue": queue, "burst": "1600B"}
    each = scenario(*flows, duration="1500ms", jitter="0s", sample_interval="10ms", bottleneck=link)
    ours, linux = run(each), vlinux.run(each)
    for number in ("dropped_packets", "delivered_bytes"):
        assert ours.flows[number].to_list() == linux.flows[number].to_list()
    assert ours.flows["dropped_packets"].sum() >= 8

    def drops_us(result):
        queues = result.queues.sort("time_us")
        new = np.diff(queues["dropped_packets"], prepend=0).astype(int)
        return np.repeat(queues["time_us"].cast(pl.Int64), new)

    assert np.abs(drops_us(ours) - drops_us(linux)).max() <= 10_000
    waited = ours.queues["sojourn_us"].cast(pl.Int64) - linux.queues["sojourn_us"].cast(pl.Int64)
    assert (waited.abs() <= 1).mean() > 0.95


@pytest.mark.parametrize(
    "queue", [{"kind": "codel", "ecn": True}, {"kind": "fq", "ce_threshold": "5ms"}]
)
def test_marks(queue):
    link = {"queue": queue, "rate": "20mbit", "buffer": "1000packets"}
    result = vlinux.run(scenario(Flow(algorithm="cubic", ecn=True), bottleneck=link))
    assert result.flows["marked_packets"].item() == result.queues["marked_packets"].max() > 5
    assert result.flows["dropped_packets"].item() == 0
    assert (result.events["kind"] == "cwr").any()


def test_a_transfer_ends():
    result = vlinux.run(scenario(Flow(algorithm="cubic", size="2MB")))
    flow = result.flows.row(0, named=True)
    assert flow["delivered_bytes"] == 2_000_000
    assert 0.8e6 < flow["completed_us"] < 2e6
    assert result.events["kind"].to_list()[-1] == "completed"


NETWORKS = ("two_way", "asymmetric", "parking_lot", "reordering", "policer", "route_change",
            "rate_steps")  # fmt: skip


@pytest.mark.parametrize("name", NETWORKS)
def test_a_network_of_the_examples(name):
    """Several links, data both ways, late packets, a policer and steps: as in the simulator.

    Flows that share a queue do not repeat to the packet: Linux must be near the range of 5 seeds.
    """
    each = Scenario.from_toml(EXAMPLES / f"{name}.toml")
    linux = vlinux.run(each)
    ours = [run(each.replace(seed=seed)) for seed in range(1, 6)]
    for flow in range(len(linux.flows)):
        delivered = [result.flows["delivered_bytes"][flow] for result in ours]
        low, high = 0.8 * min(delivered), 1.25 * max(delivered)
        assert low < linux.flows["delivered_bytes"][flow] < high
    for column in ("dropped_packets", "link_lost_packets", "policed_packets"):
        lost = [result.flows[column].sum() for result in ours]
        low, high = 0.5 * min(lost) - 10, 2 * max(lost) + 10
        assert low < linux.flows[column].sum() < high, column
    queues = linux.queues["queue"].unique().to_list()
    assert queues == ours[0].queues["queue"].unique().to_list()


def test_the_rate_falls():
    """One flow alone: a queue of 333 packets, and then a rate that falls to a quarter."""
    each = Scenario.from_toml(EXAMPLES / "rate_steps.toml").replace(jitter="0s")
    ours, linux = run(each), vlinux.run(each)
    assert linux.flows["dropped_packets"].item() == ours.flows["dropped_packets"].item() > 200


#: Drawn at random, with the bucket that Linux's links have.
PATHS = {
    "CoDel, small": ("highspeed", "17.6mbit", "20ms", "1bdp", {"queue": "codel"}),
    "FQ-CoDel, slow": ("veno", "2.4mbit", "66.5ms", "0.25bdp", {"queue": "fq_codel"}),
    "fq": ("cubic", "12mbit", "41.3ms", "30packets", {"queue": "fq"}),
    "PIE": ("illinois", "5.7mbit", "34.2ms", "0.5bdp", {"queue": "pie"}),
    "half the rate": (
        "htcp", "4.4mbit", "57.1ms", "0.5bdp", {"rate_at": [{"time": "5s", "rate": "2.2mbit"}]},
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", PATHS)
def test_the_same_bytes(name):
    algorithm, rate, rtt, buffer, link = PATHS[name]
    each = scenario(
        Flow(algorithm=algorithm),
        rtt=rtt,
        jitter="0s",
        bottleneck=Bottleneck(rate=rate, buffer=buffer, burst="1600B", **link),
    )
    ours, linux = run(each).flows, vlinux.run(each).flows
    for column in ("delivered_bytes", "retransmitted_packets", "recoveries"):
        assert linux[column].item() == ours[column].item(), column


#: What a link does in time, and a netem that does all.
IN_TIME = {
    "outages": {"loss": {"kind": "outages", "every": "2s", "lasts": "16.7ms"}},
    "limit": {"buffer": "80packets", "delay": "20ms", "limit_packets": 80},
    "losses": {"loss_at": [{"time": "3s", "p": 1}, {"time": "3.02s", "p": 0}]},
}


@pytest.mark.parametrize("name", IN_TIME)
def test_the_link_in_time(name):
    """The same to the packet: times of losses are known, and nothing is drawn."""
    link = {"rate": "20mbit", "buffer": "1bdp"} | IN_TIME[name]
    each = scenario(jitter="0s", bottleneck=link)
    ours, linux = run(each).flows, vlinux.run(each).flows
    for column in ("sent_packets", "delivered_bytes", "retransmitted_packets", "recoveries"):
        assert linux[column].item() == ours[column].item(), column
    assert ours["retransmitted_packets"].item() > 5


#: What applications write, and whose hosts send bursts.
WRITES = {
    "silent, then greedy": (True, "cubic", [{"size": "1MB"}, {"at": "5s"}]),
    "requests, then frames": (
        True,
        "reno",
        [{"size": "300kB", "pause": "700ms"}, {"at": "6s", "size": "30kB", "every": "97ms"}],
    ),
    "two transfers": (True, "cubic", [{"size": "300kB"}, {"at": "4s", "size": "400kB"}]),
    "without bursts": (False, "vegas", [{"size": "40kB", "pause": "210ms"}, {"at": "7s"}]),
    "small send buffer": (True, "cubic", [{"size": "300kB"}, {"at": "4s", "size": "400kB"}]),
}  # fmt: skip


@pytest.mark.parametrize("name", WRITES)
def test_what_an_application_writes(name):
    """The same packets, and the same window at each sample: also after each pause."""
    tso, algorithm, writes = WRITES[name]
    buffer = "60kB" if name == "small send buffer" else None
    flow = Flow(algorithm=algorithm, writes=writes, send_buffer=buffer)
    each = scenario(flow, jitter="0s", tso=tso)
    ours, linux = run(each), vlinux.run(each)
    for column in ("sent_packets", "delivered_bytes", "retransmitted_packets"):
        assert linux.flows[column].item() == ours.flows[column].item(), column
    completed = [of.flows["completed_us"].item() for of in (ours, linux)]
    assert completed[1] == pytest.approx(completed[0], abs=100)
    # Beside these the simulator has a row for each event.
    periodic = (pl.col("time_us") % 100_000 == 0) & (pl.col("cwnd_packets") > 0)
    windows = [of.samples.filter(periodic)["cwnd_packets"].to_list()[1:] for of in (ours, linux)]
    assert windows[1] == windows[0]


@pytest.mark.parametrize("overtaking", [True, False])
@pytest.mark.parametrize("distribution", ["normal", "uniform"])
def test_jitter(overtaking, distribution):
    """A window below the BDP: nothing waits, and the mean RTT is that of the draws."""
    jitter = {"by": "2ms", "distribution": distribution, "overtaking": overtaking}
    link = {"rate": "50mbit", "buffer": "99packets", "delay": "10ms", "delay_jitter": jitter}
    each = scenario(Flow(algorithm="cubic", receive_window="29kB"), bottleneck=link)
    ours, linux = run(each), vlinux.run(each)
    means = [result.samples["srtt_us"].tail(80).mean() for result in (ours, linux)]
    assert means[1] == pytest.approx(means[0], rel=0.02)
    goodputs = [result.flows["delivered_bytes"].item() for result in (ours, linux)]
    assert goodputs[1] == pytest.approx(goodputs[0], rel=0.02)
    if distribution == "uniform" and not overtaking:
        assert carried(linux) == carried(ours)


#: Once drawn at random: what they show → RTT, link, flows, and more.
DRAWN = {
    "compressed": ("9.3ms", "48mbit", 25, {}, ["vegas", "reno 0.876s"], {}),
    "paced": ("45ms", "24mbit", 47, {}, ["reno"], {"pacing": True}),
    "headers": ("3.5ms", "40mbit", 11, {"delay": "18ms"}, ["highspeed"], {}),
    "stops": ("11ms", "9.6mbit", 27, {}, ["veno 0s 6.8s", "reno 1.53s"], {}),
    "first_lost": ("3.9ms", "12mbit", 4, {"delay": "24ms"}, ["veno", "cubic 0.138s"], {}),
    "no_tso": ("15ms", "2.4mbit", 4, {}, ["cubic"], {"tso": False}),
    "window": ("21ms", "24mbit", 139, {"window": "14480B"}, ["reno"], {}),
    "policer": ("11ms", "20mbit", 18, {"policer": "37kB"}, ["highspeed"], {}),
    "timer_of_acks": ("100ms", "96mbit", 800, {"loss": 0.02}, ["cubic"], {"seed": 3}),
    "small_segments": ("9.76ms", "20mbit", 46, {}, ["reno"], {"mss": 536}),
    "large_segments": ("16ms", "100mbit", 13, {}, ["cubic"], {"mss": 8948, "tso": False}),
    "duplicates": ("40ms", "20mbit", 67, {"duplicate": 0.01}, ["cubic"], {}),
}


@pytest.mark.parametrize("name", DRAWN)
def test_scenarios_drawn_at_random(name):
    rtt, rate, packets, has, flows, more = DRAWN[name]
    link: dict = {"rate": rate, "buffer": f"{packets}packets"}
    link |= {key: has[key] for key in ("loss", "duplicate") if key in has}
    if "delay" in has:
        link["delay_at"] = [{"time": "9s", "delay": has["delay"]}]
    if "policer" in has:
        link["policer"] = {"rate": "16mbit", "burst": has["policer"]}
    of = []
    for flow in flows:
        algorithm, *times = flow.split()
        fields = dict(zip(("start", "stop"), times, strict=False))
        of.append(Flow(algorithm=algorithm, receive_window=has.get("window"), **fields))
    each = Scenario(duration="20s", rtt=rtt, jitter="0s", bottleneck=link, flows=of, **more)
    assert carried(vlinux.run(of_linux(each))) == carried(run(each))


#: A policer, how many flows, and of which events the times are compared. The bucket has room for
#: the handshakes of 13 flows; then about one passes each second.
STARVED = {
    "SYNs (tcp_syn_linear_timeouts)": ("1kbit", "1500B", 20, "established"),
    "timeouts (timer wheel)": ("10kbit", "40kB", 1, "timeout"),
}


@pytest.mark.parametrize("name", STARVED)
def test_what_is_lost_leaves_again_at_the_same_times(name):
    rate, burst, flows, kind = STARVED[name]
    each = scenario(
        *(Flow(algorithm="reno", start=f"{70 * number}ms") for number in range(flows)),
        rtt="20ms",
        jitter="0s",
        bottleneck=Bottleneck(
            rate="10mbit", buffer="100packets", policer={"rate": rate, "burst": burst}
        ),
    )
    ours, linux = (
        of.events.filter(pl.col("kind") == kind).select("flow", "time_us").rows()
        for of in (run(each), vlinux.run(each))
    )
    assert len(ours) > 10
    assert linux == ours


def test_the_offered_window_comes_down():
    """At 15.8 s: from then on `__tcp_select_window() >= rcv_wnd` in `__tcp_ack_snd_check`."""
    link = Bottleneck(rate="100mbit", buffer="1bdp")
    each = scenario(Flow(algorithm="bic"), rtt="20ms", jitter="0s", duration="20s", bottleneck=link)
    ours, linux = run(each).flows, vlinux.run(each).flows
    for column in ("delivered_bytes", "retransmitted_packets"):
        assert linux[column].item() == ours[column].item(), column


def test_sessions():
    """The same connections, of the same sizes, that take about as long as in the simulator."""
    each = scenario(
        Flow(algorithm="cubic"),
        sessions=[Session(algorithm="reno", size="60kB", gap="400ms", pareto=1.5)],
        duration="30s",
    )
    ours, linux = run(each), vlinux.run(each)
    assert linux.sessions["transfers"].item() == pytest.approx(
        ours.sessions["transfers"].item(), rel=0.1
    )
    sizes = [of.transfers["size_bytes"].to_list()[:20] for of in (ours, linux)]
    assert sizes[0] == sizes[1]
    spent = [
        np.median((of.transfers["completed_us"] - of.transfers["start_us"]).to_numpy()[:20])
        for of in (ours, linux)
    ]
    assert spent[1] == pytest.approx(spent[0], rel=0.1)
    assert linux.sessions["delivered_bytes"].item() >= linux.transfers["size_bytes"][:-1].sum()
    assert linux.events["flow"].unique().to_list() == [1]


def test_a_route_keeps_an_ssthresh():
    """`tcp_update_metrics`: what the first transfers lose makes each later one start slower."""
    source = Session(algorithm="reno", size="2MB", gap="300ms", route_ssthresh=True)
    link = {"rate": "40mbit", "buffer": "60packets"}
    each = Scenario(sessions=[source], rtt="60ms", jitter="0s", duration="15s", bottleneck=link)
    ours, linux = (
        of.transfers.filter(pl.col("completed_us") > 0) for of in (run(each), vlinux.run(each))
    )
    taken_us = (ours["completed_us"] - ours["start_us"]).to_list()
    assert len(taken_us) > 8
    assert (linux["completed_us"] - linux["start_us"]).to_list() == taken_us
    assert taken_us[0] < taken_us[1] < taken_us[2] == taken_us[3]


def test_what_each_carries_in_the_common_interval():
    """A flow that stops and one that starts later, with sessions beside them."""
    flows = [Flow(algorithm="cubic", stop="8s"), Flow(algorithm="reno", start="3s")]
    web = Session(algorithm="cubic", size="50kB", gap="300ms")
    each = scenario(*flows, sessions=[web])
    carried = []
    for of in (run(each), vlinux.run(each)):
        assert (of.flows["common_bytes"] < of.flows["delivered_bytes"]).all()
        assert 0 < of.sessions["common_bytes"].item() < of.sessions["delivered_bytes"].item()
        carried.append(of.flows["common_bytes"].sum() + of.sessions["common_bytes"].sum())
    most_bytes = 20e6 / 8 * 5 * 1448 / 1500
    assert 0.9 * most_bytes < carried[1] <= most_bytes
    assert carried[1] == pytest.approx(carried[0], rel=0.05)


def test_a_small_send_buffer():
    """The application writes as room comes free: 50 kB per RTT."""
    each = scenario(Flow(algorithm="cubic", send_buffer="50kB"), jitter="0s")
    ours, linux = run(each), vlinux.run(each)
    assert linux.flows["delivered_bytes"].item() == ours.flows["delivered_bytes"].item()
    assert linux.flows["send_buffer_limited_us"].item() > 9e6


def test_every_ack():
    found = []
    result = vlinux.run(scenario(duration="3s"), on_acks=found.append)
    (acks,) = found
    assert len(acks) > result.flows["sent_packets"].item() / 2 * 0.9
    assert acks["time_us"].is_sorted()


def test_a_file_that_does_not_compile(tmp_path):
    """What the simulator takes and the kernel does not is said with its line."""
    source = tmp_path / "bad.c"
    shutil.copy(ROOT / "examples/my_cc.c", source)
    text = source.read_text()
    source.write_text(
        text.replace('#include "tcp_cc.h"', '#include "tcp_cc.h"\nstatic int jiffies;', 1)
    )
    with pytest.raises(AckclockError, match=r"algorithm.c:\d+.*jiffies"):
        vlinux.run(scenario(Flow(algorithm=str(source))))


def test_a_users_file_runs():
    source = ROOT / "examples/my_cc.c"
    result = vlinux.run(scenario(Flow(algorithm=str(source))))
    assert result.flows["delivered_bytes"].item() > 15_000_000
