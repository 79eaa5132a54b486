//! Reads what an algorithm's file exports: mirror of `struct cc_module` in
//! `algorithms/include/host_native.h`.

use std::ffi::{c_char, CStr};

use crate::param::{Param, Preset};
use crate::sock::TcpCongestionOps;

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
    pub(crate) ops: TcpCongestionOps,
}

/// The same in Rust's terms.
pub(crate) struct Declared {
    pub name: String,
    pub summary: String,
    pub params: Vec<Param>,
    pub presets: Vec<Preset>,
    pub ops: TcpCongestionOps,
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
