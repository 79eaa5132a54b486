"""Users' C files on the portable engine: the packets and the words of the native one."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from ackclock import AckclockError, Scenario, _core
from c_files import FILE, REFUSED, cheats
from common import ROOT

portable = pytest.importorskip("ackclock.engine.portable")
c_files = pytest.importorskip("ackclock.engine.c_files")
instance = pytest.importorskip("ackclock.engine.instance")
pytestmark = [
    pytest.mark.skipif(not instance.ENGINE.exists(), reason="engine.wasm is not built: make lab"),
    pytest.mark.skipif(
        c_files._tools() is None, reason="no clang with wasm-ld, and no ziglang: make .venv/wheel"
    ),
]
native = pytest.mark.skipif(_core is portable, reason="there is no native engine beside it")
SCENARIO = """
duration = "{seconds}s"
rtt = "40ms"
[bottleneck]
rate = "50mbit"
buffer = "0.5bdp"
[[flow]]
algorithm = "{file}"
ecn = true
[[flow]]
algorithm = "{file}"
start = "1s"
"""


def told(engine, file, seconds=3):
    """The trace hash of a run with a file on an engine, or what is said of it."""
    scenario = Scenario.from_text(SCENARIO.format(file=file, seconds=seconds), source="")
    found = []
    try:
        prepared = engine.Snapshot().prepare(engine.Written(scenario.given))
        engine.run_many([prepared], 1, None, lambda _, raw: found.append(raw["trace_hash"]))
    except AckclockError as error:
        return f"{type(error).__name__}: {error}"
    return found[0]


def same(file, seconds=10):
    ours = told(_core, file, seconds)
    assert re.fullmatch("[0-9a-f]{16}", ours), ours
    assert told(portable, file, seconds) == ours


@pytest.fixture
def written(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return Path("my_cc.c").write_text


#: Between them they have every hook, parameters and presets, and CC_STORAGE.
FEW = ("algorithms/tcp_bbr3.c", "algorithms/tcp_cubic.c:beta=0.5", "crates/host/tests/history.c")
MANY = [
    *(f"algorithms/{each.name}" for each in sorted(ROOT.glob("algorithms/tcp_*.c"))),
    *("algorithms/tcp_cubic.c@ha2008", "examples/my_cc.c", "examples/my_cc_full.c"),
    *(
        "examples/search/reno.c",
        "tests/scorecard/knows_clock.c",
        "crates/host/tests/kernel_style.c",
    ),
]


@native
@pytest.mark.parametrize("file", FEW)
def test_a_file_sends_the_same_packets(file):
    same(f"{ROOT}/{file}")


@native
@pytest.mark.slow
@pytest.mark.parametrize("file", MANY)
def test_every_file_sends_the_same_packets(file):
    same(f"{ROOT}/{file}")


TOLD = """
import sys
from ackclock import _core
from test_portable_files import told
for each in sys.argv[1:]:
    print(told(_core, each))
"""


@native
@pytest.mark.parametrize("every", [6, pytest.param(1, marks=pytest.mark.slow)])
def test_what_is_said_of_a_hook_is_the_same(tmp_path, monkeypatch, every):
    """Also flow and time."""
    monkeypatch.chdir(tmp_path)
    others = ("here[4]", "table", "x_avoid")
    tried = [each for each in cheats()[::every] if not any(other in each[0] for other in others)]
    for number, (what, _) in enumerate(tried):
        Path(f"{number}.c").write_text(FILE.format(before="", what=what))
    files = [f"./{number}.c" for number in range(len(tried))]
    # In a process of its own: either engine has a handler of its own for traps.
    path = os.pathsep.join(str(ROOT / each) for each in ("tests", "tests/engine"))
    done = subprocess.run(
        [sys.executable, "-c", TOLD, *files],
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        check=True,
    )
    for file, (_, words), theirs in zip(files, tried, done.stdout.splitlines(), strict=True):
        said = told(portable, file)
        assert words in said
        assert said == theirs


def test_what_is_found_another_way(written):
    for what in (each for each, _ in cheats() if "here[4]" in each or "table" in each):
        written(FILE.format(before="", what=what))
        said = told(portable, "./my_cc.c")
        assert said.startswith("AlgorithmError: my_cc.c:6, function x_avoid: writes "), said


@pytest.mark.parametrize(("before", "what", "words"), REFUSED)
def test_what_the_kernel_refuses_is_refused(written, before, what, words):
    written(FILE.format(before=before, what=what))
    words = words.replace(": error:", ":").replace("needs more stack", "function f: runs out of")
    assert words in told(portable, "./my_cc.c")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('#include "tcp_cc.h"\nconst u32 cc_module[40] = {~0U, ~0U, 5};\n', "registers no"),
        ('#include "tcp_cc.h"\n', "registers no"),
        (FILE.format(before='#include "/etc/passwd"', what=""), "a file outside its directory"),
        (FILE.format(before="extern u32 e;", what="ack = e; tp->snd_cwnd += ack;"), "calls e, "),
        (FILE.format(before="", what="tp->none = 1;"), "'none' in 'struct tcp_sock'\nalgorithms/"),
        (FILE.format(before="", what="tp->snd_cwnd = 0;"), "flow 1: my_cc.c: snd_cwnd = 0 after"),
        ("\0", "my_cc.c: it contains zero bytes"),
    ],
)
def test_what_is_no_algorithm(written, text, words):
    written(text)
    assert words in told(portable, "./my_cc.c")


@native
@pytest.mark.parametrize("name", ["none.c", "directory.c", "none/none.c"])
def test_there_is_no_file(tmp_path, monkeypatch, name):
    monkeypatch.chdir(tmp_path)
    Path("directory.c").mkdir()
    assert told(portable, f"./{name}") == told(_core, f"./{name}")


def test_a_module_of_the_kernel():
    said = told(portable, f"{ROOT}/crates/host/tests/modules/history.c")
    assert "history.c is a module of the kernel, which only the native engine" in said


@native
@pytest.mark.slow
def test_an_endless_loop_is_ended(written):
    written(FILE.format(before="", what="for (volatile u32 i = 0; i < 2; i = 0);"))
    said = told(portable, "./my_cc.c")
    assert said == told(_core, "./my_cc.c")
    assert "a hook has run for 5 s of CPU time" in said


def test_an_edit_is_seen_and_a_header_is_too(written):
    header = Path("mine.h")
    header.write_text("#define LEAST 2\n")
    text = FILE.format(before='#include "mine.h"', what="tp->snd_cwnd = 10 * LEAST;")
    written(text)
    known = portable.Snapshot()
    users, ours, _ = known.module("./my_cc.c")
    assert users == [
        (Path("my_cc.c").absolute(), text.encode()),
        (header.absolute(), header.read_bytes()),
    ]
    assert dict(ours)["include/tcp_cc.h"].startswith("/*")
    assert known.files()["my_cc.c"][1] == users
    first = known.configure("./my_cc.c")["fingerprint"]
    packets = told(portable, "./my_cc.c")
    header.write_text("#define LEAST 3\n")
    assert known.configure("./my_cc.c")["fingerprint"] == first
    assert portable.Snapshot().configure("./my_cc.c")["fingerprint"] != first
    assert told(portable, "./my_cc.c") != packets


def test_without_a_compiler_one_line_says_what_to_install(written, monkeypatch):
    written(FILE.format(before="", what=""))
    monkeypatch.setattr(shutil, "which", lambda _: None)
    monkeypatch.setattr(c_files, "find_spec", lambda _: None)
    c_files._tools.cache_clear()
    said = told(portable, "./my_cc.c")
    c_files._tools.cache_clear()
    assert said.endswith(
        "cannot compile my_cc.c: no clang with wasm-ld was found; "
        'pip install "ackclock[c]" brings one'
    )
