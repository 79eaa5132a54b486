"""The steps of action.yml do on a machine like a runner of GitHub what docs/ci.md says of them."""

import json
import os
import re
import subprocess

import pytest
import yaml

from common import ACKCLOCK, ROOT

ACTION = yaml.safe_load((ROOT / "action.yml").read_text())
#: GitHub's own program, which keeps the comments of a pull request in a file.
GH = """#!/bin/sh
echo "$@" >>"$GH_LOG"
case "$*" in
*"--jq"*) ! [ -e comment.kept ] || echo 7 ;;
*) cp comment.md comment.kept ;;
esac
"""
LINK = """
duration = "5s"
rtt = "20ms"
[bottleneck]
rate = "{rate}"
buffer = "1bdp"
[[flow]]
algorithm = "reno"
"""
BACK = """
[[flow]]
algorithm = "reno"
direction = "reverse"
"""
#: Its window is 4.
SHY = """
#include "tcp_cc.h"
CC_HOOK(void, shy_cong_avoid, struct sock *sk, u32 ack, u32 acked)
{
	tcp_sk(sk)->snd_cwnd = 4;
}
CC_ALGORITHM(shy, "", .ssthresh = tcp_reno_ssthresh, .cong_avoid = shy_cong_avoid);
"""
THRESHOLDS = """
[[require]]
row = "R1"
number = "packets per RTT, 10 % lost"
above = 0
"""


@pytest.fixture
def runner(tmp_path):
    """Runs the action with inputs in a directory; returns whether it fails."""
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "gh").write_text(GH)
    (tmp_path / "bin" / "gh").chmod(0o755)
    for name, rate in (("slow", "2mbit"), ("fast", "10mbit")):
        (tmp_path / f"{name}.toml").write_text(LINK.format(rate=rate))
    (tmp_path / "shy.c").write_text(SHY)
    path = f"{tmp_path / 'bin'}:{ACKCLOCK.parent}:{os.environ['PATH']}"
    of_github = {"ACTION_PATH": ROOT, "REPOSITORY": "me/mine"}
    of_github |= {each: tmp_path / each.lower() for each in ("STEP_SUMMARY", "OUTPUT")}
    base = {**os.environ, "PATH": path, "GH_LOG": str(tmp_path / "gh.log")}
    base |= {f"GITHUB_{name}": str(value) for name, value in of_github.items()}

    def run(event="pull_request", **inputs):
        given = {name: str(each.get("default", "")) for name, each in ACTION["inputs"].items()}
        assert not inputs.keys() - given.keys()
        context = {f"inputs.{name}": value for name, value in (given | inputs).items()}
        context |= {"github.event_name": event, "github.event.pull_request.number": "12"}
        context |= {"github.token": "none", "runner.arch": "X64", "github.run_id": "1"}
        failed = False
        for step in ACTION["runs"]["steps"]:
            # What fetches packages, and other people's actions, are not of this test.
            if "uses" in step or step.get("id") == "install":
                continue
            if not holds(str(step.get("if", "success()")), context, failed):
                continue
            env = {name: filled(value, context) for name, value in step.get("env", {}).items()}
            bash = ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"]]
            done = subprocess.run(bash, check=False, cwd=tmp_path, env=base | env, timeout=600)
            failed |= done.returncode != 0
        return failed

    return run


def filled(text, context):
    return re.sub(r"\$\{\{ *([\w.]+) *\}\}", lambda found: context[found[1]], str(text))


def holds(condition, context, failed):
    """An `if` of a step: one that does not ask for the status needs success."""
    asks = "()" in condition
    text = condition.removeprefix("${{").removesuffix("}}").strip()
    text = re.sub(r"(?:inputs|github)\.[\w.]+", lambda found: repr(context[found[0]]), text)
    text = text.replace("!cancelled()", "True").replace("success()", str(not failed))
    return bool(eval(text.replace("&&", "and"))) and (asks or not failed)  # noqa: S307


def test_scenarios_and_versions_become_a_table_and_a_comment(runner, tmp_path):
    assert not runner(scenario="slow.toml fast.toml", versions="reno cubic", worse="50")
    table = (tmp_path / "out" / "ackclock" / "table.md").read_text()
    first, line, *rows = table.splitlines()
    assert (first, line) == ("| scenario | reno | cubic |", "|---|---|---|")
    cell = r"[\d.]+ Mb/s, [\d.]+ ms p95 queue delay"
    for name, row in zip(("slow", "fast"), rows, strict=True):
        assert re.fullmatch(rf"\| {name}.toml \| {cell} \| {cell} \|", row), row
    assert (tmp_path / "step_summary").read_text() == table
    comment = "<!-- ackclock out/ackclock -->\n" + table
    assert (tmp_path / "comment.kept").read_text() == comment
    runner(scenario="slow.toml", versions="reno")
    posts = [each.split() for each in (tmp_path / "gh.log").read_text().splitlines()]
    told = [words for words in posts if "--jq" not in words]
    assert told[0] == ["api", "repos/me/mine/issues/12/comments", "-F", "body=@comment.md"]
    assert told[1][:4] == ["api", "-X", "PATCH", "repos/me/mine/issues/comments/7"]


def test_a_last_version_that_is_worse_fails_and_is_told(runner, tmp_path):
    assert runner(scenario="fast.toml", versions="reno ./shy.c", worse="5")
    told = "* fast.toml: ./shy.c is more than 5 % worse in Mb/s"
    assert told in (tmp_path / "comment.kept").read_text().splitlines()
    assert not runner(scenario="fast.toml", versions="./shy.c reno", worse="900", event="push")
    assert runner(scenario="fast.toml absent.toml", versions="reno", event="push")
    assert (tmp_path / "gh.log").read_text().count("body=") == 1


@pytest.mark.slow
def test_a_card_with_thresholds(runner, tmp_path, ackclock):
    assert ackclock("new", "my_cc").returncode == 0
    (tmp_path / "thresholds.toml").write_text(THRESHOLDS)
    assert not runner(evaluate="my_cc.c", thresholds="thresholds.toml")
    assert "R1" in (tmp_path / "comment.kept").read_text()
    (tmp_path / "thresholds.toml").write_text(THRESHOLDS.replace("= 0", "= 100"))
    assert runner(evaluate="my_cc.c", thresholds="thresholds.toml")


@pytest.mark.slow
@pytest.mark.usefixtures("machine")
def test_two_versions_of_a_program(runner, tmp_path):
    for name, size in (("one", 500_000), ("two", 1_000_000)):
        (tmp_path / name).mkdir()
        (tmp_path / name / "file").write_bytes(bytes(size))
    (tmp_path / "down.toml").write_text(LINK.format(rate="10mbit") + BACK)
    how = {"listen": "python3 -m http.server 80 -d $VERSION", "worse": "20"}
    how["run"] = "curl -sSo /dev/null http://server/file"
    assert runner(scenario="down.toml", versions="one two", **how)
    kept = (tmp_path / "comment.kept").read_text()
    found = re.search(r"\| down.toml \| ([\d.]+) s \| ([\d.]+) s \|", kept)
    assert float(found[1]) > 500_000 * 8 / 10e6
    assert float(found[2]) > 1.2 * float(found[1])
    assert "* down.toml: two is more than 20 % worse in s" in kept.splitlines()
    (manifest,) = (tmp_path / "out" / "ackclock").glob("down-1/manifest.json")
    assert json.loads(manifest.read_text())["programs"][-1]["status"] == 0
