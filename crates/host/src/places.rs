//! Where in the user's files a line of assembly comes from.

use std::collections::HashMap;

/// A place in a file: the name that the compiler knows, and the line.
pub(crate) type Place = (String, usize);

/// What the lines so far have told.
#[derive(Default)]
pub(crate) struct Places<'a> {
    files: HashMap<&'a str, String>,
    at: (&'a str, usize),
    inline: bool,
}

impl<'a> Places<'a> {
    /// Takes a line if it tells of places, rather than of code.
    pub(crate) fn is_told(&mut self, line: &'a str) -> bool {
        if let Some(rest) = line.strip_prefix(".file\t").or(line.strip_prefix(".file ")) {
            let (number, name) = rest.split_once([' ', '\t']).unwrap_or((rest, ""));
            let last = name.rsplit('"').nth(1);
            self.files
                .insert(number, last.unwrap_or_default().to_string());
        } else if let Some(rest) = line.strip_prefix(".loc\t").or(line.strip_prefix(".loc ")) {
            let mut words = rest.split_whitespace();
            let file = words.next().unwrap_or_default();
            // Line 0: code of no line of its own.
            if let Some(line @ 1..) = words.next().and_then(|line| line.parse().ok()) {
                self.at = (file, line);
            }
        } else if line.starts_with("#APP")
            || line.starts_with("//APP")
            || line.starts_with("# InlineAsm Start")
            || line.starts_with("# Start of file scope inline assembly")
        {
            self.inline = true;
        } else if line.starts_with("#NO_APP")
            || line.starts_with("//NO_APP")
            || line.starts_with("# InlineAsm End")
        {
            self.inline = false;
        } else {
            return false;
        }
        true
    }

    /// Is a line of code inline assembly?
    pub(crate) fn is_inline(&self, line: &str) -> bool {
        self.inline && !line.is_empty() && !line.starts_with('#')
    }

    /// Where the code is from that comes next.
    pub(crate) fn place(&self) -> Place {
        let file = self.files.get(self.at.0).cloned();
        (file.unwrap_or_default(), self.at.1)
    }
}
