"""The first packet that differs between the simulator and Linux in virtual time."""

import json

import polars as pl
import pytest

import ackclock
from ackclock import Flow, Scenario, vlinux
from ackclock.studies import diverge

SHORT = Scenario(
    duration="1500ms",
    rtt="20ms",
    jitter="0s",
    bottleneck={"rate": "10mbit", "buffer": "20packets"},
    flows=(Flow(algorithm="cubic", size="1001kB"), Flow(algorithm="reno", start="301ms")),
)

SESSION = {"algorithm": "kernel:cubic", "size": "30kB", "gap": "150ms"}


def refused(done, word):
    assert done.returncode not in (0, 130), done.stdout
    assert len(done.stderr.splitlines()) == 1, done.stderr
    assert word in done.stderr


def recorded(scenario):
    tables = []
    result = ackclock.run(scenario, on_packets=tables.append)
    return result, tables[0]


@pytest.fixture(scope="module")
def ours():
    return recorded(SHORT)


def between(ours, theirs):
    result, packets = ours
    both = {"sim": packets, "vlinux": theirs}
    return diverge.between(SHORT, both, dict.fromkeys(both, result.manifest))


def test_the_table_of_packets(ours):
    result, packets = ours
    data, acks = (packets.filter(pl.col("kind") == kind) for kind in ("data", "ack"))
    for row in result.flows.iter_rows(named=True):
        own = data.filter(pl.col("flow") == row["flow"])
        assert len(own) == row["sent_packets"]
        again = own.height - own.unique(["from_bytes", "to_bytes"]).height
        assert again == row["retransmitted_packets"] > 0
    first = packets.filter(pl.col("flow") == 1)
    assert first["to_bytes"].max() == first["ack_bytes"].max() == 1_001_000
    assert first["time_ns"].is_sorted()
    assert (acks["sack_1_to_bytes"] > acks["sack_1_from_bytes"]).sum() > 10
    timers = set(packets["timer"])
    assert {"retransmission", "loss_probe"} <= timers


def test_a_timer_that_has_fired_is_due():
    """While the probe leaves it is still the one that is pending, as in Linux."""
    bottleneck = {"rate": "10mbit", "buffer": "20packets", "drop_packets": [10]}
    # Not of a flow that ends: its FIN would find the loss.
    ten = Flow(algorithm="cubic", frames={"size": f"{10 * 1448}B", "every": "100s"})
    _, packets = recorded(SHORT.replace(bottleneck=bottleneck, flows=(ten,)))
    probe = packets.filter(pl.col("kind") == "data").row(-1, named=True)
    assert (probe["from_bytes"], probe["timer"], probe["timer_us"]) == (9 * 1448, "loss_probe", 0)


def test_equal_to_the_end(ours):
    same = between(ours, ours[1])
    assert same.first is same.state is None
    assert same.title().startswith(f"equal to the end: {(ours[1]['kind'] == 'data').sum()} data")
    late = ours[1].with_columns(time_ns=pl.col("time_ns") + 900)
    assert between(ours, late).first is None


@pytest.mark.parametrize("column", ["ack_bytes", "sack_2_to_bytes", "time_ns"])
def test_a_planted_difference_is_the_one_that_is_named(ours, column):
    """In the second flow, an ACK with two blocks; a difference that is later is not named."""
    rows = ours[1].with_row_index("row")
    own = rows.filter((pl.col("flow") == 2) & (pl.col("sack_2_to_bytes") > 0))
    planted = own["row"][4]
    changed = pl.when(pl.col("row") >= planted).then(pl.col(column) + 5000)
    theirs = rows.with_columns(changed.otherwise(pl.col(column)).alias(column)).drop("row")
    found = between(ours, theirs).first
    assert found.flow == 2
    assert found.before == rows.filter((pl.col("flow") == 2) & (pl.col("row") < planted)).height
    assert found.one["time_ns"] == rows["time_ns"][planted]
    assert found.is_in_time() == (column == "time_ns")
    says = found.says("sim", "Linux")
    assert "look at the queue and the receiver" in says
    assert ("5.000 us later on Linux" in says) == (column == "time_ns")


def test_a_state_that_differs_before_a_packet_does(ours):
    rows = ours[1].with_row_index("row")
    at = rows.filter((pl.col("flow") == 1) & (pl.col("kind") == "ack"))["row"][20]
    cwnd = pl.col("cwnd_packets") + (pl.col("row") == at).cast(pl.UInt32)
    both = between(ours, rows.with_columns(cwnd_packets=cwnd).drop("row"))
    assert both.first is None
    assert both.state.one["cwnd_packets"] + 1 == both.state.other["cwnd_packets"]
    assert "but for those below" in both.title()


def test_a_side_that_sends_no_more(ours):
    kept = ours[1].filter(pl.col("time_ns") < 700_000_000)
    found = between(ours, kept).first
    assert found.other is None
    assert found.at_ns >= 700_000_000
    assert "Linux has no such packet" in found.says("sim", "Linux")


def test_refusals_are_one_line(ackclock, tmp_path):
    (tmp_path / "s.toml").write_text(SHORT.to_toml(), encoding="utf-8")
    refused(
        ackclock("linux", "diverge", "s.toml", "--on", "vlinux", "--on", "vlinux:7.3"), "give one"
    )
    refused(ackclock("linux", "diverge", "s.toml", "--on", "kernel"), "write --on vlinux")
    refused(ackclock("linux", "diverge", "s.toml", "--on", "vlinux:5.4"), "6.12 or newer")
    refused(ackclock("linux", "diverge", "s.toml", "--beside", "vlinux"), "write another series")
    refused(ackclock("linux", "diverge", "s.toml", "--beside", "kernel"), "write --on vlinux")
    sessions = SHORT.replace(flows=(), sessions=(SESSION,)).to_toml()
    (tmp_path / "sessions.toml").write_text(sessions, encoding="utf-8")
    refused(ackclock("linux", "diverge", "sessions.toml"), "add a [[flow]]")
    no_build = {"XDG_CACHE_HOME": str(tmp_path / "cache")}
    refused(ackclock("linux", "diverge", "s.toml", env=no_build), "type: ackclock linux build")


@pytest.mark.slow
@pytest.mark.usefixtures("machine")
def test_a_session_with_the_kernels_own_algorithm():
    both = diverge.diverge(SHORT.replace(sessions=(SESSION,)))
    assert both.first is None, both.title()
    assert both.manifests["sim"]["resolved"]["sessions"][0]["flow"]["algorithm"] == "cubic"


@pytest.mark.slow
@pytest.mark.usefixtures("machine", "newer")
def test_two_kernels():
    """The receiver of 7.3 acknowledges earlier after a loss."""
    both = diverge.diverge(SHORT, on="vlinux:7.3", beside="vlinux")
    assert both.names == ["Linux 6.12", "Linux 7.3"]
    assert both.first is not None
    assert both.first.at_ns > 100_000_000
    one, other = both.first.one["time_ns"] / 1e6, both.first.other["time_ns"] / 1e6
    line = both.first.line("one", "other")
    assert f" at {one:.6f} ms | other: " in line
    assert f" at {other:.6f} ms: " in line


@pytest.mark.slow
@pytest.mark.usefixtures("machine")
def test_beside_linux(ackclock, tmp_path, ours):
    """Equal to the FIN; and the first loss of a queue that is a packet shorter."""
    (tmp_path / "s.toml").write_text(SHORT.to_toml(), encoding="utf-8")
    done = ackclock("linux", "diverge", "s.toml", "-o", "out", "--json")
    told = json.loads(done.stdout)
    assert told["equal"], done.stdout
    packets = pl.read_parquet(tmp_path / "out" / "packets.parquet")
    ended = packets.filter((pl.col("flow") == 1) & (pl.col("kind") == "ack"))
    assert ended.group_by("side").agg(pl.col("ack_bytes").max())["ack_bytes"].to_list() == [
        1_001_000,
        1_001_000,
    ]
    theirs = []
    shorter = SHORT.replace(bottleneck={"rate": "10mbit", "buffer": "19packets"})
    vlinux.run(shorter, on_packets=theirs.append)
    found = between(ours, theirs[0]).first
    assert found.other["sack_1_to_bytes"] > 0 == found.one["sack_1_to_bytes"]
    lost = found.other["ack_bytes"], found.other["ack_bytes"] + 1448
    sent = theirs[0].filter(
        pl.col("flow") == found.flow, pl.col("from_bytes") == lost[0], pl.col("to_bytes") == lost[1]
    )
    assert sent.height == 2
