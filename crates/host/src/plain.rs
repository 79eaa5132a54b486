//! What stands in the place of `native` where there is no system: the built-in algorithms run, and
//! the C files that the page has compiled.

pub(crate) use crate::guest as library;

pub(crate) mod checked {
    use crate::guest::Loaded;
    use crate::sock::TcpCongestionOps;

    /// Those that call the module's.
    pub(crate) fn hooks(_: &Loaded, ops: &TcpCongestionOps, _: usize) -> Option<TcpCongestionOps> {
        Some(*ops)
    }
}

pub(crate) mod compile {
    use std::path::Path;

    use crate::{guest, Algorithm, AlgorithmError};

    impl Algorithm {
        /// The algorithm of a file that the page has added.
        ///
        /// # Errors
        /// The file was not added.
        pub fn compile(path: &Path) -> Result<Algorithm, AlgorithmError> {
            guest::find(path)
        }
    }

    pub(crate) fn compile(path: &Path, _: &Path, _: bool) -> Result<Algorithm, AlgorithmError> {
        guest::find(path)
    }
}

pub(crate) mod kernel_module {
    use std::path::Path;

    use crate::configure::Spec;
    use crate::AlgorithmError;

    /// A file in the kernel's form: there is none.
    #[derive(Clone, Debug)]
    pub enum KernelModule {}

    #[derive(Clone, Debug)]
    pub(crate) enum Texts {}

    impl Texts {
        pub(crate) fn read(_: &Path) -> Result<Option<Self>, AlgorithmError> {
            Ok(None)
        }

        pub(crate) fn module(self, _: &str, _: &Spec<'_>) -> Result<KernelModule, AlgorithmError> {
            match self {}
        }
    }
}

pub(crate) mod crash {
    pub(crate) fn end(file: &str, what: &str) -> ! {
        panic!("{file}: {what}");
    }

    pub(crate) fn prepare_thread() {}
}

pub(crate) mod memory {
    /// Memory stays with the process.
    pub fn give_back_memory() {}

    /// Pages have one size.
    pub fn advise_large_pages<T>(_: &mut Vec<T>) {}

    pub(crate) fn advise_large(_: usize, _: usize) {}
}

pub(crate) mod thread_clock {
    use std::time::Duration;

    /// The CPU clock of a thread: there is none.
    #[derive(Clone, Copy, Debug)]
    pub enum ThreadClock {}

    impl ThreadClock {
        /// `None`.
        pub fn current() -> Option<Self> {
            None
        }

        /// CPU time so far.
        pub fn elapsed(self) -> Option<Duration> {
            match self {}
        }
    }
}
