//! Marks of the scorecard: how an algorithm does against another in its place, number by number.

use serde::{Deserialize, Serialize};

use Mark::{Better, Mixed, Same, Unclear, Worse};

/// How an algorithm does against another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Mark {
    /// The interval of the paired difference is beyond the margin.
    Better,
    /// As above, on the other side.
    Worse,
    /// Some numbers are better, and others worse.
    Mixed,
    /// The interval is within the margin.
    Same,
    /// The interval reaches beyond the margin and into it, or there is no number.
    Unclear,
}

impl Mark {
    /// In the order in which a card counts them.
    const ALL: [Self; 5] = [Better, Worse, Mixed, Same, Unclear];

    /// In a word.
    pub fn name(self) -> &'static str {
        ["better", "worse", "mixed", "same", "unclear"][self as usize]
    }

    /// Of a row, by the marks of its numbers.
    pub fn of_row(marks: impl Iterator<Item = Self>) -> Self {
        marks.fold(Same, |one, other| match (one, other) {
            (Better | Mixed, Worse) | (Worse | Mixed, Better) => Mixed,
            (Unclear | Same, other) if other != Same => other,
            (one, _) => one,
        })
    }
}

/// A number over `n` repeats (0: it has no randomness) with its interval.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[cfg_attr(feature = "python", derive(pyo3::FromPyObject))]
pub struct Estimate {
    /// Of the repeats.
    pub mean: f64,
    /// End of the interval.
    pub low: f64,
    /// As above.
    pub high: f64,
    /// Repeats.
    pub n: usize,
    /// Those of which only a bound is known.
    pub censored: usize,
}

/// What a number is judged by.
#[derive(Clone, Copy, Debug, Deserialize)]
#[cfg_attr(feature = "python", derive(pyo3::FromPyObject))]
pub struct Rule {
    /// Whether more of it is better.
    pub more: bool,
    /// A difference below this is none.
    pub margin: f64,
    /// From here on it is unsafe: above it or, if more is better, below it.
    #[serde(rename = "unsafe")]
    #[cfg_attr(feature = "python", pyo3(attribute("unsafe")))]
    pub bound: Option<f64>,
}

impl Rule {
    /// By the interval of the paired difference to another.
    pub fn mark(&self, difference: Option<Estimate>) -> Mark {
        let Some(difference) = difference else {
            return Unclear;
        };
        let (low, high) = match (self.more, difference.ends()) {
            (true, ends) => ends,
            (false, (low, high)) => (-high, -low),
        };
        if low > self.margin {
            Better
        } else if high < -self.margin {
            Worse
        } else if low < -self.margin || high > self.margin {
            Unclear
        } else {
            Same
        }
    }

    /// Whether all of an algorithm's interval is where it is unsafe.
    pub fn is_unsafe(&self, found: Option<Estimate>) -> bool {
        let (Some(found), Some(bound)) = (found, self.bound) else {
            return false;
        };
        let (low, high) = found.ends();
        if self.more {
            high < bound
        } else {
            low > bound
        }
    }
}

impl Estimate {
    /// Its interval; of one repeat, its number.
    fn ends(&self) -> (f64, f64) {
        match self.n {
            1 => (self.mean, self.mean),
            _ => (self.low, self.high),
        }
    }
}

/// Whether two have the same number in each run, or the same bound.
pub fn is_equal(
    mine: Option<Estimate>,
    other: Option<Estimate>,
    difference: Option<Estimate>,
) -> bool {
    mine == other
        && difference.is_none_or(|of| match of.n != 1 && of.censored == 0 {
            true => of.low == 0.0 && of.high == 0.0,
            false => of.mean == 0.0,
        })
}

/// A card in one line: its rows with whether they are unsafe, and their marks against the `first` of the
/// others; those that are `equal` in every number; the row in which the algorithm failed.
pub fn headline(
    rows: &[(String, bool, Option<String>)],
    first: Option<&str>,
    equal: &[String],
    failed: Option<&str>,
) -> String {
    let rows = rows.iter().filter(|(row, ..)| Some(&**row) != failed);
    let (not_safe, safe): (Vec<_>, Vec<_>) = rows.partition(|(_, is_unsafe, _)| *is_unsafe);
    let count = |mark: &Mark| {
        let alike = safe
            .iter()
            .filter(|row| row.2.as_deref() == Some(mark.name()));
        Some(alike.count()).filter(|count| *count > 0)
    };
    let count = |mark: Mark| Some(format!("{} {}", count(&mark)?, mark.name()));
    let counts: Vec<_> = Mark::ALL.into_iter().filter_map(count).collect();
    let names: Vec<_> = not_safe.iter().map(|(row, ..)| &**row).collect();
    let some = |of: &[String], text: String| (!of.is_empty()).then_some(text);
    let against =
        first.and_then(|first| some(&counts, format!("against {first}: {}", counts.join(", "))));
    let parts = [
        against,
        (!names.is_empty()).then(|| format!("unsafe in {}", names.join(", "))),
        failed.map(|row| format!("failed in {row}")),
        (names.is_empty() && failed.is_none()).then(|| "nothing unsafe".into()),
        some(
            equal,
            format!("equal to {} in every number", equal.join(" and ")),
        ),
    ];
    parts.into_iter().flatten().collect::<Vec<_>>().join("; ")
}
