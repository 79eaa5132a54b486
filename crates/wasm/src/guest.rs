//! A user's C file, which the page has compiled to a module with a memory of its own.

use ackclock_host::guest::{self, Hook};
use ackclock_host::{CHECKED_SUPPORT, SUPPORT};
use serde_json::{json, Map};

use crate::page;

pub fn compile() {
    let files = SUPPORT.iter().chain(CHECKED_SUPPORT);
    let files: Map<_, _> = files
        .map(|(path, text)| ((*path).into(), (*text).into()))
        .collect();
    let flags: Vec<_> = guest::flags().collect();
    let user_flags: Vec<_> = guest::flags_of_a_user().collect();
    page::message(&json!({
        "kind": "compile", "files": files, "flags": flags, "user_flags": user_flags,
    }));
}

pub fn check(path: &str, preprocessed: &str, assembly: &str) {
    let checked = guest::check_words(path, preprocessed);
    if let Err(error) = checked.and_then(|()| guest::check(path, assembly)) {
        page::error(&error.to_string());
    }
}

pub fn add(path: &str, text: &str, memory: &[u8], module: u32) {
    if let Err(error) = guest::add(path, text, memory, module, call) {
        page::error(&error.to_string());
    }
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
