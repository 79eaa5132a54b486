//! A file's tables with a bound at each index, which is within the table anyway: the verifier wants to
//! see that.

use std::collections::BTreeSet;
use std::ops::Range;

/// The text with `NAME[cc_within(ARRAY_SIZE(NAME), INDEX)]` for `NAME[INDEX]` in functions, where NAME
/// is a static array with a value.
pub(super) fn bounded(text: &str) -> String {
    let tokens = tokens(text);
    let at = |index: usize| tokens.get(index).map_or("", |token| &text[token.clone()]);
    let names: BTreeSet<&str> = (0..tokens.len())
        .filter(|&index| is_declared(&at, index))
        .map(at)
        .collect();
    let mut done = String::new();
    let mut from = 0;
    let mut closings = Vec::new();
    let mut depth = 0;
    for (index, token) in tokens.iter().enumerate() {
        let word = at(index);
        depth += usize::from(word == "{");
        depth -= usize::from(word == "}").min(depth);
        let is_table = names.contains(word) && at(index + 1) == "[" && depth > 0;
        let is_member = index > 0 && matches!(at(index - 1), "." | "->");
        let is_number = at(index + 2).starts_with(|letter: char| letter.is_ascii_digit())
            && at(index + 3) == "]";
        if is_table && !is_member && !is_number && !is_declared(&at, index) {
            if let Some(close) = closing(&at, index + 1) {
                let opening = &tokens[index + 1];
                done += &text[from..opening.end];
                done += &format!("cc_within(ARRAY_SIZE({word}), ");
                from = opening.end;
                closings.push(close);
            }
        }
        if closings.contains(&index) {
            done += &text[from..token.start];
            done.push(')');
            from = token.start;
        }
    }
    done + &text[from..]
}

/// `static const u8 NAME[] = {`: is the name there?
fn is_declared<'a>(at: &impl Fn(usize) -> &'a str, index: usize) -> bool {
    if at(index + 1) != "[" {
        return false;
    }
    let Some(mut end) = closing(at, index + 1) else {
        return false;
    };
    while at(end + 1) == "[" {
        match closing(at, end + 1) {
            Some(next) => end = next,
            None => return false,
        }
    }
    end += 1;
    while at(end).starts_with("__") {
        end += 1;
    }
    // static const struct { u32 a, b; } NAME[]
    let mut start = index;
    if index > 0 && at(index - 1) == "}" {
        let mut depth = 0_usize;
        while start > 0 {
            start -= 1;
            depth += usize::from(at(start) == "}");
            depth -= usize::from(at(start) == "{");
            if depth == 0 {
                break;
            }
        }
    }
    let before = (0..start).rev().map(at);
    let mut before = before.take_while(|word| !matches!(*word, ";" | "{" | "}"));
    at(end) == "=" && at(end + 1) == "{" && before.any(|word| word == "static")
}

/// The bracket that closes this one.
fn closing<'a>(at: &impl Fn(usize) -> &'a str, opening: usize) -> Option<usize> {
    let mut depth = 0_usize;
    for index in opening.. {
        match at(index) {
            "" => return None,
            "[" => depth += 1,
            "]" => depth -= 1,
            _ => (),
        }
        if depth == 0 {
            return Some(index);
        }
    }
    None
}

/// What a compiler sees, without strings and lines of the preprocessor.
fn tokens(text: &str) -> Vec<Range<usize>> {
    let is_word = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    let bytes = text.as_bytes();
    let mut found = Vec::new();
    let mut at = 0;
    let mut is_new_line = true;
    while at < bytes.len() {
        let start = at;
        let rest = &bytes[at..];
        if rest.starts_with(b"/*") {
            at += text[at..].find("*/").map_or(rest.len(), |end| end + 2);
        } else if rest.starts_with(b"//") || (is_new_line && rest[0] == b'#') {
            while at < bytes.len() && (bytes[at] != b'\n' || bytes[at - 1] == b'\\') {
                at += 1;
            }
        } else if matches!(rest[0], b'"' | b'\'') {
            at += 1;
            while at < bytes.len() && bytes[at] != rest[0] && bytes[at] != b'\n' {
                at += 1 + usize::from(bytes[at] == b'\\');
            }
            at = (at + 1).min(bytes.len());
        } else if is_word(rest[0]) {
            at += rest.iter().take_while(|byte| is_word(**byte)).count();
            found.push(start..at);
        } else if rest.starts_with(b"->") || rest.starts_with(b"==") {
            at += 2;
            found.push(start..at);
        } else if rest[0].is_ascii_whitespace() {
            is_new_line |= rest[0] == b'\n';
            at += 1;
            continue;
        } else {
            at += text[at..].chars().next().map_or(1, char::len_utf8);
            found.push(start..at);
        }
        is_new_line &= rest.starts_with(b"/*");
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_index_of_a_table_is_bounded() {
        let declared =
            "static const u8 t[] = { 1, 2 };\nstatic int steps[4] __read_mostly = { };\n";
        let (code, becomes) = (
            "int f(int i) { /* t[i] */ u8 x[2]; g(\"t[i]\"); x[i] = a->t[i] + t[steps[i]\n+ 1] + t[1]; \
             return sizeof(t) + x[0]; }",
            "int f(int i) { /* t[i] */ u8 x[2]; g(\"t[i]\"); x[i] = a->t[i] + \
             t[cc_within(ARRAY_SIZE(t), steps[cc_within(ARRAY_SIZE(steps), i)]\n+ 1)] + t[1]; \
             return sizeof(t) + x[0]; }",
        );
        let text = |code: &str| format!("{declared}#define X t[i]\n{code}");
        assert_eq!(bounded(&text(code)), text(becomes));
        let pairs =
            "static const struct pair { u32 a, b; } t[] = { 1 };\nint f(void) { return t[x].a; }";
        let bound = pairs.replace("t[x]", "t[cc_within(ARRAY_SIZE(t), x)]");
        assert_eq!(bounded(pairs), bound);
        let own = "u8 root(u32 a) {\n\tstatic const u8 v[] = {\n 1 };\n\treturn v[a]; }";
        let bound = own.replace("v[a]", "v[cc_within(ARRAY_SIZE(v), a)]");
        assert_eq!(bounded(own), bound);
    }
}
