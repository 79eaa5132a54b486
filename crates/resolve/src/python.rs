//! What Python does with values and words, so that messages are the same.

use std::collections::HashMap;

use serde_json::Value;

/// `repr` of a float: the shortest decimals, an exponent where it is short.
pub fn float(value: f64) -> String {
    if value.is_nan() {
        return "NaN".into();
    }
    if value.is_infinite() {
        return if value > 0.0 { "Infinity" } else { "-Infinity" }.into();
    }
    let text = format!("{value:e}");
    let (digits, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    if (-4..16).contains(&exponent) {
        let plain = format!("{value}");
        return if plain.contains('.') {
            plain
        } else {
            plain + ".0"
        };
    }
    let sign = if exponent < 0 { '-' } else { '+' };
    format!("{digits}e{sign}{:02}", exponent.abs())
}

/// `format(value, "g")`.
pub fn general(value: f64) -> String {
    if value == 0.0 {
        return "0".into();
    }
    let text = format!("{value:.5e}");
    let (digits, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    let short = |text: &str| match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.').to_string(),
        false => text.to_string(),
    };
    if (-4..6).contains(&exponent) {
        let places = (5 - exponent).max(0) as usize;
        return short(&format!("{value:.places$}"));
    }
    let sign = if exponent < 0 { '-' } else { '+' };
    format!("{}e{sign}{:02}", short(digits), exponent.abs())
}

/// A value as in a scenario file: `ackclock.scenario.model.toml`.
pub fn toml(value: &Value) -> String {
    match value {
        Value::Array(each) => {
            let each: Vec<_> = each.iter().map(toml).collect();
            format!("[{}]", each.join(", "))
        }
        Value::Object(table) => {
            let pairs = table
                .iter()
                .map(|(key, each)| format!("{key} = {}", toml(each)));
            format!("{{{}}}", pairs.collect::<Vec<_>>().join(", "))
        }
        Value::Number(number) if number.is_f64() => float(number.as_f64().unwrap_or(f64::NAN)),
        other => other.to_string(),
    }
}

/// A text that fits into an error.
pub fn brief(text: &str) -> String {
    let length = text.chars().count();
    if length <= 200 {
        return text.into();
    }
    let start: String = text.chars().take(100).collect();
    format!("{start}… ({length} characters)")
}

/// The text with its control characters spelt out: `ackclock.base.errors.visible`.
pub fn visible(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for letter in text.chars() {
        let is_control = matches!(letter,
            '\0'..='\x08' | '\x0b'..='\x1f' | '\x7f'..='\u{9f}' | '\u{61c}' | '\u{200e}' | '\u{200f}'
            | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
        if is_control {
            shown += &format!("\\u{:04x}", letter as u32);
        } else {
            shown.push(letter);
        }
    }
    shown
}

/// The known name that `word` may misspell: `difflib.get_close_matches` with a cutoff of 0.7.
pub fn nearest<'a>(word: &str, known: &[&'a str]) -> Option<&'a str> {
    let scored = known.iter().map(|each| (ratio(each, word), *each));
    let close = scored.filter(|(ratio, _)| *ratio >= 0.7);
    let best = close.reduce(|best, each| {
        let is_better = each.0 > best.0 || (each.0 == best.0 && each.1 > best.1);
        if is_better {
            each
        } else {
            best
        }
    });
    best.map(|(_, name)| name)
}

/// `SequenceMatcher(None, a, b).ratio()`.
fn ratio(a: &str, b: &str) -> f64 {
    let (a, b): (Vec<_>, Vec<_>) = (a.chars().collect(), b.chars().collect());
    let length = a.len() + b.len();
    if length == 0 {
        return 1.0;
    }
    2.0 * matches(&a, &b) as f64 / length as f64
}

/// Letters in the longest common block, and in those left and right of it.
fn matches(a: &[char], b: &[char]) -> usize {
    let (mut start_a, mut start_b, mut size) = (0, 0, 0);
    let mut lengths: HashMap<usize, usize> = HashMap::new();
    for (i, letter) in a.iter().enumerate() {
        let mut next = HashMap::new();
        for (j, other) in b.iter().enumerate() {
            if letter == other {
                let length = 1 + j.checked_sub(1).and_then(|j| lengths.get(&j)).unwrap_or(&0);
                next.insert(j, length);
                if length > size {
                    (start_a, start_b, size) = (i + 1 - length, j + 1 - length, length);
                }
            }
        }
        lengths = next;
    }
    if size == 0 {
        return 0;
    }
    let left = matches(&a[..start_a], &b[..start_b]);
    let right = matches(&a[start_a + size..], &b[start_b + size..]);
    left + size + right
}
