//! A file in the Linux kernel's form as BPF: its text with a program for each of its hooks.
//!
//! `algorithms/kernel/kernel_bpf.h` is what its headers have for BPF. `module_init` cannot run there:
//! it has run in this process, with the kernel's HZ and the parameters, and the loader writes what the
//! file's variables contain since.

use std::collections::HashMap;
use std::fmt::Write as _;

use ackclock_host::LABEL_LINE;
use ackclock_host::{Configured, KernelProgram, Source};
use rustix::time::{clock_getres, ClockId};

use super::{tables, KernelError};

/// What a compiler calls the programs, which no user has written.
pub(super) const PROGRAMS_LABEL: &str = "<programs>";

/// The return type and the arguments of a hook, as `tcp_cc_types.h` has them.
const HOOKS: [(&str, &str, &str); 12] = [
    ("ssthresh", "u32", "struct sock *sk"),
    ("cong_avoid", "void", "struct sock *sk, u32 ack, u32 acked"),
    ("set_state", "void", "struct sock *sk, u8 new_state"),
    (
        "cwnd_event",
        "void",
        "struct sock *sk, enum tcp_ca_event event",
    ),
    ("in_ack_event", "void", "struct sock *sk, u32 flags"),
    (
        "pkts_acked",
        "void",
        "struct sock *sk, const struct ack_sample *sample",
    ),
    ("min_tso_segs", "u32", "struct sock *sk"),
    (
        "cong_control",
        "void",
        "struct sock *sk, u32 ack, int flag, const struct rate_sample *rs",
    ),
    ("undo_cwnd", "u32", "struct sock *sk"),
    ("sndbuf_expand", "u32", "struct sock *sk"),
    ("init", "void", "struct sock *sk"),
    ("release", "void", "struct sock *sk"),
];

/// What is compiled of a file, and what its variables contain.
pub(super) struct KernelForm {
    pub(super) text: Vec<u8>,
    pub(super) variables: HashMap<String, Vec<u8>>,
}

impl KernelForm {
    /// None: the file is in our dialect.
    ///
    /// # Errors
    /// The file does not compile for this kernel's HZ, or refuses its parameters.
    pub(super) fn compile(configured: &Configured) -> Result<Option<Self>, KernelError> {
        let hz = hz();
        let Some(program) = configured.kernel_program(hz)? else {
            return Ok(None);
        };
        let (own, included) = configured
            .algorithm()
            .sources()
            .split_first()
            .expect("the file itself");
        let mut text = prelude(hz, &program);
        for beside in included.iter().filter(|each| is_code(each)) {
            let name = beside.path.to_string_lossy();
            let name = name.replace('\\', "\\\\").replace('"', "\\\"");
            let code = for_bpf(&String::from_utf8_lossy(&beside.text));
            writeln!(text, "#define CC_KERNEL_BESIDE\n# 1 \"{name}\"\n{code}").expect("a string");
        }
        let code = for_bpf(&String::from_utf8_lossy(&own.text));
        let code = code.strip_prefix('\u{feff}').unwrap_or(&code);
        text += LABEL_LINE;
        text += code;
        text += &programs(configured.algorithm().name(), &program);
        Ok(Some(Self {
            text: text.into_bytes(),
            variables: program.variables,
        }))
    }
}

/// Is it the file's variable, and not one of `module.c` or `checked.c`?
fn is_own(name: &str) -> bool {
    !name.starts_with("cc_") && !name.starts_with('_')
}

/// Is it code beside the file, whose functions the file calls?
fn is_code(source: &Source) -> bool {
    source.path.extension() == Some("c".as_ref())
}

/// Ticks of this kernel per second.
fn hz() -> u32 {
    let tick = clock_getres(ClockId::MonotonicCoarse);
    let ns = u32::try_from(tick.tv_nsec).unwrap_or(0).max(1);
    // A tick is a whole number of nanoseconds; HZ is a whole number, too.
    (1_000_000_000 + ns / 2) / ns
}

/// What stands before the text.
fn prelude(hz: u32, program: &KernelProgram) -> String {
    let arguments = if program.has_two_arguments {
        "struct sock *, const struct rate_sample *"
    } else {
        "struct sock *, unsigned int, int, const struct rate_sample *"
    };
    let flags = program.flags;
    format!(
        "#define CC_HZ {hz}\n#define CC_CA_PRIV 104\n#define CC_FLAGS {flags}\nstruct sock;\nstruct rate_sample;\n\
         typedef void cc_kernel_cong_control({arguments});\n"
    )
}

/// What stands after it.
fn programs(name: &str, program: &KernelProgram) -> String {
    let mut text = format!(
        "\n# 1 \"{PROGRAMS_LABEL}\"\n#pragma clang attribute pop\n\
         #pragma clang section data = \"\" bss = \"\" rodata = \"\"\n#undef tcp_congestion_ops\n"
    );
    let mut members = String::new();
    let has_default = ("undo_cwnd", "tcp_reno_undo_cwnd");
    for (hook, returns, arguments) in HOOKS {
        let own = program.hooks.iter().find(|(each, _)| *each == hook);
        let Some((_, function)) = own.filter(|(_, name)| (hook, name.as_str()) != has_default)
        else {
            continue;
        };
        let given = match hook {
            "cong_control" if program.has_two_arguments => "sk, rs".to_string(),
            _ => {
                let names = arguments.split(", ").filter_map(|each| {
                    let name = each.rsplit(' ').next()?;
                    Some(name.trim_start_matches('*'))
                });
                names.collect::<Vec<_>>().join(", ")
            }
        };
        let back = if returns == "void" { "" } else { "return " };
        writeln!(
            text,
            "CC_HOOK({returns}, cc_hook_{hook}, {arguments}) {{ {back}{function}({given}); }}"
        )
        .expect("a string");
        write!(members, ".{hook} = cc_hook_{hook}, ").expect("a string");
    }
    // Else the compiler takes what nothing writes for constant. Ops and the like stay behind.
    let names = program.variables.keys().filter(|name| is_own(name));
    let mut names: Vec<_> = names.map(|name| format!("CC_VARIABLE({name})")).collect();
    names.sort();
    writeln!(text, "CC_VARIABLES = {{ {} }};", names.join(", ")).expect("a string");
    let is_letter = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
    let plain = name.replace(|letter| !is_letter(letter), "_");
    let flags = program.flags;
    text + &format!("CC_ALGORITHM({plain}, \"\", {members}.flags = {flags});\n")
}

/// The text with two statements in words that a BPF program has: a socket that goes on as Reno, and a
/// bound of the window; and with bounds of tables. Each line stays where it is.
fn for_bpf(text: &str) -> String {
    let text = tables::bounded(text);
    let mut rest = text.as_str();
    let mut done = String::new();
    let members = ["icsk_ca_ops", "snd_cwnd_clamp"];
    while let Some((at, member)) = members
        .into_iter()
        .filter_map(|member| Some((rest.find(&format!("->{member}"))?, member)))
        .min()
    {
        let end = at + "->".len() + member.len();
        let replaced = statement(&rest[..at], &rest[end..], member);
        let Some((start, code, length)) = replaced else {
            done += &rest[..end];
            rest = &rest[end..];
            continue;
        };
        done += &rest[..start];
        done += &code;
        rest = &rest[end + length..];
    }
    done + rest
}

/// Of a statement that writes a member of a socket: where it begins before the member, what takes its
/// place, and how much of what follows the member it has.
fn statement(before: &str, after: &str, member: &str) -> Option<(usize, String, usize)> {
    let object = object_of(before)?;
    let socket = &before[object..];
    let (start, value, is_call) = match written(after) {
        Some(value) => (object, value, false),
        None => {
            // WRITE_ONCE(inet_csk(sk)->icsk_ca_ops, &reno);
            let head = before[..object].trim_end().strip_suffix('(')?.trim_end();
            let start = head.strip_suffix("WRITE_ONCE")?.len();
            (start, after.trim_start().strip_prefix(',')?, true)
        }
    };
    let end = value.find(';')?;
    let length = after.len() - value.len() + end;
    let value = value[..end].trim();
    let value = if is_call {
        value.strip_suffix(')')?
    } else {
        value
    };
    let lines = "\n".repeat(
        after[..length]
            .matches('\n')
            .count()
            .saturating_sub(value.matches('\n').count()),
    );
    let code = match member {
        "icsk_ca_ops" => {
            let lines = lines + &"\n".repeat(value.matches('\n').count());
            format!("cc_become_reno((struct sock *){socket}){lines}")
        }
        _ => format!("cc_set_cwnd_clamp((struct sock *){socket}, {value}){lines}"),
    };
    Some((start, code, length))
}

/// What is assigned: `after` begins with `=`.
fn written(after: &str) -> Option<&str> {
    let value = after.trim_start().strip_prefix('=')?;
    (!value.starts_with('=')).then_some(value)
}

/// Where the expression begins that ends here: `icsk` or `inet_csk(sk)`.
fn object_of(before: &str) -> Option<usize> {
    let mut end = before.trim_end().len();
    if before[..end].ends_with(')') {
        let mut depth = 0;
        for (at, letter) in before[..end].char_indices().rev() {
            depth += i32::from(letter == ')') - i32::from(letter == '(');
            if depth == 0 {
                end = at;
                break;
            }
        }
    }
    let is_letter = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
    let start = before[..end].trim_end_matches(is_letter).len();
    (start < end).then_some(start)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statements_are_replaced_on_their_lines() {
        for (text, becomes) in [
            (
                "\tinet_csk(sk)->icsk_ca_ops = &reno;\n",
                "\tcc_become_reno((struct sock *)inet_csk(sk));\n",
            ),
            (
                "WRITE_ONCE(icsk->icsk_ca_ops,\n\t&reno); x",
                "cc_become_reno((struct sock *)icsk)\n; x",
            ),
            (
                "tp->snd_cwnd_clamp =\n min_t(u32, tp->snd_cwnd_clamp, 9);",
                "cc_set_cwnd_clamp((struct sock *)tp, min_t(u32, tp->snd_cwnd_clamp, 9))\n;",
            ),
            (
                "if (tp->snd_cwnd_clamp == 3 || inet_csk(sk)->icsk_ca_ops != &x)",
                "if (tp->snd_cwnd_clamp == 3 || inet_csk(sk)->icsk_ca_ops != &x)",
            ),
        ] {
            assert_eq!(for_bpf(text), becomes);
        }
    }
}
