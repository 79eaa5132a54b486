//! What Python does with values and words, so that messages are the same.

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

/// `format(value, ".6g")`, with so many digits.
pub fn general(value: f64, digits: usize) -> String {
    if value == 0.0 {
        return "0".into();
    }
    let text = format!("{value:.0$e}", digits - 1);
    let (shown, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    let digits = digits as i32;
    let short = |text: &str| match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.').to_string(),
        false => text.to_string(),
    };
    if (-4..digits).contains(&exponent) {
        let places = (digits - 1 - exponent).max(0) as usize;
        return short(&format!("{value:.places$}"));
    }
    let sign = if exponent < 0 { '-' } else { '+' };
    format!("{}e{sign}{:02}", short(shown), exponent.abs())
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
