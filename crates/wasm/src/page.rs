//! Messages to the page.

use ackclock_sim::record::{Table, Values};
use serde_json::{json, Map, Value};

#[link(wasm_import_module = "page")]
unsafe extern "C" {
    /// Takes a message: its head, in JSON. Not 0: the page wants the rows so far.
    fn tell(head: *const u8, len: usize) -> u32;
    /// Asks for something, in JSON, and returns the length of the answer; below 0: of a refusal.
    fn ask(what: *const u8, len: usize) -> i32;
    /// Writes the last answer.
    fn answered(to: *mut u8);
    /// Calls a hook of a user's file, by its number: lengths of `params` and `block` are in words of
    /// 32 and of 64 bits.
    #[cfg(target_arch = "wasm32")]
    pub fn hook(
        guest: u32,
        hook: u32,
        socket: *mut u8,
        socket_len: usize,
        first: u32,
        second: u32,
        sample: *const u8,
        sample_len: usize,
        params: *const u32,
        params_len: usize,
        block: *mut u64,
        block_len: usize,
    ) -> u32;
}

/// Tells a message without columns: an object with a `kind`. Returns whether the page wants rows.
pub fn message(head: &Value) -> bool {
    let text = head.to_string();
    // SAFETY: the page reads the text and keeps nothing of it.
    unsafe { tell(text.as_ptr(), text.len()) != 0 }
}

/// What the host answers, or its refusal.
pub fn asked(what: &Value) -> Result<Vec<u8>, String> {
    let text = what.to_string();
    // SAFETY: the host reads the text, and writes as many bytes as it said.
    let (len, answer) = unsafe {
        let len = ask(text.as_ptr(), text.len());
        let mut answer = vec![0; len.unsigned_abs() as usize];
        answered(answer.as_mut_ptr());
        (len, answer)
    };
    if len < 0 {
        return Err(String::from_utf8_lossy(&answer).into_owned());
    }
    Ok(answer)
}

/// Tells why there is no result.
pub fn error(text: &str) {
    message(&json!({"kind": "error", "text": text}));
}

/// Tells columns of a table, by their names: `more` is the rest of the head.
pub fn columns(
    kind: &str,
    table: &Table,
    values: &[Values],
    wanted: &[&str],
    more: Map<String, Value>,
) {
    let named = table.columns.iter().map(|column| column.name).zip(values);
    let columns = named.filter(|(name, _)| wanted.is_empty() || wanted.contains(name));
    let columns: Vec<_> = columns
        .map(|(name, values)| {
            // As numpy writes these types.
            let (kind, at, len) = match values {
                Values::U32(values) => ("<u4", values.as_ptr() as usize, values.len()),
                Values::U64(values) => ("<u8", values.as_ptr() as usize, values.len()),
                Values::Name(codes) => ("|u1", codes.as_ptr() as usize, codes.len()),
            };
            json!([name, kind, at, len])
        })
        .collect();
    let mut head = more;
    head.insert("kind".into(), kind.into());
    head.insert("columns".into(), columns.into());
    message(&head.into());
}
