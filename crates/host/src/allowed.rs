//! What the text of a file that is not trusted may have of the compiler's own words: attributes, builtins
//! and pragmas. There are ones that switch checks off, name sections, or read the processor's clock, and
//! each compiler has more; so these are lists of what is allowed.

use std::path::{Path, PathBuf};

use crate::preprocessed::{shown, Preprocessed};
use crate::AlgorithmError;

/// What they change of code is its speed, its warnings or its layout. A constructor and an indirect function
/// are found in the object.
const ATTRIBUTES: [&str; 25] = [
    "aligned",
    "always_inline",
    "cold",
    "const",
    "constructor",
    "deprecated",
    "destructor",
    "fallthrough",
    "flatten",
    "format",
    "hot",
    "ifunc",
    "may_alias",
    "noclone",
    "noinline",
    "nonnull",
    "noreturn",
    "nothrow",
    "packed",
    "preserve_access_index",
    "pure",
    "unused",
    "used",
    "visibility",
    "warn_unused_result",
];

/// The section of a module's parameters (kernel_module.h).
const SECTION: &str = "\"cc_kernel_params\"";

/// Without `__builtin_`.
const BUILTINS: [&str; 34] = [
    "abs",
    "labs",
    "llabs",
    "assume_aligned",
    "bswap16",
    "bswap32",
    "bswap64",
    "choose_expr",
    "clz",
    "clzl",
    "clzll",
    "constant_p",
    "ctz",
    "ctzl",
    "ctzll",
    "expect",
    "ffs",
    "ffsl",
    "ffsll",
    "memcmp",
    "memcpy",
    "memmove",
    "memset",
    "object_size",
    "offsetof",
    "parity",
    "popcount",
    "popcountl",
    "popcountll",
    "prefetch",
    "trap",
    "types_compatible_p",
    "unreachable",
    "va_list",
];

const PRAGMAS: [&str; 5] = ["once", "unroll", "GCC unroll", "GCC ivdep", "clang loop"];

/// Does a name begin as the checks of checked.c do?
pub(crate) fn is_check(name: &str) -> bool {
    name.starts_with("__asan_") || name.starts_with("__ubsan_")
}

/// Of the checks and the linker, and address spaces, which no check sees.
const NAMES: [&str; 4] = [
    "_GLOBAL_OFFSET_TABLE_",
    "__stack_chk_fail",
    "__seg_fs",
    "__seg_gs",
];

/// Refuses files that do not lie in the file's `directory`, assembly, and words that are not allowed. `name` is
/// what a file is called.
pub(crate) fn check(
    text: &Preprocessed<'_>,
    directory: &Path,
    name: impl Fn(&Path) -> String,
) -> Result<(), AlgorithmError> {
    let outside = text.outside(directory).map(|(path, (file, line))| {
        let word = format!("a file outside its directory ({})", shown(&path));
        (word, file, line)
    });
    if outside.is_none() {
        if let Some((file, line)) = text.assembly() {
            return Err(AlgorithmError::inline_assembly(&name(&file), line));
        }
    }
    match outside.or_else(|| first_refused(text)) {
        None => Ok(()),
        Some((word, file, line)) => Err(error(&word, &name(&file), line)),
    }
}

/// The first word that is not allowed, or a raw string, which may hide one: the word, its file and its line.
fn first_refused(text: &Preprocessed<'_>) -> Option<(String, PathBuf, usize)> {
    if let Some((file, line)) = text.raw_string() {
        return Some(("a raw string".into(), file, line));
    }
    text.foreign().into_iter().find_map(|part| {
        let (word, below) = refused(part.text)?;
        let (file, line) = part.place(below);
        Some((word, file, line))
    })
}

/// What is said of it.
fn error(word: &str, path: &str, line: usize) -> AlgorithmError {
    let problem = match word.is_ascii() && !word.contains('\\') {
        true => "is not for a file that is checked: remove it, or say `ackclock --trust` if the file is your own",
        false => "is no name for the kernel, which takes ASCII letters, digits and _: rename it",
    };
    AlgorithmError(format!("{path}:{line}: {word} {problem}"))
}

/// The same of one text: the word, and how many lines stand above it.
fn refused(text: &str) -> Option<(String, usize)> {
    let mut line = 0;
    let mut rest = text;
    let mut attribute = Attribute::default();
    let mut begins_line = true;
    let mut bracket = false;
    while let Some(first) = rest.chars().next() {
        let token = token(rest, begins_line);
        let at = line;
        line += token.matches('\n').count();
        begins_line = token.ends_with('\n') || (begins_line && token.trim().is_empty());
        rest = &rest[token.len()..];
        if token.trim().is_empty() {
            continue;
        }
        if let Some(pragma) = token.trim_start().strip_prefix('#') {
            let pragma = pragma.trim().strip_prefix("pragma").map(str::trim);
            if let Some(pragma) =
                pragma.filter(|p| !PRAGMAS.iter().any(|known| p.starts_with(known)))
            {
                let words: Vec<_> = pragma.split_whitespace().take(3).collect();
                return Some((format!("#pragma {}", words.join(" ")), at));
            }
            continue;
        }
        // The same as [, which nobody writes.
        if first == '<' && rest.starts_with(':') {
            return Some(("<:".into(), at));
        }
        if first == '[' && bracket {
            return Some(("[[".into(), at));
        }
        bracket = first == '[';
        if let Some(word) = attribute.refuses(token) {
            return Some((word, at));
        }
        let builtin = token.strip_prefix("__builtin_");
        let is_known = |name: &str| BUILTINS.contains(&name) || name.ends_with("_overflow");
        let is_ours = NAMES.contains(&token) || is_check(token);
        let is_name = !token.starts_with(['"', '\'']);
        if is_name && (!token.is_ascii() || token.contains('\\')) {
            return Some((spelt(token), at));
        }
        if builtin.is_some_and(|name| !is_known(name)) || token == "__declspec" || is_ours {
            return Some((token.into(), at));
        }
    }
    None
}

/// A name as it was written: a preprocessor may give `z\U000000e9ro` for `zéro`.
fn spelt(name: &str) -> String {
    let mut parts = name.split('\\');
    let mut spelt = parts.next().unwrap_or_default().to_string();
    for part in parts {
        let digits = if part.starts_with('U') { 8 } else { 4 };
        let code = part.get(1..=digits);
        let letter = code
            .and_then(|code| u32::from_str_radix(code, 16).ok())
            .and_then(char::from_u32);
        spelt.push(letter.unwrap_or('\\'));
        spelt += part.get(1 + digits..).unwrap_or(part);
    }
    spelt
}

/// The next token: a word, a string, space, a line that begins with #, or one character.
fn token(text: &str, begins_line: bool) -> &str {
    let bytes = text.as_bytes();
    let is_word =
        |byte: &u8| byte.is_ascii_alphanumeric() || b"_$\\".contains(byte) || !byte.is_ascii();
    let length = |taken: &dyn Fn(&u8) -> bool| bytes.iter().take_while(|byte| taken(byte)).count();
    let end = match bytes[0] {
        b'\n' => 1,
        byte if byte.is_ascii_whitespace() => {
            length(&|byte| byte.is_ascii_whitespace() && *byte != b'\n')
        }
        b'#' if begins_line => text.find('\n').map_or(text.len(), |end| end + 1),
        quote @ (b'"' | b'\'') => {
            let mut end = 1;
            while end < bytes.len() && bytes[end] != quote {
                end += 1 + usize::from(bytes[end] == b'\\');
            }
            (end + 1).min(bytes.len())
        }
        byte if is_word(&byte) => length(&is_word),
        _ => text.chars().next().map_or(1, char::len_utf8),
    };
    let end = (end..=text.len()).find(|&end| text.is_char_boundary(end));
    &text[..end.unwrap_or(text.len())]
}

/// Where a text is in `__attribute__((name, name(argument)))`.
#[derive(Default)]
struct Attribute {
    /// Parentheses that are open; `None`: outside.
    depth: Option<u32>,
    name: String,
}

impl Attribute {
    /// The name of the attribute that this token shows to be one that is not allowed.
    fn refuses(&mut self, token: &str) -> Option<String> {
        let Some(depth) = self.depth else {
            if ["__attribute__", "__attribute"].contains(&token) {
                self.depth = Some(0);
            }
            return None;
        };
        match token {
            "(" => self.depth = Some(depth + 1),
            ")" if depth <= 1 => self.depth = None,
            ")" => self.depth = Some(depth - 1),
            "," if depth == 2 => self.name.clear(),
            name if depth == 2 => {
                self.name = name.trim_matches('_').into();
                let is_known = self.name == "section" || ATTRIBUTES.contains(&&*self.name);
                return (!is_known).then(|| format!("the attribute {name}"));
            }
            argument if self.name == "section" && argument != SECTION => {
                return Some("the attribute section".into());
            }
            _ => (),
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::refused;

    #[test]
    fn what_is_usual_is_allowed() {
        for text in [
            "static __attribute__((noinline, unused)) int f(void);",
            "struct s { int a; } __attribute__((__packed__, aligned(8)));",
            "x __attribute__((used, section(\"cc_kernel_params\"))) = 1;",
            "int a = b[c[1]] + __builtin_clzll(x);",
            "#pragma GCC unroll 4\n# 1 \"f.c\" 3\nchar *s = \"no_sanitize [[\";",
            "__builtin_add_overflow(a, b, &c); char c = '\"'; x = \"\\\"\";",
        ] {
            assert_eq!(refused(text), None, "{text}");
        }
    }

    #[test]
    fn what_switches_checks_off_is_refused() {
        for (text, word) in [
            (
                "a\n__attribute__((no_sanitize(\"kernel-address\"))) f",
                "the attribute no_sanitize",
            ),
            (
                "a\n__attribute__((unused, __no_sanitize_address__)) f",
                "the attribute __no_sanitize_address__",
            ),
            ("a\n__attribute((naked)) f", "the attribute naked"),
            (
                "a\n__attribute__((section(\".text\"))) x",
                "the attribute section",
            ),
            (
                "a\n__attribute__((section(\"cc_kernel_params\" \"x\"))) x",
                "the attribute section",
            ),
            ("a\n[[gnu::no_sanitize_address]] f", "[["),
            ("a\n[ [gnu::naked]] f", "[["),
            ("a\n<:<:gnu::naked:>:> f", "<:"),
            (
                "a\n#pragma clang attribute push(x)\n",
                "#pragma clang attribute push(x)",
            ),
            (
                "a\n  # pragma GCC optimize (\"O0\")\n",
                "#pragma GCC optimize (\"O0\")",
            ),
            ("a\n__builtin_ia32_rdtsc()", "__builtin_ia32_rdtsc"),
            ("a\n__builtin_frame_address(0)", "__builtin_frame_address"),
            ("a\n*(int __seg_fs *)8 = 1;", "__seg_fs"),
            ("a\nstatic void __asan_f(int *p) {", "__asan_f"),
            ("a\nint f(void) { \"é\"; return zéro + 1; }", "zéro"),
            ("a\nint z\\U000000e9ro = 1;", "zéro"),
            ("a\nint \\u03b2 = 1;", "\u{3b2}"),
        ] {
            assert_eq!(refused(text), Some((word.into(), 1)), "{text}");
        }
    }
}
