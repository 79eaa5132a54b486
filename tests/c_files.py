"""C files that no host runs, or that a hook of is ended: for tests of hosts."""

import json
import re

from common import ROOT

#: As `file` of crates/host/tests/cheats.rs, whose `ack` is 0.
FILE = """#include "tcp_cc.h"
struct x {{ u32 a[4]; }};
CC_PRIVATE(struct x);
{before}
CC_HOOK(void, x_avoid, struct sock *sk, u32 ack, u32 acked) {{
struct tcp_sock *tp = tcp_sk(sk); struct x *ca = inet_csk_ca(sk); ack = tp->lost >> 31; {what} }}
CC_ALGORITHM(x, "x", .ssthresh = tcp_reno_ssthresh, .cong_avoid = x_avoid);
"""
#: What the kernel would refuse: text before the hook, text in it, and what is said of it.
REFUSED = [
    ("", "tp->snd_cwnd = nothing;", "my_cc.c:6:104: error: use of undeclared identifier"),
    ("static u32 all;", "tp->snd_cwnd = ++all;", "variables outside the socket (all)"),
    ("", "tp->snd_cwnd = tp->snd_cwnd * 1.5;", "my_cc.c uses floating point"),
    ("void printk(u32);", "printk(ack);", "my_cc.c calls printk, which the kernel does not"),
    ("", '__asm__("nop");', "my_cc.c:6: inline assembly"),
    (
        "",
        "u32 (*volatile f)(u32) = (void *)(u64)ack; tp->snd_cwnd = f(1);",
        "my_cc.c:6: calls a function through a pointer",
    ),
    (
        "",
        "*(volatile u8 *)__builtin_alloca(8 + ack) = 1;",
        "my_cc.c:6: __builtin_alloca",
    ),
    (
        '__attribute__((no_sanitize("kernel-address"))) static void f(u32 *a) { *a = 1; }',
        "f(&tp->snd_cwnd);",
        "my_cc.c:4: the attribute no_sanitize",
    ),
    ("#pragma clang optimize off", "", "my_cc.c:4: #pragma clang optimize off"),
    ("", "u32 régime = ack; tp->snd_cwnd = régime;", "my_cc.c:6: régime"),
    (
        "__attribute__((constructor)) void f(void) { volatile u32 a = 1; (void)a; }",
        "",
        "my_cc.c has a constructor",
    ),
    (
        "static u32 f(u32 n) { volatile u32 a[99]; a[n & 7] = n; return f(n - 1) + a[0]; }",
        "tp->snd_cwnd = f(~ack);",
        "needs more stack",
    ),
]


def cheats():
    """What a file does, and what is said of it: those of the native host's tests."""
    text = (ROOT / "crates/host/tests/cheats.rs").read_text()
    string = r'"(?:[^"\\]|\\.)*"'
    found = re.findall(rf"^    \(({string}), ({string})\),$", text, re.MULTILINE)
    assert len(found) >= 23
    # Of these arrays clang knows the size, and makes nothing of what lies beyond.
    each = [tuple(map(json.loads, each)) for each in found]
    return [(what, words) for what, words in each if "up[i]" not in what]
