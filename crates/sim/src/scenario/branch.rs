//! What the changes of a branch must be, and the links with them.

use super::error::check;
use super::links::LEAST_BPS;
use super::{Algorithms, Change, Flow, Scenario, ScenarioError};
use ackclock_host::Snapshot;
use ackclock_net::impair::Loss;
use ackclock_net::link::{Bottleneck, Place};

impl Scenario {
    /// The links, the bottleneck first, each with its changes as steps.
    pub(crate) fn changed_links(&self) -> Vec<Bottleneck> {
        let mut links = vec![self.bottleneck.clone()];
        links.extend_from_slice(&self.links);
        for change in &self.changes {
            let link = change.link.map(|number| number as usize - 1);
            if let Some(link) = link.and_then(|index| links.get_mut(index)) {
                change.apply_to(link);
            }
        }
        links
    }

    /// Whether the algorithm of a flow changes.
    pub(crate) fn changes_algorithm(&self, number: u32) -> bool {
        let mut changes = self.changes.iter();
        changes.any(|change| change.flow == Some(number) && change.algorithm.is_some())
    }

    /// The flow of a change, if it has another algorithm from then on.
    fn with_its_algorithm(&self, change: &Change) -> Option<Flow> {
        let flow = self.flows.get(change.element()?)?.clone();
        let algorithm = change.algorithm.clone()?;
        Some(Flow { algorithm, ..flow })
    }

    /// Checks the changes, and configures their algorithms.
    pub(super) fn validate_changes(
        &self,
        snapshot: &Snapshot,
        algorithms: &mut Algorithms,
    ) -> Result<(), ScenarioError> {
        for (index, change) in self.changes.iter().enumerate() {
            let of = format!("changes[{index}]");
            self.validate_change(&of, change)?;
            if let Some(flow) = self.with_its_algorithm(change) {
                let configured = flow.configure(&of, self.hz, snapshot)?;
                algorithms.insert(flow.algorithm, configured);
            }
        }
        Ok(())
    }

    fn validate_change(&self, of: &str, change: &Change) -> Result<(), ScenarioError> {
        let told = serde_json::to_value(change).expect("a change is JSON");
        let refuse = |is_wrong: bool, key: &str, fix: &str| {
            check(!is_wrong, &format!("{of}.{key}"), &told[key], fix)
        };
        let is_late = change.at_ns >= self.duration_ns;
        refuse(
            is_late,
            "at_ns",
            "the run has ended by then; write a time before its duration",
        )?;
        for (name, most, keys) in [
            (
                "flow",
                self.flows.len(),
                ["algorithm", "drop_packets", "keep_packets"],
            ),
            (
                "link",
                1 + self.links.len(),
                ["rate_bps", "delay_ns", "loss_ppb"],
            ),
        ] {
            let number = told[name].as_u64();
            let given = keys.into_iter().find(|key| !told[key].is_null());
            let none = format!("there is none; choose from 1 to {most}");
            refuse(number > Some(most as u64), name, &none)?;
            let beside = format!("it is of a {name}; write {name} = 1 beside it");
            refuse(
                number.is_none() && given.is_some(),
                given.unwrap_or(name),
                &beside,
            )?;
            refuse(
                number.is_some() && given.is_none(),
                name,
                "say beside it what changes",
            )?;
        }
        let is_too_slow = change
            .rate_bps
            .is_some_and(|bps| (1..LEAST_BPS).contains(&bps));
        let slow = format!("choose a value from {LEAST_BPS}, or 0: nothing leaves");
        refuse(is_too_slow, "rate_bps", &slow)?;
        let mut links = self.links.iter().chain([&self.bottleneck]);
        let drop_tail = links.all(|link| link.queue.is_drop_tail());
        let room =
            "only a drop_tail queue has a place for it; write queue = \"drop_tail\" for each link";
        refuse(
            change.keep_packets.is_some() && !drop_tail,
            "keep_packets",
            room,
        )?;
        let flow = change.element().map(|index| &self.flows[index]);
        let own = flow.is_some_and(|flow| self.first_link(flow).at == Place::Sender);
        let link = change.link.and_then(|number| self.link(number));
        let loses = link.is_some_and(|link| {
            let by_time = matches!(link.loss, Some(Loss::BadTimes(_) | Loss::Outages(_)));
            by_time || link.at == Place::Sender
        });
        let traced = link.is_some_and(|link| link.trace_ms.is_some());
        for (is_wrong, key, fix) in [
            (
                own,
                "drop_packets",
                "the interface of its host loses nothing; change a link",
            ),
            (
                own,
                "keep_packets",
                "the interface of its host loses nothing; change a link",
            ),
            (
                traced,
                "rate_bps",
                "its trace says when packets leave; change delay or loss",
            ),
            (
                loses,
                "loss_ppb",
                "it loses by time, or is an interface; change rate or delay",
            ),
        ] {
            refuse(is_wrong && !told[key].is_null(), key, fix)?;
        }
        Ok(())
    }

    /// Refuses an algorithm to which a connection that is open cannot change.
    pub(super) fn validate_changed_algorithms(
        &self,
        algorithms: &Algorithms,
    ) -> Result<(), ScenarioError> {
        for (index, change) in self.changes.iter().enumerate() {
            let Some(flow) = self.with_its_algorithm(change) else {
                continue;
            };
            let new = algorithms[&flow.algorithm].algorithm();
            let own = change.element().map(|index| &self.flows[index].algorithm);
            let others = self
                .changes
                .iter()
                .filter(|other| other.flow == change.flow);
            let every = own
                .into_iter()
                .chain(others.filter_map(|other| other.algorithm.as_ref()));
            let needs_ecn = every
                .map(|spec| algorithms[spec].algorithm())
                .any(|algorithm| algorithm.needs_ecn() || algorithm.needs_accurate_ecn());
            for (is_wrong, fix) in [
                (
                    flow.stack.is_some(),
                    "only a flow of Linux's TCP changes it",
                ),
                (
                    needs_ecn,
                    "hosts agree on ECN when they connect; take algorithms that do not need it",
                ),
                (
                    new.has_cong_control() && !self.profile_of(&flow).is_new(),
                    "it has cong_control, which Linux has had since 4.9; choose profile linux-6",
                ),
            ] {
                check(
                    !is_wrong,
                    &format!("changes[{index}].algorithm"),
                    &flow.algorithm,
                    fix,
                )?;
            }
        }
        Ok(())
    }
}
