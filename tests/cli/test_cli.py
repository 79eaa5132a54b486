"""The command as a user meets it: what it prints, and one clear line when something is wrong."""

import importlib
import json
import os
import re
import resource
import signal
import subprocess
import sys

import polars as pl
import pytest
from rich.console import Console

from ackclock import Result, tables
from ackclock.base.directory import WRITTEN
from ackclock.cli import console, main
from ackclock.cli.console import On, app
from command import SCENARIO, refused
from common import ACKCLOCK, ROOT


@pytest.mark.parametrize(
    ("command", "needs", "most"),
    [
        ("--help", set(), 250),
        ("list", {"pydantic"}, 350),
        ("run scenario.toml", {"pydantic"}, 480),
        ("evaluate reno --quick --rows R1 --no-page --json", {"pydantic", "polars", "numpy"}, 800),
    ],
)
def test_a_command_imports_what_it_needs(scenario, command, needs, most):
    """Each of these packages takes 0.05 to 0.2 s of processor time to import.

    typer imports pydantic where a command has options.
    """
    slow = {"pydantic", "polars", "numpy", "matplotlib", "ray"}
    code = f"""
import sys
from ackclock.cli.main import main
try:
    main()
finally:
    print(len(sys.modules), *sorted({slow} & set(sys.modules)), file=sys.stderr)
"""
    done = subprocess.run(
        [sys.executable, "-c", code, *command.split()],
        cwd=scenario.parent,
        capture_output=True,
        text=True,
        check=True,
    )
    number, *imported = done.stderr.splitlines()[-1].split()
    assert set(imported) == needs
    assert int(number) <= most


@pytest.fixture
def registered():
    """Every command is registered by its module."""
    for module in main.MODULES:
        importlib.import_module(f"ackclock.cli.{module}")


@pytest.mark.usefixtures("registered")
def test_each_command_is_in_the_module_that_is_imported_for_it():
    modules = {}
    for command in app.registered_commands:
        modules.setdefault(command.callback.__module__.removeprefix("ackclock.cli."), []).append(
            command.name
        )
    for group in app.registered_groups:  # `linux build`
        first = group.typer_instance.registered_commands[0]
        module = first.callback.__module__.removeprefix("ackclock.cli.")
        modules.setdefault(module, []).append(group.name)
    assert modules == {module: list(names) for module, names in main.MODULES.items()}


@pytest.mark.usefixtures("registered")
def test_on_is_one_option():
    ons = {each.name: each.callback.__annotations__.get("on") for each in app.registered_commands}
    one = sorted(name for name, annotation in ons.items() if annotation is On)
    assert " ".join(one) == "attack check conform evaluate reproduce response run sweep"
    assert {*filter(ons.get, ons)} - {*one} == {"compare", "shell"}, "they take Linux alone"


def test_run(ackclock, scenario, tmp_path):
    done = ackclock("run", scenario, "-o", "out", "--seed", 3, "--algorithm", "cubic:beta=0.5")
    assert done.returncode == 0, done.stderr
    assert "utilisation" in done.stdout
    result = Result.load(tmp_path / "out")
    assert result.scenario.seed == 3
    assert result.manifest["algorithms"]["cubic:beta=0.5"]["values"]["beta"] == 0.5
    names = {path.name for path in (tmp_path / "out").iterdir()}
    assert names == {WRITTEN, "manifest.json", *(f"{table}.parquet" for table in tables.TABLES)}
    drawn = ackclock("plot", "out")
    assert drawn.returncode == 0, drawn.stderr
    assert (tmp_path / "out" / "overview.png").read_bytes().startswith(b"\x89PNG")
    drawn = (tmp_path / "out" / "overview.svg").read_text()
    link = result.scenario.bottleneck
    assert f"{link.rate}, buffer {link.buffer}, RTT {result.scenario.rtt}, seed 3" in drawn
    done = ackclock("plot", "out", "--panels", "cwnd, rtt", "-o", "some.svg")
    assert done.returncode == 0, done.stderr
    some = (tmp_path / "some.svg").read_text()
    assert "smoothed RTT (ms)" in some
    assert "queue (packets)" in drawn
    assert "queue (packets)" not in some
    done = ackclock("plot", "out", "--panels", "cwnd,rtts")
    known = "cwnd, throughput, queue, rtt, rtt-cdf, delay-cdf, fct-cdf"
    assert done.stderr == f'error: --panels: "rtts": unknown; choose from {known}\n'
    refused(ackclock("plot", "out", "--panels", "fct-cdf"), "add a [[session]], or a [[flow]] with")
    done = ackclock("plot", "out", "out", "--panels", "rtt", "-o", "two.svg")
    assert done.stderr.startswith("error: --panels: of one run only")


def test_a_users_own_algorithm(ackclock, scenario):
    mine = ROOT / "examples" / "my_cc.c"
    done = ackclock("run", scenario, "--algorithm", f"{mine}:beta=0.3")
    assert done.returncode == 0, done.stderr
    assert "my_cc.c:beta=0.3" in done.stdout


def test_a_new_algorithm_runs_at_once(ackclock, scenario, tmp_path):
    assert ackclock("new", "mine.c").returncode == 0
    text = (tmp_path / "mine.c").read_text()
    assert text == (ROOT / "examples" / "my_cc.c").read_text().replace("my_cc", "mine")
    assert len(text.splitlines()) <= 40
    done = ackclock("run", scenario, "-o", "out", "--algorithm", "./mine.c")
    assert done.returncode == 0, done.stderr
    assert Result.load(tmp_path / "out").manifest["algorithms"]["./mine.c"]["name"] == "mine"
    assert "mine  standard TCP" in ackclock("list", "./mine.c").stdout


def test_a_full_new_algorithm_keeps_its_queue_short(ackclock, tmp_path):
    """It stops growing at `target`, 10 ms; one flow on 1 BDP of 40 ms would fill the queue."""
    assert ackclock("new", "mine", "--full").returncode == 0
    link = '[bottleneck]\nrate = "20mbit"\nbuffer = "1bdp"\n'
    (tmp_path / "s.toml").write_text(
        f'duration = "20s"\nrtt = "40ms"\n{link}[[flow]]\nalgorithm = "./mine.c"\n'
    )
    for spec, low_ms, high_ms in (("./mine.c", 5, 15), ("reno", 15, 41)):
        done = ackclock("run", "s.toml", "--algorithm", spec, "-o", f"out/{spec[2:]}")
        assert done.returncode == 0, done.stderr
        samples = Result.load(tmp_path / f"out/{spec[2:]}").samples
        late = samples.filter(samples["time_us"] > 5_000_000)
        assert low_ms < late["srtt_us"].mean() / 1e3 - 40 < high_ms


def test_examples_that_are_there(ackclock, tmp_path):
    """In a clone they are, and the first command of docs/start.md goes on."""
    assert ackclock("examples").stdout == "written: examples\n"
    again = ackclock("examples")
    assert (again.returncode, again.stdout) == (0, "there already: examples\n")
    assert ackclock("examples", ROOT / "examples").returncode == 0
    (tmp_path / "examples" / "codel.toml").write_text("mine")
    refused(ackclock("examples"), "examples", "choose another")
    assert (tmp_path / "examples" / "codel.toml").read_text() == "mine"


def test_a_division_by_zero_in_a_users_file_is_told(ackclock, scenario, tmp_path):
    text = (ROOT / "examples" / "my_cc.c").read_text()
    divides = text.replace("tp->snd_cwnd, acked)", "tp->snd_cwnd / (tp->snd_cwnd >> 30), acked)")
    divides = divides.replace("tcp_in_slow_start(tp)", "0")
    assert divides != text
    (tmp_path / "mine.c").write_text(divides.replace("my_cc", "mine"))
    refused(ackclock("run", scenario, "--algorithm", "./mine.c"), "mine.c", "divides by zero")


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("my-cc", ["a-z, 0-9 and _", "my_cc"]),
        ("my_cc.c.c", ["a-z"]),
        ("p/q/mine.c", ["a name like my_cc, not a path", "the current directory"]),
        ("", ["a-z"]),
        ("a_very_long_name", ["16", "15"]),
        ("cubic", ["already"]),
        ("tcp_reno", ["tcp_cc.h"]),
        ("there", ["there.c", "exists"]),
    ],
)
def test_a_name_that_does_not_do(ackclock, tmp_path, name, words):
    (tmp_path / "there.c").write_text("kept")
    refused(ackclock("new", name), *words)
    assert [path.read_text() for path in tmp_path.iterdir()] == ["kept"]


def test_list(ackclock):
    plain = ackclock("list")
    assert plain.returncode == 0
    assert not re.search(r"(?m) $", plain.stdout)
    for word in ("cubic_fc", "reno", "cubicfc/fig05"):
        assert word in plain.stdout
    listing = json.loads(ackclock("list", "--json").stdout)
    cubic = next(each for each in listing["algorithms"] if each["name"] == "cubic")
    assert cubic["source"] == "algorithms/tcp_cubic.c"
    assert {"name", "default", "min", "max", "doc"} == set(cubic["params"][0])
    assert "cubicfc/fig02" in listing["figures"]
    of_cubic = ackclock("list", "cubic").stdout
    assert of_cubic.index("fast_convergence") < of_cubic.index("`ackclock list cubic --history`")
    assert "0.001 … 0.999" in of_cubic
    history = "S. Ha, I. Rhee, L. Xu, 2008"
    assert history not in of_cubic
    of_cubic = ackclock("list", "cubic", "--history").stdout
    assert 0 < of_cubic.index("fast_convergence") < of_cubic.index(history)
    assert "name an algorithm" in ackclock("list", "--history").stderr
    assert re.search(r"cubic@ha2008 +Algorithm 1 of Ha et al. .* beta=0.8, hystart=0,", of_cubic)


@pytest.mark.parametrize(
    "command", [[], ["run"], ["reproduce"], ["new"], ["list"], ["plot"], ["evaluate"]]
)
def test_help_teaches(ackclock, command):
    done = ackclock(*command, "--help")
    assert done.returncode == 0
    assert "ackclock run examples/" in done.stdout or "Example" in done.stdout


BROKEN_C = '#include "tcp_cc.h"\nCC_HOOK(u32, f_ssthresh, struct sock *sk) { return oops; }\n'
FLOAT_C = """#include "tcp_cc.h"
CC_HOOK(u32, f_ssthresh, struct sock *sk) { return (u32)(tcp_sk(sk)->snd_cwnd * 0.7); }
CC_HOOK(void, f_cong_avoid, struct sock *sk, u32 ack, u32 acked) { }
CC_ALGORITHM(f, "floats", .ssthresh = f_ssthresh, .cong_avoid = f_cong_avoid);
"""


@pytest.mark.parametrize(
    ("line", "instead", "words"),
    [
        ('algorithm = "cubic"', 'algorithm = "cubik"', ["flow 1", "cubik", "cubic"]),
        ('algorithm = "cubic"', 'algorithm = "cubic:beta=2"', ["beta = 2", "0.999"]),
        ('rate = "20mbit"', 'rate = "-20mbit"', ["bottleneck.rate", "-20mbit", "1kbit"]),
        ('rate = "20mbit"', 'rate = "20000gbit"', ["bottleneck.rate", "1tbit"]),
        ('rtt = "20ms"', 'rtt = "0s"', ['rtt = "0s"', "1us"]),
        ('buffer = "1bdp"', 'buffer = "0bdp"', ["bottleneck.buffer", "0bdp"]),
        ('rate = "20mbit"', 'speed = "20mbit"', ["bottleneck.speed", "unknown key"]),
        ('algorithm = "cubic"', 'algorithm = "cubic"\nstart="1s"\nstop="1s"', ["stop", "1s"]),
        ("[bottleneck]", "[bottleneck", ["not a scenario file", "line"]),
    ],
)
def test_a_bad_scenario_is_one_line(ackclock, scenario, tmp_path, line, instead, words):
    scenario.write_text(SCENARIO.replace(line, instead))
    done = ackclock("run", scenario, "-o", "out")
    refused(done, "scenario.toml", *words)
    assert len(done.stderr.splitlines()) == 1
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("text", "word"), [(BROKEN_C, "oops"), (FLOAT_C, "floating point"), (None, "cannot read")]
)
def test_a_bad_c_file(ackclock, scenario, tmp_path, text, word):
    if text is not None:
        (tmp_path / "f.c").write_text(text)
    refused(ackclock("run", scenario, "-o", "out", "--algorithm", "./f.c"), "f.c", word)
    refused(ackclock("list", "./f.c"), "f.c", word)
    assert not (tmp_path / "out").exists()


def test_an_unwritable_output_directory_is_refused_before_the_run(ackclock, scenario, tmp_path):
    scenario.write_text(SCENARIO.replace("2s", "300h"))  # would take hours
    (tmp_path / "file").write_text("")
    for target in ("file/out", "file", "/proc/out"):
        refused(ackclock("run", scenario, "-o", target), "output directory", "choose another")
        refused(ackclock("reproduce", "cubicfc/fig2", "-o", target), "choose another")


@pytest.mark.parametrize(
    "arguments",
    [
        ["run", "missing.toml"],
        ["reproduce", "cubicfc/fig99"],
        ["plot", "."],
        ["list", "cubik"],
        ["run", "scenario.toml", "--seed", "-1"],
    ],
)
@pytest.mark.usefixtures("scenario")
def test_other_mistakes(ackclock, arguments):
    refused(ackclock(*arguments))


@pytest.mark.parametrize("settings", ['sample_interval = "0s"', 'sample_interval = "5s"'])
def test_a_run_without_samples_says_what_it_knows(ackclock, scenario, settings):
    scenario.write_text(settings + SCENARIO)
    done = ackclock("run", scenario, "-o", "out")
    assert done.returncode == 0, done.stderr
    assert "utilisation —" in done.stdout
    assert ackclock("plot", "out").returncode == 0


def test_sessions_are_summed_up_and_may_stand_alone(ackclock, scenario):
    text = scenario.read_text().replace("[[flow]]", "[[session]]")
    scenario.write_text(text + 'count = 3\nsize = "6packets"\ngap = "100ms"\npareto = 1.2\n')
    done = ackclock("run", scenario, "-o", "out")
    assert done.returncode == 0, done.stderr
    assert re.search(r"–\d+ +\w+ +\d+\.\d\d +\d+ +0\.\d\d\d", done.stdout), done.stdout
    assert ackclock("plot", "out").returncode == 0


def test_many_flows_are_summed_up(ackclock, scenario):
    scenario.write_text(SCENARIO + "count = 50\n")
    assert "… and 30 more flows" in ackclock("run", scenario).stdout


def test_text_in_brackets_is_only_text(ackclock, scenario):
    odd = scenario.rename(scenario.with_name("[red]a[b].toml"))
    assert ackclock("run", odd, "-o", "[bold]").returncode == 0
    refused(ackclock("run", odd, "--algorithm", "[/x]"), "[/x]")


@pytest.mark.parametrize("columns", ["40", "80"])
def test_no_number_is_cut_off(scenario, columns):
    command = [ACKCLOCK, "run", scenario]
    environment = os.environ | {"COLUMNS": columns}
    piped = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
    shown = subprocess.run(
        ["script", "-qec", " ".join(map(str, command)), "/dev/null"],
        capture_output=True,
        text=True,
        check=True,
        env=environment,
    )
    for text in (piped.stdout, shown.stdout):
        assert "cubic" in text
        assert not re.search(r"\d…", text.split("recoveries")[-1])
    table = [line for line in shown.stdout.splitlines() if re.match(" *(flow|─|1 )", line)]
    assert len(table) >= 2
    assert columns == "40" or max(map(len, table)) <= 80
    assert not re.search(r"(?m) $", piped.stdout)


def test_a_wide_table_leaves_the_screen_as_wide_as_it_is(monkeypatch, capsys):
    monkeypatch.setattr(console, "out", Console(width=30, soft_wrap=True))
    for words in (["a" * 30, "b" * 30], ["some words", "that a narrow screen folds"]):
        table = console.new_table("first", "second")
        table.add_row(*words)
        console.print_table(table)
    assert console.out.width == 30
    wide, narrow = capsys.readouterr().out.split("second")[1:]
    assert "b" * 30 in wide  # a word that is too long is whole
    assert max(map(len, narrow.splitlines())) <= 30


def test_output_that_cannot_be_written_is_one_line(scenario):
    with open("/dev/full", "w") as full:  # noqa: PTH123
        done = subprocess.run(
            [ACKCLOCK, "run", scenario], stdout=full, stderr=subprocess.PIPE, text=True, check=False
        )
    assert done.stderr == "error: cannot print: No space left on device\n"
    ascii_only = os.environ | {"PYTHONIOENCODING": "ascii"}
    for command in (["list", "cubic"], ["run", scenario]):
        subprocess.run([ACKCLOCK, *command], env=ascii_only, stdout=subprocess.DEVNULL, check=True)


@pytest.mark.parametrize("arguments", ["--help", "list", "run {}", "run {} --json"])
def test_a_reader_that_has_gone_ends_a_command_in_silence(scenario, arguments):
    """`ackclock … | head`: what the shell says of other commands then, too."""
    reader, writer = os.pipe()
    os.close(reader)
    command = [ACKCLOCK, *arguments.format(scenario).split()]
    done = subprocess.run(command, stdout=writer, stderr=subprocess.PIPE, check=False)
    os.close(writer)
    assert (done.returncode, done.stderr) == (128 + signal.SIGPIPE, b"")


@pytest.mark.parametrize("damage", ["manifest", "columns"])
def test_plotting_a_damaged_result(ackclock, scenario, tmp_path, damage):
    ackclock("run", scenario, "-o", "out")
    if damage == "manifest":
        (tmp_path / "out" / "manifest.json").write_text("{}")
    else:
        pl.DataFrame({"a": [1]}).write_parquet(tmp_path / "out" / "flows.parquet")
    done = ackclock("plot", "out")
    refused(done, "not a result")
    assert len(done.stderr.splitlines()) == 1


def test_a_missing_file_of_a_result_is_named(ackclock, scenario, tmp_path):
    ackclock("run", scenario, "-o", "out")
    (tmp_path / "out" / "flows.parquet").unlink()
    refused(ackclock("plot", "out"), "flows.parquet: No such file or directory")


@pytest.mark.parametrize("option", ["-o", "--pcapng", "--qlog"])
def test_the_directories_of_an_output_are_made(ackclock, scenario, tmp_path, option):
    place = "a/b/run" if option == "-o" else f"a/b/run.{option[2:]}"
    done = ackclock("run", scenario, option, place)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / place).exists()
    if option == "-o":
        done = ackclock("plot", place, "-o", "c/d/run.svg")
        assert (done.stdout, done.stderr) == ("c/d/run.svg\n", "")
        assert (tmp_path / "c/d/run.svg").exists()


@pytest.mark.parametrize(
    "command",
    [
        ("run", "scenario.toml", "-o", "a/b/run"),
        ("run", "scenario.toml", "--pcapng", "a/b/run.pcapng"),
        ("run", "scenario.toml", "--qlog", "a/b/run.qlog"),
        ("plot", "out", "-o", "a/b/run.svg"),
    ],
)
def test_what_cannot_be_written_leaves_no_directories(ackclock, scenario, tmp_path, command):
    if command[0] == "plot":
        assert ackclock("run", scenario, "-o", "out").returncode == 0
    bytes_of_a_file = (2000, 2000)
    done = ackclock(
        *command, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, bytes_of_a_file)
    )
    refused(done, "File too large")
    assert not (tmp_path / "a").exists()


def test_what_compare_does_not_take_its_help_does_not_offer(ackclock):
    assert "kernel|vlinux[:SERIES]" in (said := ackclock("compare", "--help").stdout)
    assert "sim|kernel" not in said
    done = ackclock("compare", "x.toml", "--on", "sim")
    assert "'sim' is not one of 'kernel', 'vlinux'" in done.stderr


def test_version(ackclock):
    assert ackclock("--version").stdout.startswith("ackclock 0.")


def test_settings_of_the_command_line(ackclock, scenario):
    text = scenario.read_text() + '[[flow]]\nalgorithm = "cubic"\n'
    changes = ["--set", "bottleneck.buffer=2bdp", "--set", "flow.2.start=0.5s", "--rtt", "30ms"]
    done = ackclock("run", "-", *changes, "--seed", 5, "-o", "out", input=text)
    assert done.returncode == 0, done.stderr
    ran = Result.load(scenario.parent / "out").scenario
    assert (ran.bottleneck.buffer, ran.rtt, ran.seed) == ("2bdp", "30ms", 5)
    assert [flow.start for flow in ran.flows] == ["0s", "0.5s"]


def test_a_repeated_algorithm_goes_by_flow(ackclock, scenario):
    scenario.write_text(SCENARIO + "count = 2\n")
    algorithms = ["--algorithm", "reno", "--algorithm", "cubic:beta=0.5"]
    done = ackclock("run", scenario, *algorithms, "--json")
    assert done.returncode == 0, done.stderr
    flows = json.loads(done.stdout)["flows"]
    assert [flow["algorithm"] for flow in flows] == ["reno", "cubic:beta=0.5"]
    wrong = ackclock("run", scenario, *algorithms, "--algorithm", "bic")
    refused(wrong, "3 times", "2 flows", "give it once")
    (scenario.parent / "web.toml").write_text(SCENARIO.replace("[[flow]]", "[[session]]"))
    refused(ackclock("run", "web.toml", "--algorithm", "reno"), "--set session.algorithm=reno")


def test_an_rtt_that_would_change_nothing_is_refused(ackclock, scenario):
    scenario.write_text(SCENARIO + 'rtt = "10ms"\n')
    refused(ackclock("run", scenario, "--rtt", "30ms"), "--set flow.rtt=30ms")


def test_several_scenarios_and_their_json(ackclock, scenario, tmp_path):
    (tmp_path / "other.toml").write_text(SCENARIO.replace("20mbit", "10mbit"))
    done = ackclock("run", scenario, "other.toml", "--json", "-o", "out")
    assert done.returncode == 0, done.stderr
    one, two = (json.loads(line) for line in done.stdout.splitlines())
    assert (one["scenario"], two["scenario"]) == ("scenario", "other")
    assert one["flows"][0]["goodput_bps"] > 1.5 * two["flows"][0]["goodput_bps"]
    assert Result.load(tmp_path / "out" / "other").scenario.bottleneck.rate == "10mbit"
    plain = ackclock("run", scenario, "other.toml").stdout
    assert plain.index("scenario\n") < plain.index("other\n")


def test_seeds_give_means_with_intervals(ackclock, scenario, tmp_path):
    done = ackclock("run", scenario, "--seeds", "2-6", "--json", "-o", "out")
    assert done.returncode == 0, done.stderr
    summary = json.loads(done.stdout)
    assert summary["seeds"] == [2, 3, 4, 5, 6]
    goodput = summary["flows"][0]["goodput_bps"]
    assert goodput["n"] == 5
    assert 15e6 < goodput["low"] <= goodput["mean"] <= goodput["high"] < 20e6
    written = json.loads((tmp_path / "out" / "summary.json").read_text())
    assert written == {key: summary[key] for key in summary if key != "scenario"}
    assert re.search(r"\d \(\d+\.\d+ … \d+\.\d+\)", ackclock("run", scenario, "--seeds", 3).stdout)


def test_flows_that_start_in_the_same_nanosecond_are_told(ackclock, tmp_path):
    """Two Reno flows change places with their order in the file; --set spreads their starts."""
    two = SCENARIO.replace("cubic", "reno")
    assert two.count("[[flow]]") == 1
    (tmp_path / "two.toml").write_text(two + "count = 2\n")
    assert "2 flows start in the same nanosecond" in ackclock("run", "two.toml").stdout
    spread = ackclock("run", "two.toml", "--set", "flow.start_spread=1s")
    assert "nanosecond" not in spread.stdout
    assert spread.returncode == 0


@pytest.mark.parametrize(("old", "now"), main.RENAMED.items())
def test_an_old_name_works_and_says_the_new_one(ackclock, old, now):
    done = ackclock(old, "--help")
    assert done.stdout == ackclock(*now, "--help").stdout
    assert done.stderr == f"`ackclock {old}` is now `ackclock {' '.join(now)}`\n"
    assert f"\n  {old} " not in ackclock("--help").stdout
    assert "is now" not in ackclock(old, "nix", "--json").stderr
