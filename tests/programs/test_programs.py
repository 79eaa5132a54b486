"""Programs that write congestion controls: a protocol's client, and a search with a stub model."""

import asyncio
import importlib.util
import json
import random
import re
import sys
import time
from pathlib import Path

import pytest

import card_form
from ackclock.base.errors import AckclockError
from ackclock.programs import openevolve, server
from common import ROOT

SEARCH = ROOT / "examples" / "search"
#: A test of `make test` runs without these packages; the slow ones need them.
needs_programs = pytest.mark.slow
SCENARIO = """
duration = "5s"
rtt = "20ms"
[bottleneck]
rate = "10mbit"
buffer = "1bdp"
[[flow]]
algorithm = "{}"
"""


def test_tools_take_a_text_and_tell_no_path():
    text = (SEARCH / "reno.c").read_text()
    cubic = next(each for each in server.list_algorithms() if each["name"] == "cubic")
    assert cubic["summary"].startswith("CUBIC")
    assert {"default", "min", "max", "doc"} < cubic["params"][0].keys()
    assert "ha2008" in cubic["presets"]
    first, again = (server.run(SCENARIO.format("./candidate.c"), text) for _ in range(2))
    card_form.Run.model_validate_json(json.dumps(first))
    assert first["flows"] == again["flows"]
    assert first["flows"][0]["algorithm"] == "./candidate.c"
    card = server.evaluate(text, against="reno")
    assert card["failed"] is None
    assert card["headline"].endswith("equal to Reno in every number")
    assert "ackclock-" not in str(card)
    failed = server.evaluate(text.replace("acked * 1", "acked / (tp->snd_cwnd / 100000)"))["failed"]
    assert failed["stage"] == "contract"
    assert re.match(
        r"\./start\.c:21, function start_cong_avoid: divides by zero", failed["problem"]
    )
    # Four easy links never have such a window.
    late = server.evaluate((ROOT / "tests/scorecard/late_crash.c").read_text(), rows="links")
    assert (late["failed"]["stage"], late["failed"]["scenario"]) == ("contract", None)
    assert "function late_cong_avoid: divides by zero" in late["failed"]["problem"]
    with pytest.raises(AckclockError, match=r"^the budget of 0 s ended; give more, or a shorter"):
        server.run(SCENARIO.replace("5s", "10000s").format("reno"), budget_s=0)
    place = (
        r'scenario: flow 1: algorithm = "\./candidate\.c": \./candidate\.c does not compile:\n\./'
    )
    with pytest.raises(AckclockError, match=place):
        server.run(SCENARIO.format("./candidate.c"), "int main(")
    with pytest.raises(AckclockError, match="seed = -3: write a whole number from 0"):
        server.attack("reno", seed=-3)
    with pytest.raises(AckclockError, match="give the text of the C file"):
        server.evaluate("my_cc.c")
    with pytest.raises(AckclockError, match='algorithm = "": give a name'):
        server.evaluate("")
    with pytest.raises(AckclockError, match="the budget of 0 s ended before a scenario was tried"):
        server.attack("bbr", tries=100_000, budget_s=0)
    found = server.attack("bbr", tries=100_000, budget_s=20)
    card_form.Attack.model_validate_json(json.dumps(found))
    assert found["stopped"] == "the budget of 20 s ended"
    assert 0 < found["damage"] <= 1
    assert found["seeds"] == 1
    assert "bbr" in found["scenario"]


def test_no_file_of_this_machine_is_read(tmp_path):
    """Not even what an error would quote of it."""
    secret = tmp_path / "secret.c"
    secret.write_text("quoted:secret\n")
    linked = SCENARIO.format("reno").replace('rate = "10mbit"', f'trace = "{secret}"')
    for call in (
        lambda: server.run(linked),
        lambda: server.run(SCENARIO.format(secret)),
        lambda: server.run(SCENARIO.format("./../other.c"), "text"),
        lambda: server.evaluate("reno", against=f"cubic,{secret}"),
        lambda: server.attack("reno", against=f"{secret}:beta=1"),
    ):
        with pytest.raises(AckclockError) as refused:
            call()
        assert "quoted" not in str(refused.value)
        assert re.search("no file of this machine|give the text", str(refused.value))
    with pytest.raises(AckclockError, match="most = 1000000000: try 16 to 100000 scenarios"):
        server.attack("reno", tries=10**9)


def test_a_package_that_is_missing_is_named_with_what_installs_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "mcp.server", None)
    with pytest.raises(AckclockError, match=r"^the package mcp .*; type: make \.venv/programs$"):
        server.made()


@needs_programs
def test_a_client_of_the_protocol():
    """The command, over its standard input and output."""
    from mcp import Client, StdioServerParameters  # noqa: PLC0415 (optional)

    command = str(Path(sys.executable).parent / "ackclock")

    async def talk():
        async with Client(StdioServerParameters(command=command, args=["mcp"])) as client:
            tools = await client.list_tools()
            assert {each.name for each in tools.tools} == {
                "list_algorithms", "run", "evaluate", "attack",
            }  # fmt: skip
            text = (SEARCH / "reno.c").read_text()
            listed = await client.call_tool("list_algorithms", {})
            assert listed.structured_content == {"result": server.list_algorithms()}
            card = await client.call_tool("evaluate", {"algorithm": text, "against": "reno"})
            found = await client.call_tool("attack", {"algorithm": "bbr", "tries": 16})
            refused = await client.call_tool("evaluate", {"algorithm": "renno"})
            empty = await client.call_tool("run", {"scenario": "duration = 3"})
            return card, found, refused, empty

    card, found, refused, empty = asyncio.run(talk())
    assert card.structured_content["failed"] is None
    assert found.structured_content["excess"] > 0.3
    assert "unknown algorithm" in str(refused.structured_content or refused.content)
    assert empty.is_error
    assert 'duration = 3: write text with a unit, like "3s"' in empty.content[0].text


class Mutates:
    """A model without thought: it changes one number of the program that it is given."""

    random = random.Random(3)

    async def generate(self, prompt, **_):
        return self.changed(prompt)

    async def generate_with_context(self, system_message, messages, **_):  # noqa: ARG002
        return self.changed(messages[-1]["content"])

    def changed(self, prompt):
        texts = re.findall(r"```\w*\n(.*?)```", prompt, re.DOTALL)
        program = next(each for each in texts if "CC_ALGORITHM(" in each)
        number, low, high = self.random.choice(
            [(r"(?<=\* )\d+(?= / 10)", 1, 12), (r"(?<=acked \* )\d+", 0, 4)]
        )
        value = str(self.random.randint(low, high))
        return "```c\n" + re.sub(number, value, program) + "```"


@needs_programs
def test_a_search_climbs_from_reno(tmp_path, monkeypatch):
    """OpenEvolve with a stub model: the best of 12 candidates uses lossy links better than Reno."""
    from openevolve import Config, run_evolution  # noqa: PLC0415 (optional)

    config = Config.from_yaml(SEARCH / "config.yaml")
    for each in (*config.llm.models, *config.llm.evaluator_models):
        each.init_client = lambda _: Mutates()
    config.evaluator.parallel_evaluations = 1
    config.random_seed = 1
    monkeypatch.chdir(tmp_path)
    found = run_evolution(
        str(SEARCH / "reno.c"), str(SEARCH / "evaluator.py"), config, iterations=12,
        output_dir=str(tmp_path),
    )  # fmt: skip
    reno = example().evaluate(str(SEARCH / "reno.c")).metrics[openevolve.SCORE]
    assert found.best_score > 1.1 * reno > 0


def example():
    spec = importlib.util.spec_from_file_location("evaluator", SEARCH / "evaluator.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@needs_programs
def test_a_candidate_that_fails_has_artifacts(tmp_path):
    bad = tmp_path / "bad.c"
    bad.write_text(
        (SEARCH / "reno.c").read_text().replace("acked * 1", "acked / (tp->snd_cwnd / 100000)")
    )
    result = example().evaluate(str(bad))
    assert result.metrics == {openevolve.SCORE: 0.0}
    assert result.artifacts["stage"] == "contract"
    assert "bad.c:21, function start_cong_avoid: divides by zero" in result.artifacts["problem"]
    assert "[[flow]]" in result.artifacts["scenario"]


#: A hook that takes a second, and a file whose compiler takes minutes.
SLOW = """#include "tcp_cc.h"
CC_HOOK(void, slow_cong_avoid, struct sock *sk, u32 ack, u32 acked)
{
	for (u32 i = 0; i < 2000000; i++)
		tcp_sk(sk)->snd_cwnd_cnt += tcp_sk(sk)->snd_cwnd ^ i;
	tcp_reno_cong_avoid(sk, ack, acked);
}
CC_ALGORITHM(slow, "", .ssthresh = tcp_reno_ssthresh, .cong_avoid = slow_cong_avoid);
"""
LARGE = SLOW.replace('"\n', '"\n#define A(x) x x x x x x x x\n', 1).replace(
    "for (u32 i = 0; i < 2000000; i++)",
    "A(A(A(A(A(A(tcp_sk(sk)->snd_cwnd_cnt ^= tcp_sk(sk)->snd_cwnd * ack / (acked | 1);))))))",
)


@pytest.mark.parametrize("text", [SLOW, LARGE], ids=["slow", "large"])
def test_a_budget_holds_for_what_tells_no_progress(text):
    """Without one each call takes minutes; a busy machine takes seconds more than the second."""
    long = SCENARIO.format("./candidate.c").replace("5s", "5000s")
    server.evaluate((SEARCH / "reno.c").read_text(), against="reno")  # its process is there
    for call in (
        lambda: server.run(long, text, budget_s=1),
        lambda: server.attack(text, budget_s=1),
    ):
        started_s = time.monotonic()
        with pytest.raises(AckclockError, match=r"^the budget of 1 s ended"):
            call()
        assert time.monotonic() - started_s < 20
    started_s = time.monotonic()
    stopped = server.evaluate(text, against="reno", budget_s=1)["stopped"]
    assert stopped.startswith("the budget of 1 s ended in the stage co")
    assert time.monotonic() - started_s < 20
