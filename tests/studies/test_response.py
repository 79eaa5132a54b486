"""Response functions: closed forms against the papers' numbers, and simulations against both."""

import json

import polars as pl
import pytest

from ackclock import AckclockError
from ackclock.studies import response


def simulated(algorithm, loss_rate, rtt="10ms", **hosts):
    rows = response.measure([algorithm], [rtt], [loss_rate], **hosts)
    return rows["simulated_packets"][0]


@pytest.fixture(autouse=True)
def _own_cache(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize(
    ("algorithm", "loss_rate", "rtt_s", "packets"),
    [
        ("reno", 1e-6, 0.01, 1225),  # ha2008, section 5.1: 1200
        ("cubic@ha2008", 1e-6, 0.01, 1225),  # the same; eq. (6) alone is 1174
        ("cubic@ha2008", 1e-7, 0.01, 6602),  # eq. (6): 1.174 (RTT/p)^3/4
        ("cubic", 1e-6, 0.1, 5926),  # RFC 9438, table 1
        ("cubic", 1e-8, 0.1, 187400),  # the same
        ("cubic@rfc9438", 1e-7, 0.01, 5926),  # RFC 9438, table 2
        ("highspeed", 1e-7, 0.01, 83000),  # RFC 3649, section 5
        ("highspeed", 1e-5, 0.01, 1776),  # RFC 3649, table 3: 1795 by 0.12/p^0.835
        ("scalable", 1e-6, 0.01, 74517),  # Kelly 2003: a/b = 0.08, for small a and b
    ],
)
def test_the_closed_forms_give_the_papers_numbers(algorithm, loss_rate, rtt_s, packets):
    assert response.analytic(algorithm, loss_rate, rtt_s) == pytest.approx(packets, rel=1e-3)


@pytest.mark.parametrize("algorithm", ["cubic@2.0", "binomial_sqrt:k=0.9", "vegas"])
def test_some_have_no_closed_form(algorithm):
    assert response.analytic(algorithm, 1e-4, 0.01) is None


@pytest.mark.parametrize(
    "algorithm",
    [
        "reno",
        "cubic",
        "cubic@ha2008",
        "cubic@ha2008:tcp_friendliness=0",
        "highspeed",
        "scalable",
        "binomial_sqrt",
        "hybla@caini2004",
        "constant_rate",
    ],
)
@pytest.mark.parametrize("rtt_s", [0.01, 0.1])
def test_the_simulator_agrees(algorithm, rtt_s):
    expected = response.analytic(algorithm, 1e-5, rtt_s)
    measured = simulated(algorithm, 1e-5, f"{rtt_s:g}s")
    assert measured == pytest.approx(expected, rel=0.1), algorithm


def test_delayed_acks_count_only_where_acks_are_counted():
    """Half the growth where Linux 2.6 counts ACKs: 1/√2 of the window."""
    each, every_second = (
        simulated("reno", 1e-5, profile="linux-2.6.25", delayed_ack_segments=n) for n in (1, 2)
    )
    assert every_second / each == pytest.approx(0.5**0.5, rel=0.02)
    each, every_second = (simulated("reno", 1e-5, delayed_ack_segments=n) for n in (1, 2))
    assert every_second / each == pytest.approx(1, rel=0.05)


def test_a_run_with_too_few_losses_has_no_window():
    rows = response.measure(["reno"], ["10ms"], [1e-4])
    assert rows["epochs"][0] >= response.EPOCHS
    with pytest.raises(AckclockError, match="choose from 1e-9"):
        response.measure(["reno"], ["10ms"], [0.5])


@pytest.mark.parametrize("lowest", ["0", "-1", "nan", "inf", "0.5", "1e-300"])
def test_a_lowest_loss_rate_that_leaves_nothing_to_measure_is_refused(ackclock, lowest):
    done = ackclock("response", "--algorithm", "reno", "--lowest", lowest)
    assert done.returncode == 1
    assert done.stderr == f"error: lowest = {float(lowest):g}: choose from 1e-07 to 0.01\n"


@pytest.mark.parametrize("rtt", ["-5ms", "0ms", "101s"])
def test_an_rtt_that_no_path_has_is_refused(rtt):
    with pytest.raises(AckclockError, match=f'rtt = "{rtt}": choose from 1us to 100s'):
        response.measure(["cubic"], [rtt], [1e-2])


def test_what_is_named_twice_is_measured_once():
    rows = response.measure(["reno", "reno"], ["10ms", "10ms"], [1e-2])
    assert len(rows) == 1


def test_the_command(ackclock, tmp_path):
    arguments = ["--algorithm", "reno", "--algorithm", "vegas", "--lowest", "1e-3", "-o", "out"]
    done = ackclock("response", *arguments)
    assert done.returncode == 0, done.stderr
    assert "reno: formula" in done.stdout
    assert "hosts linux-6, an ACK for each packet" in done.stdout
    rows = pl.read_parquet(tmp_path / "out" / "response.parquet")
    assert rows["algorithm"].to_list() == ["reno"] * 3 + ["vegas"] * 3
    assert rows["loss_rate"].to_list() == sorted(rows["loss_rate"][:3], reverse=True) * 2
    assert rows.filter(algorithm="vegas")["analytic_packets"].is_null().all()
    assert (tmp_path / "out" / "response.png").read_bytes().startswith(b"\x89PNG")
    assert ackclock("response", *arguments).returncode == 0  # again, over the same directory


def test_the_command_refuses_in_one_line(ackclock):
    for arguments in (["--algorithm", "nope"], ["--algorithm", "reno", "--rtt", "10"]):
        done = ackclock("response", *arguments, "--lowest", "1e-2")
        assert done.returncode == 1
        assert done.stderr.startswith("error: ")
        assert done.stderr.count("\n") == 1


@pytest.mark.slow
@pytest.mark.usefixtures("machine")
def test_on_linux_in_virtual_time(ackclock, tmp_path):
    """Linux's own CUBIC, and a module that only Linux compiles, have the simulator's window."""
    reno = "tcp_reno_ssthresh, .cong_avoid = tcp_reno_cong_avoid, .undo_cwnd = tcp_reno_undo_cwnd"
    (tmp_path / "tcp_mine.c").write_text(
        "#include <linux/module.h>\n#include <net/tcp.h>\n#include <linux/hashtable.h>\n"
        f"static struct tcp_congestion_ops mine = {{ .ssthresh = {reno},\n"
        '\t.owner = THIS_MODULE, .name = "mine" };\n'
        "static int __init begin(void) { return tcp_register_congestion_control(&mine); }\n"
        'module_init(begin);\nMODULE_LICENSE("GPL");\n'
    )
    of = [each for name in ("kernel:cubic", "./tcp_mine.c") for each in ("--algorithm", name)]
    done = ackclock("response", *of, "--lowest", "1e-2", "--on", "vlinux", "-o", "out")
    assert done.returncode == 0, done.stderr
    rows = pl.read_parquet(tmp_path / "out" / "response.parquet")
    cubic, mine = rows.filter(loss_rate=1e-2)["simulated_packets"]
    assert cubic == pytest.approx(simulated("cubic", 1e-2), rel=0.01)
    assert mine == pytest.approx(simulated("reno", 1e-2), rel=0.01)
    assert rows["analytic_packets"].is_null().all()
    done = ackclock("response", *of[2:], "--lowest", "1e-2")
    assert "take it with --on vlinux, which has Linux's own headers" in done.stderr
    card = ["--quick", "--rows", "R3,R10c", "--against", "reno", "--on", "vlinux", "-o", "card"]
    done = ackclock("evaluate", "./tcp_mine.c", *card)
    assert done.returncode == 0, done.stderr
    assert "equal to Reno in every number" in done.stdout
    assert "not finished: vlinux does not answer R10c (" in done.stdout
    card = json.loads((tmp_path / "card" / "card.json").read_text())
    assert [card["on"], *(each["row"] for each in card["rows"])] == ["vlinux", "R3"]
    page = (tmp_path / "card" / "index.html").read_text()
    assert "all on vlinux" in page
    runs = pl.read_parquet(tmp_path / "card" / "rows.parquet")
    assert set(runs["on"]) == {"vlinux"}
