//! What a run measured: `ackclock-measure` for the page, under the keys of `ackclock.results.summary` and
//! `ackclock.questions.measure`.

use ackclock_measure::{numbers, Column, Number, Run, Seen, Setup, Table as _};
use ackclock_sim::record::{EventKind, Table, Values};
use ackclock_sim::{Prepared, RunResult, Scenario};
use serde_json::{json, Map, Value};

/// A table with its rows.
#[derive(Debug)]
pub struct Rows {
    pub table: Table,
    pub values: Vec<Values>,
}

/// Those of [`RunResult::TABLES`].
pub type Tables = [Rows; RunResult::TABLES.len()];

pub fn tables(result: RunResult) -> Tables {
    let mut values = result.into_tables().into_iter();
    RunResult::TABLES.map(|table| Rows {
        table,
        values: values.next().expect("each table has its values"),
    })
}

impl ackclock_measure::Table for Rows {
    fn column(&self, name: &str) -> Column<'_> {
        let columns = self.table.columns.iter().zip(&self.values);
        let mut named = columns.filter(|(column, _)| column.name == name);
        match named.next().expect("it is a column of the table").1 {
            Values::U32(values) => Column::U32(values),
            Values::U64(values) => Column::U64(values),
            Values::Name(codes) => Column::U8(codes),
        }
    }
}

fn setup(scenario: &Scenario) -> Setup {
    serde_json::from_str(&scenario.to_json()).expect("the canonical form has its keys")
}

/// What the scorecard and an attack measure of a run; the first `mine` flows are those of the algorithm.
/// Names of numbers that are only lower bounds are in `at_least`; a number without a value is null.
pub fn measured(scenario: &Scenario, mine: usize, result: RunResult) -> Value {
    let (setup, trace_hash) = (setup(scenario), result.trace_hash);
    let [flows, samples, queues, events, _, transfers] = &tables(result);
    let run = Run {
        setup: &setup,
        flows,
        samples,
        queues,
        events,
        transfers,
    };
    let (mut found, mut at_least) = (Map::new(), Vec::new());
    for (name, number) in numbers(&run, mine) {
        let value = match number {
            Some(Number::Is(value)) => Some(value),
            Some(Number::AtLeast(value)) => {
                at_least.push(Value::from(name));
                Some(value)
            }
            None => None,
        };
        // A number that is none (NaN) is null, too.
        found.insert(name.into(), value.into());
    }
    found.insert("at_least".into(), at_least.into());
    json!({
        "kind": "measured",
        "numbers": found,
        "goodputs_bps": ackclock_measure::goodputs_bps(&setup, flows),
        "trace_hash": format!("{trace_hash:016x}"),
    })
}

/// What the rows of a run came to so far.
#[derive(Debug)]
pub struct SoFar {
    setup: Setup,
    seen: Seen,
    /// When each flow has completed; 0: not yet.
    completed_us: Vec<u64>,
}

impl SoFar {
    pub fn new(scenario: &Scenario) -> Self {
        let setup = setup(scenario);
        Self {
            seen: Seen::new(&setup),
            completed_us: vec![0; setup.flows.len()],
            setup,
        }
    }

    /// Takes the next rows.
    pub fn take(&mut self, [_, samples, queues, events, ..]: &Tables) {
        let rows = events.u32("flow").iter().zip(events.u64("time_us"));
        for (kind, (flow, time_us)) in events.codes("kind").into_iter().zip(rows) {
            if kind == EventKind::Completed as u8 {
                self.completed_us[*flow as usize - 1] = *time_us;
            }
        }
        self.seen
            .take_samples(&self.setup, samples, &self.completed_us);
        self.seen.take_queues(queues);
    }

    /// The summary of a run that has ended; `packets`: those sent.
    pub fn summary(self, prepared: &Prepared, flows: &Rows, packets: u64) -> Value {
        let scenario = prepared.scenario();
        let summary = self.seen.summary(&self.setup, flows, false);
        let mut summary = json!(summary);
        for (number, flow) in scenario.flows.iter().enumerate() {
            let each = &mut summary["flows"][number];
            each["flow"] = (number + 1).into();
            each["algorithm"] = prepared.algorithms()[&flow.algorithm]
                .algorithm()
                .name()
                .into();
            each["direction"] = json!(flow.direction);
        }
        for each in summary["queues"].as_array_mut().into_iter().flatten() {
            let number = each["queue"].as_u64().unwrap_or(1) as usize;
            let behind = scenario.links.get(number.wrapping_sub(2));
            let kind = json!(behind.unwrap_or(&scenario.bottleneck).queue);
            let name = kind.as_object().and_then(|of| of.keys().next());
            each["discipline"] = name.map_or(kind.as_str(), |name| Some(name)).into();
        }
        summary["backend"] = "sim".into();
        summary["seed"] = scenario.seed.into();
        summary["duration_s"] = self.setup.duration_s().into();
        summary["packets"] = packets.into();
        summary
    }
}
