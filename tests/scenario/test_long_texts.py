"""Texts made to take long: each is read in a time that grows as its length, or refused."""

import asyncio
import json
import threading
import time

import pytest

from ackclock import AckclockError, Scenario, units
from ackclock.explore.app import Page
from ackclock.scenario import settings

SCENARIO = """
duration = "5s"
rtt = "40ms"
[bottleneck]
rate = "{rate}"
buffer = "{buffer}"
[[flow]]
algorithm = "cubic"
"""


def scenario(rate="20mbit", buffer="1bdp"):
    return SCENARIO.format(rate=rate, buffer=buffer)


#: What it is → a text of about n bytes.
TEXTS = {
    "digits": lambda n: scenario(rate="1" * n),
    "digits of a rate": lambda n: scenario(rate="1" * n + "mbit"),
    "digits and no unit": lambda n: scenario(buffer="1" * n + "!"),
    "digits behind a point": lambda n: scenario(rate="0." + "1" * n + "!"),
    "spaces in a quantity": lambda n: scenario(rate="1" + " " * n + "!"),
    "spaces": lambda n: scenario(rate=" " * n + "!"),
    "letters of a unit": lambda n: scenario(buffer="1" + "b" * n + "!"),
    "a dotted key": lambda n: ".".join("a" * (n // 2)) + " = 1",
    "a quoted dotted key": lambda n: ".".join(['""'] * (n // 3)) + " = 1",
    "a dotted key with escapes": lambda n: ".".join([r'"\""'] * (n // 5)) + " = 1",
    "a dotted key with spaces": lambda n: " . ".join("a" * (n // 4)) + " = 1",
    "a dotted key in braces": lambda n: "a = {" + ".".join("a" * (n // 2)) + " = 1}",
    "keys below a dotted head": lambda n: (
        f"[{'.'.join('a' * (n // 4))}]\n" + "".join(f"k{each} = 1\n" for each in range(n // 16))
    ),
    "many dotted keys": lambda n: "".join(
        f"{'.'.join('a' * 30)}.k{each} = 1\n" for each in range(n // 70)
    ),
    "brackets": lambda n: "a = " + "[" * n,
    "brackets that end": lambda n: "a = " + "[" * (n // 2) + "]" * (n // 2),
    "braces": lambda n: "a = " + "{a = " * (n // 5),
    "text without quotes": lambda n: "a = b" + " " * n + '"',
    "words without quotes": lambda n: "a = " + "b " * (n // 2) + '"',
    "quotes": lambda n: "'\"" * (n // 2),
    "escaped quotes": lambda n: 'a = "' + r"\"" * (n // 2),
    "an unknown key": lambda n: "duration" * (n // 8) + " = 1\n" + scenario(),
    "a digit of a number": lambda n: f"seed = {'1' * n}\n{scenario()}",
    "a route": lambda n: scenario() + "route = [" + "1, " * (n // 3) + "]",
}  # fmt: skip


def seconds(text):
    """Of a processor, the least of some tries."""
    return min(_seconds(text) for _ in range(3))


def _seconds(text):
    before = time.thread_time()
    with pytest.raises(AckclockError) as refused:
        Scenario.from_text(text, source="s.toml")
    taken = time.thread_time() - before
    assert "\n" not in str(refused.value)
    return taken


@pytest.mark.parametrize("name", TEXTS)
def test_a_longer_text_takes_longer_only_as_it_is_longer(name):
    short, long = (seconds(TEXTS[name](length)) for length in (4000, 16_000))
    assert long < 8 * (short + 0.001), (short, long)  # 4: as its length; 16: as its square


@pytest.mark.parametrize("read", [units.duration_ns, units.rate_bps, units.size_bytes,
                                  units.buffer, units.quantity])  # fmt: skip
def test_a_quantity_is_short(read):
    with pytest.raises(ValueError, match="has 101 characters; write a number and a unit, like"):
        read("1" * 99 + "ms")


@pytest.mark.parametrize("text", ["a = " + "[" * 5000, "a = " + "[" * 3000 + "]" * 3000])
def test_deep_brackets_are_told_in_one_line(text):
    with pytest.raises(AckclockError, match=r"^s\.toml: not a scenario file: .* too deep"):
        Scenario.from_text(text, source="s.toml")


def test_deep_brackets_of_a_setting_are_text():
    fields = {"bottleneck": {}}
    settings.assign(fields, [f"bottleneck.rate={'[' * 5000}"])
    assert fields == {"bottleneck": {"rate": "[" * 5000}}


def test_an_ordinary_text_with_dots_is_read():
    name = "a." * 60 + "c"
    text = f"{scenario()}# {'1.' * 60} {'.' * 200}\n".replace("cubic", name)
    assert Scenario.from_text(text, source="s.toml").flows[0].algorithm == name


def test_the_page_reads_scenarios_beside_its_loop(tmp_path, monkeypatch):
    """So that one long text does not keep the others waiting."""
    page = Page(tmp_path, "token", frozenset({"127.0.0.1:1"}))
    body = json.dumps({"toml": scenario()}).encode()
    by, answers = [], []
    check = page.runs.check
    monkeypatch.setattr(
        page.runs, "check", lambda source: (by.append(threading.current_thread()), check(source))[1]
    )

    async def receive():
        return {"type": "http.request", "body": body}

    async def send(message):
        answers.append(message)

    headers = {
        b"host": b"127.0.0.1:1", b"origin": b"http://127.0.0.1:1",
        b"authorization": b"Bearer token", b"content-type": b"application/json",
    }  # fmt: skip
    scope = {"type": "http", "method": "POST", "query_string": b"", "headers": [*headers.items()]}
    for path in ("/api/check", "/api/runs"):
        asyncio.run(page.app(scope | {"path": path}, receive, send))
    page.runs.close()
    assert [each["status"] for each in answers if "status" in each] == [200, 200]
    assert len(by) == 2
    assert threading.main_thread() not in by
