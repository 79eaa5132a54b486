"""How claims are shown: every part of a claim about several points, and no verdict if quick."""

import json
import random
from types import ModuleType, SimpleNamespace

import numpy as np
import pytest

from ackclock import Bottleneck, Claim, Every, Flow, Local, Scenario, report, reproduce
from ackclock.stats import Estimate, mean_ci

PARTS = [
    Claim("16 ms", "", Estimate(30, 20, 40, 20), "s", low=0),
    Claim("80 ms", "", Estimate(-3, -9, 4, 20), "s", low=0),
    Claim("320 ms", "", Estimate(-30, -40, -20, 20), "s", low=0),
]
ALONE = Claim("a.alone", "It converges", Estimate(150, 140, 160, 20), "s", high=200)
FIGURES = [SimpleNamespace(claims=[ALONE, Every("a.every", "It is always sooner", PARTS)])]


def as_page(quick):
    table = reproduce.claims_table(FIGURES, quick=quick)
    return report.page("t", "l", [report.Section("Claims", table=table)])


@pytest.mark.parametrize("form", [as_page, lambda _: as_markdown(False), lambda _: as_rows()])
def test_every_part_is_shown_with_bound_measurement_runs_and_verdict(form):
    text = form(False)
    for word in ("16 ms", "80 ms", "320 ms", "30.0 s (20.0 … 40.0)", "-3.0 s (-9.0 … 4.0)"):
        assert word in text
    for verdict in ("holds", "inconclusive", "fails"):
        assert verdict in text
    assert "1 of 3 hold" in text


def as_markdown(quick):
    return reproduce.claims_table(FIGURES, quick=quick).markdown()


def as_rows():
    rows = reproduce.claims_table(FIGURES, quick=False, parts=True).rows
    return "\n".join(" ".join(row) for row in rows)


def test_a_page_folds_them():
    page = as_page(False)
    assert page.count("<details>") == 1
    assert "<summary>3 parts: 1 of 3 hold</summary>" in page
    assert "<details open" not in page
    assert as_markdown(False).count("\n") == 3  # the table stays a table


def test_a_quick_run_shows_no_verdict_and_no_tally(tmp_path):
    verdicts = reproduce.write_claims(FIGURES, tmp_path, quick=True)
    body = as_page(True).partition("<body>")[2] or as_page(True).partition("</style>")[2]
    texts = [body, as_markdown(True), (tmp_path / "claims.json").read_text()]
    texts.append(json.dumps(verdicts))
    for text in texts:
        assert "320 ms" in text  # the parts are there
        for word in ("hold", "fails", "inconclusive", " at 320"):
            assert word not in text


def figure(mean):
    """A figure whose repeats are known: normal, with these means, and tiny runs."""
    module = ModuleType("figure", "A small figure.")
    module.SEEDS = module.QUICK_SEEDS = 5
    module.grid = lambda seeds: [
        Scenario(
            duration="100ms",
            rtt="10ms",
            seed=seed,
            bottleneck=Bottleneck(rate="5mbit", buffer="10packets"),
            flows=(Flow(algorithm="reno"),),
        )
        for seed in seeds
    ]
    module.reduce = lambda result: {
        str(m): random.Random(f"{m} {result.scenario.seed}").gauss(m, 1) for m in mean
    }
    module.measures = lambda _: []

    def claims(rows):
        parts = [Claim(str(m), "", mean_ci(rows[str(m)].to_list()), "s", low=0) for m in mean]
        return [Every("a.every", "They are positive", parts)]

    module.claims = claims
    return module


def test_seeds_until_each_claim_is_decided(tmp_path):
    figures = [("small/clear", figure([3])), ("small/open", figure([3, 0.0])),
               ("small/false", figure([-2, 0.0]))]  # fmt: skip
    told = []
    found = reproduce.until_decided(
        figures, most=40, cache=tmp_path, executor=Local(1), on_runs=lambda *n: told.append(n[0])
    )
    clear, undecided, false = (each.claims[0] for each in found)
    assert [clear.verdict, undecided.verdict] == ["holds", "inconclusive"]
    assert false.verdict == "fails"  # one part is enough
    seeds = [len(each.rows) for each in found]
    assert seeds[1] == 40
    assert max(seeds[0], seeds[2]) < 40
    assert sum(told) == 40
    assert undecided.parts[0].verdict == "holds"  # of an earlier look


def test_a_claim_that_is_no_mean_asks_for_no_seeds(tmp_path):
    module = figure([0.0])
    module.claims = lambda rows: [
        Claim("a", "", mean_ci(rows["0.0"].to_list(), statistic=np.median), "s", low=0)
    ]
    (found,) = reproduce.until_decided([("small/median", module)], most=40, cache=tmp_path)
    assert len(found.rows) == 10
