"""`ackclock import`: the converted file runs as the published one."""

from pathlib import Path

import pytest

from ackclock import Bottleneck, Flow, Scenario, run
from ackclock.dialect import convert

HERE = Path(__file__).parent


def refused(done, *words):
    """One line that has all these words."""
    assert (done.returncode, done.stderr.count("\n")) == (1, 1)
    assert [word for word in words if word not in done.stderr] == []


def trace(algorithm, hz):
    """The trace hash of a flow for 5 s at 20 Mb/s."""
    bottleneck = Bottleneck(rate="20mbit", buffer="1bdp")
    flows = [Flow(algorithm=str(algorithm))]
    scenario = Scenario(duration="5s", hz=hz, rtt="40ms", bottleneck=bottleneck, flows=flows)
    result = run(scenario)
    assert result.flows["delivered_bytes"].min() > 1_000_000
    return result.manifest["trace_hash"]


@pytest.mark.parametrize("settings", ["", ":keep=900,speed=32", ":keep=2000,is_shy=1"])
def test_a_file_runs_the_same(tmp_path, settings):
    """With what module_init computes, a parameter that it clamps, and values that need HZ."""
    own = convert.write(str(HERE / "tcp_odd.c"), tmp_path / "my_odd.c")
    for hz in (250, 1000):
        assert trace(f"{own}{settings}", hz) == trace(f"{HERE / 'tcp_odd.c'}{settings}", hz)


def test_the_text_is_kept(tmp_path):
    text = convert.write(str(HERE / "tcp_odd.c"), tmp_path / "my_odd.c").read_text()
    for part in (
        " * A rule of no use in the kernel's form",
        "(MODULE_LICENSE: Dual BSD/GPL)",
        "u32 keep = 1;	/* hides the parameter */",
        "goto gain;",
        "#define ODD_SHIFT 10",
        'P(keep, 700, 0, 4294967295, 1, "share \\"kept\\" at a loss")',
        "static inline u32 odd_elapsed(const struct sock *sk, const struct odd *ca)",
        "CC_PRIVATE(struct odd);",
    ):
        assert part in text
    for part in ("module_init(", "THIS_MODULE", "icsk_ca_state", "u16", "LINUX_VERSION_CODE"):
        assert part not in text


def test_all_that_has_no_counterpart_is_told_at_once(ackclock, tmp_path):
    file = HERE / "tcp_odder.c"
    done = ackclock("import", file)
    refused(
        done,
        f"the parameter steps, an array ({file}:7)",
        f"pause, whose default depends on HZ ({file}:8)",
        f"kzalloc ({file}:17)",
        f"losses, a variable that is written at run time ({file}:18)",
        f"kfree ({file}:26)",
    )
    assert list(tmp_path.iterdir()) == []


def test_nothing_is_overwritten(ackclock, tmp_path):
    assert ackclock("import", HERE / "tcp_odd.c").stdout == "written: my_odd.c\n"
    text = (tmp_path / "my_odd.c").read_text()
    (tmp_path / "my_odd.c").write_text("mine")
    refused(ackclock("import", HERE / "tcp_odd.c"), "my_odd.c: exists; choose another --output")
    assert (tmp_path / "my_odd.c").read_text() == "mine"
    ackclock("import", HERE / "tcp_odd.c", "-o", "other.c")
    assert (tmp_path / "other.c").read_text() == text


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("reno", "reno: is in our dialect"),
        ("nix.c", "there is no such file"),
        (str(HERE / "tcp_odd.c"), "--output odd.txt: write a name that ends in .c"),
    ],
)
def test_a_mistake_is_one_line(ackclock, name, words):
    refused(ackclock("import", name, "-o", "odd.txt"), words)
