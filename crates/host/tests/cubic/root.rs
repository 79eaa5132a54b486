//! The cube root of cubic.h against integers, over all 64 bits; and the two of `make bench`.

use crate::common::{Flow, UserFile};

/// The greatest integer whose cube is a u64.
const LARGEST: u64 = 2_642_245;

/// `root(a)` by the C function of this name, in a file that begins with `include`.
fn rooter(include: &str, function: &str) -> impl FnMut(u64) -> u64 {
    let file = UserFile::new(&format!(
        "{include}\n\
         CC_HOOK(u32, root_of, struct sock *sk) {{ return {function}(sk->sk_pacing_rate); }}\n\
         CC_ALGORITHM(root, \"\", .ssthresh = root_of, .cong_avoid = tcp_reno_cong_avoid);\n"
    ));
    let mut flow = Flow::with_hz(file.path.to_str().unwrap(), 250);
    move |a| {
        flow.tp().inet_conn.sk.sk_pacing_rate = a;
        flow.cc.ssthresh().into()
    }
}

const ROOTS: &str = concat!(
    "#include \"tcp_cc.h\"\n",
    include_str!("../../benches/roots.h")
);
const CUBIC: &str = "#define CC_PARAMS(P) CUBIC_PARAMS(P)\n#include \"cubic.h\"\n\
                     CC_PRIVATE(struct cubic);";

/// Calls `check(a, floor of a's root)` for the edges, all cubes, what is beside them, and
/// numbers at random of every length.
fn everywhere(mut check: impl FnMut(u64, u64)) {
    check(0, 0);
    for k in 1..=LARGEST {
        let cube = k * k * k;
        check(cube - 1, k - 1);
        check(cube, k);
        check(cube + 1, if cube == 1 { 1 } else { k });
    }
    check(u64::MAX, LARGEST);
    let mut random = 88_172_645_463_325_252_u64;
    for step in 0..1_000_000 {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        let a = random >> (step % 64);
        // A guess of floating point, put right by integers.
        let mut k = (a as f64).cbrt() as u64;
        let cube = |k: u64| u128::from(k).pow(3);
        while cube(k) > a.into() {
            k -= 1;
        }
        while cube(k + 1) <= a.into() {
            k += 1;
        }
        check(a, k);
    }
}

/// The nearest integer, below 2^63: above it the cubes that it compares do not fit into 64 bits.
#[test]
fn bisection_takes_the_nearest() {
    let mut root = rooter(ROOTS, "bisection");
    everywhere(|a, k| {
        let a_is_nearer = |k: u64| k.pow(3).abs_diff(a) < (k + 1).pow(3).abs_diff(a);
        if a > 0 && a < 1 << 63 {
            assert_eq!(root(a), if a_is_nearer(k) { k } else { k + 1 }, "{a}");
        }
    });
    assert_eq!(root(0), 0);
}

#[test]
fn the_benchs_table_and_newton_are_those_of_cubic() {
    let (mut benchs, mut cubics) = (rooter(ROOTS, "newton"), rooter(CUBIC, "cubic_root"));
    everywhere(|a, _| assert_eq!(benchs(a), cubics(a), "{a}"));
}

/// Off by 1 at most below 252 255 893, where K is 0.6 s; by 1 and 0.16 % anywhere.
#[test]
fn the_table_and_newton_are_close() {
    let mut root = rooter(CUBIC, "cubic_root");
    everywhere(|a, k| {
        let off = root(a).abs_diff(k);
        assert!(off <= 1 || a >= 252_255_893, "{a}: off by {off}");
        assert!(off * 10_000 <= 10_000 + 16 * k, "{a}: off by {off}");
    });
}

/// K grows with the distance from W_max, and never falls.
#[test]
fn k_is_monotone() {
    let mut root = rooter(CUBIC, "cubic_root");
    let mut last = 0;
    for distance in 1..=200_000 {
        let k = root((1 << 40) / 410 * distance);
        assert!(k >= last, "{distance}: {k} < {last}");
        last = k;
    }
}
