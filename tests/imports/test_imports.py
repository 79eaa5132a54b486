"""Commands that shape links become scenarios, or one line says what has no counterpart."""

import pytest

from ackclock import AckclockError, Scenario, run
from ackclock.imports import text


def link(*commands):
    return Scenario.from_text(text.scenario(list(commands)), source="s.toml").bottleneck


def netem(words):
    return link(f"tc qdisc add dev eth0 root netem {words}")


@pytest.mark.parametrize(
    ("words", "fields"),
    [
        ("delay 100ms", {"delay": "100ms", "rate": "1gbit", "limit_packets": 1000}),
        ("delay 100", {"delay": "100us"}),
        ("limit 80 rate 10mbit delay 20ms", {"limit_packets": 80, "buffer": "80packets"}),
        ("rate 1mbps", {"rate": "8mbit", "limit_packets": None, "buffer": "1000packets"}),
        ("rate 128kbit loss 0.3%", {"rate": "128kbit"}),
        ("duplicate 1% 0%", {"duplicate": 0.01}),
    ],
)
def test_netem(words, fields):
    made = netem(words)
    assert {key: getattr(made, key) for key in fields} == fields


def test_netems_tables():
    assert netem("loss 0.3%").loss.p == 0.003
    burst = netem("loss gemodel 1% 25% 70% 0.1%").loss
    assert (burst.p, burst.r, burst.h, burst.k) == (0.01, 0.25, 0.3, 0.999)
    usual = netem("loss gemodel 1%").loss
    assert (usual.r, usual.h, usual.k) == (0.99, 0, 1)
    state = netem("loss state 1% 20%").loss
    assert (state.kind, state.p, state.r, state.h, state.k) == ("gilbert_elliott", 0.01, 0.2, 0, 1)
    assert netem("loss state 2%").loss.r == 0.98
    late = netem("delay 10ms reorder 25% 0%")
    assert (late.reorder.p, late.reorder.delay, late.delay) == (0.75, "10ms", "0s")
    # Wrappers of tc write each word, also with 0.
    nothing = netem("delay 10ms reorder 0% 0% loss 0% duplicate 0% corrupt 0% 0%")
    assert (nothing.delay, nothing.limit_packets, nothing.reorder) == ("10ms", 1000, None)
    jitter = netem("delay 50ms 10ms distribution normal").delay_jitter
    assert (jitter.by, jitter.distribution, jitter.overtaking) == ("10ms", "normal", True)
    assert not netem("delay 50ms 10ms rate 10mbit").delay_jitter.overtaking


def test_a_rate_and_the_queue_below_it():
    made = link(
        "sudo tc qdisc add dev eth0 root handle 1: tbf rate 10mbit burst 32kbit latency 400ms",
        "tc qdisc add dev eth0 parent 1:1 handle 10: fq_codel limit 1000 target 3ms noecn",
    )
    assert (made.rate, made.burst, made.buffer) == ("10mbit", "4096B", "1000packets")
    assert (made.queue.kind, made.queue.target, made.queue.ecn) == ("fq_codel", "3ms", False)
    # latency: what the rate carries in that time, and the burst.
    alone = link("tc qdisc add dev eth0 root tbf rate 8mbit burst 10kb latency 50ms")
    assert alone.buffer == "60240B"
    htb = link(
        "tc qdisc add dev eth0 root handle 1: htb default 10; tc class add dev eth0 parent 1: "
        "classid 1:10 htb rate 5mbit ceil 6mbit && tc qdisc add dev eth0 parent 1:10 pie limit 99"
    )
    assert (htb.rate, htb.queue.kind, htb.buffer) == ("6mbit", "pie", "99packets")
    cake = link("tc qdisc replace dev eth0 root cake bandwidth 20mbit rtt 40ms besteffort")
    assert (cake.rate, cake.queue.interval, cake.queue.target) == ("20mbit", "40ms", "2ms")


@pytest.mark.parametrize(
    ("words", "limits", "weight_log2"),
    [
        (
            "limit 400000 min 30000 max 90000 avpkt 1000 burst 55 bandwidth 10mbit",
            ("30000B", "90000B", "400000B"),
            5,
        ),
        ("limit 1mb avpkt 1500", ("87381B", "262144B", "1048576B"), 6),
        (
            "limit 60000 min 15000 max 45000 avpkt 1500 burst 20 probability 0.1",
            ("15000B", "45000B", "60000B"),
            4,
        ),
        ("limit 100kb min 5kb avpkt 1000", ("5120B", "15360B", "102400B"), 3),
    ],
)
def test_red(words, limits, weight_log2):
    """The thresholds and the weight that iproute2 6.1 sends to the kernel."""
    made = link(f"tc qdisc add dev eth0 root red {words}")
    assert (made.queue.min, made.queue.max, made.buffer) == limits
    assert made.queue.weight_log2 == weight_log2


def test_red_idles_at_its_bandwidth_unless_it_lies_below_another():
    red = "red limit 400000 min 30000 max 90000 avpkt 1000 burst 55 bandwidth 10mbit ecn adaptive"
    alone = link(f"tc qdisc add dev eth0 root {red}").queue
    assert (alone.max_p, alone.idle_packet, alone.ecn, alone.adaptive) == (
        0.02,
        "800us",
        True,
        True,
    )
    tbf = "tc qdisc add dev eth0 root handle 1: tbf rate 10mbit burst 5kb limit 1mb"
    below = link(tbf, f"tc qdisc add dev eth0 parent 1:1 {red}")
    assert (below.queue.idle_packet, below.rate, below.buffer) == ("0s", "10mbit", "400000B")


@pytest.mark.parametrize(
    ("command", "message"),
    [
        ("tc qdisc add dev eth0 root netem corrupt 1%", "corrupt has no counterpart .* loss"),
        ("tc qdisc add dev a root netem loss state 1% 5% 2%", "loss state's p32 of 0.02 has no"),
        ("tc qdisc add dev a root netem loss state 1% 5% 0% 5% 1%", "p14 of 0.01 has no"),
        ("tc qdisc add dev a root red limit 1mb avpkt 1kb probability x", '"x": write a quantity'),
        ("tc qdisc add dev a root red limit 60kb", "red needs a limit and an avpkt"),
        ("tc qdisc add dev a root red limit 60kb avpkt 1kb min 9kb burst 3", "write burst 10"),
        ("tc qdisc add dev a root red limit 1mb avpkt 1kb ecn harddrop", "harddrop has no"),
        ("tc qdisc add dev eth0 root netem slot 1ms", "netem's slot has no counterpart"),
        ("tc qdisc add dev eth0 root netem reorder 5%", "reorder needs a constant delay"),
        ("tc qdisc add dev eth0 root netem delay fast", '"fast": write a quantity of tc'),
        (
            "tc qdisc add dev a root netem delay 5000s",
            '5000s": word 8: delay: choose from 0s to 100s',
        ),
        ("tc qdisc add dev a root netem loss 200%", '"200%": choose from 0% to 100%'),
        (
            "tc qdisc add dev a root netem limit 0",
            'limit 0": word 8: limit: .* at least one packet$',
        ),
        ("tc qdisc add dev a root netem rate 999tbit", "rate: choose from 1kbit to 1tbit$"),
        ("tc qdisc add dev a root tbf rate 1mbit burst 1 limit 9kb", "burst: .* at least 1500B$"),
        ("tc qdisc add dev a root codel target 0", 'target 0": word 8: target: choose from 1us'),
        ("tc qdisc add dev eth0 root netem delay", "a word is missing at its end"),
        ("tc qdisc add dev eth0 root qfq", "qfq has no counterpart .* fq_codel"),
        ("tc class add dev eth0 parent 1: classid 1:1 hfsc sc d 5ms", "a class needs a curve"),
        ("mm-delay 20 d.txt", "20: delays for 10 ms each are read"),
        ("tc qdisc add dev eth0 root sfb", "sfb has no counterpart .*; netem, tbf, .* have"),
        ("tc qdisc add dev a root cake bandwith 20mbit", "cake's bandwith has no counterpart"),
        (
            "tc qdisc add dev a root handle 1: prio; "
            + "; ".join(f"tc qdisc add dev a parent 1:{band} netem" for band in "13"),
            "the queue of band 1 is given, too; give that of one band",
        ),
        ("tc qdisc add dev eth0 root tbf rate 1mbit", "tbf needs a rate and a burst"),
        ("tc filter add dev eth0 protocol ip", "filters choose classes"),
        ("tc qdisc del dev eth0 root", "no command makes a queue; give one like"),
        ("tc qdisc frob dev eth0 root", '"frob" makes no queue; write "tc qdisc add'),
        (
            "; ".join(f"tc qdisc add dev {name} root netem" for name in "abc"),
            "a, b, c: give the commands of two devices at most",
        ),
        ("tc filter add dev a parent ffff: police rate 1mbit drop", "police needs a rate and a"),
        (
            "tc qdisc add dev a root netem rate 1mbit; tc qdisc add dev b root netem rate 9",
            'dev b root netem rate 9": word 8: rate',
        ),
        ("mm-delay soon mm-link a b", '"soon" is no number'),
        ("mm-link a", "mm-link takes two traces"),
        ("mm-link a b --uplink-queue=drophead", "the queue drophead has no counterpart"),
        ("mm-link a b --uplink-queue=droptail", "droptail needs its size"),
        ("mm-webreplay dir", "mm-webreplay dir has no counterpart"),
        (" ", "no command; give one like"),
        ("ipfw pipe 1 config bw 1.5Mbit/s", '"1.5Mbit/s": dummynet reads whole numbers, like 10Mb'),
        ("ipfw pipe 1 config delay 1s", '"1s": dummynet reads whole numbers, like 50ms'),
        ("ipfw pipe 1 config plr 1%", '"1%": write a share from 0 to 1'),
        ("ipfw pipe 1 config red 0.002/5/15/0.1", 'write queue = "red" in'),
        ("ipfw pipe 1 config profile wifi", "a pipe's profile has no counterpart"),
        ("ipfw pipe 1 config queue 0", 'queue 0": word 5: queue: .* at least one packet$'),
        ("ipfw add pipe 1 ip from any to any", "no command makes a pipe; write commands like"),
        ("ipfw pipe 1 config; ipfw add pipe 2 out", "pipe 2 has a rule and no configuration"),
        ("ipfw pipe 1 config; ipfw add prob 0.5 pipe 1 in", "prob has no counterpart"),
        ("ipfw pipe 1 config; tc qdisc add dev a root netem", "give commands of one program"),
        ("ipfw pipe 1 config; ipfw sched 1 config type fq_codel", "schedulers have no counterpart"),
        ("; ".join(f"dnctl pipe {n} config" for n in "123"), "pipes 1, 2, 3: give two pipes at"),
        ("pumba netem corrupt --percent 10 db", "corrupt has no counterpart .* loss"),
        ("pumba netem combine --delay db", '"combine" has no counterpart .* delay, loss, '),
        ("pumba kill db", "only netem shapes a link"),
        ("comcast --latency 5 --jitter 1", "--jitter has no counterpart"),
        ("comcast --latency=200000", 'delay 200000ms": word 10: delay: choose from 0s to 100s'),
        ("comcast --stop", "no command makes a queue"),
    ],
)
def test_what_has_no_counterpart_is_one_line(command, message):
    with pytest.raises(AckclockError, match=message) as error:
        text.scenario([command])
    assert "\n" not in str(error.value)


def test_fq_tells_which_key_paces_its_flows():
    made = text.scenario(["tc qdisc add dev eth0 root fq maxrate 20mbit pacing"])
    assert "# fq holds each flow at 20mbit with headers: write max_pacing_rate in [[flow]]" in made
    assert "# fq paces the host's own flows: write pacing = true" in made


def test_mahimahis_shells(tmp_path):
    (tmp_path / "up").write_text("1\n")
    (tmp_path / "down").write_text("1\n2\n2\n")
    shells = f"mm-delay 20 mm-loss uplink 0.01 mm-onoff downlink 2 0.5 mm-link {tmp_path}/up"
    queue = '--uplink-queue droptail --uplink-queue-args="packets=100" --meter-all'
    made = text.scenario([f"{shells} {tmp_path}/down {queue} -- iperf3 -c 10.0.0.1"], tmp_path)
    each = Scenario.from_text(made, source="s.toml", directory=tmp_path)
    up, down = each.links
    assert (each.rtt, each.flows[0].route, each.flows[0].back) == ("40ms", (1,), (2,))
    assert (up.buffer, up.loss.p, down.buffer) == ("100packets", 0.01, "1000000packets")
    assert (down.loss.kind, down.loss.good, down.loss.bad) == ("bad_times", "2s", "0.5s")
    assert run(each.replace(duration="1s")).flows["delivered_bytes"].item() > 0


def test_netems_limit_counts():
    """1000 packets of 100 ms: at most 120 Mb/s of 1500 bytes, whatever the device carries."""
    made = text.scenario(["tc qdisc add dev eth0 root netem delay 100ms"])
    result = run(Scenario.from_text(made, source="s.toml").replace(duration="10s"))
    assert result.flows["dropped_packets"].item() > 0
    assert result.flows["delivered_bytes"].item() * 8 / 10 < 120e6


def test_a_script_as_people_post_it():
    """Prefixes, lines that go on, what removes or shows, and a limit with a unit of sizes."""
    script = """
    tc qdisc del dev enp2s0 root
    sudo ip netns exec r1 tc qdisc add dev enp2s0 root handle 1:0 \\
      netem limit 1mbit delay 300ms 15ms distribution normal
    /sbin/tc qdisc add dev enp2s0 parent 1:1 handle 10: tbf rate 144mbit buffer 1mbit limit 10mbit
    tc -s qdisc ls dev enp2s0
    """
    made = link(script)
    assert (made.limit_packets, made.delay, made.delay_jitter.by) == (131_072, "300ms", "15ms")
    assert (made.rate, made.burst, made.buffer) == ("144mbit", "131072B", "1310720B")


def test_a_queue_of_each_direction_at_home():
    """A script as of sqm: what comes in passes an ifb."""
    script = """
    modprobe ifb; ip link set ifb0 up
    tc qdisc add dev eth0 handle ffff: ingress
    tc filter add dev eth0 parent ffff: protocol all matchall action mirred egress redirect dev ifb0
    tc qdisc add dev ifb0 root cake bandwidth 18mbit besteffort
    """
    assert link(script).rate == "18mbit"
    both = text.scenario([script, "tc qdisc add dev eth0 root cake bandwidth 2mbit ack-filter"])
    assert "# left out, without counterpart: cake's ack-filter" in both
    each = Scenario.from_text(both, source="s.toml")
    assert [one.rate for one in each.links] == ["2mbit", "18mbit"]


def test_what_tc_shows():
    """The output of `tc -s qdisc show` and `tc class show`."""
    made = link("""qdisc tbf 1: dev eth0 root refcnt 2 rate 10Mbit burst 32Kb lat 400.0ms
         Sent 981 bytes 9 pkt (dropped 0, overlimits 0 requeues 0)
         backlog 0b 0p requeues 0
        qdisc fq_codel 10: dev eth0 parent 1:1 limit 1024p flows 1024 quantum 1514 target 5ms """
        "interval 100ms memory_limit 32Mb ecn drop_batch 64")  # fmt: skip
    assert (made.rate, made.burst, made.buffer) == ("10mbit", "32768B", "1024packets")
    assert (made.queue.kind, made.queue.interval) == ("fq_codel", "100ms")
    late = link("qdisc netem 8001: root refcnt 2 limit 1000 delay 100.0ms  10.0ms loss 1%")
    assert (late.delay, late.delay_jitter.by, late.loss.p) == ("100ms", "10ms", 0.01)
    # A machine with no queue of its own: of lo, and of a device with several transmit queues.
    usual = link(
        "qdisc noqueue 0: dev lo root refcnt 2\n"
        "qdisc mq 0: dev eth0 root\n"
        "qdisc fq_codel 0: dev eth0 parent :2 limit 10240p flows 1024 quantum 1514 target 5ms "
        "interval 100ms memory_limit 32Mb ecn drop_batch 64\n"
        "qdisc fq_codel 0: dev eth0 parent :1 limit 10240p flows 1024 quantum 1514 target 5ms "
        "interval 100ms memory_limit 32Mb ecn drop_batch 64"
    )
    assert (usual.queue.kind, usual.buffer) == ("fq_codel", "10240packets")
    fast = "qdisc pfifo_fast 0: dev a root refcnt 2 bands 3 priomap 1 2 2 2 1 2 0 0 1 1 1 1 1 1 1 1"
    assert link(fast).buffer == "1000packets"
    htb = link(
        "qdisc htb 1: root refcnt 2 r2q 10 default 0x10 direct_packets_stat 0 direct_qlen 1000\n"
        "class htb 1:10 root prio 0 rate 5Mbit ceil 5Mbit burst 1600b cburst 1600b"
    )
    assert (htb.rate, htb.burst) == ("5mbit", "1600B")


def test_a_device_of_data_and_one_of_acks():
    down, up = "tc qdisc add dev ifb0 root netem rate 20mbit", "tc qdisc add dev a root netem rate"
    made = text.scenario([down, f"{up} 2mbit"])
    assert "# data pass ifb0, and ACKs a: exchange route and back, or" in made
    each = Scenario.from_text(made, source="s.toml")
    assert [one.rate for one in each.links] == ["20mbit", "2mbit"]
    assert (each.flows[0].route, each.flows[0].back) == ((1,), (2,))
    # What is on lo delays both.
    made = text.scenario(["tc qdisc add dev lo root netem delay 50ms rate 500mbit"])
    loop = Scenario.from_text(made, source="s.toml").replace(duration="1s")
    assert loop.mss == 65_483, "of 65 535 bytes, the headers have 52"
    assert run(loop).flows["min_rtt_us"].item() == pytest.approx(101_000, abs=300)


def test_what_is_left_out_is_a_comment():
    tbf = "tbf rate 10mbit burst 15kb latency 50ms"
    overhead = "# overheads of packets and cells are left out: 1500 B count as"
    for words, fit in (
        (f"{tbf} overhead 20 linklayer atm", '1696 B, so write rate = "8844kbit", 0.884 of it'),
        (f"stab linklayer atm overhead 40 {tbf}", '1749 B, so write rate = "8576kbit"'),
        (f"stab overhead 24 mtu 2048 {tbf}", '1538 B, so write rate = "9753kbit", 0.975'),
    ):
        made = text.scenario([f"tc qdisc add dev a root handle 1: {words}"])
        assert f"{overhead} {fit}" in made
        assert "14 bytes of Ethernet" not in made, "they are in the number"
        assert Scenario.from_text(made, source="s.toml").bottleneck.burst == "15360B"
    assert overhead not in text.scenario([f"tc qdisc add dev a root {tbf} mpu 64 mtu 1540"])
    peak = text.scenario([f"tc qdisc add dev a root {tbf} peakrate 20mbit mtu 1540"])
    assert "# tbf's peakrate is left out: here what the burst holds leaves at once" in peak
    cake = text.scenario(
        ["tc qdisc add dev a root cake bandwidth 20mbit overhead 44 mpu 84 pppoe-ptm satellite nat"]
    )
    assert "# left out, without counterpart: cake's overhead 44, pppoe-ptm" in cake
    queue = Scenario.from_text(cake, source="s.toml").bottleneck.queue
    assert (queue.interval, queue.target, queue.ecn) == ("1s", "50ms", True)
    # 1500 + 44 + 30, and one of each 64 of PTM; as ATM 1500 + 40 in 33 cells of 53.
    assert f'{overhead} 1599 B, so write rate = "18762kbit", 0.938 of it' in cake
    cake = text.scenario(["tc qdisc add dev a root cake bandwidth 20mbit atm overhead 40"])
    assert f'{overhead} 1749 B, so write rate = "17153kbit", 0.858 of it' in cake


def test_what_is_nearest_has_a_word():
    def told(*commands):
        made = text.scenario(list(commands))
        return Scenario.from_text(made, source="s.toml").bottleneck, made

    sfq, words = told("tc qdisc add dev a root sfq limit 60 perturb 10")
    assert (sfq.queue.kind, sfq.queue.flow_limit_packets, sfq.buffer) == ("fq", 60, "60packets")
    assert "# sfq has no counterpart: fq is nearest" in words
    hfsc, words = told(
        "tc qdisc add dev a root handle 1: hfsc default 1",
        "tc class add dev a parent 1: classid 1:1 hfsc sc m1 9mbit d 5ms m2 2mbit ul rate 3mbit",
    )
    assert (hfsc.rate, "# hfsc's curves are left out" in words) == ("3mbit", True)
    loss, words = told("tc qdisc add dev a root netem delay 5ms 1ms 25% loss 1% 30% ecn")
    assert (loss.loss.p, loss.delay_jitter.by) == (0.01, "1ms")
    for word in ("correlation of delay is left out", "of loss is left out: write loss gemodel"):
        assert f"# netem's {word}" in words or word in words
    assert "# netem's ecn marks" in words
    assert "# netem loses packets: at a sender with TSO whole bursts" in words
    dual = told("tc qdisc add dev a root dualpi2 limit 500 target 20ms alpha 0.2 step_thresh 2ms")
    queue = dual[0].queue
    assert (queue.target, queue.alpha_256ths_hz, queue.step) == ("20ms", 51, "2ms")


def test_sqms_configuration():
    config = """
    config queue 'wan'
        option interface 'eth1'
        option download '85000'
        option upload '10000'
        option qdisc 'cake'
        option script 'piece_of_cake.qos'
        option overhead '44'
        option eqdisc_opts 'nat dual-srchost ack-filter'
    """
    made = text.scenario([config])
    each = Scenario.from_text(made, source="s.toml")
    assert [(one.rate, one.queue.kind) for one in each.links] == [
        ("10mbit", "fq_codel"),
        ("85mbit", "fq_codel"),
    ]
    assert "# left out, without counterpart: cake's overhead 44, ack-filter" in made
    simple = config.replace("'cake'", "'fq_codel'").replace("'85000'", "'0'")
    only = Scenario.from_text(text.scenario([simple]), source="s.toml").bottleneck
    assert (only.rate, only.queue.kind) == ("10mbit", "fq_codel")


def test_a_dry_run_as_errants():
    """Lines that begin with + are commands, as `sh -x` prints them; others are words."""
    made = link("""Imposing profile:
        Quality: good
+ tc qdisc add dev eth0 handle ffff: ingress
+ tc qdisc add dev eth0 root handle 1: htb default 11
+ tc class add dev eth0 parent 1: classid 1:1 htb rate 40000mbit
+ tc class add dev eth0 parent 1:1 classid 1:11 htb rate 16417kbit
+ tc qdisc add dev eth0 parent 1:11 handle 10: netem delay 89ms
""")
    assert (made.rate, made.delay) == ("16417kbit", "89ms")


def test_leo_replayers_shells(tmp_path):
    """Each way has a delay for each 10 ms, and the opportunities of a trace."""
    (tmp_path / "bw").write_text("1\n1\n")
    (tmp_path / "delay").write_text("20\n20\n")
    shells = f"mm-delay 10 {tmp_path}/delay mm-loss uplink 0.002 mm-link {tmp_path}/bw"
    made = text.scenario([f"{shells} {tmp_path}/bw"], tmp_path)
    each = Scenario.from_text(made, source="s.toml", directory=tmp_path)
    files = [one.trace or one.timeline for one in each.links]
    assert files == [str(tmp_path / name) for name in ("delay", "bw")] * 2
    rtt_us = run(each.replace(duration="1s")).flows["min_rtt_us"].item()
    assert 40_000 <= rtt_us <= 46_000


def test_a_band_is_the_queue_of_all():
    made = link(
        "tc qdisc add dev a root handle 1: prio priomap 2 2 2 2 2 2 2 2 2 2 2 2 2 2 2 2",
        "tc qdisc add dev a parent 1:3 handle 30: netem delay 200ms rate 0bit",
    )
    assert (made.delay, made.rate) == ("200ms", "1gbit")


@pytest.mark.parametrize(
    ("fifo", "buffer"),
    [
        ("pfifo", "1000packets"),
        ("pfifo limit 100", "100packets"),
        ("bfifo", "1514000B"),
        ("bfifo limit 100kb", "102400B"),
        ("pfifo_fast", "1000packets"),
    ],
)
def test_fifos(fifo, buffer):
    """Usual limits: 1000 packets, as long as the queue of a device, or 1000 of 1514 bytes."""
    assert link(f"tc qdisc add dev a root {fifo}").buffer == buffer


def test_a_policer():
    """An ingress that drops what exceeds its rate and its burst."""
    made = link(
        "tc qdisc add dev eth0 handle ffff: ingress",
        "tc filter add dev eth0 parent ffff: protocol ip prio 50 u32 match ip src 0.0.0.0/0 "
        "police rate 10mbit burst 100k mtu 64kb drop flowid :1",
    )
    assert (made.policer.rate, made.policer.burst, made.rate) == ("10mbit", "102400B", "1gbit")


@pytest.mark.parametrize(
    ("options", "fields"),
    [
        (
            "bw 10Mbit/s delay 50ms plr 0.01 queue 50KBytes",
            {"rate": "10mbit", "delay": "50ms", "buffer": "51200B"},
        ),
        # Without a unit: bits, ms, slots; 50 slots are usual.
        ("bw 1000000 delay 7 queue 100", {"rate": "1mbit", "delay": "7ms", "buffer": "100packets"}),
        ("bw 60KByte/s", {"rate": "480kbit", "buffer": "50packets"}),
        ("bw 3MBytes/s queue 3000B", {"rate": "24mbit", "buffer": "3000B"}),
        ("bandwidth 10MBit/s mask dst-ip 0xff proto 6 buckets 9", {"rate": "10mbit"}),
        ("bw 0 noerror", {"rate": "1gbit"}),
    ],
)
def test_a_pipe_of_dummynet(options, fields):
    made = link(f"sudo ipfw -q pipe 1 config {options}")
    assert {key: getattr(made, key) for key in fields} == fields
    assert made.limit_packets is None
    assert (made.loss.p if made.loss else 0) == (0.01 if "plr" in options else 0)


def test_rules_say_which_pipe_data_pass():
    def rates(script):
        each = Scenario.from_text(text.scenario([script]), source="s.toml")
        return [one.rate for one in each.links or [each.bottleneck]]

    two = "ipfw flush; ipfw pipe 1 config bw 1Mbit/s; ipfw pipe 2 config bw 2Mbit/s;"
    assert rates(two) == ["1mbit", "2mbit"]
    assert rates(f"{two} ipfw add 100 pipe 1 in; ipfw add 200 pipe 2 out") == ["2mbit", "1mbit"]
    assert rates(f"{two} ipfw add pipe 2 tcp from any 80 to any") == ["2mbit"]
    one = "dnctl pipe 1 config bw 1Mbit/s\n"
    assert rates(f"{one} ipfw add pipe 1 ip from any to any") == ["1mbit"] * 2
    assert rates(f"{one} ipfw add pipe 1 ip from me to any") == ["1mbit"]
    there = "ipfw add pipe 1 ip from 10.0.0.1 to 10.0.0.2"
    back = "ipfw add pipe 1 ip from 10.0.0.2 to 10.0.0.1"
    assert rates(f"{one} {there}") == ["1mbit"]
    assert rates(f"{one} {there}; {back}") == ["1mbit"] * 2
    pf = "echo 'dummynet out proto tcp from any to any port 80 pipe 1' | sudo pfctl -f -"
    assert rates(f"sudo pfctl -e\n{one}{pf}") == ["1mbit"]
    # dummynet forgets what the last configuration leaves out.
    assert rates(f"{one} dnctl pipe 1 config delay 5") == ["1gbit"]


def test_comcast_and_pumba_run_netem():
    made = link(
        "comcast --device=eth0 --latency=250 --target-bw=1000 --default-bw=1000000 "
        "--packet-loss=10% --target-port=80,22"
    )
    assert (made.delay, made.rate, made.loss.p) == ("250ms", "1mbit", 0.1)
    assert link("comcast -latency 5").rate == "1gbit"
    pumba = "docker run -it --rm gaiaadm/pumba:1.0 --random netem --duration 5m"
    late = text.scenario([f"{pumba} delay --time 100 --jitter 20 --distribution normal db"])
    assert "# pumba's usual correlation of 20 % has no counterpart" in late
    assert "# pumba runs: tc qdisc add dev eth0 root netem delay 100ms 20ms 0 distri" in late
    jitter = Scenario.from_text(late, source="s.toml").bottleneck.delay_jitter
    assert (jitter.by, jitter.distribution) == ("20ms", "normal")
    assert link(f"{pumba} delay -t 3000 -j 0 db").delay_jitter is None
    assert link(f"{pumba} loss --percent 10 -- db").loss.p == 0.1
    burst = link(f"{pumba} -i eth1 loss-gemodel -p 1 -r 20 db").loss
    assert (burst.p, burst.r, burst.h, burst.k) == (0.01, 0.2, 0, 1)
    assert link(f"{pumba} loss-state --p13 1 --p31 20 db").loss.r == 0.2
    assert link(f"{pumba} rate --rate 1mbit db").rate == "1mbit"
    assert link(f"{pumba} duplicate -p 2 db").duplicate == 0.02
