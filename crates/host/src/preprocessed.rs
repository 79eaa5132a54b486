//! What the preprocessor makes of a user's file, by the files that it comes from.

use std::path::{Component, Path, PathBuf};

use crate::module::MODULE;

/// The name by which a user's file is compiled, whatever its own name.
pub const FILE_LABEL: &str = "file.c";

/// The line that makes a compiler call the text after it by [`FILE_LABEL`].
pub const LABEL_LINE: &str = "# 1 \"file.c\"\n";

/// What the preprocessor made of a user's file: all that is compiled, and nothing else.
pub struct Preprocessed<'a> {
    text: &'a str,
    /// The directory of our own headers.
    ours: &'a Path,
}

/// A part of the text between two of the preprocessor's `# 12 "mine.h" 1` lines.
pub(crate) struct Part<'a> {
    file: PathBuf,
    first_line: usize,
    pub(crate) text: &'a str,
    /// Where the user's text includes it, if it is ours: macros of the user may stand in it.
    includer: Option<(PathBuf, usize)>,
}

impl Part<'_> {
    /// File and line of the user's text for a line of this part, counted from 0.
    pub(crate) fn place(&self, line: usize) -> (PathBuf, usize) {
        let own = || (self.file.clone(), self.first_line + line);
        self.includer.clone().unwrap_or_else(own)
    }
}

impl<'a> Preprocessed<'a> {
    /// `ours`: the directory of our own headers.
    pub fn new(text: &'a str, ours: &'a Path) -> Self {
        Self { text, ours }
    }

    fn parts(&self) -> Vec<Part<'a>> {
        let mut parts: Vec<Part> = Vec::new();
        let mut begin = 0;
        for line in self.text.split_inclusive('\n') {
            let end = begin + line.len();
            match marker(line) {
                Some((first_line, file)) => parts.push(Part {
                    file,
                    first_line,
                    text: &self.text[end..end],
                    includer: None,
                }),
                None => match parts.last_mut() {
                    Some(part) => {
                        let start = end - line.len() - part.text.len();
                        part.text = &self.text[start..end];
                    }
                    None => parts.push(Part {
                        file: FILE_LABEL.into(),
                        first_line: 1,
                        text: line,
                        includer: None,
                    }),
                },
            }
            begin = end;
        }
        parts
    }

    /// What is compiled, without the names of the files that it comes from.
    pub fn contents(&self) -> String {
        self.parts().iter().map(|part| part.text).collect()
    }

    /// Is that header of ours a part?
    pub(crate) fn has_part(&self, header: &str) -> bool {
        let header = self.ours.join(header);
        self.parts().iter().any(|part| part.file == header)
    }

    /// What is compiled if these names of the user's own text are others than ours.
    pub(crate) fn with_own(&self, names: &[String]) -> String {
        let mut is_users = true;
        let mut text = String::with_capacity(self.text.len());
        for line in self.text.split_inclusive('\n') {
            match marker(line) {
                Some((_, file)) => is_users = !self.is_ours(&file),
                None if is_users && names.iter().any(|name| has_word(line, name)) => {
                    text += &with_words(line, names);
                    continue;
                }
                None => (),
            }
            text += line;
        }
        text
    }

    /// The files that were included and are not ours, each once.
    pub fn included(&self) -> Vec<PathBuf> {
        let mut files: Vec<PathBuf> = Vec::new();
        for Part { file, .. } in self.parts() {
            let name = file.to_string_lossy();
            let is_file = name != FILE_LABEL && !name.starts_with('<') && !name.ends_with("//");
            if is_file && !self.is_ours(&file) && !files.contains(&file) {
                files.push(file);
            }
        }
        files
    }

    /// Does it include the kernel's headers, and register nothing as tcp_cc.h has it?
    pub(crate) fn is_kernels(&self) -> bool {
        self.has_part("kernel/kernel_dialect.h") && self.word(MODULE).is_none()
    }

    /// Where the text has inline assembly, also by a macro in a header of ours: file and line.
    pub(crate) fn assembly(&self) -> Option<(PathBuf, usize)> {
        self.foreign_line(has_assembly)
    }

    /// Where the user's own text has inline assembly. Our headers for BPF have some.
    pub fn own_assembly(&self) -> Option<(PathBuf, usize)> {
        self.line(has_assembly)
    }

    /// The first file outside `directory` that is included, and where.
    pub(crate) fn outside(&self, directory: &Path) -> Option<(PathBuf, (PathBuf, usize))> {
        let included = self.included();
        let is_outside = |file: &Path| {
            let below = file.strip_prefix(directory);
            below.map_or(true, climbs) && included.iter().any(|each| each == file)
        };
        let mut last = (PathBuf::from(FILE_LABEL), 1);
        for part in self.parts() {
            if is_outside(&part.file) {
                return Some((part.file, last));
            }
            last = part.place(part.text.lines().count());
        }
        None
    }

    fn is_ours(&self, file: &Path) -> bool {
        file.strip_prefix(self.ours)
            .is_ok_and(|below| !climbs(below))
    }

    /// Where the user's own text has this word, outside strings: file and line.
    pub(crate) fn word(&self, word: &str) -> Option<(PathBuf, usize)> {
        self.line(|line| has_word(line, word))
    }

    /// Where the text has a raw string, which may hide words: file and line.
    pub(crate) fn raw_string(&self) -> Option<(PathBuf, usize)> {
        self.foreign_line(|line| line.contains("R\""))
    }

    /// The parts, all of which may have words of the user.
    pub(crate) fn foreign(&self) -> Vec<Part<'a>> {
        let mut last = (PathBuf::from(FILE_LABEL), 1);
        let mut parts = self.parts();
        for part in &mut parts {
            if self.is_ours(&part.file) {
                part.includer = Some(last.clone());
            } else if !part.file.to_string_lossy().starts_with('<') {
                last = part.place(part.text.lines().count());
            }
        }
        parts
    }

    fn foreign_line(&self, is_sought: impl Fn(&str) -> bool) -> Option<(PathBuf, usize)> {
        self.foreign().iter().find_map(|part| {
            let line = part.text.lines().position(&is_sought)?;
            Some(part.place(line))
        })
    }

    fn line(&self, is_sought: impl Fn(&str) -> bool) -> Option<(PathBuf, usize)> {
        let parts = self.parts();
        let users = parts.iter().filter(|part| !self.is_ours(&part.file));
        for part in users {
            let lines = part.text.lines().zip(part.first_line..);
            if let Some((_, line)) = lines.into_iter().find(|(line, _)| is_sought(line)) {
                return Some((part.file.clone(), line));
            }
        }
        None
    }
}

fn has_assembly(line: &str) -> bool {
    let words = ["asm", "__asm", "__asm__"];
    words.iter().any(|word| has_word(line, word))
}

/// Does a path leave the directory from which it counts?
fn climbs(path: &Path) -> bool {
    path.components().any(|part| part == Component::ParentDir)
}

/// The text without what would keep a compiler from its errors: the 3 of a system header in
/// `# 1 "f" 3`, and pragmas about its messages.
pub(crate) fn with_all_errors(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    for line in text.split_inclusive('\n') {
        let pragma = line.trim_start().strip_prefix('#').map(str::trim_start);
        let pragma = pragma.and_then(|rest| rest.strip_prefix("pragma"));
        let mut words = pragma.unwrap_or_default().split_whitespace();
        if matches!(words.next(), Some("GCC" | "clang")) && words.next() == Some("diagnostic") {
            plain.push('\n');
        } else if marker(line).is_some() {
            let end = line.rfind('"').map_or(line.len(), |quote| quote + 1);
            let flags = line[end..].split_whitespace();
            let kept = flags.filter(|flag| matches!(*flag, "1" | "2"));
            plain += &line[..end];
            for flag in kept {
                plain += " ";
                plain += flag;
            }
            plain.push('\n');
        } else {
            plain += line;
        }
    }
    plain
}

/// Line number and file of a line like `# 12 "mine.h" 1 3`. A user may write one, with the 3 of a system
/// header, too: it means nothing.
fn marker(line: &str) -> Option<(usize, PathBuf)> {
    let rest = line.strip_prefix("# ")?;
    let (number, rest) = rest.split_once(" \"")?;
    let number = number.parse().ok()?;
    let (name, _) = rest.rsplit_once('"')?;
    Some((number, unescape(name)))
}

/// A C string's contents.
fn unescape(text: &str) -> PathBuf {
    let mut bytes = Vec::new();
    let mut rest = text.bytes().peekable();
    while let Some(byte) = rest.next() {
        if byte != b'\\' {
            bytes.push(byte);
            continue;
        }
        let mut code = None;
        for _ in 0..3 {
            if let Some(digit) = rest.next_if(|digit| (b'0'..=b'7').contains(digit)) {
                code = Some(code.unwrap_or(0u32) * 8 + u32::from(digit - b'0'));
            }
        }
        match code {
            Some(code) => bytes.push(code as u8),
            None if rest.next_if_eq(&b'n').is_some() => bytes.push(b'\n'),
            None => bytes.extend(rest.next()),
        }
    }
    path_of(bytes)
}

#[cfg(unix)]
fn path_of(name: Vec<u8>) -> PathBuf {
    use std::os::unix::ffi::OsStringExt;
    std::ffi::OsString::from_vec(name).into()
}

#[cfg(not(unix))]
fn path_of(name: Vec<u8>) -> PathBuf {
    String::from_utf8_lossy(&name).into_owned().into()
}

/// A path in a message of one line.
pub(crate) fn shown(path: &Path) -> String {
    let name = path.to_string_lossy();
    if name.contains(char::is_control) {
        return name.escape_debug().to_string();
    }
    name.into_owned()
}

/// The line with `own_` before each of these words.
fn with_words(line: &str, names: &[String]) -> String {
    let is_letter = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
    let mut done = String::new();
    let mut rest = line;
    while let Some(start) = rest.find(is_letter) {
        let end = rest[start..].find(|letter| !is_letter(letter));
        let end = end.map_or(rest.len(), |end| start + end);
        done += &rest[..start];
        if names.iter().any(|name| *name == rest[start..end]) {
            done += "own_";
        }
        done += &rest[start..end];
        rest = &rest[end..];
    }
    done + rest
}

/// Is there this word outside strings?
pub(crate) fn has_word(line: &str, sought: &str) -> bool {
    let mut rest = line.bytes().peekable();
    let mut word = Vec::new();
    loop {
        let byte = rest.next();
        if let Some(byte) = byte.filter(|byte| byte.is_ascii_alphanumeric() || *byte == b'_') {
            word.push(byte);
            continue;
        }
        if word == sought.as_bytes() {
            return true;
        }
        word.clear();
        match byte {
            None => return false,
            Some(quote @ (b'"' | b'\'')) => {
                while let Some(byte) = rest.next() {
                    if byte == b'\\' {
                        rest.next();
                    } else if byte == quote {
                        break;
                    }
                }
            }
            Some(_) => (),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_preprocessed_text_is_taken_apart() {
        let text = "# 0 \"file.c\"\n# 1 \"<built-in>\" 1\n# 1 \"file.c\" 2\nint a;\n\
                    # 1 \"/t/include/tcp_cc.h\" 1\nint ours;\n# 1 \"/t/x.h\" 1 3\nint x;\n\
                    # 1 \"/d/my \\\"own\\\"\\012.h\" 1\nint b;\n  __asm__(\"nop\");\n# 2 \"file.c\" 2\nint c;\n";
        let text = Preprocessed::new(text, Path::new("/t"));
        assert_eq!(
            text.contents(),
            "int a;\nint ours;\nint x;\nint b;\n  __asm__(\"nop\");\nint c;\n"
        );
        let own = PathBuf::from("/d/my \"own\"\n.h");
        assert_eq!(text.assembly(), Some((own.clone(), 2)));
        assert_eq!(text.included(), [own]);
    }

    #[test]
    fn a_file_of_ours_lies_below_our_directory() {
        let text = "# 1 \"file.c\"\nint a;\n# 1 \"/t/include/../../d/x.h\" 1\nasm(\"\");\n# 3 \"file.c\" 2\n\
                    # 1 \"/d/own.h\" 1\n# 4 \"file.c\" 2\n# 1 \"/t/tcp_cc.h\" 1\n\n\n__asm(\"\");\n";
        let preprocessed = Preprocessed::new(text, Path::new("/t"));
        let climbing = PathBuf::from("/t/include/../../d/x.h");
        assert_eq!(
            preprocessed.included(),
            [climbing.clone(), "/d/own.h".into()]
        );
        assert_eq!(preprocessed.assembly(), Some((climbing.clone(), 1)));
        let at = (PathBuf::from("file.c"), 2);
        assert_eq!(preprocessed.outside(Path::new("/d")), Some((climbing, at)));
        let rest = text.split_once("# 3").unwrap().1;
        let rest = format!("# 3{rest}");
        let rest = Preprocessed::new(&rest, Path::new("/t"));
        assert_eq!(rest.outside(Path::new("/d")), None);
        assert_eq!(rest.assembly(), Some(("file.c".into(), 4)));
    }

    #[test]
    fn no_error_is_switched_off() {
        let text = "# 1 \"f\" 3\n#pragma GCC diagnostic ignored \"-Wvla\"\n  # pragma clang diagnostic pop\n\
                    # 2 \"g\" 1 3 4\n#pragma GCC unroll 4\nint a;\n";
        let plain = "# 1 \"f\"\n\n\n# 2 \"g\" 1\n#pragma GCC unroll 4\nint a;\n";
        assert_eq!(with_all_errors(text), plain);
    }

    #[test]
    fn a_word_counts_outside_strings() {
        for line in [
            "asm(\"nop\");",
            " asm volatile(\"\");",
            "x=1;asm{}",
            "f('\\'');asm",
        ] {
            assert!(has_word(line, "asm"), "{line}");
        }
        for line in [
            "int asmx;",
            "f(\"asm\");",
            "f(\"\\\"asm\");",
            "c = 'a'; plasma();",
            "",
        ] {
            assert!(!has_word(line, "asm"), "{line}");
        }
    }
}
