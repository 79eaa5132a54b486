"""How claims are shown: every part of a claim about several points, and no verdict if quick."""

import json
from types import SimpleNamespace

import pytest

from ackclock import Claim, Every, report, reproduce
from ackclock.stats import Estimate

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
