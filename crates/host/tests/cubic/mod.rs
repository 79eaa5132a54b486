//! CUBIC against its formula, and against the mistakes that others made in it.

mod hooks;
mod hystart;
mod model;
mod mutants;
mod root;
mod versions;
