//! A trace of hook calls in a file: deflated, a line of text, then a column for each field:
//! differences from row to row, as zigzag LEB128.

use std::fs::File;
use std::io::{BufRead, BufReader, Read, Write};
use std::path::Path;

use flate2::{bufread::DeflateDecoder, write::DeflateEncoder, Compression};

macro_rules! record {
    ($($name:ident),* $(,)?) => {
        /// `struct record` of record_cubic.c, signed numbers extended to 64 bits.
        #[derive(Clone, Debug)]
        pub struct Record {
            $(pub $name: u64,)*
            pub private: [u64; 8],
        }

        impl Record {
            pub const WORDS: usize = [$(stringify!($name)),*].len() + 8;

            pub fn from_words(words: &[u64]) -> Self {
                let mut words = words.iter().copied();
                Self {
                    $($name: words.next().unwrap(),)*
                    private: std::array::from_fn(|_| words.next().unwrap()),
                }
            }

            pub fn words(&self) -> Vec<u64> {
                [$(self.$name),*].into_iter().chain(self.private).collect()
            }
        }
    };
}

record!(
    sk,
    hook,
    argument0,
    argument1,
    pkts_acked,
    rtt_us,
    in_flight,
    jiffies,
    hz,
    tcp_mstamp,
    sk_pacing_rate,
    sk_pacing_status,
    sk_gso_max_size,
    icsk_ca_state,
    snd_una,
    snd_nxt,
    snd_cwnd,
    snd_cwnd_cnt,
    snd_ssthresh,
    snd_cwnd_clamp,
    prior_cwnd,
    packets_out,
    max_packets_out,
    is_cwnd_limited,
    lsndtime,
    mss_cache,
    srtt_us,
    jiffies_after,
    result,
    snd_cwnd_after,
    snd_cwnd_cnt_after,
    snd_ssthresh_after,
);

pub fn write(path: &Path, about: &str, records: &[Record]) {
    let mut file = DeflateEncoder::new(File::create(path).unwrap(), Compression::best());
    writeln!(file, "{about}; {} calls", records.len()).unwrap();
    file.write_all(&(records.len() as u64).to_le_bytes())
        .unwrap();
    for column in 0..Record::WORDS {
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
pub fn read(path: &Path) -> (String, Vec<Record>) {
    let file = File::open(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let mut file = BufReader::new(DeflateDecoder::new(BufReader::new(file)));
    let mut about = String::new();
    file.read_line(&mut about).unwrap();
    let mut length = [0; 8];
    file.read_exact(&mut length).unwrap();
    let mut rows = vec![vec![0; Record::WORDS]; u64::from_le_bytes(length) as usize];
    let mut bytes = file.bytes();
    for column in 0..Record::WORDS {
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
    let records = rows.iter().map(|row| Record::from_words(row)).collect();
    (about.trim_end().to_string(), records)
}
