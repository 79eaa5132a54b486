"""Kernel runs on a machine that cannot keep time: what is said of them, what is kept."""

import pytest

from ackclock import AckclockError, Result, compare, kernel, run
from ackclock.explore import shelf
from ackclock.figures import Check, Experiment, crosscheck
from ackclock.hosts import linux, work
from ackclock.results import certificate
from common import sent, short


@pytest.fixture(autouse=True)
def busy(tmp_path, monkeypatch):
    """A kernel that is the simulator: seed 1 keeps time, the others never do."""
    pytest.importorskip("ackclock._kernel")

    def on_kernel(scenario, **_):
        late = scenario.seed > 1
        certificate = {
            "valid": not late,
            "problems": ["1 % of the packets were more than 900 us late"] * late,
            "lateness_p99_us": 900.0 if late else 100.0,
            "bound_p99_us": 500.0,
            "lateness_max_us": 900.0,
            "bound_max_us": 100_000.0,
        }
        result = run(scenario)
        result.manifest.update(backend="kernel", kernel="6.18", certificate=certificate)
        return result

    monkeypatch.setattr(kernel, "run", on_kernel)
    monkeypatch.chdir(tmp_path)


def test_an_invalid_run_is_kept_and_marked_and_never_used():
    host = linux.host("kernel")
    check = Check("", Experiment("one", [{}], short, sent), {"sent": "sent"})
    with pytest.raises(AckclockError) as refused:
        crosscheck.fill([check], host, seeds=2)
    said = str(refused.value)
    assert "this machine is busy: try --on vlinux, or a lower rate" in said
    (place,) = work.CACHE.glob("invalid/*")
    assert str(place) in said
    assert not Result.load(place).manifest["certificate"]["valid"]
    (row,) = [each for each in shelf.listed(work.CACHE) if each["path"].startswith("invalid/")]
    assert (row["kind"], row["valid"]) == ("run", False)
    assert len(crosscheck.load(check, host).manifests) == 1


def test_a_comparison_keeps_the_runs_before_an_invalid_one(monkeypatch):
    monkeypatch.setattr(certificate, "shown", lambda _: ["link", "timing"])
    both = compare.compare(short(seed=1), repeats=3)
    assert [each.scenario.seed for each in both.measured["kernel"]] == [1]
    assert len(both.simulated) == 3
    assert both.notes()[-1].startswith("kernel: 1 of 3 runs; then no valid kernel run in 3: ")
    assert any(work.CACHE.glob("invalid/*"))
    with pytest.raises(AckclockError, match=r"kernel: 0 of 2 runs; then no valid .* is busy"):
        compare.compare(short(seed=2), repeats=2)
