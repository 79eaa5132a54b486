//! What a reader with a rate of its own needs.

use super::error::check;
use super::links::LEAST_BPS;
use super::{Flow, Hides, Reads, Scenario, ScenarioError};

impl Scenario {
    pub(super) fn validate_reader(&self, of: &str, flow: &Flow) -> Result<(), ScenarioError> {
        let name = |field: &str| format!("{of}.{field}");
        let steps = &flow.read_rate_at;
        let Some(rate_bps) = flow.read_rate_bps else {
            return check(
                steps.is_empty(),
                &name("read_rate_at"),
                "given",
                "it changes a read_rate; write one, the rate at first",
            );
        };
        let has_buffer = flow.receive_window_bytes.or(flow.receive_buffer_bytes);
        for (is_wrong, fix) in [
            (
                has_buffer.is_none(),
                "what it leaves must have an end; write receive_window or receive_buffer, too",
            ),
            (
                flow.reads.unwrap_or(self.reads) == Reads::Bulk,
                "it reads segment by segment; write reads = \"at once\"",
            ),
            (
                flow.hides != Hides::Nothing,
                "what it hides is no matter of its application; leave hides out",
            ),
            (
                !flow.timestamps,
                "is modelled with timestamps; leave them on",
            ),
            (
                (1..LEAST_BPS).contains(&rate_bps),
                "choose from 1kbit to 1tbit, or 0bit: it does not read",
            ),
        ] {
            check(!is_wrong, &name("read_rate_bps"), rate_bps, fix)?;
        }
        for (each, step) in steps.iter().enumerate() {
            for (is_wrong, fix) in [
                (
                    (1..LEAST_BPS).contains(&step.rate_bps),
                    "choose a rate from 1kbit to 1tbit, or 0bit: it does not read",
                ),
                (
                    each > 0 && steps[each - 1].time_ns >= step.time_ns,
                    "it is not after the one before it; write them in order",
                ),
            ] {
                let fix = format!("change {}: {fix}", each + 1);
                check(!is_wrong, &name("read_rate_at"), format!("{steps:?}"), &fix)?;
            }
        }
        Ok(())
    }
}
