//! A user's C file, which the page has compiled to a module with a memory of its own.

use ackclock_host::guest::{self, Compiled, Hook};
use ackclock_host::Source;
use serde::Deserialize;
use serde_json::json;

use crate::face::c_files;
use crate::page;

pub fn compile() {
    let mut about = c_files::about();
    about["kind"] = "compile".into();
    page::message(&about);
}

pub fn check(path: &str, preprocessed: &str, assembly: &str) {
    let read = guest::read(path, "", preprocessed);
    if let Err(error) = read.and_then(|_| guest::check(path, assembly)) {
        page::error(&error.to_string());
    }
}

pub fn add(path: &str, text: &str, memory: &[u8], module: u32) {
    let source = Source {
        path: path.into(),
        text: text.into(),
    };
    let compiled = Compiled {
        path,
        sources: vec![source],
        made_by: "",
        memory,
        module,
    };
    if let Err(error) = guest::add(compiled, call) {
        page::error(&error.to_string());
    }
}

/// What the host has made of a C file: a line of JSON, then the memory of its module.
#[derive(Deserialize)]
struct Made {
    sources: Vec<(String, String)>,
    made_by: String,
    module: u32,
}

/// Adds the C file of a path, which the host compiles, if it does.
pub fn find(path: &str) -> Result<bool, String> {
    let made = page::asked(&json!(["c file", path]))?;
    let Some(end) = made.iter().position(|byte| *byte == b'\n') else {
        return Ok(false);
    };
    let head: Made = serde_json::from_slice(&made[..end]).map_err(|error| error.to_string())?;
    let sources = head.sources.into_iter().map(|(path, text)| Source {
        path: path.into(),
        text: text.into(),
    });
    let compiled = Compiled {
        path,
        sources: sources.collect(),
        made_by: &head.made_by,
        memory: &made[end + 1..],
        module: head.module,
    };
    let added = guest::add(compiled, call).map(|()| true);
    added.map_err(|error| error.to_string())
}

fn call(hook: Hook<'_>) -> u32 {
    let [first, second] = hook.arguments;
    // SAFETY: the page copies each into the module's memory, and socket and block back.
    unsafe {
        page::hook(
            hook.guest,
            hook.hook,
            std::ptr::from_mut(hook.socket).cast(),
            size_of_val(hook.socket),
            first,
            second,
            hook.sample.as_ptr(),
            hook.sample.len(),
            hook.params.as_ptr(),
            hook.params.len(),
            hook.block.as_mut_ptr(),
            hook.block.len(),
        )
    }
}
