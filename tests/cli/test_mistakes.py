"""The common mistakes of a newcomer: each gets one clear line with the fix."""

import os
import pydoc
import resource
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import ackclock
from ackclock import (
    AckclockError,
    Bottleneck,
    Flow,
    Scenario,
    attack,
    evaluate,
    run,
    run_all,
)
from ackclock.cli import main
from common import ACKCLOCK, ROOT

SCENARIO = """\
duration = "2s"
rtt = "20ms"
[bottleneck]
rate = "20mbit"
buffer = "1bdp"
[[flow]]
algorithm = "cubic"
"""


def instead(old, new):
    assert old in SCENARIO
    return SCENARIO.replace(old, new).encode()


#: What stands in scenario.toml, and what the line says of it.
FILES = {
    "empty": (b"", ["empty", "examples/two_cubic.toml"]),
    "YAML": (b"duration: 10s\nrtt: 20ms\n", ["JSON or YAML", "write TOML"]),
    "JSON": (b'{"duration": "10s"}', ["JSON or YAML", "write TOML"]),
    "binary": (b"\x7fELF\xff\xfe\x00", ["not text in UTF-8"]),
    "UTF-16": (SCENARIO.encode("utf-16"), ["not text in UTF-8"]),
    "no quotes": (instead('"2s"', "2s"), ['put text in quotes: duration = "2s"', "line 1"]),
    "a bracket open": (instead("[bottleneck]", "[bottleneck"), ["not a scenario file", "line 3"]),
    "a key twice": (instead("rtt", 'rtt = "1ms"\nrtt'), ["given twice", "keep one"]),
    "[flow]": (instead("[[flow]]", "[flow]"), ["write [[flow]] with two brackets"]),
    "a table misspelt": (instead("[bottleneck]", "[bottlenek]"), ['did you mean "bottleneck"?']),
    "a key misspelt": (instead("buffer", "bufer"), ["bottleneck.bufer", 'did you mean "buffer"?']),
    "a key unknown": (instead("rtt", "bloat"), ["bloat: unknown key", "known keys are", "rtt"]),
    "a key of elsewhere": (instead("[[flow]]", '[[flow]]\nrate = "1mbit"'), ["flow 1: rate"]),
    "no duration": (instead('duration = "2s"\n', ""), ['write for example duration = "60s"']),
    "no rtt": (instead('rtt = "20ms"\n', ""), ['write for example rtt = "100ms"']),
    "no flow": (
        SCENARIO.partition("[[flow]]")[0].encode(),
        ["no flows: add at least one [[flow]] table"],
    ),
    "no bottleneck": (
        (SCENARIO.partition("[b")[0] + '[[flow]]\nalgorithm = "cubic"').encode(),
        ["write a table [bottleneck]"],
    ),
    "no algorithm": (instead('algorithm = "cubic"', ""), ['write for example algorithm = "cubic"']),
    "a C file beside": (instead('"cubic"', '"./mine.c"'), ["mine.c", "no such file"]),
}


@pytest.mark.parametrize("name", FILES)
def test_in_a_file(tmp_path, name):
    content, words = FILES[name]
    (tmp_path / "scenario.toml").write_bytes(content)
    path = tmp_path / "scenario.toml"
    one_line(lambda: Scenario.from_toml(path).check(), "scenario.toml", *words)


def one_line(call, *words):
    """The command prints the error that Python raises."""
    with pytest.raises(AckclockError) as error:
        call()
    assert "\n" not in str(error.value)
    for word in words:
        assert word in str(error.value)


#: A setting of the scenario, and what the line says of it.
SETTINGS = {
    "bottleneck.rate=100mb": ['bottleneck.rate = "100mb"', '"100mbit", or "800mbit" (100 MB/s)?'],
    "bottleneck.rate=100MB/s": ["rates are in bits", 'did you mean "800mbit"?'],
    "bottleneck.rate=1.5 GBps": ['did you mean "12gbit"?'],
    "bottleneck.rate=100Mb/s": ['did you mean "100mbit"?'],
    "bottleneck.rate=100000000": ['like "100000000bit"'],
    "flow.receive_window=1073741824": ['like "1073741824B"'],
    "bottleneck.rate=10Gbps": ['did you mean "10gbit"?'],
    "bottleneck.rate=100": ["bottleneck.rate = 100", 'with a unit, like "100mbit"'],
    "bottleneck.rate=\u0663mbit": ["write a number and a unit"],
    "bottleneck.rate=fast": ['"fast"', "write a number and a unit"],
    "bottleneck.buffer=100": ['like "1bdp" or "100packets"'],
    "bottleneck.buffer=100pkts": ['did you mean "100packets"?'],
    "bottleneck.buffer=0packets": ["room for at least one packet"],
    "rtt=40": ["rtt = 40", 'like "40ms"'],
    "rtt=40msec": ['did you mean "40ms"?'],
    "rtt=40ms/s": ['unknown unit "ms/s"'],
    "rtt=-5ms": ['rtt = "-5ms"', "choose from 1us to 100s"],
    "duration=-1s": ['duration = "-1s"', "choose from"],
    "duration=5000h": ["to 1000h"],
    "sample_interval=0.5us": ["sample_interval", "at least 1us"],
    "flow.start=3s": ['start = "3s"', "must be less than 2s, the duration of the run"],
    "flow.stop=0s": ["must be more than 0s, the start of the flow"],
    "flow.size=1M": ['did you mean "1MB"?'],
    "flow.strt=1s": ["flow 1: strt", 'did you mean "start"?'],
    "flow.2.start=1s": ["there is no flow 2", "choose from 1 to 1"],
    "flow.direction=back": ['"forward" or "reverse"'],
    "flow.count=0": ["whole number from 1"],
    "session.gap=1s": ["no [[session]]"],
    "seed=-1": ["seed = -1", "whole number from 0"],
    "seeed=1": ['did you mean "seed"?'],
    "flow.1.pacing=true": ["pacing: unknown key; it is a key of the scenario, above the tables"],
    "flow.1.route_ssthresh=true": ["unknown key; it is a key of [[session]]"],
    "rtt_exponential=1ms": ["it is a key of [[flow]] or of [[session]]"],
    "delay=5ms": ["it is a key of [bottleneck] or [[link]]"],
    "flow.read_rate=-5mbit": ["choose from 1kbit to 1tbit, or 0bit"],
    "pacing=yes": ['pacing = "yes"', "write true or false"],
    "profile=linux-8": ["linux-2.6.25", "linux-6"],
    "rtt": ["write KEY=VALUE"],
    "bottleneck=1": ["bottleneck.KEY"],
    "flow.algorithm=cubik": ["did you mean `cubic`?"],
    "flow.algorithm=CUBIC": ["did you mean `cubic`?"],
    "flow.algorithm=cubic:beta": ["parameter=value", "cubic@ha2008:beta=0.7"],
    "flow.algorithm=cubic:bta=0.5": ["bta", "did you mean `beta`?"],
    "flow.algorithm=cubic:beta=7": ["beta = 7", "from 0.001 to 0.999"],
    "flow.algorithm=cubic:beta=x": ["beta", "not a number"],
    "flow.algorithm=cubic beta=0.8": ['write "cubic:beta=0.8"'],
    "flow.algorithm=cubic@nopreset": ["nopreset", "ha2008"],
    "flow.algorithm=cubic@ha20008": ["did you mean `ha2008`?"],
    "bic@=linux": ["no flow or session has bic"],
    "reno@linux=1": ["write reno@=linux"],
    "reno@2.2=1": ["write reno@=2.2"],
    "flow.algorithm=./missing.c": ["./missing.c", "no such file"],
}


@pytest.fixture
def here(tmp_path):
    (tmp_path / "scenario.toml").write_text(SCENARIO)
    (tmp_path / "empty.toml").write_text("")
    (tmp_path / "mine.c").write_text("int x;")
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "precious").write_text("")
    return tmp_path


@pytest.mark.parametrize("setting", SETTINGS)
def test_in_a_setting(setting):
    scenario = Scenario.from_text(SCENARIO, source="s")
    one_line(lambda: scenario.assign(setting).check(), *SETTINGS[setting])


def test_cdg_is_not_a_misspelling(ackclock, here):
    done = ackclock("run", here / "scenario.toml", "--algorithm", "cdg")
    refused(done, "cdg")
    assert "did you mean" not in done.stderr


def test_many_samples_are_refused_before_they_fill_the_memory():
    many = ("duration=1h", "sample_interval=1us")
    scenario = Scenario.from_text(SCENARIO, source="s")
    one_line(lambda: scenario.assign(*many), "more than 100000000", "sample less often")


#: A command, and what its line says.
COMMANDS = {
    "run scenario": ["no such file", "did you mean scenario.toml?"],
    "run scenaro.toml": ["did you mean scenario.toml?"],
    "run /dev/zero": ["/dev/zero: has more than 16 MB"],
    "run nowhere.toml": ["nowhere.toml: no such file"],
    "run .": ["is a directory", "like empty.toml"],
    "run": ["missing argument 'SCENARIO'", "`ackclock run --help`"],
    "run scenario.toml scenario.toml": ["two scenarios are called scenario"],
    "run scenario.toml --seed -1": ["seed = -1", "whole number from 0"],
    "run scenario.toml --seed x": ["--seed", "write a number"],
    "run scenario.toml --seed 1 --seeds 3": ["--seed 1 and --seeds 3", "one of the two"],
    "run scenario.toml --seeds 5-2": ["write 20 for seeds 1 to 20, or 5-24"],
    "run scenario.toml --sed 3": ["no such option: --sed", "did you mean --seed?"],
    "run scenario.toml --duration 5s": ["--duration; did you mean --set duration=VALUE?"],
    "run scenario.toml --buffer 2bdp": ["did you mean --set bottleneck.buffer=VALUE?"],
    "run scenario.toml --on kernl": ["'kernl'", "'sim', 'kernel'"],
    "run scenario.toml --set flow.algorithm=kernel:cubic": ["kernel:cubic", "--on kernel"],
    "run scenario.toml --set bottleneck.rate=100mb": ['did you mean "100mbit"'],
    "run scenario.toml --rtt 20ms --set rtt=10ms": ["--set rtt=10ms and --rtt 20ms", "one of the"],
    "run scenario.toml --set rtt=10ms --set rtt=20ms": ['"rtt=10ms" and "rtt=20ms"', "keep one"],
    "run scenario.toml --set flow.1.algorithm=bic --algorithm reno": ["--algorithm reno: give one"],
    "run scenario.toml --set seed=2 --seeds 3": ["--set seed=2 and --seeds 3: give one"],
    "run scenario.toml --set flow.1.start=0s --set flow.start=1s": ["of every flow first"],
    "run mine.c": ["a C file, not a scenario", "`ackclock run SCENARIO --algorithm ./mine.c`"],
    "run empty.toml": ["empty.toml: the file is empty"],
    "run scenario.toml --rtt 20": ["rtt = 20", 'like "20ms"'],
    "run scenario.toml --attempts 2": ["--attempts 2", "add --on kernel"],
    "run scenario.toml --acks": ["--acks", "-o DIR"],
    "run scenario.toml --algorithm cubic --algorithm reno": ["2 times", "1 flow;", "flow.count=2"],
    "run scenario.toml --algorithm ./missing.c": ["./missing.c", "no such file"],
    "run scenario.toml -o mine": ["output directory", "mine", "choose another"],
    "run scenario.toml -o scenario.toml": ["output directory", "choose another"],
    "rnu scenario.toml": ["no such command 'rnu'", "did you mean 'run'?"],
    "xyzzy": ["no such command 'xyzzy'", "`ackclock --help`"],
    "plot mine": ["mine: not a result", "`ackclock run SCENARIO -o mine`"],
    "plot scenario.toml": ["not a result", "ackclock run"],
    "plot nowhere": ["nowhere: not a result", "ackclock run"],
    "reproduce": ["missing argument", "`ackclock reproduce --help`"],
    "reproduce fig5": ["did you mean", "cubicfc/fig05", "ha2008/fig05"],
    "reproduce cubicfc/fig99": ["cubicfc/fig99", "choose from cubicfc/fig01"],
    "reproduce cubicf": ["did you mean cubicfc?"],
    "reproduce xyzzy": ["choose from cubicfc, ha2008", "`ackclock list`"],
    "reproduce cubicfc/fig5 --quick --on kernel": ["--quick", "--seeds 1"],
    "reproduce cubicfc/fig5 --set bottleneck.bufer=1bdp --quick": ["bufer", "did you mean"],
    "reproduce cubicfc/fig5 --set reno:beta=1 --quick": ["reno:beta", "no flow or session"],
    "reproduce cubicfc/fig5 --sensitivity --on kernel": ["--sensitivity", "setup of their own"],
    "claims cubicfc.fig5.fc-300s": ["cubicfc.fig5.fc-300s", "unknown"],
    "evaluate": ["missing argument", "`ackclock evaluate --help`"],
    "evaluate cubik": ["cubik", "did you mean"],
    "evaluate missing.c": ["missing.c", "no such file; `ackclock new NAME` writes NAME.c"],
    "evaluate reno --rows R99": ["R99", "choose from links, R1"],
    "evaluate reno --against cubik --rows R12 --quick": ["cubik"],
    "evaluate reno --check missing.toml": ["missing.toml"],
    "evaluate reno --held-out -1": ["--held-out", "greater than or equal to 0"],
    "attack reno --hurt nowhere.py:f": ["--hurt", "nowhere.py", "No such file"],
    "capture explain empty.toml": ["empty.toml: the file is empty", "pcap or pcapng"],
    "capture explain mine": ["mine: is no file", "pcap or pcapng"],
    "claims leith2006": ["did you mean leith2007?"],
    "list cubicfc/fig5": ["not an algorithm", "`ackclock reproduce cubicfc/fig5`"],
    "list ha2008": ["not an algorithm", "`ackclock reproduce ha2008`"],
    "sweep nowhere.toml": ["nowhere.toml: no such file; give a sweep file"],
    "sweep .": ["is a directory; give a sweep file"],
    "list cubik": ["did you mean `cubic`?"],
    "new My-CC": ['name = "My-CC"', "my_cc"],
    "new int": ['name = "int": is a word of C', "my_int"],
    "conform reno nowhere.toml": ["nowhere.toml: no such file; give a case"],
    "conform empty.toml scenario.toml": ["scenario.toml: has no [[assert]]"],
    "conform reno .": ["is a directory; give a case"],
    "conform reno /dev/zero": ["/dev/zero: has more than 16 MB"],
    "evaluate .": [". is a directory; give a C source file, NAME.c"],
    "new cubic": ["already", "choose another"],
    "response --algorithm cubic --rtt 10": ['rtt = "10"', 'like "10ms"'],
    "response --algorithm cubic --lowest 2": ["lowest = 2", "choose from"],
    "response --algorithm cubic --on kernel": ["--on kernel", "use --on vlinux"],
    "compare nowhere.toml": ["nowhere.toml: no such file"],
}


@pytest.mark.parametrize("command", COMMANDS)
def test_in_a_command(ackclock, here, command):
    before = sorted(here.rglob("*"))
    refused(ackclock(*command.split()), *COMMANDS[command])
    assert sorted(here.rglob("*")) == before


def test_an_empty_value_on_the_command_line(ackclock, here):
    before = sorted(here.rglob("*"))
    refused(ackclock("run", "scenario.toml", "--algorithm", ""), '--algorithm "": write NAME')
    refused(ackclock("run", "scenario.toml", "-o", ""), "'-o'", "directory is empty")
    assert sorted(here.rglob("*")) == before


@pytest.mark.usefixtures("here")
def test_a_name_unlike_any_file_gets_no_hint(ackclock):
    done = ackclock("run", "nowhere.toml")
    refused(done, "no such file")
    assert "empty.toml" not in done.stderr


def refused(done, *words):
    assert done.returncode in (1, 2), (done.stdout, done.stderr)
    assert not done.stdout
    assert done.stderr.startswith("error: ")
    assert done.stderr.count("\n") == 1, done.stderr
    for word in words:
        assert word in done.stderr


def test_no_mistake_at_all(ackclock, tmp_path):
    """A byte order mark and Windows' line ends; standard input; a unit after a space."""
    windows = b"\xef\xbb\xbf" + instead("20mbit", "20 Mbit/s").replace(b"\n", b"\r\n")
    (tmp_path / "windows.toml").write_bytes(windows)
    one = ackclock("run", "windows.toml")
    two = ackclock("run", "-", input=SCENARIO)
    assert one.returncode == two.returncode == 0, one.stderr + two.stderr
    assert one.stdout.split("trace")[-1] == two.stdout.split("trace")[-1]


def test_numbers_of_numpy_are_numbers():
    own = Flow(algorithm="reno", initcwnd=np.int64(10), route=[np.uint32(1)])
    assert own == Flow(algorithm="reno", initcwnd=10, route=[1])
    assert type(own.initcwnd) is int
    link = Bottleneck(rate="1mbit", buffer="1bdp", duplicate=np.float64(0.5))
    assert type(link.duplicate) is float
    with pytest.raises(AckclockError, match=r"initcwnd = .*write a whole number"):
        Flow(algorithm="reno", initcwnd=np.float64(1.5))


def test_the_kernel_without_root(here):
    nobody = {"user": 65534, "group": 65534, "extra_groups": ()}
    try:
        subprocess.run([ACKCLOCK, "--version"], check=True, capture_output=True, **nobody)
    except (OSError, subprocess.CalledProcessError) as error:
        pytest.skip(f"another user cannot run the command: {error}")
    here.chmod(0o777)
    done = subprocess.run(
        [ACKCLOCK, "run", "-", "--on", "kernel"],
        input=SCENARIO, capture_output=True, text=True, check=False, cwd="/", **nobody,
    )  # fmt: skip
    refused(done)
    assert "root" in done.stderr or "`make kernel`" in done.stderr


FIELDS = {
    "duration": "1s",
    "rtt": "10ms",
    "bottleneck": {"rate": "10mbit", "buffer": "1bdp"},
    "flows": [{"algorithm": "reno"}],
}
SMALL = Scenario(**FIELDS)

#: What one might type in Python, and what the line says.
PYTHON = {
    "a path as scenario": (lambda: run("s.toml"), ["s.toml", "Scenario.from_toml"]),
    "fields as scenario": (lambda: run(FIELDS), ["Scenario(**fields)"]),
    "scenarios to run": (lambda: run([SMALL]), ["run_all(scenarios, reduce)"]),
    "one scenario to sweep": (lambda: run_all(SMALL, len), ["pass a list of Scenario"]),
    "paths to sweep": (lambda: run_all(["s.toml"], len), ["Scenario.from_toml('s.toml')"]),
    "no function to reduce": (lambda: run_all([SMALL], None), ["pass a function of a Result"]),
    "a path to Scenario": (lambda: Scenario("s.toml"), ["Scenario.from_toml(PATH)"]),
    "a number without unit": (lambda: Bottleneck(rate=10, buffer="1bdp"), ['like "10mbit"']),
    "a rate in Mb": (lambda: Bottleneck(rate="10Mb", buffer="1bdp"), ['"10mbit"']),
    "a flow misspelt": (lambda: Flow(algoritm="reno"), ['did you mean "algorithm"?']),
    "a flow by position": (lambda: Flow("reno"), ["name each field"]),
    "no flows": (lambda: Scenario(**FIELDS | {"flows": []}), ["[[flow]]"]),
    "flow and flows": (lambda: Scenario(**FIELDS, flow=[]), ["keep one of the two"]),
    "replace misspelt": (lambda: SMALL.replace(sed=3), ['did you mean "seed"?']),
    "replace in the bottleneck": (
        lambda: SMALL.replace(bottleneck={"bufer": "1bdp"}),
        ["bottleneck.bufer", 'did you mean "buffer"?'],
    ),
    "an assignment": (
        lambda: setattr(SMALL, "rtt", "3ms"),
        ["does not change", "scenario.replace(rtt='3ms')"],
    ),
    "an assignment to a flow": (lambda: setattr(SMALL.flows[0], "rtt", "3ms"), ["Scenario.assign"]),
    "replace by None": (lambda: SMALL.replace(bottleneck=None), ["bottleneck is missing; write"]),
    "replace with a dot": (
        lambda: SMALL.replace(**{"bottleneck.buffer": "2bdp"}),
        ['write replace(bottleneck={"buffer": "2bdp"})'],
    ),
    "replace a key of a flow": (lambda: SMALL.replace(**{"flow.rtt": "1s"}), ['assign("flow.rtt=']),
    "assign twice": (lambda: SMALL.assign("flow.rtt=1ms", "flows.rtt = 2ms"), ["keep one of the"]),
    "write nowhere": (lambda: run(SMALL).write("nowhere/out"), ["nowhere/out", "result.save("]),
    "a missing file": (lambda: Scenario.from_toml("nowhere.toml"), ["no such file"]),
    "a budget of nothing": (lambda: evaluate("reno", budget_s=float("nan")), ["budget_s = nan"]),
    "a path as an algorithm": (lambda: evaluate(Path("my.c")), ["algorithm = ", '"my_cc.c"']),
    "half a seed": (lambda: evaluate("reno", held_out=1.5), ["held_out = 1.5", "like 7"]),
    "a budget as text": (lambda: evaluate("reno", budget_s="10"), ["budget_s = '10'", "like 60"]),
    "a list of rows": (lambda: evaluate("reno", rows=["R3"]), ["rows = ['R3']", '"R3,R7"']),
    "no objective": (lambda: evaluate("reno", objective=3), ["objective = 3: give a function"]),
    "no function to attack": (lambda: attack("reno", 3), ["hurt = 3: give a row or a function"]),
}


@pytest.mark.parametrize("name", PYTHON)
def test_in_python(name):
    call, words = PYTHON[name]
    one_line(call, *words)


def test_one_name_for_a_thing(tmp_path):
    """The constructor, the attribute, a file and `replace` take the same names."""
    cubic = [Flow(algorithm="cubic"), Flow(algorithm="reno", start="1ms")]
    for name in ("flow", "flows"):
        for changed in (
            Scenario(**{key: FIELDS[key] for key in FIELDS if key != "flows"}, **{name: cubic}),
            SMALL.replace(**{name: cubic}),
        ):
            assert getattr(changed, name) == tuple(cubic)
        path = tmp_path / f"{name}.toml"
        path.write_text(SCENARIO.replace("[[flow]]", f"[[{name}]]"))
        assert Scenario.from_toml(path).flows == (Flow(algorithm="cubic"),)
    sessions = [{"algorithm": "reno", "size": "6packets", "gap": "1s"}]
    assert SMALL.replace(session=sessions).sessions == SMALL.replace(sessions=sessions).session
    both = SMALL.replace(bottleneck={"buffer": "2bdp"})
    assert both.bottleneck == Bottleneck(rate="10mbit", buffer="2bdp")
    assert both.flows == SMALL.flows


def test_settings_reach_the_flow_that_they_name():
    two = SMALL.assign("flow.count=2", "flow.2.start=0.5s", "flow.2.algorithm=cubic:beta=0.8")
    assert [(flow.algorithm, flow.start) for flow in two.flows] == [
        ("reno", "0s"),
        ("cubic:beta=0.8", "0.5s"),
    ]
    assert two.assign("pacing=true", "hz=250", "bottleneck.buffer=10packets").hz == 250
    assert SMALL.assign("flow.rtt=1ms", "flow.1.rtt=2ms").flows[0].rtt == "2ms"
    assert all(flow.start == "1ms" for flow in two.assign("flow.start=1ms").flows)


def test_settings_reach_an_algorithm():
    """A preset leaves parameters as they are, in whatever order they are set."""
    two = SMALL.assign("flow.count=2", "flow.2.algorithm=cubic@2.2:C=0.5")
    for settings in (("cubic@=ha2008", "cubic:beta=0.8"), ("cubic:beta=0.8", "cubic@=ha2008")):
        algorithms = [flow.algorithm for flow in two.assign(*settings).flows]
        assert algorithms == ["reno", "cubic@ha2008:C=0.5,beta=0.8"]
    assert two.assign('reno@="linux"').flows[0].algorithm == "reno@linux"


def test_the_package_shows_what_it_has():
    code = """
import sys, ackclock
assert not {"numpy", "polars", "pydantic", "matplotlib"} & set(sys.modules), "importing is slow"
assert {"run", "sweep", "Scenario", "kernel", "plot", "stats"} <= set(dir(ackclock))
assert ackclock.__version__.startswith("0.") and "__version__" in dir(ackclock)
ackclock.compare.compare, ackclock.kernel.run, ackclock.plot.overview
ackclock.papers.names, ackclock.units.rate_bps
for module in [getattr(ackclock, name) for name in ackclock._MODULES]:
    names = {name for name in dir(module) if not name.startswith("_")}
    listed = set(getattr(module, "__all__", ()))
    assert names >= listed and names, module
    for name in names - listed:
        home = getattr(getattr(module, name), "__module__", "")
        assert home == module.__name__, f"{module.__name__}.{name} is of {home}"
"""
    subprocess.run([sys.executable, "-c", code], check=True)
    text = subprocess.run(
        [sys.executable, "-m", "pydoc", "ackclock"], capture_output=True, text=True, check=True
    ).stdout
    assert len(text.splitlines()) <= 150, "too long for a terminal"
    for name in {*ackclock._HOME, *ackclock._MODULES}:
        assert f"`{name}`" in text, name
    assert "Simulates a scenario" in pydoc.plaintext.document(ackclock.run)
    # the meaning of each field
    assert "way come on top. (1us to 100s)" in pydoc.plaintext.document(ackclock.Flow)
    assert "rate: Rate of the link" in pydoc.plaintext.document(ackclock.Bottleneck)
    module = subprocess.run(
        [sys.executable, "-m", "ackclock", "--version"], capture_output=True, text=True, check=True
    )
    assert module.stdout.startswith("ackclock 0.")


@pytest.mark.skipif(not shutil.which("bash"), reason="needs bash")
@pytest.mark.parametrize(
    ("typed", "wanted"),
    [
        ("rep", "reproduce"),
        ("run --see", "--seeds"),
        ("reproduce cubicfc/fig0", "cubicfc/fig05"),
        ("list cub", "cubic_fc"),
    ],
)
def test_the_shell_completes(typed, wanted):
    line = f"ackclock {typed}"
    words = {"COMP_WORDS": line, "COMP_CWORD": str(len(line.split()) - 1)}
    asked = os.environ | words | {"_ACKCLOCK_COMPLETE": "complete_bash"}
    done = subprocess.run([ACKCLOCK], env=asked, capture_output=True, text=True, check=False)
    assert wanted in done.stdout.split()


@pytest.mark.parametrize("limit_mb", [200, 400, 800, main.ADDRESSES_MB])
def test_a_small_limit_of_addresses(ackclock, limit_mb):
    """`ulimit -v`: one line, from below what a run needs."""
    limit = (limit_mb * 10**6,) * 2
    done = ackclock(
        *("run", ROOT / "examples" / "two_cubic.toml", "-o", "out"),
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, limit),
    )
    if limit_mb == main.ADDRESSES_MB:
        assert done.returncode == 0, done.stderr
    else:
        says = f"error: this shell allows {limit_mb} MB of addresses, and ackclock needs "
        says += f"{main.ADDRESSES_MB}; type: ulimit -v unlimited\n"
        assert (done.returncode, done.stderr) == (1, says)
