//! The members of an algorithm's private state, read from its C file: restricted C has
//! only integers, bit-fields, arrays of them and structures of those.

use std::fs;
use std::path::Path;

pub struct Member {
    /// As C has it: `cubic.cnt`, `ring[3]`.
    pub name: String,
    /// Its comment.
    pub doc: String,
    /// Byte in the private state where it begins.
    pub offset: usize,
    pub size: usize,
    /// Of a bit-field, its first bit and how many it has.
    pub bits: Option<(usize, usize)>,
}

impl Member {
    pub fn value(&self, private: &[u64]) -> u64 {
        let bytes: Vec<u8> = private.iter().flat_map(|word| word.to_le_bytes()).collect();
        let mut value = [0; 8];
        value[..self.size].copy_from_slice(&bytes[self.offset..self.offset + self.size]);
        let value = u64::from_le_bytes(value);
        match self.bits {
            Some((first, bits)) => value >> first & ((1 << bits) - 1),
            None => value,
        }
    }
}

/// The members of what `CC_PRIVATE` names, in their order; none without one.
///
/// # Panics
/// The file has a declaration that this does not understand.
pub fn members(algorithms: &Path, file: &str) -> Vec<Member> {
    let text = with_headers(algorithms, &algorithms.join(file));
    let Some((_, private)) = text.split_once("CC_PRIVATE(struct ") else {
        return Vec::new();
    };
    let mut members = Vec::new();
    let name = private.split(')').next().unwrap();
    layout(&text, name, "", 0, &mut members);
    members
}

/// A file after the headers that it includes, but for those of every algorithm.
fn with_headers(algorithms: &Path, file: &Path) -> String {
    let text = fs::read_to_string(file).unwrap_or_else(|error| panic!("{file:?}: {error}"));
    let headers = text
        .lines()
        .filter_map(|line| line.strip_prefix("#include \"")?.strip_suffix('"'))
        .filter(|header| *header != "tcp_cc.h")
        .map(|header| with_headers(algorithms, &algorithms.join("include").join(header)));
    headers.collect::<String>() + &text
}

/// Adds the members of a structure that begins at `begin`; returns its (size, alignment).
fn layout(
    text: &str,
    structure: &str,
    prefix: &str,
    begin: usize,
    members: &mut Vec<Member>,
) -> (usize, usize) {
    let (_, body) = text
        .split_once(&format!("\nstruct {structure} {{\n"))
        .unwrap_or_else(|| panic!("struct {structure} is not found"));
    let (body, _) = body.split_once("\n}").unwrap();
    let (mut end, mut alignment) = (begin, 1);
    // Bits of the last u32 that bit-fields have taken.
    let mut taken = 0;
    for (declaration, doc) in declarations(body) {
        if let Some((field, bits)) = declaration.split_once(':') {
            let name = field.trim().strip_prefix("u32 ");
            let name = name.unwrap_or_else(|| panic!("`{declaration}`: a bit-field is a u32"));
            let bits: usize = bits.trim().parse().unwrap();
            if taken == 0 || taken + bits > 32 {
                (end, taken) = (end.next_multiple_of(4) + 4, 0);
                alignment = alignment.max(4);
            }
            members.push(Member {
                name: format!("{prefix}{name}"),
                doc,
                offset: end - 4,
                size: 4,
                bits: Some((taken, bits)),
            });
            taken += bits;
            continue;
        }
        taken = 0;
        let (kind, names) = declaration
            .rsplit_once(' ')
            .unwrap_or_else(|| panic!("struct {structure}: `{declaration}` is no member"));
        let (name, count) = match names.split_once('[') {
            Some((name, count)) => (name, count.trim_end_matches(']').parse().unwrap()),
            None => (names, 1),
        };
        for index in 0..count {
            let name = match count {
                1 => format!("{prefix}{name}"),
                _ => format!("{prefix}{name}[{index}]"),
            };
            let size = match kind {
                "u8" | "bool" => 1,
                "u16" => 2,
                "u32" => 4,
                "u64" => 8,
                _ => {
                    let inner = kind.strip_prefix("struct ").unwrap_or_else(|| {
                        panic!("struct {structure}: the type `{kind}` is not known here")
                    });
                    let (_, inner_alignment) = layout(text, inner, "", 0, &mut Vec::new());
                    end = end.next_multiple_of(inner_alignment);
                    let (size, _) = layout(text, inner, &format!("{name}."), end, members);
                    end += size;
                    alignment = alignment.max(inner_alignment);
                    continue;
                }
            };
            end = end.next_multiple_of(size);
            let doc = doc.clone();
            members.push(Member {
                name,
                doc,
                offset: end,
                size,
                bits: None,
            });
            end += size;
            alignment = alignment.max(size);
        }
    }
    ((end - begin).next_multiple_of(alignment), alignment)
}

/// Every declaration, without its semicolon, and the comment behind it.
fn declarations(mut body: &str) -> Vec<(String, String)> {
    let mut declarations: Vec<(String, String)> = Vec::new();
    loop {
        let (code, rest) = body.split_once("/*").unwrap_or((body, ""));
        let written = code
            .split(';')
            .map(str::trim)
            .filter(|code| !code.is_empty());
        declarations.extend(written.map(|code| (code.to_string(), String::new())));
        let Some((comment, rest)) = rest.split_once("*/") else {
            return declarations;
        };
        if let Some((_, doc)) = declarations.last_mut() {
            let words = comment.split_whitespace().filter(|word| *word != "*");
            *doc = words.collect::<Vec<_>>().join(" ");
        }
        body = rest;
    }
}
