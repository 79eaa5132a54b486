"""A user's own C file in a browser: clang as WebAssembly, in Node and in Chromium."""

import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from playwright.sync_api import expect

import ackclock
import firefox
from ackclock import Scenario, _core
from acts import fill, run, show_form, until_whole
from c_files import FILE, REFUSED, cheats
from common import NODE, ROOT, SLOW_MS
from lab_page import CLANG
from test_explore_engine import LAB

#: Between them they have every hook, and CC_STORAGE.
ALGORITHMS = ("bbr3", "compound", "copa", "cubic", "dctcp", "prague", "westwood")
SCENARIO = """
duration = "10s"
rtt = "40ms"
[bottleneck]
rate = "50mbit"
buffer = "0.5bdp"
[[flow]]
algorithm = "{0}"
ecn = true
[[flow]]
algorithm = "{0}"
start = "2s"
"""

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        not CLANG.exists() or not (LAB / "engine.wasm").exists() or not shutil.which("node"),
        reason="no compiler for the laboratory in a browser: make .venv/clang lab, and Node",
    ),
]


@pytest.fixture(scope="module")
def node():
    """Takes jobs, and gives the last message of each: clang is loaded once."""
    command = [*NODE, Path(__file__).parent / "engine.mjs", LAB, CLANG]
    with subprocess.Popen(command, stdin=-1, stdout=-1, text=True) as process:

        def told(job):
            process.stdin.write(json.dumps(job) + "\n")
            process.stdin.flush()
            return json.loads(process.stdout.readline())[-1]

        yield lambda *jobs: [told(job) for job in jobs]
        process.stdin.close()


def text_of(name):
    [source] = [each["source"] for each in _core.algorithms() if each["name"] == name]
    return (ROOT / source).read_text()


def job(path, text):
    return {"toml": SCENARIO.format(path), "c": {path: text}}


def test_a_copy_of_an_algorithm_is_the_algorithm(node):
    own = node(*(job(f"./my_{name}.c", text_of(name)) for name in ALGORITHMS))
    built_in = node(*({"toml": SCENARIO.format(name)} for name in ALGORITHMS))
    for name, mine, ours in zip(ALGORITHMS, own, built_in, strict=True):
        assert mine["kind"] == "end", mine
        assert mine["trace_hash"] == ours["trace_hash"], name


def test_parameters_and_presets_of_a_file(node):
    text = text_of("cubic")
    specs = ["my_cc.c@ha2008", "my_cc.c:beta=0.5", "my_cc.c:gamma=1"]
    jobs = [{"toml": SCENARIO.format(spec), "c": {"my_cc.c": text}} for spec in specs]
    preset, beta, wrong = node(*jobs)
    ours = node(*({"toml": SCENARIO.format(f"cubic{spec[7:]}")} for spec in specs[:2]))
    assert [preset["trace_hash"], beta["trace_hash"]] == [each["trace_hash"] for each in ours]
    assert "cubic has no parameter `gamma`" in wrong["text"]


def test_storage_of_a_file(node):
    path = ROOT / "crates/host/tests/history.c"
    [told] = node(job("history.c", path.read_text()))
    native = ackclock.run(Scenario.from_text(SCENARIO.format(path), source=""))
    assert told["trace_hash"] == native.manifest["trace_hash"]


def test_a_file_touches_its_own_state_and_nothing_else(node):
    jobs = [job("my_cc.c", FILE.format(before="", what=what)) for what, _ in cheats()]
    for (what, words), told in zip(cheats(), node(*jobs), strict=True):
        assert told["kind"] == "error", what
        assert re.match(r"my_cc\.c:6, function x_\w+: ", told["text"]), (what, told)
        assert words in told["text"] or "x_avoid" in what, (what, told)
        assert "\n" not in told["text"], told


@pytest.mark.parametrize(("before", "what", "words"), REFUSED)
def test_what_the_kernel_refuses_is_refused(node, before, what, words):
    [told] = node(job("my_cc.c", FILE.format(before=before, what=what)))
    assert told["kind"] == "error"
    assert words in told["text"], told


def test_a_file_that_is_no_algorithm(node):
    forged = '#include "tcp_cc.h"\nconst u32 cc_module[40] = {~0U, ~0U, 5};\n'
    nothing = '#include "tcp_cc.h"\n'
    for told in node(job("my_cc.c", forged), job("my_cc.c", nothing)):
        assert "my_cc.c registers no algorithm; end the file with CC_ALGORITHM" in told["text"], (
            told
        )
    [kernels] = node(job("my_cc.c", "#include <linux/module.h>\n"))
    assert "my_cc.c:1:10: error: 'linux/module.h' file not found" in kernels["text"]


def test_ones_own_c_file(lab, tmp_path):
    """It is compiled here; a mistake is shown at its line, and so is an endless loop."""
    fill(lab, "duration", "10s")
    fill(lab, "flow 1.algorithm", "my_cc.c")
    lab.click("[data-tab=code]")
    expect(lab.locator("#code-hint")).to_contain_text("loads a C compiler of 23 MB")
    area = lab.locator("#editor textarea")
    whole = area.input_value()
    area.fill(whole + "nothing;\n")
    lab.click("#run")
    line = whole.count("\n") + 1
    expect(lab.locator("#problem")).to_contain_text(f"my_cc.c:{line}:1: error:", timeout=SLOW_MS)
    expect(lab.locator(".gutter .bad")).to_have_text(str(line))
    lab.screenshot(path=tmp_path / "mistake.png")
    area.fill(whole)
    chip = run(lab)
    expect(chip).to_contain_text(re.compile(r"my_cc 4\d\.\d Mb/s"))
    until_whole(lab, 1)
    lab.screenshot(path=tmp_path / "own.png")
    show_form(lab)
    lab.click("[data-tab=code]")
    begin = whole.index("{", whole.index("my_cc_cong_avoid")) + 1
    area.fill(whole[:begin] + "\n\tfor (volatile u32 i = 0; i < 2; i = 0);" + whole[begin:])
    chip = run(lab, "failed")
    expect(lab.locator("#problem")).to_contain_text("my_cc.c: a hook has not returned for 10 s")


#: Compiles a file, and runs it as the page does: the error.
IN_FIREFOX = """async (toml, text) => {
  const ask = (name, given, isLast) => new Promise((done) => {
    const worker = new Worker(`static/lab/${name}`, { type: "module" });
    worker.onmessage = ({ data }) => isLast(data) && done(data);
    worker.postMessage({ job: 1, ...given });
  });
  const path = "my_cc.c";
  const file = await ask("compile_worker.js", { path, text }, (data) => !data.fetched);
  const run = { toml, files: { [path]: text }, guests: [file] };
  return file.error ?? (await ask("worker.js", run, ({ kind }) => kind === "error")).text;
}"""


@pytest.mark.skipif(not firefox.COMMAND, reason="no Firefox here: apt-get install firefox-esr")
def test_firefox_names_line_and_function_too(site, tmp_path):
    text = (ROOT / "tests/scorecard/divides_by_zero.c").read_text()
    opened = firefox.Firefox(tmp_path)
    try:
        opened.goto(site.url)
        told = opened.evaluate(IN_FIREFOX, SCENARIO.format("my_cc.c"), text)
    finally:
        opened.close()
    assert told.startswith("my_cc.c:9, function divides_ssthresh: divides by zero")
