//! From an instruction of a BPF object to its line, by the object's `.BTF.ext`.

use std::collections::HashMap;

use object::{Object, ObjectSection};

/// The lines of a user's file, by section.
#[derive(Debug, Default)]
pub(super) struct Lines {
    /// What the user calls the file.
    path: String,
    /// (offset in the section, bytes; line), sorted.
    rows: HashMap<String, Vec<(usize, u32)>>,
}

impl Lines {
    /// Those of `label`, as the compiler called the file.
    pub(super) fn from_object(file: &object::File<'_>, label: &str, path: &str) -> Self {
        let data = |name| {
            let section = file.section_by_name(name)?;
            section.data().ok()
        };
        let rows = data(".BTF")
            .zip(data(".BTF.ext"))
            .and_then(|(types, more)| rows(types, more, label));
        Self {
            path: path.into(),
            rows: rows.unwrap_or_default(),
        }
    }

    /// `my_cc.c:12`: the last line of the file at or before the instruction.
    pub(super) fn find(&self, section: &str, offset: usize) -> String {
        let rows = self.rows.get(section).map_or(&[][..], Vec::as_slice);
        let after = rows.partition_point(|row| row.0 <= offset);
        match after.checked_sub(1) {
            Some(index) => format!("{}:{}", self.path, rows[index].1),
            None => self.path.clone(),
        }
    }
}

/// By the layout of `struct btf_header` and `struct btf_ext_header` (Linux's btf.h).
fn rows(types: &[u8], more: &[u8], label: &str) -> Option<HashMap<String, Vec<(usize, u32)>>> {
    let strings = &types[(word(types, 4)? + word(types, 16)?) as usize..];
    let text = |at: u32| {
        let rest = strings.get(at as usize..)?;
        let end = rest.iter().position(|byte| *byte == 0)?;
        std::str::from_utf8(&rest[..end]).ok()
    };
    let start = (word(more, 4)? + word(more, 16)?) as usize;
    let end = start + word(more, 20)? as usize;
    let size = word(more, start)? as usize;
    let mut found: HashMap<String, Vec<(usize, u32)>> = HashMap::new();
    let mut at = start + 4;
    while at < end {
        let (section, count) = (text(word(more, at)?)?, word(more, at + 4)?);
        at += 8;
        for _ in 0..count {
            if text(word(more, at + 4)?)?.ends_with(label) {
                let row = (word(more, at)? as usize, word(more, at + 12)? >> 10);
                found.entry(section.into()).or_default().push(row);
            }
            at += size;
        }
    }
    found.values_mut().for_each(|rows| rows.sort_unstable());
    Some(found)
}

fn word(bytes: &[u8], at: usize) -> Option<u32> {
    let word = bytes.get(at..at + 4)?;
    Some(u32::from_le_bytes(word.try_into().expect("four bytes")))
}
