//! What the programs of a scenario must be together.

use super::error::check;
use super::{Scenario, ScenarioError};

impl Scenario {
    /// Checks that the programs fit two hosts and one path.
    pub(super) fn validate_programs(&self) -> Result<(), ScenarioError> {
        for (index, program) in self.programs.iter().enumerate() {
            let of = |key: &str| format!("programs[{index}].{key}");
            check(
                !program.command.trim().is_empty(),
                &of("command"),
                "",
                "write a command line, such as \"iperf3 -s\"",
            )?;
            let stop_ns = program.stop_ns.unwrap_or(u64::MAX);
            check(
                stop_ns > program.start_ns,
                &of("stop_ns"),
                stop_ns,
                "must be after its start",
            )?;
            let earlier = &self.programs[..index];
            check(
                earlier.iter().all(|each| each.rtt_ns == program.rtt_ns),
                &of("rtt_ns"),
                program.rtt_ns,
                "programs share two hosts and one path: write the same rtt for all",
            )?;
            let mut beside = earlier.iter().filter(|each| each.side == program.side);
            check(
                beside.all(|each| each.algorithm == program.algorithm),
                &of("algorithm"),
                program.algorithm.as_deref().unwrap_or_default(),
                "the programs of a host share its default: write the same algorithm for them",
            )?;
        }
        Ok(())
    }
}
