"""A scenario in TOML means in a browser what it means in Python; refusals have the same words."""

import json
import random
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
KEYS = json.loads((ROOT / "crates/resolve/src/keys.json").read_text())["tables"]
WORDS = """
"5ms" "1s" "0s" "100mbit" "1mbit" "10MB" "64KiB" "1bdp" "0.5bdp" "100packets" "50ms" "1packets"
"3B" true false 0 1 2 7 -1 0.1 0.0001 1e-9 1e-10 1.5 "x" "" "5" "100mb" "100MB/s" "20m" "1e3us"
"0.1ns" ".5ms" [1,2] [2,1] [1,1] [] {} {kind="x"} {p=0.1} {p=0.01,delay="10ms"}
{by="3ms",distribution="normal"} "codel" "fq_codel" "red" "code" "pie" "dualpi2" "fq" "step"
{kind="red",min="30kB",max="20kB"} "1e30GB" {kind="red",max_p=0.02,gentle=true}
{kind="codel",ecn=true} {kind="fq",quantum="3000B"} {kind="pie",p=1}
{kind="gilbert_elliott",p=0.01,r=0.3} {kind="outages",every="5s",lasts="6s"}
{kind="bad_times",good="5s"} {rate="20mbit",burst="100kB"} {rate="20mbit",burst="100B"}
[{time="2s",rate="25mbit"}] [{time="2s",rate="2mbit"},{time="1s",rate="5mbit"}]
[{time="2s",delay="25ms"}] [{time="2s",p=0.5}] "forward" "reverse" "linux-2.6.18" "linux-7"
"accurate" "cubic" "cubic:beta=0.8" "cubik" "bbr@x" "kernel:cubic" "linux:reno" "reno:beta=0,8"
"dctcp" "prague" "10bit" "9999999gbit" "1000h" "bulk" "losses" 100000 9223372036854775807
"cellular.trace" "satellite.csv" "none.csv" {size="10kB",every="20ms"} {size="10kB"} 3.25
"0packets" "1tbit" "3TB" "+5ms" "5ms" "1.5packets" "0.0000001bdp" "5min" 12345.678
"""
VALUES = WORDS.split()


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


def drawn(draw, toml):
    """The scenario with some lines changed, added or removed: most are wrong."""
    lines = toml.split("\n")
    for _ in range(draw.choice((1, 1, 1, 2, 3))):
        heads = {-1: "Scenario"} | {
            at: {"flow": "Flow", "session": "Session"}.get(line.strip("[] "), "Bottleneck")
            for at, line in enumerate(lines)
            if line.strip("[] ") in ("bottleneck", "link", "flow", "session")
        }
        at = draw.choice(list(heads))
        own = [each["key"] for each in KEYS[heads[at]] if each["key"] != "stack"]
        key = draw.choice([*own, *own, "buffr", "rat", "scenario", "size", "rate", "route"])
        pairs = [at for at, line in enumerate(lines) if re.match(r"\w+ *=", line)]
        match draw.randrange(4):
            case 0 if pairs:
                del lines[draw.choice(pairs)]
            case 1 if pairs:
                at = draw.choice(pairs)
                lines[at] = f"{lines[at].partition('=')[0]}= {draw.choice(VALUES)}"
            case 2:
                lines += ["[[session]]", 'algorithm = "reno"', 'rtt = "20ms"', "count = 2"]
            case _:
                lines.insert(at + 1, f"{key} = {draw.choice(VALUES)}")
    return "\n".join(lines)


def test_every_scenario_of_ours_resolves_to_the_same():
    tomls = own_tomls()
    assert len(tomls) > 40
    for toml, found in zip(tomls, in_browser(*tomls), strict=True):
        assert found == in_python(toml), toml


def test_drawn_scenarios_are_the_same_or_refused_in_the_same_words():
    draw = random.Random(1)
    base = [toml for toml in own_tomls() if in_python(toml).startswith("{")]
    tomls = [drawn(draw, draw.choice(base)) for _ in range(300)]
    tomls = [toml for toml in tomls if not ELSEWHERE.search(toml)]
    assert len(tomls) > 270
    found = list(in_browser(*tomls))
    assert 30 < sum(each.startswith("{") for each in found) < 270
    for toml, each in zip(tomls, found, strict=True):
        assert each == in_python(toml), toml


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ('algorithm = "./mine.c"', "a C file of your own runs only with `ackclock explore`"),
        (
            'algorithm = "cubic"\nstack = "quinn"',
            "QUIC stacks and UDP run only with `ackclock explore`",
        ),
        ('algorithm = "cubic"\nstop = 1979-05-27', "not a scenario file: 1979-05-27: write times"),
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
