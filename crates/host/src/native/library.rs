//! The loaded code of a user's file.

use std::collections::HashMap;
use std::io;
use std::path::Path;

use libloading::os::unix::{Library, RTLD_LOCAL, RTLD_NOW};

use crate::crash;
use crate::module::{Module, MODULE};

/// A loaded library, and the entry that names its file if its code crashes.
pub(crate) struct Loaded {
    // Dropped first: no entry for code that is gone.
    entry: Option<crash::Entry>,
    library: Library,
}

impl Loaded {
    /// Loads `library`, the code of the user's file `name`.
    /// Its variable `symbol` is what the host reads of it.
    pub(crate) fn open(
        library: &Path,
        name: &str,
        symbol: &str,
    ) -> Result<Self, Box<dyn std::error::Error>> {
        let image = std::fs::read(library)?;
        // SAFETY: compile.rs refuses a file with constructors, so that nothing runs here.
        let library = unsafe { Library::open(Some(library), RTLD_NOW | RTLD_LOCAL) };
        let mut loaded = Self {
            entry: None,
            library: library.map_err(|error| explain(&error))?,
        };
        loaded.entry = loaded
            .symbol::<u8>(symbol)
            .and_then(|place| crash::Entry::new(name, &image, symbol, place as usize));
        Ok(loaded)
    }

    /// Native code runs in this very process: it has no number.
    pub(crate) fn guest(&self) -> u32 {
        0
    }

    /// What CC_ALGORITHM defined, if the file has one.
    pub(crate) fn module(&self) -> Option<*const Module> {
        self.symbol(MODULE)
    }

    /// Where it has that variable.
    pub(crate) fn symbol<T>(&self, name: &str) -> Option<*const T> {
        // SAFETY: only the address is taken.
        let symbol = unsafe { self.library.get::<*const T>(name.as_bytes()) };
        symbol.ok().map(|symbol| *symbol)
    }

    /// Does a function of the file begin at each of these addresses, if they are not 0?
    pub(crate) fn begin_functions(&self, addresses: &[usize]) -> bool {
        let begins = |&address: &usize| {
            address == 0 || (self.entry.as_ref()).is_some_and(|entry| entry.begins(address))
        };
        addresses.iter().all(begins)
    }

    /// The name of the function that begins there.
    pub(crate) fn function_at(&self, address: usize) -> Option<String> {
        self.entry.as_ref()?.function_at(address)
    }

    /// Its variables and what they contain, without those of a function.
    pub(crate) fn variables(&self) -> HashMap<String, Vec<u8>> {
        let entry = self.entry.as_ref();
        entry.map_or_else(HashMap::new, crash::Entry::variables)
    }

    /// Whether a copy of this process has the same variables, and not a copy of them.
    pub(crate) fn share(&self, shared: bool) -> io::Result<()> {
        self.entry
            .as_ref()
            .map_or(Ok(()), |entry| entry.share(shared))
    }

    /// From now on nothing may write its variables: the handler of crash.rs says who did. `thaws`: the
    /// first write is a warning.
    pub(crate) fn freeze(&self, thaws: bool) {
        if let Some(entry) = &self.entry {
            entry.freeze(thaws);
        }
    }

    /// Whether no variable was written since, and none will be.
    pub(crate) fn stays_frozen(&self) -> bool {
        (self.entry.as_ref()).is_none_or(crash::Entry::stays_frozen)
    }
}

/// A directory for temporary files may be mounted so that nothing in it can be executed.
fn explain(error: &libloading::Error) -> String {
    let why =
        std::error::Error::source(error).map_or_else(|| error.to_string(), |why| why.to_string());
    if why.contains("failed to map segment") {
        let place = std::env::temp_dir();
        return format!(
            "{} is mounted noexec, so that no code runs from there; set TMPDIR to another directory",
            place.display()
        );
    }
    why
}
