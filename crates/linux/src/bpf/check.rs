//! What a kernel would refuse in the BPF code of an algorithm: as far as the code tells, and by its
//! verifier where this process may ask it.

use std::collections::{HashMap, HashSet};

use ackclock_host::Configured;
use ackclock_host::FILE_LABEL;
use object::{Object, ObjectSection, ObjectSymbol, RelocationTarget, SymbolKind};

use super::error::{fix, LOOP_FIX};
use super::lines::Lines;
use super::{compile, load, require, KernelError};

/// Bytes of stack of a program and all that it calls: `MAX_BPF_STACK`.
const MOST_STACK: usize = 512;
/// The verifier rounds each function's stack up to this.
const STACK_STEP: usize = 32;
/// Instructions of a program: `BPF_COMPLEXITY_LIMIT_INSNS`.
const MOST_INSTRUCTIONS: usize = 1_000_000;
/// The kernel's functions that `host_kernel.h` declares.
const GIVEN: [&str; 5] = [
    "tcp_slow_start",
    "tcp_cong_avoid_ai",
    "tcp_reno_ssthresh",
    "tcp_reno_cong_avoid",
    "tcp_reno_undo_cwnd",
];

/// What was found.
#[derive(Debug, Default)]
#[cfg_attr(feature = "python", derive(pyo3::IntoPyObject))]
pub struct Checked {
    /// Hooks.
    pub programs: usize,
    /// Of all functions.
    pub instructions: usize,
    /// Of the hook that needs most, with what it calls.
    pub stack_bytes: usize,
    /// `my_cc.c:12: what is wrong; what to change`, one a line.
    pub problems: Vec<String>,
    /// Why the verifier was not asked; empty: it was.
    pub not_verified: String,
}

/// Compiles an algorithm for BPF and looks at the code. With privileges the kernel's verifier judges
/// it, too; nothing is registered.
///
/// # Errors
/// No clang; a file in the kernel's form that refuses its parameters.
pub fn check(configured: &Configured) -> Result<Checked, KernelError> {
    let path = configured.algorithm().source_path();
    let elf = match compile::object(configured) {
        Ok(object) => object.elf,
        Err(KernelError::DoesNotCompile { messages, .. }) => {
            return Ok(Checked {
                problems: messages.lines().map(String::from).collect(),
                not_verified: "it does not compile for BPF".into(),
                ..Checked::default()
            })
        }
        Err(error) => return Err(error),
    };
    let code = Code::from_elf(&elf, path).expect("clang has made it");
    let mut checked = code.checked();
    if let Err(error) = require("asking the verifier") {
        checked.not_verified = error.to_string();
        return Ok(checked);
    }
    match load::verify(configured) {
        // Its word is the last.
        Ok(()) => checked.problems.clear(),
        Err(KernelError::Refused { place, reason, .. }) => {
            let place = place.trim_matches([' ', '(', ')']);
            let place = if place.is_empty() { path } else { place };
            let same = format!("{place}: ");
            checked.problems.retain(|each| !each.starts_with(&same));
            let by = format!("{place}: the kernel's verifier: {reason}; {}", fix(&reason));
            checked.problems.insert(0, by);
        }
        Err(error) => checked.not_verified = error.to_string(),
    }
    Ok(checked)
}

/// An instruction of BPF (the kernel's `struct bpf_insn`).
#[derive(Clone, Copy)]
struct Instruction {
    code: u8,
    to: u8,
    from: u8,
    offset: i16,
    value: i32,
}

impl Instruction {
    fn read(bytes: &[u8]) -> Self {
        Self {
            code: bytes[0],
            to: bytes[1] & 15,
            from: bytes[1] >> 4,
            offset: i16::from_le_bytes([bytes[2], bytes[3]]),
            value: i32::from_le_bytes([bytes[4], bytes[5], bytes[6], bytes[7]]),
        }
    }

    fn class(self) -> u8 {
        self.code & 7
    }

    /// Does it jump, and not call or end?
    fn is_jump(self) -> bool {
        matches!(self.class(), 5 | 6) && !matches!(self.code, 0x85 | 0x8d | 0x95)
    }

    fn is_conditional(self) -> bool {
        self.is_jump() && self.code & 0xf0 != 0
    }

    /// Is its second operand the number in it?
    fn has_number(self) -> bool {
        self.code & 8 == 0
    }

    fn computes(self) -> bool {
        matches!(self.class(), 4 | 7)
    }

    /// Does it make a register larger or smaller by a number: +=, <<=, >>=?
    fn steps(self, register: u8) -> bool {
        let steps = matches!(self.code & 0xf0, 0x00 | 0x60 | 0x70);
        self.computes() && self.to == register && self.has_number() && steps && self.value != 0
    }

    /// r1 = 5
    fn is_number(self) -> bool {
        self.computes() && self.code & 0xf8 == 0xb0
    }

    /// r1 = r2
    fn is_copy(self) -> bool {
        self.computes() && self.code & 0xf8 == 0xb8
    }

    fn sets(self, register: u8) -> bool {
        (self.computes() || matches!(self.class(), 0 | 1)) && self.to == register
    }

    /// How far below the frame it reads or writes, bytes.
    fn stack_bytes(self) -> usize {
        let frame = match self.class() {
            1 => self.from,
            2 | 3 => self.to,
            _ => return 0,
        };
        if frame == 10 {
            usize::from(self.offset.min(0).unsigned_abs())
        } else {
            0
        }
    }
}

/// A function: a hook, or what clang has not put into one.
struct Function {
    section: String,
    /// In its section, bytes.
    start: usize,
    is_hook: bool,
    code: Vec<Instruction>,
    /// Index of a call → the symbol that it names.
    named: HashMap<usize, String>,
}

struct Code {
    functions: Vec<Function>,
    lines: Lines,
}

impl Code {
    fn from_elf(elf: &[u8], path: &str) -> object::Result<Self> {
        let file = object::File::parse(elf)?;
        let mut functions = Vec::new();
        // The programs that the algorithm has: libbpf loads no other of `?struct_ops`.
        let mut chosen = HashSet::new();
        let ops = file.section_by_name(".struct_ops.link").into_iter();
        for (_, relocation) in ops.flat_map(|section| section.relocations()) {
            if let RelocationTarget::Symbol(index) = relocation.target() {
                chosen.insert(file.symbol_by_index(index)?.name()?.to_string());
            }
        }
        for section in file.sections() {
            let name = section.name()?.to_string();
            if section.kind() != object::SectionKind::Text {
                continue;
            }
            let text = section.data()?;
            let mut named = HashMap::new();
            for (offset, relocation) in section.relocations() {
                if let RelocationTarget::Symbol(index) = relocation.target() {
                    let symbol = file.symbol_by_index(index)?;
                    named.insert(offset as usize / 8, symbol.name()?.to_string());
                }
            }
            let own = file.symbols().filter(|symbol| {
                symbol.kind() == SymbolKind::Text && symbol.section_index() == Some(section.index())
            });
            let is_offered = name.starts_with('?');
            let own = own.filter(|symbol| {
                !is_offered || symbol.name().is_ok_and(|name| chosen.contains(name))
            });
            for symbol in own {
                let (start, size) = (symbol.address() as usize, symbol.size() as usize);
                let within = (start / 8)..((start + size) / 8);
                let named = named.iter().filter(|(index, _)| within.contains(index));
                functions.push(Function {
                    section: name.clone(),
                    start,
                    is_hook: name.ends_with("struct_ops"),
                    code: text[start..start + size]
                        .chunks_exact(8)
                        .map(Instruction::read)
                        .collect(),
                    named: named
                        .map(|(index, name)| (index - start / 8, name.clone()))
                        .collect(),
                });
            }
        }
        let lines = Lines::from_object(&file, FILE_LABEL, path);
        Ok(Self { functions, lines })
    }

    fn checked(&self) -> Checked {
        let mut checked = Checked::default();
        for function in &self.functions {
            checked.programs += usize::from(function.is_hook);
            checked.instructions += function.code.len();
            checked.problems.extend(self.problems(function));
            let stack = self.stack_bytes(function, 0);
            checked.stack_bytes = checked.stack_bytes.max(stack);
            if function.is_hook && stack > MOST_STACK {
                checked.problems.push(format!(
                    "{}: {stack} bytes of stack with what it calls; BPF has {MOST_STACK}: keep less in local variables",
                    self.place(function, 0)
                ));
            }
        }
        checked.problems.sort();
        checked.problems.dedup();
        checked
    }

    fn place(&self, function: &Function, index: usize) -> String {
        self.lines
            .find(&function.section, function.start + 8 * index)
    }

    fn problems(&self, function: &Function) -> Vec<String> {
        let mut found = Vec::new();
        let at = |index: usize, text: String| format!("{}: {text}", self.place(function, index));
        if function.code.len() > MOST_INSTRUCTIONS {
            let size = function.code.len();
            let text = format!("{size} instructions; a program has at most {MOST_INSTRUCTIONS}");
            found.push(at(0, text));
        }
        for (index, instruction) in function.code.iter().enumerate() {
            if instruction.code == 0x8d {
                let text =
                    "a call through a pointer, which BPF lacks; call the function by its name";
                found.push(at(index, text.into()));
            }
            if let Some(name) = self.unknown(function, index) {
                let text = format!("{name} is no function that the kernel offers to an algorithm; algorithms/include/tcp_cc.h lists them");
                found.push(at(index, text));
            }
            let target = index as isize + 1 + isize::from(instruction.offset);
            if instruction.is_jump() && target <= index as isize && target >= 0 {
                let start = target as usize;
                if is_loop(&function.code, start, index)
                    && !is_bounded(&function.code, start, index)
                {
                    let text = format!("a loop whose number of rounds is no constant, which the verifier may refuse; {LOOP_FIX}");
                    found.push(at(start, text));
                }
            }
        }
        found
    }

    /// The function that a call names and nobody has.
    fn unknown<'a>(&self, function: &'a Function, index: usize) -> Option<&'a str> {
        let instruction = function.code[index];
        let name = function
            .named
            .get(&index)
            .filter(|_| instruction.code == 0x85)?;
        let is_own = self.called(function, index).is_some();
        (!is_own && !name.is_empty() && !GIVEN.contains(&name.as_str())).then_some(name)
    }

    /// The file's own function that a call means.
    fn called(&self, function: &Function, index: usize) -> Option<&Function> {
        let instruction = function.code[index];
        if instruction.code != 0x85 || instruction.from != 1 {
            return None;
        }
        // By a relocation to .text, or without one in the same section.
        let to = match function.named.get(&index).map(String::as_str) {
            Some("" | ".text") => (".text", (i64::from(instruction.value) + 1) * 8),
            Some(_) => return None,
            None => {
                let next = function.start as i64 / 8 + index as i64 + 1;
                (
                    function.section.as_str(),
                    (next + i64::from(instruction.value)) * 8,
                )
            }
        };
        let mut all = self.functions.iter();
        all.find(|each| (each.section.as_str(), each.start as i64) == to)
    }

    /// With what it calls; `depth` ends a recursion, which the verifier refuses itself.
    fn stack_bytes(&self, function: &Function, depth: usize) -> usize {
        let mut own = 0;
        let mut called = 0;
        for (index, instruction) in function.code.iter().enumerate() {
            own = own.max(instruction.stack_bytes());
            // r1 = r10; r1 += -64
            let is_address = instruction.code == 0x07
                && index > 0
                && function.code[index - 1].code == 0xbf
                && function.code[index - 1].from == 10;
            if is_address {
                own = own.max(instruction.value.min(0).unsigned_abs() as usize);
            }
            if let Some(other) = self.called(function, index).filter(|_| depth < 8) {
                called = called.max(self.stack_bytes(other, depth + 1));
            }
        }
        let rounded = own.div_ceil(STACK_STEP) * STACK_STEP;
        called
            + if called > 0 {
                rounded.max(STACK_STEP)
            } else {
                own
            }
    }
}

/// Does the code from `start` on come to the jump at `end`, which leads to `start`?
fn is_loop(code: &[Instruction], start: usize, end: usize) -> bool {
    let mut seen = vec![false; code.len()];
    let mut next = vec![start];
    while let Some(at) = next.pop() {
        if at == end {
            return true;
        }
        if at >= code.len() || std::mem::replace(&mut seen[at], true) {
            continue;
        }
        let instruction = code[at];
        if instruction.is_jump() {
            let target = at as isize + 1 + isize::from(instruction.offset);
            next.push(usize::try_from(target).unwrap_or(usize::MAX));
        }
        let goes_on = !instruction.is_jump() || instruction.is_conditional();
        if goes_on && instruction.code != 0x95 {
            next.push(at + 1);
        }
    }
    false
}

/// Does the loop from `start` to the jump back at `end` step a register by a number, from a number,
/// and end when that has reached a number?
fn is_bounded(code: &[Instruction], start: usize, end: usize) -> bool {
    let body = &code[start..=end];
    let begins = |register: u8| {
        let before = code[..start].iter().rev().find(|each| each.sets(register));
        before.is_some_and(|each| each.is_number())
    };
    let counts = |register: u8| {
        let steps = body.iter().any(|each| each.steps(register));
        steps && begins(register)
    };
    let is_constant = |register: u8| {
        let is_set = body.iter().any(|each| each.sets(register));
        !is_set && begins(register)
    };
    // A copy of what is stepped: r2 = r1.
    let copied = |register: u8| {
        let copies = body
            .iter()
            .filter(|each| each.is_copy() && each.to == register);
        copies.map(|each| each.from).any(counts)
    };
    let reaches = |each: &Instruction, register: u8, other: u8| {
        (counts(register) || copied(register)) && (each.has_number() || is_constant(other))
    };
    body.iter().enumerate().any(|(index, each)| {
        let target = (start + index) as isize + 1 + isize::from(each.offset);
        let leaves = target < start as isize || target > end as isize || start + index == end;
        let by = |register, other| reaches(each, register, other);
        leaves
            && each.is_conditional()
            && (by(each.to, each.from) || (!each.has_number() && by(each.from, each.to)))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use ackclock_host::{Algorithm, Scratch};

    /// The problems in a file whose hooks call `body`.
    fn problems(body: &str) -> Vec<String> {
        let scratch = Scratch::new().unwrap();
        let text = format!(
            "#include \"tcp_cc.h\"\n{body}\n\
             CC_HOOK(u32, mine_ssthresh, struct sock *sk) {{ return part(sk, tcp_sk(sk)->snd_cwnd); }}\n\
             CC_HOOK(void, mine_cong_avoid, struct sock *sk, u32 ack, u32 acked) {{ }}\n\
             CC_ALGORITHM(mine, \"\", .ssthresh = mine_ssthresh, .cong_avoid = mine_cong_avoid);\n"
        );
        let file = scratch.write("mine.c", text.as_bytes()).unwrap();
        let configured = Algorithm::configure(file.to_str().unwrap()).unwrap();
        let elf = compile::object(&configured).unwrap().elf;
        Code::from_elf(&elf, "mine.c").unwrap().checked().problems
    }

    #[test]
    fn nothing_is_said_of_what_the_verifier_takes() {
        for algorithm in Algorithm::all() {
            let configured = Algorithm::configure(algorithm.name()).unwrap();
            let elf = compile::object(&configured).unwrap().elf;
            let checked = Code::from_elf(&elf, algorithm.name()).unwrap().checked();
            assert!(checked.programs > 1 && checked.instructions > 5);
            assert_eq!(checked.problems, [""; 0], "{}", algorithm.name());
        }
        let counted = "static u32 part(struct sock *sk, u32 cwnd) {\n\
             u32 sum = 0;\n\
             for (u32 i = 0; i < 40; i++)\n\
             sum = sum * 3 + (cwnd ^ sum >> 5);\n\
             return sum; }";
        assert_eq!(problems(counted), [""; 0]);
    }

    #[test]
    fn a_loop_that_the_window_bounds_is_told_with_its_line() {
        let endless = "static u32 part(struct sock *sk, u32 cwnd) {\n\
             u32 sum = 0;\n\
             while (cwnd > sum)\n\
             cwnd -= (sum ^= cwnd >> 3) | 1;\n\
             return cwnd; }";
        let found = problems(endless);
        assert_eq!(found.len(), 1, "{found:?}");
        let place = found[0].split(": ").next().unwrap();
        assert!(["mine.c:4", "mine.c:5"].contains(&place), "{found:?}");
        assert!(found[0].contains("a loop whose number of rounds is no constant"));
    }

    #[test]
    fn stack_counts_with_what_is_called() {
        let deep = "struct deep { u64 words[40]; };\n\
             __attribute__((noinline)) static u32 deeper(struct deep *of, u32 n) {\n\
             struct deep own;\n\
             for (int i = 0; i < 40; i++) ((volatile u64 *)own.words)[i] = of->words[39 - i] + n;\n\
             return ((volatile u64 *)own.words)[n % 40]; }\n\
             static u32 part(struct sock *sk, u32 cwnd) {\n\
             struct deep own;\n\
             for (int i = 0; i < 40; i++) ((volatile u64 *)own.words)[i] = cwnd;\n\
             return deeper(&own, cwnd); }";
        let found = problems(deep);
        let said = "bytes of stack with what it calls; BPF has 512";
        assert!(found.iter().any(|each| each.contains(said)), "{found:?}");
    }
}
