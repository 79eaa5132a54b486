"""A scenario in TOML means in a browser what it means in Python: both have one resolver."""

import re

import pytest

from ackclock import AckclockError, Scenario
from common import ROOT
from test_explore_engine import built, node

pytestmark = built

EXAMPLES = ROOT / "examples"
#: What comes with a scenario: the files that examples name.
FILES = {
    path.name: path.read_text() for path in EXAMPLES.iterdir() if path.suffix in (".trace", ".csv")
}
#: What only another host has, or a compiler.
ELSEWHERE = re.compile(r"""\bstack\b|\.c\b|algorithm *= "[^"]*(/|\.trace|\.csv)""")


def in_python(toml):
    try:
        scenario = Scenario.from_text(toml, source="", directory=EXAMPLES)
        scenario.prepare()
        return scenario.resolve()
    except AckclockError as error:
        words = str(error).removeprefix(": ").replace(f"{EXAMPLES}/", "")
        # What is no TOML has the words of its reader.
        return "not a scenario file" if words.startswith("not a scenario file") else words


def in_browser(*tomls):
    jobs = [{"toml": toml, "files": FILES, "only": "resolve"} for toml in tomls]
    for [message] in node(*jobs):
        words = message.get("scenario") or message["text"]
        yield "not a scenario file" if words.startswith("not a scenario file") else words


def own_tomls():
    """Every scenario of the examples, of the gallery and of the documents."""
    paths = [*EXAMPLES.glob("*.toml"), *ROOT.glob("python/ackclock/explore/gallery/*.toml")]
    tomls = [path.read_text() for path in sorted(paths)]
    for page in [ROOT / "README.md", *sorted(ROOT.glob("docs/**/*.md"))]:
        tomls += re.findall(r"```toml\n(.*?)```", page.read_text(), re.DOTALL)
    return [toml for toml in tomls if not ELSEWHERE.search(toml)]


def test_every_scenario_of_ours_resolves_to_the_same():
    tomls = own_tomls()
    assert len(tomls) > 40
    for toml, found in zip(tomls, in_browser(*tomls), strict=True):
        assert found == in_python(toml), toml


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ('algorithm = "./mine.c"', "a C file of your own runs only with `ackclock explore`"),
        (
            'algorithm = "cubic"\nstack = "quinn"',
            "QUIC stacks and UDP run only with `ackclock explore`",
        ),
    ],
)
def test_what_a_browser_does_not_have_is_refused(line, words):
    toml = 'duration = "5s"\nrtt = "9ms"\n[bottleneck]\nrate = "1mbit"\nbuffer = "1bdp"\n[[flow]]\n'
    [[message]] = node({"toml": toml + line})
    assert message["kind"] == "error"
    assert words in message["text"]


def test_toml_runs_with_its_files():
    toml = (EXAMPLES / "cellular.toml").read_text()
    [messages] = node({"toml": toml, "files": FILES})
    assert (messages[0]["kind"], messages[-1]["kind"]) == ("begin", "end")
