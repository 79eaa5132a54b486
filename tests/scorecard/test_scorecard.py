"""The scorecard: equal algorithms do no harm, and bad ones are named."""

import json
import math
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from statistics import fmean

import polars as pl
import pytest

import ackclock
import card_form
from ackclock import AckclockError, Scenario
from ackclock import evaluate as ackclock_evaluate
from ackclock import run as ackclock_run
from ackclock.base.directory import CACHE
from ackclock.cli import console, evaluate
from ackclock.draw import html
from ackclock.estimates.repeats import AtLeast, Repeats
from ackclock.estimates.stats import Estimate
from ackclock.figures.experiment import Runs
from ackclock.hosts import testbed
from ackclock.hosts.work import Work
from ackclock.questions import card, links, measure, scenarios
from ackclock.questions.card import Number, Question
from ackclock.scenario import skeleton
from ackclock.scorecard import data, page, run
from ackclock.scorecard import evaluated as parts
from ackclock.scorecard.evaluated import QUESTIONS, Request
from common import REFUSED, ROOT, needs_testbed

BAD = Path(__file__).parent


@pytest.fixture
def cache():
    """Runs of CUBIC and Reno are made once: the laboratory's tests and each tier find them."""
    return ROOT / CACHE


def evaluated(algorithm, cache, rows=None, against=("cubic", "reno")):
    request = Request(str(algorithm), run.chosen(rows), against, quick=True)
    return run.evaluate(request, Work(cache))


def answers(found):
    return {each.question.row: each.answers for each in found.asked}


def unsafe(found):
    return [row for row, each in answers(found).items() if each.unsafe(found.algorithm)]


@pytest.mark.slow
@pytest.mark.parametrize(("name", "like"), [("reno", "tcp_reno.c"), ("cubic", "tcp_cubic.c")])
def test_an_algorithm_beside_itself(name, like, cache):
    """The same file under another name: every difference is exactly 0."""
    found = evaluated(ROOT / "algorithms" / like, cache, against=(name,))
    for row in found.asked:
        for answer in row.answers.answers:
            difference = answer.differences[name]
            assert difference is None or difference.mean == 0, (row.question.row, answer.number)
        assert row.answers.mark(name) in ("same", "unclear")
        assert not row.answers.unsafe(found.algorithm)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("file", "rows"),
    [
        ("never_backs_off.c", {"R4", "R10b", "R10c"}),
        ("ten_times.c", {"R1", "R2", "R4", "R7", "R7b", "R10", "R10b", "R10c", "R15c", "R15d"}),
        ("fixed_window.c", {"R1", "R2", "R4", "R7", "R7b", "R10", "R10b", "R10c", "R15c", "R15d"}),
        ("fixed_rate.c", {"links"}),
    ],
)
def test_what_nobody_should_deploy_is_named(file, rows, cache):
    found = evaluated(BAD / file, cache)
    assert {*unsafe(found), *([found.failed.row] if found.failed else [])} == rows


def test_a_near_miss_is_seen_in_its_row(cache):
    """Files that are Reno but in one place, which few rows look at."""
    far = answers(evaluated(BAD / "greedy_far.c", cache, "R7", against=("reno",)))["R7"]
    marks = {answer.number.name: answer.mark("reno") for answer in far.answers}
    assert marks["harm to a Reno flow, RTT 200 ms"] == "worse"
    assert marks["harm to a Reno flow"] == "same"
    idle = evaluated(BAD / "after_idle.c", cache, "R3,R15", against=("reno",))
    assert unsafe(idle) == ["R15c"]
    assert answers(idle)["R3"].mark("reno") == "same"


@pytest.mark.parametrize(
    ("file", "says"), [("loops.c", "does not return"), ("divides_by_zero.c", "divides by zero")]
)
def test_what_cannot_run_has_a_card_that_says_so(file, says, cache, tmp_path, monkeypatch, capsys):
    found = evaluated(BAD / file, cache)
    failed = found.failed
    assert (failed.stage, failed.row) == ("contract", "contract")
    assert says in failed.problem
    assert Scenario.from_text(failed.scenario, source="") == links.trial(str(BAD / file))
    page.write(found, tmp_path, command="ackclock evaluate")
    assert says in (tmp_path / "index.html").read_text()
    (line,) = page.table(found).rows
    assert "failed" in line
    assert data.headline(found) == "failed in contract"
    card_form.Card.model_validate_json(json.dumps(data.as_json(found)))
    monkeypatch.setattr(console.out, "width", 80)
    evaluate._print(found, tmp_path)
    printed = capsys.readouterr().out
    assert f"failed, contract: {failed.problem}" in printed
    assert f"ackclock run {tmp_path / data.FAILED}" in printed


def test_what_a_machine_does_is_not_called_unsafe(tmp_path):
    """Another machine may refuse the file; that says nothing of the algorithm."""

    class Refuses:
        is_remote = True

        def run(self, scenarios, reduce, done, progress=None):  # noqa: ARG002
            raise AckclockError("reno: this machine has another C compiler")

    with pytest.raises(AckclockError, match="another C compiler"):
        run.evaluate(Request("reno", run.chosen("R3"), quick=True), Work(tmp_path, Refuses()))


def test_a_crash_in_a_later_run_ends_no_other_process(cache, tmp_path):
    """What ran before it stands on the card, and the run in which it happens is a file."""
    # The contract has no such connection.
    late, where = tmp_path / "late_crash.c", "tp->snd_cwnd == 700 && tp->srtt_us / 400000 == 3"
    late.write_text((BAD / late.name).read_text().replace("tp->snd_cwnd > 2000", where))
    card_of = ackclock_evaluate(str(late), against=(), rows="R1,R3", quick=True, cache=cache)
    assert [row["row"] for row in card_of["rows"]] == ["R1"]
    failed = card_of["failed"]
    assert (failed["stage"], failed["row"]) == ("quick", "R3")
    assert "late_crash.c:15, function late_cong_avoid: divides by zero" in failed["problem"]
    (tmp_path / "failed.toml").write_text(failed["scenario"])
    command = [Path(sys.executable).parent / "ackclock", "run", tmp_path / "failed.toml"]
    again = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (again.returncode, failed["problem"] in again.stderr) == (1, True)


def test_what_does_not_compile_or_carry_is_asked_nothing_more(cache, tmp_path):
    (tmp_path / "typo.c").write_text('#include "tcp_cc.h"\nint x = ;\n')
    failed = ackclock_evaluate(str(tmp_path / "typo.c"), cache=cache)["failed"]
    assert failed["stage"] == "compile"
    assert "typo.c:2" in failed["problem"]
    failed = ackclock_evaluate(str(BAD / "one_packet.c"), against=(), cache=cache)["failed"]
    assert failed["stage"] == failed["row"] == "links"
    assert failed["problem"].startswith("utilisation, 12 Mb/s, 40 ms: 0.01")


def test_without_its_file_or_a_compiler_nothing_is_said_of_an_algorithm(tmp_path, monkeypatch):
    with pytest.raises(AckclockError, match=r"^cannot read .*nowhere\.c: there is no such file"):
        ackclock_evaluate(str(tmp_path / "nowhere.c"), cache=tmp_path)
    with pytest.raises(AckclockError, match=r"^unknown algorithm `cubik`; did you mean"):
        ackclock_evaluate("cubik", cache=tmp_path)
    (tmp_path / "mine.c").write_text(skeleton.text().replace("my_cc", "mine"))
    monkeypatch.setenv("CC", "/nowhere/cc")
    with pytest.raises(AckclockError, match=r"^cannot compile .*mine\.c: no C compiler was found"):
        ackclock_evaluate(str(tmp_path / "mine.c"), cache=tmp_path)


@pytest.mark.parametrize("name", ["typo.c", "divides_by_zero.c"])
def test_a_command_ends_with_1_where_the_algorithm_failed(name, ackclock, tmp_path):
    source = BAD / name
    text = source.read_text() if source.exists() else '#include "tcp_cc.h"\nint x = ;\n'
    (tmp_path / name).write_text(text)
    done = ackclock("evaluate", name, "--rows", "links", "--no-page", "-o", "out")
    stage = "compile" if name == "typo.c" else "contract"
    assert (done.returncode, done.stdout.splitlines()[-1]) == (1, f"failed in {stage}")
    card = card_form.Card.model_validate_json((tmp_path / "out" / "card.json").read_text())
    assert card.failed.stage == stage


def test_a_card_has_its_form(cache):
    """With rows, those of links that are drawn, and the objective of docs/evaluate.md."""
    found = ackclock_evaluate("vegas", rows="R3", quick=True, held_out=7, cache=cache)
    card = card_form.Card.model_validate_json(json.dumps(found))
    assert card.held_out.gaps
    assert card.on == "simulator"
    assert (ROOT / "docs" / "card.schema.json").read_text() == card_form.schema() + "\n"


def test_the_objective_of_the_page_counts_the_candidates_own_runs(tmp_path, monkeypatch):
    """CUBIC's least is a third of BBR's."""
    page = (ROOT / "docs" / "evaluate.md").read_text()
    (code,) = re.findall(r"```python\n(card = .*?)```", page, re.DOTALL)
    (tmp_path / "candidate.c").write_text(skeleton.source("bbr").replace("bbr", "mybbr"))
    monkeypatch.chdir(tmp_path)
    kept = {}
    exec(code.replace("budget_s=10", "budget_s=100"), {"ackclock": ackclock}, kept)  # noqa: S102
    assert kept["card"]["objective"] > 0.9
    (row,) = kept["card"]["rows"]
    assert {of["n"] for each in row["numbers"] for of in each["found"].values()} == {1}


def test_an_address_as_a_number_is_found(cache, tmp_path):
    (tmp_path / "lucky.c").write_text(
        """#include "tcp_cc.h"
CC_HOOK(u32, lucky_ssthresh, struct sock *sk)
{ return tcp_reno_ssthresh(sk) + ((u64)sk >> 12) % 61; }
CC_ALGORITHM(lucky, "", .ssthresh = lucky_ssthresh, .cong_avoid = tcp_reno_cong_avoid);
"""
    )
    failed = ackclock_evaluate(str(tmp_path / "lucky.c"), against=(), rows="R3", quick=True,
                               cache=cache)["failed"]  # fmt: skip
    assert failed["stage"] == "contract"
    assert failed["problem"] == run.NOT_REPEATED


def test_a_budget_ends_with_what_there_is(cache):
    found = run.evaluate(Request("vegas", budget_s=0), Work(cache))
    assert found.stopped in [
        f"the budget of 0 s ended in the stage {x}" for x in ("links", "quick")
    ]
    assert not found.asked
    request = Request("reno", run.chosen("links"), budget_s=60)
    card_of = data.as_json(run.evaluate(request, Work(cache)))
    assert card_of["stopped"] is None
    assert [row["row"] for row in card_of["rows"]] == ["links"]


def test_an_objective_is_of_the_algorithms_runs(cache):
    def mean_used(rows):
        assert {row["algorithm"] for row in rows} == {"reno"}
        return fmean(row["utilisation"] for row in rows)

    found = ackclock_evaluate("reno", rows="links", cache=cache, objective=mean_used)
    used = [n["found"]["reno"]["mean"] for n in found["rows"][0]["numbers"][:3]]
    assert min(used) < found["objective"] < 1
    for wrong, says in (
        (lambda _: math.nan, "objective returned nan: return a finite number"),
        (lambda rows: rows[0]["speed"], "objective: KeyError: 'speed'"),
    ):
        with pytest.raises(AckclockError, match=says):
            ackclock_evaluate("reno", rows="links", cache=cache, objective=wrong)


def test_links_that_are_drawn_show_what_recognises_the_others(cache):
    rows = run.chosen("R3")
    given = {"against": ("reno",), "quick": True, "held_out": 7}
    found = run.evaluate(Request(str(BAD / "overfitted.c"), rows, **given), Work(cache))
    assert answers(found)["R3"].mark("reno") == "same"
    assert found.recognised == ["R3"]
    assert (found.failed.stage, data.headline(found)) == ("held out", "failed in R3")
    honest = run.evaluate(Request("cubic", rows, **given), Work(cache))
    assert not [gap for gap in honest.gaps if gap.counts]
    links = run.evaluate(Request("cubic", run.chosen("links"), **given), Work(cache))
    assert not [gap for gap in links.gaps if gap.counts]  # one run of each number
    again = run.evaluate(Request("cubic", rows, **{**given, "held_out": 8}), Work(cache))
    assert [gap.held_out for gap in again.gaps] != [gap.held_out for gap in honest.gaps]


def means(found):
    """Row and number → algorithm → mean."""
    return {
        (row.question.row, answer.number.name): {
            name: estimate.mean for name, estimate in answer.found.items()
        }
        for row in found.asked
        for answer in row.answers.answers
    }


def test_the_league_on_fast_and_long_paths(cache):
    """Cubic-FC shares sooner than CUBIC; Reno is last of those that grow in other ways."""
    others = ("reno", "cubic_fc", "htcp", "highspeed", "bic", "bbr")
    mean = means(evaluated("cubic", cache, rows="R13", against=others))
    used = mean["R13", "utilisation with 0.25 BDP"]
    assert min(used[name] for name in used.keys() - {"reno"}) > used["reno"] + 0.07
    mean = means(evaluated("cubic", cache, rows="R5c", against=("cubic_fc",)))
    converged_s = mean["R5c", "time until a newcomer has its share, 200 Mb/s"]
    assert converged_s["cubic_fc"] < 0.85 * converged_s["cubic"]


@pytest.mark.slow
def test_the_league_ranks_as_the_literature_does(cache):
    """With margins, as the runs are few."""
    others = ("reno", "vegas", "copa", "bbr", "bbr3", "square_ff", "dctcp")
    found = evaluated("cubic", cache, rows="R3,R4,R5b,R9,R9b,R10b,R15,R15b", against=others)
    mean = means(found)
    delay_ms = mean["R3", "queue delay with 1 BDP, p95"]
    least = max(delay_ms["vegas"], delay_ms["copa"])
    assert all(least < of / 2 for name, of in delay_ms.items() if name not in ("vegas", "copa"))
    # Linux's Vegas overshoots in slow start and gives back a packet per RTT (the league's page).
    delay_ms = mean["R3", "queue delay with 4 BDP, p95"]
    assert max(delay_ms["copa"], delay_ms["bbr"]) < 30 < delay_ms["vegas"] < delay_ms["cubic"] / 1.5
    shallow_percent = mean["R4", "packets lost, 4 flows with 0.25 BDP"]
    assert shallow_percent["bbr"] > 20 * shallow_percent["cubic"]
    assert shallow_percent["bbr3"] < shallow_percent["bbr"] / 10
    long_rtt = mean["R5b", "slower / faster flow, RTTs of 20 and 320 ms"]
    assert long_rtt["square_ff"] > long_rtt["cubic"] > 2 * long_rtt["reno"]
    lossy = mean["R9", "utilisation at 1 % loss"]
    assert min(lossy["bbr"], lossy["copa"]) > 0.9 > 10 * max(lossy["cubic"], lossy["reno"])
    faster = mean["R15", "utilisation, rate × 10"]
    fast = [faster[name] for name in ("cubic", "bbr", "bbr3", "copa")]
    assert min(fast) > 1.5 * faster["reno"]
    # Jitter looks like a queue to who measures delays.
    jitter = mean["R9b", "utilisation, jitter"]
    assert jitter["vegas"] < 0.6
    assert min(jitter["cubic"], jitter["reno"], jitter["bbr"]) > 0.95
    # BBR keeps its estimate of the rate for 10 RTTs.
    lost = mean["R15b", "UDP lost as it comes with 75 %"]
    assert lost["bbr"] > 5 * lost["cubic"]
    assert mean["R15b", "utilisation after 75 % UDP goes"]["bbr"] > 0.95
    unsafe_rows = {
        row.question.row: [name for name in (*others, "cubic") if row.answers.unsafe(name)]
        for row in found.asked
    }
    # RFC 9743, section 5.1.3, names BBRv1 in shallow buffers.
    assert unsafe_rows.pop("R4") == ["bbr"]
    # RFC 8257, section 5: DCTCP is for data centres, where all flows are DCTCP. Copa is at the
    # bound of 90 %: its harm was 91.5 % in the mean of 30 seeds, from 78 % to 99 %.
    assert [name for name in unsafe_rows.pop("R10b") if name != "copa"] == ["bbr", "dctcp"]
    assert not any(unsafe_rows.values())


@needs_testbed
@pytest.mark.alone
def test_a_card_with_the_kernel_beside_the_simulator(tmp_path):
    """Each number of one point, of each algorithm; what the kernel cannot run is said."""

    def short(algorithm, buffer):
        return scenarios.dumbbell(algorithm, buffer=buffer, rate="10mbit", duration="3s")

    used = Number("utilisation", "utilisation", margin=0.02, at={"buffer": "1bdp"})
    over_all = Number("utilisation over all", "utilisation")
    asked = (
        Question("R3", "Full?", "5.1.2", short, {"buffer": ("0.5bdp", "1bdp")}, (used, over_all)),
        *run.chosen("R16"),
    )
    todo, work = [], Work(tmp_path / "kept")
    found = run.evaluate(
        Request("reno", asked, ("cubic",), quick=True),
        work,
        on=testbed.Testbed(),
        on_linux=lambda number, seconds: todo.append((number, seconds)),
    )
    assert todo == [(2, 6.0)]
    full, incast = found.asked
    if full.linux.runs is None:
        pytest.skip(f"this machine keeps time too badly: {full.linux.refused}")
    (answer,) = full.linux.answers.answers
    for name in ("reno", "cubic"):
        assert answer.found[name].mean == pytest.approx(
            full.answers.answers[0].found[name].mean, abs=0.15
        )
    assert full.linux.refused == ["utilisation over all: 2 points, in the simulator only"]
    assert all("[[session]], " in why for why in incast.linux.refused)
    header, rows = page.table(found).header, page.table(found).rows
    assert [row[header.index("on")] for row in rows] == ["simulator", "kernel"] * 2
    assert rows[3][4:] == ["—"] * 3
    page.write(found, tmp_path, command="ackclock evaluate reno --on kernel")
    table = pl.read_parquet(tmp_path / "rows.parquet")
    assert table.filter(row="R3").group_by("on").len().sort("on")["len"].to_list() == [2, 12]
    written = json.loads((tmp_path / "card.json").read_text())
    assert written["on"] == "kernel"
    assert written["rows"][0]["linux"]["numbers"][0]["found"]["reno"]["n"] == 1
    text = (tmp_path / "index.html").read_text()
    assert "Not on the kernel: time of 64 kB, 32 senders, p99: [[session]], " in text
    # Kept: nothing runs again.
    again = Request("reno", asked[:1], ("cubic",), quick=True)
    kernel = testbed.Testbed()
    again = run.evaluate(again, work, on=kernel, on_linux=lambda *left: todo.append(left))
    assert todo[1:] == [(0, 0.0)]
    assert again.asked[0].linux.answers.answers[0].found == answer.found


def test_a_machine_that_cannot_ask_the_kernel(cache, monkeypatch):
    monkeypatch.setattr(testbed, "lacks", lambda *_: "CAP_NET_ADMIN: missing")
    with pytest.raises(AckclockError, match=r"kernel cannot run it here: CAP_NET_ADMIN.*doctor"):
        run.evaluate(Request("reno", against=()), Work(cache), on=testbed.Testbed())


def test_what_cannot_be_loaded_is_an_error(cache, tmp_path):
    (tmp_path / "empty.c").write_text("")
    assert evaluated(tmp_path / "empty.c", cache).failed.stage == "compile"
    with pytest.raises(AckclockError, match=r"missing\.c"):
        evaluated(tmp_path / "missing.c", cache)
    with pytest.raises(AckclockError, match=r"^--against: unknown algorithm `cubik`"):
        evaluated("reno", cache, against=("cubik",))
    with pytest.raises(AckclockError, match="choose from links, R1"):
        run.chosen("R99")
    assert [each.row for each in run.chosen("r7, R10b")] == ["R7", "R7b", "R10b"]


def test_every_row_of_the_rfcs_criteria_that_can_be_measured():
    rows = {question.row.rstrip("abcd") for question in QUESTIONS}
    assert rows == {f"R{n}" for n in range(1, 17)}
    for question in QUESTIONS:
        experiment = question.experiment(["reno", "cubic"], quick=False)
        for number in question.numbers:
            some = card.points_of(experiment, number, "reno")
            assert all(card._is_at(point, number.at) for point in some), number.name
        few = question.experiment(["reno"], quick=True)
        for number in question.numbers:
            assert card._is_at(card.points_of(few, number, "reno")[0], number.at), number.name


def test_a_line_shows_the_number_of_its_marks():
    """Worse than CUBIC in the second number, and than Reno in the first and the third."""
    (question,) = run.chosen("R5c")
    differences = ((0.0, -1.0), (-1.0, 0.0), (0.0, -1.0))
    found = []
    for index, (cubic, reno) in enumerate(differences):
        number = Number(f"number {index}", "utilisation", margin=0.1)
        of = {"cubic": Estimate(cubic, cubic, cubic, 3), "reno": Estimate(reno, reno, reno, 3)}
        found.append(card.Answer(number, dict.fromkeys(("mine", *of), Estimate(1, 1, 1, 3)), of))
    experiment = question.experiment(["mine", "cubic", "reno"], quick=True)
    runs = Runs(experiment, pl.DataFrame())
    asked = parts.Answered(question, experiment, runs, card.Answers(question, found))
    shown = page.table(parts.Evaluated("mine", ("cubic", "reno"), [asked], quick=True))
    assert shown.rows[0][2] == "number 0"
    assert shown.rows[0][-2:] == ["(worse)", "worse"]


def answered(question, **of):
    """A question whose first number has these values, run by run, for "mine" and others."""
    number = question.numbers[0]
    repeats = {name: Repeats.by_seed(dict(enumerate(values))) for name, values in of.items()}
    differences = {name: (repeats["mine"] - repeats[name]).mean() for name in of.keys() - {"mine"}}
    found = card.Answer(number, {name: each.mean() for name, each in repeats.items()}, differences)
    experiment = question.experiment([*of], quick=True)
    return parts.Answered(
        question, experiment, Runs(experiment, pl.DataFrame()), card.Answers(question, [found])
    )


def test_the_first_line_of_a_card():
    """It counts rows by their mark; "equal" needs the same number in each run, not on average."""
    r3, r5c, r9 = (run.chosen(row)[0] for row in ("R3", "R5c", "R9"))
    assert r3.numbers[0].more
    assert r9.numbers[0].more
    better = answered(r3, mine=(0.9, 0.9, 0.9), cubic=(0.5, 0.5, 0.5), reno=(0.9, 0.9, 0.9))
    worse = answered(r9, mine=(0.1, 0.1, 0.1), cubic=(0.5, 0.5, 0.5), reno=(0.1, 0.1, 0.1))
    same = answered(r5c, mine=(10.0, 11.0, 12.0), cubic=(10.0, 11.0, 12.0), reno=(10.0, 11.0, 12.0))

    def says(*asked, **more):
        return data.headline(parts.Evaluated("mine", ("cubic", "reno"), asked, quick=True, **more))

    assert says(better, worse, same, better) == (
        "against CUBIC: 2 better, 1 worse, 1 same; nothing unsafe; equal to Reno in every number"
    )
    swapped = answered(r5c, mine=(10.0, 11.0, 12.0), cubic=(1.0, 1.0, 1.0), reno=(11.0, 10.0, 12.0))
    assert says(swapped) == "against CUBIC: 1 worse; nothing unsafe"
    cut = [AtLeast(50.0)] * 3
    assert says(answered(r5c, mine=cut, cubic=(9.0, 9.0, 9.0), reno=cut)).endswith(
        "; equal to Reno in every number"
    )
    bound = next(each for each in r3.numbers if each.unsafe is not None)
    starved = answered(replace(r3, numbers=(bound,)), mine=(0.0, 0.0), cubic=(1.0, 1.0))
    found = parts.Evaluated(
        "mine",
        ("cubic",),
        [starved, same],
        quick=True,
        failed=parts.Failed("quick", "R9", "crashed"),
    )
    assert data.headline(found) == "against CUBIC: 1 same; unsafe in R3; failed in R9"
    assert data.headline(parts.Evaluated("mine", (), [], quick=True)) == "nothing unsafe"


def test_words_and_numbers_of_a_page():
    assert page.section("5.1.5, 5.2.3 MUST") == 'sections 5.1.5 and 5.2.3: "MUST"'
    assert page.section("6.4") == "section 6.4"
    known = {"n": 3, "censored": 0}
    assert html.number(Estimate(-1e-4, -2e-4, -1e-5, **known), "ms") == "0.000 ms (0.000 … 0.000)"
    assert html.number(Estimate(-0.04, -10.0, -0.1, **known), "s") == "-0.040 s (-10.000 … -0.100)"


def test_losses_after_which_nothing_arrives():
    """R1 with 90 % and 100 %: the connection opens, then Linux's timer doubles its waits."""
    for loss in ("0.9", "1"):
        result = ackclock_run(scenarios.collapse("cubic", loss))
        assert result.flows["delivered_bytes"].item() > 100_000
        found = measure.numbers(result)
        assert found.late_retransmissions_per_rtt < 0.05
        assert found.timeouts > 5
    assert found.backoff == pytest.approx(2, abs=0.1)
    # Copa does not answer losses: with 90 % it goes on.
    assert measure.numbers(ackclock_run(scenarios.collapse("copa", "0.9"))).backoff is None


@needs_testbed
def test_the_verifier_is_asked_before_the_simulator(ackclock, tmp_path):
    (tmp_path / "refused.c").write_text(REFUSED % "refused")
    done = ackclock("evaluate", "refused.c", "--rows", "R3", "--on", "kernel")
    assert done.returncode == 1
    assert re.fullmatch(
        r"error: the kernel's verifier refuses refused.c \(refused.c:4\): R\d unbounded memory "
        r"access, .*; check each index against the length .*, or leave out --on kernel\n",
        done.stderr,
    ), done.stderr
    assert not (tmp_path / ".ackclock").exists()
