//! The texts of a user's file.

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::Path;

use object::{Object, ObjectSymbol};

use crate::preprocessed::has_word;
use crate::Source;

/// Largest file that is taken for a user's algorithm, bytes.
pub(crate) const MAX_BYTES: u64 = 4 << 20;

/// Reads a file; an error if it is larger than [`MAX_BYTES`].
pub(crate) fn read(path: &Path) -> io::Result<Source> {
    let mut text = Vec::new();
    let size = File::open(path)?
        .take(MAX_BYTES + 1)
        .read_to_end(&mut text)? as u64;
    if size > MAX_BYTES {
        let size = fs::metadata(path).map_or(size, |metadata| metadata.len());
        return Err(io::Error::new(
            io::ErrorKind::FileTooLarge,
            format!("it has {size} bytes; a C file may have {MAX_BYTES}"),
        ));
    }
    Ok(Source {
        path: path.into(),
        text,
    })
}

/// Does an #if look at HZ?
pub(crate) fn asks_hz(text: &[u8]) -> bool {
    let text = String::from_utf8_lossy(text);
    let asks = |line: &str| {
        let line = line.trim_start().strip_prefix('#').map(str::trim_start);
        let condition = line.filter(|line| {
            let rest = line.strip_prefix("el").unwrap_or(line).strip_prefix("if");
            rest.is_some_and(|rest| !rest.starts_with(|letter: char| letter.is_alphanumeric()))
        });
        condition.is_some_and(|line| has_word(line, "HZ") || has_word(line, "CONFIG_HZ"))
    };
    text.lines().any(asks)
}

/// The text with a semicolon after `name(...)` where a statement follows: a macro that begins a loop,
/// which nobody has defined, hides from a compiler what it loops over.
pub(crate) fn ended(text: &str, name: &str) -> String {
    let mut done = String::new();
    let mut rest = text;
    while let Some(at) = rest.find(&format!("{name}(")) {
        let opening = at + name.len();
        let mut depth = 0_usize;
        let close = rest[opening..].find(|letter: char| {
            depth += usize::from(letter == '(');
            depth -= usize::from(letter == ')');
            depth == 0
        });
        let Some(close) = close else { break };
        let end = opening + close + 1;
        done += &rest[..end];
        rest = &rest[end..];
        let next = rest.trim_start();
        if next.starts_with(|letter: char| letter.is_alphabetic() || "_{*".contains(letter)) {
            done.push(';');
        }
    }
    done + rest
}

/// The files that a text includes in quotation marks, whatever its conditions say.
pub(crate) fn quoted(text: &str) -> Vec<String> {
    let names = text.lines().filter_map(|line| {
        let directive = line.trim_start().strip_prefix('#')?.trim_start();
        let name = directive.strip_prefix("include")?.trim_start();
        name.strip_prefix('"')?.split_once('"')
    });
    names.map(|(name, _)| name.into()).collect()
}

/// The functions and variables that an object has for others.
pub(crate) fn defined(object: &[u8]) -> Vec<String> {
    let Ok(object) = object::File::parse(object) else {
        return Vec::new();
    };
    let symbols = object.symbols().filter(ObjectSymbol::is_global);
    let defined = symbols.filter(|symbol| !symbol.is_undefined());
    defined
        .filter_map(|symbol| symbol.name().ok().map(String::from))
        .collect()
}
