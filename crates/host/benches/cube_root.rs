//! What a cube root costs: by bisection, as the paper says CUBIC had it to 2.6.20 (the source of 2.0 has Newton already), and by a table and
//! a step of Newton-Raphson, as since (S. Ha, I. Rhee, L. Xu 2008, table 1: 1032 and 79
//! clocks). Both are C, built as algorithms are; the least of many runs, less the loop's.
//! On an AMD EPYC (Zen 4): 127 and 33 clocks, so the paper's tenfold is fourfold today.

use std::error::Error;
use std::time::Instant;

use ackclock_host::{Algorithm, CongestionControl, HostConfig};

const FILE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/benches/cube_root.c");
const ROOTS: u32 = 1000;
const RUNS: u32 = 2000;

/// Clocks of the processor's time stamp counter, where there is one.
fn clocks() -> Option<u64> {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: every x86-64 has the instruction.
    return Some(unsafe { core::arch::x86_64::_rdtsc() });
    #[cfg(not(target_arch = "x86_64"))]
    None
}

/// (ns, clocks) per root.
fn cost(method: u32) -> Result<(f64, Option<f64>), Box<dyn Error>> {
    let algorithm = Algorithm::configure(&format!("{FILE}:method={method}"))?;
    let mut flow = CongestionControl::new(&algorithm, HostConfig::default());
    let (mut least_ns, mut least_clocks) = (u128::MAX, None);
    for run in 0..RUNS {
        flow.tp_mut().snd_cwnd = 1 + run;
        let (began, began_clocks) = (Instant::now(), clocks());
        std::hint::black_box(flow.ssthresh());
        let taken = clocks().zip(began_clocks).map(|(end, begin)| end - begin);
        least_ns = least_ns.min(began.elapsed().as_nanos());
        least_clocks = least_clocks.map_or(taken, |least: u64| taken.map(|t| least.min(t)));
    }
    let each = |total: f64| total / f64::from(ROOTS);
    Ok((
        each(least_ns as f64),
        least_clocks.map(|total| each(total as f64)),
    ))
}

fn main() -> Result<(), Box<dyn Error>> {
    let (loop_ns, loop_clocks) = cost(0)?;
    println!("{:<22} {:>16} {:>22}", "cube root", "ns", "clocks");
    let mut costs = Vec::new();
    for (name, method) in [("bisection", 1), ("table, Newton-Raphson", 2)] {
        let (ns, clocks) = cost(method)?;
        let clocks = clocks.zip(loop_clocks).map(|(all, of_loop)| all - of_loop);
        let shown = clocks.map_or("-".into(), |clocks| format!("{clocks:.1}"));
        println!("{name:<22} {:>16.1} {shown:>22}", ns - loop_ns);
        costs.push(ns - loop_ns);
    }
    println!("{:<22} {:>16.1}", "ratio", costs[0] / costs[1]);
    Ok(())
}
