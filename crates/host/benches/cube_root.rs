//! What a cube root costs by bisection, as CUBIC first had it, and by a table and a step of
//! Newton-Raphson, as since Linux 2.6.21 (S. Ha, I. Rhee, L. Xu 2008, table 1: 1032 and 79 clocks).
//!
//! Built for 32-bit x86, the machines of 2008, where a 64-bit product takes three instructions and a
//! 64-bit division is a routine, and for x86-64; by gcc and by clang. Clocks are the least of many
//! runs, instructions are counted by valgrind, both less the loop's. How much the clocks of one root
//! vary is their standard deviation over a thousand arguments.

use std::error::Error;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

type Outcome<T> = Result<T, Box<dyn Error>>;

const FILE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/benches/cube_root.c");
const ROOTS: f64 = 1000.0;
/// Times that a program takes its roots; the least counts.
const RUNS: u32 = 2000;
const REPEATS: usize = 10;
/// Times that it takes each root alone.
const EACH: u32 = 50;
/// Roots of it that a time has: SAME of cube_root.c.
const SAME: f64 = 64.0;
/// Times for which instructions are counted: the difference between the two has no start of a
/// program.
const COUNTED: [u32; 2] = [10, 110];

const COMPILERS: [&str; 2] = ["gcc", "clang"];
/// Bits, and the flags for them.
type Bits = (u32, &'static [&'static str]);
const BITS: [Bits; 2] = [(32, &["-m32", "-march=i686"]), (64, &["-m64"])];
const FLAGS: [&str; 10] = [
    "-O2",
    "-Wall",
    "-Werror",
    "-ffreestanding",
    "-fno-pic",
    "-fno-stack-protector",
    "-fno-asynchronous-unwind-tables",
    "-mgeneral-regs-only",
    "-nostdlib",
    "-static",
];

/// Where figure `ha2008/cube_root` finds what was measured; written when `ACKCLOCK_WRITE_CUBE_ROOT`
/// is set.
const RECORD: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/../../python/ackclock/papers/ha2008/cube_root.json"
);

/// METHOD of cube_root.c.
const LOOP: usize = 0;
const METHODS: [&str; 3] = ["loop", "bisection", "newton"];

struct Program(PathBuf);

fn deviation(values: &[f64]) -> f64 {
    let count = values.len() as f64;
    let mean = values.iter().sum::<f64>() / count;
    let squares = values.iter().map(|each| (each - mean).powi(2));
    (squares.sum::<f64>() / (count - 1.0)).sqrt()
}

impl Program {
    fn build(
        directory: &Path,
        compiler: &str,
        bits: Bits,
        method: usize,
        (key, times): (&str, u32),
    ) -> Outcome<Self> {
        let path = directory.join(format!("{compiler}-{}-{method}-{key}-{times}", bits.0));
        let built = Command::new(compiler)
            .args(FLAGS)
            .args(bits.1)
            .args([
                "-D",
                &format!("METHOD={method}"),
                "-D",
                &format!("{key}={times}"),
            ])
            .args([FILE, "-o"])
            .arg(&path)
            .output()?;
        succeeded(&built)?;
        Ok(Self(path))
    }

    /// What it prints: the clocks of a thousand roots and the last random number, or the clocks of
    /// each argument.
    fn run(&self) -> Outcome<Vec<f64>> {
        let output = Command::new(&self.0).output()?;
        let text = succeeded(&output)?;
        Ok(text
            .split_whitespace()
            .map(str::parse)
            .collect::<Result<_, _>>()?)
    }

    fn instructions(&self) -> Outcome<f64> {
        let profile = self.0.with_extension("out");
        let output = Command::new("valgrind")
            .args(["--tool=cachegrind", "--cache-sim=no"])
            .arg(format!("--cachegrind-out-file={}", profile.display()))
            .arg(&self.0)
            .output()
            .map_err(|error| format!("valgrind: {error}"))?;
        succeeded(&output)?;
        let text = std::fs::read_to_string(profile)?;
        let summary = text.lines().find_map(|line| line.strip_prefix("summary:"));
        Ok(summary.ok_or("no summary")?.trim().parse()?)
    }
}

fn succeeded(output: &Output) -> Outcome<String> {
    if output.status.success() {
        Ok(String::from_utf8(output.stdout.clone())?)
    } else {
        let said = String::from_utf8_lossy(&output.stderr);
        Err(format!("{}: {said}", output.status).into())
    }
}

/// Costs of one root by each method, less the loop's.
struct Cost {
    build: String,
    /// Of each repetition: bisection, Newton.
    clocks: Vec<[f64; 2]>,
    /// The standard deviation over a thousand arguments of each repetition, clocks.
    deviations: Vec<[f64; 2]>,
    instructions: [f64; 2],
}

fn cost(directory: &Path, compiler: &str, bits: Bits) -> Outcome<Cost> {
    let program = |method, runs| Program::build(directory, compiler, bits, method, runs);
    let programs = |runs| -> Outcome<Vec<Program>> {
        (0..METHODS.len())
            .map(|method| program(method, runs))
            .collect()
    };
    let (timed, alone) = (programs(("RUNS", RUNS))?, programs(("EACH", EACH))?);
    let (mut clocks, mut deviations) = (Vec::new(), Vec::new());
    for _ in 0..REPEATS {
        let taken: Vec<f64> = timed
            .iter()
            .map(|program| Ok(program.run()?[0] / ROOTS))
            .collect::<Outcome<_>>()?;
        clocks.push([taken[1] - taken[LOOP], taken[2] - taken[LOOP]]);
        let spread =
            |method: usize| -> Outcome<f64> { Ok(deviation(&alone[method].run()?) / SAME) };
        deviations.push([spread(1)?, spread(2)?]);
    }
    let counted = |method| -> Outcome<f64> {
        let [few, many] = COUNTED;
        let of = |runs| program(method, ("RUNS", runs))?.instructions();
        Ok((of(many)? - of(few)?) / f64::from(many - few) / ROOTS)
    };
    let of_loop = counted(LOOP)?;
    Ok(Cost {
        build: format!("{} bits, {}", bits.0, version(compiler)?),
        clocks,
        deviations,
        instructions: [counted(1)? - of_loop, counted(2)? - of_loop],
    })
}

/// "gcc 12.2.0"
fn version(compiler: &str) -> Outcome<String> {
    let output = Command::new(compiler).arg("-dumpversion").output()?;
    Ok(format!("{compiler} {}", succeeded(&output)?.trim()))
}

/// All builds must give the same roots.
fn check(directory: &Path, builds: &[(&str, Bits)]) -> Outcome<()> {
    for (method, name) in METHODS.iter().enumerate() {
        let mut seen = Vec::new();
        for &(compiler, bits) in builds {
            seen.push(Program::build(directory, compiler, bits, method, ("RUNS", 1))?.run()?[1]);
        }
        if seen.iter().any(|last| *last != seen[0]) {
            return Err(format!("{name}: builds differ: {seen:?}").into());
        }
    }
    Ok(())
}

fn main() -> Outcome<()> {
    if !cfg!(all(target_arch = "x86_64", target_os = "linux")) {
        println!("cube roots: only on x86-64 Linux");
        return Ok(());
    }
    let directory = tempfile::tempdir()?;
    let mut builds = Vec::new();
    for bits in BITS {
        for compiler in COMPILERS {
            match Program::build(directory.path(), compiler, bits, LOOP, ("RUNS", 1))
                .and_then(|one| one.run())
            {
                Ok(_) => builds.push((compiler, bits)),
                Err(error) => println!("no {} bits by {compiler}: {error}", bits.0),
            }
        }
    }
    check(directory.path(), &builds)?;

    println!(
        "{:<24} {:>24} {:>24} {:>8}",
        "per cube root", "bisection", "table, Newton-Raphson", "ratio"
    );
    let mut rows = Vec::new();
    for (compiler, bits) in builds {
        let cost = cost(directory.path(), compiler, bits)?;
        let least = |method: usize| {
            let each = cost.clocks.iter().map(|clocks| clocks[method]);
            each.fold(f64::INFINITY, f64::min)
        };
        let clocks = [least(0), least(1)];
        for (unit, [bisection, newton]) in [
            ("clocks", clocks),
            ("instructions", cost.instructions),
            ("clocks (sd)", cost.deviations[0]),
        ] {
            let ratio = bisection / newton;
            let build = &cost.build;
            println!(
                "{build:<24} {bisection:>11.1} {unit:<12} {newton:>11.1} {unit:<12} {ratio:>8.2}"
            );
        }
        let list = |of: &[[f64; 2]], method: usize| {
            let each: Vec<_> = of
                .iter()
                .map(|both| format!("{:.2}", both[method]))
                .collect();
            each.join(", ")
        };
        rows.push(format!(
            "  {{\"bits\": {}, \"compiler\": \"{}\",\n   \
             \"bisection_instructions\": {:.1}, \"newton_instructions\": {:.1},\n   \
             \"bisection_clocks\": [{}],\n   \"newton_clocks\": [{}],\n   \
             \"bisection_deviation\": [{}],\n   \"newton_deviation\": [{}]}}",
            bits.0,
            version(compiler)?,
            cost.instructions[0],
            cost.instructions[1],
            list(&cost.clocks, 0),
            list(&cost.clocks, 1),
            list(&cost.deviations, 0),
            list(&cost.deviations, 1),
        ));
    }
    if std::env::var_os("ACKCLOCK_WRITE_CUBE_ROOT").is_some() {
        let text = format!(
            "{{\"processor\": \"{}\",\n \"builds\": [\n{}\n ]}}\n",
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
