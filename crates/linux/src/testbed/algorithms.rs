//! Registers the flows' congestion controls in the kernel for the time of a run.

use super::TestbedError;
use crate::bpf::{PrivateField, Registered};
use ackclock_sim::scenario::{self, Scenario, KERNEL};
use std::collections::btree_map::{BTreeMap, Entry};

/// The flows' algorithms in the kernel. They end with this value, or with the process.
#[derive(Debug)]
pub(super) struct Algorithms {
    /// The kernel's name of each flow's algorithm.
    pub(super) names: Vec<String>,
    registered: BTreeMap<String, Registered>,
    /// Whether the receiver of each flow runs the algorithm, too.
    at_both_ends: Vec<bool>,
}

/// The kernel's own algorithm that runs at both ends.
const KERNELS_DCTCP: &str = "dctcp";

impl Algorithms {
    /// Registers each algorithm that the kernel does not have itself; each spec once.
    pub(super) fn load(
        scenario: &Scenario,
        code: &scenario::Algorithms,
    ) -> Result<Self, TestbedError> {
        let mut registered = BTreeMap::new();
        let mut names = Vec::with_capacity(scenario.flows.len());
        let mut at_both_ends = Vec::with_capacity(scenario.flows.len());
        for (index, flow) in scenario.flows.iter().enumerate() {
            let spec = &flow.algorithm;
            if let Some(name) = spec.strip_prefix(KERNEL) {
                names.push(name.into());
                at_both_ends.push(name == KERNELS_DCTCP);
                continue;
            }
            let each = match registered.entry(spec.clone()) {
                Entry::Occupied(entry) => entry.into_mut(),
                Entry::Vacant(entry) => {
                    entry.insert(Registered::new(&code[spec]).map_err(|error| {
                        TestbedError::algorithm(index, spec, &error.to_string())
                    })?)
                }
            };
            names.push(each.name().into());
            at_both_ends.push(code[spec].algorithm().needs_ecn());
        }
        Ok(Self {
            names,
            registered,
            at_both_ends,
        })
    }

    /// The kernel's name of the algorithm that the receiver of a flow must run; `None`: any.
    pub(super) fn of_receiver(&self, flow: usize) -> Option<&str> {
        self.at_both_ends[flow].then(|| self.names[flow].as_str())
    }

    /// The members of each flow's private state; none for the kernel's own algorithms.
    pub(super) fn private_fields(&self, scenario: &Scenario) -> Vec<Vec<PrivateField>> {
        let of = |spec| self.registered.get(spec).map(Registered::private_fields);
        let flows = scenario.flows.iter();
        flows
            .map(|flow| of(&flow.algorithm).unwrap_or_default())
            .collect()
    }
}
