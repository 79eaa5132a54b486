"""A file of others that is damaged is read, or one line says what is wrong with it and where."""

import copy
import io
import json
import random
import shutil
import subprocess
from functools import partial
from pathlib import Path

import polars as pl
import pytest

from ackclock import AckclockError, Scenario, run
from ackclock.results import qlog
from ackclock.results.capture import explain
from ackclock.results.pcapng import Pcapng
from ackclock.results.qlog_reader import as_result, read

ODD_VALUES = [
    None,
    True,
    -1,
    0,
    1e308,
    10**400,
    1e-320,
    "9" * 5000,
    "x",
    [],
    {},
    [[]],
    2**63,
    2**64,
]
ODD_VALUES += [float("inf"), float("nan"), {"ackclock": 3}, -(2**63), "1e400", 1.7e12, 4e18]
ODD_BYTES = [b"null", b"1e999", b"[", b"{", b'"', b"\x1e", b"\n", b"\xff", b"-", b"9" * 5000]
ODD_BYTES += [b"[" * 3000, b"\x00", b",", b";", b"inf", b"nan", b"\r", b"%"]
BASE = {"duration": "1s", "rtt": "20ms", "flow": [{"algorithm": "cubic"}]}
NEEDS_TSHARK = pytest.mark.skipif(not shutil.which("tshark"), reason="no tshark (package tshark)")


def mutated(data, draw):
    """Some bits or pieces of a file are others, are missing, or are there twice."""
    made = bytearray(data)
    if draw.random() < 0.5:
        for _ in range(draw.randint(1, 9)):
            made[draw.randrange(len(made))] ^= 1 << draw.randrange(8)
        return bytes(made)
    for _ in range(draw.randint(1, 4)):
        at = draw.randrange(len(made) + 1)
        match draw.randrange(4):
            case 0:
                del made[at : at + draw.randint(1, 40)]
            case 1:
                made[at:at] = draw.choice(ODD_BYTES)
            case 2:
                made[at:at] = made[draw.randrange(len(made) + 1) :][:60]
            case 3 if draw.random() < 0.3:
                del made[at:]
    return bytes(made)


def members(of):
    """Each place of a JSON value that holds another: its container and its key."""
    keys = of if isinstance(of, dict) else range(len(of)) if isinstance(of, list) else ()
    for key in keys:
        yield of, key
        yield from members(of[key])


def with_other_members(text, draw):
    """A log of which some members are missing, or have values of others."""
    is_sequence = text.startswith("\x1e")
    texts = [each for each in text.split("\x1e") if each.strip()] if is_sequence else [text]
    whole = [json.loads(each) for each in texts]
    for _ in range(draw.randint(1, 4)):
        if not (places := list(members(whole))):
            break
        of, key = draw.choice(places[:40] if draw.random() < 0.4 else places)
        if draw.random() < 0.2:
            del of[key]
        else:
            of[key] = copy.deepcopy(draw.choice(ODD_VALUES))
    made = "".join(f"\x1e{json.dumps(each)}\n" for each in whole)
    return (made if is_sequence and whole else json.dumps(whole[:1])[1:-1]).encode()


def outcome(taken, path):
    """Whether a reader takes a file. What it refuses, it says in a line that names the file."""
    try:
        taken()
    except AckclockError as error:
        said = str(error)
        assert "\n" not in said
        assert said.startswith((str(path), f'bottleneck.trace = "{path}"')) or "timeline" in said
        return False
    return True


def test_qlogs(tmp_path):
    link = {"bottleneck": {"rate": "10mbit", "buffer": "1bdp"}}
    own = qlog.write(run(Scenario.parse(BASE | link)), tmp_path / "own.qlog").read_text()
    whole = json.loads(own)
    events = whole["traces"][0].pop("events")[:200]
    sequence = [whole | {"trace": whole["traces"][0]}, *events]
    own = json.dumps(whole | {"traces": [whole["traces"][0] | {"events": events}]})
    theirs = Path(__file__).with_name("aioquic.qlog").read_text()
    logs = ["".join(f"\x1e{json.dumps(each)}\n" for each in sequence), own, theirs]
    draw = random.Random(9)
    path = tmp_path / "mutated.qlog"
    of = {"mss_bytes": 1448, "duration_us": 10**6, "interval_us": 10_000, "rtt_us": 20_000}
    taken = 0
    for _ in range(500):
        log = draw.choice(logs)
        is_json = draw.random() < 0.6
        path.write_bytes(with_other_members(log, draw) if is_json else mutated(log.encode(), draw))
        taken += outcome(lambda: as_result(path), path)
        taken += outcome(lambda: read(path, **of), path)
    assert 100 < taken < 900


def resolve(fields):
    Scenario.parse(BASE | fields).resolve()


def parquet():
    out = io.BytesIO()
    pl.DataFrame({"time_s": [0.0, 1, 2], "rate_mbit": [10.0, 20, 5]}).write_parquet(out)
    return out.getvalue()


@pytest.mark.parametrize(
    ("key", "link", "content"),
    [
        (
            "timeline",
            {},
            b"time_s,rate_mbit,delay_ms,loss,up\n0,10,20,0,1\n1,20,10,0.01,1\n2,5,1,0,0\n",
        ),
        ("timeline", {}, parquet()),
        ("timeline", {"rate": "10mbit"}, b"20.5\n21\n40\n"),
        ("trace", {}, b"1\n2\n2\n7\n9\n20\n"),
    ],
)
def test_files_of_links(key, link, content, tmp_path):
    draw = random.Random(9)
    taken = 0
    for number in range(500):  # a name each: a scenario reads a file once
        path = tmp_path / f"mutated{number}"
        path.write_bytes(mutated(content, draw))
        fields = {"bottleneck": {"buffer": "9packets", key: str(path)} | link}
        taken += outcome(partial(resolve, fields), path)
    assert 20 < taken < 480


@NEEDS_TSHARK
@pytest.mark.parametrize("kind", ["pcapng", "pcap"])
def test_captures(kind, tmp_path):
    link = {"bottleneck": {"rate": "1mbit", "buffer": "1bdp"}}
    run(Scenario.parse(BASE | link), pcapng=Pcapng(tmp_path / "own", at="sender"))
    path = tmp_path / f"mutated.{kind}"
    words = ["tshark", "-r", tmp_path / "own", "-F", kind, "-w", path]
    subprocess.run(words, check=True, capture_output=True)
    content = path.read_bytes()
    draw = random.Random(9)
    for _ in range(8):
        path.write_bytes(mutated(content, draw))
        outcome(lambda: explain(path), path)


@NEEDS_TSHARK
def test_a_packet_with_a_damaged_header_is_left_out(tmp_path):
    path = tmp_path / "own.pcapng"
    link = {"bottleneck": {"rate": "1mbit", "buffer": "1bdp"}}
    run(Scenario.parse(BASE | link), pcapng=Pcapng(path, at="sender"))
    whole = explain(path)
    content = path.read_bytes()
    path.write_bytes(content.replace(b"\xa0\x02", b"\x10\x02", 1))  # the SYN's header has 4 bytes
    cut = explain(path)
    assert [each.packets for each in cut] == [each.packets for each in whole]
    assert [each.handshake_rtt_s for each in cut] == [None]
