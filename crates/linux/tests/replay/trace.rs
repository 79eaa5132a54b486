//! A trace of hook calls in a file: deflated, a line of text, then a column for each field:
//! differences from row to row, as zigzag LEB128.

use std::fs::File;
use std::io::{BufRead, BufReader, Read, Write};
use std::path::Path;

use crate::call::Hook;
use flate2::{bufread::DeflateDecoder, write::DeflateEncoder, Compression};

/// A row of a trace: 64-bit words.
pub trait Row: Sized {
    const WORDS: usize;
    fn from_words(words: &[u64]) -> Self;
    fn words(&self) -> Vec<u64>;
    /// The socket, and later its number.
    fn sk(&self) -> u64;
    fn set_sk(&mut self, sk: u64);
    fn hook(&self) -> Hook;
}

/// `struct record` of a recorder, signed numbers extended to 64 bits.
macro_rules! record {
    ($private:literal; $($name:ident),* $(,)?) => {
        #[derive(Clone, Debug)]
        pub struct Record {
            $(pub $name: u64,)*
            pub private: [u64; $private],
        }

        impl $crate::trace::Row for Record {
            const WORDS: usize = [$(stringify!($name)),*].len() + $private;

            fn from_words(words: &[u64]) -> Self {
                let mut words = words.iter().copied();
                Self {
                    $($name: words.next().unwrap(),)*
                    private: std::array::from_fn(|_| words.next().unwrap()),
                }
            }

            fn words(&self) -> Vec<u64> {
                [$(self.$name),*].into_iter().chain(self.private).collect()
            }

            fn sk(&self) -> u64 {
                self.sk
            }

            fn set_sk(&mut self, sk: u64) {
                self.sk = sk;
            }

            fn hook(&self) -> $crate::call::Hook {
                $crate::call::HOOKS[self.hook as usize]
            }
        }
    };
}
pub(crate) use record;

pub fn write<R: Row>(path: &Path, about: &str, records: &[R]) {
    let mut file = DeflateEncoder::new(File::create(path).unwrap(), Compression::best());
    writeln!(file, "{about}; {} calls", records.len()).unwrap();
    file.write_all(&(records.len() as u64).to_le_bytes())
        .unwrap();
    for column in 0..R::WORDS {
        let mut last = 0;
        for record in records {
            let value = record.words()[column];
            let difference = value.wrapping_sub(last) as i64;
            last = value;
            let mut rest = ((difference << 1) ^ (difference >> 63)) as u64;
            while rest >= 0x80 {
                file.write_all(&[rest as u8 | 0x80]).unwrap();
                rest >>= 7;
            }
            file.write_all(&[rest as u8]).unwrap();
        }
    }
    file.finish().unwrap();
}

/// What it is a trace of, and the records.
pub fn read<R: Row>(path: &Path) -> (String, Vec<R>) {
    let file = File::open(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let mut file = BufReader::new(DeflateDecoder::new(BufReader::new(file)));
    let mut about = String::new();
    file.read_line(&mut about).unwrap();
    let mut length = [0; 8];
    file.read_exact(&mut length).unwrap();
    let mut rows = vec![vec![0; R::WORDS]; u64::from_le_bytes(length) as usize];
    let mut bytes = file.bytes();
    for column in 0..R::WORDS {
        let mut last = 0_u64;
        for row in &mut rows {
            let (mut value, mut shift) = (0, 0);
            loop {
                let byte = bytes.next().unwrap().unwrap();
                value |= u64::from(byte & 0x7f) << shift;
                shift += 7;
                if byte < 0x80 {
                    break;
                }
            }
            last = last.wrapping_add((value >> 1) ^ (value & 1).wrapping_neg());
            row[column] = last;
        }
    }
    let records = rows.iter().map(|row| R::from_words(row)).collect();
    (about.trim_end().to_string(), records)
}
