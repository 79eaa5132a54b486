"""Claims: their verdicts, what these depend on, how they are shown, and seeds for open ones."""

import csv
import json
import math
import random
import re
from dataclasses import replace
from types import SimpleNamespace
from typing import NamedTuple

import matplotlib.pyplot as plt
import numpy as np
import pytest

from ackclock import AckclockError, Bottleneck, Flow, Local, Scenario, papers, stats
from ackclock.cli import papers as figure_commands
from ackclock.draw import html
from ackclock.estimates.stats import Estimate, mean_ci
from ackclock.figures import (
    AtLeast,
    AtMost,
    Claim,
    Column,
    Either,
    Experiment,
    Figure,
    Plot,
    Quantity,
    Repeats,
    Variant,
    computed,
    grid,
    plots,
    reproduce,
)
from ackclock.figures.claim import JudgedClaim, judged, verdict_of
from ackclock.figures.named import Named
from ackclock.hosts.work import Work
from ackclock.pages import site, tally


def known(name, mean, spread=0.0, n=20):
    """A quantity with an interval of its own and, with a spread, repeats."""
    if spread:
        draws = np.random.default_rng(1).normal(size=n)
        draws = mean + spread * (draws - draws.mean()) / draws.std(ddof=1)
        return Quantity(name, "s", (), lambda _: mean_ci(draws.tolist()))
    return Quantity(name, "s", (), lambda _: Estimate(mean, mean - 10, mean + 10, n))


def judge(claim):
    return JudgedClaim(claim, judged(claim.parts, {}))


PARTS = [known(f"{name} ms", mean).above(0) for name, mean in ((16, 30), (80, -3), (320, -30))]
ALONE = judge(Claim("a.alone", "It converges", [known("convergence", 150).below(200)]))
CLAIMS = [ALONE, judge(Claim("a.every", "It is always sooner", PARTS))]


@pytest.mark.parametrize(
    ("part", "shown"),
    [
        (known("", 1).within(250, 600), "250 … 600 s"),
        (known("", 1).below(200), "< 200 s"),
        (known("", 1).above(0), "> 0 s"),
    ],
)
def test_a_part_shows_its_bound(part, shown):
    assert part.bound == shown


@pytest.mark.parametrize(
    ("means", "verdict"), [((30,), "holds"), ((30, -3), "open"), ((30, -3, -30), "fails")]
)
def test_a_claim_is_decided_by_its_worst_part(means, verdict):
    claim = judge(Claim("id", "says", [known(str(mean), mean).above(0) for mean in means]))
    assert claim.verdict == verdict
    assert claim.decides.name == str(means[-1])
    if len(means) > 1:
        assert claim.tally == f"1 of {len(means)} hold"


def test_a_part_fails_the_claim_only_after_holms_correction():
    """T = -2.5 with 19 degrees of freedom: p is 0.022, enough for one part and not for ten."""
    doubtful = known("doubtful", -2.5 / math.sqrt(19), spread=1.0).above(0)
    fine = [known(f"fine {n}", 5, spread=1.0).above(0) for n in range(9)]
    assert judge(Claim("id", "", [doubtful])).verdict == "fails"
    many = judge(Claim("id", "", [doubtful, *fine]))
    assert many.parts[0].verdict() == "fails"
    assert many.verdict == "open"
    assert many.decides.name == "doubtful"
    clear = known("clear", -2, spread=1.0).above(0)
    assert judge(Claim("id", "", [clear, *fine])).verdict == "fails"


def test_one_of_several_is_enough_if_the_claim_says_so():
    good, open_, bad = PARTS
    for parts, others, verdict in (
        ([bad, good], [], "holds"),
        ([bad, bad], [good], "open"),
        ([bad, bad], [bad], "fails"),
        ([bad, open_], [], "open"),
    ):
        claim = judge(Claim("id", "", [Either("either", parts, others)]))
        assert claim.verdict == verdict


def test_a_claim_may_only_be_reported():
    assert judge(Claim("id", "", PARTS, reported=True)).verdict == "reported"


def test_a_ratio_is_judged_by_its_logarithm():
    repeats = Repeats.by_seed(dict(enumerate([2.0, 2.0, 0.5, 0.5, 2.0, 0.5, 0.5, 2.0, 2.0, 0.5])))
    both = Quantity("ratio", "", (), lambda _: repeats.log(), logarithmic=True)
    claim = judge(Claim("id", "", [both.within(0.4, 2.5)]))
    assert claim.decides.estimate.mean == pytest.approx(1)
    assert claim.verdict == "holds"


def test_how_many_repeats_would_decide():
    open_ = judge(Claim("id", "", [known("", 0.1, spread=1.0).above(0)]))
    assert open_.verdict == "open"
    assert 350 < open_.seeds_needed < 450  # (1.96 / 0.1)²
    assert ALONE.seeds_needed is None


def as_page(quick):
    return html.page("t", "l", [html.Section("Claims", table=table(quick))])


def table(quick, *, parts=False):
    return site.claims_table([replace(each, quick=quick) for each in CLAIMS], parts=parts)


def as_rows():
    return "\n".join(" ".join(row) for row in table(False, parts=True).rows)


FORMS = [as_page, lambda _: table(False).markdown(), lambda _: as_rows()]


@pytest.mark.parametrize("form", FORMS)
def test_every_part_is_shown_with_bound_measurement_runs_and_verdict(form):
    text = re.sub("</?span[^>]*>", "", form(False))
    for word in ("16 ms", "80 ms", "320 ms", "30.0 s (20.0 … 40.0)", "-3.0 s (-13.0 … 7.0)"):
        assert word in text
    for verdict in ("holds", "open", "fails"):
        assert verdict in text
    assert form is FORMS[-1] or "1 of 3 hold" in text


def test_a_page_folds_them():
    page = as_page(False)
    assert page.count("<details>") == 1
    assert "<summary>3 parts: 1 of 3 hold</summary>" in page
    assert "<details open" not in page
    assert table(False).markdown().count("\n") == 3  # the table stays a table


def test_the_same_as_a_table_of_texts(tmp_path):
    site.write_claims([SimpleNamespace(claims=CLAIMS)], tmp_path)
    with (tmp_path / "claims.csv").open(encoding="utf-8", newline="") as file:
        header, *rows = csv.reader(file)
    assert header == ["claim", "part", *site._LINE[1:], *site._BESIDE]
    shown = table(False, parts=True)
    assert len(rows) == len(shown.rows) == 5
    for (claim, part, *cells), (name, *expected) in zip(rows, shown.rows, strict=True):
        assert claim in {each.id for each in CLAIMS}
        assert (f"  {part}" if part else claim.partition(".")[2]) == name
        assert cells[: len(expected)] == expected


def test_a_quick_run_shows_no_verdict_and_no_tally(tmp_path):
    quick = [replace(each, quick=True) for each in CLAIMS]
    verdicts = site.write_claims([SimpleNamespace(claims=quick)], tmp_path)
    body = as_page(True).partition("<body>")[2] or as_page(True).partition("</style>")[2]
    texts = [body, table(True).markdown(), (tmp_path / "claims.json").read_text()]
    texts.append((tmp_path / "claims.csv").read_text())
    texts.append(json.dumps(verdicts))
    for text in texts:
        assert "320 ms" in text  # the parts are there
        for word in ("hold", "fails", "open", " at 320"):
            assert word not in text


class Row(NamedTuple):
    """Numbers that a test knows, and one of the run."""

    noise: float
    sent: int
    #: No run has it.
    never: float | None


def tiny(rate):
    return Scenario(
        duration="100ms",
        rtt="10ms",
        bottleneck=Bottleneck(rate=f"{rate}mbit", buffer="10packets"),
        flows=(Flow(algorithm="reno"),),
    )


def row(result) -> Row:
    noise = random.Random(str(result.scenario.seed)).gauss(0, 1)
    return Row(noise, int(result.flows["sent_packets"][0]), None)


VARIANTS = (
    Variant("rate", "half", ["bottleneck.rate=3mbit"]),
    Variant("algorithm", "of CUBIC", ["cubic:beta=0.5"]),
)
TINY = Experiment("tiny", grid(rate=[5, 6]), tiny, row, seeds=10, quick_seeds=1, variants=VARIANTS)
NOISE, SENT = Column(TINY, "noise", "noise"), Column(TINY, "sent", "packets")


def figure(name, *claims):
    quantities = [part.quantity for claim in claims for part in claim.parts]
    return Named(name, name, "Said.", Figure(Plot(lambda _: plt.figure()), quantities, claims))


#: Ten repeats of noise and this are nearly at 0.
NEARLY = 0.25


def positive(mean):
    return computed(str(mean), "", ((TINY, TINY.the(rate=5)),), noisy(mean)).above(0)


def noisy(mean):
    return lambda rows: rows[TINY].repeats("noise", TINY.the(rate=5)) + mean


def noisy_6(rows):
    return rows[TINY].repeats("noise", TINY.the(rate=6)) + 2


def test_a_name_that_does_not_exist_fails_at_once():
    with pytest.raises(KeyError, match="no point"):
        NOISE.at(rate=7)
    with pytest.raises(KeyError, match="no snet"):
        Column(TINY, "snet", "packets")
    with pytest.raises(TypeError, match="NamedTuple"):
        Experiment("bad", [{}], tiny, lambda result: result)
    assert NOISE.at(rate=5).name == "noise, 5"


def test_seeds_until_each_claim_is_decided(tmp_path):
    figures = [
        figure("small/clear", Claim("clear", "", [positive(3)])),
        figure("small/open", Claim("open", "", [positive(3), positive(0.0)])),
        figure("small/false", Claim("false", "", [positive(-2), positive(0.0)])),
        figure("small/hopeless", Claim("hopeless", "", [positive(3), positive(NEARLY)])),
    ]
    told = []
    work = Work(tmp_path, Local(1), on_runs=lambda *n: told.append(n[0]))
    found = reproduce.until_decided(figures, most=40, work=work)
    clear, undecided, false, hopeless = (each.claims[0] for each in found)
    assert [clear.verdict, undecided.verdict] == ["holds", "open"]
    assert false.verdict == "fails"  # one part is enough
    assert hopeless.verdict == "open"
    assert hopeless.seeds_needed > 80
    seeds = [len(each.rows[TINY].table) for each in found]
    assert 10 < seeds[1] < 40  # until there was no hope
    assert seeds[3] == 10
    assert sum(told) == max(seeds)
    assert undecided.parts[0].verdict() == "holds"  # of an earlier look


def test_an_open_claim_has_the_seeds_that_it_asks_for(tmp_path):
    """One that is no mean asks for none."""
    near, median = positive(0.0), NOISE.at(rate=5).as_median().above(0)
    slow = {"settings": ["bottleneck.rate=4mbit"]}
    asked = (near, {}, 40), (near, {"seeds": 12}, 12), (near, slow, 10), (median, {}, 10)
    for part, how, seeds in asked:
        figures = [figure("small/asking", Claim("a", "", [part], most_seeds=40))]
        (found,) = reproduce.reproduce(figures, work=Work(tmp_path, Local(1)), **how)
        assert len(found.rows[TINY].table) == seeds


def ensemble(rows):
    """The mean of all runs as a statistic of them together, with resamples."""
    values = np.array(rows[TINY].repeats("noise", TINY.the(rate=5)).value) + 1.5
    draws = np.random.default_rng(4).choice(values, (1000, len(values))).mean(axis=1)
    low, high = np.quantile(draws, [0.025, 0.975])
    return Estimate(values.mean(), low, high, len(values), resamples=tuple(draws))


def test_a_statistic_of_all_runs_together_asks_for_seeds_only_where_it_runs(tmp_path):
    """1000 resamples tell nothing of the levels before 53 repeats; that is 0.004."""
    of = Quantity("ensemble", "", ((TINY, TINY.the(rate=5)),), ensemble)
    other = (NOISE.at(rate=6) - NOISE.at(rate=6)).above(-1)
    figures = [figure("small/ensemble", Claim("a", "", [of.above(0.3), other]))]
    (found,) = reproduce.until_decided(figures, most=100, work=Work(tmp_path, Local(1)))
    assert found.claims[0].verdict == "holds"
    runs = found.rows[TINY].table
    assert len(runs.filter(rate=6)) == 10
    assert len(runs.filter(rate=5)) == 53


def test_a_part_that_needs_no_more_seeds_has_the_verdict_of_its_interval(tmp_path):
    """The first part makes the claim fail, so that the other one has ten seeds at the end."""
    other = computed("other", "", ((TINY, TINY.the(rate=6)),), noisy_6).above(0)
    figures = [figure("small/false", Claim("a", "", [positive(-2), other]))]
    (found,) = reproduce.until_decided(figures, most=40, work=Work(tmp_path, Local(1)))
    (claim,) = found.claims
    assert claim.verdict == "fails"
    assert claim.tally == "1 of 2 hold"
    assert claim.parts[1].estimate.n == 10


def test_what_an_open_claim_needs_is_said():
    def said(*parts):
        return site.card(judge(Claim("a", "", parts)))["runs"]

    near, far = (known("", mean, spread=1.0).above(0) for mean in (0.4, 0.1))
    assert re.fullmatch("20; needs ≈ 38[0-9]", said(near, far))  # each must hold
    outside = known("", -0.4, spread=1.0).above(0)
    assert re.fullmatch("20; needs ≈ 3[0-9]", said(outside, far))  # it fails by one of them
    late = Repeats.by_seed(dict(enumerate([100.0, 120.0, AtLeast(500.0)] * 5))).mean()
    cut_off = Quantity("", "s", (), lambda _: late).below(300)
    assert said(cut_off) == "15; more do not decide it: some are cut off"
    assert said(known("", 5).above(0)) == "20; how many would decide it is not known"
    assert said(near) == said(near, known("", 50, spread=1.0).above(0))
    # Alone it fails at 5 %, one of three parts fails at 1.7 %.
    soon = Repeats.by_seed(
        dict(enumerate([AtMost(-2.0), -3.0, 1.0, *[-3.0, 1.0, -2.0, -2.5, 1.2] * 3]))
    )
    below_0 = Quantity("", "s", (), lambda _: soon.mean()).above(0)
    holm = (
        "; fails at 5 %, but not at the 1.7 % of 3 parts; more do not decide it: some are cut off"
    )
    assert said(below_0, *[known("", 50, spread=1.0).above(0)] * 2) == "18" + holm
    assert said(outside, far).count("for") == 0


def test_a_number_that_no_run_has_is_open(tmp_path):
    named = figure("small/never", Claim("a", "", [Column(TINY, "never", "").at(rate=5).above(0)]))
    for _ in ("fresh", "kept"):
        (found,) = reproduce.reproduce([named], work=Work(tmp_path))
        assert found.claims[0].verdict == "open"


@pytest.fixture(scope="module")
def varied(tmp_path_factory):
    """Claims with their sensitivity: of 5 Mb/s, where half the rate turns the verdict; of 6."""
    sent = SENT.at(rate=5)
    turns = Claim("turns", "", [sent.above(40)], readings={"of 6 Mb/s": [SENT.at(rate=6).above(1)]})
    stays = Claim("stays", "", [sent.above(1), (SENT.at(rate=6) / sent).named("r").above(0.5)])
    cache = tmp_path_factory.mktemp("varied")
    named = figure("small/varied", turns, stays)
    (found,) = reproduce.reproduce([named], sensitivity=True, work=Work(cache))
    return found


def test_a_quick_run_decides_what_needs_no_repeats(tmp_path):
    exact = Quantity("exact", "", (), lambda _: stats.exact(3)).above(1)
    once = replace(TINY, seeds=1)
    same = Column(once, "sent", "packets").at(rate=5).above(1)
    claims = [Claim(name, "", [part]) for name, part in
              (("exact", exact), ("same", same), ("noise", positive(3)))]  # fmt: skip
    figures = [figure("small/some", *claims)]
    (found,) = reproduce.reproduce(figures, quick=True, work=Work(tmp_path))
    assert [each.verdict for each in found.claims] == ["holds", "holds", "quick"]
    words = "3 claims: 2 (2 one setup) hold, 0 fail, 0 open;"
    assert tally.in_words(found.claims).startswith(words)


def test_what_a_verdict_depends_on(varied):
    turns, stays = varied.claims
    assert turns.verdict == stays.verdict == "holds"
    assert turns.depends_on == ["rate (half: fails)"]
    assert stays.depends_on == []
    # Nobody has CUBIC, so that its variant changes no run.
    assert list(turns.otherwise) == ["rate", "measure", "rate and measure"]
    assert verdict_of(turns.otherwise["measure"]["of 6 Mb/s"]) == "holds"
    assert turns.otherwise["rate"]["half"][0].estimate.n == turns.parts[0].estimate.n == 10


def test_a_claim_without_runs_is_measured_otherwise_at_once(tmp_path):
    found = Quantity("found", "", (), lambda _: stats.exact(3)).above(1)
    claim = Claim("computed", "", [found], readings={"above 4": [replace(found, low=4)]})
    (figures,) = reproduce.reproduce([figure("small/computed", claim)], work=Work(tmp_path))
    assert figures.claims[0].depends_on == ["measure (above 4: fails)"]


def test_how_the_sensitivity_is_shown(varied):
    turns, stays = varied.claims
    shown = [" ".join(row) for row in site.sensitivity_table(turns).rows]
    assert any(row.startswith("rate half fails") for row in shown)
    assert site.card(turns)["firmness"] == "depends 2/0/1"
    assert site.card(turns)["turns with"] == "rate (half: fails)"
    assert site.card(turns)["without effect"] == "measure, rate and measure"
    assert site.card(stays)["firmness"] == "always 1/0/0"
    assert site.claim_row(turns)["sensitivity"][0]["verdict"] == "fails"
    for claim in (turns, stays):
        axes = plots.sensitivity(claim).axes[0]
        assert [tick.get_text() for tick in axes.get_yticklabels()][:2] == [
            "as set up",
            "rate: half",
        ]


def test_each_tally_has_how_firm_verdicts_are_and_why(varied):
    claims = [*varied.claims, *CLAIMS]
    table = tally.by_firmness(tally.counted(claims))
    assert table.header == ["paper", "holds", "fails"]
    assert table.rows[-1] == ["all", "3 (1 always, 1 depends, 1 one setup)", "1 (1 one setup)"]
    reasons = {row[0]: row[-1] for row in tally.by_reason(tally.counted(claims)).rows}
    assert reasons == {"undecided": "1", "unstated input": "1"}
    assert tally.in_words(claims) == (
        "4 claims: 3 (1 always, 1 depends, 1 one setup) hold, 1 (1 one setup) fail, 0 open"
    )


def test_a_claim_that_is_not_testable_says_why():
    claim = judge(Claim("a.clocks", "It is fast", [], untestable="no such host", hardware=True))
    assert (claim.verdict, claim.firmness, claim.reason) == ("not testable", "", "hardware")
    assert site.card(claim)["decided by"] == "no such host"
    assert site.claim_row(claim)["bound"] is None
    assert not claim.is_judged


def test_an_open_claim_depends_on_what_decides_it():
    open_ = [known("x", -3).above(0)]
    claim = Claim("a.b", "", open_)
    other = {"buffer": {"1": judged([PARTS[0]], {}), "2": judged(open_, {})}}
    found = JudgedClaim(claim, judged(open_, {}), other)
    assert (found.firmness, found.reason) == ("depends", "undecided")
    assert found.depends_on == ["buffer (1: holds)"]


def test_a_bound_says_whose_it_is():
    assert site.card(judge(Claim("a.b", "", PARTS[:1])))["whose"] == "paper"
    assert site.card(judge(Claim("a.b", "", [PARTS[0].ours])))["whose"] == "ours"


def test_a_changed_assumption_is_shown_beside_the_setup(ackclock):
    done = ackclock("claims", "leith2007.fig14", "--set", "link.1.buffer=100packets")
    # Those of the claim. With one buffer for all points 40 are left.
    told = [line for line in done.stderr.splitlines() if not line.startswith("simulating:")]
    assert told == ["40 runs to simulate", "360 runs to simulate"]
    (line,) = [line for line in done.stdout.splitlines() if "→" in line]
    found = re.fullmatch(
        r"  as set up: (\w+) ([\d.]+) at .* → with link\.1\.buffer=100packets: (\w+) ([\d.]+) at.*",
        line,
    )
    assert found[1] == "fails"
    assert found[3] == "fails"
    usual = ackclock("claims", "leith2007.fig14", "--no-sensitivity")
    assert usual.stderr == ""
    assert f" {found[2]} (" in usual.stdout
    assert "→" not in usual.stdout
    assert f" {found[4]} (" in done.stdout


@pytest.mark.parametrize(
    ("names", "number"),
    [
        (["leith2007.fig7.period-two"], 1),
        (["leith2007.fig07"], 1),
        (["ha2008.fig8"], 3),
        (["leith2007/fig7", "leith2007.fig7"], 1),
        (["leith2007"], len([each for named in papers.load("leith2007")
                             for each in named.figure.claims])),
    ],
)  # fmt: skip
def test_which_claims_are_asked_for(names, number):
    found = [claim.id for named in figure_commands._with_claims(names)
             for claim in named.figure.claims]  # fmt: skip
    assert len(found) == len(set(found)) == number
    assert {each.partition(".")[0] for each in found} == {names[0][: names[0].index("2") + 4]}


def test_a_figure_without_claims_is_an_error(ackclock):
    done = ackclock("claims", "squareff/reference")
    assert done.returncode == 1
    assert done.stderr == (
        'error: figure = "squareff/reference": no claim is of it; type `ackclock claims`\n'
    )


def test_settings_change_every_run(varied, tmp_path):
    named = [varied.named]
    (found,) = reproduce.reproduce(named, settings=["bottleneck.rate=3mbit"], work=Work(tmp_path))
    assert {scenario.bottleneck.rate for scenario in found.scenarios} == {"3mbit"}
    assert found.claims[0].verdict == "fails"
    for wrong, fix in (("cubic:beta=0.5", "no flow or session"), ("rtx=3ms", "unknown")):
        with pytest.raises(AckclockError, match=fix):
            reproduce.reproduce(named, settings=[wrong], work=Work(tmp_path))
