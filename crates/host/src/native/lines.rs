//! From an instruction to its line, by the debug information of a library. What is looked up was
//! prepared when the file was loaded: a signal handler may allocate nothing.

use std::collections::HashMap;
use std::ffi::CString;

use gimli::{AttributeValue, Dwarf, EndianSlice, RunTimeEndian, SectionId};
use object::{Object, ObjectSection};

use crate::FILE_LABEL;

type Reader<'a> = EndianSlice<'a, RunTimeEndian>;

/// The lines of one library; none if it was compiled without debug information.
#[derive(Default)]
pub(crate) struct Lines {
    /// Where each begins, its file, its number; 0: none.
    rows: Vec<(usize, u16, u32)>,
    files: Vec<CString>,
}

impl Lines {
    /// Those of a library that is loaded at `base`.
    pub(crate) fn from_image(image: &object::File<'_>, base: usize) -> Option<Self> {
        let endian = RunTimeEndian::Little;
        let section = |id: SectionId| {
            let section = image.section_by_name(id.name());
            let data = section.and_then(|section| section.data().ok());
            Ok::<_, gimli::Error>(EndianSlice::new(data.unwrap_or_default(), endian))
        };
        let dwarf: Dwarf<Reader<'_>> = Dwarf::load(section).ok()?;
        let mut lines = Self::default();
        let mut known = HashMap::new();
        let mut units = dwarf.units();
        while let Some(header) = units.next().ok()? {
            let unit = dwarf.unit(header).ok()?;
            let Some(program) = unit.line_program.clone() else {
                continue;
            };
            let mut rows = program.rows();
            while let Some((header, row)) = rows.next_row().ok()? {
                let path = row.file(header).map(gimli::FileEntry::path_name);
                let file = lines.file(&dwarf, &unit, path, &mut known)?;
                let line = row.line().filter(|_| !row.end_sequence());
                let address = base.wrapping_add(row.address() as usize);
                let number = line.map_or(0, |line| line.get() as u32);
                lines.rows.push((address, file, number));
            }
        }
        lines.rows.sort_by_key(|row| row.0);
        Some(lines)
    }

    /// The number of a file, which it gets here.
    fn file(
        &mut self,
        dwarf: &Dwarf<Reader<'_>>,
        unit: &gimli::Unit<Reader<'_>>,
        path: Option<AttributeValue<Reader<'_>>>,
        known: &mut HashMap<Vec<u8>, u16>,
    ) -> Option<u16> {
        let name = match path {
            Some(path) => dwarf.attr_string(unit, path).ok()?.slice().to_vec(),
            None => FILE_LABEL.into(),
        };
        if let Some(&file) = known.get(&name) {
            return Some(file);
        }
        let file = u16::try_from(self.files.len()).ok()?;
        self.files.push(CString::new(name.clone()).ok()?);
        known.insert(name, file);
        Some(file)
    }

    /// The file, unless it is the user's own, and the line of an instruction; 0 if it is not known.
    pub(crate) fn find(&self, address: usize) -> (Option<&[u8]>, u32) {
        let after = self.rows.partition_point(|row| row.0 <= address);
        let Some(&(_, file, line)) = after.checked_sub(1).map(|index| &self.rows[index]) else {
            return (None, 0);
        };
        let file = self.files[usize::from(file)].as_bytes();
        let is_other = line > 0 && file != FILE_LABEL.as_bytes();
        (is_other.then_some(file), line)
    }
}

/// `:12`, or nothing for 0.
pub(crate) fn shown_line(line: u32, digits: &mut [u8; 11]) -> &[u8] {
    let (mut rest, mut start) = (line, digits.len());
    while rest > 0 {
        start -= 1;
        digits[start] = b'0' + (rest % 10) as u8;
        rest /= 10;
    }
    if line > 0 {
        start -= 1;
        digits[start] = b':';
    }
    &digits[start..]
}
