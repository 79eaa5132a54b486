//! The simulator as WebAssembly: a scenario in, tables out as they come.
//!
//! A plain C ABI. The page writes text into what [`alloc`] gives and calls [`run`] with it. All that
//! happens meanwhile is told by the one imported function, [`page::tell`]: a head in JSON, whose
//! `columns` say where in memory the values of a table lie. They are the page's until `tell` returns.
//! One instance does one thing: memory never shrinks, and nothing is left of an instance that trapped.

mod describe;
mod face;
// Where the whole workspace is built its host is the native one, which has no guests.
#[cfg(target_arch = "wasm32")]
mod guest;
mod measured;
mod page;
mod run;
mod whole;

use std::panic;

/// Memory for `len` bytes of text. The function that is called with it frees it.
#[unsafe(no_mangle)]
pub extern "C" fn alloc(len: usize) -> *mut u8 {
    Box::into_raw(vec![0_u8; len].into_boxed_slice()).cast()
}

/// The text that the page wrote into what `alloc(len)` gave.
///
/// # Safety
/// `alloc(len)` gave `text`, and no function has taken it.
unsafe fn taken(text: *mut u8, len: usize) -> String {
    let bytes = std::ptr::slice_from_raw_parts_mut(text, len);
    // SAFETY: the caller's.
    let bytes = unsafe { Box::from_raw(bytes) };
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Runs a scenario in canonical JSON, and tells `begin`, rows, `progress` and at last `end` or `error`.
///
/// # Safety
/// `alloc(len)` gave `text`, and no function has taken it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn run(text: *mut u8, len: usize) {
    tell_panics();
    // SAFETY: the caller's.
    run::run(&unsafe { taken(text, len) });
}

/// Runs a scenario in TOML. `files` is a JSON object: the paths of the files that its links name, and
/// their texts. Tells what [`run`] tells.
///
/// # Safety
/// `alloc` gave both texts for their lengths, and no function has taken them.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn run_toml(text: *mut u8, len: usize, files: *mut u8, files_len: usize) {
    tell_panics();
    // SAFETY: the caller's.
    let (text, files) = unsafe { (taken(text, len), taken(files, files_len)) };
    run::run_toml(&text, &files);
}

/// Runs a scenario in TOML as `run_toml` does, and tells `progress` and at last `measured`, what the
/// scorecard and an attack measure of it, or `error`.
///
/// # Safety
/// As of [`run_toml`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn measure(text: *mut u8, len: usize, files: *mut u8, files_len: usize) {
    tell_panics();
    // SAFETY: the caller's.
    let (text, files) = unsafe { (taken(text, len), taken(files, files_len)) };
    run::measure(&text, &files);
}

/// Judges what was measured for a card, in JSON, and tells `judged` or `error`.
///
/// # Safety
/// As of [`run`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn judge(card: *mut u8, len: usize) {
    tell_panics();
    // SAFETY: the caller's.
    match measured::judged(&unsafe { taken(card, len) }) {
        Ok(told) => drop(page::message(&told)),
        Err(text) => page::error(&text),
    }
}

/// Answers a call of a function of `ackclock._core`, in JSON: tells `answer` or `refused`.
///
/// # Safety
/// As of [`run`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn call(text: *mut u8, len: usize) {
    tell_panics();
    ask_for_files();
    // SAFETY: the caller's.
    face::call(&unsafe { taken(text, len) });
}

/// Runs a scenario with all its rows, as JSON says: tells `progress`, tables and `end`, or `refused`.
///
/// # Safety
/// As of [`run`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn run_whole(text: *mut u8, len: usize) {
    tell_panics();
    ask_for_files();
    // SAFETY: the caller's.
    whole::run(&unsafe { taken(text, len) });
}

/// Reads a scenario in TOML as `run_toml` does, and tells `resolved` or `error`.
///
/// # Safety
/// As of [`run_toml`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn resolve(text: *mut u8, len: usize, files: *mut u8, files_len: usize) {
    tell_panics();
    // SAFETY: the caller's.
    let (text, files) = unsafe { (taken(text, len), taken(files, files_len)) };
    run::resolve(&text, &files);
}

/// Tells `compile`: the `files` that a user's C file is compiled with, by their paths, and the `flags` of
/// clang for all files, and those of a user's (`user_flags`) besides.
#[cfg(target_arch = "wasm32")]
#[unsafe(no_mangle)]
pub extern "C" fn compile() {
    tell_panics();
    guest::compile();
}

/// Tells `error` if the file `path` has what the kernel would refuse: by what clang's preprocessor makes
/// of it, and by its assembly.
///
/// # Safety
/// As of [`run_toml`].
#[cfg(target_arch = "wasm32")]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn check(
    path: *mut u8,
    path_len: usize,
    preprocessed: *mut u8,
    preprocessed_len: usize,
    assembly: *mut u8,
    assembly_len: usize,
) {
    tell_panics();
    // SAFETY: the caller's.
    unsafe {
        guest::check(
            &taken(path, path_len),
            &taken(preprocessed, preprocessed_len),
            &taken(assembly, assembly_len),
        );
    }
}

/// Adds a user's file: its `text`, and the `memory` of its module as it was linked, with where
/// `cc_module` lies in it. Its number is the count of those that were added. Tells `error` if the file
/// declares no algorithm.
///
/// # Safety
/// `alloc` gave path, text and memory for their lengths, and no function has taken them.
#[cfg(target_arch = "wasm32")]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn add(
    path: *mut u8,
    path_len: usize,
    text: *mut u8,
    len: usize,
    memory: *mut u8,
    memory_len: usize,
    module: u32,
) {
    tell_panics();
    // SAFETY: the caller's.
    unsafe {
        let memory = Box::from_raw(std::ptr::slice_from_raw_parts_mut(memory, memory_len));
        guest::add(&taken(path, path_len), &taken(text, len), &memory, module);
    }
}

/// Tells `about`: the algorithms with their parameters, and the names in the tables' columns.
#[unsafe(no_mangle)]
pub extern "C" fn describe() {
    tell_panics();
    describe::describe();
}

/// C files that nobody has added are Python's to compile.
fn ask_for_files() {
    #[cfg(target_arch = "wasm32")]
    ackclock_host::guest::ask(guest::find);
}

/// A fault of ours ends the instance; first the page hears of it.
fn tell_panics() {
    panic::set_hook(Box::new(|fault| {
        let text =
            format!("the simulator broke down: {fault}; please report this with the scenario");
        page::error(&text);
    }));
}
