//! A file as the compiler gets it: what it defines itself is its own, whatever our headers offer, and
//! a BPF file (`struct_ops`) registers its ops.

use std::fmt::Write as _;

use crate::preprocessed::Preprocessed;

/// The header that only BPF files include.
const HEADER: &str = "kernel/kernel_struct_ops.h";
/// What our headers make of `struct tcp_congestion_ops`.
const OPS: &str = "struct cc_kernel_ops ";
/// A program is cast, so that no compiler knows how many arguments it has.
const CAST: &str = "= (void *)";

/// The text with these names of the file's made its own.
pub(crate) fn module(snapshot: &Preprocessed<'_>, own_names: &[String]) -> String {
    let text = snapshot.with_own(own_names);
    if !snapshot.has_part(HEADER) {
        return text;
    }
    let text = text.replace(CAST, "= ");
    let mut init = String::from("\nint cc_kernel_init(void)\n{\n\tint error = -22, each;\n");
    for (at, _) in text.match_indices(OPS) {
        let rest = &text[at + OPS.len()..];
        let is_letter = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
        let name = &rest[..rest.find(|letter| !is_letter(letter)).unwrap_or(rest.len())];
        if !name.is_empty() && rest[name.len()..].trim_start().starts_with('=') {
            let call = format!("tcp_register_congestion_control(&{name})");
            // As libbpf: some are not whole, or take another's place.
            writeln!(init, "\teach = {call};\n\terror = error ? each : 0;").expect("a string");
        }
    }
    text + "\n# 1 \"<registers>\"\n" + &init + "\treturn error;\n}\n"
}
