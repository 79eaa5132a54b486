//! Reads what an algorithm's file exports: mirror of `struct cc_module` in
//! `algorithms/include/host_native.h`.

use std::ffi::{c_char, CStr};
use std::ops::Range;

use crate::param::{Param, Preset};
use crate::sock::TcpCongestionOps;

/// The symbol that CC_ALGORITHM defines.
pub(crate) const MODULE: &str = "cc_module";

#[repr(C)]
pub(crate) struct ParamDesc {
    pub(crate) name: *const c_char,
    pub(crate) doc: *const c_char,
    pub(crate) value: u32,
    pub(crate) least: u32,
    pub(crate) most: u32,
    pub(crate) scale: u32,
}

#[repr(C)]
pub(crate) struct PresetDesc {
    pub(crate) name: *const c_char,
    pub(crate) settings: *const c_char,
    pub(crate) doc: *const c_char,
}

#[repr(C)]
pub(crate) struct Module {
    pub(crate) name: *const c_char,
    pub(crate) summary: *const c_char,
    pub(crate) params: *const ParamDesc,
    pub(crate) presets: *const PresetDesc,
    pub(crate) params_len: u32,
    pub(crate) presets_len: u32,
    pub(crate) storage_bytes: *const u32,
    pub(crate) ops: TcpCongestionOps,
}

/// The same in Rust's terms.
pub(crate) struct Declared {
    pub name: String,
    pub summary: String,
    pub params: Vec<Param>,
    pub presets: Vec<Preset>,
    /// Of `CC_STORAGE`.
    pub storage_bytes: u32,
    pub ops: TcpCongestionOps,
}

/// Does what the symbol of a file that is not trusted points to lie in the file, with all that it
/// points to? A file may have defined the symbol without `CC_ALGORITHM`.
///
/// # Safety
/// The file lies there and is not written meanwhile.
pub(crate) unsafe fn is_whole(module: *const Module, file: Range<usize>) -> bool {
    let holds = |start: usize, len: usize, size: usize| {
        let end = len
            .checked_mul(size)
            .and_then(|bytes| start.checked_add(bytes));
        end.is_some_and(|end| file.start <= start && end <= file.end)
    };
    let is_text = |at: *const c_char| {
        let start = at as usize;
        // SAFETY: it ends where the file ends, or before.
        holds(start, 1, 1) && (start..file.end).any(|place| unsafe { *(place as *const u8) } == 0)
    };
    if !holds(module as usize, 1, size_of::<Module>()) {
        return false;
    }
    // SAFETY: each is looked at after it was found to lie in the file.
    unsafe {
        let module = &*module;
        let (params, presets) = (module.params_len as usize, module.presets_len as usize);
        is_text(module.name)
            && is_text(module.summary)
            && holds(module.storage_bytes as usize, 1, size_of::<u32>())
            && holds(module.params as usize, params, size_of::<ParamDesc>())
            && holds(module.presets as usize, presets, size_of::<PresetDesc>())
            && (0..params).all(|index| {
                let param = &*module.params.add(index);
                is_text(param.name) && is_text(param.doc)
            })
            && (0..presets).all(|index| {
                let preset = &*module.presets.add(index);
                is_text(preset.name) && is_text(preset.settings) && is_text(preset.doc)
            })
    }
}

/// # Safety
/// `module` points to a `struct cc_module` that `CC_ALGORITHM` defined, in code
/// that stays loaded during the call.
pub(crate) unsafe fn read(module: *const Module) -> Declared {
    // SAFETY: CC_ALGORITHM fills every pointer with a string literal or with an
    // array of the length beside it. An empty array may lie at any address, but
    // its address is never null.
    unsafe {
        let module = &*module;
        let params = std::slice::from_raw_parts(module.params, module.params_len as usize);
        let presets = std::slice::from_raw_parts(module.presets, module.presets_len as usize);
        Declared {
            name: text(module.name),
            summary: text(module.summary),
            params: params
                .iter()
                .map(|param| Param {
                    name: text(param.name),
                    doc: text(param.doc),
                    default: param.value,
                    min: param.least,
                    max: param.most,
                    scale: param.scale,
                    is_signed: false,
                })
                .collect(),
            presets: presets
                .iter()
                .map(|preset| Preset {
                    name: text(preset.name),
                    settings: text(preset.settings),
                    doc: text(preset.doc),
                })
                .collect(),
            storage_bytes: *module.storage_bytes,
            ops: module.ops,
        }
    }
}

/// # Safety
/// `literal` is a C string.
pub(crate) unsafe fn text(literal: *const c_char) -> String {
    // SAFETY: the caller's.
    unsafe { CStr::from_ptr(literal) }
        .to_string_lossy()
        .into_owned()
}
