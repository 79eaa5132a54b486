"""The page's server: runs, their ends, what is kept."""

import csv
import hashlib
import io
import json
import os
import re
import shutil
from pathlib import Path

import pytest

from ackclock import Result, Scenario
from ackclock.explore import app, gallery
from ackclock.explore.runs import AT_A_TIME
from common import ACKCLOCK, wait_until
from explorer import LONG, SHORT, Server

CRASHES = """
#include "tcp_cc.h"
CC_HOOK(u32, crash_ssthresh, struct sock *sk) { return *(volatile u32 *)8; }
CC_HOOK(void, crash_cong_avoid, struct sock *sk, u32 ack, u32 acked)
{
    tcp_slow_start(tcp_sk(sk), acked);
}
CC_ALGORITHM(crash, "follows a bad pointer", .ssthresh = crash_ssthresh,
    .cong_avoid = crash_cong_avoid);
"""


def test_there_are_ten_scenarios_to_begin_with():
    found = gallery.scenarios()
    assert len(found) == 10
    for each in found:
        assert 8 < len(each["title"]) < 40
        assert each["sentence"].endswith((".", "?"))


def test_uplot_is_the_file_that_its_makers_published():
    folder = app.STATIC / "uplot"
    lines = (folder / "SOURCE").read_text().splitlines()[1:]
    assert len(lines) == len(list(folder.iterdir())) - 1
    for line in lines:
        digest, name = line.split()
        assert hashlib.sha256((folder / name).read_bytes()).hexdigest() == digest


@pytest.mark.parametrize("name", [each["name"] for each in gallery.scenarios()])
def test_each_scenario_of_the_gallery_runs(server, name):
    (toml,) = (each["toml"] for each in gallery.scenarios() if each["name"] == name)
    run = server.start(toml)
    told = server.wait(run, "done")
    assert told["error"] == ""
    rows = server.rows(run)
    flows = range(1, 1 + len(told["about"]["flows"]))
    assert set(rows["samples"]["flow"]) == set(flows)
    assert rows["samples"]["cwnd_packets"].min() > 0
    assert rows["queues"]["queue_packets"].max() > 0
    assert len(rows["events"])


def test_the_curves_are_the_samples_of_the_kept_run(server):
    run = server.start(SHORT.format(algorithm="cubic"))
    told = server.wait(run, "done")
    result = Result.load(server.folder.parent / told["end"]["kept"])
    assert result.scenario == Scenario.from_text(told["toml"], source="")
    samples, drawn = result.samples, server.rows(run)["samples"]
    assert drawn.equals(samples.select(drawn.columns))
    rows = list(
        csv.reader(io.StringIO(server.ask("GET", f"/api/runs/{run}/samples.csv").body.decode()))
    )
    assert rows[0] == samples.columns
    assert len(rows) == 1 + len(samples)
    toml = server.ask("GET", f"/api/runs/{run}/scenario.toml").body.decode()
    assert toml == told["toml"]


def test_the_same_scenario_is_the_same_run(server):
    toml = SHORT.format(algorithm="reno")
    run = server.start(toml)
    server.wait(run, "done")
    assert server.start(toml) == run
    assert server.ask("DELETE", f"/api/runs/{run}").status == 200
    again = server.start(toml)
    assert again != run
    server.wait(again, "done")


def test_the_curves_grow_while_the_run_goes_on_and_cancel_ends_it(server):
    run = server.start(LONG.format(algorithm="cubic"))
    rows = []
    while len(set(rows)) < 4:
        told = server.runs()[run]
        assert told["state"] in ("waiting", "running")
        rows += [told["rows"]] if told["rows"] else []
    assert rows == sorted(rows)
    assert 0 < told["done"] < 1
    assert server.ask("POST", f"/api/runs/{run}/cancel").status == 200
    told = server.wait(run, "cancelled")
    assert len(server.rows(run)["samples"]) >= rows[-1] // 2


PROGRAM = '[[program]]\ncommand = "true"\n'


@pytest.mark.parametrize(
    ("toml", "message"),
    [
        (SHORT.format(algorithm="cubik"), "did you mean `cubic`"),
        (SHORT.format(algorithm="cubic").replace("20mbit", "20 mb"), "bottleneck.rate"),
        (SHORT.format(algorithm="mine.c"), "in the C editor of this page first"),
        (SHORT.format(algorithm="cubic").replace("buffer", "bufer"), 'did you mean "buffer"'),
        ('duration = "5s', "not a scenario file"),
        (SHORT.format(algorithm="cubic") + PROGRAM, "add --on vlinux: ackclock run FILE --on"),
    ],
)
def test_a_mistake_is_told_in_one_line(server, toml, message):
    answer = server.ask("POST", "/api/runs", {"toml": toml})
    if answer.status == 200:  # seen when the code is loaded, which is in the run's process
        told = server.wait(answer.json["id"], "failed")
        text = told["error"]
    else:
        assert answer.status == 422
        text = answer.json["error"]
    assert message in text
    assert str(server.folder) not in text


def test_an_error_of_the_compiler_names_the_line(server):
    code = '#include "tcp_cc.h"\n\nint broken(void) { return nothing; }\n'
    run = server.start(SHORT.format(algorithm="mine.c"), files={"mine.c": code})
    told = server.wait(run, "failed")
    assert "mine.c:3:" in told["error"]
    assert "out/explore" not in told["error"]


def test_runs_of_c_files_queue_and_leave_no_process(server):
    """A process that has run a user's code ends with its run, and makes room for the next."""
    skeleton = server.ask("GET", "/api/about").json["skeleton"]
    started = [
        server.start(
            SHORT.format(algorithm=f"my_cc.c:beta=0.{5 + each}"), files={"my_cc.c": skeleton}
        )
        for each in range(AT_A_TIME + 2)
    ]
    assert {server.wait(run, "done")["state"] for run in started} == {"done"}
    wait_until(lambda: len(server.children()) <= AT_A_TIME)


def test_a_c_file_runs_and_one_that_crashes_ends_its_run_only(server):
    skeleton = server.ask("GET", "/api/about").json["skeleton"]
    fine = server.start(SHORT.format(algorithm="my_cc.c:beta=0.7"), files={"my_cc.c": skeleton})
    assert server.wait(fine, "done")["about"]["flows"][0]["name"] == "my_cc"
    crash = server.start(SHORT.format(algorithm="crash.c"), files={"crash.c": CRASHES})
    told = server.wait(crash, "failed")
    assert "crash" in told["error"]
    assert "out/explore" not in told["error"]
    after = server.start(SHORT.format(algorithm="vegas"))
    server.wait(after, "done")


def test_a_kept_run_can_be_opened_again(server):
    run = server.start(SHORT.format(algorithm="bic"))
    told = server.wait(run, "done")
    kept = server.ask("GET", "/api/kept").json
    path = next(each["path"] for each in kept if told["end"]["kept"].endswith(each["path"]))
    opened = server.ask("POST", "/api/kept/open", {"path": path}).json["id"]
    server.wait(opened, "done")
    assert opened != run
    first, second = server.rows(run), server.rows(opened)
    assert first.keys() == second.keys()
    for name, shown in first.items():
        assert shown.equals(second[name])


#: A link whose rate changes in its second half, so that half of the file is a faster link.
TRACE = "".join(f"{time}\n" for time in (*range(1000, 6000), *range(6000, 50_000, 12)))
ON_TRACE = SHORT.replace('rate = "20mbit"', 'trace = "cell.trace"').replace('"5s"', '"50s"')
UPLOAD = {"files": {"cell.trace": TRACE}}


def trace_hash(server, run):
    """The result of a run, as it is kept."""
    kept = server.wait(run, "done")["end"]["kept"]
    return Result.load(server.folder.parent / kept).manifest["trace_hash"]


def test_a_file_that_finds_no_room_is_refused_and_not_used_later(server, tmp_path):
    toml = ON_TRACE.format(algorithm="cubic")
    right = trace_hash(server, server.start(toml, **UPLOAD))
    small = tmp_path / "small"
    small.write_text(f'#!/bin/sh\nulimit -f 16\nexec {ACKCLOCK} "$@"\n')  # blocks of 512 bytes
    small.chmod(0o755)
    assert len(TRACE) > 3 * 16 * 512
    limited = Server(tmp_path, command=small)
    answer = limited.ask("POST", "/api/runs", {"toml": toml, **UPLOAD})
    limited.close()
    assert answer.status == 422
    assert re.search(
        r"cell\.trace: cannot be kept in .* \(File too large\); make room", answer.json["error"]
    )
    assert not list((tmp_path / "out").rglob("*.trace"))
    after = Server(tmp_path)
    try:
        assert trace_hash(after, after.start(toml, **UPLOAD)) == right
    finally:
        after.close()


@pytest.mark.parametrize("length", [0, len("1000\n") * 1000])
def test_half_a_file_that_was_left_is_written_anew(server, tmp_path, length):
    toml = ON_TRACE.format(algorithm="reno")
    right = trace_hash(server, server.start(toml, **UPLOAD))
    (file,) = server.folder.rglob("cell.trace")
    half = tmp_path / "out" / file.relative_to(server.folder)
    half.parent.mkdir(parents=True)
    half.write_text(TRACE[:length])
    other = Server(tmp_path)
    try:
        assert trace_hash(other, other.start(toml, **UPLOAD)) == right
        assert half.read_text() == TRACE
    finally:
        other.close()


def test_a_damaged_run_that_was_kept_is_run_again(server):
    toml = SHORT.format(algorithm="westwood")
    run = server.start(toml)
    right = trace_hash(server, run)
    kept = server.folder.parent / server.runs()[run]["end"]["kept"]
    (kept / "samples.parquet").write_bytes((kept / "samples.parquet").read_bytes()[:1000])
    server.ask("DELETE", f"/api/runs/{run}")
    assert trace_hash(server, server.start(toml)) == right
    Result.load(kept)


def test_a_damaged_run_is_named_with_its_path(server):
    run = server.start(SHORT.format(algorithm="bic"))
    kept = Path(server.wait(run, "done")["end"]["kept"])
    damaged = shutil.copytree(server.folder.parent / kept, server.folder / "damaged")
    (damaged / "samples.parquet").write_bytes(b"PAR1")
    opened = server.ask("POST", "/api/kept/open", {"path": "damaged"}).json["id"]
    told = server.wait(opened, "failed")
    assert re.match(r"\S*out/damaged: .*samples.parquet is damaged", told["error"])
    (damaged / "manifest.json").write_text("[]")
    answer = server.ask("POST", "/api/kept/open", {"path": "damaged"})
    assert answer.status == 422
    assert "manifest.json has no scenario" in answer.json["error"]


#: What a damaged manifest holds: no number, a number beyond all, half of a character.
ODD = ["NaN", "1e999", '"\\ud800"', "[" * 100_000, '{"flow": 5}', "null"]


@pytest.mark.parametrize("where", ["more", "scenario", "packets", "in the scenario"])
@pytest.mark.parametrize("odd", ODD, ids=lambda odd: odd[:9])
def test_an_odd_manifest_leaves_the_list_whole(server, odd, where):
    run = server.start(SHORT.format(algorithm="bic"))
    kept = server.folder.parent / server.wait(run, "done")["end"]["kept"]
    before = [each["path"] for each in server.ask("GET", "/api/kept").json]
    damaged = server.folder / "odd"
    shutil.copytree(kept, damaged)
    manifest = json.loads((kept / "manifest.json").read_text()) | {where: "ODD"}
    if where == "in the scenario":
        manifest["scenario"]["duration"] = manifest.pop(where)
    text = json.dumps(manifest)
    (damaged / "manifest.json").write_text(text.replace('"ODD"', odd))
    try:
        listed = server.ask("GET", "/api/kept")
        assert listed.status == 200
        told = {each["path"]: each for each in listed.json}
        assert set(told) == {*before, "odd"}
        if "scenario" in where:
            assert told["odd"]["scenario"] is None
        # To open it fails in one line, and the page is told of its other runs as before.
        answer = server.ask("POST", "/api/kept/open", {"path": "odd"})
        if answer.status == 200:
            answer = server.wait(answer.json["id"], "failed")["error"]
        else:
            answer = answer.json["error"]
        assert "damaged" in answer or "manifest.json has no scenario" in answer, answer
        assert "\n" not in answer
        assert run in server.runs()
    finally:
        shutil.rmtree(damaged)


def test_a_name_that_is_no_text_leaves_the_list_whole(server):
    odd = server.folder / os.fsdecode(b"caf\xe9")
    odd.mkdir(parents=True)
    (odd / "card.json").touch()
    try:
        told = {each["path"]: each for each in server.ask("GET", "/api/kept").json}
        assert told["caf\\xe9"]["kind"] == "scorecard to rename"
        assert told["caf\\xe9"]["page"] is None
    finally:
        shutil.rmtree(odd)


def test_more_rows_than_the_page_keeps_are_refused_with_what_to_do(server):
    toml = 'sample_interval = "10us"\n' + SHORT.format(algorithm="cubic").replace('"5s"', '"60s"')
    told = server.wait(server.start(toml), "failed")
    assert "sample less often" in told["error"]
