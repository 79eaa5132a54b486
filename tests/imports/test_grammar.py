"""Every keyword of tc's man pages is taken, or refused by its place in the line."""

import random
import re
import subprocess
import sys

import pytest

from ackclock import AckclockError, Scenario
from ackclock.imports import text

ROOT = "tc qdisc add dev eth0 root"
HTB = (
    f"{ROOT} handle 1: htb default 10; tc class add dev eth0 parent 1: classid 1:10 htb rate 9mbit"
)
INGRESS = (
    "tc qdisc add dev eth0 handle ffff: ingress; tc filter add dev eth0 parent ffff: protocol all"
)
#: What stands before the options → options, and those that have no counterpart.
GRAMMAR = {
    f"{ROOT} cake bandwidth 9mbit": (
        (
            "bandwidth 20mbit|unlimited|autorate-ingress|rtt 50ms|datacentre|lan|metro"
            "|regional|internet|oceanic|satellite|besteffort|diffserv8|diffserv4|diffserv3"
            "|precedence|flowblind|srchost|dsthost|hosts|flows|dual-srchost|dual-dsthost"
            "|triple-isolate|nat|nonat|wash|nowash|split-gso|no-split-gso|ack-filter"
            "|ack-filter-aggressive|no-ack-filter|memlimit 32mb|fwmark 0xff|ptm|atm|noatm"
            "|overhead 44|overhead -10|mpu 84|raw|conservative|docsis|ethernet|ether-vlan"
            "|pppoe-ptm|bridged-ptm|pppoa-vcmux|pppoa-llc|pppoe-vcmux|pppoe-llcsnap"
            "|bridged-vcmux|bridged-llcsnap|ipoa-vcmux|ipoa-llcsnap|ingress|egress"
        ),
        "interplanetary",
    ),
    f"{ROOT} netem": (
        (
            "limit 100|delay 50ms|delay 50ms 5ms|delay 50ms 5ms 0%"
            "|delay 9ms 1ms distribution uniform|delay 9ms 1ms distribution normal"
            "|delay 9ms 1ms distribution pareto|loss 1%|loss random 1%|drop 1%"
            "|loss state 1% 5%|loss gemodel 1% 10% 70% 0.1%|corrupt 0%|duplicate 1%"
            "|delay 9ms reorder 25% gap 1|rate 1mbit|rate 1mbit 0 0 0|seed 7"
            "|delay 5ms 1ms 25%|loss 1% 25%|loss 1% ecn|duplicate 1% 25%|delay 9ms reorder 25% 50%"
        ),
        (
            "delay 9ms 1ms distribution paretonormal|corrupt 1%"
            "|delay 9ms reorder 25% gap 5|rate 1mbit 20|loss state 1% 5% 2%|slot 1ms 2ms"
            "|slot distribution normal 1ms 1ms"
        ),
    ),
    HTB: (
        (
            "ceil 10mbit|burst 15k|buffer 15k|maxburst 15k|cburst 15k|cbuffer 15k"
            "|cmaxburst 15k|prio 1|quantum 1514|mtu 1540|mpu 64|overhead 20|linklayer atm"
            "|linklayer ethernet"
        ),
        "rate64 1|leaf 1",
    ),
    f"{ROOT} htb": ("default 10|r2q 10|direct_qlen 9|offload", "debug 3333333"),
    f"{ROOT} tbf rate 9mbit burst 15kb limit 90kb": (
        (
            "rate 8mbit|burst 16kb|buffer 16kb/8|maxburst 16kb|limit 80kb|latency 50ms|mpu 64"
            "|peakrate 20mbit mtu 1540|minburst 1540|overhead 20|linklayer adsl"
        ),
        "ceil 1mbit",
    ),
    f"{ROOT} fq_codel": (
        (
            "limit 1000|flows 1024|target 4ms|interval 80ms|quantum 300|ecn|noecn"
            "|memory_limit 32Mb|drop_batch 64"
        ),
        "flows 512|ce_threshold 1ms|ce_threshold_selector 1/3",
    ),
    f"{ROOT} codel": ("limit 1000|target 4ms|interval 80ms|ecn|noecn", "ce_threshold 1ms"),
    f"{ROOT} fq": (
        (
            "limit 1000|flow_limit 50|quantum 3028|initial_quantum 15140|maxrate 9mbit"
            "|buckets 1024|pacing|nopacing|ce_threshold 1ms"
        ),
        (
            "orphan_mask 1023|low_rate_threshold 550kbit|refill_delay 40ms|timer_slack 10us"
            "|horizon 10s|horizon_cap|horizon_drop|defrate 1mbit|priomap 1 2|weights 1 2 3"
        ),
    ),
    f"{ROOT} pie": (
        (
            "limit 1000|target 20ms|tupdate 20ms|alpha 2|beta 20|ecn|noecn|nobytemode"
            "|no_dq_rate_estimator"
        ),
        "bytemode|dq_rate_estimator",
    ),
    f"{ROOT} red limit 400000 avpkt 1000": (
        (
            "limit 500kb|min 30000|max 90000|burst 100|ecn|bandwidth 10mbit|probability 0.1"
            "|adaptive|harddrop|nodrop"
        ),
        "qevent early_drop block 10|ecn harddrop|ecn nodrop",
    ),
    f"{ROOT}": (
        (
            "pfifo|bfifo limit 9kb|pfifo_fast|prio bands 3|dualpi2 limit 100|dualpi2 target 15ms"
            "|sfq perturb 10|dualpi2 alpha 0.16 beta 3.2 step_thresh 1ms classic_protection 10%"
        ),
        "dualpi2 max_rtt 100ms|choke limit 9",
    ),
    f"{INGRESS} u32 match ip src 0.0.0.0/0 police rate 9mbit burst 100k": (
        (
            "rate 8mbit|burst 90k/8|buffer 90k|maxburst 90k|mtu 64kb|drop|conform-exceed drop"
            "|conform-exceed drop/pass|flowid :1|classid :1|index 3|overhead 20|linklayer atm"
            "|mpu 64"
        ),
        (
            "peakrate 9mbit|avrate 9mbit|pkts_rate 10|pkts_burst 10|conform-exceed pass"
            "|reclassify|continue|pipe|conform-exceed goto"
        ),
    ),
}
TAKEN = [f"{head} {each}" for head, (all_, _) in GRAMMAR.items() for each in all_.split("|")]
REFUSED = [(head, each) for head, (_, all_) in GRAMMAR.items() for each in all_.split("|")]


@pytest.mark.parametrize("line", TAKEN)
def test_a_keyword_that_has_a_counterpart(line):
    assert Scenario.from_text(text.scenario([line]), source="s.toml")


@pytest.mark.parametrize(("head", "option"), REFUSED)
def test_a_keyword_that_has_none_is_named_with_its_place(head, option):
    last = f"{head} {option}".rpartition("; ")[2]
    with pytest.raises(AckclockError) as error:
        text.scenario([f"{head} {option}"])
    found = re.match(rf'"{re.escape(last)}": word (\d+): (.*)', str(error.value))
    assert found, error.value
    words = last.split()
    assert words[int(found[1]) - 1] in option.split(), error.value
    assert set(re.findall(r"[^\s:;\"']+", found[2])) & set(option.split()), error.value


def test_a_word_is_read_by_its_place():
    """A device, a handle and an option may have the name of a keyword."""
    for device in ("police", "mirred", "ingress", "noqueue", "limit", "comcast", "ipfw", "parent"):
        made = text.scenario([f"tc qdisc add dev {device} root netem limit 99 delay 5ms"])
        assert Scenario.from_text(made, source="s.toml").bottleneck.limit_packets == 99
    late = "tc qdisc add root handle 1: dev eth0 netem delay 5ms"
    assert Scenario.from_text(text.scenario([late]), source="s.toml").bottleneck.delay == "5ms"
    # The last root takes the place of the queues before it.
    made = text.scenario([f"{ROOT} netem delay 5ms", f"{ROOT} pfifo limit 7"])
    only = Scenario.from_text(made, source="s.toml").bottleneck
    assert (only.delay, only.buffer) == ("0s", "7packets")
    # A value that no scenario has is told of the command that has it.
    two = ["tc qdisc add dev a root netem rate 9", "tc qdisc add dev b root netem rate 8mbit"]
    with pytest.raises(AckclockError, match=r'^"tc .* dev a root netem rate 9": word 8: rate: '):
        text.scenario(two)


def test_a_script_with_variables(tmp_path):
    script = """#!/bin/bash
    set -eu  # as people write it
    export DEV=eth9 RATE=50mbit
    TC="sudo tc"; QUEUE='fq_codel limit 99'
    $TC qdisc del dev "$DEV" root 2>/dev/null || true
    $TC qdisc add dev "$DEV" root handle 1: tbf rate ${RATE} burst ${BURST:-15kb} limit 90kb
    $TC qdisc add dev "$DEV" parent 1: $QUEUE > /dev/null &
    """
    (tmp_path / "shape.sh").write_text(script)
    made = Scenario.from_text(text.scenario([text.read(f"{tmp_path}/shape.sh")]), source="s.toml")
    only = made.bottleneck
    assert (only.rate, only.burst, only.buffer) == ("50mbit", "15360B", "99packets")
    for odd, message in (
        ("rate $1", r'rate \$1": \$1 has no value; write 1=… before it'),
        ("rate ${R}", r"\$\{R\} has no value; write R=… before it"),
        ("rate $((2*5))mbit", r"\$\(\(2\*5\)\)mbit is not read; write the value that it gives"),
        ("rate `rate`", "`rate` is not read; write the value that it gives"),
    ):
        with pytest.raises(AckclockError, match=message):
            text.scenario([f"tc qdisc add dev a root netem {odd}"])
    with pytest.raises(AckclockError, match="for is not read; write its commands alone"):
        text.scenario(["for i in 1 2; do tc qdisc add dev eth$i root netem; done"])
    asked = [sys.executable, "-m", "ackclock", "import-tc", "-"]
    said = subprocess.run(asked, input=script, capture_output=True, text=True, check=True)
    assert Scenario.from_text(said.stdout, source="s.toml") == made
    (tmp_path / "core").write_bytes(b"\xff\xfe")
    for file, why in (("core", "is no text"), ("none", "No such file"), (".", "Is a directory")):
        with pytest.raises(AckclockError, match=f"{file}: {why}.*; give"):
            text.read(f"{tmp_path}/{file}")


PIECES = sorted(
    {word for head, all_ in GRAMMAR.items() for each in (head, *all_) for word in each.split()}
)
ODD = [
    "",
    "0",
    "-1",
    "9" * 6000,
    "1e9",
    "²",
    "25x",
    "%",
    "1%%",
    "$RATE",
    "${A",
    "`id`",
    "'",
    '"',
    "\\",
]
ODD += [
    ";",
    "&&",
    "\x00",
    "\u202e",
    "#",
    ">x",
    "1:",
    "root",
    "parent",
    "dev",
    "tc",
    "mm-link",
    "ipfw pipe 1 config",
]
LINES = [
    *TAKEN,
    *(f"{head} {option}" for head, option in REFUSED),
    "mm-loss uplink 0.1 mm-link a b --uplink-queue=droptail --uplink-queue-args=packets=9",
    "ipfw pipe 1 config bw 10Mbit/s delay 50ms plr 0.01 queue 50KBytes mask dst-ip 0xff",
    "ipfw pipe 1 config; ipfw add 100 pipe 1 ip from me to any",
    "comcast --device=eth0 --latency=250 --target-bw=1000 --packet-loss=10%",
    "pumba netem --duration 5m delay --time 100 --jitter 20 --distribution normal db",
    "qdisc tbf 1: dev eth0 root refcnt 2 rate 10Mbit burst 32Kb lat 400.0ms",
    "class htb 1:10 root prio 0 rate 5Mbit ceil 5Mbit burst 1600b cburst 1600b",
    "RATE=50mbit; tc qdisc add dev ${DEV:-eth0} root tbf rate $RATE burst 15kb limit 90kb",
]


def mutated(line, draw):
    words = line.split(" ")
    for _ in range(draw.randint(1, 3)):
        at = draw.randrange(len(words) + 1)
        match draw.randrange(6):
            case 0:
                del words[at:]
            case 1:
                words[at : at + 1] = []
            case 2:
                words.insert(at, draw.choice(PIECES))
            case 3:
                words[at : at + 1] = [draw.choice(PIECES + ODD)]
            case 4 if words[at:]:
                cut = draw.randrange(len(words[at]) + 1)
                words[at] = words[at][:cut] + draw.choice(ODD) + words[at][cut + 1 :]
            case 5:
                words[at:] = draw.sample(words[at:], len(words[at:]))
    return " ".join(words)


def test_a_line_of_anything_is_a_scenario_or_one_line():
    draw = random.Random(9)
    for _ in range(4000):
        line = mutated(draw.choice(LINES), draw)
        said = ""
        try:
            Scenario.from_text(text.scenario([line]), source="s.toml")
        except AckclockError as error:
            said = str(error)
        except Exception as error:  # noqa: BLE001 (that is what is looked for)
            said = f"\n{error!r}"
        assert "\n" not in said, line
        assert not said.startswith("s.toml"), line
