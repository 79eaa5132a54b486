//! Files that write their own frames: they return where they were called from, or end with one line.

use crate::cheats::{file, said};

/// `evil` does `how` to the `nth` address of code in the file's frames, from its own up; `other` to the
/// `nth` word. `middle` and `deep` call it, `from` tells where it was called from.
fn before(how: &str) -> String {
    format!(
        "static void x_avoid(struct sock *sk, u32 ack, u32 acked);\n\
         #define CODE(word) ((word) - (u64)x_avoid + 4096 < 8192 && (word) != (u64)x_avoid)\n\
         #define HERE volatile u64 here[1]; volatile u64 *volatile up = here; volatile u64 *at = up; at[0] = 0;\n\
         #define NOINLINE static __attribute__((noinline))\n\
         NOINLINE u64 evil(u64 by, u32 nth) {{ HERE for (u32 i = 0;; i++) {{ u64 word = at[i];\n\
         if (CODE(word) && !--nth) {{ {how}; return word; }} }} }}\n\
         NOINLINE u64 other(u64 by, u32 nth) {{ HERE if (!CODE(at[nth])) at[nth] = by; return at[0]; }}\n\
         NOINLINE u64 from(void) {{ HERE for (u32 i = 0;; i++) if (CODE(at[i])) return at[i]; }}\n\
         NOINLINE u64 middle(u64 by, u32 nth) {{ volatile u64 own[4]; own[0] = by;\n\
         u64 got = evil(own[0], nth); return got + own[0]; }}\n\
         NOINLINE u64 deep(u64 by, u32 nth, u32 left) {{ volatile u64 own = by;\n\
         u64 got = left ? deep(by, nth, left - 1) : evil(by, nth); return got + own; }}\n\
         NOINLINE u64 aligned(u64 by, u32 nth) {{ volatile u64 own[8] __attribute__((aligned(64)));\n\
         own[0] = by; u64 got = evil(own[0], nth); return got + own[0]; }}\n\
         NOINLINE u64 keeps(u64 by, u32 nth) {{ volatile u64 own[4] = {{ by, by + 1, by + 2, by + 3 }};\n\
         u64 a = own[0], b = own[1], c = own[2], d = own[3]; u64 got = other(by, nth);\n\
         return got + a * b + c * d + own[0]; }}\n\
         NOINLINE u64 copies(u64 by, u64 bytes) {{ HERE u64 many[16];\n\
         for (u32 i = 0; i < 16; i++) many[i] = (u64)x_avoid + by; __builtin_memcpy((void *)up, many, bytes); return at[0]; }}\n\
         NOINLINE u64 sets(u64 by, u64 bytes) {{ HERE\n\
         __builtin_memset((void *)up, (int)by, bytes); return at[0]; }}\n"
    )
}

#[test]
fn a_file_returns_to_where_it_was_called_from() {
    let plus = "at[i] = word + by";
    let cases = [
        (plus, "evil(28, 1);"),
        (plus, "evil(ack + 1, 1);"),
        (plus, "if (evil(4, 1) > 9) tp->snd_cwnd++;"),
        (plus, "evil(-8, 1);"),
        (plus, "middle(8, 1);"),
        (plus, "middle(8, 2);"),
        (plus, "deep(8, 1, 3);"),
        (plus, "deep(8, 3, 3);"),
        (plus, "deep(8, 5, 30);"),
        (plus, "aligned(8, 1);"),
        (plus, "aligned(8, 2);"),
        ("at[i] = 0", "evil(0, 1);"),
        ("at[i] = (u64)x_avoid", "evil(0, 1);"),
        ("at[i] = by - (1 << 20)", "evil(from() + (1 << 20), 1);"),
        ("at[i] = by - (1 << 20)", "middle(from() + (1 << 20), 2);"),
        ("at[i] = at[i - 1]", "evil(0, 1);"),
        ("*((volatile u8 *)(at + i)) += by", "evil(5, 1);"),
        ("*((volatile u32 *)(at + i) + 1) ^= by", "evil(5, 1);"),
        ("*((volatile u16 *)(at + i)) ^= by", "middle(16, 1);"),
        ("for (u64 k = 0; k < by; k++) at[i]++", "evil(9, 1);"),
        ("", "copies(0, 160 + ack);"),
        ("", "copies(40, 176 + ack);"),
        ("", "sets(65, 72 + ack);"),
        ("", "sets(0, 400 + ack);"),
    ];
    for (how, what) in cases {
        let (survived, said) = said(&file(&before(how), what), &[]);
        assert!(!survived, "{how}: {what}: survived");
        let words = [
            "has written over where it returns to",
            "an array on its stack",
            "memory that is not its own",
        ];
        assert!(
            said.starts_with("error: FILE")
                && said.lines().count() == 1
                && words[..2 + usize::from(how.is_empty())]
                    .iter()
                    .any(|words| said.contains(words)),
            "{how}: {what}: {said}"
        );
    }
}

/// What a function must keep for its caller is the host's when the hook is over.
#[test]
fn registers_of_the_host_are_its_own() {
    let mut survivors = 0;
    for nth in 1..14 {
        for by in ["0x4141414141414141", "0", "(u64)&sk"] {
            let what = format!("other({by}, {nth}); keeps({by}, {nth});");
            let (survived, said) = said(&file(&before(""), &what), &[]);
            let ends = said.starts_with("error: FILE") && said.lines().count() == 1;
            assert!(survived || ends, "{what}: {said}");
            survivors += usize::from(survived);
        }
    }
    assert!(survivors > 3, "a register that the file kept is no breach");
}

/// What a hook leaves on the stack, for another flow to find.
#[test]
fn a_frame_begins_with_zeros() {
    let leaves = "NOINLINE u64 leaves(u64 by, u32 left) { volatile u64 own[48]; for (u32 i = 0; i < 48; i++) own[i] = by; \
                  return (left ? leaves(by, left - 1) : 0) + own[by & 7]; }\n";
    let finds = [
        "HERE u64 sum = 0; for (u32 i = 0; i < 6; i++) sum += at[i] == MARK;",
        "volatile u64 own[2] __attribute__((aligned(512))); volatile u64 *volatile up = own; \
         own[0] = 0; u64 sum = 0; for (u32 i = 0; i < 40; i++) sum += up[i] == MARK;",
        "volatile u64 own[40]; own[0] = 0; u64 sum = 0; for (u32 i = 0; i < 40; i++) sum += own[i] == MARK;",
    ];
    for find in finds {
        let before = format!(
            "#define MARK 0x5bd1e995u\n{}{leaves}NOINLINE u64 finds(u32 left) {{ {find}\n\
             return left ? finds(left - 1) + sum : sum; }}\n",
            before("")
        );
        // A file that finds it reads through a null pointer.
        let what = "u64 found = ca->a[0] ? finds(4) : 0; ca->a[0] = 1; leaves(MARK, 6); \
                    if (found) tp->snd_cwnd = *(volatile u32 *)(found >> 32);";
        let (survived, said) = said(&file(&before, what), &[]);
        assert!(survived, "{find}: {said}");
    }
}
