//! One look at each C file, for all that a command does.

use std::collections::HashMap;
use std::path::{absolute, Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use crate::configure::{is_path, Spec};
use crate::kernel_module::{KernelModule, Texts};
use crate::{compile, Algorithm, AlgorithmError, Configured};

/// The algorithms of one command. It reads and compiles each C file once: what happens to the
/// file after that changes nothing.
#[derive(Debug, Default)]
pub struct Snapshot {
    known: Mutex<Known>,
}

#[derive(Debug, Default)]
struct Known {
    specs: HashMap<String, Configured>,
    /// By the path as it was written, by that made absolute, and by the file's own.
    files: HashMap<PathBuf, Algorithm>,
    /// What Linux compiles of a file, by its path as it was written; None: it is not in the kernel's
    /// form.
    modules: HashMap<PathBuf, Option<Texts>>,
    /// Whether the files are another machine's, which has sent all that are needed.
    is_remote: bool,
}

impl Snapshot {
    /// Of another machine's files: it knows those that it [takes](Self::take), by their paths as specs
    /// write them, and reads no other.
    pub fn of_another_machine() -> Self {
        let known = Known {
            is_remote: true,
            ..Known::default()
        };
        Self {
            known: Mutex::new(known),
        }
    }

    /// As [`Algorithm::configure`], and the same for equal specs.
    ///
    /// # Errors
    /// As [`Algorithm::configure`]. An error is not remembered.
    pub fn configure(&self, spec: &str) -> Result<Configured, AlgorithmError> {
        // Held while compiling, so that threads that want the same file compile it once.
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(configured) = known.specs.get(spec) {
            return Ok(configured.clone());
        }
        let configured = Configured::parse(spec, |path| known.compile(path))?;
        known.specs.insert(spec.into(), configured.clone());
        Ok(configured)
    }

    /// What Linux itself compiles, where the spec names a file in the kernel's form; else None.
    ///
    /// # Errors
    /// The spec has not its form; the file cannot be read or preprocessed.
    pub fn kernel_module(&self, spec: &str) -> Result<Option<KernelModule>, AlgorithmError> {
        let parts = Spec::parse(spec)?;
        let path = Path::new(parts.name);
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if !is_path(parts.name) || known.is_remote {
            return Ok(None);
        }
        if !known.modules.contains_key(path) {
            let texts = Texts::read(path)?;
            known.modules.insert(path.into(), texts);
        }
        let texts = known.modules[path].clone();
        texts.map(|texts| texts.module(spec, &parts)).transpose()
    }

    /// The users' files that it compiled, by each path that leads to one.
    pub fn files(&self) -> HashMap<PathBuf, Algorithm> {
        let known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        known.files.clone()
    }

    /// Compiles the copy `at` of another machine's file, and takes it for what specs call `path`.
    ///
    /// # Errors
    /// As [`Algorithm::compile`].
    pub fn take(&self, path: &Path, at: &Path) -> Result<Algorithm, AlgorithmError> {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let algorithm = compile::compile(path, at, false)?;
        known.files.insert(path.into(), algorithm.clone());
        Ok(algorithm)
    }
}

impl Known {
    fn compile(&mut self, path: &Path) -> Result<Algorithm, AlgorithmError> {
        if self.is_remote {
            let sent = self.files.get(path).cloned();
            return sent.ok_or_else(|| {
                let path = path.display().to_string();
                AlgorithmError::unreadable(&path, "it did not come with the scenarios")
            });
        }
        let names = [Ok(path.into()), absolute(path), path.canonicalize()];
        let names: Vec<_> = names.into_iter().flatten().collect();
        let seen = names.iter().find_map(|name| self.files.get(name)).cloned();
        let algorithm = seen.map_or_else(|| Algorithm::compile(path), Ok)?;
        for name in names {
            self.files.insert(name, algorithm.clone());
        }
        Ok(algorithm)
    }
}
