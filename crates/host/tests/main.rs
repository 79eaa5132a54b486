//! One program of all tests of this crate: built and linked once, run on every core.

mod any_events;
mod attacks;
mod change;
mod cheats;
mod common;
mod compiler;
mod cubic;
mod cubic_fc;
mod delay_based;
mod eras;
mod family;
mod fuzz;
mod high_speed;
mod kernel_form;
mod laws;
mod modules;
mod published;
mod results_version;
mod returns;
mod slow_start;
mod snapshot;
mod spec;
mod square_ff;
mod time_based;
mod user_files;
mod vectors;
