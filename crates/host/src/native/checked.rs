//! How a file that is not trusted is entered: mirror of the table in `algorithms/checked/checked.c`.

use std::ffi::c_long;
use std::ops::Range;

use crate::call::slot;
use crate::library::Loaded;
use crate::sock::TcpCongestionOps;

/// `struct cc_checked`.
#[repr(C)]
pub(crate) struct Checked {
    prepare: unsafe extern "C" fn(c_long, u64),
    hooks: unsafe extern "C" fn(*const TcpCongestionOps, *mut TcpCongestionOps),
    start: *const u8,
    end: *const u8,
}

/// The hooks that the host calls for those of a file of our dialect, which has so many parameters.
/// None: one is not the beginning of a function. From then on nothing may write its variables.
pub(crate) fn hooks(
    library: &Loaded,
    ops: &TcpCongestionOps,
    params: usize,
) -> Option<TcpCongestionOps> {
    let mut hooks = *ops;
    if let Some(checked) = Checked::in_library(library) {
        if !library.begin_functions(&ops.addresses()) {
            return None;
        }
        checked.prepare(params);
        hooks = checked.hooks(ops);
    }
    library.freeze(false);
    Some(hooks)
}

impl Checked {
    /// The table of a file that is not trusted.
    pub(crate) fn in_library(library: &Loaded) -> Option<&Self> {
        let table = library.symbol::<Self>("cc_checked")?;
        // SAFETY: checked.c defines it; `library` keeps it loaded.
        Some(unsafe { &*table })
    }

    /// Before all else: where each thread has its call. `params`: how many parameters of our dialect.
    pub(crate) fn prepare(&self, params: usize) {
        // SAFETY: nothing else has this library yet.
        unsafe { (self.prepare)(slot(), (size_of::<u32>() * params) as u64) }
    }

    /// The hooks that the host calls for those of a file of our dialect.
    pub(crate) fn hooks(&self, of: &TcpCongestionOps) -> TcpCongestionOps {
        let mut into = *of;
        // SAFETY: checked.c fills it.
        unsafe { (self.hooks)(of, &raw mut into) };
        into
    }

    /// Where the file lies in memory.
    pub(crate) fn place(&self) -> Range<usize> {
        self.start as usize..self.end as usize
    }
}
