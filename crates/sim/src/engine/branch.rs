//! A branch of a run: what goes another way from a time on. What changes of links is in their steps
//! ([`Topology`](crate::topology::Topology)).

use super::simulation::Simulation;
use super::wire::Wire;
use crate::scenario::{Change, Prepared};
use crate::RunError;

impl<'a, W: Wire> Simulation<'a, W> {
    /// Changes a flow at the end of all that is before the time of the change.
    #[cold]
    pub(super) fn branch(
        &mut self,
        prepared: &'a Prepared,
        change: &Change,
    ) -> Result<(), RunError> {
        let Some(element) = change.element() else {
            return Ok(());
        };
        if let Some(spec) = &change.algorithm {
            let configured = &prepared.algorithms()[spec];
            self.flows[element].change_algorithm(self.scenario, configured, change.at_ns);
            self.fault(element, change.at_ns)?;
        }
        let (drops, keeps) = (change.drop_packets, change.keep_packets);
        if drops.or(keeps).is_some() {
            self.aims.set(element as u32, drops, keeps);
            self.wire.watch();
        }
        Ok(())
    }
}
