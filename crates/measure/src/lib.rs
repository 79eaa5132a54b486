//! What a run measured, of the columns of its tables: the simulator's, those that Python loaded, and
//! those of the laboratory in a browser. Times are in s from the start of a run, rates in bit/s. A
//! quantity is NaN, or `None`, where samples are missing.

mod delivered;
mod marks;
mod numbers;
mod setup;
mod summary;
mod values;

pub use delivered::Delivered;
pub use marks::{headline, is_equal, Estimate, Mark, Rule};
pub use numbers::{frame_delays_s, numbers, Number, Run};
pub use setup::{common_interval_ns, Flow, Frames, Link, RateStep, Session, Setup};
pub use summary::{
    goodputs_bps, lifetimes_bps, utilisation, FlowSummary, Means, QueueSummary, Seen, Summary,
};
pub use values::jain_index;

/// The values of a column.
#[derive(Clone, Copy, Debug)]
pub enum Column<'a> {
    /// Codes of names.
    U8(&'a [u8]),
    /// Whole numbers of 32 bits.
    U32(&'a [u32]),
    /// Whole numbers of 64 bits.
    U64(&'a [u64]),
}

/// Rows of a table of a run (`docs/tables.md`). What reads another column than it has panics.
pub trait Table {
    /// A column.
    ///
    /// # Panics
    /// If the table does not have it.
    fn column(&self, name: &str) -> Column<'_>;

    /// A column of 64 bits.
    fn u64(&self, name: &str) -> &[u64] {
        match self.column(name) {
            Column::U64(values) => values,
            other => panic!("{name}: {other:?} has not 64 bits"),
        }
    }

    /// A column of 32 bits.
    fn u32(&self, name: &str) -> &[u32] {
        match self.column(name) {
            Column::U32(values) => values,
            other => panic!("{name}: {other:?} has not 32 bits"),
        }
    }

    /// A column of codes of names, which may have 8 or 32 bits.
    fn codes(&self, name: &str) -> Vec<u8> {
        match self.column(name) {
            Column::U8(values) => values.to_vec(),
            Column::U32(values) => values.iter().map(|code| *code as u8).collect(),
            Column::U64(_) => panic!("{name}: has no names"),
        }
    }
}
