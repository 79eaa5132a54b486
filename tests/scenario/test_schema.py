"""The JSON Schema of a scenario file accepts what the program accepts."""

import copy
import json
import random
import re
from functools import cache
from itertools import chain

import jsonschema
import pytest

from ackclock import AckclockError, _core
from ackclock.scenario.table import tables
from common import ROOT

SCHEMA = json.loads(_core.scenario_schema())
EXAMPLES = sorted((ROOT / "examples").glob("*.toml"))

#: What the program refuses and a JSON Schema cannot say. There is no other difference, and none
#: the other way.
BEYOND = {
    "the size of what has a unit": r"choose from \S+ to |a queue needs room for at least one",
    "finer than the unit of the simulator": r"is not a whole number of|write at most \w+ decimals",
    "one value compared with another": r"must be (less|more) than|is not after|in order, each once"
    r"|give room for|is less than|choose at most the scenario's mss",
    "how many there are": r"are more than|there is no link|no flow passes it|is too large"
    r"|is \d+ (packets|bytes); choose",
    "of numbers without a fraction, how they are written: 5.0": r"= \d+\.0: write a whole number",
    "a multiple of a unit": r"choose whole microseconds",
}
VALUES = [
    *[0, 1, 2, -1, 0.5, 1.0, 0.001, 1e-12, 1e9, -0.5, True, False, 1 << 40, float("inf")],
    *["", "cubic", "0.5%", "0s", "-0s", "-1s", "5 ms", " 20ms ", "20MS", "+1.s", ".5s", ".s"],
    *["1e3ms", "1e1234s", "1e-3h", "1min", "1us", "1 us/s", "10Mbit/S", "10mbit/s ", "10MB/s"],
    *["10 mbit /s", "10mb", "0bit", "5", "1bdp", "0bdp", "2.5bdp", "-1bdp", "100packets", "2MB"],
    *["1packet", "3KiB", "0B", "0kB", "1kb", "1.5B", "50ms", "1h", "1\u212abit", "9" * 101 + "s"],
    *["9" * 101 + "bit/s", "\u00a020ms", "20\u0661ms", "codel", "fq", "red", "outages", "reverse"],
    *["accurate", "at once", "linux-6", "linux-2.6.18", "sender", "x.trace"],
    *[[], {}, [1], [1, 1], [2, 1], [1.0], ["1"], [{}], [[1]], [{"time": "1s", "rate": "0bit"}]],
    *[{"kind": "codel"}, {"kind": "x"}, {"p": 0.1}],
    {"kind": "outages", "every": "5s", "lasts": "1s"},
]  # fmt: skip


def said(fields):
    """Why the program refuses it; "" if it does not."""
    try:
        _core.Written(fields)
    except AckclockError as error:
        return str(error)
    return ""


@cache
def validator():
    return jsonschema.Draft7Validator(SCHEMA)


def names(table):
    return [name for key in table["keys"] for name in (key["key"], key["alias"]) if name]


def places(value):
    """Every table and list in a value."""
    if isinstance(value, dict | list):
        yield value
        for each in value.values() if isinstance(value, dict) else value:
            yield from places(each)


def mutate(draw, fields, known, found):
    """Changes one thing: adds, changes, moves or removes a key or a value."""
    place = draw.choice(list(places(fields)))
    value = copy.deepcopy(draw.choice(VALUES if draw.random() < 0.6 else found))
    if isinstance(place, list):
        action = draw.choice(["add", "twice", "remove"])
        if action == "add" or not place:
            place.append(value)
        elif action == "twice":
            place.append(copy.deepcopy(draw.choice(place)))
        else:
            place.pop(draw.randrange(len(place)))
        return
    keys = list(place) or ["duration"]
    key = draw.choice(keys if draw.random() < 0.5 else known)
    if draw.random() < 0.25:
        place.pop(key, None)
    else:
        place[key] = value


def test_it_is_a_schema_and_its_defaults_and_examples_fit():
    jsonschema.Draft7Validator.check_schema(SCHEMA)
    assert SCHEMA["$id"] == "urn:ackclock:scenario"
    for table in (SCHEMA, *SCHEMA["definitions"].values()):
        assert table["description"]
        for key, of in table["properties"].items():
            assert key == "kind" or of["description"]
            given = [of["default"]] if "default" in of else []
            here = validator().evolve(schema={**of, "definitions": SCHEMA["definitions"]})
            for value in (*given, *of.get("examples", [])):
                assert here.is_valid(value), (key, value)


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_each_example_names_it_and_fits(path):
    text = path.read_text()
    assert text.startswith("#:schema scenario.schema.json\n")
    validator().validate(_core.read_toml(text))


@pytest.mark.parametrize("path", [*sorted(ROOT.glob("docs/**/*.md")), ROOT / "README.md"], ids=str)
def test_each_scenario_of_the_documents_fits(path):
    for block in re.findall(r"^```toml\n(.*?)^```", path.read_text(), re.MULTILINE | re.DOTALL):
        fields = _core.read_toml(block)
        if "duration" in fields:
            assert block.startswith("#:schema "), path
            validator().validate(fields)


@pytest.mark.parametrize("seed", range(8))
def test_it_accepts_what_the_program_accepts(seed):
    draw = random.Random(seed)
    every = [_core.read_toml(path.read_text()) for path in EXAMPLES]
    known = sorted(
        {*chain.from_iterable(map(names, tables().values())), "bufer", "scenario", "kind"}
    )
    found = [value for fields in every for place in places(fields) if isinstance(place, dict)
             for value in place.values()]  # fmt: skip
    counts = {True: 0, False: 0}
    for _ in range(500):
        fields = copy.deepcopy(draw.choice(every))
        for _ in range(draw.choice([1, 1, 2, 3])):
            mutate(draw, fields, known, found)
        # As in a file: what is no JSON becomes text.
        fields = json.loads(json.dumps(fields).replace("Infinity", '"inf"'))
        why, fits = said(fields), validator().is_valid(fields)
        if fits and why:
            assert any(re.search(beyond, why) for beyond in BEYOND.values()), (why, fields)
        if not fits:
            assert why, (fields, jsonschema.exceptions.best_match(validator().iter_errors(fields)))
        counts[fits] += 1
    assert min(counts.values()) > 50, counts
