//! What the compiler makes of a file that is not trusted, before it is assembled: machine code that no
//! check would see is refused. Checks stand at loads and stores, so a jump must lead where the compiler
//! meant it to.

use std::fmt::Write as _;

use crate::call::Range;
use crate::places::{Place, Places};

/// What is refused.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Unseen {
    /// Inline assembly.
    Assembly(Place),
    /// A call or a jump through a pointer.
    Indirect(Place),
}

/// The first thing in the compiler's output that is refused.
pub(crate) fn unseen(assembly: &str) -> Option<Unseen> {
    let mut places = Places::default();
    for line in assembly.lines() {
        let line = line.trim_start();
        if places.is_told(line) {
            continue;
        }
        if places.is_inline(line) {
            return Some(Unseen::Assembly(places.place()));
        }
        if is_indirect(line) {
            return Some(Unseen::Indirect(places.place()));
        }
    }
    None
}

/// The same code without the constructor of clang's checks, which is empty, and with what most checks find
/// written where they are called (x86 only): a load lies in the socket, a store in the private state. At a
/// call the compiler keeps nothing in %rax.
pub(crate) fn prepared(assembly: &str, [socket, private]: &[Range; 2]) -> String {
    let mut written = String::with_capacity(2 * assembly.len());
    for line in assembly.split_inclusive('\n') {
        if line.trim() == ".quad\tasan.module_ctor" || line.trim() == ".xword\tasan.module_ctor" {
            continue;
        }
        let called = line.trim().strip_prefix("call");
        let called =
            called.and_then(|rest| rest.trim_start_matches('q').trim().strip_prefix("__asan_"));
        let check = called.and_then(|name| name.strip_suffix("_noabort@PLT"));
        let range = check.and_then(|check| match check.strip_prefix("load") {
            Some(size) => Some((socket, size)),
            None => Some((private, check.strip_prefix("store")?)),
        });
        let range = range.filter(|_| cfg!(target_arch = "x86_64"));
        let size = range.and_then(|(range, size)| Some((range, size.parse::<usize>().ok()?)));
        if let Some((Range { start_at, bytes }, size)) = size {
            let last = bytes - size;
            let _ = write!(
                written,
                "\tmovq\t%rdi, %rax\n\tsubq\t%fs:{start_at}, %rax\n\tcmpq\t${last}, %rax\n\tjbe\t77f\n\
                 {line}77:\n"
            );
        } else {
            written += line;
        }
    }
    written
}

/// x86: `call *%rax`; Arm: `blr x0`, `br x0`.
fn is_indirect(line: &str) -> bool {
    let mut words = line.split_whitespace();
    let (operation, operand) = (
        words.next().unwrap_or_default(),
        words.next().unwrap_or_default(),
    );
    let operation = operation.trim_start_matches("notrack");
    match operation {
        // `call f+13`: into the middle of a function, behind a check.
        "call" | "callq" | "jmp" | "jmpq" => {
            operand.starts_with('*') || operand.contains(['+', '-'])
        }
        "" => operand.starts_with("call") || operand.starts_with("jmp"),
        "blr" | "br" => true,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn most_checks_are_short() {
        let range = |start_at, bytes| Range { start_at, bytes };
        let ranges = [range(-80, 400), range(-72, 104)];
        let code = "\tcall\t__asan_load4_noabort@PLT\n\tcallq\t__asan_store8_noabort@PLT\n\
                    \tcall\t__asan_loadN_noabort@PLT\n\tcall\tf\n";
        let short = prepared(code, &ranges);
        assert!(
            short.contains("subq\t%fs:-80, %rax\n\tcmpq\t$396, %rax"),
            "{short}"
        );
        assert!(
            short.contains("subq\t%fs:-72, %rax\n\tcmpq\t$96, %rax"),
            "{short}"
        );
        let calls = short.lines().filter(|line| line.contains("call"));
        assert_eq!(calls.collect::<Vec<_>>(), code.lines().collect::<Vec<_>>());
        assert_eq!(short.lines().count(), 4 + 2 * 5);
    }

    #[test]
    fn what_no_check_sees_is_found() {
        let head = "\t.file\t\"x.c\"\n\t.file 1 \"mine.c\"\n\t.file 2 \"/tmp\" \"own.h\"\n\t.loc 1 7 30 view -0\n";
        let of = |rest: &str| unseen(&format!("{head}{rest}"));
        let at = |file: &str, line| (file.to_string(), line);
        assert_eq!(
            of("\tcall\tf\n\tcall\tmemcpy@PLT\n\tjmp\t.L3\n\tret\n"),
            None
        );
        for line in [
            "call\t*%rsi",
            "callq\t*8(%rax)",
            "jmp\t*%rax",
            "notrack jmp\t*%rax",
            "blr\tx3",
            "br\tx3",
            "call\tf+13",
            "jmp\tf-4",
        ] {
            let found = of(&format!("\t{line}\n"));
            assert_eq!(found, Some(Unseen::Indirect(at("mine.c", 7))), "{line}");
        }
        let found = of("\t.loc 2 9 1\n#APP\n# 3 \"f\" 1\n\tnop\n#NO_APP\n");
        assert_eq!(found, Some(Unseen::Assembly(at("own.h", 9))));
        assert_eq!(of("#APP\n# 3 \"f\" 1\n\n#NO_APP\n\tnop\n"), None);
    }
}
