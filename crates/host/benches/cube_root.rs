//! What a cube root costs: by bisection, as the paper says CUBIC had it to Linux 2.6.20 (the source of
//! CUBIC 2.0 iterates by Newton already), and by a table and a step of Newton-Raphson, as since (S. Ha,
//! I. Rhee, L. Xu 2008, table 1: 1032 and 79 clocks). Both are C, built as algorithms are; the least of
//! many runs, less the loop's.

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

/// Where figure `ha2008/cube_root` finds what was measured; written when `ACKCLOCK_WRITE_CUBE_ROOT` is set.
const RECORD: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/../../python/ackclock/papers/ha2008/cube_root.json"
);
const REPEATS: usize = 10;

fn main() -> Result<(), Box<dyn Error>> {
    println!(
        "{:<10} {:>22} {:>22} {:>8}",
        "ns", "bisection", "table, Newton-Raphson", "ratio"
    );
    let mut rows = Vec::new();
    for _ in 0..REPEATS {
        let (loop_ns, loop_clocks) = cost(0)?;
        let net = |(ns, clocks): (f64, Option<f64>)| {
            let clocks = clocks.zip(loop_clocks).map(|(all, of_loop)| all - of_loop);
            (ns - loop_ns, clocks)
        };
        let (bisection, newton) = (net(cost(1)?), net(cost(2)?));
        let shown = |(ns, clocks): (f64, Option<f64>)| {
            clocks.map_or(format!("{ns:.1}"), |clocks| {
                format!("{ns:.1} ({clocks:.0} clocks)")
            })
        };
        let ratio = bisection.0 / newton.0;
        println!(
            "{:<10} {:>22} {:>22} {ratio:>8.1}",
            "",
            shown(bisection),
            shown(newton)
        );
        rows.push(format!(
            "  {{\"bisection_ns\": {:.2}, \"newton_ns\": {:.2}}}",
            bisection.0, newton.0
        ));
    }
    if std::env::var_os("ACKCLOCK_WRITE_CUBE_ROOT").is_some() {
        let text = format!(
            "{{\"processor\": \"{}\",\n \"runs\": [\n{}\n ]}}\n",
            processor(),
            rows.join(",\n")
        );
        std::fs::write(RECORD, text)?;
    }
    Ok(())
}

/// The processor's name, as far as the system tells.
fn processor() -> String {
    let cpuinfo = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let name = cpuinfo.lines().find(|line| line.starts_with("model name"));
    let name = name.and_then(|line| line.split_once(": "));
    name.map_or("unknown".into(), |(_, name)| name.replace('"', ""))
}
