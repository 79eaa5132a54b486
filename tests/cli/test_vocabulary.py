"""One vocabulary over all commands: an option of one name has one form, and no private spelling."""

import importlib

import pytest
import typer

from ackclock.cli import main
from ackclock.cli.console import app

#: Option → what follows it, and how its help begins.
WORDS = {
    "--algorithm": (
        {"ALGORITHM", "ALGORITHMS", "NAME"},
        ("Use ", "Draw ", "Compare ", "Show only"),
    ),
    "--seeds": ({"N|A-B", None}, ("Run seeds ", "Repeat each ")),
    "--seed": ({None}, ("Set the random seed", "Seed of the search")),
    "--set": ({"KEY=VALUE"}, ("Change a key ",)),
    "--json": ({None}, ("Print JSON", "Print one line", "Print the card as JSON")),
    "--jobs": ({None}, ("Run this many simulations at a time (0: all cores)",)),
    "--output": ({"DIR", "FILE"}, ("Write ",)),
    "--quick": ({None}, ("Run few ",)),
    "--shard": ({"K/N"}, ("Run only the K-th of N parts",)),
    "--merge": ({"DIR"}, ("Take over what shards have kept",)),
    "--on-ray": ({"ADDRESS"}, ("Run on this Ray cluster",)),
}
#: What other programs call these.
PRIVATE = {
    *("--repeats", "--repeat", "--runs", "--param", "--parameter", "--threads", "--cores"),
    *("--workers", "--out", "--algo", "--host-kernel", "--config", "--reps", "--processes"),
}


def commands(group, path=()):
    for name, command in group.commands.items():
        if hasattr(command, "commands"):
            yield from commands(command, (*path, name))
        else:
            yield " ".join((*path, name)), command


def every():
    for module in main.MODULES:
        importlib.import_module(f"ackclock.cli.{module}")
    return dict(commands(typer.main.get_command(app)))


@pytest.mark.parametrize("name", every())
def test_an_option_has_the_form_that_it_has_elsewhere(name):
    for option in every()[name].params:
        if option.param_type_name != "option" or option.hidden:
            continue
        assert not PRIVATE & {*option.opts}, option.opts
        for word in WORDS.keys() & {*option.opts}:
            metavars, starts = WORDS[word]
            assert option.metavar in metavars, (word, option.metavar)
            assert option.help.startswith(starts), (word, option.help)
        short = {"--output": "-o", "--jobs": "-j"}
        assert all(short[word] in option.opts for word in short.keys() & {*option.opts})


@pytest.mark.usefixtures("scenario")
def test_a_picture_of_a_sweep_stays(ackclock, tmp_path):
    """Without --plot it is drawn again; `plot` names the command that draws a sweep."""
    (tmp_path / "s.toml").write_text(
        'scenario = "scenario.toml"\nmetrics = ["utilisation"]\n[axes]\nrtt = ["20ms", "40ms"]\n'
    )
    assert ackclock("sweep", "s.toml", "--plot").returncode == 0
    before = (tmp_path / "out/s/sweep.png").stat().st_ino
    assert ackclock("sweep", "s.toml", "--json").returncode == 0
    assert (tmp_path / "out/s/sweep.png").stat().st_ino != before
    said = ackclock("plot", "out/s").stderr
    assert said == "error: out/s: of a sweep; `ackclock sweep SWEEP --plot -o out/s` draws it\n"


def test_a_percentage_is_told_as_a_probability(ackclock, scenario):
    said = ackclock("run", scenario, "--set", "bottleneck.loss=0.5%").stderr
    assert said.endswith('bottleneck.loss = "0.5%": write 0.005\n')


def test_what_uses_cores_takes_jobs():
    takes = {
        name for name, each in every().items() if "--jobs" in str([p.opts for p in each.params])
    }
    keeps = {
        name for name, each in every().items() if "--shard" in str([p.opts for p in each.params])
    }
    assert keeps <= takes
    assert {
        "run",
        "response",
        "sweep",
        "compare",
        "evaluate",
        "attack",
        "reproduce",
        "report",
    } <= takes


def test_what_comes_first_is_listed_first(ackclock):
    listed = ackclock("linux", "--help").stdout.partition("Commands:")[2].split("\n")
    assert [line.split()[0] for line in listed if line[2:3].strip()] == [
        "build",
        "diverge",
        "bisect",
        "list",
    ]
