//! Instructions per packet, counted by valgrind (machines in the cloud have no counters of their own).
//!
//! A count is that of a longer run less that of a shorter one, over the difference of their packets.
//! Repeated counts differ by less than 0.5 %, and so do machines of one architecture:
//! - The compilers matter. The file of counts has an entry for each pair of them.
//! - The C library chooses its `memcpy` by the processor, which changes the count of web traffic by
//!   16 %. `TUNABLES` makes it choose the one that every processor can run.
//! - The load of the machine, the number of cores and the paths of files do not matter.

use crate::{cases, number_after, seconds, text, Outcome};
use ackclock_sim::batch::{Answer, Batch};
use std::collections::BTreeMap;
use std::num::NonZero;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

/// The counts that are checked in: compilers → scenario → the fewest instructions per packet so far.
type File = BTreeMap<String, BTreeMap<String, f64>>;

/// How far above its count a scenario may be, as a share.
const MARGIN: f64 = 0.01;
/// Features of processors that the C library must not use.
const TUNABLES: &str = "glibc.cpu.hwcaps=-AVX512F,-AVX512VL,-AVX2,-AVX,-ERMS,-FSRM";

pub struct Counts {
    /// Scenario → instructions per packet.
    pub measured: BTreeMap<String, f64>,
    /// What compiled the simulator and the algorithms.
    pub compilers: String,
    file: File,
}

fn path() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("benches/throughput/instructions.json")
}

fn first_line(program: &str) -> Outcome<String> {
    let output = Command::new(program).arg("--version").output()?;
    let all = text(output.stdout)?;
    Ok(all.lines().next().unwrap_or_default().to_owned())
}

/// Such as "rustc 1.95.0, cc 12.2.0, x86_64".
fn compilers() -> Outcome<String> {
    let version = |line: String| {
        let is_number = |word: &&str| word.starts_with(|first: char| first.is_ascii_digit());
        let found = line.split_whitespace().rfind(is_number);
        found.unwrap_or_default().to_owned()
    };
    let rustc = first_line("rustc")?;
    let rustc = rustc.split_whitespace().nth(1).unwrap_or_default();
    let arch = std::env::consts::ARCH;
    Ok(format!(
        "rustc {rustc}, cc {}, {arch}",
        version(first_line("cc")?)
    ))
}

/// (instructions, packets) of a run of so many milliseconds. Leaves the profile in `out`.
fn count(name: &str, ms: u64, out: &Path) -> Outcome<(u64, u64)> {
    let output = Command::new("valgrind")
        .args(["--tool=cachegrind", "--cache-sim=no"])
        .arg(format!("--cachegrind-out-file={}", out.display()))
        .arg(std::env::current_exe()?)
        .args(["--simulate", name, &seconds(ms)])
        .env("GLIBC_TUNABLES", TUNABLES)
        .stdin(Stdio::null())
        .output()
        .map_err(|error| format!("valgrind: {error}"))?;
    if !output.status.success() {
        return Err(text(output.stderr)?.into());
    }
    let counted = number_after(&std::fs::read_to_string(out)?, "summary:")?;
    Ok((counted, text(output.stdout)?.trim().parse()?))
}

impl Counts {
    /// Counts every case, on all cores: other work does not change a count. The profiles stay in
    /// `profiles`, as `SCENARIO.MILLISECONDS.out`.
    pub fn measure(profiles: &Path) -> Outcome<Self> {
        std::fs::create_dir_all(profiles)?;
        let jobs: Vec<(&str, u64, PathBuf)> = (cases::all().iter())
            .flat_map(|case| case.counted_ms.map(|ms| (case.name, ms)))
            .map(|(name, ms)| (name, ms, profiles.join(format!("{name}.{ms}.out"))))
            .collect();
        println!("counting instructions: {} runs under valgrind", jobs.len());
        let mut counted = vec![(0, 0); jobs.len()];
        let cores = std::thread::available_parallelism().map_or(1, NonZero::get);
        let mut batch = Batch::start(Arc::new(jobs), cores, |(name, ms, out)| {
            count(name, *ms, out).map_err(|error| format!("{name}: {error}"))
        })?;
        loop {
            match batch.wait(Duration::MAX) {
                Answer::Done(index, count) => counted[index] = count?,
                Answer::Lost(_, reason) => return Err(reason.into()),
                Answer::Nothing => (),
                Answer::End => break,
            }
        }
        let per_packet = |runs: &[(u64, u64)]| {
            let exact = (runs[1].0 - runs[0].0) as f64 / (runs[1].1 - runs[0].1) as f64;
            (exact * 10.0).round() / 10.0
        };
        let names = cases::all().into_iter().map(|case| case.name.to_owned());
        Ok(Self {
            measured: names.zip(counted.chunks(2).map(per_packet)).collect(),
            compilers: compilers()?,
            file: serde_json::from_str(&std::fs::read_to_string(path())?)?,
        })
    }

    /// The checked-in count of a scenario, by these compilers.
    pub fn known(&self, name: &str) -> Option<f64> {
        self.file.get(&self.compilers)?.get(name).copied()
    }

    /// Writes the counts into the file that are below those it has.
    pub fn write(mut self) -> Outcome<()> {
        let known = self.file.entry(self.compilers).or_default();
        for (name, count) in self.measured {
            let least = known.entry(name.clone()).or_insert(count);
            println!("{name:<18} {count:>8.1} {least:>8.1}");
            *least = least.min(count);
        }
        let json = serde_json::to_string_pretty(&self.file)?;
        std::fs::write(path(), json + "\n")?;
        println!("wrote {}", path().display());
        Ok(())
    }

    /// Fails if a scenario needs too many instructions.
    pub fn judge(&self) -> Outcome<()> {
        if !self.file.contains_key(&self.compilers) {
            println!(
                "not compared: no counts are checked in for {}; `make bench-counts` adds them",
                self.compilers
            );
            return Ok(());
        }
        let too_many: Vec<String> = (self.measured.iter())
            .filter_map(|(name, count)| {
                let known = self.known(name)?;
                (*count > known * (1.0 + MARGIN))
                    .then(|| format!("{name}: {count}, checked in {known}"))
            })
            .collect();
        if too_many.is_empty() {
            return Ok(());
        }
        Err(format!(
            "instructions per packet rose by more than {:.0} %: {}. What is off must cost nothing: \
             ask for it in a slow path (`tcp/plan.rs`)",
            100.0 * MARGIN,
            too_many.join("; ")
        )
        .into())
    }
}
