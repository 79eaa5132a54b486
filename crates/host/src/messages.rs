//! A compiler's messages, for the user of a C file: only errors, each at a place in the user's
//! own files.

use std::path::Path;

use crate::{AlgorithmError, FILE_LABEL};

/// How many errors are worth reading at once.
const MOST: usize = 4;

/// What is said of a file of that `text` that a compiler refused; `None`: the compiler wrote nothing.
pub fn refused(written: &str, path: &str, text: &str, ours: &Path) -> Option<AlgorithmError> {
    // gcc's words, for x86 and for Arm, where -mgeneral-regs-only leaves no register.
    let float = ["with SSE disabled", "use of floating-point"];
    let complaint =
        |line: &&str| line.contains("error") && float.iter().any(|text| line.contains(text));
    if let Some(line) = written.lines().find(complaint) {
        let error = errors(line, path, ours);
        let place = error.split(": ").next().unwrap_or_default();
        return Some(AlgorithmError::floating_point(path, place));
    }
    let mut errors = errors(written, path, ours);
    if errors.is_empty() {
        return None;
    }
    if errors.contains("';'") {
        if let Some((line, name)) = unended(text) {
            errors = format!("{path}:{line}: write ; after {name}(…)");
        }
    }
    // gcc's words, and clang's two.
    let unknown = ["no member named", "does not refer to any field"];
    if unknown.iter().any(|words| errors.contains(words)) {
        errors +=
            "\nalgorithms/include/tcp_cc_types.h lists the fields and the hooks that a host serves";
    }
    Some(AlgorithmError::does_not_compile(path, &errors))
}

/// The errors in what a compiler wrote, one a line: `my_cc.c:12:5: what is wrong`.
///
/// `path` is the name for [`FILE_LABEL`], `ours` the directory with our headers. An error inside
/// a macro of ours is reported where the user's file uses the macro.
pub fn errors(written: &str, path: &str, ours: &Path) -> String {
    let ours = ours.to_string_lossy();
    let lines: Vec<_> = written.lines().map(Line::parse).collect();
    let mut errors: Vec<String> = Vec::new();
    for (index, line) in lines.iter().enumerate() {
        let Some(line) = line.as_ref().filter(|line| line.is_error) else {
            continue;
        };
        let rest = &lines[index + 1..];
        let notes = rest
            .iter()
            .take_while(|line| line.as_ref().is_none_or(|line| line.is_note))
            .flatten();
        let users = std::iter::once(line)
            .chain(notes)
            .find(|line| !line.place.starts_with(&*ours));
        let place = users.map_or_else(
            || line.place.rsplit('/').next().unwrap_or_default(),
            |line| line.place,
        );
        let place = match place.strip_prefix(FILE_LABEL) {
            Some(rest) => format!("{path}{rest}"),
            None => place.into(),
        };
        // clang's words about a function of ours that BPF does not have.
        let text = line.text.split_once("declared with 'error' attribute: ");
        let text = text.map_or(line.text, |(_, why)| why);
        let error = format!("{place}: {}", plain(text));
        if !errors.contains(&error) {
            errors.push(error);
        }
    }
    if errors.is_empty() {
        if let Some(place) = written.lines().find_map(signed_division) {
            return format!(
                "{path}:{place}: signed division, which BPF lacks; divide a u32 or u64 instead"
            );
        }
        if let Some(name) = written.lines().find_map(defined_twice) {
            return taken(name);
        }
        // A linker's, or a driver's: no place to show.
        let path_of_ours = format!("{ours}/");
        let written = written.replace(&path_of_ours, "");
        let lines = written.lines().filter(|line| !line.trim().is_empty());
        return lines.take(MOST).collect::<Vec<_>>().join("\n");
    }
    let more = errors.len().saturating_sub(MOST);
    errors.truncate(MOST);
    if more > 0 {
        errors.push(format!("and {more} more"));
    }
    errors.join("\n")
}

/// The header that the preprocessor did not find, as the file writes it, and the place.
pub fn missing_header(written: &str, path: &str) -> Option<(String, String)> {
    written.lines().filter_map(Line::parse).find_map(|line| {
        let gcc = line.text.strip_suffix(": No such file or directory");
        let clang = line.text.strip_suffix(" file not found");
        let header = gcc.or(clang.map(|name| name.trim_matches('\'')))?;
        // The header gets a file of that name: no other directory.
        let is_plain = header
            .split('/')
            .all(|part| !matches!(part, "" | "." | ".."));
        is_plain.then(|| (header.into(), short(line.place, path)))
    })
}

/// The names in a compiler's errors that a file uses and nothing declares, each once, with the
/// first place.
pub fn unserved(written: &str, path: &str, ours: &Path) -> Vec<(String, String)> {
    let ours = ours.to_string_lossy();
    let mut names: Vec<(String, String)> = Vec::new();
    for line in written.lines().filter_map(Line::parse) {
        let Some(name) = undeclared(line.text).filter(|_| line.is_error) else {
            continue;
        };
        let is_known = names.iter().any(|(known, _)| *known == name);
        if !is_known && !line.place.starts_with(&*ours) {
            names.push((name, short(line.place, path)));
        }
    }
    names
}

/// The line and the name of the first macro of ours without its `;`: compilers see the next line.
pub fn unended(text: &str) -> Option<(usize, &'static str)> {
    let lines = text.split_inclusive('\n');
    let starts = lines.scan(0, |end, line| Some((*end, *end += line.len()).0));
    starts.enumerate().find_map(|(line, start)| {
        let names = ["CC_PRIVATE", "CC_STORAGE", "CC_ALGORITHM"];
        let name = names
            .into_iter()
            .find(|name| text[start..].starts_with(name))?;
        let mut depth = 0;
        let rest = text[start + name.len()..].trim_start_matches(|letter| {
            depth += i32::from(letter == '(') - i32::from(letter == ')');
            depth > 0
        });
        let after = rest.strip_prefix(')')?.trim_start();
        (!after.starts_with(';')).then_some((line + 1, name))
    })
}

/// The names in a compiler's errors that a file defines, and a header did before.
pub(crate) fn defined_again(written: &str) -> Vec<String> {
    let lines = written.lines().filter_map(Line::parse);
    let errors = lines.filter(|line| line.is_error);
    let words = ["redefinition of", "conflicting types", "static declaration"];
    let names = errors.filter_map(|line| {
        let said = words.iter().any(|words| line.text.contains(words));
        let name = line.text.split('\'').nth(1).filter(|_| said)?;
        Some(name.split(' ').next_back()?.to_string())
    });
    names.collect()
}

/// The types in a compiler's errors that nothing declares: `sockptr_t`, `struct proto`.
pub fn unknown_types(written: &str) -> Vec<String> {
    let lines = written.lines().filter_map(Line::parse);
    let errors = lines.filter(|line| line.is_error);
    let types = errors.filter_map(|line| {
        let name = line.text.split('\'').nth(1)?;
        let is_structure = name
            .strip_prefix("struct ")
            .is_some_and(|tag| !tag.contains(' '));
        let is_incomplete = ["undefined type", "incomplete"]
            .iter()
            .any(|words| line.text.contains(words));
        let is_type = line.text.contains("unknown type name");
        (is_type || (is_structure && is_incomplete)).then(|| name.to_string())
    });
    types.collect()
}

/// The name that an error is about, in gcc's words or clang's.
fn undeclared(text: &str) -> Option<String> {
    let quoted: Vec<&str> = text.split('\'').skip(1).step_by(2).collect();
    let said = |words: &str| text.contains(words);
    let member = |of: &str, name: &str| format!("{name} of {of}");
    match quoted[..] {
        [of, name, ..] if said("has no member named") => Some(member(of, name)),
        [name, of, ..] if text.starts_with("no member named") => Some(member(of, name)),
        [name, ..] if said("does not refer to any field") => Some(name.into()),
        [name, ..] if said("implicit declaration") || said("undeclared") => Some(name.into()),
        [name, ..] if said("unknown type name") => Some(name.into()),
        [name, ..] if said("invalid use of undefined type") => Some(name.into()),
        [name, ..] if said("incomplete definition of type") => Some(name.into()),
        [name, ..] if said("read-only member") => Some(format!("a write to {name}")),
        _ => None,
    }
}

/// `file.c:12` of a place with a column.
fn short(place: &str, path: &str) -> String {
    let mut parts = place.rsplitn(3, ':');
    let (last, second, rest) = (parts.next(), parts.next(), parts.next());
    let place = match (rest, second, last) {
        (Some(file), Some(line), _) => format!("{file}:{line}"),
        _ => place.to_string(),
    };
    match place.strip_prefix(FILE_LABEL) {
        Some(rest) => format!("{path}{rest}"),
        None => place,
    }
}

/// Where BPF's code generator of clang 14 found one; newer ones say it as any other error.
fn signed_division(line: &str) -> Option<&str> {
    let (_, found) = line.split_once("signed division for DAG")?;
    let (_, place) = found.split_once(FILE_LABEL)?;
    place.strip_prefix(':')?.split([' ', ',']).next()
}

/// A name that is not the user's to define.
pub(crate) fn taken(name: &str) -> String {
    format!("the compiler has a function or a variable `{name}` itself; choose another name")
}

/// The name that a linker found in the file and in the compiler's own objects.
fn defined_twice(line: &str) -> Option<&str> {
    let gnu = line.split_once("multiple definition of `");
    let name = gnu.map(|(_, rest)| rest.split('\''));
    let lld = || line.split_once("duplicate symbol: ").map(|(_, rest)| rest);
    name.and_then(|mut parts| parts.next()).or_else(lld)
}

/// What a static assertion says, or an error without the name of the option that made it one.
fn plain(text: &str) -> &str {
    let text = match text.rsplit_once(" [-W") {
        Some((text, _)) => text,
        None => text,
    };
    if text.starts_with("static assertion failed") || text.starts_with("static_assert failed") {
        let quoted = text
            .split_once('"')
            .and_then(|(_, rest)| rest.rsplit_once('"'));
        return match (quoted, text.split_once(": ")) {
            (Some((said, _)), _) => said,
            (None, Some((_, said))) => said,
            (None, None) => text,
        };
    }
    text
}

/// A line `place: error: text`, or a note.
struct Line<'a> {
    place: &'a str,
    text: &'a str,
    is_error: bool,
    is_note: bool,
}

impl<'a> Line<'a> {
    fn parse(line: &'a str) -> Option<Self> {
        let split = |kind| line.split_once(kind).filter(|(place, _)| has_line(place));
        let error = split(": error: ").or_else(|| split(": fatal error: "));
        let note = split(": note: ");
        let (place, text) = error.or(note).or_else(|| split(": warning: "))?;
        Some(Self {
            place,
            text,
            is_error: error.is_some(),
            is_note: error.is_none() && note.is_some(),
        })
    }
}

/// Does it end in a line number, as `file.c:12:5` or `file.c:12`?
fn has_line(place: &str) -> bool {
    place
        .rsplit_once(':')
        .is_some_and(|(_, number)| number.parse::<u32>().is_ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_stand_where_the_user_wrote_them() {
        let gcc = "\
In file included from /tmp/ours/include/tcp_cc.h:117,
                 from file.c:2:
/tmp/ours/include/host_native.h:60:9: error: static assertion failed: \"beta: no whole number\"
   60 |         _Static_assert(0, \"x\")
      |         ^~~~~~~~~~~~~~
/tmp/ours/include/host_native.h:63:9: note: in expansion of macro 'CC_WHOLE'
file.c:1:22: note: in expansion of macro 'P'
/tmp/ours/include/host_native.h:70:9: note: in expansion of macro 'CC_PARAMS'
file.c: In function 'f':
file.c:9:3: warning: something harmless [-Wall]
file.c:12:5: error: implicit declaration of function 'g' [-Werror=implicit-function-declaration]
file.c:12:5: error: implicit declaration of function 'g' [-Werror=implicit-function-declaration]
";
        assert_eq!(
            errors(gcc, "./a b.c", Path::new("/tmp/ours")),
            "./a b.c:1:22: beta: no whole number\n\
             ./a b.c:12:5: implicit declaration of function 'g'"
        );
        let clang = "\
/tmp/ours/include/host_kernel.h:60:9: error: static_assert failed due to requirement '0' \"no\"
file.c:1:22: note: expanded from macro 'CC_PARAMS'
";
        assert_eq!(errors(clang, "x.c", Path::new("/tmp/ours")), "x.c:1:22: no");
    }

    #[test]
    fn few_are_shown_and_a_linkers_words_as_they_are() {
        let many: String = (1..=9)
            .map(|n| format!("file.c:{n}:1: error: e\n"))
            .collect();
        let shown = errors(&many, "x.c", Path::new("/t"));
        assert_eq!(shown.lines().count(), 5);
        assert!(shown.ends_with("x.c:4:1: e\nand 5 more"), "{shown}");
        let linker = "\n/usr/bin/ld: /t/x.o: file truncated";
        assert_eq!(
            errors(linker, "x.c", Path::new("/t")),
            "/usr/bin/ld: x.o: file truncated"
        );
        let bpf = "\
Error at line 10: Unsupport signed division for DAG: 0x1741ddd8: i64 = sdiv 0x1741dd70, 0x1741d550, file.c:10:9 @[ file.c:4:1 ]Please convert to unsigned div/mod.
fatal error: error in backend: Cannot select: 0x1741ddd8: i64 = sdiv 0x1741dd70, 0x1741d550, file.c:10:9 @[ file.c:4:1 ]
";
        assert_eq!(
            errors(bpf, "x.c", Path::new("/t")),
            "x.c:10:9: signed division, which BPF lacks; divide a u32 or u64 instead"
        );
        for linker in [
            "/usr/bin/ld: /t/x.o: in function `f':\nx.c:(.text+0x0): multiple definition of `f'; crti.o",
            "ld.lld: error: duplicate symbol: f\n>>> defined at crti.o",
        ] {
            assert_eq!(
                errors(linker, "x.c", Path::new("/t")),
                "the compiler has a function or a variable `f` itself; choose another name"
            );
        }
    }
}
