//! Prints the types of `ackclock._core`, which pyo3 stores in the library that it builds:
//! `cargo run --example stubs LIBRARY`.

use std::error::Error;
use std::path::PathBuf;

use pyo3_introspection::{introspect_cdylib, module_stub_files};

fn main() -> Result<(), Box<dyn Error>> {
    let library = std::env::args().nth(1).ok_or("give the library")?;
    let files = module_stub_files(&introspect_cdylib(library, "_core")?);
    print!("{}", files[&PathBuf::from("__init__.pyi")]);
    Ok(())
}
