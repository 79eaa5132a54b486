"""`ackclock import-capture` and `advise`: the path of a capture as a scenario."""

import random
import re
import secrets
import shlex
import shutil

import pytest

from ackclock import AckclockError, Scenario, run
from ackclock.captures.beside import import_capture
from ackclock.captures.path import read_path
from ackclock.captures.record import records
from ackclock.results.pcapng import Pcapng
from common import ROOT

pytestmark = pytest.mark.skipif(not shutil.which("tshark"), reason="no tshark (package tshark)")


def captured(tmp_path, link, flow=None, at="sender", **more):
    path = tmp_path / "run.pcapng"
    flows = [{"algorithm": "cubic"} | (flow or {})]
    given = {"duration": "15s", "rtt": "40ms", "bottleneck": link, "flow": flows} | more
    run(Scenario.parse(given), pcapng=Pcapng(path, at=at))
    return path


def told(path):
    read = read_path(records(path), ["cubic"])
    return {each.key: each for each in read.told}, read.scenario


def mbit(text):
    return float(text.removesuffix("mbit"))


def test_rate_rtt_and_buffer(tmp_path):
    seed = secrets.randbits(32)
    print("seed", seed)
    rng = random.Random(seed)
    for _ in range(3):
        rate, rtt = rng.uniform(3, 40), rng.uniform(15, 90)
        bdp = rate * 1e6 * rtt / 1e3 / 12000
        packets = max(round(rng.uniform(0.4, 1.5) * bdp), 8)
        link = {"rate": f"{rate:.3f}mbit", "buffer": f"{packets}packets"}
        read, scenario = told(captured(tmp_path, link, rtt=f"{rtt:.2f}ms"))
        assert mbit(read["bottleneck.rate"].value) == pytest.approx(rate, rel=0.01)
        assert float(read["rtt"].value.removesuffix("ms")) == pytest.approx(rtt, rel=0.01)
        assert read["bottleneck.buffer"].sure == "sure"
        found = int(scenario.bottleneck.buffer.removesuffix("packets"))
        assert found == pytest.approx(packets, abs=2 + packets / 20)


def test_random_losses_and_a_policer(tmp_path):
    lossy = {"rate": "20mbit", "buffer": "2bdp", "loss": 0.004}
    read, scenario = told(captured(tmp_path, lossy, duration="30s"))
    assert "while the queue was not full" in read["bottleneck.loss"].why
    assert scenario.bottleneck.loss.p == pytest.approx(0.004, rel=0.5)
    policed = {"rate": "100mbit", "buffer": "1bdp", "policer": {"rate": "20mbit", "burst": "100kB"}}
    read, _ = told(captured(tmp_path, policed))
    assert mbit(read["bottleneck.policer"].value.partition(",")[0]) == pytest.approx(20, rel=0.1)


def test_what_is_not_known_is_said(tmp_path):
    link = {"rate": "50mbit", "buffer": "1bdp"}
    read, _ = told(captured(tmp_path, link, {"algorithm": "cubic", "receive_window": "30kB"}))
    assert read["bottleneck.rate"].sure != "sure"
    assert read["bottleneck.buffer"].sure == "unknown"
    assert read["flow.receive_window"].sure == "sure"
    with pytest.raises(AckclockError, match="captured where the data arrives"):
        import_capture(captured(tmp_path, link, at="receiver"), "cubic")


def test_the_run_of_what_was_read_is_near(tmp_path):
    """Twice the rate is far."""
    found = import_capture(captured(tmp_path, {"rate": "10mbit", "buffer": "1bdp"}), "cubic")
    assert found.distance < 0.05
    fields = found.read.fields
    fields["bottleneck"] = fields["bottleneck"] | {"rate": "20mbit"}
    again = import_capture(found.capture, "cubic")
    again.read.fields.update(fields)
    assert again.distance > 0.5


def test_the_commands(tmp_path, ackclock):
    link = {"rate": "10mbit", "buffer": "1bdp"}
    path = captured(tmp_path, link, {"size": "4MB"}, duration="20s")
    done = ackclock("import-capture", path)
    assert done.returncode == 0, done.stderr
    (tmp_path / "path.toml").write_text(done.stdout)
    assert Scenario.from_toml(tmp_path / "path.toml").flows[0].algorithm == "cubic"
    assert "# bottleneck.rate = 10.000mbit: sure" in done.stdout
    made = tmp_path / "made"
    words = ["advise", path, "--algorithm", "cubic,reno", "--seeds", "2", "-o", made]
    done = ackclock(*words)
    assert done.returncode == 0, done.stderr
    assert "reno: complete after" in done.stdout
    assert "nan" not in done.stdout
    page = (made / "index.html").read_text()
    assert "Algorithms on this path" in page
    assert (made / "scenario.toml").read_text().startswith("# rtt = ")
    assert (made / "capture.png").stat().st_size > 10_000


@pytest.mark.slow
def test_the_commands_of_the_page(ackclock, tmp_path):
    """A capture of the running kernel: CUBIC at 10 Mb/s and 40 ms, on a busy machine."""
    shutil.copy(ROOT / "tests/results/captures/quiet-loss-0.pcap.gz", tmp_path / "web.pcap")
    (block,) = re.findall("```sh\n(.*?)```", (ROOT / "docs/captures.md").read_text(), re.DOTALL)
    words = [shlex.split(line, comments=True) for line in block.splitlines()]
    said = [ackclock(*of[1:]).stdout for of in words if of[0] == "ackclock"]
    assert len(said) == 4
    assert " cubic" in said[1]
    assert "bottleneck.rate = 9.99" in said[2]
    assert "95 % interval" in said[3]
