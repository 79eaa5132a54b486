"""Every table of every command, on screens of 80 and of 120 letters a line."""

import ast
import inspect
import io
import re
import shutil
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace

import pytest
from rich.cells import cell_len
from rich.console import Console

import ackclock
from ackclock import _core, compare, run
from ackclock.base.table import new_table
from ackclock.cli import console, screen, watch
from ackclock.cli import kernel as kernel_commands
from ackclock.cli.main import MODULES
from ackclock.figures import Runs, crosscheck, figure_rows
from ackclock.figures.batches import Batch
from ackclock.figures.experiment import as_row
from ackclock.hosts import linux
from ackclock.pages import figure_pages
from ackclock.results import connections
from ackclock.scenario import skeleton
from ackclock.studies.compare import Comparison

STATUS = [
    {
        "name": "cubic_fc_and_co",
        "spec": "cubic_fc@linux-2.6.32-backports:beta=0.8,f_max=0.6,hystart=0,min_cnt=1",
        "deployed": True,
        "held_by": [{"pid": 12345, "command": "a-long-command-name"}] * 2,
        "sockets": [{"namespace": "/run/netns/testbed-left", "count": 12345}] * 2,
        "default_in": [{"namespace": "here", "previous": "cubic"}],
        "parameters": {"beta": 0.8},
    },
    {
        "name": "bbr",
        "spec": "",
        "deployed": False,
        "held_by": [],
        "sockets": [],
        "default_in": [],
        "parameters": {},
    },
]
DOCTOR = [
    {
        "what": what,
        "ok": what == "kernel",
        "needed": False,
        "found": "missing: deploy may not see whether it runs in a mount namespace of its own",
        "fix": "nothing to do, except under ip netns exec and unshare: use nsenter there",
    }
    for what in ("kernel", "CAP_SYS_RESOURCE")
]
CONNECTION = connections.Connection(
    "192.168.100.100", 40000, "192.168.100.101", 50000, "established", "bbr", "recovery",
    1234, 900, 123_456, 100_000, 12, 3, 1234, 123_456_789, 98_765_432, 10**10, 5000, 1448,
)  # fmt: skip
SWEEP = """\
scenario = "examples/two_cubic.toml"
seeds = 10
metrics = ["utilisation", "mean_sojourn_s", "jain_index", "retransmitted_packets", "share_1"]
[axes]
"cubic:beta" = [0.3, 0.7]
bottleneck.buffer = ["0.1bdp", "1bdp"]
rtt = ["10ms", "20ms"]
"""
CUBE = """\
scenario = "examples/two_cubic.toml"
metrics = ["utilisation", "p99_sojourn_s", "mean_cwnd_1_packets"]
samples = 12
seeds = 3
decide = {metric = "utilisation", above = 0.9}
[axes]
duration = ["12s"]
rtt = {from = "5ms", to = "200ms", scale = "log"}
bottleneck.rate = {from = "1mbit", to = "9mbit"}
bottleneck.buffer = {from = "0.1bdp", to = "4bdp"}
"cubic:beta" = {from = 0.5, to = 0.9}
"""
#: Several links and directions, many flows, transfers, long names and large numbers.
CROWD = """\
duration = "12s"
rtt = "200ms"
[[link]]
rate = "1gbit"
buffer = "1bdp"
[[link]]
rate = "100mbit"
buffer = "1000packets"
queue = "fq_codel"
[[flow]]
algorithm = "cubic_fc@linux-2.6.32-backports:beta=0.8,f_max=0.6,hystart=0,min_cnt=1"
route = [1, 2]
count = 12
[[flow]]
algorithm = "bbr3"
route = [2]
[[session]]
algorithm = "cubic"
count = 20
gap = "100ms"
size = "20packets"
route = [1]
"""
COMMANDS = [
    "run examples/two_cubic.toml",
    "run examples/two_cubic.toml --algorithm ./my_cc.c",
    "run examples/two_cubic.toml --algorithm cubic_fc@linux-2.6.32-backports:beta=0.8,hystart=0",
    "run examples/two_cubic.toml --seeds 10 --set duration=12s",
    "run examples/two_cubic.toml --seeds 10 --algorithm ./my_cc.c --set duration=12s",
    "run examples/parking_lot.toml",
    "run crowd.toml",
    "run crowd.toml --seeds 3",
    "run crowd.toml examples/two_cubic.toml",
    "run examples/codel.toml --seeds 10 --set duration=12s",
    "run examples/web_traffic.toml --set duration=12s",
    "run examples/lost_packets.toml --pcapng out.pcapng",
    "capture explain out.pcapng",
    "identify out.pcapng",
    "advise out.pcapng --algorithm cubic,reno --seeds 2",
    "conform cubic examples/conformance/rfc9438/timeout.toml",
    "conform cubic examples/conformance/rfc9438/decrease.toml --stack quinn",
    "run examples/udp.toml",
    "list",
    "list cubic",
    "list cubic --history",
    "list ./my_cc.c",
    "response --algorithm cubic --algorithm reno --algorithm cubic@ha2008 --lowest 1e-3",
    "reproduce leith2007/fig14 cubicfc/fig02 --quick",
    "claims leith2007/fig14 --quick",
    "claims leith2007/fig11 --parts --quick",
    "claims ha2008.intro.reno-10g ha2008.fig1.bic-growth --no-sensitivity",
    "claims ha2008.intro.reno-10g",
    "claims ha2008.intro.reno-10g --set profile=linux-2.6.18",
    "reproduce leith2007/fig14 --on kernel",
    "evaluate ./my_cc.c --quick --rows R9",
    "sweep sweep.toml",
    "sweep cube.toml",
    "compare examples/two_cubic.toml --on kernel --on vlinux",
    "compare examples/two_cubic.toml --algorithm cubic,binomial_sqrt --set rtt=9ms --set rtt=99ms",
    "status",
    "doctor",
    "watch --once",
]


@pytest.fixture(scope="module")
def here(tmp_path_factory):
    """A directory with the examples, a C file and a sweep; finished runs stay there."""
    place = tmp_path_factory.mktemp("screen")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(place)
        skeleton.write_examples(place / "examples")
        skeleton.write("my_cc")
    (place / "sweep.toml").write_text(SWEEP)
    (place / "cube.toml").write_text(CUBE)
    (place / "crowd.toml").write_text(CROWD)
    return place


def beside(scenario, **_):
    """A comparison whose Linux is the simulator, with other seeds."""
    short = scenario.replace(duration="12s")
    results = [run(short.replace(seed=seed)) for seed in range(1, 7)]
    return Comparison(short, results[:2], {"kernel": results[2:4], "vlinux": results[4:]})


def checked(check, *_, **__):
    """A figure's part on Linux, which is the simulator: two runs, as if there were more."""
    repeats = check.repeats(2)
    results = [run(each.replace(duration="200s")) for _, _, each in repeats]
    batch = Batch(check.experiment, None, repeats * 3)
    numbers = [as_row(check.experiment.row, each) for each in results] * 3
    runs = Runs(check.experiment, figure_rows.table_of(batch, numbers))
    manifests = [each.manifest | {"kernel": "6.18.5-cloud"} for each in results]
    return crosscheck.Checked(
        check, linux.host("kernel"), (batch, batch), (runs, runs), [], manifests
    )


@pytest.fixture
def tables(here, monkeypatch):
    """Runs a command; returns its tables, each with how it is to be fitted."""
    found = []
    fitted = screen.fitted

    def fit(table, room, **how):
        found.append((table, how))
        frames = inspect.stack()
        last = max((n for n, each in enumerate(frames) if each.function in PRINTERS), default=None)
        if last is not None:  # not a test's own
            place = frames[last + 1]
            SEEN.add((Path(place.filename).name, place.positions.lineno))
        return fitted(table, room, **how)

    def call(command):
        RAN.add(command)
        if "--on kernel" in command:
            monkeypatch.setattr(crosscheck, "load", checked)
        console.app(command.split(), prog_name="ackclock", standalone_mode=False)
        return found

    monkeypatch.chdir(here)
    for module in MODULES:
        import_module(f"ackclock.cli.{module}")
    kernel = SimpleNamespace(status=lambda: STATUS, doctor=lambda: DOCTOR)
    monkeypatch.setattr(kernel_commands, "kernel_part", lambda: kernel)
    monkeypatch.setattr(compare, "compare", beside)
    monkeypatch.setattr(Comparison, "notes", lambda _: [])
    monkeypatch.setattr(crosscheck, "fill", lambda *_, **__: None)
    monkeypatch.setattr(figure_pages, "write_checked", lambda *_, **__: None)
    monkeypatch.setattr(watch, "read", lambda: [CONNECTION] * 3)
    monkeypatch.setattr(screen, "fitted", fit)
    return call


#: What prints tables; what ran; where a table of a command was printed: file and line.
PRINTERS = ("print_table", "print_report")
RAN, SEEN = set(), set()
#: What prints a table of virtual machines or of root; tests/studies and tests/hosts see those.
NEED_A_MACHINE = {"diverge_command", "bisect_command", "list_command", "shell_command"}
#: What cannot run here.
LEFT_OUT = set[str]()
if not shutil.which("tshark"):
    LEFT_OUT |= {each for each in COMMANDS if "out.pcapng" in each and not each.startswith("run ")}
    NEED_A_MACHINE |= {"explain_command", "identify_command", "advise_command"}


def rendered(table, width, how):
    """The title and the lines below it, as on a screen."""
    screen_ = Console(width=1000, file=io.StringIO(), highlight=False)
    screen_.print(screen.fitted(table, width, **how))
    lines = [line.rstrip() for line in screen_.file.getvalue().splitlines()]
    title = str(table.title or "").partition(" ")[0]
    at = next(n for n, line in enumerate(lines) if not title or title in line)
    return lines[at:]


def words(lines):
    return {word.strip("(),") for line in lines for word in line.split() if "─" not in word}


def pieces(word):
    """What may stand on a line of its own: parts of a list, a path or a key, never of a number."""
    parts = re.split(r"(?<=[,/:=|._])(?=\D)", word)
    ends = range(len(parts) + 1)
    return {"".join(parts[a:b]).strip(",") for a in ends for b in ends[a + 1 :]}


@pytest.mark.parametrize("command", COMMANDS)
def test_tables_fit(tables, command):
    """No line is longer than the screen, no word or number is cut, and none is missing."""
    if command in LEFT_OUT:
        pytest.skip("no tshark (package tshark)")
    printed = list(tables(command))
    assert printed
    for table, how in printed:
        whole = words(rendered(table, 1000, how))
        known = {piece for word in whole for piece in pieces(word)}
        for width in (80, 120):
            lines = rendered(table, width, how)
            text = "\n".join(lines)
            assert max(map(cell_len, lines)) <= width, text
            note = re.search(r"; a\s+wider\s+screen\s+has\s+room\s+for: ", text)
            shown = words([text[note.end() :] if note else text])
            assert shown <= known, text
            if not note:  # a block has no header of its first column
                missing = whole - shown - words([str(table.columns[0].header)])
                assert not [each for each in missing if len(pieces(each)) == 1], text


def test_no_command_prints_another_table(tables):
    """A new table needs a command here."""
    left = set(COMMANDS) - RAN - LEFT_OUT
    for command in sorted(left, key=lambda each: "--on kernel" in each):
        tables(command)
    there = {
        (path.name, node.lineno)
        for path in Path(ackclock.__file__).parent.rglob("*.py")
        if path.name != "console.py"
        for part in ast.parse(path.read_text()).body
        if getattr(part, "name", "") not in NEED_A_MACHINE
        for node in ast.walk(part)
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") in PRINTERS
    }
    assert there == SEEN


@pytest.mark.parametrize("name", [each["name"] for each in _core.algorithms() if each["params"]])
def test_the_tables_of_each_algorithm_fit(tables, name):
    test_tables_fit(tables, f"list {name} --history")


def test_columns_are_spared_before_a_text_is_folded():
    table = new_table("row", "question", "number", title="A card")
    table.add_row("R1", "Why? " * 10, "a number")
    lines = rendered(table, 40, {"less": ["question"]})
    assert lines[:2] == ["A card; a wider screen has room for:", "question"]
    assert lines[-1].split() == ["R1", "a", "number"]
    assert "Why?" in "\n".join(rendered(table, 80, {"less": ["question"]}))


def test_an_interval_goes_below_its_number():
    table = new_table("a quantity", "measured, 95 % CI")
    table.add_row("share", "312 s (290 … 334)")
    assert "312 s (290 … 334)" in "\n".join(rendered(table, 40, {}))
    lines = rendered(table, 25, {})
    assert [line.strip() for line in lines[-2:]] == ["share      312 s", "290 … 334"]


def test_columns_without_room_go_into_further_tables_with_the_keys():
    table = new_table("flow", *(f"measure{n}" for n in range(4)))
    table.add_row("1", *(f"{n}.25" for n in range(4)))
    text = "\n".join(rendered(table, 30, {}))
    assert text.count("flow") == 2
    assert {f"{n}.25" for n in range(4)} <= set(text.split())


def test_a_row_of_long_texts_is_a_block():
    table = new_table("claim", "verdict", "the paper says", "depends on")
    table.add_row("leith2007.fig14.starvation", "holds", "one flow is starved " * 5, "buffer " * 9)
    lines = rendered(table, 60, {})
    assert lines[0] == "leith2007.fig14.starvation"
    assert lines[1].split() == ["verdict", "holds"]
    assert lines[2].startswith("  the paper says  one flow")
