//! What is in an algorithm's private state, as the BTF of its object says.

use libbpf_rs::btf::types::{Array, Enum, Int, IntEncoding, MemberAttr, Struct, Var};
use libbpf_rs::btf::{Btf, BtfType, HasSize as _, ReferencesType as _};
use libbpf_rs::Object;

/// A number in an algorithm's private state (`inet_csk_ca`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PrivateField {
    /// Its name in the file, such as `cnt` or `cubic.epoch_start`.
    pub name: String,
    /// Can it be negative?
    pub signed: bool,
    bit_offset: usize,
    bits: usize,
}

impl PrivateField {
    /// Its value in such a state.
    pub fn value(&self, state: &[u8]) -> i128 {
        let first = self.bit_offset / 8;
        let mut bytes = [0; 16];
        let available = &state[first..state.len().min(first + 16)];
        bytes[..available.len()].copy_from_slice(available);
        let above = 128 - self.bits;
        let value = u128::from_le_bytes(bytes) >> (self.bit_offset % 8) << above;
        if self.signed {
            value as i128 >> above
        } else {
            (value >> above) as i128
        }
    }
}

/// The numbers in the variable `cc_private_layout` of host_kernel.h, in order; none if the
/// algorithm has no private state.
pub(crate) fn fields(object: &Object) -> Vec<PrivateField> {
    let mut fields = Vec::new();
    if let Ok(Some(btf)) = object.btf() {
        let layout: Option<Var<'_>> = btf.type_by_name("cc_private_layout");
        if let Some(layout) = layout {
            collect(&btf, layout.referenced_type(), "", 0, None, &mut fields);
        }
    }
    fields
}

fn collect<'a>(
    btf: &'a Btf<'a>,
    of: BtfType<'a>,
    name: &str,
    bit_offset: usize,
    bit_field: Option<usize>,
    fields: &mut Vec<PrivateField>,
) {
    let of = of.skip_mods_and_typedefs();
    if let Ok(of) = Struct::try_from(of) {
        for member in of.iter() {
            let below = member.name.unwrap_or_default().to_string_lossy();
            let path = if name.is_empty() {
                below.into()
            } else {
                format!("{name}.{below}")
            };
            let (offset, bits) = match member.attr {
                MemberAttr::Normal { offset } => (offset, None),
                MemberAttr::BitField { size, offset } => (offset, Some(usize::from(size))),
            };
            let kind: BtfType<'a> = btf.type_by_id(member.ty).expect("BTF is whole");
            collect(btf, kind, &path, bit_offset + offset as usize, bits, fields);
        }
    } else if let Ok(of) = Array::try_from(of) {
        let each = of.contained_type();
        let mut first = Vec::new();
        collect(btf, each, "", 0, None, &mut first);
        let stride = first
            .iter()
            .map(|field| field.bit_offset + field.bits)
            .max()
            .unwrap_or(0);
        for index in 0..of.capacity() {
            collect(
                btf,
                each,
                &format!("{name}[{index}]"),
                bit_offset + index * stride,
                None,
                fields,
            );
        }
    } else {
        let (size, signed) = if let Ok(of) = Int::try_from(of) {
            (of.size(), matches!(of.encoding, IntEncoding::Signed))
        } else if let Ok(of) = Enum::try_from(of) {
            (of.size(), of.is_signed())
        } else {
            return; // a pointer says nothing
        };
        fields.push(PrivateField {
            name: name.into(),
            bit_offset,
            bits: bit_field.unwrap_or(size * 8),
            signed,
        });
    }
}
