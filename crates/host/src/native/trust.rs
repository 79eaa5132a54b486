//! Whether users' files are trusted: then their code runs without checks of what it touches.

/// In the environment, so that the processes which run ackclock for others know it, too.
const VARIABLE: &str = "ACKCLOCK_TRUST";

pub(crate) fn is_trusted() -> bool {
    is("1")
}

/// Whether nobody has read them, as where algorithms are judged: then all of their loads are checked, too.
pub(crate) fn is_strangers() -> bool {
    is("none")
}

fn is(value: &str) -> bool {
    std::env::var_os(VARIABLE).is_some_and(|given| given == value)
}
