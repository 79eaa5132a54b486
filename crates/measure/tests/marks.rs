//! Each mark of the scorecard, by intervals of which it can be told by hand.

use ackclock_measure::Mark::{Better, Mixed, Same, Unclear, Worse};
use ackclock_measure::{headline, is_equal, Estimate, Mark, Rule};

const INFINITE: f64 = f64::INFINITY;

fn rule(more: bool, unsafe_from: f64) -> Rule {
    Rule {
        more,
        margin: 1.0,
        bound: Some(unsafe_from),
    }
}

fn estimate(low: f64, high: f64, n: usize) -> Estimate {
    Estimate {
        mean: (low + high) / 2.0,
        low,
        high,
        n,
        censored: 0,
    }
}

fn mark(low: f64, high: f64, more: bool) -> Mark {
    rule(more, 0.0).mark(Some(estimate(low, high, 10)))
}

#[test]
fn better_and_worse_are_beyond_the_margin() {
    assert_eq!(
        (mark(2.0, 3.0, true), mark(-3.0, -2.0, false)),
        (Better, Better)
    );
    assert_eq!(
        (mark(2.0, 3.0, false), mark(-3.0, -2.0, true)),
        (Worse, Worse)
    );
    assert_eq!(
        (mark(1.0, 3.0, true), mark(-3.0, -1.0, true)),
        (Unclear, Unclear)
    );
}

#[test]
fn the_same_is_within_the_margin() {
    assert_eq!(
        (mark(-0.5, 0.5, true), mark(-1.0, 1.0, false)),
        (Same, Same)
    );
}

#[test]
fn an_interval_on_both_sides_of_the_margin_is_unclear() {
    for (low, high) in [(0.5, 3.0), (-3.0, 0.5), (-9.0, 9.0), (0.0, INFINITE)] {
        assert_eq!(
            (mark(low, high, true), mark(low, high, false)),
            (Unclear, Unclear)
        );
    }
    assert_eq!(rule(true, 0.0).mark(None), Unclear);
}

#[test]
fn one_run_is_marked_by_its_number() {
    let mut one = estimate(-INFINITE, INFINITE, 1);
    for (mean, expected) in [(2.0, Better), (0.5, Same), (-2.0, Worse)] {
        one.mean = mean;
        assert_eq!(rule(true, 0.0).mark(Some(one)), expected);
    }
}

#[test]
fn a_row_has_the_strongest_mark_of_its_numbers() {
    let of_row = |marks: &[Mark]| Mark::of_row(marks.iter().copied());
    assert_eq!(of_row(&[Better, Same, Worse]), Mixed);
    assert_eq!(of_row(&[Worse, Unclear, Better, Worse, Same]), Mixed);
    assert_eq!(of_row(&[Same, Unclear, Worse, Unclear]), Worse);
    assert_eq!(of_row(&[Unclear, Better, Same]), Better);
    assert_eq!(of_row(&[Same, Unclear, Same]), Unclear);
    assert_eq!(of_row(&[Same, Same]), Same);
    assert_eq!(of_row(&[]), Same);
}

#[test]
fn unsafe_is_the_whole_interval() {
    let found = |low, high| Some(estimate(low, high, 3));
    assert!(rule(true, 5.0).is_unsafe(found(3.0, 4.9)));
    assert!(!rule(true, 5.0).is_unsafe(found(3.0, 5.0)));
    assert!(rule(false, 5.0).is_unsafe(found(5.1, 9.0)));
    assert!(!rule(false, 5.0).is_unsafe(found(5.0, 9.0)));
    let one = Estimate {
        mean: 6.0,
        ..estimate(-INFINITE, INFINITE, 1)
    };
    assert!(rule(false, 5.0).is_unsafe(Some(one)));
    assert!(!rule(false, 5.0).is_unsafe(None));
    let bound = None;
    assert!(!Rule {
        bound,
        ..rule(false, 5.0)
    }
    .is_unsafe(found(5.1, 9.0)));
}

#[test]
fn equal_is_each_run_and_not_their_mean() {
    let same = Some(estimate(1.0, 3.0, 3));
    assert!(is_equal(same, same, Some(estimate(0.0, 0.0, 3))));
    assert!(
        !is_equal(same, same, Some(estimate(-1.0, 1.0, 3))),
        "runs changed places"
    );
    assert!(!is_equal(
        same,
        Some(estimate(1.0, 2.0, 3)),
        Some(estimate(0.0, 0.0, 3))
    ));
    let one = Estimate {
        mean: 0.0,
        ..estimate(-INFINITE, INFINITE, 1)
    };
    assert!(is_equal(same, same, Some(one)));
    let cut_off = Estimate {
        censored: 3,
        ..estimate(-INFINITE, INFINITE, 3)
    };
    let cut_off = Some(Estimate {
        mean: 0.0,
        ..cut_off
    });
    assert!(is_equal(cut_off, cut_off, cut_off));
    assert!(is_equal(None, None, None));
}

#[test]
fn a_card_in_one_line() {
    let row =
        |name: &str, is_unsafe, mark: &str| (name.to_owned(), is_unsafe, Some(mark.to_owned()));
    let rows = [
        row("R1", false, "same"),
        row("R2", true, "worse"),
        row("R3", false, "better"),
    ];
    let equal = ["Reno".to_owned(), "BBR".to_owned()];
    assert_eq!(
        headline(&rows, Some("CUBIC"), &equal, None),
        "against CUBIC: 1 better, 1 same; unsafe in R2; equal to Reno and BBR in every number"
    );
    assert_eq!(headline(&rows[..1], None, &[], None), "nothing unsafe");
    assert_eq!(
        headline(&rows, Some("CUBIC"), &[], Some("R3")),
        "against CUBIC: 1 same; unsafe in R2; failed in R3"
    );
    assert_eq!(
        headline(&rows[1..2], Some("CUBIC"), &[], Some("R2")),
        "failed in R2"
    );
}
