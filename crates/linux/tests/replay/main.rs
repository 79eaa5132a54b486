//! Two hosts, one behaviour: calls recorded on one are made again on the other.

#[allow(dead_code, reason = "the crate uses the rest")]
#[path = "../../src/bpf/clang.rs"]
mod clang;
#[path = "../common/mod.rs"]
mod common;

mod bytecode;
mod call;
mod kernel_bbr;
mod kernel_cubic;
mod random;
mod recorder;
mod trace;

use std::fmt::Write as _;
use std::path::Path;
use std::{env, fs};

use ackclock_host::{Algorithm, Configured, Era};
use bytecode::{Bytecode, CALLS};
use random::RandomCalls;

/// Of each configuration with the helpers of each kernel: 100 352 in all.
const RANDOM_CALLS: usize = 49 * CALLS;
const SEED: u64 = 0xcbf2_9ce4_8422_2325;

/// An algorithm with every preset that is not another's second name.
fn configurations(algorithm: &Algorithm) -> Vec<Configured> {
    let name = algorithm.name();
    let presets = algorithm
        .presets()
        .iter()
        .map(|preset| format!("{name}@{}", preset.name));
    let mut all: Vec<Configured> = Vec::new();
    for spec in [name.to_string()].into_iter().chain(presets) {
        let configured = Algorithm::configure(&spec).unwrap();
        if all.iter().all(|one| one.values() != configured.values()) {
            all.push(configured);
        }
    }
    all
}

/// Hash of what the native build makes of the random calls. Each goes to the bytecode, too,
/// if there is one, and the first that it answers otherwise is the error.
fn hash(
    configured: &Configured,
    bytecode: Option<(&Bytecode, &Configured)>,
) -> Result<u64, String> {
    let mut hash = SEED;
    for era in [Era::Linux6, Era::Linux2_6] {
        let mut flow = RandomCalls::new(configured.spec(), era);
        for _ in 0..RANDOM_CALLS / CALLS {
            let (calls, native): (Vec<_>, Vec<_>) = flow.by_ref().take(CALLS).unzip();
            hash = native.iter().fold(hash, |hash, outcome| outcome.hash(hash));
            let Some((bytecode, other)) = bytecode else {
                continue;
            };
            let made = bytecode.make(other, &calls);
            let mut made = calls.iter().zip(native.iter().zip(&made));
            if let Some((call, (native, made))) = made.find(|(_, (native, made))| native != made) {
                let spec = configured.spec();
                return Err(format!(
                    "{spec}: {call:?}\nnative: {native:?}\nBPF: {made:?}"
                ));
            }
        }
    }
    Ok(hash)
}

/// If it could not fail it would prove nothing: the bytecode of a preset is not the default's.
#[test]
fn other_bytecode_does_otherwise() {
    if common::skipped("running BPF bytecode") {
        return;
    }
    for [one, other] in [
        ["cubic", "cubic@ha2008"],
        ["htcp", "htcp@leith2004"],
        ["bic", "bic@xu2004"],
    ] {
        let one = Algorithm::configure(one).unwrap();
        let other = Algorithm::configure(other).unwrap();
        let found = hash(&one, Some((&Bytecode::load(one.algorithm()), &other)));
        assert!(found.is_err(), "{}", other.spec());
    }
}

/// vectors/bytecode.txt keeps what the bytecode did, so that a machine that cannot load BPF
/// still compares.
#[test]
fn bytecode_does_what_the_native_build_does() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../vectors/bytecode.txt");
    let run = !common::skipped("running BPF bytecode");
    let mut text = String::new();
    for algorithm in Algorithm::all() {
        let bytecode = run.then(|| Bytecode::load(algorithm));
        for configured in configurations(algorithm) {
            let bytecode = bytecode.as_ref().map(|bytecode| (bytecode, &configured));
            let hash = hash(&configured, bytecode).unwrap_or_else(|error| panic!("{error}"));
            writeln!(
                text,
                "{} {} {hash:016x}",
                configured.spec(),
                2 * RANDOM_CALLS
            )
            .unwrap();
        }
    }
    if run && env::var_os("ACKCLOCK_WRITE_VECTORS").is_some() {
        fs::write(&path, &text).unwrap();
    }
    let kept = fs::read_to_string(&path).unwrap_or_default();
    for (kept, is) in kept.lines().zip(text.lines()) {
        assert_eq!(
            kept, is,
            "vectors/bytecode.txt is out of date; as root: make vectors"
        );
    }
    assert_eq!(
        kept.len(),
        text.len(),
        "vectors/bytecode.txt is out of date; make vectors"
    );
}

/// tcp_cubic.c says that its preset linux is Linux's CUBIC bit for bit.
#[test]
fn the_kernels_cubic_is_ours() {
    let (about, records) = trace::read(&recorder::path("cubic"));
    let found = kernel_cubic::replay("cubic@linux", &records);
    let differences = found.differences.len();
    assert_eq!(
        found.differences.first(),
        None,
        "{differences} of {}",
        found.calls
    );
    // The trace has of everything that CUBIC distinguishes.
    println!("{about}: {found:?}");
    assert!(found.calls >= 30_000 && found.flows == 2, "{found:?}");
    assert!(found.reductions >= 10 && found.timeouts >= 2, "{found:?}");
    assert!(found.undos >= 1 && found.pauses >= 5, "{found:?}");

    let other = kernel_cubic::replay("cubic@ha2008", &records);
    assert!(other.differences.len() > other.calls / 2);
}

/// Writes what the test above reads: `make record`, as root.
#[test]
#[ignore = "records the kernel of this machine"]
fn record_the_kernels_cubic() {
    recorder::record::<kernel_cubic::Record>("cubic");
}

/// tcp_bbr.c says that its preset linux is Linux's BBR bit for bit.
#[test]
fn the_kernels_bbr_is_ours() {
    let (about, records) = trace::read(&recorder::path("bbr"));
    let found = kernel_bbr::replay("bbr@linux", &records);
    let differences = found.differences.len();
    assert_eq!(
        found.differences.first(),
        None,
        "{differences} of {}",
        found.calls
    );
    println!("{about}: {found:?}");
    // The trace has of everything that BBR distinguishes.
    assert!(found.calls >= 20_000 && found.flows == 2, "{found:?}");
    assert!(found.reductions >= 4 && found.timeouts >= 2, "{found:?}");
    assert!(found.undos >= 1 && found.pauses >= 5, "{found:?}");
    let with = |test: fn(&kernel_bbr::Record) -> bool| records.iter().filter(|r| test(r)).count();
    let modes = [0, 1, 2, 3].map(|mode| {
        let flags = records.iter().map(|record| record.private[7] & 7);
        flags.filter(|flag| *flag == mode).count()
    });
    assert!(modes.iter().all(|count| *count >= 40), "{modes:?}");
    let policed = with(|record| record.private[7] >> 31 & 1 == 1);
    let app_limited = with(|record| record.rs_is_app_limited == 1);
    assert!(
        policed >= 100 && app_limited >= 100,
        "{policed} {app_limited}"
    );

    let other = kernel_bbr::replay("bbr@linux-5.0", &records);
    assert!(other.differences.len() > other.calls / 10);
}

/// Writes what the test above reads: `make record`, as root.
#[test]
#[ignore = "records the kernel of this machine"]
fn record_the_kernels_bbr() {
    recorder::record::<kernel_bbr::Record>("bbr");
}
