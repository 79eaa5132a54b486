//! What the compiler makes of a file that is not trusted, before it is assembled: machine code that no
//! check would see is refused. Checks stand at loads and stores, so a jump must lead where the compiler
//! meant it to.

use std::collections::HashMap;
use std::fmt::Write as _;

use crate::call::{Compared, Range};
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

/// The same code without the constructor of clang's checks, which is empty. On x86 two things are added:
/// what most checks find stands where they are called (a load lies in the socket, a store in the private
/// state; at a call the compiler keeps nothing in %rax); and a function returns only to where it was
/// called from, with the stack as it was, for a file may write its own frames, and it begins with a frame of
/// zeros, for it may read that, too. At the beginning and at the end of a function the compiler keeps
/// nothing in %r10 and %r11 (gcc with -fno-ipa-ra).
pub(crate) fn prepared(assembly: &str, with: &Compared) -> String {
    let mut written = String::with_capacity(2 * assembly.len());
    let frames = frames(assembly);
    for line in assembly.split_inclusive('\n') {
        let code = line.split('#').next().unwrap_or_default().trim();
        if code == ".quad\tasan.module_ctor" || code == ".xword\tasan.module_ctor" {
            continue;
        }
        if !cfg!(target_arch = "x86_64") {
            written += line;
            continue;
        }
        // Not a text with that word.
        if matches!(code, "ret" | "retq" | "rep ret" | "rep; ret") {
            written += &returns(with);
        }
        match checked_size(code, with) {
            Some((Range { start_at, bytes }, size)) => {
                let last = bytes - size;
                let _ = write!(
                    written,
                    "\tmovq\t%rdi, %rax\n\tsubq\t%fs:{start_at}, %rax\n\tcmpq\t${last}, %rax\n\tjbe\t77f\n\
                     {line}77:\n"
                );
            }
            None => written += line,
        }
        let begun = code.strip_suffix(':').and_then(|name| frames.get(name));
        if let Some(&bytes) = begun {
            written += &begins(with, bytes);
        }
    }
    written
}

/// Function → the most bytes of its frame, by what its code takes from %rsp.
fn frames(assembly: &str) -> HashMap<&str, usize> {
    let mut frames = HashMap::new();
    let mut now = "";
    for line in assembly.lines() {
        let code = line.split('#').next().unwrap_or_default().trim();
        let (operation, operands) = code.split_once(['\t', ' ']).unwrap_or((code, ""));
        if let Some(name) = code
            .strip_suffix(':')
            .filter(|name| frames.contains_key(name))
        {
            now = name;
        }
        let number = |text: &str| text.trim().parse().map_or(0, i64::unsigned_abs);
        let taken = match (operation, operands.split_once(',')) {
            (".type", Some((name, kind))) if kind.trim() == "@function" => {
                frames.entry(name.trim()).or_insert(0);
                continue;
            }
            ("push" | "pushq", _) => 8,
            ("sub" | "subq", Some((by, to))) if to.trim() == "%rsp" => {
                number(by.trim_start_matches('$'))
            }
            // By less than 0, and to a boundary.
            ("add" | "addq" | "and" | "andq", Some((by, to)))
                if to.trim() == "%rsp" && by.starts_with("$-") =>
            {
                number(&by[1..])
            }
            ("lea" | "leaq", Some((from, _))) => from.strip_suffix("(%rsp)").map_or(0, number),
            _ => continue,
        };
        if let Some(bytes) = frames.get_mut(now) {
            *bytes += usize::try_from(taken).unwrap_or_default();
        }
    }
    frames
}

/// A function with such a frame begins: who called it is written down, and its frame is cleared.
fn begins(with: &Compared, frame_bytes: usize) -> String {
    const MOST_IN_LINE: usize = 16;
    let (returns_at, returns_end_at) = (with.returns_at, with.returns_end_at);
    let words = frame_bytes.div_ceil(8);
    let clears = if words > MOST_IN_LINE {
        format!("\tmovq\t$-{words}, %r10\n77:\tmovq\t$0, (%rsp,%r10,8)\n\tincq\t%r10\n\tjne\t77b\n")
    } else {
        let clear = |word: usize| format!("\tmovq\t%r10, -{}(%rsp)\n", 8 * word);
        let zero = (words > 0).then(|| "\txorl\t%r10d, %r10d\n".to_string());
        zero.into_iter().chain((1..=words).map(clear)).collect()
    };
    format!(
        "\tmovq\t%fs:{returns_at}, %r11\n\tcmpq\t%fs:{returns_end_at}, %r11\n\tjb\t77f\n\
         \tcall\t__asan_too_deep\n77:\tmovq\t(%rsp), %r10\n\tmovq\t%r10, (%r11)\n\
         \tmovq\t%rsp, 8(%r11)\n\taddq\t$16, %r11\n\tmovq\t%r11, %fs:{returns_at}\n{clears}"
    )
}

/// A function is about to return.
fn returns(Compared { returns_at, .. }: &Compared) -> String {
    format!(
        "\tmovq\t%fs:{returns_at}, %r11\n\tmovq\t-16(%r11), %r10\n\tcmpq\t%r10, (%rsp)\n\tjne\t77f\n\
         \tcmpq\t%rsp, -8(%r11)\n\tje\t78f\n77:\tcall\t__asan_not_returned\n\
         78:\tsubq\t$16, %r11\n\tmovq\t%r11, %fs:{returns_at}\n"
    )
}

/// What a call of a check compares with, and the bytes that it is about.
fn checked_size<'a>(line: &str, with: &'a Compared) -> Option<(&'a Range, usize)> {
    let called = line.strip_prefix("call")?.trim_start_matches('q').trim();
    let check = called
        .strip_prefix("__asan_")?
        .strip_suffix("_noabort@PLT")?;
    let (range, size) = match check.strip_prefix("load") {
        Some(size) => (&with.socket, size),
        None => (&with.private, check.strip_prefix("store")?),
    };
    Some((range, size.parse().ok()?))
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
        "call" | "callq" => operand.starts_with('*') || operand.contains(['+', '-']),
        // Out of a function: what it was called from would not be compared.
        _ if operation.starts_with('j') => {
            !operand.starts_with(".L") || operand.contains(['+', '-'])
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
        let with = Compared {
            socket: range(-80, 400),
            private: range(-72, 104),
            returns_at: -8,
            returns_end_at: -16,
        };
        let code = "\t.type\tf, @function\nf:\n\tcall\t__asan_load4_noabort@PLT\n\
                    \tcallq\t__asan_store8_noabort@PLT\n\tcall\t__asan_loadN_noabort@PLT\n\
                    \tpushq\t%rbx\n\tsubq\t$24, %rsp\n\tcall\tf\ng:\n\tret\n";
        let short = prepared(code, &with);
        assert!(
            short.contains("subq\t%fs:-80, %rax\n\tcmpq\t$396, %rax"),
            "{short}"
        );
        assert!(
            short.contains("subq\t%fs:-72, %rax\n\tcmpq\t$96, %rax"),
            "{short}"
        );
        let calls = short.lines().filter(|line| line.contains("call"));
        let calls: Vec<_> = calls
            .filter(|line| {
                !line.contains("__asan_not_returned") && !line.contains("__asan_too_deep")
            })
            .collect();
        let given: Vec<_> = code.lines().filter(|line| line.contains("call")).collect();
        assert_eq!(calls, given);
        let before = |what: &str| short.split(what).next().unwrap().lines().last().unwrap();
        assert!(short.contains("f:\n\tmovq\t%fs:-8, %r11\n"), "{short}");
        assert!(
            short.contains("g:\n\tmovq\t%fs:-8, %r11\n\tmovq\t-16(%r11), %r10\n"),
            "{short}"
        );
        assert_eq!(before("\n\tret"), "\tmovq\t%r11, %fs:-8");
        assert_eq!(short.matches("\tmovq\t%r10, -").count(), 4);
        let aligned = "\t.type\tf,@function\nf:  # @f\n\tpushq\t%rbp\n\tmovq\t%rsp, %rbp\n\
                       \tandq\t$-512, %rsp\n\taddq\t$-128, %rsp\n\tleaq\t-4096(%rsp), %r11\n\
                       \taddq\t$64, %rsp\n\t.string\t\"a ret in a text\"\n";
        assert_eq!(
            frames(aligned),
            HashMap::from([("f", 8 + 512 + 128 + 4096)])
        );
        assert!(!prepared(aligned, &with).contains("__asan_not_returned"));
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
            "jmp\tf",
            "jne\tf",
            "jmp\t.L3+4",
        ] {
            let found = of(&format!("\t{line}\n"));
            assert_eq!(found, Some(Unseen::Indirect(at("mine.c", 7))), "{line}");
        }
        let found = of("\t.loc 2 9 1\n#APP\n# 3 \"f\" 1\n\tnop\n#NO_APP\n");
        assert_eq!(found, Some(Unseen::Assembly(at("own.h", 9))));
        assert_eq!(of("#APP\n# 3 \"f\" 1\n\n#NO_APP\n\tnop\n"), None);
    }
}
