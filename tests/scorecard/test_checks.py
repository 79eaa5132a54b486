"""Thresholds of a scorecard: those that are kept, broken or wrong, and the files that CI reads."""

import json
import os
import re
import signal
import subprocess
from xml.etree import ElementTree as ET

import polars as pl
import pytest

from ackclock import AckclockError
from ackclock.base import interrupts
from ackclock.cli import evaluate
from ackclock.scenario.scenario import Scenario
from ackclock.scorecard import checks, run
from common import ACKCLOCK, ROOT, wait_until

THRESHOLDS = """
[[require]]
row = "R3"
number = "utilisation with 1 BDP"
above = 0.95

[[require]]
row = "R4"
not_unsafe = true

[[require]]
row = "R5b"
not_worse_than = "reno"
"""


def test_the_command(ackclock, tmp_path):
    """A card's files; thresholds that are kept, and those that a change for the worse breaks."""
    (tmp_path / "thresholds.toml").write_text(THRESHOLDS)
    source = (ROOT / "examples" / "my_cc.c").read_text()
    (tmp_path / "my_cc.c").write_text(source)
    command = ["evaluate", "my_cc.c", "--quick", "--rows", "R3,R4,R5b", "-o", "out"]
    done = ackclock(*command, "--check", "thresholds.toml")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "3 thresholds, none broken" in done.stdout
    [first] = (line for line in done.stdout.splitlines() if line.startswith("against CUBIC: "))
    assert re.fullmatch(r"against CUBIC: (\d better, |\d worse, |\d mixed, )*\d same; .*", first)
    out = tmp_path / "out"
    rows = pl.read_parquet(out / "rows.parquet")
    assert set(rows["row"]) == {"R3", "R4", "R5b"}
    written = json.loads((out / "card.json").read_text())
    assert written["headline"] == first
    assert f'<p class="lead">{first}</p>' in (out / "index.html").read_text()
    number = written["rows"][0]["numbers"][1]
    assert number["name"] == "utilisation with 1 BDP"
    assert number["found"]["my_cc.c"]["mean"] > 0.99
    scenario = Scenario.from_toml(out / "R3-2.toml")
    assert scenario.bottleneck.buffer == "1bdp"
    assert 'href="R3-2.toml"' in (out / "index.html").read_text()
    assert '<table class="card of-2">' in (out / "index.html").read_text()  # marks fit on a phone
    # A regression on purpose: it keeps its window at a loss.
    changed = source.replace(
        "tcp_sk(sk)->snd_cwnd * cc_param(sk, beta) / 1024", "tcp_sk(sk)->snd_cwnd"
    )
    assert changed != source
    (tmp_path / "my_cc.c").write_text(changed)
    summary = tmp_path / "step.md"
    done = ackclock(
        *command, "--check", "thresholds.toml", env={"GITHUB_STEP_SUMMARY": str(summary)}
    )
    assert done.returncode == 1
    assert re.search(
        r"broken: R4: not unsafe; measured packets lost, 4 flows with 0.25 BDP: [\d.]+ % "
        r"\([\d.]+ … [\d.]+\), unsafe above 5 % \(sustained loss",
        done.stdout,
    )
    suite = ET.parse(out / "junit.xml").getroot()  # noqa: S314 (ours)
    assert [suite.get("tests"), suite.get("failures")] == ["3", "2"]
    assert "2 of 3 thresholds broken" in summary.read_text()
    # A summary that cannot be written costs no card.
    done = ackclock(
        *command, "--check", "thresholds.toml", env={"GITHUB_STEP_SUMMARY": "nowhere/step.md"}
    )
    assert done.returncode == 1
    assert "broken: R4" in done.stdout
    assert done.stderr.endswith(
        "error: GITHUB_STEP_SUMMARY=nowhere/step.md: No such file or directory\n"
    )


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (None, "bad.toml: no such file; write one with tables [[require]]"),
        ("", "write tables"),
        ('[[require]]\nrow = "R99"', "choose from R3"),
        ('[[require]]\nrow = "R3"', "add above, below"),
        ('[[require]]\nrow = "R3"\nabove = 1', "need a number"),
        ('[[require]]\nrow = "R3"\nnumber = "utilization"\nabove = 1', "choose from utilisation"),
        ('[[require]]\nrow = "R3"\nabov = 1', "did you mean"),
    ],
)
def test_mistakes_in_thresholds(text, says, ackclock, tmp_path):
    if text is not None:
        (tmp_path / "bad.toml").write_text(text)
    done = ackclock("evaluate", "reno", "--quick", "--rows", "R3", "--check", "bad.toml")
    assert done.returncode == 1
    assert says in done.stderr
    assert done.stderr.count("error:") == 1
    assert not (tmp_path / "out").exists()


@pytest.fixture
def old(tmp_path):
    """The directory of an earlier card, beside thresholds; a CI system would read its junit.xml."""
    (tmp_path / "bounds.toml").write_text(
        '[[require]]\nrow = "R3"\nnot_unsafe = true\n'
        '[[require]]\nrow = "R3"\nnot_worse_than = "cubic"\n'
    )
    old = tmp_path / "out"
    old.mkdir()
    for name in ("junit.xml", "index.html"):
        (old / name).write_text("of the run before")
    (old / ".written-by-ackclock").write_text("junit.xml\nindex.html\n")
    return old


def test_a_card_that_is_not_made_leaves_no_green_file(ackclock, old, tmp_path):
    command = ("evaluate", "mine.c", "--quick", "--rows", "R3", "-o", "out")
    done = ackclock(*command)
    assert done.returncode == 1
    assert (old / "index.html").exists()
    step = tmp_path / "step.md"
    done = ackclock(*command, "--check", "bounds.toml", env={"GITHUB_STEP_SUMMARY": str(step)})
    assert done.returncode == 1
    assert done.stderr.count("error: cannot read mine.c") == 1
    suite = ET.parse(old / "junit.xml").getroot()  # noqa: S314 (ours)
    assert [suite.get("tests"), suite.get("errors")] == ["2", "2"]
    assert [case.get("name") for case in suite] == ["R3: not unsafe", "R3: not worse than cubic"]
    for case in suite:
        assert case.find("error").get("message").startswith("cannot read mine.c: there is no")
        assert case.find("error").text == done.stderr.removeprefix("error: ").removesuffix("\n")
    assert not (old / "index.html").exists()
    assert "not made" in step.read_text()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_a_command_that_is_ended_leaves_no_green_file(old, tmp_path, number):
    step = tmp_path / "step.md"
    process = subprocess.Popen(
        [ACKCLOCK, "evaluate", "reno", "--check", "bounds.toml", "-o", "out", "--jobs", "1"],
        cwd=tmp_path,
        env=os.environ | {"GITHUB_STEP_SUMMARY": str(step)},
        stderr=subprocess.PIPE,
    )
    wait_until(lambda: not (old / "index.html").exists() and (old / "junit.xml").exists())
    process.send_signal(number)
    process.communicate()
    assert process.returncode == (-number if number == signal.SIGKILL else 130)
    suite = ET.parse(old / "junit.xml").getroot()  # noqa: S314 (ours)
    assert [suite.get("tests"), suite.get("errors")] == ["2", "2"]
    says = "it was killed" if number == signal.SIGKILL else "interrupted"
    assert says in suite[0].find("error").get("message")
    if number != signal.SIGKILL:
        assert "error: interrupted" in step.read_text()


class PanicException(BaseException):
    """As Rust's of a library, which may be made of an interrupt."""


def test_an_interrupt_that_a_library_changed_leaves_no_green_file(old, monkeypatch):
    monkeypatch.setattr(interrupts, "_interrupts", [signal.SIGTERM])
    required = [checks.Threshold("R3", not_unsafe=True)]
    with pytest.raises(PanicException), evaluate._errors_for_ci(old, required):
        raise PanicException
    error = ET.parse(old / "junit.xml").getroot()[0][0]  # noqa: S314 (ours)
    assert error.get("message") == "interrupted"


def test_what_ci_reads_is_xml_whatever_is_said(tmp_path):
    """A page break is usual in C files; XML has no way to write it."""
    required = [checks.Threshold("R3", not_unsafe=True)]
    checks.write_error("mine.c:\na \f<b>\x1b &\n\tc", required, tmp_path)
    error = ET.parse(tmp_path / "junit.xml").getroot()[0][0]  # noqa: S314 (ours)
    assert error.get("message") == "mine.c"
    assert error.text == "mine.c:\na \ufffd<b>\ufffd &\n\tc"


@pytest.mark.parametrize(
    ("asked", "says"),
    [
        ('not_worse_than = "bbr"', 'not_worse_than = "bbr": choose from cubic, or add it to'),
        ("not_unsafe = false", "not_unsafe: write true, or remove the table"),
        ("not_unsafe = true\nnumber = 'utilisation with 1 BDP'", "asks the whole row"),
        ("number = 'utilisation with 1 BDP'\nabove = '1'", 'above = "1": write a number'),
        ("number = 'utilisation with 1 BDP'\nbelow = true", "below = true: write a number"),
        ("number = 'utilisation with 1 BDP'\nabove = 1\nbelow = 1", "above must be less"),
        (
            "number = 'utilisation with 1 BDP'\nabove = 1\nnot_worse_than = 'cubic'",
            "above and not_worse_than: write one table [[require]] for each",
        ),
        ("row = []", None),
    ],
)
def test_a_threshold_that_would_ask_nothing_is_refused(asked, says, tmp_path):
    path = tmp_path / "thresholds.toml"
    row = 'row = "R3"\n' if says else ""
    path.write_text(f"[[require]]\n{row}{asked}\n")
    says = re.escape(says or 'row = "[]": choose from R1')
    with pytest.raises(AckclockError, match=says) as error:
        checks.read(path, run.chosen(None), ["cubic"])
    assert str(error.value).startswith(f"{path}: require 1: ")
